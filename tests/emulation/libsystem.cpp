// SPDX-License-Identifier: MIT
//
// See libsystem.hpp.
#include "libsystem.hpp"

#include "darwin.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace emulation {
namespace {

constexpr std::uint64_t kMaxCopy = 0x1'0000;

std::vector<std::byte> bytes_at(const Machine& machine, std::uint64_t address, std::uint64_t size) {
    if (size > kMaxCopy) {
        throw MachineError("a copy of " + std::to_string(size) + " bytes");
    }
    std::vector<std::byte> bytes(size);
    machine.read(address, bytes);
    return bytes;
}

} // namespace

LibSystem::LibSystem(Machine& machine, const std::vector<std::string>& environment,
                     std::string library_path)
    : machine_(machine), library_path_(std::move(library_path)) {
    std::vector<std::uint64_t> entries;
    entries.reserve(environment.size() + 1);
    for (const auto& entry : environment) {
        entries.push_back(machine_.allocate(entry));
    }
    entries.push_back(0);
    environment_ = machine_.allocate(std::as_bytes(std::span(entries)));
    errno_ = machine_.allocate({0});
    export_strings();
    export_memory();
    export_environment();
    export_files();
    export_process();
}

std::vector<std::string> LibSystem::environment() const {
    std::vector<std::string> entries;
    for (auto at = machine_.read_word(environ_); machine_.read_word(at) != 0; at += 8) {
        entries.push_back(machine_.text(machine_.read_word(at)));
    }
    return entries;
}

int LibSystem::guest_errno() const {
    return static_cast<int>(machine_.read_word(errno_));
}

void LibSystem::set_guest_errno(int value) {
    machine_.write_word(errno_, static_cast<std::uint32_t>(value));
}

/// -1 with errno when a call failed. The shim only asks whether errno is 0, so the host's numbers
/// do.
void LibSystem::answer_or_errno(long result) {
    if (result < 0) {
        set_guest_errno(errno);
    }
    machine_.answer(static_cast<std::uint64_t>(result));
}

void LibSystem::export_strings() {
    const auto compare = [](const std::string& one, const std::string& other) {
        return static_cast<std::uint64_t>(std::int64_t{one.compare(other)});
    };
    machine_.export_function("_strlen", [](Machine& m) { m.answer(m.text(m.argument(0)).size()); });
    machine_.export_function("_strcmp", [compare](Machine& m) {
        m.answer(compare(m.text(m.argument(0)), m.text(m.argument(1))));
    });
    machine_.export_function("_strncmp", [compare](Machine& m) {
        const auto size = m.argument(2);
        m.answer(
            compare(m.text(m.argument(0)).substr(0, size), m.text(m.argument(1)).substr(0, size)));
    });
    machine_.export_function("_strspn", [](Machine& m) {
        const auto text = m.text(m.argument(0));
        m.answer(std::min(text.find_first_not_of(m.text(m.argument(1))), text.size()));
    });
    machine_.export_function("_strcspn", [](Machine& m) {
        const auto text = m.text(m.argument(0));
        m.answer(std::min(text.find_first_of(m.text(m.argument(1))), text.size()));
    });
    machine_.export_function("_strchr", [](Machine& m) {
        const auto text = m.text(m.argument(0)) + '\0'; // the null byte can be found too
        const auto found = text.find(static_cast<char>(m.argument(1)));
        m.answer(found == std::string::npos ? 0 : m.argument(0) + found);
    });
    // The compiler makes it of a search in a constant text.
    machine_.export_function("_memchr", [](Machine& m) {
        const auto bytes = bytes_at(m, m.argument(0), m.argument(2));
        const auto found = std::ranges::find(bytes, static_cast<std::byte>(m.argument(1)));
        m.answer(found == bytes.end()
                     ? 0
                     : m.argument(0) + static_cast<std::uint64_t>(found - bytes.begin()));
    });
    machine_.export_function("_strtoull", [this](Machine& m) {
        const auto text = m.text(m.argument(0));
        char* end = nullptr;
        errno = 0;
        const auto value = std::strtoull(text.c_str(), &end, static_cast<int>(m.argument(2)));
        if (errno != 0) {
            set_guest_errno(errno);
        }
        if (m.argument(1) != 0) {
            m.write_word(m.argument(1),
                         m.argument(0) + static_cast<std::uint64_t>(end - text.c_str()));
        }
        m.answer(value);
    });
    const auto print = [this](unsigned format_argument) {
        return [this, format_argument](Machine& m) {
            const auto text = format(m.argument(format_argument), 0);
            const auto room = m.argument(1);
            if (room != 0) {
                const auto cut = text.substr(0, room - 1);
                m.write(m.argument(0), std::as_bytes(std::span(cut.c_str(), cut.size() + 1)));
            }
            m.answer(text.size());
        };
    };
    machine_.export_function("_snprintf", print(2));
    machine_.export_function("___snprintf_chk", print(4));
}

/// The conversions that the shim uses; others are an error, so that none is wrong unnoticed.
std::string LibSystem::format(std::uint64_t text, unsigned first_argument) const {
    const auto pattern = machine_.text(text);
    std::string result;
    unsigned next = first_argument;
    for (std::size_t at = 0; at < pattern.size();) {
        const auto rest = pattern.substr(at);
        const auto value = rest.starts_with('%') ? machine_.variable_argument(next) : 0;
        std::array<char, 32> number{};
        const auto take = [&](const char* conversion) { // also moves on
            at += std::string(conversion).size();
            ++next;
        };
        if (!rest.starts_with('%')) {
            result.push_back(pattern[at++]);
            continue;
        }
        if (rest.starts_with("%s")) {
            result.append(machine_.text(value));
            take("%s");
        } else if (rest.starts_with("%lu")) {
            result.append(std::to_string(value));
            take("%lu");
        } else if (rest.starts_with("%ld")) {
            result.append(std::to_string(static_cast<std::int64_t>(value)));
            take("%ld");
        } else if (rest.starts_with("%c")) {
            result.push_back(static_cast<char>(value));
            take("%c");
        } else if (rest.starts_with("%04x")) {
            std::snprintf(number.data(), number.size(), "%04x", static_cast<unsigned>(value));
            result.append(number.data());
            take("%04x");
        } else {
            throw MachineError("the conversion '" + rest + "' is not known here");
        }
    }
    return result;
}

void LibSystem::export_memory() {
    const auto copy = [](Machine& m) {
        m.write(m.argument(0), bytes_at(m, m.argument(1), m.argument(2)));
        m.answer(m.argument(0));
    };
    for (const auto* name : {"_memcpy", "_memmove", "___memcpy_chk", "___memmove_chk"}) {
        machine_.export_function(name, copy);
    }
    machine_.export_function("_bzero", [](Machine& m) {
        m.write(m.argument(0), std::vector<std::byte>(std::min(m.argument(1), kMaxCopy)));
    });
    machine_.export_function("_memset", [](Machine& m) {
        m.write(m.argument(0), std::vector<std::byte>(std::min(m.argument(2), kMaxCopy),
                                                      static_cast<std::byte>(m.argument(1))));
    });
}

void LibSystem::export_environment() {
    environ_ = machine_.allocate({environment_});
    machine_.export_function("__NSGetEnviron", [this](Machine& m) { m.answer(environ_); });
    machine_.export_function("_getenv", [this](Machine& m) {
        const auto prefix = m.text(m.argument(0)) + "=";
        std::uint64_t value = 0;
        for (auto at = m.read_word(environ_); value == 0 && m.read_word(at) != 0; at += 8) {
            const auto entry = m.read_word(at);
            value = m.text(entry).starts_with(prefix) ? entry + prefix.size() : 0;
        }
        m.answer(value);
    });
}

void LibSystem::export_files() {
    machine_.export_function("_open", [this](Machine& m) {
        const auto flags = open_flags_from_darwin(static_cast<int>(m.argument(1)));
        if (flags < 0 || (flags & O_CREAT) != 0) {
            throw MachineError("open with flags that the shim does not need");
        }
        answer_or_errno(open(m.text(m.argument(0)).c_str(), flags | O_CLOEXEC));
    });
    machine_.export_function(
        "_close", [this](Machine& m) { answer_or_errno(close(static_cast<int>(m.argument(0)))); });
    machine_.export_function("_write", [this](Machine& m) {
        const auto bytes = bytes_at(m, m.argument(1), m.argument(2));
        if (m.argument(0) == STDERR_FILENO) {
            for (const auto byte : bytes) {
                errors_.push_back(static_cast<char>(byte));
            }
            m.answer(bytes.size());
            return;
        }
        answer_or_errno(write(static_cast<int>(m.argument(0)), bytes.data(), bytes.size()));
    });
    machine_.export_function("_fstat", [this](Machine& m) {
        struct stat status{};
        const int result = fstat(static_cast<int>(m.argument(0)), &status);
        m.write(m.argument(1), darwin_stat_of(status));
        answer_or_errno(result);
    });
    machine_.export_function("_stat", [this](Machine& m) {
        struct stat status{};
        const int result = stat(m.text(m.argument(0)).c_str(), &status);
        m.write(m.argument(1), darwin_stat_of(status));
        answer_or_errno(result);
    });
}

void LibSystem::export_process() {
    machine_.export_function("___error", [this](Machine& m) { m.answer(errno_); });
    machine_.export_function("_getpid",
                             [](Machine& m) { m.answer(static_cast<std::uint64_t>(getpid())); });
    machine_.export_function("_geteuid", [](Machine& m) { m.answer(geteuid()); });
    machine_.export_function("_getrlimit", [](Machine& m) {
        if (m.argument(0) != RLIMIT_FSIZE) { // 1 on both systems
            throw MachineError("getrlimit of something else than file sizes");
        }
        constexpr std::uint64_t kInfinity = 0x7fff'ffff'ffff'ffff;
        m.write_word(m.argument(1), kInfinity);
        m.write_word(m.argument(1) + 8, kInfinity);
        m.answer(0);
    });
    const auto path = machine_.allocate(library_path_);
    machine_.export_function("_dladdr", [path](Machine& m) {
        const auto is_known = m.is_in_image(m.argument(0));
        if (is_known) {
            m.write_word(m.argument(1), path);
            m.write_word(m.argument(1) + 8, m.address_of(0));
        }
        m.answer(is_known ? 1 : 0);
    });
    machine_.export_data("___stack_chk_guard", machine_.allocate({0x00a5'c3e1'f00d'1234}));
    machine_.export_function("___stack_chk_fail",
                             [](Machine&) { throw MachineError("the guest overran its stack"); });
    machine_.export_function("dyld_stub_binder",
                             [](Machine&) { throw MachineError("an import was not bound"); });
}

} // namespace emulation
