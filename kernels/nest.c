/* Index spaces of seg constructs, and where their results lie. */
#include "kernels/kernel.h"

enum { SEARCH_PARTS = 8 };

const KExp *nest_size(Ctx *cx, const Nest *nest, int from, int to)
{
    const KExp *n = sx_const(cx, 1);
    for (int k = from; k < to; k++)
        n = sx_mul(cx, n, sx_atom(cx, nest->at[k].width));
    return n;
}

const KExp *nest_size_k(KGen *kg, const Nest *nest, int from, int to)
{
    const KExp *n = sx_const(kg->cx, 1);
    for (int k = from; k < to; k++)
        n = sx_mul(kg->cx, n, kg_sx(kg, nest->at[k].width));
    return n;
}

Atom nest_width(const Nest *nest)
{
    return vec_last(nest).width;
}

static const KExp *offset(KGen *kg, const NestDim *d, const KExp *row)
{
    const KExp *at = kg_sx_of(kg, kb_let(kg->kb, "row", row));
    return loc_load(kg, "offset", kg_arr(kg, d->offs.var), &at, 1);
}

const KExp *nest_offset(KGen *kg, const NestDim *d, const KExp *row)
{
    return kg_sub(kg, offset(kg, d, row), offset(kg, d, kg_int(kg, 0)));
}

const KExp *nest_bisect(KGen *kg, const KExp *from, const KExp *to, NestBefore *before, void *env)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    PrimType t = from->type.elem;
    const KExp *one = kx_conv(a, t, kg_int(kg, 1));
    KVar *low = kb_var(b, "low", t, from), *high = kb_var(b, "high", t, to);
    kb_while(b, kg_lt(kg, kg_of(kg, low), kg_of(kg, high)));
    const KExp *sum = kx_prim2(a, OP_ADD, kg_of(kg, low), kg_of(kg, high));
    const KExp *mid = kb_let(b, "mid", kx_prim2(a, OP_SHR, sum, one));
    kb_if(b, before(kg, env, mid));
    kb_set(b, low, kx_prim2(a, OP_ADD, mid, one));
    kb_else(b);
    kb_set(b, high, mid);
    kb_end(b);
    kb_end(b);
    return kb_let(b, "found", kg_of(kg, low));
}

const KExp *nest_search(KGen *kg, const KExp *from, const KExp *to, NestBefore *before, void *env)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    KVar *low = kb_var(b, "low", T_I64, from), *high = kb_var(b, "high", T_I64, to);
    const KExp *at[SEARCH_PARTS], *is_before[SEARCH_PARTS];
    kb_while(b, kg_lt(kg, kg_of(kg, low), kg_of(kg, high)));
    const KExp *first = kb_let(b, "first", kg_of(kg, low));
    const KExp *n = kb_let(b, "n", kg_sub(kg, kg_of(kg, high), first));
    for (int j = 1; j < SEARCH_PARTS; j++) {
        const KExp *part = kg_quot(kg, kg_mul(kg, n, kg_int(kg, j)), kg_int(kg, SEARCH_PARTS));
        at[j] = kb_let(b, "at", kg_add(kg, first, part));
        is_before[j] = kb_let(b, "is_before", before(kg, env, at[j]));
    }
    const KExp *last = kg_of(kg, high);
    for (int j = SEARCH_PARTS - 1; j > 0; j--) {
        const KExp *behind = kg_add(kg, at[SEARCH_PARTS - j], kg_int(kg, 1));
        first = kx_select(a, is_before[SEARCH_PARTS - j], behind, first);
        last = kx_select(a, is_before[j], last, at[j]);
    }
    kb_set(b, low, first);
    kb_set(b, high, last);
    kb_end(b);
    return kb_let(b, "found", kg_of(kg, low));
}

typedef struct {
    const NestDim *d;
    const KExp *point;
} PointOf;

static const KExp *ends_before(KGen *kg, void *env, const KExp *row)
{
    const PointOf *p = env;
    return kg_le(kg, nest_offset(kg, p->d, kg_add(kg, row, kg_int(kg, 1))), p->point);
}

const KExp *nest_row_of(KGen *kg, const NestDim *d, const KExp *point)
{
    PointOf p = {d, point};
    return nest_bisect(kg, kg_int(kg, 0), kg_atom(kg, d->rows), ends_before, &p);
}

bool nest_wants_row(KGen *kg, const NestDim *d)
{
    if (!d->row)
        return false;
    VarSet *used = varmap_new(kg->cx->perm);
    free_in_body(used, kg->seg->seg.body);
    return varset_has(used, d->row);
}

/* What the index binds besides; row: of a point, where it is known. */
static void bind_rest(KGen *kg, const NestDim *d, const KExp *row)
{
    ranges_dim(kg->known, d);
    if (row)
        kg_let(kg, d->row, row);
    for (int j = 0; j < d->xs.n; j++)
        kg_bind_row(kg, d->xs.at[j], d->arrs.at[j], sx_var(kg->cx, d->idx));
}

static void bind_xs(KGen *kg, const NestDim *d)
{
    const KExp *row = NULL;
    if (nest_wants_row(kg, d)) {
        kg->guard = true;
        row = nest_row_of(kg, d, kg_at(kg, sx_var(kg->cx, d->idx)));
    }
    bind_rest(kg, d, row);
}

void nest_bind_dim(KGen *kg, const NestDim *d, const KExp *i)
{
    kg_let(kg, d->idx, i);
    bind_xs(kg, d);
}

void nest_bind_point(KGen *kg, const NestDim *d, const KExp *i, const KExp *row)
{
    kg_let(kg, d->idx, i);
    bind_rest(kg, d, row);
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

void nest_indices(KGen *kg, const Nest *nest, int n, const KExp **ix)
{
    for (int k = 0; k < n; k++)
        ix[k] = sx_var(kg->cx, nest->at[k].idx);
}

const KExp *nest_groups(KGen *kg, const KExp *n, const KExp *per_group)
{
    Ctx *cx = kg->cx;
    const KExp *all = sx_op(cx, SX_CEILDIV, n, per_group), *most = sx_size(cx, SIZE_NUM_GROUPS);
    if (!kg->uses_scratch && !kg->uses_heap)
        most = sx_op(cx, SX_MAX, most, sx_size(cx, SIZE_QUEUED_GROUPS));
    return sx_op(cx, SX_MIN, all, most);
}

const KExp *nest_groups_turning(KGen *kg, const KExp *n, const KExp *per_group)
{
    enum { WAVES = 2 };
    Ctx *cx = kg->cx;
    const KExp *all = nest_groups(kg, n, per_group), *one = sx_const(cx, 1);
    const KExp *fill = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_const(cx, WAVES));
    const KExp *turns = sx_op(cx, SX_MAX, sx_op(cx, SX_CEILDIV, all, fill), one);
    return sx_op(cx, SX_CEILDIV, all, turns);
}

const KExp *nest_max_threads(KGen *kg, const KExp *n, const KExp *per_group)
{
    Ctx *cx = kg->cx;
    const KExp *all = sx_op(cx, SX_CEILDIV, n, per_group);
    return sx_mul(cx, sx_op(cx, SX_MIN, all, sx_size(cx, SIZE_NUM_GROUPS)), kg->group_size);
}

/* --- One thread an element ----------------------------------------------------------------- */

enum {
    ELEMS_A_THREAD = 4, /* at most, where */
    PLENTY = 4          /* ... there are so many times more groups than fill the device */
};

/* Every kernel is a loop over its index space. On a GPU it goes in steps of the whole grid, which
 * covers everything, so that the loop runs once, unless threads have memory of their own; on a CPU
 * there are few groups, of one work-item, and each takes so many neighbours, row by row. */

/* The work-group size for n threads: smaller than usual, in full warps, where that gives work to
 * more groups. */
static const KExp *spread(Ctx *cx, const KExp *n)
{
    const KExp *warp = sx_const(cx, 32);
    const KExp *share = sx_op(cx, SX_CEILDIV, n, sx_size(cx, SIZE_NUM_GROUPS));
    const KExp *full = sx_mul(cx, sx_op(cx, SX_CEILDIV, share, warp), warp);
    return sx_op(cx, SX_MIN, sx_size(cx, SIZE_GROUP_SIZE), sx_op(cx, SX_MAX, warp, full));
}

const KExp *nest_total(KGen *kg, const KExp *n)
{
    const KExp *none = kg_int(kg, 0);
    return kb_let(kg->kb, "total", kx_select(kg->cx->perm, kg->stopped, none, kg_host(kg, n)));
}

/* How many groups have memory of their own at most. */
static const KExp *most_groups(Ctx *cx)
{
    return sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_PIECES));
}

/* One of two by the target: where work-items of a group work together, where each works by itself.
 */
static const KExp *by_target(KGen *kg, const KExp *teams, const KExp *single)
{
    return kx_select(kg->cx->perm, kg_id(kg, KID_TEAMS), teams, single);
}

/* The work-item's share of the elements where each works by itself: neighbours, so that the loop
 * over them is one for the target's compiler to make vectors of. */
typedef struct {
    const KExp *total, *beg, *end;
} Share;

static Share share_open(KGen *kg, const KExp *n)
{
    KBuild *b = kg->kb;
    Ctx *cx = kg->cx;
    kg->group_size = sx_op(cx, SX_MIN, spread(cx, n), sx_size(cx, SIZE_TEAM_LIMIT));
    const KExp *all = sx_op(cx, SX_CEILDIV, n, kg->group_size);
    kg->max_threads = sx_mul(cx, sx_op(cx, SX_MIN, all, most_groups(cx)), kg->group_size);
    Share s = {.total = nest_total(kg, n)};
    const KExp *items = kg_global_size(kg), *one = kg_int(kg, 1);
    const KExp *share =
        kb_let(b, "share", kg_quot(kg, kg_sub(kg, kg_add(kg, s.total, items), one), items));
    s.beg = kb_let(b, "beg", kg_min(kg, kg_mul(kg, kg_global_id(kg), share), s.total));
    s.end = kb_let(b, "end", kg_min(kg, kg_add(kg, s.beg, share), s.total));
    return s;
}

/* The loop over the elements in steps of the grid, or over beg .. end-1. */
static const KExp *elements_open(KGen *kg, const Share *s, const KExp *beg, const KExp *end)
{
    KBuild *b = kg->kb;
    const KExp *first = kg_mul(kg, kg_id(kg, KID_GROUP), kg_id(kg, KID_GROUP_SIZE));
    const KExp *base = kb_for(b, "base", by_target(kg, first, beg), by_target(kg, s->total, end),
                              by_target(kg, kg_global_size(kg), kg_int(kg, 1)));
    const KExp *gid = kb_let(b, "gid", by_target(kg, kg_add(kg, base, kg->lid), base));
    /* uniform turns, as in kg_open_shared */
    kb_if(b, kx_or(kg->cx->perm, kx_not(kg->cx->perm, kg_id(kg, KID_TEAMS)),
                   kg_lt(kg, gid, s->total)));
    return gid;
}

const KExp *nest_open(KGen *kg, const KExp *n)
{
    Share s = share_open(kg, n);
    return elements_open(kg, &s, s.beg, s.end);
}

void nest_close(KGen *kg)
{
    kb_end(kg->kb);
    kb_end(kg->kb);
}

/* --- ... row by row, or a strip a thread ----------------------------------------------------- */

typedef struct {
    const KExp *n;      /* strips */
    const KExp *height; /* elements of one; NULL: threads have one element */
    const KExp *rows;   /* of strips, in the last two dimensions */
} Strips;

static Strips strips_of(KGen *kg, const Nest *nest, int depth)
{
    Ctx *cx = kg->cx;
    const KExp *most = sx_const(cx, ELEMS_A_THREAD), *one = sx_const(cx, 1);
    const KExp *plenty = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_const(cx, PLENTY));
    const KExp *elems = nest_size(cx, nest, 0, depth);
    const KExp *groups = sx_op(cx, SX_DIV, elems, sx_size(cx, SIZE_GROUP_SIZE));
    const KExp *height = sx_op(cx, SX_MIN, sx_op(cx, SX_DIV, groups, plenty), most);
    height = sx_op(cx, SX_MAX, one, sx_mul(cx, height, sx_size(cx, SIZE_COALESCES)));
    Strips s = {.height = pb_let(kg->pb, "height", height)};
    const NestDim *down = &nest->at[depth - 2], *along = &nest->at[depth - 1];
    s.rows = pb_let(kg->pb, "rows", sx_op(cx, SX_CEILDIV, sx_atom(cx, down->width), s.height));
    const KExp *plane = sx_mul(cx, s.rows, sx_atom(cx, along->width));
    s.n = pb_let(kg->pb, "strips", sx_mul(cx, nest_size(cx, nest, 0, depth - 2), plane));
    return s;
}

/* The loop over a work-item's neighbours in a row, or over the elements of its strip: one for both
 * kinds of targets, with the index in the last dimension and that in the one before. */
typedef struct {
    const KExp *from, *to; /* GPUs: of the strip, or one turn */
    const KExp *outer; /* the number in the dimensions before, of a work-item's only element too */
    const KExp *column;
} Spot;

static Spot spot_of_element(KGen *kg, int depth, const KExp *gid, const KExp *width)
{
    Spot p = {.from = kg_int(kg, 0), .to = kg_int(kg, 1), .column = gid};
    if (depth > 1)
        p.outer = kg_split(kg, gid, width, &p.column);
    return p;
}

/* outer is that of the dimensions before `down`. */
static Spot spot_of_strip(KGen *kg, const Nest *nest, int depth, const Strips *s, const KExp *gid)
{
    Spot p;
    const KExp *q = kg_split(kg, gid, kg_atom(kg, nest->at[depth - 1].width), &p.column),
               *strip = q;
    p.outer = depth > 2 ? kg_split(kg, q, kg_host(kg, s->rows), &strip) : NULL;
    const KExp *height = kg_host(kg, s->height);
    p.from = kb_let(kg->kb, "from", kg_mul(kg, strip, height));
    p.to = kg_min(kg, kg_add(kg, p.from, height), kg_atom(kg, nest->at[depth - 2].width));
    return p;
}

/* row: on a CPU; i: the loop's. */
static void bind_spot(KGen *kg, const Nest *nest, int depth, const Spot *p, bool strips,
                      const KExp *row, const KExp *i)
{
    const KExp *column = by_target(kg, p->column, i);
    if (strips) {
        const KExp *r = row;
        if (depth > 2) {
            const KExp *q = kg_split(kg, row, kg_atom(kg, nest->at[depth - 2].width), &r);
            nest_bind_range(kg, nest, 0, depth - 2, by_target(kg, p->outer, q));
        }
        nest_bind_dim(kg, &nest->at[depth - 2], by_target(kg, i, r));
    } else if (depth > 1) {
        nest_bind_range(kg, nest, 0, depth - 1, by_target(kg, p->outer, row));
    }
    if (depth > 0)
        nest_bind_dim(kg, &nest->at[depth - 1], column);
}

static const KExp *open_dims(KGen *kg, const Nest *nest, int depth, const Strips *strips)
{
    KBuild *b = kg->kb;
    Share s = share_open(kg, strips->n);
    const KExp *zero = kg_int(kg, 0), *one = kg_int(kg, 1), *first = zero, *rows = one,
               *width = s.total;
    if (depth > 1) {
        width = kg_atom(kg, nest->at[depth - 1].width);
        const KExp *some = kg_max(kg, width, one); /* rows may be empty */
        first = kg_quot(kg, s.beg, some);
        rows = kg_quot(kg, kg_sub(kg, kg_add(kg, s.end, some), one), some);
    }
    const KExp *gid = elements_open(kg, &s, first, rows);
    const KExp *before = kb_let(b, "before", kg_mul(kg, gid, width));
    const KExp *from = kg_max(kg, kg_sub(kg, s.beg, before), zero);
    const KExp *to = kg_min(kg, kg_sub(kg, s.end, before), width);
    Spot p = strips->height ? spot_of_strip(kg, nest, depth, strips, gid)
                            : spot_of_element(kg, depth, gid, width);
    const KExp *i = kb_for(b, "i", by_target(kg, p.from, from), by_target(kg, p.to, to), one);
    if (strips->height)
        kg_loop_unroll(kg, ELEMS_A_THREAD);
    bind_spot(kg, nest, depth, &p, strips->height != NULL, gid, i);
    return strips->n;
}

const KExp *nest_open_dims(KGen *kg, const Nest *nest, int depth)
{
    return open_dims(kg, nest, depth, &(Strips){.n = nest_size(kg->cx, nest, 0, depth)});
}

const KExp *nest_open_strips(KGen *kg, const Nest *nest, int depth)
{
    if (depth < 2)
        return nest_open_dims(kg, nest, depth);
    Strips s = strips_of(kg, nest, depth);
    return open_dims(kg, nest, depth, &s);
}

void nest_close_dims(KGen *kg)
{
    kb_end(kg->kb);
    nest_close(kg);
}

/* --- Launches --------------------------------------------------------------------------------- */

/* Where there is plenty to do a thread takes several elements one after the other, which costs less
 * than as many threads. */
static const KExp *enough_groups(KGen *kg, const KExp *n)
{
    Ctx *cx = kg->cx;
    const KExp *all = sx_op(cx, SX_CEILDIV, n, kg->group_size), *most = most_groups(cx);
    if (kg->uses_scratch || kg->uses_heap)
        return sx_op(cx, SX_MIN, all, most);
    all = sx_op(cx, SX_MIN, all, sx_op(cx, SX_MAX, most, sx_size(cx, SIZE_QUEUED_GROUPS)));
    const KExp *plenty = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_const(cx, PLENTY));
    const KExp *share = sx_op(cx, SX_CEILDIV, all, sx_const(cx, ELEMS_A_THREAD));
    return sx_op(cx, SX_MIN, all, sx_op(cx, SX_MAX, plenty, share));
}

void nest_finish(KGen *kg, const KExp *n)
{
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, enough_groups(kg, n));
}

bool op_is_comm(const Exp *seg)
{
    return seg->seg.comm || lambda_commutes(seg->seg.op, seg->seg.nes.n);
}

bool lambda_commutes(const Lambda *op, int n)
{
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

/* --- Code --- */

/* Statements; longer bodies fill the time by themselves. */
enum { SHORT_BODY = 24, STRAIGHT_BODY = 64, SIDE_BODY = 128 };

/* The number of statements of scalar code without loops; with branches only if asked for. -1: it is
 * something else. */
static int length(const Body *b, bool branches)
{
    int n = 0;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        n += exp_steps(s->exp);
        if (exp_is(s->exp, F_SCALAR) || s->exp->kind == E_INDEX)
            continue;
        if (s->exp->kind != E_IF || !branches || !types_scalar(&s->pat, 0, s->pat.n))
            return -1;
        int x = length(s->exp->branch.then_, true), y = length(s->exp->branch.else_, true);
        if (x < 0 || y < 0)
            return -1;
        n += x + y;
    }
    return n;
}

bool seg_is_short(const Body *b, bool branches)
{
    int n = length(b, branches);
    return n >= 0 && n <= SHORT_BODY;
}

bool seg_is_straight(const Body *b)
{
    int n = length(b, true);
    return n >= 0 && n <= STRAIGHT_BODY;
}

bool seg_is_side(const Body *b)
{
    int n = length(b, true);
    return n >= 0 && n <= SIDE_BODY;
}
