// SPDX-License-Identifier: MIT
//
// The examples that users copy, each started from another folder as its head comment says. In PATH,
// llama-server is the stand-in workload, which chooses its kernels by what its device answers.
#include "harness.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

constexpr auto kRaised = "simdgroup matrix mul. = true";
constexpr auto kStock = "simdgroup matrix mul. = false";

std::string example(const std::string& name) {
    return METALRUN_EXAMPLES "/" + name;
}

/// A machine on which metalrun and llama-server are installed, and a folder to be in.
struct Machine {
    TempFolder folder;
    std::string elsewhere = folder.make_folder("elsewhere");
    std::string state = folder / "state";

    Machine() {
        folder.make_link(programs().metalrun, "bin/metalrun");
        folder.make_link(programs().standin, "bin/llama-server");
    }
    /// A start of this file, with the least work for llama-server behind the arguments.
    [[nodiscard]] Command start(Strings arguments, const Strings& environment = {}) const {
        arguments.insert(arguments.end(), {"-r", "1", "-p", "9", "-n", "1"});
        Command command;
        command.arguments = std::move(arguments);
        command.environment[0] = "PATH=" + (folder / "bin") + ":/usr/bin:/bin";
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        command.environment.insert(command.environment.end(), environment.begin(),
                                   environment.end());
        command.directory = elsewhere;
        return command;
    }
    /// As a user asks for the shim outside a guest, too, where an option cannot be given.
    [[nodiscard]] std::string profile_for_anywhere() const {
        return folder.write("anywhere.toml", "schema = 1\n[metal]\napple_family = \"apple7\"\n"
                                             "[policy]\nwhere = \"anywhere\"\n");
    }
    [[nodiscard]] std::string receipt_of(const Outcome& outcome) const {
        return read_file(state + "/" + std::to_string(outcome.pid) + ".toml");
    }
};

bool has_standin() {
    if (exists(programs().standin)) {
        return true;
    }
    MESSAGE("skipped: the stand-in workload was not built");
    return false;
}

void check_raised(const Machine& machine, const Outcome& outcome) {
    CHECK(outcome.status() == 0);
    CHECK_MESSAGE(contains(outcome.err, kRaised), outcome.err);
    // The process of the start is the one that computes: there was exec, and no child.
    CHECK(contains(machine.receipt_of(outcome), "state = \"active\""));
}

void check_stock(const Outcome& outcome) {
    CHECK(outcome.status() == 0);
    CHECK_MESSAGE(contains(outcome.err, kStock), outcome.err);
    CHECK(contains(outcome.err, "[not-a-guest]"));
}

} // namespace

TEST_SUITE("exec.examples") {

    TEST_CASE("wrapper.sh becomes llama-server, with the shim where the profile says so") {
        if (!has_standin()) {
            return;
        }
        const Machine machine;
        const auto choice = "METALRUN_PROFILE=" + machine.profile_for_anywhere();
        check_raised(machine, run(machine.start({example("wrapper.sh")}, {choice})));
        check_stock(run(machine.start({example("wrapper.sh")})));
        const auto refused = run(machine.start({example("wrapper.sh"), "--no-such-option"}));
        CHECK(refused.status() ==
              run(machine.start({programs().standin, "--no-such-option"})).status());
    }

    TEST_CASE("llama-server.toml is started by its path, by a link and by its name in PATH") {
        if (!has_standin()) {
            return;
        }
        const Machine machine;
        const auto script = example("llama-server.toml");
        check_stock(run(machine.start({script})));
        check_stock(run(machine.start({machine.folder.make_link(script, "a link")})));
        machine.folder.make_link(script, "bin/my-server");
        auto by_name = machine.start({"/usr/bin/env", "my-server"});
        check_stock(run(by_name));
        check_raised(machine, run(machine.start({programs().metalrun, "--anywhere", script})));
        const auto lint = run(metalrun_command({"profile", "lint", script}));
        CHECK_MESSAGE(lint.status() == 0, (lint.out + lint.err));
    }

    TEST_CASE(
        "masquerade.sh makes a link that starts the next llama-server, and undoes nothing else") {
        if (!has_standin()) {
            return;
        }
        const Machine machine;
        const auto links = machine.folder / "links";
        const auto choice = "METALRUN_PROFILE=" + machine.profile_for_anywhere();
        for (int time = 0; time < 2; ++time) { // the second one finds the link
            const auto outcome = run(machine.start({example("masquerade.sh"), links}, {choice}));
            CHECK(contains(outcome.err, "llama-server is now " + links + "/llama-server\n"));
            check_raised(machine, outcome);
        }
        // And so does everybody who has that folder in front of PATH.
        auto later = machine.start({"/bin/sh", "-c", "exec llama-server \"$@\"", "sh"}, {choice});
        later.environment[0].insert(5, links + ":");
        check_raised(machine, run(later));
        later = machine.start({"/bin/sh", "-c", "exec llama-server \"$@\"", "sh"});
        later.environment[0].insert(5, links + ":");
        check_stock(run(later));

        const auto own = machine.folder.write("own/llama-server", "a program", 0755);
        CHECK(run(machine.start({example("masquerade.sh"), machine.folder / "own"})).status() == 1);
        CHECK(read_file(own) == "a program");
        CHECK(run({.arguments = {example("masquerade.sh")}}).status() == 2);
    }

    TEST_CASE("sees.py says what a Python program sees, with the shim and without") {
        if (!exists("/usr/bin/python3")) {
            MESSAGE("skipped: no python3");
            return;
        }
        const Machine machine;
        const auto stock = run(machine.start({example("sees.py"), "an argument"}));
        CHECK(stock.status() == 0);
        CHECK_MESSAGE(contains(stock.out, "shim:     not in this process\n"), stock.err);
        CHECK(contains(stock.out, "arguments: an argument -r 1"));

        // The profile of that name in the user's own folder comes first.
        for (const auto& [children, said] : {std::pair{"stock", "children: run stock\n"},
                                             std::pair{"inherit", "children: get the shim\n"}}) {
            machine.folder.write("config/metalrun/llama.cpp.toml",
                                 std::string{"schema = 1\n[metal]\napple_family = \"apple7\"\n"
                                             "[policy]\nwhere = \"anywhere\"\nchildren = \""} +
                                     children + "\"\n");
            const auto raised = run(machine.start(
                {example("sees.py")}, {"XDG_CONFIG_HOME=" + (machine.folder / "config")}));
            CHECK(raised.status() == 0);
            CHECK_MESSAGE(contains(raised.out, "shim:     " + programs().shim + "\n"), raised.err);
            CHECK(contains(raised.out, said));
            CHECK(contains(machine.receipt_of(raised), "state = \"loaded\""));
        }
    }

} // TEST_SUITE
