/* A reduction for each element of a nest (sums.h): which constructs are such; reductions in pieces,
 * and the kernel that combines them. */
#include "kernels/level1/sums.h"

#include "common/policy.h"

enum { MOST_AROUND = 24 }; /* statements around the reduction, done for each element */

/* --- Which constructs ------------------------------------------------------------------------- */

static bool is_plain(const Exp *e)
{
    return (exp_is(e, F_SCALAR) || e->kind == E_INDEX || e->kind == E_REARRANGE) && !exp_traps(e);
}

static bool is_branch(const Stm *s)
{
    const Exp *e = s->exp;
    return e->kind == E_IF && types_scalar(&s->pat, 0, s->pat.n) && !exp_traps(e) &&
           seg_is_side(e->branch.then_) && seg_is_side(e->branch.else_);
}

/* The only statement of the body that is more than an access or a scalar; NULL: there are more. */
static const Stm *reduction_of(const Body *b, bool *branches)
{
    const Stm *red = NULL;
    *branches = false;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_plain(s->exp))
            continue;
        if (is_branch(s)) {
            *branches = true;
            continue;
        }
        if (red || s->exp->kind != E_REDOMAP)
            return NULL;
        red = s;
    }
    return red && b->stms.n <= 1 + MOST_AROUND ? red : NULL;
}

void sums_take(Ctx *cx, Sums *r, const Exp *sum)
{
    r->width = sum->soac.width;
    r->k = var_new(cx, "k", type_prim(T_I64), sum->loc);
    r->arrs = &sum->soac.arrs;
    r->params = &sum->soac.fn->params;
    r->f = sum->soac.fn->body;
    r->op = sum->soac.op;
    r->nes = &sum->soac.nes;
    r->comm = sum->soac.comm;
}

/* So few that a thread has them in registers at once, as the taps of a filter: nothing is shared by
 * many. */
static bool is_brief(const Sums *r)
{
    return !r->width.var && r->width.c.i < RT_USUAL_WARP;
}

static bool of_segmap(Ctx *cx, const Stm *s, Sums *r)
{
    const Exp *e = s->exp;
    bool branches;
    const Stm *red = reduction_of(e->seg.body, &branches);
    if (!red || exp_traps(red->exp) || nest_is_ragged(&e->seg.nest))
        return false;
    *r = (Sums){.stm = s, .e = e, .depth = e->seg.nest.n, .red = red, .branches = branches};
    sums_take(cx, r, red->exp);
    return red->pat.n == r->nes->n && !is_brief(r);
}

static bool of_segred(const Stm *s, Sums *r)
{
    const Exp *e = s->exp;
    const NestDim *d = &vec_last(&e->seg.nest);
    *r = (Sums){.stm = s, .e = e, .depth = e->seg.nest.n - 1};
    r->width = d->width;
    r->k = d->idx;
    r->arrs = &d->arrs;
    r->params = &d->xs;
    r->f = e->seg.body;
    r->op = e->seg.op;
    r->nes = &e->seg.nes;
    r->comm = op_is_comm(e);
    return s->pat.n == r->nes->n && !exp_traps(e) && !nest_is_ragged(&e->seg.nest);
}

bool sums_of(Ctx *cx, const Stm *s, Sums *r)
{
    bool is = s->exp->kind == E_SEGMAP ? of_segmap(cx, s, r) : of_segred(s, r);
    if (!is || r->depth < 1 || !types_scalar(&r->op->params, 0, 2 * r->nes->n) ||
        !seg_is_short(r->f, true) || !seg_is_short(r->op->body, true))
        return false;
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank != r->depth)
            return false;
    return true;
}

int sums_bytes(const Sums *r)
{
    int n = 0;
    for (int j = 0; j < r->nes->n; j++)
        n += prim_type_bytes[r->op->params.at[j]->type.elem];
    return n;
}

void sums_add_vars(VarSet *set, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        varset_add(set, vs->at[i]);
}

void sums_inside(const Sums *r, int from, VarSet *inside)
{
    const Body *b = r->e->seg.body;
    for (int d = from; d < r->depth; d++) {
        varset_add(inside, r->e->seg.nest.at[d].idx);
        sums_add_vars(inside, &r->e->seg.nest.at[d].xs);
    }
    for (int i = 0; r->red && i < b->stms.n; i++)
        sums_add_vars(inside, &b->stms.at[i].pat);
}

bool sums_uses(Ctx *cx, VarSet *used, const VarSet *inside)
{
    Vars vs = varset_list(cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        if (varset_has(inside, vs.at[i]))
            return true;
    return false;
}

/* --- An element ------------------------------------------------------------------------------- */

/* An assertion of a row binds nothing and is not. */
static bool stm_is_own(const Sums *r, const Stm *s)
{
    return s->pat.n ? varset_has(r->own, s->pat.at[0]) : exp_uses_any(s->exp, r->own);
}

void sums_before(KGen *kg, const Sums *r)
{
    const Body *b = r->e->seg.body;
    for (int i = 0; r->red && &b->stms.at[i] != r->red; i++)
        if (!r->own || stm_is_own(r, &b->stms.at[i]))
            kg_stm(kg, &b->stms.at[i]);
}

const KExp **sums_combined(KGen *kg, const Sums *r, const KExp *const *acc, const KExp *const *x)
{
    return kg_apply(kg, r->op, r->nes->n, acc, x);
}

void sums_apply(KGen *kg, const Sums *r, KBuf **acc, const KExp *at, const KExp *const *x)
{
    int n = r->nes->n;
    const KExp **now = NEWN(kg->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++)
        now[j] = kb_load(kg->kb, "acc", acc[j], at);
    now = sums_combined(kg, r, now, x);
    for (int j = 0; j < n; j++)
        kb_store(kg->kb, acc[j], at, now[j]);
}

KBuf **sums_accs(KGen *kg, const Sums *r, int n)
{
    KBuf **acc = NEWN(kg->cx->perm, KBuf *, r->nes->n);
    for (int j = 0; j < r->nes->n; j++) {
        acc[j] = kb_array(kg->kb, "acc", r->op->params.at[j]->type.elem, n);
        const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, n), kg_int(kg, 1));
        kg_loop_unroll(kg, n);
        kb_store(kg->kb, acc[j], i, kg_atom(kg, r->nes->at[j]));
        kb_end(kg->kb);
    }
    return acc;
}

/* The results of the element whose nest is bound, x: its reduction. */
static void store_results(KGen *kg, const Sums *r, const KLoc *outs, const KExp *const *x)
{
    const Body *b = r->e->seg.body;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, r->depth);
    for (int i = 0; r->red && i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        for (int j = 0; s == r->red && j < s->pat.n; j++)
            kg_let(kg, s->pat.at[j], x[j]);
        if (s != r->red)
            kg_stm(kg, s);
    }
    nest_indices(kg, &r->e->seg.nest, r->depth, ix);
    for (int j = 0; j < r->stm->pat.n; j++)
        loc_store(kg, &outs[j], ix, r->depth, r->red ? kg_atom(kg, b->res.at[j]) : x[j]);
}

static const KExp **accs_at(KGen *kg, const Sums *r, KBuf **acc, const KExp *cell)
{
    const KExp **x = NEWN(kg->cx->perm, const KExp *, r->nes->n);
    for (int j = 0; j < r->nes->n; j++)
        x[j] = kb_load(kg->kb, "x", acc[j], cell);
    return x;
}

void sums_store(KGen *kg, const Sums *r, const KLoc *outs, KBuf **acc, const KExp *cell)
{
    store_results(kg, r, outs, accs_at(kg, r, acc, cell));
}

/* --- Several elements a thread ---------------------------------------------------------------- */

/* What their reductions read of the arrays is read once, and as many chains of operations run side
 * by side. What f and op know of an element lies in registers:
 *
 *     own[R] := what f knows of the thread's elements;  acc[R] := neutral elements
 *     y := element k of the arrays;  acc[i] := op(acc[i], f(own[i], y)) .. */
enum {
    MOST_EACH = 8, /* R, at most */
    LEAST_EACH = 4,
    EACH_BYTES = 256 /* of a thread's accumulators and its elements, at most */
};

const NestDim *sums_inner(const Sums *r)
{
    return &r->e->seg.nest.at[r->depth - 1 - r->behind];
}

static bool has_atom(const VarSet *set, Atom a)
{
    return a.var && varset_has(set, a.var);
}

/* Are the arrays, their number of elements and what reductions begin with the same for all? */
static bool shares_arrays(const Sums *r, const VarSet *inside)
{
    for (int p = 0; p < r->arrs->n; p++)
        if (varset_has(inside, r->arrs->at[p].var))
            return false;
    for (int j = 0; j < r->nes->n; j++)
        if (has_atom(inside, r->nes->at[j]))
            return false;
    return r->arrs->n > 0 && !has_atom(inside, r->width);
}

/* Does f read rows of the element's own, of an array over all of them? Work-items side by side
 * would read apart from each other, and nothing that is shared. */
static bool reads_own_rows(Ctx *cx, const Sums *r, const VarSet *inside)
{
    VarSet *own = varmap_new(cx->perm);
    Vars bound = varset_list(cx->perm, inside);
    sums_add_vars(own, &bound);
    for (int i = 0; i < r->f->stms.n; i++) {
        const Stm *s = &r->f->stms.at[i];
        for (int d = 0; s->exp->kind == E_INDEX && d < s->exp->index.at.n - 1; d++)
            if (has_atom(own, s->exp->index.at.at[d].start))
                return true;
        if (exp_uses_any(s->exp, own))
            sums_add_vars(own, &s->pat);
    }
    return false;
}

int each_find(Ctx *cx, const Sums *r, const VarSet *inside, Vars *mine)
{
    VarSet *used = varmap_new(cx->perm);
    if (!shares_arrays(r, inside) || reads_own_rows(cx, r, inside))
        return 0;
    free_in_body(used, r->f);
    free_in_lambda(used, r->op);
    Vars vs = varset_list(cx->perm, used);
    int bytes = sums_bytes(r);
    for (int i = 0; i < vs.n; i++) {
        Var *v = vs.at[i];
        if (!varset_has(inside, v))
            continue;
        if (v->type.rank > 0)
            return 0;
        bytes += prim_type_bytes[v->type.elem];
        vec_push(cx->perm, mine, v);
    }
    int each = bytes * MOST_EACH <= EACH_BYTES ? MOST_EACH : LEAST_EACH;
    return mine->n > 0 && bytes * each <= EACH_BYTES ? each : 0;
}

const KExp *each_open(const Each *t)
{
    KGen *kg = t->kg;
    if (t->n == 1) {
        kb_open_block(kg->kb);
        return kg_int(kg, 0);
    }
    const KExp *i = kb_for(kg->kb, "i", kg_int(kg, 0), kg_int(kg, t->n), kg_int(kg, 1));
    kg_loop_unroll(kg, t->n);
    return i;
}

const KExp *each_element(const Each *t, const KExp *i)
{
    return kg_add(t->kg, t->first, kg_mul(t->kg, i, t->step));
}

void each_load(Each *t)
{
    KGen *kg = t->kg;
    const NestDim *d = sums_inner(t->r);
    t->own = NEWN(kg->cx->perm, KBuf *, t->mine.n);
    for (int v = 0; v < t->mine.n; v++)
        t->own[v] = kb_array(kg->kb, "own", t->mine.at[v]->type.elem, t->n);
    int mark = ranges_mark(kg->known);
    const KExp *i = each_open(t), *last = kg_sub(kg, kg_atom(kg, d->width), kg_int(kg, 1));
    nest_bind_dim(kg, d, kg_min(kg, each_element(t, i), last));
    sums_before(kg, t->r);
    for (int v = 0; v < t->mine.n; v++)
        kb_store(kg->kb, t->own[v], i, kg_atom(kg, atom_var(t->mine.at[v])));
    kb_end(kg->kb);
    ranges_reset(kg->known, mark);
}

void each_bind(const Each *t, const KExp *k, bool scalars)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    kg_let(kg, r->k, k);
    for (int p = 0; p < r->params->n; p++)
        if (scalars || r->params->at[p]->type.rank > 0)
            kg_bind_row(kg, r->params->at[p], r->arrs->at[p], sx_var(kg->cx, r->k));
}

void each_accumulate(const Each *t)
{
    KGen *kg = t->kg;
    const Sums *r = t->r;
    const KExp *i = each_open(t), **x = NEWN(kg->cx->perm, const KExp *, r->nes->n);
    for (int v = 0; v < t->mine.n; v++)
        kg_let(kg, t->mine.at[v], kb_load(kg->kb, "own", t->own[v], i));
    for (int s = 0; s < r->f->stms.n; s++)
        kg_stm(kg, &r->f->stms.at[s]);
    for (int j = 0; j < r->nes->n; j++)
        x[j] = kg_atom(kg, r->f->res.at[j]);
    sums_apply(kg, r, t->acc, i, x);
    kb_end(kg->kb);
}

/* --- Pieces ----------------------------------------------------------------------------------- */

enum {
    COMBINED = 4,          /* partial results that a thread combines, at least, */
    COMBINERS = 256 * 1024 /* where there are no more threads than those that fill the device */
};

bool sums_can_cut(Ctx *cx, const Sums *r)
{
    VarSet *inside = varmap_new(cx->perm), *used = varmap_new(cx->perm);
    sums_inside(r, 0, inside);
    free_in_lambda(used, r->op);
    for (int j = 0; j < r->nes->n; j++)
        if (r->nes->at[j].var)
            varset_add(used, r->nes->at[j].var);
    return !sums_uses(cx, used, inside);
}

static const KExp *at_least(Ctx *cx, const KExp *x, int64_t n)
{
    return sx_op(cx, SX_MAX, x, sx_const(cx, n));
}

Pieces sums_cut(PlanBuild *pb, const Sums *r, const KExp *want, int unit)
{
    Ctx *cx = pb->cx;
    const KExp *width = sx_atom(cx, r->width);
    const KExp *share = sx_op(cx, SX_CEILDIV, width, at_least(cx, want, 1));
    const KExp *units = at_least(cx, sx_op(cx, SX_CEILDIV, share, sx_const(cx, unit)), 1);
    Pieces p = {.units = pb_let(pb, "units", units), .unit = unit};
    const KExp *piece = sx_mul(cx, p.units, sx_const(cx, unit));
    p.pieces = pb_let(pb, "pieces", at_least(cx, sx_op(cx, SX_CEILDIV, width, piece), 1));
    p.parts = NEWN(cx->perm, Mem *, r->nes->n);
    for (int j = 0; j < r->nes->n; j++)
        p.parts[j] = pb_mem(pb, "partial");
    return p;
}

void sums_alloc(PlanBuild *pb, const Sums *r, const Pieces *p)
{
    Ctx *cx = pb->cx;
    const KExp *several = sx_sub(cx, p->pieces, sx_const(cx, 1));
    const KExp *n = sx_mul(cx, nest_size(cx, &r->e->seg.nest, 0, r->depth), p->pieces);
    n = sx_select(cx, several, n, sx_const(cx, 0));
    for (int j = 0; j < r->nes->n; j++) {
        int bytes = prim_type_bytes[r->op->params.at[j]->type.elem];
        pb_alloc_mem(pb, p->parts[j], sx_mul(cx, n, sx_const(cx, bytes)));
    }
}

Share sums_open_share(KGen *kg, const Sums *r, const KExp *blocks, const Pieces *p)
{
    KBuild *b = kg->kb;
    const KExp *width = kg_atom(kg, r->width), *group = kg_id(kg, KID_GROUP);
    const KExp *all = p ? sx_mul(kg->cx, blocks, p->pieces) : blocks;
    const KExp *unit = kb_for(b, "block", group, nest_total(kg, all), kg_id(kg, KID_GROUPS));
    if (!p)
        return (Share){.block = unit, .from = kg_int(kg, 0), .to = width};
    const KExp *n = kg_host(kg, blocks);
    const KExp *len = kg_mul(kg, kg_host(kg, p->units), kg_int(kg, p->unit));
    Share s = {.piece = kb_let(b, "piece", kg_quot(kg, unit, n))};
    s.block = kb_let(b, "block", kg_sub(kg, unit, kg_mul(kg, s.piece, n)));
    s.from = kb_let(b, "from", kg_mul(kg, s.piece, len));
    s.to = kb_let(b, "to", kg_min(kg, width, kg_add(kg, s.from, len)));
    return s;
}

/* Partial results of neighbouring elements are neighbours. */
static const KExp *part_at(KGen *kg, const Sums *r, const KExp *piece, const KExp *elem)
{
    const KExp *n = nest_size_k(kg, &r->e->seg.nest, 0, r->depth);
    return kg_add(kg, kg_mul(kg, piece, kg_at(kg, n)), elem);
}

static KBuf *part_buf(KGen *kg, const Sums *r, const Pieces *p, int j)
{
    return kg_param_mem(kg, p->parts[j], r->op->params.at[j]->type.elem);
}

void sums_store_parts(KGen *kg, const Sums *r, const Pieces *p, const KExp *piece, KBuf **acc,
                      const KExp *cell, int n)
{
    Ctx *cx = kg->cx;
    KBuild *b = kg->kb;
    const Nest *nest = &r->e->seg.nest;
    const KExp *elem = sx_const(cx, 0);
    for (int d = 0; d < r->depth; d++)
        elem =
            sx_add(cx, sx_mul(cx, elem, kg_sx(kg, nest->at[d].width)), sx_var(cx, nest->at[d].idx));
    const KExp *at = kb_let(b, "at", part_at(kg, r, piece, kg_at(kg, elem))), *some = kg_int(kg, n);
    if (n > 1)
        at = kb_let(b, "at", kg_mul(kg, kg_quot(kg, at, some), some));
    const KExp *i = kb_for(b, "i", kg_int(kg, 0), some, kg_int(kg, 1));
    kg_loop_unroll(kg, -1);
    const KExp **x = accs_at(kg, r, acc, kg_add(kg, cell, i));
    for (int j = 0; j < r->nes->n; j++)
        kb_store(b, part_buf(kg, r, p, j), kg_add(kg, at, i), x[j]);
    kb_end(b);
}

/* The threads of a group that combine: `threads` (host) to an element, of which each takes a run of
 * the pieces. Neighbours have neighbouring elements. */
typedef struct {
    const KExp *threads, *per_group; /* elements of a group */
    const KExp *elem, *p;            /* the thread's element, its number in that */
    const KExp *active;              /* has it an element at all? */
} Combiners;

static const KExp *combiners_of(PlanBuild *pb, const Sums *r, const Pieces *p)
{
    Ctx *cx = pb->cx;
    const KExp *n = nest_size(cx, &r->e->seg.nest, 0, r->depth);
    const KExp *few = sx_op(cx, SX_CEILDIV, p->pieces, sx_const(cx, COMBINED));
    const KExp *fill = sx_op(cx, SX_DIV, sx_const(cx, COMBINERS), at_least(cx, n, 1));
    few = sx_op(cx, SX_MIN, few, at_least(cx, fill, 1));
    return pb_let(pb, "threads", at_least(cx, sx_op(cx, SX_MIN, sx_team_size(cx), few), 1));
}

static Combiners open_combiners(KGen *kg, const Sums *r, const KExp *threads)
{
    KBuild *b = kg->kb;
    Combiners c = {.threads = kg_host(kg, threads)};
    const KExp *total = nest_total(kg, nest_size(kg->cx, &r->e->seg.nest, 0, r->depth));
    c.per_group = kb_let(b, "per_group", kg_quot(kg, kg_id(kg, KID_GROUP_SIZE), c.threads));
    c.p = kb_let(b, "p", kg_quot(kg, kg->lid, c.per_group));
    const KExp *mine = kb_let(b, "mine", kg_sub(kg, kg->lid, kg_mul(kg, c.p, c.per_group)));
    const KExp *base = kb_for(b, "base", kg_mul(kg, kg_id(kg, KID_GROUP), c.per_group), total,
                              kg_mul(kg, kg_id(kg, KID_GROUPS), c.per_group));
    c.elem = kb_let(b, "elem", kg_add(kg, base, mine));
    c.active = kb_let(b, "active", kg_and(kg, kg_lt(kg, c.p, c.threads), kg_lt(kg, c.elem, total)));
    return c;
}

/* acc := the thread's run of the element's partial results, combined. */
static void combine_run(KGen *kg, const Sums *r, const Pieces *p, const Accs *ac,
                        const Combiners *c)
{
    KBuild *b = kg->kb;
    const KExp *pieces = kg_host(kg, p->pieces);
    const KExp *more = kg_sub(kg, kg_add(kg, pieces, c->threads), kg_int(kg, 1));
    const KExp *run = kb_let(b, "run", kg_quot(kg, more, c->threads));
    const KExp *first = kb_let(b, "first", kg_mul(kg, c->p, run));
    const KExp *last = kb_let(b, "last", kg_min(kg, pieces, kg_add(kg, first, run)));
    const KExp *i = kb_for(b, "i", first, last, kg_int(kg, 1));
    kg_loop_unroll(kg, COMBINED);
    const KExp **x = NEWN(kg->cx->perm, const KExp *, ac->n);
    for (int j = 0; j < ac->n; j++)
        x[j] = kb_load(b, "x", part_buf(kg, r, p, j), part_at(kg, r, i, c->elem));
    accs_apply(kg, ac, accs_now(kg, ac), x);
    kb_end(b);
}

static void put_accs(KGen *kg, const Accs *ac)
{
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, ac->bufs[j], kg->lid, kg_of(kg, ac->acc[j]));
}

/* acc of an element's first thread := those of all, in order: in step d = 1, 2, 4 .. the threads at
 * multiples of 2d add what thread p + d has. */
static void combine_threads(KGen *kg, const Accs *ac, const Combiners *c)
{
    KBuild *b = kg->kb;
    kg_if_teams(kg);
    put_accs(kg, ac);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), c->threads, 2);
    kb_meet(b, 1u << KS_LOCAL);
    const KExp *turn = kg_rem(kg, c->p, kg_mul(kg, kg_int(kg, 2), d));
    const KExp *there = kg_lt(kg, kg_add(kg, c->p, d), c->threads);
    kb_if(b, kg_and(kg, c->active, kg_and(kg, kg_eq(kg, turn, kg_int(kg, 0)), there)));
    const KExp *beside = kg_add(kg, kg->lid, kg_mul(kg, d, c->per_group));
    accs_apply(kg, ac, accs_now(kg, ac), accs_load(kg, ac, beside));
    put_accs(kg, ac);
    kb_end(b);
    kb_end(b);
    kb_end(b);
}

void sums_combine(PlanBuild *pb, const Sums *r, const Pieces *p, const ArrLoc *outs)
{
    Ctx *cx = pb->cx;
    KGen *kg = kg_new(pb, "segtile_parts", r->e);
    KBuild *b = kg->kb;
    kg->at = r->e->loc;
    const KExp *threads = combiners_of(pb, r, p);
    Accs ac = accs_of(kg, r->op, r->nes->n);
    accs_local(kg, &ac, false);
    Combiners c = open_combiners(kg, r, threads);
    accs_declare(kg, &ac, r->nes);
    kb_if(b, c.active);
    combine_run(kg, r, p, &ac, &c);
    kb_end(b);
    combine_threads(kg, &ac, &c);
    kb_if(b, kg_and(kg, c.active, kg_eq(kg, c.p, kg_int(kg, 0))));
    nest_bind(kg, &r->e->seg.nest, r->depth, c.elem);
    store_results(kg, r, seg_outs(kg, r->stm, 0, outs), accs_now(kg, &ac));
    kb_end(b);
    seg_meet(kg); /* the buffers are used again */
    kb_end(b);
    Kernel *k = kg_finish(kg);
    const KExp *per_group = sx_op(cx, SX_DIV, kg->group_size, threads);
    /* What the construct must move and compute, the kernel before has done. */
    Work *work = pb->work;
    pb->work = NULL;
    kg_launch(kg, k, nest_groups(kg, nest_size(cx, &r->e->seg.nest, 0, r->depth), per_group));
    pb->work = work;
}
