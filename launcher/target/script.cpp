// SPDX-License-Identifier: MIT
#include "target/script.hpp"

#include "macho/bytes.hpp"
#include "report/text.hpp"
#include "target/problem.hpp"

#include <algorithm>

namespace metalrun::target {

namespace {

using judge::FindingId;

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kLinuxLine = 256; // linux/binfmts.h BINPRM_BUF_SIZE

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
        const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
        words.emplace_back(line.substr(0, end));
        line.remove_prefix(end);
    }
    return words;
}

judge::Finding too_long(const std::string& script, std::size_t limit) {
    return problem(FindingId::script_line_too_long,
                   text::format("script {} has a first line of more than {} bytes",
                                text::quote(script), limit),
                   {}, "give the interpreter a shorter path");
}

judge::Finding never_ends(const std::string& script) {
    return problem(FindingId::script_without_interpreter_line,
                   text::format("script {} consists of a first line that does not end: macOS "
                                "does not run it",
                                text::quote(script)),
                   {}, "end the first line with a newline");
}

// Both kernels hand over strings, which end at a NUL.
std::string_view up_to_nul(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

// What stands between `#!` and the end of the line, as the kernel sees it.
std::expected<std::string_view, judge::Finding> line_of(const std::string& script,
                                                        std::string_view all, Kernel kernel) {
    if (kernel == Kernel::darwin) {
        const std::size_t end = all.find_first_of("\n#", 2);
        if (end == std::string_view::npos) {
            return std::unexpected(all.size() >= kLongestLine ? too_long(script, kLongestLine)
                                                              : never_ends(script));
        }
        return up_to_nul(all.substr(2, end - 2));
    }
    all = up_to_nul(all.substr(0, kLinuxLine));
    const std::size_t end = all.find('\n');
    const std::string_view line = all.substr(2, std::min(end, all.size()) - 2);
    // The kernel cuts arguments short without a word, but not the interpreter.
    const std::string_view interpreter =
        line.substr(std::min(line.find_first_not_of(kBlanks), line.size()));
    const bool cut = end == std::string_view::npos && all.size() == kLinuxLine &&
                     !interpreter.empty() &&
                     interpreter.find_first_of(kBlanks) == std::string_view::npos;
    if (cut) {
        return std::unexpected(too_long(script, kLinuxLine));
    }
    return line;
}

} // namespace

std::expected<InterpreterLine, judge::Finding> parse_interpreter_line(const std::string& script,
                                                                      Bytes first, Kernel kernel) {
    const auto found = line_of(script, as_text(first).substr(0, kLongestLine), kernel);
    if (!found) {
        return std::unexpected(found.error());
    }
    const std::string_view line = trimmed(*found);
    if (line.empty()) {
        return std::unexpected(problem(
            FindingId::script_without_interpreter_line,
            text::format("script {} names no interpreter in its first line", text::quote(script)),
            {}, "write the interpreter's path behind the '#!'"));
    }
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    InterpreterLine parsed{.interpreter = std::string(line.substr(0, end)),
                           .rest = std::string(trimmed(line.substr(end)))};
    parsed.has_carriage_return = parsed.interpreter.ends_with('\r');
    return parsed;
}

std::vector<std::string> line_words(std::string_view rest, Kernel kernel) {
    if (kernel == Kernel::darwin) {
        return words_of(rest);
    }
    return rest.empty() ? std::vector<std::string>{} : std::vector{std::string(rest)};
}

} // namespace metalrun::target
