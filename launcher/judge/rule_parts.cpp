// SPDX-License-Identifier: MIT
#include "judge/rule_parts.hpp"

#include "profile/values.hpp"

#include <array>

namespace metalrun::judge::rule {

namespace {

constexpr std::uint32_t kSfRestricted = 0x80000; // sys/stat.h SF_RESTRICTED

// What macOS mounts sealed, /usr/local apart (injection-rules 3.5).
bool is_system_path(std::string_view path) {
    static constexpr std::array<std::string_view, 5> kSealed{"/System/", "/bin/", "/sbin/", "/usr/",
                                                             "/Library/Apple/"};
    return !path.starts_with("/usr/local/") &&
           std::any_of(kSealed.begin(), kSealed.end(),
                       [&](std::string_view folder) { return path.starts_with(folder); });
}

} // namespace

std::string slice_names(const macho::FileFacts& file) {
    std::string names;
    for (const macho::SliceFacts& slice : file.slices) {
        names += names.empty() ? "" : ", ";
        names += slice.name;
    }
    return names;
}

bool is_macos(const Question& q, std::string_view range) {
    return q.host.kernel == HostFacts::Kernel::darwin &&
           profile::covers_os(std::string(range), q.host.os).value_or(false);
}

macho::Grading grading_of(const Question& q) {
    if (is_macos(q, ">=26")) {
        return macho::Grading::since_26;
    }
    const bool grades_arm64e = is_macos(q, ">=14.4") || has_boot_argument(q.host, kArm64ePreview);
    return grades_arm64e ? macho::Grading::since_14_4 : macho::Grading::before_14_4;
}

bool has_boot_argument(const HostFacts& host, std::string_view name) {
    return std::any_of(
        host.boot_arguments.begin(), host.boot_arguments.end(), [&](std::string_view argument) {
            if (!argument.starts_with(name)) {
                return false;
            }
            argument.remove_prefix(name.size());
            return argument.empty() || (argument.starts_with('=') && argument != "=0");
        });
}

bool is_enforcement_off(const Question& q) {
    return has_boot_argument(q.host, "amfi_get_out_of_my_way");
}

bool is_system_program(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || q.host.kernel != HostFacts::Kernel::darwin) {
        return false;
    }
    const bool lies_there = image->elsewhere || q.host.source == HostFacts::Source::machine;
    return (image->status.flags & kSfRestricted) != 0 ||
           (lies_there &&
            is_system_path(image->real_path.empty() ? image->path : image->real_path));
}

std::string flags_fact(const Question& q, const macho::CodeSignature& signature) {
    std::string names;
    for (const std::string& name : macho::flag_names(signature.best().flags)) {
        names += names.empty() ? "" : ", ";
        names += name;
    }
    return format("{} slice: code directory flags {:#x} ({})", target_slice(q)->name,
                  signature.best().flags, names.empty() ? std::string("none") : names);
}

std::string entitlement_fact(const macho::CodeSignature& signature, std::string_view key) {
    const macho::Entitlement* entry = signature.entitlements.find(key);
    return entry == nullptr ? format("entitlement {} is absent", key)
                            : format("entitlement {} is {}", key, entry->text);
}

std::string bad_pages(const macho::PageCheck& check) {
    return check.good() ? std::string{}
                        : format("{} of {} page hashes are wrong, the first is that of page {}",
                                 check.bad, check.checked, check.first_bad.value_or(0));
}

} // namespace metalrun::judge::rule
