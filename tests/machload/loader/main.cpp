// SPDX-License-Identifier: MIT
//
// machload: runs a Mach-O program on Linux, for tests. The program's processor must be this one;
// the loader itself may run in an emulator.
//
//   machload [--runner EMULATOR] [--loader FILE] [--trace FILE] [--argv0 NAME] PROGRAM [ARGUMENT…]
//
// --runner and --loader say how it starts itself again when the program execs another one; --trace
// names a file that gets the path, arguments and environment of each exec. The
// environment is the program's, untouched; DYLD_INSERT_LIBRARIES is honoured. What it cannot show
// is listed in the README.
#include "images.hpp"
#include "imports.hpp"
#include "libsystem.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

using machload::LoadedImage;

constexpr int kFailed = 120; // no status of the programs that the tests run

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "machload: %s\n", message.c_str());
    _exit(kFailed);
}

/// What dyld says and does.
[[noreturn]] void fail_to_insert(const std::string& path, const std::string& message) {
    std::fprintf(stderr,
                 "dyld[%d]: terminating because inserted dylib '%s' could not be loaded: %s\n",
                 getpid(), path.c_str(), message.c_str());
    std::abort();
}

/// Takes the options off; the path of the program is left first.
std::span<char*> read_options(std::span<char*> arguments) {
    static char self[PATH_MAX];
    if (readlink("/proc/self/exe", self, sizeof self - 1) > 0) {
        machload_reentry.loader = self;
    }
    char* name = nullptr;
    arguments = arguments.subspan(1);
    while (arguments.size() >= 2) {
        const std::string_view option(arguments[0]);
        if (option == "--runner") {
            machload_reentry.runner = arguments[1];
        } else if (option == "--loader") {
            machload_reentry.loader = arguments[1];
        } else if (option == "--trace") {
            machload_reentry.trace = arguments[1];
        } else if (option == "--argv0") {
            name = arguments[1];
        } else {
            break;
        }
        arguments = arguments.subspan(2);
    }
    if (arguments.empty()) {
        fail("usage: machload [--runner EMULATOR] [--loader FILE] [--trace FILE] [--argv0 NAME] "
             "PROGRAM [ARGUMENT…]");
    }
    machload_reentry.executable = arguments[0];
    machload_reentry.cpu = static_cast<std::uint32_t>(machload::kCpu);
    if (name != nullptr) {
        arguments[0] = name;
    }
    return arguments;
}

void load_inserted() {
    const char* variable = std::getenv("DYLD_INSERT_LIBRARIES");
    std::string_view left(variable != nullptr ? variable : "");
    while (!left.empty()) {
        const std::string path(left.substr(0, left.find(':')));
        left.remove_prefix(std::min(left.size(), path.size() + 1));
        if (path.empty()) {
            continue;
        }
        const auto image = machload::load_image(path);
        if (!image) {
            fail_to_insert(path, image.error());
        }
    }
}

using Initialiser = void(int, char**, char**, char**);
using Main = int(int, char**, char**, char**);

} // namespace

int main(int count, char** values) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic)
    const auto arguments = read_options({values, static_cast<std::size_t>(count)});
    const std::string path(machload_reentry.executable);
    std::string apple_path = "executable_path=" + path;
    char* apple[] = {apple_path.data(), nullptr};

    load_inserted(); // first, so that their initialisers run first
    const auto program = machload::load_image(path);
    if (!program) {
        fail(program.error());
    }
    if (!(*program)->image.entry) {
        fail(path + " is no program");
    }
    const auto argument_count = static_cast<int>(arguments.size());
    for (const auto* image : std::vector(machload::loaded_images())) {
        for (const auto initialiser : image->image.initialisers) {
            machload::function_at<Initialiser>(image->address + initialiser)(
                argument_count, arguments.data(), environ, apple);
        }
    }
    auto* entry = machload::function_at<Main>((*program)->address + *(*program)->image.entry);
    std::exit(entry(argument_count, arguments.data(), environ, apple));
}
