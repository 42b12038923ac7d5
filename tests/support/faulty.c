/* Calls of the C library that fail where FAULTS says so: "rename=5@/state.json,flock=95@*,read=5@/plan.md#1".
   CALL=ERRNO@END-OF-THE-PATH, of which only the N-th with #N. "close" and "done-rename" are done, and fail. In place of
   an error -9 ends the process there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int seen[16];

static int ends_with(const char *path, const char *end) {
    size_t a = strlen(path), b = strlen(end);
    return strcmp(end, "*") == 0 || (b <= a && strcmp(path + a - b, end) == 0);
}

/* The error that this call on this path is to have; 0 for none. */
static int fault(const char *call, const char *path) {
    const char *faults = getenv("FAULTS");
    char copy[1024], *rest = copy, *each;
    if (!faults || !path || strlen(faults) >= sizeof copy) return 0;
    strcpy(copy, faults);
    for (int at = 0; (each = strsep(&rest, ",")) && at < 16; at++) {
        char *error = strchr(each, '='), *end = strchr(each, '@');
        if (!error || !end) continue;
        *error++ = *end++ = 0;
        char *number = strchr(end, '#');
        if (number) *number++ = 0;
        if (strcmp(each, call) || !ends_with(path, end)) continue;
        if (!number || ++seen[at] == atoi(number)) return atoi(error);
    }
    return 0;
}

static int fault_of(const char *call, int fd) {
    char link[64], path[PATH_MAX];
    if (!getenv("FAULTS")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fault(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILING(error) \
    do { \
        int found_ = (error); \
        if (found_ < 0) kill(getpid(), -found_); \
        if (found_) { errno = found_; return -1; } \
    } while (0)

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        FAILING(fault(flags & O_CREAT ? "create" : "open", path)); \
        return REAL(name)(path, flags, mode); }
#define OPENING_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        FAILING(fault(flags & O_CREAT ? "create" : "open", path)); \
        return REAL(name)(at, path, flags, mode); }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)

ssize_t read(int fd, void *to, size_t n) { FAILING(fault_of("read", fd)); return REAL(read)(fd, to, n); }
ssize_t pread(int fd, void *to, size_t n, off_t o) { FAILING(fault_of("read", fd)); return REAL(pread)(fd, to, n, o); }
ssize_t pread64(int fd, void *to, size_t n, off64_t o) {
    FAILING(fault_of("read", fd)); return REAL(pread64)(fd, to, n, o); }
ssize_t write(int fd, const void *of, size_t n) { FAILING(fault_of("write", fd)); return REAL(write)(fd, of, n); }
int fsync(int fd) { FAILING(fault_of("fsync", fd)); return REAL(fsync)(fd); }
int flock(int fd, int how) { FAILING(fault_of("flock", fd)); return REAL(flock)(fd, how); }
int close(int fd) { int e = fault_of("close", fd), done = REAL(close)(fd); FAILING(e); return done; }
int unlink(const char *path) { FAILING(fault("unlink", path)); return REAL(unlink)(path); }
int rename(const char *from, const char *to) {
    FAILING(fault("rename", to));
    int done = REAL(rename)(from, to);
    FAILING(done ? errno : fault("done-rename", to));
    return done;
}
int stat(const char *path, struct stat *to) { FAILING(fault("stat", path)); return REAL(stat)(path, to); }
int lstat(const char *path, struct stat *to) { FAILING(fault("stat", path)); return REAL(lstat)(path, to); }
int stat64(const char *path, struct stat64 *to) { FAILING(fault("stat", path)); return REAL(stat64)(path, to); }
int lstat64(const char *path, struct stat64 *to) { FAILING(fault("stat", path)); return REAL(lstat64)(path, to); }
int fstatat(int at, const char *path, struct stat *to, int how) {
    FAILING(fault("stat", path)); return REAL(fstatat)(at, path, to, how); }
int fstatat64(int at, const char *path, struct stat64 *to, int how) {
    FAILING(fault("stat", path)); return REAL(fstatat64)(at, path, to, how); }
DIR *opendir(const char *path) {
    int e = fault("list", path);
    if (e) { errno = e; return NULL; }
    return REAL(opendir)(path);
}
