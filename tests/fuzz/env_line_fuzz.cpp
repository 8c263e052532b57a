// SPDX-License-Identifier: MIT
//
// Any words as what a `#!` line hands to env, one a line, for both kinds of env. The
// variables hold what is worst: strings that -S takes apart into themselves.
#include "fuzz_input.hpp"
#include "target/env_line.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace metalrun;
using tests::require;
using Words = std::vector<std::string>;

std::optional<std::string> variable(const std::string& name) {
    if (name == "A") {
        return "-S${A}${A} ${B}";
    }
    return name == "B" ? std::optional<std::string>("b '") : std::nullopt;
}

Words lines_of(std::string_view text) {
    Words lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

void check(const target::EnvCommand& command) {
    require(!command.words.empty(), "there is a program");
    require(command.words.front().find('=') == std::string::npos, "a program is no assignment");
    bool sets = false;
    std::size_t bytes = 0;
    for (const target::EnvironmentChange& change : command.changes) {
        using Kind = target::EnvironmentChange::Kind;
        require(change.kind != Kind::clear || &change == &command.changes.front(),
                "clearing comes first");
        require((change.kind == Kind::clear) == change.name.empty(), "a change has a name");
        require(change.name.find('=') == std::string::npos, "a name has no '='");
        require(change.kind == Kind::set || !sets, "assignments come last");
        sets = change.kind == Kind::set;
        bytes += change.name.size() + change.value.size();
    }
    for (const std::string& word : command.words) {
        bytes += word.size();
    }
    require(bytes <= 2 * target::kMostEnvBytes, "there is an end to it");
}

void try_kind(const Words& words, target::EnvKind kind) {
    const auto command = target::parse_env_line(words, kind, variable);
    if (!command) {
        require(!command.error().empty(), "a refusal names what it is about");
        return;
    }
    check(*command);
    require(kind == target::EnvKind::bsd || !command->search_path, "GNU has no -P");
    const auto plain = std::ranges::find_if(
        words, [](const std::string& word) { return word.find('=') == std::string::npos; });
    if (!words.empty() && !words.front().starts_with('-')) {
        require(command->words == Words(plain, words.end()), "without options nothing is changed");
    }
    const auto unseen = target::parse_env_line(words, kind, {});
    require(!unseen || (unseen->words == command->words && unseen->changes == command->changes),
            "what asks for no variable does not depend on them");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(as_text(tests::input_bytes(data, size)));
    const Words words = lines_of(text);
    try_kind(words, target::EnvKind::gnu);
    try_kind(words, target::EnvKind::bsd);
    return 0;
}
