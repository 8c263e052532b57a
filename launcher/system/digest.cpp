// SPDX-License-Identifier: MIT
#include "system/digest.hpp"

#include <variant>

#include <nettle/sha1.h>
#include <nettle/sha2.h>

namespace metalrun {

namespace {

struct Sha1 {
    static constexpr std::size_t kSize = SHA1_DIGEST_SIZE;
    sha1_ctx context{};

    Sha1() { sha1_init(&context); }
    void update(std::size_t size, const std::uint8_t* data) { sha1_update(&context, size, data); }
    void finish(std::uint8_t* into) { sha1_digest(&context, kSize, into); }
};

struct Sha256 {
    static constexpr std::size_t kSize = SHA256_DIGEST_SIZE;
    sha256_ctx context{};

    Sha256() { sha256_init(&context); }
    void update(std::size_t size, const std::uint8_t* data) { sha256_update(&context, size, data); }
    void finish(std::uint8_t* into) { sha256_digest(&context, kSize, into); }
};

struct Sha384 {
    static constexpr std::size_t kSize = SHA384_DIGEST_SIZE;
    sha512_ctx context{}; // the same function, begun and cut off differently

    Sha384() { sha384_init(&context); }
    void update(std::size_t size, const std::uint8_t* data) { sha512_update(&context, size, data); }
    void finish(std::uint8_t* into) { sha384_digest(&context, kSize, into); }
};

struct Sha512 {
    static constexpr std::size_t kSize = SHA512_DIGEST_SIZE;
    sha512_ctx context{};

    Sha512() { sha512_init(&context); }
    void update(std::size_t size, const std::uint8_t* data) { sha512_update(&context, size, data); }
    void finish(std::uint8_t* into) { sha512_digest(&context, kSize, into); }
};

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
    // NOLINTNEXTLINE(*-reinterpret-cast): std::byte to nettle's byte type
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::visit([&](auto& function) { function.update(bytes.size(), data); }, state_->function);
}

DigestValue Digest::finish() {
    DigestValue value;
    // NOLINTNEXTLINE(*-reinterpret-cast): std::byte to nettle's byte type
    auto* into = reinterpret_cast<std::uint8_t*>(value.bytes.data());
    std::visit(
        [&](auto& function) {
            value.size = function.kSize;
            function.finish(into);
        },
        state_->function);
    return value;
}

} // namespace metalrun
