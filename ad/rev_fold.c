/* Reductions in reverse, of scalars, and what they share with scans (rev_scan.c).
 *
 * `+` hands its adjoint to each element, `min` and `max` to the one that it is. By any
 * other operator, an element stands between what is before and behind it, op (op l x) r, which two
 * scans find: the derivative of that by x. */
#include "ad/reverse.h"

/* --- Reductions ----------------------------------------------------------------------------- */

static void reduce_choice(Rev *r, const Stm *s, PrimOp op, Stms *fwd)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    Bld bl = bld_new(cx);
    Exp *c = exp_new(cx, E_REDUCE, loc);
    *c = *e;
    c->soac.arrs = c->soac.nes = (Atoms){0};
    ad_atom(cx, &c->soac.arrs, e->soac.arrs.at[0]);
    ad_atom(cx, &c->soac.arrs, ad_iota(&bl, loc, e->soac.width));
    ad_atom(cx, &c->soac.nes, e->soac.nes.at[0]);
    ad_atom(cx, &c->soac.nes, e->soac.width); /* no element */
    c->soac.op = ad_choice(cx, loc, op, s->pat.at[0]->type.elem);
    c->soac.comm = true;
    Var *at = var_new(cx, "at", type_prim(T_I64), loc);
    Stm chosen = {.exp = c};
    vec_push(cx->perm, &chosen.pat, s->pat.at[0]);
    vec_push(cx->perm, &chosen.pat, at);
    bld_stm(&bl, chosen);
    vec_append(cx->perm, fwd, &bl.stms);
    Atoms idx = {0};
    ad_atom(cx, &idx, atom_var(at));
    rev_add_list(r, loc, e->soac.arrs.at[0], (Atoms){0}, idx, rev_take(r, s->pat.at[0]));
}

Atoms rev_rows_or(Bld *bl, Loc loc, Atom test, const Atoms *nes, const Atoms *arrs, Atom i)
{
    Bld x = bld_new(bl->cx), y = bld_new(bl->cx);
    Atoms rows = {0};
    for (int j = 0; j < arrs->n; j++)
        ad_atom(bl->cx, &rows, ad_row(&y, loc, arrs->at[j], i));
    Exp *e = exp_if(bl->cx, loc, test, bld_body(&x, *nes), bld_body(&y, rows));
    return bld_exps(bl, "near", e);
}

static Atoms all_reversed(Bld *bl, Loc loc, const Atoms *arrs)
{
    Atoms as = {0};
    for (int i = 0; i < arrs->n; i++)
        ad_atom(bl->cx, &as, ad_reversed(bl, loc, arrs->at[i]));
    return as;
}

Atoms rev_scanned(Bld *bl, Loc loc, Atom width, Atoms arrs, Atoms nes, Lambda *op)
{
    Exp *e = ad_soac(bl->cx, E_SCAN, loc, width, arrs);
    e->soac.nes = nes;
    e->soac.op = op;
    return bld_exps(bl, "scanned", e);
}

static Lambda *flipped(Ctx *cx, const Lambda *op)
{
    Lambda *f = rename_lambda(cx, op);
    Vars ps = {0};
    int n = f->params.n / 2;
    for (int i = 0; i < 2 * n; i++)
        vec_push(cx->perm, &ps, f->params.at[(i + n) % (2 * n)]);
    return lambda_new(cx, ps, f->body);
}

/* \x l r -> op (op l x) r */
static Lambda *between(Ctx *cx, Loc loc, const Lambda *op)
{
    int n = op->params.n / 2;
    Vars ps = {0};
    Bld bl = bld_new(cx);
    for (int k = 0; k < 3 * n; k++)
        vec_push(cx->perm, &ps, var_new(cx, "x", op->params.at[k % n]->type, loc));
    Atoms first = {0};
    for (int k = 0; k < n; k++)
        ad_atom(cx, &first, atom_var(ps.at[n + k]));
    for (int k = 0; k < n; k++)
        ad_atom(cx, &first, atom_var(ps.at[k]));
    Atoms second = bld_inline_lambda(&bl, op, &first);
    Atoms args = {0};
    vec_append(cx->perm, &args, &second);
    for (int k = 0; k < n; k++)
        ad_atom(cx, &args, atom_var(ps.at[2 * n + k]));
    return lambda_new(cx, ps, bld_body(&bl, bld_inline_lambda(&bl, op, &args)));
}

/* Which results have an adjoint, and those. */
static Atoms seeds_of(Rev *r, const Stm *s, bool *seeded)
{
    Atoms as = {0};
    for (int j = 0; j < s->pat.n; j++) {
        seeded[j] = rev_has(r, s->pat.at[j]);
        if (seeded[j])
            ad_atom(r->cx, &as, rev_take(r, s->pat.at[j]));
    }
    return as;
}

Each rev_each(Rev *r, Loc loc, Atom width, const Atoms *arrs)
{
    Ctx *cx = r->cx;
    Each m = {.in = bld_new(cx)};
    ad_atom(cx, &m.arrs, ad_iota(&r->bl, loc, width));
    vec_append(cx->perm, &m.arrs, arrs);
    for (int k = 0; k < m.arrs.n; k++) {
        Type t = type_row(atom_type(m.arrs.at[k]));
        vec_push(cx->perm, &m.params, var_new(cx, k ? "x" : "i", t, loc));
        if (k)
            ad_atom(cx, &m.args, atom_var(m.params.at[k]));
    }
    m.i = atom_var(m.params.at[0]);
    return m;
}

Atoms rev_each_done(Rev *r, Loc loc, Atom width, Each *m, Atoms res)
{
    Lambda *fn = lambda_new(r->cx, m->params, bld_body(&m->in, res));
    return bld_exps(&r->bl, "adj", exp_map(r->cx, loc, width, m->arrs, fn));
}

void rev_add_wanted(Rev *r, const Exp *e, const bool *wanted, const Atoms *out)
{
    int k = 0;
    for (int j = 0; j < e->soac.nes.n; j++)
        if (wanted[j])
            rev_add(r, e->loc, e->soac.arrs.at[j], out->at[k++]);
}

static void reduce_any(Rev *r, const Stm *s)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    int n = e->soac.nes.n;
    bool *seeded = NEWN(cx->perm, bool, n), *wanted = NEWN(cx->perm, bool, 3 * n);
    Atoms seeds = seeds_of(r, s, seeded);
    for (int j = 0; j < n; j++)
        wanted[j] = rev_active(r, e->soac.arrs.at[j]);
    Atom width = e->soac.width;
    Atoms back = all_reversed(&r->bl, loc, &e->soac.arrs);
    Lambda *op = rename_lambda(cx, e->soac.op);
    Atoms before = rev_scanned(&r->bl, loc, width, e->soac.arrs, e->soac.nes, op);
    Atoms behind = rev_scanned(&r->bl, loc, width, back, e->soac.nes, flipped(cx, e->soac.op));
    Atom last = bld_binop(&r->bl, loc, OP_SUB, width, atom_i64(1));
    Each m = rev_each(r, loc, width, &e->soac.arrs);
    Bld *in = &m.in;
    Atom is_first = bld_binop(in, loc, OP_EQ, m.i, atom_i64(0));
    Atom is_last = bld_binop(in, loc, OP_EQ, m.i, last);
    Atom prev = bld_binop(in, loc, OP_SUB, m.i, atom_i64(1));
    Atom next = bld_binop(in, loc, OP_SUB, bld_binop(in, loc, OP_SUB, last, m.i), atom_i64(1));
    Atoms args = {0}, l = rev_rows_or(in, loc, is_first, &e->soac.nes, &before, prev);
    Atoms x = rev_rows_or(in, loc, is_last, &e->soac.nes, &behind, next);
    vec_append(cx->perm, &args, &m.args);
    vec_append(cx->perm, &args, &l);
    vec_append(cx->perm, &args, &x);
    vec_append(cx->perm, &args, &seeds);
    Lambda *d = rev_lambda(r, between(cx, loc, e->soac.op), seeded, wanted);
    Atoms out = rev_each_done(r, loc, width, &m, bld_inline_lambda(in, d, &args));
    rev_add_wanted(r, e, wanted, &out);
}

void rev_reduce(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    PrimOp op = ad_combines_by(e);
    if (op == OP_MIN || op == OP_MAX) {
        reduce_choice(r, s, op, fwd);
        return;
    }
    vec_push(r->cx->perm, fwd, *s);
    if (op != OP_ADD) {
        reduce_any(r, s);
        return;
    }
    Atom seed = rev_take(r, s->pat.at[0]);
    rev_add(r, e->loc, e->soac.arrs.at[0],
            bld_exp(&r->bl, "adj", exp_replicate(r->cx, e->loc, e->soac.width, seed)));
}
