// SPDX-License-Identifier: MIT
//
// See harness.hpp. The output goes to unlinked temporary files, so nothing can fill up or block.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace metalrun::test {
namespace {

constexpr int kLastDescriptor = 1024;
constexpr unsigned kTimeLimitSeconds = 20;

struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

File make_unlinked_file() {
    File file{std::tmpfile()};
    if (!file) {
        throw std::runtime_error("cannot make a temporary file");
    }
    return file;
}

std::string read_all(FILE* file) {
    std::string text;
    std::array<char, 4096> buffer{};
    std::rewind(file);
    while (const auto count = std::fread(buffer.data(), 1, buffer.size(), file)) {
        text.append(buffer.data(), count);
    }
    return text;
}

std::vector<char*> pointers(const Strings& strings) {
    std::vector<char*> result;
    for (const auto& string : strings) {
        result.push_back(
            const_cast<char*>(string.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }
    result.push_back(nullptr);
    return result;
}

/// Everything above 2 closes at exec, except the numbers asked for.
void arrange_descriptors(const std::vector<int>& wanted) {
    for (int fd = 3; fd < kLastDescriptor; ++fd) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags != -1) {
            fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
        }
    }
    for (const int number : wanted) {
        const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd == number) {
            fcntl(fd, F_SETFD, 0);
        } else {
            dup2(fd, number);
            close(fd);
        }
    }
}

[[noreturn]] void become(const Command& command, const Strings& texts, int error_pipe) {
    const auto argv = pointers(command.arguments);
    const auto envp = pointers(command.environment);
    if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) {
        std::_Exit(125);
    }
    arrange_descriptors(command.descriptors);
    // Survives exec: what never ends is a failure, not a test run without end.
    alarm(kTimeLimitSeconds);
    if (command.before_exec) {
        command.before_exec();
    }
    execve(texts[0].c_str(), argv.data(), envp.data());
    const int error = errno;
    const auto written = write(error_pipe, &error, sizeof error);
    std::_Exit(written == sizeof error ? 125 : 124);
}

int from_hex(char digit) {
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

std::string unhex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<char>(from_hex(text[i]) * 16 + from_hex(text[i + 1])));
    }
    return bytes;
}

int to_int(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string environment_or(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != 0 ? value : otherwise;
}

} // namespace

const Programs& programs() {
    static const Programs kPrograms{
        .metalrun = environment_or("METALRUN_TEST_PROGRAM", METALRUN_PROGRAM),
        .shim = METALRUN_SHIM,
        .probe = METALRUN_PROBE,
        .standin = METALRUN_STANDIN,
        .simulated_metal = METALRUN_SIMMETAL,
        .targets = METALRUN_TARGETS,
    };
    return kPrograms;
}

std::string target(std::string_view name) {
    return programs().targets + "/" + std::string{name};
}

bool is_sanitized() {
    return METALRUN_SANITIZED != 0;
}

Strings base_environment() {
    Strings environment{"PATH=/usr/bin:/bin"};
    if (is_sanitized()) {
        environment.emplace_back(
            "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:"
            "handle_sigbus=0:handle_sigfpe=0");
        environment.emplace_back("UBSAN_OPTIONS=print_stacktrace=1");
    }
    return environment;
}

int Outcome::status() const {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

int Outcome::signal() const {
    return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

Outcome run(const Command& command) {
    const auto input = make_unlinked_file();
    const auto out = make_unlinked_file();
    const auto err = make_unlinked_file();
    std::fwrite(command.input.data(), 1, command.input.size(), input.get());
    std::fflush(input.get());
    std::rewind(input.get());
    std::array<int, 2> error_pipe{};
    if (pipe2(error_pipe.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("cannot make a pipe");
    }
    const Strings texts{command.file.empty() ? command.arguments.at(0) : command.file};
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fileno(input.get()), STDIN_FILENO);
        dup2(fileno(out.get()), STDOUT_FILENO);
        dup2(fileno(err.get()), STDERR_FILENO);
        become(command, texts, error_pipe[1]);
    }
    close(error_pipe[1]);
    int error = 0;
    const auto count = read(error_pipe[0], &error, sizeof error);
    close(error_pipe[0]);
    Outcome outcome{.pid = child, .wait_status = 0, .out = {}, .err = {}};
    while (waitpid(child, &outcome.wait_status, 0) == -1 && errno == EINTR) {
    }
    if (count == sizeof error) {
        throw std::runtime_error("cannot start " + texts[0] + ": " + std::strerror(error));
    }
    outcome.out = read_all(out.get());
    outcome.err = read_all(err.get());
    return outcome;
}

Command metalrun_command(Strings arguments) {
    Command command;
    command.file = programs().metalrun;
    command.arguments = std::move(arguments);
    command.arguments.insert(command.arguments.begin(), "metalrun");
    return command;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

Strings lines_of(std::string_view text) {
    Strings lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string read_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

bool exists(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0;
}

std::optional<std::string> value_of(const Strings& environment, std::string_view name) {
    for (const std::string_view entry : environment) {
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
            return std::string{entry.substr(name.size() + 1)};
        }
    }
    return std::nullopt;
}

Strings without(const Strings& environment, const Strings& names) {
    Strings result;
    for (const auto& entry : environment) {
        const auto name = entry.substr(0, entry.find('='));
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            result.push_back(entry);
        }
    }
    return result;
}

TempFolder::TempFolder() {
    path_ = environment_or("TMPDIR", "/tmp") + "/metalrun-test-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) {
        throw std::runtime_error("cannot make " + path_);
    }
    path_ = std::filesystem::canonical(path_).string();
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::operator/(std::string_view name) const {
    return path_ + "/" + std::string{name};
}

std::string TempFolder::write(std::string_view name, std::string_view bytes, mode_t mode) const {
    const auto path = *this / name;
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    {
        std::ofstream file{path, std::ios::binary | std::ios::trunc};
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        if (!file.flush()) {
            throw std::runtime_error("cannot write " + path);
        }
    }
    chmod(path.c_str(), mode);
    return path;
}

std::string TempFolder::copy(const std::string& source, std::string_view name, mode_t mode) const {
    return write(name, read_file(source), mode);
}

std::string TempFolder::make_folder(std::string_view name, mode_t mode) const {
    const auto path = *this / name;
    std::filesystem::create_directories(path);
    chmod(path.c_str(), mode);
    return path;
}

std::string TempFolder::make_link(const std::string& destination, std::string_view name) const {
    const auto path = *this / name;
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::filesystem::create_symlink(destination, path);
    return path;
}

bool Report::has_library(const std::string& path) const {
    return std::find(libraries.begin(), libraries.end(), path) != libraries.end();
}

Report parse_report(const std::string& text) {
    Report report;
    for (const auto& line : lines_of(text)) {
        const auto blank = line.find(' ');
        const auto key = line.substr(0, blank);
        const auto value = blank == std::string::npos ? std::string{} : line.substr(blank + 1);
        if (key == "pid") {
            report.pid = to_int(value);
        } else if (key == "ppid") {
            report.ppid = to_int(value);
        } else if (key == "cwd") {
            report.cwd = unhex(value);
        } else if (key == "exe") {
            report.exe = unhex(value);
        } else if (key == "argument") {
            report.arguments.push_back(unhex(value));
        } else if (key == "environment") {
            report.environment.push_back(unhex(value));
        } else if (key == "library") {
            report.libraries.push_back(unhex(value));
        } else if (key == "descriptor") {
            report.descriptors.push_back(to_int(value));
        } else if (key == "blocked") {
            report.blocked.push_back(to_int(value));
        } else if (key == "ignored") {
            report.ignored.push_back(to_int(value));
        } else if (key == "handled") {
            report.handled.push_back(to_int(value));
        } else {
            report.others.push_back(line);
        }
    }
    return report;
}

Shown run_show(const TempFolder& folder, Command command) {
    // A test that gives an environment of its own needs this too.
    if (is_sanitized() && !value_of(command.environment, "ASAN_OPTIONS")) {
        command.environment.push_back(base_environment().at(1));
    }
    const auto report = folder / "show-report";
    std::filesystem::remove(report);
    command.environment.push_back("SHOW_REPORT=" + report);
    Shown shown{.outcome = run(command), .report = std::nullopt, .given = command.environment};
    if (exists(report)) {
        shown.report = parse_report(read_file(report));
    }
    return shown;
}

std::string family_of(const Shown& shown) {
    return shown.report
               ? value_of(shown.report->environment, "LUME_METAL_APPLE_FAMILY_MAX").value_or("none")
               : "not started: " + shown.outcome.err;
}

Command start_file(const std::string& path, Strings arguments, const std::string& search_path) {
    Command command;
    command.arguments = std::move(arguments);
    command.arguments.insert(command.arguments.begin(), path);
    command.environment = base_environment();
    command.environment[0] = "PATH=" + search_path;
    return command;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

std::string with_machine(std::string elf, unsigned machine) {
    elf.at(18) = static_cast<char>(machine & 0xff);
    elf.at(19) = static_cast<char>(machine >> 8);
    return elf;
}

unsigned foreign_machine() {
    constexpr unsigned kX86_64 = 62;
    constexpr unsigned kAarch64 = 183;
    const auto elf = read_file("/proc/self/exe");
    return static_cast<unsigned char>(elf.at(18)) == kAarch64 ? kX86_64 : kAarch64;
}

std::string with_class_32(std::string elf) {
    elf.at(4) = 1;
    return with_machine(std::move(elf), 3);
}

std::string printed(const Strings& strings) {
    std::string text = "[";
    for (const auto& string : strings) {
        text += text.size() > 1 ? ", '" : "'";
        for (const char byte : string.substr(0, 300)) {
            std::array<char, 8> escaped{};
            const auto value = static_cast<unsigned>(static_cast<unsigned char>(byte));
            std::snprintf(escaped.data(), escaped.size(),
                          value < 32 || value > 126 ? "\\x%02x" : "%c", value);
            text += escaped.data();
        }
        text += "'";
    }
    return text + "]";
}

std::string printed(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : " ") + std::to_string(number);
    }
    return "[" + text + "]";
}

bool needs_root(std::string_view what) {
    if (geteuid() == 0) {
        return true;
    }
    MESSAGE("skipped, needs root: ", what);
    return false;
}

} // namespace metalrun::test
