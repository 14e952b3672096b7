/* Questions about expressions: what they are, what is inside, what they may do. */
#include "ir/ir.h"

/* --- What is inside ------------------------------------------------------------------------- */

typedef struct {
    bool (*ask)(const Exp *e);
    bool yes;
} Any;

static void any_body(void *env, Body *b)
{
    Any *any = env;
    for (int i = 0; i < b->stms.n && !any->yes; i++)
        any->yes = exp_any(b->stms.at[i].exp, any->ask);
}

static void any_lambda(void *env, Lambda *l)
{
    any_body(env, l->body);
}

bool exp_any(const Exp *e, bool (*ask)(const Exp *e))
{
    Any any = {ask, ask(e)};
    ExpVisitor v = {.env = &any, .body = any_body, .lambda = any_lambda};
    if (!any.yes)
        exp_visit(e, &v);
    return any.yes;
}

bool body_any(const Body *b, bool (*ask)(const Exp *e))
{
    Any any = {ask, false};
    any_body(&any, (Body *)(uintptr_t)b);
    return any.yes;
}

bool exp_has_soac(const Exp *e)
{
    return exp_any(e, exp_is_soac);
}

bool body_has_soac(const Body *b)
{
    return body_any(b, exp_is_soac);
}

bool types_scalar(const Vars *vs, int from, int n)
{
    for (int i = from; i < n; i++)
        if (vs->at[i]->type.rank > 0)
            return false;
    return true;
}

bool exp_has_seg(const Exp *e)
{
    return exp_any(e, exp_is_seg);
}

bool body_has_seg(const Body *b)
{
    return body_any(b, exp_is_seg);
}

static bool is_assert(const Exp *e)
{
    return e->kind == E_ASSERT || e->kind == E_TRACE;
}

bool exp_has_effect(const Exp *e)
{
    return exp_any(e, is_assert);
}

static bool is_call(const Exp *e)
{
    return e->kind == E_CALL;
}

bool exp_has_call(const Exp *e)
{
    return exp_any(e, is_call);
}

/* --- What it is ----------------------------------------------------------------------------- */

bool exp_is_fold(const Exp *e)
{
    return exp_is_soac(e) && exp_is(e, F_FOLD);
}

ExpKind kind_with_fn(ExpKind k)
{
    return k == E_REDUCE ? E_REDOMAP : k == E_SCAN ? E_SCANOMAP : k;
}

bool exp_is_guard(const Exp *e)
{
    return e->kind == E_SUFF;
}

bool exp_is_rows(const Exp *e)
{
    return e->kind == E_ROWS || e->kind == E_PARTED || e->kind == E_GATHER;
}

Atom exp_view_of(const Exp *e)
{
    switch (e->kind) {
    case E_ATOM: return e->atom;
    case E_INDEX: return e->index.arr;
    case E_REARRANGE: return e->rearrange.arr;
    case E_RESHAPE: return e->reshape.arr;
    default: return (Atom){0};
    }
}

Atom exp_updates(const Exp *e, int j)
{
    if (exp_is(e, F_DESTS))
        return exp_dests(e)->at[j].arr;
    return e->kind == E_UPDATE   ? e->update.arr
           : e->kind == E_GATHER ? e->ranks.args.at[0]
                                 : (Atom){0};
}

const Dests *exp_dests(const Exp *e)
{
    return exp_is_soac(e) ? &e->soac.dests : exp_is_seg(e) ? &e->seg.dests : NULL;
}

/* --- What it may do ------------------------------------------------------------------------- */

static bool prim_traps(const Exp *e)
{
    PrimType t = e->prim.type;
    if (!prim_is_int(t))
        return false;
    switch (e->prim.op) {
    case OP_DIV:
    case OP_MOD:
    case OP_QUOT:
    case OP_REM: return e->prim.args.at[1].var || e->prim.args.at[1].c.i == 0;
    /* A negative exponent has no integer meaning. */
    case OP_POW: return prim_is_signed(t) && (e->prim.args.at[1].var || e->prim.args.at[1].c.i < 0);
    default: return false;
    }
}

/* By itself, whatever is inside. */
static bool traps(const Exp *e)
{
    switch (e->kind) {
    case E_ASSERT: return true;
    case E_PRIM: return prim_traps(e);
    case E_INDEX: return !e->index.safe;
    case E_UPDATE: return !e->update.safe;
    case E_LOOP: return e->loop.kind == LOOP_WHILE;
    default: return false;
    }
}

bool exp_traps(const Exp *e)
{
    return exp_any(e, traps);
}

bool body_traps(const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        if (exp_traps(b->stms.at[i].exp))
            return true;
    return false;
}

bool ext_holds_sum(const ExtType *x)
{
    for (int i = 0; i < x->n_fields; i++)
        if (ext_holds_sum(&x->fields[i]))
            return true;
    return x->n_variants || (x->elem && ext_holds_sum(x->elem));
}

const char *ext_mistake(Ctx *cx, const ExtType *x)
{
    const char *inside = NULL;
    if (x->elem)
        inside = x->elem->n_vals == x->n_vals ? ext_mistake(cx, x->elem)
                                              : "elements of another number of values";
    for (int i = 0; !inside && i < x->n_fields; i++)
        inside = ext_mistake(cx, &x->fields[i]);
    for (int k = 0; !inside && k < x->n_variants; k++) {
        const ExtVariant *v = &x->variants[k];
        int n = 0;
        for (int i = 0; !inside && i < v->n; i++) {
            n += v->holds[i].n_vals;
            inside = ext_mistake(cx, &v->holds[i]);
        }
        if (!inside && n != v->n_places)
            inside = arena_printf(cx->perm, "%d places of the %d values of variant %s", v->n_places,
                                  n, v->name);
        for (int i = 0; !inside && i < v->n_places; i++)
            if (v->places[i] < 1 || v->places[i] >= x->n_vals)
                inside =
                    arena_printf(cx->perm, "variant %s has no place %d", v->name, v->places[i]);
    }
    return inside;
}

const Exp *lambda_op(const Lambda *op)
{
    const Body *b = op->body;
    if (b->stms.n != 1 || b->stms.at[0].exp->kind != E_PRIM ||
        b->stms.at[0].pat.at[0] != b->res.at[0].var)
        return NULL;
    const Exp *e = b->stms.at[0].exp;
    if (e->prim.args.n != 2)
        return NULL;
    const Var *a = e->prim.args.at[0].var, *x = e->prim.args.at[1].var;
    const Var *p = op->params.at[0], *q = op->params.at[1];
    return (a == p && x == q) || (a == q && x == p) ? e : NULL;
}
