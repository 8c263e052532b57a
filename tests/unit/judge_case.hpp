// SPDX-License-Identifier: MIT
//
// A question about a Mac: an ad hoc signed arm64 program on a macOS 26.5 guest with the standard
// library, which injects. Each test changes one thing.
#pragma once

#include "judge/judge.hpp"
#include "macho/format.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace metalrun::test {

using judge::Decision;
using judge::FindingId;
using judge::Outcome;

inline macho::SliceFacts slice_of(const std::string& name, std::uint32_t filetype,
                                  std::uint32_t flags) {
    const bool is_intel = name == "x86_64";
    macho::SliceFacts slice{.cputype = is_intel ? macho::kCpuTypeX86x64 : macho::kCpuTypeArm64,
                            .cpusubtype = is_intel           ? macho::kCpuSubtypeX86All
                                          : name == "arm64e" ? macho::kCpuSubtypeArm64e |
                                                                   macho::kCpuSubtypeArm64eVersioned
                                                             : macho::kCpuSubtypeArm64All,
                            .name = name};
    macho::Image image;
    image.filetype = filetype;
    image.filetype_name = filetype == macho::kMhExecute ? "executable" : "library";
    image.versions.push_back({.platform = macho::kPlatformMacos,
                              .platform_name = "macOS",
                              .minos = "13.0",
                              .sdk = "13.0"});
    slice.image = image;
    macho::CodeSignature signature;
    signature.directories.emplace_back();
    signature.directories.front().flags = flags;
    slice.signature = signature;
    return slice;
}

struct Case {
    target::Chain chain{.typed = "/prog", .path = "/prog"};
    judge::ShimFacts shim{.path = "/shim.dylib"};
    HostFacts host{.kernel = HostFacts::Kernel::darwin,
                   .os = "26.5",
                   .architecture = "arm64",
                   .guest = Tri::yes,
                   .sip = Tri::yes};
    launch::Plan plan{.profile = "p"};
    launch::Insertion insertion = {};
    std::optional<std::vector<std::string>> arguments = {}; ///< behind argv[0]; absent: as check
    std::string argv0 = {};                                 ///< as --argv0 asks for it

    Case() {
        chain.image = target::Image{.path = "/prog"};
        set_slices({slice_of("arm64", macho::kMhExecute, 0x2)});
        shim.status.kind = FileKind::regular;
        macho::FileFacts library;
        library.slices = {slice_of("arm64", macho::kMhDylib, 0x2)};
        library.slices.front().image->marker = "shim";
        shim.content.parsed = target::MachoResult(library);
        plan.ceiling = 1007;
        plan.status = profile::WorkloadStatus::beneficial;
    }
    void set_slices(std::vector<macho::SliceFacts> slices) {
        macho::FileFacts file;
        file.slices = std::move(slices);
        chain.image->content.parsed = target::MachoResult(std::move(file));
    }
    macho::FileFacts& file() { return *std::get<target::MachoResult>(chain.image->content.parsed); }
    macho::SliceFacts& slice() { return file().slices.front(); }
    macho::CodeSignature& signature() { return **slice().signature; }
    macho::FileFacts& library() { return *std::get<target::MachoResult>(shim.content.parsed); }
    void entitle(const std::string& key, macho::Entitlement::Kind kind) {
        const std::string text = kind == macho::Entitlement::Kind::yes  ? "true"
                                 : kind == macho::Entitlement::Kind::no ? "false"
                                                                        : "text";
        signature().entitlements.entries.push_back({.key = key, .kind = kind, .text = text});
    }
    [[nodiscard]] judge::Verdict verdict() const {
        judge::Question question{.chain = chain, .shim = &shim, .host = host, .plan = plan};
        question.insertion = &insertion;
        question.argv0 = argv0;
        if (arguments) {
            question.arguments = *arguments;
        }
        return judge::judge(question);
    }
    [[nodiscard]] bool has(FindingId id) const {
        for (const auto& finding : verdict().findings) {
            if (finding.id == id) {
                return true;
            }
        }
        return false;
    }
};

inline constexpr std::uint32_t kHardened = 0x10000;
inline const std::string kAllow = "com.apple.security.cs.allow-dyld-environment-variables";
inline const std::string kDisable = "com.apple.security.cs.disable-library-validation";

inline void check_refused(const Case& changed, FindingId id, Outcome outcome) {
    const auto verdict = changed.verdict();
    CHECK(verdict.decision == Decision::refuse);
    REQUIRE(verdict.reason.has_value());
    CHECK(judge::to_string(*verdict.reason) == judge::to_string(id));
    CHECK(judge::to_string(verdict.outcome) == judge::to_string(outcome));
    CHECK_FALSE(verdict.deciding()->message.empty());
}

inline void check_uncertain(const Case& changed, FindingId id, Outcome worst, Decision decision) {
    const auto verdict = changed.verdict();
    CHECK(verdict.outcome == Outcome::uncertain);
    REQUIRE(verdict.worst.has_value());
    CHECK(*verdict.worst == worst);
    CHECK(verdict.decision == decision);
    CHECK(changed.has(id));
}

} // namespace metalrun::test
