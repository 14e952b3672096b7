/* e_intra of rule G3: a body that a work-group runs together, its parallelism mapped to level 0.
 * The same walk and the same rules at a lower level; then the question whether the result can run
 * inside a work-group: everything that sizes local memory or a level-0 construct must be known
 * before. */
#include "flatten/rules.h"

typedef struct {
    Flat *fl;
    VarSet *bound;   /* by the nest around, and between level-0 constructs */
    bool found;      /* a level-0 construct */
    const char *why; /* not feasible */
} Check;

/* The first reason counts. */
static void refuse(Check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void refuse(Check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->why)
        c->why = arena_vprintf(c->fl->cx->perm, fmt, ap);
    va_end(ap);
}

static void check_type(Check *c, const Var *v)
{
    for (int d = 0; d < v->type.rank; d++)
        if (atom_variant(c->bound, v->type.dims[d]))
            refuse(c, "the size of %s varies inside the work-group", v->base);
}

static void check_vars(Check *c, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        varset_add(c->bound, vs->at[k]);
    for (int k = 0; k < vs->n; k++)
        check_type(c, vs->at[k]);
}

static void check_body(Check *c, const Body *b);

static void check_seg(Check *c, const Exp *e)
{
    c->found = true;
    for (int d = 0; d < e->seg.nest.n; d++)
        if (atom_variant(c->bound, e->seg.nest.at[d].width))
            refuse(c, "the width %s varies inside the work-group",
                   e->seg.nest.at[d].width.var->base);
}

static void check_stm(Check *c, const Stm *s)
{
    const Exp *e = s->exp;
    if (exp_is_seg(e)) {
        check_seg(c, e);
    } else if (exp_is_soac(e)) {
        for (int k = 0; k < s->pat.n; k++)
            if (s->pat.at[k]->type.rank > 0)
                refuse(c, "a sequential %s would give an array to the whole work-group",
                       form_info[e->kind].text);
    } else if (e->kind == E_LOOP) {
        check_vars(c, &e->loop.params);
        if (e->loop.i)
            varset_add(c->bound, e->loop.i);
        check_body(c, e->loop.body);
    } else if (e->kind == E_IF) {
        check_body(c, e->branch.then_);
        check_body(c, e->branch.else_);
    }
    check_vars(c, &s->pat);
}

static void check_body(Check *c, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        check_stm(c, &b->stms.at[i]);
}

Body *intra_body(Flat *fl, const MapNest *S, const Body *b, const char **why)
{
    if (fl->level < 1) {
        *why = "no level below";
        return NULL;
    }
    Flat in = *fl;
    MapNest host = {0};
    in.level = fl->level - 1;
    Body *copy = rename_body(fl->cx, b);
    analyse_body(&in, copy);
    int log_at = fl->log->n;
    Bld bl = bld_new(fl->cx);
    Atoms res = flatten_body(&in, &host, copy, &bl);
    Body *r = bld_body(&bl, res);
    Check c = {.fl = fl, .bound = varmap_new(fl->cx->perm)};
    nest_vars(S, c.bound);
    check_body(&c, r);
    if (!c.why && !c.found)
        c.why = "no parallelism for level 0";
    if (!c.why)
        return r;
    fl->log->n = log_at;
    *why = c.why;
    return NULL;
}
