/* Host loops that launch get a threshold: where a loop's steps are short, the runtime makes one
 * launch of many (runtime/core/steps.c). The outermost ones, since what is inside goes with them. A
 * loop in a version is asked after the guards around it. */
#include "host/host_walk.h"

#include "base/intern.h"

typedef struct {
    Ctx *cx;
    Plan *plan;
    const Entry *entry;
    VarMap *suffs; /* test of a guard -> its SUFF */
    Path path;     /* of guards, to this place */
    int n;         /* loops so far */
} Steps;

static void give_threshold(Steps *st, HostOp *loop)
{
    Arena *a = st->cx->perm;
    loop->threshold = arena_printf(a, "%s.suff_loop_%d", st->entry->name, st->n++);
    Threshold t = {
        .name = loop->threshold, .loop = true, .loc = loop->loc, .entry = st->entry->name};
    vec_append(a, &t.path, &st->path);
    vec_push(a, &st->plan->thresholds, t);
}

static void walk(Steps *st, HostOps *ops);

/* A side of a branch: of a guard, it is a step of the path. */
static void walk_side(Steps *st, HostOp *op, bool taken)
{
    const Exp *e = op->guard ? varmap_get(st->suffs, op->exp->host) : NULL;
    Path outer = st->path;
    if (e) {
        st->path = (Path){0};
        vec_append(st->cx->perm, &st->path, &e->suff.path);
        vec_push(st->cx->perm, &st->path, ((PathStep){e->suff.name, taken}));
    }
    walk(st, taken ? &op->then_ : &op->else_);
    st->path = outer;
}

static void walk(Steps *st, HostOps *ops)
{
    for (int i = 0; i < ops->n; i++) {
        HostOp *op = ops->at[i];
        if (op->kind == H_SUFF)
            varmap_put(st->suffs, op->var, op->suff);
        if (op->kind == H_LOOP && ops_have(&op->then_, H_LAUNCH)) {
            give_threshold(st, op);
        } else {
            walk_side(st, op, true);
            walk_side(st, op, false);
        }
    }
}

void host_steps(Ctx *cx, Plan *plan, EntryPlan *ep)
{
    Steps st = {.cx = cx, .plan = plan, .entry = ep->entry, .suffs = varmap_new(cx->perm)};
    walk(&st, &ep->ops);
}
