// SPDX-License-Identifier: MIT
//
// What a start through metalrun costs beside the same start by hand with env(1): wall time of
// interleaved pairs, peak memory before the exec, and instructions up to it (valgrind's callgrind).
//
//   bench_start [--pairs N] [--gate]
//
// Prints a table with the goals. With --gate the status is 1 when an instruction goal is missed;
// times are never a gate, for they depend on the machine.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

using Strings = std::vector<std::string>;

constexpr auto kValgrind = "/usr/bin/valgrind";
constexpr int kWarmUpPairs = 10;
constexpr std::size_t kMostPadding = 4096;

/// Goals of the design, in the order of the table.
constexpr double kShippedRatio = 1.00;
constexpr double kFileRatio = 1.05;
constexpr double kStockRatio = 0.95;
constexpr std::uint64_t kShippedInstructions = 450'000;
constexpr std::uint64_t kFileInstructions = 800'000;
constexpr std::uint64_t kPeakKib = 6 * 1024;

/// What a user writes into a profile of their own: every table but the records, 40 lines.
constexpr auto kProfile = R"(#!/usr/bin/env metalrun
schema = 1
description = "llama.cpp in a guest, for the server of this house"

[metal]
apple_family = "apple7"
threadgroup_memory = "stock"
working_set = "stock"
never_above_host = true
hook = "early"

[environment]
set = { GGML_METAL_NO_RESIDENCY = "1", LLAMA_ARG_HOST = "127.0.0.1" }
unset = ["GGML_METAL_PATH_RESOURCES"]

[policy]
on_refusal = "fail"
when_uncertain = "refuse"
children = "stock"
where = "anywhere"

[match]
programs = ["llama-server", "llama-bench", "llama-cli", "llama-*"]

[workload]
status = "beneficial"
reason = "selects the matrix kernels of the graphics processor"

[[quirk]]
guest_os = "13"
level = "note"
set = { GGML_METAL_BF16_DISABLE = "1" }
note = "the compiler of this system has no bfloat"

[[quirk]]
guest_os = ">=26"
level = "warn"
note = "not measured yet"
)";

/// A program with vectors that are ready before the clock runs.
class Arm {
public:
    Arm(Strings arguments, Strings environment)
        : arguments_{std::move(arguments)}, environment_{std::move(environment)} {
        environment_.emplace_back();
    }
    void set_padding(std::size_t size) {
        environment_.back() = "PADDING=" + std::string(size, 'x');
        argv_ = pointers(arguments_);
        envp_ = pointers(environment_);
    }
    [[nodiscard]] char* const* argv() const { return argv_.data(); }
    [[nodiscard]] char* const* envp() const { return envp_.data(); }
    [[nodiscard]] const Strings& arguments() const { return arguments_; }

private:
    static std::vector<char*> pointers(Strings& strings) {
        std::vector<char*> result;
        for (auto& string : strings) {
            result.push_back(string.data());
        }
        result.push_back(nullptr);
        return result;
    }
    Strings arguments_;
    Strings environment_;
    std::vector<char*> argv_;
    std::vector<char*> envp_;
};

class TempFolder {
public:
    TempFolder() {
        path_ = std::string{std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp"} +
                "/metalrun-bench-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) {
            throw std::runtime_error("cannot make " + path_);
        }
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

double now_us() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void check_status(const Arm& arm, int status) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw std::runtime_error(arm.arguments().front() + " " + arm.arguments().back() +
                                 " did not end with status 0 (wait status " +
                                 std::to_string(status) + ")");
    }
}

/// One start, from spawn to the end of the program, in microseconds.
double time_start(const Arm& arm, const posix_spawn_file_actions_t& actions) {
    pid_t child = 0;
    int status = 0;
    const double begin = now_us();
    const int error = posix_spawn(&child, arm.argv()[0], &actions, nullptr, arm.argv(), arm.envp());
    if (error != 0) {
        throw std::runtime_error("cannot start " + arm.arguments().front() + ": " +
                                 std::strerror(error));
    }
    while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
    }
    const double end = now_us();
    check_status(arm, status);
    return end - begin;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Ratio {
    double metalrun_us = 0;
    double env_us = 0;
    [[nodiscard]] double value() const { return metalrun_us / env_us; }
};

/// Pairs in alternating order; both of a pair have a variable of the same random length, for the
/// size of the environment shifts the stack and with it the time.
Ratio compare(Arm metalrun, Arm env, int pairs) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::minstd_rand random{42};
    std::uniform_int_distribution<std::size_t> padding{0, kMostPadding};
    std::vector<double> metalrun_times;
    std::vector<double> env_times;
    for (int i = -kWarmUpPairs; i < pairs; ++i) {
        const auto size = padding(random);
        metalrun.set_padding(size);
        env.set_padding(size);
        double one = 0;
        double other = 0;
        if (i % 2 == 0) {
            one = time_start(metalrun, actions);
            other = time_start(env, actions);
        } else {
            other = time_start(env, actions);
            one = time_start(metalrun, actions);
        }
        if (i >= 0) {
            metalrun_times.push_back(one);
            env_times.push_back(other);
        }
    }
    posix_spawn_file_actions_destroy(&actions);
    return {.metalrun_us = median(metalrun_times), .env_us = median(env_times)};
}

std::uint64_t peak_kib_of(pid_t process) {
    std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
    std::string word;
    while (status >> word) {
        std::uint64_t value = 0;
        if (word == "VmHWM:" && status >> value) {
            return value;
        }
    }
    return 0;
}

[[noreturn]] void become_traced(const Arm& arm) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    execve(arm.argv()[0], arm.argv(), arm.envp());
    std::_Exit(127);
}

/// Largest resident size of metalrun when it calls execve; nothing where tracing is not allowed.
std::optional<std::uint64_t> peak_before_exec(Arm arm) {
    arm.set_padding(0);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        become_traced(arm);
    }
    std::optional<std::uint64_t> peak;
    int status = 0;
    int execs = 0;
    bool options_set = false;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (!options_set) {
            ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
            options_set = true;
        }
        __ptrace_syscall_info info{};
        if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
            ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 &&
            info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_execve && ++execs == 2) {
            peak = peak_kib_of(child);
        }
        ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    }
    return peak;
}

struct Instructions {
    std::uint64_t total = 0;
    std::uint64_t hashing = 0;
    [[nodiscard]] std::uint64_t without_hashing() const { return total - hashing; }
};

std::uint64_t last_number(const std::string& line) {
    const auto blank = line.find_last_of(' ');
    return blank == std::string::npos ? 0 : std::strtoull(line.c_str() + blank + 1, nullptr, 10);
}

/// Sums a callgrind file: all, and what functions with sha256 in their name took themselves.
Instructions read_callgrind(const std::string& path) {
    std::ifstream file{path};
    std::map<std::string, bool> is_hash;
    Instructions sum;
    bool in_hash = false;
    bool is_call_cost = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("fn=(")) {
            const auto end = line.find(')');
            const auto id = line.substr(4, end - 4);
            if (end + 1 < line.size()) {
                is_hash[id] = line.find("sha256", end) != std::string::npos;
            }
            in_hash = is_hash[id];
        } else if (line.starts_with("cfn=(")) {
            const auto end = line.find(')');
            if (end + 1 < line.size()) {
                is_hash[line.substr(5, end - 5)] = line.find("sha256", end) != std::string::npos;
            }
        } else if (line.starts_with("calls=")) {
            is_call_cost = true;
        } else if (!line.empty() && std::strchr("0123456789+-*", line[0]) != nullptr) {
            if (!is_call_cost) {
                sum.total += last_number(line);
                sum.hashing += in_hash ? last_number(line) : 0;
            }
            is_call_cost = false;
        }
    }
    return sum;
}

/// Instructions up to execve; nothing without valgrind or when the program has no such symbol.
std::optional<Instructions> count_instructions(const TempFolder& folder, const Arm& arm,
                                               const Strings& environment) {
    if (!std::filesystem::exists(kValgrind)) {
        return std::nullopt;
    }
    const auto output = folder / "callgrind";
    Strings arguments{kValgrind,
                      "--tool=callgrind",
                      "-q",
                      "--dump-before=execve",
                      "--dump-before=__execve",
                      "--callgrind-out-file=" + output};
    arguments.insert(arguments.end(), arm.arguments().begin(), arm.arguments().end());
    Arm traced{arguments, environment};
    traced.set_padding(0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    time_start(traced, actions);
    posix_spawn_file_actions_destroy(&actions);
    const auto dump = output + ".1";
    if (!std::filesystem::exists(dump)) {
        return std::nullopt;
    }
    const auto result = read_callgrind(dump);
    std::filesystem::remove(dump);
    return result.total == 0 ? std::nullopt : std::optional{result};
}

const char* yes_or_no(bool is_met) {
    return is_met ? "yes" : "NO";
}

void print_ratio(const char* what, const Ratio& ratio, double goal) {
    std::printf("%-44s %9.0f %9.0f %8.3f   <= %-9.2f %s\n", what, ratio.metalrun_us, ratio.env_us,
                ratio.value(), goal, yes_or_no(ratio.value() <= goal));
}

/// Without valgrind there is no answer and no failure; with it, no count is a failure.
bool print_instructions(const char* what, const std::optional<Instructions>& count,
                        std::uint64_t goal) {
    if (!count) {
        const bool is_expected = !std::filesystem::exists(kValgrind);
        std::printf("%-44s not measured: %s\n", what,
                    is_expected ? "valgrind is not installed"
                                : "metalrun has no symbol for execve");
        return is_expected;
    }
    const bool is_met = count->without_hashing() <= goal;
    std::printf("%-44s %28llu   <= %-9llu %s", what,
                static_cast<unsigned long long>(count->without_hashing()),
                static_cast<unsigned long long>(goal), yes_or_no(is_met));
    if (count->hashing != 0) {
        std::printf("  (and %llu in SHA-256)", static_cast<unsigned long long>(count->hashing));
    }
    std::printf("\n");
    return is_met;
}

struct Options {
    int pairs = 300;
    bool gate = false;
};

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument{argv[i]};
        if (argument == "--gate") {
            options.gate = true;
        } else if (argument == "--pairs" && i + 1 < argc) {
            const std::string_view value{argv[++i]};
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), options.pairs);
            if (error != std::errc{} || end != value.data() + value.size() || options.pairs < 1) {
                return std::nullopt;
            }
        } else {
            return std::nullopt;
        }
    }
    return options;
}

/// metalrun as an installation lays it down: copied in one go. A file that a linker wrote here and
/// there is scattered in the page cache, which costs each start some 100 microseconds.
class InstalledCopy {
public:
    InstalledCopy() {
        std::filesystem::copy_file(METALRUN_PROGRAM, path_,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    ~InstalledCopy() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    InstalledCopy(const InstalledCopy&) = delete;
    InstalledCopy& operator=(const InstalledCopy&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ = METALRUN_PROGRAM ".installed";
};

int measure(const Options& options) {
    const InstalledCopy installed;
    const std::string& metalrun = installed.path();
    const std::string env{"/usr/bin/env"};
    const std::string dynamic{METALRUN_TARGETS "/exit_with"};
    const std::string fixed{METALRUN_TARGETS "/exit_with_static"};
    const TempFolder folder;
    const auto profile = folder / "profile.toml";
    std::ofstream{profile} << kProfile;
    const auto receipt = folder / "receipt.toml";
    close(open(receipt.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    // A login has a locale, and env(1) reads it at every start.
    const Strings environment{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                              "HOME=" + (folder / "home"),
                              "METALRUN_STATE_DIR=" + (folder / "state")};

    // The same variables by hand; the last argument is the program.
    const Arm by_hand{{env, "LD_PRELOAD=" METALRUN_SHIM, "LUME_METAL_APPLE_FAMILY_MAX=1007",
                       "LUME_METAL_MAX_THREADGROUP_MEMORY=0", "METALRUN_SHIM_HOOK=early",
                       "METALRUN_SHIM_CHILDREN=stock", "METALRUN_RECEIPT=" + receipt, dynamic},
                      environment};
    const Arm shipped{{metalrun, "--anywhere", "--", dynamic}, environment};
    const Arm by_file{{metalrun, "-p", profile, "--", dynamic}, environment};
    const Arm stock{{metalrun, "--stock", "--", fixed}, environment};
    const Arm env_stock{{env, fixed}, environment};

    std::printf("%d interleaved pairs; state folder in %s; medians in microseconds\n\n",
                options.pairs,
                std::filesystem::path{folder / "x"}.parent_path().parent_path().c_str());
    std::printf("%-44s %9s %9s %8s   %-12s %s\n", "start", "metalrun", "env", "ratio", "goal",
                "met");
    print_ratio("shipped profile, dynamic program", compare(shipped, by_hand, options.pairs),
                kShippedRatio);
    print_ratio("profile file, dynamic program", compare(by_file, by_hand, options.pairs),
                kFileRatio);
    print_ratio("--stock, static program", compare(stock, env_stock, options.pairs), kStockRatio);

    const auto peak = peak_before_exec(by_file);
    if (peak) {
        std::printf("%-44s %24llu KiB   <= %-9llu %s\n", "peak memory before exec (profile file)",
                    static_cast<unsigned long long>(*peak),
                    static_cast<unsigned long long>(kPeakKib), yes_or_no(*peak <= kPeakKib));
    } else {
        std::printf("%-44s not measured (tracing is not allowed here)\n",
                    "peak memory before exec");
    }
    const auto shipped_count = count_instructions(folder, shipped, environment);
    const auto file_count = count_instructions(folder, by_file, environment);
    bool is_met = print_instructions("instructions to exec, shipped profile", shipped_count,
                                     kShippedInstructions);
    is_met =
        print_instructions("instructions to exec, profile file", file_count, kFileInstructions) &&
        is_met;
    if (options.gate && !is_met) {
        std::fprintf(stderr, "bench_start: an instruction goal is missed\n");
        return 1;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        const auto options = parse(argc, argv);
        if (!options) {
            std::fprintf(stderr, "usage: bench_start [--pairs N] [--gate]\n");
            return 2;
        }
        return measure(*options);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "bench_start: %s\n", problem.what());
        return 2;
    }
}
