/* Rule G13: filters under S.
 *
 * The frontend makes a filter of a scan that counts the elements that are kept, and a scatter that
 * writes these to the places so found. Under S the counts go on from row to row: so those that are
 * kept lie in one array, one behind the other, and each row begins where as many were kept before.
 *
 *     S |- filter p xs, of w      =>  let (count, flag) = segscan^1 <x in all xs> (+) 0 (p x)
 *                                     let (data, offs)  = segscatter^1 <flag, count, x in ..>
 *                                           into scratch, replicate (rows+1) 0
 *                                           at count - 1, where flag;  row + 1, at the row's end
 *
 * One launch does both where devices can (host_scan.c). Each row's part is a view of data, whose
 * length is a width with offsets that are there: rule G10 goes on with it. Where w varies, rows
 * begin at offsets of their own, at which it is looked up how many were kept before. */
#include "flatten/rules.h"

/* --- Which filters --------------------------------------------------------------------------- */

static bool any_consumed(const Flat *fl, const Atoms *as)
{
    for (int k = 0; k < as->n; k++)
        if (is_consumed(fl, as->at[k]))
            return true;
    return false;
}

static bool pat_is_consumed(const Flat *fl, const Vars *pat)
{
    for (int k = 0; k < pat->n; k++)
        if (is_consumed(fl, atom_var(pat->at[k])))
            return true;
    return false;
}

/* What the scatter needs is there where the scan is, but for the scan and the memory. */
static bool can_come_early(Flat *fl, const Body *b, const Kept *k)
{
    VarSet *used = varmap_new(fl->cx->perm);
    free_in_stm(used, k->scatter);
    for (int i = 0; i < k->scatter->exp->soac.dests.n; i++)
        varmap_del(used, k->scatter->exp->soac.dests.at[i].arr.var);
    for (int i = k->from + 1; i < k->to; i++)
        if (binds_any(&b->stms.at[i], used))
            return false;
    return true;
}

bool filter_begins(Flat *fl, VarSet *variant, const Body *b, int at, Kept *k)
{
    const Stm *s = &b->stms.at[at];
    const Exp *e = s->exp;
    if (fl->level != 1 || e->kind != E_SCANOMAP || !kept_find(fl->cx, fl->defs, b, at, k) ||
        (stm_par(fl, variant, s) == 0 && !soac_is_ragged(fl, variant, s)))
        return false;
    const Stm *scatter = k->scatter;
    return !any_consumed(fl, &e->soac.arrs) && !pat_is_consumed(fl, &s->pat) &&
           !any_consumed(fl, &scatter->exp->soac.arrs) && !pat_is_consumed(fl, &scatter->pat) &&
           elements_are_regular(variant, scatter) && can_come_early(fl, b, k);
}

/* --- All points ----------------------------------------------------------------------------- */

static const MapNest host_nest;

typedef struct {
    Flat *fl;
    MapNest *S;
    const Kept *k;
    Atom rows, width, points;
    Atom some, last; /* the width, where there are points; the number of a row's last one */
    bool varies;     /* the width does: these are the rows, and the row of each point, */
    Ragged own;
    Atom row_of; /* as an array, where it was needed */
    Atoms scanned;
    Bld *out;
    Loc loc;
} Filter;

static void name(Bld *bl, Var *v, Exp *e)
{
    Stm s = {.exp = e};
    vec_push(bl->cx->perm, &s.pat, v);
    bld_stm(bl, s);
}

/* Does arr lie in memory as it is indexed? */
static bool is_plain_array(const Flat *fl, Atom arr)
{
    const Exp *e = def_of(fl, arr);
    return !e || !exp_is(e, F_VIEW) ||
           ((e->kind == E_RESHAPE || e->kind == E_ATOM) && is_plain_array(fl, exp_view_of(e)));
}

/* The array of all elements that arr has for elements of S, one behind the other, without a
 * question which row one is of; not a variable: there is none. */
static Atom flat_of(Filter *f, Atom arr)
{
    Chain c;
    if (!nest_chain(f->S, arr, &c) || !chain_is_full(f->S, &c) || !is_plain_array(f->fl, c.root))
        return (Atom){0};
    Exp *flat = exp_new(f->fl->cx, E_RESHAPE, f->loc);
    flat->reshape.arr = c.root;
    vec_push(f->fl->cx->perm, &flat->reshape.dims, f->points);
    Type t = atom_type(arr);
    for (int d = 1; d < t.rank; d++)
        vec_push(f->fl->cx->perm, &flat->reshape.dims, t.dims[d]);
    return bld_exp(f->out, plural(f->fl, arr.var->base, 1), flat);
}

/* Binds those of e's parameters to the scan's results that are elements of them; *rest: e with the
 * others alone. */
static void bind_scanned(Filter *f, MapDim *d, const Exp *e, Exp *rest, Vars *params)
{
    Ctx *cx = f->fl->cx;
    *rest = *e;
    rest->soac.arrs = (Atoms){0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom arr = e->soac.arrs.at[k];
        int r = f->scanned.n ? vars_find(&f->k->scan->pat, arr.var) : -1;
        if (r >= 0) {
            vec_push(cx->perm, &d->xs, e->soac.fn->params.at[k]);
            vec_push(cx->perm, &d->arrs, f->scanned.at[r]);
        } else {
            vec_push(cx->perm, &rest->soac.arrs, arr);
            vec_push(cx->perm, params, e->soac.fn->params.at[k]);
        }
    }
}

/* <p < points> where rows have widths of their own: a nest that is not ragged, so that the scan
 * goes on from row to row. Mostly nobody asks which row a point is of, and the array is not made.
 */
static MapNest points_of_rows(Filter *f, const Exp *e)
{
    Flat *fl = f->fl;
    Exp rest;
    Vars params = {0};
    MapDim scanned = {0};
    bind_scanned(f, &scanned, e, &rest, &params);
    MapNest P = points_of(fl, f->S, &rest, &params, &f->own);
    MapDim *d = &P.dims.at[0];
    Bld bl = bld_new(fl->cx);
    if (!f->row_of.var)
        f->row_of = expand_atom(fl, &P, atom_var(d->row), "row", f->loc, f->out);
    Atom p = atom_var(d->idx);
    name(&bl, d->row, exp_index(fl->cx, f->loc, f->row_of, &p, 1, true));
    vec_append(fl->cx->perm, &bl.stms, &d->pre);
    d->pre = bl.stms;
    d->xs = scanned.xs;
    d->arrs = scanned.arrs;
    d->row = NULL;
    d->rows = d->offs = (Atom){0};
    return P;
}

/* <p < points>, with what S binds for the point's row, and e's parameters. *end: the number of the
 * row behind it for the row's last point, else -1; NULL: not asked. */
static MapNest points_of_all(Filter *f, const Exp *e, Atom *end)
{
    Flat *fl = f->fl;
    Ctx *cx = fl->cx;
    MapNest P = nest_push(fl, &host_nest, f->points, NULL, NULL);
    MapDim *d = &P.dims.at[0];
    Exp rest;
    Vars params = {0};
    Bld bl = bld_new(cx);
    Atom p = atom_var(d->idx);
    Atom row = bld_exp(&bl, "row", exp_binop(cx, f->loc, OP_QUOT, p, f->some));
    Atom begin = bld_binop(&bl, f->loc, OP_MUL, row, f->width);
    Atom j = bld_binop(&bl, f->loc, OP_SUB, p, begin);
    define_row(fl, f->S, row, f->loc, &bl);
    bind_scanned(f, d, e, &rest, &params);
    for (int k = 0; k < params.n; k++) {
        Atom arr = rest.soac.arrs.at[k], all = flat_of(f, arr);
        Var *x = params.at[k];
        if (all.var) {
            vec_push(cx->perm, &d->xs, x);
            vec_push(cx->perm, &d->arrs, all);
        } else {
            name(&bl, x, exp_atom(cx, f->loc, element_at(fl, arr, x, j, &bl)));
        }
    }
    if (end) {
        Atom is_end = bld_exp(&bl, "is_end", exp_binop(cx, f->loc, OP_EQ, j, f->last));
        Atom once = bld_exp(&bl, "once", exp_conv(cx, f->loc, T_I64, is_end));
        Atom next = bld_binop(&bl, f->loc, OP_ADD, row, atom_i64(2));
        Atom place = bld_binop(&bl, f->loc, OP_MUL, once, next);
        *end = bld_binop(&bl, f->loc, OP_SUB, place, atom_i64(1));
    }
    d->pre = bl.stms;
    return P;
}

/* --- The constructs ------------------------------------------------------------------------- */

static Atom blank(Filter *f, const Var *like)
{
    Exp *e = exp_new(f->fl->cx, E_SCRATCH, f->loc);
    e->scratch.type = type_array_n(f->fl->cx, type_row(like->type), &f->points, 1);
    return bld_exp(f->out, plural(f->fl, like->base, 1), e);
}

/* The scatter's results for all points, and the rows' offsets behind them, if they are asked for.
 */
static Atoms write_kept(Filter *f, Atom offs)
{
    Flat *fl = f->fl;
    Ctx *cx = fl->cx;
    const Exp *e = f->k->scatter->exp;
    const Body *b = e->soac.fn->body;
    int n = e->soac.dests.n;
    Atom end, count = {0};
    MapNest P = f->varies ? points_of_rows(f, e) : points_of_all(f, e, &end);
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (e->soac.arrs.at[k].var == f->k->scan->pat.at[0])
            count = atom_var(e->soac.fn->params.at[k]);
    Seg sg = {.kind = E_SEGSCATTER, .S = &P, .stms = b->stms, .loc = f->loc};
    for (int k = 0; k < n; k++) {
        vec_push(cx->perm, &sg.res, b->res.at[k]);
        vec_push(cx->perm, &sg.dests, (Dest){blank(f, f->k->scatter->pat.at[k]), 1});
    }
    Vars names = {0};
    vec_append(cx->perm, &names, &f->k->scatter->pat);
    if (offs.var) {
        vec_push(cx->perm, &sg.res, end);
        vec_push(cx->perm, &sg.dests, (Dest){offs, 1});
        vec_push(cx->perm, &names, offs.var);
    }
    for (int k = 0; k < n; k++)
        vec_push(cx->perm, &sg.res, b->res.at[n + k]);
    if (offs.var)
        vec_push(cx->perm, &sg.res, count);
    return bind_fresh(fl, &P, &names, seg_make(fl, &sg), f->out);
}

/* Where rows have widths of their own: so many are kept before each of them, and before the end. */
static Atom look_up_offsets(Filter *f, Atom ends)
{
    Flat *fl = f->fl;
    Ctx *cx = fl->cx;
    MapNest H = nest_push(fl, &host_nest, ends, NULL, NULL);
    Bld bl = bld_new(cx), some = bld_new(cx), none = bld_new(cx);
    Atom q = atom_var(H.dims.at[0].idx), zero = atom_i64(0);
    Atom at = bld_exp(&bl, "at", exp_index(cx, f->loc, f->own.offs, &q, 1, true));
    Atom first = bld_exp(&bl, "first", exp_index(cx, f->loc, f->own.offs, &zero, 1, true));
    at = bld_binop(&bl, f->loc, OP_SUB, at, first);
    Atom before = bld_binop(&some, f->loc, OP_SUB, at, atom_i64(1));
    Atoms count = {0}, nothing = {0};
    vec_push(cx->perm, &nothing, zero);
    vec_push(cx->perm, &count,
             bld_exp(&some, "count", exp_index(cx, f->loc, f->scanned.at[0], &before, 1, true)));
    Body *then_ = bld_body(&none, nothing), *else_ = bld_body(&some, count);
    Atom empty = bld_exp(&bl, "empty", exp_binop(cx, f->loc, OP_EQ, at, zero));
    Seg sg = {.kind = E_SEGMAP, .S = &H, .loc = f->loc};
    vec_push(cx->perm, &sg.res, bld_exp(&bl, "count", exp_if(cx, f->loc, empty, then_, else_)));
    sg.stms = bl.stms;
    return bind_one(fl, &host_nest, "offs", seg_make(fl, &sg), f->out);
}

/* --- What S knows afterwards ---------------------------------------------------------------- */

/* The first w from the row's offset on: the row's own are in front, as many as its count says, and
 * all lie in data, since no row before has more. */
static void know_kept(Filter *f, Var *v, Atom data, Atom begin, Bld *bl)
{
    Ctx *cx = f->fl->cx;
    Exp *part = exp_new(cx, E_INDEX, f->loc);
    part->index.arr = data;
    part->index.safe = true;
    DimIndex own = {.is_slice = true, .start = begin, .n = f->width, .stride = atom_i64(1)};
    vec_push(cx->perm, &part->index.at, own);
    for (int d = 1; d < v->type.rank; d++) {
        DimIndex whole = {true, atom_i64(0), v->type.dims[d], atom_i64(1)};
        vec_push(cx->perm, &part->index.at, whole);
    }
    name(bl, v, part);
}

static void know_counts(Filter *f, Atom offs, Atom begin, Bld *bl)
{
    Ctx *cx = f->fl->cx;
    Atom row = own_row(f->S, f->loc, bl);
    Atom next = bld_binop(bl, f->loc, OP_ADD, row, atom_i64(1));
    Atom end = bld_exp(bl, "end", exp_index(cx, f->loc, offs, &next, 1, true));
    Vars counts = varset_list(cx->perm, f->k->counts);
    for (int i = 0; i < counts.n; i++) {
        Ragged r = {.width = counts.at[i], .rows = f->rows, .offs = offs};
        name(bl, counts.at[i], exp_binop(cx, f->loc, OP_SUB, end, begin));
        vec_push(cx->perm, &f->S->ragged, r);
    }
}

/* What the scan maps out and others use, too: row for row. */
static void know_mapped(Filter *f)
{
    Ctx *cx = f->fl->cx;
    const Vars *pat = &f->k->scan->pat;
    for (int j = 1; j < pat->n; j++) {
        if (!varset_has(f->k->elsewhere, pat->at[j]))
            continue;
        if (f->varies) {
            know_row(f->fl, f->S, pat->at[j], f->scanned.at[j], f->width, &f->own, f->loc);
            continue;
        }
        Exp *rows = exp_new(cx, E_RESHAPE, f->loc);
        rows->reshape.arr = f->scanned.at[j];
        rows->reshape.dims = nest_widths(f->fl, f->S);
        for (int d = 0; d < pat->at[j]->type.rank; d++)
            vec_push(cx->perm, &rows->reshape.dims, pat->at[j]->type.dims[d]);
        nest_extend(f->fl, f->S, pat->at[j], bld_exp(f->out, pat->at[j]->base, rows));
    }
}

static void know(Filter *f, const Atoms *made, Atom offs)
{
    const Vars *pat = &f->k->scatter->pat;
    Bld bl = bld_new(f->fl->cx);
    know_mapped(f);
    Atom row = own_row(f->S, f->loc, &bl);
    Atom begin = bld_exp(&bl, "begin", exp_index(f->fl->cx, f->loc, offs, &row, 1, true));
    know_counts(f, offs, begin, &bl);
    for (int k = 0; k < pat->n; k++)
        know_kept(f, pat->at[k], made->at[k], begin, &bl);
    vec_append(f->fl->cx->perm, &vec_last(&f->S->dims).pre, &bl.stms);
}

/* --- The rule ------------------------------------------------------------------------------- */

/* Rule G13: a filter of width w under S is one of all points, of which each row has its part. */
void rule_g13(Flat *fl, MapNest *S, const Kept *k, bool varies, Bld *out)
{
    const Exp *e = k->scan->exp;
    Loc loc = e->loc;
    Filter f = {.fl = fl, .S = S, .k = k, .width = e->soac.width, .out = out, .loc = loc};
    log_rule(fl, "G13", S, e, "a filter of all points, rows one behind the other");
    Atom offs = {0};
    f.varies = varies;
    if (varies) {
        f.own = ragged_of(fl, S, f.width, loc, out);
        f.rows = f.own.rows;
    } else {
        keep_rows(fl, S, out);
        f.rows = par_of_nest(fl, S, out);
        f.points = bld_binop(out, loc, OP_MUL, f.rows, f.width);
        f.some = bld_binop(out, loc, OP_MAX, f.width, atom_i64(1));
        f.last = bld_binop(out, loc, OP_SUB, f.width, atom_i64(1));
    }
    Atom ends = bld_binop(out, loc, OP_ADD, f.rows, atom_i64(1));
    if (!varies)
        offs = bld_exp(out, "offs", exp_replicate(fl->cx, loc, ends, atom_i64(0)));
    else
        f.points = f.own.points;
    MapNest P = varies ? points_of_rows(&f, e) : points_of_all(&f, e, NULL);
    f.scanned =
        bind_fresh(fl, &P, &k->scan->pat, reduce_construct(fl, &P, e->soac.fn->body, e), out);
    Atoms made = write_kept(&f, offs);
    know(&f, &made, varies ? look_up_offsets(&f, ends) : made.at[k->scatter->pat.n]);
}
