// SPDX-License-Identifier: MIT
#include "commands/entry.hpp"

#include "launch/environment.hpp"
#include "report/text.hpp"
#include "target/problem.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace metalrun::commands {

namespace {

bool is_link_to_itself(const Session& session, const std::string& path) {
    const auto itself = session.system.lstat(path);
    if (!itself || itself->kind != FileKind::symbolic_link) {
        return false;
    }
    const auto behind = session.system.stat(path);
    return behind && behind->device == session.executable_status.device &&
           behind->inode == session.executable_status.inode;
}

// Whoever started us need not have taken the first one: launchd names the file and argv[0] apart.
// Here an empty entry is the current directory, as it is for the shell that found us by it.
bool has_link_in_path(const Session& session, const std::string& name) {
    const auto path = launch::find_variable(session.environment, "PATH");
    const std::string list = path ? std::string(*path) : session.system.default_search_path();
    std::string_view rest = list;
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        if (is_link_to_itself(session, text::concat(folder.empty() ? "." : folder, "/", name))) {
            return true;
        }
        if (colon == std::string_view::npos) {
            return false;
        }
        rest.remove_prefix(colon + 1);
    }
}

} // namespace

std::optional<cli::Request> masquerade(const Session& session,
                                       const std::vector<std::string>& argv) {
    const std::string name = argv.empty() ? std::string{} : target::base_name(argv.front());
    if (name.empty() || name == "metalrun" || name == target::base_name(session.executable)) {
        return std::nullopt;
    }
    const bool is_path = argv.front().find('/') != std::string::npos;
    if (is_path ? !is_link_to_itself(session, argv.front()) : !has_link_in_path(session, name)) {
        return std::nullopt;
    }
    cli::Request request;
    request.operands = argv;
    request.operands.front() = name;
    request.masquerades = true;
    return request;
}

bool is_link_to_metalrun(System& system, const target::Chain& chain) {
    if (chain.links.size() != 1 || !chain.image ||
        target::marker_of(chain.image->content) != "launcher") {
        return false;
    }
    const auto itself = system.lstat(chain.path);
    const std::string name = target::base_name(chain.typed);
    return itself && itself->kind == FileKind::symbolic_link && name != "metalrun" &&
           name != target::base_name(system.real_path(chain.path).value_or(name));
}

namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        if (end > 0) {
            words.emplace_back(line.substr(0, end));
        }
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

} // namespace

std::vector<std::string> split_interpreter_arguments(const Session& session,
                                                     std::vector<std::string> argv) {
    const bool candidate = argv.size() > 2 && argv[1].starts_with('-') &&
                           argv[1].find_first_of(" \t") != std::string::npos;
    if (!candidate || target::interpreter_arguments(session.system, argv[2]) != argv[1]) {
        return argv;
    }
    const std::vector<std::string> words = words_of(argv[1]);
    argv.erase(argv.begin() + 1);
    argv.insert(argv.begin() + 1, words.begin(), words.end());
    return argv;
}

namespace {

// On a Mac that is judged from elsewhere, the file behind the name metalrun cannot be looked at.
const target::Link* find_way_back_elsewhere(const target::Chain& chain) {
    const bool leads = chain.image && chain.image->elsewhere && chain.links.size() > 1 &&
                       target::base_name(chain.image->path) == "metalrun";
    const target::Link* script = leads ? &chain.links[chain.links.size() - 2] : nullptr;
    return script != nullptr && script->kind == target::LinkKind::script ? script : nullptr;
}

} // namespace

const target::Link* find_way_back(const Session& session, const target::Chain& chain,
                                  const target::SearchPath& search) {
    return search.elsewhere
               ? find_way_back_elsewhere(chain)
               : target::find_way_back(session.system, chain, session.executable_status, search);
}

namespace {

judge::Finding not_a_launcher_script(const target::Link& script, std::string why,
                                     std::string help) {
    return target::problem(
        judge::FindingId::not_a_program,
        text::format("{} names metalrun as its interpreter, but is no launcher script",
                     text::quote(script.path)),
        {std::move(why)},
        help.empty() ? "a launcher script is a profile with a target.program; 'metalrun profile "
                       "lint' checks one"
                     : std::move(help));
}

// `#!/usr/bin/env -S metalrun -p NAME -- python3`: no profile, but a script of that program.
bool has_its_own_target(const target::Link& script) {
    const std::vector<std::string> words = words_of(script.line);
    const auto dashes = std::ranges::find(words, "--");
    return dashes != words.end() && dashes + 1 != words.end();
}

void refuse(target::Chain& chain, judge::Finding problem) {
    chain.image.reset();
    chain.problem = std::move(problem);
}

std::expected<std::optional<LauncherScript>, judge::Finding>
read_launcher_script(const Session& session, const target::Chain& chain,
                     const target::SearchPath& search, profile::Catalogue& catalogue) {
    const target::Link* script = find_way_back(session, chain, search);
    if (script == nullptr) {
        return std::nullopt;
    }
    if (has_its_own_target(*script)) {
        return std::unexpected(target::problem(
            judge::FindingId::not_a_program,
            text::format("{} cannot be the target of another metalrun: its first line gives "
                         "metalrun a target of its own",
                         text::quote(script->path)),
            {text::format("behind the interpreter: {}", text::escape(script->line))},
            "start it by itself; to judge its program, name that to 'metalrun check'"));
    }
    // A name without a slash would be that of a profile.
    const bool is_bare = script->path.find('/') == std::string::npos;
    auto loaded = catalogue.load(is_bare ? "./" + script->path : script->path);
    if (!loaded) {
        return std::unexpected(not_a_launcher_script(*script, std::move(loaded.error().message),
                                                     std::move(loaded.error().help)));
    }
    if (!loaded->target.value_or(profile::Target{}).program) {
        return std::unexpected(
            not_a_launcher_script(*script, "the profile has no target.program", {}));
    }
    return LauncherScript{.script = *script, .profile = std::move(*loaded)};
}

} // namespace

std::optional<LauncherScript> find_launcher_script(const Session& session, target::Chain& chain,
                                                   const target::SearchPath& search,
                                                   profile::Catalogue& catalogue) {
    auto script = read_launcher_script(session, chain, search, catalogue);
    if (!script) {
        refuse(chain, std::move(script.error()));
        return std::nullopt;
    }
    return std::move(*script);
}

void refuse_script_in_script(target::Chain& chain, const target::Link& script) {
    refuse(chain, not_a_launcher_script(script, "it is the target of another launcher script",
                                        "name the program itself as the target of the first one"));
}

cli::Request enter(const LauncherScript& script, cli::Request request) {
    const profile::Target target = script.profile.target.value_or(profile::Target{});
    std::vector<std::string> operands{target.program.value_or(std::string{})};
    operands.insert(operands.end(), target.arguments.begin(), target.arguments.end());
    operands.insert(operands.end(), request.operands.begin() + 1, request.operands.end());
    request.operands = std::move(operands);
    request.argv0 = request.argv0 ? request.argv0 : target.argv0;
    request.chdir = request.chdir ? request.chdir : target.directory;
    return request;
}

std::optional<profile::Chosen> profile_of(LauncherScript script,
                                          std::optional<profile::Chosen> named) {
    if (named && named->choice.by == profile::Choice::By::option) {
        return named;
    }
    return profile::Chosen{
        .profile = std::move(script.profile),
        .choice = {.by = profile::Choice::By::script, .subject = script.script.path}};
}

} // namespace metalrun::commands
