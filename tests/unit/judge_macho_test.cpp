// SPDX-License-Identifier: MIT
//
// The rules for macOS, each on both sides. A case starts as an ad hoc signed arm64 program on a
// macOS 26.5 guest with the standard library, which injects; each case changes one thing.
#include "judge_case.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::test;

TEST_SUITE("judge.macho") {
    TEST_CASE("an ad hoc signed arm64 program takes the standard library") {
        const Case plain;
        const auto verdict = plain.verdict();
        CHECK(verdict.decision == Decision::inject);
        CHECK(verdict.outcome == Outcome::loads);
        CHECK(verdict.findings.empty());
    }

    TEST_CASE("the arm64 slice is started whenever it is there, whatever the kernel prefers") {
        Case changed;
        changed.set_slices({slice_of("x86_64", macho::kMhExecute, 0),
                            slice_of("arm64e", macho::kMhExecute, 0),
                            slice_of("arm64", macho::kMhExecute, 0)});
        CHECK(judge::running_slice(changed.file(), {})->name == "arm64");
        CHECK(judge::running_slice(changed.file(), cli::Arch::arm64e)->name == "arm64e");
        CHECK(judge::running_slice(changed.file(), cli::Arch::x86_64)->name == "x86_64");
        CHECK(changed.has(FindingId::slice_pinned));
        CHECK(changed.verdict().decision == Decision::inject);
        changed.set_slices({slice_of("x86_64", macho::kMhExecute, 0)});
        CHECK(judge::running_slice(changed.file(), {}) == nullptr);
    }

    TEST_CASE("what is no program comes before its architecture") {
        Case library;
        library.set_slices({slice_of("x86_64", macho::kMhDylib, 0)});
        check_refused(library, FindingId::not_executable, Outcome::no_start);
        Case wide;
        wide.file().container = macho::Container::universal64;
        check_refused(wide, FindingId::not_executable, Outcome::no_start);
    }

    TEST_CASE("an Intel program is refused, and started translated when asked") {
        Case changed;
        changed.set_slices({slice_of("x86_64", macho::kMhExecute, 0)});
        // By hand it would start translated, where the arm64 library ends it.
        check_refused(changed, FindingId::wrong_architecture, Outcome::killed);
        changed.plan.arch = cli::Arch::x86_64;
        check_refused(changed, FindingId::shim_architecture, Outcome::killed);
        changed.library().slices.push_back(slice_of("x86_64", macho::kMhDylib, 0x2));
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.has(FindingId::rosetta));
        changed.set_slices({slice_of("i386", macho::kMhExecute, 0)});
        changed.plan.arch.reset();
        check_refused(changed, FindingId::wrong_architecture, Outcome::no_start);
    }

    TEST_CASE("an arm64e program runs from macOS 26 on, and needs an arm64e library") {
        Case changed;
        changed.set_slices({slice_of("arm64e", macho::kMhExecute, 0x2)});
        check_refused(changed, FindingId::shim_architecture, Outcome::killed);
        changed.library().slices.push_back(slice_of("arm64e", macho::kMhDylib, 0x2));
        CHECK(changed.verdict().decision == Decision::inject);
        changed.host.os = "15.5";
        check_refused(changed, FindingId::wrong_architecture, Outcome::killed);
        CHECK(changed.has(FindingId::arm64e_not_allowed));
    }

    TEST_CASE("another platform, and what the kernel would not map") {
        Case changed;
        changed.slice().image->versions.front() = {.platform = macho::kPlatformIos,
                                                   .platform_name = "iOS"};
        check_refused(changed, FindingId::wrong_platform, Outcome::killed);
        changed.slice().image->versions.front().platform = macho::kPlatformMacCatalyst;
        CHECK(changed.verdict().decision == Decision::inject);
        Case built;
        built.slice().image->kernel_problem = "it is not position-independent";
        check_refused(built, FindingId::malformed, Outcome::no_start);
        Case damaged;
        damaged.slice().image = std::unexpected(macho::Malformed{"cut"});
        check_refused(damaged, FindingId::malformed, Outcome::no_start);
    }

    TEST_CASE("a damaged image is told before its architecture") {
        for (const char* architecture : {"arm64e", "x86_64", "unknown (0x0, 0x0)"}) {
            Case damaged;
            damaged.host.os = "15.5";
            damaged.set_slices({slice_of(architecture, macho::kMhExecute, 0)});
            damaged.slice().image = std::unexpected(macho::Malformed{"cut"});
            check_refused(damaged, FindingId::malformed, Outcome::no_start);
        }
        Case other;
        other.set_slices(
            {slice_of("i386", macho::kMhExecute, 0), slice_of("x86_64", macho::kMhExecute, 0)});
        other.file().slices.front().image = std::unexpected(macho::Malformed{"cut"});
        check_refused(other, FindingId::wrong_architecture, Outcome::killed);
    }

    TEST_CASE(
        "unsigned and altered arm64 code is ended; page hashes count when they were checked") {
        Case none;
        none.slice().signature.reset();
        check_refused(none, FindingId::unsigned_code, Outcome::killed);
        Case broken;
        broken.slice().signature = std::unexpected(macho::Malformed{"slot 0 is cut"});
        check_refused(broken, FindingId::bad_signature, Outcome::killed);
        Case pages;
        pages.chain.image->pages = {macho::PageCheck{.checked = 4, .bad = 1, .first_bad = 2}};
        check_refused(pages, FindingId::bad_signature, Outcome::killed);
        pages.chain.image->pages = {macho::PageCheck{.checked = 4}};
        CHECK(pages.verdict().decision == Decision::inject);
    }

    TEST_CASE("the hardened runtime needs both entitlements, as boolean true") {
        Case changed;
        changed.signature().directories.front().flags = kHardened;
        check_refused(changed, FindingId::hardened_runtime, Outcome::stripped);
        CHECK(changed.has(FindingId::library_validation));
        changed.entitle(kAllow, macho::Entitlement::Kind::no);
        check_refused(changed, FindingId::hardened_runtime, Outcome::stripped);
        changed.signature().entitlements.entries.clear();
        changed.entitle(kAllow, macho::Entitlement::Kind::yes);
        check_refused(changed, FindingId::library_validation, Outcome::stripped);
        changed.entitle(kDisable, macho::Entitlement::Kind::yes);
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE(
        "with System Integrity Protection off the hardened runtime is a warning, not the rest") {
        Case changed;
        changed.signature().directories.front().flags = kHardened;
        changed.entitle(kDisable, macho::Entitlement::Kind::yes);
        changed.host.sip = Tri::no;
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.has(FindingId::hardened_runtime));
        changed.signature().entitlements.entries.clear();
        check_refused(changed, FindingId::library_validation, Outcome::stripped);
        changed.host.sip = Tri::unknown;
        check_refused(changed, FindingId::hardened_runtime, Outcome::stripped);
    }

    TEST_CASE("library validation lets a library of the same team in") {
        Case changed;
        changed.signature().directories.front().flags = 0x2000;
        check_refused(changed, FindingId::library_validation, Outcome::stripped);
        changed.signature().kind = macho::SignatureKind::cms;
        changed.signature().directories.front().team = "TEAM";
        check_refused(changed, FindingId::library_validation, Outcome::stripped);
        auto& library = **changed.library().slices.front().signature;
        library.kind = macho::SignatureKind::cms;
        library.directories.front().team = "OTHER";
        check_refused(changed, FindingId::library_validation, Outcome::stripped);
        library.directories.front().team = "TEAM";
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("restriction: flag and segment; uncertain without System Integrity Protection") {
        Case flag;
        flag.signature().directories.front().flags = 0x800;
        check_refused(flag, FindingId::restrict_flag, Outcome::stripped);
        flag.host.sip = Tri::no;
        check_uncertain(flag, FindingId::restrict_flag, Outcome::stripped, Decision::inject);
        Case segment;
        segment.slice().image->has_restrict_section = true;
        check_refused(segment, FindingId::restrict_segment, Outcome::stripped);
        segment.host.sip = Tri::no;
        check_uncertain(segment, FindingId::restrict_segment, Outcome::stripped, Decision::inject);
    }

    TEST_CASE("set-id comes before platform binary") {
        Case changed;
        changed.signature().directories.front().platform = 13;
        check_refused(changed, FindingId::platform_binary, Outcome::stripped);
        changed.chain.image->gains_rights = true;
        check_refused(changed, FindingId::set_id, Outcome::stripped);
        changed.chain.image->gains_rights = false;
        changed.host.sip = Tri::no;
        CHECK(changed.verdict().decision == Decision::inject);
        changed.signature().directories.front().platform = 0;
        changed.host.sip = Tri::yes;
        changed.chain.image->status.flags = 0x80000;
        check_refused(changed, FindingId::platform_binary, Outcome::stripped);
    }

    TEST_CASE("an encrypted program is refused") {
        Case changed;
        changed.slice().image->cryptid = 1;
        check_refused(changed, FindingId::encrypted, Outcome::stripped);
    }

    TEST_CASE("uncertain: harmless at worst is tried, a kill only when asked") {
        Case sandbox;
        sandbox.entitle("com.apple.security.app-sandbox", macho::Entitlement::Kind::yes);
        check_uncertain(sandbox, FindingId::app_sandbox, Outcome::killed, Decision::refuse);
        sandbox.shim.path = "/Library/Metal/shim.dylib"; // every sandbox may read there
        check_uncertain(sandbox, FindingId::app_sandbox, Outcome::stripped, Decision::inject);
        Case unusual;
        unusual.entitle("com.apple.security.hypervisor", macho::Entitlement::Kind::yes);
        check_uncertain(unusual, FindingId::unusual_entitlement, Outcome::stripped,
                        Decision::inject);
        Case enhanced;
        enhanced.entitle("com.apple.security.hardened-process", macho::Entitlement::Kind::yes);
        check_uncertain(enhanced, FindingId::enhanced_security, Outcome::stripped,
                        Decision::inject);
        Case launch;
        launch.signature().constraint_slots = {9};
        check_uncertain(launch, FindingId::launch_constraint, Outcome::killed, Decision::refuse);
        launch.plan.when_uncertain.value = profile::WhenUncertain::inject;
        check_uncertain(launch, FindingId::launch_constraint, Outcome::killed, Decision::inject);
        Case library;
        library.signature().constraint_slots = {11};
        check_uncertain(library, FindingId::library_constraint, Outcome::killed, Decision::refuse);
        Case quarantine;
        quarantine.chain.image->quarantined = true;
        check_uncertain(quarantine, FindingId::quarantined, Outcome::killed, Decision::refuse);
    }

    TEST_CASE("debug entitlements are nothing unusual") {
        Case changed;
        changed.entitle("com.apple.security.get-task-allow", macho::Entitlement::Kind::yes);
        changed.entitle("com.apple.security.cs.allow-jit", macho::Entitlement::Kind::yes);
        CHECK(changed.verdict().findings.empty());
    }

    TEST_CASE("a library that cannot be loaded ends the program, or is dropped under validation") {
        Case platform;
        platform.library().slices.front().image->versions.front() = {.platform = 2,
                                                                     .platform_name = "iOS"};
        check_refused(platform, FindingId::shim_platform, Outcome::killed);
        Case unsigned_library;
        unsigned_library.library().slices.front().signature.reset();
        check_refused(unsigned_library, FindingId::shim_unsigned, Outcome::killed);
        unsigned_library.signature().directories.front().flags = 0x2000;
        check_refused(unsigned_library, FindingId::shim_unsigned, Outcome::stripped);
        Case broken;
        broken.shim.pages = {macho::PageCheck{.checked = 3, .bad = 2, .first_bad = 0}};
        check_refused(broken, FindingId::shim_bad_signature, Outcome::killed);
        Case quarantine;
        quarantine.shim.quarantined = true;
        check_refused(quarantine, FindingId::shim_quarantined, Outcome::killed);
        Case program;
        program.library().slices.front().image->filetype = macho::kMhExecute;
        check_refused(program, FindingId::shim_not_a_library, Outcome::killed);
    }

    TEST_CASE("a library that is never read ends nothing") {
        Case deaf;
        deaf.signature().directories.front().flags = kHardened;
        deaf.entitle(kDisable, macho::Entitlement::Kind::yes);
        deaf.shim.open_error = 2;
        check_refused(deaf, FindingId::shim_missing, Outcome::stripped);
        deaf.host.sip = Tri::no; // it is read then
        check_refused(deaf, FindingId::shim_missing, Outcome::killed);

        Case doubtful;
        doubtful.entitle("com.apple.security.hypervisor", macho::Entitlement::Kind::yes);
        doubtful.shim.open_error = 2;
        const auto verdict = doubtful.verdict();
        CHECK(verdict.outcome == Outcome::uncertain);
        CHECK(verdict.worst == Outcome::killed);
        CHECK(verdict.reason == FindingId::shim_missing);
    }

    TEST_CASE("an arm64 process takes an arm64e library from macOS 14.4 on") {
        Case changed;
        changed.library().slices = {slice_of("arm64e", macho::kMhDylib, 0x2)};
        CHECK(changed.verdict().decision == Decision::inject);
        changed.host.os = "14.3";
        check_refused(changed, FindingId::shim_architecture, Outcome::killed);
        changed.host.boot_arguments = {"-arm64e_preview_abi"};
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("a library of a shape that dyld refuses, by version") {
        Case changed;
        changed.library().slices.front().image->dyld_problem = {.message = "it has no name",
                                                                .before_15_4 = false};
        check_refused(changed, FindingId::shim_not_a_library, Outcome::killed);
        changed.host.os = "15.3";
        CHECK(changed.verdict().decision == Decision::inject);
        changed.library().slices.front().image->dyld_problem->before_15_4 = true;
        check_refused(changed, FindingId::shim_not_a_library, Outcome::killed);

        Case whole;
        whole.library().dyld_problem = "two slices overlap";
        check_refused(whole, FindingId::shim_not_a_library, Outcome::killed);
        whole.host.os = "15.5";
        CHECK(whole.verdict().decision == Decision::inject);
    }

    TEST_CASE("children that would be ended: refused, or stock if safety was asked for") {
        Case changed;
        changed.plan.children.value = profile::Children::inherit;
        CHECK(changed.verdict().decision == Decision::inject);
        changed.host.sip = Tri::no;
        check_refused(changed, FindingId::child_would_die, Outcome::loads);
        changed.plan.children.value = profile::Children::inherit_if_safe;
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK_FALSE(judge::children_inherit({.chain = changed.chain,
                                             .shim = &changed.shim,
                                             .host = changed.host,
                                             .plan = changed.plan}));
        changed.library().slices.push_back(slice_of("arm64e", macho::kMhDylib, 0x2));
        CHECK(judge::children_inherit({.chain = changed.chain,
                                       .shim = &changed.shim,
                                       .host = changed.host,
                                       .plan = changed.plan}));
        CHECK_FALSE(changed.has(FindingId::child_would_die));
    }

    TEST_CASE("children are not safe from a library of one architecture, whatever SIP says") {
        Case changed;
        const judge::Question question{.chain = changed.chain,
                                       .shim = &changed.shim,
                                       .host = changed.host,
                                       .plan = changed.plan};
        changed.plan.children.value = profile::Children::inherit_if_safe;
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.has(FindingId::child_would_die));
        CHECK_FALSE(judge::children_inherit(question));
        changed.plan.children.value = profile::Children::inherit; // then the user knows
        CHECK_FALSE(changed.has(FindingId::child_would_die));
        CHECK(judge::children_inherit(question));
        changed.plan.children.value = profile::Children::inherit_if_safe;
        changed.library().slices.push_back(slice_of("x86_64", macho::kMhDylib, 0x2));
        CHECK_FALSE(changed.has(FindingId::child_would_die));
        CHECK(judge::children_inherit(question));
    }

    TEST_CASE("the host: System Integrity Protection, versions, boot arguments, Intel, Linux") {
        Case changed;
        changed.host.sip = Tri::no;
        CHECK(changed.has(FindingId::sip_off));
        changed.host.os = "27.0";
        CHECK(changed.has(FindingId::guest_os_untested));
        changed.host.boot_arguments = {"-v", "amfi_get_out_of_my_way=1"};
        CHECK(changed.has(FindingId::boot_argument));
        CHECK(changed.verdict().decision == Decision::inject);
        changed.host.architecture = "x86_64";
        CHECK(changed.verdict().reason == FindingId::not_apple_silicon);
        Case linux;
        linux.host.kernel = HostFacts::Kernel::linux;
        check_refused(linux, FindingId::not_a_program, Outcome::no_start);
    }

    TEST_CASE("a published library is named") {
        Case changed;
        changed.shim.published = "LumeMetalCapabilities-arm64.dylib";
        CHECK(changed.has(FindingId::shim_known));
    }
}
