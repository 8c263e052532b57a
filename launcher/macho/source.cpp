// SPDX-License-Identifier: MIT
#include "macho/source.hpp"

#include <algorithm>

namespace metalrun::macho {

Source::Source(const File& file, std::uint64_t offset, std::uint64_t size)
    : file_(&file), offset_(offset), size_(size) {
    first_.resize(static_cast<std::size_t>(std::min(size, kFirstBytes)));
    const auto got = file.read_at(offset, first_);
    first_.resize(got ? *got : 0);
}

std::optional<std::vector<std::byte>> Source::read(std::uint64_t offset,
                                                   std::uint64_t length) const {
    if (!fits(offset, length, size_)) {
        return std::nullopt;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    if (!read_into(offset, bytes)) {
        return std::nullopt;
    }
    return bytes;
}

bool Source::read_into(std::uint64_t offset, std::span<std::byte> into) const {
    if (!fits(offset, into.size(), size_)) {
        return false;
    }
    if (into.empty()) {
        return true;
    }
    if (const auto known = slice(first_, offset, into.size())) {
        std::ranges::copy(*known, into.begin());
        return true;
    }
    const auto got = file_->read_at(offset_ + offset, into);
    return got && *got == into.size();
}

Source Source::part(std::uint64_t offset, std::uint64_t length) const {
    const std::uint64_t begin = std::min(offset, size_);
    return {*file_, offset_ + begin, std::min(length, size_ - begin)};
}

} // namespace metalrun::macho
