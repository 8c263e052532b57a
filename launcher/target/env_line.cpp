// SPDX-License-Identifier: MIT
#include "target/env_line.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace metalrun::target {

namespace {

using Words = std::vector<std::string>;
using Kind = EnvironmentChange::Kind;

constexpr std::string_view kSpaces = " \t\n\v\f\r"; // isspace(3) of the C locale
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";

bool is_one_of(std::string_view set, char character) {
    return set.find(character) != std::string_view::npos;
}

enum class Step : std::uint8_t { go_on, end, invalid };

// Takes the string behind `-S` apart, a character at a time.
class Splitter {
public:
    Splitter(std::string_view text, EnvKind kind, const VariableLookup& variable)
        : rest_(text), kind_(kind), variable_(variable) {}

    // Nothing: env refuses the string, or it cannot be told what it comes to.
    std::optional<Words> split() {
        Step step = Step::go_on;
        while (step == Step::go_on && !rest_.empty() && bytes_ <= kMostEnvBytes) {
            step = take();
        }
        const bool whole = step != Step::invalid && quote_ == 0 && bytes_ <= kMostEnvBytes;
        return whole ? std::optional(std::move(words_)) : std::nullopt;
    }

private:
    Step take() {
        const char next = rest_.front();
        rest_.remove_prefix(1);
        if (quote_ == 0 && is_one_of(kSpaces, next)) {
            in_word_ = false;
            return Step::go_on;
        }
        if (quote_ == 0 && !in_word_ && next == '#') {
            return Step::end;
        }
        if (next == '\'' || next == '"') {
            return take_quote(next);
        }
        if (next == '\\') {
            return take_escape();
        }
        if (next == '$' && quote_ != '\'') {
            return take_variable();
        }
        return append(std::string_view(&next, 1));
    }

    Step take_quote(char quote) {
        if (quote_ != 0 && quote_ != quote) {
            return append(std::string_view(&quote, 1));
        }
        quote_ = quote_ == 0 ? quote : '\0';
        return append({}); // a pair of quotes is a word, too
    }

    Step take_escape() {
        constexpr std::string_view kNamed = "fnrtv";
        constexpr std::string_view kMeant = "\f\n\r\t\v";
        const char next = rest_.empty() ? '\0' : rest_.front();
        if (quote_ == '\'' && next != '\'' && next != '\\') {
            return append("\\");
        }
        if (next == '\0') {
            return Step::invalid;
        }
        rest_.remove_prefix(1);
        if (const std::size_t named = kNamed.find(next); named != std::string_view::npos) {
            return append(kMeant.substr(named, 1));
        }
        if (next == '_' && quote_ == 0) {
            in_word_ = false;
            return Step::go_on;
        }
        if (next == 'c') {
            return quote_ == 0 ? Step::end : Step::invalid;
        }
        const bool itself =
            is_one_of("\"#$'\\", next) || (kind_ == EnvKind::bsd && is_one_of(kSpaces, next));
        if (!itself && next != '_') {
            return Step::invalid;
        }
        return append(next == '_' ? std::string_view(" ") : std::string_view(&next, 1));
    }

    // `${NAME}` and no other form.
    Step take_variable() {
        const std::size_t end = rest_.find('}');
        if (!rest_.starts_with('{') || end == std::string_view::npos) {
            return Step::invalid;
        }
        const std::string_view name = rest_.substr(1, end - 1);
        const bool is_name =
            !name.empty() && is_one_of(kLetters, name.front()) &&
            std::ranges::all_of(name, [](char character) {
                return is_one_of(kLetters, character) || is_one_of(kDigits, character);
            });
        if (!is_name || !variable_) {
            return Step::invalid;
        }
        const auto value = variable_(std::string(name));
        rest_.remove_prefix(end + 1);
        // GNU makes a word of an empty value, BSD does not.
        const bool counts = value && (kind_ == EnvKind::gnu || !value->empty());
        return counts ? append(*value) : Step::go_on;
    }

    Step append(std::string_view text) {
        if (!in_word_) {
            words_.emplace_back();
            in_word_ = true;
        }
        words_.back() += text;
        bytes_ += text.size();
        return Step::go_on;
    }

    std::string_view rest_;
    EnvKind kind_;
    const VariableLookup& variable_;
    Words words_;
    std::size_t bytes_ = 0;
    bool in_word_ = false;
    char quote_ = 0;
};

// The words from the first option to the program.
class Reader {
public:
    Reader(Words words, EnvKind kind, const VariableLookup& variable)
        : words_(std::move(words)), kind_(kind), variable_(variable) {}

    std::expected<EnvCommand, std::string> read() {
        read_options();
        if (!unfollowed_.empty()) {
            return std::unexpected(std::move(unfollowed_));
        }
        EnvCommand command{.words = {}, .changes = {}, .search_path = std::move(search_path_)};
        if (clears_) {
            command.changes.push_back({.kind = Kind::clear});
        }
        for (const std::string& name : unset_) {
            if (!check_unset(name)) {
                return std::unexpected(std::move(unfollowed_));
            }
            if (!clears_) {
                command.changes.push_back({.kind = Kind::unset, .name = name});
            }
        }
        for (; next_ < words_.size(); ++next_) {
            const std::string& word = words_[next_];
            const std::size_t sign = word.find('=');
            if (sign == std::string::npos) {
                break;
            }
            if (sign == 0) {
                return std::unexpected("an assignment without a name"); // EINVAL of setenv
            }
            command.changes.push_back(
                {.kind = Kind::set, .name = word.substr(0, sign), .value = word.substr(sign + 1)});
        }
        // env would go on with the script itself, and so with env, for ever.
        if (next_ == words_.size()) {
            return std::unexpected("a line without a program");
        }
        const auto program = words_.begin() + static_cast<std::ptrdiff_t>(next_);
        command.words.assign(std::make_move_iterator(program),
                             std::make_move_iterator(words_.end()));
        return command;
    }

private:
    void read_options() {
        while (unfollowed_.empty() && next_ < words_.size()) {
            const std::string word = words_[next_];
            if (word == "-" && kind_ == EnvKind::gnu) {
                break;
            }
            if (!word.starts_with('-')) {
                return;
            }
            ++next_;
            if (word == "--") {
                break;
            }
            if (kind_ == EnvKind::gnu && word.starts_with("--")) {
                read_long(word);
            } else {
                read_letters(word);
            }
        }
        // GNU: no option, but the first operand.
        if (kind_ == EnvKind::gnu && next_ < words_.size() && words_[next_] == "-") {
            clears_ = true;
            ++next_;
        }
    }

    // `-iu NAME`: letters, the last of which may have an argument.
    void read_letters(const std::string& word) {
        const std::string_view with_argument = kind_ == EnvKind::gnu ? "uS" : "uSP";
        std::string_view letters = word;
        letters.remove_prefix(word == "-" ? 0 : 1); // BSD: a lone '-' is an option of that name
        while (unfollowed_.empty() && !letters.empty()) {
            const char letter = letters.front();
            letters.remove_prefix(1);
            if (is_one_of(with_argument, letter)) {
                const std::string name{'-', letter};
                if (letters.empty() && next_ == words_.size()) {
                    unfollowed_ = text::format("the option '{}' without its argument", name);
                    return;
                }
                take_argument(name, letters.empty() ? words_[next_++] : std::string(letters));
                return;
            }
            take_letter(letter, word);
        }
    }

    void take_letter(char letter, const std::string& word) {
        if (letter == 'i' || (letter == '-' && kind_ == EnvKind::bsd)) {
            clears_ = true;
        } else if (letter != 'v') {
            unfollowed_ = text::format(
                "the option {}",
                text::quote(is_one_of(kSpaces, letter) ? word : std::string{'-', letter}));
        }
    }

    void read_long(const std::string& word) {
        const std::size_t sign = word.find('=');
        const std::string name = word.substr(0, sign);
        const bool has_argument = name == "--unset" || name == "--split-string";
        if (has_argument && sign != std::string::npos) {
            take_argument(name, word.substr(sign + 1));
        } else if (has_argument && next_ < words_.size()) {
            take_argument(name, words_[next_++]);
        } else if (word == "--ignore-environment") {
            clears_ = true;
        } else if (word != "--debug") {
            unfollowed_ = text::format("the option {}", text::quote(name));
        }
    }

    void take_argument(const std::string& name, std::string argument) {
        const char letter = name[name.find_first_not_of('-')];
        if (letter == 'P') {
            search_path_ = std::move(argument);
        } else if (letter == 'u') {
            unset_.push_back(std::move(argument));
        } else {
            split(name, argument);
        }
    }

    // The words of the string take the place of all that was read.
    void split(const std::string& name, const std::string& text) {
        const VariableLookup lookup = [this](const std::string& variable) {
            const bool gone =
                kind_ == EnvKind::bsd && std::ranges::find(unset_, variable) != unset_.end();
            return gone ? std::nullopt : variable_(variable);
        };
        const VariableLookup nothing;
        auto words = Splitter(text, kind_, variable_ ? lookup : nothing).split();
        if (!words || ++splits_ > kMostSplits) {
            unfollowed_ = text::format("the string behind '{}'", name);
            return;
        }
        const auto behind = words_.begin() + static_cast<std::ptrdiff_t>(next_);
        words->insert(words->end(), std::make_move_iterator(behind),
                      std::make_move_iterator(words_.end()));
        words_ = std::move(*words);
        next_ = 0;
    }

    // The C library refuses such names (EINVAL); GNU does not come to it when all is cleared.
    bool check_unset(const std::string& name) {
        const bool refused = name.empty() || name.find('=') != std::string::npos;
        if (refused && (kind_ == EnvKind::bsd || !clears_)) {
            unfollowed_ = text::format("the name {} behind '-u'", text::quote(name));
            return false;
        }
        return true;
    }

    Words words_;
    EnvKind kind_;
    const VariableLookup& variable_;
    std::size_t next_ = 0;
    std::size_t splits_ = 0;
    bool clears_ = false;
    Words unset_;
    std::optional<std::string> search_path_;
    std::string unfollowed_;
};

} // namespace

std::expected<EnvCommand, std::string> parse_env_line(std::vector<std::string> words, EnvKind kind,
                                                      const VariableLookup& variable) {
    return Reader(std::move(words), kind, variable).read();
}

} // namespace metalrun::target
