/* Sets of leaves of variables (consume_int.h), shared: a set is another one and a leaf, or two
 * others, so that a long chain of names for one value costs as much as it is long. They become
 * lists where something was consumed, or may have to be; whether all of a set is alive is kept with
 * it until something is consumed. */
#include "frontend/consume/consume_int.h"

static RefSet *set_new(Co *co, const Ref *one, RefSet *a, RefSet *b)
{
    RefSet *s = NEW(co->a, RefSet);
    *s = (RefSet){.a = a, .b = b, .born = co->sets++};
    if (one)
        s->one = *one;
    bool outside = one && (one->v->kind == VAR_GLOBAL || one->v->kind == VAR_HIDDEN);
    s->outside = outside || (a && a->outside) || (b && b->outside);
    return s;
}

RefSet *al_set_with(Co *co, Ref r, RefSet *rest)
{
    return set_new(co, &r, rest, NULL);
}

RefSet *al_set_union(Co *co, RefSet *a, RefSet *b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    return a->b == b ? a : set_new(co, NULL, a, b);
}

RefSet *al_set_closure(Co *co, RefSet *s)
{
    if (!s || s->closure)
        return s;
    RefSet *c = set_new(co, NULL, s, NULL);
    c->closure = true;
    return c;
}

/* --- As lists ------------------------------------------------------------------------------- */

static VarLeaf *leaf_of(const Ref *r)
{
    return &r->v->leaves.at[r->leaf];
}

static void add_one(Co *co, Refs *to, Ref r, unsigned stamp)
{
    VarLeaf *l = leaf_of(&r);
    if (l->stamp == stamp) {
        to->at[l->n].closure &= r.closure;
        return;
    }
    l->stamp = stamp;
    l->n = to->n;
    vec_push(co->tmp, to, r);
}

/* Each set is gone through once, twice if it is captured by a function and in no other way
 * as well. */
static void add_set(Co *co, Refs *to, RefSet *s, int first, unsigned stamp, unsigned walk)
{
    co->todo.n = 0;
    vec_push(co->a, &co->todo, ((SetPart){s, false}));
    while (co->todo.n) {
        SetPart t = co->todo.at[--co->todo.n];
        if (!t.s || t.s->born < first || t.s->seen[false] == walk || t.s->seen[t.closure] == walk)
            continue;
        t.s->seen[t.closure] = walk;
        if (t.s->one.v) {
            Ref r = t.s->one;
            r.closure |= t.closure;
            add_one(co, to, r, stamp);
        }
        vec_push(co->a, &co->todo, ((SetPart){t.s->b, t.closure | t.s->closure}));
        vec_push(co->a, &co->todo, ((SetPart){t.s->a, t.closure | t.s->closure}));
    }
}

Refs al_list_since(Co *co, RefSet *s, int first)
{
    Refs rs = {0};
    if (s)
        add_set(co, &rs, s, first, ++co->stamp, ++co->walks);
    return rs;
}

Refs al_list(Co *co, RefSet *s)
{
    return al_list_since(co, s, 0);
}

Refs al_list_outside(Co *co, RefSet *s)
{
    Refs all = s && s->outside ? al_list(co, s) : (Refs){0}, outside = {0};
    for (int i = 0; i < all.n; i++)
        if (all.at[i].v->kind == VAR_GLOBAL || all.at[i].v->kind == VAR_HIDDEN)
            vec_push(co->tmp, &outside, all.at[i]);
    return outside;
}

void al_add_refs(Co *co, Refs *to, const Refs *from)
{
    unsigned stamp = ++co->stamp;
    Refs all = {0};
    for (int i = 0; i < to->n; i++)
        add_one(co, &all, to->at[i], stamp);
    for (int i = 0; i < from->n; i++)
        add_one(co, &all, from->at[i], stamp);
    *to = all;
}

const Ref *al_shared(Co *co, const Refs *x, const Refs *y)
{
    unsigned s = ++co->stamp;
    for (int i = 0; i < x->n; i++)
        leaf_of(&x->at[i])->stamp = s;
    for (int i = 0; i < y->n; i++)
        if (leaf_of(&y->at[i])->stamp == s && y->at[i].v->kind != VAR_HIDDEN)
            return &y->at[i];
    return NULL;
}

/* --- What was consumed ---------------------------------------------------------------------- */

bool al_is_gone(const Ref *r)
{
    return leaf_of(r)->gone.beg != 0;
}

void al_mark_gone(Co *co, const Ref *r, Loc loc)
{
    leaf_of(r)->gone = loc;
    co->version++;
    vec_push(co->a, &co->marked, *r);
}

void al_set_marks(Co *co, int from, int to, const Loc *locs)
{
    for (int i = from; i < to; i++)
        leaf_of(&co->marked.at[i])->gone = locs ? locs[i - from] : (Loc){0, 0};
    co->version += from < to;
}

static bool is_checked(const Co *co, const RefSet *s)
{
    return !s || s->checked == co->version;
}

bool al_set_alive(Co *co, RefSet *s)
{
    if (!s || !co->marked.n)
        return true;
    co->todo.n = 0;
    vec_push(co->a, &co->todo, ((SetPart){s, false}));
    while (co->todo.n) {
        RefSet *t = vec_last(&co->todo).s;
        if (is_checked(co, t)) {
            co->todo.n--;
        } else if (!is_checked(co, t->a) || !is_checked(co, t->b)) {
            vec_push(co->a, &co->todo, ((SetPart){is_checked(co, t->a) ? t->b : t->a, false}));
        } else {
            t->alive = !(t->one.v && al_is_gone(&t->one)) && (!t->a || t->a->alive) &&
                       (!t->b || t->b->alive);
            t->checked = co->version;
            co->todo.n--;
        }
    }
    return s->alive;
}
