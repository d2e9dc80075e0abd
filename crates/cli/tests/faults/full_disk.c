// Loaded before the C library: call number FAULT_AT that takes space on a disk fails as if the disk were full, and so do all
// behind it. Counted are regular files that are made, writes to them, and their being put on the disk.
//
//   FAULT=full   nothing of that write arrives
//   FAULT=half   half of it does, as write(2) may say
//   FAULT=once   half of it does, and the disk is not full: the writer has to go on
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static long fault_at(void) {
    const char *at = getenv("FAULT_AT");
    return at ? atol(at) : 0;
}

static int is(const char *mode) {
    const char *fault = getenv("FAULT");
    return fault && strcmp(fault, mode) == 0;
}

static int is_regular(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

// The number of this call; 0 if it does not count.
static long counted(int fd) {
    return fault_at() && is_regular(fd) ? atomic_fetch_add(&calls, 1) + 1 : 0;
}

static int is_full(long call) {
    return call && !is("once") && call >= fault_at();
}

ssize_t write(int fd, const void *bytes, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    long call = counted(fd);
    if (call && call == fault_at() && !is("full") && size > 1) return real(fd, bytes, size / 2);
    if (is_full(call)) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    if (is_full(counted(fd))) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, pieces, count);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (is_full(counted(fd))) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd);
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (is_full(counted(fd))) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd);
}

int open64(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    if (!(flags & O_CREAT)) return real(path, flags);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    // What is there takes no more space.
    long call = fault_at() && access(path, F_OK) ? atomic_fetch_add(&calls, 1) + 1 : 0;
    if (is_full(call)) {
        errno = ENOSPC;
        return -1;
    }
    return real(path, flags, mode);
}
