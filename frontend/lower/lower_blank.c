/* Values that only a type describes: empty arrays, and what the constructors that a sum is not of
 * would hold. */
#include "frontend/lower/lower_int.h"

typedef struct {
    Low *L;
    const Env *env;
    Loc loc;
    bool empty;          /* an empty array of such, else zeros */
    bool held;           /* what a sum would hold: its sizes are those of size_held */
    const AType *beside; /* another part of the same value, and its type, or NULL */
    const Val *beside_val;
} Blank;

/* The size of an array that nobody has made. One that only the run knows may be that of a value at
 * hand; else it does not matter. */
static Atom blank_size(const Blank *b, const Size *s)
{
    Atom n;
    s = size_deref(s);
    if (size_atom(b->L, b->env, b->held ? size_held(b->L, s) : s, &n))
        return n;
    if (s->kind == SZ_UNKNOWN) {
        if (b->beside && size_shown_by(b->beside, b->beside_val, s, &n))
            return n;
        if (size_met(b->L, b->env, s, &n))
            return n;
    }
    return atom_i64(0);
}

Atom zeros(Low *L, Loc loc, Type t)
{
    Atom zero = atom_zero(t.elem);
    if (!t.rank)
        return zero;
    Exp *e = exp_new(L->cx, E_REPLICATE, loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(L->cx->perm, &e->replicate.dims, t.dims[d]);
    e->replicate.val = zero;
    return emit(L, e);
}

static Atom blank_leaf(const Blank *b, Type t)
{
    if (!b->empty)
        return zeros(b->L, b->loc, t);
    Exp *e = exp_new(b->L->cx, E_ARRAYLIT, b->loc);
    e->arraylit.elem = t;
    return emit(b->L, e);
}

static Val *blank(const Blank *b, const AType *at, Atoms dims);

static Val *blank_parts(const Blank *b, const AType *at, Atoms dims)
{
    Vals vs = {0};
    for (int i = 0; i < at->elems.n; i++) {
        Val *v = blank(b, at->elems.at[i], dims);
        vec_push(b->L->cx->perm, &vs, v);
    }
    return val_tuple(b->L, vs);
}

static Val *blank_sum(const Blank *b, const AType *at, Atoms dims)
{
    Low *L = b->L;
    Vals holds = {0};
    Blank held = *b;
    held.held = true;
    Atom tag = blank_leaf(b, (Type){sum_tag(at), dims.n, dims.at});
    for (int k = 0; k < at->elems.n; k++) {
        Val *v = blank_parts(&held, at->elems.at[k], dims);
        vec_push(L->cx->perm, &holds, v);
    }
    return val_sum(L, &holds, -1, tag, dims.n + b->empty);
}

/* Of a type parameter: as the value that is known of it. */
static Val *blank_like(const Blank *b, const Env *en, Atoms dims)
{
    Low *L = b->L;
    Atoms as = val_leaves(L, en->val);
    for (int i = 0; i < as.n; i++) {
        Type t = type_drop(atom_type(as.at[i]), en->drop);
        as.at[i] = blank_leaf(b, type_array_n(L->cx, t, dims.at, dims.n));
    }
    return val_rebuild(L, en->val, &as);
}

/* Each array below with the dims so far. */
static Val *blank(const Blank *b, const AType *at, Atoms dims)
{
    Low *L = b->L;
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: return val_atom(L, blank_leaf(b, (Type){at->scalar, dims.n, dims.at}));
    case TY_ARRAY: {
        Atoms more = {0};
        vec_append(L->cx->perm, &more, &dims);
        vec_push(L->cx->perm, &more, count_arg(L, b->loc, blank_size(b, at->array.dim)));
        return blank(b, at->array.elem, more);
    }
    case TY_TUPLE:
    case TY_RECORD:
        return at->elems.n ? blank_parts(b, at, dims)
                           : val_atom(L, blank_leaf(b, (Type){T_BOOL, dims.n, dims.at}));
    case TY_SUM: return blank_sum(b, at, dims);
    case TY_VAR: {
        const Env *en = env_find(b->env, at->var);
        if (type_is_acc(at) && L->acc)
            return L->acc;
        if (!en) /* nobody can tell: there is no value of that type */
            return blank(b, &(AType){.kind = TY_TUPLE}, dims);
        if (!en->type)
            return blank_like(b, en, dims);
        Blank there = *b;
        there.env = en->type_env;
        there.beside = NULL;
        return blank(&there, en->type, dims);
    }
    case TY_FUN: return val_fun(L, (Fun){.kind = FUN_LAMBDA});
    case TY_META:
    case TY_ERROR: break;
    }
    ice(b->loc, "lowering: a value of no type");
}

Val *empty_array(Low *L, const Env *env, const AType *elem, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc, .empty = true};
    return blank(&b, elem, (Atoms){0});
}

/* Whether all arrays of the type have sizes that are known here. */
static bool sized_here(const Blank *b, const AType *at)
{
    Atom n;
    at = type_deref(at);
    if (at->kind == TY_ARRAY)
        return size_atom(b->L, b->env, size_held(b->L, size_deref(at->array.dim)), &n) &&
               sized_here(b, at->array.elem);
    for (int i = 0; type_is_composite(at) && i < at->elems.n; i++)
        if (!sized_here(b, at->elems.at[i]))
            return false;
    if (at->kind == TY_VAR) {
        const Env *en = env_find(b->env, at->var);
        Blank there = *b;
        there.env = en ? en->type_env : NULL;
        return en && (!en->type || sized_here(&there, en->type));
    }
    return at->kind != TY_FUN;
}

Val *blank_value(Low *L, const Env *env, const AType *at, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc};
    return sized_here(&b, at) ? blank(&b, at, (Atoms){0}) : NULL;
}

Val *blank_structure(Low *L, const Env *env, const AType *at, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc};
    return blank(&b, at, (Atoms){0});
}

Val *blank_holds(Low *L, const Env *env, const AType *holds, const AType *beside,
                 const Val *beside_val, Loc loc)
{
    Blank b = {.L = L, .env = env, .loc = loc, .held = true};
    b.beside = beside;
    b.beside_val = beside_val;
    return blank_parts(&b, holds, (Atoms){0});
}
