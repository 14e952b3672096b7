/* A function with recursive calls: what its calls pass on as it is goes out of them, then the body
 * is cut, and becomes a loop of tail calls where they are all that, else one with a stack. */
#include "frontend/recursion/recursion_int.h"

/* --- Invariant parameters ------------------------------------------------------------------- */

typedef struct {
    const SelfCalls *f;
    bool *varies; /* which parameters are not passed on as they are by each call */
} Passed;

static void passed_in_exp(Passed *p, const Exp *e);

static void passed_in_body(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        passed_in_exp(env, b->stms.at[i].exp);
}

static void passed_in_lambda(void *env, Lambda *l)
{
    passed_in_body(env, l->body);
}

static void passed_in_exp(Passed *p, const Exp *e)
{
    if (e->kind == E_CALL && e->call.fn == p->f->self)
        for (int i = 0; i < e->call.args.n; i++)
            p->varies[i] |= e->call.args.at[i].var != p->f->params.at[i];
    ExpVisitor v = {.env = p, .body = passed_in_body, .lambda = passed_in_lambda};
    exp_visit(e, &v);
}

static Exp *without_args(const Passed *p, Ctx *cx, Exp *e);

static Body *body_without(void *env, Body *b);

typedef struct {
    const Passed *p;
    Ctx *cx;
} Without;

static Lambda *lambda_without(void *env, Lambda *l)
{
    const Without *w = env;
    return lambda_new(w->cx, l->params, body_without(env, l->body));
}

static Body *body_without(void *env, Body *b)
{
    const Without *w = env;
    Body *r = NEW(w->cx->perm, Body);
    r->res = b->res;
    for (int i = 0; i < b->stms.n; i++)
        vec_push(w->cx->perm, &r->stms,
                 ((Stm){b->stms.at[i].pat, without_args(w->p, w->cx, b->stms.at[i].exp)}));
    return r;
}

static Exp *without_args(const Passed *p, Ctx *cx, Exp *e)
{
    if (e->kind == E_CALL && e->call.fn == p->f->self) {
        Exp *r = arena_memdup(cx->perm, e, sizeof *e);
        r->call.args = (Atoms){0};
        for (int i = 0; i < e->call.args.n; i++)
            if (p->varies[i])
                vec_push(cx->perm, &r->call.args, e->call.args.at[i]);
        return r;
    }
    Without w = {p, cx};
    ExpMapper m = {.env = &w, .body = body_without, .lambda = lambda_without};
    return exp_map_parts(cx, e, &m);
}

/* Parameters that each call passes on as they are become what the function is applied to. */
static void settle_invariant(SelfCalls *f)
{
    Ctx *cx = f->cx;
    Passed p = {f, NEWN(cx->perm, bool, f->params.n)};
    passed_in_body(&p, f->body);
    Subst *su = subst_new(cx);
    Vars params = {0};
    Atoms inits = {0};
    for (int i = 0; i < f->params.n; i++) {
        Var *v = f->params.at[i];
        if (!p.varies[i]) {
            subst_add(su, v, f->inits.at[i]);
            continue;
        }
        Type t = {v->type.elem, v->type.rank, NEWN(cx->perm, Atom, v->type.rank)};
        for (int d = 0; d < t.rank; d++)
            t.dims[d] = subst_in(cx, su, v->type.dims[d]);
        Var *w = var_new(cx, v->base, t, v->loc);
        subst_add(su, v, atom_var(w));
        vec_push(cx->perm, &params, w);
        vec_push(cx->perm, &inits, f->inits.at[i]);
    }
    Body *b = body_without(&(Without){&p, cx}, f->body), *r = NEW(cx->perm, Body);
    for (int i = 0; i < b->stms.n; i++)
        vec_push(cx->perm, &r->stms, subst_stm(cx, su, &b->stms.at[i]));
    for (int i = 0; i < b->res.n; i++)
        vec_push(cx->perm, &r->res, subst_in(cx, su, b->res.at[i]));
    f->params = params;
    f->inits = inits;
    f->body = r;
}

/* --- All of it ------------------------------------------------------------------------------ */

Atoms recursion_inline(Bld *bl, SelfCalls *f)
{
    settle_invariant(f);
    for (int i = 0; i < f->body->stms.n; i++)
        bld_stm(bl, f->body->stms.at[i]);
    return f->body->res;
}

const char *recursion_lower(Bld *bl, SelfCalls *f, const Vars *pat)
{
    settle_invariant(f);
    Cut c = {.cx = f->cx, .f = f, .inner = varmap_new(f->cx->perm)};
    bound_in_body(c.inner, f->body);
    for (int i = 0; i < f->params.n; i++)
        varset_add(c.inner, f->params.at[i]);
    Code *start = split_body(&c);
    if (c.why)
        return c.why;
    if (!code_ends(&c, start)) {
        f->failed = f->loc;
        return "in each case, so it never ends";
    }
    if (c.states.n)
        emit_machine(bl, &c, start, pat);
    else
        emit_tail(bl, &c, start, pat);
    return NULL;
}
