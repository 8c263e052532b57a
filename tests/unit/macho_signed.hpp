// SPDX-License-Identifier: MIT
//
// A small program with a signature behind it, read again.
#pragma once

#include "macho/facts.hpp"
#include "macho_builder.hpp"
#include "system/fake.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace metalrun::tests {

using namespace metalrun::macho;

inline constexpr std::size_t kSignatureSize = 0x1000;
inline constexpr std::size_t kSignatureAt = 0x4000;

inline std::string code() {
    return code_before_signature(kSignatureSize);
}

inline FakeFile file_with(std::string content) {
    const std::uint64_t size = content.size();
    return {FileStatus{.kind = FileKind::regular, .size_bytes = size}, std::move(content)};
}

inline std::string signed_file(std::string signature) {
    signature.resize(kSignatureSize, '\0');
    return code() + signature;
}

inline std::expected<CodeSignature, Malformed> read_file(const std::string& content,
                                                         Depth depth = Depth::verify) {
    const auto facts = read_facts(file_with(content), depth);
    REQUIRE(facts.has_value());
    const SliceFacts& slice = facts->slices.at(0);
    REQUIRE(slice.image.has_value());
    REQUIRE(slice.signature.has_value());
    return *slice.signature;
}

inline std::expected<CodeSignature, Malformed> read_slots(const Slots& slots) {
    return read_file(signed_file(make_super_blob(slots)));
}

inline std::expected<CodeSignature, Malformed> read_directory(const DirectoryOptions& options) {
    return read_slots({{0, make_directory(code(), options)}});
}

inline std::string problem(const std::expected<CodeSignature, Malformed>& signature) {
    return signature ? "" : signature.error().message;
}

} // namespace metalrun::tests
