/* SPDX-License-Identifier: MIT
 *
 * Ends itself by the signal whose number is its argument, with the default disposition.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const int number = argc > 1 ? atoi(argv[1]) : SIGTERM;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    return 98;
}
