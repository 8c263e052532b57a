/* SPDX-License-Identifier: MIT
 *
 * What a program for macOS calls of its libSystem, on glibc: tables of names, as the symbol table
 * has them, with a function or a datum for each. Most are glibc's own; where numbers or layouts
 * differ there is an adapter. Sources of the numbers: the headers of macOS 13. C, so that nothing
 * of a C++ runtime stands between.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of the two is set. The last of a table has no name. */
struct Import {
    const char* name;
    void (*function)(void);
    const void* datum;
};

#define FUNCTION(symbol, target) {symbol, (void (*)(void))(target), NULL}
#define DATUM(symbol, target) {symbol, NULL, (target)}
#define END_OF_IMPORTS {NULL, NULL, NULL}

extern const struct Import kPlainImports[];
extern const struct Import kErrorImports[];
extern const struct Import kFileImports[];
extern const struct Import kProcessImports[];
extern const struct Import kSignalImports[];
extern const struct Import kFormatImports[];
extern const struct Import kLocaleImports[];
extern const struct Import kThreadImports[];
extern const struct Import kKernelImports[];
extern const struct Import kDigestImports[];
extern const struct Import kObjectiveCImports[];

/* A number of errno as Darwin has it. */
int darwin_error_of(int own);

/* How the loader is started again for another program. */
struct Reentry {
    const char* runner;     /* an emulator that runs the loader; NULL: none */
    const char* loader;     /* path of the loader */
    const char* trace;      /* a file that is told of each exec; NULL: none */
    const char* executable; /* the program's path as it was started with */
    uint32_t cpu;           /* CPU_TYPE_… that it runs */
};
extern struct Reentry machload_reentry;

#ifdef __cplusplus
}
#else

/* On arm64 Darwin passes every variadic argument on the stack, Linux in registers first. An adapter
 * is a function with a list: VARIADIC(result, name, fixed, last, parameters…) is followed by its
 * body, where `list` is that list; `fixed` is how many parameters come before. */
#if defined(__x86_64__)
#define VARIADIC(result, name, fixed, last, ...)                                                   \
    static result name##_list(__VA_ARGS__, va_list list)
#define VARIADIC_ENTRY(result, name, fixed, last, arguments, ...)                                  \
    static result name(__VA_ARGS__, ...) {                                                         \
        va_list list;                                                                              \
        va_start(list, last);                                                                      \
        const result answer = name##_list arguments;                                               \
        va_end(list);                                                                              \
        return answer;                                                                             \
    }
typedef va_list DarwinList;
#define FROM_DARWIN_LIST(own, theirs) va_copy(own, theirs)
#else
typedef char* DarwinList; /* Apple's va_list: where the next argument is */
struct LinuxList {        /* AAPCS64, appendix B */
    void* stack;
    void* general_top;
    void* vector_top;
    int general_offset;
    int vector_offset;
};
_Static_assert(sizeof(struct LinuxList) == sizeof(va_list), "the layout of va_list");
#define FROM_DARWIN_LIST(own, theirs)                                                              \
    do {                                                                                           \
        const struct LinuxList on_stack = {(theirs), NULL, NULL, 0, 0};                            \
        __builtin_memcpy(&(own), &on_stack, sizeof on_stack);                                      \
    } while (0)
#define VARIADIC(result, name, fixed, last, ...)                                                   \
    static result name##_list(__VA_ARGS__, va_list list)
#define VARIADIC_ENTRY(result, name, fixed, last, arguments, ...)                                  \
    result name##_stack(__VA_ARGS__, char* stack);                                                 \
    __attribute__((used)) result name##_stack(__VA_ARGS__, char* stack) {                          \
        va_list list;                                                                              \
        FROM_DARWIN_LIST(list, stack);                                                             \
        return name##_list arguments;                                                              \
    }                                                                                              \
    void name(void);                                                                               \
    __asm__(".text\n.globl " #name "\n" #name ":\n mov x" #fixed ", sp\n b " #name "_stack\n");
#endif

#endif
