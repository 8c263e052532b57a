/* SPDX-License-Identifier: MIT
 *
 * Signals: numbers, masks of 32 bits and the layout of sigaction. Source: sys/signal.h.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { kSignals = 32 };

/* By Darwin's number; 0: Linux has none. */
static const int kOwn[kSignals] = {
    0,       SIGHUP,  SIGINT,  SIGQUIT,   SIGILL,  SIGTRAP, SIGABRT, 0,
    SIGFPE,  SIGKILL, SIGBUS,  SIGSEGV,   SIGSYS,  SIGPIPE, SIGALRM, SIGTERM,
    SIGURG,  SIGSTOP, SIGTSTP, SIGCONT,   SIGCHLD, SIGTTIN, SIGTTOU, SIGIO,
    SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGWINCH, 0,      SIGUSR1, SIGUSR2};

static int own_signal(int darwin) {
    return darwin > 0 && darwin < kSignals ? kOwn[darwin] : 0;
}

static void own_set(uint32_t darwin, sigset_t* own) {
    sigemptyset(own);
    for (int number = 1; number < kSignals; ++number) {
        if ((darwin >> (number - 1) & 1U) != 0 && kOwn[number] != 0) {
            sigaddset(own, kOwn[number]);
        }
    }
}

static uint32_t darwin_set(const sigset_t* own) {
    uint32_t set = 0;
    for (int number = 1; number < kSignals; ++number) {
        if (kOwn[number] != 0 && sigismember(own, kOwn[number]) == 1) {
            set |= 1U << (number - 1);
        }
    }
    return set;
}

struct DarwinAction {
    void (*handler)(int); /* SIG_DFL and SIG_IGN agree; a handler gets Linux's number */
    uint32_t mask;
    int flags;
};

static int darwin_sigaction(int number, const struct DarwinAction* next, struct DarwinAction* old) {
    static const struct {
        int darwin;
        int own;
    } kFlags[] = {{0x2, SA_RESTART}, {0x4, (int)SA_RESETHAND}, {0x8, SA_NOCLDSTOP},
                  {0x10, SA_NODEFER}, {0x20, SA_NOCLDWAIT}};
    struct sigaction own_next = {0};
    struct sigaction own_old = {0};
    if (own_signal(number) == 0) {
        errno = EINVAL;
        return -1;
    }
    if (next != NULL) {
        own_next.sa_handler = next->handler;
        own_set(next->mask, &own_next.sa_mask);
        for (size_t index = 0; index < sizeof kFlags / sizeof *kFlags; ++index) {
            own_next.sa_flags |= (next->flags & kFlags[index].darwin) != 0 ? kFlags[index].own : 0;
        }
    }
    const int failed = sigaction(own_signal(number), next != NULL ? &own_next : NULL, &own_old);
    if (failed == 0 && old != NULL) {
        *old = (struct DarwinAction){.handler = own_old.sa_handler,
                                     .mask = darwin_set(&own_old.sa_mask)};
        for (size_t index = 0; index < sizeof kFlags / sizeof *kFlags; ++index) {
            old->flags |= (own_old.sa_flags & kFlags[index].own) != 0 ? kFlags[index].darwin : 0;
        }
    }
    return failed;
}

static int darwin_sigmask(int how, const uint32_t* next, uint32_t* old) {
    static const int kHow[] = {-1, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK}; /* by Darwin's number */
    sigset_t own_next;
    sigset_t own_old;
    if (next != NULL) {
        own_set(*next, &own_next);
        if (how < 1 || how > 3) {
            return EINVAL;
        }
    }
    const int failed =
        pthread_sigmask(next != NULL ? kHow[how] : SIG_BLOCK, next != NULL ? &own_next : NULL, &own_old);
    if (failed == 0 && old != NULL) {
        *old = darwin_set(&own_old);
    }
    return darwin_error_of(failed);
}

static int darwin_kill(pid_t process, int number) {
    if (number != 0 && own_signal(number) == 0) {
        errno = EINVAL;
        return -1;
    }
    return kill(process, own_signal(number));
}

const struct Import kSignalImports[] = {
    FUNCTION("_sigaction", darwin_sigaction),
    FUNCTION("_pthread_sigmask", darwin_sigmask),
    FUNCTION("_kill", darwin_kill),
    END_OF_IMPORTS,
};
