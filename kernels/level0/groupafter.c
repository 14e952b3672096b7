/* Maps behind a scan of a work-group that read what it gives, element by element: each work-item
 * has its elements in registers when it scans them, and goes on with the maps there. What nobody
 * else reads of the scan's results is never stored. Maps that read rows of global memory are left
 * as they are: dealt out elements are read together, runs of a work-item are not. */
#include "kernels/level1/segments.h"

/* --- Which maps ----------------------------------------------------------------------------- */

typedef struct {
    KGen *kg;
    const Nest *nest; /* of the scan */
    VarSet *elems;    /* arrays of which the element at hand is in registers, and their rows */
} Finder;

static bool same_shape(const Nest *a, const Nest *b)
{
    bool same = a->n == b->n;
    for (int k = 0; same && k < a->n; k++)
        same = atom_eq(a->at[k].width, b->at[k].width);
    return same;
}

static bool is_near(KGen *kg, const Var *arr)
{
    const KLoc *l = kg_arr(kg, arr);
    return l->computed || l->mem->space == KS_LOCAL;
}

/* Adds the rows of those arrays; false if the nest reads others from far away. */
static bool reads_near(const Finder *f, const Nest *nest)
{
    VarSet *rows = varmap_new(f->kg->cx->perm);
    for (int k = 0; k < nest->n; k++) {
        const NestDim *d = &nest->at[k];
        for (int j = 0; j < d->xs.n; j++) {
            const Var *arr = d->arrs.at[j].var, *x = d->xs.at[j];
            if (varset_has(f->elems, arr))
                varset_add(f->elems, x);
            else if (varset_has(rows, arr) || is_near(f->kg, arr))
                varset_add(rows, x);
            else
                return false;
        }
    }
    return true;
}

typedef struct {
    VarSet *arr;    /* the array alone */
    VarSet *varies; /* variables that are not the same for all elements */
    bool fixed;
} Fixed;

static void fixed_in_body(void *env, Body *b)
{
    Fixed *f = env;
    for (int i = 0; i < b->stms.n && f->fixed; i++) {
        const Stm *s = &b->stms.at[i];
        const Exp *e = s->exp;
        if (e->kind == E_IF)
            exp_visit(e, &(ExpVisitor){.env = f, .body = fixed_in_body});
        else if (exp_uses_any(e, f->arr))
            f->fixed = e->kind == E_INDEX && !exp_uses_any(e, f->varies);
        for (int j = 0; j < s->pat.n; j++)
            varset_add(f->varies, s->pat.at[j]);
    }
}

/* Is the one place that all elements read of arr the same? */
static bool reads_one(Ctx *cx, const Nest *nest, const Body *b, const Var *arr)
{
    Fixed f = {varmap_new(cx->perm), varmap_new(cx->perm), true};
    varset_add(f.arr, arr);
    for (int k = 0; k < nest->n; k++) {
        varset_add(f.varies, nest->at[k].idx);
        for (int j = 0; j < nest->at[k].xs.n; j++)
            varset_add(f.varies, nest->at[k].xs.at[j]);
    }
    fixed_in_body(&f, (Body *)(uintptr_t)b);
    return f.fixed;
}

/* Does the code read arrays only that others have made, and near ones or one place? */
static bool body_reads_near(const Finder *f, const Nest *nest, const Body *b)
{
    VarSet *bound = varmap_new(f->kg->cx->perm), *free = varmap_new(f->kg->cx->perm);
    for (int k = 0; k < nest->n; k++)
        for (int j = 0; j < nest->at[k].xs.n; j++)
            varset_add(bound, nest->at[k].xs.at[j]);
    free_in_body(free, b);
    Vars vs = varset_list(f->kg->cx->perm, free);
    for (int i = 0; i < vs.n; i++) {
        const Var *v = vs.at[i];
        if (v->type.rank > 0 &&
            (varset_has(f->elems, v) ||
             (!varset_has(bound, v) && !is_near(f->kg, v) && !reads_one(f->kg->cx, nest, b, v))))
            return false;
    }
    return true;
}

static bool goes_along(Finder *f, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_SEGMAP || !same_shape(&e->seg.nest, f->nest) || !seg_is_straight(e->seg.body))
        return false;
    for (int j = 0; j < s->pat.n; j++)
        if (s->pat.at[j]->type.rank != e->seg.nest.n)
            return false;
    if (!reads_near(f, &e->seg.nest) || !body_reads_near(f, &e->seg.nest, e->seg.body))
        return false;
    for (int j = 0; j < s->pat.n; j++)
        varset_add(f->elems, s->pat.at[j]);
    return true;
}

GroupAfter group_after(KGen *kg, const Body *b, int i)
{
    const Stm *s = &b->stms.at[i];
    const Exp *e = s->exp;
    GroupAfter a = {.maps = s + 1, .kept = NEWN(kg->cx->perm, bool, s->pat.n)};
    Finder f = {kg, &e->seg.nest, varmap_new(kg->cx->perm)};
    for (int j = 0; j < e->seg.nes.n; j++)
        varset_add(f.elems, s->pat.at[j]);
    while (i + 1 + a.n < b->stms.n && goes_along(&f, &a.maps[a.n]))
        a.n++;
    for (int j = 0; j < s->pat.n; j++)
        a.kept[j] = body_reads_from(kg->cx, b, i + 1 + a.n, s->pat.at[j]);
    return a;
}

/* --- Their code ----------------------------------------------------------------------------- */

/* Binds the nest of a map at indices ix; now: the elements in registers, KVar of arrays
 * and their rows. */
static void bind_nest(KGen *kg, const Nest *nest, const KExp *const *ix, VarMap *now)
{
    for (int k = 0; k < nest->n; k++) {
        const NestDim *d = &nest->at[k];
        kg_let(kg, d->idx, kg_at(kg, ix[k]));
        ranges_dim(kg->known, d);
        for (int j = 0; j < d->xs.n; j++) {
            KVar *v = varmap_get(now, d->arrs.at[j].var);
            if (v && k + 1 < nest->n)
                varmap_put(now, d->xs.at[j], v);
            else if (v)
                kg_let(kg, d->xs.at[j], kg_of(kg, v));
            else
                kg_bind_row(kg, d->xs.at[j], d->arrs.at[j], sx_var(kg->cx, d->idx));
        }
    }
}

/* When the element's work fails, the group goes on with zeros. */
static void map_elem(KGen *kg, const Stm *s, const KExp *const *ix, VarMap *now)
{
    const Body *b = s->exp->seg.body;
    KVar **r = NEWN(kg->cx->perm, KVar *, s->pat.n);
    for (int j = 0; j < s->pat.n; j++) {
        const Var *v = s->pat.at[j];
        r[j] = kb_var(kg->kb, v->base, v->type.elem, kg_zero(kg, v->type.elem));
    }
    WorkMark m = kg_work_begin(kg);
    bind_nest(kg, &s->exp->seg.nest, ix, now);
    kg_stms(kg, b);
    for (int j = 0; j < s->pat.n; j++)
        kb_set(kg->kb, r[j], kg_atom(kg, b->res.at[j]));
    kg_work_end(kg, m);
    for (int j = 0; j < s->pat.n; j++)
        varmap_put(now, s->pat.at[j], r[j]);
}

VarMap *group_after_elem(KGen *kg, const Stm *s, const GroupAfter *a, const Accs *ac,
                         const KExp *const *ix)
{
    VarMap *now = varmap_new(kg->cx->perm);
    for (int j = 0; j < ac->n; j++)
        varmap_put(now, s->pat.at[j], ac->acc[j]);
    for (int i = 0; i < a->n; i++)
        map_elem(kg, &a->maps[i], ix, now);
    return now;
}

void group_after_store(KGen *kg, const Stm *s, const GroupAfter *a, const KExp *const *ix,
                       const VarMap *now)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->maps[i].pat.n; j++)
            loc_store(kg, &a->outs[i][j], ix, s->exp->seg.nest.n,
                      kg_of(kg, varmap_get(now, a->maps[i].pat.at[j])));
}
