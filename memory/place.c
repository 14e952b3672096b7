/* Where results are built. An array that is a body's result is built directly in the memory that
 * wants it, if the body makes it: the wish (a hint) travels from the result backwards through
 * in-place updates, aliases, loops and branches to the statement that allocates. */
#include "memory/place.h"

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

/* Is result j of a branch of e worked on? */
static bool branch_works_on(const Exp *e, int j)
{
    return place_worked_on(e->branch.then_, e->branch.then_->res.at[j].var) ||
           place_worked_on(e->branch.else_, e->branch.else_->res.at[j].var);
}

bool place_worked_on(const Body *b, const Var *v)
{
    int j, i = v ? find_def(b, v, &j) : -1;
    if (i < 0)
        return false;
    const Exp *e = b->stms.at[i].exp;
    if (e->kind == E_LOOP || exp_updates(e, j).var)
        return true;
    if (e->kind == E_IF)
        return branch_works_on(e, j);
    return exp_is(e, F_VIEW) && place_worked_on(b, exp_view_of(e).var);
}

bool place_binds(const Body *b, const Var *v)
{
    int j;
    return v && find_def(b, v, &j) >= 0;
}

bool place_binds_size(const Stm *s, const Var *v, int from)
{
    for (int k = from; k < v->type.rank; k++)
        for (int i = 0; i < s->pat.n; i++)
            if (v->type.dims[k].var == s->pat.at[i])
                return true;
    return false;
}

Var *place_of_exp(const Exp *e, int j, bool *updated)
{
    static const Body empty;
    return root_of_exp(&empty, e, j, updated);
}

/* --- Wishes --------------------------------------------------------------------------------- */

typedef struct {
    Ctx *cx;
    PlaceWish *wish;
    void *env;
} Wishes;

static void wish_var(const Wishes *w, const Body *b, const Var *v, Lmad at);

/* Result j of e is wanted at `at`: passes the wish on to what e builds upon. */
static void wish_operand(const Wishes *w, const Body *b, const Exp *e, int j, Lmad at)
{
    bool updated = false;
    switch (e->kind) {
    case E_ATOM: wish_var(w, b, e->atom.var, at); return;
    case E_REARRANGE: {
        const Var *arr = e->rearrange.arr.var;
        wish_var(w, b, arr, lmad_unrearrange(w->cx, at, arr->type.rank, e->rearrange.perm));
        return;
    }
    case E_LOOP:
        if (place_root(e->loop.body, e->loop.body->res.at[j].var, &updated) == e->loop.params.at[j])
            wish_var(w, b, e->loop.inits.at[j].var, at);
        return;
    case E_IF: {
        const Var *r = root_of_exp(b, e, j, &updated);
        if (r)
            wish_var(w, b, place_root(e->branch.then_, e->branch.then_->res.at[j].var, &updated),
                     at);
        return;
    }
    default: wish_var(w, b, exp_updates(e, j).var, at);
    }
}

static void wish_var(const Wishes *w, const Body *b, const Var *v, Lmad at)
{
    int j, i = find_def(b, v, &j);
    if (i >= 0 && w->wish(w->env, v, at))
        wish_operand(w, b, b->stms.at[i].exp, j, at);
}

void place_wish(Ctx *cx, const Body *b, Atom v, Lmad at, PlaceWish *wish, void *env)
{
    Wishes w = {cx, wish, env};
    if (v.var && v.var->type.rank > 0)
        wish_var(&w, b, v.var, at);
}
