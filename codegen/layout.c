#include "codegen/plan.h"

Prog *cg_layout(Ctx *cx, const Prog *in)
{
    (void)cx;
    return (Prog *)in;
}
