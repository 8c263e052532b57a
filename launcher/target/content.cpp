// SPDX-License-Identifier: MIT
#include "target/content.hpp"

#include "macho/bytes.hpp"

#include <array>

namespace metalrun::target {

std::string marker_of(const Content& content) {
    if (const elf::Facts* facts = content.elf(); facts != nullptr) {
        return facts->marker;
    }
    if (const macho::FileFacts* facts = content.macho(); facts != nullptr) {
        for (const macho::SliceFacts& slice : facts->slices) {
            if (slice.image && !slice.image->marker.empty()) {
                return slice.image->marker;
            }
        }
    }
    return {};
}

Content read_content(const File& file, macho::Depth depth) {
    std::array<std::byte, 8> buffer{};
    const auto got = file.read_at(0, buffer);
    const Bytes first = Bytes(buffer).first(got ? *got : 0);
    if (elf::is_elf(first)) {
        return {.parsed = elf::read_facts(file)};
    }
    if (macho::is_macho(first)) {
        return {.parsed = macho::read_facts(file, depth)};
    }
    return {};
}

} // namespace metalrun::target
