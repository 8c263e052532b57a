// SPDX-License-Identifier: MIT
//
// The Linux side of the seam. Every descriptor is close-on-exec, EINTR is retried, and errno is
// kept before anything else happens.
#include "macho/bytes.hpp"
#include "system/privilege.hpp"
#include "system/system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace metalrun {

namespace {

std::unexpected<int> last_error() {
    return std::unexpected(errno);
}

constexpr std::int64_t kNanoseconds = 1'000'000'000;

FileStatus to_status(const struct stat& raw) {
    const auto nanoseconds = [](const timespec& time) {
        return static_cast<std::int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
    };
    return {.kind = S_ISREG(raw.st_mode)   ? FileKind::regular
                    : S_ISDIR(raw.st_mode) ? FileKind::directory
                    : S_ISLNK(raw.st_mode) ? FileKind::symbolic_link
                                           : FileKind::other,
            .device = raw.st_dev,
            .inode = raw.st_ino,
            .size_bytes = static_cast<std::uint64_t>(raw.st_size),
            .mode = raw.st_mode & 07777U,
            .owner = raw.st_uid,
            .group = raw.st_gid,
            .flags = 0,
            .links = raw.st_nlink,
            .modified_ns = nanoseconds(raw.st_mtim),
            .changed_ns = nanoseconds(raw.st_ctim)};
}

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
    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

SysResult<Descriptor> open_descriptor(const std::string& path, int flags, mode_t mode = 0) {
    while (true) {
        const int number =
            ::open(path.c_str(), flags | O_CLOEXEC, mode); // NOLINT(*-vararg): open(2)
        if (number >= 0) {
            return Descriptor(number);
        }
        if (errno != EINTR) {
            return last_error();
        }
    }
}

SysResult<std::string> read_link(const char* path) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t length = ::readlink(path, buffer.data(), buffer.size());
    if (length < 0) {
        return last_error();
    }
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

class OpenFile final : public File {
public:
    OpenFile(Descriptor descriptor, const FileStatus& status)
        : descriptor_(std::move(descriptor)), status_(status) {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }

    [[nodiscard]] SysResult<std::string> real_path() const override {
        return read_link(("/proc/self/fd/" + std::to_string(descriptor_.get())).c_str());
    }

    [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                 std::span<std::byte> into) const override {
        std::size_t done = 0;
        while (done < into.size()) {
            const auto rest = into.subspan(done);
            const ssize_t got = ::pread(descriptor_.get(), rest.data(), rest.size(),
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got < 0) {
                return last_error();
            }
            if (got == 0) {
                break;
            }
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

private:
    Descriptor descriptor_;
    FileStatus status_;
};

SysResult<FileStatus> status_at(const std::string& path, int flags) {
    struct stat raw{};
    if (::fstatat(AT_FDCWD, path.c_str(), &raw, flags) != 0) {
        return last_error();
    }
    return to_status(raw);
}

// Pointers into the strings, as execve(2) wants them.
std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (std::string& text : strings) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

class Linux final : public System {
public:
    SysResult<std::unique_ptr<File>> open(const std::string& path) override {
        auto descriptor = open_descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (!descriptor) {
            return std::unexpected(descriptor.error());
        }
        struct stat raw{};
        if (::fstat(descriptor->get(), &raw) != 0) {
            return last_error();
        }
        return std::make_unique<OpenFile>(std::move(*descriptor), to_status(raw));
    }

    SysResult<FileStatus> stat(const std::string& path) override { return status_at(path, 0); }

    SysResult<FileStatus> lstat(const std::string& path) override {
        return status_at(path, AT_SYMLINK_NOFOLLOW);
    }

    SysResult<std::string> real_path(const std::string& path) override {
        char* resolved = ::realpath(path.c_str(), nullptr);
        if (resolved == nullptr) {
            return last_error();
        }
        std::string out(resolved);
        std::free(resolved); // NOLINT(*-no-malloc,*-owning-memory): realpath(3) allocates it
        return out;
    }

    SysResult<bool> is_executable(const std::string& path) override {
        if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) {
            return true;
        }
        if (errno == EACCES) {
            return false;
        }
        return last_error();
    }

    SysResult<std::vector<std::string>> list(const std::string& path) override {
        DIR* folder = ::opendir(path.c_str());
        if (folder == nullptr) {
            return last_error();
        }
        std::vector<std::string> names;
        while (const dirent* entry =
                   ::readdir(folder)) { // NOLINT(concurrency-mt-unsafe): own stream
            const std::string_view name(static_cast<const char*>(entry->d_name));
            if (name != "." && name != "..") {
                names.emplace_back(name);
            }
        }
        ::closedir(folder);
        return names;
    }

    SysResult<std::string> working_directory() override {
        std::array<char, PATH_MAX> buffer{};
        if (::getcwd(buffer.data(), buffer.size()) == nullptr) {
            return last_error();
        }
        return std::string(buffer.data());
    }

    SysResult<void> change_directory(const std::string& path) override {
        if (::chdir(path.c_str()) != 0) {
            return last_error();
        }
        return {};
    }

    SysResult<void> make_directory(const std::string& path, std::uint32_t mode) override {
        // The umask may take bits away that the owner needs.
        if (::mkdir(path.c_str(), mode) != 0 || ::chmod(path.c_str(), mode) != 0) {
            return last_error();
        }
        return {};
    }

    SysResult<void> create_file(const std::string& path, std::uint32_t mode,
                                std::string_view content) override {
        auto file =
            open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, mode);
        if (!file) {
            return std::unexpected(file.error());
        }
        // The umask may have taken bits away; the shim insists on the exact mode.
        if (::fchmod(file->get(), mode) != 0) {
            return last_error();
        }
        const ssize_t written = ::write(file->get(), content.data(), content.size());
        if (written < 0) {
            return last_error();
        }
        return static_cast<std::size_t>(written) == content.size() ? SysResult<void>{}
                                                                   : std::unexpected(ENOSPC);
    }

    SysResult<void> remove_file(const std::string& path) override {
        if (::unlink(path.c_str()) != 0) {
            return last_error();
        }
        return {};
    }

    HostFacts host_facts() override {
        HostFacts facts{.source = HostFacts::Source::machine, .kernel = HostFacts::Kernel::linux};
        utsname names{};
        if (::uname(&names) == 0) {
            const std::string_view machine(static_cast<const char*>(names.machine));
            facts.architecture = machine == "aarch64" ? "arm64" : std::string(machine);
        }
        // The shim is for macOS guests; no Linux machine is one, whatever it runs on.
        facts.guest = Tri::no;
        facts.translated = Tri::no;
        const long pages = ::sysconf(_SC_PHYS_PAGES);
        const long page = ::sysconf(_SC_PAGESIZE);
        if (pages > 0 && page > 0) {
            facts.memory_bytes =
                static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
        }
        return facts;
    }

    Identity identity() override { return identity_; }

    int process_id() override { return ::getpid(); }

    SysResult<std::uint64_t> process_start_time() override {
        const auto file = open_descriptor("/proc/self/stat", O_RDONLY);
        if (!file) {
            return std::unexpected(file.error());
        }
        // One read: the kernel makes the text anew for each.
        std::array<std::byte, 1024> buffer{};
        const ssize_t got = ::pread(file->get(), buffer.data(), buffer.size(), 0);
        if (got < 0) {
            return last_error();
        }
        // proc(5): the command name may hold anything, so count fields behind the last ')'; the
        // start time is the 20th of them (field 22 of all).
        std::string_view text = as_text(Bytes(buffer).first(static_cast<std::size_t>(got)));
        text.remove_prefix(std::min(text.size(), text.rfind(')') + 1));
        constexpr int kField = 20;
        for (int field = 0; field < kField; ++field) {
            const std::size_t blank = text.find(' ');
            if (blank == std::string_view::npos) {
                return std::unexpected(EINVAL);
            }
            text.remove_prefix(blank + 1);
        }
        std::uint64_t ticks = 0;
        const char* const first = text.data();
        const auto parsed = std::from_chars(first, std::to_address(text.end()), ticks);
        return parsed.ec == std::errc{} ? SysResult<std::uint64_t>(ticks) : std::unexpected(EINVAL);
    }

    SysResult<std::string> executable_path() override { return read_link("/proc/self/exe"); }

    std::string default_search_path() override {
        std::string path(::confstr(_CS_PATH, nullptr, 0), '\0');
        if (!path.empty()) {
            ::confstr(_CS_PATH, path.data(), path.size());
            path.pop_back();
        }
        return path;
    }

    bool ignores_set_id(const std::string& path) override {
        struct statvfs raw{};
        return ::statvfs(path.c_str(), &raw) == 0 && (raw.f_flag & ST_NOSUID) != 0;
    }

    bool forbids_execution(const std::string& path) override {
        struct statvfs raw{};
        return ::statvfs(path.c_str(), &raw) == 0 && (raw.f_flag & ST_NOEXEC) != 0;
    }

    bool has_capabilities(const std::string& path) override {
        return ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
    }

    bool is_terminal(int descriptor) override { return ::isatty(descriptor) == 1; }

    void write(int descriptor, std::string_view text) override {
        while (!text.empty()) {
            const ssize_t written = ::write(descriptor, text.data(), text.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written <= 0) {
                return;
            }
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    int exec(const ExecRequest& request) override {
        std::vector<std::string> arguments = request.arguments;
        std::vector<std::string> environment = request.environment;
        ::execve(request.path.c_str(), pointers(arguments).data(), pointers(environment).data());
        return errno;
    }

private:
    Identity identity_{.user = ::getuid(),
                       .effective_user = ::geteuid(),
                       .group = ::getgid(),
                       .effective_group = ::getegid()};
};

} // namespace

bool has_borrowed_rights() {
    return ::getauxval(AT_SECURE) != 0;
}

std::unique_ptr<System> make_system() {
    return std::make_unique<Linux>();
}

} // namespace metalrun
