// SPDX-License-Identifier: MIT
//
// Scripts on both sides of metalrun: as targets, as launcher scripts that name metalrun on their
// first line, and as a link with the name of another program.
#include "harness.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

std::string launcher_text(const std::string& first_line, const std::string& program,
                          const std::string& more = {}) {
    return first_line +
           "\nschema = 1\n[metal]\napple_family = \"apple6\"\nnever_above_host = "
           "false\n[policy]\nwhere = "
           "\"anywhere\"\nchildren = \"inherit\"\n[target]\nprogram = \"" +
           program + "\"\n" + more;
}

/// A folder for PATH in which metalrun has its name.
std::string folder_with_metalrun(const TempFolder& folder) {
    folder.make_link(programs().metalrun, "metalrun-bin/metalrun");
    return folder / "metalrun-bin";
}

/// Also where the environment was cleared, so that `show` reports on standard output.
Shown run_cleared_show(const TempFolder& folder, const Command& command) {
    auto shown = run_show(folder, command);
    if (!shown.report && contains(shown.outcome.out, "\nend\n")) {
        shown.report = parse_report(shown.outcome.out);
    }
    return shown;
}

const Strings kOfTheShim{"LD_PRELOAD", "LUME_METAL_APPLE_FAMILY_MAX",
                         "LUME_METAL_MAX_THREADGROUP_MEMORY", "METALRUN_SHIM_HOOK",
                         "METALRUN_SHIM_CHILDREN"};

} // namespace

TEST_SUITE("exec.script") {

    TEST_CASE("a script runs in its interpreter as the kernel would run it, with the shim") {
        const TempFolder folder;
        const std::vector<std::string> first_lines{
            "#!" + target("show"),
            "#! \t" + target("show") + "  ",
            "#!" + target("show") + " one two  three",
            "#!" + target("show") + " -x#y",
            "#!/usr/bin/env show",
            "#!/usr/bin/env -S show -a 'b c'",
        };
        for (const auto& line : first_lines) {
            CAPTURE(std::string{line});
            const auto script = folder.write("a script", line + "\ntext\n", 0755);
            auto direct =
                start_file(script, {"x", "", "-p"}, programs().targets + ":/usr/bin:/bin");
            auto wrapped = metalrun_command(
                {"--anywhere", "--children", "inherit", "--", script, "x", "", "-p"});
            wrapped.environment = direct.environment;
            const auto plain = run_show(folder, direct);
            const auto shown = run_show(folder, wrapped);
            REQUIRE(plain.report);
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            auto expected = plain.report->arguments;
            auto seen = shown.report->arguments;
            // env starts the interpreter by its bare name; by its path is as good.
            if (contains(line, "/env ")) {
                expected.erase(expected.begin());
                seen.erase(seen.begin());
            }
            CHECK(seen == expected);
            CHECK(shown.report->pid == shown.outcome.pid);
            CHECK(shown.report->has_library(programs().shim));
        }
    }

    TEST_CASE("env's own options come to what the env of this machine makes of them") {
        const TempFolder folder;
        const auto tools = folder / "tools";
        folder.make_folder("tools");
        folder.copy(target("show"), "tools/other");
        for (const std::string line : {
                 "show",
                 "-S show",
                 "-Sshow -x",
                 "-vS show -x",
                 "-S -i PATH=${TOOLS} other",
                 "-S - ${TOOLS}/other",
                 "-S -- show --",
                 "-S -i -u LIKED A=1 ${TOOLS}/other",
                 "-S - A=1 B=2 A=3 ${TOOLS}/other",
                 "-S -u LIKED show",
                 "-S -uLIKED -u ABSENT show",
                 "-S --unset=LIKED show",
                 "-S --unset LIKED --debug show",
                 "-S --ignore-environment LIKED=1 ${TOOLS}/other",
                 "--split-string=show -x",
                 "-S A=1 LIKED=new B= show A=2 -i",
                 "-S A=x=y show",
                 "-S 'A B=1' show",
                 "-S show 'a b' \"c d\" e'f'\"g\" '' \"\"",
                 "-S show 'it\\'s' \"say \\\"x\\\"\"",
                 "-S show a\\_b \"c\\_d\" 'e\\_f'",
                 "-S show \\t\\n\\v\\f\\r \"\\t\"",
                 "-S show a\\c b",
                 "-S show a #b c",
                 "-S show a#b \\#c '#d'",
                 "-S show \\\\ \\$ \\# \\\" \\'",
                 "-S show ${LIKED} \"${LIKED}\" '${LIKED}' x${LIKED}y",
                 "-S show ${ABSENT} a${ABSENT}b \"${ABSENT}\" ${EMPTY}",
                 "-S A=${LIKED}2 show ${A}",
                 "-S LIKED=new show ${LIKED}",
                 "-S -u LIKED show ${LIKED}",
                 "-S -S 'show\\_x' y",
                 "-S -S show\\_-S x",
                 "-S show -u\r",
                 "-S PATH=${TOOLS} other",
                 "-S PATH=/nowhere:${TOOLS}: other -x",
                 "-S -u LIKED ${TOOLS}/other",
                 "-S -i ${TOOLS}/other",
                 "-S -iS '-u A B=1 ${TOOLS}/other'",
                 "-S -u PATH ${TOOLS}/other ${PATH}",
             }) {
            CAPTURE(line);
            const auto script = folder.write("script", "#!/usr/bin/env " + line + "\n", 0755);
            auto direct =
                start_file(script, {"x", "", "-i"}, programs().targets + ":/usr/bin:/bin");
            direct.environment.insert(direct.environment.end(),
                                      {"LIKED=a b", "EMPTY=", "TOOLS=" + tools, "ABSENT2=1"});
            const auto plain = run_cleared_show(folder, direct);
            REQUIRE_MESSAGE(plain.report, plain.outcome.err);
            // A sanitized shim needs a variable that such a line takes away.
            const bool clears = line.find(" -i") != std::string::npos ||
                                line.starts_with("-S - ") ||
                                line.find("--ignore-env") != std::string::npos;
            for (const std::string& mode : {std::string("--stock"), std::string("-q")}) {
                if (mode == "-q" && clears && is_sanitized()) {
                    continue;
                }
                auto wrapped = metalrun_command({"--anywhere", mode, "--", script, "x", "", "-i"});
                wrapped.environment = direct.environment;
                const auto shown = run_cleared_show(folder, wrapped);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                CHECK(shown.report->arguments == plain.report->arguments);
                CHECK(shown.report->exe == plain.report->exe);
                CHECK(without(shown.report->environment, kOfTheShim) == plain.report->environment);
                CHECK(shown.report->has_library(programs().shim) == (mode == "-q"));
            }
        }
    }

    TEST_CASE("behind '#!/usr/bin/env X' it is X that has the shim, also when children are stock") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!/usr/bin/env show\n", 0755);
        auto command = metalrun_command({"--anywhere", "--children", "stock", "--", script, "x"});
        command.environment[0] = "PATH=" + programs().targets + ":/usr/bin:/bin";
        const auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->has_library(programs().shim));
    }

    TEST_CASE(
        "a script that env starts through another script gets what the kernel would give it") {
        const TempFolder folder;
        folder.write("bin/inner", "#!/usr/bin/env -S -u A B=${A}2 show -i\n", 0755);
        folder.write("bin/middle", "#!" + (folder / "bin/inner") + " in the middle\n", 0755);
        const auto script = folder.write("outer", "#!/usr/bin/env -S A=1 middle -o\n", 0755);
        auto direct = start_file(script, {"x"},
                                 (folder / "bin") + ":" + programs().targets + ":/usr/bin:/bin");
        const auto plain = run_show(folder, direct);
        REQUIRE(plain.report);
        auto wrapped = metalrun_command({"--anywhere", "--", script, "x"});
        wrapped.environment = direct.environment;
        const auto shown = run_show(folder, wrapped);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->arguments == plain.report->arguments);
        CHECK(without(shown.report->environment, kOfTheShim) == plain.report->environment);
        CHECK(shown.report->has_library(programs().shim));
    }

    TEST_CASE("scripts that no kernel runs are refused with the reason, and none hangs") {
        const TempFolder folder;
        folder.copy(target("show"), "a tool");
        folder.write("bin/python3", "#!/usr/bin/env python3\n", 0755);
        const std::vector<std::pair<std::string, std::string>> scripts{
            {"echo no line\n", "[script-without-interpreter-line]"},
            {"#!\n", "[script-without-interpreter-line]"},
            {"#!" + target("show") + "\r\n", "[script-line-crlf]"},
            {"#!/usr/bin/env show\r\n", "[script-line-crlf]"},
            {"#!/" + std::string(260, 'x') + "\n", "[script-line-too-long]"},
            {"#!" + (folder / "a tool") + "\n", "cut at the blank"},
            {"#!" + (folder / "script") + "\n", "[script-interpreter-is-script]"},
            {"#!/usr/bin/env " + (folder / "script") + "\n", "[script-interpreter-is-script]"},
            {"#!/usr/bin/env python3\n", "[script-interpreter-is-script]"},
            {"#!/usr/bin/env -S -C / show\n", "not followed: the option '-C'"},
        };
        for (const auto& [text, reason] : scripts) {
            CAPTURE(text);
            const auto script = folder.write("script", text, 0755);
            auto command = metalrun_command({"--anywhere", "--children", "stock", "--", script});
            command.environment[0] =
                "PATH=" + (folder / "bin") + ":" + programs().targets + ":/usr/bin:/bin";
            const auto shown = run_show(folder, command);
            CHECK_FALSE(shown.report);
            CHECK(shown.outcome.signal() == 0);
            CHECK((shown.outcome.status() == 126 || shown.outcome.status() == 127));
            CHECK_MESSAGE(contains(shown.outcome.err, reason), shown.outcome.err);
        }
    }

    TEST_CASE("a starter and a version manager's stand-in are refused with the right way round") {
        const TempFolder folder;
        folder.write("shims/tool", "#!/bin/sh\nexec \"/opt/rbenv\" exec \"tool\" \"$@\"\n", 0755);
        const auto script = folder.write("script", "#!/usr/bin/env tool\n", 0755);
        const auto help_of = [&](Strings target) {
            Strings arguments{"--anywhere", "--children", "stock", "--"};
            arguments.insert(arguments.end(), target.begin(), target.end());
            auto command = metalrun_command(std::move(arguments));
            command.environment[0] = "PATH=" + (folder / "shims") + ":/usr/bin:/bin";
            const auto outcome = run(command);
            CHECK(outcome.status() == 126);
            CHECK(contains(outcome.err, "[starts-elsewhere]"));
            return lines_of(outcome.err).back();
        };
        CHECK(help_of({"nohup", "show", "-x"}) == "help: nohup metalrun -- show");
        CHECK(help_of({"timeout", "5", "show"}) == "help: timeout 5 metalrun -- show");
        CHECK(help_of({"tool"}) == "help: metalrun -- \"$(rbenv which tool)\"");
        CHECK(help_of({script}) == "help: metalrun -- \"$(rbenv which tool)\" " + script);
    }

    TEST_CASE("metalrun scripts that lead to each other end in an answer") {
        const TempFolder folder;
        folder.write("one", launcher_text("#!" + programs().metalrun, folder / "two"), 0755);
        folder.write("two", launcher_text("#!" + programs().metalrun, folder / "one"), 0755);
        const auto outcome = run(start_file(folder / "one", {}, "/usr/bin:/bin"));
        CHECK(outcome.signal() == 0);
        CHECK((outcome.status() == 125 || outcome.status() == 126));
    }

    TEST_CASE("a script in PATH is found and keeps its path as argument") {
        const TempFolder folder;
        folder.write("bin/tool", "#!" + target("show") + "\n", 0755);
        auto command = metalrun_command({"--anywhere", "--", "tool", "x"});
        command.environment[0] = "PATH=" + (folder / "bin");
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{target("show"), folder / "bin/tool", "x"});
    }

    TEST_CASE("a script in a static interpreter cannot take the shim") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!" + target("show_static") + "\n", 0755);
        const auto shown = run_show(folder, metalrun_command({"--anywhere", "--", script}));
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
        CHECK(
            run_show(folder, metalrun_command({"--anywhere", "--or-stock", "--", script})).report);
    }

    TEST_CASE("a launcher script starts its target: the profile's arguments, then its own") {
        const TempFolder folder;
        const auto path = folder_with_metalrun(folder) + ":/usr/bin:/bin";
        for (const auto& line : {"#!" + programs().metalrun, "#! " + programs().metalrun,
                                 std::string{"#!/usr/bin/env metalrun"}}) {
            CAPTURE(std::string{line});
            const auto script = folder.write(
                "launch",
                launcher_text(line, target("show"), "arguments = [\"--port\", \"8080\", \"\"]\n"),
                0755);
            const auto shown =
                run_show(folder, start_file(script, {"own", "", "--stock", "-n"}, path));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->arguments ==
                  Strings{target("show"), "--port", "8080", "", "own", "", "--stock", "-n"});
            CHECK(shown.report->pid == shown.outcome.pid);
            CHECK(shown.report->has_library(programs().shim));
            CHECK(family_of(shown) == "1006");
            CHECK(shown.outcome.out.empty());
            CHECK(shown.outcome.err.empty());
        }
    }

    TEST_CASE("a launcher script can be given by its name, with options before it") {
        const TempFolder folder;
        const auto script =
            folder.write("launch", launcher_text("#!" + programs().metalrun, target("show")), 0755);
        for (const auto& arguments : {Strings{script, "x"}, Strings{"--", script, "x"}}) {
            const auto shown = run_show(folder, metalrun_command(arguments));
            REQUIRE_MESSAGE(shown.report, shown.outcome.err);
            CHECK(shown.report->arguments == Strings{target("show"), "x"});
            CHECK(family_of(shown) == "1006");
        }
        const auto stock = run_show(folder, metalrun_command({"--stock", "-q", script, "x"}));
        REQUIRE_MESSAGE(stock.report, stock.outcome.err);
        CHECK(stock.report->arguments == Strings{target("show"), "x"});
        CHECK_FALSE(stock.report->has_library(programs().shim));
    }

    TEST_CASE("a launcher script has a folder and an argument zero for its target") {
        const TempFolder folder;
        folder.copy(target("show"), "place/prog");
        const auto script = folder.write(
            "launch",
            launcher_text("#!" + programs().metalrun, folder / "place/prog",
                          "directory = \"" + (folder / "place") + "\"\nargv0 = \"a name\"\n"),
            0755);
        const auto shown = run_show(folder, start_file(script, {}, "/usr/bin:/bin"));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->cwd == folder / "place");
        CHECK(shown.report->arguments == Strings{"a name"});
        CHECK(shown.report->exe == folder / "place/prog");
    }

    TEST_CASE("a launcher script with the name of its program does not find itself") {
        const TempFolder folder;
        folder.write("first/show", launcher_text("#!" + programs().metalrun, "show"), 0755);
        folder.make_link(programs().metalrun, "second/show");
        const auto path = (folder / "first") + ":" + (folder / "second") + ":" + programs().targets;
        const auto shown = run_show(folder, start_file(folder / "first/show", {"x"}, path));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->exe == target("show"));
    }

    TEST_CASE("a broken launcher script is refused with the place of its fault") {
        const TempFolder folder;
        const auto script = folder.write(
            "launch", launcher_text("#!" + programs().metalrun, target("show"), "colour = 1\n"),
            0755);
        const auto shown = run_show(folder, start_file(script, {}, "/usr/bin:/bin"));
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
        CHECK_MESSAGE(contains(shown.outcome.err, script + ":11:1: "), shown.outcome.err);
        CHECK(contains(shown.outcome.err, "'target.colour'"));
    }

    TEST_CASE("'#!... env -S metalrun -p NAME -- PROGRAM' on a script of another language") {
        const TempFolder folder;
        const auto path =
            folder_with_metalrun(folder) + ":" + programs().targets + ":/usr/bin:/bin";
        const auto script = folder.write("tool.py",
                                         "#!/usr/bin/env -S metalrun --anywhere --children inherit "
                                         "-p published -- show -u\nprint()\n",
                                         0755);
        const auto shown = run_show(folder, start_file(script, {"own"}, path));
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->arguments == Strings{"show", "-u", script, "own"});
        CHECK(family_of(shown) == "1009");
    }

    TEST_CASE("a script that leads back to metalrun and is no launcher script: 126") {
        const TempFolder folder;
        const auto script =
            folder.write("loop", "#!" + programs().metalrun + "\nprint('hello')\n", 0755);
        const auto shown = run_show(folder, metalrun_command({"--anywhere", "--", script}));
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(shown.report);
    }

    TEST_CASE("a link with a program's name runs the next program of that name in PATH") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        const auto search = (folder / "links") + ":" + programs().targets + ":/usr/bin:/bin";
        auto command =
            start_file(folder / "links/show", {"--stock", "-n", "--help", "--", ""}, search);
        auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->exe == target("show"));
        CHECK(Strings(shown.report->arguments.begin() + 1, shown.report->arguments.end()) ==
              Strings{"--stock", "-n", "--help", "--", ""});
        CHECK(shown.report->pid == shown.outcome.pid);

        command = start_file("show", {"x"}, search);
        command.file = folder / "links/show";
        shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(shown.report->exe == target("show"));
        CHECK(shown.report->arguments == Strings{"show", "x"});
    }

    TEST_CASE("a link takes its policy from METALRUN_PROFILE") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/show");
        const auto profile = folder.write(
            "p.toml", "schema = 1\n[metal]\napple_family = \"apple6\"\nnever_above_host = false\n"
                      "[policy]\nwhere = \"anywhere\"\nchildren = \"inherit\"\n");
        auto command =
            start_file(folder / "links/show", {"x"}, (folder / "links") + ":" + programs().targets);
        command.environment.push_back("METALRUN_PROFILE=" + profile);
        const auto shown = run_show(folder, command);
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        CHECK(family_of(shown) == "1006");
        CHECK(shown.report->has_library(programs().shim));
    }

    TEST_CASE("a link with no other program of its name in PATH: 127") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "links/metalrun-test-tool");
        folder.make_link(programs().metalrun, "more/metalrun-test-tool");
        folder.copy(programs().metalrun, "copy/metalrun-test-tool");
        const auto command =
            start_file(folder / "links/metalrun-test-tool", {"x"},
                       (folder / "links") + ":" + (folder / "more") + ":" + (folder / "copy"));
        const auto outcome = run(command);
        CHECK(outcome.status() == 127);
        CHECK(contains(outcome.err, "metalrun-test-tool"));
    }

    TEST_CASE("a link that is called metalrun is metalrun") {
        const TempFolder folder;
        const auto path = folder_with_metalrun(folder) + "/metalrun";
        auto command = start_file(path, {"--version"}, "/usr/bin:/bin");
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        CHECK(outcome.out.starts_with("metalrun "));
    }

    TEST_CASE("a name in argument zero that is no link does not change what metalrun is") {
        auto command = metalrun_command({"--version"});
        command.arguments[0] = "llama-server";
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        CHECK(outcome.out.starts_with("metalrun "));
    }

} // TEST_SUITE
