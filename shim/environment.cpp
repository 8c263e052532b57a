// SPDX-License-Identifier: MIT
//
// Works on the bytes that the kernel laid out for the process. It runs in the shim's constructor,
// before the target can have a second thread that reads them.
#include "environment.hpp"

#include "runtime.hpp"

#include <cstring>

#include <sys/stat.h>

// NOLINTBEGIN(cppcoreguidelines-pro-bounds-pointer-arithmetic): the environment is a vector that a
// null pointer ends, of strings that a null byte ends; there are no sizes to make spans of.
namespace metalrun::shim {
namespace {

bool begins_with(const char* text, const char* prefix) noexcept {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool is_own_variable(const char* entry) noexcept {
    return begins_with(entry, "LUME_METAL_") || begins_with(entry, "METALRUN_SHIM_") ||
           begins_with(entry, "METALRUN_RECEIPT=");
}

/// Closes the gap that each of the shim's elements leaves, with the separator before it. Gives
/// whether anything is left.
bool remove_elements(char* list, IsShim* is_shim) noexcept {
    char* out = list;
    char separator = '\0';
    for (char* element = list; element != nullptr;) {
        char* end = element + std::strcspn(element, kInsertionSeparators);
        const char separator_before = separator;
        separator = *end;
        *end = '\0';
        if (!is_shim(element)) {
            if (out != list) {
                *out++ = separator_before;
            }
            std::memmove(out, element, static_cast<std::size_t>(end - element));
            out += end - element;
        }
        element = separator == '\0' ? nullptr : end + 1;
    }
    *out = '\0';
    return out != list;
}

} // namespace

void remove_shim(char** vector, IsShim* is_shim) noexcept {
    const std::size_t name_length = std::strlen(kInsertionVariable);
    char** out = vector;
    for (char** entry = vector; *entry != nullptr; ++entry) {
        const bool is_insertion =
            begins_with(*entry, kInsertionVariable) && (*entry)[name_length] == '=';
        if (is_insertion ? remove_elements(*entry + name_length + 1, is_shim)
                         : !is_own_variable(*entry)) {
            *out++ = *entry;
        }
    }
    *out = nullptr;
}

bool is_this_library(const char* path) noexcept {
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
