// SPDX-License-Identifier: MIT
//
// `metalrun status`: what it says of processes that live.
#include "live.hpp"

#include <array>
#include <ctime>
#include <string>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

using namespace metalrun::test;

namespace {

bool has_simulated_metal() {
    if (exists(programs().simulated_metal)) {
        return true;
    }
    MESSAGE("skipped: the simulated Metal was not built");
    return false;
}

// The receipt as if it had been written an hour ago.
void write_receipt(const TempFolder& folder, const std::string& name, const std::string& text) {
    const auto path = folder.write("state/" + name, text, 0600);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= 3600;
    const std::array<timespec, 2> times{now, now};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

// The first part of the receipt of a live process, changed so that the shim was to be loaded.
std::string injecting(const std::string& stock_receipt, const std::string& library) {
    return replaced(stock_receipt, "decision = \"stock\"\noutcome",
                    "decision = \"inject\"\nlibrary = \"" + library +
                        "\"\nshim = \"own\"\noutcome");
}

} // namespace

TEST_SUITE("exec.status") {

    TEST_CASE("a device with raised answers is active, with the answers") {
        if (!has_simulated_metal()) {
            return;
        }
        const TempFolder folder;
        const auto state = folder / "state";
        const Live live(state, stay({"--anywhere", "-p", "published"}, {"device"}),
                        {"LD_PRELOAD=" + programs().simulated_metal});
        REQUIRE(live.is_there());
        const auto said = status_of(state);
        CHECK(said.status() == 0);
        CHECK(said.err.empty());
        CHECK(said.out ==
              std::to_string(live.pid()) + " active: '" + target("stay") +
                  "', profile published; 'Apple Paravirtual device': Apple family 1005 -> 1009, "
                  "threadgroup memory 32768 -> 65536 bytes\n");
        const auto alone = status_of(state, {"--json", std::to_string(live.pid())});
        CHECK(alone.status() == 0);
        CHECK(contains(alone.out, "\"state\": \"active\""));
        CHECK(contains(alone.out, "\"apple_family\": {\"stock\": 1005, \"given\": 1009}"));
    }

    TEST_CASE("without a device: loaded") {
        if (!has_simulated_metal()) {
            return;
        }
        const TempFolder folder;
        const auto state = folder / "state";
        const Live live(state, stay(), {"LD_PRELOAD=" + programs().simulated_metal});
        REQUIRE(live.is_there());
        const auto said = status_of(state);
        CHECK(said.status() == 0);
        CHECK(contains(said.out, std::to_string(live.pid()) + " loaded: "));
    }

    TEST_CASE("without Metal the shim leaves the process stock, and says why") {
        const TempFolder folder;
        const auto state = folder / "state";
        const Live live(state, stay());
        REQUIRE(live.is_there());
        const auto said = status_of(state);
        CHECK(said.status() == 1);
        CHECK(contains(said.out, " stock-by-shim: "));
        CHECK(contains(said.out, "; class '_MTLDevice' is not in this process\n"));
    }

    TEST_CASE("a stock start is stock by decision, with the finding's id") {
        const TempFolder folder;
        const auto state = folder / "state";
        const Live live(state, stay({"--stock"}));
        REQUIRE(live.is_there());
        const auto said = status_of(state);
        CHECK(said.status() == 0);
        CHECK(contains(said.out, " stock-by-decision: "));
        CHECK(contains(said.out, "; stock-asked\n"));
    }

    TEST_CASE("a target that becomes another program, or itself again, runs stock now") {
        const TempFolder folder;
        const auto state = folder / "state";
        const Live other(state, {"--anywhere", "--", target("then"), "exec", target("stay")});
        REQUIRE(other.is_there());
        auto said = status_of(state);
        CHECK(said.status() == 1);
        CHECK(contains(said.out, " re-executed: "));
        CHECK(contains(said.out, "; it runs '" + target("stay") + "' now\n"));
    }

    TEST_CASE("children that inherited the shim are listed below their process while they live") {
        if (!has_simulated_metal()) {
            return;
        }
        const TempFolder folder;
        const auto state = folder / "state";
        Live live(state,
                  {"--anywhere", "--children", "inherit", "--", target("then"), "spawn",
                   target("stay"), "device"},
                  {"LD_PRELOAD=" + programs().simulated_metal});
        REQUIRE(live.is_there());
        const auto lines = lines_of(status_of(state).out);
        REQUIRE(lines.size() == 2);
        CHECK(contains(lines[0], std::to_string(live.pid()) + " loaded: "));
        CHECK(lines[1].starts_with("  child "));
        CHECK(contains(lines[1], " active; 'Apple Paravirtual device': "));
    }

    TEST_CASE("stripped: an old receipt, nothing told, and no such library in the process") {
        const TempFolder folder;
        const auto state = folder.make_folder("state", 0700);
        const Live live(state, stay({"--stock"}));
        REQUIRE(live.is_there());
        const auto text = read_file(state + "/" + live.name());
        write_receipt(folder, live.name(), injecting(text, programs().shim));
        const auto said = status_of(state);
        CHECK(said.status() == 1);
        CHECK(contains(said.out, " stripped: "));
        // A library that is gone cannot be looked for.
        write_receipt(folder, live.name(), injecting(text, folder / "absent.so"));
        CHECK(contains(status_of(state).out, " unconfirmed: "));
        // One that is there and told nothing is not absent.
        const auto libc = "/proc/" + std::to_string(live.pid()) + "/exe";
        write_receipt(folder, live.name(), injecting(text, libc));
        CHECK(contains(status_of(state).out, "; the shim is in it, but told nothing\n"));
        // Fresh receipts prove nothing yet.
        folder.write("state/" + live.name(), injecting(text, programs().shim), 0600);
        CHECK(contains(status_of(state).out, "; it was started less than two seconds ago\n"));
    }

} // TEST_SUITE
