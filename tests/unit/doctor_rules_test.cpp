// SPDX-License-Identifier: MIT
#include "doctor_case.hpp"

#include <cerrno>
#include <functional>
#include <optional>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::test;
using judge::Severity;

namespace {

using Ids = std::vector<std::string>;
using Change = std::function<void(doctor::Facts&)>;

// The only finding that the change brings.
doctor::Finding only(const Change& change) {
    doctor::Facts facts = healthy_guest();
    change(facts);
    const auto findings = doctor::diagnose(facts);
    REQUIRE(findings.size() == 1);
    CHECK_FALSE(findings.front().message.empty());
    return findings.front();
}

void check_only(const std::string& id, Severity severity, const Change& change) {
    CAPTURE(id);
    const doctor::Finding finding = only(change);
    CHECK(finding.id == id);
    CHECK(finding.severity == severity);
    if (severity != Severity::note) {
        CHECK_FALSE(finding.help.empty());
    }
}

void check_nothing(const Change& change) {
    doctor::Facts facts = healthy_guest();
    change(facts);
    CHECK(ids_of(facts) == Ids{});
}

} // namespace

TEST_SUITE("judge.doctor") {
    TEST_CASE("a guest as it should be has no finding") {
        check_nothing([](auto&) {});
        CHECK_FALSE(doctor::needs_mending({}));
    }

    TEST_CASE("notes need no mending, warnings and errors do") {
        CHECK_FALSE(doctor::needs_mending({{.id = "a"}}));
        CHECK(doctor::needs_mending({{.id = "a"}, {.id = "b", .severity = Severity::warning}}));
        CHECK(doctor::needs_mending({{.id = "a", .severity = Severity::error}}));
    }

    TEST_CASE("the host") {
        check_only("not-a-guest", Severity::note, [](auto& f) { f.host.guest = Tri::no; });
        check_only("guest-unknown", Severity::note, [](auto& f) { f.host.guest = Tri::unknown; });
        check_only("sip-off", Severity::note, [](auto& f) { f.host.sip = Tri::no; });
        check_only("sip-off", Severity::note, [](auto& f) { f.host.sip = Tri::unknown; });
        check_only("guest-os-untested", Severity::warning, [](auto& f) { f.host.os = "27.0"; });
        check_only("translated", Severity::warning, [](auto& f) {
            f.host.translated = Tri::yes;
            macho_of(f.own.content).slices.front().name = "x86_64";
        });
        check_nothing([](auto& f) { f.host.os = "13.0"; });
        check_nothing([](auto& f) { f.host.translated = Tri::unknown; });
    }

    TEST_CASE("boot arguments that matter are taken out, and the others stay") {
        const auto finding = only([](auto& f) {
            f.host.boot_arguments = {"-v", "amfi_get_out_of_my_way=1", "debug=0x1"};
        });
        CHECK(finding.id == "boot-argument");
        CHECK(finding.severity == Severity::warning);
        CHECK(finding.command == "sudo nvram 'boot-args=-v debug=0x1'");
        check_nothing([](auto& f) { f.host.boot_arguments = {"-v", "-arm64e_preview_abi"}; });
    }

    TEST_CASE("the device") {
        check_only("device-under-reports", Severity::note,
                   [](auto& f) { f.device->apple_family = 1005; });
        check_only("no-device", Severity::warning, [](auto& f) { f.device->device.reset(); });
        check_nothing([](auto& f) { f.device->apple_family = 1007; });
        check_nothing([](auto& f) { f.device = std::unexpected(std::string("for a reason")); });
        check_only("probe-missing", Severity::warning, [](auto& f) { f.probe_error = ENOENT; });
        CHECK(only([](auto& f) { f.probe_runs = false; }).command ==
              "chmod a+x /opt/m/libexec/metalrun/metalrun-probe");
    }

    TEST_CASE("without a device outside a guest nothing needs mending") {
        doctor::Facts facts = healthy_guest();
        facts.host.guest = Tri::no;
        facts.device->device.reset();
        CHECK(ids_of(facts) == Ids{"not-a-guest", "no-device"});
        CHECK_FALSE(doctor::needs_mending(doctor::diagnose(facts)));
    }

    TEST_CASE("a server on Ollama's port is told, for it may be the right one") {
        check_only("port-in-use", Severity::note, [](auto& f) { f.ollama_listens = true; });
        check_nothing(
            [](auto& f) { f.ollama_listens = std::unexpected(std::string("for a reason")); });
    }

    TEST_CASE("a library that is not there: most programs need the thin one alone") {
        check_only("shim-missing", Severity::error,
                   [](auto& f) { f.shims[0].facts.open_error = ENOENT; });
        check_only("shim-missing", Severity::warning,
                   [](auto& f) { f.shims[1].facts.open_error = ENOENT; });
    }

    TEST_CASE("the judge's rules hold for installed libraries, with a command where one mends") {
        const auto shim = [](doctor::Facts& f) -> judge::ShimFacts& { return f.shims[0].facts; };
        CHECK(only([&](auto& f) { shim(f).quarantined = true; }).command ==
              "xattr -d com.apple.quarantine /opt/m/lib/metalrun/libmetalrun_shim.dylib");
        CHECK(only([&](auto& f) {
                  shim(f).distrust = Error{.message = "m", .help = "chmod o-w '/opt/a b'"};
              }).command == "chmod o-w '/opt/a b'");
        // text::quote() writes a quote as \', which a shell reads otherwise.
        CHECK(only([&](auto& f) {
                  shim(f).distrust = Error{.message = "m", .help = "chmod o-w '/opt/it\\'s'"};
              }).command.empty());
        const auto unsigned_shim =
            only([&](auto& f) { macho_of(shim(f).content).slices.front().signature.reset(); });
        CHECK(unsigned_shim.id == "shim-unsigned");
        CHECK(unsigned_shim.command.find("codesign --force --sign - ") != std::string::npos);
        check_only("shim-bad-signature", Severity::error,
                   [&](auto& f) { shim(f).pages = {{.checked = 3, .bad = 1, .first_bad = 1}}; });
        check_only("shim-not-a-library", Severity::error,
                   [&](auto& f) { shim(f).content.parsed = {}; });
        check_only("shim-on-shared-folder", Severity::warning,
                   [&](auto& f) { shim(f).on_shared_folder = true; });
        check_only("shim-foreign", Severity::warning, [&](auto& f) {
            macho_of(shim(f).content).slices.front().image->marker.clear();
        });
        check_only("shim-path", Severity::error,
                   [&](auto& f) { shim(f).path = "/opt/a:b/libmetalrun_shim.dylib"; });
    }

    TEST_CASE("each library has the slices that it is for") {
        const auto lose = [](doctor::Facts& f, std::size_t which, const std::string& name) {
            std::erase_if(macho_of(f.shims[which].facts.content).slices,
                          [&](const macho::SliceFacts& slice) { return slice.name == name; });
        };
        check_only("shim-slices", Severity::note, [&](auto& f) { lose(f, 1, "arm64e"); });
        check_only("shim-slices", Severity::error, [&](auto& f) { lose(f, 1, "x86_64"); });
        check_only("shim-slices", Severity::error, [&](auto& f) {
            macho_of(f.shims[0].facts.content).slices.front().name = "x86_64";
        });
    }

    TEST_CASE("the checksum counts where there is one") {
        check_only("shim-checksum", Severity::error,
                   [](auto& f) { f.shims[1].expected_sha256 = std::string(64, 'b'); });
        check_nothing([](auto& f) {
            f.shims[1].expected_sha256 = std::unexpected(std::string("no SHA256SUMS"));
        });
    }

    TEST_CASE("metalrun itself") {
        const auto signature = [](doctor::Facts& f) -> macho::CodeSignature& {
            return **macho_of(f.own.content).slices.front().signature;
        };
        check_only("metalrun-drops-variables", Severity::warning,
                   [&](auto& f) { signature(f).entitlements.entries.clear(); });
        check_only("metalrun-not-hardened", Severity::note,
                   [&](auto& f) { signature(f).directories.front().flags = 0x2; });
        check_only("metalrun-quarantined", Severity::warning,
                   [](auto& f) { f.own.quarantined = true; });
        check_only("metalrun-writable-by-others", Severity::warning, [](auto& f) {
            f.own.distrust = Error{.message = "m", .help = "chmod o-w '/opt'"};
        });
        check_nothing([](auto& f) { f.own.content.parsed = {}; });
    }

    TEST_CASE("whether metalrun sees DYLD variables is said only where it is known") {
        doctor::Facts facts = healthy_guest();
        CHECK(doctor::sees_variables(facts) == doctor::SeesVariables::by_entitlement);
        facts.own.content.parsed = target::ElfResult(elf::Facts{});
        CHECK_FALSE(doctor::sees_variables(facts));
        facts.own.content.parsed = {};
        CHECK_FALSE(doctor::sees_variables(facts));
    }

    TEST_CASE("flaws of profiles keep their ids and severities") {
        const auto finding = only([](auto& f) {
            f.profiles.front().flaws = {{.id = "byte-order-mark",
                                         .severity = Severity::warning,
                                         .at = {1, 1},
                                         .message = "m",
                                         .help = "h"}};
        });
        CHECK(finding.id == "byte-order-mark");
        CHECK(finding.severity == Severity::warning);
        CHECK(finding.message == "/Users/u/.config/metalrun/mine.toml:1:1: m");
        CHECK(finding.command == "metalrun profile lint /Users/u/.config/metalrun/mine.toml");
        check_only("profile-unread", Severity::warning,
                   [](auto& f) { f.profiles.front().unread = Error{.message = "m"}; });
    }

    TEST_CASE("the folder for receipts") {
        using State = doctor::StateFolder::State;
        for (const State state :
             {State::not_a_folder, State::of_another, State::open_to_others, State::unseen}) {
            check_only("state-folder-unusable", Severity::warning,
                       [&](auto& f) { f.state.state = state; });
        }
        CHECK(only([](auto& f) { f.state.state = State::open_to_others; }).command ==
              "chmod 0700 /var/folders/u/C/metalrun");
        check_only("state-folder-missing", Severity::note, [](auto& f) { f.state = {}; });
        check_nothing([](auto& f) { f.state.state = State::not_made; });
    }

    TEST_CASE("no combination has a rung that nothing showed") {
        HostFacts host = healthy_guest().host;
        CHECK(doctor::shown_for(host).rung == 4);
        host.os = "12.7";
        CHECK(doctor::shown_for(host).rung == 0);
        host.os.clear();
        CHECK(doctor::shown_for(host).rung == 0);
        host.os = "26.5";
        host.architecture = "x86_64";
        CHECK(doctor::shown_for(host).rung == 0);
        host.kernel = HostFacts::Kernel::linux;
        CHECK(doctor::shown_for(host).rung == 3);
        host.architecture = "arm64";
        CHECK(doctor::shown_for(host).rung == 0);
    }
}
