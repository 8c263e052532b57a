// SPDX-License-Identifier: MIT
//
// Compares a slice's pages with the hashes in its code directories, in reads of at most 1 MiB.
#pragma once

#include "macho/code_signature.hpp"
#include "macho/source.hpp"

#include <cstdint>
#include <optional>

namespace metalrun::macho {

struct PageCheck {
    std::uint64_t checked = 0; ///< page hashes compared, those of every code directory
    std::uint64_t bad = 0;     ///< those that differ, or whose page or hash cannot be read
    std::optional<std::uint64_t> first_bad; ///< number of the first such page

    [[nodiscard]] bool good() const { return bad == 0; }

    bool operator==(const PageCheck&) const = default;
};

[[nodiscard]] PageCheck check_pages(const Source& slice, const CodeSignature& signature);

} // namespace metalrun::macho
