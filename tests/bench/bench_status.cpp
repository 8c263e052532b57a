// SPDX-License-Identifier: MIT
//
// How long `metalrun status` takes over live processes, and whether twice as many take twice as
// long: targets that stay until their standard input ends, each started through metalrun.
//
//   bench_status [--processes N]
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h> // NOLINT(modernize-deprecated-headers): mkdtemp(3)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 9;

std::string make_folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "metalrun-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("cannot make a temporary folder");
    }
    return pattern;
}

pid_t start(std::vector<std::string> arguments, const std::string& state, int input, int output) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
        argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    std::string folder = "METALRUN_STATE_DIR=" + state;
    std::array<char*, 2> environment{folder.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t child = 0;
    const int error =
        posix_spawn(&child, METALRUN_PROGRAM, &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        throw std::runtime_error("cannot start " METALRUN_PROGRAM);
    }
    return child;
}

// Processes that share a pipe as standard input, which ends with this value.
class Crowd {
public:
    explicit Crowd(std::string state) : state_(std::move(state)) {
        if (pipe2(input_.data(), O_CLOEXEC) != 0 || pipe2(output_.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error("cannot make a pipe");
        }
    }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;
    ~Crowd() { end(); }

    void grow_to(std::size_t count) {
        while (processes_.size() < count) {
            processes_.push_back(start({"metalrun", "--anywhere", "-q", "--", METALRUN_STAY},
                                       state_, input_[0], output_[1]));
            char byte = 0;
            if (read(output_[0], &byte, 1) != 1) {
                throw std::runtime_error("a target did not start");
            }
        }
    }
    void end() {
        close(input_[1]);
        for (const pid_t process : processes_) {
            waitpid(process, nullptr, 0);
        }
        processes_.clear();
    }

private:
    std::string state_;
    std::array<int, 2> input_{};
    std::array<int, 2> output_{};
    std::vector<pid_t> processes_;
};

struct Times {
    double wall_ms = 0;
    double processor_ms = 0;
};

Times run_status(const std::string& state, int nowhere) {
    const auto begin = Clock::now();
    rusage usage{};
    wait4(start({"metalrun", "status"}, state, nowhere, nowhere), nullptr, 0, &usage);
    const auto milliseconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_usec) / 1000;
    };
    return {.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
            .processor_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)};
}

// Of the round in the middle; a busy machine lengthens the wall's time only.
Times median_of_status(const std::string& state, int nowhere) {
    std::array<Times, kRounds> rounds{};
    for (Times& round : rounds) {
        round = run_status(state, nowhere);
    }
    std::ranges::sort(rounds, {}, &Times::processor_ms);
    return rounds[rounds.size() / 2];
}

int measure(std::size_t processes) {
    const std::string folder = make_folder();
    const std::string state = folder + "/state";
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    {
        Crowd crowd(state);
        for (const std::size_t count : {processes / 4, processes / 2, processes}) {
            crowd.grow_to(count);
            const Times times = median_of_status(state, nowhere);
            std::printf("%zu live processes: %.1f ms, of the processor %.1f ms, %.1f us each\n",
                        count, times.wall_ms, times.processor_ms,
                        times.processor_ms * 1000 / static_cast<double>(count));
        }
    }
    const Times times = run_status(state, nowhere);
    std::printf("%zu receipts of ended processes removed: %.1f ms, of the processor %.1f ms\n",
                processes, times.wall_ms, times.processor_ms);
    const auto left = std::distance(std::filesystem::directory_iterator(state), {});
    std::printf("left: %td\n", left);
    std::filesystem::remove_all(folder);
    return left == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    std::size_t processes = 1000;
    const std::vector<std::string_view> arguments(argv,
                                                  argv + argc); // NOLINT(*-pointer-arithmetic)
    if (arguments.size() == 3 && arguments[1] == "--processes") {
        const char* const begin = arguments[2].data();
        std::from_chars(begin, begin + arguments[2].size(),
                        processes); // NOLINT(*-pointer-arithmetic)
    } else if (arguments.size() != 1) {
        std::fprintf(stderr, "usage: bench_status [--processes N]\n");
        return 2;
    }
    try {
        return measure(std::max<std::size_t>(processes, 4));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_status: %s\n", error.what());
        return 2;
    }
}
