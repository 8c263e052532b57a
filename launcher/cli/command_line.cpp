// SPDX-License-Identifier: MIT
//
// Cuts argv by the option table, then hands the pairs to Boost.Program_options, which keeps their
// values and types. The cut is ours because Program_options would guess abbreviations, refuse empty
// and dash-led values, and read past the target.
#include "cli/command_line.hpp"

#include "profile/values.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>

namespace metalrun::cli {

namespace {

namespace po = boost::program_options;

struct Given {
    const Option* option = nullptr;
    std::string value;
};

struct Cut {
    Command command = Command::run;
    std::vector<Given> given;
    std::vector<std::string> operands;
    bool seen_operand = false;
};

Error usage_error(std::string message, std::string help = {}) {
    return {.code = Errc::usage,
            .message = std::move(message),
            .help = help.empty() ? "'metalrun --help' lists the options" : std::move(help)};
}

const Option* find_long(std::string_view name) {
    const auto table = options();
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Option& option) { return option.name == name; });
    return found == table.end() ? nullptr : &*found;
}

const Option* find_short(char letter) {
    const auto table = options();
    const auto found = std::find_if(table.begin(), table.end(), [&](const Option& option) {
        return option.letter != 0 && option.letter == letter;
    });
    return found == table.end() ? nullptr : &*found;
}

Error unknown_option(std::string_view word) {
    std::vector<std::string_view> names;
    for (const Option& option : options()) {
        names.push_back(option.name);
    }
    const std::string_view bare = word.starts_with("--") ? word.substr(2) : word.substr(1);
    const std::string_view near = bare.size() < 2 ? std::string_view{} : text::nearest(bare, names);
    return usage_error(text::format("unknown option {}", text::quote(word)),
                       near.empty()
                           ? std::string{}
                           : text::format("an option with a similar name exists: '--{}'", near));
}

// Takes `--name`, `--name=value` or `--name value`; `next` is the index behind the word.
Result<void> cut_long(std::span<const std::string> arguments, std::size_t& next, Cut& cut) {
    const std::string& word = arguments[next - 1];
    const std::size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(
        2, equals == std::string::npos ? std::string::npos : equals - 2);
    const Option* option = find_long(name);
    if (option == nullptr) {
        return fail(unknown_option(std::string_view(word).substr(0, equals)));
    }
    if (option->value.empty()) {
        if (equals != std::string::npos) {
            return fail(usage_error(text::format("option '--{}' takes no value, {} was given", name,
                                                 text::quote(word.substr(equals + 1)))));
        }
        cut.given.push_back({option, {}});
        return {};
    }
    if (equals != std::string::npos) {
        cut.given.push_back({option, word.substr(equals + 1)});
        return {};
    }
    if (next == arguments.size()) {
        return fail(
            usage_error(text::format("option '--{}' needs a value: {}", name, option->value)));
    }
    cut.given.push_back({option, arguments[next]});
    ++next;
    return {};
}

// Takes `-n`, `-nv`, `-pVALUE` or `-p VALUE`.
Result<void> cut_short(std::span<const std::string> arguments, std::size_t& next, Cut& cut) {
    const std::string& word = arguments[next - 1];
    for (std::size_t i = 1; i < word.size(); ++i) {
        const Option* option = find_short(word[i]);
        if (option == nullptr) {
            return fail(unknown_option(i == 1 ? std::string_view(word)
                                              : std::string_view(text::format("-{}", word[i]))));
        }
        if (option->value.empty()) {
            cut.given.push_back({option, {}});
            continue;
        }
        if (i + 1 < word.size()) {
            cut.given.push_back({option, word.substr(i + 1)});
        } else if (next < arguments.size()) {
            cut.given.push_back({option, arguments[next]});
            ++next;
        } else {
            return fail(usage_error(
                text::format("option '-{}' needs a value: {}", option->letter, option->value)));
        }
        return {};
    }
    return {};
}

Result<Cut> cut_arguments(std::span<const std::string> arguments) {
    Cut cut;
    std::size_t next = 0;
    while (next < arguments.size()) {
        const std::string& word = arguments[next];
        ++next;
        Result<void> done{};
        if (word == "--") {
            break;
        }
        if (word.starts_with("--")) {
            done = cut_long(arguments, next, cut);
        } else if (word.size() > 1 && word.front() == '-') {
            done = cut_short(arguments, next, cut);
        } else if (!cut.seen_operand && command_of(word) != Command::run) {
            cut.command = command_of(word);
            cut.seen_operand = true;
        } else if (cut.command != Command::run) {
            cut.operands.push_back(word);
        } else {
            --next;
            break;
        }
        if (!done) {
            return fail(std::move(done.error()));
        }
    }
    cut.operands.insert(cut.operands.end(), arguments.begin() + static_cast<std::ptrdiff_t>(next),
                        arguments.end());
    return cut;
}

// Values are what Program_options keeps; flags, and options that add up, are read off the cut.
bool keeps_value(const Given& use) {
    return !use.option->value.empty() && !use.option->adds_up;
}

// Describes only what was given: a description of every option costs more than the rest of a start.
po::options_description describe(const std::vector<Given>& given) {
    po::options_description description;
    auto add = description.add_options();
    for (const Given& use : given) {
        const std::string name(use.option->name);
        if (keeps_value(use) && description.find_nothrow(name, false) == nullptr) {
            add(name.c_str(), po::value<std::string>());
        }
    }
    return description;
}

// The last use of an option wins.
po::variables_map store(const std::vector<Given>& given) {
    po::variables_map values;
    if (std::none_of(given.begin(), given.end(), keeps_value)) {
        return values;
    }
    const po::options_description description = describe(given);
    po::parsed_options parsed(&description);
    for (auto use = given.begin(); use != given.end(); ++use) {
        const bool superseded = std::any_of(
            use + 1, given.end(), [&](const Given& later) { return later.option == use->option; });
        if (!keeps_value(*use) || superseded) {
            continue;
        }
        po::option option;
        option.string_key = std::string(use->option->name);
        option.value = {use->value};
        parsed.options.push_back(std::move(option));
    }
    po::store(parsed, values);
    return values;
}

std::optional<std::string> text_of(const po::variables_map& values, const char* name) {
    const po::variable_value& value = values[name];
    return value.empty() ? std::nullopt : std::optional(value.as<std::string>());
}

bool has_flag(const std::vector<Given>& given, std::string_view name) {
    return std::any_of(given.begin(), given.end(),
                       [&](const Given& use) { return use.option->name == name; });
}

// Parses one option by `parse` into `into`; the error gets the option's name in front.
template <class T, class Parse>
Result<void> take(const po::variables_map& values, const char* name, Parse parse,
                  std::optional<T>& into) {
    const auto given = text_of(values, name);
    if (!given) {
        return {};
    }
    auto parsed = parse(*given);
    if (!parsed) {
        Error error = std::move(parsed.error());
        error.code = Errc::usage;
        error.message = text::format("option '--{}': {}", name, error.message);
        return fail(std::move(error));
    }
    into = std::move(*parsed);
    return {};
}

Result<Arch> parse_arch(std::string_view word) {
    static constexpr std::array<std::pair<std::string_view, Arch>, 3> kArchs{
        {{"arm64", Arch::arm64}, {"arm64e", Arch::arm64e}, {"x86_64", Arch::x86_64}}};
    for (const auto& [name, arch] : kArchs) {
        if (name == word) {
            return arch;
        }
    }
    return fail(
        {.code = Errc::usage,
         .message = text::format("{} is none of 'arm64', 'arm64e', 'x86_64'", text::quote(word))});
}

Result<void> take_policy(const po::variables_map& values, const std::vector<Given>& given,
                         Policy& policy) {
    policy.profile = text_of(values, "profile");
    policy.shim = text_of(values, "shim");
    policy.stock = has_flag(given, "stock");
    policy.or_stock = has_flag(given, "or-stock");
    policy.anywhere = has_flag(given, "anywhere");
    policy.verify = has_flag(given, "verify");
    const auto family = [](std::string_view word) { return profile::parse_family(word); };
    Result<void> done = take(values, "family", family, policy.family);
    if (done) {
        done = take(values, "threadgroup-memory", profile::parse_threadgroup_memory,
                    policy.threadgroup_memory);
    }
    if (done) {
        done = take(values, "working-set", profile::parse_limit, policy.working_set);
    }
    if (done) {
        done = take(values, "children", profile::parse_children, policy.children);
    }
    if (done) {
        done = take(values, "when-uncertain", profile::parse_when_uncertain, policy.when_uncertain);
    }
    if (done) {
        done = take(values, "arch", parse_arch, policy.arch);
    }
    return done;
}

// -e takes DYLD_* names other than the one that inserts; all other reserved names are metalrun's.
bool may_be_set(std::string_view name) {
    return !profile::is_reserved_variable(name) ||
           (name.starts_with("DYLD_") && name != "DYLD_INSERT_LIBRARIES");
}

Result<EnvironmentChange> change_of(const Given& use) {
    const std::string& word = use.value;
    const std::size_t equals = word.find('=');
    if (use.option->letter == 'u') {
        if (word.empty() || equals != std::string::npos) {
            return fail(usage_error(
                text::format("option '--unset': {} is no variable name", text::quote(word))));
        }
        return EnvironmentChange{.name = word, .value = std::nullopt};
    }
    if (equals == std::string::npos || equals == 0) {
        return fail(
            usage_error(text::format("option '--env': {} is not NAME=VALUE", text::quote(word))));
    }
    const std::string name = word.substr(0, equals);
    if (!may_be_set(name)) {
        return fail(usage_error(
            text::format("option '--env': {} is set by metalrun alone", text::quote(name)),
            "'--shim', '--family' and the other policy options set what the shim gets"));
    }
    return EnvironmentChange{.name = name, .value = word.substr(equals + 1)};
}

// -e and -u act in the order in which they were given, which Program_options does not keep.
Result<std::vector<EnvironmentChange>> changes_of(const std::vector<Given>& given) {
    std::vector<EnvironmentChange> changes;
    for (const Given& use : given) {
        if (use.option->adds_up) {
            auto change = change_of(use);
            if (!change) {
                return fail(std::move(change.error()));
            }
            changes.push_back(std::move(*change));
        }
    }
    return changes;
}

Result<void> check_fit(const Cut& cut) {
    for (const Given& use : cut.given) {
        if ((use.option->commands & bit_of(cut.command)) == 0 && use.option->commands != kForAll) {
            return fail(usage_error(
                cut.command == Command::run
                    ? text::format("option '--{}' does not belong to a start", use.option->name)
                    : text::format("option '--{}' does not belong to the command '{}'",
                                   use.option->name, to_string(cut.command)),
                "'metalrun COMMAND --help' lists the options of a command"));
        }
    }
    return {};
}

Result<Request> make_request(Cut cut) {
    const po::variables_map values = store(cut.given);
    Request request;
    request.command = has_flag(cut.given, "version") ? Command::version : cut.command;
    if (has_flag(cut.given, "help")) {
        request.command = Command::help;
        request.operands = {};
        return request;
    }
    if (auto fit = check_fit(cut); !fit) {
        return fail(std::move(fit.error()));
    }
    if (auto policy = take_policy(values, cut.given, request.policy); !policy) {
        return fail(std::move(policy.error()));
    }
    auto changes = changes_of(cut.given);
    if (!changes) {
        return fail(std::move(changes.error()));
    }
    request.environment = std::move(*changes);
    request.chdir = text_of(values, "chdir");
    request.argv0 = text_of(values, "argv0");
    request.host_facts = text_of(values, "host-facts");
    request.dry_run = has_flag(cut.given, "dry-run");
    request.json = has_flag(cut.given, "json");
    request.recursive = has_flag(cut.given, "recursive");
    request.verbose = has_flag(cut.given, "verbose");
    request.quiet = has_flag(cut.given, "quiet");
    request.operands = std::move(cut.operands);
    if (request.command == Command::run && request.operands.empty()) {
        return fail(usage_error("no target was given"));
    }
    return request;
}

} // namespace

Result<Request> parse(const std::vector<std::string>& arguments) {
    if (arguments.empty()) {
        return fail({.code = Errc::usage, .message = render_usage()});
    }
    auto cut = cut_arguments(arguments);
    if (!cut) {
        return fail(std::move(cut.error()));
    }
    const Command asked = cut->command;
    try {
        auto request = make_request(std::move(*cut));
        if (request && request->command == Command::help) {
            request->help_about = asked;
        }
        return request;
    } catch (const po::error& error) {
        return fail(usage_error(error.what()));
    }
}

} // namespace metalrun::cli
