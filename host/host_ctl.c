/* Branches and loops at the host level, and the guards of code versions.
 *
 * An array result of a branch or a loop parameter is a block name of its own that is set to
 * whichever block holds the value; that its layout agrees has been seen to (memory/assign.c). */
#include "host/host_walk.h"
#include "ir/ranges.h"

#include "base/intern.h"

#include <string.h>

static void alias_mem(PlanBuild *pb, Mem *dst, Mem *src)
{
    if (dst != src)
        pb_op(pb, (HostOp){.kind = H_ALIAS, .mem = dst, .mem2 = src});
}

/* --- Branches --------------------------------------------------------------------------------- */

static void walk_branch(PlanBuild *pb, const Stm *s, bool truth, HostOps *ops)
{
    const Exp *e = s->exp;
    const Body *b = truth ? e->branch.then_ : e->branch.else_;
    HostOps *outer = pb->ops;
    int mark = ranges_mark(pb->known);
    ranges_cond(pb->known, e->branch.test, truth);
    pb->ops = ops;
    host_body(pb, b);
    ranges_reset(pb->known, mark);
    for (int i = 0; i < s->pat.n; i++) {
        Var *v = s->pat.at[i];
        if (v->type.rank == 0)
            host_set(pb, v, b->res.at[i]);
        else
            alias_mem(pb, pb_loc(pb, v)->mem, pb_loc(pb, b->res.at[i].var)->mem);
    }
    pb->ops = outer;
}

static void find_fits(PlanBuild *pb, HostOp *branch, HostOps *before);

static void declare_results(PlanBuild *pb, const Stm *s)
{
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank == 0)
            pb_op(pb, (HostOp){.kind = H_DECLARE, .loc = s->exp->loc, .var = s->pat.at[i]});
}

void host_if(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    const Exp *guard = e->branch.test.var ? varmap_get(pb->guards, e->branch.test.var) : NULL;
    HostOp op = {.kind = H_IF,
                 .loc = e->loc,
                 .exp = host_atom(pb->cx->perm, e->branch.test),
                 .guard = guard != NULL};
    walk_branch(pb, s, true, &op.then_);
    walk_branch(pb, s, false, &op.else_);
    declare_results(pb, s);
    if (guard && guard->suff.intra)
        find_fits(pb, &op, pb->ops);
    pb_op(pb, op);
}

/* --- Guards: does what the version launches fit the device? ----------------------------------- */

static void defined_vars(VarMap *defs, const HostOps *ops)
{
    for (int i = 0; i < ops->n; i++) {
        HostOp *op = ops->at[i];
        if (op->var)
            varmap_put(defs, op->var, op);
        defined_vars(defs, &op->then_);
        defined_vars(defs, &op->else_);
    }
}

typedef struct {
    Ctx *cx;
    VarMap *defs;    /* what the version defines, anywhere inside: Var -> HostOp */
    HostOps *then_;  /* the version: only what is defined at its top can be moved out */
    HostOps *before; /* where to */
} Hoister;

static int top_index(const HostOps *ops, const HostOp *op)
{
    for (int i = 0; i < ops->n; i++)
        if (ops->at[i] == op)
            return i;
    return -1;
}

/* The variables that the operation reads. */
static Vars op_vars(Ctx *cx, const HostOp *op)
{
    VarSet *used = varmap_new(cx->scratch);
    op_uses(used, op);
    return varset_list(cx->scratch, used);
}

static Vars fit_vars(Ctx *cx, const Fit *f)
{
    VarSet *used = varmap_new(cx->scratch);
    kexp_hosts(f->group_size, used);
    kexp_hosts(f->local_bytes, used);
    return varset_list(cx->scratch, used);
}

/* Can v's value be known before the version starts? (Scalar operations are total functions in C:
 * what they trap on is a separate H_ASSERT.) */
static bool movable(Hoister *ho, const Var *v)
{
    const HostOp *op = varmap_get(ho->defs, v);
    if (!op)
        return true;
    if ((op->kind != H_EXP && op->kind != H_SET && op->kind != H_SX) ||
        top_index(ho->then_, op) < 0)
        return false;
    Vars uses = op_vars(ho->cx, op);
    for (int i = 0; i < uses.n; i++)
        if (!movable(ho, uses.at[i]))
            return false;
    return true;
}

/* Moves v's definition, and before it what it needs, out of the version. */
static void move_out(Hoister *ho, const Var *v)
{
    HostOp *op = varmap_get(ho->defs, v);
    if (!op)
        return;
    Vars uses = op_vars(ho->cx, op);
    for (int i = 0; i < uses.n; i++)
        move_out(ho, uses.at[i]);
    int at = top_index(ho->then_, op);
    if (at < 0)
        return;
    vec_push(ho->cx->perm, ho->before, op);
    for (int i = at; i + 1 < ho->then_->n; i++)
        ho->then_->at[i] = ho->then_->at[i + 1];
    ho->then_->n--;
    varmap_del(ho->defs, v);
}

static Fit launch_fit(Ctx *cx, const HostOp *op)
{
    Fit f = {op->kernel, sx_const(cx, 1), sx_const(cx, 0)};
    for (int d = 0; d < op->n_launch_dims; d++)
        f.group_size = sx_mul(cx, f.group_size, op->local[d]);
    for (int i = 0; i < op->args.n; i++)
        if (op->args.at[i].kind == KP_LOCAL)
            f.local_bytes = sx_add(cx, f.local_bytes, op->args.at[i].bytes);
    return f;
}

/* Launches with the default group size and no local memory fit every device. */
static bool always_fits(const Fit *f)
{
    return f->group_size->kind == KE_SIZE && f->group_size->fact == SIZE_GROUP_SIZE &&
           sx_is_const(f->local_bytes, 0);
}

static bool fit_known(const Fits *fits, const Fit *f)
{
    for (int i = 0; i < fits->n; i++)
        if (fits->at[i].kernel == f->kernel && sx_eq(fits->at[i].group_size, f->group_size) &&
            sx_eq(fits->at[i].local_bytes, f->local_bytes))
            return true;
    return false;
}

static void collect_fits(Hoister *ho, const HostOps *ops, Fits *fits)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        if (op->kind == H_LAUNCH) {
            Fit f = launch_fit(ho->cx, op);
            Vars vs = fit_vars(ho->cx, &f);
            bool known = true;
            for (int k = 0; k < vs.n; k++)
                known = known && movable(ho, vs.at[k]);
            if (known && !always_fits(&f) && !fit_known(fits, &f))
                vec_push(ho->cx->perm, fits, f);
        }
        if (!op->guard && !op->fits.n) /* a version inside asks for itself, and so may a maker */
            collect_fits(ho, &op->then_, fits);
        collect_fits(ho, &op->else_, fits);
    }
}

/* The kernels of the guarded version, with the sizes that are known at the branch; computations of
 * sizes are moved in front of it. A kernel whose sizes are known only later relies on the refusal
 * of its launch. */
static void find_fits(PlanBuild *pb, HostOp *branch, HostOps *before)
{
    Hoister ho = {pb->cx, varmap_new(pb->cx->perm), &branch->then_, before};
    defined_vars(ho.defs, &branch->then_);
    collect_fits(&ho, &branch->then_, &branch->fits);
    for (int i = 0; i < branch->fits.n; i++) {
        Vars vs = fit_vars(pb->cx, &branch->fits.at[i]);
        for (int k = 0; k < vs.n; k++)
            move_out(&ho, vs.at[k]);
    }
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* params := inits */
static void loop_inits(PlanBuild *pb, const Exp *e)
{
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *v = e->loop.params.at[i];
        Atom init = e->loop.inits.at[i];
        if (v->type.rank == 0)
            host_set(pb, v, init);
        else
            alias_mem(pb, pb_loc(pb, v)->mem, pb_loc(pb, init.var)->mem);
    }
}

static int param_index(const Vars *params, Atom a)
{
    for (int i = 0; i < params->n; i++)
        if (a.var == params->at[i])
            return i;
    return -1;
}

/* Scalar params := the body's results, all at once. */
static void next_scalars(PlanBuild *pb, const Exp *e)
{
    const Vars *params = &e->loop.params;
    const Atoms *res = &e->loop.body->res;
    Atom *next = NEWN(pb->cx->perm, Atom, params->n);
    for (int i = 0; i < params->n; i++) {
        next[i] = res->at[i];
        int from = params->at[i]->type.rank == 0 ? param_index(params, res->at[i]) : -1;
        if (from >= 0 && from < i) { /* overwritten by then */
            Var *tmp = var_like(pb->cx, params->at[i]);
            host_set(pb, tmp, res->at[i]);
            next[i] = atom_var(tmp);
        }
    }
    for (int i = 0; i < params->n; i++)
        if (params->at[i]->type.rank == 0 && next[i].var != params->at[i])
            host_set(pb, params->at[i], next[i]);
}

/* Array params := the body's results, all at once. */
static void next_arrays(PlanBuild *pb, const Exp *e)
{
    int n = e->loop.params.n;
    Mem **mems = NEWN(pb->cx->perm, Mem *, n), **next = NEWN(pb->cx->perm, Mem *, n);
    for (int i = 0; i < n; i++) {
        if (e->loop.params.at[i]->type.rank == 0)
            continue;
        mems[i] = pb_loc(pb, e->loop.params.at[i])->mem;
        next[i] = pb_loc(pb, e->loop.body->res.at[i].var)->mem;
        for (int k = 0; k < i; k++)
            if (next[i] == mems[k] && next[k] != mems[k]) { /* overwritten by then */
                Mem *tmp = pb_mem(pb, "next");
                alias_mem(pb, tmp, next[i]);
                next[i] = tmp;
                break;
            }
    }
    /* The temporaries must be set before any parameter: they were, above. */
    for (int i = 0; i < n; i++)
        if (next[i])
            alias_mem(pb, mems[i], next[i]);
}

void host_loop(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    HostOps *outer = pb->ops;
    HostOp op = {.kind = H_LOOP,
                 .loc = e->loc,
                 .loop_kind = e->loop.kind,
                 .var = e->loop.kind == LOOP_FOR ? e->loop.i : e->loop.cond,
                 .exp = e->loop.kind == LOOP_FOR ? host_atom(pb->cx->perm, e->loop.bound) : NULL};
    loop_inits(pb, e);
    pb->ops = &op.then_;
    int mark = ranges_mark(pb->known);
    ranges_loop(pb->known, e);
    host_body(pb, e->loop.body);
    ranges_reset(pb->known, mark);
    next_arrays(pb, e);
    next_scalars(pb, e);
    pb->ops = outer;
    pb_op(pb, op);
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank == 0)
            host_set(pb, s->pat.at[i], atom_var(e->loop.params.at[i]));
}
