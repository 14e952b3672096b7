/* Results that are built in the array that they become part of:
 *
 *     let ds = segmap^1 ..                       ds lies in column j of `all` from the start,
 *     let all' = update all[:, j] = ds    ==>    and the update does nothing
 *     .. ds ..
 *
 * The construct, or that of the branch that is taken, then writes before the update does. So
 * nothing from the construct to the update may look at `all`, nor at what was built in it before,
 * and as long as ds is used, nothing may write what all' is. That the update is within bounds must
 * be known where the construct is: not by an assertion in between. What the update puts there may
 * be ds with its dimensions permuted. */
#include "memory/layout.h"

typedef struct {
    Ctx *cx;
    Alias *al;
    PtrMap *consumed; /* expression -> Vars that it consumes, once asked for */
    const Body *b;
} Within;

static Vars used_by(const Within *w, int k)
{
    VarSet *uses = varmap_new(w->cx->scratch);
    free_in_stm(uses, &w->b->stms.at[k]);
    return varset_list(w->cx->scratch, uses);
}

static bool overlaps_one(const Within *w, const Vars *vs, Atom a)
{
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i]->type.rank > 0 && alias_overlap(w->al, atom_var(vs->at[i]), a))
            return true;
    return false;
}

static bool uses(const Within *w, int k, Atom a)
{
    Vars vs = used_by(w, k);
    return overlaps_one(w, &vs, a);
}

static bool consumes(const Within *w, int k, Atom a)
{
    const Exp *e = w->b->stms.at[k].exp;
    Vars *vs = ptrmap_get(w->consumed, e);
    if (!vs) {
        vs = NEW(w->cx->perm, Vars);
        *vs = exp_consumes(w->cx, e);
        ptrmap_put(w->consumed, e, vs);
    }
    return overlaps_one(w, vs, a);
}

/* Does a statement from..to-1 bind what the update `s` mentions besides its value? */
static bool needs_one_of(const Within *w, int from, int to, const Stm *s)
{
    VarSet *needed = varmap_new(w->cx->scratch);
    free_in_exp(needed, s->exp);
    for (int k = from; k < to; k++)
        for (int j = 0; j < w->b->stms.at[k].pat.n; j++) {
            const Var *bound = w->b->stms.at[k].pat.at[j];
            if (bound != s->exp->update.val.var && varset_has(needed, bound))
                return true;
        }
    return false;
}

/* The update of which v is the value, surely within bounds; -1. *turned: v permuted is, by that. */
static int update_with(const Body *b, int from, const Var *v, const Stm **turned)
{
    *turned = NULL;
    for (int k = from; k < b->stms.n; k++) {
        const Stm *s = &b->stms.at[k];
        const Exp *e = s->exp;
        if (e->kind == E_UPDATE && e->update.val.var == v)
            return e->update.safe ? k : -1;
        if (e->kind != E_REARRANGE || e->rearrange.arr.var != v)
            continue;
        const Stm *none;
        int u = update_with(b, k + 1, s->pat.at[0], &none);
        if (u >= 0 && !none) {
            *turned = s;
            return u;
        }
    }
    return -1;
}

static bool is_result(const Within *w, Atom a)
{
    for (int k = 0; k < w->b->res.n; k++)
        if (alias_overlap(w->al, w->b->res.at[k], a))
            return true;
    return false;
}

/* After the update at u: is v's memory left alone as long as it is used? */
static bool lasts(const Within *w, int u, Atom v)
{
    Atom all = atom_var(w->b->stms.at[u].pat.at[0]);
    int last = u;
    for (int k = u + 1; k < w->b->stms.n; k++)
        if (uses(w, k, v))
            last = k;
    for (int k = u + 1; k <= last; k++)
        if (consumes(w, k, all) || consumes(w, k, v))
            return false;
    return !is_result(w, v);
}

/* The array that update u changes, and the values of updates before that made it: they may have
 * been built in it. */
static Atoms parts_of_updated(const Within *w, int u)
{
    Atom arr = w->b->stms.at[u].exp->update.arr;
    Atoms parts = {0};
    vec_push(w->cx->scratch, &parts, arr);
    for (int k = 0; k < u; k++) {
        const Stm *s = &w->b->stms.at[k];
        if (s->exp->kind == E_UPDATE && s->exp->update.val.var &&
            alias_overlap(w->al, atom_var(s->pat.at[0]), arr))
            vec_push(w->cx->scratch, &parts, s->exp->update.val);
    }
    return parts;
}

static bool uses_one(const Within *w, int k, const Atoms *as)
{
    Vars vs = used_by(w, k);
    for (int i = 0; i < as->n; i++)
        if (overlaps_one(w, &vs, as->at[i]))
            return true;
    return false;
}

static bool can_be_within(const Within *w, int i, int u, const Var *v)
{
    const Stm *up = &w->b->stms.at[u];
    if (needs_one_of(w, i, u, up))
        return false;
    Atoms parts = parts_of_updated(w, u);
    for (int k = i; k < u; k++)
        if (uses_one(w, k, &parts) || w->b->stms.at[k].exp->kind == E_ASSERT ||
            (k > i && consumes(w, k, atom_var((Var *)v))))
            return false;
    return lasts(w, u, atom_var((Var *)v));
}

static bool branch_builds(const Within *around, const Body *b, int j);

/* Is result j of e built by constructs, which may build it where they are told to? */
static bool is_built(const Within *w, const Exp *e, int j)
{
    const Dests *dests = exp_dests(e);
    return e->kind == E_IF
               ? branch_builds(w, e->branch.then_, j) && branch_builds(w, e->branch.else_, j)
               : exp_is_seg(e) && !(dests && dests->n > 0);
}

/* Does b build its result j itself, for no other of its results, and leave it as it is then? */
static bool branch_builds(const Within *around, const Body *b, int j)
{
    Within w = {around->cx, around->al, around->consumed, b};
    Atom r = b->res.at[j];
    for (int k = 0; k < b->res.n; k++)
        if (!r.var || (k != j && alias_overlap(w.al, b->res.at[k], r)))
            return false;
    for (int k = b->stms.n - 1; k >= 0; k--) {
        const Stm *s = &b->stms.at[k];
        int at = vars_find(&s->pat, r.var);
        if (at >= 0)
            return is_built(&w, s->exp, at);
        if (consumes(&w, k, r))
            return false;
    }
    return false;
}

const Exp *within_update(Ctx *cx, Alias *al, PtrMap *consumed, const Body *b, int i, int j,
                         const Stm **turned)
{
    Within w = {cx, al, consumed, b};
    const Var *v = b->stms.at[i].pat.at[j];
    int u = v->type.rank > 0 ? update_with(b, i + 1, v, turned) : -1;
    if (u < 0)
        return NULL;
    ArenaMark mark = arena_mark(cx->scratch);
    bool ok = can_be_within(&w, i, u, v) && is_built(&w, b->stms.at[i].exp, j);
    arena_reset(cx->scratch, mark);
    return ok ? b->stms.at[u].exp : NULL;
}
