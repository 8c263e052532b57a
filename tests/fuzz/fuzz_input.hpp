// SPDX-License-Identifier: MIT
//
// What the fuzz targets have in common: the input as bytes, a File over it, and require(), which
// makes a broken promise a finding like any crash.
#pragma once

#include "macho/bytes.hpp"
#include "system/system.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace metalrun::tests {

inline Bytes input_bytes(const std::uint8_t* data, std::size_t size) {
    return std::as_bytes(std::span(data, size));
}

inline void require(bool condition, const char* promise) {
    if (!condition) {
        std::fprintf(stderr, "broken promise: %s\n", promise);
        std::abort();
    }
}

/// A file that holds `zeros_before` zeros, the bytes (somebody else's), and `zeros_after` zeros. It
/// counts what is read of it.
class PaddedFile final : public File {
public:
    explicit PaddedFile(Bytes bytes, std::uint64_t zeros_before = 0, std::uint64_t zeros_after = 0)
        : bytes_(bytes), zeros_before_(zeros_before) {
        status_.kind = FileKind::regular;
        status_.size_bytes = zeros_before + bytes.size() + zeros_after;
    }

    [[nodiscard]] const FileStatus& status() const override { return status_; }
    [[nodiscard]] SysResult<std::string> real_path() const override { return "/memory"; }
    [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                 std::span<std::byte> into) const override {
        if (offset >= status_.size_bytes) {
            return 0;
        }
        into = into.first(static_cast<std::size_t>(
            std::min<std::uint64_t>(into.size(), status_.size_bytes - offset)));
        std::ranges::fill(into, std::byte{});
        const std::uint64_t begin = std::max(offset, zeros_before_);
        const std::uint64_t end =
            std::min(offset + into.size(), zeros_before_ + std::uint64_t{bytes_.size()});
        if (begin < end) {
            const auto part = slice(bytes_, begin - zeros_before_, end - begin);
            std::ranges::copy(*part, into.subspan(begin - offset).begin());
        }
        read_bytes_ += into.size();
        return into.size();
    }

    [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_; }

private:
    Bytes bytes_;
    std::uint64_t zeros_before_;
    FileStatus status_;
    mutable std::uint64_t read_bytes_ = 0;
};

} // namespace metalrun::tests
