// SPDX-License-Identifier: MIT
#include "commands/entry.hpp"

#include "launch/environment.hpp"
#include "target/chain.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace metalrun::commands {

std::optional<cli::Request> masquerade(const Session& session,
                                       const std::vector<std::string>& argv) {
    const std::string name = argv.empty() ? std::string{} : target::base_name(argv.front());
    if (name.empty() || name == "metalrun" || name == target::base_name(session.executable)) {
        return std::nullopt;
    }
    std::string link = argv.front();
    if (link.find('/') == std::string::npos) {
        const auto path = launch::find_variable(session.environment, "PATH");
        const auto candidates = target::find_candidates(
            session.system, link,
            {.path = path ? std::string(*path) : session.system.default_search_path()});
        if (candidates.empty()) {
            return std::nullopt;
        }
        link = candidates.back().path;
    }
    const auto itself = session.system.lstat(link);
    const auto behind = session.system.stat(link);
    const bool is_link = itself && itself->kind == FileKind::symbolic_link && behind &&
                         behind->device == session.executable_status.device &&
                         behind->inode == session.executable_status.inode;
    if (!is_link) {
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

std::vector<std::string> split_interpreter_arguments(const Session& session,
                                                     std::vector<std::string> argv) {
    const bool candidate = argv.size() > 2 && argv[1].starts_with('-') &&
                           argv[1].find_first_of(" \t") != std::string::npos;
    if (!candidate || target::interpreter_arguments(session.system, argv[2]) != argv[1]) {
        return argv;
    }
    std::vector<std::string> words;
    std::string_view rest = argv[1];
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        if (end > 0) {
            words.emplace_back(rest.substr(0, end));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    argv.erase(argv.begin() + 1);
    argv.insert(argv.begin() + 1, words.begin(), words.end());
    return argv;
}

} // namespace metalrun::commands
