// SPDX-License-Identifier: MIT
//
// The torture run: `metalrun-torture [STARTS [SEED [INDEX]]]` starts an observer over and over in
// drawn circumstances, plainly and by metalrun, while signals come in, and compares what it saw and
// how it ended. INDEX repeats one start and prints both reports.
#define DOCTEST_CONFIG_IMPLEMENT
#include "torture_circumstances.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

/// Ways to start by metalrun.
struct Way {
    const char* name;
    Strings options;
    bool inherits = false; ///< the observer sees the shim's variables
};

std::vector<Way> ways() {
    std::vector<Way> all{{"stock", {"--stock", "-q"}}, {"not a guest", {"-q"}}};
    // A shim with a sanitizer in it does not fit the observer.
    if (!is_sanitized()) {
        all.push_back({"injected", {"--anywhere", "--children", "stock"}});
        all.push_back(
            {"injected, children inherit", {"--anywhere", "--children", "inherit"}, true});
    }
    return all;
}

struct Place {
    TempFolder folder;
    Strings folders{folder.make_folder("a folder"), "/", folder.path()};
    std::string state = folder.make_folder("state", 0700);
    std::string script = folder.write("script", "#!" + target("observe") + " one argument\n", 0755);
    std::string env_script = folder.write("env-script", "#!/usr/bin/env observe\n", 0755);
    std::string output = folder.write("output", ""); ///< standard output and error go there
};

/// What is handed to execve.
struct Exec {
    std::string file;
    Strings arguments;
    Strings environment;
};

struct Seen {
    pid_t pid = 0;
    std::string report;
    std::string output;
    int wait_status = 0;
};

std::string typed_name(const Circumstances& circumstances, const Place& place) {
    switch (circumstances.naming) {
    case Naming::by_path:
        return target("observe");
    case Naming::in_path:
        return "observe";
    case Naming::script:
        return place.script;
    case Naming::env_script:
        return place.env_script;
    }
    return {};
}

Strings environment_of(const Circumstances& circumstances, const Place& place) {
    Strings environment = base_environment();
    environment.front() = "PATH=" + programs().targets + ":/usr/bin:/bin";
    environment.push_back("OBSERVE=" + circumstances.action);
    environment.push_back("METALRUN_STATE_DIR=" + place.state);
    environment.insert(environment.end(), circumstances.environment.begin(),
                       circumstances.environment.end());
    return environment;
}

Exec plain_start(const Circumstances& circumstances, const Place& place) {
    const auto typed = typed_name(circumstances, place);
    Exec exec{.file = circumstances.naming == Naming::in_path ? target("observe") : typed,
              .arguments = {typed},
              .environment = environment_of(circumstances, place)};
    exec.arguments.insert(exec.arguments.end(), circumstances.arguments.begin(),
                          circumstances.arguments.end());
    return exec;
}

Exec metalrun_start(const Circumstances& circumstances, const Place& place, const Way& way) {
    Exec exec{.file = programs().metalrun,
              .arguments = {"metalrun"},
              .environment = environment_of(circumstances, place)};
    exec.arguments.insert(exec.arguments.end(), way.options.begin(), way.options.end());
    exec.arguments.insert(exec.arguments.end(), {"--", typed_name(circumstances, place)});
    exec.arguments.insert(exec.arguments.end(), circumstances.arguments.begin(),
                          circumstances.arguments.end());
    return exec;
}

std::vector<char*> pointers(Strings& strings) {
    std::vector<char*> result;
    std::transform(strings.begin(), strings.end(), std::back_inserter(result),
                   [](std::string& string) { return string.data(); });
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void become(Exec exec, const Circumstances& circumstances, const Place& place) {
    const auto argv = pointers(exec.arguments);
    const auto envp = pointers(exec.environment);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int output = open(place.output.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    arrange(circumstances, place.folders);
    [[maybe_unused]] const auto told = write(kReady, "", 1);
    execve(exec.file.c_str(), argv.data(), envp.data());
    _exit(125);
}

// Waits without giving the processor away: the moment matters, not the rest.
void pass_time(unsigned microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds{microseconds};
    while (std::chrono::steady_clock::now() < end) {
    }
}

void send_in_flight(const InFlight& signal, pid_t child, int ready) {
    if (signal.number == 0) {
        return;
    }
    char byte = 0;
    if (!signal.from_fork_on && read(ready, &byte, 1) != 1) {
        return;
    }
    pass_time(signal.delay_us);
    if (signal.number == SIGCONT) {
        kill(child, SIGSTOP);
    }
    for (int i = 0; i < signal.count; ++i) {
        sigqueue(child, signal.number, {.sival_int = 100 + i});
    }
}

std::string read_to_end(int fd) {
    std::string text;
    std::array<char, 16384> buffer{};
    while (true) {
        const auto count = read(fd, buffer.data(), buffer.size());
        if (count <= 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    explicit Pipe(int write_end) {
        if (pipe2(ends.data(), O_CLOEXEC) != 0 || dup3(ends[1], write_end, O_CLOEXEC) == -1) {
            throw std::runtime_error("cannot make a pipe");
        }
        close(ends[1]);
        ends[1] = write_end;
    }
    void close_write_end() { close(ends[1]); }
    ~Pipe() { close(ends[0]); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
};

Seen start(const Exec& exec, const Circumstances& circumstances, const Place& place) {
    std::filesystem::resize_file(place.output, 0);
    Pipe report(kReport);
    Pipe ready(kReady);
    const pid_t child = fork();
    if (child == 0) {
        fcntl(kReport, F_SETFD, 0);
        become(exec, circumstances, place);
    }
    report.close_write_end();
    ready.close_write_end();
    send_in_flight(circumstances.signal, child, ready.ends[0]);
    Seen seen{.pid = child, .report = read_to_end(report.ends[0]), .output = {}};
    while (waitpid(child, &seen.wait_status, 0) == -1 && errno == EINTR) {
    }
    seen.output = read_file(place.output);
    return seen;
}

std::string line_of(const std::string& entry) {
    std::string line = "environment ";
    for (const char letter : entry) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(letter));
        line += digits.data();
    }
    return line;
}

// Without what must differ: the process itself, and for an inherited shim its variables.
Strings comparable(const Seen& seen, bool inherits) {
    static const Strings kOurs{line_of("LD_PRELOAD="), line_of("LUME_METAL_"),
                               line_of("METALRUN_SHIM_"), line_of("METALRUN_RECEIPT=")};
    Strings lines = lines_of(seen.report);
    std::erase_if(lines, [&](const std::string& line) {
        return line.starts_with("pid ") ||
               (inherits && std::any_of(kOurs.begin(), kOurs.end(), [&](const std::string& ours) {
                    return line.starts_with(ours);
                }));
    });
    return lines;
}

// Children that inherit see it; for others the shim itself takes it away, once it is loaded.
bool is_injected(const Seen& seen) {
    const auto lines = lines_of(seen.report);
    return std::find(lines.begin(), lines.end(), line_of("LD_PRELOAD=" + programs().shim)) !=
           lines.end();
}

bool is_own_process(const Seen& seen) {
    const auto lines = lines_of(seen.report);
    return !lines.empty() &&
           lines.front() == "pid " + std::to_string(seen.pid) + " " + std::to_string(getpid());
}

std::string first_difference(const Strings& plain, const Strings& other) {
    const auto [a, b] = std::mismatch(plain.begin(), plain.end(), other.begin(), other.end());
    return "plain: " + (a == plain.end() ? "(end)" : *a) +
           "\n  metalrun: " + (b == other.end() ? "(end)" : *b);
}

std::string wait_text(int status) {
    return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                               : "status " + std::to_string(WEXITSTATUS(status));
}

/// What is wrong with the start, or nothing.
std::optional<std::string> difference(const Circumstances& circumstances, const Seen& seen,
                                      const std::optional<Seen>& plain, const Way& way) {
    if (!seen.output.empty()) {
        return "wrote: " + seen.output;
    }
    if (!plain) {
        const bool ended = WIFSIGNALED(seen.wait_status) &&
                           WTERMSIG(seen.wait_status) == circumstances.signal.number;
        return ended ? std::nullopt
                     : std::optional("the signal did not end it: " + wait_text(seen.wait_status));
    }
    if (seen.wait_status != plain->wait_status) {
        return "plain: " + wait_text(plain->wait_status) +
               "\n  metalrun: " + wait_text(seen.wait_status);
    }
    if (!is_own_process(seen) || !is_own_process(*plain)) {
        return "another process than the one that was started, or another parent";
    }
    if (way.inherits && !is_injected(seen)) {
        return "the shim was not inserted";
    }
    const auto expected = comparable(*plain, way.inherits);
    const auto found = comparable(seen, way.inherits);
    return expected == found ? std::nullopt : std::optional(first_difference(expected, found));
}

struct Tally {
    std::vector<unsigned> starts = std::vector<unsigned>(ways().size());
    unsigned in_flight = 0;
    unsigned ended_before = 0; ///< ended by a signal before the observer could tell anything
    unsigned ended_after = 0;
    unsigned differences = 0;
    unsigned leave_a_process = 0;
};

void count_signal(Tally& tally, const Circumstances& circumstances, const Seen& seen) {
    tally.in_flight += circumstances.signal.number != 0 ? 1 : 0;
    if (circumstances.signal.ends) {
        ++(seen.report.empty() ? tally.ended_before : tally.ended_after);
    }
}

// Orphans come to this process: nobody may be left, alive or not.
bool leaves_a_process() {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

struct Run {
    std::uint64_t starts = 1000;
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> only;
};

void try_one(const Run& run, std::uint64_t index, const Place& place, Tally& tally) {
    static const auto kWays = ways();
    const Way& way = kWays[index % kWays.size()];
    const Circumstances circumstances = draw(run.seed, index);
    std::optional<Seen> plain;
    if (!circumstances.signal.ends) {
        plain = start(plain_start(circumstances, place), circumstances, place);
    }
    const Seen seen = start(metalrun_start(circumstances, place, way), circumstances, place);
    ++tally.starts[index % kWays.size()];
    count_signal(tally, circumstances, seen);
    tally.leave_a_process += leaves_a_process() ? 1U : 0U;
    if (run.only) {
        std::printf("--- plain\n%s--- metalrun, %s\n%s", plain ? plain->report.c_str() : "",
                    way.name, seen.report.c_str());
    }
    if (const auto wrong = difference(circumstances, seen, plain, way)) {
        ++tally.differences;
        std::printf("torture: start %llu of seed %llu differs (%s)\n  %s\n",
                    static_cast<unsigned long long>(index),
                    static_cast<unsigned long long>(run.seed), way.name, wrong->c_str());
    }
}

std::uint64_t number_of(const char* text) {
    const std::string_view digits{text};
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
    if (error != std::errc{} || end != digits.end()) {
        throw std::runtime_error("usage: metalrun-torture [STARTS [SEED [INDEX]]]");
    }
    return number;
}

Run parse(int argc, char** argv) {
    Run run;
    run.starts = argc > 1 ? number_of(argv[1]) : run.starts;
    run.seed = argc > 2 ? number_of(argv[2]) : std::random_device{}();
    if (argc > 3) {
        run.only = number_of(argv[3]);
    }
    return run;
}

std::ptrdiff_t count_files(const std::string& folder) {
    return std::distance(std::filesystem::directory_iterator{folder},
                         std::filesystem::directory_iterator{});
}

// Every process is gone, so one `metalrun status` clears every receipt.
bool clears_receipts(const Place& place) {
    const auto before = count_files(place.state);
    auto command = metalrun_command({"status"});
    command.environment.push_back("METALRUN_STATE_DIR=" + place.state);
    constexpr unsigned kTimeLimitSeconds = 120; // for thousands of receipts
    command.before_exec = [] { alarm(kTimeLimitSeconds); };
    const auto outcome = run(command);
    const auto after = count_files(place.state);
    std::printf("torture: %td receipts, %td left after 'metalrun status' (status %d)\n%s", before,
                after, outcome.status(), outcome.err.c_str());
    return after == 0 && outcome.status() == 0;
}

int torture(const Run& run) {
    std::printf("torture: %llu starts, seed %llu\n", static_cast<unsigned long long>(run.starts),
                static_cast<unsigned long long>(run.seed));
    std::fflush(stdout);
    const Place place;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    open_objects(place.folder);
    Tally tally;
    const std::uint64_t first = run.only.value_or(0);
    const std::uint64_t end = run.only ? first + 1 : run.starts;
    for (std::uint64_t index = first; index < end; ++index) {
        try_one(run, index, place, tally);
        std::fflush(stdout);
    }
    const auto all = ways();
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::printf("torture: %u %s\n", tally.starts[i], all[i].name);
    }
    std::printf("torture: %u signals in flight; %u ended a start, %u before the target ran\n"
                "torture: %u differ, %u leave a process\n",
                tally.in_flight, tally.ended_before + tally.ended_after, tally.ended_before,
                tally.differences, tally.leave_a_process);
    const bool cleared = clears_receipts(place);
    return cleared && tally.differences == 0 && tally.leave_a_process == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return torture(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "metalrun-torture: %s\n", error.what());
        return 2;
    }
}
