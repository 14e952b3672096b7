/* A folder is in use while somebody holds the lock on its file `.minifut-lock`. The lock goes with
 * the process however that ends, so a folder that has the file but no holder was left behind. */
#include "command/tempdir.h"

#include "base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PREFIX[] = "minifut-tmp-", LOCK[] = ".minifut-lock";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

void remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *join(const char *folder, const char *prefix, const char *name)
{
    char *path = mem_or_exit(malloc(strlen(folder) + strlen(prefix) + strlen(name) + 2));
    sprintf(path, "%s/%s%s", folder, prefix, name);
    return path;
}

/* Takes the lock of a folder; -1 if somebody has it, or it has none. */
static int take_lock(const char *folder, int flags)
{
    char *path = join(folder, "", LOCK);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    free(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        char *path = join(base, "", e->d_name);
        int fd = -1;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
            (fd = take_lock(path, 0)) >= 0) {
            remove_folder(path);
            close(fd);
        }
        free(path);
    }
    closedir(dir);
}

bool tempdir_open(TempDir *t, const char *base)
{
    const char *env = getenv("TMPDIR");
    base = base ? base : env && *env ? env : "/tmp";
    remove_stale(base);
    for (int attempt = 0; attempt < 10; attempt++) {
        struct stat st;
        t->path = join(base, PREFIX, "XXXXXX");
        t->lock = -1;
        if (!mkdtemp(t->path))
            return false;
        t->lock = take_lock(t->path, O_CREAT | O_EXCL);
        if (t->lock >= 0 && fstat(t->lock, &st) == 0 && st.st_nlink > 0)
            return true;
        /* Somebody took it for one left behind, before it had its lock; or the disk is full. */
        int saved = errno;
        if (t->lock >= 0)
            close(t->lock);
        remove_folder(t->path);
        errno = saved;
        if (attempt < 9)
            free(t->path);
    }
    return false;
}

void tempdir_close(TempDir *t)
{
    if (!t->path)
        return;
    remove_folder(t->path);
    close(t->lock);
    free(t->path);
    *t = (TempDir){0};
}

void tempdir_keep(TempDir *t)
{
    char *path = join(t->path, "", LOCK);
    unlink(path);
    free(path);
    close(t->lock);
}
