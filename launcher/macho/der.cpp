// SPDX-License-Identifier: MIT
#include "macho/der.hpp"

namespace metalrun::macho {

namespace {

constexpr std::uint8_t kConstructed = 0x20;
constexpr std::uint8_t kLongTag = 0x1f;
constexpr std::uint8_t kLongLength = 0x80;
constexpr std::size_t kMostLengthBytes = 4;
// Indefinite values inside indefinite ones; Apple's signatures have 4.
constexpr unsigned kDeepest = 16;

} // namespace

std::optional<std::uint8_t> ElementReader::take() {
    if (rest_.empty()) {
        return std::nullopt;
    }
    const auto byte = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return byte;
}

std::optional<Element> ElementReader::next() {
    return read(0);
}

std::optional<Element> ElementReader::next(std::uint8_t tag) {
    const auto element = read(0);
    return element && element->tag == tag ? element : std::nullopt;
}

std::optional<std::uint64_t> ElementReader::read_length(std::uint8_t first) {
    if (first < kLongLength) {
        return first;
    }
    const std::size_t count = first & ~unsigned{kLongLength};
    if (count == 0 || count > kMostLengthBytes) {
        return std::nullopt;
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto byte = take();
        if (!byte) {
            return std::nullopt;
        }
        length = length << 8U | *byte;
    }
    const bool is_shortest = length >= kLongLength && length >> (8 * (count - 1)) != 0;
    if (encoding_ == Encoding::der && !is_shortest) {
        return std::nullopt;
    }
    return length;
}

std::optional<Element> ElementReader::read(unsigned depth) {
    const auto tag = take();
    const auto first = take();
    if (!tag || !first || (*tag & kLongTag) == kLongTag) {
        return std::nullopt;
    }
    if (*first == kLongLength) {
        return read_indefinite(*tag, depth);
    }
    const auto length = read_length(*first);
    if (!length || *length > rest_.size()) {
        return std::nullopt;
    }
    const auto size = static_cast<std::size_t>(*length);
    const Element element{.tag = *tag, .content = rest_.first(size)};
    rest_ = rest_.subspan(size);
    return element;
}

// Values up to an end-of-contents mark, which is a value of tag 0 without content.
std::optional<Element> ElementReader::read_indefinite(std::uint8_t tag, unsigned depth) {
    if (encoding_ == Encoding::der || (tag & kConstructed) == 0 || depth >= kDeepest) {
        return std::nullopt;
    }
    const Bytes begin = rest_;
    while (true) {
        const std::size_t length = begin.size() - rest_.size();
        const auto inner = read(depth + 1);
        if (!inner) {
            return std::nullopt;
        }
        if (inner->tag == 0 && inner->content.empty()) {
            return Element{.tag = tag, .content = begin.first(length)};
        }
    }
}

} // namespace metalrun::macho
