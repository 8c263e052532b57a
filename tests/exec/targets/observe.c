/* SPDX-License-Identifier: MIT
 *
 * What a program can see of its start and of the signals on their way to it, for the torture run:
 * written at once to descriptor 200, one fact a line. Then it ends as OBSERVE says: `exit:N`,
 * `raise:N`, `wait` (for the signal that ends it), or `take:N:COUNT` (takes blocked signals first).
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kReport = 200, kDescriptors = 256, kSignals = 65, kPatience = 20 };

extern char** environ;

static char* text;
static size_t length;
static size_t capacity;

static void reserve(size_t more) {
    if (length + more <= capacity) {
        return;
    }
    capacity = (length + more) * 2;
    text = realloc(text, capacity);
    if (text == NULL) {
        _exit(98);
    }
}

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
    va_list arguments;
    reserve(256);
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, 256, format, arguments);
    va_end(arguments);
}

static void say_bytes(const char* key, const char* bytes) {
    static const char kDigits[] = "0123456789abcdef";
    say("%s ", key);
    reserve(2 * strlen(bytes) + 1);
    for (const unsigned char* p = (const unsigned char*)bytes; *p != 0; ++p) {
        text[length++] = kDigits[*p >> 4];
        text[length++] = kDigits[*p & 15];
    }
    text[length++] = '\n';
}

static void say_descriptors(void) {
    for (int fd = 0; fd < kDescriptors; ++fd) {
        struct stat status;
        const int flags = fcntl(fd, F_GETFD);
        if (flags == -1 || fd == kReport || fstat(fd, &status) != 0) {
            continue;
        }
        say("descriptor %d %x %x %o %llx:%llx at %lld\n", fd, (unsigned)flags,
            (unsigned)fcntl(fd, F_GETFL), (unsigned)status.st_mode,
            (unsigned long long)status.st_dev, (unsigned long long)status.st_ino,
            (long long)lseek(fd, 0, SEEK_CUR));
    }
}

static void say_signals(void) {
    sigset_t blocked;
    sigset_t pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    for (int number = 1; number < kSignals; ++number) {
        struct sigaction action;
        say("signal %d%s%s%s\n", number, sigismember(&blocked, number) == 1 ? " blocked" : "",
            sigismember(&pending, number) == 1 ? " pending" : "",
            sigaction(number, NULL, &action) != 0     ? ""
            : (action.sa_flags & SA_SIGINFO) != 0     ? " handled"
            : action.sa_handler == SIG_IGN            ? " ignored"
            : action.sa_handler == SIG_DFL            ? ""
                                                      : " handled");
    }
}

static void say_process(void) {
    struct itimerval timer;
    getitimer(ITIMER_REAL, &timer);
    const mode_t mask = umask(0);
    umask(mask);
    say("umask %o timer %ld nice %d policy %d persona %x\n", (unsigned)mask,
        timer.it_value.tv_sec / 100, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
        (unsigned)personality(0xffffffff));
    int death = 0;
    prctl(PR_GET_PDEATHSIG, &death);
    say("rights %d death %d slack %d dumpable %d secure %lu\n",
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), death, prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), getauxval(AT_SECURE));
    say("group %s session %s identity %d %d %d %d\n", getpgrp() == getpid() ? "own" : "other",
        getsid(0) == getpid() ? "own" : "other", (int)getuid(), (int)geteuid(), (int)getgid(),
        (int)getegid());
    for (int kind = 0; kind < RLIM_NLIMITS; ++kind) {
        struct rlimit limit;
        if (getrlimit(kind, &limit) == 0) {
            say("limit %d %llx %llx\n", kind, (unsigned long long)limit.rlim_cur,
                (unsigned long long)limit.rlim_max);
        }
    }
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    say_bytes("name", name);
    char path[PATH_MAX] = "";
    say_bytes("directory", getcwd(path, sizeof path) != NULL ? path : strerror(errno));
    say_bytes("started-as", (const char*)getauxval(AT_EXECFN));
}

static void say_children(void) {
    int status = 0;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        say("child %x\n", (unsigned)status);
    }
    say("children: %d\n", errno);
}

static void take(int number, int count) {
    const struct timespec patience = {.tv_sec = kPatience, .tv_nsec = 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    for (int i = 0; i < count; ++i) {
        siginfo_t info;
        const int taken = sigtimedwait(&set, &info, &patience);
        say("taken %d code %d value %d\n", taken, info.si_code, info.si_value.sival_int);
    }
}

static void send_report(void) {
    for (size_t sent = 0; sent < length;) {
        const ssize_t count = write(kReport, text + sent, length - sent);
        if (count < 0 && errno != EINTR) {
            _exit(97);
        }
        sent += count > 0 ? (size_t)count : 0;
    }
    close(kReport);
}

static void end_by(int number) {
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

int main(int argc, char** argv) {
    const char* action = getenv("OBSERVE");
    int number = 0;
    int count = 0;
    say("pid %d %d\n", (int)getpid(), (int)getppid());
    say_descriptors();
    say_process();
    say_children();
    for (int i = 0; i < argc; ++i) {
        say_bytes("argument", argv[i]);
    }
    for (char** entry = environ; *entry != NULL; ++entry) {
        say_bytes("environment", *entry);
    }
    if (action != NULL && sscanf(action, "take:%d:%d", &number, &count) == 2) {
        take(number, count);
    }
    say_signals();
    say("end\n");
    send_report();
    if (action != NULL && strcmp(action, "wait") == 0) {
        // What never comes is a failure, not a run without end.
        alarm(kPatience);
        while (pause() != 0) {
        }
    }
    if (action != NULL && sscanf(action, "raise:%d", &number) == 1) {
        end_by(number);
    }
    return action != NULL && sscanf(action, "exit:%d", &number) == 1 ? number : 0;
}
