// SPDX-License-Identifier: MIT
//
// The Linux side of the seam; what is plain POSIX lies in posix.cpp.
#include "macho/bytes.hpp"
#include "system/posix.hpp"
#include "system/privilege.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace metalrun {

namespace {

SysResult<std::string> read_link(const char* path) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t length = ::readlink(path, buffer.data(), buffer.size());
    if (length < 0) {
        return posix::last_error();
    }
    return std::string(buffer.data(), static_cast<std::size_t>(length));
}

class Linux final : public posix::PosixSystem {
public:
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

    SysResult<std::uint64_t> process_start_time() override {
        const auto file = posix::open_descriptor("/proc/self/stat", O_RDONLY);
        if (!file) {
            return std::unexpected(file.error());
        }
        // One read: the kernel makes the text anew for each.
        std::array<std::byte, 1024> buffer{};
        const ssize_t got = ::pread(file->get(), buffer.data(), buffer.size(), 0);
        if (got < 0) {
            return posix::last_error();
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

    std::string user_cache_folder() override { return {}; }

    int exec(const ExecRequest& request) override {
        std::vector<std::string> arguments = request.arguments;
        std::vector<std::string> environment = request.environment;
        ::execve(request.path.c_str(), posix::pointers(arguments).data(),
                 posix::pointers(environment).data());
        return errno;
    }
};

} // namespace

namespace posix {

StatExtras extras_of(const struct stat& raw) {
    return {.modified = raw.st_mtim, .changed = raw.st_ctim, .flags = 0};
}

SysResult<std::string> path_of(const Descriptor& descriptor) {
    return read_link(("/proc/self/fd/" + std::to_string(descriptor.get())).c_str());
}

} // namespace posix

bool has_borrowed_rights() {
    return ::getauxval(AT_SECURE) != 0;
}

std::unique_ptr<System> make_system() {
    return std::make_unique<Linux>();
}

} // namespace metalrun
