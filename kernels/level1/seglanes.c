/* Reductions, one for each element of a nest, where the elements alone do not keep the device busy:
 * neighbouring work-items, the lanes, share out what an element's reduction goes over.
 *
 *     segmap^1 .. <x in xs> {
 *         loop acc for k < n { ys := ..; part := redomap op (f x) ys; in op acc part } }
 *
 * The reduction may stand in a loop that combines what it gives by the same operator (over the
 * boxes around a particle's, over blocks of keys): a lane goes through all turns with a sum of its
 * own, which what the operator is said to be allows, and the lanes' sums are combined once, behind
 * the loop. So turns need no barriers, and what they look up (by index, with checks) each lane
 * does.
 *
 * Where turns and arrays are the same for neighbours in the innermost dimension, lanes have several
 * elements (sumseach.c), as far apart as there are units to a row: a unit is the elements that the
 * same lanes work on. Without a loop it has to be so: other reductions of rows read each element of
 * the arrays once anyway.
 *
 * 50 000 particles in 1000 boxes, each with those of 22 boxes (LavaMD), take 104 us on an H200 with
 * eight lanes for four of them, 135 with four lanes for one, 175 with one; from tiles that a group
 * stages in local memory 88 instead of 104. 1350 particles take 18 us with 32 lanes for each, 32
 * with 32 for four, 131 with one; the whole program 40 us, 46 where each turn is a loop of its own.
 * Here, where arithmetic stays as it is written, it takes 7 us more to have the lane's elements of
 * a reduction in straight code by two. */
#include "kernels/level1/sums.h"

enum {
    GROUP = 64, /* work-items of a group */
    MOST_LANES = 32,
    SEVERAL = 4,  /* elements of the nest, for a lane */
    ITEMS = 1024, /* wanted for a compute unit */
    ROOM = 64,    /* lanes that there is room for where lanes had better have one element */
    FEW_STEPS = 6 /* of a lane in a turn: so few that a last one for half of the lanes counts */
};

typedef struct {
    Sums r;          /* r.red: the loop, if there is one */
    const Exp *loop; /* NULL: there is none */
    Body before;     /* in a turn, before the reduction */
    Body around;     /* before r.red, what is the same for a row's elements */
    Each each;
    Chunk lanes;
    const KExp *n_lanes; /* host */
} Lanes;

/* --- Which constructs ------------------------------------------------------------------------ */

/* Statements from .. to-1 as a body without results. */
static Body part_of(Ctx *cx, const Body *b, int from, int to)
{
    Body part = {0};
    for (int i = from; i < to; i++)
        vec_push(cx->perm, &part.stms, b->stms.at[i]);
    return part;
}

/* What the nest, its body and a turn bind. */
static VarSet *bound_inside(Ctx *cx, const Lanes *l)
{
    VarSet *inside = varmap_new(cx->perm);
    sums_inside(&l->r, 0, inside);
    for (int i = 0; i < l->before.stms.n; i++)
        sums_add_vars(inside, &l->before.stms.at[i].pat);
    if (l->loop)
        varset_add(inside, l->loop->loop.i);
    return inside;
}

/* Do neutral elements and operator, applied by lanes together, know nothing of an element? */
static bool combines_anywhere(Ctx *cx, const Lanes *l)
{
    VarSet *used = varmap_new(cx->perm);
    free_in_lambda(used, l->r.op);
    for (int j = 0; j < l->r.nes->n; j++)
        if (l->r.nes->at[j].var)
            varset_add(used, l->r.nes->at[j].var);
    return !sums_uses(cx, used, bound_inside(cx, l));
}

/* Are all reductions as long, so that the host knows? */
static bool width_is_known(Ctx *cx, const Lanes *l)
{
    return !l->r.width.var || !varset_has(bound_inside(cx, l), l->r.width.var);
}

/* A segmap whose body reduces in a loop. */
static bool of_loop(Ctx *cx, const Stm *s, Lanes *l)
{
    const Exp *e = s->exp;
    Summing sum;
    if (e->kind != E_SEGMAP || !body_sums(cx, e->seg.body, &sum) || !sum.loop)
        return false;
    l->loop = sum.loop;
    l->before = part_of(cx, sum.loop->loop.body, 0, sum.in_loop);
    l->r = (Sums){.stm = s, .e = e, .depth = e->seg.nest.n, .red = &e->seg.body->stms.at[sum.at]};
    sums_take(cx, &l->r, sum.red->exp);
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank != l->r.depth)
            return false;
    return true;
}

/* --- What neighbours share ------------------------------------------------------------------- */

/* Sets r.own, and around. */
static void find_own(Ctx *cx, Lanes *l)
{
    const Body *b = l->r.e->seg.body;
    const NestDim *d = sums_inner(&l->r);
    VarSet *own = varmap_new(cx->perm);
    varset_add(own, d->idx);
    sums_add_vars(own, &d->xs);
    for (int i = 0; l->r.red && &b->stms.at[i] != l->r.red; i++) {
        if (exp_uses_any(b->stms.at[i].exp, own))
            sums_add_vars(own, &b->stms.at[i].pat);
        else
            vec_push(cx->perm, &l->around.stms, b->stms.at[i]);
    }
    l->r.own = own;
}

/* Are the loop, and what its turns do before the reduction, the same for a row's elements? */
static bool shares_turns(const Lanes *l)
{
    const Exp *loop = l->loop;
    if (!loop)
        return true;
    for (int i = 0; i < l->before.stms.n; i++)
        if (exp_uses_any(l->before.stms.at[i].exp, l->r.own))
            return false;
    for (int j = 0; j < loop->loop.inits.n; j++)
        if (loop->loop.inits.at[j].var && varset_has(l->r.own, loop->loop.inits.at[j].var))
            return false;
    return !loop->loop.bound.var || !varset_has(l->r.own, loop->loop.bound.var);
}

/* Can lanes have several elements? Finds what they know of them. */
static bool finds_several(Ctx *cx, Lanes *l)
{
    return shares_turns(l) && seg_is_short(l->r.f, true) &&
           each_find(cx, &l->r, l->r.own, &l->each.mine);
}

/* --- The kernel ------------------------------------------------------------------------------ */

/* Units to a row; in all. */
static const KExp *units_along(Ctx *cx, const Lanes *l)
{
    return sx_op(cx, SX_CEILDIV, sx_atom(cx, sums_inner(&l->r)->width), sx_const(cx, l->each.n));
}

static const KExp *units_in_all(Ctx *cx, const Lanes *l)
{
    return sx_mul(cx, nest_size(cx, &l->r.e->seg.nest, 0, l->r.depth - 1), units_along(cx, l));
}

/* The elements of the lane, of an element's reduction: in order, or those that lie beside each
 * other for all lanes at a time. */
static void accumulate(KGen *kg, const Lanes *l)
{
    KBuild *b = kg->kb;
    const KExp *from = l->lanes.p, *to = kg_atom(kg, l->r.width), *step = l->lanes.threads;
    if (!l->r.comm) {
        const KExp *one = kg_int(kg, 1), *more = kg_sub(kg, kg_add(kg, to, step), one);
        const KExp *run = kb_let(b, "run", kg_quot(kg, more, step));
        from = kb_let(b, "from", kg_mul(kg, l->lanes.p, run));
        to = kb_let(b, "to", kg_min(kg, to, kg_add(kg, from, run)));
        step = one;
    }
    const KExp *k = kb_for(b, "k", from, to, step);
    each_bind(&l->each, k, true);
    each_accumulate(&l->each);
    kb_end(b);
}

/* The first lane's sums begin with the loop's values. */
static void begin_turns(KGen *kg, const Lanes *l)
{
    const KExp *first = kg_eq(kg, l->lanes.p, kg_int(kg, 0));
    for (int j = 0; j < l->r.nes->n; j++) {
        Atom init = l->loop->loop.inits.at[j], ne = l->r.nes->at[j];
        if (atom_eq(init, ne))
            continue;
        const KExp *x = kb_let(kg->kb, "begin",
                               kx_select(kg->cx->perm, first, kg_atom(kg, init), kg_atom(kg, ne)));
        const KExp *i = each_open(&l->each);
        kb_store(kg->kb, l->each.acc[j], i, x);
        kb_end(kg->kb);
    }
}

static void turns(KGen *kg, const Lanes *l)
{
    Arena *a = kg->cx->perm;
    const Exp *e = l->loop;
    Const one = {.type = e->loop.i->type.elem, .i = 1}, zero = {.type = one.type};
    begin_turns(kg, l);
    int mark = ranges_mark(kg->known);
    ranges_loop(kg->known, e);
    kb_for_var(kg->kb, kg_bind(kg, e->loop.i), kx_const(a, zero), kg_atom(kg, e->loop.bound),
               kx_const(a, one));
    kg_stms(kg, &l->before);
    accumulate(kg, l);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* Are the turns' reductions all as long, in any order, and is little done before each? */
static bool turns_are_alike(Ctx *cx, const Lanes *l)
{
    return l->r.comm && width_is_known(cx, l) && seg_is_short(&l->before, true);
}

/* Lanes go through the elements of all turns as if these were one: where a turn has hardly more
 * elements than there are lanes, half of them would have nothing to do in its last step. What comes
 * before a reduction each lane does for each of its elements. There are no more lanes than elements
 * of a turn, so that one step is within a turn or to the next. */
static void turns_as_one(KGen *kg, const Lanes *l)
{
    Arena *a = kg->cx->perm;
    KBuild *b = kg->kb;
    const Exp *e = l->loop;
    Const one = {.type = e->loop.i->type.elem, .i = 1}, zero = {.type = one.type};
    const KExp *width = kg_atom(kg, l->r.width);
    begin_turns(kg, l);
    int mark = ranges_mark(kg->known);
    kg_var(kg, e->loop.i, kx_const(a, zero));
    KVar *at = kb_var(b, "at", T_I64, l->lanes.p);
    const KExp *turn = kg_atom(kg, atom_var((Var *)e->loop.i));
    kb_while(b, kx_lt(a, turn, kg_atom(kg, e->loop.bound)));
    ranges_loop(kg->known, e);
    kg_stms(kg, &l->before);
    const KExp *k = kb_let(b, "k", kg_of(kg, at));
    each_bind(&l->each, k, true);
    each_accumulate(&l->each);
    kb_set(b, at, kg_add(kg, k, l->lanes.threads));
    kb_if(b, kg_le(kg, width, kg_of(kg, at)));
    kb_set(b, at, kg_sub(kg, kg_of(kg, at), width));
    kg_set(kg, e->loop.i, kx_prim2(a, OP_ADD, turn, kx_const(a, one)));
    kb_end(b);
    kb_end(b);
    ranges_reset(kg->known, mark);
}

/* Several elements of a lane read what a step needs once for all; and where turns are long, little
 * is lost in each. */
static void all_turns(KGen *kg, const Lanes *l)
{
    if (l->each.n > 1 || !turns_are_alike(kg->cx, l)) {
        turns(kg, l);
        return;
    }
    const KExp *some = kg_mul(kg, l->lanes.threads, kg_int(kg, FEW_STEPS));
    kb_if(kg->kb, kg_lt(kg, kg_atom(kg, l->r.width), some));
    turns_as_one(kg, l);
    kb_else(kg->kb);
    turns(kg, l);
    kb_end(kg->kb);
}

/* What f knows of the unit's elements: in registers, or of the only one all that there is. */
static void load_elements(KGen *kg, Lanes *l)
{
    if (l->each.n > 1) {
        each_load(&l->each);
        return;
    }
    nest_bind_dim(kg, sums_inner(&l->r), l->each.first);
    sums_before(kg, &l->r);
}

/* The lane's part of its unit: a piece of work. */
static void work(KGen *kg, Lanes *l, const KExp *row)
{
    int mark = ranges_mark(kg->known);
    kb_if(kg->kb, l->lanes.active);
    WorkMark m = kg_work_begin(kg);
    nest_bind_range(kg, &l->r.e->seg.nest, 0, l->r.depth - 1, row);
    kg_stms(kg, &l->around);
    load_elements(kg, l);
    if (l->loop)
        all_turns(kg, l);
    else
        accumulate(kg, l);
    kg_work_end(kg, m);
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

/* The sums of the lanes for the unit's element i, combined and stored. */
static void finish(KGen *kg, const Lanes *l, const Accs *ac, const KExp *row, int i,
                   const KLoc *outs)
{
    KBuild *b = kg->kb;
    const Each *t = &l->each;
    const NestDim *d = sums_inner(&l->r);
    const KExp *number = kg_int(kg, i);
    for (int j = 0; j < ac->n; j++)
        kb_set(b, ac->acc[j], kb_load(b, "x", t->acc[j], number));
    accs_tree(kg, ac, &l->lanes);
    int mark = ranges_mark(kg->known);
    const KExp *at = kb_let(b, "at", each_element(t, number));
    const KExp *there = kg_lt(kg, at, kg_atom(kg, d->width));
    const KExp *first = kg_eq(kg, l->lanes.p, kg_int(kg, 0));
    kb_if(b, kg_and(kg, l->lanes.active, kg_and(kg, first, there)));
    WorkMark m = kg_work_begin(kg);
    nest_bind_range(kg, &l->r.e->seg.nest, 0, l->r.depth - 1, row);
    nest_bind_dim(kg, d, at);
    for (int j = 0; j < ac->n; j++)
        kb_store(b, t->acc[j], number, kg_of(kg, ac->acc[j]));
    sums_store(kg, &l->r, outs, t->acc, number);
    kg_work_end(kg, m);
    kb_end(b);
    ranges_reset(kg->known, mark);
    seg_meet(kg); /* the buffers are used again */
}

static Kernel *lanes_kernel(Lanes *l, const ArrLoc *outs)
{
    KGen *kg = l->each.kg;
    KBuild *b = kg->kb;
    Ctx *cx = kg->cx;
    kg->group_size = sx_const(cx, GROUP);
    kg->at = l->r.e->loc;
    Accs ac = accs_of(kg, l->r.op, l->r.nes->n);
    accs_local(kg, &ac, false);
    kg_if_teams(kg);
    const KExp *units = nest_total(kg, units_in_all(cx, l));
    l->lanes = (Chunk){.threads = kg_host(kg, l->n_lanes)};
    segments_share(kg, &l->lanes, kg_id(kg, KID_GROUP), kg_id(kg, KID_GROUPS), units);
    const KExp *along = l->each.step = kg_host(kg, units_along(cx, l));
    const KExp *row = kb_let(b, "row", kg_quot(kg, l->lanes.unit, along));
    l->each.first = kb_let(b, "first", kg_sub(kg, l->lanes.unit, kg_mul(kg, row, along)));
    l->each.acc = sums_accs(kg, &l->r, l->each.n);
    accs_declare(kg, &ac, l->r.nes);
    work(kg, l, row);
    const KLoc *places = seg_outs(kg, l->r.stm, 0, outs);
    for (int i = 0; i < l->each.n; i++)
        finish(kg, l, &ac, row, i, places);
    kb_end(b);
    kb_end(b);
    return kg_finish(kg);
}

/* --- Launches -------------------------------------------------------------------------------- */

/* Host: how many lanes would keep the device busy. */
static const KExp *room_for_lanes(PlanBuild *pb, const Lanes *l)
{
    Ctx *cx = pb->cx;
    const KExp *items = sx_mul(cx, sx_size(cx, SIZE_COMPUTE_UNITS), sx_const(cx, ITEMS));
    const KExp *units = sx_op(cx, SX_MAX, units_in_all(cx, l), sx_const(cx, 1));
    return pb_let(pb, "room", sx_op(cx, SX_DIV, items, units));
}

/* The largest power of two for which there is room, and for each of which there is an element. */
static const KExp *number_of_lanes(PlanBuild *pb, const Lanes *l, const KExp *room)
{
    Ctx *cx = pb->cx;
    if (width_is_known(cx, l))
        room = pb_let(pb, "most", sx_op(cx, SX_MIN, room, sx_atom(cx, l->r.width)));
    const KExp *n = sx_const(cx, 1);
    for (int k = 2; k <= MOST_LANES; k *= 2)
        n = sx_select(cx, sx_op(cx, SX_DIV, room, sx_const(cx, k)), sx_const(cx, k), n);
    return pb_let(pb, "lanes", n);
}

/* More than 0 if `team` is, and each turn surely has an element, as turns_as_one wants it. */
static const KExp *has_elements(Ctx *cx, const Lanes *l, const KExp *team)
{
    return width_is_known(cx, l) ? sx_op(cx, SX_MIN, team, sx_atom(cx, l->r.width)) : team;
}

/* More than 0 if rows have several elements, as many as a lane takes. */
static const KExp *whole_shares(Ctx *cx, const Lanes *l)
{
    return sx_op(cx, SX_DIV, sx_atom(cx, sums_inner(&l->r)->width), sx_const(cx, l->each.n));
}

/* Opens the branch, for lanes with l->each.n elements. */
static void lanes_branch(PlanBuild *pb, Lanes *l, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    KGen *kg = l->each.kg = kg_new(pb, "seglanes", l->r.e);
    const KExp *room = room_for_lanes(pb, l);
    l->n_lanes = number_of_lanes(pb, l, room);
    Kernel *k = lanes_kernel(l, outs);
    const KExp *team = sx_op(cx, SX_DIV, sx_size(cx, SIZE_TEAM_LIMIT), sx_const(cx, GROUP));
    if (l->each.n == 1)
        pb_choose(pb, "seglanes", has_elements(cx, l, team),
                  cost_percent(cx, l->n_lanes, sx_const(cx, 2)),
                  "the device has room for several work-items to an element");
    else
        pb_choose(pb, "seglanes", sx_op(cx, SX_MIN, whole_shares(cx, l), team),
                  cost_percent_most(cx, sx_const(cx, ROOM), room),
                  "not much more of the device would be idle than with one element to a work-item");
    pb_if_fits(pb, (Fit){k, kg->group_size, kg_local_bytes(kg)});
    const KExp *per_group = sx_op(cx, SX_DIV, sx_const(cx, GROUP), l->n_lanes);
    kg_launch(kg, k, nest_groups(kg, units_in_all(cx, l), per_group));
    pb_else(pb);
}

int lanes_branches(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    Lanes l = {0};
    if ((!of_loop(cx, s, &l) && (!sums_of(cx, s, &l.r) || l.r.branches)) ||
        !combines_anywhere(cx, &l))
        return 0;
    find_own(cx, &l);
    int n = 0;
    l.each = (Each){.r = &l.r, .n = SEVERAL};
    if (finds_several(cx, &l)) {
        lanes_branch(pb, &l, outs);
        n++;
    }
    if (l.loop) {
        l.each = (Each){.r = &l.r, .n = 1};
        lanes_branch(pb, &l, outs);
        n++;
    }
    return n;
}
