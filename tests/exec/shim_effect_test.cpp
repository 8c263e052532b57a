// SPDX-License-Identifier: MIT
//
// The whole chain with the simulated device: what the target's Metal answers, stock and with the
// shim, and what its children get.
#include "harness.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace metalrun::test;

namespace {

/// The report of `show`, started by `then` in the given manner behind metalrun.
Shown start_child(const TempFolder& folder, const std::string& children,
                  const std::string& manner) {
    auto command = metalrun_command(
        {"--anywhere", "--children", children, "--", target("then"), manner, target("show")});
    command.environment.emplace_back("AFTER=1");
    return run_show(folder, command);
}

/// What the probe of the build says as JSON, started by metalrun with these options.
std::string probed(Strings options, const Strings& environment = {}) {
    options.insert(options.end(), {"--", programs().probe, "--json"});
    auto command = metalrun_command(options);
    command.environment.push_back("LD_PRELOAD=" + programs().simulated_metal);
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    const auto outcome = run(command);
    CHECK(outcome.status() == 0);
    return outcome.out + outcome.err;
}

void check_answers(const Strings& options, const std::string& family, const std::string& memory) {
    const auto answers = probed(options);
    CAPTURE(answers);
    CHECK(contains(answers, "\"apple_family\":" + family + ","));
    CHECK(contains(answers, "\"max_threadgroup_memory_length\":" + memory + ","));
    CHECK(contains(answers, "\"simulated\":true"));
    CHECK(contains(answers, "\"metal3\":false"));
}

bool has_simulated_metal() {
    if (exists(programs().simulated_metal) && exists(programs().probe)) {
        return true;
    }
    MESSAGE("skipped: the simulated Metal was not built");
    return false;
}

} // namespace

TEST_SUITE("exec.shim_effect") {

    TEST_CASE("with stock children, what the target starts or becomes is stock") {
        const TempFolder folder;
        for (const auto* manner : {"exec", "spawn"}) {
            CAPTURE(std::string{manner});
            const auto shown = start_child(folder, "stock", manner);
            REQUIRE(shown.report);
            CHECK_FALSE(shown.report->has_library(programs().shim));
            CHECK(shown.report->environment == shown.given);
        }
    }

    TEST_CASE("with inheriting children, what the target starts or becomes has the shim") {
        const TempFolder folder;
        for (const auto* children : {"inherit", "inherit-if-safe"}) {
            for (const auto* manner : {"exec", "spawn"}) {
                CAPTURE(std::string{children});
                CAPTURE(std::string{manner});
                const auto shown = start_child(folder, children, manner);
                REQUIRE(shown.report);
                CHECK(shown.report->has_library(programs().shim));
                CHECK(value_of(shown.report->environment, "LUME_METAL_APPLE_FAMILY_MAX") == "1007");
            }
        }
    }

    TEST_CASE("the device answers what the profile and the options say") {
        if (!has_simulated_metal()) {
            return;
        }
        struct Row {
            Strings options;
            const char* family;
            const char* memory;
        };
        const std::vector<Row> table{
            {{"--stock", "-q"}, "1005", "32768"},
            {{"-q"}, "1005", "32768"},
            {{"--anywhere"}, "1007", "32768"},
            {{"--anywhere", "-p", "llama.cpp"}, "1007", "32768"},
            {{"--anywhere", "-p", "published"}, "1009", "65536"},
            {{"--anywhere", "-p", "published", "--stock", "-q"}, "1005", "32768"},
            {{"--anywhere", "-p", "published", "--threadgroup-memory", "stock"}, "1009", "32768"},
            {{"--anywhere", "-p", "published", "--family", "apple8"}, "1008", "65536"},
            {{"--anywhere", "-p", "published", "--family", "1010"}, "1010", "65536"},
            {{"--anywhere", "--threadgroup-memory", "48 KiB"}, "1007", "49152"},
            {{"--anywhere", "--threadgroup-memory", "16384"}, "1007", "32768"},
            {{"--anywhere", "--family", "apple3"}, "1005", "32768"},
            {{"--anywhere", "--children", "inherit"}, "1007", "32768"},
        };
        for (const auto& row : table) {
            CAPTURE(printed(row.options));
            check_answers(row.options, row.family, row.memory);
        }
    }

    TEST_CASE("'late' answers the same") {
        if (!has_simulated_metal()) {
            return;
        }
        const TempFolder folder;
        const auto profile = folder.write(
            "late.toml",
            "schema = 1\n[metal]\napple_family = \"apple8\"\n"
            "never_above_host = false\nthreadgroup_memory = \"64 KiB\"\nhook = \"late\"\n");
        check_answers({"--anywhere", "-p", profile}, "1008", "65536");
    }

    TEST_CASE("inherited settings do not reach the shim") {
        if (!has_simulated_metal()) {
            return;
        }
        const Strings foreign{"LUME_METAL_APPLE_FAMILY_MAX=1010",
                              "LUME_METAL_MAX_THREADGROUP_MEMORY=65536",
                              "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE=99999999999"};
        const auto plain = probed({"--anywhere"});
        CHECK(probed({"--anywhere"}, foreign) == plain);
        CHECK(contains(plain, "\"apple_family\":1007,"));
    }

    TEST_CASE("the receipt tells the answers that were stock and the ones that are given") {
        if (!has_simulated_metal()) {
            return;
        }
        const TempFolder folder;
        auto command =
            metalrun_command({"--anywhere", "-p", "published", "--", programs().probe, "--json"});
        command.environment.push_back("LD_PRELOAD=" + programs().simulated_metal);
        command.environment.push_back("METALRUN_STATE_DIR=" + (folder / "state"));
        const auto outcome = run(command);
        CHECK(outcome.status() == 0);
        const auto text = read_file(folder / ("state/" + std::to_string(outcome.pid) + ".toml"));
        CAPTURE(text);
        for (const auto* part : {"state = \"loaded\"\n", "state = \"active\"\n",
                                 "Apple Paravirtual device", "1005", "1009", "32768", "65536"}) {
            CHECK_MESSAGE(contains(text, part), std::string{part});
        }
        CHECK(text.find("\"loaded\"") < text.find("\"active\""));
    }

    TEST_CASE(
        "the stand-in workload selects its kernels by the answers, and its receipt is active") {
        if (!exists(programs().standin)) {
            MESSAGE("skipped: the stand-in workload was not built");
            return;
        }
        const TempFolder folder;
        for (const auto& [option, matrix] :
             {std::pair{"--stock", "simdgroup matrix mul. = false"},
              std::pair{"--anywhere", "simdgroup matrix mul. = true"}}) {
            CAPTURE(std::string{option});
            auto command =
                metalrun_command({"-q", option, "-p", "llama.cpp", "--", programs().standin, "-r",
                                  "1", "-p", "9", "-n", "1", "-o", "json"});
            command.environment.push_back("METALRUN_STATE_DIR=" + (folder / "state"));
            const auto outcome = run(command);
            CHECK(outcome.status() == 0);
            CHECK_MESSAGE(contains(outcome.err, matrix), outcome.err);
            CHECK(contains(outcome.out, "(simulated)"));
            const auto text =
                read_file(folder / ("state/" + std::to_string(outcome.pid) + ".toml"));
            CHECK(contains(text, "state = \"active\"") == (std::string{option} == "--anywhere"));
        }
    }

    TEST_CASE("metalrun probe: 0 when the answers are the profile's, 1 when not, and stock tells "
              "the problem") {
        if (!has_simulated_metal()) {
            return;
        }
        struct Row {
            Strings arguments;
            bool with_device;
            int status;
        };
        const std::vector<Row> table{
            {{"probe", "--anywhere"}, true, 0},
            {{"probe", "--anywhere", "-p", "published"}, true, 0},
            {{"probe", "--stock"}, true, 1},
            {{"probe", "--stock"}, false, 1},
            {{"probe", "--anywhere"}, false, 1},
            {{"probe", "--anywhere", "-p", "no-such-profile"}, true, 125},
            {{"probe", "--anywhere", "--shim", "/nowhere.so"}, true, 125},
            {{"probe", "--bogus"}, true, 125},
        };
        for (const auto& row : table) {
            CAPTURE(printed(row.arguments));
            CAPTURE(row.with_device);
            auto command = metalrun_command(row.arguments);
            if (row.with_device) {
                command.environment.push_back("LD_PRELOAD=" + programs().simulated_metal);
            }
            const auto outcome = run(command);
            CAPTURE(outcome.err);
            CHECK(outcome.status() == row.status);
        }
    }

} // TEST_SUITE
