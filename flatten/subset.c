/* A part of the elements of S: a nest over those that an array lists, for rules that do something
 * for some of them only (varying.c).
 *
 *     S = <x in xs> <y in ys>    =>    <e < n; q in which>, before whose body stands
 *                                      let (i, j) = row number q of S; let x = xs[i]; let y = ys[j]
 *
 * Nothing is gathered before: a construct reads of S what it needs. Values that a part gives lie as
 * rows, one for each of its elements, and go to their places by a scatter. */
#include "flatten/rules.h"

static const MapNest host_nest;

/* --- Elements of S ---------------------------------------------------------------------------- */

/* The indices of S of row number `row`. */
static void define_indices(Flat *fl, const MapNest *S, Atom row, Loc loc, Bld *bl)
{
    Ctx *cx = fl->cx;
    for (int d = S->dims.n - 1; d >= 0; d--) {
        const MapDim *nd = &S->dims.at[d];
        if (d == 0) {
            bld_define(bl, nd->idx, exp_atom(cx, loc, row));
            continue;
        }
        /* where there is a row there is a width */
        Atom width = bld_binop(bl, loc, OP_MAX, nd->width, atom_i64(1));
        bld_define(bl, nd->idx, exp_binop(cx, loc, OP_REM, row, width));
        row = bld_exp(bl, "row", exp_binop(cx, loc, OP_QUOT, row, width));
    }
}

void define_row(Flat *fl, const MapNest *S, Atom row, Loc loc, Bld *bl)
{
    define_indices(fl, S, row, loc, bl);
    const MapDim *outermost = &S->dims.at[0];
    if (outermost->row) {
        Atom point = atom_var(outermost->idx);
        Exp *own = exp_index(fl->cx, loc, outermost->rows_of, &point, 1, true);
        bld_define(bl, outermost->row, own);
    }
    for (int d = 0; d < S->dims.n; d++) {
        const MapDim *nd = &S->dims.at[d];
        for (int k = 0; k < nd->xs.n; k++) {
            Var *x = nd->xs.at[k];
            Atom a = element_at(fl, nd->arrs.at[k], x, atom_var(nd->idx), bl);
            bld_define(bl, x, exp_atom(fl->cx, loc, a));
        }
        vec_append(fl->cx->perm, &bl->stms, &nd->pre);
    }
}

MapNest nest_of_subset(Flat *fl, const MapNest *S, Subset sub, Var **elem, Loc loc)
{
    Vars xs = {0};
    Atoms arrs = {0};
    Var *q = var_new(fl->cx, "elem", type_prim(T_I64), loc);
    vec_push(fl->cx->perm, &xs, q);
    vec_push(fl->cx->perm, &arrs, sub.which);
    MapNest N = nest_push(fl, &host_nest, sub.n, &xs, &arrs);
    Bld bl = bld_new(fl->cx);
    define_row(fl, S, atom_var(q), loc, &bl);
    N.dims.at[0].pre = bl.stms;
    if (elem)
        *elem = q;
    return N;
}

/* --- Flags ---------------------------------------------------------------------------------- */

Lambda *plus_i64(Flat *fl, Loc loc)
{
    Ctx *cx = fl->cx;
    Vars params = {0};
    vec_push(cx->perm, &params, var_new(cx, "a", type_prim(T_I64), loc));
    vec_push(cx->perm, &params, var_new(cx, "b", type_prim(T_I64), loc));
    Bld bl = bld_new(cx);
    Exp *sum = exp_binop(cx, loc, OP_ADD, atom_var(params.at[0]), atom_var(params.at[1]));
    Atoms res = {0};
    vec_push(cx->perm, &res, bld_exp(&bl, "sum", sum));
    return lambda_new(cx, params, bld_body(&bl, res));
}

/* 1 for each element of N that has the flag, reduced or scanned. */
static Atom sum_flags(Flat *fl, ExpKind kind, const MapNest *N, const Bld *code, Atom flag, Loc loc,
                      Bld *out)
{
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    vec_append(cx->perm, &bl.stms, &code->stms);
    Seg sg = {.kind = kind, .S = N, .op = plus_i64(fl, loc), .comm = true, .loc = loc};
    vec_push(cx->perm, &sg.res, bld_exp(&bl, "one", exp_conv(cx, loc, T_I64, flag)));
    vec_push(cx->perm, &sg.nes, atom_i64(0));
    sg.stms = bl.stms;
    Exp *e = seg_make(fl, &sg);
    return bind_one(fl, &host_nest, kind == E_SEGSCAN ? "upto" : "count", e, out);
}

Atom count_flags(Flat *fl, const MapNest *N, const Bld *bl, Atom flag, Loc loc, Bld *out)
{
    return sum_flags(fl, E_SEGRED, N, bl, flag, loc, out);
}

/* a, or nowhere */
static Atom place_if(Flat *fl, Atom cond, bool wanted, Atom a, Loc loc, Bld *bl)
{
    Bld none = bld_new(fl->cx), some = bld_new(fl->cx);
    Atoms here = {0}, nowhere = {0};
    vec_push(fl->cx->perm, &here, a);
    vec_push(fl->cx->perm, &nowhere, atom_i64(-1));
    Body *yes = bld_body(&some, here), *no = bld_body(&none, nowhere);
    return bld_exp(bl, "at", exp_if(fl->cx, loc, cond, wanted ? yes : no, wanted ? no : yes));
}

static Atom blank_array(Flat *fl, Atom n, Type row, const char *base, Loc loc, Bld *out)
{
    Exp *e = exp_new(fl->cx, E_SCRATCH, loc);
    e->scratch.type = type_array(fl->cx, row, n);
    Atom a = bld_exp(out, base, e);
    varset_add(fl->fresh, a.var);
    return a;
}

void part_places(Flat *fl, const MapNest *N, const Bld *bl, Atom flag, Subset *yes, Subset *no,
                 Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Atom width = N->dims.at[0].width, place = atom_var(N->dims.at[0].idx);
    Atom upto = sum_flags(fl, E_SEGSCAN, N, bl, flag, loc, out);
    no->n = bld_binop(out, loc, OP_SUB, width, yes->n);
    MapNest M = nest_copy(fl, N);
    Var *before = var_new(cx, "upto", type_prim(T_I64), loc);
    nest_extend(fl, &M, before, upto);
    Bld in = bld_new(cx);
    vec_append(cx->perm, &in.stms, &bl->stms);
    Atom with = bld_binop(&in, loc, OP_SUB, atom_var(before), atom_i64(1));
    Atom without = bld_binop(&in, loc, OP_SUB, place, atom_var(before));
    Seg sg = {.kind = E_SEGSCATTER, .S = &M, .loc = loc};
    vec_push(cx->perm, &sg.res, place_if(fl, flag, true, with, loc, &in));
    vec_push(cx->perm, &sg.res, place_if(fl, flag, false, without, loc, &in));
    vec_push(cx->perm, &sg.res, place);
    vec_push(cx->perm, &sg.res, place);
    sg.stms = in.stms;
    Type i64 = type_prim(T_I64);
    vec_push(cx->perm, &sg.dests, (Dest){blank_array(fl, yes->n, i64, "yes", loc, out), 1});
    vec_push(cx->perm, &sg.dests, (Dest){blank_array(fl, no->n, i64, "no", loc, out), 1});
    Atoms parts = bld_exps(out, "part", seg_make(fl, &sg));
    yes->which = parts.at[0];
    no->which = parts.at[1];
}

/* --- Rows ----------------------------------------------------------------------------------- */

Atoms blank_rows(Flat *fl, Atom rows, const Vars *pat, Loc loc, Bld *out)
{
    Atoms r = {0};
    for (int k = 0; k < pat->n; k++) {
        Atom a = blank_array(fl, rows, pat->at[k]->type, plural(fl, pat->at[k]->base, 1), loc, out);
        vec_push(fl->cx->perm, &r, a);
    }
    return r;
}

/* All numbers in one construct. */
static void put_numbers(Flat *fl, const MapNest *N, Atom at, const Atoms *vals, Atoms *dests,
                        Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Seg sg = {.kind = E_SEGSCATTER, .S = N, .loc = loc};
    Atoms numbers = {0};
    for (int k = 0; k < vals->n; k++) {
        if (atom_type(vals->at[k]).rank > 0)
            continue;
        vec_push(cx->perm, &numbers, vals->at[k]);
        vec_push(cx->perm, &sg.res, at);
        vec_push(cx->perm, &sg.dests, (Dest){dests->at[k], 1});
    }
    if (numbers.n == 0)
        return;
    vec_append(cx->perm, &sg.res, &numbers);
    Atoms made = bld_exps(out, "put", seg_make(fl, &sg));
    for (int k = 0, m = 0; k < vals->n; k++)
        if (atom_type(vals->at[k]).rank == 0)
            dests->at[k] = made.at[m++];
}

static Atom put_array(Flat *fl, const MapNest *N, Atom at, Atom val, Atom dest, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Type t = atom_type(val);
    MapNest M = nest_copy(fl, N);
    Atoms ix = {0};
    Seg sg = {.kind = E_SEGSCATTER, .S = &M, .loc = loc};
    vec_push(cx->perm, &sg.res, at);
    for (int d = 0; d < t.rank; d++) {
        M = nest_push(fl, &M, t.dims[d], NULL, NULL);
        vec_push(cx->perm, &ix, atom_var(vec_last(&M.dims).idx));
    }
    vec_append(cx->perm, &sg.res, &ix);
    Bld bl = bld_new(cx);
    vec_push(cx->perm, &sg.res, bld_exp(&bl, "x", exp_index(cx, loc, val, ix.at, ix.n, true)));
    sg.stms = bl.stms;
    vec_push(cx->perm, &sg.dests, (Dest){dest, 1 + t.rank});
    return bld_exp(out, "put", seg_make(fl, &sg));
}

void put_rows(Flat *fl, const MapNest *N, Atom at, const Atoms *vals, Atoms *dests, Loc loc,
              Bld *out)
{
    put_numbers(fl, N, at, vals, dests, loc, out);
    for (int k = 0; k < vals->n; k++)
        if (atom_type(vals->at[k]).rank > 0)
            dests->at[k] = put_array(fl, N, at, vals->at[k], dests->at[k], loc, out);
}

static Atom reshaped(Flat *fl, Atom arr, const Atoms *outer, int drop, Loc loc, Bld *out)
{
    Exp *e = exp_new(fl->cx, E_RESHAPE, loc);
    Type t = type_drop(atom_type(arr), drop);
    e->reshape.arr = arr;
    vec_append(fl->cx->perm, &e->reshape.dims, outer);
    for (int d = 0; d < t.rank; d++)
        vec_push(fl->cx->perm, &e->reshape.dims, t.dims[d]);
    return bld_exp(out, arr.var->base, e);
}

Atom flat_rows(Flat *fl, Atom arr, int outer, Atom rows, Loc loc, Bld *out)
{
    Atoms dims = {0};
    vec_push(fl->cx->perm, &dims, rows);
    return reshaped(fl, arr, &dims, outer, loc, out);
}

Atom shape_rows(Flat *fl, const MapNest *S, Atom rows, Loc loc, Bld *out)
{
    Atoms widths = nest_widths(fl, S);
    return S->dims.n == 1 ? rows : reshaped(fl, rows, &widths, 1, loc, out);
}
