/* Reverse mode ("AD for an Array Language with Nested Parallelism", SC 2022).
 *
 *     \x -> let a = f x                     \x y' -> let a = f x        forward sweep
 *           let b = g a x                            let b = g a x
 *           in b                      =>             let a' = g_a' y'   reverse sweep: from the last
 *                                                    let x' = g_x' y'   statement to the first
 *                                                    let x'' = x' + f_x' a'
 *                                                    in x''
 *
 * There is no tape: what the reverse sweep needs of its own body is in scope, and what it needs of
 * a body inside is computed again, in a copy of it that stands in front of that body's reverse
 * sweep. Loops alone keep what they carried, turn by turn (rev_loop.c).
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
    Atom part = ad_at(&r->bl, e->loc, seed, &e->update.at);
    rev_add(r, e->loc, e->update.val, part);
    if (rev_active(r, e->update.arr)) {
        Atom zero = ad_zero(&r->bl, e->loc, atom_type(part));
        rev_add(r, e->loc, e->update.arr, ad_with(&r->bl, e->loc, seed, &e->update.at, zero));
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
            rev_add(r, s->exp->loc, as->at[i],
                    ad_row(&r->bl, s->exp->loc, seed, atom_i64(i)));
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
            rev_add(r, e->loc, e->concat.arrs.at[i], ad_at(&r->bl, e->loc, seed, &at));
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

/* Forms of one result. */
static void rev_simple(Rev *r, const Stm *s)
{
    const Exp *e = s->exp;
    Atom seed = rev_take(r, s->pat.at[0]);
    switch (exp_member(e)) {
    case M_atom: rev_add(r, e->loc, e->atom, seed); return;
    case M_prim: rev_prim(r, s, seed); return;
    case M_conv: rev_conv(r, s, seed); return;
    case M_index: rev_add_place(r, e->loc, e->index.arr, &e->index.at, seed); return;
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

/* --- Branches ------------------------------------------------------------------------------- */

/* One side: what is added to adjoints there begins with what has come together outside. */
static Rev rev_side(Rev *r, const Stm *s, const Body *b, const Atoms *seeds)
{
    Rev in = rev_inner(r);
    if (r->inside)
        bound_in_body(r->inside, b);
    Vars known = varset_list(r->cx->perm, r->adjoint);
    for (int i = 0; i < known.n; i++) {
        const Adjoint *a = varmap_get(r->adjoint, known.at[i]);
        if (a->known && !rev_apart(r, known.at[i]))
            rev_set(&in, known.at[i], a->dense);
    }
    ad_activity(r->active, b);
    for (int i = 0; i < s->pat.n; i++)
        if (atom_type(seeds->at[i]).elem == s->pat.at[i]->type.elem && ad_is_float(s->pat.at[i]->type))
            rev_add(&in, s->exp->loc, b->res.at[i], seeds->at[i]);
    rev_body(&in, b);
    return in;
}

typedef struct {
    Rev *r;
    Rev side[2];
    VarSet *bound[2];
    Atoms res[2];
    Loc loc;
} Sides;

/* The pieces of v on one side as lists, which the other side can have too: without contributions.
 * Those whose shape is known on that side alone are settled. */
static void sides_lists(Sides *S, int k, Var *v)
{
    Rev *in = &S->side[k];
    Adjoint *a = rev_adjoint(in, v);
    int n = a->pieces.n;
    a->pieces.n = 0;
    for (int i = 0; i < n; i++) {
        Piece p = a->pieces.at[i], l = rev_as_list(in, v, &p);
        bool fits = true;
        Type t = atom_type(l.val);
        for (int d = 0; d < t.rank; d++)
            fits = fits && !(t.dims[d].var && varset_has(S->bound[k], t.dims[d].var));
        for (int d = 0; d < l.dims.n; d++)
            fits = fits && !(l.dims.at[d].var && varset_has(S->bound[k], l.dims.at[d].var));
        if (fits)
            vec_push(in->cx->perm, &a->pieces, l);
        else
            rev_settle(in, v, &p);
    }
}

/* No contribution, of p's shape. */
static Atoms nothing_like(Rev *in, Loc loc, const Piece *p)
{
    Atoms as = {0};
    for (int i = 0; i < p->idx.n; i++) {
        Atom none = atom_i64(-1);
        if (p->dims.n) {
            Exp *e = exp_new(in->cx, E_REPLICATE, loc);
            e->replicate.dims = p->dims;
            e->replicate.val = none;
            none = bld_exp(&in->bl, "none", e);
        }
        ad_atom(in->cx, &as, none);
    }
    ad_atom(in->cx, &as, ad_zero(&in->bl, loc, atom_type(p->val)));
    return as;
}

typedef struct {
    Var *var;
    bool dense;
    Piece p;
    int first; /* of the results */
} Joined;
typedef VEC(Joined) Joineds;

static void sides_push(Sides *S, Joineds *js, Var *v, bool dense, const Piece *p, const Atoms *a,
                       const Atoms *b)
{
    Joined j = {v, dense, dense ? (Piece){0} : *p, S->res[0].n};
    vec_push(S->r->cx->perm, js, j);
    vec_append(S->r->cx->perm, &S->res[0], a);
    vec_append(S->r->cx->perm, &S->res[1], b);
}

static Atoms piece_atoms(Ctx *cx, const Piece *p)
{
    Atoms as = {0};
    vec_append(cx->perm, &as, &p->idx);
    ad_atom(cx, &as, p->val);
    return as;
}

static bool same_shape(const Piece *p, const Piece *q)
{
    bool same = p->idx.n == q->idx.n && p->dims.n == q->dims.n &&
                type_eq(atom_type(p->val), atom_type(q->val));
    for (int d = 0; same && d < p->dims.n; d++)
        same = atom_eq(p->dims.at[d], q->dims.at[d]);
    return same;
}

/* Pieces of both sides in pairs, where they have the same shape. */
static void sides_pieces(Sides *S, Joineds *js, Var *v)
{
    sides_lists(S, 0, v);
    sides_lists(S, 1, v);
    Ctx *cx = S->r->cx;
    Adjoint *a = rev_adjoint(&S->side[0], v), *b = rev_adjoint(&S->side[1], v);
    for (int i = 0; i < a->pieces.n || i < b->pieces.n; i++) {
        const Piece *p = i < a->pieces.n ? &a->pieces.at[i] : NULL;
        const Piece *q = i < b->pieces.n ? &b->pieces.at[i] : NULL;
        if (p && q && same_shape(p, q)) {
            Atoms x = piece_atoms(cx, p), y = piece_atoms(cx, q);
            sides_push(S, js, v, false, p, &x, &y);
            continue;
        }
        if (p) {
            Atoms x = piece_atoms(cx, p), y = nothing_like(&S->side[1], S->loc, p);
            sides_push(S, js, v, false, p, &x, &y);
        }
        if (q) {
            Atoms x = nothing_like(&S->side[0], S->loc, q), y = piece_atoms(cx, q);
            sides_push(S, js, v, false, q, &x, &y);
        }
    }
    a->pieces.n = b->pieces.n = 0;
}

static void sides_var(Sides *S, Joineds *js, Var *v)
{
    Rev *x = &S->side[0], *y = &S->side[1];
    if (rev_apart(S->r, v))
        sides_pieces(S, js, v);
    bool known = rev_adjoint(x, v)->known || rev_adjoint(y, v)->known;
    const Adjoint *before = varmap_get(S->r->adjoint, v);
    bool same = before && before->known && !rev_apart(S->r, v) &&
                atom_eq(before->dense, rev_dense(x, v)) &&
                atom_eq(before->dense, rev_dense(y, v));
    if (!known || same)
        return;
    Atoms a = {0}, b = {0};
    ad_atom(S->r->cx, &a, rev_dense(x, v));
    ad_atom(S->r->cx, &b, rev_dense(y, v));
    sides_push(S, js, v, true, NULL, &a, &b);
}

/* What both sides give becomes the adjoints outside. */
static void sides_join(Sides *S, const Joineds *js, const Atoms *out)
{
    Rev *r = S->r;
    for (int i = 0; i < js->n; i++) {
        const Joined *j = &js->at[i];
        const Atom *vals = out->at + j->first;
        if (j->dense && rev_apart(r, j->var)) {
            rev_add(r, S->loc, atom_var(j->var), vals[0]);
        } else if (j->dense) {
            rev_set(r, j->var, vals[0]);
        } else {
            Atoms idx = {0};
            for (int k = 0; k < j->p.idx.n; k++)
                ad_atom(r->cx, &idx, vals[k]);
            rev_add_list(r, S->loc, atom_var(j->var), j->p.dims, idx, vals[j->p.idx.n]);
        }
    }
}

void rev_if(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    Sides S = {.r = r, .loc = e->loc};
    Atoms seeds = {0};
    vec_push(r->cx->perm, fwd, *s);
    for (int i = 0; i < s->pat.n; i++)
        ad_atom(r->cx, &seeds,
                rev_has(r, s->pat.at[i]) ? rev_take(r, s->pat.at[i]) : atom_bool(false));
    Body *bodies[2] = {rename_body(r->cx, e->branch.then_), rename_body(r->cx, e->branch.else_)};
    VarSet *all = varmap_new(r->cx->perm);
    for (int k = 0; k < 2; k++) {
        S.side[k] = rev_side(r, s, bodies[k], &seeds);
        S.bound[k] = varmap_new(r->cx->perm);
        bound_in_body(S.bound[k], bodies[k]);
        Vars vs = varset_list(r->cx->perm, S.side[k].adjoint);
        for (int i = 0; i < vs.n; i++)
            if (!varset_has(S.bound[k], vs.at[i]))
                varset_add(all, vs.at[i]);
    }
    Joineds js = {0};
    Vars vs = varset_list(r->cx->perm, all);
    for (int i = 0; i < vs.n; i++)
        sides_var(&S, &js, vs.at[i]);
    if (js.n == 0)
        return;
    Body *x = rev_close(&S.side[0], S.res[0]), *y = rev_close(&S.side[1], S.res[1]);
    Exp *back = exp_if(r->cx, e->loc, e->branch.test, x, y);
    Atoms out = bld_exps(&r->bl, "adj", back);
    sides_join(&S, &js, &out);
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
                if (r->inside)
                    varset_add(r->inside, s->pat.at[j]);
            }
        }
        vec_append(r->cx->perm, &all, &some);
    }
    return all;
}

void rev_body(Rev *r, const Body *b)
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

/* The checks of the forward sweep are made where the function itself runs. */
Body *rev_close(Rev *r, Atoms res)
{
    Bld all = bld_new(r->cx);
    for (int i = 0; i < r->fwd.n; i++)
        if (r->fwd.at[i].pat.n)
            bld_stm(&all, r->fwd.at[i]);
    vec_append(r->cx->perm, &all.stms, &r->bl.stms);
    return ad_needed(r->cx, bld_body(&all, res));
}

Lambda *rev_lambda(const Rev *r, const Lambda *fn, const bool *seeded, const bool *wanted)
{
    Rev in = rev_inner(r);
    Lambda *own = rename_lambda(r->cx, fn);
    Vars ps = {0};
    Atoms res = {0};
    vec_append(r->cx->perm, &ps, &own->params);
    in.inside = NULL;
    for (int i = 0; i < own->params.n; i++)
        if (wanted[i] && ad_is_float(own->params.at[i]->type))
            varset_add(r->active, own->params.at[i]);
    ad_activity(r->active, own->body);
    for (int j = 0; j < own->body->res.n; j++)
        if (seeded[j]) {
            Atom a = own->body->res.at[j];
            Var *seed = ad_var(r->cx, "seed", atom_type(a), fn->params.at[0]->loc);
            vec_push(r->cx->perm, &ps, seed);
            rev_add(&in, seed->loc, a, atom_var(seed));
        }
    rev_body(&in, own->body);
    for (int i = 0; i < own->params.n; i++)
        if (wanted[i])
            ad_atom(r->cx, &res, rev_take(&in, own->params.at[i]));
    return lambda_new(r->cx, ps, rev_close(&in, res));
}
