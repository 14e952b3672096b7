/* Layouts of sums.
 *
 * A sum value is a tuple of scalars and arrays: the number of its constructor (i8, if there are not
 * more of them; they are sorted by name), then the components. Numbers of different constructors
 * share a component of their type; an array has its own, since whether sizes are equal is not known
 * of a type alone, and all values of a type must look alike:
 *
 *     #both f32 i32 [n]i32 | #one i32        tag  f32  i32  [n]i32
 *                                  #both      0   x    y    zs
 *                                  #one       1   0    x    zeros
 *
 * What a value does not use is zero, so that values can be compared component by component. */
#include "frontend/lower/lower_int.h"

PrimType sum_tag(const AType *at)
{
    int most = at->elems.n - 1;
    return most <= INT8_MAX ? T_I8 : most <= INT16_MAX ? T_I16 : T_I32;
}

/* --- Layouts -------------------------------------------------------------------------------- */

/* A component of sums of some type. */
typedef struct {
    PrimType elem;
    int rank;
    int user;     /* the last constructor that has taken it */
    bool nothing; /* stands for () */
} Part;
typedef VEC(Part) Parts;

/* Where constructor k has its next leaf. */
static int place_leaf(Low *L, Parts *parts, PrimType elem, int rank, int k)
{
    for (int i = 0; rank == 0 && i < parts->n; i++) {
        Part *p = &parts->at[i];
        if (p->rank || p->elem != elem || p->user == k)
            continue;
        p->user = k;
        return i;
    }
    vec_push(L->cx->perm, parts, ((Part){elem, rank, k, false}));
    return parts->n - 1;
}

static void type_leaves(Low *L, const AType *at, int rank, Parts *out);

/* The components of a sum but its number, as far as constructors before n need them; *places: those
 * of the last one, counted from 1, without what stands for (). */
static Parts sum_parts(Low *L, const AType *at, int n, SumPlaces *places)
{
    Parts parts = {0};
    for (int k = 0; k < n; k++) {
        Parts own = {0};
        for (int i = 0; i < at->elems.at[k]->elems.n; i++)
            type_leaves(L, at->elems.at[k]->elems.at[i], 0, &own);
        for (int i = 0; i < own.n; i++) {
            int place = place_leaf(L, &parts, own.at[i].elem, own.at[i].rank, k) + 1;
            if (k == n - 1 && !own.at[i].nothing)
                vec_push(L->cx->perm, places, place);
        }
    }
    return parts;
}

/* The leaves of values of a type without parameters. */
static void type_leaves(Low *L, const AType *at, int rank, Parts *out)
{
    at = type_deref(at);
    for (; at->kind == TY_ARRAY; at = type_deref(at->array.elem))
        rank++;
    if (at->kind == TY_SUM) {
        SumPlaces places = {0};
        Parts parts = sum_parts(L, at, at->elems.n, &places);
        vec_push(L->cx->perm, out, ((Part){sum_tag(at), rank, 0, false}));
        for (int i = 0; i < parts.n; i++)
            vec_push(L->cx->perm, out,
                     ((Part){parts.at[i].elem, parts.at[i].rank + rank, 0, false}));
    } else if (type_is_composite(at) && at->elems.n) {
        for (int i = 0; i < at->elems.n; i++)
            type_leaves(L, at->elems.at[i], rank, out);
    } else {
        bool scalar = at->kind == TY_SCALAR;
        vec_push(L->cx->perm, out,
                 ((Part){scalar ? at->scalar : T_BOOL, rank, 0, !scalar && !rank}));
    }
}

int sum_values(Low *L, const AType *at)
{
    Parts leaves = {0};
    type_leaves(L, at, 0, &leaves);
    return leaves.n;
}

SumPlaces sum_type_places(Low *L, const AType *at, int k)
{
    SumPlaces places = {0};
    (void)sum_parts(L, type_deref(at), k + 1, &places);
    return places;
}

Val *val_sum(Low *L, const Vals *holds, int chosen, Atom tag, int rank)
{
    Arena *a = L->cx->perm;
    SumLayout *layout = NEW(a, SumLayout);
    Parts parts = {0};
    Vals elems = {0};
    vec_push(a, &elems, val_atom(L, tag));
    layout->holds = *holds;
    for (int k = 0; k < holds->n; k++) {
        Atoms leaves = val_leaves(L, holds->at[k]);
        SumPlaces places = {0};
        for (int i = 0; i < leaves.n; i++) {
            Type t = atom_type(leaves.at[i]);
            int at = place_leaf(L, &parts, t.elem, t.rank - rank, k) + 1;
            vec_push(a, &places, at);
            if (at == elems.n)
                vec_push(a, &elems, val_atom(L, leaves.at[i]));
            else if (k == chosen)
                elems.at[at] = val_atom(L, leaves.at[i]);
        }
        vec_push(a, &layout->places, places);
    }
    Val *v = val_tuple(L, elems);
    v->sum = layout;
    return v;
}

Val *sum_holds(Low *L, const Val *v, int k)
{
    const SumPlaces *places = &v->sum->places.at[k];
    Atoms leaves = {0};
    for (int i = 0; i < places->n; i++)
        vec_push(L->cx->perm, &leaves, v->elems.at[places->at[i]]->atom);
    return val_rebuild(L, v->sum->holds.at[k], &leaves);
}
