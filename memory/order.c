/* The order in which the threads of a segmap go through the dimensions of its nest, the last one
 * the fastest: that of the nest, unless the arrays that it reads and makes lie in another one.
 *
 * The search for layouts (layout_search.c) counts a construct that may be interchanged by the
 * fastest dimension that costs least. Here the layouts are known: dimensions have the order of the
 * array that most others (by bytes) agree with, among those whose last dimension is the one that
 * was found. An array that lacks a dimension of the nest is small beside the others, and is not
 * asked. The interchanged construct makes its results in its own order; the program sees them
 * permuted, which costs nothing. */
#include "memory/layout.h"

#include <string.h>

/* --- The choice ------------------------------------------------------------------------------- */

typedef struct {
    int at[MAX_ORDERS]; /* dimensions of the nest, outermost in memory first */
    int bytes;          /* of an element */
} Lies;

/* at: of each dimension of the nest, its place in memory. */
static Lies lies_by(const int *at, int depth, int bytes)
{
    Lies l = {.bytes = bytes};
    int n = 0;
    for (int place = 0; place < MAX_DIMS; place++)
        for (int d = 0; d < depth; d++)
            if (at[d] == place)
                l.at[n++] = d;
    return l;
}

static int place_of(const int *perm, int rank, int dim)
{
    int k = 0;
    while (k < rank && perm[k] != dim)
        k++;
    return k;
}

static Lies result_lies(const Node *n, int depth)
{
    int at[MAX_ORDERS];
    for (int d = 0; d < depth; d++)
        at[d] = place_of(n->perm, n->rank, d);
    return lies_by(at, depth, prim_type_bytes[n->v->type.elem]);
}

/* False if the array does not vary with each dimension. */
static bool reader_lies(const Lay *ly, const Reader *r, int order, Lies *l)
{
    int perm[MAX_DIMS], from[MAX_DIMS], at[MAX_ORDERS], copy;
    const Walk *w = r->walk;
    if (!view_perm(&r->view, r->view.node->perm, perm))
        return false;
    layout_reader_cost(ly, r, order, &copy);
    if (copy >= 0) {
        memcpy(from, perm, sizeof from);
        layout_turned(from, r->view.rank, copy, perm);
    }
    for (int k = 0; k < w->orders; k++) {
        if (r->of[k].n == 0 || ly->accesses.at[r->of[k].first].kind == WANT_GUESS)
            return false;
        at[w->fast[k]] = place_of(perm, r->view.rank, ly->accesses.at[r->of[k].first].fast);
    }
    *l = lies_by(at, w->orders, prim_type_bytes[r->arr->type.elem]);
    return true;
}

/* How much of what is read and made lies in that order, all or the last dimension. */
static int agrees(const Lies *all, int n, const int *order, int depth)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (all[i].at[depth - 1] == order[depth - 1])
            sum += all[i].bytes * (perm_eq(all[i].at, order, depth) ? 2 : 1);
    return sum;
}

static const int *order_of(const Lay *ly, const Walk *w)
{
    int depth = w->orders, n = 0, k = 0, best = layout_order(ly, w), fast = w->fast[best];
    Lies *all = NEWN(ly->cx->perm, Lies, w->made.n + w->readers.n);
    for (int i = 0; i < w->made.n; i++)
        if (!w->made.at[i]->fixed || w->made.at[i]->rank <= MAX_DIMS)
            all[n++] = result_lies(w->made.at[i], depth);
    for (int i = 0; i < w->readers.n; i++)
        n += reader_lies(ly, &ly->readers.at[w->readers.at[i]], best, &all[n]);
    int *order = NEWN(ly->cx->perm, int, depth);
    for (int d = 0; d < depth; d++)
        if (d != fast)
            order[k++] = d;
    order[k] = fast;
    int most = agrees(all, n, order, depth);
    for (int i = 0; i < n; i++) {
        int sum = agrees(all, n, all[i].at, depth);
        if (all[i].at[depth - 1] == fast && sum > most) {
            most = sum;
            memcpy(order, all[i].at, sizeof *order * (size_t)depth);
        }
    }
    return order;
}

Reorders order_choose(const Lay *ly)
{
    Reorders r = {0};
    for (int i = 0; i < ly->walks.n; i++) {
        const Walk *w = ly->walks.at[i];
        const int *order = w->orders > 1 ? order_of(ly, w) : NULL;
        if (order && !perm_is_identity(order, w->orders))
            vec_push(ly->cx->perm, &r, ((Reorder){w->seg, order}));
    }
    return r;
}

/* --- The interchange -------------------------------------------------------------------------- */

/* The dimension with the variable among its elements and rows; -1: it is from outside. */
static int binds(const Nest *nest, const Var *v)
{
    for (int d = 0; d < nest->n; d++)
        if (vars_find(&nest->at[d].xs, v) >= 0)
            return d;
    return -1;
}

/* Dimension d's elements: they stay its own where their array is known outside of it, else the body
 * takes them by index. place: of each dimension, in the new order; own: which elements stay. */
static NestDim dim_in_order(Ctx *cx, const Nest *nest, int d, const int *place, VarSet *own,
                            Stms *body)
{
    const NestDim *nd = &nest->at[d];
    NestDim r = *nd;
    r.xs = (Vars){0};
    r.arrs = (Atoms){0};
    for (int j = 0; j < nd->xs.n; j++) {
        Atom arr = nd->arrs.at[j], at = atom_var(nd->idx);
        int from = arr.var ? binds(nest, arr.var) : -1;
        if (from < 0 || (place[from] < place[d] && varset_has(own, arr.var))) {
            varset_add(own, nd->xs.at[j]);
            vec_push(cx->perm, &r.xs, nd->xs.at[j]);
            vec_push(cx->perm, &r.arrs, arr);
            continue;
        }
        Stm s = {.exp = exp_index(cx, nd->idx->loc, arr, &at, 1, true)};
        vec_push(cx->perm, &s.pat, nd->xs.at[j]);
        vec_push(cx->perm, body, s);
    }
    return r;
}

static Exp *interchanged(Ctx *cx, const Exp *e, const int *order, const int *place)
{
    const Nest *nest = &e->seg.nest;
    Exp *r = exp_new(cx, e->kind, e->loc);
    Body *body = NEW(cx->perm, Body);
    NestDim dims[MAX_ORDERS];
    VarSet *own = varmap_new(cx->perm);
    *r = *e;
    *body = (Body){.res = e->seg.body->res};
    for (int d = 0; d < nest->n; d++)
        dims[d] = dim_in_order(cx, nest, d, place, own, &body->stms);
    for (int i = 0; i < e->seg.body->stms.n; i++)
        vec_push(cx->perm, &body->stms, e->seg.body->stms.at[i]);
    r->seg.nest = (Nest){0};
    for (int k = 0; k < nest->n; k++)
        vec_push(cx->perm, &r->seg.nest, dims[order[k]]);
    r->seg.body = body;
    return r;
}

/* A variable for v with its first dimensions in that order. */
static Var *in_order(Ctx *cx, const Var *v, const int *order, int depth)
{
    Var *r = var_like(cx, v);
    Atom *dims = NEWN(cx->perm, Atom, v->type.rank);
    for (int k = 0; k < v->type.rank; k++)
        dims[k] = v->type.dims[k < depth ? order[k] : k];
    r->type.dims = dims;
    return r;
}

void order_push(Ctx *cx, const Stm *s, const int *order, Stms *to)
{
    int depth = s->exp->seg.nest.n, place[MAX_DIMS];
    for (int k = 0; k < MAX_DIMS; k++)
        place[k] = k;
    for (int k = 0; k < depth; k++)
        place[order[k]] = k;
    Stm made = {.exp = interchanged(cx, s->exp, order, place)};
    for (int j = 0; j < s->pat.n; j++)
        vec_push(cx->perm, &made.pat, in_order(cx, s->pat.at[j], order, depth));
    vec_push(cx->perm, to, made);
    for (int j = 0; j < s->pat.n; j++) {
        Var *v = made.pat.at[j];
        ASSERT(v->type.rank <= MAX_DIMS);
        Stm view = {.exp = exp_rearrange(cx, s->exp->loc, place, atom_var(v))};
        vec_push(cx->perm, &view.pat, s->pat.at[j]);
        vec_push(cx->perm, to, view);
    }
}
