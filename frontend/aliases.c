/* What values share memory with, and which of it was consumed: the state of the check of
 * consumption (consume.h). */
#include "frontend/consume.h"

#include <string.h>

/* ---- Alias trees ---- */

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
        for (int i = 0; i < t->elems.n; i++)
            if (al_holds_arrays(t->elems.at[i]))
                return true;
        return false;
    }
    return false;
}

bool al_is_product(const AType *t)
{
    return t->kind == TY_TUPLE || t->kind == TY_RECORD;
}

Al *al_none(Co *co)
{
    return NEW(co->a, Al);
}

bool al_has_ref(const Refs *rs, Ref r)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->at[i].b == r.b && rs->at[i].leaf == r.leaf)
            return true;
    return false;
}

static void al_add_refs(Co *co, Refs *to, const Refs *from)
{
    for (int i = 0; i < from->n; i++)
        if (!al_has_ref(to, from->at[i]))
            vec_push(co->a, to, from->at[i]);
}

void al_add_flat(Co *co, Refs *to, const Al *al)
{
    al_add_refs(co, to, &al->refs);
    for (int i = 0; i < al->kids.n; i++)
        al_add_flat(co, to, al->kids.at[i]);
}

/* The tree al in the shape of a type: what a whole tuple aliases, each component may alias. */
Al *al_shape(Co *co, const AType *t, const Al *al)
{
    Al *c = al_none(co);
    if (!al_holds_arrays(t))
        return c;
    if (!al_is_product(t)) {
        al_add_flat(co, &c->refs, al);
        return c;
    }
    for (int i = 0; i < t->elems.n; i++) {
        const Al *from = al->kids.n == t->elems.n ? al->kids.at[i] : al;
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

/* ---- Variables ---- */

static void mark_may(Co *co, Var *v, const AType *t, bool may, bool unique)
{
    unique |= t->unique;
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            mark_may(co, v, t->elems.at[i], may, unique);
        return;
    }
    vec_push(co->a, &v->may, may || unique);
    vec_push(co->a, &v->gone, ((Loc){0, 0}));
}

void al_bind_var(Co *co, Binding *b, const AType *t, const Al *al, VarKind kind)
{
    Var *v = &co->vars[b->uid];
    *v = (Var){.b = b, .kind = kind, .depth = co->frames.n};
    v->al = al_shape(co, t, al);
    mark_may(co, v, t, kind != VAR_PARAM, false);
}

void al_bind_pat(Co *co, const Pat *p, const Al *al, VarKind kind)
{
    switch (p->kind) {
    case P_VAR: al_bind_var(co, p->bind, p->type, al, kind); return;
    case P_WILD: return;
    case P_ASCRIBE: al_bind_pat(co, p->pat, al, kind); return;
    case P_TUPLE:
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++) {
            int k = i;
            for (int j = 0; p->kind == P_RECORD && j < p->type->names.n; j++)
                if (p->type->names.at[j] == p->names.at[i])
                    k = j;
            al_bind_pat(co, p->elems.at[i], k < al->kids.n ? al->kids.at[k] : al, kind);
        }
        return;
    }
}

Var *al_local(Co *co, const Binding *b)
{
    Var *v = &co->vars[b->uid];
    return v->b ? v : NULL;
}

static Al *var_leaves(Co *co, Binding *b, const AType *t, const Al *al, int *leaf)
{
    Al *c = al_none(co);
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->a, &c->kids,
                     var_leaves(co, b, t->elems.at[i], al->kids.n ? al->kids.at[i] : al, leaf));
        return c;
    }
    Ref r = {b, (*leaf)++};
    if (!al_holds_arrays(t))
        return c;
    vec_push(co->a, &c->refs, r);
    al_add_refs(co, &c->refs, &al->refs);
    return c;
}

/* What a variable's value aliases: its own leaves, and what they alias. */
Al *al_of_var(Co *co, Binding *b, const AType *t)
{
    int leaf = 0;
    Var *v = al_local(co, b);
    if (v && b->kind == BIND_DEF)
        return al_shape(co, t, v->al);
    return var_leaves(co, b, t, v ? v->al : al_none(co), &leaf);
}

/* ---- Use and consumption ---- */

bool al_gone_at(Co *co, Ref r, Loc *where)
{
    Var *v = al_local(co, r.b);
    if (!v || r.leaf >= v->gone.n || !v->gone.at[r.leaf].beg)
        return false;
    *where = v->gone.at[r.leaf];
    return true;
}

/* Reports the use of a value that was consumed; `name` is what the program calls it, or NULL. */
void al_use(Co *co, const Al *al, Loc loc, const char *name)
{
    Refs rs = {0};
    al_add_flat(co, &rs, al);
    for (int i = 0; i < rs.n; i++) {
        Var *v = al_local(co, rs.at[i].b);
        for (int f = v ? v->depth : co->frames.n; f < co->frames.n; f++)
            if (!al_has_ref(&co->frames.at[f].used, rs.at[i]))
                vec_push(co->a, &co->frames.at[f].used, rs.at[i]);
    }
    for (int i = 0; i < rs.n; i++) {
        Loc where;
        if (!al_gone_at(co, rs.at[i], &where))
            continue;
        const char *root = rs.at[i].b->name;
        if (!name)
            ck_error(co->ck, loc, "this value aliases `%s`, which was consumed", root);
        else if (strcmp(name, root))
            ck_error(co->ck, loc, "`%s` is used, but it aliases `%s`, which was consumed", name,
                     root);
        else
            ck_error(co->ck, loc, "`%s` is used after it was consumed", name);
        ck_note(co->ck, where, "`%s` was consumed here", root);
        return;
    }
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

/* Whether a ref may be consumed here; else says why not. */
static bool may_consume(Co *co, Ref r, Loc loc)
{
    Var *v = al_local(co, r.b);
    const char *name = r.b->name;
    if (!v) {
        ck_error(co->ck, loc, "`%s` is consumed, but it is a top-level definition; use `copy %s`",
                 name, name);
        return false;
    }
    for (int f = co->frames.n - 1; f >= v->depth; f--) {
        if (co->frames.at[f].loop)
            ck_error(
                co->ck, loc,
                "`%s` is consumed in a loop, but it is bound outside: the next iteration would "
                "use it again",
                name);
        else
            ck_error(co->ck, loc, "`%s` is consumed in a function, but it is bound outside", name);
        ck_note(co->ck, v->b->loc, "`%s` is bound here; %suse `copy %s`", name,
                co->frames.at[f].loop ? "make it a loop parameter, or " : "", name);
        return false;
    }
    if (!v->may.at[r.leaf]) {
        ck_error(co->ck, loc, "`%s` is consumed, but it is a parameter that is not unique", name);
        int leaf = r.leaf;
        const AType *part = leaf_type(v->b->type, &leaf);
        ck_note(co->ck, v->b->loc, "declare %s as `*%s`, or use `copy`",
                part == v->b->type ? "the parameter" : "that component of the parameter",
                show(co->ck, part));
        return false;
    }
    return true;
}

void al_consume(Co *co, const Al *al, Loc loc)
{
    Refs rs = {0};
    al_add_flat(co, &rs, al);
    for (int i = 0; i < rs.n; i++)
        if (!may_consume(co, rs.at[i], loc))
            return;
    for (int i = 0; i < rs.n; i++) {
        co->vars[rs.at[i].b->uid].gone.at[rs.at[i].leaf] = loc;
        vec_push(co->a, &co->marked, rs.at[i]);
    }
}

void al_set_marks(Co *co, int from, int to, const Loc *locs)
{
    for (int i = from; i < to; i++) {
        Ref r = co->marked.at[i];
        co->vars[r.b->uid].gone.at[r.leaf] = locs ? locs[i - from] : (Loc){0, 0};
    }
}

Al *al_pop_frame(Co *co)
{
    Al *al = al_none(co);
    Frame *f = &vec_last(&co->frames);
    al_add_refs(co, &al->refs, &f->used);
    co->frames.n--;
    return al;
}

void al_push_frame(Co *co, bool loop)
{
    Frame f = {.loop = loop};
    vec_push(co->a, &co->frames, f);
}

void al_leaves(Co *co, const AType *t, const Al *al, bool unique, Leaves *out)
{
    unique |= t->unique;
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            al_leaves(co, t->elems.at[i], i < al->kids.n ? al->kids.at[i] : al, unique, out);
        return;
    }
    Leaf l = {t, al, unique};
    vec_push(co->a, out, l);
}

bool al_share(Co *co, const Al *x, const Al *y, Ref *which)
{
    Refs a = {0}, b = {0};
    al_add_flat(co, &a, x);
    al_add_flat(co, &b, y);
    for (int i = 0; i < a.n; i++) {
        if (al_has_ref(&b, a.at[i])) {
            *which = a.at[i];
            return true;
        }
    }
    return false;
}
