// SPDX-License-Identifier: MIT
//
// Ollama: the server asks Metal for the memory only and starts an engine, the llama-server beside
// it, which inherits the environment; every other command is a client of the server.
#include "device.hpp"

#include <array>
#include <filesystem>
#include <string_view>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace zoo;

namespace {

constexpr const char* kName = "Ollama";

/// The engine's exit status.
int run_engine() {
    auto engine = std::filesystem::read_symlink("/proc/self/exe").replace_filename("llama-server");
    std::string program = engine.string();
    std::array<std::string, 7> arguments{program, "-r", "1", "-p", "9", "-n", "1"};
    std::array<char*, 8> argv{};
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        argv.at(index) = arguments.at(index).data();
    }
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, program.c_str(), nullptr, nullptr, argv.data(), environ) != 0 ||
        waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return static_cast<int>(Outcome::crash);
    }
    return WEXITSTATUS(status);
}

int serve() {
    const auto devices = default_device();
    if (devices.empty()) {
        return finish(kName, Outcome::no_device, "no GPU, inference compute on the CPU");
    }
    const int status = run_engine();
    return finish(kName, status == 0 ? Outcome::plain : Outcome::crash,
                  "memory = " + number(devices[0].limit("recommendedMaxWorkingSetSize")) +
                      ", the engine ended with " + std::to_string(status));
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view command = argc > 1 ? argv[1] : "help";
    return command == "serve" ? serve()
                              : finish(kName, Outcome::plain, "a client of 127.0.0.1:11434");
}
