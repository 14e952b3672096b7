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

bool fe_check_parsed(Ast *ast)
{
    stage_enter("check");
    int errors = diag_errors();
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
    for (int i = 0; ck->abstract && i < ast->defs.n; i++)
        reveal_def(ck, ast->defs.at[i]);
    check_entries(ck);
    ast->n_bindings = ck->n_bindings;
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
