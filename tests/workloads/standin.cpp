// SPDX-License-Identifier: MIT
//
// metalrun-standin-ggml: a stand-in for llama-bench on the simulated Metal. It asks the device what
// ggml's Metal backend asks, selects its kernels by the answers as ggml does, multiplies a small
// quantised model with them, and reports tokens per second in llama-bench's form. The figures are
// of this machine's processor; only that they depend on the answers is like a guest.
#include "kernels.hpp"
#include "runtime.hpp"
#include "zoo/device.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using metalrun::shim::Family;
using metalrun::shim::send;
using metalrun::shim::Size;
using standin::Job;

constexpr const char* kName = "metalrun-standin-ggml";
constexpr const char* kModelType = "stand-in, quantised like Q4_0, on a simulated Metal device";
constexpr std::size_t kWidth = 256;
constexpr std::size_t kLayers = 4;
constexpr std::size_t kBlockedFrom = 9; // tokens; below, ggml multiplies matrix by vector too

struct Options {
    std::size_t repetitions = 5;
    std::size_t prompt_tokens = 128;
    std::size_t generated_tokens = 32;
    bool markdown = false;
    bool list_devices = false;
};

/// What ggml keeps of the device's answers.
struct Capabilities {
    std::string name;
    bool has_simdgroup_reduction = false;
    bool has_simdgroup_mm = false;
    bool has_bfloat = false;
    bool has_unified_memory = false;
    Size max_threadgroup_memory = 0;
    Size working_set = 0;
};

bool supports(id device, Family family) {
    return send<BOOL>(device, "supportsFamily:", family) != NO;
}

Capabilities ask(id device) {
    const auto name = send<id>(device, "name");
    return {
        .name = send<const char*>(name, "UTF8String"),
        .has_simdgroup_reduction = supports(device, 1007) || supports(device, 5001),
        .has_simdgroup_mm = supports(device, 1007),
        .has_bfloat = (supports(device, 5001) || supports(device, 1006)) &&
                      std::getenv("GGML_METAL_BF16_DISABLE") == nullptr,
        .has_unified_memory = send<BOOL>(device, "hasUnifiedMemory") != NO,
        .max_threadgroup_memory = send<Size>(device, "maxThreadgroupMemoryLength"),
        .working_set = send<Size>(device, "recommendedMaxWorkingSetSize"),
    };
}

struct FamilyRange {
    const char* name;
    Family first;
    Family last;
};

/// The highest family of each kind, as ggml logs it.
void log_families(id device) {
    constexpr FamilyRange ranges[] = {
        {.name = "Apple", .first = 1001, .last = 1021},
        {.name = "Common", .first = 3001, .last = 3006},
        {.name = "Metal", .first = 5001, .last = 5006},
    };
    for (const auto& range : ranges) {
        for (Family family = range.last; family >= range.first; --family) {
            if (supports(device, family)) {
                const long number = family - range.first + (range.first == 5001 ? 3 : 1);
                static_cast<void>(std::fprintf(stderr, "%s: GPU family: MTLGPUFamily%s%ld  (%ld)\n",
                                               kName, range.name, number, family));
                break;
            }
        }
    }
}

void log_flag(const char* what, bool value) {
    static_cast<void>(std::fprintf(stderr, "%s: %s = %s\n", kName, what, value ? "true" : "false"));
}

void log_capabilities(id device, const Capabilities& can) {
    static_cast<void>(std::fprintf(
        stderr, "%s: this is a stand-in workload on a simulated device, not ggml\n", kName));
    static_cast<void>(std::fprintf(stderr, "%s: GPU name:   %s\n", kName, can.name.c_str()));
    log_families(device);
    log_flag("simdgroup reduction  ", can.has_simdgroup_reduction);
    log_flag("simdgroup matrix mul.", can.has_simdgroup_mm);
    log_flag("has unified memory   ", can.has_unified_memory);
    log_flag("has bfloat           ", can.has_bfloat);
    log_flag("has tensor           ", false);
    static_cast<void>(std::fprintf(stderr, "%s: maxThreadgroupMemoryLength    = %6lu\n", kName,
                                   can.max_threadgroup_memory));
    static_cast<void>(std::fprintf(stderr, "%s: recommendedMaxWorkingSetSize  = %8.2f MB\n", kName,
                                   static_cast<double>(can.working_set) / 1e6));
}

/// A chain of square layers. Which kernel runs is decided per operation, as ggml does.
class Model {
public:
    explicit Model(const Capabilities& can) : can_(can) {
        for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
            layers_.push_back(standin::make_weights(kWidth, kWidth, layer + 1));
        }
    }

    [[nodiscard]] std::size_t parameters() const { return kLayers * kWidth * kWidth; }
    [[nodiscard]] std::size_t size_bytes() const {
        return parameters() / standin::kBlock * sizeof(standin::Block);
    }

    /// Runs the tokens through all layers; the result is scaled so that it stays finite.
    void evaluate(std::vector<float>& state, std::size_t tokens) {
        next_.resize(state.size());
        for (const auto& weights : layers_) {
            multiply({.weights = weights, .input = state, .output = next_, .tokens = tokens});
            std::ranges::transform(next_, state.begin(),
                                   [](float value) { return value / (1.0F + std::abs(value)); });
        }
    }

    /// Whether all kernels give the same result, but for rounding, in a small case.
    [[nodiscard]] bool kernels_agree() {
        constexpr std::size_t tokens = 10;
        std::vector<float> input(tokens * kWidth);
        std::iota(input.begin(), input.end(), 0.0F);
        std::ranges::transform(input, input.begin(), [](float value) { return std::sin(value); });
        std::vector<float> scalar(input.size());
        std::vector<float> vector(input.size());
        std::vector<float> blocked(input.size());
        fallback_.multiply(
            {.weights = layers_[0], .input = input, .output = scalar, .tokens = tokens});
        standin::multiply_vector(
            {.weights = layers_[0], .input = input, .output = vector, .tokens = tokens});
        standin::multiply_blocked(
            {.weights = layers_[0], .input = input, .output = blocked, .tokens = tokens});
        const auto close = [](float left, float right) { return std::abs(left - right) < 1e-3F; };
        return std::ranges::equal(scalar, vector, close) &&
               std::ranges::equal(scalar, blocked, close);
    }

private:
    void multiply(const Job& job) {
        if (!can_.has_simdgroup_reduction) {
            fallback_.multiply(job);
        } else if (can_.has_simdgroup_mm && job.tokens >= kBlockedFrom) {
            standin::multiply_blocked(job);
        } else {
            standin::multiply_vector(job);
        }
    }

    const Capabilities& can_;
    std::vector<standin::Weights> layers_;
    std::vector<float> next_;
    standin::Fallback fallback_;
};

/// One row of the result: prompt processing or generation, with a sample per repetition.
struct Test {
    std::size_t prompt = 0;
    std::size_t generated = 0;
    std::vector<double> samples_ns;

    [[nodiscard]] double tokens_per_second(double ns) const {
        return 1e9 * static_cast<double>(prompt + generated) / ns;
    }
};

double run_once(Model& model, const Test& test) {
    std::vector<float> prompt(std::max<std::size_t>(test.prompt, 1) * kWidth, 0.5F);
    std::vector<float> token(kWidth, 0.5F);
    const auto start = std::chrono::steady_clock::now();
    if (test.prompt > 0) {
        model.evaluate(prompt, test.prompt);
    }
    for (std::size_t count = 0; count < test.generated; ++count) {
        model.evaluate(token, 1);
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    return taken.count();
}

Test run_test(Model& model, std::size_t prompt, std::size_t generated, std::size_t repetitions) {
    Test test{.prompt = prompt, .generated = generated, .samples_ns = {}};
    run_once(model, test); // warm-up, as llama-bench does
    for (std::size_t count = 0; count < repetitions; ++count) {
        test.samples_ns.push_back(run_once(model, test));
    }
    return test;
}

struct Spread {
    double mean = 0;
    double deviation = 0;
};

Spread spread_of(const std::vector<double>& samples) {
    const auto count = static_cast<double>(samples.size());
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
    double squares = 0;
    for (const double sample : samples) {
        squares += (sample - mean) * (sample - mean);
    }
    return {.mean = mean, .deviation = count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

std::vector<double> rates_of(const Test& test) {
    std::vector<double> rates;
    rates.reserve(test.samples_ns.size());
    for (const double ns : test.samples_ns) {
        rates.push_back(test.tokens_per_second(ns));
    }
    return rates;
}

std::string timestamp() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    static_cast<void>(gmtime_r(&now, &parts));
    char text[32]{};
    static_cast<void>(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
    return text;
}

void print_samples(const char* key, const std::vector<double>& samples, int decimals) {
    std::printf("    \"%s\": [", key);
    const char* separator = " ";
    for (const double sample : samples) {
        std::printf("%s%.*f", separator, decimals, sample);
        separator = ", ";
    }
    std::printf(" ]");
}

void print_json_test(const Test& test, const Model& model, const std::string& gpu) {
    const auto ns = spread_of(test.samples_ns);
    const auto rates = rates_of(test);
    const auto rate = spread_of(rates);
    std::printf("  {\n    \"build_commit\": \"stand-in\",\n    \"build_number\": 1,\n");
    std::printf("    \"cpu_info\": \"\",\n    \"gpu_info\": \"%s (simulated)\",\n", gpu.c_str());
    std::printf("    \"backends\": \"simulated\",\n    \"model_filename\": \"none\",\n");
    std::printf(
        "    \"model_type\": \"%s\",\n    \"model_size\": %zu,\n    \"model_n_params\": %zu,\n",
        kModelType, model.size_bytes(), model.parameters());
    std::printf("    \"n_batch\": 2048,\n    \"n_ubatch\": 512,\n    \"n_threads\": 1,\n");
    std::printf("    \"cpu_mask\": \"0x0\",\n    \"cpu_strict\": false,\n    \"poll\": 50,\n");
    std::printf("    \"type_k\": \"f16\",\n    \"type_v\": \"f16\",\n    \"n_gpu_layers\": %zu,\n",
                kLayers);
    std::printf(
        "    \"split_mode\": \"layer\",\n    \"main_gpu\": 0,\n    \"no_kv_offload\": false,\n");
    std::printf("    \"flash_attn\": false,\n    \"devices\": \"auto\",\n    \"tensor_split\": "
                "\"0.00\",\n");
    std::printf("    \"use_mmap\": false,\n    \"embeddings\": false,\n");
    std::printf("    \"n_prompt\": %zu,\n    \"n_gen\": %zu,\n    \"n_depth\": 0,\n", test.prompt,
                test.generated);
    std::printf("    \"test_time\": \"%s\",\n", timestamp().c_str());
    std::printf("    \"avg_ns\": %.0f,\n    \"stddev_ns\": %.0f,\n", ns.mean, ns.deviation);
    std::printf("    \"avg_ts\": %.6f,\n    \"stddev_ts\": %.6f,\n", rate.mean, rate.deviation);
    print_samples("samples_ns", test.samples_ns, 0);
    std::printf(",\n");
    print_samples("samples_ts", rates, 3);
    std::printf("\n  }");
}

void print_json(const std::vector<Test>& tests, const Model& model, const std::string& gpu) {
    std::printf("[\n");
    const char* separator = "";
    for (const auto& test : tests) {
        std::printf("%s", separator);
        print_json_test(test, model, gpu);
        separator = ",\n";
    }
    std::printf("\n]\n");
}

void print_markdown(const std::vector<Test>& tests) {
    std::printf("| model | backend | test | t/s |\n| --- | --- | ---: | ---: |\n");
    for (const auto& test : tests) {
        const auto rate = spread_of(rates_of(test));
        std::printf("| %s | simulated | %s%zu | %.2f ± %.2f |\n", kModelType,
                    test.prompt > 0 ? "pp" : "tg", test.prompt + test.generated, rate.mean,
                    rate.deviation);
    }
}

std::optional<std::size_t> parse_count(std::string_view text) {
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), count);
    return error == std::errc{} && end == text.end() && count <= 100'000 ? std::optional{count}
                                                                         : std::nullopt;
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
    if (name == "-o") {
        options.markdown = value == "md";
        return value == "md" || value == "json";
    }
    const auto count = parse_count(value);
    std::size_t* target = name == "-r"   ? &options.repetitions
                          : name == "-p" ? &options.prompt_tokens
                          : name == "-n" ? &options.generated_tokens
                                         : nullptr;
    if (!count || target == nullptr || (name == "-r" && *count == 0)) {
        return false;
    }
    *target = *count;
    return true;
}

std::optional<Options> parse_options(const std::vector<std::string_view>& arguments) {
    Options options;
    for (std::size_t index = 1; index < arguments.size(); ++index) {
        if (arguments[index] == "--list-devices") {
            options.list_devices = true;
        } else if (index + 1 < arguments.size() &&
                   set_option(options, arguments[index], arguments[index + 1])) {
            ++index;
        } else {
            return std::nullopt;
        }
    }
    return options;
}

/// What can end ggml before it computes. It reads the error of a residency set that was not made,
/// written or not, and skips the set; a kernel that cannot be made ends it.
zoo::Outcome start_up(const zoo::Device& device, const Capabilities& can) {
    const auto ends = [](zoo::Outcome outcome, const char* why) {
        static_cast<void>(std::fprintf(stderr, "%s: error: %s\n", kName, why));
        return outcome;
    };
    if (metalrun_simulated_macos() >= 15 && std::getenv("GGML_METAL_NO_RESIDENCY") == nullptr &&
        device.make_residency_set() == zoo::ResidencySet::refused_without_error) {
        return ends(zoo::Outcome::crash, "reads the error that nobody wrote");
    }
    if (!device.makes_pipeline("kernel_add")) {
        return ends(zoo::Outcome::no_pipeline, "failed to compile pipeline: 'kernel_add'");
    }
    if (can.has_bfloat && !device.makes_pipeline("kernel_get_rows_bf16")) {
        return ends(zoo::Outcome::crash, "failed to compile pipeline: 'kernel_get_rows_bf16'");
    }
    return zoo::Outcome::plain;
}

int run(const Options& options, id device) {
    const Capabilities can = ask(device);
    log_capabilities(device, can);
    if (const auto outcome = start_up(zoo::Device(device), can); outcome != zoo::Outcome::plain) {
        return static_cast<int>(outcome);
    }
    if (options.list_devices) {
        std::printf("Available devices:\n  MTL0: %s (simulated) (%.0f MiB)\n", can.name.c_str(),
                    static_cast<double>(can.working_set) / (1024.0 * 1024.0));
        return 0;
    }
    Model model(can);
    if (!model.kernels_agree()) {
        static_cast<void>(
            std::fprintf(stderr, "%s: error: the kernels do not give the same result\n", kName));
        return 1;
    }
    std::vector<Test> tests;
    if (options.prompt_tokens > 0) {
        tests.push_back(run_test(model, options.prompt_tokens, 0, options.repetitions));
    }
    if (options.generated_tokens > 0) {
        tests.push_back(run_test(model, 0, options.generated_tokens, options.repetitions));
    }
    options.markdown ? print_markdown(tests) : print_json(tests, model, can.name);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): the form main is given
    const auto options = parse_options({argv, argv + argc});
    if (!options) {
        static_cast<void>(std::fprintf(
            stderr, "%s: usage: %s [-r N] [-p N] [-n N] [-o json|md] [--list-devices]\n", kName,
            kName));
        return 2;
    }
    const auto device = MTLCreateSystemDefaultDevice();
    if (device == nullptr) {
        static_cast<void>(std::fprintf(stderr, "%s: error: no simulated Metal device\n", kName));
        return 1;
    }
    return run(*options, device);
}
