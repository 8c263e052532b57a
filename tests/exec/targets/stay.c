/* SPDX-License-Identifier: MIT
 *
 * Stays until its standard input ends. With the argument `device` it asks for the Metal device
 * first. One byte on standard output says that it is there.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "device") == 0) {
        void* (*make_device)(void) = NULL;
        *(void**)&make_device = dlsym(RTLD_DEFAULT, "MTLCreateSystemDefaultDevice");
        if (make_device == NULL || make_device() == NULL) {
            return 1;
        }
    }
    char byte = '.';
    if (write(STDOUT_FILENO, &byte, 1) != 1) {
        return 1;
    }
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
