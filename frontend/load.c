/* Files: reading, parsing, imports. */
#include "frontend/frontend.h"

#include "base/intern.h"
#include "frontend/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOADING = 1, LOADED };
enum { MAX_PROGRAM = 1 << 28 }; /* bytes of a file: positions are 32-bit offsets into all of them */

/* Why a file that is no program is not read: NULL if it may be one. The program itself may come
 * through a pipe; from a device it would never end. */
static const char *no_program(const char *path, bool import)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return strerror(errno);
    if (S_ISDIR(st.st_mode))
        return strerror(EISDIR);
    bool pipe = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
    return S_ISREG(st.st_mode) || (pipe && !import) ? NULL : "it is no regular file";
}

/* The text of a file, NULL and errno if it cannot be read. */
static char *read_file(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t cap = 1 << 16, len = 0;
    char *text = malloc(cap);
    while (text) {
        len += fread(text + len, 1, cap - len, f);
        if (len < cap || len > MAX_PROGRAM)
            break;
        char *more = realloc(text, cap *= 2);
        if (!more)
            free(text);
        text = more;
    }
    int err = ferror(f)            ? (errno ? errno : EIO)
              : !text              ? ENOMEM
              : len > MAX_PROGRAM  ? EFBIG
                                   : 0;
    fclose(f);
    if (err) {
        free(text);
        errno = err;
        return NULL;
    }
    char *kept = arena_strndup(a, text, len);
    free(text);
    *n = len;
    return kept;
}

/* As read_file; reports at loc. */
static char *read_program(Arena *a, const char *path, bool import, Loc loc, size_t *n)
{
    const char *wrong = no_program(path, import);
    char *text = wrong ? NULL : read_file(a, path, n);
    if (!text)
        diag_error(loc, "cannot read `%s`: %s", path, wrong ? wrong : strerror(errno));
    return text;
}

static void load_imports(Ast *ast, File *f, bool *ok);

static File *parse_file(Ast *ast, const char *path, const char *text, size_t n, bool *ok)
{
    File *f = NEW(ast->arena, File);
    f->path = intern(path);
    f->state = LOADING;
    vec_push(ast->arena, &ast->files, f);
    ParseCtx ctx = {.a = ast->arena, .text = text, .n = n, .file = f};
    if (n > MAX_PROGRAM) {
        diag_error(((Loc){0, 0}), "%s: too large for a program", path);
        *ok = false;
        return f;
    }
    ctx.base = diag_source_add(path, text, n);
    if (!parse_text(&ctx, false))
        *ok = false;
    load_imports(ast, f, ok);
    f->state = LOADED;
    return f;
}

/* The path that an import means: relative to the folder of the file it stands in, `.sf` added. */
static const char *import_path(Arena *a, const char *from, const char *path)
{
    const char *slash = strrchr(from, '/');
    size_t n = strlen(path);
    const char *ext = n > 3 && !strcmp(path + n - 3, ".sf") ? "" : ".sf";
    int dir = slash && *path != '/' ? (int)(slash - from + 1) : 0;
    char *s = arena_printf(a, "%.*s%s%s", dir, from, path, ext);
    char *to = s; /* ./ is nothing, so that one file has one name */
    for (char *p = s; *p;) {
        if ((p == s || p[-1] == '/') && p[0] == '.' && p[1] == '/' && (p != s || *path == '.'))
            p += 2;
        else
            *to++ = *p++;
    }
    *to = 0;
    return intern(s);
}

static File *find_file(const Ast *ast, const char *path)
{
    for (int i = 0; i < ast->files.n; i++)
        if (ast->files.at[i]->path == path)
            return ast->files.at[i];
    return NULL;
}

static void load_import(Ast *ast, File *from, Decl *d, bool *ok)
{
    const char *path = import_path(ast->arena, from->path, d->path);
    d->file = find_file(ast, path);
    if (d->file && d->file->state == LOADING) {
        diag_error(d->loc, "import cycle: `%s` imports itself%s", path,
                   d->file == from ? "" : " through this file");
        d->file = NULL;
        *ok = false;
        return;
    }
    if (d->file)
        return;
    size_t n;
    char *text = read_program(ast->arena, path, true, d->loc, &n);
    if (!text) {
        *ok = false;
        return;
    }
    d->file = parse_file(ast, path, text, n, ok);
}

static void load_imports(Ast *ast, File *f, bool *ok)
{
    for (int i = 0; i < f->decls.n; i++)
        if (f->decls.at[i].kind == D_IMPORT)
            load_import(ast, f, &f->decls.at[i], ok);
}

Ast *fe_parse(Arena *a, const char *name, const char *text, size_t n)
{
    Ast *ast = NEW(a, Ast);
    bool ok = true;
    ast->arena = a;
    ast->main = parse_file(ast, name, text, n, &ok);
    ast->syntax_ok = ok;
    return ast;
}

Ast *fe_load(Arena *a, const char *path)
{
    size_t n;
    char *text = read_program(a, path, false, (Loc){0, 0}, &n);
    return text ? fe_parse(a, path, text, n) : NULL;
}
