// SPDX-License-Identifier: MIT
//
// What a file holds, as far as its kind is known here: an ELF or a Mach-O image, whole or damaged.
#pragma once

#include "elf/elf.hpp"
#include "macho/facts.hpp"
#include "system/system.hpp"

#include <expected>
#include <string>
#include <variant>

namespace metalrun::target {

using ElfResult = std::expected<elf::Facts, elf::Malformed>;
using MachoResult = std::expected<macho::FileFacts, macho::Malformed>;

struct Content {
    std::variant<std::monostate, ElfResult, MachoResult> parsed;

    /// The facts, or null if it is of another kind or damaged.
    [[nodiscard]] const elf::Facts* elf() const {
        const auto* result = std::get_if<ElfResult>(&parsed);
        return result != nullptr && *result ? &**result : nullptr;
    }
    [[nodiscard]] const macho::FileFacts* macho() const {
        const auto* result = std::get_if<MachoResult>(&parsed);
        return result != nullptr && *result ? &**result : nullptr;
    }
    /// What is damaged, one sentence; null if nothing is or the kind is unknown.
    [[nodiscard]] const std::string* damage() const {
        if (const auto* result = std::get_if<ElfResult>(&parsed); result != nullptr && !*result) {
            return &result->error().message;
        }
        if (const auto* result = std::get_if<MachoResult>(&parsed); result != nullptr && !*result) {
            return &result->error().message;
        }
        return nullptr;
    }
    [[nodiscard]] bool is_elf() const { return std::holds_alternative<ElfResult>(parsed); }
    [[nodiscard]] bool is_macho() const { return std::holds_alternative<MachoResult>(parsed); }
    [[nodiscard]] bool is_known() const { return is_elf() || is_macho(); }
};

/// metalrun's marker in it: "launcher", "shim", or empty.
[[nodiscard]] std::string marker_of(const Content& content);

/// Reads the header, load commands and signature; contents only where `depth` asks for them.
[[nodiscard]] Content read_content(const File& file, macho::Depth depth);

} // namespace metalrun::target
