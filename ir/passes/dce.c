/* Removal of what is not used: statements, and single results of if, loop, map, reduce and their
 * like with all that only they need.
 *
 * First everything needed is marked, from the results of the entries backwards; every variable is
 * bound once, so one set of variables serves the whole program. A variable is marked when it is
 * needed; a loop parameter when its value is needed by the loop's results, its condition, or the
 * computation of another marked parameter; an operator's parameter likewise. Then the program is
 * rebuilt with the marked parts. Assertions are needed, other failing statements are not. */
#include "ir/passes/simplify.h"

#include <string.h>

typedef struct {
    Ctx *cx;
    VarSet *used;
    bool changed; /* while marking: something new was marked; while rebuilding: something was
                     dropped */
} Dce;

/* --- Marking -------------------------------------------------------------------------------- */

static void mark_body(Dce *D, const Body *b, const bool *need);

static bool is_used(const Dce *D, const Var *v)
{
    return varset_has(D->used, v);
}

static void mark_type(Dce *D, Type t);

static void mark_var(Dce *D, const Var *v)
{
    if (is_used(D, v))
        return;
    varset_add(D->used, v);
    D->changed = true;
    mark_type(D, v->type);
}

static void mark(void *env, Atom a)
{
    if (a.var)
        mark_var(env, a.var);
}

static void mark_type(Dce *D, Type t)
{
    for (int i = 0; i < t.rank; i++)
        mark(D, t.dims[i]);
}

/* Which of n results have a used variable in the pattern. */
static bool *needed_results(Dce *D, const Vars *pat, int n)
{
    bool *need = NEWN(D->cx->scratch, bool, n + 1);
    for (int k = 0; k < n && k < pat->n; k++)
        need[k] = is_used(D, pat->at[k]);
    return need;
}

static void mark_if(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    bool *need = needed_results(D, &s->pat, s->pat.n);
    mark(D, e->branch.test);
    mark_body(D, e->branch.then_, need);
    mark_body(D, e->branch.else_, need);
}

/* Calls step until it marks nothing new. */
#define TO_FIXPOINT(D, step)                                                                       \
    do {                                                                                           \
        bool before_ = (D)->changed, again_ = true;                                                \
        while (again_) {                                                                           \
            (D)->changed = false;                                                                  \
            step;                                                                                  \
            again_ = (D)->changed;                                                                 \
            before_ = before_ || again_;                                                           \
        }                                                                                          \
        (D)->changed = before_;                                                                    \
    } while (0)

static void mark_loop_once(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->loop.params.n;
    bool *need = NEWN(D->cx->scratch, bool, n + 1);
    for (int k = 0; k < n; k++) {
        if (is_used(D, s->pat.at[k]))
            mark_var(D, e->loop.params.at[k]);
        need[k] = is_used(D, e->loop.params.at[k]);
        if (need[k]) {
            /* The pattern's variable stays with its parameter, and so do the sizes in its type. */
            mark_var(D, s->pat.at[k]);
            mark(D, e->loop.inits.at[k]);
        }
    }
    mark_body(D, e->loop.body, need);
}

static void mark_loop(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->loop.kind == LOOP_FOR)
        mark(D, e->loop.bound);
    else
        mark_var(D, e->loop.cond);
    TO_FIXPOINT(D, mark_loop_once(D, s));
}

/* op (acc.., x..) -> acc..: result k is needed if `need` says so or if another needed result uses
 * its parameters. Marks both parameters of what is needed. */
static void mark_op_once(Dce *D, const Lambda *op, bool *need, int n)
{
    for (int k = 0; k < n; k++) {
        need[k] = need[k] || is_used(D, op->params.at[k]) || is_used(D, op->params.at[n + k]);
        if (need[k]) {
            mark_var(D, op->params.at[k]);
            mark_var(D, op->params.at[n + k]);
        }
    }
    mark_body(D, op->body, need);
}

/* need: of the n reduced results; widened to what the operator needs. */
static void mark_op(Dce *D, const Lambda *op, const Atoms *nes, bool *need)
{
    if (!op)
        return;
    TO_FIXPOINT(D, mark_op_once(D, op, need, nes->n));
    for (int k = 0; k < nes->n; k++)
        if (need[k])
            mark(D, nes->at[k]);
}

static void mark_all(bool *need, int n)
{
    memset(need, true, sizeof(bool) * (size_t)n);
}

static void mark_dests(Dce *D, const Dests *ds)
{
    for (int i = 0; i < ds->n; i++)
        mark(D, ds->at[i].arr);
}

/* All results of a histogram stay: they are combined by one operator at one position. */
static bool keeps_all(const Exp *e)
{
    return exp_is(e, F_DESTS);
}

static void mark_soac(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->soac.fn ? e->soac.fn->body->res.n : e->soac.nes.n;
    bool *need = needed_results(D, &s->pat, n);
    if (keeps_all(e))
        mark_all(need, n);
    mark(D, e->soac.width);
    mark_op(D, e->soac.op, &e->soac.nes, need);
    mark_dests(D, &e->soac.dests);
    if (e->soac.fn)
        mark_body(D, e->soac.fn->body, need);
    for (int j = 0; j < e->soac.arrs.n; j++)
        if (e->soac.fn ? is_used(D, e->soac.fn->params.at[j]) : need[j])
            mark(D, e->soac.arrs.at[j]);
}

static void mark_seg(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->seg.body->res.n;
    bool *need = needed_results(D, &s->pat, n);
    if (keeps_all(e))
        mark_all(need, n);
    mark_op(D, e->seg.op, &e->seg.nes, need);
    mark_dests(D, &e->seg.dests);
    mark_body(D, e->seg.body, need);
    for (int d = e->seg.nest.n - 1; d >= 0; d--) {
        const NestDim *nd = &e->seg.nest.at[d];
        mark(D, nd->width);
        for (int j = 0; j < nd->xs.n; j++)
            if (is_used(D, nd->xs.at[j]))
                mark(D, nd->arrs.at[j]);
        if (nd->row) {
            mark(D, nd->rows);
            mark(D, nd->offs);
        }
    }
}

static void mark_parts(Dce *D, const Stm *s)
{
    const Exp *e = s->exp;
    ExpVisitor v = {.env = D, .atom = mark};
    if (e->kind == E_IF)
        mark_if(D, s);
    else if (e->kind == E_LOOP)
        mark_loop(D, s);
    else if (exp_is_soac(e))
        mark_soac(D, s);
    else if (exp_is_seg(e))
        mark_seg(D, s);
    else
        exp_visit(e, &v);
    if (exp_member(e) == M_deriv)
        mark_body(D, e->deriv.fn->body, NULL);
    if (e->kind == E_WITH_VJP)
        mark_body(D, e->deriv.back->body, NULL);
}

static bool is_live(const Dce *D, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        if (is_used(D, s->pat.at[k]))
            return true;
    return exp_has_effect(s->exp);
}

/* need: which results, NULL: all. */
static void mark_body(Dce *D, const Body *b, const bool *need)
{
    for (int k = 0; k < b->res.n; k++)
        if (!need || need[k])
            mark(D, b->res.at[k]);
    for (int i = b->stms.n - 1; i >= 0; i--) {
        const Stm *s = &b->stms.at[i];
        if (!is_live(D, s))
            continue;
        for (int k = 0; k < s->pat.n; k++)
            if (is_used(D, s->pat.at[k]))
                mark_type(D, s->pat.at[k]->type);
        mark_parts(D, s);
    }
}

/* --- Rebuilding ----------------------------------------------------------------------------- */

static Body *keep_body(Dce *D, const Body *b, const bool *need);

static Vars keep_vars(Dce *D, const Vars *vs, const bool *need)
{
    Vars r = {0};
    for (int k = 0; k < vs->n; k++)
        if (need[k])
            vec_push(D->cx->perm, &r, vs->at[k]);
        else
            D->changed = true;
    return r;
}

static Atoms keep_atoms(Dce *D, const Atoms *as, const bool *need)
{
    Atoms r = {0};
    for (int k = 0; k < as->n; k++)
        if (need[k])
            vec_push(D->cx->perm, &r, as->at[k]);
    return r;
}

static void keep_loop(Dce *D, Stm *s, const Exp *e)
{
    bool *need = needed_results(D, &e->loop.params, e->loop.params.n);
    Exp *r = s->exp;
    r->loop.params = keep_vars(D, &e->loop.params, need);
    r->loop.inits = keep_atoms(D, &e->loop.inits, need);
    r->loop.body = keep_body(D, e->loop.body, need);
    s->pat = keep_vars(D, &s->pat, need);
}

static Lambda *keep_op(Dce *D, const Lambda *op, const bool *need, int n)
{
    bool *both = NEWN(D->cx->scratch, bool, 2 * n + 1);
    memcpy(both, need, sizeof(bool) * (size_t)n);
    memcpy(both + n, need, sizeof(bool) * (size_t)n);
    Vars params = keep_vars(D, &op->params, both);
    return lambda_new(D->cx, params, keep_body(D, op->body, need));
}

/* Results: the first n as the operator's parameters are marked, the others as the pattern is. */
static bool *kept_results(Dce *D, const Vars *pat, const Lambda *op, int n_red, int n)
{
    bool *need = needed_results(D, pat, n);
    for (int k = 0; k < n_red; k++)
        need[k] = is_used(D, op->params.at[k]);
    return need;
}

static int count_true(const bool *need, int n)
{
    int c = 0;
    for (int k = 0; k < n; k++)
        c += need[k];
    return c;
}

static void keep_soac(Dce *D, Stm *s, const Exp *e)
{
    Exp *r = s->exp;
    int n_red = e->soac.nes.n, n = e->soac.fn ? e->soac.fn->body->res.n : n_red;
    bool *need = kept_results(D, &s->pat, e->soac.op, n_red, n), *rows = need;
    if (keeps_all(e))
        mark_all(need, n);
    if (e->soac.op) {
        r->soac.op = keep_op(D, e->soac.op, need, n_red);
        r->soac.nes = keep_atoms(D, &e->soac.nes, need);
    }
    if (e->soac.fn) {
        const Lambda *fn = e->soac.fn;
        rows = needed_results(D, &fn->params, fn->params.n);
        Vars params = keep_vars(D, &fn->params, rows);
        r->soac.fn = lambda_new(D->cx, params, keep_body(D, fn->body, need));
    }
    r->soac.arrs = keep_atoms(D, &e->soac.arrs, rows);
    if (!keeps_all(e))
        s->pat = keep_vars(D, &s->pat, need);
    if (e->soac.op && e->soac.fn && count_true(need, n_red) == 0) {
        /* Nothing is reduced any more. */
        r->kind = E_MAP;
        r->soac.op = NULL;
        r->soac.comm = false;
    }
}

static void keep_seg(Dce *D, Stm *s, const Exp *e)
{
    Exp *r = s->exp;
    int n_red = e->seg.nes.n, n = e->seg.body->res.n;
    bool *need = kept_results(D, &s->pat, e->seg.op, n_red, n);
    if (keeps_all(e))
        mark_all(need, n);
    if (e->seg.op) {
        r->seg.op = keep_op(D, e->seg.op, need, n_red);
        r->seg.nes = keep_atoms(D, &e->seg.nes, need);
    }
    r->seg.nest = (Nest){0};
    for (int d = 0; d < e->seg.nest.n; d++) {
        NestDim nd = e->seg.nest.at[d];
        bool *xs = needed_results(D, &nd.xs, nd.xs.n);
        nd.arrs = keep_atoms(D, &nd.arrs, xs);
        nd.xs = keep_vars(D, &nd.xs, xs);
        vec_push(D->cx->perm, &r->seg.nest, nd);
    }
    r->seg.body = keep_body(D, e->seg.body, need);
    if (!keeps_all(e))
        s->pat = keep_vars(D, &s->pat, need);
    if (e->seg.op && count_true(need, n_red) == 0) {
        r->kind = E_SEGMAP;
        r->seg.op = NULL;
        r->seg.comm = false;
    }
}

static Stm keep_stm(Dce *D, const Stm *s)
{
    ExpMapper m = {.env = D};
    const Exp *e = s->exp;
    Stm r = {s->pat, exp_map_parts(D->cx, e, &m)};
    if (e->kind == E_IF) {
        bool *need = needed_results(D, &s->pat, s->pat.n);
        r.exp->branch.then_ = keep_body(D, e->branch.then_, need);
        r.exp->branch.else_ = keep_body(D, e->branch.else_, need);
        r.pat = keep_vars(D, &s->pat, need);
    } else if (e->kind == E_LOOP) {
        keep_loop(D, &r, e);
    } else if (exp_is_soac(e)) {
        keep_soac(D, &r, e);
    } else if (exp_is_seg(e)) {
        keep_seg(D, &r, e);
    } else if (exp_member(e) == M_deriv) {
        const Lambda *fn = e->deriv.fn, *back = e->deriv.back;
        r.exp->deriv.fn = lambda_new(D->cx, fn->params, keep_body(D, fn->body, NULL));
        if (back)
            r.exp->deriv.back = lambda_new(D->cx, back->params, keep_body(D, back->body, NULL));
    }
    return r;
}

static Body *keep_body(Dce *D, const Body *b, const bool *need)
{
    Bld bl = bld_new(D->cx);
    for (int i = 0; i < b->stms.n; i++) {
        if (is_live(D, &b->stms.at[i]))
            bld_stm(&bl, keep_stm(D, &b->stms.at[i]));
        else
            D->changed = true;
    }
    return bld_body(&bl, need ? keep_atoms(D, &b->res, need) : b->res);
}

Prog *dce_prog(Ctx *cx, const Prog *p, bool *changed)
{
    Arena *mem = arena_new();
    Ctx own = {.perm = cx->perm, .scratch = mem, .flatten_mode = cx->flatten_mode};
    Prog *r = NEW(cx->perm, Prog);
    r->dialect = p->dialect;
    for (int i = 0; i < p->entries.n; i++) {
        Entry en = p->entries.at[i];
        Dce D = {&own, varmap_new(mem), false};
        mark_body(&D, en.body, NULL);
        D.changed = false;
        en.body = keep_body(&D, en.body, NULL);
        *changed = *changed || D.changed;
        vec_push(cx->perm, &r->entries, en);
    }
    arena_free(mem);
    return r;
}
