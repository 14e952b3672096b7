/* Reverse mode ("AD for an Array Language with Nested Parallelism", SC 2022).
 *
 *     \x -> let a = f x           \x y' -> let a = f x           forward sweep
 *           let b = g a x    =>            let b = g a x
 *           in b                           let a' = g_a' y'      reverse sweep:
 *                                          let x' = g_x' y'      from the last
 *                                          let x'' = x' + f_x' a'   to the first
 *                                          in x''
 *
 * There is no tape: what the reverse sweep needs of its own body is in scope, and what it needs of
 * a body inside is computed again, in a copy of it that stands in front of that body's reverse
 * sweep. Loops keep what they carried, turn by turn, and what takes long (tape.c).
 *
 * Here: bodies, scalars, and the forms that move elements. Before and after: SOAC dialect. What is
 * consumed may still be needed: ir_copy_needed comes behind. */
#include "ad/reverse.h"

/* --- Scalars -------------------------------------------------------------------------------- */

static void rev_prim(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    Atom partial[3];
    ad_partials(&r->bl, e->loc, e, atom_var(s->pat.at[0]), partial);
    for (int i = 0; i < e->prim.args.n; i++) {
        Atom p = partial[i];
        if (!rev_active(r, e->prim.args.at[i]) || (!p.var && p.c.f == 0))
            continue;
        Atom val = seed;
        if (p.var || (p.c.f != 1 && p.c.f != -1))
            val = bld_binop(&r->bl, e->loc, OP_MUL, seed, p);
        else if (p.c.f == -1)
            val = bld_exp(&r->bl, "neg", exp_unop(r->cx, e->loc, OP_NEG, seed));
        rev_add(r, e->loc, e->prim.args.at[i], val);
    }
}

static void rev_conv(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    if (prim_is_float(e->conv.from) && prim_is_float(e->conv.to))
        rev_add(r, e->loc, e->conv.arg,
                bld_exp(&r->bl, "adj", exp_conv(r->cx, e->loc, e->conv.from, seed)));
}

/* --- Forms that move elements --------------------------------------------------------------- */

/* The elements that are overwritten do not matter. */
static void rev_update(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    Atom part = ad_at(&r->bl, e->loc, seed, &e->update.at, e->update.safe);
    rev_add(r, e->loc, e->update.val, part);
    if (rev_active(r, e->update.arr)) {
        Atom zero = ad_zero(&r->bl, e->loc, atom_type(part));
        rev_add(r, e->loc, e->update.arr,
                ad_with(&r->bl, e->loc, seed, &e->update.at, zero, e->update.safe));
    }
}

static void rev_replicate(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    int n = e->replicate.dims.n;
    if (!rev_active(r, e->replicate.val))
        return;
    if (atom_type(e->replicate.val).rank == 0) {
        rev_add(r, e->loc, e->replicate.val, ad_sum_all(&r->bl, e->loc, seed));
        return;
    }
    for (int d = 0; d < n; d++)
        seed = ad_sum_rows(&r->bl, e->loc, seed);
    rev_add(r, e->loc, e->replicate.val, seed);
}

static void rev_arraylit(Rev *r, const Stm *s, Atom seed)
{
    const Atoms *as = &s->exp->arraylit.elems;
    for (int i = 0; i < as->n; i++)
        if (rev_active(r, as->at[i]))
            rev_add(r, s->exp->loc, as->at[i], ad_row(&r->bl, s->exp->loc, seed, atom_i64(i)));
}

static void rev_concat(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    Atom from = atom_i64(0);
    for (int i = 0; i < e->concat.arrs.n; i++) {
        Type t = atom_type(e->concat.arrs.at[i]);
        DimIndexes at = {0};
        for (int d = 0; d < t.rank; d++) {
            DimIndex dim = ad_whole(t, d);
            if (d == e->concat.dim)
                dim.start = from;
            vec_push(r->cx->perm, &at, dim);
        }
        if (rev_active(r, e->concat.arrs.at[i]))
            rev_add(r, e->loc, e->concat.arrs.at[i], ad_at(&r->bl, e->loc, seed, &at, true));
        from = bld_binop(&r->bl, e->loc, OP_ADD, from, t.dims[e->concat.dim]);
    }
}

static void rev_rearrange(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    int rank = s->pat.at[0]->type.rank, *back = NEWN(r->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        back[e->rearrange.perm[d]] = d;
    rev_add(r, e->loc, e->rearrange.arr,
            bld_exp(&r->bl, "adj", exp_rearrange(r->cx, e->loc, back, seed)));
}

/* start + i * stride */
static void rev_iota(Rev *r, const Stm *s, Atom seed)
{
    const Exp *e = s->exp;
    Loc loc = e->loc;
    rev_add(r, loc, e->iota.start, ad_sum_all(&r->bl, loc, seed));
    if (!rev_active(r, e->iota.stride))
        return;
    Exp *is = exp_new(r->cx, E_IOTA, loc);
    PrimType t = s->pat.at[0]->type.elem;
    is->iota.n = e->iota.n;
    is->iota.start = atom_zero(t);
    is->iota.stride = atom_float(t, 1);
    Atoms arrs = {0};
    ad_atom(r->cx, &arrs, bld_exp(&r->bl, "is", is));
    ad_atom(r->cx, &arrs, seed);
    Exp *m = exp_map(r->cx, loc, e->iota.n, arrs, ad_operator(r->cx, loc, OP_MUL, type_prim(t)));
    rev_add(r, loc, e->iota.stride, ad_sum_all(&r->bl, loc, bld_exp(&r->bl, "parts", m)));
}

/* What the function has for it. */
static void rev_own(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    Atoms args = atoms_of_vars(r->cx, &s->pat);
    vec_push(r->cx->perm, fwd, *s);
    for (int j = 0; j < s->pat.n; j++) {
        Var *y = s->pat.at[j];
        bool has = rev_has(r, y);
        ad_atom(r->cx, &args, has ? rev_take(r, y) : ad_zero(&r->bl, e->loc, y->type));
    }
    Atoms adjoints = bld_inline_lambda(&r->bl, e->deriv.back, &args);
    for (int i = 0; i < adjoints.n; i++)
        rev_add(r, e->loc, e->deriv.args.at[i], adjoints.at[i]);
}

/* Forms of one result. */
static void rev_simple(Rev *r, const Stm *s)
{
    const Exp *e = s->exp;
    Atom seed = rev_take(r, s->pat.at[0]);
    switch (exp_member(e)) {
    case M_atom: rev_add(r, e->loc, e->atom, seed); return;
    case M_prim: rev_prim(r, s, seed); return;
    case M_conv: rev_conv(r, s, seed); return;
    case M_index: rev_add_place(r, e->loc, e->index.arr, &e->index.at, e->index.safe, seed); return;
    case M_update: rev_update(r, s, seed); return;
    case M_replicate: rev_replicate(r, s, seed); return;
    case M_arraylit: rev_arraylit(r, s, seed); return;
    case M_concat: rev_concat(r, s, seed); return;
    case M_rearrange: rev_rearrange(r, s, seed); return;
    case M_reshape: rev_add(r, e->loc, e->reshape.arr, seed); return;
    case M_copy: rev_add(r, e->loc, e->copy.arr, seed); return;
    case M_iota: rev_iota(r, s, seed); return;
    default: return; /* nothing goes into it that has an adjoint */
    }
}

/* --- Bodies --------------------------------------------------------------------------------- */

static RevRule *rule_of(const Exp *e)
{
    switch ((int)e->kind) {
    case E_IF: return rev_if;
    case E_LOOP: return rev_loop;
    case E_MAP: return rev_map;
    case E_REDUCE: return rev_reduce;
    case E_SCAN: return rev_scan;
    case E_SCATTER: return rev_scatter;
    case E_HIST: return rev_hist;
    case E_WITH_VJP: return rev_own;
    default: return NULL;
    }
}

static bool stm_has_adjoint(const Rev *r, const Stm *s)
{
    for (int i = 0; i < s->pat.n; i++)
        if (rev_has(r, s->pat.at[i]))
            return true;
    return false;
}

/* The statements in forms with a rule; what is active, and what defines what. */
static Stms expanded(Rev *r, const Body *b)
{
    Stms all = {0};
    for (int i = 0; i < b->stms.n; i++) {
        Stms some = {0};
        ad_activity_stm(r->active, &b->stms.at[i]);
        rev_expand(r, &b->stms.at[i], &some);
        for (int k = 0; k < some.n; k++) {
            const Stm *s = &some.at[k];
            ad_activity_stm(r->active, s);
            for (int j = 0; j < s->pat.n; j++) {
                varmap_put(r->defs, s->pat.at[j], s->exp);
                if (s->exp->kind == E_MAP)
                    varset_add(r->maps, s->pat.at[j]);
                if (r->inside)
                    varset_add(r->inside, s->pat.at[j]);
            }
        }
        vec_append(r->cx->perm, &all, &some);
    }
    return all;
}

void rev_sweep(Rev *r, const Body *b)
{
    Stms stms = expanded(r, b);
    Stms *fwd = NEWN(r->cx->perm, Stms, stms.n);
    for (int i = stms.n - 1; i >= 0; i--) {
        const Stm *s = &stms.at[i];
        fwd[i] = (Stms){0};
        RevRule *rule = rule_of(s->exp);
        if (rule && stm_has_adjoint(r, s)) {
            rule(r, s, &fwd[i]);
            continue;
        }
        vec_push(r->cx->perm, &fwd[i], *s);
        if (stm_has_adjoint(r, s))
            rev_simple(r, s);
    }
    for (int i = 0; i < stms.n; i++)
        vec_append(r->cx->perm, &r->fwd, &fwd[i]);
}
