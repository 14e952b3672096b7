/* After the walk: scalars are read late. A read waits for the device, which then has nothing to do
 * until the next launch, so each one goes down its list of operations to the first that uses the
 * scalar, to the next read, or to the end. What it passes must not change what is read: the block
 * has one name only, and nothing passed mentions that. It does not pass an assertion: a failure in
 * a kernel is reported where the host waits, and what failed first is reported first. */
#include "host/host_walk.h"

/* --- Blocks with more than one name ----------------------------------------------------------- */

static void find_shared(void *env, HostOp *op)
{
    PtrMap *shared = env;
    if (op->kind == H_ALIAS) {
        ptrmap_put(shared, op->mem, op->mem);
        ptrmap_put(shared, op->mem2, op->mem2);
    }
}

/* --- Reads ------------------------------------------------------------------------------------ */

static bool stays_behind(Ctx *cx, const HostOp *op, const HostOp *read)
{
    VarSet *used = varmap_new(cx->scratch);
    op_uses(used, op);
    return op_is(op, HO_REPORTS) || ops_are(&op->then_, HO_REPORTS) ||
           ops_are(&op->else_, HO_REPORTS) || varset_has(used, read->var) || op->var == read->var ||
           op_mentions(op, read->mem);
}

static bool may_wait(const PtrMap *shared, const HostOp *op)
{
    return op->kind == H_READ && op->exp->kind == KE_CONST && !op->mem->is_param &&
           !ptrmap_get(shared, op->mem);
}

/* From the last read to the first, so that reads keep their order where they meet. */
static void delay(Ctx *cx, const PtrMap *shared, HostOps *ops)
{
    for (int i = ops->n - 1; i >= 0; i--) {
        HostOp *op = ops->at[i];
        delay(cx, shared, &op->then_);
        delay(cx, shared, &op->else_);
        if (!may_wait(shared, op))
            continue;
        ArenaMark m = arena_mark(cx->scratch);
        int to = i;
        while (to + 1 < ops->n && ops->at[to + 1]->kind != H_READ &&
               !stays_behind(cx, ops->at[to + 1], op)) {
            ops->at[to] = ops->at[to + 1];
            to++;
        }
        ops->at[to] = op;
        arena_reset(cx->scratch, m);
    }
}

void host_late_reads(Ctx *cx, EntryPlan *ep)
{
    PtrMap *shared = ptrmap_new(cx->scratch);
    ops_visit(&ep->ops, find_shared, shared);
    delay(cx, shared, &ep->ops);
}
