/* After lifetimes: arrays that are laid out anew are moved where that changes nothing. A block that
 * is made, written and copied into another one in one list of operations, and that nobody has after
 * that, becomes the other one where both have all elements in the same places: so transposed copies
 * of a single row, or column, take no time. */
#include "host/host_walk.h"

static void find_alias(void *env, HostOp *op)
{
    PtrMap *others = env;
    if (op->kind == H_ALIAS)
        ptrmap_put(others, op->mem2, op->mem2);
}

/* The operation of the list that makes block m, which operation `copy` reads, if the block is
 * released right behind that; NULL: it is made elsewhere, or lives on. */
static const HostOp *lives_here(const HostOps *ops, int copy, const Mem *m)
{
    int made = 0, gone = copy + 1;
    while (made < copy && !(ops->at[made]->kind == H_ALLOC && ops->at[made]->mem == m))
        made++;
    while (gone < ops->n && ops->at[gone]->kind == H_RELEASE && ops->at[gone]->mem != m)
        gone++;
    bool dies = gone < ops->n && ops->at[gone]->kind == H_RELEASE;
    return made < copy && dies && ops->at[made]->from == ALLOC_FRESH ? ops->at[made] : NULL;
}

/* Does the copy have each element where the array has it: along dimensions of more than one,
 * neighbours are as far apart; and is the array's block (`made`) as large as that of the copy
 * (`alloc`), of which this may be a part? NULL: that is not known to depend on sizes. */
static const KExp *nothing_changes(Ctx *cx, const HostOp *made, const HostOp *alloc,
                                   const HostOp *copy)
{
    Arena *a = cx->perm;
    bool as_large = kx_same(alloc->exp, made->exp);
    const KExp *same = as_large ? kx_bool(a, true) : kx_le(a, alloc->exp, made->exp);
    const Lmad *to = &copy->dst.at, *from = &copy->src.at;
    if (!kx_is_int(to->offset, 0) || !kx_is_int(from->offset, 0))
        return NULL;
    for (int d = 0; d < copy->dims.n; d++) {
        const KExp *single = kx_le(a, host_atom(a, copy->dims.at[d]), kx_int(a, 1));
        same = kx_and(a, same, kx_or(a, single, kx_eq(a, to->strides[d], from->strides[d])));
    }
    return same->kind == KE_CONST ? NULL : same;
}

/* The two operations that make a block and fill it, beside a move where nothing changes. */
static void move_or(Ctx *cx, HostOps *out, const KExp *same, HostOp *alloc, HostOp *copy)
{
    Arena *a = cx->perm;
    Var *test = var_new(cx, "same", type_prim(T_BOOL), copy->loc);
    HostOp *set = NEW(a, HostOp), *branch = NEW(a, HostOp), *move = NEW(a, HostOp);
    *set = (HostOp){.kind = H_EXP, .loc = copy->loc, .var = test, .exp = same};
    *branch = (HostOp){.kind = H_IF, .loc = copy->loc, .exp = kx_host(a, test)};
    *move = (HostOp){.kind = H_ALIAS, .mem = copy->dst.mem, .mem2 = copy->src.mem};
    vec_push(a, &branch->then_, move);
    vec_push(a, &branch->else_, alloc);
    vec_push(a, &branch->else_, copy);
    vec_push(a, out, set);
    vec_push(a, out, branch);
}

static void moves_in(Ctx *cx, const PtrMap *others, HostOps *ops)
{
    HostOps out = {0};
    for (int i = 0; i < ops->n; i++) {
        HostOp *op = ops->at[i], *copy = i + 1 < ops->n ? ops->at[i + 1] : NULL;
        const KExp *same = NULL;
        const HostOp *made = NULL;
        if (op->kind == H_ALLOC && op->from == ALLOC_FRESH && copy && copy->kind == H_COPY &&
            copy->dst.mem == op->mem && !ptrmap_get(others, copy->src.mem))
            made = lives_here(ops, i + 1, copy->src.mem);
        if (made)
            same = nothing_changes(cx, made, op, copy);
        if (same) {
            move_or(cx, &out, same, op, copy);
            i++;
            continue;
        }
        moves_in(cx, others, &op->then_);
        moves_in(cx, others, &op->else_);
        vec_push(cx->perm, &out, op);
    }
    *ops = out;
}

void host_moves(Ctx *cx, EntryPlan *ep)
{
    PtrMap *others = ptrmap_new(cx->scratch);
    ops_visit(&ep->ops, find_alias, others);
    moves_in(cx, others, &ep->ops);
}
