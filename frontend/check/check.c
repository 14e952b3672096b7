/* The checker's entry: the prelude, the program, its entry points. */
#include "frontend/check/module.h"

#include "base/intern.h"
#include "base/stage.h"
#include "frontend/syntax/parse.h"

#include <string.h>

/* Whether the program, or who edits it, may mention types of modules. */
static bool has_modules(const Ast *ast)
{
    bool found = ast->uses != NULL;
    for (int i = 0; i < ast->files.n && !found; i++)
        for (int k = 0; k < ast->files.at[i]->decls.n && !found; k++) {
            const Decl *d = &ast->files.at[i]->decls.at[k];
            found = d->mod || d->modtype;
        }
    return found;
}

static void parse_prelude(Ck *ck, File *f, const char *text)
{
    File part = {0};
    size_t n = strlen(text);
    ParseCtx ctx = {.a = ck->a, .text = text, .n = n, .file = &part};
    ctx.base = diag_source_add(f->path, text, n);
    if (!parse_text(&ctx, PARSE_FILE))
        ice(((Loc){0, 0}), "the prelude does not parse");
    vec_append(ck->a, &f->decls, &part.decls);
    if (!f->text) {
        f->text = text;
        f->n = n;
        f->base = ctx.base;
    }
}

static void check_prelude(Ck *ck)
{
    File *f = NEW(ck->a, File);
    f->path = intern("<prelude>"); /* as no file is called: see fun_site */
    parse_prelude(ck, f, prelude_text);
    if (has_modules(ck->ast))
        parse_prelude(ck, f, prelude_modtypes);
    ck->prelude = ck->ast->prelude = f;
    file_module(ck, f);
}

bool fe_check(Ast *ast)
{
    return ast->syntax_ok && fe_check_parsed(ast);
}

/* What is done when all declarations have been checked. */
static void finish(Ck *ck)
{
    Ast *ast = ck->ast;
    for (int i = 0; ck->abstract && i < ast->defs.n; i++)
        reveal_def(ck, ast->defs.at[i]);
    check_entries(ck);
    ast->n_bindings = ck->n_bindings;
    if (ast->uses)
        ast->said = diag_pending(ast->arena);
    if (diag_is_full() || diag_has_dropped() || ck->abstract)
        ck->marks.n = 0; /* other messages would be dropped; trees are not what they were then */
}

bool fe_check_parsed(Ast *ast)
{
    stage_enter("check");
    int errors = diag_errors();
    ast->said_parsed = diag_count();
    Ck *ck = NEW(ast->arena, Ck);
    *ck = (Ck){.a = ast->arena, .ast = ast, .exp = infer_exp, .apply = module_apply};
    ast->checker = ck;
    acc_type(ck); /* of the outermost scope */
    check_prelude(ck);
    if (diag_errors() > errors) {
        diag_flush();
        ice(((Loc){0, 0}), "the prelude does not check");
    }
    file_module(ck, ast->main);
    finish(ck);
    return diag_errors() == errors;
}

/* --- Other texts of a program --------------------------------------------------------------- */

int fe_checked_alone(const Ast *ast)
{
    const Ck *ck = ast->checker;
    int n = ck ? ck->marks.n - 1 : -1;
    while (n >= 0 && ck->marks.at[n]->ck.below)
        n--;
    return n;
}

/* The checker as it was before a declaration, but for counters that make things different. */
static void go_back(Ck *ck, const CkMark *m)
{
    Ck now = *ck;
    *ck = m->ck;
    ck->names = now.names;
    names_back(ck, m->ck.names.n, m->ck.seq);
    ck->marks = now.marks;
    ck->marks.n = m->ck.marks.n;
    ck->ids = now.ids;
    ck->n_bindings = now.n_bindings;
    ck->zonk_round = now.zonk_round;
    ck->builtins = now.builtins;
    ck->n_old_bindings = now.n_old_bindings;
}

/* What was found out about the declarations that stay. */
static void keep_found(Ast *ast, const Ast *from, const CkMark *m)
{
    const Loc *gone = &ast->gone;
    ast->prelude = from->prelude;
    ast->defs = from->defs;
    ast->defs.n = m->defs;
    ast->matches = from->matches;
    ast->matches.n = m->matches;
    for (int i = 0; i < ast->defs.n; i++)
        ast->recursive |= ast->defs.at[i]->recursive;
    for (int i = 0; i < from->uses->n; i++)
        if (from->uses->at[i].loc.beg < gone->beg || from->uses->at[i].loc.beg > gone->end)
            vec_push(ast->arena, ast->uses, from->uses->at[i]);
    ast->said_parsed = diag_count();
    diag_again(from->said.at + from->said_parsed, m->messages - from->said_parsed);
}

bool fe_check_again(Ast *ast)
{
    Ast *from = ast->before;
    Ck *ck = from->checker;
    const CkMark *m = ck->marks.at[ast->kept];
    File *f = from->main; /* scopes know where names are by the file */
    Module *module = f->module;
    stage_enter("check");
    from->checker = NULL; /* it goes on here */
    go_back(ck, m);
    *f = *ast->main;
    f->module = module;
    module->members.n = m->members;
    module->wrong = m->wrong;
    ast->main = ast->files.at[0] = f;
    ast->checker = ck;
    ck->ast = ast;
    keep_found(ast, from, m);
    int errors = diag_errors();
    file_module_from(ck, f, ast->kept);
    finish(ck);
    return diag_errors() == errors;
}

void fe_check_besides(Ast *ast, File *f)
{
    Ck *ck = ast->checker;
    int had = ast->defs.n;
    stage_enter("check");
    file_module(ck, f);
    for (int i = had; ck->abstract && i < ast->defs.n; i++)
        reveal_def(ck, ast->defs.at[i]);
    ast->n_bindings = ck->n_bindings;
}
