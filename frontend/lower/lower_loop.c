/* Lowering of loops. Sizes that change from iteration to iteration become results and parameters of
 * their own (existential sizes). */
#include "frontend/lower/lower_int.h"

/* A size that may change between iterations: what the type calls it, and its parameter. */
typedef struct {
    const Size *size;
    Var *param;
    Atom init, next; /* next: within the body, once known */
    bool has_next;
} Vary;
typedef VEC(Vary) Varies;

static bool same_size(const Size *a, const Size *b)
{
    return a->kind == b->kind && (a->kind == SZ_VAR ? a->var == b->var : a->id == b->id);
}

static bool is_loop_size(const AExp *e, const Binding *b)
{
    for (int i = 0; i < e->loop.sizes.n; i++)
        if (e->loop.sizes.at[i] == b)
            return true;
    return false;
}

/* May this dimension change? `init`: the size it has in the initial value's type, or NULL. */
static bool may_change(const AExp *e, const Size *s, const Size *init)
{
    if (s->kind == SZ_VAR)
        return is_loop_size(e, s->var);
    return s->kind == SZ_UNKNOWN && !(init && init->kind == SZ_UNKNOWN && init->id == s->id);
}

static Vary *find_vary(Varies *vs, const Size *s)
{
    for (int i = 0; i < vs->n; i++)
        if (same_size(vs->at[i].size, s))
            return &vs->at[i];
    return NULL;
}

typedef struct {
    const AExp *e;
    Loc loc;
    Varies varies;
    LeafSizes sizes, init_sizes;
    Atoms inits; /* of the values */
    Vars params; /* of the values */
    Val *val;    /* the parameters, structured */
    Env *env;    /* around the loop */
} Loop;

static const Size *changing(const Loop *lp, int leaf, int d)
{
    const Sizes *s = &lp->sizes.at[leaf], *in = &lp->init_sizes.at[leaf];
    if (d >= s->n || !may_change(lp->e, s->at[d], d < in->n ? in->at[d] : NULL))
        return NULL;
    return s->at[d];
}

/* One parameter for each leaf of the initial value, one more for each size that may change. */
static void loop_params(Low *L, Loop *lp, Val *init)
{
    lp->sizes = leaf_sizes(L, lp->e->loop.pat->type, init);
    lp->init_sizes = leaf_sizes(L, lp->e->loop.init->type, init);
    lp->inits = val_leaves(L, init);
    for (int i = 0; i < lp->inits.n; i++) {
        Type t = atom_type(lp->inits.at[i]);
        Atom *pdims = NEWN(L->cx->perm, Atom, t.rank), *idims = NEWN(L->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++) {
            const Size *s = changing(lp, i, d);
            pdims[d] = idims[d] = t.dims[d];
            if (!s)
                continue;
            Vary *vy = find_vary(&lp->varies, s);
            if (!vy) {
                const char *name = s->kind == SZ_VAR ? s->var->name : "n";
                Var *p = var_new(L->cx, name, type_prim(T_I64), lp->loc);
                vec_push(L->cx->perm, &lp->varies, (Vary){s, p, t.dims[d], {0}, false});
                vy = &vec_last(&lp->varies);
            }
            idims[d] = vy->init;
            pdims[d] = atom_var(vy->param);
        }
        lp->inits.at[i] = fit_atom(L, lp->loc, lp->inits.at[i], idims, t.rank);
        Var *p = var_new(L->cx, L->tmp, (Type){t.elem, t.rank, pdims}, lp->loc);
        p->base = L->tmp;
        vec_push(L->cx->perm, &lp->params, p);
    }
    Atoms as = atoms_of_vars(L->cx, &lp->params);
    lp->val = val_rebuild(L, init, &as);
}

/* The names of the loop's sizes stand for `at`: the parameters, or the sizes of a given iteration.
 */
static Env *bind_loop(Low *L, const Loop *lp, Env *env, Val *v, const Atoms *sizes)
{
    for (int i = 0; i < lp->varies.n; i++)
        if (lp->varies.at[i].size->kind == SZ_VAR)
            env = env_add(L, env, lp->varies.at[i].size->var, val_atom(L, sizes->at[i]));
    env = bind_sizes(L, env, lp->e->loop.pat->type, v);
    return bind_pat(L, env, lp->e->loop.pat, v);
}

/* The body's results in the types of the parameters; next values of the sizes go to lp->varies. */
static Atoms loop_results(Low *L, Loop *lp, Val *res)
{
    Atoms as = val_leaves(L, res);
    ASSERT(as.n == lp->params.n);
    for (int i = 0; i < as.n; i++) {
        Type t = atom_type(as.at[i]), want = lp->params.at[i]->type;
        Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
        ASSERT(t.rank == want.rank && t.elem == want.elem);
        for (int d = 0; d < t.rank; d++) {
            const Size *s = changing(lp, i, d);
            dims[d] = want.dims[d];
            if (!s)
                continue;
            Vary *vy = find_vary(&lp->varies, s);
            if (!vy->has_next)
                vy->next = t.dims[d];
            vy->has_next = true;
            dims[d] = vy->next;
        }
        as.at[i] = fit_atom(L, lp->loc, as.at[i], dims, t.rank);
    }
    return as;
}

/* What a `for` loop runs over, computed before it. */
typedef struct {
    Atom bound;
    PrimType index; /* type of the IR's loop index */
    bool is_range;  /* x = start + i * step */
    Range range;
    Val *arr; /* x = arr[i]; NULL if the index itself is the variable */
} Domain;

static Domain loop_domain(Low *L, Env *env, const AExp *e)
{
    Domain d = {0};
    d.index = T_I64;
    const AExp *b = e->loop.bound;
    if (e->loop.kind == ALOOP_FOR) {
        d.bound = val_scalar(lower_exp(L, env, b), b->loc);
        d.index = atom_type(d.bound).elem;
    } else if (b->kind == AE_RANGE) {
        d.is_range = true;
        d.range = lower_range_parts(L, env, b);
        d.bound = d.range.count;
    } else {
        d.arr = lower_exp(L, env, b);
        d.bound = common_width(L, low_loc(L, b->loc), &d.arr, 1);
    }
    return d;
}

static Val *loop_element(Low *L, Loc loc, const Domain *d, Atom i)
{
    if (d->arr)
        return index_row(L, loc, d->arr, i, true);
    if (!d->is_range)
        return val_atom(L, i);
    Atom start = d->range.start, step = d->range.step, x = i;
    PrimType t = atom_type(start).elem;
    x = emit_conv(L, loc, t, x);
    if (!atom_is_int(step, 1))
        x = emit_op(L, loc, OP_MUL, x, step);
    if (!atom_is_int(start, 0))
        x = emit_op(L, loc, OP_ADD, start, x);
    return val_atom(L, x);
}

static Atom loop_condition(Low *L, const Loop *lp, Val *v, const Atoms *sizes)
{
    Env *env = bind_loop(L, lp, lp->env, v, sizes);
    return val_scalar(lower_exp(L, env, lp->e->loop.bound), lp->loc);
}

/* The body: sizes, values and (while) the condition for the next iteration. */
static Body *loop_body(Low *L, Loop *lp, const Domain *d, Var *i)
{
    Scope *sc = scope_push(L);
    unsigned attrs = L->attrs;
    L->attrs &= ATTR_SEQUENTIAL;
    Atoms sizes = {0}, next = {0};
    for (int k = 0; k < lp->varies.n; k++) {
        vec_push(L->cx->perm, &sizes, atom_var(lp->varies.at[k].param));
        know_nonneg(L, sizes.at[k]);
    }
    Env *env = lp->env;
    if (i)
        env = bind_pat(L, env, lp->e->loop.var, loop_element(L, lp->loc, d, atom_var(i)));
    env = bind_loop(L, lp, env, lp->val, &sizes);
    Val *res = lower_exp(L, env, lp->e->loop.body);
    Atoms vals = loop_results(L, lp, res);
    for (int k = 0; k < lp->varies.n; k++)
        vec_push(L->cx->perm, &next, lp->varies.at[k].next);
    Atoms out = {0};
    vec_append(L->cx->perm, &out, &next);
    vec_append(L->cx->perm, &out, &vals);
    if (lp->e->loop.kind == ALOOP_WHILE) {
        Atom c = loop_condition(L, lp, val_rebuild(L, res, &vals), &next);
        vec_push(L->cx->perm, &out, c);
    }
    L->attrs = attrs;
    scope_pop(L, sc);
    return bld_body(&sc->bld, out);
}

static void add_param(Low *L, Exp *e, Var *p, Atom init)
{
    vec_push(L->cx->perm, &e->loop.params, p);
    vec_push(L->cx->perm, &e->loop.inits, init);
}

Val *lower_loop(Low *L, Env *env, const AExp *e)
{
    Loop lp = {.e = e, .loc = low_loc(L, e->loc), .env = env};
    Domain d = {0};
    Val *init = lower_exp(L, env, e->loop.init);
    if (val_has_fun(init))
        ice(lp.loc, "lowering: a loop over functions");
    if (e->loop.kind != ALOOP_WHILE)
        d = loop_domain(L, env, e);
    loop_params(L, &lp, init);
    Exp *loop = exp_new(L->cx, E_LOOP, lp.loc);
    Atoms sizes = {0};
    for (int k = 0; k < lp.varies.n; k++) {
        vec_push(L->cx->perm, &sizes, lp.varies.at[k].init);
        add_param(L, loop, lp.varies.at[k].param, lp.varies.at[k].init);
    }
    for (int k = 0; k < lp.params.n; k++)
        add_param(L, loop, lp.params.at[k], lp.inits.at[k]);
    if (e->loop.kind == ALOOP_WHILE) {
        Atom c = loop_condition(L, &lp, val_rebuild(L, lp.val, &lp.inits), &sizes);
        Var *cond = var_new(L->cx, "cond", type_prim(T_BOOL), e->loop.bound->loc);
        add_param(L, loop, cond, c);
        loop->loop.kind = LOOP_WHILE;
        loop->loop.cond = cond;
    } else {
        loop->loop.kind = LOOP_FOR;
        loop->loop.i = var_new(L->cx, "i", type_prim(d.index), lp.loc);
        if (!d.arr && !d.is_range)
            loop->loop.i->base = L->tmp;
        loop->loop.bound = d.bound;
    }
    loop->loop.body = loop_body(L, &lp, &d, loop->loop.i);
    if (loop->loop.i && loop->loop.i->base == L->tmp)
        loop->loop.i->base = intern("i");
    Atoms res = emit_all(L, L->tmp, loop);
    for (int k = 0; k < res.n; k++)
        res.at[k].var->base = loop->loop.params.at[k]->base;
    for (int k = 0; k < lp.varies.n; k++)
        know_nonneg(L, res.at[k]);
    Atoms vals = {res.at + lp.varies.n, lp.params.n, lp.params.n};
    return val_rebuild(L, lp.val, &vals);
}
