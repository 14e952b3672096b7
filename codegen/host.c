/* The host level of an entry: its body's statements become host operations. Scalar code runs on the
 * host; arrays live in device memory and views of them are only locations; parallel constructs are
 * handed to seg*.c; what is left of sequential array code becomes a kernel of one work-item. */
#include "codegen/host.h"
#include "ir/ranges.h"

#include "base/intern.h"

#include <string.h>

void host_op(Host *h, HostOp op)
{
    HostOp *p = NEW(h->cx->perm, HostOp);
    *p = op;
    vec_push(h->cx->perm, h->ops, p);
}

Mem *host_mem(Host *h, const char *base)
{
    return mem_new(h->cx, base, h->n_mems++);
}

void host_alloc_mem(Host *h, Mem *m, const Sx *bytes)
{
    int site = plan_site(h->plan, h->at, "out of device memory");
    host_op(h, (HostOp){.kind = H_ALLOC, .loc = h->at, .mem = m, .sx = bytes, .site = site});
}

Mem *host_alloc(Host *h, const char *base, const Sx *bytes)
{
    Mem *m = host_mem(h, base);
    host_alloc_mem(h, m, bytes);
    return m;
}

ArrLoc *host_loc(const Host *h, const Var *arr)
{
    ArrLoc *l = varmap_get(h->locs, arr);
    if (!l)
        ice(arr->loc, "array %s has no memory", var_text(arr));
    return l;
}

void host_bind(Host *h, const Var *arr, ArrLoc loc)
{
    ArrLoc *l = NEW(h->cx->perm, ArrLoc);
    *l = loc;
    varmap_put(h->locs, arr, l);
}

void host_set(Host *h, const Var *v, Atom a)
{
    host_op(h, (HostOp){.kind = H_SET, .loc = v->loc, .var = v, .atom = a});
}

/* --- Statements ------------------------------------------------------------------------------- */

static void check_scalar(Host *h, const Exp *e)
{
    const char *msg;
    Scalars sc = scalars_host(h);
    const KExp *cond = scalar_check(&sc, e, &msg);
    if (cond)
        host_op(h, (HostOp){.kind = H_ASSERT,
                            .loc = e->loc,
                            .cond = cond,
                            .exp = e,
                            .site = plan_site(h->plan, e->loc, msg)});
}

static void scalar_stm(Host *h, const Stm *s)
{
    check_scalar(h, s->exp);
    host_op(h, (HostOp){.kind = H_EXP, .loc = s->exp->loc, .var = s->pat.at[0], .exp = s->exp});
}

static void assert_stm(Host *h, const Exp *e)
{
    KExps args;
    Scalars sc = scalars_host(h);
    int site = assert_site(&sc, h->plan, e, &args);
    host_op(h, (HostOp){.kind = H_ASSERT,
                        .loc = e->loc,
                        .atom = e->assertion.cond,
                        .exp = e,
                        .site = site,
                        .numbers = args});
}

static void suff_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    varmap_put(h->guards, s->pat.at[0], e);
    host_op(h, (HostOp){.kind = H_EXP, .loc = e->loc, .var = s->pat.at[0], .exp = e});
    for (int i = 0; i < h->plan->thresholds.n; i++)
        if (strcmp(h->plan->thresholds.at[i].name, e->suff.name) == 0)
            return;
    vec_push(h->cx->perm, &h->plan->thresholds,
             (Threshold){e->suff.name, e->suff.intra, e->suff.path});
}

static void seg_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->seg.level != 1)
        ice(e->loc, "%s at level %d on the host", form_info[e->kind].text, e->seg.level);
    Atoms widths = {0};
    for (int d = 0; d < e->seg.nest.n; d++)
        vec_push(h->cx->perm, &widths, e->seg.nest.at[d].width);
    host_check_count(h, widths.at, widths.n, 1);
    switch ((int)e->kind) {
    case E_SEGMAP: cg_segmap(h, s); return;
    case E_SEGRED: cg_segred(h, s); return;
    case E_SEGSCAN: cg_segscan(h, s); return;
    case E_SEGSCATTER: cg_segscatter(h, s); return;
    case E_SEGHIST: cg_seghist(h, s); return;
    }
}

static void host_stm(Host *h, const Stm *s)
{
    const Exp *e = s->exp;
    h->at = e->loc;
    switch (e->kind) {
    case E_ATOM:
        if (s->pat.at[0]->type.rank == 0) {
            host_set(h, s->pat.at[0], e->atom);
            return;
        }
        host_array_stm(h, s);
        return;
    case E_PRIM:
    case E_CONV: scalar_stm(h, s); return;
    case E_INDEX:
    case E_UPDATE:
    case E_IOTA:
    case E_REPLICATE:
    case E_SCRATCH:
    case E_ARRAYLIT:
    case E_CONCAT:
    case E_REARRANGE:
    case E_RESHAPE:
    case E_COPY:
    case E_MANIFEST: host_array_stm(h, s); return;
    case E_IF: host_if(h, s); return;
    case E_LOOP:
        if (mem_is_device_loop(s))
            cg_sequential(h, s);
        else
            host_loop(h, s);
        return;
    case E_ASSERT: assert_stm(h, e); return;
    case E_MAP:
    case E_REDUCE:
    case E_SCAN:
    case E_REDOMAP:
    case E_SCANOMAP:
    case E_SCATTER:
    case E_HIST: cg_sequential(h, s); return;
    case E_SUFF: suff_stm(h, s); return;
    case E_SEGMAP:
    case E_SEGRED:
    case E_SEGSCAN:
    case E_SEGSCATTER:
    case E_SEGHIST: seg_stm(h, s); return;
    case N_FORMS: break;
    }
    ice(e->loc, "form %d on the host", (int)e->kind);
}

void host_body(Host *h, const Body *b)
{
    int mark = ranges_mark(h->known);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        host_stm(h, s);
        ranges_bind(h->known, &s->pat, s->exp);
    }
    ranges_reset(h->known, mark);
}

/* --- Entries ---------------------------------------------------------------------------------- */

static ArrLoc value_loc(const Host *h, Atom a)
{
    return atom_type(a).rank > 0 ? *host_loc(h, a.var) : (ArrLoc){0};
}

static void bind_params(Host *h, const Entry *en)
{
    for (int i = 0; i < en->params.n; i++)
        vec_push(h->cx->perm, &h->entry->param_locs, value_loc(h, atom_var(en->params.at[i])));
}

static void bind_results(Host *h, const Entry *en)
{
    h->entry->results = en->body->res;
    for (int i = 0; i < en->body->res.n; i++)
        vec_push(h->cx->perm, &h->entry->result_locs, value_loc(h, en->body->res.at[i]));
}

static EntryPlan *plan_entry(Ctx *cx, Plan *plan, const Entry *en, const EntryMemory *em)
{
    EntryPlan *ep = NEW(cx->perm, EntryPlan);
    ep->entry = en;
    Host h = {.cx = cx,
              .plan = plan,
              .entry = ep,
              .ops = &ep->ops,
              .locs = em->locs,
              .n_mems = em->n_mems,
              .guards = varmap_new(cx->perm),
              .known = ranges_new(cx, varmap_new(cx->perm))};
    bind_params(&h, en);
    host_know_sizes(&h, h.known);
    host_body(&h, en->body);
    h.at = en->loc;
    bind_results(&h, en);
    host_prune(cx, ep);
    host_lifetimes(cx, ep);
    ep->n_mems = h.n_mems;
    return ep;
}

Plan *cg_plan(Ctx *cx, const Prog *p)
{
    Plan *plan = NEW(cx->perm, Plan);
    plan->arena = cx->perm;
    Memory m = mem_assign(cx, p);
    for (int i = 0; i < m.prog->entries.n; i++)
        vec_push(cx->perm, &plan->entries,
                 plan_entry(cx, plan, &m.prog->entries.at[i], &m.entries.at[i]));
    plan_on_targets(cx, plan);
    return plan;
}
