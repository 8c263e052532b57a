// SPDX-License-Identifier: MIT
//
// How many small programs `metalrun check --recursive` judges a second, and whether twice as many
// take twice as long: copies of a Mach-O fixture in a folder of 100 files each, all in the page
// cache.
//
//   bench_check [--files N]
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
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kGoalPerSecond = 2000;
constexpr int kRounds = 5;
constexpr int kFilesOfFolder = 100;

class TempFolder {
public:
    TempFolder() {
        std::string pattern = (fs::temp_directory_path() / "metalrun-bench-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("cannot make a temporary folder");
        }
        path_ = pattern;
    }
    ~TempFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

void make_copies(const fs::path& folder, int files) {
    for (int i = 0; i < files; ++i) {
        const fs::path below = folder / std::to_string(i / kFilesOfFolder);
        fs::create_directories(below);
        fs::copy_file(METALRUN_FIXTURE, below / ("program" + std::to_string(i)));
    }
}

/// Seconds that one check of the folder takes.
double measure(const fs::path& folder) {
    std::string program = METALRUN_PROGRAM;
    std::string path = folder.string();
    std::array<std::string, 3> words{"check", "--json", "--recursive"};
    const std::array<char*, 6> argv{program.data(),  words[0].data(), words[1].data(),
                                    words[2].data(), path.data(),     nullptr};
    std::string search = "PATH=/usr/bin:/bin";
    const std::array<char*, 2> envp{search.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const auto begin = Clock::now();
    pid_t child = 0;
    if (posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), envp.data()) != 0) {
        throw std::runtime_error("cannot start " + program);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const std::chrono::duration<double> taken = Clock::now() - begin;
    posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw std::runtime_error("metalrun check did not end with status 0");
    }
    return taken.count();
}

double median_per_second(int files) {
    const TempFolder folder;
    make_copies(folder.path(), files);
    std::vector<double> seconds;
    for (int round = 0; round <= kRounds; ++round) {
        const double taken = measure(folder.path());
        if (round > 0) { // the first one warms the cache
            seconds.push_back(taken);
        }
    }
    std::sort(seconds.begin(), seconds.end());
    return files / seconds[seconds.size() / 2];
}

int files_asked(const std::vector<std::string_view>& arguments) {
    int files = 10'000;
    if (arguments.size() == 2 && arguments[0] == "--files") {
        std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), files);
    }
    return std::max(files, kFilesOfFolder);
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    try {
        const int files = files_asked(arguments);
        const double half = median_per_second(files / 2);
        const double all = median_per_second(files);
        std::printf("metalrun check --json --recursive, median of %d\n", kRounds);
        std::printf("%8d files: %8.0f a second\n", files / 2, half);
        std::printf("%8d files: %8.0f a second (goal %.0f: %s)\n", files, all, kGoalPerSecond,
                    all >= kGoalPerSecond ? "reached" : "missed");
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_check: %s\n", error.what());
        return 1;
    }
}
