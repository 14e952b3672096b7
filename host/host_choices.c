/* Makers' choices get their names and places in the plan, in program order: those of pieces that
 * were made and not taken have none. */
#include "host/host_walk.h"

static void number(Ctx *cx, Plan *plan, const Entry *entry, const HostOps *ops, int *n)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        if (op->kind == H_CHOOSE) {
            op->choice->name =
                arena_printf(cx->perm, "%s.choice_%s_%d", entry->name, op->choice->kind, (*n)++);
            vec_push(cx->perm, &plan->choices, op->choice);
        }
        number(cx, plan, entry, &op->then_, n);
        number(cx, plan, entry, &op->else_, n);
    }
}

void host_choices(Ctx *cx, Plan *plan, EntryPlan *ep)
{
    int n = 0;
    number(cx, plan, ep->entry, &ep->ops, &n);
}
