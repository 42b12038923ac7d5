/* Fails, or kills, the N-th call of libc that touches files or processes, in a command and in everything that it starts.
 *
 * LD_PRELOAD=shim.so TORTURE=FILE COMMAND: FILE is `struct control`, shared by all processes: one count for all.
 * Not seen: raw system calls, what libc calls inside itself (stdio's reads and writes, the loader), static programs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ = 1, STAT = 2, WRITE = 4, CLOSE = 8, SPAWN = 16, WAIT = 32, CHANGE = 64 }; /* CHANGE needs no room */

struct control {
    uint64_t count;    /* calls so far, of all processes */
    uint64_t target;   /* the call that is hit, or the first after it that fits; 0: none */
    int32_t signal;    /* kill instead of failing */
    int32_t error;     /* errno */
    int32_t always;    /* every call that fits from then on */
    int32_t kinds;     /* a mask: which kinds fit */
    int32_t inside;    /* only what is inside `root` fits */
    int32_t fired;     /* how often */
    int32_t pid;       /* of the first */
    char root[512];
    char log[512];     /* where to list every call; empty: nowhere */
    char what[512];    /* the first that was hit */
};

static struct control *control;
static unsigned char ours[4096]; /* descriptors of files inside the root */
static char program[64];

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TORTURE");
    if (!path) return;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    syscall(SYS_close, fd);
    if (map == MAP_FAILED) return;
    long comm = syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
    if (comm >= 0) {
        long n = syscall(SYS_read, comm, program, sizeof program - 1);
        if (n > 0) program[n - 1] = 0;
        syscall(SYS_close, comm);
    }
    control = map;
}

static int below(const char *path) {
    if (!path) return 0;
    if (path[0] != '/') return 1; /* commands run inside the root */
    size_t n = strlen(control->root);
    return strncmp(path, control->root, n) == 0;
}

static int known(int fd) { return fd >= 0 && fd < 4096 && ours[fd]; }
static void note(int fd, int inside) { if (fd >= 0 && fd < 4096) ours[fd] = (unsigned char)inside; }

/* Whether this call is to fail; then errno is set. */
static int hit(int kind, const char *name, const char *path, int fd, int inside) {
    if (!control) return 0;
    uint64_t n = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    if (control->log[0]) {
        int kept = errno;
        char line[700];
        int length = snprintf(line, sizeof line, "%lu\t%d\t%d\t%s\t%s\t%d\t%.500s\n", (unsigned long)n, kind, inside,
                              program, name, fd, path ? path : "");
        if (length > (int)sizeof line - 1) length = sizeof line - 1;
        long log = syscall(SYS_openat, AT_FDCWD, control->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        syscall(SYS_write, log, line, length);
        syscall(SYS_close, log);
        errno = kept;
    }
    if (!control->target || n < control->target || !(control->kinds & kind) || (control->inside && !inside)) return 0;
    int before = __atomic_fetch_add(&control->fired, 1, __ATOMIC_SEQ_CST);
    if (before && !control->always) { __atomic_fetch_sub(&control->fired, 1, __ATOMIC_SEQ_CST); return 0; }
    if (!before) {
        control->pid = (int32_t)syscall(SYS_getpid);
        snprintf(control->what, sizeof control->what, "%s: %s(%.300s%s%d)", program, name, path ? path : "",
                 path ? ", " : "", fd);
    }
    if (control->signal) {
        syscall(SYS_kill, syscall(SYS_getpid), control->signal);
        for (;;) syscall(SYS_pause);
    }
    errno = control->error;
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(real))next(#name)

#define OPEN(name)                                                                                       \
    int name(const char *path, int flags, ...) {                                                         \
        REAL(name);                                                                                      \
        mode_t mode = 0;                                                                                 \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, mode_t); va_end(a); } \
        int inside = control ? below(path) : 0;                                                          \
        if (hit(flags & O_CREAT ? WRITE : READ, #name, path, -1, inside)) return -1;                     \
        int fd = real(path, flags, mode);                                                                \
        note(fd, inside);                                                                                \
        return fd;                                                                                       \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                     \
    int name(int dir, const char *path, int flags, ...) {                                                \
        REAL(name);                                                                                      \
        mode_t mode = 0;                                                                                 \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, mode_t); va_end(a); } \
        int inside = control ? (dir >= 0 && path[0] != '/' ? known(dir) : below(path)) : 0;              \
        if (hit(flags & O_CREAT ? WRITE : READ, #name, path, -1, inside)) return -1;                     \
        int fd = real(dir, path, flags, mode);                                                           \
        note(fd, inside);                                                                                \
        return fd;                                                                                       \
    }
OPENAT(openat)
OPENAT(openat64)

#define STREAM(name)                                                                                     \
    FILE *name(const char *path, const char *mode) {                                                     \
        REAL(name);                                                                                      \
        int inside = control ? below(path) : 0;                                                          \
        if (hit(mode[0] == 'r' ? READ : WRITE, #name, path, -1, inside)) return NULL;                    \
        return real(path, mode);                                                                         \
    }
STREAM(fopen)
STREAM(fopen64)

/* On a descriptor, on a path, on two. */
#define ON_FD(kind, type, name, declared, ...)                                                           \
    type name declared {                                                                                 \
        REAL(name);                                                                                      \
        if (hit(kind, #name, NULL, fd, control ? known(fd) : 0)) return (type)-1;                        \
        return real(__VA_ARGS__);                                                                        \
    }
#define ON_PATH(kind, type, name, declared, ...)                                                         \
    type name declared {                                                                                 \
        REAL(name);                                                                                      \
        if (hit(kind, #name, path, -1, control ? below(path) : 0)) return (type)-1;                      \
        return real(__VA_ARGS__);                                                                        \
    }
#define ON_DIR(kind, type, name, declared, ...)                                                          \
    type name declared {                                                                                 \
        REAL(name);                                                                                      \
        int inside = control ? (fd >= 0 && path[0] != '/' ? known(fd) : below(path)) : 0;                \
        if (hit(kind, #name, path, fd, inside)) return (type)-1;                                         \
        return real(__VA_ARGS__);                                                                        \
    }

ON_FD(READ, ssize_t, read, (int fd, void *b, size_t n), fd, b, n)
ON_FD(READ, ssize_t, pread, (int fd, void *b, size_t n, off_t o), fd, b, n, o)
ON_FD(READ, ssize_t, pread64, (int fd, void *b, size_t n, off64_t o), fd, b, n, o)
ON_FD(WRITE, ssize_t, write, (int fd, const void *b, size_t n), fd, b, n)
ON_FD(WRITE, ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), fd, b, n, o)
ON_FD(WRITE, ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), fd, b, n, o)
ON_FD(WRITE, int, fsync, (int fd), fd)
ON_FD(WRITE, int, fdatasync, (int fd), fd)
ON_FD(WRITE, int, ftruncate, (int fd, off_t n), fd, n)
ON_FD(WRITE, int, ftruncate64, (int fd, off64_t n), fd, n)
ON_FD(CHANGE, int, fchmod, (int fd, mode_t m), fd, m)
ON_FD(STAT, off_t, lseek, (int fd, off_t o, int w), fd, o, w)
ON_FD(STAT, off64_t, lseek64, (int fd, off64_t o, int w), fd, o, w)
ON_FD(STAT, int, fstat, (int fd, struct stat *s), fd, s)
ON_FD(STAT, int, fstat64, (int fd, struct stat64 *s), fd, s)
ON_FD(STAT, int, flock, (int fd, int o), fd, o)
ON_PATH(STAT, int, stat, (const char *path, struct stat *s), path, s)
ON_PATH(STAT, int, stat64, (const char *path, struct stat64 *s), path, s)
ON_PATH(STAT, int, lstat, (const char *path, struct stat *s), path, s)
ON_PATH(STAT, int, lstat64, (const char *path, struct stat64 *s), path, s)
ON_PATH(STAT, int, access, (const char *path, int m), path, m)
ON_PATH(STAT, ssize_t, readlink, (const char *path, char *b, size_t n), path, b, n)
ON_PATH(STAT, int, chdir, (const char *path), path)
ON_PATH(CHANGE, int, unlink, (const char *path), path)
ON_PATH(CHANGE, int, rmdir, (const char *path), path)
ON_PATH(WRITE, int, mkdir, (const char *path, mode_t m), path, m)
ON_PATH(CHANGE, int, chmod, (const char *path, mode_t m), path, m)
ON_PATH(WRITE, int, rename, (const char *path, const char *to), path, to)
ON_PATH(WRITE, int, link, (const char *path, const char *to), path, to)
ON_PATH(WRITE, int, symlink, (const char *path, const char *to), path, to)
ON_DIR(STAT, int, fstatat, (int fd, const char *path, struct stat *s, int f), fd, path, s, f)
ON_DIR(STAT, int, fstatat64, (int fd, const char *path, struct stat64 *s, int f), fd, path, s, f)
ON_DIR(STAT, int, faccessat, (int fd, const char *path, int m, int f), fd, path, m, f)
ON_DIR(STAT, ssize_t, readlinkat, (int fd, const char *path, char *b, size_t n), fd, path, b, n)
ON_DIR(CHANGE, int, unlinkat, (int fd, const char *path, int f), fd, path, f)
ON_DIR(WRITE, int, mkdirat, (int fd, const char *path, mode_t m), fd, path, m)
ON_DIR(CHANGE, int, fchmodat, (int fd, const char *path, mode_t m, int f), fd, path, m, f)
ON_DIR(WRITE, int, renameat, (int fd, const char *path, int d, const char *to), fd, path, d, to)
ON_DIR(WRITE, int, linkat, (int fd, const char *path, int d, const char *to, int f), fd, path, d, to, f)
ON_DIR(CHANGE, int, utimensat, (int fd, const char *path, const struct timespec t[2], int f), fd, path, t, f)

/* A close that fails has closed all the same. */
int close(int fd) {
    REAL(close);
    int inside = control ? known(fd) : 0;
    note(fd, 0);
    if (hit(CLOSE, "close", NULL, fd, inside)) {
        int error = errno;
        real(fd);
        errno = error;
        return -1;
    }
    return real(fd);
}

DIR *opendir(const char *path) {
    REAL(opendir);
    return hit(READ, "opendir", path, -1, control ? below(path) : 0) ? NULL : real(path);
}

DIR *fdopendir(int fd) {
    REAL(fdopendir);
    return hit(READ, "fdopendir", NULL, fd, control ? known(fd) : 0) ? NULL : real(fd);
}

int dup2(int from, int to) {
    REAL(dup2);
    int done = real(from, to);
    if (done >= 0) note(to, known(from));
    return done;
}

/* A full process table, and nobody to wait for. */
pid_t fork(void) {
    REAL(fork);
    return hit(SPAWN, "fork", NULL, -1, 0) ? -1 : real();
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *a, const posix_spawnattr_t *t,
                char *const argv[], char *const env[]) {
    REAL(posix_spawn);
    return hit(SPAWN, "posix_spawn", path, -1, 0) ? errno : real(pid, path, a, t, argv, env);
}

int pipe2(int ends[2], int flags) {
    REAL(pipe2);
    return hit(SPAWN, "pipe2", NULL, -1, 0) ? -1 : real(ends, flags);
}

int pipe(int ends[2]) {
    REAL(pipe);
    return hit(SPAWN, "pipe", NULL, -1, 0) ? -1 : real(ends);
}

int execve(const char *path, char *const argv[], char *const env[]) {
    REAL(execve);
    return hit(SPAWN, "execve", path, -1, 0) ? -1 : real(path, argv, env);
}

pid_t waitpid(pid_t pid, int *status, int options) {
    REAL(waitpid);
    return hit(WAIT, "waitpid", NULL, -1, 0) ? -1 : real(pid, status, options);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
    REAL(wait4);
    return hit(WAIT, "wait4", NULL, -1, 0) ? -1 : real(pid, status, options, usage);
}
