/* The mapnest context S: its dimensions, array expansion, and the making of constructs over it. */
#include "flatten/rules.h"

#include "base/intern.h"

static void dim_copy(Flat *fl, MapDim *to, const MapDim *from)
{
    *to = *from;
    to->xs = (Vars){0};
    to->arrs = (Atoms){0};
    to->pre = (Stms){0};
    vec_append(fl->cx->perm, &to->xs, &from->xs);
    vec_append(fl->cx->perm, &to->arrs, &from->arrs);
    vec_append(fl->cx->perm, &to->pre, &from->pre);
}

MapNest nest_copy(Flat *fl, const MapNest *S)
{
    MapNest r = {0};
    for (int d = 0; d < S->dims.n; d++) {
        MapDim nd;
        dim_copy(fl, &nd, &S->dims.at[d]);
        vec_push(fl->cx->perm, &r.dims, nd);
    }
    vec_append(fl->cx->perm, &r.ragged, &S->ragged);
    return r;
}

MapNest nest_push(Flat *fl, const MapNest *S, Atom width, const Vars *params, const Atoms *arrs)
{
    MapNest r = nest_copy(fl, S);
    MapDim d = {.width = width};
    d.idx = var_new(fl->cx, "i", type_prim(T_I64), (Loc){0});
    if (params)
        vec_append(fl->cx->perm, &d.xs, params);
    if (arrs)
        vec_append(fl->cx->perm, &d.arrs, arrs);
    vec_push(fl->cx->perm, &r.dims, d);
    r.ragged.n = 0;
    return r;
}

/* Arrays of xs are xss, as people write them: one s for each dimension. */
const char *plural(Flat *fl, const char *base, int n)
{
    for (; n > 0; n--)
        base = arena_printf(fl->cx->perm, "%ss", base);
    return intern(base);
}

void nest_extend_range(Flat *fl, MapNest *S, Var *v, Atom outer, int from, int to)
{
    for (int d = from; d <= to; d++) {
        MapDim *nd = &S->dims.at[d];
        Var *x = v;
        if (d < to)
            x = var_new(fl->cx, plural(fl, v->base, to - d), type_row(atom_type(outer)), v->loc);
        vec_push(fl->cx->perm, &nd->xs, x);
        vec_push(fl->cx->perm, &nd->arrs, outer);
        outer = atom_var(x);
    }
}

void nest_extend(Flat *fl, MapNest *S, Var *v, Atom outer)
{
    varset_add(fl->rows, v);
    nest_extend_range(fl, S, v, outer, 0, S->dims.n - 1);
}

bool nest_find(const MapNest *S, const Var *v, int *dim, int *k)
{
    for (int d = 0; d < S->dims.n; d++)
        for (int j = 0; j < S->dims.at[d].xs.n; j++)
            if (S->dims.at[d].xs.at[j] == v) {
                *dim = d;
                *k = j;
                return true;
            }
    return false;
}

static bool bound_by_pre(const MapNest *S, const Var *v)
{
    for (int d = 0; d < S->dims.n; d++)
        for (int i = 0; i < S->dims.at[d].pre.n; i++)
            for (int k = 0; k < S->dims.at[d].pre.at[i].pat.n; k++)
                if (S->dims.at[d].pre.at[i].pat.at[k] == v)
                    return true;
    return false;
}

bool nest_chain(const MapNest *S, Atom a, Chain *c)
{
    int d, k, outer_d, outer_k;
    if (!a.var || !nest_find(S, a.var, &d, &k))
        return false;
    *c = (Chain){.from = d, .to = d};
    for (;;) {
        Atom arr = S->dims.at[d].arrs.at[k];
        if (!nest_find(S, arr.var, &outer_d, &outer_k)) {
            c->from = d;
            c->root = arr;
            return !bound_by_pre(S, arr.var);
        }
        if (outer_d != d - 1)
            return false;
        d = outer_d;
        k = outer_k;
    }
}

bool chain_is_full(const MapNest *S, const Chain *c)
{
    return c->from == 0 && c->to == S->dims.n - 1;
}

static void add_pats(VarSet *s, const Stms *stms)
{
    for (int i = 0; i < stms->n; i++)
        for (int k = 0; k < stms->at[i].pat.n; k++)
            varset_add(s, stms->at[i].pat.at[k]);
}

void nest_vars(const MapNest *S, VarSet *s)
{
    for (int d = 0; d < S->dims.n; d++) {
        const MapDim *nd = &S->dims.at[d];
        varset_add(s, nd->idx);
        if (nd->row)
            varset_add(s, nd->row);
        for (int k = 0; k < nd->xs.n; k++)
            varset_add(s, nd->xs.at[k]);
        add_pats(s, &nd->pre);
    }
}

Atoms nest_widths(Flat *fl, const MapNest *S)
{
    Atoms ws = {0};
    for (int d = 0; d < S->dims.n; d++)
        vec_push(fl->cx->perm, &ws, S->dims.at[d].width);
    return ws;
}

Type nest_expand_type(Flat *fl, const MapNest *S, Type t)
{
    Atoms ws = nest_widths(fl, S);
    return type_array_n(fl->cx, t, ws.at, ws.n);
}

const char *nest_show(Flat *fl, const MapNest *S)
{
    Nest n = {0};
    for (int d = 0; d < S->dims.n; d++) {
        const MapDim *nd = &S->dims.at[d];
        NestDim x = {nd->idx, nd->width, nd->xs, nd->arrs, nd->row, nd->rows, nd->offs};
        vec_push(fl->cx->perm, &n, x);
    }
    return n.n ? nest_text(&n) : "";
}

/* --- Constructs ----------------------------------------------------------------------------- */

/* x = arr[idx] where arr is an iota (start + idx*stride) or scalars replicated: no memory needed.
 * False: arr is neither. */
static bool virtual_elem(Flat *fl, Bld *bl, Var *x, Atom arr, Atom idx)
{
    const Exp *e = def_of(fl, arr);
    if (!e || is_consumed(fl, arr) || x->type.rank > 0)
        return false;
    Exp *val = NULL;
    if (e->kind == E_REPLICATE && e->replicate.dims.n == 1) {
        val = exp_atom(fl->cx, e->loc, e->replicate.val);
    } else if (e->kind == E_IOTA) {
        PrimType t = x->type.elem;
        Atom i = t == T_I64 ? idx : bld_exp(bl, "i", exp_conv(fl->cx, e->loc, t, idx));
        if (!atom_is_int(e->iota.stride, 1))
            i = bld_exp(bl, "i", exp_binop(fl->cx, e->loc, OP_MUL, i, e->iota.stride));
        val = atom_is_int(e->iota.start, 0) ? exp_atom(fl->cx, e->loc, i)
                                            : exp_binop(fl->cx, e->loc, OP_ADD, e->iota.start, i);
    } else {
        return false;
    }
    Stm s = {.exp = val};
    vec_push(fl->cx->perm, &s.pat, x);
    bld_stm(bl, s);
    return true;
}

/* Can the definition of arr be used here? Its operands must be in scope: outside of S, and of nests
 * around S, where what it is made of may be gone. */
static bool def_outside(Flat *fl, const VarSet *bound, Atom arr)
{
    const Exp *e = def_of(fl, arr);
    return e && !varset_has(fl->rows, arr.var) && !exp_uses_any(e, bound);
}

/* The code that S puts in front of a body: elements of arrays that are computed rather than read,
 * rows of views, and pre. The other elements stay in the dimensions of `nest`. */
static Stms prefix_code(Flat *fl, const MapNest *S, Nest *nest)
{
    Bld bl = bld_new(fl->cx);
    VarSet *bound = varmap_new(fl->cx->perm), *in_pre = varmap_new(fl->cx->perm);
    nest_vars(S, bound);
    for (int d = 0; d < S->dims.n; d++) {
        const MapDim *nd = &S->dims.at[d];
        NestDim r = {.idx = nd->idx, .width = nd->width};
        r.row = nd->row;
        r.rows = nd->rows;
        r.offs = nd->offs;
        for (int k = 0; k < nd->xs.n; k++) {
            Var *x = nd->xs.at[k];
            Atom arr = nd->arrs.at[k], idx = atom_var(nd->idx);
            if (varset_has(in_pre, arr.var)) {
                Stm s = {.exp = exp_index(fl->cx, x->loc, arr, &idx, 1, true)};
                vec_push(fl->cx->perm, &s.pat, x);
                bld_stm(&bl, s);
                varset_add(in_pre, x);
            } else if (varset_has(bound, arr.var) || !def_outside(fl, bound, arr) ||
                       !virtual_elem(fl, &bl, x, arr, idx)) {
                vec_push(fl->cx->perm, &r.xs, x);
                vec_push(fl->cx->perm, &r.arrs, arr);
            } else {
                varset_add(in_pre, x);
            }
        }
        vec_append(fl->cx->perm, &bl.stms, &nd->pre);
        add_pats(in_pre, &nd->pre);
        vec_push(fl->cx->perm, nest, r);
    }
    return bl.stms;
}

static void need_atom(VarSet *s, Atom a)
{
    if (a.var)
        varset_add(s, a.var);
}

/* The body: what is needed of the prefix, then sg's own statements. */
static Body *seg_body(Flat *fl, const Seg *sg, const Stms *prefix, VarSet *need)
{
    for (int i = 0; i < sg->stms.n; i++)
        free_in_stm(need, &sg->stms.at[i]);
    for (int i = 0; i < sg->res.n; i++)
        need_atom(need, sg->res.at[i]);
    if (sg->op)
        free_in_lambda(need, sg->op);
    Bld bl = bld_new(fl->cx);
    bl.stms = stms_live(fl->cx, prefix, need, false);
    vec_append(fl->cx->perm, &bl.stms, &sg->stms);
    return bld_body(&bl, sg->res);
}

/* Leaves out the xs that nothing needs. */
static Nest needed_nest(Flat *fl, const Nest *nest, VarSet *need)
{
    Nest r = {0};
    for (int d = 0; d < nest->n; d++)
        vec_push(fl->cx->perm, &r, nest->at[d]);
    for (int d = r.n - 1; d >= 0; d--) {
        NestDim *nd = &r.at[d];
        Vars xs = {0};
        Atoms arrs = {0};
        for (int k = 0; k < nd->xs.n; k++) {
            if (!varset_has(need, nd->xs.at[k]))
                continue;
            vec_push(fl->cx->perm, &xs, nd->xs.at[k]);
            vec_push(fl->cx->perm, &arrs, nd->arrs.at[k]);
            need_atom(need, nd->arrs.at[k]);
        }
        nd->xs = xs;
        nd->arrs = arrs;
    }
    return r;
}

Exp *seg_make(Flat *fl, const Seg *sg)
{
    Nest nest = {0};
    VarSet *need = varmap_new(fl->cx->perm);
    Stms prefix = prefix_code(fl, sg->S, &nest);
    Exp *e = exp_new(fl->cx, sg->kind, sg->loc);
    e->seg.level = fl->level;
    e->seg.body = seg_body(fl, sg, &prefix, need);
    e->seg.nest = needed_nest(fl, &nest, need);
    e->seg.op = sg->op;
    e->seg.nes = sg->nes;
    e->seg.comm = sg->comm;
    e->seg.inspects = sg->inspects;
    e->seg.dests = sg->dests;
    e->attrs = sg->attrs;
    return rename_exp(fl->cx, e);
}

/* What the pass makes is nobody else's memory. */
static void mark_fresh(Flat *fl, const Exp *e, const Vars *pat)
{
    if (exp_is_seg(e) || e->kind == E_REPLICATE || e->kind == E_COPY)
        for (int k = 0; k < pat->n; k++)
            varset_add(fl->fresh, pat->at[k]);
}

Atoms bind_fresh(Flat *fl, const MapNest *S, const Vars *pat, Exp *e, Bld *out)
{
    Stm s = {exp_pat(fl->cx, "res", e), e};
    for (int k = 0; k < pat->n; k++)
        s.pat.at[k]->base = plural(fl, pat->at[k]->base, S->dims.n);
    bld_stm(out, s);
    mark_fresh(fl, e, &s.pat);
    return atoms_of_vars(fl->cx, &s.pat);
}

Atoms bind_results(Flat *fl, const MapNest *S, const Vars *pat, Exp *e, Bld *out)
{
    if (!is_host(S))
        return bind_fresh(fl, S, pat, e, out);
    bld_stm(out, (Stm){*pat, e});
    mark_fresh(fl, e, pat);
    return atoms_of_vars(fl->cx, pat);
}

Atom bind_one(Flat *fl, const MapNest *S, const char *base, Exp *e, Bld *out)
{
    Atom a = bld_exp(out, plural(fl, base, S->dims.n), e);
    Vars pat = {&a.var, 1, 1};
    mark_fresh(fl, e, &pat);
    return a;
}
