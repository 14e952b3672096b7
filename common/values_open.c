/* Files of values: opened, unpacked by gzip, left out, closed. */
#include "common/values.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What gzip makes of a file, and its process. No shell is in between, and no path either. */
static FILE *rt_gzip_open(FILE *packed, long *process)
{
    static char *const argv[] = {"gzip", "-dc", NULL};
    int fd[2];
    pid_t pid;
    sigset_t pipes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    if (pipe2(fd, O_CLOEXEC) != 0)
        return NULL;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(packed), 0);
    posix_spawn_file_actions_adddup2(&files, fd[1], 1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &pipes);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    int err = posix_spawnp(&pid, "gzip", &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    close(fd[1]);
    FILE *f = err ? NULL : fdopen(fd[0], "rb");
    if (!f)
        close(fd[0]);
    errno = err ? err : errno;
    *process = pid;
    return f;
}

RT_API bool rt_reader_open(rt_reader *r, const char *path)
{
    size_t n = strlen(path);
    long process = 0;
    const char *wrong;
    FILE *f = rt_file_open(path, false, &wrong);
    memset(r, 0, sizeof *r);
    if (f && n > 3 && strcmp(path + n - 3, ".gz") == 0) {
        FILE *packed = f;
        f = rt_gzip_open(packed, &process);
        fclose(packed);
        if (!f) {
            snprintf(r->error, sizeof r->error, "cannot read %s: gzip: %s", path, strerror(errno));
            return false;
        }
    }
    if (!f) {
        snprintf(r->error, sizeof r->error, "cannot read %s: %s", path, wrong);
        return false;
    }
    bool ok = rt_reader_file(r, f, path);
    r->f = f;
    r->opened = true;
    r->unpacker = process;
    if (!ok) {
        char error[sizeof r->error];
        memcpy(error, r->error, sizeof error);
        (void)rt_reader_close(r);
        memcpy(r->error, error, sizeof error);
    }
    return ok;
}

RT_API bool rt_reader_close(rt_reader *r)
{
    bool ok = true;
    if (r->f) {
        int status = 0;
        free(r->buf);
        if (r->opened)
            fclose(r->f);
        while (r->unpacker && waitpid((pid_t)r->unpacker, &status, 0) < 0 && errno == EINTR)
            ;
        ok = status == 0;
    }
    if (!ok)
        snprintf(r->error, sizeof r->error, "%s: gzip could not unpack it", r->name);
    r->f = NULL;
    r->buf = NULL;
    r->pos = r->len = 0;
    return ok;
}

RT_API int64_t rt_reader_file_size(const rt_reader *r)
{
    struct stat st;
    bool is_file = r->f && !r->unpacker && fstat(fileno(r->f), &st) == 0 && S_ISREG(st.st_mode);
    return is_file ? st.st_size : -1;
}

RT_API bool rt_reader_leap(rt_reader *r, int64_t bytes)
{
    if (fseeko(r->f, r->offset + bytes, SEEK_SET) != 0)
        return false;
    r->offset += bytes;
    r->pos = r->len = 0;
    return true;
}
