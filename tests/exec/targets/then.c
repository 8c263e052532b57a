/* SPDX-License-Identifier: MIT
 *
 * Starts another program with the environment it has: `then MANNER PROGRAM ARGUMENT...`. `exec`
 * becomes it; `spawn`, `vfork`, `posix_spawn` and `system` make it a child and take its status;
 * `clear` makes it a child that gets no variable at all. `again MANNER ...` and `self MANNER ...`
 * become this program once more, by its path or by /proc/self/exe, and then do that.
 */
#define _GNU_SOURCE 1
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

enum { kNoChild = 96, kNotStarted = 95, kUsage = 97, kCommand = 8192 };

static int status_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : kNoChild;
}

static int wait_for(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child ? status_of(status) : kNoChild;
}

static int run_by_shell(char** arguments) {
    char command[kCommand] = "";
    for (size_t length = 0; *arguments != NULL; ++arguments) {
        length += (size_t)snprintf(command + length, sizeof command - length, "'%s' ", *arguments);
        if (length >= sizeof command) {
            return kUsage;
        }
    }
    return status_of(system(command));
}

static void become_again(const char* path, char** argv) {
    argv[1] = argv[0];
    execv(path, argv + 1);
}

int main(int argc, char** argv) {
    if (argc < 3) {
        return kUsage;
    }
    const char* manner = argv[1];
    char** rest = argv + 2;
    pid_t child = 0;
    if (strcmp(manner, "spawn") == 0) {
        child = fork();
    } else if (strcmp(manner, "vfork") == 0) {
        child = vfork();
        if (child == 0) {
            execv(rest[0], rest);
            _exit(kNotStarted);
        }
    } else if (strcmp(manner, "posix_spawn") == 0) {
        if (posix_spawn(&child, rest[0], NULL, NULL, rest, environ) != 0) {
            return kNotStarted;
        }
    } else if (strcmp(manner, "system") == 0) {
        return run_by_shell(rest);
    } else if (strcmp(manner, "clear") == 0) {
        clearenv();
        child = fork();
    } else if (strcmp(manner, "again") == 0) {
        become_again(argv[0], argv);
    } else if (strcmp(manner, "self") == 0) {
        become_again("/proc/self/exe", argv);
    } else if (strcmp(manner, "exec") != 0) {
        return kUsage;
    }
    if (child != 0) {
        return wait_for(child);
    }
    execv(rest[0], rest);
    return kNotStarted;
}
