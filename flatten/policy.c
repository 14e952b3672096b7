/* Which versions a map or a reduction gets: what mode and attributes ask for, what is worth it, and
 * the reasons that explain prints for what is left out. The rules make what is decided here. */
#include "flatten/rules.h"

#define MOVES "only-moves: numbers are moved, and none is made"

/* --- Maps: rule G3 -------------------------------------------------------------------------- */

/* Constant widths below a warp are not worth versions, and not worth giving up what a thread can
 * keep near; a nest of maps alone keeps nothing, and more threads access neighbouring elements. */
static bool is_small(const Flat *fl, const Exp *e, int64_t inner, const Body *b)
{
    return inner < RT_USUAL_WARP &&
           !(e->attrs & (ATTR_ONLY_INTRA | ATTR_ONLY_INNER | ATTR_NO_OUTER)) &&
           (!inner_map(fl, b) || has_recurrence(b));
}

MapPlan plan_map(const Flat *fl, const MapNest *S, const Exp *e, int64_t inner, const Body *b)
{
    bool inc = fl->mode == FLATTEN_INCREMENTAL;
    MapPlan p = {.flat = true};
    if (fl->mode == FLATTEN_OUTER)
        return (MapPlan){.top = true, .no_middle = "mode outer"};
    if (inner == 0)
        return (MapPlan){.top = true};
    if (e->attrs & ATTR_SEQUENTIAL_INNER)
        return (MapPlan){.top = true, .no_middle = "attribute sequential_inner"};
    if (inc && is_small(fl, e, inner, b))
        return (MapPlan){.top = true,
                         .no_middle = "small-inner: constant inner widths below a warp"};
    if (!inc) {
        p.no_top = p.no_middle = "mode without versions";
        return p;
    }
    if (e->attrs & ATTR_ONLY_INNER) {
        p.no_top = p.no_middle = "attribute only_inner";
        return p;
    }
    if ((!has_recurrence(b) || keeps_little(b)) && !(e->attrs & ATTR_ONLY_INTRA)) {
        p.no_top = p.no_middle = "no-recurrence: nothing inside is used twice";
        return p;
    }
    if (!versions_allowed(fl, S)) {
        p.no_top = p.no_middle = MANY_VERSIONS;
        return p;
    }
    p.top = !(e->attrs & (ATTR_NO_OUTER | ATTR_ONLY_INTRA));
    p.no_top = e->attrs & ATTR_ONLY_INTRA ? "attribute only_intra" : "attribute no_outer";
    p.middle = !(e->attrs & ATTR_NO_INTRA);
    p.no_middle = "attribute no_intra";
    p.flat = !(e->attrs & ATTR_ONLY_INTRA);
    return p;
}

/* Code that moves numbers: views, and what array operations make of them. */
static bool is_move(const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind == E_UPDATE || e->kind == E_SCRATCH)
        return false;
    return exp_is(e, F_SCALAR) || exp_is(e, F_VIEW) || e->kind == E_IOTA || is_array_op(s);
}

/* The numbers of a row of that type: 0 where it is no row or its size varies. */
static int64_t row_size(const VarSet *variant, const Var *v)
{
    int64_t n = v->type.rank > 0;
    for (int d = 0; d < v->type.rank; d++) {
        Atom w = v->type.dims[d];
        if (atom_variant(variant, w))
            return 0;
        n = w.var || n >= RT_USUAL_WARP ? RT_USUAL_WARP : n * w.c.i;
    }
    return n;
}

void plan_moves(Flat *fl, const MapNest *S1, const Exp *e, const Body *b, MapPlan *p)
{
    VarSet *variant = varmap_new(fl->cx->perm);
    if (fl->level != 1 || fl->ragged || fl->mode == FLATTEN_OUTER ||
        (e->attrs & ATTR_SEQUENTIAL_INNER))
        return;
    nest_vars(S1, variant);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        for (int k = 0; k < s->pat.n; k++)
            varset_add(variant, s->pat.at[k]);
        if (!is_move(s))
            return;
    }
    bool rows = false;
    for (int k = 0; k < b->res.n; k++) {
        if (atom_type(b->res.at[k]).rank == 0)
            continue;
        if (row_size(variant, b->res.at[k].var) < RT_USUAL_WARP)
            return;
        rows = true;
    }
    if (rows)
        *p = (MapPlan){.flat = true, .no_top = MOVES, .no_middle = MOVES};
}

void plan_loop(Flat *fl, const MapNest *S, const Stm *s, MapPlan *p)
{
    if (fl->mode == FLATTEN_MODERATE || fl->mode == FLATTEN_OUTER)
        return;
    p->loop = map_to_loop(fl, s);
    p->flat = true;
    p->top = versions_allowed(fl, S);
    p->no_top = fl->mode == FLATTEN_INCREMENTAL ? MANY_VERSIONS : "mode without versions";
    p->no_middle = "irregular inside the work-group";
}

/* Could work-groups run b together, and gain by that? par: of what they would share. */
static bool is_shareable(Flat *fl, const MapNest *S1, const Exp *e, const Body *b, int64_t par,
                         MapPlan *p)
{
    if (!has_recurrence(b) || (e->attrs & (ATTR_SEQUENTIAL_INNER | ATTR_NO_INTRA)) ||
        par < RT_USUAL_WARP)
        return false;
    int log_at = fl->log->n;
    const Body *intra = intra_body(fl, S1, b, &p->no_middle);
    fl->log->n = log_at;
    return intra && intra_width_bound(intra) >= RT_USUAL_WARP;
}

void plan_shared(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                 MapPlan *p)
{
    if (fl->mode == FLATTEN_INCREMENTAL && versions_allowed(fl, S) &&
        is_shareable(fl, S1, e, b, group_body_par(fl, b), p))
        p->middle = p->flat = p->shared = true;
}

/* Full flattening takes ragged parallelism always, moderate never. */
static bool takes_ragged(const Flat *fl)
{
    return fl->level == 1 && (fl->mode == FLATTEN_INCREMENTAL || fl->mode == FLATTEN_FULL);
}

/* Did a guard see the rows of S1 already, or are these points? */
static bool is_weighed(const Flat *fl, const MapNest *S1)
{
    return S1->dims.at[0].row || S1->dims.n <= fl->weighed;
}

void go_ragged(Flat *fl, const MapNest *S1)
{
    fl->ragged = true;
    fl->weighed = S1->dims.n;
}

void plan_ragged(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                 MapPlan *p)
{
    if ((e->attrs & ATTR_SEQUENTIAL_INNER) || !takes_ragged(fl) || !body_is_ragged(fl, S1, b))
        return;
    bool inner = e->attrs & ATTR_ONLY_INNER;
    if (!is_weighed(fl, S1) && extent_is_plain(fl, S1, b) && versions_allowed(fl, S)) {
        p->flat = p->ragged = true;
        p->top = !inner && !(e->attrs & ATTR_NO_OUTER);
        p->no_top = inner ? "attribute only_inner" : "attribute no_outer";
        p->middle = !inner && !fl->ragged && is_shareable(fl, S1, e, b, group_body_par(fl, b), p);
    } else if (fl->ragged) {
        *p = (MapPlan){.flat = true, .ragged = true};
        p->no_top = p->no_middle = fl->mode == FLATTEN_FULL ? "mode without versions" : NULL;
    }
}

MapPlan plan_points(Flat *fl, const MapNest *S, const MapNest *P, const Exp *e, const Body *b)
{
    int64_t inner = worthwhile_par(fl, P, b);
    MapPlan p = plan_map(fl, S, e, inner, b);
    if (body_is_ragged(fl, P, b))
        p = (MapPlan){.flat = true, .ragged = true};
    else
        plan_varying(fl, S, P, e, b, &p);
    p.middle = false;
    p.no_middle = "points of ragged nests are work-items'";
    return p;
}

void plan_varying(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                  MapPlan *p)
{
    if (fl->mode != FLATTEN_INCREMENTAL || fl->level != 1 || p->ragged || p->loop ||
        (e->attrs & ATTR_SEQUENTIAL_INNER) || sums_in_loop(fl, b)) /* one launch has all turns */
        return;
    int64_t par = varying_par(fl, S1, b);
    bool inner = e->attrs & ATTR_ONLY_INNER;
    if (par == 0)
        return;
    if (p->flat) {
        p->varying = p->top || p->middle || inner;
    } else if (!fl->ragged && versions_allowed(fl, S)) {
        p->flat = p->varying = true;
        p->top = !inner && !(e->attrs & ATTR_NO_OUTER);
        p->no_top = inner ? "attribute only_inner" : "attribute no_outer";
        p->middle = !inner && is_shareable(fl, S1, e, b, par, p);
    }
}

void plan_mixed(Flat *fl, const MapNest *S1, const Exp *e, const Body *b, MapPlan *p)
{
    p->mixed = p->flat && !p->loop && !fl->ragged && takes_ragged(fl) &&
               !(e->attrs & ATTR_SEQUENTIAL_INNER) && body_is_ragged(fl, S1, b);
}

Body *plan_intra(Flat *fl, const MapNest *S1, const Body *b, MapPlan *p)
{
    if (!p->middle)
        return NULL;
    fl->depth++;
    Body *intra = intra_body(fl, S1, b, &p->no_middle);
    fl->depth--;
    if (intra && intra_width_bound(intra) < RT_USUAL_WARP) {
        p->no_middle = "small-intra: constant widths inside the work-group below a warp";
        intra = NULL;
    }
    p->middle = intra != NULL;
    return intra;
}

/* --- Reductions and scans: rule G9 ---------------------------------------------------------- */

ReducePlan plan_reduce(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b)
{
    bool inc = fl->mode == FLATTEN_INCREMENTAL;
    int64_t inner = worthwhile_par(fl, S1, b);
    ReducePlan p = {.top = true, .rec = true, .why = ""};
    if (inner == 0 && takes_ragged(fl) && body_is_ragged(fl, S1, b) &&
        (fl->ragged || extent_is_plain(fl, S1, b))) {
        inner = PAR_UNKNOWN;
        p.ragged = true;
    } else if (fl->mode == FLATTEN_INCREMENTAL && fl->level == 1 && !fl->ragged) {
        int64_t varying = varying_par(fl, S1, b);
        p.varying = varying > inner;
        inner = varying > inner ? varying : inner;
    }
    if (inner == 0 && fl->level == 1 && exp_is(e, F_SCAN) && turns_often(b)) {
        p.top = false; /* a scan has a thread for many elements, a map one for each */
        p.why = "loops inside, of many turns";
    } else if (inner == 0 || fl->level == 0) {
        p.rec = false;
    } else if (fl->mode == FLATTEN_OUTER || fl->mode == FLATTEN_MODERATE) {
        p.rec = false;
        p.why = " (the mode keeps what is inside sequential)";
    } else if (e->attrs & ATTR_SEQUENTIAL_INNER) {
        p.rec = false;
        p.why = " (attribute sequential_inner)";
    } else if (inc && inner < RT_USUAL_WARP && !(e->attrs & ATTR_NO_OUTER)) {
        p.rec = false;
        p.why = " (small-inner: constant inner widths below a warp)";
    } else {
        p.top = inc && !fl->ragged && !(e->attrs & (ATTR_NO_OUTER | ATTR_ONLY_INNER));
        if (p.top && !versions_allowed(fl, S)) {
            p.top = p.varying; /* which only versions make worth it */
            p.rec = !p.varying;
            p.why = MANY_VERSIONS;
        }
    }
    return p;
}
