/* SPDX-License-Identifier: MIT
 *
 * Tells what a program can see of its own start: identifiers, arguments, environment, descriptors,
 * signals, limits and mapped libraries, one fact a line, bytes in hexadecimal. The report goes to
 * the file that SHOW_REPORT names, so that standard output stays as it was found; without it,
 * there.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kDescriptors = 1024, kSignals = 65, kPath = 4096 };

extern char** environ;

static void print_bytes(FILE* out, const char* key, const char* text) {
    fprintf(out, "%s ", key);
    for (const unsigned char* p = (const unsigned char*)text; *p != 0; ++p) {
        fprintf(out, "%02x", *p);
    }
    fputc('\n', out);
}

static void print_signals(FILE* out) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < kSignals; ++number) {
        struct sigaction action;
        if (sigismember(&blocked, number) == 1) {
            fprintf(out, "blocked %d\n", number);
        }
        if (sigaction(number, NULL, &action) != 0) {
            continue;
        }
        if (action.sa_handler == SIG_IGN) {
            fprintf(out, "ignored %d\n", number);
        } else if (action.sa_handler != SIG_DFL) {
            fprintf(out, "handled %d\n", number);
        }
    }
}

static void print_libraries(FILE* out) {
    FILE* maps = fopen("/proc/self/maps", "re");
    char line[kPath + 256];
    char last[kPath] = "";
    while (maps != NULL && fgets(line, (int)sizeof line, maps) != NULL) {
        char* path = strchr(line, '/');
        if (path == NULL || strstr(path, ".so") == NULL) {
            continue;
        }
        path[strcspn(path, "\n")] = 0;
        if (strcmp(path, last) != 0) {
            print_bytes(out, "library", path);
            strncpy(last, path, sizeof last - 1);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

int main(int argc, char** argv) {
    int flags[kDescriptors];
    for (int fd = 0; fd < kDescriptors; ++fd) {
        flags[fd] = fcntl(fd, F_GETFD);
    }
    const char* report = getenv("SHOW_REPORT");
    FILE* out = report != NULL ? fopen(report, "we") : stdout;
    if (out == NULL) {
        return 99;
    }
    char text[kPath] = "";
    struct rlimit limit;
    const mode_t mask = umask(0);
    fprintf(out, "pid %d\nppid %d\nuid %d\neuid %d\n", (int)getpid(), (int)getppid(), (int)getuid(),
            (int)geteuid());
    fprintf(out, "pgid %d\nsid %d\numask %o\n", (int)getpgrp(), (int)getsid(0), (unsigned)mask);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        fprintf(out, "nofile %llu %llu\n", (unsigned long long)limit.rlim_cur,
                (unsigned long long)limit.rlim_max);
    }
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
        fprintf(out, "stack %llu\n", (unsigned long long)limit.rlim_cur);
    }
    errno = 0;
    fprintf(out, "priority %d\n", getpriority(PRIO_PROCESS, 0));
    print_bytes(out, "cwd", getcwd(text, sizeof text) != NULL ? text : "");
    const ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    print_bytes(out, "exe", text);
    for (int i = 0; i < argc; ++i) {
        print_bytes(out, "argument", argv[i]);
    }
    for (char** entry = environ; *entry != NULL; ++entry) {
        print_bytes(out, "environment", *entry);
    }
    for (int fd = 0; fd < kDescriptors; ++fd) {
        if (flags[fd] != -1) {
            fprintf(out, "descriptor %d\n", fd);
        }
    }
    print_signals(out);
    print_libraries(out);
    fprintf(out, "end\n");
    return fclose(out) == 0 ? 0 : 99;
}
