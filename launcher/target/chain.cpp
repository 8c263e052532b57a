// SPDX-License-Identifier: MIT
#include "target/chain.hpp"

#include "macho/bytes.hpp"
#include "target/bundle.hpp"
#include "target/chain_problems.hpp"
#include "target/script.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

namespace metalrun::target {

namespace {

using judge::Finding;
using judge::FindingId;

// The first bytes of a file, as many as a `#!` line may have.
std::vector<std::byte> first_bytes(const File& file) {
    std::vector<std::byte> bytes(kLongestLine);
    const auto got = file.read_at(0, bytes);
    bytes.resize(got ? *got : 0);
    return bytes;
}

// On the way to the image.
struct Way {
    System& system;
    const SearchPath& search;
    Chain& chain;
    /// argv at this place, without the caller's own arguments; empty: argv[0] is the caller's.
    std::vector<std::string> arguments = {};
    std::size_t scripts = 0; ///< in a row, each the interpreter of the one before
    std::size_t envs = 0;    ///< resolved
};

// What the kernel or env puts in front: `words` and the script in place of argv[0].
std::vector<std::string> put_before(std::vector<std::string> words, const std::string& script,
                                    std::span<const std::string> arguments) {
    words.push_back(script);
    if (!arguments.empty()) {
        words.insert(words.end(), arguments.begin() + 1, arguments.end());
    }
    return words;
}

// What env changed of a variable: nothing of it, or its value, or that there is none.
std::optional<std::optional<std::string>> change_of(std::span<const EnvironmentChange> changes,
                                                    const std::string& name) {
    using Kind = EnvironmentChange::Kind;
    const auto last =
        std::find_if(changes.rbegin(), changes.rend(), [&](const EnvironmentChange& change) {
            return change.kind == Kind::clear || change.name == name;
        });
    if (last == changes.rend()) {
        return std::nullopt;
    }
    return last->kind == Kind::set ? std::optional(last->value) : std::optional<std::string>();
}

// Where env searches after its own changes; BSD's `-P` replaces PATH.
SearchPath search_of_env(const Way& way, const EnvCommand& command) {
    SearchPath search = way.search;
    search.skip.clear(); // env passes over nothing
    if (command.search_path) {
        search.path = *command.search_path;
    } else if (const auto path = change_of(way.chain.environment, "PATH")) {
        // Without a PATH: _PATH_DEFPATH of macOS, confstr(_CS_PATH) of glibc.
        search.path = *path                             ? **path
                      : search.kernel == Kernel::darwin ? std::string("/usr/bin:/bin")
                                                        : way.system.default_search_path();
    }
    return search;
}

std::optional<EnvKind> kind_of_env(System& system, const std::string& interpreter, Kernel kernel) {
    const std::string path = base_name(interpreter) == "env"
                                 ? interpreter
                                 : system.real_path(interpreter).value_or(std::string{});
    if (base_name(path) != "env") {
        return std::nullopt;
    }
    return kernel == Kernel::darwin && path == "/usr/bin/env" ? EnvKind::bsd : EnvKind::gnu;
}

std::expected<EnvCommand, std::string> read_env_line(const Way& way, EnvKind kind) {
    const std::vector<EnvironmentChange>& changes = way.chain.environment;
    const VariableLookup& outside = way.search.variable;
    const VariableLookup lookup = [&](const std::string& name) {
        const auto changed = change_of(changes, name);
        return changed ? *changed : outside(name);
    };
    return parse_env_line(line_words(way.chain.links.back().line, way.search.kernel), kind,
                          outside ? lookup : outside);
}

void stay_with_env(Way& way, std::string why) {
    way.chain.passes_env = true;
    way.chain.env_unfollowed = std::move(why);
}

// From here on the start is one of env's program.
void leave_env(Way& way, EnvCommand command, const std::string& next) {
    Chain& chain = way.chain;
    chain.arguments = put_before(std::move(command.words), chain.links.back().path, way.arguments);
    chain.path = next;
    chain.resolves_env = true;
    way.arguments = chain.arguments;
    way.scripts = 0;
    ++way.envs;
}

// The program that env would start in env's place, or env itself if its line is not followed.
std::expected<std::string, Finding> resolve_env(Way& way, const std::string& env, EnvKind kind) {
    auto command = read_env_line(way, kind);
    if (!command) {
        stay_with_env(way, std::move(command.error()));
        return env;
    }
    way.chain.environment.insert(way.chain.environment.end(), command->changes.begin(),
                                 command->changes.end());
    std::string next = command->words.front();
    if (next.find('/') == std::string::npos) {
        const SearchPath search = search_of_env(way, *command);
        const auto candidates = find_candidates(way.system, next, search);
        if (candidates.empty()) {
            return std::unexpected(no_program_for_env(way.chain.links.back().path, next, search));
        }
        next = candidates.back().path;
        if (command->search_path) {
            command->words.front() = next;
        }
    }
    leave_env(way, std::move(*command), next);
    return next;
}

bool is_macho_file(System& system, const std::string& path) {
    const auto file = system.open(path);
    return file && macho::is_macho(first_bytes(**file));
}

// On another machine the interpreter is another file than the one of this name here; only a file
// for macOS can be the one that is meant.
std::expected<std::optional<std::string>, Finding> follow_elsewhere(Way& way,
                                                                    std::string interpreter) {
    Chain& chain = way.chain;
    const std::string script = chain.links.back().path;
    if (const auto kind = kind_of_env(way.system, interpreter, Kernel::darwin)) {
        if (auto command = read_env_line(way, *kind); !command) {
            stay_with_env(way, std::move(command.error()));
        } else {
            chain.environment = command->changes;
            interpreter = command->words.front();
            leave_env(way, std::move(*command), interpreter);
        }
    }
    if (interpreter.ends_with('\r')) {
        return std::unexpected(missing_interpreter(
            way.system, script, {.interpreter = interpreter, .has_carriage_return = true}, ENOENT));
    }
    if (interpreter.find('/') != std::string::npos && is_macho_file(way.system, interpreter)) {
        return interpreter;
    }
    chain.names.push_back(base_name(interpreter));
    chain.links.push_back(
        {.path = interpreter, .line = {}, .kind = LinkKind::program, .status = {}});
    chain.image =
        Image{.path = std::move(interpreter), .status = {}, .content = {}, .elsewhere = true};
    return std::nullopt;
}

// From a script to its interpreter: the next path, or nothing if it is not on this machine.
std::expected<std::optional<std::string>, Finding> follow_script(Way& way, Bytes first) {
    Link& script = way.chain.links.back();
    auto line = parse_interpreter_line(script.path, first, way.search.kernel);
    if (!line) {
        return std::unexpected(std::move(line.error()));
    }
    script.line = line->rest;
    ++way.scripts;
    if (way.search.elsewhere) {
        return follow_elsewhere(way, line->interpreter);
    }
    if (const auto there = way.system.stat(line->interpreter); !there) {
        return std::unexpected(missing_interpreter(way.system, script.path, *line, there.error()));
    }
    if (const auto kind = kind_of_env(way.system, line->interpreter, way.search.kernel)) {
        return resolve_env(way, line->interpreter, *kind);
    }
    std::vector<std::string> words = line_words(script.line, way.search.kernel);
    words.insert(words.begin(), line->interpreter);
    way.arguments = put_before(std::move(words), script.path, way.arguments);
    return line->interpreter;
}

// The image is known. The program of a Python framework is only the way to its Python.app; the stub
// hands that path over as argv[0] and its own in the environment.
std::optional<std::string> leave_stub(Way& way, const std::string& path, const Image& image) {
    Chain& chain = way.chain;
    if (!image.content.is_macho() || !chain.python_stub.empty()) {
        return std::nullopt;
    }
    auto app = find_python_app(way.system, image.real_path);
    if (!app) {
        if (way.search.kernel == Kernel::darwin && is_xcode_stub(path)) {
            chain.xcode_tool =
                find_xcode_tool(way.system, base_name(path), way.search.variable).value_or("");
        }
        return std::nullopt;
    }
    chain.python_stub = path;
    chain.environment.push_back({.kind = EnvironmentChange::Kind::set,
                                 .name = "__PYVENV_LAUNCHER__",
                                 .value = launcher_path(way.system, path)});
    chain.arguments = way.arguments.empty() ? std::vector<std::string>(1) : way.arguments;
    chain.arguments.front() = *app;
    chain.path = *app;
    return app;
}

// Opens one link of the chain and says what it is. Returns the next path if it is not the last.
std::expected<std::optional<std::string>, Finding> follow(Way& way, const std::string& path) {
    System& system = way.system;
    Chain& chain = way.chain;
    auto file = system.open(path);
    if (!file && file.error() == EACCES && system.is_executable(path).value_or(false)) {
        return std::unexpected(only_executable(path));
    }
    if (!file) {
        return std::unexpected(cannot_reach(path, file.error()));
    }
    const FileStatus status = (*file)->status();
    const std::vector<std::byte> first = first_bytes(**file);
    chain.names.push_back(base_name(path));
    if (!chain.managed) {
        chain.managed = find_manager(path, **file);
    }
    if (as_text(first).starts_with("#!")) {
        chain.links.push_back(
            {.path = path, .line = {}, .kind = LinkKind::script, .status = status});
        return follow_script(way, first);
    }
    chain.links.push_back({.path = path, .line = {}, .kind = LinkKind::program, .status = status});
    if (!elf::is_elf(first) && !macho::is_macho(first)) {
        return std::unexpected(not_a_program(path, status, first));
    }
    // A Mac's program that is judged elsewhere is started by somebody else than who asks.
    const bool is_guests =
        way.search.elsewhere || (macho::is_macho(first) && way.search.kernel == Kernel::linux);
    chain.image = read_image(system, path, **file, is_guests ? Starter::unknown : Starter::caller);
    return leave_stub(way, path, *chain.image);
}

std::optional<Finding> check_run(System& system, const std::string& path) {
    const auto status = system.stat(path);
    if (!status) {
        return cannot_reach(path, status.error());
    }
    if (status->kind != FileKind::regular || !system.is_executable(path).value_or(false)) {
        return not_executable(path, *status);
    }
    return std::nullopt;
}

// A bundle's main executable takes its place.
std::optional<Finding> enter_bundle(System& system, Chain& chain) {
    auto executable = find_bundle_executable(system, chain.path);
    if (!executable) {
        return std::move(executable.error());
    }
    chain.links.push_back({.path = chain.path,
                           .line = {},
                           .kind = LinkKind::bundle,
                           .status = system.stat(chain.path).value_or(FileStatus{})});
    chain.path = std::move(*executable);
    return std::nullopt;
}

// Scripts that lead to each other through env run for ever: each is started anew.
std::optional<Finding> check_scripts(const Way& way) {
    constexpr std::size_t kMostEnvs = 16;
    const Chain& chain = way.chain;
    const Link& last = chain.links.back();
    if (const std::size_t most = most_scripts(way.search.kernel); way.scripts > most) {
        return too_many_scripts(chain, most);
    }
    const bool again =
        std::any_of(chain.links.begin(), chain.links.end() - 1, [&](const Link& link) {
            return link.kind == LinkKind::script && link.status.device == last.status.device &&
                   link.status.inode == last.status.inode;
        });
    const bool circles = last.kind == LinkKind::script && way.envs > 0 && again;
    return circles || way.envs > kMostEnvs ? std::optional(leads_in_circles(chain, last.path))
                                           : std::nullopt;
}

enum class RunBit : std::uint8_t { needed, ignored };

// From chain.path to the image. The run bit of the first file may be ignored.
std::optional<Finding> follow_to_image(System& system, Chain& chain, const SearchPath& search,
                                       RunBit first) {
    Way way{.system = system, .search = search, .chain = chain};
    std::string next = chain.path;
    for (RunBit run_bit = first;; run_bit = RunBit::needed) {
        if (run_bit == RunBit::needed) {
            if (auto wrong = check_run(system, next)) {
                return wrong;
            }
        }
        auto further = follow(way, next);
        if (!further) {
            return std::move(further.error());
        }
        if (auto wrong = check_scripts(way)) {
            return wrong;
        }
        const std::optional<std::string>& onward = *further;
        if (!onward) {
            return std::nullopt;
        }
        next = *onward;
    }
}

} // namespace

std::string_view to_string(LinkKind kind) {
    static constexpr std::array<std::string_view, 3> kNames{"program", "script", "bundle"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::optional<std::string> interpreter_arguments(System& system, const std::string& path) {
    const auto file = system.open(path);
    if (!file || (*file)->status().kind != FileKind::regular) {
        return std::nullopt;
    }
    const std::vector<std::byte> first = first_bytes(**file);
    if (!as_text(first).starts_with("#!")) {
        return std::nullopt;
    }
    auto line = parse_interpreter_line(path, first, HostFacts::Kernel::linux);
    return line ? std::optional(std::move(line->rest)) : std::nullopt;
}

Chain resolve(System& system, const std::string& typed, const SearchPath& search) {
    Chain chain{.typed = typed};
    chain.names.push_back(base_name(typed));
    if (typed.find('/') != std::string::npos) {
        chain.path = typed;
    } else {
        const auto candidates =
            typed.empty() ? std::vector<Candidate>{} : find_candidates(system, typed, search);
        if (candidates.empty()) {
            chain.problem = not_in_path(system, typed, search);
            return chain;
        }
        chain.path =
            candidates.back().executable ? candidates.back().path : candidates.front().path;
    }
    if (is_bundle(system, chain.path)) {
        chain.problem = enter_bundle(system, chain);
    }
    if (!chain.problem) {
        chain.problem = follow_to_image(system, chain, search, RunBit::needed);
    }
    return chain;
}

Chain inspect(System& system, const std::string& path, const SearchPath& search) {
    Chain chain{.typed = path, .path = path};
    chain.names.push_back(base_name(path));
    if (is_bundle(system, path)) {
        chain.problem = enter_bundle(system, chain);
        if (chain.problem) {
            return chain;
        }
    }
    const auto status = system.stat(chain.path);
    if (!status) {
        chain.problem = cannot_reach(chain.path, status.error());
        return chain;
    }
    if (status->kind != FileKind::regular) {
        chain.problem = not_executable(chain.path, *status);
        if (status->kind == FileKind::directory) {
            chain.problem->help = "to judge the programs in it, use '--recursive'";
        }
        return chain;
    }
    chain.problem = follow_to_image(system, chain, search, RunBit::ignored);
    if (chain.problem && chain.problem->id == FindingId::script_without_interpreter_line) {
        chain.problem->id = FindingId::not_a_program; // nobody said that it is a script
    }
    return chain;
}

} // namespace metalrun::target
