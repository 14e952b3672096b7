/* The host level of an entry: its body's statements become host operations. Scalar code runs on the
 * host; arrays live in device memory and views of them are only locations; parallel constructs are
 * handed to seg*.c; what is left of sequential array code becomes a kernel of one work-item. */
#include "host/host.h"
#include "host/host_walk.h"
#include "ir/ranges.h"

#include "base/intern.h"
#include "base/stage.h"

#include <string.h>

static void set_var(PlanBuild *pb, const Var *v, Atom a)
{
    pb_op(pb, (HostOp){.kind = H_SET, .loc = v->loc, .var = v, .exp = host_atom(pb->cx->perm, a)});
}

/* --- Scalars ---------------------------------------------------------------------------------- */

static void check_scalar(PlanBuild *pb, const Scalars *sc, const Exp *e)
{
    const char *msg;
    const KExp *cond = scalar_check(sc, e, &msg);
    if (cond)
        pb_op(pb, (HostOp){.kind = H_ASSERT,
                           .loc = e->loc,
                           .exp = cond,
                           .site = plan_site(pb->plan, e->loc, msg)});
}

static void scalar_stm(PlanBuild *pb, const Stm *s)
{
    Scalars sc = scalars_host(pb->cx->perm, pb->known);
    check_scalar(pb, &sc, s->exp);
    pb_op(pb, (HostOp){.kind = H_EXP,
                       .loc = s->exp->loc,
                       .var = s->pat.at[0],
                       .exp = scalar_exp(&sc, s->exp)});
}

static void assert_stm(PlanBuild *pb, const Exp *e)
{
    KExps args;
    Scalars sc = scalars_host(pb->cx->perm, pb->known);
    int site = assert_site(&sc, pb->plan, e, &args);
    pb_op(pb, (HostOp){.kind = H_ASSERT,
                       .loc = e->loc,
                       .exp = host_atom(pb->cx->perm, e->assertion.cond),
                       .site = site,
                       .numbers = args});
}

static void suff_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    varmap_put(pb->guards, s->pat.at[0], e);
    pb_op(pb, (HostOp){.kind = H_SUFF, .loc = e->loc, .var = s->pat.at[0], .suff = e});
    for (int i = 0; i < pb->plan->thresholds.n; i++)
        if (strcmp(pb->plan->thresholds.at[i].name, e->suff.name) == 0)
            return;
    vec_push(pb->cx->perm, &pb->plan->thresholds,
             (Threshold){.name = e->suff.name, .intra = e->suff.intra, .path = e->suff.path});
}

static void ranks_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    if (exp_is_rows(e)) {
        host_array_stm(pb, s);
        return;
    }
    pb_op(pb, (HostOp){.kind = H_RANKS,
                       .loc = e->loc,
                       .var = s->pat.at[0],
                       .ranks = e,
                       .threshold = e->ranks.name});
    if (e->kind == E_SHARED)
        vec_push(
            pb->cx->perm, &pb->plan->thresholds,
            (Threshold){
                .name = e->ranks.name, .ranks = true, .loc = e->loc, .entry = pb->entry->name});
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* Results lie in what the construct updates, in what they become part of, or in blocks of their
 * own. */
static ArrLoc *result_locs(PlanBuild *pb, const Stm *s)
{
    const Dests *dests = exp_dests(s->exp);
    ArrLoc *outs = NEWN(pb->cx->perm, ArrLoc, s->pat.n);
    for (int j = 0; j < s->pat.n; j++) {
        Var *v = s->pat.at[j];
        bool there = (dests && dests->n > 0) || varset_has(pb->within, v);
        outs[j] = there ? *pb_loc(pb, v) : host_result(pb, v);
    }
    return outs;
}

/* Does s find numbers that say how work is to be shared out? Arrays may be written to later. */
static bool is_inspector(const Stm *s)
{
    bool numbers = s->exp->kind == E_SEGRED && s->exp->seg.inspects;
    for (int j = 0; j < s->pat.n; j++)
        numbers &= s->pat.at[j]->type.rank == 0;
    return numbers;
}

static void make(PlanBuild *piece, const Stm *s, KernelMaker *maker, const ArrLoc *outs)
{
    if (!is_inspector(s)) {
        maker(piece, s, outs);
        return;
    }
    Recall once;
    Mems found = {0};
    for (int j = 0; j < s->pat.n; j++)
        vec_push(piece->cx->perm, &found, outs[j].mem);
    pb_recall_begin(piece, &once);
    maker(piece, s, outs);
    pb_recall_end(piece, &once, &found);
}

/* Appends what the maker makes of s. */
static void by_kernel(PlanBuild *pb, const Stm *s, KernelMaker *maker)
{
    const ArrLoc *outs = result_locs(pb, s);
    HostOps ops = {0};
    PlanBuild piece = pb_piece(pb, &ops);
    piece.work = work_of(pb, s, outs);
    make(&piece, s, maker, outs);
    pb_splice(pb, &piece);
    for (int j = 0; j < s->pat.n; j++) {
        Var *v = s->pat.at[j];
        if (v->type.rank == 0)
            pb_op(pb, (HostOp){.kind = H_READ,
                               .loc = v->loc,
                               .var = v,
                               .mem = outs[j].mem,
                               .type = v->type.elem,
                               .exp = sx_const(pb->cx, 0)});
    }
}

/* The scan and the scatter that reads it. */
static void scan_and_reader(PlanBuild *pb, const Body *b, int scan, const Stm *reader)
{
    const Stm *s = &b->stms.at[scan];
    ScanReader r = {
        .scatter = reader, .outs = result_locs(pb, s), .dests = result_locs(pb, reader)};
    r.wants = host_scan_wants(pb->cx, b, scan, reader);
    HostOps ops = {0};
    PlanBuild piece = pb_piece(pb, &ops);
    make_scan_scatter(&piece, s, &r);
    pb_splice(pb, &piece);
}

static KernelMaker *const makers[N_FORMS] = {
    [E_SEGMAP] = make_segmap,         [E_SEGRED] = make_segred,   [E_SEGSCAN] = make_segscan,
    [E_SEGSCATTER] = make_segscatter, [E_SEGHIST] = make_seghist,
};

static KernelMaker *const makers_of_rows[N_FORMS] = {
    [E_SEGMAP] = make_segmap_rows,
    [E_SEGRED] = make_segred_rows,
    [E_SEGSCAN] = make_segscan_rows,
};

static KernelMaker *maker_of(const Exp *e)
{
    KernelMaker *along_rows = nest_has_rows(&e->seg.nest) ? makers_of_rows[e->kind] : NULL;
    return along_rows ? along_rows : makers[e->kind];
}

static void check_widths(PlanBuild *pb, const Exp *e)
{
    Atoms widths = {0};
    for (int d = 0; d < e->seg.nest.n; d++)
        vec_push(pb->cx->perm, &widths, e->seg.nest.at[d].width);
    host_check_count(pb, widths.at, widths.n, 1);
}

static void seg_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->seg.level != 1)
        ice(e->loc, "%s at level %d on the host", form_info[e->kind].text, e->seg.level);
    check_widths(pb, e);
    by_kernel(pb, s, maker_of(e));
}

/* --- Branches --------------------------------------------------------------------------------- */

static void host_body(PlanBuild *pb, const Body *b);

/* An array result of a branch or a loop parameter is a block name of its own that is set to
 * whichever block holds the value; that its layout agrees has been seen to (memory/assign.c). */
static void alias_mem(PlanBuild *pb, Mem *dst, Mem *src)
{
    if (dst != src)
        pb_op(pb, (HostOp){.kind = H_ALIAS, .mem = dst, .mem2 = src});
}

static void walk_branch(PlanBuild *pb, const Stm *s, bool truth, HostOps *ops)
{
    const Exp *e = s->exp;
    const Body *b = truth ? e->branch.then_ : e->branch.else_;
    HostOps *outer = pb->ops;
    int mark = ranges_mark(pb->known);
    ranges_cond(pb->known, e->branch.test, truth);
    pb->ops = ops;
    host_body(pb, b);
    ranges_reset(pb->known, mark);
    for (int i = 0; i < s->pat.n; i++) {
        Var *v = s->pat.at[i];
        if (v->type.rank == 0)
            set_var(pb, v, b->res.at[i]);
        else
            alias_mem(pb, pb_loc(pb, v)->mem, pb_loc(pb, b->res.at[i].var)->mem);
    }
    pb->ops = outer;
}

static void declare_results(PlanBuild *pb, const Stm *s)
{
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank == 0)
            pb_op(pb, (HostOp){.kind = H_DECLARE, .loc = s->exp->loc, .var = s->pat.at[i]});
}

static void if_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    const Exp *guard = e->branch.test.var ? varmap_get(pb->guards, e->branch.test.var) : NULL;
    HostOp op = {.kind = H_IF,
                 .loc = e->loc,
                 .exp = host_atom(pb->cx->perm, e->branch.test),
                 .guard = guard != NULL};
    walk_branch(pb, s, true, &op.then_);
    walk_branch(pb, s, false, &op.else_);
    declare_results(pb, s);
    if (guard && guard->suff.intra)
        host_find_fits(pb, &op, pb->ops);
    pb_op(pb, op);
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* params := inits */
static void loop_inits(PlanBuild *pb, const Exp *e)
{
    for (int i = 0; i < e->loop.params.n; i++) {
        Var *v = e->loop.params.at[i];
        Atom init = e->loop.inits.at[i];
        if (v->type.rank == 0)
            set_var(pb, v, init);
        else
            alias_mem(pb, pb_loc(pb, v)->mem, pb_loc(pb, init.var)->mem);
    }
}

static int param_index(const Vars *params, Atom a)
{
    for (int i = 0; i < params->n; i++)
        if (a.var == params->at[i])
            return i;
    return -1;
}

/* Scalar params := the body's results, all at once. */
static void next_scalars(PlanBuild *pb, const Exp *e)
{
    const Vars *params = &e->loop.params;
    const Atoms *res = &e->loop.body->res;
    Atom *next = NEWN(pb->cx->perm, Atom, params->n);
    for (int i = 0; i < params->n; i++) {
        next[i] = res->at[i];
        int from = params->at[i]->type.rank == 0 ? param_index(params, res->at[i]) : -1;
        if (from >= 0 && from < i) { /* overwritten by then */
            Var *tmp = var_like(pb->cx, params->at[i]);
            set_var(pb, tmp, res->at[i]);
            next[i] = atom_var(tmp);
        }
    }
    for (int i = 0; i < params->n; i++)
        if (params->at[i]->type.rank == 0 && next[i].var != params->at[i])
            set_var(pb, params->at[i], next[i]);
}

/* Array params := the body's results, all at once. */
static void next_arrays(PlanBuild *pb, const Exp *e)
{
    int n = e->loop.params.n;
    Mem **mems = NEWN(pb->cx->perm, Mem *, n), **next = NEWN(pb->cx->perm, Mem *, n);
    for (int i = 0; i < n; i++) {
        if (e->loop.params.at[i]->type.rank == 0)
            continue;
        mems[i] = pb_loc(pb, e->loop.params.at[i])->mem;
        next[i] = pb_loc(pb, e->loop.body->res.at[i].var)->mem;
        for (int k = 0; k < i; k++)
            if (next[i] == mems[k] && next[k] != mems[k]) { /* overwritten by then */
                Mem *tmp = pb_mem(pb, "next");
                alias_mem(pb, tmp, next[i]);
                next[i] = tmp;
                break;
            }
    }
    /* The temporaries must be set before any parameter: they were, above. */
    for (int i = 0; i < n; i++)
        if (next[i])
            alias_mem(pb, mems[i], next[i]);
}

static void loop_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    HostOps *outer = pb->ops;
    HostOp op = {.kind = H_LOOP,
                 .loc = e->loc,
                 .loop_kind = e->loop.kind,
                 .var = e->loop.kind == LOOP_FOR ? e->loop.i : e->loop.cond,
                 .exp = e->loop.kind == LOOP_FOR ? host_atom(pb->cx->perm, e->loop.bound) : NULL};
    loop_inits(pb, e);
    pb->ops = &op.then_;
    int mark = ranges_mark(pb->known);
    ranges_loop(pb->known, e);
    host_body(pb, e->loop.body);
    ranges_reset(pb->known, mark);
    next_arrays(pb, e);
    next_scalars(pb, e);
    pb->ops = outer;
    pb_op(pb, op);
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank == 0)
            set_var(pb, s->pat.at[i], atom_var(e->loop.params.at[i]));
}

/* --- Statements ------------------------------------------------------------------------------- */

static void host_stm(PlanBuild *pb, const Stm *s)
{
    const Exp *e = s->exp;
    pb->at = e->loc;
    switch (exp_member(e)) {
    case M_atom:
        if (s->pat.at[0]->type.rank == 0) {
            set_var(pb, s->pat.at[0], e->atom);
            return;
        }
        host_array_stm(pb, s);
        return;
    case M_prim:
    case M_conv: scalar_stm(pb, s); return;
    case M_call: ice(e->loc, "a call at the host level");
    case M_iota:
        if (prim_is_float(s->pat.at[0]->type.elem) && /* the runtime counts in integers */
            !pb_loc(pb, s->pat.at[0])->mem->computed)
            by_kernel(pb, s, make_sequential);
        else
            host_array_stm(pb, s);
        return;
    case M_index:
    case M_update:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_rearrange:
    case M_reshape:
    case M_copy: host_array_stm(pb, s); return;
    case M_branch: if_stm(pb, s); return;
    case M_loop:
        if (mem_is_device_loop(s))
            by_kernel(pb, s, make_sequential);
        else
            loop_stm(pb, s);
        return;
    case M_assertion: assert_stm(pb, e); return;
    case M_deriv:
    case M_trace: ice(e->loc, "%s behind the passes", form_info[e->kind].text);
    case M_soac: by_kernel(pb, s, make_sequential); return;
    case M_suff: suff_stm(pb, s); return;
    case M_ranks: ranks_stm(pb, s); return;
    case M_seg: seg_stm(pb, s); return;
    case N_MEMBERS: break;
    }
    ice(e->loc, "form %d on the host", (int)e->kind);
}

/* A scan, and before its time the scatter that reads it and the arrays that this writes. */
static void scan_early(PlanBuild *pb, const Body *b, int scan, const Stm *reader, PtrSet *done)
{
    const Dests *dests = exp_dests(reader->exp);
    for (int i = scan + 1; i < b->stms.n; i++)
        for (int j = 0; j < dests->n; j++)
            if (b->stms.at[i].pat.n == 1 && b->stms.at[i].pat.at[0] == dests->at[j].arr.var) {
                host_stm(pb, &b->stms.at[i]);
                ptrset_add(done, &b->stms.at[i]);
            }
    pb->at = b->stms.at[scan].exp->loc;
    check_widths(pb, b->stms.at[scan].exp);
    scan_and_reader(pb, b, scan, reader);
    ptrset_add(done, reader);
}

/* Appends the statements' operations. */
static void host_body(PlanBuild *pb, const Body *b)
{
    int mark = ranges_mark(pb->known);
    PtrSet *done = ptrmap_new(pb->cx->perm);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i], *reader = host_scan_reader(pb->cx, b, i);
        if (reader)
            scan_early(pb, b, i, reader, done);
        else if (!ptrset_has(done, s))
            host_stm(pb, s);
        ranges_bind(pb->known, &s->pat, s->exp);
    }
    ranges_reset(pb->known, mark);
}

/* --- Entries ---------------------------------------------------------------------------------- */

static ArrLoc value_loc(const PlanBuild *pb, Atom a)
{
    return atom_type(a).rank > 0 ? *pb_loc(pb, a.var) : (ArrLoc){0};
}

static void bind_params(const PlanBuild *pb, EntryPlan *ep)
{
    const Vars *params = &ep->entry->params;
    for (int i = 0; i < params->n; i++)
        vec_push(pb->cx->perm, &ep->param_locs, value_loc(pb, atom_var(params->at[i])));
}

static void bind_results(const PlanBuild *pb, EntryPlan *ep)
{
    ep->results = ep->entry->body->res;
    for (int i = 0; i < ep->results.n; i++)
        vec_push(pb->cx->perm, &ep->result_locs, value_loc(pb, ep->results.at[i]));
}

static EntryPlan *plan_entry(Ctx *cx, Plan *plan, const Entry *en, const EntryMemory *em)
{
    EntryPlan *ep = NEW(cx->perm, EntryPlan);
    ep->entry = en;
    PlanBuild pb = {.cx = cx,
                    .plan = plan,
                    .entry = en,
                    .locs = em->locs,
                    .within = em->within,
                    .made = em->made,
                    .groups = em->groups,
                    .known = ranges_new(cx, varmap_new(cx->perm)),
                    .n_mems = em->n_mems,
                    .ops = &ep->ops,
                    .guards = varmap_new(cx->perm)};
    bind_params(&pb, ep);
    pb_know_sizes(&pb, pb.known);
    host_body(&pb, en->body);
    bind_results(&pb, ep);
    host_prune(cx, ep);
    host_late_reads(cx, ep);
    host_steps(cx, plan, ep);
    host_lifetimes(cx, ep);
    host_moves(cx, ep);
    host_gathers(cx, ep);
    host_choices(cx, plan, ep);
    ep->n_mems = pb.n_mems;
    return ep;
}

/* Entries may share a parameter. */
static void add_user_params(Plan *plan, const UserParams *ps)
{
    for (int i = 0; i < ps->n; i++) {
        bool known = false;
        for (int k = 0; k < plan->user_params.n; k++)
            known |= strcmp(plan->user_params.at[k], ps->at[i].name) == 0;
        if (!known)
            vec_push(plan->arena, &plan->user_params, ps->at[i].name);
    }
}

Plan *host_plan(Ctx *cx, const Prog *p, bool fast_math)
{
    Plan *plan = NEW(cx->perm, Plan);
    plan->fast_math = fast_math;
    plan->arena = cx->perm;
    stage_enter("assign");
    Memory m = mem_assign(cx, p);
    stage_enter("host");
    for (int i = 0; i < m.prog->entries.n; i++) {
        vec_push(cx->perm, &plan->entries,
                 plan_entry(cx, plan, &m.prog->entries.at[i], &m.entries.at[i]));
        add_user_params(plan, &m.prog->entries.at[i].user_params);
    }
    plan_finish(cx, plan);
    return plan;
}
