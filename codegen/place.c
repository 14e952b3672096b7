/* Where results are built. An array that is a body's result is built directly in the memory that
 * wants it, if the body makes it: the wish (a hint) travels from the result backwards through
 * in-place updates, aliases, loops and branches to the statement that allocates. */
#include "codegen/kernel.h"

/* The statement of b that binds v, and which of its results v is; -1 if b does not bind it. */
static int find_def(const Body *b, const Var *v, int *result)
{
    for (int i = b->stms.n - 1; i >= 0; i--) {
        const Stm *s = &b->stms.at[i];
        for (int j = 0; j < s->pat.n; j++) {
            if (s->pat.at[j] == v) {
                *result = j;
                return i;
            }
        }
    }
    return -1;
}

static Var *root_of_exp(const Body *b, const Exp *e, int j, bool *updated)
{
    Atom in_place = exp_updates(e, j);
    if (in_place.var) {
        *updated = true;
        return place_root(b, in_place.var, updated);
    }
    switch (e->kind) {
    case E_ATOM: return place_root(b, e->atom.var, updated);
    case E_LOOP: {
        Atom res = e->loop.body->res.at[j];
        if (!res.var || place_root(e->loop.body, res.var, updated) != e->loop.params.at[j])
            return NULL;
        return place_root(b, e->loop.inits.at[j].var, updated);
    }
    case E_IF: {
        Atom r1 = e->branch.then_->res.at[j], r2 = e->branch.else_->res.at[j];
        Var *v1 = r1.var ? place_root(e->branch.then_, r1.var, updated) : NULL;
        Var *v2 = r2.var ? place_root(e->branch.else_, r2.var, updated) : NULL;
        return v1 && v1 == v2 ? place_root(b, v1, updated) : NULL;
    }
    default: return NULL;
    }
}

Var *place_root(const Body *b, const Var *v, bool *updated)
{
    int j, i = find_def(b, v, &j);
    return i < 0 ? (Var *)v : root_of_exp(b, b->stms.at[i].exp, j, updated);
}

bool place_binds(const Body *b, const Var *v)
{
    int j;
    return v && find_def(b, v, &j) >= 0;
}

Var *place_of_exp(const Exp *e, int j, bool *updated)
{
    static const Body empty;
    return root_of_exp(&empty, e, j, updated);
}

static void hint_var(KGen *kg, const Body *b, Var *v, KLoc dest);

/* Result j of e is wanted at dest: passes the wish on to what e builds upon. */
static void hint_operand(KGen *kg, const Body *b, const Exp *e, int j, KLoc dest)
{
    bool updated = false;
    switch (e->kind) {
    case E_ATOM: hint_var(kg, b, e->atom.var, dest); return;
    case E_REARRANGE: {
        Var *arr = e->rearrange.arr.var;
        dest.at = lmad_unrearrange(kg->cx, dest.at, arr->type.rank, e->rearrange.perm);
        hint_var(kg, b, arr, dest);
        return;
    }
    case E_LOOP:
        if (place_root(e->loop.body, e->loop.body->res.at[j].var, &updated) == e->loop.params.at[j])
            hint_var(kg, b, e->loop.inits.at[j].var, dest);
        return;
    case E_IF: {
        Var *r = root_of_exp(b, e, j, &updated);
        if (r)
            hint_var(kg, b, place_root(e->branch.then_, e->branch.then_->res.at[j].var, &updated),
                     dest);
        return;
    }
    default: hint_var(kg, b, exp_updates(e, j).var, dest);
    }
}

/* A variable has one wish only: the first. */
static void hint_var(KGen *kg, const Body *b, Var *v, KLoc dest)
{
    int j, i = find_def(b, v, &j);
    if (i < 0 || varmap_get(kg->hints, v))
        return;
    KLoc *d = NEW(kg->cx->perm, KLoc);
    *d = dest;
    varmap_put(kg->hints, v, d);
    hint_operand(kg, b, b->stms.at[i].exp, j, dest);
}

void place_hint(KGen *kg, const Body *b, Atom v, KLoc dest)
{
    if (v.var && v.var->type.rank > 0)
        hint_var(kg, b, v.var, dest);
}

/* --- Questions about code ------------------------------------------------------------------ */

bool types_scalar(const Vars *vs, int from, int n)
{
    for (int i = from; i < n; i++)
        if (vs->at[i]->type.rank > 0)
            return false;
    return true;
}
