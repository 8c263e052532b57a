// SPDX-License-Identifier: MIT
//
// The shipped profiles against the zoo: a profile's status must be what its workload does with
// raised answers, and a workload that is started as a user starts it must be found and kept from
// harm.
#include "zoo_run.hpp"

#include <array>
#include <cstdio>

#include <doctest/doctest.h>

using namespace zoo_test;
using metalrun::test::contains;
using metalrun::test::lines_of;

namespace {

/// Any ceiling that a profile may ask for, above the stock one, with stock memory.
constexpr std::array<const char*, 5> kCeilings{"1006", "1007", "1008", "1009", "1010"};

/// Unsafe if a ceiling ends what ran stock, else beneficial if one brings the fast path.
std::string acted_status(const Workload& workload) {
    const bool runs_stock = run_with(workload, "stock").status() == 0;
    bool fast = false;
    for (const char* ceiling : kCeilings) {
        const Outcome raised = run_with(workload, ceiling);
        if (runs_stock && raised.status() != 0) {
            return "unsafe";
        }
        fast = fast || took_fast_path(raised);
    }
    return fast ? "beneficial" : "no-benefit";
}

std::string catalogue_status(const std::string& profile) {
    const Outcome outcome =
        metalrun::test::run(metalrun::test::metalrun_command({"profile", "show", profile}));
    for (const auto& line : lines_of(outcome.out)) {
        if (line.starts_with("workload.status ")) {
            const auto begin = line.find_first_not_of(' ', line.find(' '));
            return line.substr(begin, line.find(' ', begin) - begin);
        }
    }
    return "no such profile";
}

struct Start {
    Strings command;
    const char* stock_twin; ///< the same program, for its stock output
    const char* found_by;
};

/// Started as it is: the note with the reason, and the output of the stock device.
void check_stays_stock(const Start& row) {
    CAPTURE(std::string{row.found_by});
    const Outcome outcome = start(row.command);
    CHECK(outcome.status() == 0);
    CHECK(outcome.out == run_with(workload(row.stock_twin), "stock").out);
    CHECK_MESSAGE(contains(outcome.err, "metalrun: note: "), outcome.err);
    CHECK_MESSAGE(contains(outcome.err, "[no-benefit]\n"), outcome.err);
}

/// Refused; the stock device on request; and against advice, what was predicted.
void check_is_refused(const Start& row) {
    CAPTURE(std::string{row.found_by});
    const Outcome outcome = start(row.command);
    CHECK(outcome.status() == 126);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, "[unsafe]\n"), outcome.err);

    const Outcome stock = start(row.command, {"--or-stock"});
    CHECK(stock.status() == 0);
    CHECK(stock.out == run_with(workload(row.stock_twin), "stock").out);

    const Outcome insisted = start(row.command, {"-q", "--family", "apple9"});
    CHECK(insisted.status() == run_with(workload(row.stock_twin), "1009").status());
    CHECK(insisted.status() != 0);
}

} // namespace

TEST_SUITE("workloads") {

    TEST_CASE("the status of a shipped profile is what its workload does with raised answers") {
        for (const auto& workload : workloads()) {
            CAPTURE(std::string{workload.name});
            CAPTURE(std::string{workload.section});
            const auto acted = acted_status(workload);
            CHECK(acted == workload.status);
            const std::string profile = workload.profile;
            if (!profile.empty()) {
                CHECK(catalogue_status(profile) == acted);
            }
            std::printf("%-26s %-11s profile %s\n", workload.name, acted.c_str(),
                        profile.empty() ? "none" : profile.c_str());
        }
    }

    TEST_CASE("a workload with no benefit stays stock, found by its name or its arguments") {
        const metalrun::test::TempFolder folder;
        const auto mlx = program("mlx/python3");
        const auto torch = program("pytorch/python3");
        for (const auto& row : std::vector<Start>{
                 {{mlx, "-m", "mlx_lm.generate", "--prompt", "x"}, "MLX", "arguments"},
                 {{mlx, "-u", "-m", "mlx_lm", "server"}, "MLX", "arguments behind an option"},
                 {{folder.make_link(mlx, "mlx_lm.generate")}, "MLX", "name"},
                 {{torch, "-m", "torch.distributed.run"}, "PyTorch MPS", "arguments"},
                 {{folder.make_link(torch, "torchrun"), "train.py"}, "PyTorch MPS", "name"},
             }) {
            check_stays_stock(row);
        }
    }

    TEST_CASE("the server of Ollama hands the shim on to its engines, its clients stay stock") {
        const auto ollama = program("ollama/ollama");
        const auto engine_of = [&ollama](const Strings& options) {
            const Outcome outcome = start({ollama, "serve"}, options);
            CHECK(outcome.status() == 0);
            return took_fast_path(outcome);
        };
        CHECK(engine_of({}));
        CHECK_FALSE(engine_of({"--children", "stock"}));
        CHECK_FALSE(engine_of({"--stock"}));

        const Outcome client = start({ollama, "run", "model"});
        CHECK(client.status() == 0);
        CHECK_MESSAGE(contains(client.err, "[no-benefit]\n"), client.err);
    }

    TEST_CASE("an unsafe workload is refused, found by its name or a library that it links") {
        const metalrun::test::TempFolder folder;
        const auto vulkan = program("moltenvk/vulkan-program");
        for (const auto& row : std::vector<Start>{
                 {{vulkan}, "Vulkan on MoltenVK", "library"},
                 {{folder.make_link(vulkan, "vkcube")}, "Vulkan on MoltenVK", "name"},
                 {{program("godot/godot"), "--headless"}, "Godot", "name"},
                 {{folder.make_link(program("godot/godot"), "Godot")}, "Godot", "other name"},
                 {{program("cycles/blender"), "-b", "scene.blend"}, "Cycles", "name"},
             }) {
            check_is_refused(row);
        }
    }

    TEST_CASE("a beneficial workload takes the fast path, without a word of metalrun") {
        for (const auto& workload : workloads()) {
            if (std::string_view(workload.status) != "beneficial") {
                continue;
            }
            CAPTURE(std::string{workload.name});
            Strings command = workload.command;
            command.front() = program(command.front());
            const Outcome outcome = start(command);
            CHECK(took_fast_path(outcome));
            CHECK_FALSE(contains(outcome.err, "metalrun: "));
        }
    }

} // TEST_SUITE
