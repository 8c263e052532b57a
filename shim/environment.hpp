// SPDX-License-Identifier: MIT
//
// Keeps the children of the target stock: takes the shim and its variables out of an environment,
// in place. The vector of the process's start is changed and not a copy of it, because some
// programs (those written in Go) give their children that one. It runs in the shim's constructor,
// before the target can have a second thread that reads those bytes.
#pragma once

#include "runtime.hpp"

#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <sys/stat.h>

// NOLINTBEGIN(cppcoreguidelines-pro-bounds-pointer-arithmetic): the environment is a vector that a
// null pointer ends, of strings that a null byte ends; there are no sizes to make spans of.
namespace metalrun::shim {

inline bool begins_with(const char* text, const char* prefix) noexcept {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

/// Takes each of the shim's elements out, together with the separator before it. Gives whether
/// anything is left.
inline bool remove_elements(char* list, bool is_shim(const char* path)) noexcept {
    for (char* place = list; *place != '\0';) {
        char* element = place + (std::strchr(kInsertionSeparators, *place) == nullptr ? 0 : 1);
        char* end = element + std::strcspn(element, kInsertionSeparators);
        const char separator = std::exchange(*end, '\0');
        const bool remove = is_shim(element);
        *end = separator;
        if (remove) {
            std::memmove(place, end, std::strlen(end) + 1);
        }
        place = remove ? place : end;
    }
    const char* first = list + std::strspn(list, kInsertionSeparators);
    std::memmove(list, first, std::strlen(first) + 1);
    return *list != '\0';
}

/// Removes LUME_METAL_*, METALRUN_SHIM_* and METALRUN_RECEIPT from the vector, and the shim's
/// elements from the insertion variable, or that variable when nothing is left of it; `is_shim` is
/// asked for the path of each. Strings only become shorter; nothing is allocated. Doing it again
/// changes nothing.
inline void remove_shim(char** vector, bool is_shim(const char* path)) noexcept {
    const std::size_t length = std::strlen(kInsertionVariable);
    char** out = vector;
    for (char** entry = vector; *entry != nullptr; ++entry) {
        const bool inserts = begins_with(*entry, kInsertionVariable) && (*entry)[length] == '=';
        const bool is_own = begins_with(*entry, "LUME_METAL_") ||
                            begins_with(*entry, "METALRUN_SHIM_") ||
                            begins_with(*entry, "METALRUN_RECEIPT=");
        if (inserts ? remove_elements(*entry + length + 1, is_shim) : !is_own) {
            *out++ = *entry;
        }
    }
    *out = nullptr;
}

/// Whether the path leads to the file this code was loaded from.
inline bool is_this_library(const char* path) noexcept {
    Dl_info image{};
    struct stat own{};
    struct stat other{};
    return dladdr(static_cast<const void*>(&kInsertionVariable), &image) != 0 &&
           image.dli_fname != nullptr &&
           (std::strcmp(path, image.dli_fname) == 0 ||
            (stat(path, &other) == 0 && stat(image.dli_fname, &own) == 0 &&
             own.st_dev == other.st_dev && own.st_ino == other.st_ino));
}

} // namespace metalrun::shim
// NOLINTEND(cppcoreguidelines-pro-bounds-pointer-arithmetic)
