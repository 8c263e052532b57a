// SPDX-License-Identifier: MIT
#include "commands/doctor_facts.hpp"
#include "report/text.hpp"
#include "system/helper.hpp"
#include "system/read.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace metalrun::commands {

namespace {

constexpr std::uint64_t kLargestSessionFile = 1U << 20U;
constexpr std::size_t kMostJobs = 1'000;         // of one folder
constexpr std::size_t kMostPathEntries = 50'000; // of all folders in PATH

// bash(1), zsh(1), fish(1): what they read for a login and for each terminal.
constexpr std::array<std::string_view, 9> kUserFiles{
    ".zshenv",     ".zprofile", ".zshrc",
    ".zlogin",     ".profile",  ".bash_profile",
    ".bash_login", ".bashrc",   ".config/fish/config.fish"};
constexpr std::array<std::string_view, 5> kSystemFiles{"/etc/zshenv", "/etc/zprofile", "/etc/zshrc",
                                                       "/etc/profile", "/etc/bashrc"};

// True if there is nothing of that name.
bool is_absent(int number) {
    return number == ENOENT || number == ENOTDIR;
}

struct Read {
    std::string real_path;
    doctor::Known<std::string> content;
};

Read cannot_read(const std::string& path, std::string why) {
    return {.real_path = path, .content = std::unexpected(std::move(why))};
}

// Nothing if there is no such file.
std::optional<Read> read_whole(System& system, const std::string& path) {
    const auto file = system.open(path);
    if (!file) {
        return is_absent(file.error())
                   ? std::nullopt
                   : std::optional(cannot_read(path, text::error_text(file.error())));
    }
    const FileStatus& status = (*file)->status();
    if (status.kind != FileKind::regular) {
        return cannot_read(path, "it is no regular file");
    }
    if (status.size_bytes > kLargestSessionFile) {
        return cannot_read(path, text::format("it is larger than {} bytes", kLargestSessionFile));
    }
    auto content = read_all(**file);
    if (!content) {
        return cannot_read(path, text::error_text(content.error()));
    }
    return Read{.real_path = (*file)->real_path().value_or(path), .content = std::move(*content)};
}

void look_at_shell_file(System& system, const std::string& path, doctor::Facts& facts) {
    auto read = read_whole(system, path);
    if (!read) {
        return;
    }
    doctor::ShellFile file{.path = path, .real_path = std::move(read->real_path), .content = {}};
    if (read->content) {
        file.content = doctor::scan_shell_file(*read->content);
    } else {
        file.content = std::unexpected(std::move(read->content.error()));
    }
    facts.shell_files.push_back(std::move(file));
}

void look_at_job(System& system, const std::string& path, doctor::Facts& facts) {
    auto read = read_whole(system, path);
    if (!read) {
        return;
    }
    doctor::JobFile file{.path = path, .real_path = std::move(read->real_path), .content = {}};
    file.content = read->content ? doctor::read_launch_job(std::as_bytes(std::span(*read->content)))
                                 : std::unexpected(std::move(read->content.error()));
    facts.job_files.push_back(std::move(file));
}

void look_at_jobs(System& system, const std::string& folder, doctor::Facts& facts) {
    auto names = system.list(folder);
    if (!names) {
        if (!is_absent(names.error())) {
            facts.unread_folders.emplace_back(folder, text::error_text(names.error()));
        }
        return;
    }
    std::erase_if(*names, [](const std::string& name) { return !name.ends_with(".plist"); });
    std::ranges::sort(*names);
    if (names->size() > kMostJobs) {
        names->resize(kMostJobs);
        facts.unread_folders.emplace_back(
            folder, text::format("only the first {} property lists were read", kMostJobs));
    }
    for (const std::string& name : *names) {
        look_at_job(system, text::concat(folder, "/", name), facts);
    }
}

doctor::Known<std::string> ask_launchd(const doctor::Facts& facts) {
    if (!facts.facts_file.empty()) {
        return std::unexpected(std::string("the facts are those of another machine"));
    }
    const auto answer = run_helper({.path = "/bin/launchctl",
                                    .arguments = {"getenv", "DYLD_INSERT_LIBRARIES"},
                                    .environment = {},
                                    .limit = std::chrono::seconds(5)});
    if (!answer) {
        return std::unexpected(answer.error().message);
    }
    if (answer->timed_out) {
        return std::unexpected(std::string("launchctl did not answer in time and was ended"));
    }
    std::string value = answer->output.substr(0, answer->output.find('\n'));
    // A name that is not set gives an empty answer; some versions end with 1 for it.
    if (answer->status > 1 || (answer->status == 1 && !answer->errors.empty())) {
        return std::unexpected(text::format("launchctl ended with status {}", answer->status));
    }
    return value;
}

void look_at_variables(const Session& session, doctor::Facts& facts) {
    for (const std::string& entry : session.environment) {
        const std::string name = entry.substr(0, entry.find('='));
        if (name.size() + 1 < entry.size() && doctor::is_watched_variable(name)) {
            facts.variables.emplace_back(name, entry.substr(name.size() + 1));
        }
    }
    const std::string folder = session.system.working_directory().value_or(std::string{});
    facts.insertion = read_inherited_insertion(session, folder, nullptr);
}

// A link that stands for a program, as masquerade() takes it.
std::optional<doctor::BadLink> look_at_link(const Session& session, const std::string& folder,
                                            const std::string& name,
                                            const target::SearchPath& others) {
    System& system = session.system;
    const std::string path = text::concat(folder, "/", name);
    const auto itself = system.lstat(path);
    if (!itself || itself->kind != FileKind::symbolic_link) {
        return std::nullopt;
    }
    const std::string destination = system.read_link(path).value_or(std::string{});
    const auto behind = system.stat(path);
    if (!behind) {
        return is_absent(behind.error()) && target::base_name(destination) == "metalrun"
                   ? std::optional(doctor::BadLink{.path = path, .destination = destination})
                   : std::nullopt;
    }
    const bool is_ours = behind->device == session.executable_status.device &&
                         behind->inode == session.executable_status.inode;
    const bool stands_for_another =
        is_ours && name != "metalrun" && name != target::base_name(session.executable);
    if (!stands_for_another || !target::find_candidates(system, name, others).empty()) {
        return std::nullopt;
    }
    return doctor::BadLink{
        .path = path, .destination = destination, .why = doctor::BadLink::Why::last_name};
}

void look_at_links(const Session& session, doctor::Facts& facts) {
    const auto inherited = launch::find_variable(session.environment, "PATH");
    const std::string search =
        inherited ? std::string(*inherited) : session.system.default_search_path();
    const target::SearchPath others{.path = search, .skip = {session.executable_status}};
    std::size_t left = kMostPathEntries;
    for (std::string_view rest = search; !rest.empty();) {
        const std::string folder(rest.substr(0, rest.find(':')));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        if (!folder.starts_with('/')) {
            continue;
        }
        auto names = session.system.list(folder);
        if (!names) {
            continue; // a folder of PATH need not be there
        }
        if (names->size() > left) {
            facts.unread_folders.emplace_back(folder, "too many files in PATH to look at");
            return;
        }
        left -= names->size();
        std::ranges::sort(*names);
        for (const std::string& name : *names) {
            if (auto bad = look_at_link(session, folder, name, others)) {
                facts.bad_links.push_back(std::move(*bad));
            }
        }
    }
}

} // namespace

void look_at_session(const Session& session, doctor::Facts& facts) {
    System& system = session.system;
    const bool is_macos = session.host.kernel == HostFacts::Kernel::darwin;
    look_at_variables(session, facts);
    if (is_macos) {
        facts.session_insertion = ask_launchd(facts);
    }
    if (!facts.home.empty()) {
        for (const std::string_view name : kUserFiles) {
            look_at_shell_file(system, text::concat(facts.home, "/", name), facts);
        }
        if (is_macos) {
            look_at_jobs(system, text::concat(facts.home, "/Library/LaunchAgents"), facts);
        }
    }
    // The files of the user may be made up for another machine; those of this one are not its.
    if (facts.facts_file.empty()) {
        for (const std::string_view path : kSystemFiles) {
            look_at_shell_file(system, std::string(path), facts);
        }
        if (is_macos) {
            look_at_jobs(system, "/Library/LaunchAgents", facts);
            look_at_jobs(system, "/Library/LaunchDaemons", facts);
        }
    }
    look_at_links(session, facts);
}

} // namespace metalrun::commands
