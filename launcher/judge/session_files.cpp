// SPDX-License-Identifier: MIT
#include "judge/session_files.hpp"

#include "macho/property_list.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace metalrun::doctor {

namespace {

using Words = std::vector<std::string>;

bool is_name(std::string_view word) {
    const auto is_part = [](char c) {
        return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               (c >= '0' && c <= '9');
    };
    return !word.empty() && std::ranges::all_of(word, is_part);
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1); // npos + 1 is 0
}

// Cuts one line into statements of words. Quotes end at the line's end.
class LineCutter {
public:
    explicit LineCutter(std::string_view line) : line_(line) {}

    std::vector<Words> cut() {
        for (at_ = 0; at_ < line_.size(); ++at_) {
            if (!take(line_.at(at_))) {
                break;
            }
        }
        end_statement();
        return std::move(statements_);
    }

private:
    // False at a comment.
    bool take(char c) {
        if (quote_ != 0) {
            take_quoted(c);
            return true;
        }
        switch (c) {
        case '\'':
        case '"':
            quote_ = c;
            in_word_ = true;
            return true;
        case '\\':
            take_escaped();
            return true;
        case ' ':
        case '\t':
        case '\r':
            end_word();
            return true;
        case ';':
        case '&':
        case '|':
        case '(':
        case ')':
        case '`':
            end_statement();
            return true;
        case '#':
            if (!in_word_) {
                return false;
            }
            break;
        default:
            break;
        }
        word_ += c;
        in_word_ = true;
        return true;
    }

    void take_quoted(char c) {
        if (c == quote_) {
            quote_ = 0;
        } else if (c == '\\' && quote_ == '"') {
            take_escaped();
        } else {
            word_ += c;
        }
    }

    void take_escaped() {
        if (at_ + 1 < line_.size()) {
            ++at_;
            word_ += line_.at(at_);
            in_word_ = true;
        }
    }

    void end_word() {
        if (in_word_) {
            words_.push_back(std::move(word_));
        }
        word_.clear();
        in_word_ = false;
    }

    void end_statement() {
        end_word();
        if (!words_.empty()) {
            statements_.push_back(std::move(words_));
        }
        words_.clear();
    }

    std::string_view line_;
    std::size_t at_ = 0;
    char quote_ = 0;
    bool in_word_ = false;
    std::string word_;
    Words words_;
    std::vector<Words> statements_;
};

struct Setting {
    std::string name;
    SetBy by = SetBy::exported;
};

// NAME=VALUE with a value, or, for `bare`, NAME alone.
enum class Bare : std::uint8_t { no, yes };

void take_assignments(std::span<const std::string> words, SetBy by, Bare bare,
                      std::vector<Setting>& into) {
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const bool has_value = equals != std::string::npos && equals + 1 < word.size();
        if (is_watched_variable(name) && is_name(name) &&
            (has_value || (bare == Bare::yes && equals == std::string::npos))) {
            into.push_back({name, by});
        }
    }
}

// `NAME VALUE`.
void take_pair(std::span<const std::string> words, SetBy by, std::vector<Setting>& into) {
    if (words.size() > 1 && is_watched_variable(words.front()) && is_name(words.front()) &&
        !words[1].empty()) {
        into.push_back({words.front(), by});
    }
}

// Options before the first other word; true if one of them has the letter or is the long word.
bool take_options(std::span<const std::string>& words, char letter, std::string_view long_word) {
    bool found = false;
    while (!words.empty() && words.front().size() > 1 && words.front().front() == '-') {
        const std::string& option = words.front();
        found = found || (option.starts_with("--") ? option == long_word
                                                   : option.find(letter) != std::string::npos);
        words = words.subspan(1);
    }
    return found;
}

bool is_prefix(std::string_view word) {
    static constexpr std::array<std::string_view, 15> kPrefixes{
        "then", "else",    "elif",    "do",     "if",   "while", "until", "!",
        "{",    "builtin", "command", "noglob", "sudo", "begin", "and"};
    return std::ranges::find(kPrefixes, word) != kPrefixes.end();
}

bool is_assignment(const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals != std::string::npos && is_name(std::string_view(word).substr(0, equals));
}

void read_statement(std::span<const std::string> words, std::vector<Setting>& into) {
    while (!words.empty() && is_prefix(words.front())) {
        words = words.subspan(1);
    }
    if (words.empty()) {
        return;
    }
    if (std::ranges::all_of(words, is_assignment)) {
        take_assignments(words, SetBy::assigned, Bare::no, into);
        return;
    }
    const std::string_view verb = base_name(words.front());
    words = words.subspan(1);
    if (verb == "export") {
        if (!take_options(words, 'n', "")) {
            take_assignments(words, SetBy::exported, Bare::yes, into);
        }
    } else if (verb == "typeset" || verb == "declare") {
        if (take_options(words, 'x', "")) {
            take_assignments(words, SetBy::exported, Bare::yes, into);
        }
    } else if (verb == "set") {
        if (take_options(words, 'x', "--export")) {
            take_pair(words, SetBy::exported, into);
        }
    } else if (verb == "setenv") {
        take_pair(words, SetBy::exported, into);
    } else if (verb == "launchctl" && !words.empty() && words.front() == "setenv") {
        take_pair(words.subspan(1), SetBy::launchctl, into);
    }
}

std::vector<Setting> read_line(std::string_view line) {
    std::vector<Setting> settings;
    for (const Words& statement : LineCutter(line).cut()) {
        read_statement(statement, settings);
    }
    return settings;
}

const macho::PropertyEntry* find_entry(const macho::PropertyEntries& entries,
                                       std::string_view key) {
    const auto found = std::ranges::find(entries, key, &macho::PropertyEntry::key);
    return found == entries.end() ? nullptr : &*found;
}

std::string text_of(const macho::PropertyEntry* entry) {
    return entry != nullptr && entry->kind == macho::PropertyEntry::Kind::text ? entry->text
                                                                               : std::string{};
}

// The program's own words, and those of a script that is handed to a shell as one of them.
std::vector<std::string> session_variables(const macho::PropertyEntries& entries) {
    Words words;
    if (const auto* const arguments = find_entry(entries, "ProgramArguments");
        arguments != nullptr) {
        for (const macho::PropertyEntry& argument : arguments->entries) {
            words.push_back(text_of(&argument));
        }
    }
    const std::string program = text_of(find_entry(entries, "Program"));
    if (!program.empty()) {
        words.resize(std::max<std::size_t>(words.size(), 1));
        words.front() = program;
    }
    std::vector<Setting> settings;
    read_statement(words, settings);
    for (const std::string& word : words) {
        for (const SetLine& line : scan_shell_file(word)) {
            settings.push_back({line.name, line.by});
        }
    }
    std::vector<std::string> names;
    for (Setting& setting : settings) {
        if (setting.by == SetBy::launchctl) {
            names.push_back(std::move(setting.name));
        }
    }
    return names;
}

} // namespace

bool is_watched_variable(std::string_view name) {
    return name.starts_with("DYLD_") || name == "LD_PRELOAD" || name.starts_with("LUME_METAL_");
}

std::vector<SetLine> scan_shell_file(std::string_view text) {
    std::vector<SetLine> found;
    bool was_continued = false;
    for (std::size_t number = 1; !text.empty() && found.size() < kMostSetLines; ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const bool continues = line.ends_with('\\') || line.ends_with("\\\r");
        for (Setting& setting : read_line(line)) {
            if (found.size() < kMostSetLines) {
                found.push_back({.line = number,
                                 .name = std::move(setting.name),
                                 .by = setting.by,
                                 .continued = continues || was_continued});
            }
        }
        was_continued = continues;
    }
    return found;
}

std::expected<LaunchJob, std::string> read_launch_job(Bytes content) {
    const auto entries = macho::parse_property_list(content, "its properties", macho::Levels::two);
    if (!entries) {
        return std::unexpected(entries.error().message);
    }
    LaunchJob job{.label = text_of(find_entry(*entries, "Label"))};
    if (const auto* const variables = find_entry(*entries, "EnvironmentVariables");
        variables != nullptr) {
        for (const macho::PropertyEntry& variable : variables->entries) {
            if (is_watched_variable(variable.key) && !text_of(&variable).empty()) {
                job.own.push_back(variable.key);
            }
        }
    }
    job.session = session_variables(*entries);
    return job;
}

} // namespace metalrun::doctor
