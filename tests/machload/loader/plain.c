/* SPDX-License-Identifier: MIT
 *
 * The functions that both systems have with the same arguments.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

extern int __cxa_atexit(void (*function)(void*), void* argument, void* library);
extern void __stack_chk_fail(void);
/* As compilers call them when they know the size of the destination. */
extern void* __memcpy_chk(void*, const void*, size_t, size_t);
extern void* __memmove_chk(void*, const void*, size_t, size_t);
extern void* __memset_chk(void*, int, size_t, size_t);
typedef unsigned int Wide __attribute__((mode(TI)));
extern Wide __udivti3(Wide, Wide);

static uintptr_t stack_guard = 0x00a5c3e1f00d1234;

static void darwin_bzero(void* memory, size_t size) {
    memset(memory, 0, size);
}

static int darwin_poll(struct pollfd* files, unsigned count, int milliseconds) {
    return poll(files, count, milliseconds); /* the flags agree */
}

const struct Import kPlainImports[] = {
    FUNCTION("_abort", abort),
    FUNCTION("_aligned_alloc", aligned_alloc),
    FUNCTION("_atoi", atoi),
    FUNCTION("_bzero", darwin_bzero),
    FUNCTION("___bzero", darwin_bzero),
    FUNCTION("_chdir", chdir),
    FUNCTION("_close", close),
    FUNCTION("_closedir", closedir),
    FUNCTION("___cxa_atexit", __cxa_atexit),
    FUNCTION("_dirfd", dirfd),
    FUNCTION("_dup2", dup2),
    FUNCTION("_exit", exit),
    FUNCTION("__exit", _exit),
    FUNCTION("_fflush", fflush),
    FUNCTION("_fputc", fputc),
    FUNCTION("_fputs", fputs),
    FUNCTION("_free", free),
    FUNCTION("_fwrite", fwrite),
    FUNCTION("_getcwd", getcwd),
    FUNCTION("_getegid", getegid),
    FUNCTION("_getenv", getenv),
    FUNCTION("_geteuid", geteuid),
    FUNCTION("_getgid", getgid),
    FUNCTION("_getpid", getpid),
    FUNCTION("_getppid", getppid),
    FUNCTION("_getuid", getuid),
    FUNCTION("_isatty", isatty),
    FUNCTION("_malloc", malloc),
    FUNCTION("_memchr", memchr),
    FUNCTION("_memcmp", memcmp),
    FUNCTION("_memcpy", memcpy),
    FUNCTION("___memcpy_chk", __memcpy_chk),
    FUNCTION("___memmove_chk", __memmove_chk),
    FUNCTION("___memset_chk", __memset_chk),
    FUNCTION("_memmove", memmove),
    FUNCTION("_memset", memset),
    FUNCTION("_mkdir", mkdir),
    FUNCTION("_pause", pause),
    FUNCTION("_pipe", pipe),
    FUNCTION("_poll", darwin_poll),
    FUNCTION("_posix_memalign", posix_memalign),
    FUNCTION("_pread", pread),
    FUNCTION("_puts", puts),
    FUNCTION("_read", read),
    FUNCTION("_realloc", realloc),
    FUNCTION("___stack_chk_fail", __stack_chk_fail),
    FUNCTION("_strchr", strchr),
    FUNCTION("_strcmp", strcmp),
    FUNCTION("_strcspn", strcspn),
    FUNCTION("_strlen", strlen),
    FUNCTION("_strncmp", strncmp),
    FUNCTION("_strncpy", strncpy),
    FUNCTION("_strspn", strspn),
    FUNCTION("_strtol", strtol),
    FUNCTION("_strtoull", strtoull),
    FUNCTION("___tolower", tolower),
    FUNCTION("___toupper", toupper),
    FUNCTION("___udivti3", __udivti3),
    FUNCTION("_umask", umask),
    FUNCTION("_unlink", unlink),
    FUNCTION("_wcslen", wcslen),
    FUNCTION("_wmemchr", wmemchr),
    FUNCTION("_write", write),
    DATUM("___stack_chk_guard", &stack_guard),
    DATUM("___stderrp", &stderr),
    DATUM("___stdoutp", &stdout),
    DATUM("_environ", &environ),
    END_OF_IMPORTS,
};
