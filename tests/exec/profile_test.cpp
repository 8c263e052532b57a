// SPDX-License-Identifier: MIT
//
// Which profile is used, which file is refused and in which words, and the profile commands.
#include "harness.hpp"

#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

constexpr uid_t kOtherUser = 65534;

std::string profile_text(const std::string& family, const std::string& more = {}) {
    return "schema = 1\n[metal]\napple_family = \"" + family + "\"\nnever_above_host = false\n" +
           more;
}

Shown start(const TempFolder& folder, Strings options, const Strings& environment = {},
            const std::string& directory = {}) {
    options.insert(options.begin(), {"--anywhere", "--children", "inherit"});
    options.insert(options.end(), {"--", target("show")});
    auto command = metalrun_command(options);
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    command.directory = directory;
    return run_show(folder, command);
}

void check_profile_error(const TempFolder& folder, const std::string& file, const Strings& parts) {
    const auto shown = start(folder, {"-p", file});
    CAPTURE(shown.outcome.err);
    CHECK(shown.outcome.status() == 125);
    CHECK_FALSE(shown.report);
    CHECK(shown.outcome.out.empty());
    CHECK(shown.outcome.err.starts_with("metalrun: error: "));
    for (const auto& part : parts) {
        CHECK_MESSAGE(contains(shown.outcome.err, part), std::string{part});
    }
}

} // namespace

TEST_SUITE("exec.profile") {

    TEST_CASE("-p takes a shipped name") {
        const TempFolder folder;
        CHECK(family_of(start(folder, {"-p", "llama.cpp"})) == "1007");
        CHECK(family_of(start(folder, {"-p", "published"})) == "1009");
        CHECK(family_of(start(folder, {"-p", "default"})) == "1007");
        CHECK(family_of(start(folder, {})) == "1007");
    }

    TEST_CASE("-p takes a file by path") {
        const TempFolder folder;
        const auto file = folder.write("mine.toml", profile_text("apple6"));
        CHECK(family_of(start(folder, {"-p", file})) == "1006");
        CHECK(family_of(start(folder, {"-p", "./mine.toml"}, {}, folder.path())) == "1006");
        CHECK(family_of(start(folder, {"-p", folder.make_link(file, "link.toml")})) == "1006");
    }

    TEST_CASE("a profile's family is lowered to the host's, an explicit --family is not") {
        const TempFolder folder;
        const auto file =
            folder.write("nine.toml", "schema = 1\n[metal]\napple_family = \"apple9\"\n");
        // The chip of this machine is not one that is known: Apple 7.
        CHECK(family_of(start(folder, {"-p", file})) == "1007");
        CHECK(family_of(start(folder, {"-p", file, "--family", "apple9"})) == "1009");
        CHECK(family_of(start(folder, {"--family", "host"})) == "1007");
    }

    TEST_CASE("a quirk is told for the guests that it names, and for no others") {
        const std::string fixture = METALRUN_FIXTURE_DIR "/plain";
        if (!exists(fixture)) {
            MESSAGE("skipped: the fixtures were not built");
            return;
        }
        const TempFolder folder;
        const auto program = folder / "llama-bench";
        std::filesystem::copy_file(fixture, program);
        const auto mine = folder.write(
            "mine.toml",
            profile_text("apple7", "[[quirk]]\nguest_os = \"14.0..14.3\"\nlevel = \"warn\"\n"
                                   "note = \"use '-mmp 0'\"\n"));
        const auto checked = [&](const std::string& os, const Strings& options) {
            const auto facts =
                folder.write("facts-" + os + ".toml", "os = \"" + os +
                                                          "\"\narchitecture = \"arm64\"\n"
                                                          "guest = true\nsip = \"on\"\n");
            Strings arguments{"check", "--host-facts", facts};
            arguments.insert(arguments.end(), options.begin(), options.end());
            arguments.push_back(program);
            return run(metalrun_command(arguments)).out;
        };
        CHECK(contains(checked("13.6", {}), "note: profile 'llama.cpp' knows of a quirk"));
        CHECK(contains(checked("14.4", {}), "warning: profile 'llama.cpp' knows of a quirk"));
        CHECK(contains(checked("14.4", {}), "llama-bench with '-mmp 0'"));
        CHECK_FALSE(contains(checked("15.5", {}), "quirk"));
        CHECK_FALSE(contains(checked("26.5", {}), "quirk"));
        CHECK(
            contains(checked("14.3.1", {"-p", mine}), "warning: profile 'mine' knows of a quirk"));
        CHECK_FALSE(contains(checked("14.4", {"-p", mine}), "quirk"));
    }

    TEST_CASE("an unknown name: 125, and the nearest known one") {
        const TempFolder folder;
        const auto shown = start(folder, {"-p", "lama.cpp"});
        CHECK(shown.outcome.status() == 125);
        CHECK_FALSE(shown.report);
        CHECK(contains(shown.outcome.err, "'lama.cpp'"));
        CHECK(contains(shown.outcome.err, "'llama.cpp'"));
    }

    TEST_CASE("an empty name is an error") {
        const TempFolder folder;
        CHECK(start(folder, {"-p", ""}).outcome.status() == 125);
    }

    TEST_CASE("a name is never searched in the current folder") {
        const TempFolder folder;
        folder.write("mine.toml", profile_text("apple6"));
        folder.write("mine", profile_text("apple6"));
        folder.write("llama.cpp.toml", profile_text("apple3"));
        CHECK(start(folder, {"-p", "mine"}, {}, folder.path()).outcome.status() == 125);
        CHECK(family_of(start(folder, {"-p", "llama.cpp"}, {}, folder.path())) == "1007");
        CHECK(start(folder, {}, {"METALRUN_PROFILE=mine"}, folder.path()).outcome.status() == 125);
    }

    TEST_CASE("a name does not climb out of the profile folders") {
        const TempFolder folder;
        folder.write("config/metalrun/x.toml", profile_text("apple4"));
        folder.write("config/evil.toml", profile_text("apple6"));
        CHECK(start(folder, {"-p", ".."}, {"XDG_CONFIG_HOME=" + (folder / "config")})
                  .outcome.status() == 125);
    }

    TEST_CASE("METALRUN_PROFILE is used when there is no -p") {
        const TempFolder folder;
        const auto file = folder.write("mine.toml", profile_text("apple6"));
        CHECK(family_of(start(folder, {}, {"METALRUN_PROFILE=" + file})) == "1006");
        CHECK(family_of(start(folder, {}, {"METALRUN_PROFILE=published"})) == "1009");
        CHECK(family_of(start(folder, {"-p", "published"}, {"METALRUN_PROFILE=" + file})) ==
              "1009");
        const auto shown = start(folder, {}, {"METALRUN_PROFILE=no-such-profile"});
        CHECK(shown.outcome.status() == 125);
        CHECK(contains(shown.outcome.err, "no-such-profile"));
        CHECK(contains(shown.outcome.err, "METALRUN_PROFILE"));
    }

    TEST_CASE("the user's folder is $XDG_CONFIG_HOME/metalrun, else ~/.config/metalrun") {
        const TempFolder folder;
        folder.write("xdg/metalrun/mine.toml", profile_text("apple6"));
        folder.write("home/.config/metalrun/mine.toml", profile_text("apple4"));
        folder.write("home/.config/metalrun/llama.cpp.toml", profile_text("apple3"));
        const auto xdg = "XDG_CONFIG_HOME=" + (folder / "xdg");
        const auto home = "HOME=" + (folder / "home");
        CHECK(family_of(start(folder, {"-p", "mine"}, {xdg})) == "1006");
        CHECK(family_of(start(folder, {"-p", "mine"}, {home})) == "1004");
        CHECK(family_of(start(folder, {"-p", "mine"}, {home, xdg})) == "1006");
        CHECK(start(folder, {"-p", "mine"}).outcome.status() == 125);
        // The user's profile of a shipped name wins.
        CHECK(family_of(start(folder, {"-p", "llama.cpp"}, {home})) == "1003");
        // The base directory specification: a relative value is ignored.
        CHECK(start(folder, {"-p", "mine"}, {"XDG_CONFIG_HOME=xdg"}, folder.path())
                  .outcome.status() == 125);
    }

    TEST_CASE("as root, a user's folder that is not root's is skipped") {
        const TempFolder folder;
        if (!needs_root("a folder of another user")) {
            return;
        }
        chmod(folder.path().c_str(), 0755);
        folder.write("home/.config/metalrun/mine.toml", profile_text("apple6"));
        for (const auto* name :
             {"home", "home/.config", "home/.config/metalrun", "home/.config/metalrun/mine.toml"}) {
            REQUIRE(chown((folder / name).c_str(), kOtherUser, kOtherUser) == 0);
        }
        CHECK(start(folder, {"-p", "mine"}, {"HOME=" + (folder / "home")}).outcome.status() == 125);
        CHECK(family_of(start(folder, {}, {"HOME=" + (folder / "home")})) == "1007");
    }

    TEST_CASE("a profile with a match is chosen for the target it names") {
        const TempFolder folder;
        const auto home = "HOME=" + folder.path();
        folder.write(".config/metalrun/shower.toml",
                     profile_text("apple6", "[match]\nprograms = [\"sho[vw]\", \"x*\"]\n"));
        folder.write(".config/metalrun/other.toml",
                     profile_text("apple4", "[match]\nprograms = [\"llama-*\"]\n"));
        CHECK(family_of(start(folder, {}, {home})) == "1006");
        CHECK(family_of(start(folder, {"-p", "published"}, {home})) == "1009");
        CHECK(family_of(start(folder, {}, {home, "METALRUN_PROFILE=published"})) == "1009");

        folder.copy(target("show"), "bin/llama-server");
        auto command = metalrun_command(
            {"--anywhere", "--children", "inherit", "--", folder / "bin/llama-server"});
        command.environment.push_back(home);
        CHECK(family_of(run_show(folder, command)) == "1004");
        command.environment.pop_back();
        CHECK(family_of(run_show(folder, command)) == "1007");
    }

    TEST_CASE("the more specific match wins, a tie is an error") {
        const TempFolder folder;
        const auto home = "HOME=" + folder.path();
        folder.write(".config/metalrun/by-name.toml",
                     profile_text("apple6", "[match]\nprograms = [\"show\"]\n"));
        folder.write(".config/metalrun/by-arguments.toml",
                     profile_text("apple4", "[match]\narguments = [\"-m mlx_lm*\"]\n"));
        auto command = metalrun_command({"--anywhere", "--children", "inherit", "--",
                                         target("show"), "-m", "mlx_lm.server", "x"});
        command.environment.push_back(home);
        CHECK(family_of(run_show(folder, command)) == "1004");
        CHECK(family_of(start(folder, {}, {home})) == "1006");

        folder.write(".config/metalrun/by-name-too.toml",
                     profile_text("apple3", "[match]\nprograms = [\"sho*\"]\n"));
        const auto shown = start(folder, {}, {home});
        CHECK(shown.outcome.status() == 125);
        CHECK(contains(shown.outcome.err, "by-name"));
        CHECK(contains(shown.outcome.err, "by-name-too"));
    }

    TEST_CASE("the environment of the profile is set, and -e and -u come behind it") {
        const TempFolder folder;
        const auto file = folder.write(
            "mine.toml", profile_text("apple7", "[environment]\nset = { NEW = \"profile\", OLD = "
                                                "\"profile\" }\nunset = [\"GONE\", \"BACK\"]\n"));
        const auto shown =
            start(folder, {"-p", file, "-e", "OLD=option", "-u", "NEW", "-e", "BACK=option"},
                  {"GONE=1", "OLD=inherited", "BACK=1"});
        REQUIRE_MESSAGE(shown.report, shown.outcome.err);
        const auto& seen = shown.report->environment;
        CHECK_FALSE(value_of(seen, "GONE"));
        CHECK_FALSE(value_of(seen, "NEW"));
        CHECK(value_of(seen, "OLD") == "option");
        CHECK(value_of(seen, "BACK") == "option");
        const auto plain = start(folder, {"-p", file}, {"GONE=1", "OLD=inherited"});
        REQUIRE(plain.report);
        CHECK(value_of(plain.report->environment, "NEW") == "profile");
        CHECK(value_of(plain.report->environment, "OLD") == "profile");
    }

    TEST_CASE("an explicit file that cannot be read: 125 with its name") {
        const TempFolder folder;
        check_profile_error(folder, folder / "absent.toml",
                            {folder / "absent.toml", "No such file or directory"});
        check_profile_error(folder, folder.make_folder("folder.toml"), {folder / "folder.toml"});
        check_profile_error(folder, folder.make_link("/nowhere", "dangling.toml"),
                            {folder / "dangling.toml"});
    }

    TEST_CASE("a profile without the permission to read it: 125") {
        const TempFolder folder;
        if (!needs_root("another user to start as")) {
            return;
        }
        chmod(folder.path().c_str(), 0755);
        const auto file = folder.write("secret.toml", profile_text("apple7"), 0600);
        auto command = metalrun_command({"--anywhere", "-p", file, "--", "/bin/true"});
        command.before_exec = [] {
            if (setgid(kOtherUser) != 0 || setuid(kOtherUser) != 0) {
                _exit(99);
            }
        };
        if (access(programs().metalrun.c_str(), X_OK) != 0) {
            return;
        }
        try {
            const auto outcome = run(command);
            CHECK(outcome.status() == 125);
            CHECK(contains(outcome.err, file));
            CHECK(contains(outcome.err, "Permission denied"));
        } catch (const std::exception& problem) {
            MESSAGE("skipped, the build folder is not open to another user: ", problem.what());
        }
    }

    TEST_CASE("a profile that others can write is refused: 125") {
        const TempFolder folder;
        check_profile_error(folder, folder.write("open.toml", profile_text("apple7"), 0666),
                            {folder / "open.toml"});
        const auto file = folder.write("open/mine.toml", profile_text("apple7"));
        folder.make_folder("open", 0777);
        check_profile_error(folder, file, {folder / "open"});
        folder.make_folder("open", 01777);
        CHECK(family_of(start(folder, {"-p", file})) == "1007");
        folder.make_folder("open", 0755);
        CHECK(family_of(start(folder, {"-p", file})) == "1007");
        // A link in a safe folder does not help a file in an unsafe one.
        folder.make_folder("open", 0777);
        check_profile_error(folder, folder.make_link(file, "link.toml"), {folder / "open"});
    }

    TEST_CASE("group write is accepted for the groups of the rule and no other") {
        const TempFolder folder;
        if (!needs_root("to give files away")) {
            return;
        }
        const auto file = folder.write("mine.toml", profile_text("apple7"), 0664);
        REQUIRE(chown(file.c_str(), 0, 0) == 0);
        CHECK(family_of(start(folder, {"-p", file})) == "1007");
        REQUIRE(chown(file.c_str(), 0, 1234) == 0);
        chmod(file.c_str(), 0664);
        check_profile_error(folder, file, {file});
        chmod(file.c_str(), 0644);
        CHECK(family_of(start(folder, {"-p", file})) == "1007");
        REQUIRE(chown(file.c_str(), kOtherUser, 0) == 0);
        check_profile_error(folder, file, {file});
    }

    TEST_CASE("an error in a profile has file, line and column, and the nearest key") {
        const TempFolder folder;
        struct Row {
            const char* text;
            Strings parts;
        };
        const std::vector<Row> table{
            {"schema = 1\n[metal]\napple_familly = \"apple7\"\n",
             {":3:1: ", "unknown key 'metal.apple_familly'",
              "help: a key with a similar name exists: 'metal.apple_family'"}},
            {"schema = 1\ndescripton = \"x\"\n", {":2:1: ", "'descripton'", "'description'"}},
            {"schema = 1\n[polcy]\nchildren = \"stock\"\n", {":2:", "'polcy'", "'policy'"}},
            {"schema = 2\n", {":1:", "schema"}},
            {"schema = \"1\"\n", {":1:", "schema"}},
            {"description = \"no schema\"\n", {"schema"}},
            {"", {"schema"}},
            {"schema = 1\n[metal\n", {":2:"}},
            {"schema = 1\nschema = 1\n", {":2:"}},
            {"schema = 1\n[metal]\napple_family = 7\n", {":3:"}},
            {"schema = 1\n[metal]\napple_family = \"apple11\"\n", {":3:", "apple11"}},
            {"schema = 1\n[metal]\napple_family = \"metal3\"\n", {":3:", "metal3"}},
            {"schema = 1\n[metal]\napple_family = 5001\n", {":3:", "5001"}},
            {"schema = 1\n[metal]\napple_family = true\n", {":3:"}},
            {"schema = 1\n[metal]\napple_family = \"stock\"\nthreadgroup_memory = 65536\n",
             {":4:"}},
            {"schema = 1\n[metal]\napple_family = \"apple7\"\nthreadgroup_memory = \"65 KiB\"\n",
             {":4:"}},
            {"schema = 1\n[metal]\napple_family = \"apple7\"\nthreadgroup_memory = -1\n", {":4:"}},
            {"schema = 1\n[metal]\napple_family = \"apple7\"\nhook = \"soon\"\n", {":4:", "soon"}},
            {"schema = 1\n[metal]\nnever_above_host = \"yes\"\n", {":3:"}},
            {"schema = 1\n[shim]\npath = \"@rpath/x.dylib\"\n", {":3:"}},
            {"schema = 1\n[policy]\nchildren = \"some\"\n", {":3:", "some"}},
            {"schema = 1\n[policy]\nwhere = \"host\"\n", {":3:", "host"}},
            {"schema = 1\n[workload]\nstatus = \"fine\"\n", {":3:", "fine"}},
            {"schema = 1\n[environment]\nset = { DYLD_INSERT_LIBRARIES = \"x\" }\n",
             {":3:", "DYLD_INSERT_LIBRARIES"}},
            {"schema = 1\n[environment]\nset = { DYLD_PRINT_LIBRARIES = \"1\" }\n",
             {":3:", "DYLD_PRINT_LIBRARIES"}},
            {"schema = 1\n[environment]\nset = { LD_PRELOAD = \"x\" }\n", {":3:", "LD_PRELOAD"}},
            {"schema = 1\n[environment]\nset = { LUME_METAL_APPLE_FAMILY_MAX = \"1009\" }\n",
             {":3:"}},
            {"schema = 1\n[environment]\nunset = [\"METALRUN_RECEIPT\"]\n", {":3:"}},
            {"schema = 1\n[environment]\nset = { A = 1 }\n", {":3:"}},
            {"schema = 1\n[match]\nprograms = \"show\"\n", {":3:"}},
            {"schema = 1\n[[quirk]]\nguest_os = \"thirteen\"\nlevel = \"note\"\nnote = \"n\"\n",
             {":3:"}},
            {"schema = 1\n[[quirk]]\nguest_os = \"13\"\nlevel = \"loud\"\nnote = \"n\"\n", {":4:"}},
            {"\xff\xfe", {":1:"}},
        };
        for (const auto& row : table) {
            CAPTURE(std::string{row.text});
            const auto file = folder.write("wrong.toml", row.text);
            auto parts = row.parts;
            parts.push_back(file + ":");
            check_profile_error(folder, file, parts);
        }
    }

    TEST_CASE("a broken profile of the user is an error when it is the one that is asked for") {
        const TempFolder folder;
        const auto home = "HOME=" + folder.path();
        folder.write(".config/metalrun/mine.toml", "schema = 1\nnonsense = 1\n");
        const auto shown = start(folder, {"-p", "mine"}, {home});
        CHECK(shown.outcome.status() == 125);
        CHECK(contains(shown.outcome.err, folder / ".config/metalrun/mine.toml:2:1: "));
    }

    TEST_CASE("a profile is a plain file: a pipe or device is refused and never waited for") {
        const TempFolder folder;
        const auto pipe = folder / "pipe.toml";
        REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
        check_profile_error(folder, pipe, {pipe});
        check_profile_error(folder, "/dev/zero", {"/dev/zero"});
    }

    TEST_CASE("profile list names the shipped profiles") {
        const auto outcome = run(metalrun_command({"profile", "list"}));
        CHECK(outcome.status() == 0);
        CHECK(outcome.err.empty());
        for (const auto* name : {"llama.cpp", "published", "whisper.cpp", "stable-diffusion.cpp",
                                 "ollama", "default", "mlx", "pytorch", "stock"}) {
            CHECK_MESSAGE(contains(outcome.out, name), std::string{name});
        }
    }

    TEST_CASE("profile list names the user's profiles") {
        const TempFolder folder;
        folder.write(".config/metalrun/mine-own.toml", profile_text("apple6"));
        auto command = metalrun_command({"profile", "list"});
        command.environment.push_back("HOME=" + folder.path());
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        CHECK(contains(outcome.out, "mine-own"));
    }

    TEST_CASE("profile show prints the effective values with their origin") {
        const TempFolder folder;
        const auto file = folder.write("mine.toml", profile_text("apple6"));
        auto outcome = run(metalrun_command({"profile", "show", file}));
        CHECK(outcome.status() == 0);
        CHECK(outcome.err.empty());
        for (const auto& part : {std::string{"apple_family"}, std::string{"apple6"}, file,
                                 std::string{"threadgroup_memory"}, std::string{"children"}}) {
            CHECK_MESSAGE(contains(outcome.out, part), std::string{part});
        }
        outcome = run(metalrun_command({"profile", "show", "published"}));
        CHECK(outcome.status() == 0);
        CHECK(contains(outcome.out, "apple9"));
        outcome = run(metalrun_command({"profile", "show", "no-such-profile"}));
        CHECK(outcome.status() == 125);
        CHECK(outcome.out.empty());
    }

    TEST_CASE(
        "profile lint is silent or short for a good file and has line and column for a bad one") {
        const TempFolder folder;
        const auto good = folder.write("good.toml", profile_text("apple6"));
        const auto bad =
            folder.write("bad.toml", "schema = 1\n[metal]\napple_familly = \"apple7\"\n");
        CHECK(run(metalrun_command({"profile", "lint", good})).status() == 0);
        const auto outcome = run(metalrun_command({"profile", "lint", bad}));
        CHECK(outcome.status() != 0);
        CHECK(contains(outcome.out + outcome.err, bad + ":3:1: "));
        CHECK(contains(outcome.out + outcome.err, "'metal.apple_family'"));
        const auto both = run(metalrun_command({"profile", "lint", good, bad}));
        CHECK(both.status() != 0);
        CHECK(run(metalrun_command({"profile", "lint", folder / "absent.toml"})).status() != 0);
    }

    TEST_CASE("profile with an unknown or missing verb is a usage error") {
        for (const auto& arguments :
             {Strings{"profile"}, Strings{"profile", "shwo"}, Strings{"profile", "lint"},
              Strings{"profile", "list", "--bogus"}}) {
            CAPTURE(arguments.back());
            const auto outcome = run(metalrun_command(arguments));
            CHECK(outcome.status() == 125);
            CHECK(outcome.out.empty());
        }
    }

} // TEST_SUITE
