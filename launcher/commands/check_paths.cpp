// SPDX-License-Identifier: MIT
#include "commands/check_paths.hpp"

#include "target/bundle.hpp"

#include <iterator>
#include <utility>

namespace metalrun::commands {

namespace {

std::string without_trailing_slashes(const std::string& path) {
    const std::size_t last = path.find_last_not_of('/');
    return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

bool is_folder(System& system, const std::string& path) {
    const auto status = system.stat(path);
    return status && status->kind == FileKind::directory;
}

// The main executable is judged by the bundle's name.
void leave_out_main_executable(System& system, const std::string& bundle, target::Walk& walk) {
    const auto path = target::find_bundle_executable(system, bundle);
    const auto main = path ? system.stat(*path) : SysResult<FileStatus>(std::unexpected(0));
    std::erase_if(walk.programs, [&](const std::string& program) {
        const auto status = system.stat(program);
        return main && status && status->device == main->device && status->inode == main->inode;
    });
}

void append(CheckedPaths& found, target::Walk walk) {
    found.paths.insert(found.paths.end(), std::make_move_iterator(walk.programs.begin()),
                       std::make_move_iterator(walk.programs.end()));
    target::Walk& all = found.walk ? *found.walk : found.walk.emplace();
    all.files += walk.files;
    all.skipped += walk.skipped;
    all.links += walk.links;
    all.unread.insert(all.unread.end(), std::make_move_iterator(walk.unread.begin()),
                      std::make_move_iterator(walk.unread.end()));
}

} // namespace

CheckedPaths find_paths(const Session& session, const std::vector<std::string>& operands,
                        Recursion recursion, const target::Progress& progress) {
    System& system = session.system;
    CheckedPaths found;
    for (const std::string& operand : operands) {
        const std::string folder = without_trailing_slashes(operand);
        if (target::is_bundle(system, operand)) {
            found.paths.push_back(operand);
            target::Walk walk =
                target::walk(system, folder, target::Wanted::macos_programs, progress);
            leave_out_main_executable(system, operand, walk);
            append(found, std::move(walk));
        } else if (recursion == Recursion::on && is_folder(system, operand)) {
            append(found, target::walk(system, folder, target::Wanted::programs, progress));
        } else {
            found.paths.push_back(operand);
        }
    }
    return found;
}

} // namespace metalrun::commands
