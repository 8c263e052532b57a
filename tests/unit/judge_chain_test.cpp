// SPDX-License-Identifier: MIT
//
// The rules about the way to the image, the environment and the boot arguments of a Mac, each on
// both sides.
#include "judge_case.hpp"

using namespace metalrun;
using namespace metalrun::test;

namespace {

// The program lies at this path of the judged machine.
Case at(const std::string& path) {
    Case changed;
    changed.host.source = HostFacts::Source::machine;
    changed.chain.path = path;
    changed.chain.image->path = path;
    return changed;
}

} // namespace

TEST_SUITE("judge.chain") {
    TEST_CASE("what lies on the system volume belongs to macOS, whatever its signature says") {
        for (const char* path : {"/bin/ls", "/usr/libexec/x", "/System/Library/x", "/sbin/mount"}) {
            check_refused(at(path), FindingId::platform_binary, Outcome::stripped);
        }
        for (const char* path : {"/usr/local/bin/llama-server", "/opt/homebrew/bin/x", "/binary"}) {
            CHECK(at(path).verdict().decision == Decision::inject);
        }
        Case elsewhere = at("/usr/bin/llama-server"); // a path of the machine that judges
        elsewhere.host.source = HostFacts::Source::file;
        CHECK(elsewhere.verdict().decision == Decision::inject);
        elsewhere.chain.image->elsewhere = true; // a path of the judged machine
        check_refused(elsewhere, FindingId::platform_binary, Outcome::stripped);
    }

    TEST_CASE("an interpreter that cannot be looked at is told with the script, not with itself") {
        Case unseen = at("python3");
        unseen.host.source = HostFacts::Source::file;
        unseen.chain.image->elsewhere = true;
        unseen.chain.typed = "/home/script";
        unseen.chain.path = "python3"; // as env leads there
        const auto verdict = unseen.verdict();
        CHECK(verdict.outcome == Outcome::uncertain);
        CHECK(std::ranges::any_of(verdict.findings, [](const judge::Finding& finding) {
            return finding.message.find("'python3', which '/home/script' starts") !=
                   std::string::npos;
        }));
    }

    TEST_CASE("a link's target counts, not where the link lies") {
        Case linked = at("/opt/homebrew/bin/tool");
        linked.chain.image->real_path = "/usr/bin/tool";
        check_refused(linked, FindingId::platform_binary, Outcome::stripped);
    }

    TEST_CASE("macOS's own arm64e programs run before 26, others do not") {
        Case changed = at("/bin/ls");
        changed.host.os = "15.5";
        changed.set_slices({slice_of("arm64e", macho::kMhExecute, 0x2)});
        CHECK_FALSE(changed.has(FindingId::arm64e_not_allowed));
        changed.chain.image->path = "/opt/ls";
        CHECK(changed.has(FindingId::arm64e_not_allowed));
        changed.host.boot_arguments = {"-arm64e_preview_abi"};
        CHECK_FALSE(changed.has(FindingId::arm64e_not_allowed));
    }

    TEST_CASE("a script in a shell of macOS names the script and the remedy inside it") {
        Case changed = at("/bin/sh");
        changed.chain.links = {{.path = "/prog", .line = {}, .kind = target::LinkKind::script},
                               {.path = "/bin/sh", .line = {}}};
        const auto verdict = changed.verdict();
        REQUIRE(verdict.deciding() != nullptr);
        CHECK(verdict.deciding()->message.find("'/prog' runs in '/bin/sh'") == 0);
        CHECK(verdict.deciding()->help.find("exec metalrun -- ") != std::string::npos);
    }

    TEST_CASE("programs that start another one are refused, unless children inherit") {
        Case changed = at("/opt/homebrew/bin/nohup");
        check_refused(changed, FindingId::starts_elsewhere, Outcome::stripped);
        CHECK(changed.verdict().deciding()->help == "nohup metalrun -- PROGRAM");
        changed.plan.children.value = profile::Children::inherit;
        CHECK_FALSE(changed.has(FindingId::starts_elsewhere));
    }

    TEST_CASE(
        "the right way round is told for each starter, with its operands where they are sure") {
        const auto help = [](const std::string& name, std::vector<std::string> arguments) {
            Case changed = at("/opt/homebrew/bin/" + name);
            changed.arguments = std::move(arguments);
            const auto verdict = changed.verdict();
            REQUIRE(verdict.deciding() != nullptr);
            CHECK(verdict.deciding()->id == FindingId::starts_elsewhere);
            return verdict.deciding()->help;
        };
        CHECK(help("nohup", {"llama-server", "-m", "x"}) == "nohup metalrun -- llama-server");
        CHECK(help("nohup", {"./my prog"}) == "nohup metalrun -- PROGRAM");
        CHECK(help("nice", {"-n", "5", "prog"}) == "nice metalrun -- PROGRAM");
        CHECK(help("env", {"A=1", "prog"}) == "env metalrun -- PROGRAM");
        CHECK(help("timeout", {"5", "prog"}) == "timeout 5 metalrun -- prog");
        CHECK(help("timeout", {"5"}) == "timeout DURATION metalrun -- PROGRAM");
        CHECK(help("timeout", {"5", "$(prog)"}) == "timeout DURATION metalrun -- PROGRAM");
        CHECK(help("ssh", {"mac", "prog"}) == "ssh mac metalrun -- prog");
        CHECK(help("ssh", {}) == "ssh HOST metalrun -- PROGRAM");
        CHECK(help("open", {"/Applications/Draw.app"}) == "metalrun -- /Applications/Draw.app");
        CHECK(help("open", {"-a", "Draw"}) == "metalrun -- NAME.app");
        CHECK(help("open", {"notes.txt"}) == "metalrun -- NAME.app");
        CHECK(help("arch", {"-x86_64", "prog"}) == "metalrun --arch x86_64 -- prog");
        CHECK(help("tmux", {"new-session"}) == "start it inside the session: metalrun -- PROGRAM");
        CHECK(help("su", {"bob"}) == "su USER -c 'metalrun -- PROGRAM'");
        CHECK(help("xcrun", {"metal"}) == "metalrun -- \"$(xcrun --find metal)\"");
        CHECK(help("launchctl", {"submit"}).find("ProgramArguments") != std::string::npos);
    }

    TEST_CASE("the stand-in of a version manager is asked for the program itself") {
        Case changed = at("/bin/bash");
        changed.chain.links = {{.path = "/u/shims/python3", .kind = target::LinkKind::script},
                               {.path = "/bin/bash"}};
        changed.chain.managed = {.path = "/u/shims/python3", .manager = "pyenv"};
        check_refused(changed, FindingId::starts_elsewhere, Outcome::stripped);
        CHECK(changed.verdict().deciding()->help == "metalrun -- \"$(pyenv which python3)\"");
        changed.chain.links.insert(changed.chain.links.begin(),
                                   {.path = "/script", .kind = target::LinkKind::script});
        CHECK(changed.verdict().deciding()->help ==
              "metalrun -- \"$(pyenv which python3)\" /script");
    }

    TEST_CASE("macOS's own starters are refused even if children inherit: they drop the variable") {
        Case changed = at("/usr/bin/nohup");
        changed.plan.children.value = profile::Children::inherit;
        check_refused(changed, FindingId::starts_elsewhere, Outcome::stripped);
    }

    TEST_CASE("stand-ins for developer tools") {
        check_refused(at("/usr/bin/python3"), FindingId::xcode_stub, Outcome::stripped);
        CHECK_FALSE(at("/opt/homebrew/bin/python3").has(FindingId::xcode_stub));
        CHECK_FALSE(at("/usr/bin/perl").has(FindingId::xcode_stub));
        Case known = at("/usr/bin/git");
        known.chain.xcode_tool = "/Library/Developer/CommandLineTools/usr/bin/git";
        CHECK(known.verdict().deciding()->help ==
              "start the real one: /Library/Developer/CommandLineTools/usr/bin/git");
    }

    TEST_CASE("the program of a Python framework starts Python.app in its place") {
        const std::string folder = "/opt/Python.framework/Versions/3.13/";
        Case changed = at(folder + "bin/python3.13");
        check_refused(changed, FindingId::python_stub, Outcome::stripped);
        changed.plan.children.value = profile::Children::inherit;
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.has(FindingId::python_stub));
        CHECK_FALSE(
            at(folder + "Resources/Python.app/Contents/MacOS/Python").has(FindingId::python_stub));
        CHECK_FALSE(at("/opt/uv/python/bin/python3.13").has(FindingId::python_stub));
        Case followed = at(folder + "Resources/Python.app/Contents/MacOS/Python");
        followed.chain.python_stub = folder + "bin/python3.13";
        CHECK(followed.verdict().decision == Decision::inject);
        CHECK(followed.has(FindingId::python_stub));
    }

    TEST_CASE("a shell for people is refused unless it was asked for") {
        Case changed = at("/opt/homebrew/bin/fish");
        CHECK_FALSE(changed.has(FindingId::login_shell)); // nothing is known of its arguments
        changed.arguments = std::vector<std::string>{};
        check_refused(changed, FindingId::login_shell, Outcome::stripped);
        changed.arguments = {"-l"};
        check_refused(changed, FindingId::login_shell, Outcome::stripped);
        for (const std::vector<std::string>& work :
             {std::vector<std::string>{"-c", "llama-server"}, {"script.fish"}, {"-s"}}) {
            changed.arguments = work;
            CHECK_FALSE(changed.has(FindingId::login_shell));
        }
        changed.arguments = {"-l"};
        changed.plan.children = {.value = profile::Children::inherit, .origin = "profile p"};
        check_refused(changed, FindingId::login_shell, Outcome::stripped);
        CHECK(changed.verdict().deciding()->facts.front() ==
              "children inherit by profile p; for a session the command line must say so");
        changed.plan.children.origin = "command line";
        CHECK_FALSE(changed.has(FindingId::login_shell));
    }

    TEST_CASE("a shell is known by the file behind a link and by the argv[0] asked for, too") {
        Case changed = at("/opt/bin/tool");
        changed.arguments = std::vector<std::string>{};
        CHECK_FALSE(changed.has(FindingId::login_shell));
        changed.chain.image->real_path = "/opt/homebrew/Cellar/fish/4.0/bin/fish";
        check_refused(changed, FindingId::login_shell, Outcome::stripped);
        CHECK(changed.verdict().deciding()->facts.front() == "it is known as 'fish'");

        Case called = at("/opt/bin/toolbox");
        called.arguments = std::vector<std::string>{};
        called.argv0 = "-sh";
        check_refused(called, FindingId::login_shell, Outcome::stripped);
        called.arguments = {"-c", "make"};
        CHECK_FALSE(called.has(FindingId::login_shell));
    }

    TEST_CASE("a script is a shell by its own name, not by that of its interpreter") {
        Case changed = at("/opt/homebrew/bin/bash");
        changed.chain.links = {{.path = "/opt/serve", .line = {}, .kind = target::LinkKind::script},
                               {.path = "/opt/homebrew/bin/bash", .line = {}}};
        changed.chain.path = "/opt/serve";
        changed.arguments = std::vector<std::string>{};
        CHECK_FALSE(changed.has(FindingId::login_shell));
        changed.chain.path = "/opt/homebrew/bin/bash"; // a launcher script, entered
        CHECK(changed.has(FindingId::login_shell));
        changed.chain.arguments = {"bash", "/opt/serve"}; // by way of env
        CHECK_FALSE(changed.has(FindingId::login_shell));
        changed.chain.links.front().path = "/opt/homebrew/bin/xonsh";
        CHECK(changed.has(FindingId::login_shell));
    }

    TEST_CASE("what opens a session gets the shim by the command line alone") {
        Case changed = at("/opt/homebrew/bin/tmux");
        changed.arguments = {"new-session", "-d", "llama-server"};
        changed.plan.children = {.value = profile::Children::inherit, .origin = "profile p"};
        check_refused(changed, FindingId::login_shell, Outcome::stripped);
        changed.plan.children.origin = "command line";
        CHECK(changed.verdict().decision == Decision::inject);
        changed.plan.children.value = profile::Children::stock;
        check_refused(changed, FindingId::starts_elsewhere, Outcome::stripped);
        CHECK_FALSE(changed.has(FindingId::login_shell)); // it would say the same
    }

    TEST_CASE("a bundle is named") {
        Case changed = at("/Applications/X.app/Contents/MacOS/X");
        changed.chain.links = {
            {.path = "/Applications/X.app", .line = {}, .kind = target::LinkKind::bundle}};
        CHECK(changed.has(FindingId::bundle_resolved));
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("what the session set is told, what another metalrun set is not") {
        Case changed;
        CHECK_FALSE(changed.has(FindingId::session_polluted));
        CHECK_FALSE(changed.has(FindingId::ld_preload_ignored));
        changed.insertion.is_session_wide = true;
        changed.insertion.has_ld_preload = true;
        CHECK(changed.has(FindingId::session_polluted));
        CHECK(changed.has(FindingId::ld_preload_ignored));
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("entitlements whose two forms differ") {
        Case changed;
        CHECK_FALSE(changed.has(FindingId::entitlements_disagree));
        changed.signature().entitlements.disagree = true;
        CHECK(changed.has(FindingId::entitlements_disagree));
        changed.signature().entitlements = {.has_der = true};
        CHECK(changed.has(FindingId::entitlements_disagree));
        changed.signature().entitlements.has_xml = true;
        CHECK_FALSE(changed.has(FindingId::entitlements_disagree));
    }

    TEST_CASE("what no linker and no signer writes is told, and does not decide") {
        Case parts;
        parts.signature().has_overlapping_blobs = true;
        CHECK(parts.has(FindingId::bad_signature));
        CHECK(parts.verdict().decision == Decision::inject);
        Case commands;
        commands.slice().image->has_unterminated_strings = true;
        CHECK(commands.has(FindingId::malformed));
        CHECK(commands.verdict().decision == Decision::inject);
        Case catalyst;
        catalyst.slice().image->versions.front().platform = macho::kPlatformMacCatalyst;
        CHECK(catalyst.has(FindingId::wrong_platform));
        CHECK(catalyst.verdict().decision == Decision::inject);
    }

    TEST_CASE("without enforcement neither the hardened runtime nor library validation counts") {
        Case changed;
        changed.signature().directories.front().flags = kHardened | 0x2000;
        check_refused(changed, FindingId::hardened_runtime, Outcome::stripped);
        changed.host.boot_arguments = {"amfi_get_out_of_my_way=0"};
        check_refused(changed, FindingId::hardened_runtime, Outcome::stripped);
        changed.host.boot_arguments = {"amfi_get_out_of_my_way=1"};
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.verdict().outcome == Outcome::loads);
        CHECK(changed.has(FindingId::hardened_runtime));
        CHECK(changed.has(FindingId::library_validation));
        CHECK(changed.has(FindingId::boot_argument));
    }

    TEST_CASE("a library on a folder of the host, one that is too new, one that lacks another") {
        Case changed;
        changed.shim.on_shared_folder = true;
        CHECK(changed.has(FindingId::shim_on_shared_folder));
        CHECK(changed.verdict().decision == Decision::inject);

        Case newer;
        newer.library().slices.front().image->versions.front().minos = "27.0";
        check_uncertain(newer, FindingId::shim_platform, Outcome::killed, Decision::refuse);
        newer.host.os = "27.1";
        CHECK_FALSE(newer.has(FindingId::shim_platform));

        Case lacking;
        lacking.shim.missing_dependency = "/opt/lib/absent.dylib";
        lacking.host.source = HostFacts::Source::file; // another machine may have it
        CHECK_FALSE(lacking.has(FindingId::shim_missing));
        lacking.host.source = HostFacts::Source::machine;
        check_refused(lacking, FindingId::shim_missing, Outcome::killed);
    }
}
