/* Scatters, histograms and concatenations where widths vary: G10 for what writes into arrays. All
 * points are one ragged dimension. Each writes into the part of the outer array that its row has;
 * an array of a size that varies is a part of one of all points, as the results of maps are. */
#include "flatten/rules.h"

/* --- Questions ------------------------------------------------------------------------------ */

/* New memory for an array of a size that varies, or what is copied there. */
static bool is_memory(const Exp *e)
{
    return e && (e->kind == E_SCRATCH || e->kind == E_COPY ||
                 (e->kind == E_REPLICATE && e->replicate.dims.n == 1));
}

/* Is the scatter one into memory whose sizes, all the same, vary? */
static bool into_rows(Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_SCATTER || !elements_are_regular(variant, s))
        return false;
    for (int k = 0; k < s->pat.n; k++) {
        Atom size = s->pat.at[k]->type.dims[0];
        if (e->soac.dests.at[k].rank != 1 || !atom_variant(variant, size) ||
            !atom_eq(size, s->pat.at[0]->type.dims[0]) || is_consumed(fl, atom_var(s->pat.at[k])) ||
            !is_memory(def_of(fl, e->soac.dests.at[k].arr)))
            return false;
    }
    return true;
}

bool writes_rows(Flat *fl, const VarSet *variant, const Stm *s)
{
    const Exp *e = s->exp;
    if (fl->level != 1 || (e->kind != E_SCATTER && e->kind != E_HIST) ||
        (e->attrs & ATTR_SEQUENTIAL) || !atom_variant(variant, e->soac.width))
        return false;
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (is_consumed(fl, e->soac.arrs.at[k]))
            return false;
    if (types_variant(variant, &s->pat))
        return into_rows(fl, variant, s);
    return e->kind == E_SCATTER || hist_is_parallel(fl, variant, e);
}

bool makes_rows(Flat *fl, const VarSet *variant, const Body *b, int at)
{
    const Stm *s = &b->stms.at[at];
    if (fl->level != 1 || !is_memory(s->exp) || !types_variant(variant, &s->pat) ||
        (s->exp->kind == E_COPY && varset_has(fl->overwritten, s->exp->copy.arr.var)))
        return false;
    VarSet *made = varmap_new(fl->cx->perm);
    varset_add(made, s->pat.at[0]);
    const Stm *user = NULL;
    for (int i = at + 1; i < b->stms.n; i++) {
        if (!exp_uses_any(b->stms.at[i].exp, made))
            continue;
        if (user)
            return false;
        user = &b->stms.at[i];
    }
    if (!user || user->exp->kind != E_SCATTER)
        return false;
    bool is_dest = false;
    for (int k = 0; k < user->exp->soac.dests.n; k++)
        is_dest |= user->exp->soac.dests.at[k].arr.var == s->pat.at[0];
    VarSet *inside = varmap_new(fl->cx->perm);
    free_in_lambda(inside, user->exp->soac.fn);
    return is_dest && !varset_has(inside, s->pat.at[0]) && writes_rows(fl, variant, user);
}

/* --- Memory --------------------------------------------------------------------------------- */

/* All rows' memory for destination k, with what is there before. */
static Atom memory_of(Flat *fl, MapNest *S, const Exp *e, int k, const Ragged *r, Bld *out)
{
    Ctx *cx = fl->cx;
    Atom dest = e->soac.dests.at[k].arr;
    const Exp *made = def_of(fl, dest);
    Type row = type_row(atom_type(dest));
    if (made->kind == E_SCRATCH) {
        Exp *blank = exp_new(cx, E_SCRATCH, e->loc);
        blank->scratch.type = type_array_n(cx, row, &r->points, 1);
        return bld_exp(out, plural(fl, dest.var->base, 1), blank);
    }
    Exp from = {.kind = E_MAP, .loc = e->loc};
    Vars params = {0};
    if (made->kind == E_COPY) {
        vec_push(cx->perm, &from.soac.arrs, made->copy.arr);
        vec_push(cx->perm, &params, var_new(cx, dest.var->base, row, e->loc));
    }
    MapNest P = points_of(fl, S, &from, &params, r);
    Atom x = params.n ? atom_var(params.at[0]) : made->replicate.val;
    return expand_atom(fl, &P, x, dest.var->base, e->loc, out);
}

/* --- Scatters ------------------------------------------------------------------------------- */

/* Where the row's element number ix is among those of all rows; -1: it has none of that number. */
static Atom place_of(Flat *fl, const MapNest *P, Atom ix, Atom size, const Ragged *r, Loc loc,
                     Bld *bl)
{
    Ctx *cx = fl->cx;
    Atom row = atom_var(P->dims.at[0].row), zero = atom_i64(0);
    Atom begin = bld_exp(bl, "begin", exp_index(cx, loc, r->offs, &row, 1, true));
    if (r->from.var) {
        Atom first = bld_exp(bl, "first", exp_index(cx, loc, r->offs, &zero, 1, true));
        begin = bld_binop(bl, loc, OP_SUB, begin, first);
    }
    Atom low = bld_exp(bl, "low", exp_binop(cx, loc, OP_LE, zero, ix));
    Atom high = bld_exp(bl, "high", exp_binop(cx, loc, OP_LT, ix, size));
    Atom there = bld_exp(bl, "there", exp_binop(cx, loc, OP_LAND, low, high));
    Bld yes = bld_new(cx), no = bld_new(cx);
    Atoms place = {0}, none = {0};
    vec_push(cx->perm, &place, bld_binop(&yes, loc, OP_ADD, begin, ix));
    vec_push(cx->perm, &none, atom_i64(-1));
    Body *then_ = bld_body(&yes, place), *else_ = bld_body(&no, none);
    return bld_exp(bl, "place", exp_if(cx, loc, there, then_, else_));
}

static void scatter_rows(Flat *fl, MapNest *S, const MapNest *P, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    const Body *b = e->soac.fn->body;
    int n = e->soac.dests.n;
    Atom size = s->pat.at[0]->type.dims[0];
    Ragged r = ragged_of(fl, S, size, e->loc, out);
    Seg sg = {.kind = E_SEGSCATTER, .S = P, .loc = e->loc};
    Bld bl = bld_new(cx);
    vec_append(cx->perm, &bl.stms, &b->stms);
    for (int k = 0; k < n; k++) {
        vec_push(cx->perm, &sg.res, place_of(fl, P, b->res.at[k], size, &r, e->loc, &bl));
        vec_push(cx->perm, &sg.dests, (Dest){memory_of(fl, S, e, k, &r, out), 1});
    }
    for (int k = 0; k < n; k++)
        vec_push(cx->perm, &sg.res, b->res.at[n + k]);
    sg.stms = bl.stms;
    Atoms res = bind_fresh(fl, P, &s->pat, seg_make(fl, &sg), out);
    for (int k = 0; k < n; k++)
        know_row(fl, S, s->pat.at[k], res.at[k], size, &r, e->loc);
}

Atoms flatten_writes(Flat *fl, MapNest *S, const VarSet *variant, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Ragged r = ragged_of(fl, S, e->soac.width, e->loc, out);
    MapNest P = points_of(fl, S, e, &e->soac.fn->params, &r);
    log_rule(fl, "G10", S, e, "a ragged dimension: all points, balanced");
    if (types_variant(variant, &s->pat)) {
        scatter_rows(fl, S, &P, s, out);
        return (Atoms){0};
    }
    return e->kind == E_HIST ? hist_over(fl, S, &P, s, out) : scatter_over(fl, S, &P, s, out);
}

/* --- Concatenations ------------------------------------------------------------------------- */

/* Element j of the parts from number k on. */
static Atom element_of_parts(Flat *fl, const Exp *e, int k, Atom j, Bld *bl)
{
    Ctx *cx = fl->cx;
    Atom part = e->concat.arrs.at[k];
    Var like = {.base = "x", .type = type_prim(atom_type(part).elem), .loc = e->loc};
    if (k == e->concat.arrs.n - 1)
        return element_at(fl, part, &like, j, bl);
    Atom n = atom_type(part).dims[0];
    Bld here = bld_new(cx), later = bld_new(cx);
    Atoms mine = {0}, others = {0};
    Atom is_here = bld_exp(bl, "here", exp_binop(cx, e->loc, OP_LT, j, n));
    vec_push(cx->perm, &mine, element_at(fl, part, &like, j, &here));
    Atom rest = bld_binop(&later, e->loc, OP_SUB, j, n);
    vec_push(cx->perm, &others, element_of_parts(fl, e, k + 1, rest, &later));
    Body *then_ = bld_body(&here, mine), *else_ = bld_body(&later, others);
    return bld_exp(bl, "x", exp_if(cx, e->loc, is_here, then_, else_));
}

MapNest numbers_of_points(Flat *fl, const MapNest *S, Atom width, const Ragged *r, Loc loc,
                          Atom *number)
{
    Ctx *cx = fl->cx;
    Exp from = {.kind = E_MAP, .loc = loc};
    Exp *numbers = exp_new(cx, E_IOTA, loc);
    numbers->iota.n = width;
    numbers->iota.start = atom_i64(0);
    numbers->iota.stride = atom_i64(1);
    Var *all = exp_pat(cx, "js", numbers).at[0], *j = var_new(cx, "j", type_prim(T_I64), loc);
    varmap_put(fl->defs, all, numbers);
    Vars params = {0};
    vec_push(cx->perm, &params, j);
    vec_push(cx->perm, &from.soac.arrs, atom_var(all));
    *number = atom_var(j);
    return points_of(fl, S, &from, &params, r);
}

void join_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Ragged r = ragged_of(fl, S, e->concat.n, e->loc, out);
    Atom j;
    MapNest P = numbers_of_points(fl, S, e->concat.n, &r, e->loc, &j);
    log_rule(fl, "G10", S, e, "a ragged dimension: all points, balanced");
    Bld bl = bld_new(cx);
    Seg sg = {.kind = E_SEGMAP, .S = &P, .loc = e->loc};
    vec_push(cx->perm, &sg.res, element_of_parts(fl, e, 0, j, &bl));
    sg.stms = bl.stms;
    Atoms res = bind_fresh(fl, &P, &s->pat, seg_make(fl, &sg), out);
    know_row(fl, S, s->pat.at[0], res.at[0], e->concat.n, &r, e->loc);
}
