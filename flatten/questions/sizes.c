/* Degrees of parallelism: Par(S) and Par(e) of rule G3, as i64 atoms computed at the guard. */
#include "flatten/rules.h"

static Atom times(Bld *bl, Loc loc, Atom a, Atom b)
{
    return bld_binop(bl, loc, OP_MUL, a, b);
}

Atom par_of_nest(Flat *fl, const MapNest *S, Bld *bl)
{
    Atom par = atom_i64(1);
    (void)fl;
    for (int d = 0; d < S->dims.n; d++)
        par = times(bl, (Loc){0}, par, S->dims.at[d].width);
    return par;
}

/* --- The level-0 constructs of a work-group's body ------------------------------------------ */

typedef VEC(Atoms) WidthLists;

typedef struct {
    Ctx *cx;
    const Flat *fl; /* NULL: definitions are not looked at */
    WidthLists *lists;
} Widths;

/* A width that is itself a product counts as its factors. */
static void add_factors(const Widths *w, Atoms *ws, Atom a)
{
    const Exp *e = w->fl ? def_of(w->fl, a) : NULL;
    if (e && e->kind == E_ATOM) {
        add_factors(w, ws, e->atom);
    } else if (e && e->kind == E_PRIM && e->prim.op == OP_MUL) {
        add_factors(w, ws, e->prim.args.at[0]);
        add_factors(w, ws, e->prim.args.at[1]);
    } else if (!atom_is_int(a, 1)) {
        vec_push(w->cx->perm, ws, a);
    }
}

/* Are all factors of a among those of b? Then b is the larger product (of widths that are not 0).
 */
static bool divides(const Atoms *a, const Atoms *b)
{
    bool used[16] = {false};
    if (b->n > 16)
        return false;
    for (int i = 0; i < a->n; i++) {
        int j = 0;
        while (j < b->n && (used[j] || !atom_eq(a->at[i], b->at[j])))
            j++;
        if (j == b->n)
            return false;
        used[j] = true;
    }
    return true;
}

/* Adds a product, unless it is part of another; those that are part of it go. */
static void add_product(Widths *w, const Atoms *ws)
{
    int kept = 0;
    for (int i = 0; i < w->lists->n; i++) {
        if (divides(ws, &w->lists->at[i]))
            return;
        if (!divides(&w->lists->at[i], ws))
            w->lists->at[kept++] = w->lists->at[i];
    }
    w->lists->n = kept;
    Atoms copy = {0};
    vec_append(w->cx->perm, &copy, ws);
    vec_push(w->cx->perm, w->lists, copy);
}

static void add_widths(Widths *w, const Nest *nest)
{
    Atoms ws = {0};
    for (int d = 0; d < nest->n; d++)
        add_factors(w, &ws, nest->at[d].width);
    add_product(w, &ws);
}

/* The largest of the products. */
static Atom max_product(const WidthLists *lists, Bld *bl)
{
    Atom max = atom_i64(1);
    for (int i = 0; i < lists->n; i++) {
        Atom p = atom_i64(1);
        for (int d = 0; d < lists->at[i].n; d++)
            p = times(bl, (Loc){0}, p, lists->at[i].at[d]);
        max = i == 0 ? p : bld_binop(bl, (Loc){0}, OP_MAX, max, p);
    }
    return max;
}

static void widths_of_body(void *env, Body *b)
{
    Widths *w = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        ExpVisitor v = {.env = w, .body = widths_of_body};
        if (exp_is_seg(e))
            add_widths(w, &e->seg.nest);
        else if (e->kind == E_LOOP || e->kind == E_IF)
            exp_visit(e, &v);
    }
}

Atom par_of_intra(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    WidthLists lists = {0};
    Widths w = {fl->cx, fl, &lists};
    widths_of_body(&w, (Body *)(uintptr_t)b);
    Atom outer = par_of_nest(fl, S, bl), inner = max_product(&lists, bl);
    if (intra_width_bound(b) > GROUP_PAR)
        inner = bld_binop(bl, (Loc){0}, OP_MIN, inner, atom_i64(GROUP_PAR));
    return times(bl, (Loc){0}, outer, inner);
}

int64_t intra_width_bound(const Body *b)
{
    WidthLists lists = {0};
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Widths w = {&cx, NULL, &lists};
    widths_of_body(&w, (Body *)(uintptr_t)b);
    int64_t bound = 0;
    for (int i = 0; i < lists.n; i++) {
        int64_t p = 1;
        for (int d = 0; d < lists.at[i].n && p < PAR_UNKNOWN; d++) {
            Atom a = lists.at[i].at[d];
            p = a.var || a.c.i >= PAR_UNKNOWN ? PAR_UNKNOWN : p * a.c.i;
        }
        bound = p > bound ? p : bound;
    }
    arena_free(tmp);
    return bound > PAR_UNKNOWN ? PAR_UNKNOWN : bound;
}

/* --- All parallelism inside a body, of whatever nests --------------------------------------- */

typedef struct {
    Widths w;
    VarSet *inside; /* bound in the body or by the nest around: such widths are not known outside */
    Atoms around;   /* factors of the widths around */
} All;

static void bound_inside(void *env, Var *v)
{
    varset_add(((All *)env)->inside, v);
}

static void add_known(All *all, Atom width)
{
    Atoms ws = {0};
    add_factors(&all->w, &ws, width);
    for (int i = 0; i < ws.n; i++)
        if (!atom_variant(all->inside, ws.at[i]))
            vec_push(all->w.cx->perm, &all->around, ws.at[i]);
}

static void all_of_body(void *env, Body *b);

static void all_of_lambda(void *env, Lambda *l)
{
    all_of_body(env, l->body);
}

static void all_of_body(void *env, Body *b)
{
    All *all = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *e = s->exp;
        int n = all->around.n;
        if (exp_is_soac(e))
            add_known(all, e->soac.width);
        for (int d = 0; exp_is_seg(e) && d < e->seg.nest.n; d++)
            add_known(all, e->seg.nest.at[d].width);
        if (all->around.n > n)
            add_product(&all->w, &all->around);
        ExpVisitor v = {
            .env = all, .binder = bound_inside, .body = all_of_body, .lambda = all_of_lambda};
        exp_visit(e, &v);
        all->around.n = n;
        for (int k = 0; k < s->pat.n; k++)
            varset_add(all->inside, s->pat.at[k]);
    }
}

Atom par_in_all(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    WidthLists lists = {0};
    All all = {.w = {fl->cx, fl, &lists}, .inside = varmap_new(fl->cx->perm)};
    nest_vars(S, all.inside);
    all_of_body(&all, (Body *)(uintptr_t)b);
    return times(bl, (Loc){0}, par_of_nest(fl, S, bl), max_product(&lists, bl));
}

Atom par_inside(Flat *fl, VarSet *inside, const Exp *e, Bld *bl)
{
    WidthLists lists = {0};
    All all = {.w = {fl->cx, fl, &lists}, .inside = inside};
    ExpVisitor v = {
        .env = &all, .binder = bound_inside, .body = all_of_body, .lambda = all_of_lambda};
    exp_visit(e, &v);
    return max_product(&lists, bl);
}
