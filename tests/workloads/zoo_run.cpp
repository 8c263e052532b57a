// SPDX-License-Identifier: MIT
#include "zoo_run.hpp"

#include <algorithm>
#include <utility>

namespace zoo_test {

using metalrun::test::contains;

const std::vector<Workload>& workloads() {
    static const std::vector<Workload> kWorkloads{
        {"ggml now",
         "1.2",
         "llama.cpp",
         "beneficial",
         {"ggml/llama-bench", "-r", "1", "-p", "9", "-n", "1", "-o", "json"}},
        {"ggml before February 2026",
         "1.2",
         "llama.cpp",
         "beneficial",
         {"ggml-before-2026/llama-cli"}},
        {"whisper.cpp 1.6", "1.3", "whisper.cpp", "beneficial", {"whisper.cpp-1.6/whisper-cli"}},
        {"stable-diffusion.cpp",
         "1.4",
         "stable-diffusion.cpp",
         "beneficial",
         {"stable-diffusion.cpp/sd"}},
        {"Ollama", "1.5", "ollama", "beneficial", {"ollama/ollama", "serve"}},
        {"MLX", "1.9", "mlx", "no-benefit", {"mlx/python3", "-m", "mlx_lm.generate"}},
        {"PyTorch MPS",
         "1.10",
         "pytorch",
         "no-benefit",
         {"pytorch/python3", "-m", "torch.distributed.run"}},
        {"wgpu", "1.11", "", "no-benefit", {"wgpu/wgpu-program"}},
        // It ends for want of Metal 3, stock or not; where it runs, 64 KiB are unsafe (zoo_test).
        {"cubecl-metal", "1.11", "", "no-benefit", {"cubecl/cubecl-program"}},
        {"Vulkan on MoltenVK", "1.12", "moltenvk", "unsafe", {"moltenvk/vulkan-program"}},
        {"Godot", "1.12", "godot", "unsafe", {"godot/godot"}},
        {"Cycles", "1.12", "blender", "unsafe", {"cycles/blender"}},
    };
    return kWorkloads;
}

const Workload& workload(std::string_view name) {
    const auto found = std::ranges::find(workloads(), name, &Workload::name);
    REQUIRE(found != workloads().end());
    return *found;
}

std::string program(std::string_view path_in_zoo) {
    return std::string(METALRUN_ZOO) + "/" + std::string(path_in_zoo);
}

namespace {

Strings in_zoo(Strings command) {
    command.front() = program(command.front());
    return command;
}

Outcome run_metalrun(Strings options, const Strings& command, const Strings& environment) {
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    Command whole = metalrun::test::metalrun_command(std::move(options));
    whole.environment.insert(whole.environment.end(), environment.begin(), environment.end());
    return metalrun::test::run(whole);
}

} // namespace

Outcome run_with(const Workload& workload, std::string_view answers, const Strings& environment) {
    Strings options{"-q", "--anywhere", "-p", "published", "--children", "inherit"};
    if (answers == "stock") {
        options.emplace_back("--stock");
    } else {
        const auto plus = answers.find('+');
        const auto memory =
            plus == std::string_view::npos ? std::string_view("stock") : answers.substr(plus + 1);
        options.insert(options.end(), {"--family", std::string(answers.substr(0, plus)),
                                       "--threadgroup-memory", std::string(memory)});
    }
    return run_metalrun(options, in_zoo(workload.command), environment);
}

Outcome start(Strings command, const Strings& options) {
    Strings all{"--anywhere"};
    all.insert(all.end(), options.begin(), options.end());
    return run_metalrun(std::move(all), command, {});
}

std::string said(const Outcome& outcome) {
    return outcome.out + outcome.err;
}

bool took_fast_path(const Outcome& outcome) {
    return outcome.status() == 0 && (contains(outcome.out, "-> fast path\n") ||
                                     contains(outcome.err, "simdgroup matrix mul. = true\n"));
}

} // namespace zoo_test
