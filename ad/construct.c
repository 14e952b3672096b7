/* Code that the rules of reverse mode are made of: rows and parts of arrays, sums along dimensions,
 * histograms of contributions. */
#include "ad/reverse.h"

void ad_atom(Ctx *cx, Atoms *as, Atom a)
{
    vec_push(cx->perm, as, a);
}

bool ad_varies(const VarSet *bound, Atom a)
{
    return a.var && varset_has(bound, a.var);
}

bool ad_type_varies(const VarSet *bound, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (ad_varies(bound, t.dims[d]))
            return true;
    return false;
}

DimIndex ad_whole(Type t, int dim)
{
    return (DimIndex){true, atom_i64(0), t.dims[dim], atom_i64(1)};
}

DimIndexes ad_row_at(Ctx *cx, Type t, Atom i)
{
    DimIndexes at = {0};
    vec_push(cx->perm, &at, (DimIndex){false, i, atom_i64(1), atom_i64(1)});
    for (int d = 1; d < t.rank; d++)
        vec_push(cx->perm, &at, ad_whole(t, d));
    return at;
}

Atom ad_at(Bld *bl, Loc loc, Atom arr, const DimIndexes *at, bool safe)
{
    Exp *e = exp_new(bl->cx, E_INDEX, loc);
    e->index.arr = arr;
    e->index.at = *at;
    e->index.safe = safe;
    return bld_exp(bl, "part", e);
}

Atom ad_with(Bld *bl, Loc loc, Atom arr, const DimIndexes *at, Atom val, bool safe)
{
    Exp *e = exp_new(bl->cx, E_UPDATE, loc);
    e->update.arr = arr;
    e->update.at = *at;
    e->update.val = val;
    e->update.safe = safe;
    return bld_exp(bl, "adj", e);
}

Atom ad_row(Bld *bl, Loc loc, Atom arr, Atom i)
{
    DimIndexes at = ad_row_at(bl->cx, atom_type(arr), i);
    return ad_at(bl, loc, arr, &at, true);
}

Atom ad_iota(Bld *bl, Loc loc, Atom n)
{
    Exp *e = exp_new(bl->cx, E_IOTA, loc);
    e->iota.n = n;
    e->iota.start = atom_i64(0);
    e->iota.stride = atom_i64(1);
    return bld_exp(bl, "is", e);
}

Atom ad_scratch(Bld *bl, Loc loc, Type t)
{
    Exp *e = exp_new(bl->cx, E_SCRATCH, loc);
    e->scratch.type = t;
    return bld_exp(bl, "kept", e);
}

Atom ad_reversed(Bld *bl, Loc loc, Atom arr)
{
    Type t = atom_type(arr);
    DimIndexes at = {0};
    Atom last = bld_binop(bl, loc, OP_SUB, t.dims[0], atom_i64(1));
    vec_push(bl->cx->perm, &at, (DimIndex){true, last, t.dims[0], atom_i64(-1)});
    for (int d = 1; d < t.rank; d++)
        vec_push(bl->cx->perm, &at, ad_whole(t, d));
    return ad_at(bl, loc, arr, &at, true);
}

Atom ad_as(Bld *bl, Loc loc, Atom a, Type t)
{
    if (type_eq(atom_type(a), t))
        return a;
    Exp *e = exp_new(bl->cx, E_RESHAPE, loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(bl->cx->perm, &e->reshape.dims, t.dims[d]);
    e->reshape.arr = a;
    return bld_exp(bl, "adj", e);
}

Atom ad_i64(Bld *bl, Loc loc, Atom a)
{
    if (atom_type(a).elem == T_I64)
        return a;
    return bld_exp(bl, "i", exp_conv(bl->cx, loc, T_I64, a));
}

Atom ad_transposed(Bld *bl, Loc loc, Atom a)
{
    int rank = atom_type(a).rank, *perm = NEWN(bl->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d < 2 ? 1 - d : d;
    return bld_exp(bl, "turned", exp_rearrange(bl->cx, loc, perm, a));
}

Atom ad_if(Bld *bl, Loc loc, Atom test, Bld *yes, Atom a, Bld *no, Atom b)
{
    Atoms x = {0}, y = {0};
    ad_atom(bl->cx, &x, a);
    ad_atom(bl->cx, &y, b);
    return bld_exp(bl, "chosen", exp_if(bl->cx, loc, test, bld_body(yes, x), bld_body(no, y)));
}

Exp *ad_soac(Ctx *cx, ExpKind k, Loc loc, Atom width, Atoms arrs)
{
    Exp *e = exp_new(cx, k, loc);
    e->soac.width = width;
    e->soac.arrs = arrs;
    return e;
}

Lambda *ad_operator(Ctx *cx, Loc loc, PrimOp op, Type t)
{
    Vars ps = {0};
    vec_push(cx->perm, &ps, var_new(cx, "acc", t, loc));
    vec_push(cx->perm, &ps, var_new(cx, "x", t, loc));
    Bld bl = bld_new(cx);
    Atoms args = atoms_of_vars(cx, &ps), res = {0};
    Exp *e = t.rank == 0 ? exp_binop(cx, loc, op, args.at[0], args.at[1])
                         : exp_map(cx, loc, t.dims[0], args, ad_operator(cx, loc, op, type_row(t)));
    ad_atom(cx, &res, bld_exp(&bl, "sum", e));
    return lambda_new(cx, ps, bld_body(&bl, res));
}

static Atom sum(Bld *bl, Loc loc, Atom arr)
{
    Type t = atom_type(arr);
    Atoms arrs = {0};
    ad_atom(bl->cx, &arrs, arr);
    Exp *e = ad_soac(bl->cx, E_REDUCE, loc, t.dims[0], arrs);
    e->soac.op = ad_operator(bl->cx, loc, OP_ADD, type_prim(t.elem));
    ad_atom(bl->cx, &e->soac.nes, atom_zero(t.elem));
    e->soac.comm = true;
    return bld_exp(bl, "sum", e);
}

/* Sums along the last dimension. */
static Atom sum_last(Bld *bl, Loc loc, Atom arr)
{
    Type t = atom_type(arr);
    if (t.rank == 1)
        return sum(bl, loc, arr);
    Bld in = bld_new(bl->cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    vec_push(bl->cx->perm, &ps, var_new(bl->cx, "row", type_row(t), loc));
    ad_atom(bl->cx, &res, sum_last(&in, loc, atom_var(ps.at[0])));
    ad_atom(bl->cx, &arrs, arr);
    Lambda *fn = lambda_new(bl->cx, ps, bld_body(&in, res));
    return bld_exp(bl, "sums", exp_map(bl->cx, loc, t.dims[0], arrs, fn));
}

Atom ad_sum_rows(Bld *bl, Loc loc, Atom arr)
{
    Type t = atom_type(arr);
    if (t.rank == 1)
        return sum(bl, loc, arr);
    int *perm = NEWN(bl->cx->scratch, int, t.rank);
    for (int d = 0; d < t.rank; d++)
        perm[d] = (d + 1) % t.rank;
    return sum_last(bl, loc, bld_exp(bl, "turned", exp_rearrange(bl->cx, loc, perm, arr)));
}

/* The n outermost dimensions of arr as one, of size `size`. */
static Atom merged(Bld *bl, Loc loc, Atom arr, int n, Atom size)
{
    Type t = atom_type(arr);
    return ad_as(bl, loc, arr, type_array(bl->cx, type_drop(t, n), size));
}

Atom ad_product(Bld *bl, Loc loc, const Atom *dims, int n)
{
    Atom size = atom_i64(1);
    for (int d = 0; d < n; d++)
        size = bld_binop(bl, loc, OP_MUL, size, dims[d]);
    return size;
}

Atom ad_sum_all(Bld *bl, Loc loc, Atom arr)
{
    Type t = atom_type(arr);
    return sum(bl, loc, merged(bl, loc, arr, t.rank, ad_product(bl, loc, t.dims, t.rank)));
}

Lambda *ad_choice(Ctx *cx, Loc loc, PrimOp op, PrimType t)
{
    Bld bl = bld_new(cx);
    Vars ps = {0};
    for (int k = 0; k < 4; k++)
        vec_push(cx->perm, &ps, var_new(cx, k % 2 ? "at" : "x", type_prim(k % 2 ? T_I64 : t), loc));
    Atoms as = atoms_of_vars(cx, &ps), res = {0};
    Atom a = as.at[0], i = as.at[1], b = as.at[2], j = as.at[3];
    Atom best = bld_binop(&bl, loc, op, a, b);
    Atom is_a = bld_binop(&bl, loc, OP_EQ, a, best), is_b = bld_binop(&bl, loc, OP_EQ, b, best);
    Atom first = bld_binop(&bl, loc, OP_MIN, i, j);
    Bld x = bld_new(cx), y = bld_new(cx), both = bld_new(cx), alone = bld_new(cx);
    Atom of_a = ad_if(&x, loc, is_b, &both, first, &alone, i);
    ad_atom(cx, &res, best);
    ad_atom(cx, &res, ad_if(&bl, loc, is_a, &x, of_a, &y, j));
    return lambda_new(cx, ps, bld_body(&bl, res));
}

Atom ad_where(Bld *bl, Loc loc, Atom at, int64_t i, Atom arr)
{
    Ctx *cx = bl->cx;
    Type t = atom_type(arr);
    Bld in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    if (t.rank == 0) {
        Bld x = bld_new(cx), y = bld_new(cx);
        Atom is = bld_binop(bl, loc, OP_EQ, at, atom_i64(i));
        return ad_if(bl, loc, is, &x, arr, &y, atom_zero(t.elem));
    }
    ad_atom(cx, &arrs, at);
    ad_atom(cx, &arrs, arr);
    vec_push(cx->perm, &ps, var_new(cx, "at", type_row(atom_type(at)), loc));
    vec_push(cx->perm, &ps, var_new(cx, "x", type_row(t), loc));
    ad_atom(cx, &res, ad_where(&in, loc, atom_var(ps.at[0]), i, atom_var(ps.at[1])));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "adj", exp_map(cx, loc, t.dims[0], arrs, fn));
}

Atom ad_inside(Bld *bl, Loc loc, const Atoms *idx, Type t)
{
    Atom ok = atom_bool(true);
    for (int d = 0; d < idx->n; d++) {
        Atom lo = bld_binop(bl, loc, OP_LE, atom_i64(0), idx->at[d]);
        Atom hi = bld_binop(bl, loc, OP_LT, idx->at[d], t.dims[d]);
        Atom in = bld_binop(bl, loc, OP_LAND, lo, hi);
        ok = d ? bld_binop(bl, loc, OP_LAND, ok, in) : in;
    }
    return ok;
}

const Exp *ad_map_of(const Lambda *op)
{
    const Body *b = op->body;
    if (b->stms.n != 1 || b->stms.at[0].exp->kind != E_MAP)
        return NULL;
    const Exp *m = b->stms.at[0].exp;
    bool whole = m->soac.arrs.n == op->params.n && b->stms.at[0].pat.n == b->res.n;
    for (int i = 0; whole && i < b->res.n; i++)
        whole = b->res.at[i].var == b->stms.at[0].pat.at[i];
    for (int i = 0; whole && i < op->params.n; i++) {
        bool found = false;
        for (int k = 0; k < m->soac.arrs.n; k++)
            found = found || m->soac.arrs.at[k].var == op->params.at[i];
        whole = found;
    }
    return whole ? m : NULL;
}

PrimOp ad_applied(const Lambda *op)
{
    const Exp *p = lambda_op(op), *m = ad_map_of(op);
    if (p)
        return p->prim.op;
    return m && m->soac.arrs.n == 2 ? ad_applied(m->soac.fn) : N_PRIM_OPS;
}

PrimOp ad_combines_by(const Exp *e)
{
    return e->soac.nes.n == 1 ? ad_applied(e->soac.op) : N_PRIM_OPS;
}

Lambda *ad_identity(Ctx *cx, Loc loc, const Types *ts)
{
    Bld bl = bld_new(cx);
    Vars ps = {0};
    for (int i = 0; i < ts->n; i++)
        vec_push(cx->perm, &ps, var_new(cx, "x", ts->at[i], loc));
    return lambda_new(cx, ps, bld_body(&bl, atoms_of_vars(cx, &ps)));
}

Atom ad_hist(Bld *bl, Loc loc, Atom dest, const Atoms *dims, const Atoms *idx, Atom val)
{
    Ctx *cx = bl->cx;
    Atom width = ad_product(bl, loc, dims->at, dims->n);
    Atoms arrs = {0};
    Types ts = {0};
    for (int i = 0; i < idx->n; i++) {
        ad_atom(cx, &arrs, merged(bl, loc, idx->at[i], dims->n, width));
        vec_push(cx->perm, &ts, type_prim(T_I64));
    }
    Type elem = type_drop(atom_type(dest), idx->n);
    Atom vals = ad_as(bl, loc, val, type_array(cx, elem, width));
    ad_atom(cx, &arrs, vals);
    vec_push(cx->perm, &ts, elem);
    Exp *e = ad_soac(cx, E_HIST, loc, width, arrs);
    e->soac.fn = ad_identity(cx, loc, &ts);
    e->soac.op = ad_operator(cx, loc, OP_ADD, elem);
    e->soac.comm = true;
    ad_atom(cx, &e->soac.nes, ad_zero(bl, loc, elem));
    vec_push(cx->perm, &e->soac.dests, (Dest){dest, idx->n});
    return bld_exp(bl, "adj", e);
}

static int body_depth(const Body *b);

int ad_depth(const Exp *e)
{
    if (exp_is_soac(e)) {
        bool many = e->soac.width.var || e->soac.width.c.i > AD_FEW;
        int f = e->soac.fn ? body_depth(e->soac.fn->body) : 0;
        int g = e->soac.op ? body_depth(e->soac.op->body) : 0;
        return many + (f > g ? f : g);
    }
    if (e->kind == E_LOOP)
        return 1 + body_depth(e->loop.body);
    if (e->kind != E_IF)
        return 0;
    int t = body_depth(e->branch.then_), f = body_depth(e->branch.else_);
    return t > f ? t : f;
}

static int body_depth(const Body *b)
{
    int most = 0;
    for (int i = 0; i < b->stms.n; i++) {
        int d = ad_depth(b->stms.at[i].exp);
        most = d > most ? d : most;
    }
    return most;
}

static bool is_fold(const Exp *e)
{
    return exp_is(e, F_OP) || e->kind == E_LOOP;
}

bool ad_folds(const Exp *e)
{
    return is_fold(e) || (exp_is_soac(e) && e->soac.fn && body_any(e->soac.fn->body, is_fold));
}

Body *ad_needed(Ctx *cx, const Body *b)
{
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < b->res.n; i++)
        if (b->res.at[i].var)
            varset_add(used, b->res.at[i].var);
    bool *keep = NEWN(cx->perm, bool, b->stms.n);
    for (int i = b->stms.n - 1; i >= 0; i--) {
        const Stm *s = &b->stms.at[i];
        keep[i] = s->pat.n == 0;
        for (int k = 0; k < s->pat.n; k++)
            keep[i] = keep[i] || varset_has(used, s->pat.at[k]);
        if (keep[i])
            free_in_stm(used, s);
    }
    Bld bl = bld_new(cx);
    for (int i = 0; i < b->stms.n; i++)
        if (keep[i])
            bld_stm(&bl, b->stms.at[i]);
    return bld_body(&bl, b->res);
}
