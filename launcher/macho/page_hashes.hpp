// SPDX-License-Identifier: MIT
//
// Compares a slice's pages with the hashes in its code directories, in reads of a bounded size.
#pragma once

#include "macho/code_signature.hpp"
#include "macho/source.hpp"

#include <cstdint>
#include <optional>

namespace metalrun::macho {

struct PageCheck {
    std::uint64_t checked = 0;              ///< page hashes compared, those of every code directory
    std::uint64_t bad = 0;                  ///< those that differ, are not there, or cannot be read
    std::optional<std::uint64_t> first_bad; ///< number of the first such page

    [[nodiscard]] bool good() const { return bad == 0; }

    bool operator==(const PageCheck&) const = default;
};

/// With one worker no thread is started, as the run path needs it. With more, that many threads
/// (fewer if the system gives none) share the work and call the file's read_at; the answer is the
/// same. `signature` is of this slice.
[[nodiscard]] PageCheck check_pages(const Source& slice, const CodeSignature& signature,
                                    unsigned workers = 1);

} // namespace metalrun::macho
