/* How long a group of so many work-items takes (group_time.h).
 *
 * A group runs its constructs one after the other: in each one its work-items go over the elements,
 * so many at a time as the group has work-items, then they meet at barriers. Reductions and scans
 * combine their sums in as many steps as the group's size can be halved, with a barrier each. So
 * large groups spare turns where constructs are wide, and pay more for each barrier.
 *
 * Groups that a compute unit holds at the same time hide each other's waiting. With few of them the
 * time is that of a group (wait); with many it is what all their warps keep the unit busy for. */
#include "cost/group_time.h"

#include "common/policy.h"

/* Cycles, of GPUs of the last years, where neighbouring elements overlap; see common/policy.h for
 * what is a usual device. */
enum {
    STEP_WAIT = 2,
    STEP_BUSY = 1,
    LONG_WAIT = 15, /* a division, a function */
    LONG_BUSY = 12,
    LOCAL_WAIT = 8,
    LOCAL_BUSY = 2,
    GLOBAL_WAIT = 150,  /* several loads are on their way at once ... */
    CHECKED_WAIT = 600, /* but not where an index is checked first */
    GLOBAL_BUSY = 4,
    BARRIER_WAIT = 30,
    BARRIER_WARP_WAIT = 2, /* and for each warp of the group */
    BARRIER_BUSY = 4
};

/* A compute unit. */
enum {
    UNIT_ITEMS = 1024, /* work-items, of kernels with some 64 registers */
    UNIT_GROUPS = 32,
    UNIT_LOCALS = 4, /* its local memory is so many times that which a group may have */
    UNIT_WARPS = 2   /* work on instructions at the same time */
};

/* --- Times ------------------------------------------------------------------------------------ */

static GroupTime constant(Ctx *cx, int wait, int busy)
{
    return (GroupTime){sx_const(cx, wait), sx_const(cx, busy)};
}

GroupTime group_time_zero(Ctx *cx)
{
    return constant(cx, 0, 0);
}

GroupTime group_time_step(Ctx *cx)
{
    return constant(cx, STEP_WAIT, STEP_BUSY);
}

GroupTime group_time_prim(Ctx *cx, const Exp *e)
{
    bool by_const = e->prim.args.n == 2 && !e->prim.args.at[1].var && prim_is_int(e->prim.type);
    bool is_long = prim_info[e->prim.op].cost > PRIM_COST_ONE && !by_const;
    return is_long ? constant(cx, LONG_WAIT, LONG_BUSY) : group_time_step(cx);
}

GroupTime group_time_read(Ctx *cx, bool local)
{
    return local ? constant(cx, LOCAL_WAIT, LOCAL_BUSY) : constant(cx, GLOBAL_WAIT, GLOBAL_BUSY);
}

GroupTime group_time_checked(Ctx *cx, bool local)
{
    return local ? constant(cx, LOCAL_WAIT, LOCAL_BUSY) : constant(cx, CHECKED_WAIT, GLOBAL_BUSY);
}

GroupTime group_time_add(Ctx *cx, GroupTime a, GroupTime b)
{
    return (GroupTime){sx_add(cx, a.wait, b.wait), sx_add(cx, a.busy, b.busy)};
}

GroupTime group_time_times(Ctx *cx, const KExp *n, GroupTime a)
{
    return (GroupTime){sx_mul(cx, n, a.wait), sx_mul(cx, n, a.busy)};
}

/* --- A group ---------------------------------------------------------------------------------- */

/* What is read and written at the same places of other constructs is no matter: sums are enough. */
void group_work_add(Ctx *cx, GroupWork *w, GroupNest n)
{
    for (int i = 0; i < w->nests.n; i++) {
        GroupNest *m = &w->nests.at[i];
        if (!kx_same(m->width, n.width) || !kx_same(m->turns, n.turns))
            continue;
        m->elem = group_time_add(cx, m->elem, n.elem);
        m->step = group_time_add(cx, m->step, n.step);
        m->meets += n.meets;
        m->steps += n.steps;
        return;
    }
    vec_push(cx->perm, &w->nests, n);
}

int group_size_number(int k)
{
    return (RT_USUAL_WARP >> GROUP_WARP) << k;
}

/* n barriers of a group: each warp is kept busy by them. Work-items that are less than a warp share
 * theirs. Times in which a unit is busy are counted in this part of a cycle: */
enum { PART = 1 << GROUP_WARP };
static GroupTime barriers(Ctx *cx, int n, int k)
{
    int warps = k > GROUP_WARP ? 1 << (k - GROUP_WARP) : 1;
    return constant(cx, n * (BARRIER_WAIT + BARRIER_WARP_WAIT * warps), n * BARRIER_BUSY << k);
}

/* A turn of each of the constructs. Every warp takes part in the steps over the work-items. */
static GroupTime turn_time(Ctx *cx, const GroupNest *n, int k)
{
    int doublings = 0, least = k < GROUP_WARP ? k : GROUP_WARP;
    for (int d = group_size_number(k); d > 1; d /= 2)
        doublings++;
    const KExp *size = sx_const(cx, group_size_number(k));
    const KExp *part = sx_const(cx, group_size_number(least));
    const KExp *turns = sx_mul(cx, sx_const(cx, 1 << least), sx_op(cx, SX_CEILDIV, n->width, part));
    GroupTime t = {sx_mul(cx, sx_op(cx, SX_CEILDIV, n->width, size), n->elem.wait),
                   sx_mul(cx, turns, n->elem.busy)};
    GroupTime step = {n->step.wait, sx_mul(cx, sx_const(cx, 1 << k), n->step.busy)};
    t = group_time_add(cx, t, group_time_times(cx, sx_const(cx, doublings), step));
    return group_time_add(cx, t, barriers(cx, n->meets + n->steps * doublings, k));
}

/* --- All groups ------------------------------------------------------------------------------- */

/* How many groups a compute unit holds at once, at least one; where they are several in one,
 * elements. */
static const KExp *resident(Ctx *cx, const GroupWork *w, int k)
{
    const KExp *one = sx_const(cx, 1), *size = sx_const(cx, group_size_number(k));
    const KExp *bytes = sx_op(cx, SX_MAX, one, sx_with(cx, w->local, w->size, size));
    const KExp *room = sx_mul(cx, sx_size(cx, SIZE_LOCAL_MEMORY), sx_const(cx, UNIT_LOCALS));
    int by_items = UNIT_ITEMS / group_size_number(k);
    bool many = w->several || by_items < UNIT_GROUPS;
    const KExp *most = sx_const(cx, many ? by_items : UNIT_GROUPS);
    return sx_op(cx, SX_MAX, one, sx_op(cx, SX_MIN, most, sx_op(cx, SX_DIV, room, bytes)));
}

/* Groups that are there at the same time wait at the same time. */
const KExp *group_all_time(Ctx *cx, const GroupWork *w, int k)
{
    GroupTime t = group_time_zero(cx);
    for (int i = 0; i < w->nests.n; i++)
        t = group_time_add(
            cx, t, group_time_times(cx, w->nests.at[i].turns, turn_time(cx, &w->nests.at[i], k)));
    const KExp *there = sx_op(cx, SX_MIN, w->groups, resident(cx, w, k));
    const KExp *alone = sx_op(cx, SX_DIV, sx_mul(cx, w->groups, t.wait), there);
    const KExp *busy =
        sx_op(cx, SX_DIV, sx_mul(cx, w->groups, t.busy), sx_const(cx, PART * UNIT_WARPS));
    return sx_add(cx, alone, busy);
}

const KExp *group_best_size(Ctx *cx, const KExp *const *times, int first)
{
    const KExp *best = sx_const(cx, group_size_number(first)), *least = times[first];
    for (int k = first + 1; k < GROUP_SIZES; k++) {
        const KExp *spared = sx_sub(cx, least, sx_op(cx, SX_MIN, least, times[k]));
        best = sx_select(cx, spared, sx_const(cx, group_size_number(k)), best);
        least = sx_op(cx, SX_MIN, least, times[k]);
    }
    return best;
}
