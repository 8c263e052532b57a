// SPDX-License-Identifier: MIT
//
// Which pointers of an image are to be set, read from the classic opcodes or from the chains in the
// pointers themselves. Sources: mach-o/loader.h, mach-o/fixup-chains.h (pointer formats 2 and 6).
#pragma once

#include "loader.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace emulation {

/// Throws Malformed.
class FixupReader {
public:
    /// The image's memory and segments as the file has them, and the unslid address of its header.
    FixupReader(Bytes memory, std::span<const Segment> segments, std::uint64_t base)
        : memory_(memory), segments_(segments), base_(base) {}

    void read_rebases(Bytes opcodes);
    void read_binds(Bytes opcodes, bool is_lazy);
    void read_chains(Bytes fixups);

    /// In the order in which they are to be set: a later one of the same place replaces it.
    [[nodiscard]] std::vector<Fixup> take() { return std::move(fixups_); }

private:
    void read_chains_of_segment(Bytes starts);
    void follow_chain(std::uint64_t offset, std::uint16_t format);
    void add_fixup(Fixup fixup);
    void add_rebase(std::uint64_t offset);
    [[nodiscard]] std::uint64_t segment_offset(unsigned index) const;

    Bytes memory_;
    std::span<const Segment> segments_;
    std::uint64_t base_;
    std::vector<Fixup> imports_; ///< of the chains, by ordinal
    std::vector<Fixup> fixups_;
};

} // namespace emulation
