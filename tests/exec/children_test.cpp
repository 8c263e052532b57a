// SPDX-License-Identifier: MIT
//
// What the children of the target get, from metalrun over the parent to the answers of the device:
// every way to start a child, the environment byte for byte, and whose events the receipt lists.
#include "harness.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

struct Event {
    pid_t pid = 0;
    std::string state;
};

/// The events that processes with the shim left in a receipt, in their order.
std::vector<Event> events_of(const std::string& receipt) {
    std::vector<Event> events;
    for (const auto& line : lines_of(receipt)) {
        if (line == "[[event]]") {
            events.emplace_back();
        } else if (!events.empty() && line.starts_with("pid = ")) {
            events.back().pid = std::stoi(line.substr(6));
        } else if (!events.empty() && line.starts_with("state = ")) {
            events.back().state = line.substr(8);
        }
    }
    return events;
}

struct Started {
    Outcome outcome;
    std::vector<Event> events;

    [[nodiscard]] bool answers(const std::string& family) const {
        return contains(outcome.out, "\"apple_family\":" + family + ",");
    }
    /// How often the shim was loaded: by the process that metalrun was, and by all others.
    [[nodiscard]] std::pair<int, int> loads() const {
        std::pair<int, int> count;
        for (const auto& event : events) {
            if (event.state == "\"loaded\"") {
                ++(event.pid == outcome.pid ? count.first : count.second);
            }
        }
        return count;
    }
    /// The processes whose device was raised.
    [[nodiscard]] std::set<pid_t> active() const {
        std::set<pid_t> processes;
        for (const auto& event : events) {
            if (event.state == "\"active\"") {
                processes.insert(event.pid);
            }
        }
        return processes;
    }
};

Started start(const TempFolder& folder, const std::string& children, Strings parent,
              const Strings& environment) {
    parent.insert(parent.begin(), {"--anywhere", "--children", children, "--"});
    auto command = metalrun_command(std::move(parent));
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    command.environment.push_back("METALRUN_STATE_DIR=" + (folder / "state"));
    Started started{.outcome = run(command), .events = {}};
    started.events =
        events_of(read_file(folder / ("state/" + std::to_string(started.outcome.pid) + ".toml")));
    return started;
}

/// The parent, which does not look at the device, and the probe as its child.
Started start_probe(const std::string& children, Strings parent) {
    const TempFolder folder;
    parent.insert(parent.end(), {programs().probe, "--json"});
    return start(folder, children, std::move(parent), {"LD_PRELOAD=" + programs().simulated_metal});
}

bool has_simulated_metal() {
    if (exists(programs().simulated_metal) && exists(programs().probe)) {
        return true;
    }
    MESSAGE("skipped: the simulated Metal was not built");
    return false;
}

struct Manner {
    Strings parent;
    /// With inheriting children: loads in the process of the start, and in others at least.
    int own = 1;
    int others = 1;
};

std::vector<Manner> manners() {
    const auto then = target("then");
    return {
        {{then, "spawn"}},
        {{then, "vfork"}},
        {{then, "posix_spawn"}},
        {{then, "system"}}, // and /bin/sh, unless it becomes the command
        {{then, "spawn", then, "vfork"}, 1, 2},
        {{then, "system", then, "posix_spawn"}, 1, 2},
        {{target("go_like")}},
        {{target("go_like"), then, "spawn"}, 1, 2},
        {{then, "exec"}, 2, 0},
        {{then, "again", "exec"}, 3, 0},
        {{then, "self", "exec"}, 3, 0},
        {{then, "again", "spawn"}, 2, 1},
        {{then, "self", "self", "vfork"}, 3, 1},
        {{then, "exec", target("go_like")}, 2, 1},
    };
}

/// A start on a Mac, and what `check` says of it.
struct MacRow {
    std::string prefix, policy, program, sip, os;
    std::string decision, library, children;
};

/// An environment in which nothing is orderly.
Strings odd_environment(const std::string& preload) {
    return {"PATH=/usr/bin:/bin",
            "TWICE=1",
            "EMPTY=",
            "LD_PRELOAD=" + preload,
            "TWICE=2",
            "no equals sign",
            "=nameless",
            "BYTES=\xff\xfe\n\t",
            "LUME_METALS=not ours",
            "METALRUN_RECEIPTS=not ours"};
}

} // namespace

TEST_SUITE("exec.children") {

    TEST_CASE("stock: whatever the target starts or becomes asks a stock device") {
        if (!has_simulated_metal()) {
            return;
        }
        for (const auto& manner : manners()) {
            CAPTURE(printed(manner.parent));
            const auto started = start_probe("stock", manner.parent);
            CHECK(started.outcome.status() == 0);
            CHECK_MESSAGE(started.answers("1005"), (started.outcome.out + started.outcome.err));
            CHECK(started.loads() == std::pair{1, 0});
            CHECK(started.active().empty());
        }
    }

    TEST_CASE(
        "inherit, inherit-if-safe: it asks a raised one, and the receipt of the start says who") {
        if (!has_simulated_metal()) {
            return;
        }
        for (const std::string children : {"inherit", "inherit-if-safe"}) {
            for (const auto& manner : manners()) {
                CAPTURE(children);
                CAPTURE(printed(manner.parent));
                const auto started = start_probe(children, manner.parent);
                CHECK(started.outcome.status() == 0);
                CHECK_MESSAGE(started.answers("1007"), (started.outcome.out + started.outcome.err));
                CHECK(started.loads().first == manner.own);
                CHECK(started.loads().second >= manner.others);
                CHECK(started.active().size() == 1);
                CHECK(started.active().count(started.outcome.pid) == (manner.others == 0 ? 1 : 0));
            }
        }
    }

    TEST_CASE("stock: the target itself is raised all the same") {
        if (!has_simulated_metal()) {
            return;
        }
        const auto started = start_probe("stock", {});
        CHECK(started.answers("1007"));
        CHECK(started.loads() == std::pair{1, 0});
        CHECK(started.active() == std::set<pid_t>{started.outcome.pid});
    }

    TEST_CASE("stock: a program finds its environment as it was given, and so do its children") {
        const TempFolder folder;
        const auto noop = programs().targets + "/libnoop.so";
        std::vector<Strings> starters{{}, {target("go_like")}};
        for (const auto* manner : {"exec", "spawn", "vfork", "posix_spawn", "again", "self"}) {
            starters.push_back({target("then"), manner});
            if (starters.back().back() == "again" || starters.back().back() == "self") {
                starters.back().emplace_back("spawn");
            }
        }
        // With and without a receipt: another number of variables is taken out.
        for (const auto& receipts : {std::string{}, "METALRUN_STATE_DIR=" + (folder / "state")}) {
            for (auto starter : starters) {
                CAPTURE(printed(starter));
                starter.insert(starter.begin(), {"--anywhere", "--children", "stock", "--"});
                starter.push_back(target("show"));
                auto command = metalrun_command(starter);
                command.environment = odd_environment(noop);
                if (!receipts.empty()) {
                    command.environment.push_back(receipts);
                }
                const auto shown = run_show(folder, command);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                CHECK(shown.outcome.status() == 0);
                CHECK(shown.report->environment == shown.given);
                CHECK(shown.report->has_library(noop));
                CHECK(shown.report->has_library(programs().shim) == (starter.size() == 5));
            }
        }
    }

    TEST_CASE("stock: other libraries to insert stay where they were") {
        const TempFolder folder;
        const auto noop = programs().targets + "/libnoop.so";
        const auto other = folder.copy(noop, "other.so");
        for (const auto& preload : {noop, noop + ":" + other, other + ":" + noop}) {
            for (const Strings& parent :
                 {Strings{}, {target("then"), "spawn"}, {target("go_like")}}) {
                CAPTURE(preload);
                CAPTURE(printed(parent));
                Strings arguments{"--anywhere", "--children", "stock", "--"};
                arguments.insert(arguments.end(), parent.begin(), parent.end());
                arguments.push_back(target("show"));
                auto command = metalrun_command(arguments);
                command.environment.push_back("LD_PRELOAD=" + preload);
                const auto shown = run_show(folder, command);
                REQUIRE_MESSAGE(shown.report, shown.outcome.err);
                CHECK(shown.report->environment == shown.given);
                CHECK(shown.report->has_library(noop));
                CHECK(shown.report->has_library(other) == contains(preload, other));
            }
        }
    }

    TEST_CASE("stock: no byte of ours is left where other processes read a program's start") {
        const TempFolder folder;
        const auto noop = programs().targets + "/libnoop.so";
        auto command = metalrun_command(
            {"--anywhere", "--children", "stock", "--", "/bin/cat", "/proc/self/environ"});
        const auto base = base_environment(); // PATH, and what a sanitizer needs
        command.environment = odd_environment(noop);
        command.environment.insert(command.environment.end(), base.begin() + 1, base.end());
        command.environment.push_back("METALRUN_STATE_DIR=" + (folder / "state"));
        const auto outcome = run(command);
        REQUIRE(outcome.status() == 0);
        Strings found;
        for (std::string_view rest = outcome.out; !rest.empty();) {
            const auto entry = rest.substr(0, rest.find('\0'));
            if (!entry.empty()) {
                found.emplace_back(entry);
            }
            rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        }
        CHECK(found == command.environment);
        CHECK_FALSE(contains(outcome.out, programs().shim));
    }

    TEST_CASE(
        "on a Mac: thin for stock children and arm64, universal for all else, if it is there") {
        if (!exists(METALRUN_FIXTURE_DIR "/plain")) {
            MESSAGE("skipped: the fixtures were not built");
            return;
        }
        const TempFolder folder;
        // An installation of which only the launcher is there, and one without the universal
        // library.
        for (const auto* prefix : {"bare", "partial"}) {
            folder.copy(programs().metalrun, std::string{prefix} + "/bin/metalrun");
        }
        folder.copy(METALRUN_FIXTURE_DIR "/library.dylib",
                    "partial/lib/metalrun/libmetalrun_shim.dylib", 0644);
        const auto partial = folder / "partial/lib/metalrun/libmetalrun_shim";
        const std::string thin = "libmetalrun_shim.dylib";
        const std::string universal = "libmetalrun_shim_universal.dylib";
        for (const auto& [prefix, policy, program, sip, os, decision, library, children] :
             std::vector<MacRow>{
                 {"bare", "stock", "plain", "on", "26.5", "inject", thin, "stock"},
                 {"bare", "inherit", "plain", "on", "26.5", "inject", universal, "inherit"},
                 {"bare", "inherit-if-safe", "plain", "on", "26.5", "inject", universal, "inherit"},
                 {"bare", "stock", "arm64e-only", "on", "26.5", "inject", universal, "stock"},
                 {"bare", "stock", "arm64-arm64e", "on", "26.5", "inject", thin, "stock"},
                 {"bare", "inherit", "plain", "off", "26.5", "inject", universal, "inherit"},
                 {"bare", "inherit", "plain", "off", "14.3", "refuse", universal, "inherit"},
                 {"bare", "inherit-if-safe", "plain", "off", "14.3", "inject", universal, "stock"},
                 {"bare", "stock", "plain", "off", "14.3", "inject", thin, "stock"},
                 {"partial", "stock", "plain", "on", "26.5", "inject", partial + ".dylib", "stock"},
                 {"partial", "inherit-if-safe", "plain", "on", "26.5", "inject", partial + ".dylib",
                  "stock"},
                 {"partial", "inherit-if-safe", "plain", "off", "26.5", "inject",
                  partial + ".dylib", "stock"},
             }) {
            CAPTURE(prefix + " " + policy + " " + program + " " + sip + " " + os);
            const auto facts =
                folder.write("facts.toml", "architecture = \"arm64\"\nguest = true\nos = \"" + os +
                                               "\"\nsip = \"" + sip + "\"\n");
            auto command = metalrun_command({"check", "--json", "--host-facts", facts, "--children",
                                             policy, METALRUN_FIXTURE_DIR "/" + program});
            command.file = folder / (prefix + "/bin/metalrun");
            const auto outcome = run(command);
            CAPTURE(outcome.out + outcome.err);
            CHECK(contains(outcome.out, "\"decision\": \"" + decision + "\""));
            CHECK(contains(outcome.out, "\"library\": \"" + library + "\""));
            CHECK(contains(outcome.out, "\"children\": \"" + children + "\""));
            const bool told = policy != "stock" && (sip == "off" && os == "14.3");
            CHECK(contains(outcome.out, "child-would-die") ==
                  (told || (prefix == "partial" && policy != "stock")));
        }
    }

    TEST_CASE("inherit: a program that clears its environment has stock children") {
        const auto outcome = run(metalrun_command({"--anywhere", "--children", "inherit", "--",
                                                   target("then"), "clear", target("show")}));
        CHECK(outcome.status() == 0);
        const auto report = parse_report(outcome.out);
        CHECK(report.environment.empty());
        CHECK_FALSE(report.has_library(programs().shim));
        CHECK(report.ppid == outcome.pid);
    }

} // TEST_SUITE
