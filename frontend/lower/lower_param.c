/* Parameters of entry points, by their types: the program's own, and values that are given. */
#include "frontend/lower/lower_int.h"

/* On the outside, arrays of () are arrays of bool, of which only the size matters; () by itself is
 * nothing. */
static const AType unit = {.kind = TY_SCALAR, .scalar = T_BOOL};

/* --- Parameters ----------------------------------------------------------------------------- */

typedef struct {
    Low *L;
    Entry *en;
    Env *sizes; /* size parameters */
    bool held;  /* by a sum: see settle_sums */
} EntryParams;

static Atom new_size(EntryParams *ep, const char *name, Loc loc)
{
    Var *v = var_new(ep->L->cx, name, type_prim(T_I64), loc);
    vec_push(ep->L->cx->perm, &ep->en->sizes, v);
    know_nonneg(ep->L, atom_var(v));
    return atom_var(v);
}

/* The size variable or constant of a dimension. A size that is an expression or another parameter
 * gets a variable of its own: the entry asserts that they are equal. */
static Atom param_size(EntryParams *ep, const Size *s, Loc loc)
{
    s = size_deref(s);
    if (ep->held)
        return new_size(ep, "n", loc);
    if (s->kind == SZ_CONST)
        return atom_i64(s->value);
    if (s->kind != SZ_VAR || s->var->kind != BIND_SIZE)
        return new_size(ep, "n", loc);
    const Env *en = env_find(ep->sizes, s->var);
    if (en)
        return en->val->atom;
    const char *name = s->var->name;
    bool plain = (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z');
    for (const char *p = name; *p; p++)
        plain = plain && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
                          (*p >= '0' && *p <= '9') || *p == '\'');
    Atom a = new_size(ep, plain ? name : "n", loc);
    ep->sizes = env_add(ep->L, ep->sizes, s->var, val_atom(ep->L, a));
    return a;
}

static Val *param_val(EntryParams *ep, const AType *at, const char *name, Atoms dims, Loc loc);

/* One parameter for each component: constructors share them. */
static Val *sum_param(EntryParams *ep, const AType *at, const char *name, Atoms dims, Loc loc)
{
    Low *L = ep->L;
    Vars before = ep->en->params;
    Vals holds = {0};
    bool outer = ep->held;
    ep->held = true;
    for (int k = 0; k < at->elems.n; k++) {
        Vals parts = {0};
        for (int i = 0; i < at->elems.at[k]->elems.n; i++) {
            Val *v = param_val(ep, at->elems.at[k]->elems.at[i], name, dims, loc);
            vec_push(L->cx->perm, &parts, v);
        }
        vec_push(L->cx->perm, &holds, val_tuple(L, parts));
    }
    ep->held = outer;
    Var *tag = var_new(L->cx, name, (Type){sum_tag(at), dims.n, dims.at}, loc);
    Val *v = val_sum(L, &holds, -1, atom_var(tag), dims.n);
    Atoms leaves = val_leaves(L, v);
    ep->en->params = before;
    for (int i = 0; i < leaves.n; i++) {
        Var *p = var_new(L->cx, name, atom_type(leaves.at[i]), loc);
        vec_push(L->cx->perm, &ep->en->params, p);
        leaves.at[i] = atom_var(p);
    }
    return val_rebuild(L, v, &leaves);
}

static Val *param_val(EntryParams *ep, const AType *at, const char *name, Atoms dims, Loc loc)
{
    Low *L = ep->L;
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: {
        Type t = {at->scalar, dims.n, dims.at};
        Var *v = var_new(L->cx, name, t, loc);
        vec_push(L->cx->perm, &ep->en->params, v);
        return val_atom(L, atom_var(v));
    }
    case TY_ARRAY: {
        Atoms more = {0};
        vec_append(L->cx->perm, &more, &dims);
        vec_push(L->cx->perm, &more, param_size(ep, at->array.dim, loc));
        return param_val(ep, at->array.elem, name, more, loc);
    }
    case TY_TUPLE:
    case TY_RECORD: {
        if (!at->elems.n)
            return dims.n ? param_val(ep, &unit, name, dims, loc) : val_unit(L);
        Vals vs = {0};
        for (int i = 0; i < at->elems.n; i++) {
            const char *part = at->kind == TY_RECORD ? at->names.at[i] : name;
            Val *v = param_val(ep, at->elems.at[i], part, dims, loc);
            vec_push(L->cx->perm, &vs, v);
        }
        return val_tuple(L, vs);
    }
    case TY_SUM: return sum_param(ep, at, name, dims, loc);
    case TY_FUN:
    case TY_VAR:
    case TY_META:
    case TY_ERROR: break;
    }
    ice(loc, "an entry point's parameter cannot be of this type");
}

/* --- Arrays that sums hold ------------------------------------------------------------------ */

/* A client who makes a sum gives what its variant holds; arrays of others are there, with no
 * elements. So each array that a sum holds has sizes of its own at first. Then sizes that no
 * parameter outside of sums has are those of what is held, and what is not held becomes zeros of
 * the sizes that its type says. */

/* Whether an array that sums of an array hold, which are of so many dimensions, has elements: it is
 * taken for held then. */
static Atom has_elements(Low *L, const Atom *leaf, int rank, Atom here, Loc loc)
{
    Type t = atom_type(*leaf);
    for (int d = rank; d < t.rank; d++)
        here = emit_both(L, loc, here, emit_op(L, loc, OP_NE, t.dims[d], atom_i64(0)));
    return here;
}

/* For each leaf of v whether it is held; what is in no sum is. */
static void add_held(Low *L, const Val *v, Atom here, Loc loc, Atoms *out)
{
    if (v->kind != V_TUPLE) {
        vec_push(L->cx->perm, out, here);
        return;
    }
    int first = out->n, rank = v->sum ? atom_type(v->elems.at[0]->atom).rank : 0;
    for (int i = 0; i < v->elems.n; i++)
        if (v->sum && rank)
            vec_push(L->cx->perm, out, has_elements(L, &v->elems.at[i]->atom, rank, here, loc));
        else
            add_held(L, v->elems.at[i], here, loc, out);
    for (int k = 0; v->sum && !rank && k < v->sum->places.n; k++) {
        Atoms own = {0};
        Atom tag = v->elems.at[0]->atom;
        Atom is_k = emit_op(L, loc, OP_EQ, tag, atom_int(atom_type(tag).elem, k));
        add_held(L, sum_holds(L, v, k), emit_both(L, loc, here, is_k), loc, &own);
        for (int i = 0; i < own.n; i++)
            out->at[first + v->sum->places.at[k].at[i]] = own.at[i];
    }
}

/* The leaves of a parameter. */
typedef struct {
    Loc loc;
    Atoms leaves, held;
    LeafSizes sizes;
} Settling;

static bool is_open_size(const EntryParams *ep, const Size *s)
{
    return s->kind == SZ_VAR && s->var->kind == BIND_SIZE && !env_find(ep->sizes, s->var);
}

/* The size is that of the first leaf that has it, or, if it is there, of one that is held. */
static void settle_size(EntryParams *ep, const Settling *all, int n, const Binding *b)
{
    Low *L = ep->L;
    Atom size = {0};
    bool found = false;
    for (int x = n - 1; x >= 0; x--)
        for (int i = all[x].leaves.n - 1; i >= 0; i--)
            for (int d = all[x].sizes.at[i].n - 1; d >= 0; d--) {
                const Size *s = all[x].sizes.at[i].at[d];
                if (s->kind != SZ_VAR || s->var != b)
                    continue;
                Atom dim = atom_type(all[x].leaves.at[i]).dims[d];
                size = found ? emit_choice(L, all[x].loc, all[x].held.at[i], dim, size) : dim;
                found = true;
            }
    if (!found)
        return;
    know_nonneg(L, size);
    ep->sizes = env_add(L, ep->sizes, b, val_atom(L, size));
}

static Atom settle_leaf(const EntryParams *ep, const Settling *p, int i)
{
    Low *L = ep->L;
    Atom leaf = p->leaves.at[i], held = p->held.at[i];
    Type t = atom_type(leaf);
    if (!t.rank || !held.var)
        return leaf;
    Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
    for (int d = 0; d < t.rank; d++)
        if (d >= p->sizes.at[i].n || !size_atom(L, ep->sizes, p->sizes.at[i].at[d], &dims[d]))
            dims[d] = t.dims[d];
    Scope *s1 = scope_push(L);
    Val *there = val_atom(L, fit_atom(L, p->loc, leaf, dims, t.rank));
    scope_pop(L, s1);
    Scope *s2 = scope_push(L);
    Val *none = val_atom(L, zeros(L, p->loc, (Type){t.elem, t.rank, dims}));
    scope_pop(L, s2);
    return join_branches(L, p->loc, held, s1, there, s2, none, NULL, NULL)->atom;
}

static void settle_sums(EntryParams *ep, const EntryParam *params, Vals *args)
{
    Low *L = ep->L;
    Settling *all = NEWN(L->cx->perm, Settling, args->n + 1);
    for (int x = 0; x < args->n; x++) {
        all[x] = (Settling){.loc = params[x].loc, .leaves = val_leaves(L, args->at[x])};
        all[x].sizes = leaf_sizes(L, params[x].type, args->at[x]);
        add_held(L, args->at[x], atom_bool(true), all[x].loc, &all[x].held);
    }
    for (int x = 0; x < args->n; x++)
        for (int i = 0; i < all[x].sizes.n; i++)
            for (int d = 0; d < all[x].sizes.at[i].n; d++)
                if (is_open_size(ep, all[x].sizes.at[i].at[d]))
                    settle_size(ep, all, args->n, all[x].sizes.at[i].at[d]->var);
    for (int x = 0; x < args->n; x++) {
        Atoms leaves = {0};
        for (int i = 0; i < all[x].leaves.n; i++)
            vec_push(L->cx->perm, &leaves, settle_leaf(ep, &all[x], i));
        args->at[x] = val_rebuild(L, args->at[x], &leaves);
    }
}

/* --- All of them ---------------------------------------------------------------------------- */

Vals entry_params(Low *L, const EntryParam *params, int n)
{
    EntryParams ep = {.L = L, .en = L->entry};
    Vals args = {0};
    for (int i = 0; i < n; i++) {
        ExtParam x = ext_param(L, &params[i]);
        vec_push(L->cx->perm, &L->entry->ext_params, x);
        Val *v = param_val(&ep, params[i].type, params[i].name, (Atoms){0}, params[i].loc);
        vec_push(L->cx->perm, &args, v);
    }
    settle_sums(&ep, params, &args);
    return args;
}
