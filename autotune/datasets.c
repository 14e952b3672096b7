/* Finding the data sets of a folder, and compiling the program that is to run on them. */
#include "autotune/session.h"
#include "base/diag.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
        Dataset d = {name,
                     {.name = arena_printf(a, "%s/%s", folder, e->d_name)},
                     find_output(a, folder, name)};
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

const char *program_binary(Arena *a, const char *source)
{
    size_t n = strlen(source);
    const char *name = ends_with(source, ".sf") ? arena_strndup(a, source, n - 3)
                                                : arena_printf(a, "%s.out", source);
    return strchr(name, '/') ? name : arena_printf(a, "./%s", name);
}

int compile_program(const char *source, const char *binary)
{
    return compile_program_mode(source, binary, NULL);
}

int compile_program_mode(const char *source, const char *binary, const char *mode)
{
    char option[64];
    snprintf(option, sizeof option, "--flatten=%s", mode ? mode : "incremental");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "minifut", "compile", option, "-o", binary, "--", source,
              (char *)NULL);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        fprintf(stderr, "minifut: cannot start the compiler: %s\n", strerror(errno));
        return EXIT_USER;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BUG;
}

const char *time_text(Arena *a, double seconds)
{
    if (seconds < 1e-3)
        return arena_printf(a, "%.1f us", seconds * 1e6);
    if (seconds < 1)
        return arena_printf(a, "%.2f ms", seconds * 1e3);
    return seconds < 1e9 ? arena_printf(a, "%.2f s", seconds) : "never";
}
