// SPDX-License-Identifier: MIT
//
// See darwin.hpp.
#include "darwin.hpp"

#include <cstdint>
#include <cstring>
#include <span>

#include <fcntl.h>

namespace emulation {
namespace {

template <class T> void put(DarwinStat& bytes, std::size_t offset, T value) {
    std::memcpy(std::span(bytes).subspan(offset, sizeof value).data(), &value, sizeof value);
}

} // namespace

int open_flags_from_darwin(int flags) {
    constexpr struct {
        unsigned darwin;
        int linux_flag;
    } kFlags[] = {{0x1, O_WRONLY},         {0x2, O_RDWR},         {0x4, O_NONBLOCK},
                  {0x8, O_APPEND},         {0x100, O_NOFOLLOW},   {0x200, O_CREAT},
                  {0x400, O_TRUNC},        {0x800, O_EXCL},       {0x20000, O_NOCTTY},
                  {0x100000, O_DIRECTORY}, {0x1000000, O_CLOEXEC}};
    auto left = static_cast<unsigned>(flags);
    int result = 0;
    for (const auto& flag : kFlags) {
        if ((left & flag.darwin) != 0) {
            left &= ~flag.darwin;
            result |= flag.linux_flag;
        }
    }
    return left == 0 ? result : -1;
}

DarwinStat darwin_stat_of(const struct stat& status) {
    DarwinStat bytes{};
    put(bytes, 0, static_cast<std::int32_t>(status.st_dev));
    put(bytes, 4, static_cast<std::uint16_t>(status.st_mode));
    put(bytes, 6, static_cast<std::uint16_t>(status.st_nlink));
    put(bytes, 8, static_cast<std::uint64_t>(status.st_ino));
    put(bytes, 16, static_cast<std::uint32_t>(status.st_uid));
    put(bytes, 20, static_cast<std::uint32_t>(status.st_gid));
    put(bytes, 24, static_cast<std::int32_t>(status.st_rdev));
    put(bytes, 32, status.st_atim);
    put(bytes, 48, status.st_mtim);
    put(bytes, 64, status.st_ctim);
    put(bytes, 80, status.st_mtim); // of the birth, which Linux does not give
    put(bytes, 96, static_cast<std::int64_t>(status.st_size));
    put(bytes, 104, static_cast<std::int64_t>(status.st_blocks));
    put(bytes, 112, static_cast<std::int32_t>(status.st_blksize));
    return bytes;
}

} // namespace emulation
