// SPDX-License-Identifier: MIT
//
// Keeps the children of the target stock: takes the shim and its variables out of an environment,
// in place, and their bytes too (other programs can read those: KERN_PROCARGS2, /proc/PID/environ).
// The vector of the process's start is changed and not a copy of it, because some programs (those
// written in Go) give their children that one. It runs in the shim's constructor, before the target
// can have a second thread that reads those bytes.
#pragma once

#include "runtime.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include <dlfcn.h>
#include <sys/stat.h>

// NOLINTBEGIN(cppcoreguidelines-pro-bounds-pointer-arithmetic): the environment is a vector that a
// null pointer ends, of strings that a null byte ends; there are no sizes to make spans of.
namespace metalrun::shim {

inline bool begins_with(const char* text, const char* prefix) noexcept {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

/// Takes each of the shim's elements out, together with the separator before it, and clears what
/// is left over at the end. A list without one is not written to: it may be a constant that a
/// library put into the environment. Gives whether that leaves nothing of a list that was not
/// empty.
inline bool remove_elements(char* list, bool is_shim(const char* path)) noexcept {
    std::size_t out = 0;
    std::size_t place = 0;
    while (list[place] != '\0') {
        const bool separated = std::strchr(kInsertionSeparators, list[place]) != nullptr;
        const std::size_t first = place + (separated ? 1 : 0);
        const std::size_t end = first + std::strcspn(&list[first], kInsertionSeparators);
        char path[PATH_MAX]{};
        std::memcpy(path, &list[first], std::min(end - first, sizeof path - 1));
        const std::size_t kept = is_shim(path) ? end : out == 0 && place != 0 ? first : place;
        std::memmove(&list[out], &list[kept], kept == out ? 0 : end - kept);
        out += end - kept;
        place = end;
    }
    std::memset(&list[out], 0, place - out);
    return out == 0 && place != 0;
}

/// Clears LUME_METAL_*, METALRUN_SHIM_* and METALRUN_RECEIPT, and takes the shim's elements out of
/// the insertion variable, or clears that too when nothing is left of it; `is_shim` is asked for
/// the path of each. Gives the environment that is left: the end of the vector. What was cleared
/// becomes empty entries before it and not a shorter vector, for what follows its end (apple[], on
/// Linux the auxiliary vector) is found by counting from argv; runtimes skip an entry without '='.
/// Strings only become shorter; nothing is allocated. Doing it again changes nothing.
inline char** remove_shim(char** vector, bool is_shim(const char* path)) noexcept {
    char** rest = vector;
    for (char** entry = vector; *entry != nullptr; ++entry) {
        if (begins_with(*entry, kInsertionVariable)
                ? remove_elements(*entry + std::strlen(kInsertionVariable), is_shim)
                : begins_with(*entry, "LUME_METAL_") || begins_with(*entry, "METALRUN_SHIM_") ||
                      begins_with(*entry, "METALRUN_RECEIPT=")) {
            std::memset(*entry, 0, std::strlen(*entry));
            std::rotate(rest++, entry, entry + 1);
        }
    }
    return rest;
}

/// Whether the path leads to the file this code was loaded from.
inline bool is_this_library(const char* path) noexcept {
    Dl_info image{};
    struct stat own{};
    struct stat other{};
    return dladdr(static_cast<const void*>(&kInsertionVariable), &image) != 0 &&
           (std::strcmp(path, image.dli_fname) == 0 ||
            (stat(path, &other) == 0 && stat(image.dli_fname, &own) == 0 &&
             own.st_dev == other.st_dev && own.st_ino == other.st_ino));
}

} // namespace metalrun::shim
// NOLINTEND(cppcoreguidelines-pro-bounds-pointer-arithmetic)
