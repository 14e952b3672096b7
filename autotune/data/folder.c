/* The data sets of a folder. */
#include "autotune/data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Dataset *)a)->name, ((const Dataset *)b)->name);
}

/* The expected output of a data set: NAME.out or NAME.out.gz, nothing if there is none. */
static DataSource find_output(Arena *a, const char *folder, const char *name)
{
    static const char *const ends[] = {"out", "out.gz"};
    for (int i = 0; i < 2; i++) {
        const char *path = arena_printf(a, "%s/%s.%s", folder, name, ends[i]);
        if (access(path, R_OK) == 0)
            return (DataSource){.name = path};
    }
    return (DataSource){0};
}

bool datasets_find(Arena *a, const char *folder, Datasets *ds, const char **wrong)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        *wrong = arena_printf(a, "cannot read folder %s: %s", folder, strerror(errno));
        return false;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        size_t cut = ends_with(e->d_name, ".in") ? 3 : ends_with(e->d_name, ".in.gz") ? 6 : 0;
        if (!cut || e->d_name[0] == '.')
            continue;
        const char *name = arena_strndup(a, e->d_name, strlen(e->d_name) - cut);
        Dataset d = {.name = name,
                     .in = {.name = arena_printf(a, "%s/%s", folder, e->d_name)},
                     .out = find_output(a, folder, name)};
        vec_push(a, ds, d);
    }
    closedir(dir);
    if (ds->n == 0) {
        *wrong =
            arena_printf(a,
                         "%s holds no data sets: a data set is a file NAME.in (text or binary, "
                         ".gz too), with its expected output in NAME.out if you have it",
                         folder);
        return false;
    }
    qsort(ds->at, (size_t)ds->n, sizeof *ds->at, by_name);
    return true;
}
