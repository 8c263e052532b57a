// SPDX-License-Identifier: MIT
//
// The macOS side of the seam; what is plain POSIX lies in posix.cpp. Sources: sysctl(3),
// posix_spawn(2), bsd/sys/csr.h and bsd/kern/kern_exec.c of xnu.
#include "system/mappings.hpp"
#include "system/posix.hpp"
#include "system/privilege.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fcntl.h>
#include <libproc.h>
#include <mach-o/dyld.h>
#include <mach/machine.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

// bsd/sys/csr.h, which no SDK has. Weak: a system without it leaves the state unknown.
extern "C" int csr_get_active_config(std::uint32_t* config) __attribute__((weak_import));

// sys/xattr.h, which the cross build's SDK does not have.
extern "C" ssize_t getxattr(const char* path, const char* name, void* value, std::size_t size,
                            std::uint32_t position, int options);

namespace metalrun {

namespace {

// CSR_ALLOW_UNRESTRICTED_FS: the bit that decides whether dyld's variables reach restricted
// programs.
constexpr std::uint32_t kUnrestrictedFileSystem = 1U << 1U;

// A text of the kernel; empty: unknown.
std::string kernel_text(const char* name) {
    std::size_t size = 0;
    if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) {
        return {};
    }
    std::string text(size, '\0');
    if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) {
        return {};
    }
    text.resize(std::min(size, text.find('\0')));
    return text;
}

// A number of the kernel, of 4 or 8 bytes, or errno.
SysResult<std::uint64_t> kernel_number(const char* name) {
    // Little-endian, so a number of 4 bytes fills the lower half.
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t number = 0;
    std::size_t size = sizeof number;
    if (::sysctlbyname(name, &number, &size, nullptr, 0) != 0) {
        return posix::last_error();
    }
    return number;
}

Tri to_tri(bool value) {
    return value ? Tri::yes : Tri::no;
}

Tri is_guest(std::string_view model) {
    if (model.starts_with("VirtualMac")) {
        return Tri::yes;
    }
    const auto present = kernel_number("kern.hv_vmm_present");
    return present ? to_tri(*present != 0) : Tri::unknown;
}

Tri system_integrity_protection() {
    std::uint32_t config = 0;
    if (&csr_get_active_config == nullptr || csr_get_active_config(&config) != 0) {
        return Tri::unknown;
    }
    return to_tri((config & kUnrestrictedFileSystem) == 0);
}

Tri is_translated() {
    const auto translated = kernel_number("sysctl.proc_translated");
    if (translated) {
        return to_tri(*translated != 0);
    }
    // A kernel that cannot translate does not know the name.
    return translated.error() == ENOENT ? Tri::no : Tri::unknown;
}

// What the kernel runs natively, whatever this process is.
std::string kernel_architecture() {
    const auto arm = kernel_number("hw.optional.arm64");
    if (arm) {
        return *arm != 0 ? "arm64" : "x86_64";
    }
    return arm.error() == ENOENT ? "x86_64" : "";
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!word.empty()) {
            out.emplace_back(word);
        }
    }
    return out;
}

// Mount flags of the file system that a path lies on; 0: unknown.
std::uint32_t mount_flags(const std::string& path) {
    struct statfs raw{};
    return ::statfs(path.c_str(), &raw) == 0 ? raw.f_flags : 0;
}

// Anybody may ask this of any process, other than what libproc(3) tells. A zombie is found, too.
SysResult<kinfo_proc> kernel_process(int process_id) {
    std::array<int, 4> name{CTL_KERN, KERN_PROC, KERN_PROC_PID, process_id};
    kinfo_proc process{};
    std::size_t size = sizeof process;
    if (::sysctl(name.data(), static_cast<u_int>(name.size()), &process, &size, nullptr, 0) != 0) {
        return posix::last_error();
    }
    if (size < sizeof process) { // what a process that is gone gives
        return std::unexpected(ESRCH);
    }
    return process;
}

std::uint64_t start_time_of(const kinfo_proc& process) {
    constexpr std::uint64_t kMicroseconds = 1'000'000;
    const timeval& started = process.kp_proc.p_starttime;
    return static_cast<std::uint64_t>(started.tv_sec) * kMicroseconds +
           static_cast<std::uint64_t>(started.tv_usec);
}

// Calls `see` with path and identity of the file behind each region of the process's memory, until
// it answers true. True if all were seen or `see` had enough; false if they cannot be read
// (proc_info.c of xnu: of another user's process, EPERM; EINVAL is what follows the last region).
template <class See> bool for_each_mapped_file(int process_id, See see) {
    constexpr std::size_t kMostRegions = 1'000'000;
    std::uint64_t address = 0;
    for (std::size_t count = 0; count < kMostRegions; ++count) {
        proc_regionwithpathinfo region{};
        errno = 0;
        if (::proc_pidinfo(process_id, PROC_PIDREGIONPATHINFO, address, &region, sizeof region) !=
            static_cast<int>(sizeof region)) {
            return errno == EINVAL && count > 0;
        }
        const vinfo_stat& file = region.prp_vip.vip_vi.vi_stat;
        const auto path = static_cast<const char*>(region.prp_vip.vip_path);
        // st_dev is signed, and FileStatus keeps its sign.
        if (*path != '\0' &&
            see(std::string_view(path),
                FileIdentity{.device = static_cast<std::uint64_t>(static_cast<dev_t>(file.vst_dev)),
                             .inode = file.vst_ino})) {
            return true;
        }
        const std::uint64_t next = region.prp_prinfo.pri_address + region.prp_prinfo.pri_size;
        if (next <= address) {
            return false;
        }
        address = next;
    }
    return false;
}

// The attributes of one posix_spawn. Only what is set differs from exec: signal mask and
// dispositions, process group and descriptors stay as inherited.
class SpawnAttributes {
public:
    SpawnAttributes() : error_(::posix_spawnattr_init(&attributes_)) {
        if (error_ == 0) {
            error_ = ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETEXEC);
        }
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    SpawnAttributes(SpawnAttributes&&) = delete;
    SpawnAttributes& operator=(SpawnAttributes&&) = delete;
    ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }

    // The kernel takes no other slice than this one.
    void pin(ExecArchitecture architecture) {
        // The high byte holds feature bits, which the kernel does not compare.
        auto type = static_cast<cpu_type_t>(architecture.cputype);
        auto subtype =
            static_cast<cpu_subtype_t>(architecture.cpusubtype & ~std::uint32_t{CPU_SUBTYPE_MASK});
        std::size_t taken = 0;
        if (error_ == 0) {
            error_ = ::posix_spawnattr_setarchpref_np(&attributes_, 1, &type, &subtype, &taken);
        }
    }

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
    int error_;
};

class Darwin final : public posix::PosixSystem {
public:
    HostFacts host_facts() override {
        HostFacts facts{.source = HostFacts::Source::machine, .kernel = HostFacts::Kernel::darwin};
        facts.os = kernel_text("kern.osproductversion");
        facts.build = kernel_text("kern.osversion");
        facts.architecture = kernel_architecture();
        facts.chip = kernel_text("machdep.cpu.brand_string");
        facts.guest = is_guest(kernel_text("hw.model"));
        facts.sip = system_integrity_protection();
        facts.boot_arguments = words(kernel_text("kern.bootargs"));
        facts.translated = is_translated();
        if (const auto memory = kernel_number("hw.memsize")) {
            facts.memory_bytes = *memory;
        }
        return facts;
    }

    SysResult<std::uint64_t> process_start_time() override {
        const auto process = kernel_process(process_id());
        return process ? SysResult<std::uint64_t>(start_time_of(*process))
                       : std::unexpected(process.error());
    }

    SysResult<ProcessFacts> find_process(int process_id) override {
        const auto process = kernel_process(process_id);
        if (!process) {
            return std::unexpected(process.error());
        }
        if (process->kp_proc.p_stat == SZOMB) {
            return std::unexpected(ESRCH);
        }
        ProcessFacts facts{.start_time = start_time_of(*process),
                           .effective_user = process->kp_eproc.e_ucred.cr_uid,
                           .is_stopped = process->kp_proc.p_stat == SSTOP};
        std::vector<char> path(PROC_PIDPATHINFO_MAXSIZE);
        const int length =
            ::proc_pidpath(process_id, path.data(), static_cast<std::uint32_t>(path.size()));
        if (length > 0) {
            facts.image.assign(path.data(), static_cast<std::size_t>(length));
            for_each_mapped_file(process_id, [&](std::string_view mapped, FileIdentity identity) {
                if (mapped == facts.image) {
                    facts.image_identity = identity;
                }
                return facts.image_identity.has_value();
            });
        }
        return facts;
    }

    Tri has_mapped(int process_id, const MappedFile& file) override {
        MappingSearch search(file);
        const bool is_whole =
            for_each_mapped_file(process_id, [&](std::string_view mapped, FileIdentity identity) {
                search.see(mapped, identity);
                return search.answer() == Tri::yes;
            });
        return is_whole || search.answer() == Tri::yes ? search.answer() : Tri::unknown;
    }

    SysResult<std::string> executable_path() override {
        // The first call only asks for the size.
        std::uint32_t size = 0;
        ::_NSGetExecutablePath(nullptr, &size);
        std::string path(size, '\0');
        if (size == 0 || ::_NSGetExecutablePath(path.data(), &size) != 0) {
            return std::unexpected(ENAMETOOLONG);
        }
        return posix::real_path_of(path.c_str()); // up to its NUL
    }

    std::string user_cache_folder() override {
        std::string folder = posix::configuration(_CS_DARWIN_USER_CACHE_DIR);
        while (folder.ends_with('/')) {
            folder.pop_back();
        }
        return folder;
    }

    bool ignores_set_id(const std::string& path) override {
        return (mount_flags(path) & MNT_NOSUID) != 0;
    }

    bool forbids_execution(const std::string& path) override {
        return (mount_flags(path) & MNT_NOEXEC) != 0;
    }

    bool is_quarantined(const std::string& path) override {
        return ::getxattr(path.c_str(), "com.apple.quarantine", nullptr, 0, 0, 0) >= 0;
    }

    bool is_shared_folder(const std::string& path) override {
        struct statfs raw{};
        if (::statfs(path.c_str(), &raw) != 0) {
            return false;
        }
        const std::string_view type(static_cast<const char*>(raw.f_fstypename));
        return type == "virtiofs" || type == "AppleVirtIOFS";
    }

    bool has_capabilities(const std::string&) override { return false; }

    int exec(const ExecRequest& request) override {
        SpawnAttributes attributes;
        if (request.architecture) {
            attributes.pin(*request.architecture);
        }
        if (attributes.error() != 0) {
            return attributes.error();
        }
        std::vector<std::string> arguments = request.arguments;
        std::vector<std::string> environment = request.environment;
        return ::posix_spawn(nullptr, request.path.c_str(), nullptr, attributes.get(),
                             posix::pointers(arguments).data(),
                             posix::pointers(environment).data());
    }
};

} // namespace

namespace posix {

StatExtras extras_of(const struct stat& raw) {
    return {.modified = raw.st_mtimespec, .changed = raw.st_ctimespec, .flags = raw.st_flags};
}

SysResult<std::string> path_of(const Descriptor& descriptor) {
    std::array<char, MAXPATHLEN> buffer{};
    if (::fcntl(descriptor.get(), F_GETPATH, buffer.data()) != 0) { // NOLINT(*-vararg): fcntl(2)
        return last_error();
    }
    return std::string(buffer.data());
}

} // namespace posix

bool has_borrowed_rights() {
    return ::issetugid() != 0;
}

std::unique_ptr<System> make_system() {
    return std::make_unique<Darwin>();
}

} // namespace metalrun
