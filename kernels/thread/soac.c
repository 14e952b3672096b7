/* Sequential SOACs: one plain loop each, whatever was fused into it. A reduction's or scan's
 * accumulator is carried by the loop as any other value (carry.c). */
#include "kernels/kernel.h"

void kg_bind_params(KGen *kg, Var *const *params, const Atom *args, int n)
{
    for (int i = 0; i < n; i++) {
        if (params[i]->type.rank == 0)
            kg_let(kg, params[i], kg_atom(kg, args[i]));
        else
            kg_bind_arr(kg, params[i], *kg_arr(kg, args[i].var));
    }
}

void kg_bind_rows(KGen *kg, Var *const *params, const Atoms *arrs, const KExp *i)
{
    for (int k = 0; k < arrs->n; k++)
        kg_bind_row(kg, params[k], arrs->at[k], i);
}

/* What the loop of a SOAC works with. */
typedef struct {
    const Exp *e;
    int n_acc; /* reduced or scanned values */
    bool scan;
    const KExp *i;
    Carries *acc; /* NULL: the accumulators are `before` */
    KLoc *outs;   /* result arrays, by position in the pattern */
    KLoc *before; /* scans of rows in a thread: the same, from a row before on */
} Loop;

/* Row i of the result array of pattern variable j. */
static KLoc out_row(KGen *kg, const Loop *lp, const Stm *s, int j)
{
    return loc_row(kg, &lp->outs[j], s->pat.at[j]->type.rank, lp->i);
}

/* The mapped function: binds its parameters, writes what is mapped out. Returns the values to be
 * accumulated: its first results. */
static const Atom *apply_fn(KGen *kg, const Loop *lp, const Stm *s)
{
    const Lambda *fn = lp->e->soac.fn;
    kg_bind_rows(kg, fn->params.at, &lp->e->soac.arrs, lp->i);
    for (int j = lp->n_acc; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank > 1)
            place_hint(kg, fn->body, fn->body->res.at[j], out_row(kg, lp, s, j));
    kg_stms(kg, fn->body);
    for (int j = lp->n_acc; j < s->pat.n; j++) {
        KLoc row = out_row(kg, lp, s, j);
        Atom r = fn->body->res.at[j];
        kg_store(kg, &row, atom_type(r), r);
    }
    return fn->body->res.at;
}

/* A scan of rows by a thread need not carry them: what it has accumulated is the row of the result
 * before, in front of whose first one the neutral rows lie. They must stay as they are. */
static bool scans_rows(KGen *kg, const Loop *lp, const Stm *s)
{
    const Body *op = lp->scan ? lp->e->soac.op->body : NULL;
    for (int i = 0; op && i < op->stms.n; i++)
        if (exp_consumes(kg->cx, op->stms.at[i].exp).n > 0)
            return false;
    for (int j = 0; op && j < lp->n_acc; j++) {
        const Var *v = s->pat.at[j];
        if (v->type.rank < 2 || !kg_is_scratch(kg, v, v->type))
            return false;
    }
    return op != NULL;
}

static void begin_rows(KGen *kg, Loop *lp, const Stm *s)
{
    lp->before = NEWN(kg->cx->perm, KLoc, lp->n_acc);
    for (int j = 0; j < lp->n_acc; j++) {
        const Var *v = s->pat.at[j];
        Atom ne = lp->e->soac.nes.at[j];
        kg_alloc_after_row(kg, v, v->type, &lp->before[j], &lp->outs[j]);
        KLoc row = loc_row(kg, &lp->before[j], v->type.rank, sx_const(kg->cx, 0));
        kg_store(kg, &row, atom_type(ne), ne);
    }
}

static void row_turn(KGen *kg, const Loop *lp, const Stm *s)
{
    const Lambda *op = lp->e->soac.op;
    for (int j = 0; j < lp->n_acc; j++) {
        KLoc row = loc_row(kg, &lp->before[j], s->pat.at[j]->type.rank, lp->i);
        kg_bind_arr(kg, op->params.at[j], row);
        place_hint(kg, op->body, op->body->res.at[j], out_row(kg, lp, s, j));
    }
}

/* The operator: (acc, x) -> acc; a scan also writes it. */
static void apply_op(KGen *kg, const Loop *lp, const Stm *s, const Atom *xs)
{
    const Lambda *op = lp->e->soac.op;
    int n = lp->n_acc;
    if (xs)
        kg_bind_params(kg, op->params.at + n, xs, n);
    else
        kg_bind_rows(kg, op->params.at + n, &lp->e->soac.arrs, lp->i);
    if (lp->acc) {
        carry_turn(kg, lp->acc);
        carry_hint(kg, lp->acc, op->body, op->body->res.at);
    } else {
        row_turn(kg, lp, s);
    }
    kg_stms(kg, op->body);
    for (int j = 0; lp->scan && j < n; j++) {
        if (varset_has(kg->unread, s->pat.at[j]))
            continue;
        KLoc row = out_row(kg, lp, s, j);
        Atom r = op->body->res.at[j];
        kg_store(kg, &row, atom_type(r), r);
    }
    if (lp->acc)
        carry_step(kg, lp->acc, op->body->res.at);
}

/* Opens the loop over the elements from number `from` on; the number of the one at hand. */
static const KExp *open_turns(KGen *kg, const Stm *s, const KExp *from)
{
    const Exp *e = s->exp;
    const KExp *i = kb_for(kg->kb, "i", from, kg_atom(kg, e->soac.width), kg_int(kg, 1));
    kg_unroll(kg, e);
    for (int j = 0; kg->coop && j < s->pat.n; j++) {
        const ArrMade *m = group_made(kg, s->pat.at[j]);
        if (m && m->turn) {
            varmap_put(kg->vars, m->turn, i->var);
            return sx_var(kg->cx, m->turn);
        }
    }
    return kg_sx_of(kg, i);
}

/* --- Reductions in lanes --- */

typedef struct {
    Loop *lp;
    const Stm *s;
} Reduced;

/* Element i, for lanes.c. */
static const Atom *reduced_element(KGen *kg, void *env, const KExp *i)
{
    const Reduced *r = env;
    const Exp *e = r->lp->e;
    r->lp->i = kg_sx_of(kg, i);
    if (exp_is(e, F_FN))
        return apply_fn(kg, r->lp, r->s);
    int n = r->lp->n_acc;
    Var *const *xs = e->soac.op->params.at + n;
    Atom *atoms = NEWN(kg->cx->perm, Atom, n);
    kg_bind_rows(kg, xs, &e->soac.arrs, r->lp->i);
    for (int j = 0; j < n; j++)
        atoms[j] = atom_var(xs[j]);
    return atoms;
}

/* May a reduction of scalars combine them in any order, by little code? */
static bool is_for_lanes(const KGen *kg, const Exp *e)
{
    int n = e->soac.nes.n;
    if (kg->coop || !exp_is_fold(e) || !seg_is_short(e->soac.op->body, true) ||
        (exp_is(e, F_FN) && !seg_is_short(e->soac.fn->body, true)))
        return false;
    for (int j = 0; j < n; j++)
        if (atom_type(e->soac.nes.at[j]).rank > 0)
            return false;
    return e->soac.comm || lambda_commutes(e->soac.op, n);
}

/* The accumulators, which are parameters of the operator, take what lanes have for them. From what
 * number on elements are left. */
static const KExp *reduce_in_lanes(KGen *kg, Loop *lp, const Stm *s)
{
    const Exp *e = s->exp;
    int n = lp->n_acc;
    KVar **acc = NEWN(kg->cx->perm, KVar *, n);
    for (int j = 0; j < n; j++)
        acc[j] = varmap_get(kg->vars, e->soac.op->params.at[j]);
    Reduced r = {lp, s};
    Combined all = {e->soac.op, n, &e->soac.nes, reduced_element, &r};
    const KExp *from = kg_lanes(kg, &all, acc, kg_atom(kg, e->soac.width));
    for (int j = 0; j < n; j++)
        varmap_put(kg->vars, e->soac.op->params.at[j], acc[j]);
    return from;
}

void kg_soac(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    bool accumulates = e->kind != E_MAP;
    Loop lp = {.e = e, .n_acc = accumulates ? e->soac.nes.n : 0};
    lp.scan = exp_is(e, F_SCAN);
    lp.outs = NEWN(kg->cx->perm, KLoc, s->pat.n);
    int first_array = lp.scan ? 0 : lp.n_acc;
    bool rows = scans_rows(kg, &lp, s);
    for (int j = rows ? lp.n_acc : first_array; j < s->pat.n; j++)
        if (!varset_has(kg->unread, s->pat.at[j]))
            lp.outs[j] = kg_alloc(kg, s->pat.at[j], s->pat.at[j]->type);
    const Lambda *op = e->soac.op;
    if (rows)
        begin_rows(kg, &lp, s);
    else if (accumulates)
        lp.acc = carry_begin(kg, &op->params, lp.n_acc, &e->soac.nes, op->body, op->body->res.at,
                             lp.scan ? NULL : s->pat.at);
    bool lanes = accumulates && !rows && is_for_lanes(kg, e);
    lp.i = open_turns(kg, s, lanes ? reduce_in_lanes(kg, &lp, s) : kg_int(kg, 0));
    HeapMark turn = heap_mark(kg);
    const Atom *xs = exp_is(e, F_FN) ? apply_fn(kg, &lp, s) : NULL;
    if (accumulates)
        apply_op(kg, &lp, s, xs);
    heap_release(kg, turn);
    kb_end(kg->kb);
    if (accumulates && !lp.scan)
        carry_end(kg, lp.acc, s->pat.at);
    for (int j = first_array; j < s->pat.n; j++)
        if (!varset_has(kg->unread, s->pat.at[j]))
            kg_bind_arr(kg, s->pat.at[j], lp.outs[j]);
}

const KExp *kg_in_bounds(KGen *kg, Atom i, Atom n)
{
    const KExp *x = kg_atom(kg, i);
    return kg_and(kg, kg_le(kg, kg_int(kg, 0), x), kg_lt(kg, x, kg_atom(kg, n)));
}

/* --- Scatter ------------------------------------------------------------------------------- */

void kg_scatter_write(KGen *kg, const Dest *d, const KLoc *loc, const Atom *ix, Atom val)
{
    Type t = d->arr.var->type;
    const KExp **at = NEWN(kg->cx->perm, const KExp *, d->rank);
    const KExp *in = kx_bool(kg->cx->perm, true);
    for (int k = 0; k < d->rank; k++) {
        at[k] = kg_sx(kg, ix[k]);
        in = kg_and(kg, in, kg_in_bounds(kg, ix[k], t.dims[k]));
    }
    kb_if(kg->kb, in);
    KLoc row = loc_row_n(kg, loc, t.rank, at, d->rank);
    kg_store(kg, &row, atom_type(val), val);
    kb_end(kg->kb);
}

KLoc *kg_dests(KGen *kg, const Stm *s, const Dests *dests)
{
    KLoc *locs = NEWN(kg->cx->perm, KLoc, dests->n);
    for (int j = 0; j < dests->n; j++) {
        const Var *arr = dests->at[j].arr.var;
        locs[j] = *kg_arr(kg, arr);
        if (kg_in_place(kg, s->pat.at[j], &locs[j]))
            continue;
        locs[j] = kg_alloc(kg, s->pat.at[j], arr->type);
        kg_copy(kg, &locs[j], kg_arr(kg, arr), arr->type);
    }
    return locs;
}

void kg_scatter(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    const Lambda *fn = e->soac.fn;
    int n = e->soac.dests.n, at = 0;
    KLoc *locs = kg_dests(kg, s, &e->soac.dests);
    const KExp *i = open_turns(kg, s, kg_int(kg, 0));
    HeapMark turn = heap_mark(kg);
    kg_bind_rows(kg, fn->params.at, &e->soac.arrs, i);
    kg_stms(kg, fn->body);
    const Atom *res = fn->body->res.at;
    int n_ix = 0;
    for (int j = 0; j < n; j++)
        n_ix += e->soac.dests.at[j].rank;
    for (int j = 0; j < n; j++) {
        const Dest *d = &e->soac.dests.at[j];
        kg_scatter_write(kg, d, &locs[j], res + at, res[n_ix + j]);
        at += d->rank;
    }
    heap_release(kg, turn);
    kb_end(kg->kb);
    for (int j = 0; j < n; j++)
        kg_bind_arr(kg, s->pat.at[j], locs[j]);
}
