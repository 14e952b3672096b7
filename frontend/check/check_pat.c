/* Patterns: what they bind, their types. */
#include "frontend/check/check.h"

static AType *pat_elems(Ck *ck, Pat *p, TypePlace at)
{
    AType *t = ty_tuple(ck, (ATypes){0});
    if (p->kind != P_RECORD) {
        for (int i = 0; i < p->elems.n; i++)
            vec_push(ck->a, &t->elems, check_pat(ck, p->elems.at[i], at));
        return t;
    }
    t->kind = TY_RECORD;
    for (int i = 0; i < p->elems.n; i++) {
        AType *f = check_pat(ck, p->elems.at[i], at);
        if (!ty_part_add(ck, t, p->names.at[i], f))
            ck_error(ck, p->elems.at[i]->loc, "field `%s` stands twice in this pattern",
                     p->names.at[i]);
    }
    return t;
}

/* Component i of a tuple or record: unique if the whole is. */
static AType *component(Ck *ck, const AType *t, int i)
{
    AType *c = type_deref(t->elems.at[i]);
    if (!t->unique || c->unique || c->kind == TY_SCALAR)
        return c;
    c = arena_memdup(ck->a, c, sizeof *c);
    c->unique = true;
    return c;
}

/* Gives a pattern under an ascription its type, keeping uniqueness; reports a mismatch. */
static void pat_takes(Ck *ck, Pat *p, AType *t)
{
    AType *d = type_deref(t);
    p->type = t;
    switch (p->kind) {
    case P_VAR: p->bind->type = t; return;
    case P_WILD: return;
    case P_ASCRIBE: pat_takes(ck, p->pat, t); return;
    case P_TUPLE:
        if (d->kind != TY_TUPLE || d->elems.n != p->elems.n)
            return;
        for (int i = 0; i < p->elems.n; i++)
            pat_takes(ck, p->elems.at[i], component(ck, d, i));
        return;
    case P_RECORD:
        if (d->kind != TY_RECORD)
            return;
        for (int i = 0; i < p->elems.n; i++)
            for (int k = 0; k < d->names.n; k++)
                if (d->names.at[k] == p->names.at[i])
                    pat_takes(ck, p->elems.at[i], component(ck, d, k));
        return;
    case P_CONSTR: {
        int k = d->kind == TY_SUM ? type_part(d, p->name) : -1;
        AType *holds = k < 0 ? NULL : component(ck, d, k);
        for (int i = 0; holds && i < p->elems.n && i < holds->elems.n; i++)
            pat_takes(ck, p->elems.at[i], component(ck, holds, i));
        return;
    }
    case P_LIT: return;
    }
}

AType *check_pat(Ck *ck, Pat *p, TypePlace at)
{
    check_attrs(ck, &p->attrs);
    warn_attrs(&p->attrs, BEFORE_PAT);
    switch (p->kind) {
    case P_VAR:
        p->bind = new_binding(ck, BIND_LOCAL, p->name, p->loc);
        p->type = p->bind->type = ty_meta(ck, TC_ANY, p->loc);
        bind_name(ck, p->bind);
        return p->type;
    case P_WILD: return p->type = ty_meta(ck, TC_ANY, p->loc);
    case P_TUPLE:
    case P_RECORD: return p->type = pat_elems(ck, p, at);
    case P_CONSTR: return p->type = want_constr(ck, p->name, pat_elems(ck, p, at), p->loc);
    case P_LIT: return p->type = check_exp(ck, p->lit);
    case P_ASCRIBE: {
        Scopes before = scopes_now(ck);
        AType *inner = check_pat(ck, p->pat, at);
        Scopes after = scopes_now(ck);
        scopes_back(ck, before); /* the type may not mention what the pattern binds */
        AType *t = check_type(ck, p->te, at);
        scopes_back(ck, after);
        ck_try(ck);
        if (!ty_unify(ck, t, inner)) {
            ck_error(ck, p->loc, "this pattern has type %s, but is given %s%s", said(ck, inner),
                     said(ck, t), because(ck, t, inner));
            return p->type = t;
        }
        solve_wanted(ck, false);
        pat_takes(ck, p, t);
        return p->type = t;
    }
    }
    return NULL;
}

bool pat_says_type(const Pat *p)
{
    bool says = p->kind == P_ASCRIBE;
    for (int i = 0; i < p->elems.n && !says; i++)
        says = pat_says_type(p->elems.at[i]);
    return says;
}

static void pat_names(const Pat *p, Pats *out, Arena *a)
{
    if (p->kind == P_VAR)
        vec_push(a, out, (Pat *)p);
    if (p->kind == P_ASCRIBE)
        pat_names(p->pat, out, a);
    for (int i = 0; i < p->elems.n; i++)
        pat_names(p->elems.at[i], out, a);
}

static void bound_twice(Ck *ck, const char *name, Loc loc, Loc other)
{
    ck_error(ck, loc, "`%s` is bound twice", name);
    ck_note(ck, other, "the other one is here");
}

bool check_distinct(Ck *ck, const Bindings *beside, const Pats *ps)
{
    Pats all = {0};
    int errors = diag_errors();
    for (int i = 0; i < ps->n; i++)
        pat_names(ps->at[i], &all, ck->a);
    for (int i = 0; i < all.n; i++) {
        const char *name = all.at[i]->name;
        for (int j = 0; beside && j < beside->n; j++)
            if (beside->at[j]->name == name && beside->at[j]->kind == BIND_SIZE)
                bound_twice(ck, name, all.at[i]->loc, beside->at[j]->loc);
        for (int j = 0; j < i; j++) {
            if (all.at[j]->name == name) {
                bound_twice(ck, name, all.at[i]->loc, all.at[j]->loc);
                break;
            }
        }
    }
    return diag_errors() == errors;
}

Binding *size_param(const Pat *p, const AType *later)
{
    while (p->kind == P_ASCRIBE)
        p = p->pat;
    if (p->kind != P_VAR)
        return NULL;
    AType *t = type_deref(p->type);
    bool i64 = t->kind == TY_SCALAR && t->scalar == T_I64;
    return i64 || (t->kind != TY_FUN && (!later || ty_mentions(later, p->bind))) ? p->bind : NULL;
}

void check_names_used(Ck *ck, const Bindings *sizes, const AType *pattern)
{
    for (int i = 0; i < sizes->n; i++)
        if (!ty_witnesses(pattern, sizes->at[i]))
            ck_error(ck, sizes->at[i]->loc, "`%s` is not the size of an array in the pattern",
                     sizes->at[i]->name);
}
