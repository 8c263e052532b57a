// SPDX-License-Identifier: MIT
//
// CommonCrypto: part of libSystem, CommonCrypto/CommonDigest.h.
#include "system/digest.hpp"

#include <algorithm>
#include <cstring>
#include <variant>

#include <CommonCrypto/CommonDigest.h>

namespace metalrun {

namespace {

// One hash function of CommonCrypto.
template <class Context, int (*Init)(Context*), int (*Update)(Context*, const void*, CC_LONG),
          int (*Final)(unsigned char*, Context*), std::size_t Size>
struct Function {
    static constexpr std::size_t kSize = Size;
    Context context{};

    Function() { Init(&context); }
    void update(Bytes bytes) {
        // CC_LONG has 32 bits.
        constexpr std::size_t kMost = std::size_t{1} << 30U;
        while (!bytes.empty()) {
            const Bytes part = bytes.first(std::min(bytes.size(), kMost));
            Update(&context, part.data(), static_cast<CC_LONG>(part.size()));
            bytes = bytes.subspan(part.size());
        }
    }
    void finish(unsigned char* into) {
        Final(into, &context);
        Init(&context);
    }
};

using Sha1 =
    Function<CC_SHA1_CTX, CC_SHA1_Init, CC_SHA1_Update, CC_SHA1_Final, CC_SHA1_DIGEST_LENGTH>;
using Sha256 = Function<CC_SHA256_CTX, CC_SHA256_Init, CC_SHA256_Update, CC_SHA256_Final,
                        CC_SHA256_DIGEST_LENGTH>;
using Sha384 = Function<CC_SHA512_CTX, CC_SHA384_Init, CC_SHA384_Update, CC_SHA384_Final,
                        CC_SHA384_DIGEST_LENGTH>;
using Sha512 = Function<CC_SHA512_CTX, CC_SHA512_Init, CC_SHA512_Update, CC_SHA512_Final,
                        CC_SHA512_DIGEST_LENGTH>;

} // namespace

struct Digest::State {
    std::variant<Sha256, Sha1, Sha384, Sha512> function;
};

Digest::Digest(DigestKind kind) : state_(std::make_unique<State>()) {
    switch (kind) {
    case DigestKind::sha1:
        state_->function.emplace<Sha1>();
        break;
    case DigestKind::sha256:
        break;
    case DigestKind::sha384:
        state_->function.emplace<Sha384>();
        break;
    case DigestKind::sha512:
        state_->function.emplace<Sha512>();
        break;
    }
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::update(Bytes bytes) {
    std::visit([&](auto& function) { function.update(bytes); }, state_->function);
}

DigestValue Digest::finish() {
    DigestValue value;
    std::array<unsigned char, 64> raw{};
    std::visit(
        [&](auto& function) {
            value.size = function.kSize;
            function.finish(raw.data());
        },
        state_->function);
    std::memcpy(value.bytes.data(), raw.data(), value.size);
    return value;
}

} // namespace metalrun
