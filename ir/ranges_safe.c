/* Accesses marked safe, seen from another place. An access is marked where a proof was found
 * (simplify_array.c), with facts of that place: a[n - 1] is safe in a loop over n elements, but not
 * in front of it, where n may be 0. A pass that moves code to where those facts may not hold asks
 * here whether the proof is still found. */
#include "ir/ranges.h"

static bool body_safe(Ranges *ra, const Body *b)
{
    bool ok = true;
    int mark = ranges_mark(ra);
    for (int i = 0; i < b->stms.n && ok; i++) {
        const Stm *s = &b->stms.at[i];
        ok = ranges_safe(ra, s->exp);
        ranges_bind(ra, &s->pat, s->exp);
    }
    ranges_reset(ra, mark);
    return ok;
}

/* fn of a SOAC is applied where there is an element. */
static bool lambda_safe(Ranges *ra, const Lambda *l, const Atoms *arrs, const Atom *width)
{
    if (!l)
        return true;
    int mark = ranges_mark(ra);
    ranges_rows(ra, &l->params, arrs);
    if (width)
        ranges_some(ra, *width);
    bool ok = body_safe(ra, l->body);
    ranges_reset(ra, mark);
    return ok;
}

static bool branch_safe(Ranges *ra, const Exp *e, bool truth)
{
    int mark = ranges_mark(ra);
    ranges_cond(ra, e->branch.test, truth);
    bool ok = body_safe(ra, truth ? e->branch.then_ : e->branch.else_);
    ranges_reset(ra, mark);
    return ok;
}

static bool seg_safe(Ranges *ra, const Exp *e)
{
    static const Atoms none;
    int mark = ranges_mark(ra);
    for (int d = 0; d < e->seg.nest.n; d++)
        ranges_dim(ra, &e->seg.nest.at[d]);
    bool ok = body_safe(ra, e->seg.body);
    ranges_reset(ra, mark);
    return ok && lambda_safe(ra, e->seg.op, &none, NULL);
}

static bool loop_safe(Ranges *ra, const Exp *e)
{
    int mark = ranges_mark(ra);
    ranges_loop(ra, e);
    bool ok = body_safe(ra, e->loop.body);
    ranges_reset(ra, mark);
    return ok;
}

bool ranges_safe(Ranges *ra, const Exp *e)
{
    static const Atoms none;
    if (e->kind == E_INDEX)
        return !e->index.safe || ranges_in_bounds(ra, atom_type(e->index.arr), &e->index.at);
    if (e->kind == E_UPDATE)
        return !e->update.safe || ranges_in_bounds(ra, atom_type(e->update.arr), &e->update.at);
    if (e->kind == E_LOOP)
        return loop_safe(ra, e);
    if (e->kind == E_IF)
        return branch_safe(ra, e, true) && branch_safe(ra, e, false);
    if (exp_is_seg(e))
        return seg_safe(ra, e);
    if (exp_is_soac(e))
        return lambda_safe(ra, e->soac.fn, &e->soac.arrs, &e->soac.width) &&
               lambda_safe(ra, e->soac.op, &none, NULL);
    return true;
}

typedef struct {
    Ranges *ra;
    const VarMap *defs;
    VarSet *entered;
} Scope;

/* Enters what is known of a wherever it is in scope: its sizes, and the code that computes it. */
static void enter(void *env, Atom a)
{
    Scope *sc = env;
    if (!a.var || varset_has(sc->entered, a.var))
        return;
    varset_add(sc->entered, a.var);
    ranges_type(sc->ra, a.var->type);
    const Exp *def = varmap_get(sc->defs, a.var);
    if (!def || (def->kind != E_PRIM && def->kind != E_CONV && def->kind != E_IOTA))
        return;
    ExpVisitor operands = {.env = env, .atom = enter};
    exp_visit(def, &operands);
    ranges_bind(sc->ra, &(Vars){&a.var, 1, 1}, def);
}

bool exp_safe_anywhere(const VarMap *defs, const Exp *e)
{
    Arena *mem = arena_new();
    Ctx cx = {.perm = mem, .scratch = mem};
    Ranges *ra = ranges_new(&cx, varmap_new(mem));
    Scope sc = {ra, defs, varmap_new(mem)};
    Stm only = {.exp = (Exp *)(uintptr_t)e};
    Vars frees = free_vars_body(&cx, &(Body){.stms = {&only, 1, 1}});
    for (int i = 0; i < frees.n; i++)
        enter(&sc, atom_var(frees.at[i]));
    bool ok = ranges_safe(ra, e);
    arena_free(mem);
    return ok;
}
