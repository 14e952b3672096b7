/* What must hold of a plan. Operations have the members of their kind (hostops.def). Variables are
 * set before they are read, blocks are there when they are asked for, and a launch gives what its
 * kernel takes. Sides of branches and bodies of loops are scopes: what they set is known behind
 * them only if it was declared before. A version may be left at any of its launches, and the other
 * side then finds what is left of the blocks from before. A threshold is compared where its
 * versions are chosen: the time of a run from there to the next comparison is theirs. */
#include "plan/plan.h"

typedef VEC(bool *) Helds;

typedef struct {
    Arena *arena;
    const Plan *plan;
    VarSet *set; /* scalars */
    Vars order;  /* ... in the order in which they were */
    bool *held;  /* by Mem.id: does the name stand for a block? */
    int n_mems;
    Helds refused; /* by version at work: what is held however it is left */
    const HostOp *op;
    const char *wrong; /* the first thing, and where */
    const HostOp *at;
} Verify;

static void say(Verify *v, const char *text)
{
    if (v->wrong)
        return;
    v->wrong = text;
    v->at = v->op;
}

static void set_var(Verify *v, const Var *x)
{
    if (varset_has(v->set, x))
        return;
    varset_add(v->set, x);
    vec_push(v->arena, &v->order, (Var *)x);
}

/* The end of a scope. */
static void forget(Verify *v, int mark)
{
    while (v->order.n > mark)
        varmap_del(v->set, v->order.at[--v->order.n]);
}

static void need_vars(Verify *v, VarSet *used)
{
    Vars list = varset_list(v->arena, used);
    for (int i = 0; i < list.n; i++)
        if (list.at[i]->type.rank == 0 && !varset_has(v->set, list.at[i]))
            say(v, arena_printf(v->arena, "%s is read before it is set", var_c_name(list.at[i])));
}

static void need_block(Verify *v, const Mem *m)
{
    if (m->id < 0 || m->id >= v->n_mems)
        say(v, arena_printf(v->arena, "%s is not a block of the entry", m->name));
    else if (!v->held[m->id])
        say(v, arena_printf(v->arena, "%s is not there", m->name));
}

/* --- Operations ---------------------------------------------------------------------------- */

static void check_launch(Verify *v, const HostOp *op)
{
    const Kernel *k = op->kernel;
    if (k->id >= v->plan->kernels.n || v->plan->kernels.at[k->id] != k)
        say(v, "a kernel that is not of the plan");
    if (op->n_launch_dims < 1 || op->n_launch_dims > 3)
        say(v, "a launch in so many dimensions");
    if (op->args.n != k->params.n) {
        say(v, "a launch with more or fewer arguments than the kernel has parameters");
        return;
    }
    for (int i = 0; i < op->args.n; i++) {
        const KParam *arg = &op->args.at[i], *p = &k->params.at[i];
        if (arg->kind != p->kind || arg->type != p->type)
            say(v, arena_printf(v->arena, "an argument of another type than %s", p->name));
        if (arg->kind == KP_MEM && !arg->mem)
            say(v, arena_printf(v->arena, "no block for %s", p->name));
    }
}

/* What is held if the versions around are left here. */
static void note_refusal(Verify *v)
{
    for (int g = 0; g < v->refused.n; g++)
        for (int i = 0; i < v->n_mems; i++)
            v->refused.at[g][i] = v->refused.at[g][i] && v->held[i];
}

/* The operation without what is inside. */
static void check_op(Verify *v, const HostOp *op)
{
    HostOp own = op_alone(op);
    const HostOpInfo *info = &hostop_info[op->kind];
    unsigned members = op_members(op);
    if ((members & info->has) != info->has || (members & ~(info->has | info->may)))
        say(v,
            arena_printf(v->arena, "%s without a member of its kind, or with others", info->tag));
    VarSet *used = varmap_new(v->arena);
    op_uses(used, &own);
    need_vars(v, used);
    if (op_is(op, HO_SITE) && (op->site < 0 || op->site >= v->plan->sites.n))
        say(v, "a failure without place");
    if (op->kind == H_LAUNCH) {
        check_launch(v, op);
        note_refusal(v);
    }
    Mems mems = {0};
    own.mem = op_is(op, HO_GIVES | HO_TAKES) ? NULL : op->mem;
    op_mems(v->arena, &mems, &own);
    for (int i = 0; i < mems.n; i++)
        need_block(v, mems.at[i]);
}

static void apply_op(Verify *v, const HostOp *op)
{
    if (op->var && op->kind != H_LOOP)
        set_var(v, op->var);
    if (op_is(op, HO_GIVES))
        v->held[op->mem->id] = true;
    else if (op_is(op, HO_TAKES))
        v->held[op->mem->id] = false;
}

/* --- Scopes -------------------------------------------------------------------------------- */

static void walk(Verify *v, const HostOps *ops);

static bool *held_now(const Verify *v)
{
    return arena_memdup(v->arena, v->held, (size_t)v->n_mems + 1);
}

static void side(Verify *v, const HostOps *ops)
{
    int mark = v->order.n;
    walk(v, ops);
    forget(v, mark);
}

/* v->held := what is held in both; did that take away something? */
static bool meet(Verify *v, const bool *other)
{
    bool less = false;
    for (int i = 0; i < v->n_mems; i++) {
        less |= v->held[i] && !other[i];
        v->held[i] = v->held[i] && other[i];
    }
    return less;
}

static void walk_if(Verify *v, const HostOp *op)
{
    bool *before = held_now(v);
    if (op->guard)
        vec_push(v->arena, &v->refused, before);
    side(v, &op->then_);
    v->refused.n -= op->guard;
    bool *after = v->held;
    v->held = before;
    side(v, &op->else_);
    meet(v, after);
}

static void walk_loop(Verify *v, const HostOp *op)
{
    bool *before;
    do {
        before = held_now(v);
        int mark = v->order.n;
        if (op->loop_kind == LOOP_FOR)
            set_var(v, op->var);
        walk(v, &op->then_);
        forget(v, mark);
        bool *after = v->held;
        v->held = before;
        if (!meet(v, after))
            break;
    } while (!v->wrong); /* a turn after another one */
}

/* What follows the comparison at `at` is the choice. */
static void check_comparison(Verify *v, const HostOps *ops, int at)
{
    int i = at + 1;
    while (i < ops->n && !op_is(ops->at[i], HO_ACTS))
        i++;
    if (i == ops->n || !ops->at[i]->guard || ops->at[i]->exp->host != ops->at[at]->var)
        say(v, "a comparison without its choice behind it");
}

static void walk(Verify *v, const HostOps *ops)
{
    for (int i = 0; i < ops->n && !v->wrong; i++) {
        const HostOp *op = v->op = ops->at[i];
        check_op(v, op);
        if (op->kind == H_SUFF)
            check_comparison(v, ops, i);
        if (op->kind == H_IF)
            walk_if(v, op);
        else if (op->kind == H_LOOP)
            walk_loop(v, op);
        else
            apply_op(v, op);
    }
}

/* --- Entries ------------------------------------------------------------------------------- */

static void begin(Verify *v, const EntryPlan *ep)
{
    for (int i = 0; i < ep->entry->sizes.n; i++)
        set_var(v, ep->entry->sizes.at[i]);
    for (int i = 0; i < ep->entry->user_params.n; i++)
        set_var(v, ep->entry->user_params.at[i].var);
    for (int i = 0; i < ep->entry->params.n; i++) {
        set_var(v, ep->entry->params.at[i]);
        if (ep->param_locs.at[i].mem)
            v->held[ep->param_locs.at[i].mem->id] = true;
    }
}

static void check_results(Verify *v, const EntryPlan *ep)
{
    VarSet *used = varmap_new(v->arena);
    v->op = NULL;
    for (int i = 0; i < ep->results.n; i++) {
        result_uses(used, ep->results.at[i]);
        if (ep->result_locs.at[i].mem)
            need_block(v, ep->result_locs.at[i].mem);
    }
    need_vars(v, used);
}

const char *plan_wrong(Arena *a, const Plan *p, const EntryPlan *ep, const HostOp **at)
{
    Verify v = {.arena = a, .plan = p, .set = varmap_new(a), .n_mems = ep->n_mems};
    v.held = NEWN(a, bool, ep->n_mems + 1);
    begin(&v, ep);
    walk(&v, &ep->ops);
    if (!v.wrong)
        check_results(&v, ep);
    *at = v.at;
    return v.wrong;
}

void plan_verify(Ctx *cx, const Plan *p)
{
    for (int i = 0; i < p->entries.n; i++) {
        ArenaMark m = arena_mark(cx->scratch);
        const HostOp *at;
        const char *wrong = plan_wrong(cx->scratch, p, p->entries.at[i], &at);
        if (wrong)
            ice(at ? at->loc : p->entries.at[i]->entry->loc, "plan: %s", wrong);
        arena_reset(cx->scratch, m);
    }
}
