// SPDX-License-Identifier: MIT
//
// Whether the library can be inserted: ld.so(8); dyld loadInsertedLibraries, GradedArchitectures.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "macho/format.hpp"
#include "macho/grading.hpp"
#include "profile/values.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

std::string_view library_help(const Question& q) {
    return q.plan.shim.origin == launch::kBuiltInDefault
               ? "install metalrun again, or name the library with '--shim FILE'"
               : "correct the path, or leave it out to use the installed library";
}

// What a library that cannot be loaded does to the program: ld.so goes on without it, dyld ends the
// program, unless library validation lets dyld go on (dyld loadInsertedLibraries, AMFI bit 5).
Outcome shim_outcome(const Question& q) {
    if (q.host.kernel == HostFacts::Kernel::linux) {
        return Outcome::stripped;
    }
    const macho::CodeSignature* signature = target_signature(q);
    return signature != nullptr && signature->has_library_validation() ? Outcome::stripped
                                                                       : Outcome::killed;
}

bool is_library(const target::Content& content) {
    if (const elf::Facts* facts = content.elf(); facts != nullptr) {
        const bool foreign = !facts->is_64_bit || !facts->is_little_endian;
        return foreign || (facts->type == elf::Type::shared && facts->interpreter.empty());
    }
    const macho::FileFacts* file = content.macho();
    return file != nullptr && std::all_of(file->slices.begin(), file->slices.end(),
                                          [](const macho::SliceFacts& slice) {
                                              return slice.image && slice.image->is_library();
                                          });
}

// What the target becomes. macOS's own programs, also those that cannot be looked at from here, are
// arm64e (injection-rules 3.5).
std::optional<macho::Process> target_process(const Question& q) {
    if (const macho::SliceFacts* slice = target_slice(q); slice != nullptr) {
        return macho::process_of(*slice, grading_of(q));
    }
    const target::Image* image = image_of(q);
    // With System Integrity Protection they read no variable, and so no library is asked for.
    const bool is_unseen =
        image != nullptr && image->elsewhere && is_system_program(q) && q.host.sip == Tri::no;
    return is_unseen ? std::optional(macho::Process::arm64e) : std::nullopt;
}

std::string_view process_name(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    return slice != nullptr ? std::string_view(slice->name) : std::string_view("arm64e");
}

Found shim_slice_missing(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    const auto process = target_process(q);
    if (library == nullptr || !process ||
        macho::library_slice(*library, *process, grading_of(q)) != nullptr) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_architecture,
                               format("{} ({}) cannot load the shim {} ({})", target_name(q),
                                      process_name(q), quote(q.shim->path), slice_names(*library)));
    finding.help = "name a library that has this architecture with '--shim FILE'";
    return finding;
}

} // namespace

std::optional<Finding> shim_path(const Question& q) {
    if (q.shim == nullptr) {
        return std::nullopt;
    }
    // dyld splits at colons, ld.so at blanks, too, and replaces $ORIGIN and $LIB; neither has an
    // escape.
    const bool linux = q.host.kernel == HostFacts::Kernel::linux;
    if (q.shim->no_execution) {
        Finding finding =
            error_at(Step::shim, shim_outcome(q), FindingId::shim_path,
                     format("the shim {} lies on a file system that is mounted noexec",
                            quote(q.shim->path)));
        finding.help = "put the library on another file system";
        return finding;
    }
    const std::size_t at = q.shim->path.find_first_of(linux ? ": \t\n$" : ":\n");
    if (at == std::string::npos) {
        return std::nullopt;
    }
    Finding finding = error_at(
        Step::shim, shim_outcome(q), FindingId::shim_path,
        format("the shim's path {} cannot be written in {}: it contains {}", quote(q.shim->path),
               launch::insertion_variable(q.host.kernel), quote(q.shim->path.substr(at, 1))));
    finding.help = "put the library in a folder without such a character in its path";
    return finding;
}

namespace {

// dyld ends the program for it whatever library validation says (dyldMain.cpp prepare).
Found shim_dependency_missing(const Question& q) {
    if (q.host.kernel != HostFacts::Kernel::darwin || q.host.source != HostFacts::Source::machine ||
        q.shim->missing_dependency.empty()) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, Outcome::killed, FindingId::shim_missing,
                               format("the shim {} needs {}, which is not there",
                                      quote(q.shim->path), quote(q.shim->missing_dependency)));
    finding.help = std::string(library_help(q));
    return finding;
}

} // namespace

std::optional<Finding> shim_missing(const Question& q) {
    if (q.shim == nullptr) {
        return std::nullopt;
    }
    if (q.shim->open_error == 0) {
        return shim_dependency_missing(q);
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_missing,
                               format("cannot read the shim {}: {}", quote(q.shim->path),
                                      text::error_text(q.shim->open_error)));
    finding.facts.push_back(format("the path comes from: {}", q.plan.shim.origin));
    finding.help = std::string(library_help(q));
    return finding;
}

namespace {

// The shape that dyld refuses, of the slice that it would take; null: none.
const std::string* refused_by_dyld(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    if (library == nullptr) {
        return nullptr;
    }
    if (library->dyld_problem && is_macos(q, ">=26")) {
        return &*library->dyld_problem;
    }
    const auto process = target_process(q);
    const macho::SliceFacts* taken =
        process ? macho::library_slice(*library, *process, grading_of(q)) : nullptr;
    const macho::Image* image = taken != nullptr && taken->image ? &*taken->image : nullptr;
    const macho::DyldProblem* problem =
        image != nullptr && image->dyld_problem ? &*image->dyld_problem : nullptr;
    const bool counts = problem != nullptr && (problem->before_15_4 || is_macos(q, ">=15.4"));
    return counts ? &problem->message : nullptr;
}

} // namespace

std::optional<Finding> shim_not_a_library(const Question& q) {
    if (q.shim == nullptr || q.shim->open_error != 0) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_not_a_library, {});
    finding.help = std::string(library_help(q));
    if (q.shim->status.kind != FileKind::regular) {
        finding.message = format("the shim {} is not a regular file", quote(q.shim->path));
        return finding;
    }
    if (!q.shim->content.is_known()) {
        finding.message = format("the shim {} is not a shared library", quote(q.shim->path));
        return finding;
    }
    if (const std::string* damage = q.shim->content.damage(); damage != nullptr) {
        finding.message = format("the shim {} is damaged: {}", quote(q.shim->path), *damage);
        return finding;
    }
    if (!is_library(q.shim->content)) {
        finding.message = format("the shim {} is not a shared library", quote(q.shim->path));
        return finding;
    }
    if (const std::string* why = refused_by_dyld(q); why != nullptr) {
        finding.message = format("dyld would refuse the shim {}: {}", quote(q.shim->path), *why);
        return finding;
    }
    return std::nullopt;
}

std::optional<Finding> shim_architecture(const Question& q) {
    const elf::Facts* library = shim_elf(q);
    if (library == nullptr) {
        return shim_slice_missing(q);
    }
    if (fits_host(*library, q.host)) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_architecture,
                               format("the shim {} is built for {}, this machine is {}",
                                      quote(q.shim->path), machine_text(*library),
                                      elf::machine_name(elf::machine_of(q.host.architecture))));
    finding.help = "name a library of the right kind with '--shim FILE'";
    return finding;
}

std::optional<Finding> shim_writable_by_others(const Question& q) {
    if (q.shim == nullptr || !q.shim->distrust) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_writable_by_others,
                               q.shim->distrust->message);
    finding.facts = q.shim->distrust->notes;
    finding.help = q.shim->distrust->help;
    return finding;
}

std::optional<Finding> shim_checksum(const Question& q) {
    if (q.shim == nullptr || q.shim->open_error != 0 || q.plan.shim_sha256.empty() ||
        q.shim->sha256 == q.plan.shim_sha256) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::shim, shim_outcome(q), FindingId::shim_checksum,
                               format("the shim {} is not the library that profile {} names",
                                      quote(q.shim->path), quote(q.plan.profile)));
    finding.facts = {format("SHA-256 seen:     {}", q.shim->sha256),
                     format("SHA-256 expected: {}", q.plan.shim_sha256)};
    finding.help = "install the library again, or correct 'shim.sha256' in the profile";
    return finding;
}

std::optional<Finding> shim_known(const Question& q) {
    if (q.shim == nullptr || q.shim->published.empty()) {
        return std::nullopt;
    }
    return remark(FindingId::shim_known, Severity::note,
                  format("{} is the published {}", quote(q.shim->path), q.shim->published));
}

Found shim_on_shared_folder(const Question& q) {
    if (q.shim == nullptr || !q.shim->on_shared_folder) {
        return std::nullopt;
    }
    Finding finding = remark(
        FindingId::shim_on_shared_folder, Severity::warning,
        format("the shim {} lies in a folder of the host (virtiofs): it can change under this "
               "guest, and macOS may refuse to load it",
               quote(q.shim->path)));
    finding.help = "copy it to the guest's own disk and name the copy with '--shim FILE'";
    return finding;
}

std::optional<Finding> shim_foreign(const Question& q) {
    const target::Content* content = shim_content(q);
    if (content == nullptr || !content->is_known() || target::marker_of(*content) == "shim") {
        return std::nullopt;
    }
    Finding finding = remark(
        FindingId::shim_foreign, Severity::warning,
        format("{} is not metalrun's own library: it writes no receipt, and 'children' and 'hook' "
               "cannot be honoured",
               quote(q.shim->path)));
    return finding;
}

namespace {

// Children of every other architecture could not load it: Intel ones, arm64e ones of macOS 26.
bool is_thin(const macho::FileFacts& library) {
    return library.slices.size() == 1;
}

} // namespace

bool child_may_die(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    if (q.host.kernel == HostFacts::Kernel::linux) {
        return false;
    }
    if (q.host.sip == Tri::yes) {
        return q.plan.children.value == profile::Children::inherit_if_safe && library != nullptr &&
               is_thin(*library);
    }
    const bool old = !profile::covers_os(">=14.4", q.host.os).value_or(false);
    return library == nullptr || !has_slice(*library, "arm64e") || old;
}

std::optional<Finding> child_would_die(const Question& q) {
    if (q.shim == nullptr || q.plan.children.value == profile::Children::stock ||
        !child_may_die(q)) {
        return std::nullopt;
    }
    const std::string which = q.host.sip == Tri::yes ? format("of another architecture than {}",
                                                              slice_names(*shim_macho(q)))
                                                     : std::string("Apple's own programs (arm64e)");
    const std::string sentence = format("children of {} that are {} could not load the shim and "
                                        "would be ended",
                                        target_name(q), which);
    if (q.plan.children.value == profile::Children::inherit_if_safe) {
        return remark(FindingId::child_would_die, Severity::note,
                      format("{}: children run stock", sentence));
    }
    Finding finding = error_at(Step::shim, Outcome::loads, FindingId::child_would_die, sentence);
    finding.help = "use '--children inherit-if-safe' or '--children stock'";
    return finding;
}

namespace {

// dyld loads it all the same; what it needs from the newer system may be missing.
Found shim_too_new(const Question& q, const macho::FileFacts& library) {
    for (const macho::SliceFacts& slice : library.slices) {
        if (!slice.image || slice.image->versions.empty() || q.host.os.empty()) {
            continue;
        }
        const std::string& oldest = slice.image->versions.front().minos;
        if (profile::covers_os(">=" + oldest, q.host.os).value_or(true)) {
            continue;
        }
        Finding finding =
            uncertain(Outcome::killed, FindingId::shim_platform,
                      format("the shim {} was built for macOS {} or later, this is {}",
                             quote(q.shim->path), oldest, q.host.os));
        finding.help = std::string(library_help(q));
        return finding;
    }
    return std::nullopt;
}

} // namespace

std::optional<Finding> shim_platform(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    if (library == nullptr) {
        return std::nullopt;
    }
    for (const macho::SliceFacts& slice : library->slices) {
        if (slice.image && slice.image->platform() != macho::kPlatformMacos) {
            Finding finding =
                error_at(Step::shim, shim_outcome(q), FindingId::shim_platform,
                         format("the shim {} is built for {}, not for macOS", quote(q.shim->path),
                                slice.image->versions.empty()
                                    ? std::string("no platform")
                                    : slice.image->versions.front().platform_name));
            finding.help = std::string(library_help(q));
            return finding;
        }
    }
    return shim_too_new(q, *library);
}

// An x86_64 process without library validation takes unsigned code; arm64 code must be signed.
std::optional<Finding> shim_unsigned(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    if (library == nullptr) {
        return std::nullopt;
    }
    for (const macho::SliceFacts& slice : library->slices) {
        if (!slice.signature && slice.name.starts_with("arm64")) {
            Finding finding = error_at(
                Step::shim, shim_outcome(q), FindingId::shim_unsigned,
                format("the shim {} is not signed ({} slice)", quote(q.shim->path), slice.name));
            finding.help = "sign it: codesign --force --sign - FILE, on a new file, then rename it";
            return finding;
        }
    }
    return std::nullopt;
}

std::optional<Finding> shim_bad_signature(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    if (library == nullptr) {
        return std::nullopt;
    }
    std::string why;
    for (const macho::SliceFacts& slice : library->slices) {
        if (slice.signature && !*slice.signature) {
            why = slice.signature->error().message;
        }
    }
    for (const macho::PageCheck& pages : q.shim->pages) {
        why = pages.good() ? why : bad_pages(pages);
    }
    if (why.empty()) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::shim, shim_outcome(q), FindingId::shim_bad_signature,
                 format("the signature of the shim {} is broken", quote(q.shim->path)));
    finding.facts.push_back(why);
    finding.help = "install metalrun again";
    return finding;
}

std::optional<Finding> shim_quarantined(const Question& q) {
    if (q.shim == nullptr || !q.shim->quarantined) {
        return std::nullopt;
    }
    Finding finding = error_at(
        Step::shim, shim_outcome(q), FindingId::shim_quarantined,
        format("macOS has not approved the shim {} (com.apple.quarantine)", quote(q.shim->path)));
    finding.help = format("xattr -d com.apple.quarantine {}", text::escape(q.shim->path));
    return finding;
}

} // namespace rule

} // namespace metalrun::judge
