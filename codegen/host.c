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
    Mem *m = NEW(h->cx->perm, Mem);
    m->id = m->root = h->n_mems++;
    m->name = arena_printf(h->cx->perm, "%s_mem_%d", c_ident(base), m->id);
    return m;
}

Mem *host_alloc(Host *h, const char *base, const Sx *bytes)
{
    Mem *m = host_mem(h, base);
    int site = plan_site(h->plan, h->at, "out of device memory");
    host_op(h, (HostOp){.kind = H_ALLOC, .loc = h->at, .mem = m, .sx = bytes, .site = site});
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

/* --- Questions -------------------------------------------------------------------------------- */

typedef struct {
    bool (*is)(const Exp *e);
    bool found;
} Find;

static bool find_exp(const Exp *e, bool (*is)(const Exp *e));

static void find_body(void *env, Body *b)
{
    Find *f = env;
    for (int i = 0; i < b->stms.n && !f->found; i++)
        f->found = find_exp(b->stms.at[i].exp, f->is);
}

/* Does `is` hold of e or an expression in a body inside (lambdas of SOACs left out)? */
static bool find_exp(const Exp *e, bool (*is)(const Exp *e))
{
    Find f = {is, is(e)};
    ExpVisitor v = {.env = &f, .body = find_body};
    if (!f.found)
        exp_visit(e, &v);
    return f.found;
}

static bool is_parallel(const Exp *e)
{
    return exp_is_seg(e) || exp_is_guard(e);
}

/* Touches single elements of arrays: on the host each one would be a transfer. */
static bool touches_elements(const Exp *e)
{
    if (e->kind == E_INDEX) {
        for (int k = 0; k < e->index.at.n; k++)
            if (e->index.at.at[k].is_slice)
                return false;
        return true;
    }
    return e->kind == E_REDUCE || e->kind == E_REDOMAP;
}

/* A loop that computes scalars from array elements, one after the other, is one kernel of one
 * work-item rather than as many transfers as it has steps. */
static bool wants_device(const Stm *s)
{
    if (s->exp->kind != E_LOOP || exp_any(s->exp, is_parallel))
        return false;
    for (int i = 0; i < s->pat.n; i++)
        if (s->pat.at[i]->type.rank > 0)
            return false;
    return find_exp(s->exp, touches_elements);
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
                            .text = kir_exp_c(cond),
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
                        .args_i64 = exp_texts(h->cx, &args)});
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

/* A construct that makes kernels; the arrays that it consumes are made ours first. */
static void device_stm(Host *h, const Stm *s, void (*cg)(Host *h, const Stm *s))
{
    Protected p = host_protect(h, s->exp);
    cg(h, s);
    host_unprotect(h, &p);
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
    case E_SEGMAP: device_stm(h, s, cg_segmap); return;
    case E_SEGRED: device_stm(h, s, cg_segred); return;
    case E_SEGSCAN: device_stm(h, s, cg_segscan); return;
    case E_SEGSCATTER: device_stm(h, s, cg_segscatter); return;
    case E_SEGHIST: device_stm(h, s, cg_seghist); return;
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
        if (wants_device(s))
            device_stm(h, s, cg_sequential);
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
    case E_HIST: device_stm(h, s, cg_sequential); return;
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

static void bind_params(Host *h, const Entry *en)
{
    int k = 0;
    for (int x = 0; x < en->ext_params.n; x++) {
        const ExtParam *ep = &en->ext_params.at[x];
        for (int i = 0; i < ep->type.n_vals; i++, k++) {
            ASSERT(k < en->params.n);
            const Var *v = en->params.at[k];
            ArrLoc l = {0};
            if (v->type.rank > 0) {
                Mem *m = host_mem(h, v->base);
                m->is_param = true;
                m->borrowed = !ep->unique;
                l = (ArrLoc){m, lmad_permuted(h->cx, v->type, NULL)};
                host_bind(h, v, l);
            }
            vec_push(h->cx->perm, &h->entry->param_locs, l);
        }
    }
    if (k != en->params.n)
        ice(en->loc, "entry %s: %d values of parameters described, %d there", en->name, k,
            en->params.n);
}

static void bind_results(Host *h, const Entry *en)
{
    h->entry->results = en->body->res;
    for (int i = 0; i < en->body->res.n; i++) {
        Atom a = en->body->res.at[i];
        Type t = atom_type(a);
        ArrLoc l = {0};
        if (t.rank > 0) {
            l = *host_loc(h, a.var);
            if (!sx_is_const(l.at.offset, 0) || !lmad_is_row_major(h->cx, l.at, t))
                l = host_copied(h, en->loc, a, NULL);
        }
        vec_push(h->cx->perm, &h->entry->result_locs, l);
    }
}

static EntryPlan *plan_entry(Ctx *cx, Plan *plan, const Entry *en)
{
    EntryPlan *ep = NEW(cx->perm, EntryPlan);
    ep->entry = en;
    Host h = {.cx = cx,
              .plan = plan,
              .entry = ep,
              .ops = &ep->ops,
              .locs = varmap_new(cx->perm),
              .guards = varmap_new(cx->perm),
              .known = ranges_new(cx, varmap_new(cx->perm)),
              .guard_mark = -1};
    bind_params(&h, en);
    host_know_sizes(&h, h.known);
    host_body(&h, en->body);
    h.at = en->loc;
    bind_results(&h, en);
    host_prune(cx, ep);
    host_lifetimes(cx, ep);
    return ep;
}

Plan *cg_plan(Ctx *cx, const Prog *p)
{
    Plan *plan = NEW(cx->perm, Plan);
    plan->arena = cx->perm;
    for (int i = 0; i < p->entries.n; i++)
        vec_push(cx->perm, &plan->entries, plan_entry(cx, plan, &p->entries.at[i]));
    return plan;
}
