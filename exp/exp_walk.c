/* Visiting expressions, and rewriting them. */
#include "exp/exp.h"

/* --- Visiting --------------------------------------------------------------------------------- */

void kexp_visit(const KExp *x, KExpFn *fn, void *env)
{
    if (!x)
        return;
    fn(env, x);
    for (int i = 0; i < x->n; i++)
        kexp_visit(x->x[i], fn, env);
}

bool kexp_uses(const KExp *x, const KVar *v)
{
    if (!x)
        return false;
    if (x->kind == KE_VAR)
        return x->var == v;
    for (int i = 0; i < x->n; i++)
        if (kexp_uses(x->x[i], v))
            return true;
    return false;
}

static void add_host(void *env, const KExp *x)
{
    if (x->kind == KE_HOST)
        varset_add(env, x->host);
}

void kexp_hosts(const KExp *x, VarSet *s)
{
    kexp_visit(x, add_host, s);
}

static void find_mutable(void *found, const KExp *x)
{
    *(bool *)found |= x->kind == KE_VAR && x->var->mutable_;
}

bool kexp_changes(const KExp *x)
{
    bool found = false;
    kexp_visit(x, find_mutable, &found);
    return found;
}

/* --- Rewriting -------------------------------------------------------------------------------- */

typedef const KExp *Binary(Arena *a, const KExp *x, const KExp *y);

/* The constructor that folds the operation, NULL where there is none. */
static Binary *folding(const KExp *x)
{
    switch ((int)x->op) { /* not over all operations */
    case OP_LT: return kx_lt;
    case OP_LE: return kx_le;
    case OP_EQ: return kx_eq;
    case OP_NE: return kx_ne;
    case OP_LAND: return kx_and;
    case OP_LOR: return kx_or;
    }
    return NULL;
}

static const KExp *prim_with(Arena *a, const KExp *x, const KExp *const *to)
{
    if (x->saturate)
        return kx_saturate(a, x->op, to[0], to[1]);
    if (x->exact && x->n == 2)
        return kx_exact(a, x->op, to[0], to[1]);
    Binary *make = folding(x);
    if (make)
        return make(a, to[0], to[1]);
    if (x->op == OP_NOT)
        return kx_not(a, to[0]);
    const KExp *made = kx_prim(a, x->op, to[0]->type.elem, to);
    if (!x->exact)
        return made;
    KExp e = *made;
    e.exact = true;
    return kx_node(a, e);
}

const KExp *kexp_with(Arena *a, const KExp *x, const KExp *const *to)
{
    switch (x->kind) {
    case KE_PRIM: return prim_with(a, x, to);
    case KE_SELECT: return kx_select(a, to[0], to[1], to[2]);
    case KE_PART: return kx_part(a, to[0], x->dim);
    case KE_VECTOR: return kx_vector(a, to, x->n);
    case KE_CONV:
        if (!x->type.index)
            return kx_conv(a, x->type.elem, to[0]);
        break;
    case KE_CONST:
    case KE_VAR:
    case KE_HOST:
    case KE_SIZE:
    case KE_ID: return x;
    case KE_CEILDIV: return kx_ceildiv(a, to[0], to[1]);
    case N_KEXPS: break;
    }
    KExp e = *x;
    e.x = to;
    return kx_node(a, e);
}

const KExp *kexp_map(Arena *a, const KExp *x, KExpMap *fn, void *env)
{
    if (!x)
        return NULL;
    enum { FEW = 8 };
    const KExp *few[FEW], **to = x->n <= FEW ? few : NEWN(a, const KExp *, x->n);
    bool changed = false;
    for (int i = 0; i < x->n; i++) {
        to[i] = kexp_map(a, x->x[i], fn, env);
        changed |= to[i] != x->x[i];
    }
    return fn(env, changed ? kexp_with(a, x, to) : x);
}

static const KExp *subst_var(void *env, const KExp *x)
{
    const KExp *to = x->kind == KE_VAR ? ptrmap_get(env, x->var) : NULL;
    return to ? to : x;
}

const KExp *kexp_subst(Arena *a, const KExp *x, const PtrMap *to)
{
    return kexp_map(a, x, subst_var, (PtrMap *)(uintptr_t)to);
}
