/* Activity: which variables depend on what is differentiated. The others have no tangent and no
 * adjoint, so that nothing is computed for them. An approximation from above: of operators of
 * folds, all is active if an operand is. */
#include "ad/reverse.h"

static void mark(VarSet *active, Var *v)
{
    if (ad_is_float(v->type))
        varset_add(active, v);
}

static void mark_all(VarSet *active, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        mark(active, vs->at[i]);
}


static bool any_of(const VarSet *active, const VarSet *vs)
{
    for (int i = 0; (i = ptrmap_next(vs, i)) >= 0; i++)
        if (varset_has(active, ptrmap_key(vs, i)))
            return true;
    return false;
}

bool ad_active_inside(const VarSet *active, const Lambda *fn)
{
    Arena *a = arena_new();
    VarSet *free = varmap_new(a);
    free_in_lambda(free, fn);
    bool r = any_of(active, free);
    arena_free(a);
    return r;
}

static bool exp_active(const VarSet *active, const Exp *e)
{
    Arena *a = arena_new();
    VarSet *free = varmap_new(a);
    free_in_exp(free, e);
    bool r = any_of(active, free);
    arena_free(a);
    return r;
}

static void mark_results(VarSet *active, const Stm *s, const Body *b)
{
    for (int i = 0; i < s->pat.n && i < b->res.n; i++)
        if (ad_active(active, b->res.at[i]))
            mark(active, s->pat.at[i]);
}

/* Parameters are active if what they start with is, or what a turn makes of them. */
static void activity_loop(VarSet *active, const Stm *s)
{
    const Exp *e = s->exp;
    for (int i = 0; i < e->loop.params.n; i++)
        if (ad_active(active, e->loop.inits.at[i]))
            mark(active, e->loop.params.at[i]);
    for (bool more = true; more;) {
        more = false;
        ad_activity(active, e->loop.body);
        for (int i = 0; i < e->loop.params.n; i++) {
            Var *p = e->loop.params.at[i];
            if (!varset_has(active, p) && ad_active(active, e->loop.body->res.at[i])) {
                mark(active, p);
                more = more || varset_has(active, p);
            }
        }
    }
    for (int i = 0; i < s->pat.n; i++)
        if (varset_has(active, e->loop.params.at[i]))
            mark(active, s->pat.at[i]);
}

static void activity_map(VarSet *active, const Stm *s)
{
    const Exp *e = s->exp;
    for (int i = 0; i < e->soac.arrs.n; i++)
        if (ad_active(active, e->soac.arrs.at[i]))
            mark(active, e->soac.fn->params.at[i]);
    ad_activity(active, e->soac.fn->body);
    mark_results(active, s, e->soac.fn->body);
}

static void activity_soac(VarSet *active, const Stm *s)
{
    const Exp *e = s->exp;
    if (!exp_active(active, e))
        return;
    mark_all(active, &s->pat);
    Lambda *const fns[] = {e->soac.fn, e->soac.op};
    for (int i = 0; i < 2; i++)
        if (fns[i]) {
            mark_all(active, &fns[i]->params);
            ad_activity(active, fns[i]->body);
        }
}

void ad_activity_stm(VarSet *active, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind == E_IF) {
        ad_activity(active, e->branch.then_);
        ad_activity(active, e->branch.else_);
        mark_results(active, s, e->branch.then_);
        mark_results(active, s, e->branch.else_);
    } else if (e->kind == E_LOOP) {
        activity_loop(active, s);
    } else if (e->kind == E_MAP) {
        activity_map(active, s);
    } else if (exp_is_soac(e)) {
        activity_soac(active, s);
    } else if (exp_active(active, e)) {
        mark_all(active, &s->pat);
    }
}

void ad_activity(VarSet *active, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        ad_activity_stm(active, &b->stms.at[i]);
}
