// SPDX-License-Identifier: MIT
//
// What the rules have in common: how a finding is begun, and the ways to the facts they look at.
#pragma once

#include "judge/judge.hpp"
#include "macho/grading.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace metalrun::judge::rule {

using text::format;
using text::quote;

/// The boot argument that lets everybody's arm64e code run before macOS 26.
inline constexpr std::string_view kArm64ePreview = "-arm64e_preview_abi";

inline constexpr std::string_view kStockHelp = "to start it without the shim, use '--stock'";

inline Finding error_at(Step step, Outcome outcome, FindingId id, std::string message) {
    return {.id = id,
            .severity = Severity::error,
            .step = step,
            .outcome = outcome,
            .message = std::move(message)};
}

inline Finding uncertain(Outcome worst, FindingId id, std::string message) {
    return {.id = id,
            .severity = Severity::warning,
            .step = Step::uncertain,
            .outcome = worst,
            .message = std::move(message)};
}

inline Finding stock_because(FindingId id, std::string message) {
    return {
        .id = id, .severity = Severity::note, .step = Step::stock, .message = std::move(message)};
}

inline Finding remark(FindingId id, Severity severity, std::string message) {
    return {.id = id, .severity = severity, .step = Step::none, .message = std::move(message)};
}

/// The file at the chain's end, or null.
/// The same finding where it does not decide: it is only told.
inline Finding as_warning(Finding finding) {
    finding.severity = Severity::warning;
    finding.step = Step::none;
    finding.outcome = Outcome::loads;
    return finding;
}

/// True if what was typed is a script.
inline bool starts_as_script(const Question& q) {
    return !q.chain.links.empty() && q.chain.links.front().kind == target::LinkKind::script;
}

inline const target::Image* image_of(const Question& q) {
    const std::optional<target::Image>& image = q.chain.image;
    return image ? &*image : nullptr;
}

inline const elf::Facts* target_elf(const Question& q) {
    const target::Image* image = image_of(q);
    return image != nullptr ? image->content.elf() : nullptr;
}

inline const macho::FileFacts* target_macho(const Question& q) {
    const target::Image* image = image_of(q);
    return image != nullptr ? image->content.macho() : nullptr;
}

/// The slice that is started, or null.
inline const macho::SliceFacts* target_slice(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    return file != nullptr ? running_slice(*file, q.plan.arch) : nullptr;
}

/// The code signature of the slice that is started, or null (none, or damaged).
inline const macho::CodeSignature* target_signature(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    return slice != nullptr && slice->signature && *slice->signature ? &**slice->signature
                                                                     : nullptr;
}

inline const target::Content* shim_content(const Question& q) {
    return q.shim != nullptr && q.shim->open_error == 0 ? &q.shim->content : nullptr;
}

inline const elf::Facts* shim_elf(const Question& q) {
    const target::Content* content = shim_content(q);
    return content != nullptr ? content->elf() : nullptr;
}

inline const macho::FileFacts* shim_macho(const Question& q) {
    const target::Content* content = shim_content(q);
    return content != nullptr ? content->macho() : nullptr;
}

inline std::string machine_text(const elf::Facts& facts) {
    return format("{}{}", elf::machine_name(facts.machine),
                  facts.is_64_bit ? std::string_view{} : std::string_view{", 32-bit"});
}

inline bool has_slice(const macho::FileFacts& file, std::string_view name) {
    return std::any_of(file.slices.begin(), file.slices.end(),
                       [&](const macho::SliceFacts& slice) { return slice.name == name; });
}

/// The names of a file's slices, with commas.
[[nodiscard]] std::string slice_names(const macho::FileFacts& file);

/// The image of the slice that is started, or null (no such slice, or damaged).
inline const macho::Image* target_image(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    return slice != nullptr && slice->image ? &*slice->image : nullptr;
}

/// True if the host is a macOS of this range ("14.4", ">=26", "13..15"); an unknown version is of
/// none.
[[nodiscard]] bool is_macos(const Question& q, std::string_view range);

/// How this host's kernel and dyld grade slices; of an unknown version as the oldest does.
[[nodiscard]] macho::Grading grading_of(const Question& q);

/// True if the kernel was started with this argument, as `name` or `name=` and anything but 0.
[[nodiscard]] bool has_boot_argument(const HostFacts& host, std::string_view name);

/// True if the boot argument amfi_get_out_of_my_way switches the enforcement of code signing rules
/// off (injection-rules 3.5: neither the hardened runtime nor library validation counts then).
[[nodiscard]] bool is_enforcement_off(const Question& q);

/// True if the program is one of macOS's own, in its place: SF_RESTRICTED (sys/stat.h), or a path
/// on the sealed system volume. A path counts only where it is one of the judged machine.
[[nodiscard]] bool is_system_program(const Question& q);

/// "arm64 slice: code directory flags 0x10000 (runtime)". There is a target slice.
[[nodiscard]] std::string flags_fact(const Question& q, const macho::CodeSignature& signature);

/// "entitlement KEY is true", or "… is absent".
[[nodiscard]] std::string entitlement_fact(const macho::CodeSignature& signature,
                                           std::string_view key);

/// "3 of 12 page hashes are wrong, the first is that of page 4"; empty: all are right.
[[nodiscard]] std::string bad_pages(const macho::PageCheck& check);

/// The path of the target's image, quoted.
inline std::string target_name(const Question& q) {
    const target::Image* image = image_of(q);
    return quote(image != nullptr ? image->path : q.chain.path);
}

} // namespace metalrun::judge::rule
