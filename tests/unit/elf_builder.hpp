// SPDX-License-Identifier: MIT
//
// Builds small ELF files for the tests, one field at a time: elf(5), 64-bit little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::tests {

struct ElfOptions {
    std::uint16_t machine = 62;
    std::uint16_t type = 3;
    std::string interpreter = "/lib64/ld-linux-x86-64.so.2"; ///< empty: none
    std::vector<std::string> needed;
    std::string marker;                ///< note's descriptor; empty: no note
    std::uint64_t extra_load_size = 0; ///< added to the size of the PT_LOAD, beyond the file
};

inline void put(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(value >> (8 * i));
    }
}

inline std::string make_elf(const ElfOptions& options = {}) {
    // Contents first, so that the program headers know the offsets: they lie behind four headers.
    constexpr std::uint64_t kContents = 64 + 4 * 56;
    std::string contents;
    const auto place = [&](std::string_view bytes) {
        const std::uint64_t at = kContents + contents.size();
        contents += bytes;
        return at;
    };
    struct Header {
        std::uint32_t type;
        std::uint64_t offset, size;
    };
    std::vector<Header> headers;
    if (!options.interpreter.empty()) {
        const std::string name = options.interpreter + '\0';
        headers.push_back({3, place(name), name.size()});
    }
    if (!options.needed.empty()) {
        std::string strings(1, '\0');
        std::string dynamic;
        for (const std::string& name : options.needed) {
            put(dynamic, 1, 8);
            put(dynamic, strings.size(), 8);
            strings += name + '\0';
        }
        const std::uint64_t strings_at = place(strings);
        put(dynamic, 5, 8);
        put(dynamic, strings_at, 8); // the PT_LOAD maps offset to the same address
        put(dynamic, 10, 8);
        put(dynamic, strings.size(), 8);
        put(dynamic, 0, 8);
        put(dynamic, 0, 8);
        headers.push_back({2, place(dynamic), dynamic.size()});
    }
    if (!options.marker.empty()) {
        std::string note;
        put(note, 9, 4);
        put(note, options.marker.size() + 1, 4);
        put(note, 1, 4);
        note += std::string("metalrun\0\0\0\0", 12) + options.marker + '\0';
        headers.push_back({4, place(note), note.size()});
    }
    headers.push_back({1, 0, kContents + contents.size() + options.extra_load_size});
    std::string out("\x7f"
                    "ELF\x02\x01\x01",
                    7);
    out.resize(16, '\0');
    put(out, options.type, 2);
    put(out, options.machine, 2);
    put(out, 1, 4);
    put(out, 0, 8);
    put(out, 64, 8);
    put(out, 0, 8);
    put(out, 0, 4);
    put(out, 64, 2);
    put(out, 56, 2);
    put(out, headers.size(), 2);
    put(out, 0, 6);
    for (const Header& header : headers) {
        put(out, header.type, 4);
        put(out, 4, 4);
        put(out, header.offset, 8);
        put(out, header.offset, 8);
        put(out, header.offset, 8);
        put(out, header.size, 8);
        put(out, header.size, 8);
        put(out, 8, 8);
    }
    out.resize(kContents, '\0');
    return out + contents;
}

} // namespace metalrun::tests
