// SPDX-License-Identifier: MIT
//
// What cannot be started, or not with the shim: each case has its sentence and its status, and
// nothing is started. Broken programs are made from the bytes of a good one, one thing wrong at a
// time.
#include "harness.hpp"

#include <functional>
#include <utility>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

struct Expectation {
    int status = 0;
    Strings parts; ///< of standard error
};

void check_refused(const TempFolder& folder, Command command, const Expectation& expected) {
    const auto shown = run_show(folder, std::move(command));
    CAPTURE(shown.outcome.err);
    CHECK(shown.outcome.status() == expected.status);
    CHECK_FALSE(shown.report);
    CHECK(shown.outcome.out.empty());
    CHECK(shown.outcome.err.starts_with("metalrun: error: "));
    for (const auto& part : expected.parts) {
        CHECK_MESSAGE(contains(shown.outcome.err, part), std::string{part});
    }
}

/// The same answer with the shim, stock, and stock as the way out.
void check_cannot_start(const TempFolder& folder, const std::string& program,
                        const Expectation& expected) {
    for (const auto* option : {"--anywhere", "--stock", "--or-stock", "-q"}) {
        CAPTURE(std::string{option});
        check_refused(folder, metalrun_command({option, "--", program}), expected);
    }
}

bool has_set_id(const std::string& path) {
    struct statvfs status{};
    if (statvfs(path.c_str(), &status) != 0 || (status.f_flag & ST_NOSUID) != 0) {
        MESSAGE("skipped: the temporary folder ignores set-id bits");
        return false;
    }
    return true;
}

constexpr uid_t kOtherUser = 65534;

/// A start that should go on without the shim, with one line about it.
void check_stock(const TempFolder& folder, Command command, const std::string& part) {
    const auto shown = run_show(folder, std::move(command));
    CAPTURE(shown.outcome.err);
    CHECK(shown.outcome.status() == 0);
    REQUIRE(shown.report);
    CHECK_FALSE(shown.report->has_library(programs().shim));
    CHECK(shown.report->environment == shown.given);
    CHECK(lines_of(shown.outcome.err).size() == 1);
    CHECK_MESSAGE(contains(shown.outcome.err, part), std::string{part});
}

} // namespace

TEST_SUITE("exec.refusal") {

    TEST_CASE("a missing path is not found: 127") {
        const TempFolder folder;
        check_cannot_start(folder, folder / "absent", {127, {folder / "absent"}});
        check_cannot_start(folder, target("show") + "/below-a-file", {127, {}});
        check_cannot_start(folder, folder.make_link("/nowhere/at/all", "dangling"),
                           {127, {folder / "dangling"}});
    }

    TEST_CASE("a name that is not in PATH: 127, and the PATH that was searched is named") {
        const TempFolder folder;
        auto command = metalrun_command({"--anywhere", "--", "no-such-program"});
        command.environment = {"PATH=/nowhere/one:/nowhere/two"};
        check_refused(
            folder, command,
            {127, {"no-such-program", "/nowhere/one:/nowhere/two", "[target-not-found]"}});
        command =
            metalrun_command({"--anywhere", "-e", "PATH=/nowhere/three", "--", "no-such-program"});
        check_refused(folder, command, {127, {"/nowhere/three"}});
        check_refused(folder, metalrun_command({"--anywhere", "--", ""}), {127, {}});
    }

    TEST_CASE("a program that a login shell would find is named") {
        const TempFolder folder;
        const auto path = folder.copy(target("show"), ".local/bin/metalrun-test-tool");
        auto command = metalrun_command({"--anywhere", "--", "metalrun-test-tool"});
        command.environment = {"PATH=/usr/bin:/bin", "HOME=" + folder.path()};
        check_refused(folder, command, {127, {path, "/usr/bin:/bin"}});
    }

    TEST_CASE("a folder cannot be run: 126") {
        const TempFolder folder;
        check_cannot_start(folder, folder.path(), {126, {folder.path(), "is a directory"}});
    }

    TEST_CASE("a file without the run bit: 126") {
        const TempFolder folder;
        check_cannot_start(folder, folder.copy(target("show"), "no-run-bit", 0644),
                           {126, {"[target-not-executable]"}});
    }

    TEST_CASE(
        "a file without the run bit in PATH is passed over, and named when there is no other") {
        const TempFolder folder;
        folder.copy(target("show"), "one/prog", 0644);
        folder.make_folder("folder/prog");
        folder.copy(target("show"), "two/prog");
        auto command = metalrun_command({"--anywhere", "--", "prog"});
        command.environment = {"PATH=" + (folder / "folder") + ":" + (folder / "one") + ":" +
                               (folder / "two")};
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK(shown.report->exe == folder / "two/prog");
        command.environment = {"PATH=" + (folder / "one")};
        check_refused(folder, command, {126, {folder / "one/prog"}});
    }

    TEST_CASE("an empty file is not a program: 126") {
        const TempFolder folder;
        check_cannot_start(folder, folder.write("empty", "", 0755), {126, {"empty"}});
    }

    TEST_CASE("a truncated program: 126") {
        const TempFolder folder;
        const auto elf = read_file(target("show"));
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{4}, std::size_t{16}, std::size_t{40}, std::size_t{63},
              std::size_t{64}, std::size_t{100}, std::size_t{300}, std::size_t{0x1800}}) {
            CAPTURE(size);
            check_cannot_start(folder, folder.write("truncated", elf.substr(0, size), 0755),
                               {126, {"truncated"}});
        }
    }

    TEST_CASE(
        "arguments that the kernel takes no more, with what metalrun adds: 126, no half start") {
        const TempFolder folder;
        // One string may have 128 KiB: with the shim in front, this one has more.
        auto command = metalrun_command({"--anywhere", "--", target("show")});
        command.environment.push_back("LD_PRELOAD=/" + std::string(131'050, 'x'));
        const auto shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
        CHECK(contains(shown.outcome.err, "Argument list too long"));
    }

    TEST_CASE("a program for another machine: 126, both machines are named") {
        const TempFolder folder;
        const auto elf = read_file(target("show"));
        check_cannot_start(folder,
                           folder.write("foreign", with_machine(elf, foreign_machine()), 0755),
                           {126, {"[wrong-architecture]", "AArch64", "x86-64"}});
        check_refused(folder,
                      metalrun_command(
                          {"--anywhere", "--", folder.write("narrow", with_class_32(elf), 0755)}),
                      {126, {"narrow"}});
        check_cannot_start(folder, folder.write("unheard-of", with_machine(elf, 0xfedc), 0755),
                           {126, {}});
    }

    TEST_CASE("a text file without '#!' is never given to a shell: 126") {
        const TempFolder folder;
        const auto trace = folder / "shell-was-here";
        const auto text = folder.write("text", "/usr/bin/touch '" + trace + "'\n", 0755);
        check_cannot_start(folder, text, {126, {"[script-without-interpreter-line]"}});
        CHECK_FALSE(exists(trace));
    }

    TEST_CASE("a script whose interpreter is missing: 127, and the interpreter is named") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!/nowhere/interpreter -x\n", 0755);
        check_cannot_start(folder, script,
                           {127, {"/nowhere/interpreter", "[script-interpreter-missing]"}});
        const auto by_env = folder.write("by-env", "#!/usr/bin/env no-such-interpreter\n", 0755);
        check_refused(folder, metalrun_command({"--anywhere", "--", by_env}),
                      {127, {"no-such-interpreter"}});
    }

    TEST_CASE("a script with an empty interpreter line: 126") {
        const TempFolder folder;
        check_refused(folder,
                      metalrun_command({"--anywhere", "--", folder.write("script", "#!\n", 0755)}),
                      {126, {}});
        check_refused(
            folder, metalrun_command({"--anywhere", "--", folder.write("script", "#!   \n", 0755)}),
            {126, {}});
    }

    TEST_CASE("a CRLF interpreter line is named as such") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!" + target("show") + "\r\n", 0755);
        check_refused(folder, metalrun_command({"--anywhere", "--", script}),
                      {127, {"[script-line-crlf]"}});
    }

    TEST_CASE("scripts that lead to each other end in an answer") {
        const TempFolder folder;
        folder.write("one", "#!" + (folder / "two") + "\n", 0755);
        folder.write("two", "#!" + (folder / "one") + "\n", 0755);
        const auto outcome = run(metalrun_command({"--anywhere", "--", folder / "one"}));
        CHECK(outcome.status() == 126);
    }

    TEST_CASE("a static program cannot take the shim: 126, stock if wished") {
        const TempFolder folder;
        check_refused(folder, metalrun_command({"--anywhere", "--", target("show_static")}),
                      {126, {"static", "help: "}});
        check_stock(folder,
                    metalrun_command({"--anywhere", "--or-stock", "--", target("show_static")}),
                    "static");
        check_stock(folder,
                    metalrun_command({"--anywhere", "--stock", "--", target("show_static")}),
                    "[stock-asked]");
        check_stock(folder, metalrun_command({"--", target("show_static")}), "[not-a-guest]");
    }

    TEST_CASE("a set-id program cannot take the shim: 126, stock if wished") {
        const TempFolder folder;
        if (!needs_root("a set-id program of another user") || !has_set_id(folder.path())) {
            return;
        }
        chmod(folder.path().c_str(), 0777);
        const auto program = folder.copy(target("show"), "set-id");
        REQUIRE(chown(program.c_str(), kOtherUser, kOtherUser) == 0);
        for (const mode_t mode : {mode_t{04755}, mode_t{02755}, mode_t{06755}}) {
            CAPTURE(mode);
            chmod(program.c_str(), mode);
            check_refused(folder, metalrun_command({"--anywhere", "--", program}),
                          {126, {"[set-id]"}});
            check_stock(folder, metalrun_command({"--anywhere", "--or-stock", "--", program}),
                        "[set-id]");
        }
        chmod(program.c_str(), 0755);
        CHECK(run_show(folder, metalrun_command({"--anywhere", "--", program})).report);
    }

    TEST_CASE("a missing shim: 125, stock if wished") {
        const TempFolder folder;
        const auto absent = folder / "absent.so";
        check_refused(folder,
                      metalrun_command({"--anywhere", "--shim", absent, "--", target("show")}),
                      {125, {absent, "[shim-missing]"}});
        check_stock(
            folder,
            metalrun_command({"--anywhere", "--or-stock", "--shim", absent, "--", target("show")}),
            "[shim-missing]");
    }

    TEST_CASE("an unusable shim: 125, stock if wished") {
        const TempFolder folder;
        const auto elf = read_file(programs().shim);
        const std::vector<std::pair<std::string, std::string>> table{
            {folder.write("foreign.so", with_machine(elf, foreign_machine())),
             "[shim-architecture]"},
            {folder.write("empty.so", ""), "[shim-not-a-library]"},
            {folder.write("text.so", "this is not a library\n"), "[shim-not-a-library]"},
            {folder.write("head.so", elf.substr(0, 64)), ""},
            {folder.write("half.so", elf.substr(0, 0x1000)), ""},
            {folder.copy(target("show_static"), "program.so"), "[shim-not-a-library]"},
            {folder.make_folder("folder.so"), ""},
        };
        for (const auto& [shim, id] : table) {
            CAPTURE(std::string{shim});
            check_refused(folder,
                          metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}),
                          {125, {shim, id}});
            check_stock(folder,
                        metalrun_command(
                            {"--anywhere", "--or-stock", "--shim", shim, "--", target("show")}),
                        id);
        }
    }

    TEST_CASE("a shim that others can write is refused: 125") {
        const TempFolder folder;
        const auto open_file = folder.copy(programs().shim, "open.so", 0666);
        check_refused(folder,
                      metalrun_command({"--anywhere", "--shim", open_file, "--", target("show")}),
                      {125, {open_file, "[shim-writable-by-others]"}});
        const auto shim = folder.copy(programs().shim, "open/shim.so", 0644);
        folder.make_folder("open", 0777);
        check_refused(folder,
                      metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}),
                      {125, {folder / "open", "[shim-writable-by-others]"}});
        folder.make_folder("open", 01777);
        CHECK(
            run_show(folder, metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}))
                .report);
        folder.make_folder("open", 0755);
        const auto shown = run_show(
            folder, metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->has_library(shim));
    }

    TEST_CASE("a shim of a foreign user is refused: 125") {
        const TempFolder folder;
        if (!needs_root("a file of another user")) {
            return;
        }
        const auto shim = folder.copy(programs().shim, "shim.so", 0644);
        REQUIRE(chown(shim.c_str(), kOtherUser, 0) == 0);
        check_refused(folder,
                      metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}),
                      {125, {shim}});
    }

    TEST_CASE("a shim whose path the variable cannot carry is refused: 125") {
        const TempFolder folder;
        for (const auto* name : {"a:b.so", "a\nb.so"}) {
            const auto shim = folder.copy(programs().shim, name, 0644);
            check_refused(folder,
                          metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}),
                          {125, {"[shim-path]"}});
            const auto in_folder =
                folder.copy(programs().shim, std::string{"folder"} + name + "/shim.so", 0644);
            check_refused(
                folder, metalrun_command({"--anywhere", "--shim", in_folder, "--", target("show")}),
                {125, {"[shim-path]"}});
        }
    }

    // glibc also splits at blanks and expands '$': such a path must not end in a start without the
    // shim.
    TEST_CASE("a shim path with a blank or a dollar is loaded or refused, not lost") {
        const TempFolder folder;
        for (const auto* name : {"a b.so", "a\tb.so", "$LIB.so", "${ORIGIN}.so"}) {
            CAPTURE(std::string{name});
            const auto shim = folder.copy(programs().shim, name, 0644);
            const auto shown = run_show(
                folder, metalrun_command({"--anywhere", "--shim", shim, "--", target("show")}));
            if (shown.report) {
                CHECK(shown.report->has_library(shim));
            } else {
                CHECK(shown.outcome.status() == 125);
                CHECK(contains(shown.outcome.err, "[shim-path]"));
            }
        }
    }

    TEST_CASE("--or-stock changes nothing about usage and profile errors") {
        const TempFolder folder;
        check_refused(
            folder, metalrun_command({"--or-stock", "--anywhere", "--bogus", "--", target("show")}),
            {125, {}});
        check_refused(folder,
                      metalrun_command({"--or-stock", "--anywhere", "-p", "no-such-profile", "--",
                                        target("show")}),
                      {125, {"no-such-profile"}});
        const auto broken = folder.write("broken.toml", "schema = \n");
        check_refused(
            folder,
            metalrun_command({"--or-stock", "--anywhere", "-p", broken, "--", target("show")}),
            {125, {broken + ":1:"}});
    }

    TEST_CASE("an unsafe workload is refused, an explicit --family lifts that with a warning") {
        const TempFolder folder;
        const auto profile = folder.write(
            "unsafe.toml", "schema = 1\n[metal]\napple_family = \"apple7\"\n[workload]\n"
                           "status = \"unsafe\"\nreason = \"it draws wrong pictures\"\n");
        check_refused(folder, metalrun_command({"--anywhere", "-p", profile, "--", target("show")}),
                      {126, {"[unsafe]", "it draws wrong pictures"}});
        check_stock(
            folder,
            metalrun_command({"--anywhere", "--or-stock", "-p", profile, "--", target("show")}),
            "[unsafe]");
        const auto shown =
            run_show(folder, metalrun_command({"--anywhere", "-p", profile, "--family", "apple7",
                                               "--", target("show")}));
        REQUIRE(shown.report);
        CHECK(shown.report->has_library(programs().shim));
        CHECK(contains(shown.outcome.err, "warning: "));
        CHECK(contains(shown.outcome.err, "[unsafe]"));
    }

    TEST_CASE("a workload without benefit runs stock with its reason") {
        const TempFolder folder;
        check_stock(folder, metalrun_command({"--anywhere", "-p", "mlx", "--", target("show")}),
                    "[no-benefit]");
        check_stock(folder, metalrun_command({"--anywhere", "-p", "stock", "--", target("show")}),
                    "[profile-stock]");
    }

    TEST_CASE("on_refusal = \"stock\" in the profile is --or-stock") {
        const TempFolder folder;
        const auto profile = folder.write(
            "lenient.toml",
            "schema = 1\n[metal]\napple_family = \"apple7\"\n[policy]\non_refusal = \"stock\"\n");
        check_stock(folder,
                    metalrun_command({"--anywhere", "-p", profile, "--", target("show_static")}),
                    "static");
    }

    TEST_CASE("started set-id, metalrun refuses before anything is read: 125") {
        const TempFolder folder;
        if (is_sanitized()) {
            MESSAGE("skipped: a sanitized program does not start set-id");
            return;
        }
        if (!needs_root("a set-id copy of metalrun") || !has_set_id(folder.path())) {
            return;
        }
        chmod(folder.path().c_str(), 0755);
        const auto copy = folder.copy(programs().metalrun, "metalrun-set-id");
        REQUIRE(chown(copy.c_str(), kOtherUser, kOtherUser) == 0);
        for (const mode_t mode : {mode_t{04755}, mode_t{02755}}) {
            chmod(copy.c_str(), mode);
            for (const auto& arguments :
                 {Strings{"--anywhere", "--", target("show")}, Strings{"--help"}, Strings{},
                  Strings{"-p", "/nowhere.toml", "--", target("show")}}) {
                auto command = metalrun_command(arguments);
                command.file = copy;
                const auto shown = run_show(folder, command);
                CAPTURE(shown.outcome.err);
                CHECK(shown.outcome.status() == 125);
                CHECK_FALSE(shown.report);
                CHECK(shown.outcome.err.starts_with("metalrun: error: "));
                CHECK_FALSE(contains(shown.outcome.err, "nowhere"));
            }
        }
    }

} // TEST_SUITE
