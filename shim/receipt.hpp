// SPDX-License-Identifier: MIT
//
// What the shim tells the launcher: TOML tables appended to the receipt that the launcher made. A
// record is composed in a fixed buffer and written by one write(2), so that the records of several
// processes never mix and a reader can ignore an unfinished tail.
#pragma once

#include <cstddef>

namespace metalrun::shim {

/// One `[[event]]` table. A key that does not fit is left out whole.
class Record {
public:
    explicit Record(const char* state) noexcept;

    /// Adds a string of at most 127 bytes; the rest is cut. Bytes that need an escape in TOML get
    /// it, and those outside ASCII, which may be half a character, become '?'.
    void text(const char* key, const char* value) noexcept;
    void number(const char* key, unsigned long value) noexcept;

    [[nodiscard]] const char* data() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_ + 1; } // with the blank line

private:
    [[nodiscard]] char* end() noexcept { return &bytes_[size_]; }
    [[nodiscard]] std::size_t room() const noexcept { return sizeof bytes_ - size_ - 1; }
    void take(int length) noexcept; ///< what snprintf wrote at the end, if it fitted

    char bytes_[1024];
    std::size_t size_ = 0;
};

/// Appends the record to the receipt, if that is a file which the launcher can have made: regular,
/// mode 0600, with one name, of this user. It is never created.
bool append_record(const char* path, const Record& record) noexcept;

} // namespace metalrun::shim
