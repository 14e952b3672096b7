/* Which parameters of kernels are steady: computed from nothing but the sizes and scalars that an
 * entry is given, and facts of the device. Their numbers are the same at each launch of a run, and
 * often in the next one, so that the runtime may build the kernel for them (runtime/core/sized.c):
 * loops of known length are unrolled, divisions by known numbers are multiplications, small arrays
 * live in registers. What counters of the host's loops and numbers read from arrays have a part in
 * changes from launch to launch.
 *
 * It pays where work-items run loops over sizes (KGen.sized): in kernels of whole work-groups, and
 * of threads with more than straight code inside. Plain maps gain nothing; tiles and the stages of
 * reductions and scans have constants of their own. Kernels that declare more local memory than
 * arguments may have (KGen.declares) are built for its size alone. On an H200 NN takes 0.69 of the
 * time, LUD 0.73, OptionPricing 0.77 to 0.93, SRAD in work-groups 0.79, NW 0.87, LocVolCalib and
 * Heston 0.9, and to build them takes about as long. */
#include "plan/plan.h"

#include "kir/walk.h"

#include <string.h>

typedef struct {
    VarMap *defs;   /* variable -> the operation that sets it; many: of several */
    VarSet *steady; /* scalars */
    Arena *scratch;
} Steady;

static const HostOp many;

static void find_def(void *env, HostOp *op)
{
    Steady *s = env;
    if (op->var && op->kind != H_DECLARE)
        varmap_put(s->defs, op->var, varmap_get(s->defs, op->var) ? &many : op);
}

static bool all_steady(const Steady *s, const VarSet *used)
{
    Vars list = varset_list(s->scratch, used);
    for (int i = 0; i < list.n; i++)
        if (!varset_has(s->steady, list.at[i]))
            return false;
    return true;
}

/* Is the variable that the operation sets the same in each of its executions? */
static bool sets_steady(const Steady *s, const HostOp *op)
{
    if (!op_is(op, HO_TOTAL))
        return false;
    VarSet *used = varmap_new(s->scratch);
    op_uses(used, op);
    return varmap_get(s->defs, op->var) == op && all_steady(s, used);
}

static bool arg_is_steady(const Steady *s, const Kernel *k, const KParam *arg)
{
    bool is_size = arg->kind == KP_SCALAR && arg->type == T_I64 && !k->declares;
    if (!is_size && arg->kind != KP_LOCAL)
        return false;
    VarSet *used = varmap_new(s->scratch);
    kexp_hosts(is_size ? arg->value : arg->bytes, used);
    return all_steady(s, used);
}

static void note_launch(const Steady *s, const HostOp *op)
{
    for (int i = 0; op->kernel->sized && i < op->args.n; i++)
        op->kernel->steady[i] =
            op->kernel->steady[i] && arg_is_steady(s, op->kernel, &op->args.at[i]);
}

/* In order: a variable is set before it is read. */
static void note_op(void *env, HostOp *op)
{
    Steady *s = env;
    if (op->kernel)
        note_launch(s, op);
    if (op->var && sets_steady(s, op))
        varset_add(s->steady, op->var);
}

static void note_entry(Ctx *cx, const EntryPlan *ep)
{
    ArenaMark m = arena_mark(cx->scratch);
    Steady s = {varmap_new(cx->scratch), varmap_new(cx->scratch), cx->scratch};
    for (int i = 0; i < ep->entry->sizes.n; i++)
        varset_add(s.steady, ep->entry->sizes.at[i]);
    for (int i = 0; i < ep->entry->user_params.n; i++)
        varset_add(s.steady, ep->entry->user_params.at[i].var);
    for (int i = 0; i < ep->entry->params.n; i++)
        if (ep->entry->params.at[i]->type.rank == 0)
            varset_add(s.steady, ep->entry->params.at[i]);
    ops_visit(&ep->ops, find_def, &s);
    ops_visit(&ep->ops, note_op, &s);
    arena_reset(cx->scratch, m);
}

void plan_steady(Ctx *cx, Plan *p)
{
    for (int i = 0; i < p->kernels.n; i++) {
        Kernel *k = p->kernels.at[i];
        k->steady = NEWN(cx->perm, bool, k->params.n + 1);
        memset(k->steady, k->sized, (size_t)k->params.n);
    }
    for (int i = 0; i < p->entries.n; i++)
        note_entry(cx, p->entries.at[i]);
}

/* --- On a target ------------------------------------------------------------------------------ */

typedef struct {
    const KVar *var;
    bool found;
} Search;

static void find_index(void *env, const KExp *x)
{
    Search *s = env;
    s->found |=
        x->kind == KE_CONV && x->type.index && x->x[0]->kind == KE_VAR && x->x[0]->var == s->var;
}

static bool find_in(void *env, KStm *st)
{
    kstm_visit_exps(st, find_index, env);
    return true;
}

static void find_var(void *env, const KExp *x)
{
    Search *s = env;
    s->found |= x->kind == KE_VAR && x->var == s->var;
}

/* A number that only data are computed with may be another one each time (seeds of
 * random numbers). */
static bool is_index(const KFun *f, const KVar *v)
{
    Search s = {.var = v};
    for (int i = 0; i < f->slices.n; i++)
        kexp_visit(f->slices.at[i].count, find_var, &s);
    kblock_visit(&f->body, &(KVisitor){.env = &s, .enter = find_in});
    return s.found;
}

void kernel_put_steady(const Kernel *k, KFun *on)
{
    enum { MOST = 64 }; /* the table of kernels has a bit for each argument */
    on->sized = kblock_meets(&on->body);
    for (int i = 0; i < on->params.n && i < MOST; i++) {
        KFormal *p = &on->params.at[i];
        p->steady = p->kind == KP_SCALAR && k->steady[i] && is_index(on, p->var);
        on->sized = on->sized || p->steady;
    }
    /* Local memory of known size is the kernel's own. */
    for (int i = 0; i < on->params.n && i < MOST && on->sized; i++)
        on->params.at[i].steady |= on->params.at[i].kind == KP_LOCAL && k->steady[i];
}
