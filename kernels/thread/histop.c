/* What the operator of a histogram is to many work-items at once (hist.h): how each value of a bin
 * is updated, where the operator combines each apart from the others. */
#include "kernels/thread/hist.h"

static bool is_atomic(PrimOp op)
{
    return op == OP_ADD || op == OP_MIN || op == OP_MAX || op == OP_AND || op == OP_OR ||
           op == OP_XOR;
}

PrimType hist_word(PrimType t)
{
    if (prim_type_bytes[t] >= 4)
        return t;
    return prim_is_int(t) && prim_is_signed(t) ? T_I32 : T_U32;
}

/* By one operation of the device, N_PRIM_OPS if it has none: then by compare and swap. */
static PrimOp atomic_of(const Lambda *op)
{
    PrimType t = op->params.at[0]->type.elem;
    const Exp *e = lambda_op(op);
    if (!e || !is_atomic(e->prim.op) || prim_type_bytes[t] < 4)
        return N_PRIM_OPS;
    /* On floating-point numbers there are sums, of atomics on 64 bits those of the
     * basic extension. */
    if (e->prim.op != OP_ADD && (prim_is_float(t) || prim_type_bytes[t] == 8))
        return N_PRIM_OPS;
    return e->prim.op;
}

/* Integers of 8 and 16 bits are combined as those of 32, whose upper bits are not asked for. */
static PrimOp in_word(const Lambda *op)
{
    const Exp *e = lambda_op(op);
    return e && is_atomic(e->prim.op) && prim_is_int(e->prim.type) ? e->prim.op : N_PRIM_OPS;
}

/* The part of op that computes its result j; its parameters are op's j and n+j. */
static Lambda *part_of(Ctx *cx, const Lambda *op, int j)
{
    int n = op->body->res.n;
    VarSet *needed = varmap_new(cx->perm);
    if (op->body->res.at[j].var)
        varset_add(needed, op->body->res.at[j].var);
    const Stms *all = &op->body->stms;
    bool *taken = NEWN(cx->perm, bool, all->n);
    for (int i = all->n - 1; i >= 0; i--) {
        for (int k = 0; k < all->at[i].pat.n; k++)
            taken[i] |= varset_has(needed, all->at[i].pat.at[k]);
        if (taken[i])
            free_in_stm(needed, &all->at[i]);
    }
    Body *b = NEW(cx->perm, Body);
    for (int i = 0; i < all->n; i++)
        if (taken[i])
            vec_push(cx->perm, &b->stms, all->at[i]);
    vec_push(cx->perm, &b->res, op->body->res.at[j]);
    Lambda *part = NEW(cx->perm, Lambda);
    part->body = b;
    vec_push(cx->perm, &part->params, op->params.at[j]);
    vec_push(cx->perm, &part->params, op->params.at[n + j]);
    return part;
}

/* Does it depend on other parameters of op than its own? */
static bool leans_on_others(Ctx *cx, const Lambda *part, const Lambda *op)
{
    VarSet *free = varmap_new(cx->perm);
    free_in_lambda(free, part);
    for (int i = 0; i < op->params.n; i++)
        if (varset_has(free, op->params.at[i]))
            return true;
    return false;
}

const HistPart *hist_parts(Ctx *cx, const Lambda *op)
{
    int n = op->body->res.n;
    for (int i = 0; i < op->body->stms.n; i++)
        if (exp_has_effect(op->body->stms.at[i]
                               .exp)) /* no result needs an assertion: it would be in no part */
            return NULL;
    HistPart *parts = NEWN(cx->perm, HistPart, n);
    for (int j = 0; j < n; j++) {
        if (op->params.at[j]->type.rank > 0)
            return NULL;
        parts[j].op = part_of(cx, op, j);
        if (leans_on_others(cx, parts[j].op, op))
            return NULL;
        parts[j].atomic = atomic_of(parts[j].op);
        parts[j].in_word = in_word(parts[j].op);
    }
    return parts;
}
