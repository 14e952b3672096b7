/* Several elements a thread (sums.h): what their reductions read of the arrays is read once, and
 * as many chains of operations run side by side. What f and op know of an element lies in
 * registers:
 *
 *     own[R] := what f knows of the thread's elements;  acc[R] := neutral elements
 *     y := element k of the arrays;  acc[i] := op(acc[i], f(own[i], y)) .. */
#include "kernels/level1/sums.h"

enum {
    MOST_EACH = 8, /* R, at most */
    LEAST_EACH = 4,
    OWN_BYTES = 256 /* of a thread's accumulators and its elements, at most */
};

const NestDim *sums_inner(const Sums *r)
{
    return &r->e->seg.nest.at[r->depth - 1];
}

/* --- Which nests ----------------------------------------------------------------------------- */

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
    int each = bytes * MOST_EACH <= OWN_BYTES ? MOST_EACH : LEAST_EACH;
    return mine->n > 0 && bytes * each <= OWN_BYTES ? each : 0;
}

/* --- In a kernel ----------------------------------------------------------------------------- */

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
