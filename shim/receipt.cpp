// SPDX-License-Identifier: MIT
//
// No descriptor is kept: the target may close those it did not open, or count on their numbers.
#include "receipt.hpp"

#include <cstdint>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metalrun::shim {
namespace {

bool is_receipt(int file, std::size_t growth) noexcept {
    struct stat status{};
    rlimit limit{}; // a write beyond it raises SIGXFSZ, which would end the target
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 07777U) == 0600U && status.st_nlink == 1 &&
           status.st_uid == geteuid() && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           static_cast<std::uint64_t>(status.st_size) + growth <= limit.rlim_cur;
}

} // namespace

Record::Record(const char* state) noexcept {
    take(std::snprintf(end(), room(), "[[event]]\npid = %ld\n", static_cast<long>(getpid())));
    text("state", state);
}

void Record::text(const char* key, const char* value) noexcept {
    char escaped[128 * 6]{}; // \u00xx
    std::size_t size = 0;
    for (std::size_t index = 0; index < 127; ++index) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): walks a C string
        const auto byte = static_cast<unsigned char>(value[index]);
        if (byte == '\0') {
            break;
        }
        if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\') {
            size += static_cast<std::size_t>(
                std::snprintf(&escaped[size], sizeof escaped - size, "\\u%04x", byte));
        } else {
            escaped[size++] = byte < 0x80 ? static_cast<char>(byte) : '?';
        }
    }
    take(std::snprintf(end(), room(), "%s = \"%s\"\n", key, escaped));
}

void Record::number(const char* key, unsigned long value) noexcept {
    take(std::snprintf(end(), room(), "%s = %lu\n", key, value));
}

void Record::take(int length) noexcept {
    if (length > 0 && static_cast<std::size_t>(length) < room()) {
        size_ += static_cast<std::size_t>(length);
    }
    *end() = '\n';
}

bool append_record(const char* path, const Record& record) noexcept {
    const int file =
        open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const bool written =
        is_receipt(file, record.size()) &&
        write(file, record.data(), record.size()) == static_cast<ssize_t>(record.size());
    close(file);
    return written;
}

} // namespace metalrun::shim
