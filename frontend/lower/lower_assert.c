/* Assertions of the program. As in Futhark, one whose value nobody uses is dropped, wherever the
 * functions are in which it is written: a value that is asserted has names of its own (its leaves:
 * guarded), and when an entry is lowered, a walk from its results back finds which of these are
 * used. That is decided here, once, before any pass, so that the interpreter and compiled programs
 * agree; and nothing may be taken to be known because of an assertion before. */
#include "frontend/lower/lower_int.h"

#include <string.h>

static Exp *assertion_of(Low *L, const AExp *e, Atom ok)
{
    Out o = {0}, text = {0};
    fe_print_argument(&text, e->assertion.test);
    out_puts(&o, stop_text[STOP_ASSERTION]);
    for (const char *p = text.text ? text.text : ""; *p;
         p++) { /* on one line: the place is on the next one */
        out_putn(&o, *p == '\n' ? " " : p, 1);
        if (*p == '%')
            out_putn(&o, p, 1);
        if (*p == '\n')
            p += strspn(p + 1, " ");
    }
    Exp *a = exp_new(L->cx, E_ASSERT, low_loc(L, e->loc));
    a->assertion.cond = ok;
    a->assertion.msg = intern(o.text);
    out_free(&o);
    out_free(&text);
    return a;
}

/* v under names of its own; a function has none, so that its assertion stays. */
static Val *guarded(Low *L, Val *v, Exp *assertion)
{
    if (val_has_fun(v))
        return v;
    if (!L->guards) {
        L->guards = varmap_new(L->cx->perm);
        L->droppable = ptrmap_new(L->cx->perm);
    }
    ptrset_add(L->droppable, assertion);
    Atoms leaves = val_leaves(L, v);
    for (int i = 0; i < leaves.n; i++) {
        leaves.at[i] = emit(L, exp_atom(L->cx, assertion->loc, leaves.at[i]));
        varmap_put(L->guards, leaves.at[i].var, assertion);
    }
    return val_rebuild(L, v, &leaves);
}

Val *lower_assert(Low *L, Env *env, const AExp *e)
{
    if (L->unsafe)
        return lower_exp(L, env, e->assertion.e);
    Atom ok = val_scalar(lower_exp(L, env, e->assertion.test), e->loc);
    if (!ok.var && ok.c.i)
        return lower_exp(L, env, e->assertion.e);
    Exp *assertion = assertion_of(L, e, ok);
    emit_none(L, assertion);
    return guarded(L, lower_exp(L, env, e->assertion.e), assertion);
}

/* --- Which are used ------------------------------------------------------------------------- */

typedef struct {
    Low *L;
    VarSet *used;
    PtrSet *kept; /* assertions whose value is used */
    bool stays;   /* an assertion stays in a body walked through by walk_whole */
} Walk;

static void use_atom(void *env, Atom a)
{
    Walk *w = env;
    if (!a.var || varset_has(w->used, a.var))
        return;
    varset_add(w->used, a.var);
    Exp *assertion = varmap_get(w->L->guards, a.var);
    if (assertion)
        ptrset_add(w->kept, assertion);
    for (int d = 0; d < a.var->type.rank; d++)
        use_atom(w, a.var->type.dims[d]);
}

static bool walk_body(Walk *w, Body *b, const bool *used);

static void walk_whole(void *env, Body *b)
{
    Walk *w = env;
    w->stays |= walk_body(w, b, NULL);
}

static void walk_lambda(void *env, Lambda *l)
{
    walk_whole(env, l->body);
}

static bool is_assertion(const Exp *e)
{
    return e->kind == E_ASSERT;
}

/* Goes through the code inside of e, of whose results these are used; whether an assertion stays
 * there. */
static bool walk_inside(Walk *w, Exp *e, const bool *used, bool any)
{
    if (e->kind == E_IF)
        return walk_body(w, e->branch.then_, used) | walk_body(w, e->branch.else_, used);
    if (e->kind == E_MAP)
        return walk_body(w, e->soac.fn->body, used);
    if (!any && !exp_any(e, is_assertion))
        return false;
    bool outer = w->stays;
    w->stays = false;
    ExpVisitor v = {.env = w, .body = walk_whole, .lambda = walk_lambda};
    exp_visit(e, &v);
    bool stays = w->stays;
    w->stays = outer;
    return stays;
}

/* Of the arrays of a map those whose elements are used. */
static void use_operands(Walk *w, Exp *e)
{
    if (e->kind == E_MAP) {
        use_atom(w, e->soac.width);
        for (int i = 0; i < e->soac.arrs.n; i++)
            if (varset_has(w->used, e->soac.fn->params.at[i]))
                use_atom(w, e->soac.arrs.at[i]);
        return;
    }
    ExpVisitor v = {.env = w, .atom = use_atom};
    exp_visit(e, &v);
}

/* Whether an assertion stays in the statement. */
static bool walk_stm(Walk *w, const Stm *s)
{
    bool *used = NEWN(w->L->cx->perm, bool, s->pat.n + 1), any = false;
    for (int i = 0; i < s->pat.n; i++)
        any |= used[i] = varset_has(w->used, s->pat.at[i]);
    bool stays = s->exp->kind == E_ASSERT;
    if (exp_is(s->exp, F_CODE))
        stays = walk_inside(w, s->exp, used, any);
    if (any || stays)
        use_operands(w, s->exp);
    return stays;
}

static bool is_dropped(const Walk *w, const Exp *e)
{
    return e->kind == E_ASSERT && ptrset_has(w->L->droppable, e) && !ptrset_has(w->kept, e);
}

/* From the results that are used (NULL: all) back: what they are made of; takes assertions out that
 * are not needed. */
static bool walk_body(Walk *w, Body *b, const bool *used)
{
    Stms kept = {0};
    bool stays = false;
    for (int i = 0; i < b->res.n; i++)
        if (!used || used[i])
            use_atom(w, b->res.at[i]);
    for (int i = b->stms.n - 1; i >= 0; i--) {
        if (is_dropped(w, b->stms.at[i].exp))
            continue;
        stays |= walk_stm(w, &b->stms.at[i]);
        vec_push(w->L->cx->perm, &kept, b->stms.at[i]);
    }
    for (int i = 0, n = kept.n; i < n; i++)
        b->stms.at[i] = kept.at[n - 1 - i];
    b->stms.n = kept.n;
    return stays;
}

void drop_assertions(Low *L, Body *b)
{
    if (!L->guards)
        return;
    Walk w = {.L = L, .used = varmap_new(L->cx->perm), .kept = ptrmap_new(L->cx->perm)};
    walk_body(&w, b, NULL);
}
