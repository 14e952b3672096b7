/* Functions that are large scalar code and applied again and again become functions of the IR.
 *
 * Of a definition of the top level, whose arguments are scalars, the first application is inlined
 * as all are. Where that gave much scalar code, the next one makes the function: its body is
 * lowered once more, in a scope of its own, with parameters in the place of arguments, and from
 * then on there are calls. Which it is goes by the definition (parametric modules have one for each
 * application) and the structure of the arguments. Top-level values that it mentions, and that are
 * no literals, are arguments, too: each entry has its own.
 *
 * A function always gives its result: none with an assertion that stays, or anything else that may
 * fail, becomes one. What is known of arguments is lost for what is called: so pass `functions`
 * inlines again whatever does not make the program much larger. Attributes of the definition say
 * otherwise: what is `inline` always is, what is `noinline` is not where it can be a function. */
#include "frontend/lower/lower_int.h"

#include <string.h>

enum {
    LARGE = 40 /* statements, with those inside, before anything is simplified */
};

/* What is known of a definition for one structure of arguments. */
typedef enum {
    SHARED_OPEN,  /* it was not large so far */
    SHARED_LARGE, /* it was: at the next application it is made */
    SHARED_MADE,
    SHARED_NEVER
} SharedState;

/* A leaf of a top-level value. */
typedef struct {
    const Def *def;
    int leaf;
} Capture;

typedef struct Shared Shared;
struct Shared {
    Shared *next; /* of the same definition */
    const char *structure;
    SharedState state;
    const Function *fn;
    VEC(Capture) captures; /* its last parameters */
    Val *result;           /* in terms of: */
    Atoms params, res;     /* leaves of arguments, what the function gives; else constants */
};

/* --- Which applications --------------------------------------------------------------------- */

static bool structure_of(Out *o, const Val *v)
{
    if (v->kind == V_FUN)
        return false;
    if (v->kind == V_ATOM) {
        Type t = atom_type(v->atom);
        out_puts(o, prim_type_text[t.elem]);
        return t.rank == 0;
    }
    bool ok = true;
    out_puts(o, v->sum ? "[" : "(");
    for (int i = 0; i < v->elems.n && ok; i++) {
        out_puts(o, " ");
        ok = structure_of(o, v->elems.at[i]);
    }
    for (int k = 0; v->sum && k < v->sum->holds.n && ok; k++) {
        out_puts(o, " or ");
        ok = structure_of(o, v->sum->holds.at[k]);
        for (int i = 0; i < v->sum->places.at[k].n; i++)
            out_printf(o, " %d", v->sum->places.at[k].at[i]);
    }
    out_puts(o, ")");
    return ok;
}

/* The structure of the arguments as text, NULL if there is more to them than scalars. */
static const char *structure(const Fun *fn, Val **args)
{
    Out o = {0};
    bool ok = fn->arity > 0;
    for (int i = 0; i < fn->arity && ok; i++)
        ok = structure_of(&o, args[i]);
    const char *text = ok && o.text ? intern(o.text) : NULL;
    out_free(&o);
    return text;
}

static bool has(const Fun *fn, const char *attr)
{
    return attr_find(&fn->def->attrs, attr) != NULL;
}

/* What else the code depends on is the same at each application. */
static bool may_share(const Low *L, const Fun *fn)
{
    return !has(fn, "inline") && !fn->env && !fn->def->bind->tparams.n && !L->unsafe &&
           !L->cx->traces && !(L->attrs & ATTR_UNROLL);
}

static Shared *shared_of(Low *L, const Fun *fn, Val **args)
{
    const char *text = may_share(L, fn) ? structure(fn, args) : NULL;
    if (!text)
        return NULL;
    Shared *first = ptrmap_get(L->shared, fn->def), *s = first;
    while (s && s->structure != text)
        s = s->next;
    if (!s) {
        s = NEW(L->cx->perm, Shared);
        *s = (Shared){.next = first, .structure = text};
        s->state = has(fn, "noinline") ? SHARED_LARGE : SHARED_OPEN;
        ptrmap_put(L->shared, fn->def, s);
    }
    return s;
}

/* --- How large ------------------------------------------------------------------------------ */

typedef struct {
    int stms;
    bool scalar; /* nothing else, but perhaps assertions */
    bool total;
} Extent;

static void extent_of(void *env, Body *b);

static void extent_of_stms(Extent *x, const Stm *stms, int n)
{
    ExpVisitor v = {.env = x, .body = extent_of};
    for (int i = 0; i < n && x->scalar; i++) {
        const Exp *e = stms[i].exp;
        bool assert = e->kind == E_ASSERT, code = e->kind == E_IF || e->kind == E_LOOP;
        bool recursion = e->kind == E_CALL && !e->call.fn->lam; /* of a function around */
        x->scalar = (exp_is(e, F_SCALAR) || code || assert) && !recursion &&
                    types_scalar(&stms[i].pat, 0, stms[i].pat.n);
        x->total = x->total && !assert &&
                   (code ? e->kind == E_IF || e->loop.kind == LOOP_FOR : !exp_traps(e));
        x->stms++;
        if (code)
            exp_visit(e, &v);
    }
}

static void extent_of(void *env, Body *b)
{
    extent_of_stms(env, b->stms.at, b->stms.n);
}

/* What an application gave that was inlined: the statements from number n on. */
static void measure(const Low *L, Shared *s, int n)
{
    Extent x = {.scalar = true, .total = true};
    extent_of_stms(&x, L->sc->bld.stms.at + n, L->sc->bld.stms.n - n);
    if (!x.scalar)
        s->state = SHARED_NEVER;
    else if (x.stms >= LARGE)
        s->state = SHARED_LARGE;
}

/* --- Making it ------------------------------------------------------------------------------ */

/* Which leaf of which top-level value the variable is. */
static bool captured(const Low *L, const Var *v, Capture *c)
{
    for (int i = 0; i < L->met.n; i++) {
        Atoms leaves = val_leaves((Low *)(uintptr_t)L, L->consts[L->met.at[i]->bind->uid]);
        for (int k = 0; k < leaves.n; k++)
            if (leaves.at[k].var == v) {
                *c = (Capture){L->met.at[i], k};
                return v->type.rank == 0;
            }
    }
    return false;
}

static int position(const Atoms *as, const Var *v)
{
    for (int i = 0; i < as->n; i++)
        if (as->at[i].var == v)
            return i;
    return -1;
}

/* Arguments with variables in the place of their leaves. */
static Val **params_of(Low *L, Shared *s, const Fun *fn, Val **args, Loc loc)
{
    Val **params = NEWN(L->cx->perm, Val *, fn->arity);
    for (int i = 0; i < fn->arity; i++) {
        Atoms leaves = val_leaves(L, args[i]);
        for (int k = 0; k < leaves.n; k++) {
            const Var *v = leaves.at[k].var;
            Var *p = var_new(L->cx, v ? v->base : L->tmp, atom_type(leaves.at[k]), loc);
            leaves.at[k] = atom_var(p);
            vec_push(L->cx->perm, &s->params, leaves.at[k]);
        }
        params[i] = val_rebuild(L, args[i], &leaves);
    }
    return params;
}

/* The leaves of the result that the function has to compute. */
static void find_results(Low *L, Shared *s)
{
    Atoms leaves = val_leaves(L, s->result);
    for (int i = 0; i < leaves.n; i++) {
        const Var *v = leaves.at[i].var;
        if (v && position(&s->params, v) < 0 && position(&s->res, v) < 0)
            vec_push(L->cx->perm, &s->res, leaves.at[i]);
    }
}

/* The function of what was lowered; false: it cannot be one. */
static bool close_function(Low *L, Shared *s, Scope *sc, const Fun *fn)
{
    find_results(L, s);
    if (s->res.n < 1 || s->res.n > MOST_RESULTS)
        return false;
    Body *b = bld_body(&sc->bld, s->res);
    drop_assertions(L, b);
    Extent x = {.scalar = true, .total = true};
    extent_of(&x, b);
    if (!x.scalar || !x.total)
        return false;
    Lambda *lam = lambda_new(L->cx, (Vars){0}, b);
    for (int i = 0; i < s->params.n; i++)
        vec_push(L->cx->perm, &lam->params, s->params.at[i].var);
    Vars free = free_vars_lambda(L->cx, lam);
    for (int i = 0; i < free.n; i++) {
        Capture c;
        if (!captured(L, free.at[i], &c))
            return false;
        vec_push(L->cx->perm, &s->captures, c);
        vec_push(L->cx->perm, &lam->params, free.at[i]);
    }
    const char *name = fn->def->name;
    bool operator= strchr("+-*/%=!><|&^", name[0]) != NULL;
    name = function_name(L->cx, operator? "op" : name, ++*L->n_functions);
    /* What stands for top-level values is bound in the entry, too. */
    s->fn = function_new(L->cx, name, fn->def->loc, has(fn, "noinline"), rename_lambda(L->cx, lam));
    return true;
}

/* Nothing of where it is applied is known inside. */
static void make(Low *L, Shared *s, const Fun *fn, Val **args, Loc loc, CallFn *inlined)
{
    Scope *around = L->sc;
    unsigned attrs = L->attrs;
    L->sc = NULL;
    L->attrs = 0;
    Scope *sc = scope_push(L);
    Val **params = params_of(L, s, fn, args, loc);
    s->result = inlined(L, fn, params, loc);
    scope_pop(L, sc);
    L->sc = around;
    L->attrs = attrs;
    bool made = !val_has_fun(s->result) && close_function(L, s, sc, fn);
    s->state = made ? SHARED_MADE : SHARED_NEVER;
}

/* --- Calling it ----------------------------------------------------------------------------- */

static Val *call_made(Low *L, const Shared *s, const Fun *fn, Val **args, Loc loc)
{
    Atoms given = {0}, leaves = val_leaves(L, s->result);
    for (int i = 0; i < fn->arity; i++) {
        Atoms as = val_leaves(L, args[i]);
        vec_append(L->cx->perm, &given, &as);
    }
    Atoms all = {0};
    vec_append(L->cx->perm, &all, &given);
    for (int i = 0; i < s->captures.n; i++) {
        Capture c = s->captures.at[i];
        Atoms as = val_leaves(L, lower_global(L, c.def->bind, NULL, NULL, loc));
        vec_push(L->cx->perm, &all, as.at[c.leaf]);
    }
    Atoms res = emit_all(L, L->tmp, exp_call(L->cx, loc, s->fn, all));
    for (int i = 0; i < leaves.n; i++) {
        const Var *v = leaves.at[i].var;
        int param = v ? position(&s->params, v) : -1;
        if (v)
            leaves.at[i] = param >= 0 ? given.at[param] : res.at[position(&s->res, v)];
    }
    return val_rebuild(L, s->result, &leaves);
}

Val *call_shared(Low *L, const Fun *fn, Val **args, Loc loc, CallFn *inlined)
{
    Shared *s = shared_of(L, fn, args);
    if (s && s->state == SHARED_LARGE)
        make(L, s, fn, args, loc, inlined);
    if (s && s->state == SHARED_MADE)
        return call_made(L, s, fn, args, loc);
    const Scope *sc = L->sc;
    int n = sc->bld.stms.n;
    Val *v = inlined(L, fn, args, loc);
    ASSERT(L->sc == sc);
    if (s && s->state == SHARED_OPEN && sc != L->root)
        measure(L, s, n);
    return v;
}
