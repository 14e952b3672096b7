/* The memory of a session, and how it learns. */
#include "repl/dialogue.h"

#include "base/intern.h"
#include "command/source.h"

#include <stdlib.h>
#include <string.h>

Session *session_new(void)
{
    Arena *a = arena_new();
    Session *s = NEW(a, Session);
    s->a = a;
    return s;
}

void session_free(Session *s)
{
    for (int i = 0; i < s->pieces.n; i++)
        for (int k = 0; k < s->pieces.at[i].known.n; k++)
            for (int j = 0; j < s->pieces.at[i].known.at[k].n; j++)
                rt_hvalue_free(&s->pieces.at[i].known.at[k].leaves[j]);
    arena_free(s->a);
}

int session_texts(const Session *s, Arena *a, const FePiece *last, FePiece **out)
{
    int n = s->pieces.n;
    *out = NEWN(a, FePiece, n + 1);
    for (int i = 0; i < n; i++)
        (*out)[i] = s->pieces.at[i].text;
    (*out)[n] = *last;
    return n + 1;
}

const Known *session_known(const Session *s, const Ast *ast, const Def *d)
{
    int piece = -1;
    for (int i = 0; i < ast->files.n; i++) {
        const File *f = ast->files.at[i];
        piece += f->bare;
        if (!f->bare || piece >= s->pieces.n || d->loc.beg < f->base || d->loc.beg > f->base + f->n)
            continue;
        const Piece *p = &s->pieces.at[piece];
        for (int k = 0; k < p->known.n; k++)
            if (p->known.at[k].at == d->loc.beg - f->base)
                return &p->known.at[k];
    }
    return NULL;
}

static const char *text_then(void *env, const char *path, size_t *n)
{
    const Session *s = env;
    for (int i = 0; i < s->sources.n; i++)
        if (strcmp(s->sources.at[i].path, path) == 0) {
            *n = s->sources.at[i].n;
            return s->sources.at[i].text;
        }
    return NULL;
}

void session_fix_sources(const Session *s)
{
    source_set_instead(text_then, (void *)s);
}

/* --- Findings ------------------------------------------------------------------------------- */

/* A stream of bytes: numbers as they are in memory, texts behind their lengths, values in the
 * binary form of data. */
static void put_number(FILE *f, uint64_t n)
{
    fwrite(&n, sizeof n, 1, f);
}

static void put_text(FILE *f, const char *text, size_t n)
{
    put_number(f, n);
    fwrite(text, 1, n, f);
}

bool findings_write(FILE *f, const Findings *found)
{
    bool ok = true;
    put_number(f, (uint64_t)found->sources.n);
    for (int i = 0; i < found->sources.n; i++) {
        const Source *s = &found->sources.at[i];
        put_text(f, s->path, strlen(s->path));
        put_text(f, s->text, s->n);
    }
    put_number(f, (uint64_t)found->known.n);
    for (int i = 0; i < found->known.n; i++) {
        put_number(f, found->known.at[i].at);
        put_number(f, (uint64_t)found->known.at[i].n);
    }
    for (int i = 0; i < found->known.n; i++)
        for (int k = 0; k < found->known.at[i].n; k++)
            ok = ok && rt_write_binary(f, &found->known.at[i].leaves[k]);
    return fflush(f) == 0 && !ferror(f) && ok;
}

static bool get_number(FILE *f, uint64_t *n)
{
    return fread(n, sizeof *n, 1, f) == 1;
}

/* A zero byte is put behind it. */
static bool get_text(FILE *f, Arena *a, const char **text, size_t *size)
{
    uint64_t n;
    if (!get_number(f, &n))
        return false;
    char *s = arena_alloc(a, (size_t)n + 1);
    *size = fread(s, 1, (size_t)n, f);
    s[*size] = '\0';
    *text = s;
    return *size == n;
}

static bool get_values(FILE *f, Arena *a, Piece *p)
{
    uint64_t n, at, leaves;
    bool ok = get_number(f, &n);
    for (uint64_t i = 0; ok && i < n; i++) {
        ok = get_number(f, &at) && get_number(f, &leaves);
        if (ok)
            vec_push(a, &p->known,
                     (Known){(uint32_t)at, NEWN(a, rt_hvalue, (int)leaves), (int)leaves});
    }
    rt_reader rd;
    if (!ok || !rt_reader_file(&rd, f, "a value"))
        return false;
    for (int i = 0; i < p->known.n; i++)
        for (int k = 0; ok && k < p->known.at[i].n; k++)
            ok = rt_read_any(&rd, &p->known.at[i].leaves[k]);
    return rt_reader_close(&rd) && ok;
}

static bool get_sources(FILE *f, Session *s)
{
    uint64_t n;
    bool ok = get_number(f, &n);
    for (uint64_t i = 0; ok && i < n; i++) {
        Source src;
        size_t length;
        ok = get_text(f, s->a, &src.path, &length) && get_text(f, s->a, &src.text, &src.n);
        if (ok)
            vec_push(s->a, &s->sources, src);
    }
    return ok;
}

bool session_add(Session *s, const FePiece *text, FILE *found)
{
    Piece p = {.text = *text};
    p.text.name = intern(text->name);
    p.text.text = arena_strndup(s->a, text->text, text->n);
    bool ok = !found || (get_sources(found, s) && get_values(found, s->a, &p));
    if (ok)
        vec_push(s->a, &s->pieces, p);
    return ok;
}
