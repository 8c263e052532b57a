// SPDX-License-Identifier: MIT
//
// What linux.cpp and darwin.cpp have in common: POSIX calls. Every descriptor is close-on-exec,
// EINTR is retried, and errno is kept before anything else happens.
#pragma once

#include "system/system.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

#include <fcntl.h>

struct stat; // NOLINT(readability-identifier-naming): the system's name

namespace metalrun::posix {

[[nodiscard]] inline std::unexpected<int> last_error() {
    return std::unexpected(errno);
}

/// Closed at the end.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();
    [[nodiscard]] int get() const { return number_; }
    /// Leaves it open, for whoever has taken the number.
    void release() { number_ = -1; }

private:
    int number_;
};

/// open(2) with O_CLOEXEC; with a folder's descriptor openat(2), which makes no files.
[[nodiscard]] SysResult<Descriptor> open_descriptor(const std::string& path, int flags,
                                                    std::uint32_t mode = 0, int folder = AT_FDCWD);

/// realpath(3).
[[nodiscard]] SysResult<std::string> real_path_of(const std::string& path);

/// readlink(2).
[[nodiscard]] SysResult<std::string> link_content(const std::string& path);

/// confstr(3); empty if the system has no such value.
[[nodiscard]] std::string configuration(int name);

/// Pointers into the strings and a null pointer, as execve(2) wants them.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& strings);

// --- what each system defines for itself ---------------------------------------------------------

/// What POSIX's struct stat does not have, or has under another name.
struct StatExtras {
    timespec modified;
    timespec changed;
    std::uint32_t flags;
};
[[nodiscard]] StatExtras extras_of(const struct stat& raw);

/// The path of an open file without symbolic links.
[[nodiscard]] SysResult<std::string> path_of(const Descriptor& descriptor);

// -------------------------------------------------------------------------------------------------

/// The calls that are the same on both systems.
class PosixSystem : public System {
public:
    PosixSystem();

    [[nodiscard]] SysResult<std::unique_ptr<File>> open(const std::string& path) override;
    [[nodiscard]] SysResult<FileStatus> stat(const std::string& path) override;
    [[nodiscard]] SysResult<FileStatus> lstat(const std::string& path) override;
    [[nodiscard]] SysResult<std::string> real_path(const std::string& path) override;
    [[nodiscard]] SysResult<bool> is_executable(const std::string& path) override;
    [[nodiscard]] SysResult<std::vector<std::string>> list(const std::string& path) override;
    [[nodiscard]] SysResult<std::unique_ptr<Folder>> open_folder(const std::string& path) override;
    [[nodiscard]] SysResult<std::string> working_directory() override;
    [[nodiscard]] SysResult<void> change_directory(const std::string& path) override;
    [[nodiscard]] SysResult<void> make_directory(const std::string& path,
                                                 std::uint32_t mode) override;
    [[nodiscard]] SysResult<void> create_file(const std::string& path, std::uint32_t mode,
                                              std::string_view content) override;
    [[nodiscard]] SysResult<void> remove_file(const std::string& path) override;
    [[nodiscard]] SysResult<std::string> read_link(const std::string& path) override;
    [[nodiscard]] SysResult<bool> is_listening(std::uint16_t port) override;
    [[nodiscard]] Identity identity() override { return identity_; }
    [[nodiscard]] int process_id() override;
    [[nodiscard]] std::int64_t now_ns() override;
    [[nodiscard]] std::string default_search_path() override;
    [[nodiscard]] bool is_terminal(int descriptor) override;
    [[nodiscard]] std::size_t terminal_columns(int descriptor) override;
    bool write(int descriptor, std::string_view text) override;

private:
    Identity identity_;
};

} // namespace metalrun::posix
