/* A part of an array as a list of its elements' positions, and parts that overlap as one.
 *
 *     vss [n][k] at xs[i + j]    =>    map (\p -> sum (map (\j -> vss[p - j, j]) ..)) ..
 *
 * for the n + k - 1 positions p, where 0 <= p - j < n: the adjoint of a convolution is one. What is
 * summed over is the axis that has fewer, so that with strides of 1 this is at most twice the work
 * that a list is, without atomics; strides are small (pieces.c). */
#include "ad/reverse.h"

const Bend *rev_bend(const Piece *p, int d)
{
    for (int i = 0; i < p->bends.n; i++)
        if (p->bends.at[i].dim == d)
            return &p->bends.at[i];
    return NULL;
}

const Slide *rev_slide(const Piece *p, int d)
{
    for (int i = 0; i < p->slides.n; i++)
        if (p->slides.at[i].dim == d)
            return &p->slides.at[i];
    return NULL;
}

/* Are there positions first, then all of the other dimensions? */
static bool is_rows(const Piece *p, Type t, int *positions)
{
    int k = 0;
    while (k < p->at.n && !p->at.at[k].is_slice)
        k++;
    *positions = k;
    for (int d = k; d < p->at.n; d++)
        if (!p->at.at[d].is_slice || rev_bend(p, d) || rev_slide(p, d) ||
            !atom_is_int(p->at.at[d].start, 0) || !atom_is_int(p->at.at[d].stride, 1) ||
            !atom_eq(p->at.at[d].n, t.dims[d]))
            return false;
    return true;
}

/* The position x with b's bend. */
static Atom bent(Bld *bl, Loc loc, const Bend *b, Atom x)
{
    if (b && b->wraps)
        return bld_binop(bl, loc, OP_MOD, x, b->hi);
    if (b && b->above > 0)
        x = bld_binop(bl, loc, OP_MIN, x, b->hi);
    return b && b->below > 0 ? bld_binop(bl, loc, OP_MAX, x, b->lo) : x;
}

/* What a dimension's position is made of: the axis of its slide and its own; below 0: it has none.
 */
typedef struct {
    const DimIndex *at;
    const Bend *bend;
    const Slide *slide;
    int moved, own;
} Axes;

/* An array of shape dims of the positions that x says; `chosen`: what axes before `at` say. */
static Atom positions(Bld *bl, Loc loc, const Atoms *dims, int at, const Axes *x, Atom chosen)
{
    if (at == dims->n)
        return bent(bl, loc, x->bend, chosen);
    Ctx *cx = bl->cx;
    Bld in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    bool counts = at == x->moved || at == x->own;
    Exp *e = exp_new(cx, E_IOTA, loc);
    e->iota.n = dims->at[at];
    e->iota.start = counts ? chosen : atom_i64(0);
    e->iota.stride = at == x->own     ? x->at->stride
                     : at == x->moved ? atom_i64(x->slide->stride)
                                      : atom_i64(1);
    ad_atom(cx, &arrs, bld_exp(bl, "is", e));
    if (dims->n == 1 && counts && !x->bend)
        return arrs.at[0];
    vec_push(cx->perm, &ps, var_new(cx, "i", type_prim(T_I64), loc));
    Atom mine = counts ? atom_var(ps.at[0]) : chosen;
    ad_atom(cx, &res, positions(&in, loc, dims, at + 1, x, mine));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "at", exp_map(cx, loc, dims->at[at], arrs, fn));
}

Piece rev_as_list(Rev *r, const Var *v, const Piece *p)
{
    int k;
    Piece l = {.loc = p->loc, .val = p->val};
    if (!p->is_place)
        return *p;
    bool rows = is_rows(p, v->type, &k);
    for (int d = 0; !rows && d < p->at.n; d++) {
        const Slide *s = rev_slide(p, d);
        if (s)
            ad_atom(r->cx, &l.dims, s->n);
        if (p->at.at[d].is_slice)
            ad_atom(r->cx, &l.dims, p->at.at[d].n);
    }
    int axis = 0;
    for (int d = 0; d < (rows ? k : p->at.n); d++) {
        Axes x = {&p->at.at[d], rev_bend(p, d), rev_slide(p, d), -1, -1};
        if (x.slide)
            x.moved = axis++;
        if (x.at->is_slice)
            x.own = axis++;
        ad_atom(r->cx, &l.idx, positions(&r->bl, v->loc, &l.dims, 0, &x, x.at->start));
    }
    return l;
}

/* --- Slices that overlap ---------------------------------------------------------------------- */

/* A moved slice of the place: n * w values cover `all` positions, from `low` below the start on.
 * Which of the values, numbers i and j, are at position p of these? That of the longer axis follows
 * from that of the shorter one. */
typedef struct {
    int64_t stride, own; /* of the slide, and of the slice */
    Atom n, w, all, low, fewer;
    Atom moved; /* bool: n is fewer */
    Atom p;
    Atom t, i, j, ok; /* as it is summed */
} Cover;

static Atom op(Bld *bl, Loc loc, PrimOp o, Atom a, Atom b)
{
    return bld_binop(bl, loc, o, a, b);
}

static Atom chosen(Bld *bl, Loc loc, Atom test, Atom a, Atom b)
{
    Bld yes = bld_new(bl->cx), no = bld_new(bl->cx);
    if (!test.var)
        return test.c.i ? a : b;
    return atom_eq(a, b) ? a : ad_if(bl, loc, test, &yes, a, &no, b);
}

/* |stride| * (n - 1): from the first position to the last one. */
static Atom reach(Bld *bl, Loc loc, int64_t stride, Atom n)
{
    Atom last = op(bl, loc, OP_SUB, n, atom_i64(1));
    return op(bl, loc, OP_MUL, atom_i64(stride < 0 ? -stride : stride), last);
}

/* So few that they are summed without asking whether the others are fewer: a loop of constant
 * length. */
static bool is_few(Atom n)
{
    enum { MOST_FEW = 16 };
    return !n.var && n.c.i <= MOST_FEW;
}

static Cover cover_of(Bld *bl, Loc loc, const DimIndex *at, const Slide *s)
{
    Cover c = {.stride = s->stride, .own = at->stride.c.i, .n = s->n, .w = at->n};
    Atom moved = reach(bl, loc, c.stride, c.n), own = reach(bl, loc, c.own, c.w);
    c.fewer = op(bl, loc, OP_MIN, c.n, c.w);
    Atom some = op(bl, loc, OP_MIN, c.fewer, atom_i64(1)); /* 0 if there are none, else 1 */
    c.all = op(bl, loc, OP_ADD, op(bl, loc, OP_ADD, moved, own), atom_i64(1));
    c.all = op(bl, loc, OP_MUL, some, c.all);
    c.low = op(bl, loc, OP_ADD, c.stride < 0 ? moved : atom_i64(0), c.own < 0 ? own : atom_i64(0));
    bool few_own = is_few(c.w);
    c.moved = few_own || is_few(c.n) ? atom_bool(!few_own) : op(bl, loc, OP_LT, c.n, c.w);
    if (!c.moved.var)
        c.fewer = few_own ? c.w : c.n;
    return c;
}

/* The values at c->p, number c->t of the shorter axis. */
static void look_up(Bld *bl, Loc loc, Cover *c)
{
    Atom mine = chosen(bl, loc, c->moved, atom_i64(c->stride), atom_i64(c->own));
    Atom step = chosen(bl, loc, c->moved, atom_i64(c->own), atom_i64(c->stride));
    Atom most = chosen(bl, loc, c->moved, c->w, c->n);
    Atom left = op(bl, loc, OP_SUB, c->p, op(bl, loc, OP_MUL, mine, c->t));
    Atom q = left;
    c->ok = atom_bool(true);
    if (!atom_is_int(step, 1)) { /* never 0: strides that are not 0 */
        q = op(bl, loc, OP_QUOT, left, step);
        c->ok = op(bl, loc, OP_EQ, op(bl, loc, OP_MUL, q, step), left);
    }
    Atom in = op(bl, loc, OP_LAND, op(bl, loc, OP_LE, atom_i64(0), q), op(bl, loc, OP_LT, q, most));
    c->ok = c->ok.var ? op(bl, loc, OP_LAND, c->ok, in) : in;
    c->i = chosen(bl, loc, c->moved, c->t, q);
    c->j = chosen(bl, loc, c->moved, q, c->t);
}

typedef struct {
    Loc loc;
    const Piece *p;
    Cover *covers; /* by dimension */
    Atom *at;      /* by dimension: a position of a slice that is not moved */
} Covering;

/* The value where the covers look, zero if there is none. */
static Atom value_at(const Covering *C, Bld *bl)
{
    Atoms idx = {0};
    Atom ok = atom_bool(true);
    for (int d = 0; d < C->p->at.n; d++) {
        const Cover *c = &C->covers[d];
        if (rev_slide(C->p, d)) {
            ad_atom(bl->cx, &idx, c->i);
            ad_atom(bl->cx, &idx, c->j);
            ok = ok.var ? op(bl, C->loc, OP_LAND, ok, c->ok) : c->ok;
        } else if (C->p->at.at[d].is_slice) {
            ad_atom(bl->cx, &idx, C->at[d]);
        }
    }
    Bld yes = bld_new(bl->cx), no = bld_new(bl->cx);
    Exp *e = exp_index(bl->cx, C->loc, C->p->val, idx.at, idx.n, true);
    Atom there = bld_exp(&yes, "adj", e);
    return ad_if(bl, C->loc, ok, &yes, there, &no, atom_zero(atom_type(C->p->val).elem));
}

/* The sum over the shorter axes of moved slices, from the k-th on. */
static Atom covered_sum(const Covering *C, Bld *bl, int k)
{
    Ctx *cx = bl->cx;
    if (k == C->p->slides.n)
        return value_at(C, bl);
    Cover *c = &C->covers[C->p->slides.at[k].dim];
    Bld in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    vec_push(cx->perm, &ps, var_new(cx, "t", type_prim(T_I64), C->loc));
    c->t = atom_var(ps.at[0]);
    look_up(&in, C->loc, c);
    ad_atom(cx, &res, covered_sum(C, &in, k + 1));
    ad_atom(cx, &arrs, ad_iota(bl, C->loc, c->fewer));
    Exp *e = ad_soac(cx, E_REDOMAP, C->loc, c->fewer, arrs);
    e->soac.fn = lambda_new(cx, ps, bld_body(&in, res));
    ad_sums_of(cx, e, 1);
    return bld_exp(bl, "sum", e);
}

/* The values of all positions that the slices cover, from dimension d of the place on. */
static Atom covered(const Covering *C, Bld *bl, int d)
{
    Ctx *cx = bl->cx;
    if (d == C->p->at.n)
        return covered_sum(C, bl, 0);
    if (!C->p->at.at[d].is_slice)
        return covered(C, bl, d + 1);
    Bld in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    Cover *c = &C->covers[d];
    bool moved = rev_slide(C->p, d) != NULL;
    Atom n = moved ? c->all : C->p->at.at[d].n;
    vec_push(cx->perm, &ps, var_new(cx, "p", type_prim(T_I64), C->loc));
    C->at[d] = atom_var(ps.at[0]);
    c->p = moved ? op(&in, C->loc, OP_SUB, C->at[d], c->low) : C->at[d];
    ad_atom(cx, &res, covered(C, &in, d + 1));
    ad_atom(cx, &arrs, ad_iota(bl, C->loc, n));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "covered", exp_map(cx, C->loc, n, arrs, fn));
}

Piece rev_covered(Rev *r, const Piece *p)
{
    Piece q = *p;
    Covering C = {p->loc, p, NEWN(r->cx->perm, Cover, p->at.n), NEWN(r->cx->perm, Atom, p->at.n)};
    q.at = (DimIndexes){0};
    q.slides = (Slides){0};
    for (int d = 0; d < p->at.n; d++) {
        DimIndex at = p->at.at[d];
        const Slide *s = rev_slide(p, d);
        if (s) {
            Cover *c = &C.covers[d];
            *c = cover_of(&r->bl, p->loc, &at, s);
            at =
                (DimIndex){true, op(&r->bl, p->loc, OP_SUB, at.start, c->low), c->all, atom_i64(1)};
        }
        vec_push(r->cx->perm, &q.at, at);
    }
    q.val = covered(&C, &r->bl, 0);
    return q;
}
