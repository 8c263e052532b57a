// SPDX-License-Identifier: MIT
//
// The one seam between metalrun and the operating system. Everything left of it is a function from
// values to values; the real systems are linux.cpp and darwin.cpp, the recording one for tests is
// fake.hpp. No call here changes the signal mask, a signal disposition or an inherited descriptor,
// and none starts a child or a thread (helper.hpp does, and the run path never includes it).
#pragma once

#include "judge/host_facts.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun {

using Bytes = std::span<const std::byte>;

/// The result of a system call: a value, or errno.
template <class T> using SysResult = std::expected<T, int>;

enum class FileKind : std::uint8_t { regular, directory, symbolic_link, other };

/// What stat(2) said. Two equal values mean that the file did not change in between as far as
/// device, inode, size, modification and status-change time can tell.
struct FileStatus {
    FileKind kind = FileKind::other;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t mode = 0; ///< permission, set-id and sticky bits (07777)
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::uint32_t flags = 0; ///< st_flags on macOS (SF_RESTRICTED), else 0
    std::uint64_t links = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;

    bool operator==(const FileStatus&) const = default;
};

/// An open file: what it is, and bytes of it. The descriptor is close-on-exec and closed at the
/// end.
class File {
public:
    virtual ~File() = default;
    /// Status at the time of opening, taken from the descriptor (fstat), never from the path.
    [[nodiscard]] virtual const FileStatus& status() const = 0;
    /// The absolute path of the open file without symbolic links, from the descriptor
    /// (/proc/self/fd, F_GETPATH), so that it cannot be another file's.
    [[nodiscard]] virtual SysResult<std::string> real_path() const = 0;
    /// Reads up to `into.size()` bytes at `offset`; fewer only at the end of the file.
    [[nodiscard]] virtual SysResult<std::size_t> read_at(std::uint64_t offset,
                                                         std::span<std::byte> into) const = 0;

protected:
    File() = default;
    File(const File&) = default;
    File& operator=(const File&) = default;
    File(File&&) = default;
    File& operator=(File&&) = default;
};

/// A folder held open: names below it cannot be led elsewhere by whoever changes its path. The
/// descriptor is close-on-exec and closed at the end. No name is followed if it is a symbolic link.
class Folder {
public:
    virtual ~Folder() = default;
    /// Status at the time of opening, from the descriptor.
    [[nodiscard]] virtual const FileStatus& status() const = 0;
    /// The names in it, without `.` and `..`, in no order.
    [[nodiscard]] virtual SysResult<std::vector<std::string>> list() const = 0;
    [[nodiscard]] virtual SysResult<FileStatus> lstat(const std::string& name) const = 0;
    /// As System::open, with O_NOFOLLOW.
    [[nodiscard]] virtual SysResult<std::unique_ptr<File>> open(const std::string& name) const = 0;
    [[nodiscard]] virtual SysResult<void> remove_file(const std::string& name) = 0;

protected:
    Folder() = default;
    Folder(const Folder&) = default;
    Folder& operator=(const Folder&) = default;
    Folder(Folder&&) = default;
    Folder& operator=(Folder&&) = default;
};

/// Which file something is, whatever its name.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

/// A file that a process may have mapped: its path without symbolic links, and which it is now.
struct MappedFile {
    std::string path;
    FileIdentity identity;
};

/// What the kernel tells of a live process. A program's image is what the kernel loaded: of a
/// script, its interpreter.
struct ProcessFacts {
    std::uint64_t start_time = 0; ///< in the unit of System::process_start_time
    std::optional<std::uint32_t> effective_user;
    bool is_stopped = false;                    ///< by a signal or a debugger
    std::string image;                          ///< path without symbolic links; empty: unknown
    std::optional<FileIdentity> image_identity; ///< absent: unknown

    bool operator==(const ProcessFacts&) const = default;
};

/// The user and group ids of this process.
struct Identity {
    std::uint32_t user = 0;
    std::uint32_t effective_user = 0;
    std::uint32_t group = 0;
    std::uint32_t effective_group = 0;
};

/// The slice of a universal file that the kernel is to run, as its header names it
/// (mach/machine.h).
struct ExecArchitecture {
    std::uint32_t cputype = 0;
    std::uint32_t cpusubtype = 0;

    bool operator==(const ExecArchitecture&) const = default;
};

/// One exec. The strings are passed on byte for byte.
struct ExecRequest {
    std::string path;
    std::vector<std::string> arguments;   ///< argv, argv[0] included
    std::vector<std::string> environment; ///< NAME=VALUE, in this order
    /// This slice or an error; absent: the kernel chooses. Linux has no universal files and ignores
    /// it.
    std::optional<ExecArchitecture> architecture = {};
};

class System {
public:
    System() = default;
    System(const System&) = delete;
    System& operator=(const System&) = delete;
    virtual ~System() = default;

    /// Opens an existing file for reading (O_RDONLY|O_CLOEXEC|O_NONBLOCK|O_NOCTTY, so that neither
    /// a FIFO nor a terminal can hold us).
    [[nodiscard]] virtual SysResult<std::unique_ptr<File>> open(const std::string& path) = 0;
    [[nodiscard]] virtual SysResult<FileStatus> stat(const std::string& path) = 0;
    [[nodiscard]] virtual SysResult<FileStatus> lstat(const std::string& path) = 0;
    /// The absolute path without symbolic links, `.` and `..` (realpath(3)).
    [[nodiscard]] virtual SysResult<std::string> real_path(const std::string& path) = 0;
    /// True if this process may execute the file (faccessat with AT_EACCESS, X_OK).
    [[nodiscard]] virtual SysResult<bool> is_executable(const std::string& path) = 0;
    /// The names in a folder, without `.` and `..`, in no order.
    [[nodiscard]] virtual SysResult<std::vector<std::string>> list(const std::string& path) = 0;
    /// Opens a folder for the calls of Folder; a symbolic link is an error (O_NOFOLLOW).
    [[nodiscard]] virtual SysResult<std::unique_ptr<Folder>>
    open_folder(const std::string& path) = 0;
    [[nodiscard]] virtual SysResult<std::string> working_directory() = 0;
    [[nodiscard]] virtual SysResult<void> change_directory(const std::string& path) = 0;

    /// Makes one folder with this mode whatever the umask; EEXIST is an error like any other.
    [[nodiscard]] virtual SysResult<void> make_directory(const std::string& path,
                                                         std::uint32_t mode) = 0;
    /// Creates a new file that did not exist (O_CREAT|O_EXCL|O_NOFOLLOW, this mode whatever the
    /// umask) and writes `content` with one write(2).
    [[nodiscard]] virtual SysResult<void> create_file(const std::string& path, std::uint32_t mode,
                                                      std::string_view content) = 0;
    [[nodiscard]] virtual SysResult<void> remove_file(const std::string& path) = 0;

    /// What this machine is; facts that cannot be had are unknown.
    [[nodiscard]] virtual HostFacts host_facts() = 0;
    [[nodiscard]] virtual Identity identity() = 0;
    [[nodiscard]] virtual int process_id() = 0;
    /// When this process started, in the kernel's own unit (clock ticks since boot on Linux,
    /// microseconds since 1970 on macOS). It survives exec, so a receipt can name its process.
    [[nodiscard]] virtual SysResult<std::uint64_t> process_start_time() = 0;
    /// The process of this number. ESRCH: there is none, or only its status is left to be waited
    /// for (a zombie). Any other error: it cannot be told whether there is one.
    [[nodiscard]] virtual SysResult<ProcessFacts> find_process(int process_id) = 0;
    /// Whether the file is among those that the process has mapped. Unknown: they cannot be read,
    /// or one has the same name in another place.
    [[nodiscard]] virtual Tri has_mapped(int process_id, const MappedFile& file) = 0;
    /// The clock of file times: nanoseconds since 1970.
    [[nodiscard]] virtual std::int64_t now_ns() = 0;
    /// The path of the running metalrun without symbolic links.
    [[nodiscard]] virtual SysResult<std::string> executable_path() = 0;
    /// confstr(_CS_PATH): the search path when there is no PATH.
    [[nodiscard]] virtual std::string default_search_path() = 0;
    /// The user's own folder for caches, which the system keeps (macOS: confstr with
    /// _CS_DARWIN_USER_CACHE_DIR), without a slash at the end; empty: there is none.
    [[nodiscard]] virtual std::string user_cache_folder() = 0;
    /// True if the folder's file system cannot give set-id rights (nosuid), or unknown: false.
    [[nodiscard]] virtual bool ignores_set_id(const std::string& path) = 0;
    /// True if the folder's file system lets nothing be executed or mapped so (noexec).
    [[nodiscard]] virtual bool forbids_execution(const std::string& path) = 0;
    /// True if the file carries com.apple.quarantine (macOS only).
    [[nodiscard]] virtual bool is_quarantined(const std::string& path) {
        static_cast<void>(path);
        return false;
    }
    /// True if the folder belongs to the host and is only shared with this guest (macOS:
    /// statfs(2), virtiofs), or unknown: false.
    [[nodiscard]] virtual bool is_shared_folder(const std::string& path) {
        static_cast<void>(path);
        return false;
    }
    /// True if the file carries capabilities (Linux: the security.capability attribute).
    [[nodiscard]] virtual bool has_capabilities(const std::string& path) = 0;

    /// Where a symbolic link leads, as it is written in it (readlink(2)).
    [[nodiscard]] virtual SysResult<std::string> read_link(const std::string& path) = 0;
    /// True if something on this machine takes connections on 127.0.0.1 at this port. It is asked
    /// by a connection that is closed at once, within a quarter of a second; ETIMEDOUT: no answer
    /// by then.
    [[nodiscard]] virtual SysResult<bool> is_listening(std::uint16_t port) = 0;

    [[nodiscard]] virtual bool is_terminal(int descriptor) = 0;
    /// How many characters a line of this terminal has; 80 if it does not say (TIOCGWINSZ).
    [[nodiscard]] virtual std::size_t terminal_columns(int descriptor) = 0;
    /// Writes all of `text` to the descriptor, or as much as can be written.
    /// False if not all of it could be written. Standard error never holds a start up or ends it:
    /// what a closed or full pipe does not take within a second is dropped.
    virtual bool write(int descriptor, std::string_view text) = 0;

    /// Becomes the program; comes back only to say why not (errno).
    [[nodiscard]] virtual int exec(const ExecRequest& request) = 0;
};

/// The system of this machine.
[[nodiscard]] std::unique_ptr<System> make_system();

} // namespace metalrun
