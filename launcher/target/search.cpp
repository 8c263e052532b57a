// SPDX-License-Identifier: MIT
#include "target/chain.hpp"

#include <string_view>

namespace metalrun::target {

namespace {

// The running metalrun, or another build of it: same file, or the marker.
bool is_metalrun(System& system, const std::string& path, const FileStatus& status,
                 const FileStatus& own) {
    if (status.device == own.device && status.inode == own.inode) {
        return true;
    }
    const auto file = system.open(path);
    const auto facts = file ? elf::read_facts(**file)
                            : std::expected<elf::Facts, elf::Malformed>(elf::Facts{});
    return facts && facts->marker == "launcher";
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
        if (search.skip && is_metalrun(system, path, *status, *search.skip)) {
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

} // namespace metalrun::target
