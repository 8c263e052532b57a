// SPDX-License-Identifier: MIT
//
// Processes that live while `metalrun status` looks at them.
#pragma once

#include "harness.hpp"

#include <array>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace metalrun::test {

/// A process started through metalrun that is there until this value is gone: its standard input is
/// a pipe that nobody writes to.
class Live {
public:
    Live(const std::string& state, Strings arguments, const Strings& environment = {}) {
        Command command = metalrun_command(std::move(arguments));
        command.environment.push_back("METALRUN_STATE_DIR=" + state);
        command.environment.insert(command.environment.end(), environment.begin(),
                                   environment.end());
        std::vector<char*> argv = pointers(command.arguments);
        std::vector<char*> envp = pointers(command.environment);
        std::array<int, 2> input{};
        std::array<int, 2> output{};
        REQUIRE(pipe2(input.data(), O_CLOEXEC) == 0);
        REQUIRE(pipe2(output.data(), O_CLOEXEC) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            dup2(input[0], STDIN_FILENO);
            dup2(output[1], STDOUT_FILENO);
            execve(command.file.c_str(), argv.data(), envp.data());
            _exit(99);
        }
        close(input[0]);
        close(output[1]);
        input_ = input[1];
        output_ = output[0];
    }
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;
    ~Live() { end(); }

    /// Waits until the target says that it is there.
    [[nodiscard]] bool is_there() const {
        char byte = 0;
        return read(output_, &byte, 1) == 1;
    }
    /// Killed but not waited for.
    void become_zombie() const {
        kill(pid_, SIGKILL);
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    }
    void end() {
        if (pid_ > 0) {
            close(input_);
            close(output_);
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
            pid_ = 0;
        }
    }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] std::string name() const { return std::to_string(pid_) + ".toml"; }

private:
    static std::vector<char*> pointers(Strings& strings) {
        std::vector<char*> result;
        for (auto& string : strings) {
            result.push_back(string.data());
        }
        result.push_back(nullptr);
        return result;
    }

    pid_t pid_ = 0;
    int input_ = -1;
    int output_ = -1;
};

inline Strings stay(Strings options = {"--anywhere"}, const Strings& arguments = {}) {
    options.insert(options.end(), {"-q", "--", target("stay")});
    options.insert(options.end(), arguments.begin(), arguments.end());
    return options;
}

inline Command status_command(const std::string& state, Strings arguments = {}) {
    arguments.insert(arguments.begin(), "status");
    Command command = metalrun_command(std::move(arguments));
    command.environment.push_back("METALRUN_STATE_DIR=" + state);
    return command;
}

inline Outcome status_of(const std::string& state, Strings arguments = {}) {
    return run(status_command(state, std::move(arguments)));
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace metalrun::test
