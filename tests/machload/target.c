/* SPDX-License-Identifier: MIT
 *
 * A program for macOS that tells what it was started with and what the Metal device answers, and
 * ends with the status that EXIT_STATUS names; CALL_KQUEUE makes it call what the loader does not have. No standard header: the declarations are Apple's.
 */
typedef signed char BOOL;
extern char** environ;
int printf(const char* format, ...);
int getpid(void);
char* getenv(const char* name);
int atoi(const char* text);
int kqueue(void);
void objc_msgSend(void);
void* sel_registerName(const char* name);
void* MTLCreateSystemDefaultDevice(void);

int main(int count, char** arguments) {
    if (getenv("CALL_KQUEUE") != 0) {
        return kqueue();
    }
    printf("pid %d\n", getpid());
    for (int index = 0; index < count; ++index) {
        printf("argument %s\n", arguments[index]);
    }
    for (char** entry = environ; *entry != 0; ++entry) {
        printf("environment %s\n", *entry);
    }
    void* device = MTLCreateSystemDefaultDevice();
    for (long family = 1005; device != 0 && family <= 1010; ++family) {
        BOOL (*supports)(void*, void*, long) = (BOOL (*)(void*, void*, long))objc_msgSend;
        printf("family %ld %d\n", family,
               supports(device, sel_registerName("supportsFamily:"), family));
    }
    if (device != 0) {
        unsigned long (*ask)(void*, void*) = (unsigned long (*)(void*, void*))objc_msgSend;
        printf("threadgroup %lu\n", ask(device, sel_registerName("maxThreadgroupMemoryLength")));
    }
    const char* status = getenv("EXIT_STATUS");
    return status != 0 ? atoi(status) : 0;
}
