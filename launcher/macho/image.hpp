// SPDX-License-Identifier: MIT
//
// One slice's header and load commands (mach-o/loader.h): the facts that decide whether the kernel
// starts it, and what dyld would do with DYLD_INSERT_LIBRARIES. Contents of segments are not read,
// apart from metalrun's own marker section.
#pragma once

#include "macho/source.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace metalrun::macho {

struct Dependency {
    std::string path;
    bool weak = false; ///< LC_LOAD_WEAK_DYLIB: may be missing

    bool operator==(const Dependency&) const = default;
};

/// LC_BUILD_VERSION or LC_VERSION_MIN_*.
struct BuildVersion {
    std::uint32_t platform = 0;
    std::string platform_name; ///< "macOS", "Mac Catalyst" …, or "platform 99"
    std::string minos;         ///< "13.0", "10.15.4"
    std::string sdk;

    bool operator==(const BuildVersion&) const = default;
};

struct CodeSignatureRange {
    std::uint64_t offset = 0; ///< in the slice
    std::uint64_t size = 0;

    bool operator==(const CodeSignatureRange&) const = default;
};

/// Why dyld refuses a library.
struct DyldProblem {
    std::string message; ///< one sentence
    /// macOS before 15.4 (dyld before 1284) refuses it for this, too.
    bool before_15_4 = false;

    bool operator==(const DyldProblem&) const = default;
};

struct Image {
    std::uint32_t cputype = 0;
    std::uint32_t cpusubtype = 0; ///< all 32 bits
    bool is_64_bit = true;
    bool is_little_endian = true;
    std::uint32_t filetype = 0;
    std::string filetype_name; ///< "executable", "library", "bundle" …; "archive" has no header
    std::uint32_t flags = 0;

    std::vector<BuildVersion> versions; ///< one per version command, at most kMostVersions
    std::size_t version_commands = 0;
    std::vector<Dependency> dependencies; ///< in order
    std::vector<std::string> rpaths;
    std::string install_name; ///< LC_ID_DYLIB; empty: none

    bool is_pie = false;                   ///< MH_PIE
    bool is_dyldlinked = false;            ///< MH_DYLDLINK
    std::string dylinker;                  ///< LC_LOAD_DYLINKER; empty: none
    bool has_entry_point = false;          ///< LC_MAIN or LC_UNIXTHREAD
    std::uint32_t cryptid = 0;             ///< not 0: encrypted (FairPlay)
    bool has_restrict_section = false;     ///< __RESTRICT,__restrict
    bool segments_file_aligned = true;     ///< file-backed segments begin at multiples of 16 KiB
    bool has_unterminated_strings = false; ///< a path ran to the end of its load command
    std::string marker; ///< text of __TEXT,__metalrun: "launcher", "shim"; empty: none

    std::optional<CodeSignatureRange> code_signature; ///< absent: no LC_CODE_SIGNATURE
    /// Why the kernel would refuse this main program although its commands can be believed (corpus
    /// RULES, "malformed (kernel)"): the first reason, as one sentence. Of programs for other
    /// processors than arm64 only the disagreement with the universal header is told.
    std::optional<std::string> kernel_problem;
    /// Why dyld would refuse this library although its commands can be believed: the first reason.
    std::optional<DyldProblem> dyld_problem;

    [[nodiscard]] bool is_executable() const;
    [[nodiscard]] bool is_library() const;
    /// The only version's platform, or 0: none.
    [[nodiscard]] std::uint32_t platform() const {
        return versions.empty() ? 0 : versions.front().platform;
    }

    bool operator==(const Image&) const = default;
};

/// Load commands larger than this are not believed (real ones: below 32 KiB).
inline constexpr std::uint64_t kLargestCommands = std::uint64_t{256} << 10U;
inline constexpr std::size_t kMostVersions = 8;

/// `slice` begins with the Mach-O header. Errors: a header or load command that cannot be believed.
[[nodiscard]] std::expected<Image, Malformed> parse_image(const Source& slice);

} // namespace metalrun::macho
