/* SPDX-License-Identifier: MIT
 *
 * Locales: there is the C locale, whatever a program gives. Sources: runetype.h and ctype.h, whose
 * table _DefaultRuneLocale is read by inline functions, and xlocale.h.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

enum { kCached = 256, kAscii = 128 };

static struct {
    char magic[8];
    char encoding[32];
    void (*to_rune)(void);
    void (*from_rune)(void);
    int32_t invalid;
    uint32_t types[kCached];
    int32_t lower[kCached];
    int32_t upper[kCached];
    char further[512];
} default_runes = {.magic = "RuneMagA"};

__attribute__((constructor)) static void fill_runes(void) {
    static const struct {
        int (*is)(int);
        uint32_t bit;
    } kTypes[] = {{isalpha, 0x100},  {iscntrl, 0x200},  {isdigit, 0x400},  {isgraph, 0x800},
                  {islower, 0x1000}, {ispunct, 0x2000}, {isspace, 0x4000}, {isupper, 0x8000},
                  {isxdigit, 0x10000}, {isblank, 0x20000}, {isprint, 0x40000}};
    for (int rune = 0; rune < kCached; ++rune) {
        default_runes.lower[rune] = rune < kAscii ? tolower(rune) : rune;
        default_runes.upper[rune] = rune < kAscii ? toupper(rune) : rune;
        for (size_t index = 0; rune < kAscii && index < sizeof kTypes / sizeof *kTypes; ++index) {
            default_runes.types[rune] |= kTypes[index].is(rune) != 0 ? kTypes[index].bit : 0;
        }
    }
}

static int darwin_mask_rune(int rune, unsigned long mask, void* locale) {
    (void)locale;
    return rune >= 0 && rune < kCached ? (int)(default_runes.types[rune] & mask) : 0;
}

static int darwin_mb_cur_max(void* locale) {
    (void)locale;
    return 1;
}

static int darwin_freelocale(void* locale) {
    (void)locale;
    return 0;
}

static size_t darwin_mbrlen(const char* text, size_t size, mbstate_t* state, void* locale) {
    (void)locale;
    return mbrlen(text, size, state);
}

static size_t darwin_mbrtowc(wchar_t* wide, const char* text, size_t size, mbstate_t* state,
                             void* locale) {
    (void)locale;
    return mbrtowc(wide, text, size, state);
}

static size_t darwin_mbsnrtowcs(wchar_t* wide, const char** text, size_t bytes, size_t size,
                                mbstate_t* state, void* locale) {
    (void)locale;
    return mbsnrtowcs(wide, text, bytes, size, state);
}

static size_t darwin_mbsrtowcs(wchar_t* wide, const char** text, size_t size, mbstate_t* state,
                               void* locale) {
    (void)locale;
    return mbsrtowcs(wide, text, size, state);
}

static int darwin_mbtowc(wchar_t* wide, const char* text, size_t size, void* locale) {
    (void)locale;
    return mbtowc(wide, text, size);
}

static size_t darwin_wcrtomb(char* text, wchar_t wide, mbstate_t* state, void* locale) {
    (void)locale;
    return wcrtomb(text, wide, state);
}

static size_t darwin_wcsnrtombs(char* text, const wchar_t** wide, size_t count, size_t size,
                                mbstate_t* state, void* locale) {
    (void)locale;
    return wcsnrtombs(text, wide, count, size, state);
}

static size_t darwin_strftime(char* text, size_t size, const char* format, const struct tm* time,
                              void* locale) {
    (void)locale;
    return strftime(text, size, format, time);
}

static double darwin_strtod(const char* text, char** end, void* locale) {
    (void)locale;
    return strtod(text, end);
}

static float darwin_strtof(const char* text, char** end, void* locale) {
    (void)locale;
    return strtof(text, end);
}

#if defined(__x86_64__)
typedef long double DarwinLongDouble;
#else
typedef double DarwinLongDouble;
#endif

static DarwinLongDouble darwin_strtold(const char* text, char** end, void* locale) {
    (void)locale;
    return (DarwinLongDouble)strtold(text, end);
}

static long long darwin_strtoll(const char* text, char** end, int base, void* locale) {
    (void)locale;
    return strtoll(text, end, base);
}

static unsigned long long darwin_strtoull(const char* text, char** end, int base, void* locale) {
    (void)locale;
    return strtoull(text, end, base);
}

const struct Import kLocaleImports[] = {
    FUNCTION("___maskrune_l", darwin_mask_rune),
    FUNCTION("____mb_cur_max_l", darwin_mb_cur_max),
    FUNCTION("_freelocale", darwin_freelocale),
    FUNCTION("_mbrlen_l", darwin_mbrlen),
    FUNCTION("_mbrtowc_l", darwin_mbrtowc),
    FUNCTION("_mbsnrtowcs_l", darwin_mbsnrtowcs),
    FUNCTION("_mbsrtowcs_l", darwin_mbsrtowcs),
    FUNCTION("_mbtowc_l", darwin_mbtowc),
    FUNCTION("_wcrtomb_l", darwin_wcrtomb),
    FUNCTION("_wcsnrtombs_l", darwin_wcsnrtombs),
    FUNCTION("_strftime_l", darwin_strftime),
    FUNCTION("_strtod_l", darwin_strtod),
    FUNCTION("_strtof_l", darwin_strtof),
    FUNCTION("_strtold_l", darwin_strtold),
    FUNCTION("_strtoll_l", darwin_strtoll),
    FUNCTION("_strtoull_l", darwin_strtoull),
    DATUM("__DefaultRuneLocale", &default_runes),
    END_OF_IMPORTS,
};
