/* Branches and loops at the host level, and the guards of code versions.
 *
 * An array result of a branch or a loop parameter is a block name of its own that is set to
 * whichever block holds the value (no copy), provided that the layouts agree: a layout is a
 * permutation of the dimensions (loc_permuted) at offset 0. Where they do not agree the value is
 * copied to row-major. */
#include "codegen/host.h"
#include "ir/ranges.h"

#include "base/intern.h"

#include <string.h>

/* --- Layouts ---------------------------------------------------------------------------------- */

typedef struct {
    bool regular; /* a permuted row-major array that fills its block */
    int *perm;
} Layout;

static Layout layout_of(Ctx *cx, const ArrLoc *l, Type t)
{
    Layout y = {false, NEWN(cx->perm, int, t.rank)};
    y.regular = sx_is_const(l->at.offset, 0) && lmad_perm(cx, l->at, t, y.perm);
    if (!y.regular)
        for (int k = 0; k < t.rank; k++)
            y.perm[k] = k;
    return y;
}

static bool same_loc(const ArrLoc *a, const ArrLoc *b, int rank)
{
    return a->mem == b->mem && lmad_eq(a->at, b->at, rank);
}

/* dst also stands for what src stands for. */
static void may_be(Mem *dst, const Mem *src)
{
    dst->borrowed |= src->borrowed;
    if (src->root < dst->root)
        dst->root = src->root;
}

static void alias_op(Host *h, Mem *dst, Mem *src)
{
    if (dst == src)
        return;
    may_be(dst, src);
    host_op(h, (HostOp){.kind = H_ALIAS, .mem = dst, .mem2 = src});
}

/* mem := a block that holds array a in layout perm. */
static void set_mem(Host *h, Mem *mem, Loc loc, Atom a, const int *perm)
{
    Type t = atom_type(a);
    ArrLoc l = host_atom_loc(h, a);
    Layout y = layout_of(h->cx, &l, t);
    if (!y.regular || !perm_eq(y.perm, perm, t.rank))
        l = host_copied(h, loc, a, perm);
    alias_op(h, mem, l.mem);
}

/* --- Branches --------------------------------------------------------------------------------- */

/* Walks a branch into *ops; *locs: where its array results lie. */
static void walk_branch(Host *h, const Exp *e, bool truth, HostOps *ops, ArrLoc *locs)
{
    const Body *b = truth ? e->branch.then_ : e->branch.else_;
    HostOps *outer = h->ops;
    int mark = ranges_mark(h->known);
    ranges_cond(h->known, e->branch.test, truth);
    h->ops = ops;
    host_body(h, b);
    for (int i = 0; i < b->res.n; i++)
        if (atom_type(b->res.at[i]).rank > 0)
            locs[i] = host_atom_loc(h, b->res.at[i]);
    ranges_reset(h->known, mark);
    h->ops = outer;
}

static void branch_results(Host *h, const Stm *s, const Body *b, HostOps *ops, Mem **mems,
                           int **perms)
{
    HostOps *outer = h->ops;
    h->ops = ops;
    for (int i = 0; i < s->pat.n; i++) {
        if (s->pat.at[i]->type.rank == 0)
            host_set(h, s->pat.at[i], b->res.at[i]);
        else if (mems[i])
            set_mem(h, mems[i], s->exp->loc, b->res.at[i], perms[i]);
    }
    h->ops = outer;
}

static void find_fits(Host *h, HostOp *branch, HostOps *before);

/* Results of the two branches: array result i gets the block name mems[i] and the layout perms[i],
 * or stays where it is when both branches say the same place (mems[i] NULL). */
static void join_results(Host *h, const Stm *s, const ArrLoc *lt, const ArrLoc *le, Mem **mems,
                         int **perms)
{
    const Exp *e = s->exp;
    for (int i = 0; i < s->pat.n; i++) {
        Var *v = s->pat.at[i];
        int rank = v->type.rank;
        if (rank == 0)
            continue;
        if (same_loc(&lt[i], &le[i], rank)) {
            host_bind(h, v, lt[i]);
            continue;
        }
        Layout a = layout_of(h->cx, &lt[i], atom_type(e->branch.then_->res.at[i]));
        Layout b = layout_of(h->cx, &le[i], atom_type(e->branch.else_->res.at[i]));
        perms[i] = a.perm;
        if (!perm_eq(a.perm, b.perm, rank))
            for (int k = 0; k < rank; k++)
                perms[i][k] = k;
        mems[i] = host_mem(h, v->base);
        host_bind(h, v, (ArrLoc){mems[i], lmad_permuted(h->cx, v->type, perms[i])});
    }
}

static void declare_results(Host *h, const Stm *s)
{
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank == 0)
            host_op(h, (HostOp){.kind = H_DECLARE, .loc = s->exp->loc, .var = s->pat.at[i]});
}

void host_if(Host *h, const Stm *s)
{
    Ctx *cx = h->cx;
    const Exp *e = s->exp;
    const Exp *guard = e->branch.test.var ? varmap_get(h->guards, e->branch.test.var) : NULL;
    HostOp op = {.kind = H_IF, .loc = e->loc, .atom = e->branch.test, .guard = guard != NULL};
    ArrLoc *lt = NEWN(cx->perm, ArrLoc, s->pat.n), *le = NEWN(cx->perm, ArrLoc, s->pat.n);
    Mem **mems = NEWN(cx->perm, Mem *, s->pat.n);
    int **perms = NEWN(cx->perm, int *, s->pat.n);

    int mark = h->guard_mark;
    Fits *outer_fits = h->fits, fits = {0};
    if (guard && mark < 0)
        h->guard_mark = h->n_mems;
    if (guard && guard->suff.intra)
        h->fits = &fits;
    walk_branch(h, e, true, &op.then_, lt);
    h->guard_mark = mark;
    h->fits = outer_fits;
    walk_branch(h, e, false, &op.else_, le);

    join_results(h, s, lt, le, mems, perms);
    branch_results(h, s, e->branch.then_, &op.then_, mems, perms);
    branch_results(h, s, e->branch.else_, &op.else_, mems, perms);
    declare_results(h, s);
    if (guard && guard->suff.intra)
        find_fits(h, &op, h->ops);
    host_op(h, op);
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

typedef struct {
    Ctx *cx;
    Vars *vars;
} VarList;

static void list_var(void *env, const Sx *x)
{
    VarList *l = env;
    if (x->kind == SX_VAR)
        vec_push(l->cx->perm, l->vars, (Var *)x->var);
}

/* All variables of a, in order of occurrence. */
static void sx_var_list(Ctx *cx, const Sx *a, Vars *out)
{
    sx_leaves(a, list_var, &(VarList){cx, out});
}

static void op_operands(Ctx *cx, const HostOp *op, Vars *out)
{
    if (op->kind == H_EXP) {
        Body b = {0};
        vec_push(cx->scratch, &b.stms, (Stm){.exp = (Exp *)op->exp});
        *out = free_vars_body(cx, &b);
    } else if (op->kind == H_SET && op->atom.var) {
        vec_push(cx->perm, out, op->atom.var);
    } else if (op->kind == H_SX) {
        sx_var_list(cx, op->sx, out);
    }
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
    Vars uses = {0};
    op_operands(ho->cx, op, &uses);
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
    Vars uses = {0};
    op_operands(ho->cx, op, &uses);
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
    return f->group_size->kind == SX_SIZE && f->group_size->k == SIZE_GROUP_SIZE &&
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
            Vars vs = {0};
            sx_var_list(ho->cx, f.group_size, &vs);
            sx_var_list(ho->cx, f.local_bytes, &vs);
            bool known = true;
            for (int k = 0; k < vs.n; k++)
                known = known && movable(ho, vs.at[k]);
            if (known && !always_fits(&f) && !fit_known(fits, &f))
                vec_push(ho->cx->perm, fits, f);
        }
        if (!op->guard) /* a version inside asks for itself */
            collect_fits(ho, &op->then_, fits);
        collect_fits(ho, &op->else_, fits);
    }
}

/* The kernels of the guarded version, with the sizes that are known at the branch; computations of
 * sizes are moved in front of it. A kernel whose sizes are known only later relies on the refusal
 * of its launch. */
static void find_fits(Host *h, HostOp *branch, HostOps *before)
{
    Hoister ho = {h->cx, varmap_new(h->cx->perm), &branch->then_, before};
    defined_vars(ho.defs, &branch->then_);
    collect_fits(&ho, &branch->then_, &branch->fits);
    for (int i = 0; i < branch->fits.n; i++) {
        Vars vs = {0};
        sx_var_list(h->cx, branch->fits.at[i].group_size, &vs);
        sx_var_list(h->cx, branch->fits.at[i].local_bytes, &vs);
        for (int k = 0; k < vs.n; k++)
            move_out(&ho, vs.at[k]);
    }
}

/* --- Loops ------------------------------------------------------------------------------------ */

typedef struct {
    const Stm *s;
    Layout *layouts; /* per param: the layout that it has at the start of each iteration */
    Layout *results; /* per param: the one that the body gives it */
    Mem **mems;
    HostOps ops;
} LoopPlan;

static bool is_consumed(const Vars *consumed, Atom a)
{
    for (int i = 0; i < consumed->n; i++)
        if (a.var == consumed->at[i])
            return true;
    return false;
}

/* params := inits */
static void loop_inits(Host *h, LoopPlan *lp)
{
    const Exp *e = lp->s->exp;
    Vars consumed = exp_consumes(h->cx, e);
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *v = e->loop.params.at[i];
        Atom init = e->loop.inits.at[i];
        if (v->type.rank == 0) {
            host_set(h, v, init);
            continue;
        }
        lp->mems[i] = host_mem(h, v->base);
        ArrLoc l = host_atom_loc(h, init);
        if (is_consumed(&consumed, init) && !host_writable(h, &l))
            alias_op(h, lp->mems[i], host_copied(h, e->loc, init, lp->layouts[i].perm).mem);
        else
            set_mem(h, lp->mems[i], e->loc, init, lp->layouts[i].perm);
        host_bind(h, v, (ArrLoc){lp->mems[i], lmad_permuted(h->cx, v->type, lp->layouts[i].perm)});
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
static void next_scalars(Host *h, const Exp *e)
{
    const Vars *params = &e->loop.params;
    const Atoms *res = &e->loop.body->res;
    Atom *next = NEWN(h->cx->perm, Atom, params->n);
    for (int i = 0; i < params->n; i++) {
        next[i] = res->at[i];
        int from = params->at[i]->type.rank == 0 ? param_index(params, res->at[i]) : -1;
        if (from >= 0 && from < i) { /* overwritten by then */
            Var *tmp = var_like(h->cx, params->at[i]);
            host_set(h, tmp, res->at[i]);
            next[i] = atom_var(tmp);
        }
    }
    for (int i = 0; i < params->n; i++)
        if (params->at[i]->type.rank == 0 && next[i].var != params->at[i])
            host_set(h, params->at[i], next[i]);
}

/* Array params := the body's results, all at once. */
static void next_arrays(Host *h, LoopPlan *lp)
{
    const Exp *e = lp->s->exp;
    int n = e->loop.params.n;
    Mem **next = NEWN(h->cx->perm, Mem *, n);
    for (int i = 0; i < n; i++) {
        Atom a = e->loop.body->res.at[i];
        Type t = atom_type(a);
        if (t.rank == 0)
            continue;
        ArrLoc l = host_atom_loc(h, a);
        Layout y = lp->results[i] = layout_of(h->cx, &l, t);
        if (!y.regular || !perm_eq(y.perm, lp->layouts[i].perm, t.rank))
            l = host_copied(h, e->loc, a, lp->layouts[i].perm);
        next[i] = l.mem;
        for (int k = 0; k < i; k++)
            if (l.mem == lp->mems[k] && next[k] != lp->mems[k]) { /* overwritten by then */
                next[i] = host_mem(h, "next");
                alias_op(h, next[i], l.mem);
                break;
            }
    }
    /* The temporaries must be set before any parameter: they were, above. */
    for (int i = 0; i < n; i++)
        if (next[i])
            alias_op(h, lp->mems[i], next[i]);
}

/* The whole loop into lp->ops, for the given layouts. True if the body gives them back. */
static bool walk_loop(Host *h, LoopPlan *lp)
{
    const Exp *e = lp->s->exp;
    HostOps *outer = h->ops;
    lp->ops = (HostOps){0};
    h->ops = &lp->ops;
    loop_inits(h, lp);
    HostOp op = {.kind = H_LOOP,
                 .loc = e->loc,
                 .loop_kind = e->loop.kind,
                 .var = e->loop.kind == LOOP_FOR ? e->loop.i : e->loop.cond,
                 .atom = e->loop.bound};
    h->ops = &op.then_;
    int mark = ranges_mark(h->known);
    ranges_loop(h->known, e);
    host_body(h, e->loop.body);
    ranges_reset(h->known, mark);
    next_arrays(h, lp);
    next_scalars(h, e);
    h->ops = &lp->ops;
    host_op(h, op);
    h->ops = outer;
    for (int i = 0; i < e->loop.params.n; i++) {
        int rank = e->loop.params.at[i]->type.rank;
        if (rank > 0 && lp->results[i].regular &&
            !perm_eq(lp->results[i].perm, lp->layouts[i].perm, rank))
            return false;
    }
    return true;
}

/* What a trial walk changed in the plan. */
typedef struct {
    int kernels, sites, thresholds, mems;
} PlanMark;

static PlanMark plan_mark(const Host *h)
{
    return (PlanMark){h->plan->kernels.n, h->plan->sites.n, h->plan->thresholds.n, h->n_mems};
}

static void plan_reset(Host *h, PlanMark m)
{
    h->plan->kernels.n = m.kernels;
    h->plan->sites.n = m.sites;
    h->plan->thresholds.n = m.thresholds;
    h->n_mems = m.mems;
}

/* Layouts of the params: those of the initial values if the body keeps them; else those that the
 * body gives, if it then gives them again (the initial value is copied once); else row-major, with
 * a copy in each iteration. */
static void choose_layouts(Host *h, LoopPlan *lp)
{
    const Exp *e = lp->s->exp;
    int n = e->loop.params.n;
    PlanMark m = plan_mark(h);
    for (int i = 0; i < n; i++)
        if (e->loop.params.at[i]->type.rank > 0) {
            ArrLoc l = host_atom_loc(h, e->loop.inits.at[i]);
            lp->layouts[i] = layout_of(h->cx, &l, atom_type(e->loop.inits.at[i]));
        }
    if (walk_loop(h, lp))
        return;
    plan_reset(h, m);
    for (int i = 0; i < n; i++)
        if (lp->results[i].regular)
            lp->layouts[i] = lp->results[i];
    if (walk_loop(h, lp))
        return;
    plan_reset(h, m);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < e->loop.params.at[i]->type.rank; k++)
            lp->layouts[i].perm[k] = k;
    walk_loop(h, lp);
}

void host_loop(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->loop.params.n;
    LoopPlan lp = {.s = s,
                   .layouts = NEWN(h->cx->perm, Layout, n),
                   .results = NEWN(h->cx->perm, Layout, n),
                   .mems = NEWN(h->cx->perm, Mem *, n)};
    choose_layouts(h, &lp);
    vec_append(h->cx->perm, h->ops, &lp.ops);
    for (int i = 0; i < n; i++) {
        Var *v = s->pat.at[i];
        if (v->type.rank == 0)
            host_set(h, v, atom_var(e->loop.params.at[i]));
        else
            host_bind(h, v,
                      (ArrLoc){lp.mems[i], lmad_permuted(h->cx, v->type, lp.layouts[i].perm)});
    }
}
