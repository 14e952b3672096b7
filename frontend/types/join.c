/* Two types that become one where branches meet: sizes that differ become unknown, the same two the
 * same one. */
#include "frontend/types/types.h"

typedef struct {
    Ck *ck;
    Loc loc;
    ASizes left, right, joined;
} Join;

/* A size that nobody needs in a branch, or that its use decides. */
static bool is_open(const Size *s)
{
    return s->kind == SZ_META && (s->idle || s->by_use);
}

static bool turns(const Size *s)
{
    return s->kind == SZ_META && s->turns;
}

static Size *join_size(Join *j, Size *x, Size *y)
{
    if (sz_same(x, y))
        return x;
    /* If it is open in a branch, that of the other one: if that makes it up, the branch has it
     * before it is there, which causality.c reports. */
    if ((is_open(x) || is_open(y)) && !turns(x) && !turns(y) && sz_unify(j->ck, x, y))
        return size_deref(x);
    for (int i = 0; i < j->joined.n; i++)
        if (sz_same(j->left.at[i], x) && sz_same(j->right.at[i], y))
            return j->joined.at[i];
    Size *z = sz_unknown(j->ck, j->loc);
    vec_push(j->ck->a, &j->left, x);
    vec_push(j->ck->a, &j->right, y);
    vec_push(j->ck->a, &j->joined, z);
    return z;
}

/* A sum of which only constructors are known becomes one like `known`, with sizes of its own. */
static AType *like_known(Join *j, AType *open, AType *known)
{
    Ck *ck = j->ck;
    open = type_deref(open);
    if (open->kind != TY_META || type_deref(known)->kind != TY_SUM || !wants_constr(ck, open))
        return open;
    if (ty_unify(ck, open, ty_idle_sizes(ck, known, j->loc)))
        solve_wanted(ck, false);
    return type_deref(open);
}

static AType *join(Join *j, AType *a, AType *b)
{
    Ck *ck = j->ck;
    a = like_known(j, a, b);
    b = like_known(j, b, a);
    if (a->kind == TY_ARRAY && b->kind == TY_ARRAY) {
        AType *elem = join(j, a->array.elem, b->array.elem);
        if (!elem)
            return NULL;
        return ty_array(ck, join_size(j, size_deref(a->array.dim), size_deref(b->array.dim)), elem);
    }
    if (a->kind == b->kind && type_is_composite(a) && a->elems.n == b->elems.n &&
        names_same(&a->names, &b->names)) {
        ATypes elems = {0};
        for (int i = 0; i < a->elems.n; i++) {
            AType *e = join(j, a->elems.at[i], b->elems.at[i]);
            if (!e)
                return NULL;
            vec_push(ck->a, &elems, e);
        }
        return ty_elems_like(ck, a, elems);
    }
    if (a->kind == TY_VAR && b->kind == TY_VAR && a->var == b->var) {
        AType *t = arena_memdup(ck->a, a, sizeof *a);
        t->targs = (ATypes){0};
        t->sargs = (ASizes){0};
        for (int i = 0; i < a->targs.n; i++) {
            AType *e = join(j, a->targs.at[i], b->targs.at[i]);
            if (!e)
                return NULL;
            vec_push(ck->a, &t->targs, e);
        }
        for (int i = 0; i < a->sargs.n; i++)
            vec_push(ck->a, &t->sargs,
                     join_size(j, size_deref(a->sargs.at[i]), size_deref(b->sargs.at[i])));
        return t;
    }
    return ty_unify(ck, a, b) ? (a->kind == TY_ERROR ? b : a) : NULL;
}

AType *ty_join(Ck *ck, AType *a, AType *b, Loc loc)
{
    solve_wanted(ck, false); /* fields that are known by now have sizes of their own */
    Join j = {.ck = ck, .loc = loc};
    return join(&j, a, b);
}
