// SPDX-License-Identifier: MIT
#include "target/chain.hpp"

#include <algorithm>
#include <string_view>

namespace metalrun::target {

namespace {

bool is_same_file(const FileStatus& a, const FileStatus& b) {
    return a.device == b.device && a.inode == b.inode;
}

bool carries_marker(System& system, const std::string& path) {
    const auto file = system.open(path);
    if (!file) {
        return false;
    }
    return marker_of(read_content(**file, macho::Depth::decide)) == "launcher";
}

bool is_skipped(System& system, const std::string& path, const FileStatus& status,
                const SearchPath& search) {
    return !search.skip.empty() &&
           (std::any_of(search.skip.begin(), search.skip.end(),
                        [&](const FileStatus& skipped) { return is_same_file(skipped, status); }) ||
            carries_marker(system, path));
}

// The program that `#!/usr/bin/env …` names: `metalrun`, `-S metalrun …` or `-vS metalrun …`.
std::string_view first_program(std::string_view line) {
    constexpr std::string_view kBlanks = " \t";
    while (true) {
        const std::size_t begin = line.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) {
            return {};
        }
        line.remove_prefix(begin);
        const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
        if (word != "-S" && word != "-vS") {
            return word.starts_with("-S") ? word.substr(2) : word;
        }
        line.remove_prefix(word.size());
    }
}

} // namespace

std::string base_name(const std::string& path) {
    const std::size_t end = path.find_last_not_of('/');
    if (end == std::string::npos) {
        return path.empty() ? std::string{} : std::string("/");
    }
    const std::size_t slash = path.find_last_of('/', end);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    return path.substr(begin, end - begin + 1);
}

std::vector<Candidate> find_candidates(System& system, const std::string& name,
                                       const SearchPath& search) {
    std::vector<Candidate> found;
    std::string_view rest = search.path;
    while (!rest.empty()) {
        const std::size_t colon = rest.find(':');
        const std::string_view entry = rest.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
        // POSIX lets an empty entry mean the current directory; nobody who writes one wants that.
        if (entry.empty()) {
            continue;
        }
        std::string path(entry);
        path += path.back() == '/' ? "" : "/";
        path += name;
        const auto status = system.stat(path);
        if (!status || status->kind == FileKind::directory) {
            continue;
        }
        if (is_skipped(system, path, *status, search)) {
            continue;
        }
        const bool executable = system.is_executable(path).value_or(false);
        found.push_back({.path = std::move(path), .status = *status, .executable = executable});
        if (executable && status->kind == FileKind::regular) {
            break;
        }
    }
    return found;
}

std::vector<std::string> needed_libraries(const Content& content) {
    std::vector<std::string> names;
    if (const elf::Facts* facts = content.elf(); facts != nullptr) {
        for (const std::string& library : facts->needed) {
            names.push_back(base_name(library));
        }
    }
    if (const macho::FileFacts* facts = content.macho(); facts != nullptr) {
        for (const macho::SliceFacts& slice : facts->slices) {
            if (!slice.image) {
                continue;
            }
            for (const macho::Dependency& library : slice.image->dependencies) {
                names.push_back(base_name(library.path));
            }
        }
    }
    return names;
}

const Link* find_way_back(System& system, const Chain& chain, const FileStatus& own,
                          const SearchPath& search) {
    if (chain.links.size() < 2 || chain.links.back().kind != LinkKind::program) {
        return nullptr;
    }
    const Link& script = chain.links[chain.links.size() - 2];
    if (script.kind != LinkKind::script) {
        return nullptr;
    }
    const bool direct = is_same_file(chain.links.back().status, own) ||
                        (chain.image && marker_of(chain.image->content) == "launcher");
    if (direct) {
        return &script;
    }
    if (base_name(chain.links.back().path) != "env") {
        return nullptr;
    }
    const std::string program(first_program(script.line));
    if (program.find('/') != std::string::npos) {
        const auto status = system.stat(program);
        const bool back = status && (is_same_file(*status, own) || carries_marker(system, program));
        return back ? &script : nullptr;
    }
    const auto candidates =
        program.empty() ? std::vector<Candidate>{} : find_candidates(system, program, search);
    const bool back = !candidates.empty() && (is_same_file(candidates.back().status, own) ||
                                              carries_marker(system, candidates.back().path));
    return back ? &script : nullptr;
}

} // namespace metalrun::target
