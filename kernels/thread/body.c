/* The statements of one thread, or uniformly of a work-group: everything but loops (carry.c), SOACs
 * (soac.c), accesses (access.c) and level-0 constructs (groupseg.c). On top of these: what they
 * hold is made here again, as each KGen knows from its beginning. */
#include "kernels/kernel.h"

static void stm_scalar(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    if (v->type.rank > 0) { /* another name for an array */
        kg_bind_arr(kg, v, *kg_arr(kg, e->atom.var));
        return;
    }
    if (e->kind == E_PRIM)
        kg_prim_checks(kg, e);
    kg_let(kg, v, kg_scalar(kg, e));
}

static void stm_iota(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    KLoc l = kg_alloc(kg, v, v->type);
    const KExp *ix[1];
    kg_sync(kg);
    kg_loops_open(kg, v->type, ix);
    loc_store(kg, &l, ix, 1, kg_iota_elem(kg, e, kg_at(kg, ix[0])));
    kg_loops_close(kg, v->type);
    kg_touch(kg);
    kg_sync(kg);
    kg_bind_arr(kg, v, l);
}

static void stm_replicate(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    int n = e->replicate.dims.n;
    Atom val = e->replicate.val;
    KLoc l = kg_alloc(kg, v, v->type);
    const KExp *ix[LMAD_MAX_RANK];
    ASSERT(v->type.rank <= LMAD_MAX_RANK);
    if (val.var && val.var->type.rank > 0)
        kg_arr(kg, val.var);
    kg_sync(kg);
    kg_loops_open(kg, v->type, ix);
    const KExp *x = val.var && val.var->type.rank > 0
                        ? loc_load(kg, "x", kg_arr(kg, val.var), ix + n, v->type.rank - n)
                        : kg_atom(kg, val);
    loc_store(kg, &l, ix, v->type.rank, x);
    kg_loops_close(kg, v->type);
    kg_touch(kg);
    kg_sync(kg);
    kg_bind_arr(kg, v, l);
}

static void stm_arraylit(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    KLoc l = kg_alloc(kg, v, v->type);
    Type row = type_row(v->type);
    bool one = kg->coop && row.rank == 0;
    if (one) {
        kg_sync(kg);
        kg_if_first(kg);
    }
    for (int i = 0; i < e->arraylit.elems.n; i++) {
        KLoc at = loc_row(kg, &l, v->type.rank, sx_const(kg->cx, i));
        if (row.rank == 0)
            loc_store(kg, &at, NULL, 0, kg_atom(kg, e->arraylit.elems.at[i]));
        else
            kg_store(kg, &at, row, e->arraylit.elems.at[i]);
    }
    if (one) {
        kb_end(kg->kb);
        kg_touch(kg);
        kg_sync(kg);
    }
    kg_bind_arr(kg, v, l);
}

static void stm_concat(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    int d = e->concat.dim;
    KLoc l = kg_alloc(kg, v, v->type);
    const KExp *pos = sx_const(kg->cx, 0);
    for (int i = 0; i < e->concat.arrs.n; i++) {
        const Var *part = e->concat.arrs.at[i].var;
        KLoc at = l;
        at.at.offset = sx_add(kg->cx, l.at.offset, sx_mul(kg->cx, pos, l.at.strides[d]));
        kg_copy(kg, &at, kg_arr(kg, part), part->type);
        pos = sx_add(kg->cx, pos, kg_sx(kg, part->type.dims[d]));
        if (pos->parts > SX_MANY_PARTS)
            pos = kg_sx_of(kg, kg_at(kg, pos));
    }
    kg_bind_arr(kg, v, l);
}

static void stm_rearrange(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    KLoc l = *kg_arr(kg, e->rearrange.arr.var);
    l.at = lmad_rearrange(kg->cx, l.at, v->type.rank, e->rearrange.perm);
    kg_bind_arr(kg, v, l);
}

static void stm_reshape(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const Var *from = e->reshape.arr.var;
    KLoc l = *kg_arr(kg, from);
    if (!lmad_reshape(kg->cx, l.at, from->type, v->type, &l.at)) {
        KLoc copy = kg_alloc_own(kg, v, from->type); /* row-major */
        kg_copy(kg, &copy, &l, from->type);
        l = copy;
        if (!lmad_reshape(kg->cx, l.at, from->type, v->type, &l.at))
            ice(e->loc, "a row-major array that cannot be reshaped");
    }
    kg_bind_arr(kg, v, l);
}

static void stm_copy(KGen *kg, const Stm *s, Atom from)
{
    Var *v = s->pat.at[0];
    KLoc l = kg_alloc(kg, v, v->type);
    kg_copy(kg, &l, kg_arr(kg, from.var), v->type);
    kg_bind_arr(kg, v, l);
}

/* --- Branches ------------------------------------------------------------------------------ */

/* Where array result j of a branch goes: into memory of its own (*own), or it is the same array,
 * updated in place or not, in both branches. */
static KLoc branch_place(KGen *kg, const Stm *s, int j, bool *own)
{
    const Exp *e = s->exp;
    bool updated = false;
    const Var *r1 = place_root(e->branch.then_, e->branch.then_->res.at[j].var, &updated);
    const Var *r2 = place_root(e->branch.else_, e->branch.else_->res.at[j].var, &updated);
    *own = true;
    if (r1 && r1 == r2) {
        const KLoc *l = kg_arr(kg, r1);
        if (!updated || kg_in_place(kg, s->pat.at[j], l)) {
            *own = false;
            return *l;
        }
    }
    return kg_alloc(kg, s->pat.at[j], s->pat.at[j]->type);
}

/* The larger of both branches' sizes bounds an existential size. */
static void branch_bound(KGen *kg, const Stm *s, int j)
{
    const Exp *e = s->exp;
    if (s->pat.at[j]->type.elem != T_I64)
        return;
    Atom a = e->branch.then_->res.at[j], b = e->branch.else_->res.at[j];
    if (place_binds(e->branch.then_, a.var) || place_binds(e->branch.else_, b.var))
        return;
    const KExp *sa = kg_bound(kg, a), *sb = kg_bound(kg, b);
    if (sa && sb)
        sx_set_upper(kg->bounds, s->pat.at[j], sx_op(kg->cx, SX_MAX, sa, sb));
}

/* Is the size of result j known at the branch's end only, and unbounded? */
static bool joins(KGen *kg, const Stm *s, int j)
{
    Type t = s->pat.at[j]->type;
    return place_binds_size(s, s->pat.at[j], 0) && !kg->coop && !kg_bound_count(kg, t);
}

/* What becomes of the array results: places[j], in memory of the branch's own (own[j]), or wherever
 * the branch has it in the heap, as variable joins[j] tells (else NULL). */
typedef struct {
    KLoc *places;
    bool *own;
    KVar **joins;
} Branch;

static void branch_body(KGen *kg, const Stm *s, bool truth, const Branch *br)
{
    const Body *b = truth ? s->exp->branch.then_ : s->exp->branch.else_;
    int mark = ranges_mark(kg->known);
    ranges_cond(kg->known, s->exp->branch.test, truth);
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank > 0 && br->own[j] && !place_binds_size(s, s->pat.at[j], 1))
            place_hint(kg, b, b->res.at[j], br->places[j]);
    kg_stms(kg, b);
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank == 0)
            kg_set(kg, s->pat.at[j], kg_atom(kg, b->res.at[j]));
    for (int j = 0; j < s->pat.n; j++) {
        if (s->pat.at[j]->type.rank == 0)
            continue;
        const Var *res = b->res.at[j].var;
        if (br->joins[j])
            heap_join(kg, br->joins[j], res);
        else
            kg_copy(kg, &br->places[j], kg_arr(kg, res), res->type);
    }
    ranges_reset(kg->known, mark);
}

static void branch_begin(KGen *kg, const Stm *s, Branch *br)
{
    *br = (Branch){NEWN(kg->cx->perm, KLoc, s->pat.n), NEWN(kg->cx->perm, bool, s->pat.n),
                   NEWN(kg->cx->perm, KVar *, s->pat.n)};
    for (int j = 0; j < s->pat.n; j++) {
        if (s->pat.at[j]->type.rank > 0)
            continue;
        kg_var(kg, s->pat.at[j], NULL);
        branch_bound(kg, s, j);
    }
    for (int j = 0; j < s->pat.n; j++) {
        Var *v = s->pat.at[j];
        if (v->type.rank == 0)
            continue;
        if (!joins(kg, s, j)) {
            br->places[j] = branch_place(kg, s, j, &br->own[j]);
            continue;
        }
        kg_irregular(kg, true, "branches of different sizes, memory from the thread's heap");
        br->joins[j] = kb_var(kg->kb, v->base, T_I64, NULL);
        br->places[j] = heap_at(kg, v->type, br->joins[j]);
    }
}

/* Does a statement of a branch load what all work-items share, by the turn of the loop that they
 * are in, and may it as well be done before, since that is in bounds whatever the branch asks? Then
 * there is no branch for a compiler that has selections, which must not load what the program may
 * not; and loads of several turns are on their way. */
static bool may_load_early(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_INDEX || !e->index.safe || s->pat.at[0]->type.rank > 0)
        return false;
    const ArrLoc *l = varmap_get(kg->pb->locs, e->index.arr.var);
    if (!l || l->mem->local || l->mem->computed)
        return false;
    for (int k = 0; k < e->index.at.n; k++) {
        const Var *i = e->index.at.at[k].start.var;
        if (i && i != kg->turn)
            return false;
    }
    return ranges_in_bounds(kg->known, e->index.arr.var->type, &e->index.at);
}

static void load_early(KGen *kg, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (!may_load_early(kg, s))
            continue;
        kg_stm(kg, s);
        varset_add(kg->early, s->pat.at[0]);
    }
}

static void stm_if(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Branch br;
    if (kg->turn && !kg->coop) {
        load_early(kg, e->branch.then_);
        load_early(kg, e->branch.else_);
    }
    branch_begin(kg, s, &br);
    kg_touch(kg);
    kb_if(kg->kb, kg_atom(kg, e->branch.test));
    branch_body(kg, s, true, &br);
    if (e->branch.else_->stms.n || s->pat.n) {
        kb_else(kg->kb);
        kg_touch(kg);
        branch_body(kg, s, false, &br);
    }
    kb_end(kg->kb);
    kg_touch(kg);
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank > 0)
            kg_bind_arr(kg, s->pat.at[j], br.places[j]);
}

/* --- Code of a group without parallelism ---------------------------------------------------- */

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

/* In group mode, a loop or branch without parallelism inside: it is executed as by a thread, by all
 * of them if only scalars come out, else by the first one. */
static void group_sequential(KGen *kg, const Stm *s)
{
    if (types_scalar(&s->pat, 0, s->pat.n))
        by_all(kg, s);
    else
        by_first(kg, s);
}

/* --- Statements ---------------------------------------------------------------------------- */

static bool is_sequential(KGen *kg, const Exp *e)
{
    return kg->coop && exp_is(e, F_CODE) && !exp_has_seg(e);
}

/* A SOAC as the code of one thread. */
static void stm_soac(KGen *kg, const Stm *s)
{
    if (exp_is(s->exp, F_BINS))
        kg_hist(kg, s);
    else if (exp_is(s->exp, F_DESTS))
        kg_scatter(kg, s);
    else
        kg_soac(kg, s);
}

void kg_stm(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->loc.beg)
        kg->at = e->loc;
    if (s->pat.n == 1 && varset_has(kg->early, s->pat.at[0])) {
        varmap_del(kg->early, s->pat.at[0]);
        return;
    }
    if (is_sequential(kg, e)) {
        group_sequential(kg, s);
        return;
    }
    switch (exp_member(e)) {
    case M_atom:
    case M_prim:
    case M_conv: stm_scalar(kg, s); return;
    case M_call: kg_call(kg, s); return;
    case M_index: kg_index(kg, s); return;
    case M_update: kg_update(kg, s); return;
    case M_iota: stm_iota(kg, s); return;
    case M_replicate: stm_replicate(kg, s); return;
    case M_scratch:
        kg_bind_arr(kg, s->pat.at[0], kg_alloc(kg, s->pat.at[0], e->scratch.type));
        return;
    case M_arraylit: stm_arraylit(kg, s); return;
    case M_concat: stm_concat(kg, s); return;
    case M_rearrange:
        if (e->kind == E_MANIFEST)
            stm_copy(kg, s, e->rearrange.arr);
        else
            stm_rearrange(kg, s);
        return;
    case M_reshape: stm_reshape(kg, s); return;
    case M_copy: stm_copy(kg, s, e->copy.arr); return;
    case M_branch: stm_if(kg, s); return;
    case M_loop: kg_loop(kg, s); return;
    case M_assertion: kg_assert(kg, s); return;
    case M_soac: stm_soac(kg, s); return;
    case M_seg: group_seg(kg, s); return;
    case M_trace:
    case M_deriv:
    case M_suff:
    case M_ranks: ice(e->loc, "%s inside a kernel", form_info[e->kind].text);
    case N_MEMBERS: break;
    }
    ice(e->loc, "unknown form inside a kernel");
}

static void passed(KGen *kg, const Stm *s)
{
    ranges_bind(kg->known, &s->pat, s->exp);
    for (int j = 0; j < s->pat.n; j++)
        varmap_del(kg->hints, s->pat.at[j]); /* the same code may be made again elsewhere */
}

/* A scan carries numbers that only others of it need. */
static void find_unread(KGen *kg, const Body *b, int i)
{
    const Stm *s = &b->stms.at[i];
    const Exp *e = s->exp;
    const Atoms *nes = e->kind == E_SEGSCAN ? &e->seg.nes : &e->soac.nes;
    for (int j = 0; exp_is(e, F_SCAN) && j < nes->n; j++)
        if (atom_type(nes->at[j]).rank == 0 && !body_reads_from(kg->cx, b, i + 1, s->pat.at[j]))
            varset_add(kg->unread, s->pat.at[j]);
}

static void body_stms(KGen *kg, const Body *b)
{
    int mark = ranges_mark(kg->known);
    for (int i = 0, n; i < b->stms.n; i += n) {
        find_unread(kg, b, i);
        n = group_scan_stms(kg, b, i);
        if (n == 0) {
            kg_stm(kg, &b->stms.at[i]);
            n = 1;
        }
        for (int k = i; k < i + n; k++)
            passed(kg, &b->stms.at[k]);
    }
    ranges_reset(kg->known, mark);
}

/* The knot: what statements hold is code again. This file makes statements, by all the others,
 * which come back to it by kg_stms alone. */
KGen *kg_new(PlanBuild *pb, const char *kind, const Exp *seg)
{
    return kg_begin(pb, kind, seg, body_stms);
}
