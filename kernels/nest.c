/* Index spaces of seg constructs, and where their results lie. */
#include "kernels/kernel.h"

const Sx *nest_size(Ctx *cx, const Nest *nest, int from, int to)
{
    const Sx *n = sx_const(cx, 1);
    for (int k = from; k < to; k++)
        n = sx_mul(cx, n, sx_atom(cx, nest->at[k].width));
    return n;
}

const Sx *nest_size_k(KGen *kg, const Nest *nest, int from, int to)
{
    const Sx *n = sx_const(kg->cx, 1);
    for (int k = from; k < to; k++)
        n = sx_mul(kg->cx, n, kg_sx(kg, nest->at[k].width));
    return n;
}

Atom nest_width(const Nest *nest)
{
    return vec_last(nest).width;
}

static void bind_xs(KGen *kg, const NestDim *d)
{
    ranges_dim(kg->known, d);
    for (int j = 0; j < d->xs.n; j++)
        kg_bind_row(kg, d->xs.at[j], d->arrs.at[j], sx_var(kg->cx, d->idx));
}

void nest_bind_dim(KGen *kg, const NestDim *d, const KExp *i)
{
    kg_let(kg, d->idx, i);
    bind_xs(kg, d);
}

void nest_bind_range(KGen *kg, const Nest *nest, int from, int to, const KExp *flat)
{
    int n = to - from;
    Var **idx = NEWN(kg->cx->perm, Var *, n);
    Atom *widths = NEWN(kg->cx->perm, Atom, n);
    for (int k = 0; k < n; k++) {
        idx[k] = nest->at[from + k].idx;
        widths[k] = nest->at[from + k].width;
    }
    kg_unflatten(kg, flat, idx, widths, n);
    for (int k = from; k < to; k++)
        bind_xs(kg, &nest->at[k]);
}

void nest_bind(KGen *kg, const Nest *nest, int n, const KExp *flat)
{
    nest_bind_range(kg, nest, 0, n, flat);
}

void nest_indices(KGen *kg, const Nest *nest, int n, const Sx **ix)
{
    for (int k = 0; k < n; k++)
        ix[k] = sx_var(kg->cx, nest->at[k].idx);
}

const Sx *nest_groups(KGen *kg, const Sx *n, const Sx *per_group)
{
    Ctx *cx = kg->cx;
    const Sx *all = sx_op(cx, SX_CEILDIV, n, per_group), *most = sx_size(cx, SIZE_NUM_GROUPS);
    if (!kg->uses_scratch && !kg->uses_heap)
        most = sx_op(cx, SX_MAX, most, sx_size(cx, SIZE_QUEUED_GROUPS));
    return sx_op(cx, SX_MIN, all, most);
}

const Sx *nest_max_threads(KGen *kg, const Sx *n, const Sx *per_group)
{
    Ctx *cx = kg->cx;
    const Sx *all = sx_op(cx, SX_CEILDIV, n, per_group);
    return sx_mul(cx, sx_op(cx, SX_MIN, all, sx_size(cx, SIZE_NUM_GROUPS)), kg->group_size);
}

/* --- One thread an element ----------------------------------------------------------------- */

enum {
    ELEMS_A_THREAD = 4, /* at most, where */
    PLENTY = 4          /* ... there are so many times more groups than fill the device */
};

/* Every kernel is a loop over its index space in steps of the whole grid. On a GPU the grid covers
 * everything and the loop runs once, unless threads have memory of their own; on a CPU the grid is
 * small, so that a work-item handles many elements. */
/* The work-group size for n threads: smaller than usual, in full warps, where that gives work to
 * more groups. */
static const Sx *spread(Ctx *cx, const Sx *n)
{
    const Sx *warp = sx_const(cx, 32);
    const Sx *share = sx_op(cx, SX_CEILDIV, n, sx_size(cx, SIZE_NUM_GROUPS));
    const Sx *full = sx_mul(cx, sx_op(cx, SX_CEILDIV, share, warp), warp);
    return sx_op(cx, SX_MIN, sx_size(cx, SIZE_GROUP_SIZE), sx_op(cx, SX_MAX, warp, full));
}

const KExp *nest_total(KGen *kg, const Sx *n)
{
    const KExp *none = kg_int(kg, 0);
    return kb_let(kg->kb, "total", kx_select(kg->cx->perm, kg->stopped, none, kg_host(kg, n)));
}

const KExp *nest_open(KGen *kg, const Sx *n)
{
    KBuild *b = kg->kb;
    kg->group_size = spread(kg->cx, n);
    kg->max_threads = nest_max_threads(kg, n, kg->group_size);
    const KExp *total = nest_total(kg, n);
    const KExp *first = kg_mul(kg, kg_id(kg, KID_GROUP), kg_id(kg, KID_GROUP_SIZE));
    const KExp *base = kb_for(b, "base", first, total, kg_global_size(kg));
    const KExp *gid = kb_let(b, "gid", kg_add(kg, base, kg->lid));
    kb_if(b, kg_lt(kg, gid, total)); /* uniform turns, as in kg_open_shared */
    return gid;
}

void nest_close(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* --- One thread a strip -------------------------------------------------------------------- */

Strips nest_strips(KGen *kg, const Nest *nest)
{
    Ctx *cx = kg->cx;
    const Sx *most = sx_const(cx, ELEMS_A_THREAD), *one = sx_const(cx, 1);
    const Sx *plenty = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_const(cx, PLENTY));
    const Sx *elems = nest_size(cx, nest, 0, nest->n);
    const Sx *groups = sx_op(cx, SX_DIV, elems, sx_size(cx, SIZE_GROUP_SIZE));
    const Sx *height = sx_op(cx, SX_MIN, sx_op(cx, SX_DIV, groups, plenty), most);
    height = sx_op(cx, SX_MAX, one, sx_mul(cx, height, sx_size(cx, SIZE_COALESCES)));
    Strips s = {.height = pb_let(kg->pb, "height", height)};
    const NestDim *down = &nest->at[nest->n - 2], *along = &nest->at[nest->n - 1];
    s.rows = pb_let(kg->pb, "rows", sx_op(cx, SX_CEILDIV, sx_atom(cx, down->width), s.height));
    const Sx *plane = sx_mul(cx, s.rows, sx_atom(cx, along->width));
    s.n = pb_let(kg->pb, "strips", sx_mul(cx, nest_size(cx, nest, 0, nest->n - 2), plane));
    return s;
}

void nest_bind_strip(KGen *kg, const Nest *nest, const Strips *s, const KExp *flat)
{
    KBuild *b = kg->kb;
    int outer = nest->n - 2;
    const NestDim *down = &nest->at[outer], *along = &nest->at[outer + 1];
    const KExp *r, *q = kg_split(kg, flat, kg_atom(kg, along->width), &r);
    const KExp *column = kb_let(b, "column", r), *strip = q;
    if (outer > 0) {
        q = kg_split(kg, q, kg_host(kg, s->rows), &r);
        strip = kb_let(b, "strip", r);
        nest_bind_range(kg, nest, 0, outer, q);
    }
    const KExp *height = kg_host(kg, s->height);
    const KExp *from = kb_let(b, "from", kg_mul(kg, strip, height));
    const KExp *to = kg_min(kg, kg_add(kg, from, height), kg_atom(kg, down->width));
    const KExp *i = kb_for(b, "i", from, to, kg_int(kg, 1));
    kg_loop_unroll(kg, ELEMS_A_THREAD);
    nest_bind_dim(kg, down, i);
    nest_bind_dim(kg, along, column);
}

/* Where there is plenty to do a thread takes several elements one after the other, which costs less
 * than as many threads. */
static const Sx *enough_groups(KGen *kg, const Sx *n)
{
    Ctx *cx = kg->cx;
    const Sx *all = nest_groups(kg, n, kg->group_size);
    if (kg->uses_scratch || kg->uses_heap)
        return all;
    const Sx *plenty = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_const(cx, PLENTY));
    const Sx *share = sx_op(cx, SX_CEILDIV, all, sx_const(cx, ELEMS_A_THREAD));
    return sx_op(cx, SX_MIN, all, sx_op(cx, SX_MAX, plenty, share));
}

void nest_finish(KGen *kg, const Sx *n)
{
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, enough_groups(kg, n));
}

/* Does op combine its scalars one by one with commutative operations? */
bool op_is_comm(const Exp *seg)
{
    if (seg->seg.comm)
        return true;
    const Lambda *op = seg->seg.op;
    int n = seg->seg.nes.n;
    for (int j = 0; j < n; j++) {
        const Exp *e = NULL;
        for (int i = 0; i < op->body->stms.n; i++) {
            const Stm *s = &op->body->stms.at[i];
            if (s->pat.n == 1 &&
                s->pat.at[0] == op->body->res.at[j].var) /* an assertion binds nothing */
                e = s->exp;
        }
        if (!e || e->kind != E_PRIM || e->prim.args.n != 2)
            return false;
        PrimOp o = e->prim.op;
        if (o != OP_ADD && o != OP_MUL && o != OP_MIN && o != OP_MAX && o != OP_AND && o != OP_OR &&
            o != OP_XOR && o != OP_LAND && o != OP_LOR)
            return false;
        const Var *a = e->prim.args.at[0].var, *b = e->prim.args.at[1].var;
        const Var *x = op->params.at[j], *y = op->params.at[n + j];
        if (!((a == x && b == y) || (a == y && b == x)))
            return false;
    }
    return true;
}
