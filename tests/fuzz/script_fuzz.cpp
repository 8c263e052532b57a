// SPDX-License-Identifier: MIT
//
// Any bytes as a script whose first line may name an interpreter. The line is read once more here,
// as execve(2) and binfmt_script of Linux read it.
#include "fuzz_input.hpp"
#include "system/fake.hpp"
#include "target/chain.hpp"
#include "target/script.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace metalrun;
using tests::require;

const std::string kScript = "/usr/bin/script";

struct Line {
    std::string_view interpreter;
    std::string_view rest;
};

constexpr std::string_view kBlanks = " \t";

std::string_view from_non_blank(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// Up to the line's end; blanks around both parts do not count.
std::optional<Line> parts_of(std::string_view line) {
    line = from_non_blank(line.substr(0, line.find('\0')));
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    const std::string_view rest = from_non_blank(line.substr(end));
    return line.empty() ? std::nullopt
                        : std::optional(Line{line.substr(0, end),
                                             rest.substr(0, rest.find_last_not_of(kBlanks) + 1)});
}

// 256 bytes are read; an interpreter that fills them may go on.
std::optional<Line> linux_line(std::string_view text) {
    const std::string_view head = text.substr(0, 256);
    const std::size_t end = head.find_first_of(std::string_view("\n\0", 2));
    const auto line = parts_of(head.substr(2, end == std::string_view::npos ? end : end - 2));
    const bool may_go_on = end == std::string_view::npos && head.size() == 256 && line &&
                           line->interpreter.end() == head.end();
    return may_go_on ? std::nullopt : line;
}

// 512 bytes are read, and the line's end must be among them; a '#' is one.
std::optional<Line> darwin_line(std::string_view text) {
    const std::string_view head = text.substr(0, 512);
    const std::size_t end = head.find_first_of("\n#", 2);
    return end == std::string_view::npos ? std::nullopt : parts_of(head.substr(2, end - 2));
}

void add_programs(FakeSystem& system, std::string script) {
    for (const char* program : {"/bin/sh", "/usr/bin/env", "/usr/bin/python3"}) {
        system.add_program(program, "\x7f"
                                    "ELF");
    }
    system.add_program(kScript, std::move(script));
}

void try_kernel(FakeSystem& system, const std::string& text, target::Kernel kernel) {
    const target::SearchPath search{.path = "/usr/bin:/bin", .home = "/home", .kernel = kernel};
    const target::Chain chain = target::resolve(system, "script", search);
    require(chain.image.has_value() != chain.problem.has_value(), "there is an end or a problem");
    require(chain.links.size() <= target::most_scripts(kernel) + 2, "the chain ends");
    static_cast<void>(target::find_way_back(system, chain, {}, search));
    for (const bool elsewhere : {false, true}) {
        static_cast<void>(target::inspect(
            system, kScript, {.path = search.path, .kernel = kernel, .elsewhere = elsewhere}));
    }
    if (!text.starts_with("#!")) {
        return;
    }
    const auto line = target::parse_interpreter_line(
        kScript, std::as_bytes(std::span(text)).first(std::min(text.size(), target::kLongestLine)),
        kernel);
    const auto expected = kernel == target::Kernel::linux ? linux_line(text) : darwin_line(text);
    require(line.has_value() == expected.has_value(), "both find an interpreter or none");
    if (expected) {
        require(line->interpreter == expected->interpreter, "the interpreter is the kernel's");
        require(line->rest == expected->rest, "the arguments are what the kernel hands over");
        require(system.was_asked("stat " + line->interpreter), "the interpreter is looked for");
        for (const std::string& word : target::line_words(line->rest, kernel)) {
            require(!word.empty() && line->rest.find(word) != std::string::npos,
                    "the words are the line's");
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(as_text(tests::input_bytes(data, size)));
    FakeSystem system;
    add_programs(system, text);
    try_kernel(system, text, target::Kernel::linux);
    try_kernel(system, text, target::Kernel::darwin);
    return 0;
}
