// SPDX-License-Identifier: MIT
//
// The System of the tests: a tree of files in memory, facts that a test sets, and a record of what
// was asked. It follows symbolic links as the kernel does, but has no permission checks of its own:
// refuse() makes a call on a path fail.
#pragma once

#include "system/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metalrun {

class FakeFile final : public File {
public:
    FakeFile(FileStatus status, std::string content, std::string path = "/file")
        : status_(status), content_(std::move(content)), path_(std::move(path)) {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }
    [[nodiscard]] SysResult<std::string> real_path() const override { return path_; }

    [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                 std::span<std::byte> into) const override {
        if (status_.kind == FileKind::directory) {
            return std::unexpected(EISDIR);
        }
        if (offset >= content_.size()) {
            return 0;
        }
        const std::string_view rest = std::string_view(content_).substr(offset, into.size());
        std::memcpy(into.data(), rest.data(), rest.size());
        return rest.size();
    }

private:
    FileStatus status_;
    std::string content_;
    std::string path_;
};

/// A folder by its path, for the tree cannot move under it: each call is that of the system.
class FakeFolder final : public Folder {
public:
    FakeFolder(System& system, std::string path, FileStatus status)
        : system_(system), path_(std::move(path)), status_(status) {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }
    [[nodiscard]] SysResult<std::vector<std::string>> list() const override {
        return system_.list(path_);
    }
    [[nodiscard]] SysResult<FileStatus> lstat(const std::string& name) const override {
        return system_.lstat(path_ + "/" + name);
    }
    [[nodiscard]] SysResult<std::unique_ptr<File>> open(const std::string& name) const override {
        const SysResult<FileStatus> status = lstat(name);
        if (status && status->kind == FileKind::symbolic_link) {
            return std::unexpected(ELOOP);
        }
        return system_.open(path_ + "/" + name);
    }
    [[nodiscard]] SysResult<void> remove_file(const std::string& name) override {
        return system_.remove_file(path_ + "/" + name);
    }

private:
    System& system_;
    std::string path_;
    FileStatus status_;
};

/// Ownership and permissions of a new entry; the defaults are those of an installed file.
struct FakeAccess {
    std::uint32_t mode = 0; ///< 0: 0644 for a file, 0755 for a folder
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
};

class FakeSystem final : public System {
public:
    FakeSystem() { add_folder("/"); }

    // --- the tree; missing folders above an entry are made with the default access ---------------

    void add_folder(const std::string& path, FakeAccess access = {}) {
        add(path, FileKind::directory, access.mode == 0 ? 0755 : access.mode, access, {});
    }
    void add_file(const std::string& path, std::string content, FakeAccess access = {}) {
        add(path, FileKind::regular, access.mode == 0 ? 0644 : access.mode, access,
            std::move(content));
    }
    void add_program(const std::string& path, std::string content) {
        add_file(path, std::move(content), {.mode = 0755});
    }
    void add_link(const std::string& path, std::string target) {
        add(path, FileKind::symbolic_link, 0777, {}, std::move(target));
    }
    /// A FIFO, socket or device.
    void add_special(const std::string& path, FakeAccess access = {}) {
        add(path, FileKind::other, access.mode == 0 ? 0644 : access.mode, access, {});
    }
    void remove(const std::string& path) { nodes_.erase(path); }
    /// The status of an entry, to be changed by the test (times, flags, device).
    [[nodiscard]] FileStatus& status_of(const std::string& path) { return nodes_.at(path).status; }
    [[nodiscard]] const std::string& content_of(const std::string& path) const {
        return nodes_.at(path).content;
    }
    /// Makes the call ("open", "lstat", …) on this path, as the caller spells it, fail.
    void refuse(const std::string& call, const std::string& path, int number) {
        refusals_[call + " " + path] = number;
    }

    // --- facts
    // -------------------------------------------------------------------------------------

    Identity user{.user = 501, .effective_user = 501, .group = 20, .effective_group = 20};
    HostFacts host;
    int process = 4711;
    std::uint64_t start_time = 1'000'000;
    std::string executable = "/usr/local/bin/metalrun";
    std::string search_path = "/usr/bin:/bin:/usr/sbin:/sbin";
    std::string cache_folder; ///< empty: the system has none, as on Linux
    std::string current_folder = "/";
    std::set<int> terminals;
    std::size_t columns = 80; ///< of every terminal
    std::set<std::string> folders_without_set_id;
    std::set<std::string> files_with_capabilities;
    std::set<std::string> folders_without_execution;
    std::map<int, SysResult<ProcessFacts>> processes;       ///< of others: there is none
    std::map<int, std::map<std::string, Tri>> mapped_files; ///< of others: unknown
    std::int64_t clock_ns = 0;
    std::set<std::string> quarantined_files;
    std::set<std::string> shared_files; ///< of the host
    SysResult<bool> listening = false;  ///< of every port
    int exec_answer = ENOEXEC;          ///< what exec() comes back with

    // --- what was done
    // -----------------------------------------------------------------------------

    std::vector<std::string> calls;     ///< "open /a", "stat /b", … in order
    std::map<int, std::string> written; ///< by descriptor
    std::vector<ExecRequest> exec_requests;

    [[nodiscard]] bool was_asked(const std::string& call) const {
        return std::ranges::find(calls, call) != calls.end();
    }

    // --- System
    // ------------------------------------------------------------------------------------

    [[nodiscard]] SysResult<std::unique_ptr<File>> open(const std::string& path) override {
        const SysResult<std::string> found = enter("open", path, Links::follow);
        if (!found) {
            return std::unexpected(found.error());
        }
        const Node& node = nodes_.at(*found);
        return std::make_unique<FakeFile>(node.status, node.content, *found);
    }
    [[nodiscard]] SysResult<FileStatus> stat(const std::string& path) override {
        return status("stat", path, Links::follow);
    }
    [[nodiscard]] SysResult<FileStatus> lstat(const std::string& path) override {
        return status("lstat", path, Links::keep);
    }
    [[nodiscard]] SysResult<std::string> real_path(const std::string& path) override {
        return enter("real_path", path, Links::follow);
    }
    [[nodiscard]] SysResult<bool> is_executable(const std::string& path) override {
        const SysResult<std::string> found = enter("is_executable", path, Links::follow);
        if (!found) {
            return std::unexpected(found.error());
        }
        return (nodes_.at(*found).status.mode & 0111) != 0;
    }
    [[nodiscard]] SysResult<std::vector<std::string>> list(const std::string& path) override {
        const SysResult<std::string> found = enter("list", path, Links::follow);
        if (!found) {
            return std::unexpected(found.error());
        }
        if (nodes_.at(*found).status.kind != FileKind::directory) {
            return std::unexpected(ENOTDIR);
        }
        const std::string head = *found == "/" ? "/" : *found + "/";
        std::vector<std::string> names;
        for (const auto& [name, node] : nodes_) {
            const bool below = name.starts_with(head) && name.size() > head.size();
            if (below && name.find('/', head.size()) == std::string::npos) {
                names.push_back(name.substr(head.size()));
            }
        }
        return names;
    }
    [[nodiscard]] SysResult<std::unique_ptr<Folder>> open_folder(const std::string& path) override {
        const SysResult<std::string> found = enter("open_folder", path, Links::keep);
        if (!found) {
            return std::unexpected(found.error());
        }
        const FileStatus& status = nodes_.at(*found).status;
        if (status.kind != FileKind::directory) {
            return std::unexpected(status.kind == FileKind::symbolic_link ? ELOOP : ENOTDIR);
        }
        return std::make_unique<FakeFolder>(*this, *found, status);
    }
    [[nodiscard]] SysResult<std::string> working_directory() override {
        calls.emplace_back("working_directory");
        return current_folder;
    }
    [[nodiscard]] SysResult<void> change_directory(const std::string& path) override {
        const SysResult<std::string> found = enter("change_directory", path, Links::follow);
        if (!found) {
            return std::unexpected(found.error());
        }
        if (nodes_.at(*found).status.kind != FileKind::directory) {
            return std::unexpected(ENOTDIR);
        }
        current_folder = *found;
        return {};
    }

    [[nodiscard]] SysResult<void> make_directory(const std::string& path,
                                                 std::uint32_t mode) override {
        return create("make_directory", path, FileKind::directory, mode, {});
    }
    [[nodiscard]] SysResult<void> create_file(const std::string& path, std::uint32_t mode,
                                              std::string_view content) override {
        return create("create_file", path, FileKind::regular, mode, std::string(content));
    }
    [[nodiscard]] SysResult<void> remove_file(const std::string& path) override {
        const SysResult<std::string> found = enter("remove_file", path, Links::keep);
        if (!found) {
            return std::unexpected(found.error());
        }
        nodes_.erase(*found);
        return {};
    }

    [[nodiscard]] Identity identity() override { return user; }
    [[nodiscard]] HostFacts host_facts() override {
        calls.emplace_back("host_facts");
        return host;
    }
    [[nodiscard]] int process_id() override { return process; }
    [[nodiscard]] SysResult<std::uint64_t> process_start_time() override { return start_time; }
    [[nodiscard]] SysResult<ProcessFacts> find_process(int process_id) override {
        calls.push_back("find_process " + std::to_string(process_id));
        const auto found = processes.find(process_id);
        return found == processes.end() ? std::unexpected(ESRCH) : found->second;
    }
    [[nodiscard]] Tri has_mapped(int process_id, const MappedFile& file) override {
        const auto found = mapped_files.find(process_id);
        if (found == mapped_files.end() || !found->second.contains(file.path)) {
            return Tri::unknown;
        }
        return found->second.at(file.path);
    }
    [[nodiscard]] std::int64_t now_ns() override { return clock_ns; }
    [[nodiscard]] SysResult<std::string> executable_path() override { return executable; }
    [[nodiscard]] std::string default_search_path() override { return search_path; }
    [[nodiscard]] std::string user_cache_folder() override { return cache_folder; }
    [[nodiscard]] bool ignores_set_id(const std::string& path) override {
        return folders_without_set_id.contains(path);
    }
    [[nodiscard]] bool forbids_execution(const std::string& path) override {
        return folders_without_execution.contains(path);
    }
    [[nodiscard]] bool has_capabilities(const std::string& path) override {
        return files_with_capabilities.contains(path);
    }
    [[nodiscard]] bool is_quarantined(const std::string& path) override {
        return quarantined_files.contains(path);
    }
    [[nodiscard]] bool is_shared_folder(const std::string& path) override {
        return shared_files.contains(path);
    }
    [[nodiscard]] SysResult<std::string> read_link(const std::string& path) override {
        const SysResult<std::string> found = enter("read_link", path, Links::keep);
        if (!found) {
            return std::unexpected(found.error());
        }
        const Node& node = nodes_.at(*found);
        return node.status.kind == FileKind::symbolic_link ? SysResult<std::string>(node.content)
                                                           : std::unexpected(EINVAL);
    }
    [[nodiscard]] SysResult<bool> is_listening(std::uint16_t port) override {
        calls.push_back("is_listening " + std::to_string(port));
        return listening;
    }
    [[nodiscard]] bool is_terminal(int descriptor) override {
        return terminals.contains(descriptor);
    }
    [[nodiscard]] std::size_t terminal_columns(int /*descriptor*/) override { return columns; }
    bool write(int descriptor, std::string_view text) override {
        written[descriptor] += text;
        return true;
    }
    [[nodiscard]] int exec(const ExecRequest& request) override {
        calls.push_back("exec " + request.path);
        exec_requests.push_back(request);
        return exec_answer;
    }

private:
    enum class Links : std::uint8_t { follow, keep };

    struct Node {
        FileStatus status;
        std::string content; ///< of a symbolic link: where it leads
    };

    static std::string parent_of(const std::string& path) {
        const std::size_t slash = path.rfind('/');
        return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
    }

    void add(const std::string& path, FileKind kind, std::uint32_t mode, FakeAccess access,
             std::string content) {
        if (path != "/" && !nodes_.contains(parent_of(path))) {
            add_folder(parent_of(path));
        }
        Node& node = nodes_[path];
        node.status = {.kind = kind,
                       .device = 1,
                       .inode = next_inode_++,
                       .size_bytes = content.size(),
                       .mode = mode,
                       .owner = access.owner,
                       .group = access.group,
                       .links = 1};
        node.content = std::move(content);
    }

    // Records the call and finds the entry's path without links.
    SysResult<std::string> enter(const std::string& call, const std::string& path, Links links) {
        calls.push_back(call + " " + path);
        if (const auto refusal = refusals_.find(call + " " + path); refusal != refusals_.end()) {
            return std::unexpected(refusal->second);
        }
        return resolve(path, links);
    }

    SysResult<std::string> resolve(const std::string& path, Links links) const {
        if (path.empty()) {
            return std::unexpected(ENOENT);
        }
        std::string rest = path.starts_with('/') ? path : current_folder + "/" + path;
        std::string at = "/";
        int followed = 0;
        while (!rest.empty()) {
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            const std::string part = rest.substr(0, slash);
            rest.erase(0, std::min(slash + 1, rest.size()));
            const SysResult<std::string> next = step(at, part);
            if (!next) {
                return next;
            }
            const Node& node = nodes_.at(*next);
            const bool last = rest.find_first_not_of('/') == std::string::npos;
            if (node.status.kind == FileKind::symbolic_link && (!last || links == Links::follow)) {
                if (++followed > kMostLinks) {
                    return std::unexpected(ELOOP);
                }
                at = node.content.starts_with('/') ? "/" : at;
                rest = node.content + (rest.empty() ? "" : "/" + rest);
                continue;
            }
            at = *next;
        }
        return at;
    }

    // One part of a path, from a folder without links.
    SysResult<std::string> step(const std::string& at, const std::string& part) const {
        if (nodes_.at(at).status.kind != FileKind::directory) {
            return std::unexpected(ENOTDIR);
        }
        if (part.empty() || part == ".") {
            return at;
        }
        if (part == "..") {
            return parent_of(at);
        }
        const std::string next = (at == "/" ? "" : at) + "/" + part;
        if (!nodes_.contains(next)) {
            return std::unexpected(ENOENT);
        }
        return next;
    }

    SysResult<FileStatus> status(const std::string& call, const std::string& path, Links links) {
        const SysResult<std::string> found = enter(call, path, links);
        if (!found) {
            return std::unexpected(found.error());
        }
        return nodes_.at(*found).status;
    }

    SysResult<void> create(const std::string& call, const std::string& path, FileKind kind,
                           std::uint32_t mode, std::string content) {
        calls.push_back(call + " " + path);
        if (const auto refusal = refusals_.find(call + " " + path); refusal != refusals_.end()) {
            return std::unexpected(refusal->second);
        }
        if (resolve(path, Links::keep)) {
            return std::unexpected(EEXIST);
        }
        const SysResult<std::string> folder = resolve(parent_of(path), Links::follow);
        if (!folder) {
            return std::unexpected(folder.error());
        }
        const std::string name = path.substr(path.rfind('/') + 1);
        add((*folder == "/" ? "" : *folder) + "/" + name, kind, mode,
            {.owner = user.effective_user, .group = user.effective_group}, std::move(content));
        return {};
    }

    static constexpr int kMostLinks = 40;

    std::map<std::string, Node> nodes_;
    std::map<std::string, int> refusals_;
    std::uint64_t next_inode_ = 2;
};

} // namespace metalrun
