/* SPDX-License-Identifier: MIT
 *
 * A program without Objective-C and Metal: it must not notice the shim. */
#include <stdio.h>

int main(void) {
    puts("plain");
    return 7;
}
