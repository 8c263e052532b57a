// SPDX-License-Identifier: MIT
//
// The few facts of an ELF program that decide whether ld.so(8) would load a library into it.
// Layouts: elf(5). Reads the header, the program headers, the interpreter's name and the names of
// the needed libraries; never the contents.
#pragma once

#include "system/system.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalrun::elf {

enum class Type : std::uint8_t { executable, shared, other };

struct Facts {
    bool is_64_bit = true;
    bool is_little_endian = true;
    std::uint16_t machine = 0; ///< e_machine
    Type type = Type::other;   ///< a position-independent program is `shared` with an interpreter
    std::string interpreter;   ///< PT_INTERP; empty: statically linked, or a library
    std::vector<std::string> needed; ///< DT_NEEDED, in order, at most kMostNeeded
    std::string
        marker; ///< descriptor of the note that says "metalrun": "launcher", "shim"; else empty

    bool operator==(const Facts&) const = default;
};

inline constexpr std::size_t kMostNeeded = 256;

/// Why a file is not a usable ELF file: one sentence, with the offset and the size that disagree.
struct Malformed {
    std::string message;

    bool operator==(const Malformed&) const = default;
};

/// True if the file begins with the ELF magic number.
[[nodiscard]] bool is_elf(Bytes first_bytes);

/// Errors: what is damaged. A file that cannot be read to the end counts as cut short.
[[nodiscard]] std::expected<Facts, Malformed> read_facts(const File& file);

/// "x86-64", "AArch64" …, or "machine 123".
[[nodiscard]] std::string machine_name(std::uint16_t machine);

/// e_machine of programs for `architecture` ("x86_64", "arm64"), or 0 if it has none here.
[[nodiscard]] std::uint16_t machine_of(const std::string& architecture);

} // namespace metalrun::elf
