// SPDX-License-Identifier: MIT
//
// The Linux side of the seam; what is plain POSIX lies in posix.cpp.
#include "macho/bytes.hpp"
#include "system/mappings.hpp"
#include "system/posix.hpp"
#include "system/privilege.hpp"

#include <array>
#include <climits>
#include <csignal>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace metalrun {

namespace {

constexpr std::size_t kKernelText = 4096; // longer than any stat or status that matters here
constexpr std::size_t kMapsBlock = 65'536;
constexpr std::size_t kMostMapsBlocks = 4096;

// One read: the kernel makes the text anew for each.
SysResult<std::string_view> read_text(const std::string& path, std::span<std::byte> buffer) {
    const auto file = posix::open_descriptor(path, O_RDONLY);
    if (!file) {
        return std::unexpected(file.error());
    }
    const ssize_t got = ::pread(file->get(), buffer.data(), buffer.size(), 0);
    if (got < 0) {
        return posix::last_error();
    }
    return as_text(Bytes(buffer).first(static_cast<std::size_t>(got)));
}

SysResult<ProcStat> read_stat(const std::string& process_folder) {
    std::array<std::byte, kKernelText> buffer{};
    const auto text = read_text(process_folder + "/stat", buffer);
    if (!text) {
        return std::unexpected(text.error());
    }
    const auto stat = parse_proc_stat(*text);
    return stat ? SysResult<ProcStat>(*stat) : std::unexpected(EINVAL);
}

// Every whole line; what follows the last one is left.
void see_lines(MappingSearch& search, std::string& text) {
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
        search.see_line(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
    }
    text.erase(0, begin);
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
        const auto stat = read_stat("/proc/self");
        return stat ? SysResult<std::uint64_t>(stat->start_time) : std::unexpected(stat.error());
    }

    SysResult<ProcessFacts> find_process(int process_id) override {
        const std::string folder = "/proc/" + std::to_string(process_id);
        const auto found = read_stat(folder);
        if (!found) {
            // It may be there and hidden from us (hidepid), or /proc may not be mounted.
            const bool is_gone = ::kill(process_id, 0) != 0 && errno == ESRCH;
            return std::unexpected(is_gone ? ESRCH : EACCES);
        }
        const bool is_ended = found->state == 'Z' || found->state == 'X' || found->state == 'x';
        if (is_ended && found->threads <= 1) {
            return std::unexpected(ESRCH);
        }
        ProcessFacts facts{.start_time = found->start_time,
                           .is_stopped = found->state == 'T' || found->state == 't'};
        std::array<std::byte, kKernelText> buffer{};
        if (const auto text = read_text(folder + "/status", buffer)) {
            facts.effective_user = parse_proc_user(*text);
        }
        const std::string image = folder + "/exe";
        facts.image = posix::link_content(image).value_or(std::string{});
        if (const auto file = stat(image)) {
            facts.image_identity = FileIdentity{.device = file->device, .inode = file->inode};
            constexpr std::string_view kDeleted = " (deleted)";
            if (file->links == 0 && facts.image.ends_with(kDeleted)) {
                facts.image.resize(facts.image.size() - kDeleted.size());
            }
        }
        return facts;
    }

    Tri has_mapped(int process_id, const MappedFile& file) override {
        const auto maps =
            posix::open_descriptor("/proc/" + std::to_string(process_id) + "/maps", O_RDONLY);
        if (!maps) {
            return Tri::unknown;
        }
        MappingSearch search(file);
        std::vector<std::byte> buffer(kMapsBlock);
        std::string rest; // the begin of a line whose end was not read yet
        for (std::size_t blocks = 0; blocks < kMostMapsBlocks; ++blocks) {
            const ssize_t got = ::read(maps->get(), buffer.data(), buffer.size());
            if (got < 0) {
                return Tri::unknown;
            }
            if (got == 0 || search.answer() == Tri::yes) {
                return search.answer();
            }
            rest += as_text(Bytes(buffer).first(static_cast<std::size_t>(got)));
            see_lines(search, rest);
        }
        return Tri::unknown;
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
    return link_content("/proc/self/fd/" + std::to_string(descriptor.get()));
}

} // namespace posix

bool has_borrowed_rights() {
    return ::getauxval(AT_SECURE) != 0;
}

std::unique_ptr<System> make_system() {
    return std::make_unique<Linux>();
}

} // namespace metalrun
