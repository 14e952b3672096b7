/* segmap^1 around level-0 constructs: each work-group runs outer iterations one after the other.
 * Arrays made in the body lie in local memory, scalars are computed by all threads alike, level-0
 * constructs deal their elements out to the threads, in loops where there are more elements than
 * threads. Every barrier stands in control flow that is the same for the whole group. */
#include "common/policy.h"
#include "cost/group_time.h"
#include "kernels/level1/segments.h"

/* --- The kernel ---------------------------------------------------------------------------- */

/* How many work-items a group gets: what it does, constructs and how long they take, is found by a
 * walk over the body with a builder whose kernel is never made. */
typedef struct {
    KGen *kg;
    GroupWork work;
    const KExp *turns; /* how often the code at hand is run */
    const KExp *max;   /* the largest number of elements of a construct */
    bool scans;        /* is one of them a scan? */
    int reductions;    /* how many are reductions, */
    bool rows;         /* ... and does each construct go along one dimension, once? */
} Walk;

/* What a loop is taken for of whose turns the host knows nothing. */
enum { SOME_TURNS = 8 };

static GroupTime body_time(Walk *w, const Body *b);
static void walk_body(void *env, Body *b);

/* What is bound inside is not the host's. */
static void inside_binder(void *env, Var *v)
{
    kg_bind(*(KGen **)env, v);
}

static void bind_parts(KGen *kg, const Exp *e)
{
    exp_visit(e, &(ExpVisitor){.env = &kg, .binder = inside_binder});
}

/* The definitions of scalars tell their bounds. */
static void know(Walk *w, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        kg_bind(w->kg, s->pat.at[j]);
    if (s->pat.n == 1 &&
        (s->exp->kind == E_PRIM || s->exp->kind == E_CONV || s->exp->kind == E_ATOM) &&
        s->pat.at[0]->type.rank == 0)
        ranges_bind(w->kg->known, &s->pat, s->exp);
}

static const KExp *turns_of(Walk *w, const Exp *e)
{
    const KExp *n = NULL;
    if (e->kind == E_LOOP && e->loop.kind == LOOP_FOR && atom_type(e->loop.bound).elem == T_I64)
        n = kg_bound(w->kg, e->loop.bound);
    else if (exp_member(e) == M_soac)
        n = kg_bound(w->kg, e->soac.width);
    return n ? n : sx_const(w->kg->cx, SOME_TURNS);
}

static bool is_local(const Walk *w, Atom arr)
{
    const ArrLoc *l = varmap_get(w->kg->pb->locs, arr.var);
    return !l || l->mem->local;
}

static GroupTime index_time(const Walk *w, const Exp *e)
{
    bool local = is_local(w, e->index.arr);
    return e->index.safe ? group_time_read(w->kg->cx, local) : group_time_checked(w->kg->cx, local);
}

typedef struct {
    Walk *w;
    GroupTime t;
} Inside;

static void inside_body(void *env, Body *b)
{
    Inside *in = env;
    in->t = group_time_add(in->w->kg->cx, in->t, body_time(in->w, b));
}

static void inside_lambda(void *env, Lambda *l)
{
    inside_body(env, l->body);
}

static GroupTime exp_time(Walk *w, const Exp *e)
{
    Ctx *cx = w->kg->cx;
    if (e->kind == E_INDEX)
        return index_time(w, e);
    if (e->kind == E_PRIM)
        return group_time_prim(cx, e);
    if (!exp_is(e, F_CODE))
        return group_time_times(cx, sx_const(cx, exp_steps(e)), group_time_step(cx));
    Inside in = {w, group_time_step(cx)};
    bind_parts(w->kg, e);
    exp_visit(e, &(ExpVisitor){.env = &in, .body = inside_body, .lambda = inside_lambda});
    return e->kind == E_IF ? in.t : group_time_times(cx, turns_of(w, e), in.t);
}

/* Of code of one work-item. */
static GroupTime body_time(Walk *w, const Body *b)
{
    GroupTime t = group_time_zero(w->kg->cx);
    for (int i = 0; i < b->stms.n; i++) {
        t = group_time_add(w->kg->cx, t, exp_time(w, b->stms.at[i].exp));
        know(w, &b->stms.at[i]);
    }
    return t;
}

/* Sums cost an application of the operator for each element, scans two, and both cost one for each
 * step over the work-items. */
static void walk_seg(Walk *w, const Exp *e)
{
    Ctx *cx = w->kg->cx;
    GroupNest n = {.width = sx_const(cx, 1), .turns = w->turns, .meets = 1};
    n.elem = group_time_step(cx);
    n.step = group_time_zero(cx);
    bind_parts(w->kg, e);
    for (int k = 0; k < e->seg.nest.n; k++) {
        const NestDim *d = &e->seg.nest.at[k];
        const KExp *bound = kg_bound(w->kg, d->width);
        n.width = bound && n.width ? sx_mul(cx, n.width, bound) : NULL;
        for (int j = 0; j < d->xs.n; j++)
            if (d->xs.at[j]->type.rank == 0)
                n.elem =
                    group_time_add(cx, n.elem, group_time_read(cx, is_local(w, d->arrs.at[j])));
    }
    if (!n.width) {
        w->rows = false;
        return;
    }
    n.elem = group_time_add(cx, n.elem, body_time(w, e->seg.body));
    if (e->kind == E_SEGRED || e->kind == E_SEGSCAN) {
        GroupTime op = body_time(w, e->seg.op->body);
        const KExp *passes = sx_const(cx, e->kind == E_SEGSCAN ? 2 : 1);
        n.elem = group_time_add(cx, n.elem, group_time_times(cx, passes, op));
        n.step = group_time_add(cx, op, group_time_read(cx, true));
        n.steps = 1;
        n.meets++;
    }
    w->scans |= e->kind == E_SEGSCAN;
    w->reductions += e->kind == E_SEGRED;
    w->rows &= e->seg.nest.n == 1;
    w->max = sx_op(cx, SX_MAX, w->max, n.width);
    group_work_add(cx, &w->work, n);
}

static void walk_lambda(void *env, Lambda *l)
{
    walk_body(env, l->body);
}

static void walk_exp(Walk *w, const Exp *e)
{
    const KExp *around = w->turns;
    if (exp_is_seg(e)) {
        walk_seg(w, e);
        return;
    }
    bind_parts(w->kg, e);
    if (exp_is(e, F_CODE) && e->kind != E_IF) {
        w->turns = sx_mul(w->kg->cx, around, turns_of(w, e));
        w->rows &= !exp_has_seg(e);
    }
    exp_visit(e, &(ExpVisitor){.env = w, .body = walk_body, .lambda = walk_lambda});
    w->turns = around;
}

static void walk_body(void *env, Body *b)
{
    Walk *w = env;
    for (int i = 0; i < b->stms.n; i++) {
        walk_exp(w, b->stms.at[i].exp);
        know(w, &b->stms.at[i]);
    }
}

static Walk walk_group(PlanBuild *pb, const Exp *e)
{
    Ctx *cx = pb->cx;
    const KExp *once = sx_const(cx, 1);
    Walk w = {.kg = kg_new(pb, "probe", e), .turns = once, .max = once, .rows = true};
    const KExp *one = sx_const(cx, 1), *groups = nest_size(cx, &e->seg.nest, 0, e->seg.nest.n);
    const KExp *units = sx_op(cx, SX_MAX, one, sx_size(cx, SIZE_COMPUTE_UNITS));
    const KExp *share = sx_op(cx, SX_MAX, one, sx_op(cx, SX_CEILDIV, groups, units));
    w.work.groups = pb_let(pb, "share", share);
    bind_parts(w.kg, e);
    walk_body(&w, e->seg.body);
    return w;
}

/* Where reductions of one row follow each other, several rows are a group's, and less than a warp
 * each, if they have at most so many elements; longer ones have lanes. */
enum { SHORT_ROW = 128, ROWS_TEAM = 4 * RT_USUAL_WARP };

static bool reduces_rows(const Walk *w)
{
    return !w->scans && w->reductions > 1 && w->rows;
}

static const KExp *if_short(Ctx *cx, const Walk *w, const KExp *x, const KExp *y)
{
    return sx_select(cx, sx_op(cx, SX_DIV, sx_const(cx, SHORT_ROW), w->max), x, y);
}

/* The size that takes the least time, but not more than the widest construct has elements, in full
 * warps; few: less than a warp may be best. */
static const KExp *group_threads(PlanBuild *pb, const Walk *w, bool few)
{
    Ctx *cx = pb->cx;
    const KExp *times[GROUP_SIZES];
    int first = few ? 0 : GROUP_WARP;
    for (int k = first; k < GROUP_SIZES; k++)
        times[k] = pb_let(pb, arena_printf(cx->perm, "time_%d", group_size_number(k)),
                          group_all_time(cx, &w->work, k));
    const KExp *warp = sx_const(cx, RT_USUAL_WARP);
    const KExp *full = sx_mul(cx, sx_op(cx, SX_CEILDIV, w->max, warp), warp);
    const KExp *best = group_best_size(cx, times, first);
    if (few && reduces_rows(w))
        best = if_short(cx, w, pb_let(pb, "best", best),
                        pb_let(pb, "best", group_best_size(cx, times, GROUP_WARP)));
    const KExp *size = sx_op(cx, SX_MIN, best, full);
    /* On a CPU it is one: the work-items of a group run one after the other there, and PoCL 3.1
     * miscompiles loops around barriers that hold a conditional in an inner loop. */
    return sx_op(cx, SX_MAX, sx_const(cx, 1), sx_op(cx, SX_MIN, size, sx_team_size(cx)));
}

static KLoc result_row(KGen *kg, const ArrLoc *out, const Exp *e, const Var *v)
{
    int depth = e->seg.nest.n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, &e->seg.nest, depth, ix);
    KLoc l = kg_result(kg, out, v->type);
    return loc_row_n(kg, &l, v->type.rank, ix, depth);
}

/* Is result j of b written by one work-item each, element by element: copied, or by a construct
 * that makes it there? */
static bool written_once(const Body *b, int j)
{
    const Var *v = b->res.at[j].var;
    for (int i = 0; v && v->type.rank > 0 && i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool makes =
            s->exp->kind == E_SEGMAP || s->exp->kind == E_SEGRED || s->exp->kind == E_SEGSCAN;
        for (int k = 0; k < s->pat.n; k++)
            if (s->pat.at[k] == v)
                return makes;
    }
    return true;
}

/* Rows of results in one block may be written in several ways. */
static void note_own_writes(const Body *b, const KLoc *rows, int n)
{
    for (int j = 0; j < n; j++) {
        bool own = true;
        for (int k = 0; k < n; k++)
            own &= rows[k].mem != rows[j].mem || written_once(b, k);
        rows[j].mem->own_writes = own;
    }
}

/* The loop of a work-group over its elements, and one element. */
static void group_body(KGen *kg, const Exp *e, const Vars *pat, const ArrLoc *outs,
                       const KExp *total)
{
    const Nest *nest = &e->seg.nest;
    const Body *b = e->seg.body;
    int n = pat->n;
    const KExp *all = nest_total(kg, total);
    const KExp *g = kb_for(kg->kb, "g", kg_id(kg, KID_GROUP), all, kg_id(kg, KID_GROUPS));
    nest_bind(kg, nest, nest->n, g);
    KLoc *rows = NEWN(kg->cx->perm, KLoc, n);
    for (int j = 0; j < n; j++)
        rows[j] = result_row(kg, &outs[j], e, pat->at[j]);
    note_own_writes(b, rows, n);
    kg->coop = true;
    kg_stms(kg, b);
    for (int j = 0; j < n; j++)
        kg_store(kg, &rows[j], atom_type(b->res.at[j]), b->res.at[j]);
    kg_touch(kg);
    kg_sync(kg); /* the next iteration uses the same local memory */
    kg->coop = false;
    kb_end(kg->kb);
}

/* How many elements a group of a kernel that may have several at a time gets, of `local` bytes
 * each: so many that memory is read in whole sectors, or not beside each other that there are
 * `at_most` work-items (0: a whole team), if there is room for them, and each compute unit has a
 * group. */
static const KExp *group_columns(Ctx *cx, const KExp *threads, const KExp *local, const KExp *total,
                                 int at_most)
{
    enum { SECTOR = 8 }; /* of 4 bytes */
    const KExp *one = sx_const(cx, 1), *columns = one, *team = sx_team_size(cx);
    if (at_most)
        team = sx_op(cx, SX_MIN, team, sx_const(cx, at_most));
    const KExp *most = sx_op(cx, SX_DIV, team, threads);
    const KExp *room =
        sx_op(cx, SX_DIV, sx_size(cx, SIZE_LOCAL_MEMORY), sx_op(cx, SX_MAX, one, local));
    const KExp *units = sx_op(cx, SX_MAX, one, sx_size(cx, SIZE_COMPUTE_UNITS));
    most = sx_op(cx, SX_MIN, sx_op(cx, SX_MIN, most, room), sx_op(cx, SX_DIV, total, units));
    for (int n = 2; n <= SECTOR; n *= 2)
        columns = sx_select(cx, sx_op(cx, SX_DIV, most, sx_const(cx, n)), sx_const(cx, n), columns);
    return columns;
}

void make_group(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    Ctx *cx = pb->cx;
    Walk w = walk_group(pb, e);
    HostOps ops = {0};
    PlanBuild piece = pb_piece(pb, &ops);
    KGen *kg = kg_new(&piece, "segmap_intra", e);
    const KExp *total = nest_size(cx, &e->seg.nest, 0, e->seg.nest.n);
    Var *size = var_new(cx, "size", type_prim(T_I64), (Loc){0});
    kg->group_size = sx_var(cx, size);
    kg->sized = true;
    kg->max_threads = nest_max_threads(kg, total, sx_const(cx, 1));
    group_body(kg, e, &s->pat, outs, total);
    Var *columns = var_new(cx, "columns", type_prim(T_I64), (Loc){0});
    kg->columns = sx_var(cx, columns);
    kg->pads = true;
    kg->few = w.scans || reduces_rows(&w);
    Kernel *k = kg_finish(kg);
    kg_launch(kg, k, nest_groups(kg, total, kg->columns ? kg->columns : sx_const(cx, 1)));
    /* How many groups the device holds at once depends on the local memory that they turned out to
     * need. */
    w.work.local = kg_local_bytes(kg);
    w.work.size = size;
    w.work.several = kg->columns != NULL;
    bool beside = k->fun->columns == KC_LATER, rows = !beside && reduces_rows(&w);
    const KExp *threads = group_threads(pb, &w, kg->columns && (w.scans || rows));
    pb_op(pb, (HostOp){.kind = H_EXP, .var = size, .exp = threads});
    if (kg->columns) {
        const KExp *several = group_columns(cx, kg->group_size, w.work.local, total,
                                            beside ? 0
                                            : rows ? ROWS_TEAM
                                                   : RT_USUAL_WARP);
        if (rows)
            several = if_short(cx, &w, pb_let(pb, "several", several), sx_const(cx, 1));
        pb_op(pb, (HostOp){.kind = H_EXP, .var = columns, .exp = several});
    }
    pb_splice(pb, &piece);
}
