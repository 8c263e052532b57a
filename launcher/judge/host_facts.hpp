// SPDX-License-Identifier: MIT
//
// What is known of the machine a target would run on. A fact that cannot be had is unknown, and
// unknown never counts as permission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace metalrun {

enum class Tri : std::uint8_t { no, yes, unknown };

struct HostFacts {
    enum class Source : std::uint8_t { machine, file, assumed };
    enum class Kernel : std::uint8_t { darwin, linux };

    Source source = Source::machine;
    Kernel kernel = Kernel::darwin;
    std::string os;           ///< version such as "26.5"; empty: unknown
    std::string build;        ///< such as "25F71"; empty: unknown
    std::string architecture; ///< "arm64" or "x86_64", as the kernel runs programs
    std::string chip;         ///< CPU brand string, such as "Apple M1 (Virtual)"; empty: unknown
    Tri guest = Tri::unknown;
    Tri sip = Tri::unknown; ///< System Integrity Protection
    std::vector<std::string> boot_arguments = {};
    Tri translated = Tri::unknown; ///< this process runs under Rosetta
    std::string metal_device;      ///< name; empty: unknown
    std::optional<std::uint64_t> memory_bytes;

    bool operator==(const HostFacts&) const = default;
};

} // namespace metalrun
