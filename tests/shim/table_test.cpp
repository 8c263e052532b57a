// SPDX-License-Identifier: MIT
//
// The built library in whole programs: the table of cases.hpp, and what else holds in a process.
#include "cases.hpp"
#include "process.hpp"
#include "shapes.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace shim_test;

namespace {

Strings arguments_of(Way way) {
    switch (way) {
    case Way::linked:
        return {LINKED_CLIENT_PROGRAM};
    case Way::all:
        return {LINKED_CLIENT_PROGRAM, "all"};
    case Way::observed:
        return {LINKED_CLIENT_PROGRAM, "observed"};
    case Way::inside:
        return {LINKED_CLIENT_PROGRAM, "inside"};
    case Way::threads:
        return {LINKED_CLIENT_PROGRAM, "threads"};
    case Way::late_load:
        return {CLIENT_PROGRAM, "late", SIMMETAL_LIBRARY};
    case Way::preloaded:
        return {CLIENT_PROGRAM};
    }
    return {};
}

void check(const Case& row) {
    CAPTURE(row.name);
    const Folder folder;
    const auto receipt = folder.make_receipt();
    Command command{
        .arguments = arguments_of(row.way), .environment = row.settings, .preload = {SHIM_LIBRARY}};
    command.environment.push_back("METALRUN_RECEIPT=" + receipt);
    if (row.way == Way::preloaded) {
        command.preload.emplace_back(SIMMETAL_LIBRARY);
    }
    const auto outcome = run(command);
    const auto events = events_in(read_file(receipt));
    const auto expected_events = events_of(row, Format::elf);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == row.answers + "\n");
    CHECK(outcome.err.empty());
    CHECK(events == expected_events);
    print_case("native", row.name, outcome.out.substr(0, outcome.out.find('\n')),
               outcome.out == row.answers + "\n" && events == expected_events);
}

} // namespace

TEST_SUITE("shim.table") {

    TEST_CASE("without the shim the simulated device is that of a stock guest") {
        const auto outcome = run(
            {.arguments = {LINKED_CLIENT_PROGRAM}, .environment = {family("1009")}, .preload = {}});
        CHECK(outcome.out == std::string(kStock) + "\n");
    }

    TEST_CASE("each way to a device is caught, by both hooks") {
        for (const auto& row : ways_to_a_device()) {
            check(row);
        }
    }

    TEST_CASE("the answers follow the settings, and stay stock when those cannot be read") {
        for (const auto& row : settings_and_answers()) {
            check(row);
        }
    }

    TEST_CASE("the three numbers are read as published, value by value") {
        for (const auto& row : published_contract()) {
            check(row);
        }
    }

    TEST_CASE("a device of another shape is raised as a whole, or left as it is") {
        for (const auto& row : shape_cases()) {
            CAPTURE(std::string{row.name});
            if (!is_for_gnu(row.shape)) {
                std::printf("native  %s: see shim.swizzle\n", row.name);
                continue;
            }
            const Folder folder;
            const auto receipt = folder.make_receipt();
            auto environment = settings_of(row);
            environment.push_back("METALRUN_RECEIPT=" + receipt);
            environment.push_back("SHAPE=" + std::to_string(static_cast<int>(row.shape)));
            const auto outcome =
                run({.arguments = {LINKED_CLIENT_PROGRAM,
                                   row.shape == Shape::two_devices ? "second" : "default"},
                     .environment = std::move(environment),
                     .preload = {SHIM_LIBRARY, SHAPE_LIBRARY}});
            const auto events = events_in(read_file(receipt));
            CHECK(outcome.out == row.answers + "\n");
            CHECK(events == row.events);
            print_case("native", row.name, outcome.out.substr(0, outcome.out.find('\n')),
                       outcome.out == row.answers + "\n" && events == row.events);
        }
    }

    TEST_CASE("devices of several classes are each raised") {
        for (const bool late : {false, true}) {
            const Folder folder;
            const auto receipt = folder.make_receipt();
            const auto outcome = run({.arguments = {LINKED_CLIENT_PROGRAM, "last"},
                                      .environment = {family("1009"), "SIMMETAL_DEVICE=two",
                                                      late ? kLate : "METALRUN_SHIM_HOOK=early",
                                                      "METALRUN_RECEIPT=" + receipt},
                                      .preload = {SHIM_LIBRARY}});
            const std::string answers = late ? kPublishedLate : kPublished;
            const std::string expected =
                late ? "loaded, active, active" : "loaded, active, active, active, active";
            const auto events = events_in(read_file(receipt));
            CHECK(outcome.out == answers + "\n");
            CHECK(events == expected);
            print_case("native", late ? "two classes, late" : "two classes, early",
                       outcome.out.substr(0, outcome.out.find('\n')),
                       outcome.out == answers + "\n" && events == expected);
        }
    }

    TEST_CASE("a record tells the device's name and its answers before and after") {
        const Folder folder;
        const auto receipt = folder.make_receipt();
        const auto outcome =
            run({.arguments = {LINKED_CLIENT_PROGRAM},
                 .environment = {family("1009"), "METALRUN_RECEIPT=" + receipt,
                                 "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=7000000000"},
                 .preload = {SHIM_LIBRARY}});
        CHECK(read_file(receipt).ends_with(
            "[[event]]\npid = " + std::to_string(outcome.pid) +
            "\nstate = \"active\"\nclass = \"AppleParavirtDevice\"\n"
            "ceiling = 1009\nfamily_stock = 1005\nfamily_given = 1009\n"
            "device = \"Apple Paravirtual device\"\nthreadgroup_stock = 32768\n"
            "threadgroup_given = 65536\nworking_set_stock = 5010800640\n"
            "working_set_given = 7000000000\n\n"));
    }

    TEST_CASE("a program without Objective-C does not notice the shim") {
        const Folder folder;
        const auto receipt = folder.make_receipt();
        const auto outcome = run({.arguments = {PLAIN_CLIENT_PROGRAM},
                                  .environment = {family("1009"), "METALRUN_RECEIPT=" + receipt},
                                  .preload = {SHIM_LIBRARY}});
        CHECK(outcome.status == 7);
        CHECK(outcome.out == "plain\n");
        CHECK(outcome.err.empty());
        CHECK(events_in(read_file(receipt)) == std::string("loaded, ") + kMissing);
        std::printf("%-38s %s", "without Objective-C", outcome.out.c_str());
    }

    TEST_CASE("a machine without a device stays without") {
        for (const auto& hook : {std::string("METALRUN_SHIM_HOOK=early"), std::string(kLate)}) {
            const auto outcome = run({.arguments = {LINKED_CLIENT_PROGRAM},
                                      .environment = {family("1009"), "SIMMETAL_DEVICE=none", hook},
                                      .preload = {SHIM_LIBRARY}});
            CHECK(outcome.out == "no device\n");
        }
    }

    TEST_CASE("a more capable device keeps its higher answers") {
        const auto outcome =
            run({.arguments = {LINKED_CLIENT_PROGRAM},
                 .environment = {family("1007"), memory("0"), "SIMMETAL_PROFILE=10"},
                 .preload = {SHIM_LIBRARY}});
        CHECK(outcome.out.starts_with("yes to 1005 1006 1007 1008 1009 3003, memory 32768"));
    }

    TEST_CASE("errno does not change under the program's call") {
        for (const auto& hook : {std::string("METALRUN_SHIM_HOOK=early"), std::string(kLate)}) {
            const auto outcome =
                run({.arguments = {LINKED_CLIENT_PROGRAM, "errno"},
                     .environment = {family("1009"), hook, "METALRUN_RECEIPT=/nowhere/at/all"},
                     .preload = {SHIM_LIBRARY}});
            CHECK(outcome.out == "errno kept\n");
        }
    }

    TEST_CASE("verbose, it says on stderr what it did, and nothing on stdout") {
        const auto outcome = run({.arguments = {LINKED_CLIENT_PROGRAM},
                                  .environment = {family("1009"), "METALRUN_SHIM_VERBOSE=1"},
                                  .preload = {SHIM_LIBRARY}});
        CHECK(outcome.out == std::string(kPublished) + "\n");
        CHECK(events_in(outcome.err) == "loaded, active, active");
        CHECK(outcome.err.find("device = \"Apple Paravirtual device\"\n") != std::string::npos);
    }

    TEST_CASE("the probe gives the same answers as text and as JSON, and says simulated") {
        const auto probe = [](Strings arguments, Strings environment, Strings preload) {
            arguments.insert(arguments.begin(), PROBE_PROGRAM);
            return run({.arguments = std::move(arguments),
                        .environment = std::move(environment),
                        .preload = std::move(preload)});
        };
        const auto stock = probe({"--json"}, {}, {SIMMETAL_LIBRARY});
        CHECK(stock.status == 0);
        CHECK(stock.out.starts_with(
            "{\"device\":\"Apple Paravirtual device\",\"simulated\":true,\"apple_family\":1005,"
            "\"families\":[1001,1002,1003,1004,1005],\"common_family\":3003,\"mac_family\":2002,"
            "\"metal3\":false,\"metal4\":false,\"max_threadgroup_memory_length\":32768,"
            "\"recommended_max_working_set_size\":5010800640"));
        const auto raised =
            probe({"--late-load", SIMMETAL_LIBRARY}, {family("1009")}, {SHIM_LIBRARY});
        CHECK(raised.status == 0);
        CHECK(raised.out.find("apple family:                     1009\n") != std::string::npos);
        CHECK(raised.out.find("family 1009:                      yes\n") != std::string::npos);
        CHECK(raised.out.find("family 1010:                      no\n") != std::string::npos);
        CHECK(raised.out.find("simulated:                        yes\n") != std::string::npos);
        CHECK(raised.out.find("max threadgroup memory length:    65536\n") != std::string::npos);
        const auto none = probe({"--json"}, {}, {});
        CHECK(none.status == 1);
        CHECK(none.out.starts_with("{\"device\":null,\"simulated\":false,\"apple_family\":0,"));
        CHECK(probe({"--nosuch"}, {}, {}).status == 125);
        CHECK(probe({"--late-load"}, {}, {}).status == 125);
        CHECK(probe({"--late-load", "/nowhere"}, {}, {}).status == 125);
        std::printf("%-38s %s", "probe, stock", stock.out.c_str());
    }

} // TEST_SUITE
