/* Files and the texts of sessions: parsing, imports. */
#include "frontend/frontend.h"

#include "base/intern.h"
#include "command/source.h"
#include "frontend/syntax/concrete.h"
#include "frontend/syntax/import_path.h"

enum { LOADING = 1, LOADED };

static void load_imports(Ast *ast, File *f, bool *ok);

/* The definition of a value that is all that a file has: its name is none that it can mention. */
static void define_value(ParseCtx *ctx)
{
    AExp *e = ctx->exp;
    NameLoc name = {intern("(expression)"), e->loc};
    Def *d = mk_def(ctx, name, (TParams){0}, (Pats){0}, NULL, e, e->loc);
    vec_push(ctx->a, &ctx->file->decls, *mk_def_decl(ctx, d));
}

/* With `concrete`, what is written is kept there; else imports are loaded. */
static File *parse_file(Ast *ast, const FePiece *p, Concrete *concrete, bool *ok)
{
    File *f = NEW(ast->arena, File);
    f->path = intern(p->name);
    f->real = import_real(p->name);
    f->state = LOADING;
    vec_push(ast->arena, &ast->files, f);
    ParseCtx ctx = {.a = ast->arena, .text = p->text, .n = p->n, .file = f, .concrete = concrete};
    if (p->n > MAX_SOURCE) {
        diag_error(((Loc){0, 0}), "%s: too large for a program", p->name);
        *ok = false;
        return f;
    }
    ctx.base = diag_source_add(p->name, p->text, p->n);
    f->text = p->text;
    f->n = p->n;
    f->base = ctx.base;
    f->parsed = parse_text(&ctx, p->exp ? PARSE_EXP : PARSE_FILE);
    f->unfinished = ctx.unfinished;
    f->exp = p->exp;
    if (!f->parsed)
        *ok = false;
    else if (p->exp)
        define_value(&ctx);
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
    d->file = parse_file(ast, &(FePiece){.name = path, .text = text, .n = n}, NULL, ok);
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
    ast->main = parse_file(ast, &(FePiece){.name = name, .text = text, .n = n}, NULL, &ok);
    ast->syntax_ok = ok;
    ast->loaded = ast->files.n;
    return ast;
}

/* --- Other texts of a program --------------------------------------------------------------- */

/* Where what follows a declaration begins, in a line of its own; 0: it does not. */
static size_t line_behind(const File *f, const Decl *d)
{
    size_t at = d->loc.end - f->base;
    while (at < f->n && (f->text[at] == ' ' || f->text[at] == '\t'))
        at++;
    return at < f->n && f->text[at] == '\n' ? at + 1 : 0;
}

/* How many declarations stay if the text is the same up to there, and where what follows them
 * begins: with the keyword of another one. Behind the last one anything may come, also what
 * continues it. */
static int kept_decls(const Ast *ast, size_t same, size_t *from)
{
    enum { KEYWORD = 8 }; /* the longest, and what ends it */
    const File *f = ast->main;
    int n = fe_checked_alone(ast);
    if (n == f->decls.n)
        n--;
    for (; n > 0; n--) {
        const Decl *next = &f->decls.at[n];
        size_t begins = next->loc.beg - f->base;
        *from = line_behind(f, next - 1);
        if (*from && *from <= begins && begins + KEYWORD <= same)
            return n;
    }
    *from = 0;
    return 0;
}

/* The messages of the parser about what stays. */
static void say_again(const Ast *before, Loc gone)
{
    bool stays = true;
    diag_forget();
    for (int i = 0; i < before->said_parsed; i++) {
        const DiagMessage *m = &before->said.at[i];
        if (m->kind != DIAG_NOTE)
            stays = m->loc.beg < gone.beg || m->loc.beg > gone.end;
        if (stays)
            diag_again(m, 1);
    }
}

Ast *fe_parse_again(Ast *before, const char *text, size_t n)
{
    const File *was = before->main;
    size_t same = 0, from;
    while (same < n && same < was->n && text[same] == was->text[same])
        same++;
    int kept = before->syntax_ok && !was->exp && !was->bare ? kept_decls(before, same, &from) : -1;
    for (int i = 0; kept >= 0 && i < was->imports.n; i++) /* they have read files */
        if (was->imports.at[i]->loc.end > was->base + from)
            kept = -1;
    if (kept < 0 || !diag_source_change(was->base, text, n))
        return NULL;
    Ast *ast = NEW(before->arena, Ast);
    *ast = (Ast){.arena = before->arena, .before = before, .kept = kept, .syntax_ok = true};
    ast->gone = (Loc){was->base + (uint32_t)from, was->base + (uint32_t)was->n};
    File *f = ast->main = arena_memdup(ast->arena, was, sizeof *was);
    f->text = text;
    f->n = n;
    f->decls = (Decls){was->decls.at, kept, kept}; /* what follows comes to another place */
    f->imports.cap = f->imports.n;
    vec_append(ast->arena, &ast->files, &before->files);
    ast->files.at[0] = f;
    ast->files.n = ast->loaded = before->loaded;
    say_again(before, ast->gone);
    ParseCtx ctx = {.a = ast->arena,
                    .text = text + from,
                    .n = n - from,
                    .file = f,
                    .base = f->base + (uint32_t)from};
    f->parsed = ast->syntax_ok = parse_text(&ctx, PARSE_FILE);
    f->unfinished = ctx.unfinished;
    f->state = LOADING;
    load_imports(ast, f, &ast->syntax_ok);
    f->state = LOADED;
    ast->loaded = ast->files.n;
    return ast;
}

File *fe_parse_besides(Ast *ast, const char *path)
{
    bool ok = true;
    size_t n;
    File *f = find_file(ast, import_real(path));
    char *text = f ? NULL : source_read(ast->arena, path, false, NO_LOC, &n);
    if (!f && text)
        f = parse_file(ast, &(FePiece){.name = path, .text = text, .n = n}, NULL, &ok);
    return f;
}

Ast *fe_parse_concrete(Arena *a, const char *name, const char *text, size_t n, Concrete **concrete)
{
    Ast *ast = NEW(a, Ast);
    *concrete = NEW(a, Concrete);
    ast->arena = a;
    ast->syntax_ok = true;
    ast->main =
        parse_file(ast, &(FePiece){.name = name, .text = text, .n = n}, *concrete, &ast->syntax_ok);
    return ast->syntax_ok ? ast : NULL;
}

Ast *fe_load(Arena *a, const char *path)
{
    size_t n;
    char *text = source_read(a, path, true, (Loc){0, 0}, &n);
    return text ? fe_parse(a, path, text, n) : NULL;
}

/* --- Sessions ------------------------------------------------------------------------------- */

/* Makes the names of one file known at the beginning of the next. */
static void follow(Arena *a, File *f, File *before)
{
    Decls all = {0};
    Import *import = NEW(a, Import);
    *import = (Import){.path = before->path, .file = before};
    vec_push(a, &all, (Decl){.kind = D_IMPORT, .import = import});
    vec_append(a, &all, &f->decls);
    f->decls = all;
}

Ast *fe_parse_session(Arena *a, const FePiece *pieces, int n)
{
    Ast *ast = NEW(a, Ast);
    ast->arena = a;
    ast->syntax_ok = true;
    for (int i = 0; i < n; i++) {
        if (i == n - 1)
            diag_told();
        File *f = parse_file(ast, &pieces[i], NULL, &ast->syntax_ok);
        f->bare = true;
        if (i)
            follow(a, f, ast->main);
        ast->main = f;
    }
    return ast;
}

/* How far it was read without an error: the place of the first one. */
static void take_first(void *env, const DiagMessage *m, const DiagMessage *notes, int n_notes)
{
    uint32_t *first = env;
    (void)notes;
    (void)n_notes;
    *first = m->loc.beg < *first ? m->loc.beg : *first;
}

/* The text read as an expression or as declarations: where it stops being that. */
static const File *read_as(Arena *a, FePiece p, bool exp, uint32_t *far)
{
    p.exp = exp;
    Ast *ast = NEW(a, Ast);
    Concrete *no_imports = NEW(a, Concrete);
    bool ok = true;
    no_imports->flat = true;
    ast->arena = a;
    const File *f = parse_file(ast, &p, no_imports, &ok);
    *far = UINT32_MAX;
    diag_take(take_first, far);
    *far -= f->base;
    diag_reset(); /* it was only tried */
    return f;
}

FeReading fe_reading(Arena *a, const char *name, const char *text, size_t n)
{
    FePiece p = {.name = name, .text = text, .n = n};
    uint32_t decls_far, exp_far;
    diag_reset();
    const File *decls = read_as(a, p, false, &decls_far);
    if (decls->parsed)
        return decls->decls.n ? FE_DECLS : FE_NOTHING;
    const File *exp = read_as(a, p, true, &exp_far);
    if (exp->parsed)
        return FE_EXP;
    p.exp = exp_far >= decls_far;
    fe_parse_session(a, &p, 1);
    return decls->unfinished || exp->unfinished ? FE_UNFINISHED : FE_WRONG;
}
