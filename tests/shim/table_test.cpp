// SPDX-License-Identifier: MIT
//
// The built library in whole programs: which settings give which answers, by every way to a device.
#include "process.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace shim_test;

namespace {

constexpr const char* kStock = "yes to 1005 3003, memory 32768, set 5010800640, bfloat16 emulated";
constexpr const char* kPublished =
    "yes to 1005 1006 1007 1008 1009 3003, memory 65536, set 5010800640, bfloat16 native";
constexpr const char* kPublishedLate =
    "yes to 1005 1006 1007 1008 1009 3003, memory 65536, set 5010800640, bfloat16 emulated";
constexpr const char* kSeven =
    "yes to 1005 1006 1007 3003, memory 32768, set 5010800640, bfloat16 emulated";
constexpr const char* kMissing = "stock: class '_MTLDevice' is not in this process";

enum class Way : std::uint8_t { linked, all, observed, threads, late_load, preloaded };

struct Row {
    const char* name;
    Way way = Way::linked;
    Strings settings;
    const char* answers;
    std::string events; ///< after "loaded"
};

Strings arguments_of(Way way) {
    switch (way) {
    case Way::linked:
        return {LINKED_CLIENT_PROGRAM};
    case Way::all:
        return {LINKED_CLIENT_PROGRAM, "all"};
    case Way::observed:
        return {LINKED_CLIENT_PROGRAM, "observed"};
    case Way::threads:
        return {LINKED_CLIENT_PROGRAM, "threads"};
    case Way::late_load:
        return {CLIENT_PROGRAM, "late", SIMMETAL_LIBRARY};
    case Way::preloaded:
        return {CLIENT_PROGRAM};
    }
    return {};
}

std::string family(const std::string& value) {
    return "LUME_METAL_APPLE_FAMILY_MAX=" + value;
}

std::string memory(const std::string& value) {
    return "LUME_METAL_MAX_THREADGROUP_MEMORY=" + value;
}

const std::string kLate = "METALRUN_SHIM_HOOK=late";
const std::string kFamilyMalformed = "stock: LUME_METAL_APPLE_FAMILY_MAX is malformed";
const std::string kFamilyOutside = "stock: LUME_METAL_APPLE_FAMILY_MAX is outside 1001 to 1999";

/// An early hook reports when the class is changed and when the first device is finished.
const std::string kEarlyEvents = "active, active";

std::vector<Row> ways_to_a_device() {
    const Strings early{family("1009")};
    const Strings late{family("1009"), kLate};
    const std::string missing = std::string(kMissing) + ", ";
    return {
        {"linked, early", Way::linked, early, kPublished, kEarlyEvents},
        {"linked, late", Way::linked, late, kPublishedLate, "active"},
        {"all devices, early", Way::all, early, kPublished, kEarlyEvents},
        {"all devices, late", Way::all, late, kPublishedLate, "active"},
        {"observed devices, late", Way::observed, late, kPublishedLate, "active"},
        {"two threads, early", Way::threads, early, kPublished, kEarlyEvents},
        {"two threads, late", Way::threads, late, kPublishedLate, "active"},
        {"loaded late, early", Way::late_load, early, kPublished, missing + kEarlyEvents},
        {"loaded late, late", Way::late_load, late, kPublishedLate, missing + "active"},
        {"preloaded, early", Way::preloaded, early, kPublished, kEarlyEvents},
        {"preloaded, late", Way::preloaded, late, kPublishedLate, "active"},
    };
}

std::vector<Row> settings_and_answers() {
    const auto row = [](const char* name, Strings settings, const char* answers,
                        std::string events) {
        return Row{name, Way::linked, std::move(settings), answers, std::move(events)};
    };
    return {
        row("published: 1009, memory unset", {family("1009")}, kPublished, kEarlyEvents),
        row("published, in full", {family("1009"), memory("65536")}, kPublished, kEarlyEvents),
        row("hexadecimal", {family("0x3f1")}, kPublished, kEarlyEvents),
        row("octal and a blank", {family(" 01761")}, kPublished, kEarlyEvents),
        row("1007, stock memory", {family("1007"), memory("0")}, kSeven, kEarlyEvents),
        row("memory below the stock value", {family("1007"), memory("1024")}, kSeven, kEarlyEvents),
        row("a ceiling below the stock family", {family("1001"), memory("0")}, kStock,
            kEarlyEvents),
        row("1999 is still only Apple families", {family("1999"), memory("0")},
            "yes to 1005 1006 1007 1008 1009 1010 1011 3003, memory 32768, set 5010800640, "
            "bfloat16 native",
            kEarlyEvents),
        row("working set raised",
            {family("1007"), memory("0"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=6000000000"},
            "yes to 1005 1006 1007 3003, memory 32768, set 6000000000, bfloat16 emulated",
            kEarlyEvents),
        row("working set below the stock value",
            {family("1007"), memory("0"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=1"}, kSeven,
            kEarlyEvents),
        row("no settings", {}, kStock, "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("empty family", {family("")}, kStock, "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("memory only", {memory("65536")}, kStock,
            "stock: LUME_METAL_APPLE_FAMILY_MAX is not set"),
        row("a word", {family("apple9")}, kStock, kFamilyMalformed),
        row("text behind the number", {family("1009x")}, kStock, kFamilyMalformed),
        row("overflow", {family("99999999999999999999")}, kStock, kFamilyMalformed),
        row("1000", {family("1000")}, kStock, kFamilyOutside),
        row("2000", {family("2000")}, kStock, kFamilyOutside),
        row("5001", {family("5001")}, kStock, kFamilyOutside),
        row("negative", {family("-1")}, kStock, kFamilyOutside),
        row("malformed memory", {family("1009"), memory("64K")}, kStock,
            "stock: LUME_METAL_MAX_THREADGROUP_MEMORY is malformed"),
        row("malformed working set", {family("1009"), "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=x"},
            kStock, "stock: LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed"),
        row("unknown hook", {family("1009"), "METALRUN_SHIM_HOOK=soon"}, kStock,
            "stock: METALRUN_SHIM_HOOK is neither early nor late"),
    };
}

void check(const Row& row) {
    CAPTURE(std::string{row.name});
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
    const auto expected_events = "loaded, " + row.events;
    CHECK(outcome.status == 0);
    CHECK(outcome.out == std::string(row.answers) + "\n");
    CHECK(outcome.err.empty());
    CHECK(events == expected_events);
    std::printf("%-38s %s\n", row.name, outcome.out.substr(0, outcome.out.find('\n')).c_str());
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
        for (const auto& hook : {std::string("METALRUN_SHIM_HOOK=early"), kLate}) {
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
        for (const auto& hook : {std::string("METALRUN_SHIM_HOOK=early"), kLate}) {
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
            "\"families\":[1001,1002,1003,1004,1005],\"common_family\":3003,\"mac_family\":0,"
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
