/* Before derivatives are made: calls of functions become their bodies, as what is known of a call's
 * arguments, that they are constants, spares most of its derivative.
 *
 *     function f (a, b) = { let c = mul.f64 a b in c }
 *     .. let x = call f (p, 2.0f64)              -->   let x = mul.f64 p 2.0f64 */
#include "ad/ad_int.h"

static void put_stms(Bld *bl, const Stms *stms);

static Body *inlined_body(void *env, Body *b)
{
    Bld bl = bld_new(env);
    put_stms(&bl, &b->stms);
    return bld_body(&bl, b->res);
}

static Lambda *inlined_lambda(void *env, Lambda *l)
{
    return lambda_new(env, l->params, inlined_body(env, l->body));
}

/* The body may call others. */
static void put_call(Bld *bl, const Stm *s)
{
    Bld in = bld_new(bl->cx);
    Atoms res = bld_inline_lambda(&in, s->exp->call.fn->lam, &s->exp->call.args);
    put_stms(bl, &in.stms);
    for (int i = 0; i < res.n; i++)
        bld_define(bl, s->pat.at[i], exp_atom(bl->cx, s->exp->loc, res.at[i]));
}

static void put_stms(Bld *bl, const Stms *stms)
{
    ExpMapper m = {.env = bl->cx, .body = inlined_body, .lambda = inlined_lambda};
    for (int i = 0; i < stms->n; i++) {
        const Stm *s = &stms->at[i];
        if (s->exp->kind == E_CALL)
            put_call(bl, s);
        else
            bld_stm(bl, (Stm){s->pat, exp_map_parts(bl->cx, s->exp, &m)});
    }
}

Lambda *ad_inlined(Ctx *cx, const Lambda *fn)
{
    return inlined_lambda(cx, rename_lambda(cx, fn));
}
