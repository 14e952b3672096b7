#include "cost/cost.h"

/* So far above what is needed that no tuner comes near. */
enum { ALWAYS = 1000000 };

const KExp *cost_percent(Ctx *cx, const KExp *have, const KExp *need)
{
    const KExp *most = sx_op(cx, SX_MAX, need, sx_const(cx, 1));
    return sx_op(cx, SX_DIV, sx_mul(cx, sx_const(cx, 100), have), most);
}

const KExp *cost_percent_most(Ctx *cx, const KExp *most, const KExp *n)
{
    return cost_percent(cx, most, n);
}

const KExp *cost_both(Ctx *cx, const KExp *percent, const KExp *and)
{
    return sx_op(cx, SX_MIN, percent, and);
}

const KExp *cost_always(Ctx *cx)
{
    return sx_const(cx, ALWAYS);
}
