// SPDX-License-Identifier: MIT
//
// What the shim tells the launcher: TOML tables appended to the receipt that the launcher made. A
// record is composed in a fixed buffer and written by one write(2), so that the records of several
// processes never mix and a reader can ignore an unfinished tail. No descriptor is kept: the target
// may close those it did not open, or count on their numbers.
#pragma once

#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metalrun::shim {

/// One `[[event]]` table. A key that does not fit is left out whole.
class Record {
public:
    explicit Record(const char* state) noexcept {
        take(std::snprintf(end(), room(), "[[event]]\npid = %ld\n", static_cast<long>(getpid())));
        text("state", state);
    }

    /// Adds a string of at most 127 bytes; the rest is cut. Bytes that need an escape in TOML get
    /// it, and those outside ASCII, which may be half a character, become '?'.
    void text(const char* key, const char* value) noexcept {
        char escaped[128 * 6]{}; // \u00xx
        std::size_t size = 0;
        // NOLINTBEGIN(cppcoreguidelines-pro-bounds-pointer-arithmetic): walks a C string
        for (std::size_t index = 0; index < 127 && value[index] != '\0'; ++index) {
            const auto byte = static_cast<unsigned char>(value[index]);
            const int shown = byte < 0x80 ? byte : '?';
            // NOLINTEND(cppcoreguidelines-pro-bounds-pointer-arithmetic)
            const bool is_plain = shown >= 0x20 && shown != 0x7f && shown != '"' && shown != '\\';
            size += static_cast<std::size_t>(std::snprintf(&escaped[size], sizeof escaped - size,
                                                           is_plain ? "%c" : "\\u%04x", shown));
        }
        take(std::snprintf(end(), room(), "%s = \"%s\"\n", key, escaped));
    }

    void number(const char* key, unsigned long value) noexcept {
        take(std::snprintf(end(), room(), "%s = %lu\n", key, value));
    }

    [[nodiscard]] const char* data() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_ + 1; } // with the blank line

private:
    [[nodiscard]] char* end() noexcept { return &bytes_[size_]; }
    [[nodiscard]] std::size_t room() const noexcept { return sizeof bytes_ - size_ - 1; }

    /// What snprintf(3) wrote at the end, if it fitted.
    void take(int length) noexcept {
        const auto size = static_cast<std::size_t>(length); // an error is a very large one
        size_ += size < room() ? size : 0;
        *end() = '\n';
    }

    char bytes_[1024];
    std::size_t size_ = 0;
};

/// Whether the file is one that the launcher can have made and that may grow by so many bytes:
/// regular, mode 0600, with one name, of this user.
inline bool is_receipt(int file, std::size_t growth) noexcept {
    struct stat status{};
    rlimit limit{}; // a write beyond it raises SIGXFSZ, which would end the target
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 07777U) == 0600U && status.st_nlink == 1 &&
           status.st_uid == geteuid() && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           static_cast<rlim_t>(status.st_size) + growth <= limit.rlim_cur;
}

/// Writes the record by one write(2). One that cannot be written is lost: nothing waits for it.
inline void write_record(int file, const Record& record) noexcept {
    static_cast<void>(write(file, record.data(), record.size()) == 0);
}

/// Appends the record to the receipt, which is never created.
inline void append_record(const char* path, const Record& record) noexcept {
    const int file =
        open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && is_receipt(file, record.size())) {
        write_record(file, record);
    }
    close(file); // nothing, if there is none
}

} // namespace metalrun::shim
