// SPDX-License-Identifier: MIT
#include "commands/doctor_facts.hpp"
#include "launch/receipt.hpp"
#include "report/text.hpp"
#include "system/read.hpp"
#include "target/shim.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace metalrun::commands {

namespace {

constexpr std::uint64_t kLargestSums = 1U << 16U;

std::string folder_above(const std::string& path) {
    return path.substr(0, path.find_last_of('/'));
}

// The line of a library in the file that sha256sum(1) reads: the hash, two blanks, the name.
doctor::Known<std::string> expected_sha256(System& system, const std::string& library) {
    const auto file = system.open(folder_above(library) + "/SHA256SUMS");
    if (!file) {
        return std::unexpected(
            file.error() == ENOENT
                ? std::string("there is no SHA256SUMS beside it")
                : text::concat("SHA256SUMS cannot be read: ", text::error_text(file.error())));
    }
    const FileStatus& status = (*file)->status();
    if (status.kind != FileKind::regular || status.size_bytes > kLargestSums) {
        return std::unexpected(std::string("SHA256SUMS is no regular file of a few lines"));
    }
    const std::string content = read_all(**file).value_or(std::string{});
    const std::string ending = "  " + target::base_name(library);
    for (std::string_view rest = content; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.ends_with(ending)) {
            return std::string(line.substr(0, line.size() - ending.size()));
        }
    }
    return std::unexpected(std::string("SHA256SUMS does not name it"));
}

doctor::InstalledShim look_at_shim(const Session& session, Library library,
                                   profile::TrustedFolders& trust) {
    const std::string path = session.installed_shim(session.host.kernel, library);
    return {.facts = target::inspect_shim(session.system, path, target::Digest::needed, trust),
            .universal = library == Library::universal,
            .expected_sha256 = expected_sha256(session.system, path)};
}

doctor::OwnProgram look_at_metalrun(const Session& session, profile::TrustedFolders& trust) {
    doctor::OwnProgram own{.path = session.executable};
    const auto file = session.system.open(session.executable);
    if (!file) {
        return own;
    }
    own.content = target::read_content(**file, macho::Depth::decide);
    if (auto trusted = trust.check(session.executable, (*file)->status(), Errc::system); !trusted) {
        own.distrust = std::move(trusted.error());
    }
    own.quarantined = session.system.is_quarantined(session.executable);
    return own;
}

// Every *.toml of a place, by name.
// Every *.toml of a place, by name.
void lint_place(const Session& session, const std::string& folder, profile::TrustedFolders& trust,
                doctor::Facts& facts) {
    if (folder.empty()) {
        return;
    }
    auto names = session.system.list(folder);
    if (!names) {
        if (names.error() != ENOENT) {
            facts.unread_folders.emplace_back(folder, text::error_text(names.error()));
        }
        return;
    }
    std::ranges::sort(*names);
    for (const std::string& name : *names) {
        if (!name.ends_with(".toml")) {
            continue;
        }
        doctor::FoundProfile found{.name = name.substr(0, name.size() - 5),
                                   .origin = text::concat(folder, "/", name),
                                   .place = folder};
        auto flaws = profile::lint(session.system, found.origin, trust);
        if (flaws) {
            found.flaws = std::move(*flaws);
        } else {
            found.unread = std::move(flaws.error());
        }
        facts.profiles.push_back(std::move(found));
    }
}

void look_at_profiles(const Session& session, profile::TrustedFolders& trust,
                      doctor::Facts& facts) {
    const auto places =
        profile::find_places(session.system, session.environment, session.executable);
    for (const std::string& folder : {places.user, places.etc, places.share}) {
        lint_place(session, folder, trust, facts);
    }
    for (doctor::FoundProfile& profile : facts.profiles) {
        profile.shipped = profile.place == places.share;
    }
    for (const profile::BuiltIn& built_in : profile::built_ins()) {
        facts.profiles.push_back(
            {.name = std::string(built_in.name), .origin = "built-in", .shipped = true});
    }
}

// As a start judges it, without making it.
doctor::StateFolder look_at_state(const Session& session) {
    using State = doctor::StateFolder::State;
    System& system = session.system;
    const auto path = launch::find_state_folder(session.environment, system.user_cache_folder());
    if (!path) {
        return {};
    }
    doctor::StateFolder folder{.path = *path, .state = State::usable};
    const auto status = system.lstat(*path);
    if (!status) {
        folder.state = status.error() == ENOENT ? State::not_made : State::unseen;
        folder.detail = text::error_text(status.error());
        return folder;
    }
    const auto fault = launch::find_folder_fault(*status, system.identity().effective_user);
    if (!fault) {
        return folder;
    }
    switch (*fault) {
    case launch::FolderFault::not_a_folder:
        folder.state = State::not_a_folder;
        break;
    case launch::FolderFault::of_another:
        folder.state = State::of_another;
        folder.detail = text::format("its owner is user {}", status->owner);
        break;
    case launch::FolderFault::open_to_others:
        folder.state = State::open_to_others;
        folder.detail = text::format("its mode is {:04o}", status->mode);
        break;
    }
    return folder;
}

} // namespace

void look_at_installation(const Session& session, doctor::Facts& facts) {
    profile::TrustedFolders trust(session.system, session.executable_status.owner);
    facts.shims.push_back(look_at_shim(session, Library::thin, trust));
    if (session.host.kernel == HostFacts::Kernel::darwin) {
        facts.shims.push_back(look_at_shim(session, Library::universal, trust));
    }
    facts.probe = session.probe();
    const auto probe = session.system.stat(facts.probe);
    facts.probe_error = probe ? 0 : probe.error();
    facts.probe_runs = session.system.is_executable(facts.probe).value_or(false);
    facts.own = look_at_metalrun(session, trust);
    look_at_profiles(session, trust, facts);
    facts.state = look_at_state(session);
}

} // namespace metalrun::commands
