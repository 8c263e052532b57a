/* SPDX-License-Identifier: MIT
 *
 * Formatted text, which is variadic. The forms with a locale are those of the C locale: the program
 * asks for no other. long double is double on arm64; nothing here passes one.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <stdio.h>

VARIADIC(int, darwin_printf, 1, format, const char* format) {
    return vprintf(format, list);
}
VARIADIC_ENTRY(int, darwin_printf, 1, format, (format, list), const char* format)

VARIADIC(int, darwin_fprintf, 2, format, FILE* file, const char* format) {
    return vfprintf(file, format, list);
}
VARIADIC_ENTRY(int, darwin_fprintf, 2, format, (file, format, list), FILE* file, const char* format)

VARIADIC(int, darwin_snprintf, 3, format, char* text, size_t size, const char* format) {
    return vsnprintf(text, size, format, list);
}
VARIADIC_ENTRY(int, darwin_snprintf, 3, format, (text, size, format, list), char* text, size_t size,
               const char* format)

VARIADIC(int, darwin_snprintf_chk, 5, format, char* text, size_t size, int flags, size_t room,
         const char* format) {
    (void)flags;
    return vsnprintf(text, size < room ? size : room, format, list);
}
VARIADIC_ENTRY(int, darwin_snprintf_chk, 5, format, (text, size, flags, room, format, list),
               char* text, size_t size, int flags, size_t room, const char* format)

VARIADIC(int, darwin_snprintf_l, 4, format, char* text, size_t size, void* locale,
         const char* format) {
    (void)locale;
    return vsnprintf(text, size, format, list);
}
VARIADIC_ENTRY(int, darwin_snprintf_l, 4, format, (text, size, locale, format, list), char* text,
               size_t size, void* locale, const char* format)

VARIADIC(int, darwin_asprintf_l, 3, format, char** text, void* locale, const char* format) {
    (void)locale;
    return vasprintf(text, format, list);
}
VARIADIC_ENTRY(int, darwin_asprintf_l, 3, format, (text, locale, format, list), char** text,
               void* locale, const char* format)

VARIADIC(int, darwin_sscanf, 2, format, const char* text, const char* format) {
    return vsscanf(text, format, list);
}
VARIADIC_ENTRY(int, darwin_sscanf, 2, format, (text, format, list), const char* text,
               const char* format)

VARIADIC(int, darwin_sscanf_l, 3, format, const char* text, void* locale, const char* format) {
    (void)locale;
    return vsscanf(text, format, list);
}
VARIADIC_ENTRY(int, darwin_sscanf_l, 3, format, (text, locale, format, list), const char* text,
               void* locale, const char* format)

static int darwin_vfprintf(FILE* file, const char* format, DarwinList list) {
    va_list own;
    FROM_DARWIN_LIST(own, list);
    return vfprintf(file, format, own);
}

static int darwin_vsnprintf(char* text, size_t size, const char* format, DarwinList list) {
    va_list own;
    FROM_DARWIN_LIST(own, list);
    return vsnprintf(text, size, format, own);
}

const struct Import kFormatImports[] = {
    FUNCTION("_printf", darwin_printf),         FUNCTION("_fprintf", darwin_fprintf),
    FUNCTION("_snprintf", darwin_snprintf),     FUNCTION("_snprintf_l", darwin_snprintf_l),
    FUNCTION("_asprintf_l", darwin_asprintf_l), FUNCTION("_sscanf", darwin_sscanf),
    FUNCTION("_sscanf_l", darwin_sscanf_l),     FUNCTION("_vfprintf", darwin_vfprintf),
    FUNCTION("_vsnprintf", darwin_vsnprintf),
    FUNCTION("___snprintf_chk", darwin_snprintf_chk),
    END_OF_IMPORTS,
};
