/* Lowering of whole programs. */
#include "frontend/lower/lower_int.h"

#include "base/stage.h"

Prog *fe_lower(Ctx *cx, const Ast *ast)
{
    stage_enter("lower");
    int errors = diag_errors();
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = D_SOAC;
    Val **consts = NEWN(cx->perm, Val *, ast->n_bindings + 1);
    ExtNames ext_names = {0};
    PtrMap *shared = ptrmap_new(cx->perm);
    int n_functions = 0;
    Low names = {.cx = cx, .ast = ast, .ext_names = &ext_names};
    for (int i = 0; i < ast->entries.n; i++)
        ext_collect_names(&names, &ast->entries.at[i]);
    for (int i = 0; i < ast->entries.n; i++) {
        Low L = {.cx = cx,
                 .ast = ast,
                 .ext_names = &ext_names,
                 .tmp = intern("t"),
                 .consts = consts,
                 .shared = shared,
                 .n_functions = &n_functions,
                 .exp = eval_exp,
                 .apply = apply_fun};
        if (!setjmp(L.abandon))
            vec_push(cx->perm, &p->entries, lower_entry(&L, &ast->entries.at[i]));
        for (int k = 0; k < L.met.n; k++)
            consts[L.met.at[k]->bind->uid] = NULL;
    }
    return diag_errors() > errors ? NULL : p;
}
