/* segmap^1 around level-0 constructs: each work-group runs outer iterations one after the other.
 * Arrays made in the body lie in local memory, scalars are computed by all threads alike, level-0
 * constructs deal their elements out to the threads, in loops where there are more elements than
 * threads. Every barrier stands in control flow that is the same for the whole group. */
#include "kernels/segments.h"

/* --- Code without parallelism -------------------------------------------------------------- */

/* Scalars of s become variables outside the work that computes them: 0 if it fails, as the group
 * goes on with them. */
static void results_begin(KGen *kg, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++) {
        const Var *v = s->pat.at[j];
        KVar *r = kb_var(kg->kb, v->base, v->type.elem, kg_zero(kg, v->type.elem));
        varmap_put(kg->results, v, r);
    }
}

static void results_end(KGen *kg, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        varmap_del(kg->results, s->pat.at[j]);
}

static void by_all(KGen *kg, const Stm *s)
{
    kg_touch(kg);
    kg->coop = false;
    results_begin(kg, s);
    WorkMark m = kg_work_begin(kg);
    kg_stm(kg, s);
    kg_work_end(kg, m);
    results_end(kg, s);
    kg->coop = true;
    kg_touch(kg);
}

/* Shared memory for the results of s: a cell for a scalar; an array that is not updated in place is
 * wished to be built there. */
static KLoc shared_place(KGen *kg, const Stm *s, int j, bool *in_place)
{
    Var *v = s->pat.at[j];
    bool updated = false;
    *in_place = v->type.rank > 0 && !group_made(kg, v);
    if (*in_place)
        return *kg_arr(kg, place_of_exp(s->exp, j, &updated));
    KLoc *p = NEW(kg->cx->perm, KLoc);
    *p = kg_alloc(kg, v, v->type);
    if (v->type.rank > 0)
        varmap_put(kg->hints, v, p);
    return *p;
}

static void by_first(KGen *kg, const Stm *s)
{
    int n = s->pat.n;
    KLoc *places = NEWN(kg->cx->perm, KLoc, n);
    bool *in_place = NEWN(kg->cx->perm, bool, n);
    for (int j = 0; j < n; j++)
        places[j] = shared_place(kg, s, j, &in_place[j]);
    kg_sync(kg);
    kg_if_first(kg);
    kg->coop = false;
    /* Sizes perhaps: the group goes on with them, whatever happens. */
    KPlace before = kb_place(kg->kb);
    WorkMark m = kg_work_begin(kg);
    kg_stm(kg, s);
    for (int j = 0; j < n; j++)
        if (!in_place[j])
            kg_store(kg, &places[j], s->pat.at[j]->type, atom_var(s->pat.at[j]));
    bool fails = kg_work_fails(kg);
    kg_work_end(kg, m);
    for (int j = 0; j < n && fails; j++)
        if (s->pat.at[j]->type.rank == 0)
            loc_store_at(kg, before, &places[j], kg_zero(kg, s->pat.at[j]->type.elem));
    kg->coop = true;
    kb_end(kg->kb);
    kg_touch(kg);
    kg_sync(kg);
    for (int j = 0; j < n; j++) {
        if (s->pat.at[j]->type.rank > 0) {
            kg_bind_arr(kg, s->pat.at[j], places[j]);
            continue;
        }
        kg_load(kg, s->pat.at[j], &places[j], NULL, 0);
        kg_touch(kg);
    }
}

void group_sequential(KGen *kg, const Stm *s)
{
    if (types_scalar(&s->pat, 0, s->pat.n))
        by_all(kg, s);
    else
        by_first(kg, s);
}

/* --- The kernel ---------------------------------------------------------------------------- */

/* The largest number of elements that a level-0 construct inside has, as a host expression. */
typedef struct {
    KGen *kg;
    const Sx *max;
    bool scans;
} Widest;

static void widest_in_body(void *env, Body *b);

static void widest_in_lambda(void *env, Lambda *l)
{
    widest_in_body(env, l->body);
}

static void widest_exp(Widest *w, const Exp *e)
{
    Ctx *cx = w->kg->cx;
    if (exp_is_seg(e)) {
        w->scans = w->scans || e->kind == E_SEGSCAN;
        const Sx *n = sx_const(cx, 1);
        for (int k = 0; n && k < e->seg.nest.n; k++) {
            const Sx *d = kg_bound(w->kg, e->seg.nest.at[k].width);
            n = d ? sx_mul(cx, n, d) : NULL;
        }
        if (n)
            w->max = sx_op(cx, SX_MAX, w->max, n);
        return;
    }
    ExpVisitor v = {.env = w, .body = widest_in_body, .lambda = widest_in_lambda};
    exp_visit(e, &v);
}

/* Scalars that the body computes are not the host's: their definitions tell their bounds. */
static void widest_in_body(void *env, Body *b)
{
    Widest *w = env;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        widest_exp(w, s->exp);
        for (int j = 0; j < s->pat.n; j++)
            kg_bind(w->kg, s->pat.at[j]);
        if (s->pat.n == 1 &&
            (s->exp->kind == E_PRIM || s->exp->kind == E_CONV || s->exp->kind == E_ATOM) &&
            s->pat.at[0]->type.rank == 0)
            ranges_bind(w->kg->known, &s->pat, s->exp);
    }
}

/* As many threads as the widest construct has elements, in full warps; more elements are looped
 * over. Fewer where there are scans: the elements that a thread scans by itself cost no barrier. */
static const Sx *group_threads(PlanBuild *pb, const Exp *e)
{
    Ctx *cx = pb->cx;
    KGen *probe = kg_new(pb, "probe", e);
    Widest w = {.kg = probe, .max = sx_const(cx, 1)};
    for (int k = 0; k < e->seg.nest.n; k++)
        kg_bind(probe, e->seg.nest.at[k].idx);
    widest_in_body(&w, e->seg.body);
    const Sx *warp = sx_const(cx, 32), *share = sx_const(cx, w.scans ? GROUP_SCAN_ELEMS : 1);
    const Sx *needed = sx_op(cx, SX_CEILDIV, w.max, share);
    const Sx *full = sx_mul(cx, sx_op(cx, SX_CEILDIV, needed, warp), warp);
    /* On a CPU it is one: the work-items of a group run one after the other there, and PoCL 3.1
     * miscompiles loops around barriers that hold a conditional in an inner loop. */
    return sx_op(cx, SX_MAX, sx_const(cx, 1), sx_op(cx, SX_MIN, full, sx_team_size(cx)));
}

static KLoc result_row(KGen *kg, const ArrLoc *out, const Exp *e, const Var *v)
{
    int depth = e->seg.nest.n;
    const Sx **ix = NEWN(kg->cx->perm, const Sx *, depth);
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
static void group_body(KGen *kg, const Exp *e, const Vars *pat, const ArrLoc *outs, const Sx *total)
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

void make_group(PlanBuild *pb, const Stm *s, const ArrLoc *outs)
{
    const Exp *e = s->exp;
    Ctx *cx = pb->cx;
    KGen *kg = kg_new(pb, "segmap_intra", e);
    const Sx *total = nest_size(cx, &e->seg.nest, 0, e->seg.nest.n);
    kg->group_size = group_threads(pb, e);
    kg->max_threads = nest_max_threads(kg, total, sx_const(cx, 1));
    group_body(kg, e, &s->pat, outs, total);
    kg_launch(kg, kg_finish(kg), nest_groups(kg, total, sx_const(cx, 1)));
}
