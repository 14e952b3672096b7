/* A number for what an entry does: a walk over its operations in order, in which variables, blocks
 * and sizes are told by the numbers that they get where they come first, and kernels by what they
 * do. It says nothing of names, of places in the source and of other entries, so that what was
 * measured of an entry holds when something else is changed. */
#include "plan/plan.h"

typedef struct {
    KKeyWords words;
    const uint64_t *kernels; /* by id */
} Key;

static void put(Key *k, uint64_t w)
{
    kkey_put(&k->words, w);
}

static bool put_object(Key *k, const void *p)
{
    return kkey_put_object(&k->words, p);
}

static void put_exp(Key *k, const KExp *x)
{
    kkey_put_exp(&k->words, x);
}

static void put_text(Key *k, const char *text)
{
    for (const char *s = text ? text : ""; *s; s++)
        put(k, (unsigned char)*s);
    put(k, 0);
}

static void put_atom(Key *k, Atom a)
{
    if (put_object(k, a.var))
        put(k, (uint64_t)a.var->type.elem << 8 | (uint64_t)a.var->type.rank);
    if (a.var)
        return;
    put(k, a.c.type);
    kkey_put_const(&k->words, a.c);
}

static void put_atoms(Key *k, const Atoms *as)
{
    put(k, (uint64_t)as->n);
    for (int i = 0; i < as->n; i++)
        put_atom(k, as->at[i]);
}

static void put_suff(Key *k, const Exp *e)
{
    put_text(k, e->suff.name);
    put_atom(k, e->suff.par);
    put_atom(k, e->suff.work);
    put_atom(k, e->suff.spared);
    put_atom(k, e->suff.steps);
    put_atom(k, e->suff.elems);
    put_atom(k, e->suff.units);
    put_text(k, e->suff.never ? e->suff.never : "");
    put_text(k, e->suff.balanced ? "balanced" : "");
    put_text(k, e->suff.blocks ? "blocks" : "");
}

static void put_ranks(Key *k, const Exp *e)
{
    put(k, (uint64_t)e->kind << 8 | (uint64_t)e->ranks.type);
    put_atoms(k, &e->ranks.args);
}

static void put_exps(Key *k, const KExps *xs)
{
    put(k, (uint64_t)xs->n);
    for (int i = 0; i < xs->n; i++)
        put_exp(k, xs->at[i]);
}

static void put_loc(Key *k, const ArrLoc *l, int rank)
{
    put_object(k, l->mem);
    if (!l->mem)
        return;
    put_exp(k, l->at.offset);
    for (int i = 0; i < rank; i++)
        put_exp(k, l->at.strides[i]);
}

static void put_launch(Key *k, const HostOp *op)
{
    put(k, k->kernels[op->kernel->id]);
    put(k, op->kernel->fixed_group);
    put(k, (uint64_t)op->n_launch_dims);
    for (int d = 0; d < op->n_launch_dims; d++) {
        put_exp(k, op->groups[d]);
        put_exp(k, op->local[d]);
    }
    put(k, (uint64_t)op->args.n);
    for (int i = 0; i < op->args.n; i++) {
        const KParam *p = &op->args.at[i];
        put(k, (uint64_t)p->kind << 16 | (uint64_t)p->type << 1 | p->updated);
        put_object(k, p->mem);
        put_exp(k, p->value);
        put_exp(k, p->bytes);
    }
}

static void put_ops(Key *k, const HostOps *ops);

static void put_op(Key *k, const HostOp *op)
{
    put(k, (uint64_t)op->kind << 24 | (uint64_t)op->type << 16 | (uint64_t)op->loop_kind << 8 |
               (uint64_t)op->from << 1 | op->guard);
    put_object(k, op->mem);
    put_object(k, op->mem2);
    put_object(k, op->var);
    put_exp(k, op->exp);
    put_exp(k, op->exp2);
    if (op->suff)
        put_suff(k, op->suff);
    if (op->ranks)
        put_ranks(k, op->ranks);
    put_atoms(k, &op->dims);
    put_loc(k, &op->dst, op->dims.n);
    put_loc(k, &op->src, op->dims.n);
    if (op->kernel)
        put_launch(k, op);
    put_text(k, op->threshold);
    put(k, (uint64_t)op->fits.n);
    for (int i = 0; i < op->fits.n; i++) {
        put(k, k->kernels[op->fits.at[i].kernel->id]);
        put_exp(k, op->fits.at[i].group_size);
        put_exp(k, op->fits.at[i].local_bytes);
    }
    put_exps(k, &op->numbers);
    put_exps(k, &op->elems);
    put_ops(k, &op->then_);
    put_ops(k, &op->else_);
}

static void put_ops(Key *k, const HostOps *ops)
{
    for (int i = 0; i < ops->n; i++)
        if (ops->at[i]->kind != H_COMMENT)
            put_op(k, ops->at[i]);
    put(k, UINT64_MAX); /* the end */
}

uint64_t plan_entry_key(const EntryPlan *ep, const uint64_t *kernels)
{
    Arena *a = arena_new();
    Key k = {.words = kkey_words(a), .kernels = kernels};
    for (int i = 0; i < ep->entry->params.n; i++) {
        const Var *v = ep->entry->params.at[i];
        put_atom(&k, atom_var(ep->entry->params.at[i]));
        put_object(&k, v->type.rank ? ep->param_locs.at[i].mem : NULL);
        for (int d = 0; d < v->type.rank; d++)
            put_atom(&k, v->type.dims[d]);
    }
    for (int i = 0; i < ep->entry->user_params.n; i++)
        put_atom(&k, atom_var(ep->entry->user_params.at[i].var));
    put_ops(&k, &ep->ops);
    for (int i = 0; i < ep->results.n; i++) {
        Type t = atom_type(ep->results.at[i]);
        put_atom(&k, ep->results.at[i]);
        put_object(&k, t.rank ? ep->result_locs.at[i].mem : NULL);
        for (int d = 0; d < t.rank; d++)
            put_atom(&k, t.dims[d]);
    }
    uint64_t hash = kkey_of(&k.words).hash;
    arena_free(a);
    return hash;
}
