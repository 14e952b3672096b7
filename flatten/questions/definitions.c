/* What is known of a variable: how it is defined, and whether its memory is consumed. */
#include "flatten/rules.h"

/* from: Var -> Vars *, the arrays whose memory a variable may share; to: the reverse. */
typedef struct {
    Flat *fl;
    VarMap *from, *to;
    Vars consumed;
} Scan;

static void scan_body(Scan *sc, const Body *b);

static void add_edge(Scan *sc, VarMap *m, const Var *v, Var *w)
{
    Vars *vs = varmap_get(m, v);
    if (!vs) {
        vs = NEW(sc->fl->cx->perm, Vars);
        varmap_put(m, v, vs);
    }
    vec_push(sc->fl->cx->perm, vs, w);
}

static void may_share(Scan *sc, Var *v, Atom with)
{
    if (v->type.rank == 0 || !with.var)
        return;
    add_edge(sc, sc->from, v, with.var);
    add_edge(sc, sc->to, with.var, v);
}

static void consume(Scan *sc, Atom a)
{
    if (a.var)
        vec_push(sc->fl->cx->perm, &sc->consumed, a.var);
}

static void scan_soac(Scan *sc, const Exp *e)
{
    const Lambda *lam = e->soac.fn ? e->soac.fn : e->soac.op;
    int first = lam->params.n - e->soac.arrs.n;
    for (int k = 0; k < e->soac.arrs.n && first >= 0; k++)
        may_share(sc, lam->params.at[first + k], e->soac.arrs.at[k]);
    for (int k = 0; k < e->soac.dests.n; k++)
        consume(sc, e->soac.dests.at[k].arr);
    if (e->soac.fn)
        scan_body(sc, e->soac.fn->body);
    if (e->soac.op)
        scan_body(sc, e->soac.op->body);
}

static void scan_loop(Scan *sc, const Stm *s)
{
    const Exp *e = s->exp;
    for (int k = 0; k < e->loop.params.n; k++) {
        may_share(sc, e->loop.params.at[k], e->loop.inits.at[k]);
        may_share(sc, e->loop.params.at[k], e->loop.body->res.at[k]);
        may_share(sc, s->pat.at[k], e->loop.inits.at[k]);
        may_share(sc, s->pat.at[k], e->loop.body->res.at[k]);
    }
    scan_body(sc, e->loop.body);
}

static void scan_stm(Scan *sc, const Stm *s)
{
    Exp *e = s->exp;
    const Vars *pat = &s->pat;
    if (pat->n == 1)
        varmap_put(sc->fl->defs, pat->at[0], e);
    if (exp_is_soac(e)) {
        scan_soac(sc, e);
    } else if (e->kind == E_LOOP) {
        scan_loop(sc, s);
    } else if (e->kind == E_IF) {
        scan_body(sc, e->branch.then_);
        scan_body(sc, e->branch.else_);
        for (int k = 0; k < pat->n; k++) {
            may_share(sc, pat->at[k], e->branch.then_->res.at[k]);
            may_share(sc, pat->at[k], e->branch.else_->res.at[k]);
        }
    } else if (e->kind == E_UPDATE) {
        consume(sc, e->update.arr);
        may_share(sc, pat->at[0], e->update.arr);
    } else if (e->kind == E_ATOM) {
        may_share(sc, pat->at[0], e->atom);
    } else if (e->kind == E_INDEX) {
        may_share(sc, pat->at[0], e->index.arr);
    } else if (e->kind == E_REARRANGE) {
        may_share(sc, pat->at[0], e->rearrange.arr);
    } else if (e->kind == E_RESHAPE) {
        may_share(sc, pat->at[0], e->reshape.arr);
    }
}

static void scan_body(Scan *sc, const Body *b)
{
    VarSet *own = varmap_new(sc->fl->cx->perm);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        scan_stm(sc, s);
        if (s->exp->kind == E_ASSERT && varset_has(own, s->exp->assertion.cond.var))
            varset_add(sc->fl->asserted, s->exp->assertion.cond.var);
        if (s->pat.n == 1 && s->exp->kind == E_PRIM)
            varset_add(own, s->pat.at[0]);
    }
}

static void push_all(Scan *sc, Vars *work, const Vars *vs)
{
    for (int k = 0; vs && k < vs->n; k++)
        vec_push(sc->fl->cx->perm, work, vs->at[k]);
}

/* Consumed: what a consumed variable may be made from. Overwritten: all that may share memory with
 * it, views of it as well. */
static void close_consumed(Scan *sc)
{
    Vars work = sc->consumed;
    for (int i = 0; i < work.n; i++) {
        if (varset_has(sc->fl->consumed, work.at[i]))
            continue;
        varset_add(sc->fl->consumed, work.at[i]);
        push_all(sc, &work, varmap_get(sc->from, work.at[i]));
    }
    for (int i = 0; i < work.n; i++) {
        Var *v = work.at[i];
        if (varset_has(sc->fl->overwritten, v))
            continue;
        varset_add(sc->fl->overwritten, v);
        push_all(sc, &work, varmap_get(sc->from, v));
        push_all(sc, &work, varmap_get(sc->to, v));
    }
}

void analyse_body(Flat *fl, const Body *b)
{
    Arena *mem = fl->cx->perm;
    Scan sc = {.fl = fl, .from = varmap_new(mem), .to = varmap_new(mem)};
    scan_body(&sc, b);
    close_consumed(&sc);
}

void analyse_program(Flat *fl, const Prog *p)
{
    for (int i = 0; i < p->entries.n; i++)
        analyse_body(fl, p->entries.at[i].body);
}

bool is_consumed(const Flat *fl, Atom a)
{
    return a.var && varset_has(fl->consumed, a.var);
}

void inherit_consumed(Flat *fl, const Var *from, const Var *to)
{
    if (varset_has(fl->consumed, from))
        varset_add(fl->consumed, to);
}

Exp *def_of(const Flat *fl, Atom a)
{
    return a.var ? varmap_get(fl->defs, a.var) : NULL;
}
