// SPDX-License-Identifier: MIT
#include "report/text.hpp"
#include "target/chain.hpp"

namespace metalrun::target {

namespace {

// Rights that a start adds (execve(2)); to somebody unknown every set-id bit may add some.
std::string rights_gained(System& system, const std::string& path, const FileStatus& status,
                          Starter starter) {
    constexpr std::uint32_t kSetUser = 04000;
    constexpr std::uint32_t kSetGroup = 02000;
    constexpr std::uint32_t kGroupRun = 0010;
    const Identity me = system.identity();
    const bool is_unknown = starter == Starter::unknown;
    std::string rights;
    if ((status.mode & kSetUser) != 0 && (is_unknown || status.owner != me.effective_user)) {
        rights = text::format("set-user-id to {}", status.owner);
    } else if ((status.mode & kSetGroup) != 0 && (status.mode & kGroupRun) != 0 &&
               (is_unknown || status.group != me.effective_group)) {
        rights = text::format("set-group-id to {}", status.group);
    } else if (system.has_capabilities(path)) {
        rights = "file capabilities";
    }
    return rights.empty() || system.ignores_set_id(path) ? std::string{} : rights;
}

} // namespace

Image read_image(System& system, const std::string& path, const File& file, Starter starter) {
    Image image{
        .path = path, .status = file.status(), .content = read_content(file, macho::Depth::decide)};
    image.rights = rights_gained(system, path, image.status, starter);
    image.gains_rights = !image.rights.empty();
    image.quarantined = system.is_quarantined(path);
    if (image.content.is_macho() || image.content.is_elf()) {
        image.real_path = file.real_path().value_or(path);
    }
    const elf::Facts* elf = image.content.elf();
    if (elf != nullptr && !elf->interpreter.empty()) {
        image.loader_missing = !system.stat(elf->interpreter).has_value();
    }
    return image;
}

} // namespace metalrun::target
