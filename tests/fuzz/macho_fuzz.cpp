// SPDX-License-Identifier: MIT
//
// Any bytes as a Mach-O file: container, images, signatures and page hashes.
#include "macho/facts.hpp"
#include "memory_file.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const metalrun::tests::MemoryFile file(std::as_bytes(std::span(data, size)));
    for (const auto depth : {metalrun::macho::Depth::decide, metalrun::macho::Depth::verify}) {
        const auto facts = metalrun::macho::read_facts(file, depth);
        if (!facts) {
            continue;
        }
        for (const metalrun::macho::SliceFacts& slice : facts->slices) {
            static_cast<void>(metalrun::macho::check_pages(file, slice));
        }
    }
    return 0;
}
