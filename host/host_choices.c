/* Makers' choices get their names and places in the plan, in program order: those of pieces that
 * were made and not taken have none. */
#include "host/host_walk.h"

typedef struct {
    Ctx *cx;
    Plan *plan;
    const Entry *entry;
    int n;
} Numbers;

static void number(void *env, HostOp *op)
{
    Numbers *all = env;
    Choice *c = op->choice;
    if (!c)
        return;
    c->name = arena_printf(all->cx->perm, "%s.choice_%s_%d", all->entry->name, c->kind, all->n++);
    vec_push(all->cx->perm, &all->plan->choices, c);
}

void host_choices(Ctx *cx, Plan *plan, EntryPlan *ep)
{
    Numbers all = {cx, plan, ep->entry, 0};
    ops_visit(&ep->ops, number, &all);
}
