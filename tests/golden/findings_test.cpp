// SPDX-License-Identifier: MIT
//
// One example of every finding, as text and as JSON, against the files in expected/findings/. Most
// need a Mac or facts that no machine here has, so the questions are made, not met.
// METALRUN_UPDATE_GOLDEN=1 writes the files anew; read the difference before it is committed.
#include "../unit/judge_case.hpp"
#include "report/check_report.hpp"
#include "report/diagnostic.hpp"
#include "system/fake.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::test;
using judge::Severity;

namespace {

using Change = std::function<void(Case&)>;

const std::string kBrew = "/opt/homebrew/bin/";

void place(Case& example, const std::string& path) {
    example.host.source = HostFacts::Source::machine;
    example.chain.typed = path;
    example.chain.path = path;
    example.chain.image->path = path;
}

// What following this name comes to on a small file system.
void follow(Case& example, const std::string& name) {
    FakeSystem system;
    system.add_program("/bin/plain", "\x7f"
                                     "ELF");
    system.add_program("/s/loop", "#!/s/loop\n");
    system.add_program("/s/nothing", "#!\n");
    system.add_program("/s/lost", "#!/opt/absent/python3\n");
    system.add_program("/s/long", "#!/" + std::string(600, 'x') + "\n");
    system.add_program("/s/crlf", "#!/bin/plain\r\n");
    system.add_program("/s/binary", std::string("\1\2\3\0\4", 5));
    system.add_folder("/s/folder");
    const target::SearchPath search{.path = "/usr/bin:/bin"};
    example.chain = target::resolve(system, name, search);
}

void make_linux(Case& example) {
    example.host = {
        .kernel = HostFacts::Kernel::linux, .architecture = "x86_64", .guest = Tri::yes};
    example.chain.image->content.parsed = target::ElfResult(
        elf::Facts{.machine = 62, .type = elf::Type::shared, .interpreter = "/lib/ld.so"});
    example.shim.content.parsed =
        target::ElfResult(elf::Facts{.machine = 62, .type = elf::Type::shared, .marker = "shim"});
}

elf::Facts& elf_of(Case& example) {
    return *std::get<target::ElfResult>(example.chain.image->content.parsed);
}

void set_flags(Case& example, std::uint32_t flags) {
    example.signature().directories.front().flags = flags;
}

void set_status(Case& example, profile::WorkloadStatus status, const std::string& reason) {
    example.plan.status = status;
    example.plan.status_reason = reason;
}

// In the order of finding.hpp.
const std::map<FindingId, Change> kExamples{
    {FindingId::target_not_found, [](Case& c) { follow(c, "llama-server"); }},
    {FindingId::target_not_executable, [](Case& c) { follow(c, "/s/folder"); }},
    {FindingId::not_a_program, [](Case& c) { follow(c, "/s/binary"); }},
    {FindingId::script_without_interpreter_line, [](Case& c) { follow(c, "/s/nothing"); }},
    {FindingId::script_interpreter_missing, [](Case& c) { follow(c, "/s/lost"); }},
    {FindingId::script_interpreter_is_script, [](Case& c) { follow(c, "/s/loop"); }},
    {FindingId::script_line_too_long, [](Case& c) { follow(c, "/s/long"); }},
    {FindingId::script_line_crlf, [](Case& c) { follow(c, "/s/crlf"); }},
    {FindingId::env_resolved,
     [](Case& c) {
         place(c, kBrew + "python3");
         c.chain.links = {
             {.path = "/opt/bench", .line = "python3", .kind = target::LinkKind::script}};
         c.chain.resolves_env = true;
     }},
    {FindingId::bundle_resolved,
     [](Case& c) {
         place(c, "/Applications/Draw.app/Contents/MacOS/Draw");
         c.chain.links = {
             {.path = "/Applications/Draw.app", .line = {}, .kind = target::LinkKind::bundle}};
     }},
    {FindingId::python_stub,
     [](Case& c) { place(c, "/opt/Python.framework/Versions/3.13/bin/python3.13"); }},
    {FindingId::xcode_stub, [](Case& c) { place(c, "/usr/bin/python3"); }},
    {FindingId::starts_elsewhere, [](Case& c) { place(c, kBrew + "nohup"); }},
    {FindingId::login_shell,
     [](Case& c) {
         place(c, kBrew + "fish");
         c.arguments = std::vector<std::string>{"-l"};
     }},
    {FindingId::malformed,
     [](Case& c) {
         c.chain.image->content.parsed = target::MachoResult(
             macho::malformed("the load commands of 0x1000 bytes end beyond the file at 0x200"));
     }},
    {FindingId::wrong_platform,
     [](Case& c) {
         c.slice().image->versions.front() = {.platform = macho::kPlatformIos,
                                              .platform_name = "iOS"};
     }},
    {FindingId::encrypted, [](Case& c) { c.slice().image->cryptid = 1; }},
    {FindingId::arm64e_not_allowed,
     [](Case& c) {
         c.host.os = "15.5";
         c.set_slices({slice_of("arm64e", macho::kMhExecute, 0x2)});
     }},
    {FindingId::slice_pinned,
     [](Case& c) {
         c.set_slices({slice_of("arm64", macho::kMhExecute, 0x2),
                       slice_of("arm64e", macho::kMhExecute, 0x2)});
     }},
    {FindingId::rosetta,
     [](Case& c) {
         c.set_slices({slice_of("x86_64", macho::kMhExecute, 0x2)});
         c.library().slices.push_back(slice_of("x86_64", macho::kMhDylib, 0x2));
         c.plan.arch = cli::Arch::x86_64;
     }},
    {FindingId::not_executable,
     [](Case& c) { c.set_slices({slice_of("arm64", macho::kMhDylib, 0x2)}); }},
    {FindingId::wrong_architecture,
     [](Case& c) { c.set_slices({slice_of("x86_64", macho::kMhExecute, 0x2)}); }},
    {FindingId::static_program,
     [](Case& c) {
         make_linux(c);
         elf_of(c).interpreter.clear();
     }},
    {FindingId::loader_missing,
     [](Case& c) {
         make_linux(c);
         c.chain.image->loader_missing = true;
     }},
    {FindingId::unsigned_code, [](Case& c) { c.slice().signature.reset(); }},
    {FindingId::bad_signature,
     [](Case& c) {
         c.chain.image->pages = {macho::PageCheck{.checked = 40, .bad = 2, .first_bad = 17}};
     }},
    {FindingId::entitlements_disagree,
     [](Case& c) {
         c.entitle(kAllow, macho::Entitlement::Kind::yes);
         c.signature().entitlements.source = macho::EntitlementSource::der;
         c.signature().entitlements.disagree = true;
     }},
    {FindingId::set_id,
     [](Case& c) {
         c.chain.image->gains_rights = true;
         c.chain.image->rights = "set-user-id to 0";
     }},
    {FindingId::platform_binary, [](Case& c) { place(c, "/bin/ls"); }},
    {FindingId::restrict_segment, [](Case& c) { c.slice().image->has_restrict_section = true; }},
    {FindingId::restrict_flag, [](Case& c) { set_flags(c, 0x802); }},
    {FindingId::hardened_runtime,
     [](Case& c) {
         set_flags(c, 0x10002);
         c.entitle(kAllow, macho::Entitlement::Kind::no);
         c.entitle("com.apple.security.get-task-allow", macho::Entitlement::Kind::yes);
     }},
    {FindingId::library_validation,
     [](Case& c) {
         set_flags(c, 0x2000);
         c.signature().kind = macho::SignatureKind::cms;
         c.signature().directories.front().team = "ABCDE12345";
         c.entitle(kDisable, macho::Entitlement::Kind::yes);
     }},
    {FindingId::app_sandbox,
     [](Case& c) { c.entitle("com.apple.security.app-sandbox", macho::Entitlement::Kind::yes); }},
    {FindingId::unusual_entitlement,
     [](Case& c) { c.entitle("com.apple.security.hypervisor", macho::Entitlement::Kind::yes); }},
    {FindingId::launch_constraint, [](Case& c) { c.signature().constraint_slots = {8, 9}; }},
    {FindingId::library_constraint, [](Case& c) { c.signature().constraint_slots = {11}; }},
    {FindingId::enhanced_security,
     [](Case& c) {
         c.entitle("com.apple.security.hardened-process", macho::Entitlement::Kind::yes);
     }},
    {FindingId::quarantined, [](Case& c) { c.chain.image->quarantined = true; }},
    {FindingId::shim_missing,
     [](Case& c) {
         c.shim.open_error = 2;
         c.plan.shim = {.value = c.shim.path, .origin = "command line"};
     }},
    {FindingId::shim_not_a_library,
     [](Case& c) {
         c.library().slices.front().image->dyld_problem = {.message = "it has no LC_ID_DYLIB",
                                                           .before_15_4 = true};
     }},
    {FindingId::shim_architecture,
     [](Case& c) { c.library().slices = {slice_of("x86_64", macho::kMhDylib, 0x2)}; }},
    {FindingId::shim_writable_by_others,
     [](Case& c) {
         c.shim.distrust = Error{.code = Errc::shim,
                                 .message = "'/shim.dylib' may be written by everyone",
                                 .notes = {"mode 0666"},
                                 .help = "chmod o-w /shim.dylib"};
     }},
    {FindingId::shim_path, [](Case& c) { c.shim.path = "/opt/a:b/shim.dylib"; }},
    {FindingId::shim_checksum,
     [](Case& c) {
         c.plan.shim_sha256 = std::string(64, 'a');
         c.shim.sha256 = std::string(64, 'b');
     }},
    {FindingId::shim_foreign, [](Case& c) { c.library().slices.front().image->marker.clear(); }},
    {FindingId::shim_platform,
     [](Case& c) {
         c.library().slices.front().image->versions.front() = {.platform = macho::kPlatformIos,
                                                               .platform_name = "iOS"};
     }},
    {FindingId::shim_unsigned, [](Case& c) { c.library().slices.front().signature.reset(); }},
    {FindingId::shim_bad_signature,
     [](Case& c) { c.shim.pages = {macho::PageCheck{.checked = 9, .bad = 1, .first_bad = 3}}; }},
    {FindingId::shim_quarantined, [](Case& c) { c.shim.quarantined = true; }},
    {FindingId::shim_known,
     [](Case& c) { c.shim.published = "LumeMetalCapabilities (trycua/cua)"; }},
    {FindingId::shim_on_shared_folder, [](Case& c) { c.shim.on_shared_folder = true; }},
    {FindingId::child_would_die,
     [](Case& c) {
         c.host.sip = Tri::no;
         c.plan.children.value = profile::Children::inherit;
     }},
    {FindingId::inherited_insertion,
     [](Case& c) { c.insertion.elements = {"/opt/lib/other.dylib"}; }},
    {FindingId::inherited_empty_element, [](Case& c) { c.insertion.had_empty = true; }},
    {FindingId::ld_preload_ignored, [](Case& c) { c.insertion.has_ld_preload = true; }},
    {FindingId::session_polluted,
     [](Case& c) {
         c.insertion.is_session_wide = true;
         c.insertion.removed_shims = {"/opt/lib/shim.dylib"};
     }},
    {FindingId::not_a_guest, [](Case& c) { c.host.guest = Tri::no; }},
    {FindingId::not_apple_silicon, [](Case& c) { c.host.architecture = "x86_64"; }},
    {FindingId::sip_off, [](Case& c) { c.host.sip = Tri::no; }},
    {FindingId::guest_os_untested, [](Case& c) { c.host.os = "12.7"; }},
    {FindingId::boot_argument,
     [](Case& c) { c.host.boot_arguments = {"amfi_get_out_of_my_way=1"}; }},
    {FindingId::nested_start,
     [](Case& c) {
         make_linux(c);
         c.chain.image->content.parsed = target::ElfResult(
             elf::Facts{.machine = 62, .type = elf::Type::executable, .marker = "launcher"});
     }},
    {FindingId::stock_asked, [](Case& c) { c.plan.stock_asked = true; }},
    {FindingId::profile_stock, [](Case& c) { c.plan.ceiling = 0; }},
    {FindingId::no_benefit,
     [](Case& c) {
         set_status(c, profile::WorkloadStatus::no_benefit, "it asks for nothing that is raised");
     }},
    {FindingId::unsafe,
     [](Case& c) { set_status(c, profile::WorkloadStatus::unsafe, "it draws wrong pictures"); }},
    {FindingId::blocked,
     [](Case& c) {
         set_status(c, profile::WorkloadStatus::blocked, "its helper draws, which is closed");
     }},
    {FindingId::untested, [](Case& c) { set_status(c, profile::WorkloadStatus::untested, {}); }},
    {FindingId::quirk_applied,
     [](Case& c) {
         c.plan.quirks = {{.guest_os = "14",
                           .level = profile::QuirkLevel::warn,
                           .note = "weights that are mapped are read stale: use --no-mmap"}};
     }},
};

std::string json_of(const report::CheckedTarget& target, const HostFacts& host, FindingId id) {
    report::CheckReport report{.host = host, .version = "0"};
    report.targets.push_back(target);
    const auto document = boost::json::parse(report::render_check_json(report));
    for (const auto& finding : document.at("targets").at(0).at("findings").as_array()) {
        if (finding.at("id").as_string() == std::string(judge::to_string(id))) {
            return boost::json::serialize(finding);
        }
    }
    return "not there";
}

std::string document_of(FindingId id, const Case& example) {
    const judge::Verdict verdict = example.verdict();
    std::string text;
    for (const judge::Finding& finding : verdict.findings) {
        if (finding.id == id) {
            text = report::render(finding, report::Colour::off);
        }
    }
    text += "--- as JSON\n" +
            json_of({.chain = example.chain, .verdict = verdict}, example.host, id) + "\n";
    text += "--- decision: " + std::string(judge::to_string(verdict.decision));
    text += ", outcome: " + std::string(judge::to_string(verdict.outcome));
    text += ", gate: " + std::string(judge::to_string(judge::gate_of(id))) + "\n";
    return text;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_SUITE("golden.findings") {
    TEST_CASE("every finding is as it was approved") {
        const bool update = std::getenv("METALRUN_UPDATE_GOLDEN") != nullptr;
        for (const auto& [id, change] : kExamples) {
            Case example;
            change(example);
            const std::string name(judge::to_string(id));
            CAPTURE(name);
            CHECK(example.has(id));
            const std::string seen = document_of(id, example);
            const std::string path =
                std::string(METALRUN_GOLDEN_DIR) + "/findings/" + name + ".txt";
            if (update) {
                std::ofstream{path, std::ios::binary} << seen;
            }
            CHECK(seen == read_file(path));
        }
    }

    TEST_CASE("there is an example of each") {
        for (std::uint8_t number = 0;; ++number) {
            const auto id = static_cast<FindingId>(number);
            const std::string name(judge::to_string(id));
            if (name == "unknown") {
                CHECK(kExamples.size() == number);
                break;
            }
            CHECK_MESSAGE(kExamples.contains(id), name);
        }
    }
}
