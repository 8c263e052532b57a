// SPDX-License-Identifier: MIT
//
// Whether macOS starts a Mach-O program at all, and which slice of it. Sources: xnu-11417
// mach_fat.c, kern_exec.c, mach_loader.c, ubc_subr.c (metalrun(1), DIAGNOSTICS). Nothing here was
// observed on a Mac.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "macho/format.hpp"
#include "macho/grading.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

// Before macOS 26 the kernel ends other programs than Apple's of this ABI, whatever other slice
// there is (xnu-11417 kern_exec.c exec_mach_imgact), but for one boot argument.
bool is_refused_arm64e(const Question& q, const macho::SliceFacts* slice) {
    return slice != nullptr && slice->name == "arm64e" && !is_macos(q, ">=26") &&
           !is_system_program(q) && !has_boot_argument(q.host, kArm64ePreview);
}

// What the library would do to the program under Rosetta, if it were inserted by hand.
Outcome translated_outcome(const Question& q) {
    const macho::FileFacts* library = shim_macho(q);
    return library != nullptr &&
                   macho::library_slice(*library, macho::Process::x86_64, grading_of(q)) == nullptr
               ? Outcome::killed
               : Outcome::loads;
}

} // namespace

Found not_a_program(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !image->content.is_macho() ||
        q.host.kernel == HostFacts::Kernel::darwin) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::not_a_program,
                 format("{} is a macOS program, this machine runs Linux", target_name(q)));
    finding.help = "use a build for this machine";
    return finding;
}

// Before every rule that looks at a header: one that cannot be read says nothing.
Found damaged_image(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    if (file == nullptr) {
        return std::nullopt;
    }
    const auto is_damaged = [](const macho::SliceFacts& slice) { return !slice.image; };
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr && std::ranges::all_of(file->slices, is_damaged)) {
        slice = &file->slices.front();
    }
    if (slice == nullptr || !is_damaged(*slice)) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::malformed,
                               format("{}: {} slice: {}", text::escape(image_of(q)->path),
                                      slice->name, slice->image.error().message));
    finding.help = "the file is damaged or was built wrongly: install it again";
    return finding;
}

Found macho_not_executable(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    if (file == nullptr) {
        return std::nullopt;
    }
    const macho::SliceFacts* slice = target_slice(q);
    const macho::SliceFacts& shown = slice != nullptr ? *slice : file->slices.front();
    Finding finding = error_at(Step::launch, Outcome::no_start, FindingId::not_executable, {});
    if (file->container == macho::Container::universal64) {
        finding.message = format("{} has a 64-bit universal header, which the kernel does not run",
                                 target_name(q));
        finding.help = "use a build with a 32-bit universal header (lipo -create without -fat64)";
        return finding;
    }
    if (!shown.image || shown.image->is_executable()) {
        return std::nullopt;
    }
    const std::string& type = shown.image->filetype_name;
    finding.message =
        format("{} is {} {}, not a program", target_name(q), type == "object" ? "an" : "a", type);
    finding.help = "name the program that uses it";
    return finding;
}

Found macho_wrong_architecture(const Question& q) {
    const macho::FileFacts* file = target_macho(q);
    if (file == nullptr) {
        return std::nullopt;
    }
    const macho::SliceFacts* slice = target_slice(q);
    const bool refused_arm64e = is_refused_arm64e(q, slice);
    if (slice != nullptr && !refused_arm64e) {
        return std::nullopt;
    }
    // Translated by Rosetta, an Intel program starts, but stock unless it was asked for.
    const bool translates = slice == nullptr && !q.plan.arch && has_slice(*file, "x86_64");
    const Outcome outcome = translates       ? translated_outcome(q)
                            : refused_arm64e ? Outcome::killed
                                             : Outcome::no_start;
    Finding finding =
        error_at(translates ? Step::target : Step::launch, outcome, FindingId::wrong_architecture,
                 format("{} has no arm64 slice", target_name(q)));
    finding.facts.push_back(format("slices: {}", slice_names(*file)));
    finding.help = translates ? "use an arm64 build; '--arch x86_64' starts it translated"
                              : "use an arm64 build";
    return finding;
}

Found arm64e_not_allowed(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (!is_refused_arm64e(q, slice)) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::killed, FindingId::arm64e_not_allowed,
                 format("{} is arm64e only: macOS before 26 runs no arm64e programs but "
                        "Apple's own",
                        target_name(q)));
    finding.help = "use an arm64 build";
    return finding;
}

Found wrong_platform(const Question& q) {
    const macho::Image* image = target_image(q);
    if (image == nullptr || image->versions.empty() || image->platform() == macho::kPlatformMacos ||
        image->platform() == macho::kPlatformMacCatalyst) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::launch, Outcome::killed, FindingId::wrong_platform,
                               format("{} is built for {}, not for macOS", target_name(q),
                                      image->versions.front().platform_name));
    finding.help = "use a build for macOS";
    return finding;
}

Found kernel_refuses(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    const macho::Image* image = target_image(q);
    const std::string why =
        image != nullptr ? image->kernel_problem.value_or(std::string{}) : std::string{};
    if (why.empty() || !slice->name.starts_with("arm64")) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::no_start, FindingId::malformed,
                 format("{}: {} slice: {}", text::escape(image_of(q)->path), slice->name, why));
    finding.help = "the file is damaged or was built wrongly: install it again";
    return finding;
}

Found unsigned_code(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || slice->signature || !slice->image || !slice->image->is_executable() ||
        !slice->name.starts_with("arm64")) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::killed, FindingId::unsigned_code,
                 format("{} is not signed: macOS ends unsigned arm64 programs", target_name(q)));
    finding.facts.push_back(format("{} slice: no LC_CODE_SIGNATURE", slice->name));
    finding.help = "sign your own copy: codesign --force --sign - COPY";
    return finding;
}

Found bad_signature(const Question& q) {
    const macho::SliceFacts* slice = target_slice(q);
    if (slice == nullptr || !slice->signature || !slice->name.starts_with("arm64")) {
        return std::nullopt;
    }
    std::string why;
    if (!*slice->signature) {
        why = slice->signature->error().message;
    }
    const auto index = static_cast<std::size_t>(slice - target_macho(q)->slices.data());
    const auto& pages = image_of(q)->pages;
    const macho::PageCheck check =
        index < pages.size() ? pages[index].value_or(macho::PageCheck{}) : macho::PageCheck{};
    if (!check.good()) {
        why = bad_pages(check);
    }
    if (why.empty()) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::launch, Outcome::killed, FindingId::bad_signature,
                 format("the code signature of {} is broken: macOS ends altered arm64 "
                        "programs",
                        target_name(q)));
    finding.facts.push_back(format("{} slice: {}", slice->name, why));
    finding.help =
        "install it again; if you changed it yourself, sign a new copy: codesign --force "
        "--sign - COPY";
    return finding;
}

} // namespace rule

} // namespace metalrun::judge
