#include "command/folders.h"

#include "command/source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A folder, and those that it is in. */
typedef struct Way {
    dev_t dev;
    ino_t ino;
    const struct Way *up;
    int depth;
} Way;
enum { DEEPEST = 64 };

bool folder_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool on_way(const Way *way, const struct stat *st)
{
    while (way && !(way->dev == st->st_dev && way->ino == st->st_ino))
        way = way->up;
    return way != NULL;
}

/* Of what stands in a folder, all that is not hidden, by name. */
static bool entries(FolderSearch *s, const char *folder, Paths *out)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            vec_push(s->a, out, arena_strdup(s->a, e->d_name));
    closedir(dir);
    if (out->n)
        qsort(out->at, (size_t)out->n, sizeof *out->at, by_text);
    return true;
}

static bool has_enough(const FolderSearch *s)
{
    return s->most && (s->files.n >= s->most || s->looked > 20 * s->most);
}

static void search(FolderSearch *s, const char *folder, size_t start, const Way *up)
{
    struct stat st;
    Paths names = {0};
    if (stat(folder, &st) != 0 || !entries(s, folder, &names)) {
        if (s->unread)
            s->unread(s->env, folder);
        return;
    }
    Way way = {st.st_dev, st.st_ino, up, up ? up->depth + 1 : 0};
    bool slash = folder[strlen(folder) - 1] == '/';
    s->looked += names.n;
    for (int i = 0; i < names.n && !has_enough(s); i++) {
        const char *name = names.at[i],
                   *path = arena_printf(s->a, slash ? "%s%s" : "%s/%s", folder, name);
        bool program = name[source_stem(name)] != 0;
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            if (!s->flat && way.depth < DEEPEST && !on_way(&way, &st))
                search(s, path, start, &way);
        } else if (program && !(s->passes && s->passes(s->env, path, start))) {
            vec_push(s->a, &s->files, path);
        }
    }
}

void folder_search(FolderSearch *s, const char *folder)
{
    search(s, folder, strlen(folder), NULL);
}
