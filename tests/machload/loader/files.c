/* SPDX-License-Identifier: MIT
 *
 * Files: flags of open(2), the layouts of stat(2), statfs(2) and readdir(3), and the numbers of
 * fcntl(2) and the …at functions.
 */
#define _GNU_SOURCE 1
#include "libsystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* sys/fcntl.h */
static int own_open_flags(int flags) {
    static const struct {
        int darwin;
        int own;
    } kFlags[] = {{0x1, O_WRONLY},         {0x2, O_RDWR},           {0x4, O_NONBLOCK},
                  {0x8, O_APPEND},         {0x100, O_NOFOLLOW},     {0x200, O_CREAT},
                  {0x400, O_TRUNC},        {0x800, O_EXCL},         {0x20000, O_NOCTTY},
                  {0x100000, O_DIRECTORY}, {0x1000000, O_CLOEXEC}};
    int own = 0;
    for (size_t index = 0; index < sizeof kFlags / sizeof *kFlags; ++index) {
        if ((flags & kFlags[index].darwin) != 0) {
            own |= kFlags[index].own;
            flags &= ~kFlags[index].darwin;
        }
    }
    return flags == 0 ? own : -1;
}

static int own_folder(int folder) {
    return folder == -2 ? AT_FDCWD : folder;
}

VARIADIC(int, darwin_open, 2, flags, const char* path, int flags) {
    const int own = own_open_flags(flags);
    if (own == -1) {
        errno = EINVAL;
        return -1;
    }
    const mode_t mode = (own & O_CREAT) != 0 ? (mode_t)va_arg(list, int) : 0;
    return open(path, own, mode);
}
VARIADIC_ENTRY(int, darwin_open, 2, flags, (path, flags, list), const char* path, int flags)

/* F_GETPATH: the path of an open file, into MAXPATHLEN bytes */
static int get_path(int file, char* path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, 1023);
    if (length < 0) {
        return -1;
    }
    path[length] = '\0';
    return 0;
}

VARIADIC(int, darwin_fcntl, 2, command, int file, int command) {
    switch (command) {
    case 0: /* F_DUPFD */
        return fcntl(file, F_DUPFD, va_arg(list, int));
    case 1: /* F_GETFD */
        return fcntl(file, F_GETFD);
    case 2: /* F_SETFD */
        return fcntl(file, F_SETFD, va_arg(list, int));
    case 3: { /* F_GETFL */
        const int own = fcntl(file, F_GETFL);
        return own < 0 ? own
                       : (own & O_ACCMODE) | ((own & O_NONBLOCK) != 0 ? 0x4 : 0) |
                             ((own & O_APPEND) != 0 ? 0x8 : 0);
    }
    case 4: /* F_SETFL */
        return fcntl(file, F_SETFL, own_open_flags(va_arg(list, int)));
    case 50:
        return get_path(file, va_arg(list, char*));
    case 67: /* F_DUPFD_CLOEXEC */
        return fcntl(file, F_DUPFD_CLOEXEC, va_arg(list, int));
    default:
        errno = EINVAL;
        return -1;
    }
}
VARIADIC_ENTRY(int, darwin_fcntl, 2, command, (file, command, list), int file, int command)

VARIADIC(int, darwin_ioctl, 2, request, int file, unsigned long request) {
    if (request == 0x40087468) { /* TIOCGWINSZ */
        return ioctl(file, TIOCGWINSZ, va_arg(list, void*));
    }
    errno = ENOTTY;
    return -1;
}
VARIADIC_ENTRY(int, darwin_ioctl, 2, request, (file, request, list), int file, unsigned long request)

struct DarwinStat { /* sys/stat.h, with inodes of 64 bits */
    int32_t device;
    uint16_t mode;
    uint16_t links;
    uint64_t inode;
    uint32_t user;
    uint32_t group;
    int32_t special_device;
    struct timespec accessed;
    struct timespec modified;
    struct timespec changed;
    struct timespec born;
    int64_t size;
    int64_t blocks;
    int32_t block_size;
    uint32_t flags;
    uint32_t generation;
    int32_t spare[5];
};
_Static_assert(sizeof(struct DarwinStat) == 144, "the layout of stat");

static int give_stat(int failed, const struct stat* own, struct DarwinStat* result) {
    if (failed == 0) {
        *result = (struct DarwinStat){.device = (int32_t)own->st_dev,
                                      .mode = (uint16_t)own->st_mode,
                                      .links = (uint16_t)own->st_nlink,
                                      .inode = own->st_ino,
                                      .user = own->st_uid,
                                      .group = own->st_gid,
                                      .special_device = (int32_t)own->st_rdev,
                                      .accessed = own->st_atim,
                                      .modified = own->st_mtim,
                                      .changed = own->st_ctim,
                                      .born = own->st_mtim, /* Linux's stat has none */
                                      .size = own->st_size,
                                      .blocks = own->st_blocks,
                                      .block_size = (int32_t)own->st_blksize};
    }
    return failed;
}

static int darwin_stat(const char* path, struct DarwinStat* result) {
    struct stat own;
    return give_stat(stat(path, &own), &own, result);
}

static int darwin_fstat(int file, struct DarwinStat* result) {
    struct stat own;
    return give_stat(fstat(file, &own), &own, result);
}

static int darwin_fstatat(int folder, const char* path, struct DarwinStat* result, int flags) {
    struct stat own;
    const int own_flags = (flags & 0x20) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    return give_stat(fstatat(own_folder(folder), path, &own, own_flags), &own, result);
}

static int darwin_faccessat(int folder, const char* path, int mode, int flags) {
    return faccessat(own_folder(folder), path, mode, (flags & 0x10) != 0 ? AT_EACCESS : 0);
}

struct DarwinStatFs { /* sys/mount.h, with inodes of 64 bits */
    uint32_t block_size;
    int32_t io_size;
    uint64_t blocks;
    uint64_t free_blocks;
    uint64_t available_blocks;
    uint64_t files;
    uint64_t free_files;
    int32_t identifier[2];
    uint32_t owner;
    uint32_t type;
    uint32_t flags;
    uint32_t subtype;
    char type_name[16];
    char mounted_on[1024];
    char mounted_from[1024];
    uint32_t extended_flags;
    uint32_t reserved[7];
};
_Static_assert(sizeof(struct DarwinStatFs) == 2168, "the layout of statfs");

static int darwin_statfs(const char* path, struct DarwinStatFs* result) {
    struct statvfs own;
    if (statvfs(path, &own) != 0) {
        return -1;
    }
    *result = (struct DarwinStatFs){.block_size = (uint32_t)own.f_bsize,
                                    .blocks = own.f_blocks,
                                    .free_blocks = own.f_bfree,
                                    .available_blocks = own.f_bavail,
                                    .flags = ((own.f_flag & ST_NOEXEC) != 0 ? 0x4U : 0) |
                                             ((own.f_flag & ST_NOSUID) != 0 ? 0x8U : 0),
                                    .type_name = "apfs",
                                    .mounted_on = "/"};
    return 0;
}

struct DarwinDirent { /* sys/dirent.h, with inodes of 64 bits */
    uint64_t inode;
    uint64_t seek_offset;
    uint16_t record_length;
    uint16_t name_length;
    uint8_t type; /* the numbers agree */
    char name[1024];
};

static struct DarwinDirent* darwin_readdir(DIR* folder) {
    static __thread struct DarwinDirent result;
    const struct dirent* own = readdir(folder);
    if (own == NULL) {
        return NULL;
    }
    result.inode = own->d_ino;
    result.record_length = sizeof result;
    result.type = own->d_type;
    result.name_length = (uint16_t)snprintf(result.name, sizeof result.name, "%s", own->d_name);
    return &result;
}

static char* darwin_realpath(const char* path, char* result) {
    return realpath(path, result);
}

static ssize_t darwin_getxattr(const char* path, const char* name, void* value, size_t size,
                               uint32_t position, int options) {
    (void)position;
    return (options & 1) != 0 ? lgetxattr(path, name, value, size) /* XATTR_NOFOLLOW */
                              : getxattr(path, name, value, size);
}

/* fnmatch.h: these two have changed places */
static int darwin_fnmatch(const char* pattern, const char* text, int flags) {
    const int own = (flags & ~(FNM_NOESCAPE | FNM_PATHNAME)) |
                    ((flags & 1) != 0 ? FNM_NOESCAPE : 0) | ((flags & 2) != 0 ? FNM_PATHNAME : 0);
    return fnmatch(pattern, text, own);
}

const struct Import kFileImports[] = {
    FUNCTION("_open", darwin_open),
    FUNCTION("_fcntl", darwin_fcntl),
    FUNCTION("_ioctl", darwin_ioctl),
    FUNCTION("_stat", darwin_stat),
    FUNCTION("_stat$INODE64", darwin_stat),
    FUNCTION("_fstat", darwin_fstat),
    FUNCTION("_fstat$INODE64", darwin_fstat),
    FUNCTION("_fstatat", darwin_fstatat),
    FUNCTION("_fstatat$INODE64", darwin_fstatat),
    FUNCTION("_faccessat", darwin_faccessat),
    FUNCTION("_statfs", darwin_statfs),
    FUNCTION("_statfs$INODE64", darwin_statfs),
    FUNCTION("_opendir", opendir),
    FUNCTION("_opendir$INODE64", opendir),
    FUNCTION("_readdir", darwin_readdir),
    FUNCTION("_readdir$INODE64", darwin_readdir),
    FUNCTION("_realpath$DARWIN_EXTSN", darwin_realpath),
    FUNCTION("_getxattr", darwin_getxattr),
    FUNCTION("_fnmatch", darwin_fnmatch),
    END_OF_IMPORTS,
};
