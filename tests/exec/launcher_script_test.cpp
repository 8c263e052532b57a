// SPDX-License-Identifier: MIT
//
// Launcher scripts and masquerading links, started in every way that a shell, env(1), a script or
// another program has to start them.
#include "harness.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

const std::string kSystemPath = "/usr/bin:/bin";

std::string profile_text(const std::string& program, const std::string& more = {}) {
    return "schema = 1\n[metal]\napple_family = \"apple6\"\n[policy]\nwhere = \"anywhere\"\n"
           "children = \"inherit\"\n[target]\nprogram = \"" +
           program + "\"\n" + more;
}

/// A folder `home` with a launcher script, and all that it names beside it; metalrun in `bin`.
struct House {
    TempFolder folder;
    std::string home = folder.make_folder("home");
    std::string script;
    std::string path; ///< for PATH

    explicit House(const std::string& line) {
        folder.make_link(programs().metalrun, "bin/metalrun");
        folder.copy(target("show"), "home/tools/prog");
        folder.copy(programs().shim, "home/lib/shim.so");
        folder.make_folder("home/work");
        folder.make_folder("elsewhere");
        script = folder.write("home/launch",
                              line + "\n" +
                                  profile_text("./tools/prog",
                                               "arguments = [\"--port\", \"80 80\", \"\"]\n"
                                               "directory = \"work\"\n"
                                               "[shim]\npath = \"lib/shim.so\"\n"),
                              0755);
        path = folder / "bin:" + kSystemPath;
    }

    void check(Command command) const {
        command.environment[0] = "PATH=" + path;
        check_as_given(std::move(command));
    }

    void check_as_given(Command command) const {
        const auto shown = run_show(folder, std::move(command));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        const auto& arguments = shown.report->arguments;
        CHECK(Strings(arguments.begin() + 1, arguments.end()) ==
              Strings{"--port", "80 80", "", "own", "", "-n", "--", "$x"});
        CHECK(shown.report->exe == home + "/tools/prog");
        CHECK(shown.report->cwd == home + "/work");
        CHECK(shown.report->has_library(home + "/lib/shim.so"));
        CHECK(shown.report->pid == shown.outcome.pid);
        CHECK(family_of(shown) == "1006");
        CHECK(shown.outcome.out.empty());
        CHECK(shown.outcome.err.empty());
    }
};

const Strings kOwn{"own", "", "-n", "--", "$x"};

Strings own_after(Strings before) {
    before.insert(before.end(), kOwn.begin(), kOwn.end());
    return before;
}

Command from(const std::string& directory, const std::string& path) {
    Command command;
    command.arguments = own_after({path});
    command.directory = directory;
    return command;
}

/// Every form of the first line that a kernel and metalrun understand.
const Strings kLines{
    "#!/usr/bin/env metalrun",
    "#!" + programs().metalrun,
    "#! " + programs().metalrun + " \t",
    "#!/usr/bin/env -S metalrun",
    "#!" + programs().metalrun + " -q  --children inherit",
    "#!/usr/bin/env -S metalrun -q --children inherit",
};

} // namespace

TEST_SUITE("exec.launcher_script") {

    TEST_CASE("a launcher script is the same program by every path to it") {
        for (const auto& line : kLines) {
            CAPTURE(line);
            const House house(line);
            const auto& folder = house.folder;
            folder.make_link(house.script, "elsewhere/a link");
            folder.make_link("a link", "elsewhere/second");
            folder.make_link(house.home, "elsewhere/door");
            house.check(from({}, house.script));
            house.check(from({}, folder / "elsewhere/a link"));
            house.check(from(house.home, "./launch"));
            for (const auto* const path : {"../home/launch", "./second", "door/launch"}) {
                CAPTURE(path);
                house.check(from(folder / "elsewhere", path));
            }
        }
    }

    TEST_CASE("a launcher script is the same program by its name in PATH, and by a link's") {
        for (const auto& line : kLines) {
            CAPTURE(line);
            const House house(line);
            house.folder.make_link(house.script, "names/launch");
            for (const auto& search : {house.home, house.folder / "names", std::string("../names"),
                                       std::string("../home")}) {
                CAPTURE(search);
                for (auto starter :
                     {Strings{"/bin/sh", "-c", "exec \"$@\"", "sh", "launch"},
                      Strings{"/usr/bin/env", "launch"}, Strings{programs().metalrun, "launch"}}) {
                    auto command = start_file("", {}, search + ":" + house.path);
                    command.arguments = own_after(std::move(starter));
                    command.directory = house.folder / "elsewhere";
                    house.check_as_given(std::move(command));
                }
            }
            house.check(from({}, house.script));
        }
    }

    TEST_CASE("what a linked script names lies beside the file, not beside the link") {
        const House house("#!" + programs().metalrun);
        house.folder.copy(target("exit_with"), "elsewhere/tools/prog");
        house.folder.make_folder("elsewhere/work");
        house.folder.make_link("../home/launch", "elsewhere/launch");
        house.check(from(house.folder / "elsewhere", "./launch"));
    }

    TEST_CASE("the script is the profile, unless the command line names another") {
        const House house("#!" + programs().metalrun);
        const auto other = house.folder.write(
            "other.toml", "schema = 1\n[metal]\napple_family = \"apple5\"\n[policy]\nwhere = "
                          "\"anywhere\"\nchildren = \"inherit\"\n");
        auto command = start_file(house.script, kOwn, house.path);
        command.environment.push_back("METALRUN_PROFILE=" + other);
        house.check(command);
        command = metalrun_command({"-p", other, house.script});
        const auto shown = run_show(house.folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(family_of(shown) == "1005");
        CHECK(shown.report->exe == house.home + "/tools/prog");
        CHECK(shown.report->has_library(programs().shim));
        command = metalrun_command({"-C", "/", "--argv0", "name", house.script});
        const auto moved = run_show(house.folder, command);
        REQUIRE_MESSAGE(moved.report, moved.outcome.err);
        CHECK(moved.report->cwd == "/");
        CHECK(moved.report->arguments.front() == "name");
    }

    TEST_CASE("a script of another language, by both kinds of line, keeps its own path") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "bin/metalrun");
        const auto path = folder / "bin:" + programs().targets + ":" + kSystemPath;
        const std::string words = " --anywhere --children inherit -p published -- show -u";
        for (const auto& line :
             {"#!/usr/bin/env -S metalrun" + words, "#!" + programs().metalrun + words}) {
            CAPTURE(line);
            const auto script = folder.write("tool.py", line + "\nprint()\n", 0755);
            std::filesystem::remove(folder / "elsewhere/link");
            folder.make_link(script, "elsewhere/link");
            for (const auto& typed : {script, std::string("../tool.py"), std::string("./link")}) {
                CAPTURE(typed);
                auto command = start_file(typed, {"own", "-p"}, path);
                command.directory = folder / "elsewhere";
                const auto shown = run_show(folder, command);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                CHECK(shown.report->arguments == Strings{"show", "-u", typed, "own", "-p"});
                CHECK(family_of(shown) == "1009");
            }
        }
    }

    TEST_CASE("a shell that is given a launcher script as its text starts nothing") {
        const House house("#!/usr/bin/env metalrun");
        const auto shown =
            run_show(house.folder, start_file("/bin/sh", {house.script}, house.path));
        CHECK(shown.outcome.status() != 0);
        CHECK_FALSE(shown.report);
    }

    TEST_CASE("a name that is no profile is told how a file is written") {
        const House house("#!/usr/bin/env metalrun");
        auto command = metalrun_command({"-p", "launch", "--", target("show")});
        command.directory = house.home;
        const auto outcome = run(command);
        CHECK(outcome.status() == 125);
        CHECK_MESSAGE(contains(outcome.err, "'./launch'"), outcome.err);
    }

    TEST_CASE("a launcher script that others may write is refused, and says so") {
        const House house("#!" + programs().metalrun);
        chmod(house.script.c_str(), 0777);
        const auto shown = run_show(house.folder, start_file(house.script, {}, house.path));
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
        CHECK_MESSAGE(contains(shown.outcome.err, "can be written by everyone"), shown.outcome.err);
        CHECK(contains(shown.outcome.err, "chmod o-w"));
        const auto stock =
            run_show(house.folder, metalrun_command({"--or-stock", "--", house.script}));
        CHECK(stock.outcome.status() == 126);
        CHECK_FALSE(stock.report);
    }

    TEST_CASE("a launcher script without a target, and one whose target is another") {
        const TempFolder folder;
        const std::string line = "#!" + programs().metalrun + "\n";
        const auto lost = folder.write("lost", line + "schema = 1\n", 0755);
        auto outcome = run(start_file(lost, {}, kSystemPath));
        CHECK(outcome.status() == 126);
        CHECK_MESSAGE(contains(outcome.err, "no target.program"), outcome.err);
        folder.write("inner", line + profile_text(target("show")), 0755);
        const auto outer = folder.write("outer", line + profile_text("./inner"), 0755);
        outcome = run(start_file(outer, {}, kSystemPath));
        CHECK(outcome.status() == 126);
        CHECK_MESSAGE(contains(outcome.err, "the target of another launcher script"), outcome.err);
    }

    TEST_CASE("a launcher script that names itself through env ends in an answer") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "bin/metalrun");
        const auto script =
            folder.write("again", "#!/usr/bin/env metalrun\n" + profile_text("./again"), 0755);
        const auto outcome =
            run(start_file(script, {}, folder.path() + "/bin:" + std::string(kSystemPath)));
        CHECK(outcome.status() == 126);
        CHECK_MESSAGE(contains(outcome.err, "the target of another launcher script"), outcome.err);
    }

    TEST_CASE("-n prints what a launcher script would start, and why with this profile") {
        const House house("#!" + programs().metalrun);
        auto command = metalrun_command({"-n", house.script, "own"});
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        for (const std::string part : {"decision: inject\n", "execve: '", "argv[4]: 'own'\n",
                                       "LUME_METAL_APPLE_FAMILY_MAX=1006\n"}) {
            CAPTURE(part);
            CHECK_MESSAGE(contains(outcome.out, part), outcome.out);
        }
        CHECK(contains(outcome.out, "chosen: it is the launcher script '" + house.script + "'\n"));
    }

    TEST_CASE("check judges the target of a launcher script with its profile") {
        const House house("#!/usr/bin/env metalrun");
        auto command = metalrun_command({"check", "--json", house.script});
        command.environment[0] = "PATH=" + house.path;
        auto outcome = run(command);
        CHECK(outcome.status() == 0);
        for (const std::string& part :
             {std::string(R"("decision": "inject")"), R"("path": ")" + house.script + '"',
              R"("library": ")" + house.home + "/lib/shim.so\"",
              R"("chosen": {"by": "script", "path": ")" + house.script + "\"}",
              R"({"path": ")" + house.home + R"(/./tools/prog", "kind": "program"})"}) {
            CAPTURE(part);
            CHECK_MESSAGE(contains(outcome.out, part), outcome.out);
        }
        command.arguments = {command.arguments[0], "check",     "--json", "-p",
                             "llama.cpp",          house.script};
        outcome = run(command);
        CHECK_MESSAGE(contains(outcome.out, R"("chosen": {"by": "option"})"), outcome.out);

        const auto broken =
            house.folder.write("broken", "#!/usr/bin/env metalrun\nschema = 2\n", 0755);
        command.arguments = {command.arguments[0], "check", broken};
        outcome = run(command);
        CHECK(outcome.status() == 1);
        CHECK_MESSAGE(contains(outcome.out, "is no launcher script [not-a-program]"), outcome.out);
        CHECK(contains(outcome.out, broken + ":2:10: "));
    }

    TEST_CASE("a link is found however it was started") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        folder.make_link("show", "links/again");
        folder.make_link("../links/show", "more/show");
        folder.copy(programs().metalrun, "copy/show");
        folder.make_folder("empty");
        const std::string all = folder / "links:" + (folder / "more") + ":" + (folder / "copy") +
                                "::relative:" + programs().targets + ":" + kSystemPath;
        const auto check = [&](Command command) {
            const auto shown = run_show(folder, std::move(command));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->exe == target("show"));
            CHECK(Strings(shown.report->arguments.begin() + 1, shown.report->arguments.end()) ==
                  Strings{"check", "--stock"});
            CHECK(shown.report->pid == shown.outcome.pid);
        };
        for (const auto& typed : {folder / "links/show", folder / "more/show",
                                  std::string("../links/show"), std::string("../more/show")}) {
            CAPTURE(typed);
            auto command = start_file(typed, {"check", "--stock"}, all);
            command.directory = folder / "empty";
            check(command);
        }
        for (const auto& starter : {Strings{"/usr/bin/env", "show"},
                                    Strings{"/bin/sh", "-c", "exec \"$@\"", "sh", "show"}}) {
            auto command = start_file("", {}, all);
            command.arguments = starter;
            command.arguments.insert(command.arguments.end(), {"check", "--stock"});
            check(command);
            command.environment[0] = "PATH=:" + programs().targets;
            command.directory = folder / "links"; // by the empty entry
            check(command);
        }
        // The file and argv[0] apart, as launchd has them; the link is not the first in PATH.
        auto command =
            start_file("show", {"check", "--stock"}, programs().targets + ":" + (folder / "links"));
        command.file = folder / "links/show";
        check(command);
    }

    TEST_CASE("'metalrun -- NAME' passes over links of that name, too") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        folder.copy(programs().metalrun, "copy/show");
        auto command = metalrun_command({"--anywhere", "--children", "inherit", "show", "x"});
        command.environment[0] =
            "PATH=" + (folder / "links") + ":" + (folder / "copy") + ":" + programs().targets;
        const auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->exe == target("show"));
        CHECK(shown.report->arguments == Strings{"show", "x"});
        command.environment[0] = "PATH=" + (folder / "links") + ":" + (folder / "copy");
        const auto outcome = run(command);
        CHECK(outcome.status() == 127);
        CHECK_MESSAGE(contains(outcome.err, "cannot find 'show' in PATH"), outcome.err);
    }

    TEST_CASE("a link finds a launcher script of its name, and that the program") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        folder.write("scripts/show", "#!" + programs().metalrun + "\n" + profile_text("show"),
                     0755);
        const auto path = folder / "links:" + (folder / "scripts") + ":" + programs().targets;
        for (const auto& typed : {folder / "links/show", folder / "scripts/show"}) {
            CAPTURE(typed);
            const auto shown = run_show(folder, start_file(typed, {"x"}, path));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->exe == target("show"));
            CHECK(family_of(shown) == "1006");
        }
    }

    TEST_CASE("a hard link and a copy are metalrun under another name") {
        const TempFolder folder;
        const auto copy = folder.copy(programs().metalrun, "copy/show");
        std::filesystem::create_hard_link(copy, folder / "copy/other");
        for (const auto& typed : {copy, folder / "copy/other"}) {
            CAPTURE(typed);
            const auto outcome = run(start_file(typed, {"--version"}, programs().targets));
            CHECK(outcome.status() == 0);
            CHECK(outcome.out.starts_with("metalrun "));
        }
    }

    TEST_CASE("a link with a wrapper script of its name that names the program by its path") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        folder.write("scripts/show",
                     "#!/bin/sh\nexec '" + programs().metalrun +
                         "' --anywhere --children inherit -p published -- '" + target("show") +
                         "' wrapped \"$@\"\n",
                     0755);
        const auto path = folder / "links:" + (folder / "scripts") + ":" + kSystemPath;
        const auto shown = run_show(folder, start_file(folder / "links/show", {"x"}, path));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->arguments == Strings{target("show"), "wrapped", "x"});
        CHECK(family_of(shown) == "1009");
    }

} // TEST_SUITE
