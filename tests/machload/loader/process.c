/* SPDX-License-Identifier: MIT
 *
 * Programs: exec of a Mach-O file starts this loader again in the same process, with the new
 * program; exec of anything else is the system's. Source: spawn.h of macOS 13, posix_spawn(2).
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct Reentry machload_reentry;

enum { kMaxArguments = 4096, kEBADARCH = 86 };

static uint32_t big_endian(const unsigned char* bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The processor of a thin file, this one's for a universal file that has a slice for it, or 0. */
static uint32_t mach_o_cpu(const char* path) {
    enum { kHeader = 8, kSlice = 20, kMaxSlices = 16 };
    unsigned char bytes[kHeader + kSlice * kMaxSlices] = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    const ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    uint32_t words[2];
    memcpy(words, bytes, sizeof words);
    if (size >= kHeader && words[0] == 0xfeedfacf) {
        return words[1];
    }
    if (size < kHeader || big_endian(bytes) != 0xcafebabe) {
        return 0;
    }
    for (uint32_t index = 0; index < big_endian(bytes + 4) && index < kMaxSlices; ++index) {
        if (big_endian(bytes + kHeader + index * kSlice) == machload_reentry.cpu) {
            return machload_reentry.cpu;
        }
    }
    return ~machload_reentry.cpu;
}

/* What an exec is given, one string a line, at the end of the file that --trace names. */
static void trace(const char* path, char* const* arguments, char* const* environment) {
    FILE* file = machload_reentry.trace != NULL ? fopen(machload_reentry.trace, "ae") : NULL;
    if (file == NULL) {
        return;
    }
    fprintf(file, "exec %s\n", path);
    for (; *arguments != NULL; ++arguments) {
        fprintf(file, "argument %s\n", *arguments);
    }
    for (; *environment != NULL; ++environment) {
        fprintf(file, "environment %s\n", *environment);
    }
    fclose(file);
}

static int darwin_execve(const char* path, char* const* arguments, char* const* environment) {
    trace(path, arguments, environment);
    const uint32_t cpu = mach_o_cpu(path);
    if (cpu == 0 || access(path, X_OK) != 0) {
        return execve(path, arguments, environment);
    }
    if (cpu != machload_reentry.cpu) {
        errno = ENOEXEC;
        return -1;
    }
    /* [runner] loader [--runner runner] --loader loader [--trace file] --argv0 name program arguments… */
    const char* command[kMaxArguments + 12];
    size_t count = 0;
    const char* file = machload_reentry.loader;
    if (machload_reentry.runner != NULL) {
        file = machload_reentry.runner;
        command[count++] = machload_reentry.runner;
    }
    command[count++] = machload_reentry.loader;
    if (machload_reentry.runner != NULL) {
        command[count++] = "--runner";
        command[count++] = machload_reentry.runner;
    }
    command[count++] = "--loader";
    command[count++] = machload_reentry.loader;
    if (machload_reentry.trace != NULL) {
        command[count++] = "--trace";
        command[count++] = machload_reentry.trace;
    }
    command[count++] = "--argv0";
    command[count++] = arguments[0] != NULL ? arguments[0] : "";
    command[count++] = path;
    for (size_t index = 1; arguments[0] != NULL && arguments[index] != NULL; ++index) {
        if (index == kMaxArguments) {
            errno = E2BIG;
            return -1;
        }
        command[count++] = arguments[index];
    }
    command[count] = NULL;
    return execve(file, (char* const*)command, environment);
}

struct Attributes {
    short flags;
    int pinned; /* a processor was named */
    uint32_t cpu;
};

static int darwin_attributes_init(struct Attributes** attributes) {
    *attributes = calloc(1, sizeof **attributes);
    return *attributes != NULL ? 0 : ENOMEM;
}

static int darwin_attributes_destroy(struct Attributes** attributes) {
    free(*attributes);
    *attributes = NULL;
    return 0;
}

static int darwin_attributes_flags(struct Attributes** attributes, short flags) {
    (*attributes)->flags = flags;
    return 0;
}

static int darwin_attributes_architecture(struct Attributes** attributes, size_t count,
                                          const uint32_t* types, const uint32_t* subtypes,
                                          size_t* taken) {
    (void)subtypes;
    if (count != 1) {
        return EINVAL;
    }
    (*attributes)->pinned = 1;
    (*attributes)->cpu = types[0];
    *taken = count;
    return 0;
}

/* Only with POSIX_SPAWN_SETEXEC, which is exec; returns the number instead of setting errno. */
static int darwin_posix_spawn(int* process, const char* path, const void* actions,
                              struct Attributes* const* attributes, char* const* arguments,
                              char* const* environment) {
    (void)process;
    enum { kSetExec = 0x40 };
    if (actions != NULL || attributes == NULL || (*attributes)->flags != kSetExec) {
        return darwin_error_of(ENOTSUP);
    }
    const uint32_t cpu = mach_o_cpu(path);
    if (cpu != 0 && (*attributes)->pinned && (*attributes)->cpu != cpu) {
        return kEBADARCH;
    }
    darwin_execve(path, arguments, environment);
    const int number = darwin_error_of(errno);
    errno = 0;
    return number;
}

/* mach-o/dyld.h: 0, or -1 with the size that is needed */
static int darwin_executable_path(char* path, uint32_t* size) {
    const size_t needed = strlen(machload_reentry.executable) + 1;
    if (*size < needed) {
        *size = (uint32_t)needed;
        return -1;
    }
    memcpy(path, machload_reentry.executable, needed);
    return 0;
}

static char*** darwin_environment(void) {
    return &environ;
}

const struct Import kProcessImports[] = {
    FUNCTION("_execve", darwin_execve),
    FUNCTION("_fork", fork),
    FUNCTION("_waitpid", waitpid), /* of a signal in the status, only the number may differ */
    FUNCTION("_posix_spawn", darwin_posix_spawn),
    FUNCTION("_posix_spawnattr_init", darwin_attributes_init),
    FUNCTION("_posix_spawnattr_destroy", darwin_attributes_destroy),
    FUNCTION("_posix_spawnattr_setflags", darwin_attributes_flags),
    FUNCTION("_posix_spawnattr_setarchpref_np", darwin_attributes_architecture),
    FUNCTION("__NSGetExecutablePath", darwin_executable_path),
    FUNCTION("__NSGetEnviron", darwin_environment),
    END_OF_IMPORTS,
};
