/* Lowering of whole programs: their entry points. */
#include "frontend/lower/lower_int.h"

#include "base/stage.h"

/* --- Results -------------------------------------------------------------------------------- */

/* The parameter that a pattern binds directly; NULL if it takes the value apart. */
static const Binding *pat_binding(const Pat *p)
{
    while (p->kind == P_ASCRIBE)
        p = p->pat;
    return p->kind == P_VAR ? p->bind : NULL;
}

/* Whether the type names a size: where none is, the one who made the program leaves them to what
 * makes the result. */
static bool says_sizes(const TypeExp *te)
{
    bool says = te->dim || (te->elem && says_sizes(te->elem));
    for (int i = 0; i < te->args.n; i++)
        says |= says_sizes(te->args.at[i]);
    return says;
}

/* Parameters that are sizes of the result cannot be negative: asserted at the end, where nothing
 * before has, so that what is said is what happened first. */
static void check_result_sizes(Low *L, const Def *def, const Vals *args, const AType *at)
{
    at = type_deref(at);
    for (int i = 0; type_is_composite(at) && i < at->elems.n; i++)
        check_result_sizes(L, def, args, at->elems.at[i]);
    if (at->kind != TY_ARRAY)
        return;
    const Size *s = size_deref(at->array.dim);
    for (int i = 0; s->kind == SZ_VAR && i < def->params.n && i < args->n; i++)
        if (pat_binding(def->params.at[i]) == s->var && args->at[i]->kind == V_ATOM)
            count_arg(L, def->params.at[i]->loc, args->at[i]->atom);
    check_result_sizes(L, def, args, at->array.elem);
}

/* --- Entries -------------------------------------------------------------------------------- */

static const char *signature(Low *L, const Def *def)
{
    Out head = {0};
    fe_print_interface(&head, def);
    return out_keep(&head, L->cx->perm);
}

/* The argument of #[prop(name(argument))], or NULL. */
static const Attr *prop_argument(const Def *def, const char *name)
{
    const Attr *prop = attr_find(&def->attrs, "prop"),
               *a = prop ? attr_find(&prop->args, name) : NULL;
    return a && a->args.n == 1 ? a->args.at[0] : NULL;
}

static void set_property(Entry *en, const Def *def)
{
    const Attr *gen = prop_argument(def, "gen"), *shrink = prop_argument(def, "shrink");
    const Attr *size = prop_argument(def, "size");
    en->generator = gen ? gen->name : NULL;
    en->shrinker = shrink ? shrink->name : NULL;
    en->size = size && !size->name ? size->number : 0;
}

static Entry lower_entry(Low *L, const EntryPoint *p)
{
    const Def *def = p->def;
    Entry en = {.name = p->name, .doc = def->doc, .signature = signature(L, def), .loc = def->loc};
    set_property(&en, def);
    L->entry = &en;
    L->user_params = &en.user_params;
    L->root = scope_push(L);
    Vals args = entry_params(L, p->params.at, p->params.n);
    Val *v = lower_global(L, def->bind, NULL, NULL, def->loc);
    if (args.n)
        v = apply(L, v, &args, def->loc);
    if (!def->ret || says_sizes(def->ret))
        check_result_sizes(L, def, &args, def->ret_type ? def->ret_type : p->result);
    if (val_has_fun(v))
        ice(def->loc, "lowering: an entry point returns a function");
    scope_pop(L, L->root);
    Atoms res = {0};
    ext_leaves(L, p->result, v, &res);
    en.body = bld_body(&L->root->bld, res);
    int n_vals = 0;
    for (int i = 0; i < p->results.n; i++) {
        ExtParam x = ext_param(L, &p->results.at[i]);
        vec_push(L->cx->perm, &en.ext_results, x);
        n_vals += x.type.n_vals;
    }
    ASSERT(n_vals == en.body->res.n);
    drop_assertions(L, en.body);
    ir_copy_needed(L->cx, &en);
    return en;
}

/* --- Programs ------------------------------------------------------------------------------- */

Prog *fe_lower_given(Ctx *cx, const Ast *ast, const FeGiven *given)
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
                 .given = given,
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

Prog *fe_lower(Ctx *cx, const Ast *ast)
{
    return fe_lower_given(cx, ast, NULL);
}

void fe_limits(Ast *ast)
{
    if (!ast->recursive)
        return;
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    int entries = ast->entries.n;
    fe_add_recursive(ast);
    fe_lower(&cx, ast);
    ast->entries.n = entries;
    arena_free(cx.scratch);
    arena_free(cx.perm);
}
