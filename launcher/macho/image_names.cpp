// SPDX-License-Identifier: MIT
#include "macho/image_names.hpp"

#include "macho/format.hpp"
#include "report/text.hpp"

#include <array>
#include <string_view>

namespace metalrun::macho {

std::string version_text(std::uint32_t packed) {
    const std::uint32_t major = packed >> 16U;
    const std::uint32_t minor = (packed >> 8U) & 0xFFU;
    const std::uint32_t patch = packed & 0xFFU;
    return patch == 0 ? text::format("{}.{}", major, minor)
                      : text::format("{}.{}.{}", major, minor, patch);
}

std::string platform_name(std::uint32_t platform) {
    static constexpr std::array<std::string_view, 15> kNames{"none",
                                                             "macOS",
                                                             "iOS",
                                                             "tvOS",
                                                             "watchOS",
                                                             "bridgeOS",
                                                             "Mac Catalyst",
                                                             "iOS simulator",
                                                             "tvOS simulator",
                                                             "watchOS simulator",
                                                             "DriverKit",
                                                             "visionOS",
                                                             "visionOS simulator",
                                                             "firmware",
                                                             "sepOS"};
    return platform < kNames.size() ? std::string(kNames.at(platform))
                                    : text::format("platform {}", platform);
}

std::string filetype_name(std::uint32_t filetype) {
    static constexpr std::array<std::string_view, 13> kNames{
        "type 0",        "object",           "executable",       "fixed VM library", "core file",
        "preloaded",     "library",          "dynamic linker",   "bundle",           "library stub",
        "debug symbols", "kernel extension", "kernel collection"};
    return filetype < kNames.size() ? std::string(kNames.at(filetype))
                                    : text::format("type {}", filetype);
}

std::uint32_t platform_of_version_min(std::uint32_t command) {
    switch (command) {
    case kLcVersionMinIphoneos:
        return kPlatformIos;
    case kLcVersionMinTvos:
        return kPlatformTvos;
    case kLcVersionMinWatchos:
        return kPlatformWatchos;
    default:
        return kPlatformMacos;
    }
}

} // namespace metalrun::macho
