/* Which variables of a function depend on its parameters in a way that has a derivative. Of
 *
 *     \(x: f64, n: i64, c: [n]f64) -> {
 *         let a = floor.f64 x
 *         let y = loop (z = 1.0f64) for i < n do { let w = mul.f64 z x in w } in (a, y)
 *
 * these are x, c, z, w and y. As a variable is bound once, one set serves all scopes. Statements
 * are looked at again until nothing is added, since what a turn of a loop gives reaches the next.
 * Operators work on pairs of values of one kind: what they have seen so far, an element and the
 * result are active together. */
#include "ad/ad_int.h"

AdClass ad_class(const Exp *e)
{
    static const AdClass of_member[N_MEMBERS] = {
        [M_assertion] = AD_NONE,  [M_trace] = AD_NONE,     [M_prim] = AD_PRIM,
        [M_atom] = AD_MOVED,      [M_conv] = AD_MOVED,     [M_index] = AD_MOVED,
        [M_update] = AD_MOVED,    [M_iota] = AD_MOVED,     [M_replicate] = AD_MOVED,
        [M_scratch] = AD_MOVED,   [M_arraylit] = AD_MOVED, [M_concat] = AD_MOVED,
        [M_rearrange] = AD_MOVED, [M_reshape] = AD_MOVED,  [M_copy] = AD_MOVED,
        [M_branch] = AD_BRANCH,   [M_loop] = AD_LOOP,      [M_soac] = AD_SOAC,
    };
    AdClass c = e->kind == E_STOP       ? AD_NONE
                : e->kind == E_WITH_VJP ? AD_OWN
                                        : of_member[exp_member(e)];
    if (c == AD_RESOLVED)
        ice(e->loc, "the derivative of %s", form_info[e->kind].text);
    return c;
}

typedef struct {
    VarSet *set;
    bool more; /* something was added */
} Active;

static bool is_on(const Active *A, Atom a)
{
    return a.var && varset_has(A->set, a.var);
}

static void put_if(Active *A, bool on, const Var *v)
{
    if (!on || !ad_is_float(v->type) || varset_has(A->set, v))
        return;
    varset_add(A->set, v);
    A->more = true;
}

/* --- Expressions ---------------------------------------------------------------------------- */

static void see_body(Active *A, const Body *b);

static void see_prim(Active *A, const Stm *s)
{
    const Exp *e = s->exp;
    for (int i = 0; i < e->prim.args.n; i++)
        put_if(A, is_on(A, e->prim.args.at[i]) && ad_has_partial(e, i), s->pat.at[0]);
}

typedef struct {
    const Active *A;
    bool any;
} AnyOn;

static void see_atom(void *env, Atom a)
{
    AnyOn *any = env;
    any->any = any->any || is_on(any->A, a);
}

/* The result is made of elements of operands, as they are. */
static void see_moved(Active *A, const Stm *s)
{
    AnyOn any = {A, false};
    exp_visit(s->exp, &(ExpVisitor){.env = &any, .atom = see_atom});
    put_if(A, any.any, s->pat.at[0]);
}

static void see_branch(Active *A, const Stm *s)
{
    const Body *x = s->exp->branch.then_, *y = s->exp->branch.else_;
    see_body(A, x);
    see_body(A, y);
    for (int i = 0; i < s->pat.n; i++)
        put_if(A, is_on(A, x->res.at[i]) || is_on(A, y->res.at[i]), s->pat.at[i]);
}

static void see_loop(Active *A, const Stm *s)
{
    const Exp *e = s->exp;
    for (int i = 0; i < s->pat.n; i++)
        put_if(A, is_on(A, e->loop.inits.at[i]), e->loop.params.at[i]);
    see_body(A, e->loop.body);
    for (int i = 0; i < s->pat.n; i++) {
        put_if(A, is_on(A, e->loop.body->res.at[i]), e->loop.params.at[i]);
        put_if(A, is_on(A, atom_var(e->loop.params.at[i])), s->pat.at[i]);
    }
}

/* Its own derivative is asked of all results; what is free in its function is constant. */
static void see_own(Active *A, const Stm *s)
{
    bool any = false;
    for (int i = 0; i < s->exp->deriv.args.n; i++)
        any = any || is_on(A, s->exp->deriv.args.at[i]);
    for (int i = 0; i < s->pat.n; i++)
        put_if(A, any, s->pat.at[i]);
}

/* --- SOACs ---------------------------------------------------------------------------------- */

/* What the function, or without one the arrays, give for result k. */
static Atom given(const Exp *e, int k)
{
    if (!e->soac.fn)
        return e->soac.arrs.at[k];
    int from = 0;
    if (e->kind == E_HIST)
        from = e->soac.dests.at[0].rank;
    for (int i = 0; e->kind == E_SCATTER && i < e->soac.dests.n; i++)
        from += e->soac.dests.at[i].rank;
    return e->soac.fn->body->res.at[from + k];
}

static void see_op(Active *A, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *op = e->soac.op;
    int n = e->soac.nes.n;
    see_body(A, op->body);
    for (int k = 0; k < n; k++) {
        Var *acc = op->params.at[k], *x = op->params.at[n + k], *v = s->pat.at[k];
        bool on =
            is_on(A, e->soac.nes.at[k]) || is_on(A, op->body->res.at[k]) || is_on(A, atom_var(v));
        put_if(A, on, acc);
        put_if(A, on, x);
        put_if(A, on, v);
    }
}

static void see_soac(Active *A, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *fn = e->soac.fn;
    for (int i = 0; fn && i < fn->params.n; i++)
        put_if(A, is_on(A, e->soac.arrs.at[i]), fn->params.at[i]);
    if (fn)
        see_body(A, fn->body);
    for (int k = 0; k < s->pat.n; k++)
        put_if(A, is_on(A, given(e, k)), s->pat.at[k]);
    for (int k = 0; k < e->soac.dests.n; k++)
        put_if(A, is_on(A, e->soac.dests.at[k].arr), s->pat.at[k]);
    if (e->soac.op)
        see_op(A, s);
}

/* --- Bodies --------------------------------------------------------------------------------- */

static void see_stm(Active *A, const Stm *s)
{
    switch (ad_class(s->exp)) {
    case AD_PRIM: see_prim(A, s); return;
    case AD_MOVED: see_moved(A, s); return;
    case AD_BRANCH: see_branch(A, s); return;
    case AD_LOOP: see_loop(A, s); return;
    case AD_SOAC: see_soac(A, s); return;
    case AD_OWN: see_own(A, s); return;
    case AD_RESOLVED:
    case AD_NONE: return;
    }
}

static void see_body(Active *A, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        see_stm(A, &b->stms.at[i]);
}

void ad_activity(VarSet *active, const Body *b)
{
    Active A = {.set = active, .more = true};
    while (A.more) {
        A.more = false;
        see_body(&A, b);
    }
}

void ad_activity_stm(VarSet *active, const Stm *s)
{
    Active A = {.set = active, .more = true};
    while (A.more) {
        A.more = false;
        see_stm(&A, s);
    }
}

VarSet *ad_active(Ctx *cx, const Lambda *fn)
{
    VarSet *active = varmap_new(cx->scratch);
    for (int i = 0; i < fn->params.n; i++)
        if (ad_is_float(fn->params.at[i]->type))
            varset_add(active, fn->params.at[i]);
    ad_activity(active, fn->body);
    return active;
}
