/* Branches in reverse: the side that was taken is. What free variables have come to so far goes
 * through both sides; pieces of arrays outside of a map around (pieces.c) leave both alike, with
 * contributions to nowhere from the side that has none. */
#include "ad/reverse.h"

/* One side: what is added to adjoints there begins with what has come together outside, of the
 * variables that occur in a side. */
static Rev rev_side(Rev *r, const Stm *s, const Body *b, const Atoms *seeds, const Vars *known)
{
    Rev in = rev_inner(r);
    if (r->inside)
        bound_in_body(r->inside, b);
    for (int i = 0; i < known->n; i++) {
        const Adjoint *a = varmap_get(r->adjoint, known->at[i]);
        if (a && a->known && !rev_apart(r, known->at[i]))
            rev_set(&in, known->at[i], a->dense);
    }
    ad_activity(r->active, b);
    for (int i = 0; i < s->pat.n; i++)
        if (atom_type(seeds->at[i]).elem == s->pat.at[i]->type.elem &&
            ad_is_float(s->pat.at[i]->type))
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

/* A place of positions that can be computed outside stays one: the other side adds zero there, be
 * that place in the array or not. */
static bool stays_place(Sides *S, int k, const Piece *p, Piece *out)
{
    Ctx *cx = S->r->cx;
    Lift L = rev_lift_new(&S->side[k], S->r, S->loc, atom_i64(1));
    L.bound = S->bound[k];
    *out = (Piece){.is_place = true, .may_miss = true, .loc = p->loc, .val = p->val};
    for (int d = 0; d < p->at.n; d++) {
        DimIndex at = p->at.at[d];
        if (at.is_slice || !rev_outside(&L, &at.start))
            return false;
        vec_push(cx->perm, &out->at, at);
    }
    return p->is_place;
}

/* The pieces of v on one side as lists, which the other side can have too: without contributions.
 * Those whose shape is known on that side alone are settled. */
static void sides_lists(Sides *S, int k, Var *v)
{
    Rev *in = &S->side[k];
    Adjoint *a = rev_adjoint(in, v);
    int n = a->pieces.n;
    a->pieces.n = 0;
    for (int i = 0; i < n; i++) {
        Piece p = a->pieces.at[i], l;
        if (stays_place(S, k, &p, &l)) {
            vec_push(in->cx->perm, &a->pieces, l);
            continue;
        }
        l = rev_as_list(in, v, &p);
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
        Atom none = ad_filled(&in->bl, loc, p->dims.at, p->dims.n, atom_i64(-1));
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
    bool same = !p->is_place && !q->is_place && p->idx.n == q->idx.n && p->dims.n == q->dims.n &&
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
                atom_eq(before->dense, rev_dense(x, v)) && atom_eq(before->dense, rev_dense(y, v));
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
            Piece p = j->p;
            p.idx = (Atoms){0};
            for (int k = 0; k < j->p.idx.n; k++)
                ad_atom(r->cx, &p.idx, vals[k]);
            p.val = vals[j->p.idx.n];
            rev_add_piece(r, atom_var(j->var), p);
        }
    }
}

/* What is bound on a side, by its sweeps too: how many turns a loop there has may be a list's size.
 */
static VarSet *bound_in_side(const Rev *in, const Body *b)
{
    VarSet *bound = varmap_new(in->cx->perm);
    Bld all = bld_new(in->cx);
    vec_append(in->cx->perm, &all.stms, &b->stms);
    vec_append(in->cx->perm, &all.stms, &in->fwd);
    vec_append(in->cx->perm, &all.stms, &in->bl.stms);
    bound_in_body(bound, bld_body(&all, (Atoms){0}));
    return bound;
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
    VarSet *all = varmap_new(r->cx->perm), *occur = varmap_new(r->cx->perm);
    free_in_body(occur, bodies[0]);
    free_in_body(occur, bodies[1]);
    Vars known = varset_list(r->cx->perm, occur);
    for (int k = 0; k < 2; k++) {
        S.side[k] = rev_side(r, s, bodies[k], &seeds, &known);
        S.bound[k] = bound_in_side(&S.side[k], bodies[k]);
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
