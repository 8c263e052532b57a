// SPDX-License-Identifier: MIT
#include "launch/receipt.hpp"

#include "launch/environment.hpp"
#include "launch/receipt_format.hpp"
#include "profile/values.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace metalrun::launch {

namespace {

constexpr std::uint32_t kPrivateFolder = 0700;
constexpr std::uint32_t kPrivateFile = 0600;
constexpr std::uint32_t kOthersMayWrite = 022;

// True if the folder is there: another start may make the same one at this moment.
bool make_folders(System& system, const std::string& folder) {
    auto made = system.make_directory(folder, kPrivateFolder);
    const std::size_t slash = folder.find_last_of('/');
    const bool has_above = slash != std::string::npos && slash != 0;
    if (!made && made.error() == ENOENT && has_above &&
        make_folders(system, folder.substr(0, slash))) {
        made = system.make_directory(folder, kPrivateFolder);
    }
    return made || made.error() == EEXIST;
}

std::optional<std::string> absolute_value(std::span<const std::string> environment,
                                          std::string_view name, std::string_view below) {
    const auto value = find_variable(environment, name);
    if (!value || !value->starts_with('/')) {
        return std::nullopt;
    }
    return text::concat(*value, below);
}

// Plain appends: this is on the way of every start.
std::string line(std::string_view key, std::string_view value) {
    std::string out(key);
    out += " = ";
    out += text::basic_string(value);
    out += '\n';
    return out;
}

std::string line(std::string_view key, std::uint64_t number) {
    return text::concat(key, " = ", std::to_string(number), "\n");
}

// TOML's integers are signed.
bool fits_toml(const FileStatus& status) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return status.device <= kLargest && status.inode <= kLargest;
}

bool is_foreign(const judge::Verdict& verdict) {
    return std::ranges::any_of(verdict.findings, [](const judge::Finding& finding) {
        return finding.id == judge::FindingId::shim_foreign;
    });
}

} // namespace

std::optional<std::string> find_state_folder(std::span<const std::string> environment,
                                             std::string_view user_cache_folder) {
    if (auto folder = absolute_value(environment, "METALRUN_STATE_DIR", "")) {
        return folder;
    }
    if (user_cache_folder.starts_with('/')) {
        return text::concat(user_cache_folder, "/metalrun");
    }
    if (auto folder = absolute_value(environment, "XDG_RUNTIME_DIR", "/metalrun")) {
        return folder;
    }
    return absolute_value(environment, "HOME", "/.local/state/metalrun");
}

std::string_view to_string(FolderFault fault) {
    static constexpr std::array<std::string_view, 3> kWords{
        "it is no folder", "it belongs to another user", "others may write to it"};
    return kWords.at(static_cast<std::size_t>(fault));
}

std::optional<FolderFault> find_folder_fault(const FileStatus& status, std::uint32_t user) {
    return status.kind != FileKind::directory     ? std::optional(FolderFault::not_a_folder)
           : status.owner != user                 ? std::optional(FolderFault::of_another)
           : (status.mode & kOthersMayWrite) != 0 ? std::optional(FolderFault::open_to_others)
                                                  : std::nullopt;
}

bool ensure_state_folder(System& system, const std::string& folder) {
    auto status = system.lstat(folder);
    if (!status && status.error() == ENOENT && make_folders(system, folder)) {
        status = system.lstat(folder);
    }
    return status && !find_folder_fault(*status, system.identity().effective_user);
}

std::string render_receipt(const ReceiptFacts& facts) {
    const Plan& plan = *facts.plan;
    std::string out(kFirstLine);
    out += line("metalrun", facts.version);
    out += line("pid", static_cast<std::uint64_t>(facts.process_id));
    out += line("start_time", facts.start_time);
    out += line("target", facts.chain->typed);
    out += line("image", facts.chain->image ? facts.chain->image->path : facts.chain->path);
    if (facts.chain->image && fits_toml(facts.chain->image->status)) {
        out += line("device", facts.chain->image->status.device);
        out += line("inode", facts.chain->image->status.inode);
    }
    out += line("profile", plan.profile);
    out += line("profile_origin", plan.profile_origin);
    out += line("decision", judge::to_string(facts.verdict->decision));
    out += line("outcome", judge::to_string(facts.verdict->outcome));
    if (facts.verdict->reason) {
        out += line("reason", judge::to_string(*facts.verdict->reason));
    }
    if (!facts.library.empty()) {
        out += line("library", facts.library);
        out += line("shim", is_foreign(*facts.verdict) ? kForeignShim : kOwnShim);
        out += "[plan]\n";
        out += line("ceiling", plan.ceiling);
        out += line("threadgroup_memory", plan.threadgroup_memory.value);
        out += line("working_set", plan.working_set.value);
        out += line("hook", profile::to_string(plan.hook.value));
        out +=
            line("children", plan.children.value == profile::Children::stock ? "stock" : "inherit");
    }
    return out + "\n";
}

std::optional<std::string> write_receipt(System& system, const std::string& folder, int process_id,
                                         const std::string& content) {
    std::string path = text::concat(folder, "/", std::to_string(process_id), ".toml");
    auto written = system.create_file(path, kPrivateFile, content);
    if (!written && written.error() == EEXIST && system.remove_file(path)) {
        written = system.create_file(path, kPrivateFile, content);
    }
    if (!written) {
        return std::nullopt;
    }
    return path;
}

} // namespace metalrun::launch
