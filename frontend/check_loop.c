/* Loops. A dimension of a loop parameter keeps the size of the initial value unless the body
 * returns another one; then it is unknown inside the loop and after it. Whether that is so shows
 * only when the body has been checked, so the body is checked again with the dimension unknown. That is of no use
 * where only the body says that the initial value is an array (`if c then ??? else ???`). */
#include "frontend/check.h"

#include "base/intern.h"

typedef VEC(int) Ints; /* dimensions of a type, counted from outside in and left to right */

static bool among(const Ints *v, int x)
{
    for (int i = 0; i < v->n; i++)
        if (v->at[i] == x)
            return true;
    return false;
}

/* The type of the initial value, with unknown sizes where the body changes them. */
static AType *vary(Ck *ck, AType *t, const Ints *varying, int *pos, Loc loc)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        Size *dim = among(varying, (*pos)++) ? sz_unknown(ck, loc) : t->array.dim;
        return ty_array(ck, dim, vary(ck, t->array.elem, varying, pos, loc));
    }
    if (type_is_composite(t)) {
        AType *c = ty_tuple(ck, (ATypes){0});
        c->kind = t->kind;
        c->names = t->names;
        for (int i = 0; i < t->elems.n; i++)
            vec_push(ck->a, &c->elems, vary(ck, t->elems.at[i], varying, pos, loc));
        return c;
    }
    return t;
}

typedef struct {
    Ck *ck;
    const Bindings *sizes; /* loop [n] ... */
    int first_id;          /* unknown sizes from here on belong to the loop */
    const Ints *varying;   /* at this attempt */
    Ints changed;          /* found by `returns` */
    bool size_error;
} Loop;

static bool may_vary(const Loop *l, const Size *s)
{
    if (s->kind == SZ_UNKNOWN)
        return s->id >= l->first_id;
    for (int i = 0; s->kind == SZ_VAR && i < l->sizes->n; i++)
        if (l->sizes->at[i] == s->var)
            return true;
    return false;
}

/* Gives the parameter p its type from the initial value t; sizes in annotations stay. */
static bool starts(Loop *l, AType *p, AType *t)
{
    Ck *ck = l->ck;
    p = type_deref(p);
    t = type_deref(t);
    if (p->kind == TY_ARRAY && t->kind == TY_ARRAY) {
        Size *want = size_deref(p->array.dim);
        if (!may_vary(l, want)) {
            if (!sz_unify(ck, want, t->array.dim))
                return false;
        }
        return starts(l, p->array.elem, t->array.elem);
    }
    if (p->kind == t->kind && type_is_composite(p) &&
        p->elems.n == t->elems.n) {
        for (int i = 0; i < p->elems.n; i++) {
            if (p->names.n && p->names.at[i] != t->names.at[i])
                return false;
            if (!starts(l, p->elems.at[i], t->elems.at[i]))
                return false;
        }
        return true;
    }
    return ty_unify(ck, p, t);
}

/* Compares the parameter p with what the body returns; t tells which sizes are the initial
 * value's own, and not an annotation's. Collects the dimensions that the body changes. */
static bool returns(Loop *l, AType *p, AType *b, AType *t, int *pos)
{
    Ck *ck = l->ck;
    p = type_deref(p);
    b = type_deref(b);
    t = type_deref(t);
    if (p->kind == TY_ARRAY && b->kind == TY_ARRAY && t->kind == TY_ARRAY) {
        Size *x = size_deref(p->array.dim), *y = size_deref(b->array.dim);
        int here = (*pos)++;
        if (!may_vary(l, x) && !sz_same(x, y)) {
            bool open = y->kind == SZ_META && y->id >= l->first_id;
            if (!open && x == size_deref(t->array.dim) && !among(l->varying, here))
                vec_push(ck->a, &l->changed, here);
            else
                l->size_error |= !sz_unify(ck, x, y);
        }
        return returns(l, p->array.elem, b->array.elem, t->array.elem, pos);
    }
    if (p->kind == b->kind && p->kind == t->kind && type_is_composite(p) &&
        p->elems.n == b->elems.n) {
        for (int i = 0; i < p->elems.n; i++) {
            if (p->names.n && p->names.at[i] != b->names.at[i])
                return false;
            if (!returns(l, p->elems.at[i], b->elems.at[i], t->elems.at[i], pos))
                return false;
        }
        return true;
    }
    return ty_unify(ck, p, b);
}

/* The loop's head outside of its scope; the type of the variable of a for loop. */
static AType *check_bound(Ck *ck, AExp *e)
{
    AType *t;
    switch (e->loop.kind) {
    case ALOOP_FOR:
        t = ty_meta(ck, TC_INT, e->loop.bound->loc);
        check_is(ck, e->loop.bound, t, "bound of a `for` loop");
        return t;
    case ALOOP_IN: {
        AType *arr = ty_plain(ck, check_exp(ck, e->loop.bound));
        t = ty_meta(ck, TC_VALUE, e->loop.bound->loc);
        require(ck, e->loop.bound, ty_array(ck, sz_meta(ck, e->loc), t), arr,
                "what a `for ... in` loop runs over");
        return t;
    }
    case ALOOP_WHILE: return NULL;
    }
    return NULL;
}

static void check_form(Ck *ck, AExp *e, AType *elem)
{
    switch (e->loop.kind) {
    case ALOOP_FOR:
    case ALOOP_IN: {
        AType *v = check_pat(ck, e->loop.var, AT_FREE);
        ck_try(ck);
        if (!ty_unify(ck, v, elem))
            ck_error(ck, e->loop.var->loc, "this pattern has type %s, but is given %s", said(ck, v),
                     said(ck, elem));
        return;
    }
    case ALOOP_WHILE:
        check_is(ck, e->loop.bound, ty_scalar(ck, S_BOOL), "condition of `while`");
        return;
    }
}

/* One trial with the given dimensions varying; returns the parameter's type. */
static AType *attempt(Loop *l, AExp *e, AType *init, AType *elem, const Ints *varying)
{
    Ck *ck = l->ck;
    int pos = 0;
    l->first_id = ck->ids;
    l->varying = varying;
    AType *t = vary(ck, init, varying, &pos, e->loc);
    e->loop.sizes = (Bindings){0};
    for (int i = 0; i < e->loop.size_names.n; i++) {
        const NameLoc *n = &e->loop.size_names.at[i];
        Binding *b = new_binding(ck, BIND_SIZE, n->name, n->loc);
        b->type = ty_scalar(ck, S_I64);
        vec_push(ck->a, &e->loop.sizes, b);
        bind_name(ck, b);
    }
    l->sizes = &e->loop.sizes;
    AType *p = check_pat(ck, e->loop.pat, AT_LOOP);
    check_distinct(ck, &(Pats){&e->loop.pat, 1, 1});
    check_names_used(ck, &e->loop.sizes, p);
    ck_try(ck);
    bool fits = starts(l, p, t);
    if (!fits)
        ck_error(ck, e->loop.init->loc, "the loop parameter has type %s, but starts as %s%s",
                 said(ck, p), said(ck, t), because(ck, p, t));
    check_form(ck, e, elem);
    solve_wanted(ck, false);
    AType *b = ty_plain(ck, check_against(ck, e->loop.body, p));
    ck_try(ck);
    l->changed = (Ints){0};
    l->size_error = false;
    pos = 0;
    if (fits && (!returns(l, p, b, t, &pos) || l->size_error)) {
        ck_error(ck, e->loop.body->loc, "the loop parameter has type %s, but the body returns %s%s",
                 said(ck, p), said(ck, b), because(ck, p, b));
        ck_note(ck, e->loop.pat->loc, "the parameter is here");
        l->changed.n = 0;
    }
    return p;
}

/* Whether what it is made of says of which type it is only with what surrounds it. */
static bool is_open(const AExp *e)
{
    bool open = e->kind == AE_CONSTR;
    for (int i = 0; e->kind == AE_TUPLE && i < e->seq.elems.n; i++)
        open |= is_open(e->seq.elems.at[i]);
    return open;
}

/* The types that are written in a pattern, in its form. */
static AType *written(Ck *ck, const Pat *p)
{
    if (p->kind == P_ASCRIBE)
        return check_type(ck, p->te, AT_FREE);
    if (p->kind != P_TUPLE)
        return ty_meta(ck, TC_ANY, p->loc);
    ATypes ts = {0};
    for (int i = 0; i < p->elems.n; i++)
        vec_push(ck->a, &ts, written(ck, p->elems.at[i]));
    return ty_tuple(ck, ts);
}

AType *check_loop(Ck *ck, AExp *e, AType *want)
{
    if (is_open(e->loop.init) && pat_says_type(e->loop.pat) && !e->loop.size_names.n)
        want = written(ck, e->loop.pat);
    AType *init = ty_plain(ck, check_against(ck, e->loop.init, want));
    if (!value_only(ck, init, e->loop.init->loc, "a loop"))
        init = ty_error(ck);
    AType *elem = check_bound(ck, e);
    Scopes scopes = scopes_now(ck);
    int mark = trail_mark(ck), wanted = ck->wanted.n, first_uid = ck->n_bindings;
    int deferred = ck->deferred.n;
    Wanted *kept = arena_memdup(ck->a, ck->wanted.at, sizeof *kept * (size_t)wanted);
    Ints varying = {0};
    Loop l = {.ck = ck};
    AType *t;
    for (;;) {
        int errors = diag_errors();
        t = attempt(&l, e, init, elem, &varying);
        scopes_back(ck, scopes);
        if (!l.changed.n || diag_errors() > errors)
            break;
        trail_undo(ck, mark);
        ck->wanted.n = 0;
        ck->deferred.n = deferred;
        for (int i = 0; i < wanted; i++)
            vec_push(ck->a, &ck->wanted, kept[i]);
        vec_append(ck->a, &varying, &l.changed);
    }
    return ty_leave(ck, ty_plain(ck, t), first_uid, NULL, e->loc);
}
