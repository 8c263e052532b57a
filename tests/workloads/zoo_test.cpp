// SPDX-License-Identifier: MIT
//
// What each workload comes to with each answer, and on each variant of the simulated device: one
// row a case, with the section of the workload research it is written from.
#include "zoo_run.hpp"

#include <cstdio>

#include <doctest/doctest.h>

using namespace zoo_test;
using metalrun::test::contains;

namespace {

constexpr int kFine = 0;
constexpr int kNoDevice = 1;
constexpr int kException = 3;
constexpr int kCrash = 4;
constexpr int kOversize = 5;
constexpr int kNoPipeline = 6;

struct Row {
    const char* section;
    const char* workload;
    const char* answers; ///< as run_with takes them
    Strings environment;
    int status;
    const char* line; ///< a part of what is printed
};

// clang-format off
const std::vector<Row> kAnswers{
    {"1.2", "ggml now", "stock", {}, kFine, "simdgroup reduction   = false"},
    {"1.2", "ggml now", "1006", {}, kFine, "simdgroup reduction   = false"},
    {"1.2", "ggml now", "1006", {}, kFine, "has bfloat            = true"},
    {"1.2", "ggml now", "1007", {}, kFine, "simdgroup matrix mul. = true"},
    {"1.2", "ggml now", "1009", {}, kFine, "simdgroup matrix mul. = true"},
    {"1.2", "ggml now", "1009+65536", {}, kFine, "simdgroup matrix mul. = true"},

    {"1.2", "ggml before February 2026", "stock", {}, kFine, "MUL_MAT on the CPU -> plain path"},
    {"1.2", "ggml before February 2026", "1006", {}, kFine, "has bfloat = true, MUL_MAT on the CPU -> plain path"},
    {"1.2", "ggml before February 2026", "1007", {}, kFine, "(at most 6136 rows by mul_mm_id) -> fast path"},
    {"1.2", "ggml before February 2026", "1009", {}, kFine, "(at most 6136 rows by mul_mm_id) -> fast path"},
    {"1.2", "ggml before February 2026", "1009+65536", {}, kOversize, "mul_mm_id with 40960 bytes of threadgroup memory -> oversize"},

    {"1.3", "whisper.cpp 1.6", "stock", {}, kFine, "falling back to CPU -> plain path"},
    {"1.3", "whisper.cpp 1.6", "1006", {}, kFine, "falling back to CPU -> plain path"},
    {"1.3", "whisper.cpp 1.6", "1007", {}, kFine, "using Metal backend -> fast path"},

    {"1.4", "stable-diffusion.cpp", "stock", {}, kCrash, "unsupported op 'MUL_MAT' -> crash"},
    {"1.4", "stable-diffusion.cpp", "1006", {}, kCrash, "unsupported op 'MUL_MAT' -> crash"},
    {"1.4", "stable-diffusion.cpp", "1007", {}, kFine, "-> fast path"},

    {"1.5", "Ollama", "stock", {}, kFine, "memory = 5010800640, the engine ended with 0 -> plain path"},
    {"1.5", "Ollama", "stock", {}, kFine, "simdgroup matrix mul. = false"},
    {"1.5", "Ollama", "1007", {}, kFine, "simdgroup matrix mul. = true"},

    {"1.9", "MLX", "stock", {}, kFine, "architecture air64_v27, heaps = false"},
    {"1.9", "MLX", "1007", {}, kFine, "-> plain path"},
    {"1.9", "MLX", "1010+65536", {}, kFine, "-> plain path"},

    {"1.10", "PyTorch MPS", "stock", {}, kFine, "is_available() = True, Metal's own flags: bfloat16 emulated, bfloat16 buffers false, global relocation false, lossy compression false -> plain path"},
    {"1.10", "PyTorch MPS", "1007", {}, kFine, "bfloat16 emulated, bfloat16 buffers true, global relocation true, lossy compression false -> plain path"},
    {"1.10", "PyTorch MPS", "1009", {}, kFine, "bfloat16 native, bfloat16 buffers true, global relocation true, lossy compression true -> plain path"},

    {"1.11", "wgpu", "stock", {}, kFine, "features = SUBGROUP -> plain path"},
    {"1.11", "wgpu", "1007", {}, kFine, "features = SUBGROUP | TEXTURE_COMPRESSION_ASTC_HDR | TEXTURE_COMPRESSION_ETC2 | TEXTURE_COMPRESSION_ASTC -> plain path"},
    {"1.11", "wgpu", "1009+65536", {}, kFine, "max_compute_workgroup_storage_size = 32768, Apple Paravirtual device: features = SUBGROUP | SHADER_INT64_ATOMIC_MIN_MAX"},

    {"1.11", "cubecl-metal", "stock", {}, kException, "panicked: Metal 3 is required -> exception"},
    {"1.11", "cubecl-metal", "1009+65536", {}, kException, "panicked: Metal 3 is required -> exception"},
    {"1.11", "cubecl-metal", "1007", {"SIMMETAL_PROFILE=10002"}, kFine, "max_shared_memory_size = 32768 -> plain path"},
    {"1.11", "cubecl-metal", "1007+65536", {"SIMMETAL_PROFILE=10002"}, kOversize, "max_shared_memory_size = 65536 -> oversize"},

    {"1.12", "Vulkan on MoltenVK", "stock", {}, kFine, "residencySets = false, simdReduction = false, depthBounds = false, maxComputeSharedMemorySize = 32768 -> plain path"},
    {"1.12", "Vulkan on MoltenVK", "1006", {}, kCrash, "the residency set is nil -> crash"},
    {"1.12", "Vulkan on MoltenVK", "1007", {}, kCrash, "the residency set is nil -> crash"},
    {"1.12", "Vulkan on MoltenVK", "1010", {"MVK_CONFIG_USE_METAL_ARGUMENT_BUFFERS=0"}, kFine, "simdReduction = true, depthBounds = true, maxComputeSharedMemorySize = 32768 -> plain path"},
    {"1.12", "Vulkan on MoltenVK", "1007+65536", {"MVK_CONFIG_USE_METAL_ARGUMENT_BUFFERS=0"}, kOversize, "maxComputeSharedMemorySize = 65536 -> oversize"},

    {"1.12", "Godot", "stock", {}, kFine, "Apple Paravirtual device (Apple5), residency sets = false -> plain path"},
    {"1.12", "Godot", "1006", {}, kCrash, "(Apple6), residency sets = true, the set is nil -> crash"},
    {"1.12", "Godot", "1007", {}, kCrash, "(Apple7), residency sets = true, the set is nil -> crash"},

    {"1.12", "Cycles", "stock", {}, kFine, "Added device \"Apple Paravirtual device\", MetalRT = false -> plain path"},
    {"1.12", "Cycles", "1008", {}, kFine, "MetalRT = false -> plain path"},
    {"1.12", "Cycles", "1009", {}, kCrash, "MetalRT = true, the acceleration structure is nil -> crash"},
    {"1.12", "Cycles", "1009", {"CYCLES_METALRT=0"}, kFine, "MetalRT = false -> plain path"},
};

const std::vector<Row> kDevices{
    // Profiles 7 to 10 are Apple 6 to 9: a stock device of that kind chooses as a raised one does.
    {"2", "ggml now", "stock", {"SIMMETAL_PROFILE=7"}, kFine, "simdgroup reduction   = false"},
    {"2", "ggml now", "stock", {"SIMMETAL_PROFILE=8"}, kFine, "simdgroup matrix mul. = true"},
    {"2", "Godot", "stock", {"SIMMETAL_PROFILE=9", "SIMMETAL_RESIDENCY=yes"}, kFine, "(Apple8), residency sets = true -> plain path"},
    {"2", "PyTorch MPS", "stock", {"SIMMETAL_PROFILE=10"}, kFine, "bfloat16 native, bfloat16 buffers true, global relocation true, lossy compression true"},
    {"2", "Godot", "stock", {"SIMMETAL_PROFILE=10001"}, kFine, "(no Apple family), residency sets = false"},
    {"2", "Godot", "1007", {"SIMMETAL_PROFILE=10001"}, kCrash, "(Apple7)"},
    {"2", "wgpu", "stock", {"SIMMETAL_PROFILE=10001"}, kFine, "features = SUBGROUP -> plain path"},

    // Systems.
    {"1.10", "PyTorch MPS", "stock", {"SIMMETAL_MACOS=12"}, kFine, "is_available() = False -> plain path"},
    {"1.10", "PyTorch MPS", "1007", {"SIMMETAL_MACOS=12"}, kFine, "is_available() = False -> plain path"},
    {"1.10", "PyTorch MPS", "1007", {"SIMMETAL_MACOS=13"}, kFine, "is_available() = False -> plain path"},
    {"1.2", "ggml now", "stock", {"SIMMETAL_MACOS=13"}, kFine, "has bfloat            = false"},
    {"1.2", "ggml now", "1007", {"SIMMETAL_MACOS=13"}, kCrash, "failed to compile pipeline: 'kernel_get_rows_bf16'"},
    {"1.2", "ggml now", "1007", {"SIMMETAL_MACOS=13", "GGML_METAL_BF16_DISABLE=1"}, kFine, "simdgroup matrix mul. = true"},
    {"1.2", "ggml now", "1007", {"SIMMETAL_MACOS=14"}, kFine, "simdgroup matrix mul. = true"},
    {"1.9", "MLX", "stock", {"SIMMETAL_MACOS=14"}, kFine, "architecture air64_v26"},
    {"1.12", "Vulkan on MoltenVK", "stock", {"SIMMETAL_MACOS=14"}, kException, "newArgumentEncoderWithLayout:]: unrecognized selector sent to instance -> exception"},
    {"1.12", "Vulkan on MoltenVK", "1007", {"SIMMETAL_MACOS=14", "MVK_CONFIG_USE_METAL_ARGUMENT_BUFFERS=0"}, kFine, "residencySets = false, simdReduction = true"},
    {"1.12", "Vulkan on MoltenVK", "1007", {"SIMMETAL_MACOS=13"}, kFine, "residencySets = false, simdReduction = true"},
    {"1.12", "Godot", "1007", {"SIMMETAL_MACOS=14"}, kFine, "(Apple7), residency sets = false -> plain path"},

    // Residency sets.
    {"1.9", "MLX", "1007", {"SIMMETAL_PROFILE=10002"}, kException, "Unable to construct residency set -> exception"},
    {"6", "MLX", "1007", {"SIMMETAL_PROFILE=10002", "SIMMETAL_RESIDENCY=nil-without-error"}, kCrash, "the error that nobody wrote -> crash"},
    {"6", "MLX", "1007", {"SIMMETAL_PROFILE=10002", "SIMMETAL_RESIDENCY=yes"}, kFine, "-> plain path"},
    {"1.9", "MLX", "1007", {"SIMMETAL_PROFILE=10002", "SIMMETAL_MACOS=14"}, kFine, "-> plain path"},
    {"1.2", "ggml now", "stock", {"SIMMETAL_RESIDENCY=nil-without-error"}, kCrash, "the error that nobody wrote"},
    {"1.2", "ggml now", "1007", {"SIMMETAL_RESIDENCY=nil-without-error", "GGML_METAL_NO_RESIDENCY=1"}, kFine, "simdgroup matrix mul. = true"},
    {"1.12", "Vulkan on MoltenVK", "1007", {"SIMMETAL_RESIDENCY=yes"}, kFine, "residencySets = true, simdReduction = true"},
    {"1.12", "Godot", "1007", {"SIMMETAL_RESIDENCY=nil-without-error"}, kCrash, "the set is nil -> crash"},

    // No device, or one that is only in the list, or two.
    {"6", "ggml now", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "no simulated Metal device"},
    {"1.5", "Ollama", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "MLX", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "Godot", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "Cycles", "1009", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "Vulkan on MoltenVK", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "wgpu", "1007", {"SIMMETAL_DEVICE=none"}, kNoDevice, "-> no device"},
    {"6", "ggml before February 2026", "1007", {"SIMMETAL_DEVICE=listed-only"}, kNoDevice, "-> no device"},
    {"6", "Cycles", "1009", {"SIMMETAL_DEVICE=listed-only"}, kCrash, "MetalRT = true"},
    {"6", "MLX", "1007", {"SIMMETAL_DEVICE=listed-only"}, kFine, "-> plain path"},
    {"6", "wgpu", "stock", {"SIMMETAL_DEVICE=two"}, kFine, "simulated second device: features = SUBGROUP -> plain path"},
    {"6", "wgpu", "1009", {"SIMMETAL_DEVICE=two"}, kFine, "simulated second device: features = SUBGROUP | SHADER_INT64_ATOMIC_MIN_MAX"},

    // The guest is wedged: nobody makes a pipeline, whatever the answers are.
    {"2", "ggml now", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "failed to compile pipeline: 'kernel_add'"},
    {"2", "ggml before February 2026", "1007", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "stable-diffusion.cpp", "1007", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "whisper.cpp 1.6", "1007", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"1.5", "Ollama", "1007", {"SIMMETAL_PIPELINES=fail"}, kCrash, "the engine ended with 6 -> crash"},
    {"2", "MLX", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "PyTorch MPS", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "wgpu", "1007", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "Godot", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "Cycles", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "Vulkan on MoltenVK", "stock", {"SIMMETAL_PIPELINES=fail"}, kNoPipeline, "-> no pipeline"},
    {"2", "cubecl-metal", "1007", {"SIMMETAL_PIPELINES=fail", "SIMMETAL_PROFILE=10002"}, kNoPipeline, "-> no pipeline"},
};
// clang-format on

void check(const std::vector<Row>& table) {
    for (const auto& row : table) {
        CAPTURE(std::string{row.section});
        CAPTURE(std::string{row.workload});
        CAPTURE(std::string{row.answers});
        CAPTURE(metalrun::test::printed(row.environment));
        const Outcome outcome = run_with(workload(row.workload), row.answers, row.environment);
        CHECK(outcome.status() == row.status);
        CHECK_MESSAGE(contains(said(outcome), row.line), said(outcome));
        CHECK_MESSAGE(contains(said(outcome), "simulated"), said(outcome));
        std::printf("%-5s %-26s %-11s status %d  %s\n", row.section, row.workload, row.answers,
                    outcome.status(), row.line);
    }
}

} // namespace

TEST_SUITE("workloads") {

    TEST_CASE("each workload comes to what its source says, with each answer") {
        check(kAnswers);
    }

    TEST_CASE("each variant of the device changes what it changes in a guest") {
        check(kDevices);
    }

    TEST_CASE("an early hook changes what Metal concludes, a late one only what the program sees") {
        const metalrun::test::TempFolder folder;
        const auto flags_with = [&folder](const std::string& hook) {
            const auto profile =
                folder.write(hook + ".toml", "schema = 1\n[metal]\napple_family = 1009\n"
                                             "never_above_host = false\nhook = \"" +
                                                 hook + "\"\n");
            return start({program("pytorch/python3")}, {"-p", profile}).out;
        };
        CHECK(contains(flags_with("early"), "bfloat16 native, bfloat16 buffers true"));
        CHECK(contains(flags_with("late"), "bfloat16 emulated, bfloat16 buffers false"));
    }

} // TEST_SUITE
