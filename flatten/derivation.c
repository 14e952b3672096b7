/* The derivation of the last run: which rule fired where, and with what outcome. */
#include "flatten/rules.h"

#include <string.h>

/* The log stays with the context, as explain is asked after the pipeline has run. */
struct FlLog {
    Derivations steps;
};

Derivations *log_start(Ctx *cx)
{
    cx->log = NEW(cx->perm, struct FlLog);
    return &cx->log->steps;
}

const Derivations *log_of(const Ctx *cx)
{
    static const Derivations none;
    return cx->log ? &cx->log->steps : &none;
}

/* What of S the expression needs, as text. */
static const char *nest_needed(Flat *fl, const MapNest *S, const Exp *e)
{
    if (exp_is_seg(e))
        return nest_text(&e->seg.nest);
    VarSet *need = varmap_new(fl->cx->perm);
    bool whole_last = false;
    free_in_exp(need, e);
    if (exp_is_soac(e) && e->soac.fn)
        free_in_body(need, e->soac.fn->body);
    else
        whole_last = exp_is_soac(e); /* its own dimension, with parameters made for it */
    MapNest r = nest_copy(fl, S);
    for (int d = r.dims.n - 1; d >= 0; d--) {
        MapDim *nd = &r.dims.at[d];
        Vars xs = {0};
        Atoms arrs = {0};
        for (int k = 0; k < nd->xs.n; k++) {
            if (!varset_has(need, nd->xs.at[k]) && !(whole_last && d == r.dims.n - 1))
                continue;
            vec_push(fl->cx->perm, &xs, nd->xs.at[k]);
            vec_push(fl->cx->perm, &arrs, nd->arrs.at[k]);
            if (nd->arrs.at[k].var)
                varset_add(need, nd->arrs.at[k].var);
        }
        nd->xs = xs;
        nd->arrs = arrs;
    }
    return nest_show(fl, &r);
}

void log_rule(Flat *fl, const char *rule, const MapNest *S, const Exp *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    Derivation d = {.entry = fl->entry, .rule = rule, .loc = e->loc, .depth = fl->depth};
    d.form = form_info[e->kind].text;
    if (!d.form[0])
        d.form = "code";
    d.nest = nest_needed(fl, S, e);
    d.outcome = arena_vprintf(fl->cx->perm, fmt, ap);
    va_end(ap);
    vec_push(fl->cx->perm, fl->log, d);
}

void log_move_last(Flat *fl, int at)
{
    Derivation d = vec_last(fl->log);
    for (int i = fl->log->n - 1; i > at; i--)
        fl->log->at[i] = fl->log->at[i - 1];
    fl->log->at[at] = d;
}
