/* SPDX-License-Identifier: MIT
 *
 * Starts another program with the environment it has: `then exec PROGRAM ARGUMENT...` becomes it,
 * `then spawn PROGRAM ARGUMENT...` makes it a child and takes its status.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc < 3) {
        return 97;
    }
    if (strcmp(argv[1], "spawn") == 0) {
        int status = 0;
        const pid_t child = fork();
        if (child != 0) {
            return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                            : 96;
        }
    }
    execv(argv[2], argv + 2);
    return 95;
}
