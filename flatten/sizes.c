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

/* --- The level-0 constructs of a work-group's body ----------------------------------------------- */

typedef VEC(Atoms) WidthLists;

typedef struct {
    Ctx *cx;
    WidthLists *lists;
} Widths;

static bool same_widths(const Atoms *a, const Atoms *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!atom_eq(a->at[i], b->at[i]))
            return false;
    return true;
}

static void add_widths(Widths *w, const Nest *nest)
{
    Atoms ws = {0};
    for (int d = 0; d < nest->n; d++)
        vec_push(w->cx->perm, &ws, nest->at[d].width);
    for (int i = 0; i < w->lists->n; i++)
        if (same_widths(&w->lists->at[i], &ws))
            return;
    vec_push(w->cx->perm, w->lists, ws);
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
    Widths w = {fl->cx, &lists};
    widths_of_body(&w, (Body *)(uintptr_t)b);
    Atom outer = par_of_nest(fl, S, bl), inner = atom_i64(1);
    for (int i = 0; i < lists.n; i++) {
        Atom p = atom_i64(1);
        for (int d = 0; d < lists.at[i].n; d++)
            p = times(bl, (Loc){0}, p, lists.at[i].at[d]);
        inner = i == 0 ? p : bld_binop(bl, (Loc){0}, OP_MAX, inner, p);
    }
    return times(bl, (Loc){0}, outer, inner);
}

int64_t intra_width_bound(const Body *b)
{
    WidthLists lists = {0};
    Arena *tmp = arena_new();
    Ctx cx = {.perm = tmp};
    Widths w = {&cx, &lists};
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
