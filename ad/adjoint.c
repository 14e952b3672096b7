/* Adjoints as they come together, from the last use of a variable to its first.
 *
 * The adjoint of an array that is bound outside of the map around cannot be one value: each
 * iteration of the map would have an array of its own, mostly zeros; nor should that of a row that
 * the map goes over, of which a few elements are read. What it contributes is kept in pieces
 * instead, which leave the map as they are (pieces.c), until they reach where the array is bound,
 * or no map is around: there they are added to the value. But a single element is kept as such,
 * until it is seen that there is nothing else (rev_map). */
#include "ad/reverse.h"

Rev rev_inner(const Rev *r)
{
    Rev in = *r;
    in.fwd = (Stms){0};
    in.bl = bld_new(r->cx);
    in.adjoint = varmap_new(r->cx->perm);
    in.maps = varmap_new(r->cx->perm);
    return in;
}

bool rev_has(const Rev *r, const Var *v)
{
    return varmap_get(r->adjoint, v) != NULL;
}

bool rev_apart(const Rev *r, const Var *v)
{
    return r->inside && v->type.rank > 0 && !varset_has(r->inside, v);
}

Adjoint *rev_adjoint(Rev *r, const Var *v)
{
    Adjoint *a = varmap_get(r->adjoint, v);
    if (!a) {
        a = NEW(r->cx->perm, Adjoint);
        varmap_put(r->adjoint, v, a);
    }
    return a;
}

void rev_set(Rev *r, Var *v, Atom dense)
{
    Adjoint *a = rev_adjoint(r, v);
    a->known = true;
    a->dense = dense;
    a->spread = 0;
}

/* Has something come together without pieces? */
static bool is_known(const Rev *r, const Var *v)
{
    const Adjoint *a = varmap_get(r->adjoint, v);
    return a && a->known;
}

Atom rev_dense(Rev *r, Var *v)
{
    const Adjoint *a = varmap_get(r->adjoint, v);
    return is_known(r, v) ? a->dense : ad_zero(&r->bl, v->loc, v->type);
}

void rev_add(Rev *r, Loc loc, Atom to, Atom val)
{
    if (!rev_active(r, to))
        return;
    Adjoint *a = rev_adjoint(r, to.var);
    val = ad_as(&r->bl, loc, val, to.var->type);
    rev_set(r, to.var, a->known ? ad_add(&r->bl, loc, a->dense, val) : val);
}

bool rev_active_inside(const Rev *r, const Lambda *fn)
{
    VarSet *free = varmap_new(r->cx->perm);
    free_in_lambda(free, fn);
    for (int i = 0; (i = ptrmap_next(free, i)) >= 0; i++)
        if (varset_has(r->active, ptrmap_key(free, i)))
            return true;
    return false;
}

/* --- Pieces --------------------------------------------------------------------------------- */

static bool is_whole(const DimIndex *d, Atom size)
{
    return d->is_slice && atom_is_int(d->start, 0) && atom_is_int(d->stride, 1) &&
           atom_eq(d->n, size);
}

static bool is_all(const DimIndexes *at, Type t)
{
    for (int d = 0; d < at->n; d++)
        if (!is_whole(&at->at[d], t.dims[d]))
            return false;
    return true;
}

/* Where the elements of a place's value may be that an element of the array is the sum of. */
typedef struct {
    Atoms idx; /* in the value, so far */
    Atom ok;   /* bool: there is one */
} Source;
typedef VEC(Source) Sources;

/* More than these are searched for by no element. */
enum { MOST_SOURCES = 32 };

static Atom both(Bld *bl, Loc loc, Atom a, Atom b)
{
    if (!a.var)
        return b;
    return b.var ? bld_binop(bl, loc, OP_LAND, a, b) : a;
}

/* Each of `from`, with position i as the next one, where ok. */
static void look_at(Bld *bl, Loc loc, const Sources *from, Atom i, Atom ok, Sources *to)
{
    for (int k = 0; k < from->n; k++) {
        Source s = {.ok = both(bl, loc, from->at[k].ok, ok)};
        vec_append(bl->cx->perm, &s.idx, &from->at[k].idx);
        ad_atom(bl->cx, &s.idx, i);
        vec_push(bl->cx->perm, to, s);
    }
}

/* What is at an edge besides: n positions of the slice, from `first` on, of which there are some
 * that it has not. */
static void look_at_edge(Bld *bl, Loc loc, const Sources *from, const DimIndex *at, Atom here,
                         Atom first, int64_t n, Sources *to)
{
    for (int64_t k = 0; k < n; k++) {
        Atom i = bld_binop(bl, loc, OP_ADD, first, atom_i64(k));
        Atom is = bld_binop(bl, loc, OP_LAND, bld_binop(bl, loc, OP_LE, atom_i64(0), i),
                            bld_binop(bl, loc, OP_LT, i, at->n));
        look_at(bl, loc, from, i, both(bl, loc, here, is), to);
    }
}

/* The positions of dimension d that belong to position q of the array. */
static Sources look_along(Bld *bl, Loc loc, const Piece *p, int d, Atom q, const Sources *from)
{
    const DimIndex *at = &p->at.at[d];
    const Bend *b = rev_bend(p, d);
    Sources to = {0};
    bool back = atom_is_int(at->stride, -1);
    Atom i = bld_binop(bl, loc, OP_SUB, back ? at->start : q, back ? q : at->start);
    if (b && b->wraps)
        i = bld_binop(bl, loc, OP_MOD, i, b->hi);
    Atom ok = bld_binop(bl, loc, OP_LAND, bld_binop(bl, loc, OP_LE, atom_i64(0), i),
                        bld_binop(bl, loc, OP_LT, i, at->n));
    if (b && b->below > 0)
        ok = both(bl, loc, ok, bld_binop(bl, loc, OP_LE, b->lo, q));
    if (b && b->above > 0)
        ok = both(bl, loc, ok, bld_binop(bl, loc, OP_LE, q, b->hi));
    look_at(bl, loc, from, i, ok, &to);
    if (b && b->below > 0) {
        Atom here = bld_binop(bl, loc, OP_EQ, q, b->lo);
        look_at_edge(bl, loc, from, at, here, atom_i64(0), b->below, &to);
    }
    if (b && b->above > 0) {
        Atom here = bld_binop(bl, loc, OP_EQ, q, b->hi);
        Atom first = bld_binop(bl, loc, OP_SUB, at->n, atom_i64(b->above));
        look_at_edge(bl, loc, from, at, here, first, b->above, &to);
    }
    return to;
}

/* A piece, and where its elements may be. */
typedef struct {
    const Piece *p;
    Sources from;
} Moved;
typedef VEC(Moved) Moveds;

static Atom sum_of_sources(Bld *bl, Loc loc, Type t, const Moveds *ms)
{
    Atom sum = atom_zero(t.elem);
    for (int m = 0; m < ms->n; m++)
        for (int k = 0; k < ms->at[m].from.n; k++) {
            const Source *s = &ms->at[m].from.at[k];
            Bld yes = bld_new(bl->cx), no = bld_new(bl->cx);
            Exp *e = exp_index(bl->cx, loc, ms->at[m].p->val, s->idx.at, s->idx.n, true);
            Atom there = bld_exp(&yes, "adj", e);
            if (m + k > 0)
                there = ad_add(&yes, loc, sum, there);
            sum = ad_if(bl, loc, s->ok, &yes, there, &no, sum);
        }
    return sum;
}

/* The array of type v's, from its dimension d on, each element of which looks for what belongs to
 * it. */
static Atom gathered(Bld *bl, const Var *v, int d, const Moveds *ms)
{
    Ctx *cx = bl->cx;
    Loc loc = v->loc;
    Atoms res = {0}, arrs = {0};
    Vars ps = {0};
    Moveds inner = {0};
    if (d == v->type.rank)
        return sum_of_sources(bl, loc, v->type, ms);
    Bld in = bld_new(cx);
    ad_atom(cx, &arrs, ad_iota(bl, loc, v->type.dims[d]));
    vec_push(cx->perm, &ps, var_new(cx, "i", type_prim(T_I64), loc));
    for (int m = 0; m < ms->n; m++) {
        Moved to = {.p = ms->at[m].p};
        to.from = look_along(&in, loc, to.p, d, atom_var(ps.at[0]), &ms->at[m].from);
        vec_push(cx->perm, &inner, to);
    }
    ad_atom(cx, &res, gathered(&in, v, d + 1, &inner));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "adj", exp_map(cx, loc, v->type.dims[d], arrs, fn));
}

/* Is p nothing but moved, a slice in each dimension? What is bent is as large as the array: else
 * each of many elements would look for few. */
static bool is_moved(const Var *v, const Piece *p)
{
    int64_t sources = 1;
    for (int d = 0; d < p->at.n; d++) {
        const DimIndex *at = &p->at.at[d];
        const Bend *b = rev_bend(p, d);
        bool dense = atom_is_int(at->stride, 1) || atom_is_int(at->stride, -1);
        if (!at->is_slice || !dense || (b && !atom_eq(at->n, v->type.dims[d])))
            return false;
        sources *= b ? 1 + b->below + b->above : 1;
    }
    return p->is_place && p->may_miss && p->slides.n == 0 && sources <= MOST_SOURCES;
}

/* Parts that may reach outside: where they are nothing but moved, each element of the array looks
 * where it came from, in all of them at once. */
static void settle_moved(Rev *r, Var *v, const Pieces *ps)
{
    Moveds ms = {0};
    for (int i = 0; i < ps->n; i++) {
        Moved m = {.p = &ps->at[i]};
        vec_push(r->cx->perm, &m.from, ((Source){.ok = atom_bool(true)}));
        vec_push(r->cx->perm, &ms, m);
    }
    rev_add(r, v->loc, atom_var(v), gathered(&r->bl, v, 0, &ms));
}

static void settle_missing(Rev *r, Var *v, const Piece *p)
{
    if (is_moved(v, p)) {
        Pieces one = {0};
        vec_push(r->cx->perm, &one, *p);
        settle_moved(r, v, &one);
    } else {
        Piece l = rev_as_list(r, v, p);
        rev_settle(r, v, &l);
    }
}

static Type part_type(Ctx *cx, PrimType elem, const DimIndexes *at)
{
    Atoms dims = {0};
    for (int d = 0; d < at->n; d++)
        if (at->at[d].is_slice)
            ad_atom(cx, &dims, at->at[d].n);
    return type_array_n(cx, type_prim(elem), dims.at, dims.n);
}

/* dense with val added at p's place; `zero`: dense is. */
static Atom added_at(Bld *bl, Atom dense, const Piece *p, bool zero)
{
    Atom val = ad_as(bl, p->loc, p->val, part_type(bl->cx, atom_type(dense).elem, &p->at));
    if (!zero)
        val = ad_add(bl, p->loc, ad_at(bl, p->loc, dense, &p->at, p->safe), val);
    return ad_with(bl, p->loc, dense, &p->at, val, p->safe);
}

/* Is dimension d of a place in an array of type t? */
static Atom has_dim(Bld *bl, Loc loc, const DimIndex *at, Type t, int d)
{
    Atoms idx = {0};
    Type from = type_drop(t, d);
    ad_atom(bl->cx, &idx, at->start);
    Atom first = ad_inside(bl, loc, &idx, from);
    if (!at->is_slice)
        return first;
    Atom n = bld_binop(bl, loc, OP_SUB, at->n, atom_i64(1));
    idx.at[0] = bld_binop(bl, loc, OP_ADD, at->start, bld_binop(bl, loc, OP_MUL, n, at->stride));
    Atom both = bld_binop(bl, loc, OP_LAND, first, ad_inside(bl, loc, &idx, from));
    return bld_binop(bl, loc, OP_LOR, bld_binop(bl, loc, OP_LE, at->n, atom_i64(0)), both);
}

/* Is what does not vary of a place in the array? True if all varies. */
static Atom is_there(Bld *bl, const Piece *p, Type t)
{
    Atom ok = atom_bool(true);
    for (int d = 0; d < p->at.n; d++) {
        if (d == p->made || is_whole(&p->at.at[d], t.dims[d]))
            continue;
        Atom in = has_dim(bl, p->loc, &p->at.at[d], t, d);
        ok = ok.var ? bld_binop(bl, p->loc, OP_LAND, ok, in) : in;
    }
    return ok;
}

/* An array of type t: that of `dense` (NULL: zeros), from its dimension d on, with val added at the
 * place, if `is`. */
static Atom spread(Bld *bl, Loc loc, Type t, const Atom *dense, const DimIndex *at, Atom val,
                   Atom is)
{
    Ctx *cx = bl->cx;
    Atoms arrs = {0}, res = {0};
    Vars ps = {0};
    Bld in = bld_new(cx), no = bld_new(cx);
    if (t.rank == 0) {
        Atom sum = dense ? ad_add(&in, loc, *dense, val) : val;
        return ad_if(bl, loc, is, &in, sum, &no, dense ? *dense : atom_zero(t.elem));
    }
    ad_atom(cx, &arrs, at->is_slice ? val : ad_iota(bl, loc, t.dims[0]));
    if (dense)
        ad_atom(cx, &arrs, *dense);
    for (int k = 0; k < arrs.n; k++)
        vec_push(cx->perm, &ps, var_new(cx, "x", type_row(atom_type(arrs.at[k])), loc));
    Atom x = atom_var(ps.at[0]), row = atom_var(vec_last(&ps));
    if (at->is_slice)
        val = x;
    else
        is = both(&in, loc, is, bld_binop(&in, loc, OP_EQ, x, at->start));
    ad_atom(cx, &res, spread(&in, loc, type_row(t), dense ? &row : NULL, at + 1, val, is));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "adj", exp_map(cx, loc, t.dims[0], arrs, fn));
}

/* What is a part of so few elements, one of each row, that each element asks whether it is there;
 * so it need be no update, which stands between what is done before and behind with all of them. */
enum { MOST_SPREAD = 4 };

static bool may_spread(Rev *r, const Var *v, const Piece *p)
{
    const Adjoint *a = rev_adjoint(r, v);
    bool fixed = false;
    for (int d = 0; d < p->at.n; d++) {
        fixed = fixed || !p->at.at[d].is_slice;
        if (p->at.at[d].is_slice && !is_whole(&p->at.at[d], v->type.dims[d]))
            return false;
    }
    return fixed && (p->safe || p->may_be_none) && !ad_is_few(v->type) &&
           (!a->known || (a->spread > 0 && a->spread < MOST_SPREAD));
}

static void settle_place(Rev *r, Var *v, const Piece *p)
{
    if (is_all(&p->at, v->type)) {
        rev_add(r, p->loc, atom_var(v), p->val);
        return;
    }
    Adjoint *a = rev_adjoint(r, v);
    if (may_spread(r, v, p)) {
        int n = a->known ? a->spread : 0;
        Atom val = ad_as(&r->bl, p->loc, p->val, part_type(r->cx, v->type.elem, &p->at));
        const Atom *dense = a->known ? &a->dense : NULL;
        rev_set(r, v, spread(&r->bl, p->loc, v->type, dense, p->at.at, val, atom_bool(true)));
        a->spread = n + 1;
        return;
    }
    bool zero = !is_known(r, v);
    Atom dense = rev_dense(r, v);
    Atom ok = p->may_be_none ? is_there(&r->bl, p, v->type) : atom_bool(true);
    if (!ok.var) {
        rev_set(r, v, added_at(&r->bl, dense, p, zero));
        return;
    }
    Bld yes = bld_new(r->cx), no = bld_new(r->cx);
    Atom added = added_at(&yes, dense, p, zero);
    rev_set(r, v, ad_if(&r->bl, p->loc, ok, &yes, added, &no, dense));
}

/* The array `dense` with val added to element i, if that is there: each element asks whether it is
 * the one, which is part of what is done before or behind with all of them. An update would stand
 * between these, in a map around for a row each. */
static Atom added_where(Bld *bl, Loc loc, Atom dense, Atom i, Atom val)
{
    Ctx *cx = bl->cx;
    Type t = atom_type(dense);
    Vars ps = {0};
    Atoms arrs = {0}, res = {0};
    Bld in = bld_new(cx), yes = bld_new(cx), no = bld_new(cx);
    Var *x = var_new(cx, "x", type_prim(t.elem), loc), *k = var_new(cx, "i", type_prim(T_I64), loc);
    vec_push(cx->perm, &ps, x);
    vec_push(cx->perm, &ps, k);
    ad_atom(cx, &arrs, dense);
    ad_atom(cx, &arrs, ad_iota(bl, loc, t.dims[0]));
    Atom is = bld_binop(&in, loc, OP_EQ, atom_var(k), i);
    Atom sum = ad_add(&yes, loc, atom_var(x), val);
    ad_atom(cx, &res, ad_if(&in, loc, is, &yes, sum, &no, atom_var(x)));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(bl, "adj", exp_map(cx, loc, t.dims[0], arrs, fn));
}

/* One contribution, if it is inside. */
static void settle_one(Rev *r, Var *v, const Piece *p)
{
    if (r->inside && v->type.rank == 1 && p->idx.n == 1 && !ad_is_few(v->type)) {
        rev_set(r, v, added_where(&r->bl, p->loc, rev_dense(r, v), p->idx.at[0], p->val));
        return;
    }
    Piece at = {.is_place = true, .safe = true, .loc = p->loc, .val = p->val};
    for (int d = 0; d < v->type.rank; d++) {
        bool whole = d >= p->idx.n;
        DimIndex one = {false, whole ? atom_i64(0) : p->idx.at[d], atom_i64(1), atom_i64(1)};
        vec_push(r->cx->perm, &at.at, whole ? ad_whole(v->type, d) : one);
    }
    Bld yes = bld_new(r->cx), no = bld_new(r->cx);
    bool zero = !is_known(r, v);
    Atom dense = rev_dense(r, v), ok = ad_inside(&r->bl, p->loc, &p->idx, v->type);
    Atom added = added_at(&yes, dense, &at, zero);
    rev_set(r, v, ad_if(&r->bl, p->loc, ok, &yes, added, &no, dense));
}

void rev_settle(Rev *r, Var *v, const Piece *p)
{
    Piece q = *p;
    if (p->slides.n > 0) {
        q = rev_covered(r, p);
        p = &q;
    }
    if (p->is_place && p->may_miss)
        settle_missing(r, v, p);
    else if (p->is_place)
        settle_place(r, v, p);
    else if (p->dims.n == 0)
        settle_one(r, v, p);
    else
        rev_set(r, v, ad_hist(&r->bl, p->loc, rev_dense(r, v), &p->dims, &p->idx, p->val));
}

bool rev_is_element(const Piece *p)
{
    return !p->is_place && p->dims.n == 0 && p->idx.n == 1 && atom_type(p->val).rank == 0;
}

/* Is it an element of what a map gives in this very body, and the first that is added? */
static bool is_first(const Rev *r, const Var *v, const Piece *p)
{
    return rev_is_element(p) && varset_has(r->maps, v) && !rev_has(r, v);
}

void rev_add_piece(Rev *r, Atom arr, Piece p)
{
    if (!rev_active(r, arr))
        return;
    if (rev_apart(r, arr.var) || is_first(r, arr.var, &p)) {
        Adjoint *a = rev_adjoint(r, arr.var);
        vec_push(r->cx->perm, &a->pieces, p);
    } else {
        rev_settle(r, arr.var, &p);
    }
}

void rev_add_pieces(Rev *r, Atom arr, const Pieces *ps)
{
    Pieces moved = {0};
    bool settled = rev_active(r, arr) && !rev_apart(r, arr.var);
    for (int i = 0; i < ps->n; i++)
        if (settled && is_moved(arr.var, &ps->at[i]))
            vec_push(r->cx->perm, &moved, ps->at[i]);
        else
            rev_add_piece(r, arr, ps->at[i]);
    if (moved.n > 0)
        settle_moved(r, arr.var, &moved);
}

void rev_add_place(Rev *r, Loc loc, Atom arr, const DimIndexes *at, bool safe, Atom val)
{
    if (arr.var && is_all(at, arr.var->type))
        rev_add(r, loc, arr, val);
    else
        rev_add_piece(r, arr,
                      (Piece){.is_place = true, .safe = safe, .loc = loc, .at = *at, .val = val});
}

void rev_add_list(Rev *r, Loc loc, Atom arr, Atoms dims, Atoms idx, Atom val)
{
    rev_add_piece(r, arr, (Piece){.loc = loc, .dims = dims, .idx = idx, .val = val});
}

Atom rev_take(Rev *r, Var *v)
{
    Adjoint *a = rev_adjoint(r, v);
    for (int i = 0; i < a->pieces.n; i++)
        rev_settle(r, v, &a->pieces.at[i]);
    a->pieces.n = 0;
    if (!a->known)
        rev_set(r, v, ad_zero(&r->bl, v->loc, v->type));
    return a->dense;
}
