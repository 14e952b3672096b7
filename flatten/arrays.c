/* Array operations under S act on the outer arrays: views (G5), replicate, copy, concat, update,
 * scatter; and the expansion of a value to its array over S. */
#include "flatten/rules.h"
#include "ir/stops.h"

/* --- G5: views ------------------------------------------------------------------------------ */

/* rearrange (0, 1+k1, .., 1+kn) root, with as many leading dimensions as the chain covers. */
static Exp *outer_rearrange(Flat *fl, const Exp *e, const Chain *c)
{
    int lead = c->to - c->from + 1, rank = atom_type(c->root).rank;
    int *perm = NEWN(fl->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d < lead ? d : lead + e->rearrange.perm[d - lead];
    return exp_rearrange(fl->cx, e->loc, perm, c->root);
}

static Exp *outer_reshape(Flat *fl, const Exp *e, const MapNest *S, const Chain *c)
{
    Exp *r = exp_new(fl->cx, E_RESHAPE, e->loc);
    for (int d = c->from; d <= c->to; d++)
        vec_push(fl->cx->perm, &r->reshape.dims, S->dims.at[d].width);
    vec_append(fl->cx->perm, &r->reshape.dims, &e->reshape.dims);
    r->reshape.arr = c->root;
    return r;
}

static bool varies(const MapNest *S, Atom a)
{
    Arena *tmp = arena_new();
    VarSet *vs = varmap_new(tmp);
    nest_vars(S, vs);
    bool r = atom_variant(vs, a);
    arena_free(tmp);
    return r;
}

/* A part of an array that is in the same place of all elements of S, and is there for sure. Rows
 * are found by whoever reads them. */
static bool is_common_part(Flat *fl, const MapNest *S, const Stm *s)
{
    const Exp *e = s->exp;
    if (fl->level == 0 || !e->index.safe || is_consumed(fl, atom_var(s->pat.at[0])))
        return false;
    for (int d = 0; d < e->index.at.n; d++) {
        const DimIndex *at = &e->index.at.at[d];
        if (!at->is_slice || varies(S, at->start) || varies(S, at->n) || varies(S, at->stride))
            return false;
    }
    return true;
}

/* root[0:w1, .., 0:wn, part], with as many leading dimensions as the chain covers. */
static Exp *outer_part(Flat *fl, const Exp *e, const MapNest *S, const Chain *c)
{
    Exp *r = exp_new(fl->cx, E_INDEX, e->loc);
    r->index.arr = c->root;
    r->index.safe = true;
    for (int d = c->from; d <= c->to; d++) {
        DimIndex all = {.is_slice = true, .start = atom_i64(0), .stride = atom_i64(1)};
        all.n = S->dims.at[d].width;
        vec_push(fl->cx->perm, &r->index.at, all);
    }
    vec_append(fl->cx->perm, &r->index.at, &e->index.at);
    return r;
}

/* Rule G5: rearrange (k1..kn) x under S,<x in y> is rearrange (0,1+k1,..,1+kn) y under S. Also for
 * reshape, for a part that does not vary, and for another name of x. */
bool rule_g5(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Chain c;
    int d, k;
    if (e->kind == E_ATOM && e->atom.var && nest_find(S, e->atom.var, &d, &k)) {
        MapDim *nd = &S->dims.at[d];
        Atom arr = nd->arrs.at[k];
        vec_push(fl->cx->perm, &nd->xs, s->pat.at[0]);
        vec_push(fl->cx->perm, &nd->arrs, arr);
        return true;
    }
    bool re = e->kind == E_REARRANGE, part = e->kind == E_INDEX && is_common_part(fl, S, s);
    if (!re && !part && e->kind != E_RESHAPE)
        return false;
    if (!nest_chain(S, re ? e->rearrange.arr : part ? e->index.arr : e->reshape.arr, &c))
        return false;
    log_rule(fl, "G5", S, e, "a view of the outer array");
    Exp *outer = re     ? outer_rearrange(fl, e, &c)
                 : part ? outer_part(fl, e, S, &c)
                        : outer_reshape(fl, e, S, &c);
    Atom a = bld_exp(out, plural(fl, s->pat.at[0]->base, c.to - c.from + 1), outer);
    varmap_put(fl->defs, a.var, outer);
    nest_extend_range(fl, S, s->pat.at[0], a, c.from, c.to);
    return true;
}

/* --- Expansion ------------------------------------------------------------------------------ */

/* S with one more dimension (without arrays) for each of dims; their indices are appended to ix. */
static MapNest push_dims(Flat *fl, const MapNest *S, const Atom *dims, int n, Atoms *ix)
{
    MapNest r = nest_copy(fl, S);
    for (int d = 0; d < n; d++) {
        r = nest_push(fl, &r, dims[d], NULL, NULL);
        vec_push(fl->cx->perm, ix, atom_var(vec_last(&r.dims).idx));
    }
    return r;
}

/* segmap S,<dims> (a[..]) */
static Atom copy_out(Flat *fl, const MapNest *S, Atom a, const char *base, Loc loc, Bld *out)
{
    Atoms ix = {0};
    Type t = atom_type(a);
    MapNest S1 = push_dims(fl, S, t.dims, t.rank, &ix);
    Bld bl = bld_new(fl->cx);
    Atom elem = t.rank ? bld_exp(&bl, "x", exp_index(fl->cx, loc, a, ix.at, ix.n, true)) : a;
    Seg sg = {.kind = E_SEGMAP, .S = &S1, .stms = bl.stms, .loc = loc};
    vec_push(fl->cx->perm, &sg.res, elem);
    return bind_one(fl, S, base, seg_make(fl, &sg), out);
}

static Atom replicate_out(Flat *fl, const MapNest *S, const Atoms *dims, Atom val, const char *base,
                          Loc loc, Bld *out)
{
    Exp *e = exp_new(fl->cx, E_REPLICATE, loc);
    e->replicate.dims = nest_widths(fl, S);
    if (dims)
        vec_append(fl->cx->perm, &e->replicate.dims, dims);
    e->replicate.val = val;
    return bind_one(fl, S, base, e, out);
}

Atom expand_atom(Flat *fl, const MapNest *S, Atom a, const char *base, Loc loc, Bld *out)
{
    Chain c;
    if (a.var)
        base = a.var->base;
    if (nest_chain(S, a, &c) && chain_is_full(S, &c))
        return c.root;
    if (!varies(S, a))
        return replicate_out(fl, S, NULL, a, base, loc, out);
    return copy_out(fl, S, a, base, loc, out);
}

/* --- Array operations ----------------------------------------------------------------------- */

bool is_array_op(const Stm *s)
{
    ExpKind k = s->exp->kind;
    return k == E_REPLICATE || k == E_SCRATCH || k == E_COPY || k == E_CONCAT || k == E_UPDATE;
}

static Atom op_replicate(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    const char *base = s->pat.at[0]->base;
    Atom val = e->replicate.val;
    Atoms ix = {0}, inner = {0};
    if (!varies(S, val))
        return replicate_out(fl, S, &e->replicate.dims, val, base, e->loc, out);
    MapNest S1 = push_dims(fl, S, e->replicate.dims.at, e->replicate.dims.n, &ix);
    Type t = atom_type(val);
    MapNest S2 = push_dims(fl, &S1, t.dims, t.rank, &inner);
    Bld bl = bld_new(fl->cx);
    Atom x = val;
    if (t.rank)
        x = bld_exp(&bl, "x", exp_index(fl->cx, e->loc, val, inner.at, inner.n, true));
    Seg sg = {.kind = E_SEGMAP, .S = &S2, .stms = bl.stms, .loc = e->loc};
    vec_push(fl->cx->perm, &sg.res, x);
    return bind_one(fl, S, base, seg_make(fl, &sg), out);
}

static Atom op_copy(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    const char *base = s->pat.at[0]->base;
    Chain c;
    if (!nest_chain(S, e->copy.arr, &c) || !chain_is_full(S, &c))
        return expand_atom(fl, S, e->copy.arr, base, e->loc, out);
    Exp *r = exp_new(fl->cx, E_COPY, e->loc);
    r->copy.arr = c.root;
    return bind_one(fl, S, base, r, out);
}

static Atom op_scratch(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    Exp *r = exp_new(fl->cx, E_SCRATCH, s->exp->loc);
    r->scratch.type = nest_expand_type(fl, S, s->exp->scratch.type);
    r->attrs = s->exp->attrs;
    Atom a = bind_one(fl, S, s->pat.at[0]->base, r, out);
    varset_add(fl->fresh, a.var);
    return a;
}

static Atom op_concat(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Exp *r = exp_new(fl->cx, E_CONCAT, e->loc);
    r->concat.dim = e->concat.dim + S->dims.n;
    r->concat.n = e->concat.n;
    for (int k = 0; k < e->concat.arrs.n; k++) {
        Atom a = expand_atom(fl, S, e->concat.arrs.at[k], "part", e->loc, out);
        vec_push(fl->cx->perm, &r->concat.arrs, a);
    }
    Atom a = bind_one(fl, S, s->pat.at[0]->base, r, out);
    varset_add(fl->fresh, a.var);
    return a;
}

/* --- Updates -------------------------------------------------------------------------------- */

/* arr[..] = val for all of S at once, where no index varies: slices of the outer array. */
static Atom update_slices(Flat *fl, const MapNest *S, const Stm *s, Atom root, Bld *out)
{
    const Exp *e = s->exp;
    Atom val = expand_atom(fl, S, e->update.val, "val", e->loc, out);
    Exp *r = exp_new(fl->cx, E_UPDATE, e->loc);
    r->update.arr = root;
    r->update.val = val;
    r->update.safe = true;
    for (int d = 0; d < S->dims.n; d++) {
        DimIndex whole = {true, atom_i64(0), S->dims.at[d].width, atom_i64(1)};
        vec_push(fl->cx->perm, &r->update.at, whole);
    }
    vec_append(fl->cx->perm, &r->update.at, &e->update.at);
    Atom a = bind_one(fl, S, s->pat.at[0]->base, r, out);
    if (varset_has(fl->fresh, root.var))
        varset_add(fl->fresh, a.var);
    return a;
}

/* 0 <= i < n, else the program stops. */
static void assert_bounds(Bld *bl, Loc loc, Atom i, Atom n)
{
    Ctx *cx = bl->cx;
    Atom ge = bld_exp(bl, "ge", exp_binop(cx, loc, OP_LE, atom_i64(0), i));
    Atom lt = bld_exp(bl, "lt", exp_binop(cx, loc, OP_LT, i, n));
    Exp *e = exp_new(cx, E_ASSERT, loc);
    e->assertion.cond = bld_exp(bl, "ok", exp_binop(cx, loc, OP_LAND, ge, lt));
    e->assertion.msg = stop_text[STOP_INDEX];
    vec_push(cx->perm, &e->assertion.args, i);
    vec_push(cx->perm, &e->assertion.args, n);
    bld_stm(bl, (Stm){.exp = e});
}

/* The same where an index varies: a scatter, one thread for each element. */
static Atom update_scatter(Flat *fl, const MapNest *S, const Stm *s, Atom root, Bld *out)
{
    const Exp *e = s->exp;
    Bld bl = bld_new(fl->cx);
    Atoms at = {0}, ix = {0};
    MapNest S1 = nest_copy(fl, S);
    for (int d = 0; d < S->dims.n; d++)
        vec_push(fl->cx->perm, &at, atom_var(S->dims.at[d].idx));
    Type t = type_drop(atom_type(root), S->dims.n);
    for (int d = 0; d < e->update.at.n; d++) {
        const DimIndex *di = &e->update.at.at[d];
        Atom i = di->start;
        if (di->is_slice) {
            S1 = push_dims(fl, &S1, &di->n, 1, &ix);
            Atom step = bld_binop(&bl, e->loc, OP_MUL, vec_last(&ix), di->stride);
            i = bld_binop(&bl, e->loc, OP_ADD, di->start, step);
        }
        if (!e->update.safe)
            assert_bounds(&bl, e->loc, i, t.dims[d]);
        vec_push(fl->cx->perm, &at, i);
    }
    Atom val = e->update.val;
    if (ix.n)
        val = bld_exp(&bl, "x", exp_index(fl->cx, e->loc, val, ix.at, ix.n, true));
    Seg sg = {.kind = E_SEGSCATTER, .S = &S1, .stms = bl.stms, .res = at, .loc = e->loc};
    vec_push(fl->cx->perm, &sg.res, val);
    vec_push(fl->cx->perm, &sg.dests, (Dest){root, at.n});
    return bind_one(fl, S, s->pat.at[0]->base, seg_make(fl, &sg), out);
}

/* In place of the outer array. False: the array is not one over all of S. */
static bool op_update(Flat *fl, const MapNest *S, const Stm *s, Bld *out, Atom *result)
{
    const Exp *e = s->exp;
    Chain c;
    if (!nest_chain(S, e->update.arr, &c) || !chain_is_full(S, &c))
        return false;
    bool invariant = e->update.safe;
    for (int d = 0; d < e->update.at.n; d++) {
        const DimIndex *di = &e->update.at.at[d];
        invariant = invariant && !varies(S, di->start);
        if (di->is_slice && (varies(S, di->n) || varies(S, di->stride)))
            return false;
    }
    *result =
        invariant ? update_slices(fl, S, s, c.root, out) : update_scatter(fl, S, s, c.root, out);
    return true;
}

bool flatten_array_op(Flat *fl, const MapNest *S, const Stm *s, Bld *out, Atoms *results)
{
    Atom a;
    ExpKind k = s->exp->kind;
    ASSERT(is_array_op(s));
    if (k == E_REPLICATE)
        a = op_replicate(fl, S, s, out);
    else if (k == E_SCRATCH)
        a = op_scratch(fl, S, s, out);
    else if (k == E_COPY)
        a = op_copy(fl, S, s, out);
    else if (k == E_CONCAT)
        a = op_concat(fl, S, s, out);
    else if (!op_update(fl, S, s, out, &a))
        return false;
    log_rule(fl, "G6", S, s->exp, "done on the outer array");
    vec_push(fl->cx->perm, results, a);
    return true;
}

/* --- Scatter -------------------------------------------------------------------------------- */

/* The results of a scatter's function, with the indices of S in front of each destination's. */
static Atoms scatter_results(Flat *fl, const MapNest *S, const Exp *e)
{
    const Atoms *res = &e->soac.fn->body->res;
    Atoms r = {0};
    int at = 0;
    for (int k = 0; k < e->soac.dests.n; k++) {
        for (int d = 0; d < S->dims.n; d++)
            vec_push(fl->cx->perm, &r, atom_var(S->dims.at[d].idx));
        for (int d = 0; d < e->soac.dests.at[k].rank; d++)
            vec_push(fl->cx->perm, &r, res->at[at++]);
    }
    while (at < res->n)
        vec_push(fl->cx->perm, &r, res->at[at++]);
    return r;
}

Atoms scatter_over(Flat *fl, const MapNest *S, const MapNest *S1, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Seg sg = {.kind = E_SEGSCATTER, .S = S1, .stms = e->soac.fn->body->stms, .loc = e->loc};
    sg.res = scatter_results(fl, S, e);
    for (int k = 0; k < e->soac.dests.n; k++) {
        Dest d = e->soac.dests.at[k];
        if (!is_host(S))
            d.arr = expand_atom(fl, S, d.arr, "dest", e->loc, out);
        d.rank += S->dims.n;
        vec_push(fl->cx->perm, &sg.dests, d);
    }
    log_rule(fl, "scatter", S1, e, "segscatter^%d", fl->level);
    return bind_results(fl, S, &s->pat, seg_make(fl, &sg), out);
}

/* scatter under S: the destinations are the outer arrays, each thread writes into its own part. */
Atoms flatten_scatter(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    MapNest S1 = nest_push(fl, S, e->soac.width, &e->soac.fn->params, &e->soac.arrs);
    return scatter_over(fl, S, &S1, s, out);
}
