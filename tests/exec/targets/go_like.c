/* SPDX-License-Identifier: MIT
 *
 * Starts `go_like PROGRAM ARGUMENT...` as a child, as a program written in Go would: it knows its
 * environment from the vector behind argv and not from `environ`, its children get the entries of
 * that which have a name, and what the kernel put behind the vector is found by walking over it
 * (runtime/os_linux.go sysargs; on macOS runtime/os_darwin.go finds the path of the executable so).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kNoMemory = 93, kNoPageSize = 94, kNotStarted = 95, kNoChild = 96, kUsage = 97 };

static long page_size_behind(char** end) {
    for (const Elf64_auxv_t* entry = (const Elf64_auxv_t*)(end + 1); entry->a_type != AT_NULL;
         ++entry) {
        if (entry->a_type == AT_PAGESZ) {
            return (long)entry->a_un.a_val;
        }
    }
    return 0;
}

int main(int argc, char** argv) {
    char** start = argv + argc + 1;
    char** end = start;
    while (*end != NULL) {
        ++end;
    }
    if (argc < 2) {
        return kUsage;
    }
    if (page_size_behind(end) != sysconf(_SC_PAGESIZE)) {
        return kNoPageSize;
    }
    char** environment = calloc((size_t)(end - start) + 1, sizeof *environment);
    if (environment == NULL) {
        return kNoMemory;
    }
    char** next = environment;
    for (char** entry = start; entry != end; ++entry) {
        if (**entry != 0) {
            *next++ = *entry;
        }
    }
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        execve(argv[1], argv + 1, environment);
        _exit(kNotStarted);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : kNoChild;
}
