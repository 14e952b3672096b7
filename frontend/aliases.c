/* What values share memory with, and which of it was consumed: the state of the check of
 * consumption (consume.h). */
#include "frontend/consume.h"

#include <string.h>

/* --- Types ---------------------------------------------------------------------------------- */

bool al_holds_arrays(const AType *t)
{
    switch (t->kind) {
    case TY_SCALAR:
    case TY_ERROR:
    case TY_META: return false;
    case TY_ARRAY:
    case TY_FUN:
    case TY_VAR: return true;
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; i < t->elems.n; i++)
            if (al_holds_arrays(t->elems.at[i]))
                return true;
        return false;
    }
    return false;
}

bool al_is_product(const AType *t)
{
    return type_is_composite(t);
}

static bool any_unique(const AType *t, bool unique)
{
    unique |= t->unique;
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
            vec_push(co->a, &c.elems, al_add_unique(co, t->elems.at[i], from->elems.at[i]));
            changed |= c.elems.at[i] != t->elems.at[i];
        }
    }
    return changed ? arena_memdup(co->a, &c, sizeof c) : t;
}

bool al_binds_type(const Binding *b, const AType *t)
{
    for (int i = 0; t->kind == TY_VAR && i < b->tparams.n; i++)
        if (b->tparams.at[i] == t->var)
            return true;
    return false;
}

/* --- Sets of refs --------------------------------------------------------------------------- */

static VarLeaf *leaf_of(const Ref *r)
{
    return &r->v->leaves.at[r->leaf];
}

/* Lets VarLeaf.n of each ref of the set be its place in it. */
static unsigned stamp_places(Co *co, const Refs *rs)
{
    unsigned s = ++co->stamp;
    for (int i = 0; i < rs->n; i++) {
        leaf_of(&rs->at[i])->stamp = s;
        leaf_of(&rs->at[i])->n = i;
    }
    return s;
}

static void add_refs(Co *co, Refs *to, const Refs *from, unsigned stamp)
{
    if (!to->n) { /* most sets are that of one variable: shared, until it grows */
        *to = (Refs){from->at, from->n, from->n};
        for (int i = 0; i < to->n; i++) {
            leaf_of(&to->at[i])->stamp = stamp;
            leaf_of(&to->at[i])->n = i;
        }
        return;
    }
    for (int i = 0; i < from->n; i++) {
        VarLeaf *l = leaf_of(&from->at[i]);
        if (l->stamp == stamp && to->at[l->n].closure <= from->at[i].closure)
            continue;
        if (l->stamp == stamp) {
            to->at = arena_memdup(co->a, to->at, sizeof *to->at * (size_t)to->n);
            to->cap = to->n;
            to->at[l->n].closure = false;
            continue;
        }
        l->stamp = stamp;
        l->n = to->n;
        vec_push(co->a, to, from->at[i]);
    }
}

static void add_flat(Co *co, Refs *to, const Al *al, unsigned stamp)
{
    add_refs(co, to, &al->refs, stamp);
    for (int i = 0; i < al->kids.n; i++)
        add_flat(co, to, al->kids.at[i], stamp);
}

void al_add_flat(Co *co, Refs *to, const Al *al)
{
    add_flat(co, to, al, stamp_places(co, to));
}

void al_add_refs(Co *co, Refs *to, const Refs *from)
{
    add_refs(co, to, from, stamp_places(co, to));
}

void al_add_ref(Co *co, Refs *to, Ref r)
{
    Refs one = {arena_memdup(co->a, &r, sizeof r), 1, 1};
    al_add_refs(co, to, &one);
}

Refs al_flat(Co *co, const Al *al)
{
    Refs rs = {0};
    al_add_flat(co, &rs, al);
    return rs;
}

const Ref *al_shared(Co *co, const Refs *x, const Refs *y)
{
    unsigned s = stamp_places(co, x);
    for (int i = 0; i < y->n; i++)
        if (leaf_of(&y->at[i])->stamp == s && y->at[i].v->kind != VAR_HIDDEN)
            return &y->at[i];
    return NULL;
}

/* --- Trees ---------------------------------------------------------------------------------- */

Al *al_none(Co *co)
{
    return NEW(co->a, Al);
}

Al *al_shape(Co *co, const AType *t, Al *al)
{
    Al *c = al_none(co);
    if (!al_holds_arrays(t))
        return c;
    if (!al_is_product(t)) {
        if (!al->kids.n)
            return al;
        al_add_flat(co, &c->refs, al);
        return c;
    }
    for (int i = 0; i < t->elems.n; i++) {
        Al *from = al->kids.n == t->elems.n ? al->kids.at[i] : al;
        vec_push(co->a, &c->kids, al_shape(co, t->elems.at[i], from));
    }
    return c;
}

Al *al_union(Co *co, const Al *x, const Al *y)
{
    Al *c = al_none(co);
    if (x->kids.n && x->kids.n == y->kids.n) {
        for (int i = 0; i < x->kids.n; i++)
            vec_push(co->a, &c->kids, al_union(co, x->kids.at[i], y->kids.at[i]));
        return c;
    }
    al_add_flat(co, &c->refs, x);
    al_add_flat(co, &c->refs, y);
    return c;
}

void al_leaves(const AType *t, Al *al, bool unique, Leaves *out, Arena *a)
{
    unique |= t->unique;
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            al_leaves(t->elems.at[i], al_kid(al, i), unique, out, a);
        return;
    }
    Leaf l = {t, al, unique};
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
    Counted log; /* a leaf for each time that it was counted */
} Count;

static void count_leaf(Count *c, const Leaf *l)
{
    for (int j = 0; j < l->al->refs.n; j++) {
        VarLeaf *r = leaf_of(&l->al->refs.at[j]);
        if (l->al->refs.at[j].v->kind == VAR_HIDDEN)
            continue;
        r->n = r->stamp == c->co->stamp ? r->n + 1 : 1;
        r->stamp = c->co->stamp;
        vec_push(c->co->a, &c->log, r);
    }
}

static void count_refs(Count *c, const AType *t);

/* How often a leaf is among those from <= i < to. */
static int times(const Counted *ls, int from, int to, const VarLeaf *l)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += ls->at[i] == l;
    return n;
}

/* A ref counts as often as in the constructor that has it most often. */
static void count_sum(Count *c, const AType *t)
{
    Counted most = {0};
    int start = c->log.n;
    for (int k = 0; k < t->elems.n; k++) {
        count_refs(c, t->elems.at[k]);
        for (int i = start; i < c->log.n; i++)
            c->log.at[i]->n--;
        for (int i = start; i < c->log.n; i++)
            if (times(&c->log, start, i + 1, c->log.at[i]) > times(&most, 0, most.n, c->log.at[i]))
                vec_push(c->co->a, &most, c->log.at[i]);
        c->log.n = start;
    }
    for (int i = 0; i < most.n; i++) {
        most.at[i]->n++;
        vec_push(c->co->a, &c->log, most.at[i]);
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

void al_count(Co *co, const AType *t, const Leaves *ls)
{
    Count c = {.co = co, .ls = ls};
    co->stamp++;
    count_refs(&c, t);
}

const Ref *al_in_others(const Leaf *l)
{
    for (int i = 0; i < l->al->refs.n; i++)
        if (l->al->refs.at[i].v->kind != VAR_HIDDEN && leaf_of(&l->al->refs.at[i])->n > 1)
            return &l->al->refs.at[i];
    return NULL;
}

bool al_is_marker(const Ref *r)
{
    return leaf_of(r)->n > 1 && !r->v->in_scope && r->v->kind != VAR_HIDDEN;
}

static Al *with_ref(Co *co, const Al *al, Ref r)
{
    Al *c = al_none(co);
    al_add_flat(co, &c->refs, al);
    vec_push(co->a, &c->refs, r);
    return c;
}

Al *al_mark_overlap(Co *co, const AType *t, Al *al, Loc loc)
{
    if (!al_is_product(t) || !al_holds_arrays(t))
        return al;
    Leaves ls = {0};
    al_leaves(t, al, false, &ls, co->a);
    al_count(co, t, &ls);
    VEC(int) overlap = {0};
    for (int i = 0; i < ls.n; i++) {
        const Refs *rs = &ls.at[i].al->refs;
        for (int j = 0; j < rs->n; j++)
            if (al_is_marker(&rs->at[j]))
                return al;
        if (al_in_others(&ls.at[i]))
            vec_push(co->a, &overlap, i);
    }
    if (!overlap.n)
        return al;
    Ref marker = {al_make_up(co, VAR_PARTS, NULL, loc), 0, false};
    for (int i = 0; i < overlap.n; i++)
        ls.at[overlap.at[i]].al = with_ref(co, ls.at[overlap.at[i]].al, marker);
    int next = 0;
    return al_rebuild(co, t, &ls, &next);
}

/* --- Variables ------------------------------------------------------------------------------ */

Var *al_make_up(Co *co, VarKind kind, const char *name, Loc loc)
{
    Var *v = NEW(co->a, Var);
    *v = (Var){.kind = kind, .name = name, .loc = loc, .depth = co->frames.n};
    vec_push(co->a, &v->leaves, ((VarLeaf){.al = al_none(co)}));
    return v;
}

/* Whether what the functions in a definition's type make is of an abstract type, other than a parameter of its own: it
 * was not handed that, so it has made it. */
static bool makes_hidden(const Binding *b, const AType *t, bool unique)
{
    unique |= t->unique;
    if (t->kind == TY_FUN)
        return makes_hidden(b, t->fun.result, false);
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        if (makes_hidden(b, t->elems.at[i], unique))
            return true;
    return t->kind == TY_VAR && !unique && !al_binds_type(b, t);
}

/* A component of the value of a top-level definition. It may be consumed if it is made anew at each use: its elements
 * are of a type that the use decides. */
static Refs global_refs(Co *co, const Binding *b, const AType *t, Ref self)
{
    const AType *elem = type_elem(t);
    bool made_anew = elem->kind == TY_VAR && al_binds_type(b, elem);
    bool hidden = t->kind == TY_FUN ? b->hides || makes_hidden(b, t, false) : b->fresh || b->tparams.n;
    Refs rs = {0};
    if (hidden && !made_anew)
        vec_push(co->a, &rs, ((Ref){co->hidden, 0, false}));
    else if (t->kind != TY_FUN && !made_anew)
        vec_push(co->a, &rs, self);
    return rs;
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
        Refs rs = {NEWN(co->a, Ref, al->refs.n + 1), 0, al->refs.n + 1};
        vec_push(co->a, &rs, ((Ref){v, v->leaves.n, false}));
        vec_append(co->a, &rs, &al->refs);
        c->refs = rs;
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
    return co->vars[b->uid] = v;
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
    co->vars[b->uid] = v;
    enter_scope(co, v);
}

void al_bind_pat(Co *co, const Pat *p, Al *al, AlBind how)
{
    switch (p->kind) {
    case P_VAR:
        al_bind_var(co, p->bind, p->type, al,
                    how == BIND_LET || how == BIND_LOOP_PARAM ||
                        (how == BIND_PARAM && al_any_unique(p->type)));
        vec_last(&co->scope)->elem = how == BIND_LOOP_ELEM;
        return;
    case P_WILD:
    case P_LIT: return;
    case P_ASCRIBE: al_bind_pat(co, p->pat, al, how); return;
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
    Var *v = co->vars[b->uid];
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

Refs al_pop_frame(Co *co, int marked)
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

bool al_is_gone(const Ref *r)
{
    return leaf_of(r)->gone.beg != 0;
}

bool al_check_alive(Co *co, const Refs *rs, Loc loc, const char *name)
{
    const Ref *gone = NULL;
    for (int i = 0; i < rs->n && (!gone || gone->v->kind > VAR_GLOBAL); i++)
        if (al_is_gone(&rs->at[i]) && (!gone || rs->at[i].v->kind <= VAR_GLOBAL))
            gone = &rs->at[i];
    if (!gone)
        return true;
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
    for (int f = v->depth; v->kind == VAR_LOCAL && f < co->frames.n; f++)
        al_add_flat(co, &co->frames.at[f].used, v->al);
    Refs rs = al_flat(co, v->al);
    al_check_alive(co, &rs, loc, v->name);
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
                 "`%s` is consumed by the condition of the loop, but the body is to use it next", name);
    else if (kind == FRAME_SIZE)
        ck_error(co->ck, loc, "`%s` is consumed in a size, but sizes only look at values", name);
    else if (kind != FRAME_FUNCTION)
        ck_error(co->ck, loc,
                 "`%s` is consumed in a loop, but it is bound outside: the next iteration would "
                 "use it again",
                 name);
    else
        ck_error(co->ck, loc, "`%s` is consumed in a function, but it is bound outside", name);
    ck_note(co->ck, v->loc, "`%s` is bound here; %suse `copy %s`", name,
            kind == FRAME_BODY || (kind == FRAME_CONDITION && !own) ? "make it a loop parameter, or " : "", name);
}

/* Whether a ref may be consumed here; else says why not. */
static bool may_consume(Co *co, const Ref *r, Loc loc)
{
    const Var *v = r->v;
    const char *name = v->name;
    if (v->kind == VAR_HIDDEN) {
        ck_error(co->ck, loc,
                 "this is consumed, but whoever made it may still know its memory (its type is abstract, or its "
                 "definition polymorphic); use `copy`");
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
    ck_error(co->ck, loc, "`%s` is consumed, but it is a parameter that is not unique", name);
    ck_note(co->ck, v->loc, "declare %s as `*%s`, or use `copy`",
            part == v->type ? "the parameter" : "that component of the parameter",
            show(co->ck, part));
    return false;
}

void al_mark_gone(Co *co, const Ref *r, Loc loc)
{
    leaf_of(r)->gone = loc;
    vec_push(co->a, &co->marked, *r);
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

void al_set_marks(Co *co, int from, int to, const Loc *locs)
{
    for (int i = from; i < to; i++)
        leaf_of(&co->marked.at[i])->gone = locs ? locs[i - from] : (Loc){0, 0};
}
