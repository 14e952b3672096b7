/* Programs in the editor's folders. */
#include "lsp/workspace.h"

#include "base/intern.h"
#include "base/ptrmap.h"
#include "command/source.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_PROGRAMS = 4000, MOST_BYTES = 4 << 20 }; /* of a workspace; of a file in it */

/* --- Which files ---------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    Programs programs;
    PtrSet *seen; /* real names */
} Found;

static void add(Found *f, const char *path, const Document *doc)
{
    char *real = realpath(path, NULL);
    const char *name = intern(real ? real : path);
    free(real);
    if (ptrset_has(f->seen, name))
        return;
    ptrset_add(f->seen, name);
    vec_push(f->a, &f->programs, (Program){path, doc});
}

/* The folder of the project that a file is in, NULL: in none. */
static const char *project_of(Arena *a, const char *path)
{
    char *folder = arena_strdup(a, path), *slash;
    const char *outermost = NULL; /* packages have a futhark.pkg of their own */
    while ((slash = strrchr(folder, '/')) && slash > folder) {
        *slash = 0;
        if (source_there(arena_printf(a, "%s/futhark.pkg", folder)))
            outermost = arena_strdup(a, folder);
    }
    return outermost;
}

static void add_folder(Found *f, const char *folder, bool below)
{
    FolderSearch s = {.a = f->a, .most = MOST_PROGRAMS, .flat = !below};
    folder_search(&s, folder);
    for (int i = 0; i < s.files.n; i++)
        add(f, s.files.at[i], NULL);
}

Programs workspace_programs(Arena *a, const Documents *docs, const Client *client,
                            const Document *doc)
{
    Found f = {.a = a, .seen = ptrmap_new(a)};
    bool any = client->folders && client->folders[0];
    for (const Document *d = docs->first; d; d = d->next)
        if (*d->path == '/')
            add(&f, d->path, d);
    for (int i = 0; any && client->folders[i]; i++)
        add_folder(&f, client->folders[i], true);
    const char *path = doc ? doc->path : docs->first ? docs->first->path : "";
    if (!any && *path == '/') {
        const char *project = project_of(a, path);
        size_t n = (size_t)(strrchr(path, '/') - path);
        add_folder(&f, project ? project : arena_strndup(a, path, n ? n : 1), project != NULL);
    }
    return f.programs;
}

/* --- What they say -------------------------------------------------------------------------- */

/* The text of a file, n bytes, as the editor shows it or on the disk; NULL: there is none. */
static const char *text_of(Arena *a, const Program *p, size_t *n)
{
    struct stat st;
    *n = p->doc ? p->doc->n : 0;
    if (p->doc)
        return p->doc->text;
    bool small = stat(p->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_BYTES;
    FILE *f = small ? fopen(p->path, "rb") : NULL;
    if (!f)
        return NULL;
    char *text = arena_alloc(a, (size_t)st.st_size + 1);
    *n = fread(text, 1, (size_t)st.st_size, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

bool workspace_mentions(Arena *a, const Program *p, const char *word)
{
    size_t n, k = strlen(word);
    const char *text = text_of(a, p, &n), *at = text;
    bool name = text_in_name(*word);
    if (!text || !memmem(text, n, "import", 6))
        return false;
    while ((at = memmem(at, n - (size_t)(at - text), word, k))) {
        if (!name || ((at == text || !text_in_name(at[-1])) && !text_in_name(at[k])))
            return true;
        at++;
    }
    return false;
}
