/* SPDX-License-Identifier: MIT
 *
 * errno: a thread's number as Darwin counts. glibc's is taken over whenever the program looks.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int own;
    int darwin; /* sys/errno.h */
} kNumbers[] = {
    {EDEADLK, 11},       {EAGAIN, 35},        {EINPROGRESS, 36},  {EALREADY, 37},
    {ENOTSOCK, 38},      {EDESTADDRREQ, 39},  {EMSGSIZE, 40},     {EPROTOTYPE, 41},
    {ENOPROTOOPT, 42},   {ENOTSUP, 45},       {EAFNOSUPPORT, 47}, {EADDRINUSE, 48},
    {EADDRNOTAVAIL, 49}, {ENETDOWN, 50},      {ENETUNREACH, 51},  {ECONNABORTED, 53},
    {ECONNRESET, 54},    {ENOBUFS, 55},       {EISCONN, 56},      {ENOTCONN, 57},
    {ETIMEDOUT, 60},     {ECONNREFUSED, 61},  {ELOOP, 62},        {ENAMETOOLONG, 63},
    {EHOSTUNREACH, 65},  {ENOTEMPTY, 66},     {EUSERS, 68},       {EDQUOT, 69},
    {ESTALE, 70},        {ENOLCK, 77},        {ENOSYS, 78},       {EOVERFLOW, 84},
    {ECANCELED, 89},     {EIDRM, 90},         {ENOMSG, 91},       {EILSEQ, 92},
    {ENODATA, 93},       {EBADMSG, 94},       {EPROTO, 100},
};
enum { kCount = sizeof kNumbers / sizeof *kNumbers };

int darwin_error_of(int own) {
    for (int index = 0; index < kCount; ++index) {
        if (kNumbers[index].own == own) {
            return kNumbers[index].darwin;
        }
    }
    return own; /* the old ones agree */
}

static int own_error_of(int darwin) {
    for (int index = 0; index < kCount; ++index) {
        if (kNumbers[index].darwin == darwin) {
            return kNumbers[index].own;
        }
    }
    return darwin;
}

static int* darwin_error(void) {
    static __thread int number;
    if (errno != 0) {
        number = darwin_error_of(errno);
        errno = 0;
    }
    return &number;
}

static char* darwin_strerror(int number) {
    return strerror(own_error_of(number));
}

static int darwin_strerror_r(int number, char* text, size_t size) {
    snprintf(text, size, "%s", strerror(own_error_of(number)));
    return 0;
}

const struct Import kErrorImports[] = {
    FUNCTION("___error", darwin_error),
    FUNCTION("_strerror", darwin_strerror),
    FUNCTION("_strerror_r", darwin_strerror_r),
    END_OF_IMPORTS,
};
