#include "cost/cost.h"

/* So far above what is needed that no tuner comes near. */
enum { ALWAYS = 1000000 };

const Sx *cost_percent(Ctx *cx, const Sx *have, const Sx *need)
{
    const Sx *most = sx_op(cx, SX_MAX, need, sx_const(cx, 1));
    return sx_op(cx, SX_DIV, sx_mul(cx, sx_const(cx, 100), have), most);
}

const Sx *cost_percent_most(Ctx *cx, const Sx *most, const Sx *n)
{
    return cost_percent(cx, most, n);
}

const Sx *cost_both(Ctx *cx, const Sx *percent, const Sx *and)
{
    return sx_op(cx, SX_MIN, percent, and);
}

const Sx *cost_always(Ctx *cx)
{
    return sx_const(cx, ALWAYS);
}
