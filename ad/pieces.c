/* How contributions leave maps and loops.
 *
 *     map (\i -> .. xs[i + 1, j] ..) (iota n)      a place [i + 1, j]  =>  a place [1 : n, j]
 *     map (\i -> .. xs[j] ..) (iota n)             a place [j]         =>  the sum at [j]
 *     map (\i -> .. xs[max 0 (i - 1)] ..) (iota n) ...                 =>  a place [-1 : n], bent
 *     map (\i -> .. xs[i : i+k] ..) (iota n)       a place [i : k]     =>  a place [0 : k], moved
 *     map (\i -> .. xs[is[i]] ..) (iota n)         a place [is[i]]     =>  a list of n
 *
 * A position that is a linear function of the iteration's number becomes a slice, and the values
 * are where they belong: no two iterations meet. Slices that it moves overlap, and are summed when
 * they have come where the array is (places.c). Where the edges of arrays are taken for what is
 * outside, few positions meet. One that does not vary stays, and the values are summed: a
 * reduction. Only what is neither becomes a list, and in the end a histogram. */
#include "ad/reverse.h"

/* --- Linear positions ----------------------------------------------------------------------- */

typedef struct {
    int64_t stride;
    Atom start; /* outside */
    bool bent;
    Bend bend;
    int64_t last; /* where the last iterations are: bend.hi = width + last */
} Linear;

/* More elements than these share an edge as the exception. */
enum { MOST_AT_EDGE = 8 };

static bool linear(Lift *L, Atom a, Linear *out);

/* a and b times it, both linear: is the result? */
static bool combined(PrimOp op, Linear x, Linear y, int64_t *stride)
{
    if (op == OP_MUL && ((x.stride && (y.stride || y.start.var)) || (y.stride && x.start.var)))
        return false;
    if (x.bent || y.bent)
        return false;
    *stride = op == OP_ADD   ? x.stride + y.stride
              : op == OP_SUB ? x.stride - y.stride
              : x.stride     ? x.stride * y.start.c.i
              : y.stride     ? y.stride * x.start.c.i
                             : 0;
    return true;
}

/* Is a = width + *k? */
static bool from_width(const Lift *L, Atom a, int64_t *k)
{
    const Exp *e = a.var ? varmap_get(L->in->defs, a.var) : NULL;
    *k = !a.var && !L->width.var ? a.c.i - L->width.c.i : 0;
    if (atom_eq(a, L->width) || (!a.var && !L->width.var))
        return true;
    if (e && e->kind == E_ATOM)
        return from_width(L, e->atom, k);
    bool shifted = e && e->kind == E_PRIM && (e->prim.op == OP_SUB || e->prim.op == OP_ADD);
    if (!shifted || e->prim.args.at[1].var || !from_width(L, e->prim.args.at[0], k))
        return false;
    *k += e->prim.op == OP_SUB ? -e->prim.args.at[1].c.i : e->prim.args.at[1].c.i;
    return true;
}

/* The lesser of x and bound = width + k: where the last iterations are. */
static bool bent_above(Linear *x, Atom bound, int64_t k)
{
    int64_t above = x->start.c.i - 1 - k;
    if (above <= 0)
        return true;
    bool meets = x->bend.below > 0 && x->bend.lo.c.i > 1 + k;
    if (x->bend.above > 0 || above > MOST_AT_EDGE || meets)
        return false;
    x->bend.above = above;
    x->bend.hi = bound;
    x->last = k;
    return x->bent = true;
}

/* The greater of x and the constant lo: where the first iterations are. */
static bool bent_below(Linear *x, Atom lo)
{
    int64_t below = lo.c.i - x->start.c.i;
    if (below <= 0)
        return true;
    bool meets = x->bend.above > 0 && lo.c.i > 1 + x->last;
    if (x->bend.below > 0 || below > MOST_AT_EDGE || meets)
        return false;
    x->bend.below = below;
    x->bend.lo = lo;
    return x->bent = true;
}

/* x, which varies, bounded by y, or modulo it; `bound`: y as it is inside. */
static bool linear_bent(const Lift *L, PrimOp op, Linear x, Linear y, Atom bound, Linear *out)
{
    int64_t k;
    bool clamps = !x.start.var && !x.bend.wraps;
    *out = x;
    if (x.stride != 1 || y.stride)
        return false;
    if (op == OP_MAX)
        return clamps && !y.start.var && bent_below(out, y.start);
    if (!from_width(L, bound, &k))
        return false;
    if (op == OP_MIN)
        return clamps && bent_above(out, y.start, k);
    out->bend = (Bend){.wraps = true, .hi = y.start};
    out->bent = true;
    return !x.bent && k == 0;
}

static bool bends(const Exp *e)
{
    PrimOp op = e->prim.op;
    return e->prim.type == T_I64 && (op == OP_MIN || op == OP_MAX || op == OP_MOD);
}

/* Can e fail where the iterations are? It is made although there may be none. */
static bool traps_outside(const Lift *L, const Exp *e)
{
    Atom by = e->prim.args.n == 2 ? e->prim.args.at[1] : (Atom){0};
    bool counted = e->prim.op == OP_MOD && by.var && varset_has(L->out->widths, by.var);
    return exp_traps(e) && !counted;
}

static bool linear_prim(Lift *L, const Exp *e, Linear *out)
{
    Linear xs[3];
    bool constant = true;
    Exp *copy = exp_new(L->in->cx, E_PRIM, e->loc);
    copy->prim.op = e->prim.op;
    copy->prim.type = e->prim.type;
    for (int i = 0; i < e->prim.args.n; i++) {
        if (!linear(L, e->prim.args.at[i], &xs[i]))
            return false;
        constant = constant && xs[i].stride == 0;
        ad_atom(L->in->cx, &copy->prim.args, xs[i].start);
    }
    bool sums = e->prim.type == T_I64 &&
                (e->prim.op == OP_ADD || e->prim.op == OP_SUB || e->prim.op == OP_MUL);
    *out = (Linear){0};
    if (!constant && bends(e)) {
        bool turned = xs[0].stride == 0 && e->prim.op != OP_MOD;
        return linear_bent(L, e->prim.op, xs[turned], xs[!turned], e->prim.args.at[!turned], out);
    }
    if (sums ? !combined(e->prim.op, xs[0], xs[1], &out->stride) : !constant || traps_outside(L, e))
        return false;
    out->start = sums ? bld_binop(&L->out->bl, L->loc, e->prim.op, xs[0].start, xs[1].start)
                      : bld_exp(&L->out->bl, "outer", copy);
    return true;
}

/* Is a = start + stride * the iteration's number? What does not vary although it is computed inside
 * is computed outside again. */
static bool linear(Lift *L, Atom a, Linear *out)
{
    *out = (Linear){.start = a};
    if (!ad_varies(L->bound, a))
        return true;
    if (varset_has(L->own, a.var)) {
        *out = (Linear){.stride = 1, .start = atom_i64(0)};
        return true;
    }
    const Exp *e = varmap_get(L->in->defs, a.var);
    if (e && e->kind == E_ATOM)
        return linear(L, e->atom, out);
    if (e && e->kind == E_PRIM)
        return linear_prim(L, e, out);
    if (!e || e->kind != E_CONV || !linear(L, e->conv.arg, out))
        return false;
    if (out->stride)
        return prim_is_signed(e->conv.from) && e->conv.to == T_I64 && out->stride == 1 &&
               atom_is_int(out->start, 0) && !out->bent;
    out->start = bld_exp(&L->out->bl, "outer", exp_conv(L->in->cx, L->loc, e->conv.to, out->start));
    return true;
}

bool rev_outside(Lift *L, Atom *a)
{
    Linear x;
    if (!linear(L, *a, &x) || x.stride)
        return false;
    *a = x.start;
    return true;
}

/* A size, outside: where there is no iteration, what one would compute of it may be none. */
static bool size_outside(Lift *L, Atom *a)
{
    const Exp *e = a->var ? varmap_get(L->in->defs, a->var) : NULL;
    bool known = !e || e->kind != E_PRIM || varset_has(L->in->sizes, a->var);
    if (!rev_outside(L, a))
        return false;
    if (!known)
        *a = bld_binop(&L->out->bl, L->loc, OP_MAX, *a, atom_i64(0));
    return true;
}

static bool type_outside(Lift *L, Type *t)
{
    Type r = {t->elem, t->rank, NEWN(L->in->cx->perm, Atom, t->rank)};
    for (int d = 0; d < t->rank; d++) {
        r.dims[d] = t->dims[d];
        if (!size_outside(L, &r.dims[d]))
            return false;
    }
    *t = r;
    return true;
}

/* --- Lifting -------------------------------------------------------------------------------- */

static void lifted(Lift *L, Var *v, bool summed, Piece p, bool dense, Atoms vals)
{
    Atoms *to = summed ? &L->sums : &L->each;
    struct Lifted l = {v, summed, to->n, p, dense};
    vec_append(L->in->cx->perm, to, &vals);
    vec_push(L->in->cx->perm, &L->lifted, l);
}

static Atoms one(Lift *L, Atom a)
{
    Atoms as = {0};
    ad_atom(L->in->cx, &as, a);
    return as;
}

/* Bends of dimensions that were slices before. */
static bool lift_bends(Lift *L, const Piece *p, Piece *q)
{
    for (int i = 0; i < p->bends.n; i++) {
        Bend b = p->bends.at[i];
        if ((b.hi.var && !rev_outside(L, &b.hi)) || (b.lo.var && !rev_outside(L, &b.lo)))
            return false;
        vec_push(L->in->cx->perm, &q->bends, b);
    }
    return true;
}

static bool is_step(int64_t stride, int64_t most)
{
    return stride != 0 && -most <= stride && stride <= most;
}

/* Does the slice, moved on like x, cover an array without many gaps? Each position that it covers
 * looks for all that may be there; outside of the array, too, where the place may miss it. */
static bool overlaps(const Piece *p, const DimIndex *at, const Linear *x)
{
    enum { MOST_STRIDE = 2, MOST_OWN = 4 };
    return !at->stride.var && is_step(x->stride, p->may_miss ? 1 : MOST_STRIDE) &&
           is_step(at->stride.c.i, p->may_miss ? 1 : MOST_OWN);
}

/* The slide of p's dimension d, whose start is x, if it has one there or gets one by these
 * iterations. */
static bool lift_slide(Lift *L, const Piece *p, int d, const Linear *x, Piece *q)
{
    const Slide *had = rev_slide(p, d);
    const DimIndex *at = &p->at.at[d];
    Slide s = had ? *had : (Slide){.dim = d, .n = L->width, .stride = x->stride};
    if (!at->is_slice || (!had && !x->stride))
        return true;
    if (had ? x->stride != 0 || !size_outside(L, &s.n)
            : x->bent || rev_bend(p, d) || !overlaps(p, at, x))
        return false;
    vec_push(L->in->cx->perm, &q->slides, s);
    return true;
}

/* The place p as one outside: with a slice where it varies with the iteration. */
static bool lift_linear(Lift *L, Var *v, const Piece *p)
{
    Piece q = {
        .is_place = true, .may_miss = p->may_miss, .safe = p->safe, .loc = p->loc, .made = -1};
    int own = 0, axes = 0;
    for (int d = 0; d < p->at.n; d++) {
        DimIndex at = p->at.at[d];
        Linear x;
        if (!linear(L, at.start, &x) || (x.stride && own++) ||
            (at.is_slice && (!size_outside(L, &at.n) || !rev_outside(L, &at.stride))) ||
            !lift_slide(L, p, d, &x, &q))
            return false;
        at.start = x.start;
        if (x.stride)
            q.turned = axes;
        if (x.stride && !at.is_slice) {
            at = (DimIndex){true, x.start, L->width, atom_i64(x.stride)};
            q.made = d;
        }
        if (x.bent) {
            q.may_miss = true;
            x.bend.dim = d;
            vec_push(L->in->cx->perm, &q.bends, x.bend);
        }
        axes += at.is_slice + (rev_slide(&q, d) != NULL);
        vec_push(L->in->cx->perm, &q.at, at);
    }
    Type t = atom_type(p->val);
    if (!type_outside(L, &t) || !lift_bends(L, p, &q))
        return false;
    q.may_be_none = p->may_be_none || L->width.var || L->width.c.i < 1;
    lifted(L, v, own == 0, q, false, one(L, ad_as(&L->in->bl, L->loc, p->val, t)));
    return true;
}

static bool lift_list(Lift *L, Var *v, const Piece *p)
{
    Piece q = rev_as_list(L->in, v, p);
    Atoms vals = {0}, dims = {0};
    Type t = atom_type(q.val);
    for (int d = 0; d < q.dims.n; d++) {
        ad_atom(L->in->cx, &dims, q.dims.at[d]);
        if (!size_outside(L, &dims.at[d]))
            return false;
    }
    if (!type_outside(L, &t))
        return false;
    Type at = type_array_n(L->in->cx, type_prim(T_I64), dims.at, dims.n);
    for (int k = 0; k < q.idx.n; k++)
        ad_atom(L->in->cx, &vals, ad_as(&L->in->bl, L->loc, q.idx.at[k], at));
    ad_atom(L->in->cx, &vals, ad_as(&L->in->bl, L->loc, q.val, t));
    q.dims = dims;
    lifted(L, v, false, q, false, vals);
    return true;
}

static void lift_var(Lift *L, Var *v)
{
    Adjoint *a = rev_adjoint(L->in, v);
    for (int i = 0; i < a->pieces.n; i++) {
        const Piece *p = &a->pieces.at[i];
        if (!(p->is_place && lift_linear(L, v, p)) && !lift_list(L, v, p))
            rev_settle(L->in, v, p);
    }
    a->pieces.n = 0;
    if (a->known)
        lifted(L, v, true, (Piece){.is_place = true}, true, one(L, a->dense));
}

/* p, of a row, as a piece of the array of rows. */
static Piece of_rows(Lift *L, const Piece *p, Var *i)
{
    Ctx *cx = L->in->cx;
    Piece q = *p;
    if (p->is_place) {
        q.at = (DimIndexes){0};
        vec_push(cx->perm, &q.at, (DimIndex){false, atom_var(i), atom_i64(1), atom_i64(1)});
        vec_append(cx->perm, &q.at, &p->at);
        q.bends = (Bends){0};
        for (int k = 0; k < p->bends.n; k++) {
            Bend b = p->bends.at[k];
            b.dim++;
            vec_push(cx->perm, &q.bends, b);
        }
        q.slides = (Slides){0};
        for (int k = 0; k < p->slides.n; k++) {
            Slide s = p->slides.at[k];
            s.dim++;
            vec_push(cx->perm, &q.slides, s);
        }
        return q;
    }
    Atom at = ad_filled(&L->in->bl, L->loc, p->dims.at, p->dims.n, atom_var(i));
    q.idx = (Atoms){0};
    ad_atom(cx, &q.idx, at);
    vec_append(cx->perm, &q.idx, &p->idx);
    return q;
}

void rev_lift_row(Lift *L, Var *row, Var *arr, Var *i)
{
    Adjoint *a = rev_adjoint(L->in, row);
    for (int k = 0; k < a->pieces.n; k++) {
        Piece p = of_rows(L, &a->pieces.at[k], i);
        if (!(p.is_place && lift_linear(L, arr, &p)) && !lift_list(L, arr, &p))
            rev_settle(L->in, row, &a->pieces.at[k]);
    }
    a->pieces.n = 0;
}

Lift rev_lift_new(Rev *in, Rev *out, Loc loc, Atom width)
{
    Lift L = {.in = in, .out = out, .loc = loc, .width = width};
    L.bound = varmap_new(in->cx->perm);
    L.own = varmap_new(in->cx->perm);
    return L;
}

Stms rev_lift_stms(Lift *L)
{
    Ctx *cx = L->in->cx;
    Bld all = bld_new(cx);
    vec_append(cx->perm, &all.stms, &L->in->fwd);
    vec_append(cx->perm, &all.stms, &L->in->bl.stms);
    bound_in_body(L->bound, bld_body(&all, (Atoms){0}));
    return all.stms;
}

void rev_lift(Lift *L, const VarSet *kept)
{
    Stms all = rev_lift_stms(L);
    for (int i = 0; i < all.n; i++)
        for (int k = 0; k < all.at[i].pat.n; k++)
            varmap_put(L->in->defs, all.at[i].pat.at[k], all.at[i].exp);
    Vars vs = varset_list(L->in->cx->perm, L->in->adjoint);
    for (int i = 0; i < vs.n; i++)
        if (!varset_has(L->bound, vs.at[i]) && !(kept && varset_has(kept, vs.at[i])))
            lift_var(L, vs.at[i]);
}

/* val with its first dimension behind p->turned others: where the place has the slice that the
 * iterations made. */
static Atom turned(Lift *L, const Piece *p, Atom val)
{
    int rank = atom_type(val).rank;
    if (p->turned == 0)
        return val;
    int *perm = NEWN(L->in->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d < p->turned ? d + 1 : d == p->turned ? 0 : d;
    return bld_exp(&L->out->bl, "turned", exp_rearrange(L->in->cx, L->loc, perm, val));
}

/* What l has become outside: a place, with its value. */
static Piece lifted_place(Lift *L, const struct Lifted *l, const Atom *vals)
{
    Piece p = l->p;
    p.val = l->summed ? vals[0] : turned(L, &p, vals[0]);
    return p;
}

/* The places of the i-th's array that are there from i on, unless there was one before. */
static void lifted_places(Lift *L, int i, const Atoms *each, const Atoms *sums)
{
    Pieces ps = {0};
    for (int k = 0; k < L->lifted.n; k++) {
        const struct Lifted *l = &L->lifted.at[k];
        if (l->var != L->lifted.at[i].var || l->dense || !l->p.is_place)
            continue;
        if (k < i)
            return;
        Piece p = lifted_place(L, l, (l->summed ? sums : each)->at + l->first);
        vec_push(L->in->cx->perm, &ps, p);
    }
    rev_add_pieces(L->out, atom_var(L->lifted.at[i].var), &ps);
}

void rev_lifted(Lift *L, const Atoms *each, const Atoms *sums)
{
    for (int i = 0; i < L->lifted.n; i++) {
        struct Lifted *l = &L->lifted.at[i];
        const Atom *vals = (l->summed ? sums : each)->at + l->first;
        Atom v = atom_var(l->var);
        if (l->dense) {
            rev_add(L->out, L->loc, v, vals[0]);
        } else if (l->p.is_place) {
            lifted_places(L, i, each, sums);
        } else {
            Atoms dims = one(L, L->width), idx = {0};
            vec_append(L->in->cx->perm, &dims, &l->p.dims);
            for (int k = 0; k < l->p.idx.n; k++)
                ad_atom(L->in->cx, &idx, vals[k]);
            rev_add_list(L->out, L->loc, v, dims, idx, vals[l->p.idx.n]);
        }
    }
}
