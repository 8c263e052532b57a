// SPDX-License-Identifier: MIT
#include "system/posix.hpp"

#include <array>
#include <climits>
#include <cstdlib>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metalrun::posix {

namespace {

std::int64_t to_nanoseconds(const timespec& time) {
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    return static_cast<std::int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
}

FileStatus to_status(const struct stat& raw) {
    const StatExtras extras = extras_of(raw);
    return {.kind = S_ISREG(raw.st_mode)   ? FileKind::regular
                    : S_ISDIR(raw.st_mode) ? FileKind::directory
                    : S_ISLNK(raw.st_mode) ? FileKind::symbolic_link
                                           : FileKind::other,
            .device = static_cast<std::uint64_t>(raw.st_dev),
            .inode = raw.st_ino,
            .size_bytes = static_cast<std::uint64_t>(raw.st_size),
            .mode = raw.st_mode & 07777U,
            .owner = raw.st_uid,
            .group = raw.st_gid,
            .flags = extras.flags,
            .links = raw.st_nlink,
            .modified_ns = to_nanoseconds(extras.modified),
            .changed_ns = to_nanoseconds(extras.changed)};
}

class OpenFile final : public File {
public:
    OpenFile(Descriptor descriptor, const FileStatus& status)
        : descriptor_(std::move(descriptor)), status_(status) {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }

    [[nodiscard]] SysResult<std::string> real_path() const override { return path_of(descriptor_); }

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

SysResult<FileStatus> status_at(int folder, const std::string& path, int flags) {
    struct stat raw{};
    if (::fstatat(folder, path.c_str(), &raw, flags) != 0) {
        return last_error();
    }
    return to_status(raw);
}

SysResult<FileStatus> status_of(const Descriptor& descriptor) {
    struct stat raw{};
    if (::fstat(descriptor.get(), &raw) != 0) {
        return last_error();
    }
    return to_status(raw);
}

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

SysResult<std::unique_ptr<File>> to_file(SysResult<Descriptor> descriptor) {
    if (!descriptor) {
        return std::unexpected(descriptor.error());
    }
    const auto status = status_of(*descriptor);
    if (!status) {
        return std::unexpected(status.error());
    }
    return std::make_unique<OpenFile>(std::move(*descriptor), *status);
}

// Reads and closes the stream.
SysResult<std::vector<std::string>> names_in(DIR* folder) {
    if (folder == nullptr) {
        return last_error();
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(folder)) { // NOLINT(concurrency-mt-unsafe): own stream
        const std::string_view name(static_cast<const char*>(entry->d_name));
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    ::closedir(folder);
    return names;
}

class OpenFolder final : public Folder {
public:
    OpenFolder(Descriptor descriptor, const FileStatus& status)
        : descriptor_(std::move(descriptor)), status_(status) {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }

    [[nodiscard]] SysResult<std::vector<std::string>> list() const override {
        // A stream closes its descriptor, and one that shares its position could be read once only.
        auto own = open_descriptor(".", O_RDONLY | O_DIRECTORY, 0, descriptor_.get());
        if (!own) {
            return std::unexpected(own.error());
        }
        DIR* stream = ::fdopendir(own->get());
        if (stream != nullptr) {
            own->release();
        }
        return names_in(stream);
    }

    [[nodiscard]] SysResult<FileStatus> lstat(const std::string& name) const override {
        return status_at(descriptor_.get(), name, AT_SYMLINK_NOFOLLOW);
    }

    [[nodiscard]] SysResult<std::unique_ptr<File>> open(const std::string& name) const override {
        return to_file(open_descriptor(name, kReadFlags | O_NOFOLLOW, 0, descriptor_.get()));
    }

    [[nodiscard]] SysResult<void> remove_file(const std::string& name) override {
        if (::unlinkat(descriptor_.get(), name.c_str(), 0) != 0) {
            return last_error();
        }
        return {};
    }

private:
    Descriptor descriptor_;
    FileStatus status_;
};

} // namespace

Descriptor::~Descriptor() {
    if (number_ >= 0) {
        ::close(number_);
    }
}

SysResult<Descriptor> open_descriptor(const std::string& path, int flags, std::uint32_t mode,
                                      int folder) {
    while (true) {
        const int number =
            folder == AT_FDCWD
                ? ::open(path.c_str(), flags | O_CLOEXEC, mode)      // NOLINT(*-vararg): open(2)
                : ::openat(folder, path.c_str(), flags | O_CLOEXEC); // NOLINT(*-vararg): openat(2)
        if (number >= 0) {
            return Descriptor(number);
        }
        if (errno != EINTR) {
            return last_error();
        }
    }
}

SysResult<std::string> real_path_of(const std::string& path) {
    char* resolved = ::realpath(path.c_str(), nullptr);
    if (resolved == nullptr) {
        return last_error();
    }
    std::string out(resolved);
    std::free(resolved); // NOLINT(*-no-malloc,*-owning-memory): realpath(3) allocates it
    return out;
}

SysResult<std::string> link_content(const std::string& path) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
    if (length < 0) {
        return last_error();
    }
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::string configuration(int name) {
    std::string value(::confstr(name, nullptr, 0), '\0');
    if (!value.empty()) {
        ::confstr(name, value.data(), value.size());
        value.pop_back(); // the NUL is counted
    }
    return value;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (std::string& text : strings) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

PosixSystem::PosixSystem()
    : identity_{.user = ::getuid(),
                .effective_user = ::geteuid(),
                .group = ::getgid(),
                .effective_group = ::getegid()} {}

SysResult<std::unique_ptr<File>> PosixSystem::open(const std::string& path) {
    return to_file(open_descriptor(path, kReadFlags));
}

SysResult<FileStatus> PosixSystem::stat(const std::string& path) {
    return status_at(AT_FDCWD, path, 0);
}

SysResult<FileStatus> PosixSystem::lstat(const std::string& path) {
    return status_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
}

SysResult<std::string> PosixSystem::real_path(const std::string& path) {
    return real_path_of(path);
}

SysResult<bool> PosixSystem::is_executable(const std::string& path) {
    if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) {
        return true;
    }
    if (errno == EACCES) {
        return false;
    }
    return last_error();
}

SysResult<std::vector<std::string>> PosixSystem::list(const std::string& path) {
    return names_in(::opendir(path.c_str()));
}

SysResult<std::unique_ptr<Folder>> PosixSystem::open_folder(const std::string& path) {
    auto descriptor = open_descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!descriptor) {
        return std::unexpected(descriptor.error());
    }
    const auto status = status_of(*descriptor);
    if (!status) {
        return std::unexpected(status.error());
    }
    return std::make_unique<OpenFolder>(std::move(*descriptor), *status);
}

SysResult<std::string> PosixSystem::working_directory() {
    std::array<char, PATH_MAX> buffer{};
    if (::getcwd(buffer.data(), buffer.size()) == nullptr) {
        return last_error();
    }
    return std::string(buffer.data());
}

SysResult<void> PosixSystem::change_directory(const std::string& path) {
    if (::chdir(path.c_str()) != 0) {
        return last_error();
    }
    return {};
}

namespace {

// While it lives, what is created has the mode it is given. Changing the mode afterwards would
// leave a file that nobody can use behind, should the process be ended in between.
class WithoutUmask {
public:
    WithoutUmask() : before_(::umask(0)) {}
    WithoutUmask(const WithoutUmask&) = delete;
    WithoutUmask& operator=(const WithoutUmask&) = delete;
    WithoutUmask(WithoutUmask&&) = delete;
    WithoutUmask& operator=(WithoutUmask&&) = delete;
    ~WithoutUmask() { ::umask(before_); }

private:
    mode_t before_;
};

// Writing past the limit would raise SIGXFSZ, whose disposition is the target's, not ours.
bool fits_file_limit(std::size_t size) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

// A pipe without a reader would raise SIGPIPE, a full one would hold us. Only pipes and sockets are
// asked: poll(2) of macOS knows no devices.
bool takes_diagnostics() {
    struct stat raw{};
    if (::fstat(STDERR_FILENO, &raw) != 0 || (!S_ISFIFO(raw.st_mode) && !S_ISSOCK(raw.st_mode))) {
        return true;
    }
    constexpr int kPatienceMs = 1000;
    pollfd waiting{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&waiting, 1, kPatienceMs);
    return ready > 0 && (waiting.revents & (POLLERR | POLLNVAL)) == 0;
}

} // namespace

SysResult<void> PosixSystem::make_directory(const std::string& path, std::uint32_t mode) {
    const WithoutUmask all_bits;
    if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0) {
        return last_error();
    }
    return {};
}

SysResult<void> PosixSystem::create_file(const std::string& path, std::uint32_t mode,
                                         std::string_view content) {
    if (!fits_file_limit(content.size())) {
        return std::unexpected(EFBIG);
    }
    // The shim insists on the exact mode.
    auto file = [&] {
        const WithoutUmask all_bits;
        return open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, mode);
    }();
    if (!file) {
        return std::unexpected(file.error());
    }
    const ssize_t written = ::write(file->get(), content.data(), content.size());
    if (written >= 0 && static_cast<std::size_t>(written) == content.size()) {
        return {};
    }
    const int number = written < 0 ? errno : ENOSPC;
    ::unlink(path.c_str()); // half a file is worse than none
    return std::unexpected(number);
}

SysResult<void> PosixSystem::remove_file(const std::string& path) {
    if (::unlink(path.c_str()) != 0) {
        return last_error();
    }
    return {};
}

SysResult<std::string> PosixSystem::read_link(const std::string& path) {
    return link_content(path);
}

SysResult<bool> PosixSystem::is_listening(std::uint16_t port) {
    constexpr int kMilliseconds = 250;
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    if (socket.get() < 0 ||
        ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0 || // NOLINT(*-vararg): fcntl(2)
        ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) { // NOLINT(*-vararg): fcntl(2)
        return last_error();
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const void* const raw = &address;
    int error = 0;
    if (::connect(socket.get(), static_cast<const sockaddr*>(raw), sizeof address) != 0) {
        error = errno;
    }
    // EINTR: the connection goes on without us (connect(2)).
    if (error == EINPROGRESS || error == EINTR) {
        pollfd waiting{.fd = socket.get(), .events = POLLOUT, .revents = 0};
        socklen_t size = sizeof error;
        if (::poll(&waiting, 1, kMilliseconds) != 1) {
            return std::unexpected(ETIMEDOUT);
        }
        if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            return last_error();
        }
    }
    if (error != 0 && error != ECONNREFUSED) {
        return std::unexpected(error);
    }
    return error == 0;
}

int PosixSystem::process_id() {
    return ::getpid();
}

std::int64_t PosixSystem::now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return to_nanoseconds(now);
}

std::string PosixSystem::default_search_path() {
    return configuration(_CS_PATH);
}

bool PosixSystem::is_terminal(int descriptor) {
    return ::isatty(descriptor) == 1;
}

std::size_t PosixSystem::terminal_columns(int descriptor) {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0; // NOLINT(*-vararg): ioctl(2)
    return known && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool PosixSystem::write(int descriptor, std::string_view text) {
    while (!text.empty()) {
        if (descriptor == STDERR_FILENO && !takes_diagnostics()) {
            return false;
        }
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

} // namespace metalrun::posix
