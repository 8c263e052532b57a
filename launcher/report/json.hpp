// SPDX-License-Identifier: MIT
//
// JSON that helpers print, read into plain values. json.cpp is the only user of Boost.JSON.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::report {

/// What metalrun-probe --json says of a device.
struct DeviceAnswers {
    std::optional<std::string> device; ///< name; absent: there is no Metal device
    bool simulated = false;
    std::uint16_t apple_family = 0; ///< highest of 1001…1010 answered yes, or 0
    std::uint64_t threadgroup_memory = 0;
    std::uint64_t working_set = 0;
    std::string raw; ///< the document as it was printed
};

/// Unknown members are ignored. Errors: Errc::system.
[[nodiscard]] Result<DeviceAnswers> parse_device_answers(std::string_view json);

} // namespace metalrun::report
