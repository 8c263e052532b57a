/* SPDX-License-Identifier: MIT
 *
 * What a program asks the kernel about the machine: an Apple silicon guest with macOS 15.5, which
 * translates x86-64 programs, the same everywhere, so that the tests can name the answers. Sources: sysctl(3), sys/sysctl.h, sys/resource.h,
 * unistd.h, time.h, bsd/sys/csr.h of xnu.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) /* as Rosetta shows it */
#define PROCESSOR "VirtualApple @ 2.50GHz"
#define IS_TRANSLATED 1
#else
#define PROCESSOR "Apple M4 (Virtual)"
#define IS_TRANSLATED 0
#endif

static const struct {
    const char* name;
    const char* text; /* or else a number of that size */
    uint64_t number;
    size_t size;
} kNames[] = {
    {"kern.osproductversion", "15.5", 0, 0},
    {"kern.osversion", "24F74", 0, 0},
    {"kern.osrelease", "24.5.0", 0, 0},
    {"kern.bootargs", "", 0, 0},
    {"kern.hv_vmm_present", NULL, 1, 4},
    {"hw.model", "VirtualMac2,1", 0, 0},
    {"hw.memsize", NULL, 8ULL << 30, 8},
    {"hw.optional.arm64", NULL, 1, 4},
    {"sysctl.proc_translated", NULL, IS_TRANSLATED, 4},
    {"machdep.cpu.brand_string", PROCESSOR, 0, 0},
};

static int darwin_sysctl_by_name(const char* name, void* value, size_t* size, const void* next,
                                 size_t next_size) {
    (void)next_size;
    for (size_t index = 0; index < sizeof kNames / sizeof *kNames; ++index) {
        if (next != NULL || strcmp(kNames[index].name, name) != 0) {
            continue;
        }
        const char* text = kNames[index].text;
        const size_t needed = text != NULL ? strlen(text) + 1 : kNames[index].size;
        const void* source = text != NULL ? (const void*)text : &kNames[index].number;
        if (value != NULL && *size < needed) {
            errno = ENOMEM;
            return -1;
        }
        if (value != NULL) {
            memcpy(value, source, needed);
        }
        *size = needed;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

/* Seconds and microseconds since the machine was started; proc(5), field 22. */
static int start_time(int process, int64_t result[2]) {
    char path[64];
    char text[1024] = "";
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE* file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    const char* line = fgets(text, sizeof text, file);
    fclose(file);
    const char* after_name = line != NULL ? strrchr(line, ')') : NULL;
    if (after_name == NULL ||
        sscanf(after_name,
               ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &ticks) != 1) {
        return -1;
    }
    const unsigned long long each = (unsigned long long)sysconf(_SC_CLK_TCK);
    result[0] = (int64_t)(ticks / each);
    result[1] = (int64_t)(ticks % each * (1000000 / each));
    return 0;
}

/* {CTL_KERN, KERN_PROC, KERN_PROC_PID, process} only, and of kinfo_proc only the start time. */
static int darwin_sysctl(const int* name, unsigned count, void* value, size_t* size,
                         const void* next, size_t next_size) {
    enum { kInfo = 648 };
    (void)next_size;
    if (count != 4 || name[0] != 1 || name[1] != 14 || name[2] != 1 || next != NULL) {
        errno = ENOENT;
        return -1;
    }
    if (value == NULL || *size < kInfo) {
        errno = ENOMEM;
        return -1;
    }
    int64_t started[2];
    if (start_time(name[3], started) != 0) {
        *size = 0;
        return 0;
    }
    memset(value, 0, kInfo);
    memcpy(value, &started[0], sizeof started[0]);
    memcpy((char*)value + 8, &(int32_t){(int32_t)started[1]}, sizeof(int32_t));
    *size = kInfo;
    return 0;
}

/* System Integrity Protection is on. */
static int darwin_csr_config(uint32_t* config) {
    *config = 0;
    return 0;
}

/* No folder but by the environment: the tests must not meet each other's receipts. */
static size_t darwin_confstr(int name, char* text, size_t size) {
    (void)name;
    (void)text;
    (void)size;
    errno = EINVAL;
    return 0;
}

static long darwin_sysconf(int name) {
    switch (name) {
    case 29:
        return sysconf(_SC_PAGESIZE);
    case 57:
        return sysconf(_SC_NPROCESSORS_CONF);
    case 58:
        return sysconf(_SC_NPROCESSORS_ONLN);
    default:
        errno = EINVAL;
        return -1;
    }
}

static int darwin_getrlimit(int resource, struct rlimit* result) {
    /* The first five agree; then address space, locked memory, processes, files. */
    static const int kOwn[] = {0, 1, 2, 3, 4, RLIMIT_AS, RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_NOFILE};
    if (resource < 0 || resource >= (int)(sizeof kOwn / sizeof *kOwn)) {
        errno = EINVAL;
        return -1;
    }
    const int failed = getrlimit((__rlimit_resource_t)kOwn[resource], result);
    const rlim_t infinity = INT64_MAX;
    result->rlim_cur = result->rlim_cur > infinity ? infinity : result->rlim_cur;
    result->rlim_max = result->rlim_max > infinity ? infinity : result->rlim_max;
    return failed;
}

static int darwin_clock_gettime(int clock, struct timespec* time) {
    switch (clock) {
    case 0:
        return clock_gettime(CLOCK_REALTIME, time);
    case 4: /* CLOCK_MONOTONIC_RAW */
    case 6: /* CLOCK_MONOTONIC */
    case 8: /* CLOCK_UPTIME_RAW */
        return clock_gettime(CLOCK_MONOTONIC, time);
    default:
        errno = EINVAL;
        return -1;
    }
}

static int darwin_issetugid(void) {
    return 0;
}

const struct Import kKernelImports[] = {
    FUNCTION("_sysctlbyname", darwin_sysctl_by_name),
    FUNCTION("_sysctl", darwin_sysctl),
    FUNCTION("_csr_get_active_config", darwin_csr_config),
    FUNCTION("_confstr", darwin_confstr),
    FUNCTION("_sysconf", darwin_sysconf),
    FUNCTION("_getrlimit", darwin_getrlimit),
    FUNCTION("_clock_gettime", darwin_clock_gettime),
    FUNCTION("_issetugid", darwin_issetugid),
    END_OF_IMPORTS,
};
