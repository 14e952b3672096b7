/* Lowering of control flow: if, && and ||, loops. Sizes that differ between branches or change from
 * iteration to iteration become results and parameters of their own (existential sizes). */
#include "frontend/lower/lower_int.h"

/* --- if ------------------------------------------------------------------------------------- */

/* Fits leaf k of a branch to dims, inside the branch. */
static void fit_in(Low *L, Scope *sc, Loc loc, Atom *leaf, const Atom *dims)
{
    Scope *out = L->sc;
    L->sc = sc;
    *leaf = fit_atom(L, loc, *leaf, dims, atom_type(*leaf).rank);
    L->sc = out;
}

static void add_size_pair(Low *L, Atoms *x, Atoms *y, Atom a, Atom b)
{
    for (int i = 0; i < x->n; i++)
        if (atom_eq(x->at[i], a) && atom_eq(y->at[i], b))
            return;
    vec_push(L->cx->perm, x, a);
    vec_push(L->cx->perm, y, b);
}

/* Dimension by dimension: the same size in both branches, or the size that the type names, or one
 * that the branches return: the pair is added to x, y. */
static void join_leaf(Low *L, Loc loc, Scope *s1, Atom *l1, Scope *s2, Atom *l2, const Sizes *sizes,
                      const Env *env, Atoms *x, Atoms *y)
{
    Type t1 = atom_type(*l1), t2 = atom_type(*l2);
    ASSERT(t1.rank == t2.rank);
    Atom *d1 = NEWN(L->cx->perm, Atom, t1.rank), *d2 = NEWN(L->cx->perm, Atom, t1.rank);
    for (int d = 0; d < t1.rank; d++) {
        Atom want;
        d1[d] = t1.dims[d];
        d2[d] = t2.dims[d];
        if (atom_eq(d1[d], d2[d]))
            continue;
        if (d < sizes->n && size_atom(L, env, sizes->at[d], &want))
            d1[d] = d2[d] = want;
        else
            add_size_pair(L, x, y, d1[d], d2[d]);
    }
    fit_in(L, s1, loc, l1, d1);
    fit_in(L, s2, loc, l2, d2);
}

Val *join_branches(Low *L, Loc loc, Atom test, Scope *s1, Val *v1, Scope *s2, Val *v2,
                   const AType *at, const Env *env)
{
    Atoms l1 = val_leaves(L, v1), l2 = val_leaves(L, v2), x = {0}, y = {0};
    ASSERT(l1.n == l2.n);
    if (val_has_fun(v1))
        ice(loc, "lowering: a conditional between functions");
    LeafSizes ls = leaf_sizes(L, at, v1);
    for (int i = 0; i < l1.n; i++)
        join_leaf(L, loc, s1, &l1.at[i], s2, &l2.at[i], &ls.at[i], env, &x, &y);
    int n_sizes = x.n;
    vec_append(L->cx->perm, &x, &l1);
    vec_append(L->cx->perm, &y, &l2);
    Exp *e = exp_if(L->cx, loc, test, bld_body(&s1->bld, x), bld_body(&s2->bld, y));
    Atoms res = emit_all(L, L->tmp, e);
    for (int i = 0; i < n_sizes; i++) {
        res.at[i].var->base = intern("n");
        know_nonneg(L, res.at[i]);
    }
    Atoms vals = {res.at + n_sizes, res.n - n_sizes, res.n - n_sizes};
    return val_rebuild(L, v1, &vals);
}

Val *lower_if(Low *L, Env *env, const AExp *e)
{
    Atom test = val_scalar(lower_exp(L, env, e->cond.test), e->loc);
    if (!test.var)
        return lower_exp(L, env, test.c.i ? e->cond.then : e->cond.els);
    preload_sizes(L, env, e->type, NULL);
    Scope *s1 = scope_push(L);
    Val *v1 = lower_exp(L, env, e->cond.then);
    scope_pop(L, s1);
    Scope *s2 = scope_push(L);
    Val *v2 = lower_exp(L, env, e->cond.els);
    scope_pop(L, s2);
    return join_branches(L, low_loc(L, e->loc), test, s1, v1, s2, v2, e->type, env);
}

/* May the statements of a scope as well always be evaluated: few, scalar, and sure to succeed? */
static bool is_cheap(const Scope *sc)
{
    enum { CHEAP = 6 };
    if (sc->bld.stms.n > CHEAP)
        return false;
    for (int i = 0; i < sc->bld.stms.n; i++) {
        const Exp *e = sc->bld.stms.at[i].exp;
        if ((e->kind != E_PRIM && e->kind != E_CONV && e->kind != E_ATOM) || exp_traps(e))
            return false;
    }
    return true;
}

Val *lower_short_circuit(Low *L, Env *env, const AExp *e, bool is_and)
{
    Loc loc = low_loc(L, e->loc);
    Atom a = val_scalar(lower_exp(L, env, e->app.args.at[0]), loc);
    if (!a.var)
        return (a.c.i != 0) == is_and ? lower_exp(L, env, e->app.args.at[1]) : val_atom(L, a);
    Scope *sc = scope_push(L);
    Val *vb = lower_exp(L, env, e->app.args.at[1]);
    scope_pop(L, sc);
    Atom b = val_scalar(vb, loc);
    if (is_cheap(sc)) {
        scope_splice(L, sc);
        return val_atom(L, emit(L, exp_binop(L->cx, loc, is_and ? OP_LAND : OP_LOR, a, b)));
    }
    Scope *other = scope_push(L);
    scope_pop(L, other);
    Val *konst = val_atom(L, atom_bool(!is_and));
    return is_and ? join_branches(L, loc, a, sc, vb, other, konst, NULL, env)
                  : join_branches(L, loc, a, other, konst, sc, vb, NULL, env);
}

/* --- loop ----------------------------------------------------------------------------------- */

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
