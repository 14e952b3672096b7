/* What is left sequential inside a thread: a reduction over the positions of a range whose size
 * only the thread knows (`reduce (+) 0 (map f (iota k))`) becomes a loop over them, so that the
 * positions need no memory, whose size could not be told before the launch. */
#include "flatten/rules.h"

typedef struct {
    Flat *fl;
    bool in_thread;
    VarSet *inside; /* bound by the construct around */
} Walk;

/* Element i of arr, named after p. */
Atom element_at(Flat *fl, Atom arr, const Var *p, Atom i, Bld *bl)
{
    Ctx *cx = fl->cx;
    const Exp *def = def_of(fl, arr);
    if (!def || def->kind != E_IOTA)
        return bld_exp(bl, p->base, exp_index(cx, p->loc, arr, &i, 1, true));
    Atom x = i;
    if (p->type.elem != T_I64)
        x = bld_exp(bl, p->base, exp_conv(cx, p->loc, p->type.elem, i));
    if (!atom_is_int(def->iota.stride, 1))
        x = bld_exp(bl, p->base, exp_binop(cx, p->loc, OP_MUL, x, def->iota.stride));
    if (!atom_is_int(def->iota.start, 0))
        x = bld_exp(bl, p->base, exp_binop(cx, p->loc, OP_ADD, x, def->iota.start));
    return x;
}

/* A reduction to scalars, nothing mapped out, over a range of the thread's own size. */
static bool over_own_range(const Walk *w, const Exp *e)
{
    if (!w->in_thread || !exp_is_fold(e) || !atom_variant(w->inside, e->soac.width))
        return false;
    if (e->soac.fn && e->soac.fn->body->res.n != e->soac.nes.n)
        return false;
    for (int k = 0; k < e->soac.nes.n; k++)
        if (atom_type(e->soac.nes.at[k]).rank > 0)
            return false;
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Exp *def = def_of(w->fl, e->soac.arrs.at[k]);
        if (def && def->kind == E_IOTA && atom_variant(w->inside, e->soac.arrs.at[k]))
            return true;
    }
    return false;
}

/* loop (acc = ne) for i < width do op acc (fn x) */
static Exp *as_loop(Flat *fl, const Exp *e)
{
    Ctx *cx = fl->cx;
    Exp *r = exp_new(cx, E_LOOP, e->loc);
    const Lambda *op = e->soac.op;
    int n = e->soac.nes.n;
    r->attrs = e->attrs;
    r->loop.kind = LOOP_FOR;
    r->loop.bound = e->soac.width;
    r->loop.inits = e->soac.nes;
    r->loop.i = var_new(cx, "i", type_prim(T_I64), e->loc);
    Bld bl = bld_new(cx);
    Atoms xs = {0}, args = {0};
    for (int k = 0; k < n; k++)
        vec_push(cx->perm, &r->loop.params, var_like(cx, op->params.at[k]));
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Var *p = e->soac.fn ? e->soac.fn->params.at[k] : op->params.at[n + k];
        Atom x = element_at(fl, e->soac.arrs.at[k], p, atom_var(r->loop.i), &bl);
        vec_push(cx->perm, &xs, x);
    }
    Atoms ys = e->soac.fn ? bld_inline_lambda(&bl, e->soac.fn, &xs) : xs;
    args = atoms_of_vars(cx, &r->loop.params);
    vec_append(cx->perm, &args, &ys);
    Atoms next = bld_inline_lambda(&bl, op, &args);
    r->loop.body = bld_body(&bl, next);
    return r;
}

static Body *walk_body(void *env, Body *b);

static Var *walk_binder(void *env, Var *v)
{
    varset_add(((Walk *)env)->inside, v);
    return v;
}

static Lambda *walk_lambda(void *env, Lambda *lam)
{
    for (int k = 0; k < lam->params.n; k++)
        walk_binder(env, lam->params.at[k]);
    return lambda_new(((Walk *)env)->fl->cx, lam->params, walk_body(env, lam->body));
}

static Exp *walk_exp(Walk *w, Exp *e)
{
    ExpMapper m = {.env = w, .body = walk_body, .lambda = walk_lambda};
    bool outer = w->in_thread;
    if (over_own_range(w, e))
        e = as_loop(w->fl, e);
    w->in_thread = outer || exp_is_seg(e);
    if (w->in_thread)
        m.binder = walk_binder;
    Exp *r = exp_map_parts(w->fl->cx, e, &m);
    w->in_thread = outer;
    return r;
}

static Body *walk_body(void *env, Body *b)
{
    Walk *w = env;
    Bld bl = bld_new(w->fl->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        s.exp = walk_exp(w, s.exp);
        for (int k = 0; k < s.pat.n && w->in_thread; k++)
            varset_add(w->inside, s.pat.at[k]);
        if (s.pat.n == 1)
            varmap_put(w->fl->defs, s.pat.at[0], s.exp);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Body *sequential_code(Flat *fl, Body *b)
{
    Walk w = {.fl = fl, .inside = varmap_new(fl->cx->perm)};
    return walk_body(&w, b);
}
