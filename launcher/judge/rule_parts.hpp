// SPDX-License-Identifier: MIT
//
// What the rules have in common: how a finding is begun, and the ways to the facts they look at.
#pragma once

#include "judge/judge.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace metalrun::judge::rule {

using text::format;
using text::quote;

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

inline std::string slice_names(const macho::FileFacts& file) {
    std::string names;
    for (const macho::SliceFacts& slice : file.slices) {
        names += names.empty() ? "" : ", ";
        names += slice.name;
    }
    return names;
}

/// The path of the target's image, quoted.
inline std::string target_name(const Question& q) {
    const target::Image* image = image_of(q);
    return quote(image != nullptr ? image->path : q.chain.path);
}

} // namespace metalrun::judge::rule
