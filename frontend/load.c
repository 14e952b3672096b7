/* Files: parsing, imports. */
#include "frontend/frontend.h"

#include "base/intern.h"
#include "command/source.h"
#include "frontend/syntax/concrete.h"
#include "frontend/syntax/import_path.h"

enum { LOADING = 1, LOADED };

static void load_imports(Ast *ast, File *f, bool *ok);

/* With `concrete`, what is written is kept there; else imports are loaded. */
static File *parse_file(Ast *ast, const char *path, const char *text, size_t n, Concrete *concrete,
                        bool *ok)
{
    File *f = NEW(ast->arena, File);
    f->path = intern(path);
    f->real = import_real(path);
    f->state = LOADING;
    vec_push(ast->arena, &ast->files, f);
    ParseCtx ctx = {.a = ast->arena, .text = text, .n = n, .file = f, .concrete = concrete};
    if (n > MAX_SOURCE) {
        diag_error(((Loc){0, 0}), "%s: too large for a program", path);
        *ok = false;
        return f;
    }
    ctx.base = diag_source_add(path, text, n);
    f->text = text;
    f->n = n;
    f->base = ctx.base;
    f->parsed = parse_text(&ctx, false);
    if (!f->parsed)
        *ok = false;
    if (!concrete)
        load_imports(ast, f, ok);
    diag_source_done(f->base);
    f->state = LOADED;
    return f;
}

static File *find_file(const Ast *ast, const char *real)
{
    for (int i = 0; i < ast->files.n; i++)
        if (ast->files.at[i]->real == real)
            return ast->files.at[i];
    return NULL;
}

static void load_import(Ast *ast, File *from, Import *d, bool *ok)
{
    const char *path = import_find(ast->arena, ast->files.at[0]->path, from->path, d->path, d->loc);
    if (!path) {
        *ok = false;
        return;
    }
    d->file = find_file(ast, import_real(path));
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
    char *text = source_read(ast->arena, path, false, d->loc, &n);
    if (!text) {
        *ok = false;
        return;
    }
    d->file = parse_file(ast, path, text, n, NULL, ok);
}

static void load_imports(Ast *ast, File *f, bool *ok)
{
    for (int i = 0; i < f->imports.n; i++)
        if (f->imports.at[i]->path)
            load_import(ast, f, f->imports.at[i], ok);
}

Ast *fe_parse(Arena *a, const char *name, const char *text, size_t n)
{
    Ast *ast = NEW(a, Ast);
    bool ok = true;
    ast->arena = a;
    ast->main = parse_file(ast, name, text, n, NULL, &ok);
    ast->syntax_ok = ok;
    return ast;
}

File *fe_parse_besides(Ast *ast, const char *path)
{
    bool ok = true;
    size_t n;
    File *f = find_file(ast, import_real(path));
    char *text = f ? NULL : source_read(ast->arena, path, false, NO_LOC, &n);
    return f ? f : text ? parse_file(ast, path, text, n, NULL, &ok) : NULL;
}

Ast *fe_parse_concrete(Arena *a, const char *name, const char *text, size_t n, Concrete **concrete)
{
    Ast *ast = NEW(a, Ast);
    ast->arena = a;
    ast->syntax_ok = true;
    *concrete = NEW(a, Concrete);
    ast->main = parse_file(ast, name, text, n, *concrete, &ast->syntax_ok);
    return ast->syntax_ok ? ast : NULL;
}

Ast *fe_load(Arena *a, const char *path)
{
    size_t n;
    char *text = source_read(a, path, true, (Loc){0, 0}, &n);
    return text ? fe_parse(a, path, text, n) : NULL;
}
