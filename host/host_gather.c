/* After lifetimes: what is copied to its place among the rows of all ranks, to be gathered there,
 * is gathered from where it is, as what puts it there is to read it anyway:
 *
 *     copy [count][m] all[first*m + ..] := part[..]   =>   gather all with count*m of part
 *     release part                                         release part
 *     gather all
 *
 * Gathers in a row are one message, which is sent with the last of them: releases go behind that.
 */
#include "host/host_walk.h"

/* --- Copies ----------------------------------------------------------------------------------- */

static bool row_major(Ctx *cx, const HostOp *op, const ArrLoc *l)
{
    Type t = {op->type, op->dims.n, op->dims.at};
    return lmad_is_row_major(cx, l->at, t);
}

/* Does it copy all of a block, from its first element on, to rows of what is gathered, in order? */
static bool copies_rows(Ctx *cx, const HostOp *copy, const HostOp *gather)
{
    int less = gather->dims.n - copy->dims.n; /* a row without that dimension */
    bool rows = copy->kind == H_COPY && copy->type == gather->type && (less == 0 || less == 1) &&
                copy->src.mem != copy->dst.mem && kx_is_int(copy->src.at.offset, 0) &&
                row_major(cx, copy, &copy->src) && row_major(cx, copy, &copy->dst);
    for (int d = 1 - less; d < copy->dims.n && rows; d++)
        rows = atom_eq(copy->dims.at[d], gather->dims.at[d + less]);
    return rows;
}

/* --- What is between ------------------------------------------------------------------------- */

/* Is m a block that this list has made, and that has had no other name since? */
static bool is_new(const HostOps *ops, int at, const Mem *m)
{
    for (int i = at - 1; i >= 0; i--) {
        const HostOp *op = ops->at[i];
        if (op->kind == H_ALLOC && op->mem == m)
            return true;
        if (op->kind == H_ALIAS && op_mentions(op, m))
            return false;
        if ((op->then_.n || op->else_.n) && op_mentions(op, m))
            return false;
    }
    return false;
}

/* Does what `part` holds stay as it is, but that its name may be given back? */
static bool leaves(const HostOps *ops, int at, const HostOp *copy)
{
    const HostOp *op = ops->at[at];
    const Mem *part = copy->src.mem;
    if (op->kind == H_RELEASE)
        return op->mem != copy->dst.mem;
    if (op->kind == H_COPY || op_is_gather(op))
        return op->dst.mem != copy->dst.mem && op->dst.mem != part &&
               op->src.mem != copy->dst.mem && is_new(ops, at, op->dst.mem);
    if (op->kind == H_ALLOC)
        return op->mem != part && op->mem != copy->dst.mem;
    return op_is(op, HO_TOTAL) || op->kind == H_COMMENT || op->kind == H_DECLARE ||
           op->kind == H_ASSERT || op->kind == H_LIMIT;
}

/* The copy that makes this rank's part of what operation g gathers, and does no more; -1. */
static int copy_before(Ctx *cx, const HostOps *ops, int g)
{
    const HostOp *gather = ops->at[g];
    int c = g - 1;
    while (c >= 0 && !(ops->at[c]->kind == H_COPY && ops->at[c]->dst.mem == gather->dst.mem))
        c--;
    if (c < 0 || !copies_rows(cx, ops->at[c], gather) || !is_new(ops, c, gather->dst.mem))
        return -1;
    for (int i = 0; i < c; i++) /* both might be one message, in which the part is not there yet */
        if (op_is_gather(ops->at[i]) && ops->at[i]->dst.mem == ops->at[c]->src.mem)
            return -1;
    for (int i = c + 1; i < g; i++)
        if (!leaves(ops, i, ops->at[c]))
            return -1;
    return c;
}

/* --- Gathers --------------------------------------------------------------------------------- */

static void take(Ctx *cx, HostOp *gather, const HostOp *copy)
{
    gather->src = (ArrLoc){copy->src.mem, gather->dst.at};
    gather->exp = copy->dst.at.offset;
    gather->exp2 = sx_product(cx, copy->dims.at, copy->dims.n);
}

/* The last of the gathers in a row that begin with this one. */
static int last_in_row(const HostOps *ops, int g)
{
    while (g + 1 < ops->n && op_is_gather(ops->at[g + 1]))
        g++;
    return g;
}

static void gathers_in(Ctx *cx, HostOps *ops)
{
    HostOps out = {0};
    enum { STAYS = -1, GONE = -2 }; /* else the operation that it goes behind */
    int *to = arena_alloc(cx->scratch, ((size_t)ops->n + 1) * sizeof *to);
    for (int i = 0; i < ops->n; i++)
        to[i] = STAYS;
    for (int g = 0; g < ops->n; g++) {
        int c = op_is_gather(ops->at[g]) ? copy_before(cx, ops, g) : -1;
        if (c < 0)
            continue;
        take(cx, ops->at[g], ops->at[c]);
        to[c] = GONE;
        for (int i = c + 1; i < g; i++)
            if (ops->at[i]->kind == H_RELEASE && ops->at[i]->mem == ops->at[c]->src.mem)
                to[i] = last_in_row(ops, g);
    }
    for (int i = 0; i < ops->n; i++) {
        HostOp *op = ops->at[i];
        gathers_in(cx, &op->then_);
        gathers_in(cx, &op->else_);
        if (to[i] == STAYS)
            vec_push(cx->perm, &out, op);
        for (int k = 0; k < i && op_is_gather(op); k++)
            if (to[k] == i)
                vec_push(cx->perm, &out, ops->at[k]);
    }
    *ops = out;
}

void host_gathers(Ctx *cx, EntryPlan *ep)
{
    gathers_in(cx, &ep->ops);
}
