/* Which kernels depend on which sizes that users may set: by their launches' groups and arguments,
 * by what the host computes from these, and by branches that decide whether they are launched. An
 * entry's tuning parameters follow from it: ENTRY.group_size for those of its kernels that the
 * usual size of groups has a part in.
 *
 * What has once a part in a variable is taken to have it everywhere, so that a walk in order, again
 * as long as something is new, is enough. Blocks are no variables: where a size decides how many
 * partial results lie in one, the count, which is a variable, tells it to the kernels that read
 * them. */
#include "plan/plan.h"

#include <stdint.h>
#include <string.h>

typedef uint64_t Mask; /* of sizes: bit SizeId */
_Static_assert(N_SIZES <= 64, "a bit for each size");

typedef struct {
    Ctx *cx;
    VarMap *vars;  /* variable -> Mask* */
    Mask *kernels; /* by Kernel.id */
    bool changed;
} Depends;

static Mask tried_sizes(void)
{
#define FACT(id, name, gpu, native, unit)
#define SIZE(id, name, option, gpu, native, unit, most, tried) | ((Mask)(tried) << SIZE_##id)
#define SYNONYM(id, name, option)
    return 0 RT_FACTS(FACT, SIZE, SYNONYM);
#undef FACT
#undef SIZE
#undef SYNONYM
}

static void add(Depends *d, Mask *to, Mask more)
{
    d->changed |= (more & ~*to) != 0;
    *to |= more;
}

static Mask *of_var(Depends *d, const Var *v)
{
    Mask *m = varmap_get(d->vars, v);
    if (!m) {
        m = NEW(d->cx->scratch, Mask);
        varmap_put(d->vars, v, m);
    }
    return m;
}

/* What has a part in what the operation itself does; what launches must do is for profiles. */
static Mask of_op(Depends *d, const HostOp *op)
{
    HostOp own = op_alone(op);
    bool sizes[N_SIZES] = {false};
    VarSet *used = varmap_new(d->cx->scratch);
    Mask res = 0;
    own.bytes = own.operations = NULL;
    op_sizes(sizes, &own);
    op_uses(used, &own);
    for (int id = 0; id < N_SIZES; id++)
        res |= (Mask)sizes[id] << id;
    Vars list = varset_list(d->cx->scratch, used);
    for (int i = 0; i < list.n; i++)
        res |= *of_var(d, list.at[i]);
    return res;
}

static void walk(Depends *d, const HostOps *ops, Mask around)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        Mask here = around | of_op(d, op);
        if (op->kernel)
            add(d, &d->kernels[op->kernel->id], here);
        if (op->var)
            add(d, of_var(d, op->var), here);
        walk(d, &op->then_, here);
        walk(d, &op->else_, here);
    }
}

static void add_param(Ctx *cx, Plan *p, const Entry *en, SizeId id, const Mask *kernels)
{
    SizeParam sp = {.id = id, .entry = en};
    for (int k = 0; k < p->kernels.n; k++)
        if (kernels[k] >> id & 1)
            vec_push(cx->perm, &sp.kernels, p->kernels.at[k]);
    sp.name = arena_printf(cx->perm, "%s.%s", en->name, size_c_name(id));
    if (sp.kernels.n)
        vec_push(cx->perm, &p->size_params, sp);
}

void plan_size_params(Ctx *cx, Plan *p)
{
    for (int i = 0; i < p->entries.n; i++) {
        const EntryPlan *ep = p->entries.at[i];
        ArenaMark m = arena_mark(cx->scratch);
        Depends d = {.cx = cx, .vars = varmap_new(cx->scratch)};
        d.kernels = NEWN(cx->scratch, Mask, p->kernels.n + 1);
        do {
            d.changed = false;
            walk(&d, &ep->ops, 0);
        } while (d.changed);
        for (int id = 0; id < N_SIZES; id++)
            if (tried_sizes() >> id & 1)
                add_param(cx, p, ep->entry, (SizeId)id, d.kernels);
        arena_reset(cx->scratch, m);
    }
}
