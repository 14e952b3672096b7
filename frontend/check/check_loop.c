/* Loops. A dimension of a loop parameter keeps the size of the initial value unless the body
 * returns another one; then it is unknown inside the loop and after it. Whether that is so shows
 * only when the body has been checked, so the body is checked again with a variable for the
 * dimension: where the body needs two of them to be equal (`zip xs ys`) they are one size, and what
 * it says nothing of is unknown. That is of no use where only the body says that the initial value
 * is an array (`if c then ??? else ???`). */
#include "frontend/check/check.h"

/* Dimensions of the initial value's type, from outside in and left to right. */
typedef VEC(int) Ints;

static bool among(const Ints *v, int x)
{
    for (int i = 0; i < v->n; i++)
        if (v->at[i] == x)
            return true;
    return false;
}

/* A size of the loop, and what it is: when the loop starts, or at the end of a turn. */
typedef struct {
    Size *size, *is;
} Turn;
typedef VEC(Turn) Turns;

/* A dimension that varies: a variable while the body is checked, the initial value's size, and what
 * it is if the body says nothing of it. */
typedef struct {
    Size *size, *init, *unknown;
} Varying;

typedef struct {
    Ck *ck;
    const Bindings *sizes;     /* loop [n] ... */
    int first_id, first_inner; /* unknown sizes from the one on belong to the loop, from the other
                                  on to its body */
    const Ints *varying;       /* at this attempt */
    VEC(Size **) dims;         /* of the parameter's type, from outside in and left to right */
    VEC(Varying) open;
    Turns starting, ending; /* of sizes that may vary */
    Ints changed;           /* found by `returns` */
    bool size_error;
} Loop;

static Size *vary_size(Loop *l, Size *init, Loc loc)
{
    Varying v = {.init = init, .unknown = sz_unknown(l->ck, loc)};
    v.size = sz_meta(l->ck, loc);
    v.size->turns = true;
    vec_push(l->ck->a, &l->open, v);
    return v.size;
}

static void vary_dim(Loop *l, Size **dim, Loc loc)
{
    if (among(l->varying, l->dims.n))
        *dim = vary_size(l, *dim, loc);
    vec_push(l->ck->a, &l->dims, dim);
}

static AType *vary(Loop *l, AType *t, Loc loc);

static ATypes vary_all(Loop *l, const ATypes *ts, Loc loc)
{
    ATypes varied = {0};
    for (int i = 0; i < ts->n; i++)
        vec_push(l->ck->a, &varied, vary(l, ts->at[i], loc));
    return varied;
}

/* The type of the initial value, with other sizes where the body changes them. */
static AType *vary(Loop *l, AType *t, Loc loc)
{
    Ck *ck = l->ck;
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        AType *arr = ty_array(ck, t->array.dim, NULL);
        vary_dim(l, &arr->array.dim, loc);
        arr->array.elem = vary(l, t->array.elem, loc);
        return arr;
    }
    if (type_is_composite(t))
        return ty_elems_like(ck, t, vary_all(l, &t->elems, loc));
    if (t->kind == TY_VAR && t->targs.n + t->sargs.n) { /* an abstract type */
        AType *c = arena_memdup(ck->a, t, sizeof *t);
        c->targs = vary_all(l, &t->targs, loc);
        c->sargs = (ASizes){0};
        vec_append(ck->a, &c->sargs, &t->sargs);
        for (int i = 0; i < t->sargs.n; i++)
            vary_dim(l, &c->sargs.at[i], loc);
        return c;
    }
    return t;
}

static bool may_vary(const Loop *l, const Size *s)
{
    if (s->kind == SZ_UNKNOWN)
        return s->id >= l->first_id && s->id < l->first_inner;
    for (int i = 0; s->kind == SZ_VAR && i < l->sizes->n; i++)
        if (l->sizes->at[i] == s->var)
            return true;
    return false;
}

/* Notes what a size that may vary is in a turn: the same wherever it stands. */
static bool agrees(Loop *l, Turns *turns, Size *s, Size *is)
{
    for (int i = 0; i < turns->n; i++)
        if (sz_same(turns->at[i].size, s))
            return sz_unify(l->ck, turns->at[i].is, is);
    Turn t = {s, is};
    vec_push(l->ck->a, turns, t);
    return true;
}

/* Whether both are of one form, so that their parts are compared one by one. */
static bool alike(const AType *a, const AType *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == TY_VAR)
        return a->var == b->var;
    bool same = a->kind == TY_ARRAY || (type_is_composite(a) && a->elems.n == b->elems.n);
    for (int i = 0; type_is_composite(a) && i < a->names.n && same; i++)
        same = a->names.at[i] == b->names.at[i];
    return same;
}

/* Of types that are alike: the parts that are types. */
static ATypes type_parts(AType *t)
{
    return t->kind == TY_ARRAY ? (ATypes){&t->array.elem, 1, 1}
           : t->kind == TY_VAR ? t->targs
                               : t->elems;
}

/* Those that are sizes. */
static ASizes size_parts(AType *t)
{
    return t->kind == TY_ARRAY ? (ASizes){&t->array.dim, 1, 1}
           : t->kind == TY_VAR ? t->sargs
                               : (ASizes){0};
}

/* Gives the parameter p its type from the initial value t; sizes in annotations stay. */
static bool starts(Loop *l, AType *p, AType *t)
{
    Ck *ck = l->ck;
    p = type_deref(p);
    t = type_deref(t);
    if (!alike(p, t))
        return ty_unify(ck, p, t);
    ASizes want = size_parts(p), is = size_parts(t);
    for (int i = 0; i < want.n; i++) {
        Size *w = size_deref(want.at[i]);
        if (may_vary(l, w) ? !agrees(l, &l->starting, w, is.at[i]) : !sz_unify(ck, w, is.at[i]))
            return false;
    }
    ATypes ps = type_parts(p), ts = type_parts(t);
    for (int i = 0; i < ps.n; i++)
        if (!starts(l, ps.at[i], ts.at[i]))
            return false;
    return true;
}

/* What the body has made of the dimensions that vary; false if the loop cannot start so. */
static bool settle(Loop *l)
{
    bool fits = true;
    for (int i = 0; i < l->open.n; i++) {
        const Varying *v = &l->open.at[i];
        Size *s = size_deref(v->size);
        if (s->kind == SZ_META && (s->id >= l->first_id || s->idle))
            sz_unify(l->ck, s, v->unknown);
        s = size_deref(s);
        fits &= may_vary(l, s) ? agrees(l, &l->starting, s, v->init) : sz_unify(l->ck, s, v->init);
    }
    return fits;
}

/* The dimension of the initial value that this is; -1: only the body says that there is
 * an array. */
static int dimension_of(const Loop *l, Size *const *dim)
{
    for (int i = 0; i < l->dims.n; i++)
        if (l->dims.at[i] == dim)
            return i;
    return -1;
}

static void returns_size(Loop *l, Size *x, Size *y, Size *const *dim)
{
    int here = dimension_of(l, dim);
    bool open = y->kind == SZ_META && y->id >= l->first_id;
    if (may_vary(l, x))
        l->size_error |= !agrees(l, &l->ending, x, y);
    else if (!sz_written_same(x, y) && !open && here >= 0 && x == size_deref(*dim) &&
             !among(l->varying, here))
        vec_push(l->ck->a, &l->changed, here);
    else
        l->size_error |= !sz_unify(l->ck, x, y);
}

/* Compares the parameter p with what the body returns; t tells which sizes are the initial
 * value's own, and not an annotation's. Collects the dimensions that the body changes. */
static bool returns(Loop *l, AType *p, AType *b, AType *t)
{
    p = type_deref(p);
    b = type_deref(b);
    t = type_deref(t);
    if (t->kind == TY_ERROR)
        return true;
    if (!alike(p, b) || !alike(p, t))
        return ty_unify(l->ck, p, b);
    ASizes want = size_parts(p), is = size_parts(b), init = size_parts(t);
    for (int i = 0; i < want.n; i++)
        returns_size(l, size_deref(want.at[i]), size_deref(is.at[i]), &init.at[i]);
    ATypes ps = type_parts(p), bs = type_parts(b), ts = type_parts(t);
    for (int i = 0; i < ps.n; i++)
        if (!returns(l, ps.at[i], bs.at[i], ts.at[i]))
            return false;
    return true;
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
        check_is(ck, e->loop.bound, ty_scalar(ck, T_BOOL), "condition of `while`");
        return;
    }
}

static void bind_size_names(Ck *ck, AExp *e)
{
    e->loop.sizes = (Bindings){0};
    for (int i = 0; i < e->loop.size_names.n; i++) {
        const NameLoc *n = &e->loop.size_names.at[i];
        Binding *b = new_binding(ck, BIND_SIZE, n->name, n->loc);
        b->type = ty_scalar(ck, T_I64);
        vec_push(ck->a, &e->loop.sizes, b);
        bind_name(ck, b);
    }
}

static void starts_wrong(Ck *ck, const AExp *e, AType *p, AType *init)
{
    ck_error(ck, e->loop.init->loc, "the loop parameter has type %s, but starts as %s%s",
             said(ck, p), said(ck, init), because(ck, p, init));
}

/* One trial with the given dimensions varying; returns the parameter's type. */
static AType *attempt(Ck *ck, Loop *l, AExp *e, AType *init, AType *elem, const Ints *varying)
{
    *l = (Loop){.ck = ck, .first_id = ck->ids, .varying = varying};
    AType *t = vary(l, init, e->loc);
    bind_size_names(ck, e);
    l->sizes = &e->loop.sizes;
    AType *p = check_pat(ck, e->loop.pat, AT_FREE);
    if (check_distinct(ck, &e->loop.sizes, &(Pats){&e->loop.pat, 1, 1}))
        check_names_used(ck, &e->loop.sizes, p);
    l->first_inner = ck->ids;
    ck_try(ck);
    bool fits = starts(l, p, t);
    if (!fits)
        starts_wrong(ck, e, p, t);
    check_form(ck, e, elem);
    solve_wanted(ck, false);
    AType *b = ty_plain(ck, check_against(ck, e->loop.body, p));
    ck_try(ck);
    if (fits && !settle(l)) {
        starts_wrong(ck, e, p, init);
        return p;
    }
    ck_try(ck);
    if (fits && (!returns(l, p, b, t) || l->size_error)) {
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
    for (int i = 0; e->kind == AE_MATCH && i < e->match.cases.n; i++)
        open |= is_open(e->match.cases.at[i].body);
    if (e->kind == AE_IF)
        open = is_open(e->cond.then) || is_open(e->cond.els);
    return open || (e->kind == AE_LET && is_open(e->let.body));
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
    Loop l;
    AType *t;
    for (;;) {
        int errors = diag_errors();
        t = attempt(ck, &l, e, init, elem, &varying);
        scopes_back(ck, scopes);
        if (l.changed.n && diag_errors() > errors)
            ck_note(
                ck, e->loop.pat->loc,
                "the body may return another size than the loop starts with; give it a name, as in "
                "`loop [n] (xs: [n]t) = ...`");
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
