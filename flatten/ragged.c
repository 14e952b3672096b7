/* Rule G10: SOACs whose width varies with the nest around them.
 *
 * Under S, for each of whose elements (the rows) the SOAC has another width, its points become one
 * ragged dimension (NestDim), which is all of the nest: what S binds is known by the row. The
 * offsets of the rows are a scan of the widths.
 *
 *     S |- reduce (+) 0 (map f (iota w))  =>  let ws   = segmap^1 S w
 *                                             let offs = segscan^1 <q < rows+1> (+) 0 (ws before q)
 *                                             in segred^1 <p < points; row < rows by offs> (+) 0
 *                                                  (let x.. = elements of S number row
 *                                                   in f (p - offs[row]))
 *
 * Results of a map or scan are ragged arrays: the points of all rows one behind the other, of which
 * each element of S knows its own as a view, a slice that begins at the row's offset. */
#include "flatten/rules.h"

/* --- Questions ------------------------------------------------------------------------------ */

bool body_is_ragged(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    return is_ragged_within(fl, variant, b);
}

/* --- Offsets -------------------------------------------------------------------------------- */

static const MapNest host_nest;

static Body *giving(Flat *fl, Bld *bl, Atom a)
{
    Atoms res = {0};
    vec_push(fl->cx->perm, &res, a);
    return bld_body(bl, res);
}

/* What lies before row q: 0, or the width of the row before it. */
static Atom width_before(Flat *fl, Atom widths, Atom q, Loc loc, Bld *bl)
{
    Ctx *cx = fl->cx;
    Bld none = bld_new(cx), some = bld_new(cx);
    Atom first = bld_exp(bl, "first", exp_binop(cx, loc, OP_EQ, q, atom_i64(0)));
    Atom before = bld_binop(&some, loc, OP_SUB, q, atom_i64(1));
    Atom w = bld_exp(&some, "w", exp_index(cx, loc, widths, &before, 1, true));
    w = bld_exp(&some, "w", exp_binop(cx, loc, OP_MAX, w, atom_i64(0)));
    Body *then_ = giving(fl, &none, atom_i64(0)), *else_ = giving(fl, &some, w);
    return bld_exp(bl, "w", exp_if(cx, loc, first, then_, else_));
}

/* [rows + 1]i64: where each row begins, and the end of the last one. A width below 0 fails where it
 * is computed; here it counts as 0. */
static Atom offsets_of(Flat *fl, Atom widths, Atom rows, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Atom ends = bld_binop(out, loc, OP_ADD, rows, atom_i64(1));
    MapNest H = nest_push(fl, &host_nest, ends, NULL, NULL);
    Bld bl = bld_new(cx);
    Seg sg = {.kind = E_SEGSCAN, .S = &H, .op = plus_i64(fl, loc), .comm = true, .loc = loc};
    vec_push(cx->perm, &sg.res, width_before(fl, widths, atom_var(H.dims.at[0].idx), loc, &bl));
    vec_push(cx->perm, &sg.nes, atom_i64(0));
    sg.stms = bl.stms;
    return bind_one(fl, &host_nest, "offs", seg_make(fl, &sg), out);
}

/* --- Offsets that are there ------------------------------------------------------------------- */

/* Is `a` the index of S, of one dimension? */
static bool is_index(const Flat *fl, const MapNest *S, Atom a)
{
    int d, k;
    if (a.var == S->dims.at[0].idx)
        return true;
    if (!a.var || !nest_find(S, a.var, &d, &k))
        return false;
    const Exp *e = def_of(fl, S->dims.at[d].arrs.at[k]);
    return e && e->kind == E_IOTA && atom_is_int(e->iota.start, 0) &&
           atom_is_int(e->iota.stride, 1) && atom_type(e->iota.start).elem == T_I64;
}

/* The place of array a's element that v is; NULL: it is none. */
static const Atom *element_of(const Flat *fl, Atom v, Atom *arr)
{
    const Exp *e = def_of(fl, v);
    if (!e || e->kind != E_INDEX || e->index.at.n != 1 || e->index.at.at[0].is_slice)
        return NULL;
    *arr = e->index.arr;
    return &e->index.at.at[0].start;
}

static bool is_next(const Flat *fl, Atom next, Atom i)
{
    const Exp *e = def_of(fl, next);
    return e && e->kind == E_PRIM && e->prim.op == OP_ADD &&
           ((atom_eq(e->prim.args.at[0], i) && atom_is_int(e->prim.args.at[1], 1)) ||
            (atom_eq(e->prim.args.at[1], i) && atom_is_int(e->prim.args.at[0], 1)));
}

/* Does it follow from the condition that from <= to, or that 0 <= width? */
static bool says_ordered(const Flat *fl, Atom cond, Atom from, Atom to, Atom width)
{
    const Exp *e = def_of(fl, cond);
    if (!e || e->kind != E_PRIM)
        return false;
    const Atom *x = e->prim.args.at;
    if (e->prim.op == OP_LAND)
        return says_ordered(fl, x[0], from, to, width) || says_ordered(fl, x[1], from, to, width);
    return e->prim.op == OP_LE && ((atom_eq(x[0], from) && atom_eq(x[1], to)) ||
                                   (atom_is_int(x[0], 0) && atom_eq(x[1], width)));
}

static bool is_asserted(const Flat *fl, Atom from, Atom to, Atom width)
{
    Vars conds = varset_list(fl->cx->perm, fl->asserted);
    for (int i = 0; i < conds.n; i++)
        if (says_ordered(fl, atom_var(conds.at[i]), from, to, width))
            return true;
    return false;
}

bool offsets_are_there(const Flat *fl, const MapNest *S, Atom width, Atom *offs, Atom *from)
{
    const Exp *e = def_of(fl, width);
    Atom later = {0};
    if (S->dims.n != 1 || S->dims.at[0].row || !e || e->kind != E_PRIM || e->prim.op != OP_SUB)
        return false;
    Atom to = e->prim.args.at[0];
    *from = e->prim.args.at[1];
    const Atom *i = element_of(fl, *from, offs), *next = element_of(fl, to, &later);
    VarSet *inside = varmap_new(fl->cx->perm);
    nest_vars(S, inside);
    return i && next && offs->var == later.var && is_index(fl, S, *i) && is_next(fl, *next, *i) &&
           !varset_has(inside, offs->var) && !varset_has(fl->overwritten, offs->var) &&
           is_asserted(fl, *from, to, width);
}

/* --- The nest of points --------------------------------------------------------------------- */

void keep_rows(Flat *fl, MapNest *S, Bld *out)
{
    MapDim *d = &S->dims.at[0];
    if (!d->row || d->rows_of.var)
        return;
    MapNest P = nest_push(fl, &host_nest, d->width, NULL, NULL);
    P.dims.at[0] = *d;
    d->rows_of = expand_atom(fl, &P, atom_var(d->row), "row", d->row->loc, out);
}

Atom own_row(const MapNest *S, Loc loc, Bld *bl)
{
    Atom row = atom_var(S->dims.at[0].idx);
    for (int d = 1; d < S->dims.n; d++) {
        row = bld_binop(bl, loc, OP_MUL, row, S->dims.at[d].width);
        row = bld_binop(bl, loc, OP_ADD, row, atom_var(S->dims.at[d].idx));
    }
    return row;
}

static Atom first_offset(Flat *fl, Atom offs, Loc loc, Bld *bl)
{
    Atom zero = atom_i64(0);
    return bld_exp(bl, "first", exp_index(fl->cx, loc, offs, &zero, 1, true));
}

/* The element of arr, numbers or a slice that begin where the row does, for which nobody needs to
 * know the row; not a variable: it is something else. */
static Atom element_from(Flat *fl, Atom arr, Atom from, const Var *p, Atom place, Bld *bl)
{
    const Exp *e = def_of(fl, arr);
    if (!from.var || !e || p->type.rank > 0)
        return (Atom){0};
    if (e->kind == E_IOTA && atom_eq(e->iota.start, from) && atom_is_int(e->iota.stride, 1) &&
        p->type.elem == T_I64)
        return place;
    if (e->kind != E_INDEX || !e->index.safe || e->index.at.n != 1 || !e->index.at.at[0].is_slice ||
        !atom_eq(e->index.at.at[0].start, from) || !atom_is_int(e->index.at.at[0].stride, 1) ||
        varset_has(fl->overwritten, e->index.arr.var))
        return (Atom){0};
    return bld_exp(bl, p->base, exp_index(fl->cx, e->loc, e->index.arr, &place, 1, true));
}

MapNest points_of(Flat *fl, const MapNest *S, const Exp *e, const Vars *params, const Ragged *r)
{
    Ctx *cx = fl->cx;
    MapNest P = nest_push(fl, &host_nest, r->points, NULL, NULL);
    MapDim *d = &P.dims.at[0];
    d->row = var_new(cx, "row", type_prim(T_I64), e->loc);
    d->rows = r->rows;
    d->offs = r->offs;
    Bld bl = bld_new(cx);
    Atom row = atom_var(d->row);
    define_row(fl, S, row, e->loc, &bl);
    Atom begin = bld_exp(&bl, "begin", exp_index(cx, e->loc, r->offs, &row, 1, true));
    Atom place = atom_var(d->idx); /* in the array of the offsets' points */
    if (r->from.var)
        place = bld_binop(&bl, e->loc, OP_ADD, place, first_offset(fl, r->offs, e->loc, &bl));
    Atom j = bld_binop(&bl, e->loc, OP_SUB, place, begin);
    for (int k = 0; k < params->n; k++) {
        Atom a = element_from(fl, e->soac.arrs.at[k], r->from, params->at[k], place, &bl);
        if (!a.var)
            a = element_at(fl, e->soac.arrs.at[k], params->at[k], j, &bl);
        bld_define(&bl, params->at[k], exp_atom(cx, e->loc, a));
    }
    d->pre = bl.stms;
    return P;
}

static Atom flat_widths(Flat *fl, const MapNest *S, Atom width, Atom rows, Loc loc, Bld *out)
{
    Atom ws = expand_atom(fl, S, width, "widths", loc, out);
    if (S->dims.n == 1)
        return ws;
    Exp *flat = exp_new(fl->cx, E_RESHAPE, loc);
    flat->reshape.arr = ws;
    vec_push(fl->cx->perm, &flat->reshape.dims, rows);
    return bld_exp(out, "widths", flat);
}

Ragged *known_ragged(MapNest *S, const Var *width)
{
    for (int i = 0; i < S->ragged.n; i++)
        if (S->ragged.at[i].width == width)
            return &S->ragged.at[i];
    return NULL;
}

static Atom points_at(Flat *fl, Atom offs, Atom rows, bool from_any, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    Atom points = bld_exp(out, "points", exp_index(cx, loc, offs, &rows, 1, true)),
         zero = atom_i64(0);
    if (!from_any)
        return points;
    Atom first = bld_exp(out, "first", exp_index(cx, loc, offs, &zero, 1, true));
    return bld_binop(out, loc, OP_SUB, points, first);
}

Ragged ragged_of(Flat *fl, MapNest *S, Atom width, Loc loc, Bld *out)
{
    Ragged *r = known_ragged(S, width.var);
    if (!r) {
        keep_rows(fl, S, out);
        vec_push(fl->cx->perm, &S->ragged, (Ragged){.width = width.var});
        r = &vec_last(&S->ragged);
        r->rows = par_of_nest(fl, S, out);
    }
    if (!r->offs.var && !offsets_are_there(fl, S, width, &r->offs, &r->from)) {
        if (!r->widths.var)
            r->widths = flat_widths(fl, S, width, r->rows, loc, out);
        r->from = r->offs = (Atom){0};
        r->offs = offsets_of(fl, r->widths, r->rows, loc, out);
    }
    if (!r->points.var)
        r->points = points_at(fl, r->offs, r->rows, r->from.var != NULL, loc, out);
    return *r;
}

/* --- How much there is ------------------------------------------------------------------------ */

/* The statements of b that `need` depends on, if they are plain; else false. */
static bool plain_code(Flat *fl, const Body *b, VarSet *need, Stms *code)
{
    *code = stms_live(fl->cx, &b->stms, need, false);
    for (int i = 0; i < code->n; i++)
        if (exp_has_soac(code->at[i].exp) || code->at[i].exp->kind == E_LOOP)
            return false;
    return true;
}

static bool width_is_plain(Flat *fl, const Body *b, Atom width)
{
    VarSet *need = varmap_new(fl->cx->perm);
    Stms code;
    varset_add(need, width.var);
    return plain_code(fl, b, need, &code);
}

/* The ragged SOACs of a body whose lengths are known before anything of it has run. Others, such as
 * what reads as many as a filter keeps, are mostly at most as long. */
typedef struct {
    Atoms widths;
    Stms branches; /* those that vary with the nest, each as a number: the widths in the side taken
                    */
} Lengths;

static Atom sum_of_lengths(Flat *fl, const Lengths *l, Loc loc, Bld *bl)
{
    Atom sum = atom_i64(0);
    for (int k = 0; k < l->widths.n; k++) {
        Exp *w = exp_binop(fl->cx, loc, OP_MAX, l->widths.at[k], atom_i64(0));
        sum = bld_binop(bl, loc, OP_ADD, sum, bld_exp(bl, "w", w));
    }
    for (int k = 0; k < l->branches.n; k++)
        sum = bld_binop(bl, loc, OP_ADD, sum, atom_var(l->branches.at[k].pat.at[0]));
    return sum;
}

static VarSet *needs_of(Flat *fl, const Lengths *l)
{
    VarSet *need = varmap_new(fl->cx->perm);
    for (int k = 0; k < l->widths.n; k++)
        varset_add(need, l->widths.at[k].var);
    for (int k = 0; k < l->branches.n; k++)
        free_in_stm(need, &l->branches.at[k]);
    return need;
}

static bool is_plain(Flat *fl, const Body *b, const Stm *s)
{
    VarSet *need = varmap_new(fl->cx->perm);
    Stms code;
    free_in_stm(need, s);
    return !exp_has_soac(s->exp) && s->exp->kind != E_LOOP && plain_code(fl, b, need, &code);
}

/* How many statements there are up to the last one that binds what is needed. */
static int needs_end(const Body *b, const VarSet *need)
{
    int n = b->stms.n;
    while (n > 0 && !binds_any(&b->stms.at[n - 1], need))
        n--;
    return n;
}

/* What is asserted before the widths may be what makes accesses safe on which they depend. */
static bool lengths_are_plain(Flat *fl, const Body *b, const Lengths *l)
{
    VarSet *need = needs_of(fl, l);
    Stms code;
    for (int i = needs_end(b, need) - 1; i >= 0; i--)
        if (b->stms.at[i].exp->kind == E_ASSERT && !is_plain(fl, b, &b->stms.at[i]))
            return false;
    return l->widths.n + l->branches.n > 0 && plain_code(fl, b, need, &code);
}

/* The code of b that gives the lengths, what may fail before that, and the assertions that need no
 * other than plain code; *rest: b without these. */
static Stms code_of_lengths(Flat *fl, const Body *b, const Lengths *l, Body **rest)
{
    Ctx *cx = fl->cx;
    VarSet *need = needs_of(fl, l);
    Bld left = bld_new(cx);
    Stms all = {0};
    int before = needs_end(b, need);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool asserts = s->exp->kind == E_ASSERT, plain = is_plain(fl, b, s);
        if (plain && (asserts || i < before)) {
            if (asserts || exp_traps(s->exp))
                free_in_stm(need, s);
            for (int k = 0; k < s->pat.n && exp_traps(s->exp); k++)
                varset_add(need, s->pat.at[k]);
        }
        if (!asserts || !plain)
            bld_stm(&left, *s);
        if (!asserts || plain)
            vec_push(cx->perm, &all, *s);
    }
    if (rest)
        *rest = bld_body(&left, b->res);
    all = stms_live(fl->cx, &all, need, true);
    vec_append(cx->perm, &all, &l->branches);
    return all;
}

static Lengths lengths_within(Flat *fl, VarSet *variant, const Body *b);

/* The sum of the widths in a side of a branch; 0, if it is not known; *some: it is. */
static Body *lengths_of_side(Flat *fl, VarSet *variant, const Body *b, Loc loc, bool *some)
{
    Bld bl = bld_new(fl->cx);
    Lengths l = lengths_within(fl, variant, b);
    if (!lengths_are_plain(fl, b, &l))
        return giving(fl, &bl, atom_i64(0));
    *some = true;
    bl.stms = code_of_lengths(fl, b, &l, NULL);
    return rename_body(fl->cx, giving(fl, &bl, sum_of_lengths(fl, &l, loc, &bl)));
}

/* What s, a branch of b, is as a number; of no pattern: it does not vary, or its lengths are not
 * known. */
static Stm lengths_of_branch(Flat *fl, VarSet *variant, const Body *b, const Stm *s)
{
    const Exp *e = s->exp;
    bool some = false;
    Stm n = {0};
    if (e->kind != E_IF || !atom_variant(variant, e->branch.test))
        return n;
    Body *then_ = lengths_of_side(fl, variant, e->branch.then_, e->loc, &some),
         *else_ = lengths_of_side(fl, variant, e->branch.else_, e->loc, &some);
    n.exp = exp_if(fl->cx, e->loc, e->branch.test, then_, else_);
    if (some && is_plain(fl, b, &n))
        vec_push(fl->cx->perm, &n.pat, var_new(fl->cx, "w", type_prim(T_I64), e->loc));
    return n;
}

static Lengths lengths_within(Flat *fl, VarSet *variant, const Body *b)
{
    Lengths l = {0};
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        Stm branch = lengths_of_branch(fl, variant, b, s);
        if (branch.pat.n > 0)
            vec_push(fl->cx->perm, &l.branches, branch);
        else if (soac_is_ragged(fl, variant, s) && width_is_plain(fl, b, s->exp->soac.width))
            vec_push(fl->cx->perm, &l.widths, s->exp->soac.width);
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
    }
    return l;
}

static Lengths lengths_of(Flat *fl, const MapNest *S, const Body *b)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    return lengths_within(fl, variant, b);
}

bool extent_is_plain(Flat *fl, const MapNest *S, const Body *b)
{
    Lengths l = lengths_of(fl, S, b);
    return lengths_are_plain(fl, b, &l);
}

bool extent_is_known(Flat *fl, const MapNest *S, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        if (b->stms.at[i].exp->kind == E_LOOP && exp_has_soac(b->stms.at[i].exp))
            return false;
    return extent_is_plain(fl, S, b);
}

static Lambda *sum_and_most(Flat *fl, Loc loc)
{
    Ctx *cx = fl->cx;
    static const char *const names[] = {"sum", "most", "n", "n"};
    Vars params = {0};
    for (int k = 0; k < 4; k++)
        vec_push(cx->perm, &params, var_new(cx, names[k], type_prim(T_I64), loc));
    Bld bl = bld_new(cx);
    Atoms res = {0};
    for (int k = 0; k < 2; k++) {
        Exp *both = exp_binop(cx, loc, k ? OP_MAX : OP_ADD, atom_var(params.at[k]),
                              atom_var(params.at[k + 2]));
        vec_push(cx->perm, &res, bld_exp(&bl, names[k], both));
    }
    return lambda_new(cx, params, bld_body(&bl, res));
}

/* Each width once. */
static Atoms distinct(Flat *fl, const Atoms *ws)
{
    Atoms r = {0};
    for (int k = 0; k < ws->n; k++) {
        bool there = false;
        for (int j = 0; j < r.n; j++)
            there |= r.at[j].var == ws->at[k].var;
        if (!there)
            vec_push(fl->cx->perm, &r, ws->at[k]);
    }
    return r;
}

/* Do the lengths, which `code` computes, vary with S, but not with its innermost dimension? */
static bool same_for_neighbours(Flat *fl, const MapNest *S, const Lengths *l, const Stms *code)
{
    const MapDim *inner = &vec_last(&S->dims);
    VarSet *need = needs_of(fl, l);
    for (int i = 0; i < code->n; i++)
        free_in_stm(need, &code->at[i]);
    bool varies = S->dims.n == 1 || varset_has(need, inner->idx);
    for (int k = 0; k < inner->xs.n; k++)
        varies |= varset_has(need, inner->xs.at[k]);
    for (int i = 0; i < inner->pre.n; i++)
        varies |= binds_any(&inner->pre.at[i], need);
    return !varies;
}

Extent extent_of(Flat *fl, MapNest *S, const Body *b, Body **rest, Bld *out)
{
    Ctx *cx = fl->cx;
    Loc loc = {0};
    Extent x = {.rows = par_of_nest(fl, S, out)};
    MapNest H = nest_push(fl, &host_nest, x.rows, NULL, NULL);
    Bld before = bld_new(cx), bl = bld_new(cx);
    define_row(fl, S, atom_var(H.dims.at[0].idx), loc, &before);
    H.dims.at[0].pre = before.stms;
    Lengths l = lengths_of(fl, S, b);
    Atoms ws = distinct(fl, &l.widths);
    bl.stms = code_of_lengths(fl, b, &l, rest);
    x.together = same_for_neighbours(fl, S, &l, &bl.stms);
    Atom sum = sum_of_lengths(fl, &l, loc, &bl);
    Seg sg = {
        .kind = E_SEGRED, .S = &H, .stms = bl.stms, .comm = true, .inspects = true, .loc = loc};
    sg.op = sum_and_most(fl, loc);
    for (int k = 0; k < 2; k++) {
        vec_push(cx->perm, &sg.res, sum);
        vec_push(cx->perm, &sg.nes, atom_i64(0));
    }
    if (rest)
        vec_append(cx->perm, &sg.res, &ws);
    Atoms found = bld_exps(out, "points", seg_make(fl, &sg));
    found.at[1].var->base = "longest";
    x.points = found.at[0];
    x.longest = found.at[1];
    for (int k = 0; rest && k < ws.n; k++) {
        Ragged r = {.width = ws.at[k].var, .rows = x.rows, .widths = found.at[2 + k]};
        if (l.widths.n == 1 && l.branches.n == 0)
            r.points = x.points;
        found.at[2 + k].var->base = "widths";
        vec_push(cx->perm, &S->ragged, r);
    }
    return x;
}

/* --- Results -------------------------------------------------------------------------------- */

/* v, a value for each row. */
static void know_row_value(Flat *fl, MapNest *S, Var *v, Atom values, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    if (S->dims.n > 1) {
        Exp *shaped = exp_new(cx, E_RESHAPE, loc);
        shaped->reshape.arr = values;
        for (int d = 0; d < S->dims.n; d++)
            vec_push(cx->perm, &shaped->reshape.dims, S->dims.at[d].width);
        for (int d = 0; d < v->type.rank; d++)
            vec_push(cx->perm, &shaped->reshape.dims, v->type.dims[d]);
        values = bld_exp(out, v->base, shaped);
    }
    nest_extend(fl, S, v, values);
}

void know_row(Flat *fl, MapNest *S, Var *v, Atom values, Atom width, const Ragged *r, Loc loc)
{
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    Atom row = own_row(S, loc, &bl);
    Atom begin = bld_exp(&bl, "begin", exp_index(cx, loc, r->offs, &row, 1, true));
    if (r->from.var)
        begin = bld_binop(&bl, loc, OP_SUB, begin, first_offset(fl, r->offs, loc, &bl));
    Exp *slice = exp_new(cx, E_INDEX, loc);
    slice->index.arr = values;
    slice->index.safe = true;
    DimIndex part = {.is_slice = true, .start = begin, .n = width, .stride = atom_i64(1)};
    vec_push(cx->perm, &slice->index.at, part);
    for (int d = 1; d < v->type.rank; d++) {
        DimIndex whole = {true, atom_i64(0), v->type.dims[d], atom_i64(1)};
        vec_push(cx->perm, &slice->index.at, whole);
    }
    bld_define(&bl, v, slice);
    vec_append(cx->perm, &vec_last(&S->dims).pre, &bl.stms);
}

static void know_results(Flat *fl, MapNest *S, const Stm *s, const Atoms *res, const Ragged *r,
                         Bld *out)
{
    const Exp *e = s->exp;
    int n_red = exp_is(e, F_FOLD) ? e->soac.nes.n : 0;
    for (int k = 0; k < s->pat.n; k++) {
        if (k < n_red)
            know_row_value(fl, S, s->pat.at[k], res->at[k], e->loc, out);
        else
            know_row(fl, S, s->pat.at[k], res->at[k], e->soac.width, r, e->loc);
    }
}

/* --- The rule ------------------------------------------------------------------------------- */

/* A reduction (scan) with parallelism in its function: a map, then it. */
static void split_ragged(Flat *fl, MapNest *S, const Stm *s, const Lambda *fn, Bld *out)
{
    Body *b = split_redomap(fl, s, fn);
    analyse_body(fl, b);
    for (int i = 0; i < b->stms.n; i++)
        rule_g10(fl, S, &b->stms.at[i], out);
    Bld names = bld_new(fl->cx);
    for (int k = 0; k < s->pat.n; k++)
        bld_define(&names, s->pat.at[k], exp_atom(fl->cx, s->exp->loc, b->res.at[k]));
    vec_append(fl->cx->perm, &vec_last(&S->dims).pre, &names.stms);
}

/* Rule G10: a SOAC of width w(x) under S is one over <p < points; row < rows by offs>. */
void rule_g10(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    bool map = e->kind == E_MAP;
    const Lambda *fn = map ? e->soac.fn : reduce_fn(fl, e);
    const Ragged r = ragged_of(fl, S, e->soac.width, e->loc, out);
    MapNest P = points_of(fl, S, e, &fn->params, &r);
    bool inside = nest_body_par(fl, &P, fn->body) > 0 || body_is_ragged(fl, &P, fn->body);
    if (!map && inside) {
        log_rule(fl, "G10", S, e, "map, then %s", exp_is(e, F_SCAN) ? "scan" : "reduce");
        split_ragged(fl, S, s, fn, out);
        return;
    }
    Flat inner = *fl;
    inner.depth++;
    log_rule(fl, "G10", S, e, "a ragged dimension: all points, balanced");
    Atoms res;
    if (map)
        res = map_points(&inner, S, &P, s, out);
    else
        res = bind_fresh(fl, &P, &s->pat, reduce_construct(fl, &P, fn->body, e), out);
    know_results(fl, S, s, &res, &r, out);
}
