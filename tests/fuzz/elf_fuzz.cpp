// SPDX-License-Identifier: MIT
//
// Any bytes as an ELF file.
#include "elf/elf.hpp"
#include "fuzz_input.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace metalrun;
    using tests::require;
    constexpr std::uint64_t kMostRead = std::uint64_t{128} << 10U;
    const Bytes bytes = tests::input_bytes(data, size);
    const tests::PaddedFile file(bytes);
    const auto facts = elf::read_facts(file);
    require(file.read_bytes() <= kMostRead + size, "reads are bounded");
    require(facts == elf::read_facts(file), "reading again gives the same");
    require(!facts || elf::is_elf(bytes), "only an ELF file is one");
    if (!facts) {
        return 0;
    }
    require(facts->needed.size() <= elf::kMostNeeded, "needed libraries are capped");
    const auto is_in_file = [&](const std::string& text) {
        return as_text(bytes).find(text) != std::string_view::npos;
    };
    require(is_in_file(facts->interpreter) && is_in_file(facts->marker) &&
                std::ranges::all_of(facts->needed, is_in_file),
            "texts are the file's");
    return 0;
}
