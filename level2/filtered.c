/* Filters of what is in parts: each rank keeps of its rows what is to be kept, and what is kept
 * stays in parts, those that ranks happen to have.
 *
 *     let kept = filter p xs  =>  let kept' = filter p xs'        -- segscan^1, segscatter^1
 *                                 let mine  = length kept'
 *                                 let first = what the ranks before have kept
 *                                 let count = what all have kept
 *
 * The scan need not go on over ranks: positions in what is here are all that the scatter needs. */
#include "ir/filters/kept.h"

#include "level2/shares.h"

typedef struct {
    Kept k;
    Share *share; /* of what is filtered */
    Atom first, count, mine;
    Vars here; /* what is kept, in front */
} Filter;

/* Is it what is kept, in front of what the scatter gives? */
static bool is_front(const Kept *k, const Stm *s)
{
    const Exp *e = s->exp;
    if (e->kind != E_INDEX || vars_find(&k->scatter->pat, e->index.arr.var) < 0)
        return false;
    const DimIndexes *at = &e->index.at;
    Type t = e->index.arr.var->type;
    if (!at->at[0].n.var || !varset_has(k->counts, at->at[0].n.var) ||
        !parts_all(&at->at[0], at->at[0].n))
        return false;
    for (int d = 1; d < at->n; d++)
        if (!parts_all(&at->at[d], t.dims[d]))
            return false;
    return true;
}

/* Is what the scatter gives read for what is kept alone? */
static bool fronts_alone(Parts *P, const Body *b, const Kept *k)
{
    VarSet *used = varmap_new(P->cx->perm);
    for (int i = k->to + 1; i < b->stms.n; i++)
        if (!is_front(k, &b->stms.at[i]))
            free_in_stm(used, &b->stms.at[i]);
    for (int j = 0; j < b->res.n; j++)
        if (b->res.at[j].var)
            varset_add(used, b->res.at[j].var);
    for (int j = 0; j < k->scatter->pat.n; j++)
        if (varset_has(used, k->scatter->pat.at[j]))
            return false;
    return true;
}

void filter_find(Parts *P, const Body *b, int at)
{
    Kept k;
    if (!soac_is_shareable(b->stms.at[at].exp) || !kept_find(P->cx, P->us->defs, b, at, &k) ||
        !fronts_alone(P, b, &k))
        return;
    Filter *f = NEW(P->cx->perm, Filter);
    *f = (Filter){.k = k};
    varmap_put(P->kept, k.scan->pat.at[0], f);
    for (int j = 0; j < k.scatter->pat.n; j++)
        varmap_put(P->kept, k.scatter->pat.at[j], f);
    Vars counts = varset_list(P->cx->perm, k.counts);
    for (int j = 0; j < counts.n; j++)
        varmap_put(P->kept, counts.at[j], f);
}

/* How many of this rank's rows are kept, by the scan of them. */
static Atom last_of(Parts *P, const Filter *f, Atom counts, Loc loc)
{
    Ctx *cx = P->cx;
    Bld *bl = &P->at->bl, some = bld_new(cx), none = bld_new(cx);
    Atom n = f->share->count;
    Atom any = bld_exp(bl, "some", exp_binop(cx, loc, OP_LT, atom_i64(0), n));
    Atom last = bld_binop(&some, loc, OP_SUB, n, atom_i64(1));
    Atoms end = {0}, zero = {0};
    vec_push(cx->perm, &end, bld_exp(&some, "end", exp_index(cx, loc, counts, &last, 1, true)));
    vec_push(cx->perm, &zero, atom_i64(0));
    return bld_exp(bl, "mine", exp_if(cx, loc, any, bld_body(&some, end), bld_body(&none, zero)));
}

static void share_scan(Parts *P, Filter *f)
{
    Ctx *cx = P->cx;
    const Stm *s = f->k.scan;
    Loc loc = s->exp->loc;
    f->share = parts_share(P, s->exp->soac.width, loc);
    Vars here = soac_here(P, s, f->share, NULL);
    for (int k = 0; k < s->pat.n; k++)
        parts_put(P, s->pat.at[k], here.at[k], f->share);
    f->mine = last_of(P, f, atom_var(here.at[0]), loc);
    Bld all = bld_new(cx), alone = bld_new(cx);
    Atoms mine = {0}, found = {0}, own = {0};
    vec_push(cx->perm, &mine, f->mine);
    vec_push(cx->perm, &own, atom_i64(0));
    vec_push(cx->perm, &own, f->mine);
    Told told = soac_tell(P, &all, NULL, &mine, loc);
    for (int k = 0; k < 2; k++) {
        Atoms sum = soac_combined(&all, s->exp->soac.op, &s->exp->soac.nes, &told,
                                  k == 0 ? f->share->rank : P->ranks, loc);
        vec_append(cx->perm, &found, &sum);
    }
    Atoms both =
        bld_exps(&P->at->bl, "kept",
                 exp_if(cx, loc, f->share->shared, bld_body(&all, found), bld_body(&alone, own)));
    f->first = both.at[0];
    f->count = both.at[1];
}

static void share_scatter(Parts *P, Filter *f)
{
    Ctx *cx = P->cx;
    Atoms dests = {0};
    for (int k = 0; k < f->k.scatter->pat.n; k++) {
        Exp *e = exp_new(cx, E_SCRATCH, f->k.scatter->exp->loc);
        e->scratch.type = parts_type(cx, f->k.scatter->pat.at[k]->type, f->share);
        vec_push(cx->perm, &dests, bld_exp(&P->at->bl, "blank", e));
    }
    f->here = soac_here(P, f->k.scatter, f->share, &dests);
}

static void share_front(Parts *P, Filter *f, const Stm *s)
{
    Ctx *cx = P->cx;
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    Atom from = atom_var(f->here.at[vars_find(&f->k.scatter->pat, e->index.arr.var)]);
    Share *share = parts_share(P, e->index.at.at[0].n, e->loc);
    Exp *r = exp_new(cx, E_INDEX, e->loc);
    r->index.arr = from;
    r->index.at = parts_slice(cx, from.var->type, atom_i64(0), f->mine);
    r->index.safe = true;
    Var *part = var_new(cx, v->base, parts_type(cx, v->type, share), v->loc);
    bld_define(&P->at->bl, part, r);
    parts_put(P, v, part, share);
}

bool filter_share(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Filter *f = s->pat.n > 0 ? varmap_get(P->kept, s->pat.at[0]) : NULL;
    if (f && s->pat.at[0] == f->k.scan->pat.at[0]) {
        share_scan(P, f);
    } else if (f && s->pat.at[0] == f->k.scatter->pat.at[0]) {
        share_scatter(P, f);
    } else if (f) { /* a count */
        bld_define(&P->at->bl, s->pat.at[0], exp_atom(P->cx, e->loc, f->count));
        parts_know(P, s->pat.at[0]);
        (void)parts_share_kept(P, atom_var(s->pat.at[0]), f->share, f->first, f->mine);
    } else {
        f = e->kind == E_INDEX ? varmap_get(P->kept, e->index.arr.var) : NULL;
        if (!f)
            return false;
        share_front(P, f, s);
    }
    return true;
}
