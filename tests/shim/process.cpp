// SPDX-License-Identifier: MIT
//
// See process.hpp. Outputs go to files, so that nothing waits on a pipe.
#include "process.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>
#include <string_view>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shim_test {
namespace {

std::vector<char*> pointers_to(Strings& strings) {
    std::vector<char*> pointers;
    for (auto& text : strings) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

[[noreturn]] void become(const Command& command, const std::string& out, const std::string& err) {
    Strings arguments = command.arguments;
    Strings environment = command.environment;
    const auto preload = preload_value(command.preload);
    if (!preload.empty()) {
        environment.push_back("LD_PRELOAD=" + preload);
    }
    environment.emplace_back("ASAN_OPTIONS=detect_leaks=0"); // the runtime's own classes
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out_file < 0 || err_file < 0 || dup2(out_file, STDOUT_FILENO) < 0 ||
        dup2(err_file, STDERR_FILENO) < 0) {
        _exit(99);
    }
    if (command.before_exec) {
        command.before_exec();
    }
    execve(arguments[0].c_str(), pointers_to(arguments).data(), pointers_to(environment).data());
    _exit(99);
}

} // namespace

Outcome run(const Command& command) {
    const Folder folder;
    const auto out = folder / "out";
    const auto err = folder / "err";
    static_cast<void>(std::fflush(stdout));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        become(command, out, err);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_file(out),
            .err = read_file(err),
            .pid = child};
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string preload_value(const Strings& libraries) {
    std::string value = FIRST_PRELOAD;
    for (const auto& library : libraries) {
        value.append(value.empty() ? "" : ":").append(library);
    }
    return value;
}

std::string events_in(const std::string& receipt) {
    std::string events;
    for (const auto part : std::views::split(receipt, '\n')) {
        const std::string_view line(part.begin(), part.end());
        const auto quoted = line.substr(0, line.size() - (line.ends_with('"') ? 1 : 0));
        if (line.starts_with("state = \"")) {
            events.append(events.empty() ? "" : ", ").append(quoted.substr(9));
        } else if (line.starts_with("reason = \"")) {
            events.append(": ").append(quoted.substr(10));
        }
    }
    return events;
}

Folder::Folder() {
    auto name = (std::filesystem::temp_directory_path() / "metalrun-shim-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string Folder::make_receipt() const {
    const auto path = *this / "receipt.toml";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    close(file);
    return path;
}

} // namespace shim_test
