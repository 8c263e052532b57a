// SPDX-License-Identifier: MIT
#include "torture_circumstances.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <stdexcept>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace metalrun::test {
namespace {

constexpr int kRealTime = 40; // queued: each one sent arrives

class Dice {
public:
    Dice(std::uint64_t seed, std::uint64_t index) : random_(seed * 0x9e3779b97f4a7c15ULL + index) {}

    unsigned below(unsigned count) { return static_cast<unsigned>(random_() % count); }
    bool one_in(unsigned count) { return below(count) == 0; }

    std::string bytes(unsigned longest) {
        std::string text(below(longest + 1), '\0');
        std::generate(text.begin(), text.end(),
                      [this] { return static_cast<char>(1 + below(255)); });
        return text;
    }

    std::string word(std::string_view letters, unsigned longest) {
        std::string text(1 + below(longest), '\0');
        std::generate(text.begin(), text.end(),
                      [&] { return letters[below(static_cast<unsigned>(letters.size()))]; });
        return text;
    }

private:
    std::mt19937_64 random_;
};

Strings draw_arguments(Dice& dice) {
    static const Strings kOptions{"--",    "-p", "--stock",          "--help", "-",    "",
                                  "-n",    "-v", "--family=apple9",  "\n",     "a b",  "check",
                                  "$(id)", "*",  "LD_PRELOAD=/x.so", "=",      "\xff", "%s%n"};
    Strings arguments;
    const unsigned count = dice.one_in(50) ? 500 : dice.below(7);
    for (unsigned i = 0; i < count; ++i) {
        arguments.push_back(dice.one_in(3)
                                ? kOptions[dice.below(static_cast<unsigned>(kOptions.size()))]
                                : dice.bytes(40));
    }
    if (dice.one_in(100)) {
        arguments.emplace_back(60'000, 'x');
    }
    return arguments;
}

Strings draw_environment(Dice& dice) {
    // Real ones, in odd states; others must not mean anything to anybody.
    static const Strings kReal{
        "HOME=",           "HOME=relative/home", "HOME=/nowhere",  "TMPDIR=",
        "TMPDIR=/nowhere", "TERM=dumb",          "NO_COLOR=1",     "LC_ALL=C",
        "LANG=xx_YY.UTF8", "XDG_CONFIG_HOME=x",  "PWD=/elsewhere", "SHLVL=7",
        "PATH=/nowhere",   "_=/usr/bin/true",    "DYLD_X=1",       "METALRUN_X=1"};
    Strings environment;
    const unsigned count = dice.one_in(40) ? 400 : dice.below(12);
    for (unsigned i = 0; i < count; ++i) {
        switch (dice.below(8)) {
        case 0:
            environment.push_back(kReal[dice.below(static_cast<unsigned>(kReal.size()))]);
            break;
        case 1:
            environment.push_back("T" + dice.word("ABC", 2)); // no '='
            break;
        case 2:
            environment.push_back("=" + dice.bytes(8));
            break;
        case 3:
            environment.emplace_back();
            break;
        case 4:
            environment.push_back("T\xff" + dice.word("ABC\xc3\xa9 .-", 6) + "=" + dice.bytes(20));
            break;
        default: // few letters: names repeat
            environment.push_back("T" + dice.word("AB", 2) + "=" + dice.bytes(60));
        }
    }
    return environment;
}

void draw_files(Dice& dice, Circumstances& drawn) {
    const unsigned count = dice.below(6);
    for (unsigned i = 0; i < count; ++i) {
        drawn.files.push_back({.object = static_cast<int>(dice.below(kObjectCount)),
                               .number = static_cast<int>(3 + dice.below(i == 0 ? 3 : 90)),
                               .close_on_exec = dice.one_in(3)});
    }
    for (int fd = 0; fd < 3; ++fd) {
        if (dice.one_in(8)) {
            drawn.closed.push_back(fd);
        }
    }
}

bool has(const std::vector<int>& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// What comes while it is blocked is taken by the observer; what is ignored changes nothing; what
// is neither ends it wherever it is.
void draw_in_flight(Dice& dice, Circumstances& drawn) {
    static constexpr std::array<int, 8> kNumbers{SIGTERM, SIGHUP,  SIGUSR1,   SIGINT,
                                                 SIGQUIT, SIGPIPE, kRealTime, SIGCONT};
    InFlight& signal = drawn.signal;
    signal.number = kNumbers[dice.below(kNumbers.size())];
    static constexpr std::array<unsigned, 3> kDelays{400, 3000, 9000};
    signal.delay_us = dice.below(kDelays[dice.below(kDelays.size())]);
    signal.count = signal.number == kRealTime ? 3 : 1;
    const bool ignored = has(drawn.ignored, signal.number) || signal.number == SIGCONT;
    if (signal.number == SIGCONT) {
        std::erase(drawn.pending, SIGTTOU); // it takes pending stops away
    }
    if (signal.number != SIGCONT && dice.one_in(2)) {
        drawn.blocked.push_back(signal.number);
        std::erase(drawn.ignored, signal.number);
        std::erase(drawn.pending, signal.number);
        drawn.action = "take:" + std::to_string(signal.number) + ":" + std::to_string(signal.count);
        return;
    }
    // Blocked, it would be pending or not yet when the observer looks.
    std::erase(drawn.blocked, signal.number);
    std::erase(drawn.pending, signal.number);
    if (ignored) {
        drawn.action = "exit:" + std::to_string(dice.below(256));
    } else {
        signal.from_fork_on = dice.one_in(2);
        signal.ends = true;
        drawn.action = "wait";
    }
}

void draw_signals(Dice& dice, Circumstances& drawn) {
    static constexpr std::array<int, 12> kNumbers{SIGHUP,  SIGINT,  SIGQUIT,  SIGUSR1,
                                                  SIGPIPE, SIGALRM, SIGTERM,  SIGCHLD,
                                                  SIGTTOU, SIGXFSZ, SIGWINCH, kRealTime};
    for (const int number : kNumbers) {
        if (dice.one_in(6)) {
            drawn.blocked.push_back(number);
            if (dice.one_in(3)) {
                drawn.pending.push_back(number);
            }
        }
        if (dice.one_in(8)) {
            drawn.ignored.push_back(number);
        }
    }
    if (dice.one_in(4)) {
        draw_in_flight(dice, drawn);
        return;
    }
    static constexpr std::array<int, 6> kDeaths{SIGTERM, SIGSEGV, SIGKILL,
                                                SIGABRT, SIGPIPE, SIGUSR2};
    drawn.action = dice.one_in(4) ? "raise:" + std::to_string(kDeaths[dice.below(kDeaths.size())])
                                  : "exit:" + std::to_string(dice.below(256));
}

void draw_limits(Dice& dice, Circumstances& drawn) {
    const auto set = [&](int kind, rlim_t soft, rlim_t hard) {
        drawn.limits.emplace_back(kind, rlimit{.rlim_cur = soft, .rlim_max = hard});
    };
    constexpr rlim_t kMega = 1U << 20U;
    set(RLIMIT_CORE, 0, 0);
    if (is_sanitized()) {
        return;
    }
    if (dice.one_in(3)) {
        set(RLIMIT_NOFILE, 110 + dice.below(100), 300);
    }
    if (dice.one_in(6)) {
        set(RLIMIT_STACK, kMega * (1 + dice.below(8)), RLIM_INFINITY);
    }
    if (dice.one_in(6)) {
        set(RLIMIT_FSIZE, dice.one_in(2) ? 0 : dice.below(2000), RLIM_INFINITY);
    }
    if (dice.one_in(6)) {
        set(RLIMIT_AS, kMega * (100 + dice.below(500)), RLIM_INFINITY);
    }
    if (dice.one_in(6)) {
        set(RLIMIT_CPU, 1000 + dice.below(1000), RLIM_INFINITY);
    }
}

// An exec'ed program must not find what only this run has.
void close_the_rest() {
    for (int fd = 3; fd < kObjects + kObjectCount; ++fd) {
        if (fd != kReport) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }
}

void arrange_files(const Circumstances& circumstances) {
    close_the_rest();
    for (const OpenFile& file : circumstances.files) {
        dup3(kObjects + file.object, file.number, file.close_on_exec ? O_CLOEXEC : 0);
    }
    for (const int fd : circumstances.closed) {
        close(fd);
    }
}

void arrange_signals(const Circumstances& circumstances) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : circumstances.blocked) {
        sigaddset(&blocked, number);
    }
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
    for (const int number : circumstances.ignored) {
        std::signal(number, SIG_IGN);
    }
    for (const int number : circumstances.pending) {
        std::raise(number);
    }
}

void arrange_children(int count) {
    for (int i = 0; i < count; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(40 + i);
        }
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    }
}

void enter_folder(unsigned index, const Strings& folders) {
    if (index < folders.size()) {
        [[maybe_unused]] const int entered = chdir(folders[index].c_str());
        return;
    }
    const std::string doomed = folders.front() + "/doomed";
    mkdir(doomed.c_str(), 0700);
    [[maybe_unused]] const int entered = chdir(doomed.c_str());
    rmdir(doomed.c_str());
}

} // namespace

Circumstances draw(std::uint64_t seed, std::uint64_t index) {
    Dice dice(seed, index);
    Circumstances drawn;
    drawn.naming = dice.one_in(2) ? Naming::by_path : static_cast<Naming>(dice.below(4));
    drawn.arguments = draw_arguments(dice);
    drawn.environment = draw_environment(dice);
    draw_files(dice, drawn);
    draw_signals(dice, drawn);
    draw_limits(dice, drawn);
    static constexpr std::array<unsigned, 6> kMasks{0, 022, 027, 077, 0137, 0777};
    drawn.umask = kMasks[dice.below(kMasks.size())];
    drawn.folder = dice.below(4);
    drawn.zombies = dice.one_in(8) && !drawn.signal.ends ? static_cast<int>(1 + dice.below(2)) : 0;
    drawn.nice = dice.one_in(6) ? static_cast<int>(dice.below(3)) : 0;
    drawn.own_group = dice.one_in(4);
    drawn.own_session = dice.one_in(6);
    drawn.no_new_rights = dice.one_in(6);
    drawn.timer = dice.one_in(6);
    return drawn;
}

void open_objects(const TempFolder& folder) {
    const auto file = folder.write("object", std::string(100, 'o'));
    std::array<int, 2> ends{};
    std::array<int, 2> pair{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        throw std::runtime_error("cannot make a pipe or socket");
    }
    const std::array<int, kObjectCount> objects{open(file.c_str(), O_RDWR | O_CLOEXEC),
                                                open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC),
                                                open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                                open("/dev/null", O_RDWR | O_CLOEXEC),
                                                ends[0],
                                                ends[1],
                                                pair[0]};
    lseek(objects[0], 17, SEEK_SET);
    for (int i = 0; i < kObjectCount; ++i) {
        if (dup3(objects.at(static_cast<std::size_t>(i)), kObjects + i, O_CLOEXEC) == -1) {
            throw std::runtime_error("cannot place a descriptor");
        }
    }
}

void arrange(const Circumstances& circumstances, const Strings& folders) {
    enter_folder(circumstances.folder, folders);
    arrange_children(circumstances.zombies);
    umask(circumstances.umask);
    if (circumstances.own_session) {
        setsid();
    } else if (circumstances.own_group) {
        setpgid(0, 0);
    }
    setpriority(PRIO_PROCESS, 0, circumstances.nice);
    if (circumstances.no_new_rights) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_TIMERSLACK, 77'000, 0, 0, 0);
    }
    if (circumstances.timer) {
        constexpr time_t kNeverReached = 5050;
        const itimerval timer{.it_interval = {},
                              .it_value = {.tv_sec = kNeverReached, .tv_usec = 0}};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    arrange_files(circumstances);
    for (const auto& [kind, limit] : circumstances.limits) {
        setrlimit(static_cast<__rlimit_resource>(kind), &limit);
    }
    arrange_signals(circumstances);
}

} // namespace metalrun::test
