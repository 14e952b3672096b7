/* Guards of code versions: does what the version launches fit the device? */
#include "host/host_walk.h"

static void define_var(void *env, HostOp *op)
{
    if (op->var)
        varmap_put(env, op->var, op);
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
    if (!op_is(op, HO_TOTAL) || top_index(ho->then_, op) < 0)
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
           kx_is_int(f->local_bytes, 0);
}

static bool fit_known(const Fits *fits, const Fit *f)
{
    for (int i = 0; i < fits->n; i++)
        if (fits->at[i].kernel == f->kernel && kx_same(fits->at[i].group_size, f->group_size) &&
            kx_same(fits->at[i].local_bytes, f->local_bytes))
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

void host_find_fits(PlanBuild *pb, HostOp *branch, HostOps *before)
{
    Hoister ho = {pb->cx, varmap_new(pb->cx->perm), &branch->then_, before};
    ops_visit(&branch->then_, define_var, ho.defs);
    collect_fits(&ho, &branch->then_, &branch->fits);
    for (int i = 0; i < branch->fits.n; i++) {
        Vars vs = fit_vars(pb->cx, &branch->fits.at[i]);
        for (int k = 0; k < vs.n; k++)
            move_out(&ho, vs.at[k]);
    }
}
