// SPDX-License-Identifier: MIT
//
// Receipts: where they are kept, who may read them, and that their failure never stops a start.
#include "harness.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

constexpr uid_t kOtherUser = 65534;

struct Kept {
    Shown shown;
    std::string path;
    std::string text; ///< empty: no receipt
};

Kept start(const TempFolder& folder, const Strings& environment, const std::string& state,
           Strings options = {}) {
    options.insert(options.begin(), "--anywhere");
    options.insert(options.end(), {"--", target("show")});
    auto command = metalrun_command(options);
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    Kept kept{.shown = run_show(folder, command), .path = {}, .text = {}};
    kept.path = state + "/" + std::to_string(kept.shown.outcome.pid) + ".toml";
    kept.text = read_file(kept.path);
    return kept;
}

mode_t mode_of(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

void check_started_without_receipt(const Kept& kept) {
    CHECK(kept.shown.outcome.status() == 0);
    CHECK(kept.shown.outcome.err.empty());
    REQUIRE(kept.shown.report);
    CHECK(kept.shown.report->has_library(programs().shim));
    CHECK(kept.text.empty());
}

} // namespace

TEST_SUITE("exec.receipt") {

    TEST_CASE("a start leaves <pid>.toml, mode 0600, in a folder of mode 0700, with target, "
              "profile and plan") {
        const TempFolder folder;
        for (const mode_t mask : {mode_t{022}, mode_t{0}, mode_t{0777}}) {
            CAPTURE(mask);
            const auto state = folder / ("state" + std::to_string(mask));
            auto command =
                metalrun_command({"--anywhere", "-p", "published", "--", target("show")});
            command.environment.push_back("METALRUN_STATE_DIR=" + state);
            command.before_exec = [mask] { umask(mask); };
            const auto outcome = run(command);
            CHECK(outcome.status() == 0);
            const auto path = state + "/" + std::to_string(outcome.pid) + ".toml";
            CHECK(mode_of(state) == 0700);
            CHECK(mode_of(path) == 0600);
            const auto text = read_file(path);
            CHECK(contains(text, target("show")));
            CHECK(contains(text, "published"));
            CHECK(contains(text, "1009"));
            CHECK(contains(text, "65536"));
        }
    }

    TEST_CASE("the shim tells that it is loaded") {
        const TempFolder folder;
        const auto state = folder / "state";
        const auto kept = start(folder, {"METALRUN_STATE_DIR=" + state}, state);
        REQUIRE(kept.shown.report);
        CHECK(contains(kept.text, "[[event]]\n"));
        CHECK(contains(kept.text, "pid = " + std::to_string(kept.shown.outcome.pid) + "\n"));
        CHECK(contains(kept.text, "state = \"loaded\"\n"));
        CHECK(kept.text.ends_with("\n\n"));
    }

    TEST_CASE("names with quotes, newlines and bytes that are not UTF-8 do not break the receipt") {
        const TempFolder folder;
        const auto state = folder / "state";
        const auto program = folder.copy(target("show"), "a \"b\"\n[[event]]\nc\\d\xff");
        auto command = metalrun_command({"--anywhere", "--", program});
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        const auto shown = run_show(folder, command);
        REQUIRE(shown.report);
        const auto text = read_file(state + "/" + std::to_string(shown.outcome.pid) + ".toml");
        CHECK_FALSE(text.empty());
        CHECK_FALSE(contains(text, "\xff"));
        const auto pid = "pid = " + std::to_string(shown.outcome.pid);
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
            if (lines[i] == "[[event]]") {
                CHECK(lines[i + 1] == pid);
            }
        }
    }

    TEST_CASE("without METALRUN_STATE_DIR: $XDG_RUNTIME_DIR/metalrun, else "
              "~/.local/state/metalrun, else none") {
        const TempFolder folder;
        const auto runtime = folder.make_folder("runtime", 0700);
        const auto home = folder.make_folder("home", 0700);
        CHECK_FALSE(
            start(folder, {"XDG_RUNTIME_DIR=" + runtime, "HOME=" + home}, runtime + "/metalrun")
                .text.empty());
        CHECK_FALSE(exists(home + "/.local/state/metalrun"));
        CHECK_FALSE(start(folder, {"HOME=" + home}, home + "/.local/state/metalrun").text.empty());
        check_started_without_receipt(start(folder, {}, folder / "none"));
    }

    TEST_CASE("a stock start by decision has its receipt, and no event") {
        const TempFolder folder;
        const auto state = folder / "state";
        const auto kept = start(folder, {"METALRUN_STATE_DIR=" + state}, state, {"--stock"});
        REQUIRE(kept.shown.report);
        CHECK(contains(kept.text, "stock"));
        CHECK_FALSE(contains(kept.text, "[[event]]"));
    }

    TEST_CASE("a refused start leaves no receipt") {
        const TempFolder folder;
        const auto state = folder / "state";
        auto command = metalrun_command({"--anywhere", "--", target("show_static")});
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        const auto shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 126);
        CHECK_FALSE(exists(state + "/" + std::to_string(shown.outcome.pid) + ".toml"));
    }

    TEST_CASE("a state folder that is a link or a file or cannot be made is not used, and the "
              "start goes on") {
        const TempFolder folder;
        const auto real = folder.make_folder("real", 0700);
        const auto link = folder.make_link(real, "link");
        check_started_without_receipt(start(folder, {"METALRUN_STATE_DIR=" + link}, real));
        const auto file = folder.write("file", "x");
        check_started_without_receipt(start(folder, {"METALRUN_STATE_DIR=" + file}, file));
        CHECK(read_file(file) == "x");
        check_started_without_receipt(
            start(folder, {"METALRUN_STATE_DIR=/proc/nowhere"}, "/proc/nowhere"));
        check_started_without_receipt(
            start(folder, {"METALRUN_STATE_DIR=/dev/null/x"}, "/dev/null/x"));
        check_started_without_receipt(
            start(folder, {"METALRUN_STATE_DIR=" + std::string(5000, 'x')}, "/nowhere"));
    }

    TEST_CASE("a state folder of another user is not used, and the start goes on") {
        const TempFolder folder;
        if (!needs_root("a folder of another user")) {
            return;
        }
        const auto state = folder.make_folder("state", 0700);
        REQUIRE(chown(state.c_str(), kOtherUser, kOtherUser) == 0);
        check_started_without_receipt(start(folder, {"METALRUN_STATE_DIR=" + state}, state));
    }

    TEST_CASE("what lies in the place of a receipt is replaced, never followed") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        const auto victim = folder.write("victim", "untouched");
        auto command = metalrun_command({"--anywhere", "--", target("show")});
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        command.before_exec = [&state, &victim] {
            const auto path = state + "/" + std::to_string(getpid()) + ".toml";
            if (symlink(victim.c_str(), path.c_str()) != 0) {
                _exit(99);
            }
        };
        const auto shown = run_show(folder, command);
        CHECK(shown.outcome.status() == 0);
        CHECK(shown.report);
        CHECK(read_file(victim) == "untouched");
    }

} // TEST_SUITE
