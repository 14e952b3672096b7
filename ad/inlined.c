/* What becomes its function's body.
 *
 * Calls, before derivatives are made, as what is known of a call's arguments, that they are
 * constants, spares most of its derivative:
 *
 *     function f (a, b) = { let c = mul.f64 a b in c }
 *     .. let x = call f (p, 2.0f64)              -->   let x = mul.f64 p 2.0f64
 *
 * Functions that say what their derivative is (with_vjp, stop_gradient), where nobody asks. */
#include "ad/ad_int.h"

typedef struct {
    Ctx *cx;
    bool (*ask)(const Exp *e); /* what is inlined */
} Inline;

static void put_stms(Inline *I, Bld *bl, const Stms *stms);

static Body *inlined_body(void *env, Body *b)
{
    Inline *I = env;
    Bld bl = bld_new(I->cx);
    put_stms(I, &bl, &b->stms);
    return bld_body(&bl, b->res);
}

static Lambda *inlined_lambda(void *env, Lambda *l)
{
    Inline *I = env;
    return lambda_new(I->cx, l->params, inlined_body(env, l->body));
}

/* The body may have others. */
static void put_inlined(Inline *I, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    bool call = e->kind == E_CALL;
    Bld in = bld_new(bl->cx);
    Atoms res = bld_inline_lambda(&in, call ? e->call.fn->lam : e->deriv.fn,
                                  call ? &e->call.args : &e->deriv.args);
    put_stms(I, bl, &in.stms);
    for (int i = 0; i < res.n; i++)
        bld_define(bl, s->pat.at[i], exp_atom(bl->cx, e->loc, res.at[i]));
}

static void put_stms(Inline *I, Bld *bl, const Stms *stms)
{
    ExpMapper m = {.env = I, .body = inlined_body, .lambda = inlined_lambda};
    for (int i = 0; i < stms->n; i++) {
        const Stm *s = &stms->at[i];
        if (I->ask(s->exp))
            put_inlined(I, bl, s);
        else
            bld_stm(bl, (Stm){s->pat, exp_map_parts(bl->cx, s->exp, &m)});
    }
}

static bool is_call(const Exp *e)
{
    return e->kind == E_CALL;
}

static bool has_own(const Exp *e)
{
    return e->kind == E_WITH_VJP;
}

bool ad_is_special(const Exp *e)
{
    return e->kind == E_WITH_VJP || e->kind == E_STOP ||
           (is_call(e) && body_any(e->call.fn->lam->body, ad_is_special));
}

Lambda *ad_inlined(Ctx *cx, const Lambda *fn)
{
    return inlined_lambda(&(Inline){cx, is_call}, rename_lambda(cx, fn));
}

Lambda *ad_plain(Ctx *cx, Lambda *fn)
{
    return inlined_lambda(&(Inline){cx, has_own}, fn);
}

Body *ad_final(Ctx *cx, Body *b)
{
    return inlined_body(&(Inline){cx, ad_is_special}, b);
}
