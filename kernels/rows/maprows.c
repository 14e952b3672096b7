/* segmap^1 over the points of a ragged nest whose body asks for their rows. Teams note down the row
 * of each point of a tile (rowtiles.c); who works alone has neighbouring points and searches once,
 * then goes row by row, in loops that become vectors. */
#include "kernels/rows/rows.h"

enum { PIECES_EACH = 4 /* of a work-item, that rows of dear points are shared out */ };

static bool asks_row(const Exp *e)
{
    Arena *tmp = arena_new();
    VarSet *used = varmap_new(tmp);
    free_in_body(used, e->seg.body);
    bool asks = varset_has(used, e->seg.nest.at[0].row);
    arena_free(tmp);
    return asks;
}

/* The code of a point that is bound. */
static void map_point(RowsKernel *w)
{
    KGen *kg = w->kg;
    const Stm *s = w->r->s;
    const Body *b = s->exp->seg.body;
    const KExp *ix = sx_var(kg->cx, w->r->d->idx);
    KLoc *at = NEWN(kg->cx->perm, KLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++) {
        at[j] = loc_row_n(kg, &w->outs[j], s->pat.at[j]->type.rank, &ix, 1);
        place_hint(kg, b, b->res.at[j], at[j]);
    }
    kg_stms(kg, b);
    for (int j = 0; j < s->pat.n; j++)
        kg_store(kg, &at[j], atom_type(b->res.at[j]), b->res.at[j]);
}

/* --- Teams ------------------------------------------------------------------------------------ */

/* False: its work-items want memory of their own. */
static bool map_tiles(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    int n_ops = pb->ops->n;
    Rows r = rows_plan(pb, s, outs, false);
    RowsKernel w = {.r = &r, .kg = kg_new(pb, "segmap_tiles", s->exp)};
    w.group = kg_id(w.kg, KID_GROUP);
    w.kg->guard = w.kg->sized = true;
    w.kg->group_size = r.group_size;
    w.kg->max_threads = sx_const(pb->cx, 1);
    RowTiles t = row_tiles(&w);
    w.outs = seg_outs(w.kg, s, 0, outs);
    row_tiles_map(&t, map_point);
    if (rows_need_memory(w.kg)) {
        pb->ops->n = n_ops;
        return false;
    }
    Kernel *k = kg_finish(w.kg);
    rows_launch_starts(&r);
    kg_launch(w.kg, k, r.groups);
    return true;
}

/* --- Who works alone -------------------------------------------------------------------------- */

/* The points of one row, from .. to-1. */
static void map_points(RowsKernel *w, const KExp *row, const KExp *from, const KExp *to)
{
    KGen *kg = w->kg;
    const KExp *p = kb_for(kg->kb, "point", from, to, kg_int(kg, 1));
    WorkMark m = kg_work_begin(kg);
    nest_bind_point(kg, w->r->d, p, row);
    map_point(w);
    kg_work_end(kg, m);
    kb_end(kg->kb);
}

static void map_alone(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    const NestDim *d = &s->exp->seg.nest.at[0];
    Rows r = {.pb = pb, .s = s, .e = s->exp, .d = d, .outs = outs};
    RowsKernel w = {.r = &r, .kg = kg_new(pb, "segmap_rows", s->exp)};
    KGen *kg = w.kg;
    KBuild *b = kg->kb;
    kg->guard = kg->solo = true;
    const KExp *all = sx_mul(cx, sx_size(cx, SIZE_NUM_GROUPS), sx_size(cx, SIZE_GROUP_SIZE));
    all = sx_mul(cx, all, sx_const(cx, PIECES_EACH));
    const KExp *pieces = pb_let(pb, "pieces", sx_op(cx, SX_MIN, all, sx_atom(cx, d->width)));
    const KExp *piece = nest_open(kg, pieces), *n = kg_host(kg, pieces), *one = kg_int(kg, 1);
    const KExp *points = kg_atom(kg, d->width);
    const KExp *share = kg_quot(kg, kg_sub(kg, kg_add(kg, points, n), one), n);
    share = kb_let(b, "share", share);
    const KExp *from = kb_let(b, "from", kg_min(kg, kg_mul(kg, piece, share), points));
    const KExp *to = kb_let(b, "to", kg_min(kg, kg_add(kg, from, share), points));
    KVar *at = kb_var(b, "at", T_I64, from), *row = kb_var(b, "at_row", T_I64, kg_int(kg, 0));
    kb_if(b, kg_lt(kg, from, to));
    kb_set(b, row, nest_row_of(kg, d, from));
    kb_end(b);
    kb_while(b, kg_lt(kg, kg_of(kg, at), to));
    const KExp *own = kb_let(b, "row", kg_of(kg, row));
    const KExp *stop = kg_min(kg, nest_offset(kg, d, kg_add(kg, own, one)), to);
    stop = kb_let(b, "stop", stop);
    w.outs = seg_outs(kg, s, 0, outs);
    map_points(&w, own, kb_let(b, "first", kg_of(kg, at)), stop);
    kb_set(b, at, stop);
    kb_set(b, row, kg_add(kg, own, one));
    kb_end(b);
    nest_close(kg);
    nest_finish(kg, pieces);
}

void make_segmap_rows(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    if (!asks_row(s->exp) || body_has_seg(s->exp->seg.body)) {
        make_segmap(pb, s, outs);
        return;
    }
    pb_if_more(pb, sx_teams(pb->cx), 0);
    if (!map_tiles(pb, s, outs))
        make_segmap(pb, s, outs);
    pb_else(pb);
    map_alone(pb, s, outs);
    pb_end(pb);
}
