/* Rows: arrays that are of another size for each element of a nest, as loops carry them from turn
 * to turn (varying.c). Those of all elements lie one behind the other in `data`, which may have
 * room for more; the offsets begin at 0.
 *
 *     offs: [n+1]i64, data: [room]t      the row of element e: data[offs[e]:offs[e+1]]
 *
 * Where some elements of a nest leave, what they have is put on a shelf, behind what is there. It
 * grows to twice what it has to hold, so that each row is moved a few times at most, and at the end
 * its rows are brought into the order of the nest's elements. */
#include "flatten/rules.h"

static const MapNest host_nest;

static Exp *part_of(Flat *fl, Atom arr, Atom begin, Atom n, Loc loc)
{
    Exp *e = exp_new(fl->cx, E_INDEX, loc);
    Type t = atom_type(arr);
    e->index.arr = arr;
    e->index.safe = true;
    vec_push(fl->cx->perm, &e->index.at, (DimIndex){true, begin, n, atom_i64(1)});
    for (int d = 1; d < t.rank; d++)
        vec_push(fl->cx->perm, &e->index.at, (DimIndex){true, atom_i64(0), t.dims[d], atom_i64(1)});
    return e;
}

/* --- Sizes ---------------------------------------------------------------------------------- */

static bool varies_in(Flat *fl, const MapNest *S, Atom a)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    return atom_variant(variant, a);
}

/* Rows of equal length. */
static Ragged equal_sizes(Flat *fl, const MapNest *S, Atom width, Loc loc, Bld *out)
{
    Ragged r = {.width = width.var, .rows = par_of_nest(fl, S, out)};
    Exp *iota = exp_new(fl->cx, E_IOTA, loc);
    iota->iota.n = bld_binop(out, loc, OP_ADD, r.rows, atom_i64(1));
    iota->iota.start = atom_i64(0);
    iota->iota.stride = bld_binop(out, loc, OP_MAX, width, atom_i64(0));
    r.offs = bld_exp(out, "offs", iota);
    r.points = bld_binop(out, loc, OP_MUL, r.rows, iota->iota.stride);
    return r;
}

/* The offsets of the source, less the first one. */
static Atom from_zero(Flat *fl, const Ragged *r, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Atom ends = bld_binop(out, loc, OP_ADD, r->rows, atom_i64(1)), zero = atom_i64(0);
    MapNest H = nest_push(fl, &host_nest, ends, NULL, NULL);
    Bld bl = bld_new(cx);
    Atom q = atom_var(H.dims.at[0].idx);
    Atom at = bld_exp(&bl, "at", exp_index(cx, loc, r->offs, &q, 1, true));
    Atom first = bld_exp(&bl, "first", exp_index(cx, loc, r->offs, &zero, 1, true));
    Seg sg = {.kind = E_SEGMAP, .S = &H, .loc = loc};
    vec_push(cx->perm, &sg.res, bld_binop(&bl, loc, OP_SUB, at, first));
    sg.stms = bl.stms;
    return bind_one(fl, &host_nest, "offs", seg_make(fl, &sg), out);
}

Ragged carried_sizes(Flat *fl, MapNest *S, Atom width, Loc loc, Bld *out)
{
    if (!varies_in(fl, S, width))
        return equal_sizes(fl, S, width, loc, out);
    Ragged r = ragged_of(fl, S, width, loc, out);
    if (r.from.var) {
        r.offs = from_zero(fl, &r, loc, out);
        r.from = (Atom){0};
    }
    return r;
}

void know_sizes(Flat *fl, MapNest *S, Var *width, Ragged r, Loc loc)
{
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    Atom row = own_row(S, loc, &bl);
    Atom next = bld_binop(&bl, loc, OP_ADD, row, atom_i64(1));
    Atom begin = bld_exp(&bl, "begin", exp_index(cx, loc, r.offs, &row, 1, true));
    Atom end = bld_exp(&bl, "end", exp_index(cx, loc, r.offs, &next, 1, true));
    bld_define(&bl, width, exp_binop(cx, loc, OP_SUB, end, begin));
    vec_append(cx->perm, &vec_last(&S->dims).pre, &bl.stms);
    r.width = width;
    vec_push(cx->perm, &S->ragged, r);
}

/* --- Data ----------------------------------------------------------------------------------- */

Atom view_of_row(Flat *fl, Atom data, const char *base, Atom begin, Atom width, Loc loc, Bld *bl)
{
    return bld_exp(bl, base, part_of(fl, data, begin, width, loc));
}

static const Exp *defined_in(const Stms *pre, Atom a)
{
    for (int i = pre->n - 1; i >= 0; i--)
        if (pre->at[i].pat.n == 1 && pre->at[i].pat.at[0] == a.var)
            return pre->at[i].exp;
    return NULL;
}

/* Is e all that begins at `start`, in the first dimension, of what it is a part of? */
static bool takes_rows(const Exp *e)
{
    if (e->kind != E_INDEX || !e->index.safe)
        return false;
    Type t = atom_type(e->index.arr);
    if (e->index.at.n != t.rank)
        return false;
    for (int d = 0; d < t.rank; d++) {
        const DimIndex *part = &e->index.at.at[d];
        if (!part->is_slice || !atom_is_int(part->stride, 1) ||
            (d > 0 && (!atom_is_int(part->start, 0) || !atom_eq(part->n, t.dims[d]))))
            return false;
    }
    return true;
}

/* Is arr, in each element of S, its row of one array by these offsets? */
static bool lies_in_rows(const MapNest *S, Atom arr, const Ragged *r, Atom *data)
{
    const Stms *pre = &vec_last(&S->dims).pre;
    const Exp *e = S->dims.n == 1 ? defined_in(pre, arr) : NULL;
    while (e) {
        if (e->kind == E_ATOM) {
            e = defined_in(pre, e->atom);
            continue;
        }
        if (!takes_rows(e))
            return false;
        Atom start = e->index.at.at[0].start;
        const Exp *begin = defined_in(pre, start), *of = defined_in(pre, e->index.arr);
        *data = e->index.arr;
        if (begin)
            return !of && begin->kind == E_INDEX && begin->index.arr.var == r->offs.var &&
                   begin->index.at.at[0].start.var == S->dims.at[0].idx;
        e = atom_is_int(start, 0) ? of : NULL;
    }
    return false;
}

Atom carried_data(Flat *fl, MapNest *S, Atom arr, const Ragged *r, Loc loc, Bld *out)
{
    Atom data;
    if (lies_in_rows(S, arr, r, &data))
        return data;
    if (!varies_in(fl, S, atom_type(arr).dims[0])) {
        Atom all = expand_atom(fl, S, arr, "data", loc, out);
        return flat_rows(fl, all, S->dims.n + 1, r->points, loc, out);
    }
    Exp from = {.kind = E_MAP, .loc = loc};
    Vars params = {0};
    vec_push(fl->cx->perm, &from.soac.arrs, arr);
    vec_push(fl->cx->perm, &params, var_new(fl->cx, arr.var->base, type_row(atom_type(arr)), loc));
    MapNest P = points_of(fl, S, &from, &params, r);
    return expand_atom(fl, &P, atom_var(params.at[0]), "data", loc, out);
}

/* --- Shelves -------------------------------------------------------------------------------- */

static Atom blank_numbers(Flat *fl, Atom n, const char *base, Loc loc, Bld *out)
{
    Vars like = {0};
    vec_push(fl->cx->perm, &like, var_new(fl->cx, base, type_prim(T_I64), loc));
    return blank_rows(fl, n, &like, loc, out).at[0];
}

Shelf shelf_of(Flat *fl, Atom rows, Loc loc, Bld *out)
{
    Shelf sh = {.used = atom_i64(0), .room = atom_i64(0)};
    sh.starts = blank_numbers(fl, rows, "start", loc, out);
    sh.widths = blank_numbers(fl, rows, "width", loc, out);
    return sh;
}

Atom shelf_blank(Flat *fl, Atom room, const Var *like, Loc loc, Bld *out)
{
    Vars one = {0};
    vec_push(fl->cx->perm, &one, var_new(fl->cx, like->base, type_row(like->type), loc));
    return blank_rows(fl, room, &one, loc, out).at[0];
}

/* data's first ones, in front of new memory. */
static Atom with_more_room(Flat *fl, Atom data, Atom used, Atom room, Loc loc, Bld *bl)
{
    Atom more = shelf_blank(fl, room, data.var, loc, bl);
    Exp *up = exp_new(fl->cx, E_UPDATE, loc);
    Atom old = bld_exp(bl, "old", part_of(fl, data, atom_i64(0), used, loc));
    up->update.arr = more;
    up->update.at = part_of(fl, more, atom_i64(0), used, loc)->index.at;
    up->update.val = old;
    up->update.safe = true;
    return bld_exp(bl, "more", up);
}

static void make_room(Flat *fl, Shelf *sh, Atom total, Atoms *data, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Bld there = bld_new(cx), grown = bld_new(cx);
    Atoms as_is = {0}, more = {0};
    Atom fits = bld_exp(out, "fits", exp_binop(cx, loc, OP_LE, total, sh->room));
    Atom room = bld_binop(&grown, loc, OP_MUL, total, atom_i64(2));
    vec_push(cx->perm, &as_is, sh->room);
    vec_push(cx->perm, &more, room);
    for (int k = 0; k < data->n; k++) {
        vec_push(cx->perm, &as_is, data->at[k]);
        vec_push(cx->perm, &more, with_more_room(fl, data->at[k], sh->used, room, loc, &grown));
    }
    Exp *e = exp_if(cx, loc, fits, bld_body(&there, as_is), bld_body(&grown, more));
    Atoms made = bld_exps(out, "shelf", e);
    sh->room = made.at[0];
    for (int k = 0; k < data->n; k++)
        data->at[k] = made.at[1 + k];
}

void shelve_rows(Flat *fl, MapNest *N, Atom elem, Atom width, const Atoms *rows, Shelf *sh,
                 Atoms *data, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    const Ragged r = carried_sizes(fl, N, width, loc, out);
    Atom total = bld_binop(out, loc, OP_ADD, sh->used, r.points);
    make_room(fl, sh, total, data, loc, out);
    Exp from = {.kind = E_MAP, .loc = loc};
    Vars params = {0};
    for (int k = 0; k < rows->n; k++) {
        Var *row = rows->at[k].var;
        vec_push(cx->perm, &from.soac.arrs, rows->at[k]);
        vec_push(cx->perm, &params, var_new(cx, row->base, type_row(row->type), loc));
    }
    MapNest P = points_of(fl, N, &from, &params, &r);
    Bld place = bld_new(cx);
    Atom at = bld_binop(&place, loc, OP_ADD, sh->used, atom_var(P.dims.at[0].idx));
    vec_append(cx->perm, &P.dims.at[0].pre, &place.stms);
    Atoms points = atoms_of_vars(cx, &params);
    put_rows(fl, &P, at, &points, data, loc, out);

    MapNest M = nest_copy(fl, N);
    Bld bl = bld_new(cx);
    Atoms vals = {0}, to = {0};
    Atom row = own_row(&M, loc, &bl);
    Atom begin = bld_exp(&bl, "begin", exp_index(cx, loc, r.offs, &row, 1, true));
    vec_push(cx->perm, &vals, bld_binop(&bl, loc, OP_ADD, sh->used, begin));
    vec_push(cx->perm, &vals, width);
    vec_push(cx->perm, &to, sh->starts);
    vec_push(cx->perm, &to, sh->widths);
    vec_append(cx->perm, &vec_last(&M.dims).pre, &bl.stms);
    put_rows(fl, &M, elem, &vals, &to, loc, out);
    sh->starts = to.at[0];
    sh->widths = to.at[1];
    sh->used = total;
}

Ragged shelf_in_order(Flat *fl, Atom rows, const Shelf *sh, Atoms *data, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Vars xs = {0};
    Atoms arrs = {0};
    vec_push(cx->perm, &xs, var_new(cx, "start", type_prim(T_I64), loc));
    vec_push(cx->perm, &xs, var_new(cx, "width", type_prim(T_I64), loc));
    vec_push(cx->perm, &arrs, sh->starts);
    vec_push(cx->perm, &arrs, sh->widths);
    MapNest H = nest_push(fl, &host_nest, rows, &xs, &arrs);
    Atom start = atom_var(xs.at[0]), width = atom_var(xs.at[1]);
    Bld bl = bld_new(cx);
    Atoms views = {0};
    for (int k = 0; k < data->n; k++)
        vec_push(cx->perm, &views,
                 view_of_row(fl, data->at[k], data->at[k].var->base, start, width, loc, &bl));
    H.dims.at[0].pre = bl.stms;
    const Ragged r = carried_sizes(fl, &H, width, loc, out);
    for (int k = 0; k < data->n; k++)
        data->at[k] = carried_data(fl, &H, views.at[k], &r, loc, out);
    return r;
}

/* --- What is given -------------------------------------------------------------------------- */

/* The number of the size of pat's v as a row; -1: it is none. */
static int given_size(const Vars *pat, const Given *g, const Var *v)
{
    for (int c = 0; c < g->sizes.n && v->type.rank > 0; c++) {
        const SizeGiven *size = &g->sizes.at[c];
        if (atom_eq(v->type.dims[0], size->at >= 0 ? atom_var(pat->at[size->at]) : size->width))
            return c;
    }
    return -1;
}

static bool is_given_size(const Given *g, int k)
{
    for (int c = 0; c < g->sizes.n; c++)
        if (g->sizes.at[c].at == k)
            return true;
    return false;
}

void know_given(Flat *fl, MapNest *S, const Vars *pat, const Given *g, Loc loc, Bld *out)
{
    for (int k = 0; k < pat->n; k++) {
        Var *v = pat->at[k];
        if (is_given_size(g, k) || given_size(pat, g, v) >= 0)
            continue;
        g->vals.at[k].var->base = plural(fl, v->base, S->dims.n);
        nest_extend(fl, S, v, shape_rows(fl, S, g->vals.at[k], loc, out));
    }
    for (int c = 0; c < g->sizes.n; c++)
        if (g->sizes.at[c].at >= 0)
            know_sizes(fl, S, pat->at[g->sizes.at[c].at], g->sizes.at[c].rows, loc);
    for (int k = 0; k < pat->n; k++) {
        Var *v = pat->at[k];
        int c = given_size(pat, g, v);
        if (c >= 0)
            know_row(fl, S, v, g->vals.at[k], v->type.dims[0], &g->sizes.at[c].rows, loc);
    }
}
