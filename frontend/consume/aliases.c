/* What values share memory with, and which of it was consumed: the state of the check of
 * consumption (consume_int.h). */
#include "frontend/consume/consume_int.h"

#include <string.h>

/* --- Types ---------------------------------------------------------------------------------- */

static bool holds_arrays(void *env, const AType *t)
{
    return t->kind == TY_ARRAY || t->kind == TY_FUN || t->kind == TY_VAR ||
           type_any_part(t, holds_arrays, env);
}

bool al_holds_arrays(const AType *t)
{
    return holds_arrays(NULL, t);
}

bool al_is_product(const AType *t)
{
    return type_is_composite(t);
}

bool al_is_unique(const AType *t)
{
    return t->unique || type_is_acc(t);
}

static bool any_unique(const AType *t, bool unique)
{
    unique |= al_is_unique(t);
    if (!al_is_product(t))
        return unique && (t->kind == TY_ARRAY || t->kind == TY_VAR);
    for (int i = 0; i < t->elems.n; i++)
        if (any_unique(t->elems.at[i], unique))
            return true;
    return false;
}

bool al_any_unique(const AType *t)
{
    return any_unique(t, false);
}

AType *al_add_unique(Co *co, AType *t, const AType *from)
{
    if (t == from || (t->kind != from->kind && t->unique >= from->unique))
        return t;
    AType c = *t;
    bool changed = t->unique < from->unique;
    c.unique |= from->unique;
    if (t->kind == from->kind && t->kind == TY_FUN) {
        c.fun.param = al_add_unique(co, t->fun.param, from->fun.param);
        c.fun.result = al_add_unique(co, t->fun.result, from->fun.result);
        changed |= c.fun.param != t->fun.param || c.fun.result != t->fun.result;
    } else if (t->kind == from->kind && al_is_product(t) && t->elems.n == from->elems.n) {
        c.elems = (ATypes){0};
        for (int i = 0; i < t->elems.n; i++) {
            vec_push(co->ck->a, &c.elems, al_add_unique(co, t->elems.at[i], from->elems.at[i]));
            changed |= c.elems.at[i] != t->elems.at[i];
        }
    }
    return changed ? arena_memdup(co->ck->a, &c, sizeof c) : t;
}

bool al_binds_type(const Binding *b, const AType *t)
{
    for (int i = 0; t->kind == TY_VAR && i < b->tparams.n; i++)
        if (b->tparams.at[i] == t->var)
            return true;
    return false;
}

/* --- Trees ---------------------------------------------------------------------------------- */

static VarLeaf *leaf_of(const Ref *r)
{
    return &r->v->leaves.at[r->leaf];
}

RefSet *al_all(Co *co, const Al *al)
{
    RefSet *s = al->refs;
    for (int i = 0; i < al->kids.n; i++)
        s = al_set_union(co, s, al_all(co, al->kids.at[i]));
    return s;
}

Al *al_none(Co *co)
{
    return NEW(co->a, Al);
}

Al *al_shape(Co *co, const AType *t, Al *al)
{
    if (!al_holds_arrays(t))
        return al->refs || al->kids.n ? al_none(co) : al;
    if (!al_is_product(t) && !al->kids.n)
        return al;
    Al *c = al_none(co);
    if (!al_is_product(t)) {
        c->refs = al_all(co, al);
        return c;
    }
    bool same = al->kids.n == t->elems.n;
    for (int i = 0; i < t->elems.n; i++) {
        Al *from = al->kids.n == t->elems.n ? al->kids.at[i] : al;
        vec_push(co->a, &c->kids, al_shape(co, t->elems.at[i], from));
        same = same && c->kids.at[i] == from;
    }
    return same ? al : c;
}

Al *al_union(Co *co, const Al *x, const Al *y)
{
    Al *c = al_none(co);
    if (x->kids.n && x->kids.n == y->kids.n) {
        for (int i = 0; i < x->kids.n; i++)
            vec_push(co->a, &c->kids, al_union(co, x->kids.at[i], y->kids.at[i]));
        return c;
    }
    c->refs = al_set_union(co, al_all(co, x), al_all(co, y));
    return c;
}

void al_leaves(const AType *t, Al *al, bool unique, Leaves *out, Arena *a)
{
    unique |= al_is_unique(t);
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            al_leaves(t->elems.at[i], al_kid(al, i), unique, out, a);
        return;
    }
    Leaf l = {.t = t, .al = al, .unique = unique};
    vec_push(a, out, l);
}

Al *al_rebuild(Co *co, const AType *t, const Leaves *ls, int *next)
{
    if (!al_is_product(t))
        return ls->at[(*next)++].al;
    Al *c = al_none(co);
    for (int i = 0; i < t->elems.n; i++)
        vec_push(co->a, &c->kids, al_rebuild(co, t->elems.at[i], ls, next));
    return c;
}

/* --- Overlapping components ----------------------------------------------------------------- */

typedef VEC(VarLeaf *) Counted;
typedef struct {
    Co *co;
    const Leaves *ls;
    int next;
    int sums;    /* around what is counted */
    Counted log; /* inside of sums a leaf for each time that it was counted */
} Count;

static void count_leaf(Count *c, const Leaf *l)
{
    for (int j = 0; j < l->refs.n; j++) {
        VarLeaf *r = leaf_of(&l->refs.at[j]);
        if (l->refs.at[j].v->kind == VAR_HIDDEN)
            continue;
        r->n = r->stamp == c->co->stamp ? r->n + 1 : 1;
        r->stamp = c->co->stamp;
        if (c->sums)
            vec_push(c->co->tmp, &c->log, r);
    }
}

static void count_refs(Count *c, const AType *t);

/* One more of a leaf; how many there are then. */
static intptr_t one_more(PtrMap *times, const VarLeaf *l)
{
    intptr_t n = (intptr_t)ptrmap_get(times, l) + 1;
    ptrmap_put(times, l, (void *)n);
    return n;
}

/* A ref counts as often as in the constructor that has it most often. */
static void count_sum(Count *c, const AType *t)
{
    Counted most = {0};
    PtrMap *in_most = ptrmap_new(c->co->tmp);
    int start = c->log.n;
    c->sums++;
    for (int k = 0; k < t->elems.n; k++) {
        PtrMap *here = ptrmap_new(c->co->tmp);
        count_refs(c, t->elems.at[k]);
        for (int i = start; i < c->log.n; i++)
            c->log.at[i]->n--;
        for (int i = start; i < c->log.n; i++) {
            VarLeaf *l = c->log.at[i];
            if (one_more(here, l) <= (intptr_t)ptrmap_get(in_most, l))
                continue;
            one_more(in_most, l);
            vec_push(c->co->tmp, &most, l);
        }
        c->log.n = start;
    }
    c->sums--;
    for (int i = 0; i < most.n; i++) {
        most.at[i]->n++;
        if (c->sums)
            vec_push(c->co->tmp, &c->log, most.at[i]);
    }
}

static void count_refs(Count *c, const AType *t)
{
    if (t->kind == TY_SUM) {
        count_sum(c, t);
        return;
    }
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        count_refs(c, t->elems.at[i]);
    if (!al_is_product(t))
        count_leaf(c, &c->ls->at[c->next++]);
}

void al_count(Co *co, const AType *t, Leaves *ls)
{
    for (int i = 0; i < ls->n; i++)
        ls->at[i].refs = al_list(co, ls->at[i].al->refs);
    Count c = {.co = co, .ls = ls};
    co->stamp++;
    count_refs(&c, t);
}

bool al_is_in_others(const Ref *r)
{
    return r->v->kind != VAR_HIDDEN && leaf_of(r)->n > 1;
}

const Ref *al_in_others(const Leaf *l)
{
    for (int i = 0; i < l->refs.n; i++)
        if (al_is_in_others(&l->refs.at[i]))
            return &l->refs.at[i];
    return NULL;
}

/* --- Variables ------------------------------------------------------------------------------ */

Var *al_make_up(Co *co, VarKind kind, const char *name, Loc loc)
{
    Var *v = NEW(co->a, Var);
    *v = (Var){.kind = kind, .name = name, .loc = loc, .depth = co->frames.n};
    vec_push(co->a, &v->leaves, ((VarLeaf){.al = al_none(co)}));
    return v;
}

/* Whether what the functions in a definition's type make is of an abstract type, other than a
 * parameter of its own: it was not handed that, so it has made it. */
static bool makes_hidden(const Binding *b, const AType *t, bool unique)
{
    unique |= al_is_unique(t);
    if (t->kind == TY_FUN)
        return makes_hidden(b, t->fun.result, false);
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        if (makes_hidden(b, t->elems.at[i], unique))
            return true;
    return t->kind == TY_VAR && !unique && !al_binds_type(b, t) && !type_is_acc(t);
}

/* A component of the value of a top-level definition. It may be consumed if it is made anew at each
 * use: its elements are of a type that the use decides. */
static RefSet *global_refs(Co *co, const Binding *b, const AType *t, Ref self)
{
    const AType *elem = type_elem(t);
    bool made_anew = elem->kind == TY_VAR && al_binds_type(b, elem);
    bool hidden =
        t->kind == TY_FUN ? b->hides || makes_hidden(b, t, false) : b->fresh || b->tparams.n;
    if (hidden && !made_anew)
        return al_set_with(co, (Ref){co->hidden, 0, false}, NULL);
    return t->kind != TY_FUN && !made_anew ? al_set_with(co, self, NULL) : NULL;
}

/* The leaves of v of type t; each aliases itself, but of top-level definitions. */
static Al *make_leaves(Co *co, Var *v, const AType *t, const Al *al)
{
    Al *c = al_none(co);
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->a, &c->kids,
                     make_leaves(co, v, t->elems.at[i], al->kids.n ? al->kids.at[i] : al));
        return c;
    }
    if (v->global && al_holds_arrays(t)) {
        c->refs = global_refs(co, v->global, t, (Ref){v, v->leaves.n, false});
    } else if (al_holds_arrays(t)) {
        c->refs = al_set_with(co, (Ref){v, v->leaves.n, false}, al->refs);
    }
    vec_push(co->a, &v->leaves, ((VarLeaf){.al = c}));
    return c;
}

static Var *new_var(Co *co, Binding *b, VarKind kind, const AType *t, Al *al)
{
    Var *v = NEW(co->a, Var);
    *v = (Var){.kind = kind, .name = b->name, .loc = b->loc, .type = t, .depth = co->frames.n};
    v->global = kind == VAR_GLOBAL ? b : NULL;
    v->al = make_leaves(co, v, t, al_shape(co, t, al));
    ptrmap_put(co->vars, b, v);
    return v;
}

static void enter_scope(Co *co, Var *v)
{
    v->in_scope = true;
    vec_push(co->a, &co->scope, v);
}

void al_bind_var(Co *co, Binding *b, const AType *t, Al *al, bool may)
{
    Var *v = new_var(co, b, VAR_LOCAL, t, al);
    v->may = may;
    enter_scope(co, v);
}

void al_bind_fun(Co *co, Binding *b, Al *captured)
{
    Var *v = NEW(co->a, Var);
    *v = (Var){.name = b->name, .loc = b->loc, .type = b->type, .depth = co->frames.n};
    v->al = captured;
    ptrmap_put(co->vars, b, v);
    enter_scope(co, v);
}

void al_bind_pat(Co *co, const Pat *p, Al *al, AlBind how)
{
    switch (p->kind) {
    case P_VAR:
        al_bind_var(co, p->bind, p->type, al,
                    how == BIND_LET || how == BIND_LOOP_PARAM ||
                        (how != BIND_LOOP_ELEM && al_any_unique(p->type)));
        vec_last(&co->scope)->elem = how == BIND_LOOP_ELEM;
        vec_last(&co->scope)->looped = how == BIND_LOOP_TYPED;
        return;
    case P_WILD:
    case P_LIT: return;
    case P_ASCRIBE:
        al_bind_pat(co, p->pat, al, how == BIND_LOOP_PARAM ? BIND_LOOP_TYPED : how);
        return;
    case P_CONSTR:
        al = al_kid(al, type_part(p->type, p->name));
        for (int i = 0; i < p->elems.n; i++)
            al_bind_pat(co, p->elems.at[i], al_kid(al, i), how);
        return;
    case P_TUPLE:
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++) {
            int k = i;
            for (int j = 0; p->kind == P_RECORD && j < p->type->names.n; j++)
                if (p->type->names.at[j] == p->names.at[i])
                    k = j;
            al_bind_pat(co, p->elems.at[i], al_kid(al, k), how);
        }
        return;
    }
}

Var *al_var(Co *co, Binding *b)
{
    Var *v = ptrmap_get(co->vars, b);
    return v ? v : new_var(co, b, VAR_GLOBAL, b->type, al_none(co));
}

void al_unscope(Co *co, int n)
{
    while (co->scope.n > n)
        co->scope.at[--co->scope.n]->in_scope = false;
}

void al_push_frame(Co *co, FrameKind kind)
{
    Frame f = {.kind = kind};
    vec_push(co->a, &co->frames, f);
}

RefSet *al_pop_frame(Co *co, int marked)
{
    al_set_marks(co, marked, co->marked.n, NULL);
    co->marked.n = marked;
    return co->frames.at[--co->frames.n].used;
}

const char *al_describe(Co *co, const Var *v)
{
    switch (v->kind) {
    case VAR_LOCAL:
    case VAR_GLOBAL: return arena_printf(co->a, "`%s`", v->name);
    case VAR_CALL:
        return v->name ? arena_printf(co->a, "another part of the result of `%s`", v->name)
                       : "another part of the result of a call";
    case VAR_LOOP: return "another part of the result of a loop";
    case VAR_PARTS:
    case VAR_HIDDEN: return "another part of the same value";
    }
    return "";
}

/* --- Use and consumption -------------------------------------------------------------------- */

const char al_why_hidden[] = "whoever made it may still know its memory (its type is abstract, or "
                             "its definition polymorphic)";

bool al_check_alive(Co *co, RefSet *s, Loc loc, const char *name)
{
    if (al_set_alive(co, s))
        return true;
    const Ref *gone = NULL;
    const Refs rs = al_list(co, s);
    for (int i = 0; i < rs.n && (!gone || gone->v->kind > VAR_GLOBAL); i++)
        if (al_is_gone(&rs.at[i]) && (!gone || rs.at[i].v->kind <= VAR_GLOBAL))
            gone = &rs.at[i];
    const char *what = al_describe(co, gone->v);
    bool named = gone->v->kind <= VAR_GLOBAL;
    if (!name)
        ck_error(co->ck, loc, "this value aliases %s, which was consumed", what);
    else if (!named)
        ck_error(co->ck, loc, "`%s` is used, but it may share memory with %s, which was consumed",
                 name, what);
    else if (strcmp(name, gone->v->name))
        ck_error(co->ck, loc, "`%s` is used, but it aliases %s, which was consumed", name, what);
    else
        ck_error(co->ck, loc, "`%s` is used after it was consumed", name);
    ck_note(co->ck, leaf_of(gone)->gone, "%s was consumed here", named ? what : "that");
    return false;
}

void al_use_var(Co *co, Var *v, Loc loc)
{
    RefSet *s = al_all(co, v->al);
    for (int f = v->depth; v->kind == VAR_LOCAL && f < co->frames.n; f++)
        co->frames.at[f].used = al_set_union(co, co->frames.at[f].used, s);
    al_check_alive(co, s, loc, v->name);
}

/* The type of leaf number *n. */
static const AType *leaf_type(const AType *t, int *n)
{
    if (!al_is_product(t))
        return (*n)-- == 0 ? t : NULL;
    for (int i = 0; i < t->elems.n; i++) {
        const AType *found = leaf_type(t->elems.at[i], n);
        if (found)
            return found;
    }
    return NULL;
}

/* What is consumed is bound outside of the innermost frame. */
static void consumed_outside(Co *co, const Var *v, Loc loc)
{
    const char *name = v->name;
    FrameKind kind = vec_last(&co->frames).kind;
    bool own = kind == FRAME_CONDITION && v->depth == co->frames.n - 1;
    if (own)
        ck_error(co->ck, loc,
                 "`%s` is consumed by the condition of the loop, but the body is to use it next",
                 name);
    else if (kind == FRAME_SIZE)
        ck_error(co->ck, loc, "`%s` is consumed in a size, but sizes only look at values", name);
    else if (kind != FRAME_FUNCTION)
        ck_error(co->ck, loc,
                 "`%s` is consumed in a loop, but it is bound outside: the next iteration would "
                 "use it again",
                 name);
    else
        ck_error(co->ck, loc, "`%s` is consumed in a function, but it is bound outside", name);
    bool carried = kind == FRAME_BODY || (kind == FRAME_CONDITION && !own);
    if (type_is_acc(v->type))
        ck_note(co->ck, v->loc, "`%s` is bound here; %s", name,
                carried ? "make it a loop parameter"
                        : "only the function that is given an accumulator can use it");
    else
        ck_note(co->ck, v->loc, "`%s` is bound here; %suse `copy %s`", name,
                carried ? "make it a loop parameter, or " : "", name);
}

/* Whether a ref may be consumed here; else says why not. */
static bool may_consume(Co *co, const Ref *r, Loc loc)
{
    const Var *v = r->v;
    const char *name = v->name;
    if (v->kind == VAR_HIDDEN) {
        ck_error(co->ck, loc, "this is consumed, but %s; use `copy`", al_why_hidden);
        return false;
    }
    if (v->kind == VAR_GLOBAL) {
        ck_error(co->ck, loc, "`%s` is consumed, but it is a top-level definition; use `copy %s`",
                 name, name);
        return false;
    }
    if (!v->in_scope || (v->may && v->depth == co->frames.n))
        return true;
    int leaf = r->leaf;
    const AType *part = leaf_type(v->type, &leaf);
    if (part->kind == TY_FUN) {
        ck_error(co->ck, loc, "this is consumed, but `%s`, which returned it, may still know it",
                 name);
        ck_note(co->ck, v->loc, "declare the result of `%s` as unique (`*`), or use `copy`", name);
        return false;
    }
    if (v->depth < co->frames.n) {
        consumed_outside(co, v, loc);
        return false;
    }
    if (v->elem) {
        ck_error(co->ck, loc,
                 "`%s` is consumed, but it is an element of the array that the loop goes over; use "
                 "`copy %s`",
                 name, name);
        return false;
    }
    if (v->looped) {
        ck_error(co->ck, loc, "`%s` is consumed, but the loop declares it as not unique: `%s`",
                 name, show(co->ck, v->type));
        ck_note(co->ck, v->loc, "write `*%s`, or no type", show(co->ck, v->type));
        return false;
    }
    ck_error(co->ck, loc, "`%s` is consumed, but it is a parameter that is not unique", name);
    ck_note(co->ck, v->loc, "declare %s as `*%s`, or use `copy`",
            part == v->type ? "the parameter" : "that component of the parameter",
            show(co->ck, part));
    return false;
}

void al_consume(Co *co, const Refs *rs, Loc loc)
{
    co->consumptions++;
    for (int i = 0; i < rs->n; i++)
        if (!may_consume(co, &rs->at[i], loc))
            return;
    for (int i = 0; i < rs->n; i++)
        if (!al_is_gone(&rs->at[i])) /* else its use was reported */
            al_mark_gone(co, &rs->at[i], loc);
}

Done co_eval_part(Co *co, AExp *e)
{
    Al *al = co_eval(co, e);
    return (Done){e, al, co->marked.n};
}

void co_still_alive(Co *co, const Done *d)
{
    if (co->marked.n == d->marked)
        return;
    al_check_alive(co, al_all(co, d->al), d->e->loc, d->e->kind == AE_VAR ? d->e->var.name : NULL);
}
