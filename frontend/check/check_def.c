/* Definitions: parameters, patterns, results, and what a definition is polymorphic in. */
#include "frontend/check/check.h"

/* --- Type parameters ------------------------------------------------------------------------ */

TypeClass class_of_lifted(TParamKind k)
{
    return k == TP_TYPE_LIFTED ? TC_ANY : k == TP_TYPE_LIFTED_SIZE ? TC_SIZED : TC_VALUE;
}

void check_tparams(Ck *ck, TParams *tps, Bindings *out)
{
    for (int i = 0; i < tps->n; i++) {
        TParam *p = &tps->at[i];
        for (int j = 0; j < i; j++) {
            if (tps->at[j].name == p->name && (tps->at[j].kind == TP_SIZE) == (p->kind == TP_SIZE))
                ck_error(ck, p->loc, "parameter `%s` stands twice", p->name);
        }
        p->bind =
            new_binding(ck, p->kind == TP_SIZE ? BIND_SIZE : BIND_TYPE_PARAM, p->name, p->loc);
        p->bind->cls = class_of_lifted(p->kind);
        if (p->kind == TP_SIZE)
            p->bind->type = ty_scalar(ck, T_I64);
        vec_push(ck->a, out, p->bind);
        bind_name(ck, p->bind);
    }
}

/* --- Patterns ------------------------------------------------------------------------------- */

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

/* Checks the body against its declared result: its type, but of any sizes where the function makes
 * them up. */
static AType *check_body(Ck *ck, Def *d, AType *want)
{
    AType *body = check_against(ck, d->body, want);
    solve_wanted(ck, false);
    if (!want)
        return body;
    const AExp *at = d->body; /* the place where the value comes from */
    while (at->kind == AE_LET || at->kind == AE_LETFUN)
        at = at->kind == AE_LET ? at->let.body : at->letfun.body;
    Loc outer = ck->here;
    ck->here = at->loc;
    ck_try(ck);
    if (!ty_unify(ck, want, body)) {
        const char *why = because(ck, d->ret_type, body);
        ck_error(ck, at->loc, "`%s` should return %s, but this is %s%s", d->name,
                 said(ck, d->ret_type), said(ck, body),
                 *why ? why : conversion(ck, d->ret_type, body));
        ck_note(ck, d->ret->loc, "the result type is declared here");
        note_default(ck, at);
    }
    ck->here = outer;
    return body;
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

/* A size parameter that neither a parameter nor the result mentions could never be known. */
static void check_sizes_used(Ck *ck, const Def *d)
{
    for (int i = 0; i < d->tparams.n; i++) {
        const TParam *p = &d->tparams.at[i];
        bool used = p->kind != TP_SIZE;
        for (int j = 0; !used && j < d->params.n; j++)
            used = ty_mentions(d->params.at[j]->type, p->bind);
        if (!used) /* the use has to say it */
            used = d->ret_type->kind == TY_ERROR || ty_mentions(d->ret_type, p->bind);
        for (int j = 0; j < i; j++)
            used |= d->tparams.at[j].name == p->name; /* reported already */
        for (int j = 0; j < d->params.n; j++)
            used |= ty_has_error(d->params.at[j]->type);
        if (!used)
            ck_error(ck, p->loc, "size parameter `%s` is not the size of any parameter", p->name);
    }
}

void check_names_used(Ck *ck, const Bindings *sizes, const AType *pattern)
{
    for (int i = 0; i < sizes->n; i++)
        if (!ty_witnesses(pattern, sizes->at[i]))
            ck_error(ck, sizes->at[i]->loc, "`%s` is not the size of an array in the pattern",
                     sizes->at[i]->name);
}

/* --- A definition --------------------------------------------------------------------------- */

static AType *build_type(Ck *ck, Def *d, AType *ret, const Bindings *exists)
{
    AType *t = ret;
    for (int i = d->params.n - 1; i >= 0; i--) {
        Binding *name = size_param(d->params.at[i], t);
        t = ty_fun(ck, d->params.at[i]->type, t);
        t->fun.name = name;
        if (i == d->params.n - 1)
            t->fun.exists = *exists;
    }
    return t;
}

/* Names that the type of a definition may mention: those of its parameters as a whole, if they are
 * bound before. */
typedef struct {
    const Bindings *names;
    int first_uid;
    const Size *bad;
} Visible;

static bool is_hidden(void *env, const Size *leaf)
{
    Visible *v = env;
    if (leaf->kind != SZ_VAR || leaf->var->kind == BIND_BUILTIN || leaf->var->uid < v->first_uid)
        return false;
    for (int i = 0; i < v->names->n; i++)
        if (v->names->at[i] == leaf->var)
            return false;
    v->bad = leaf;
    return true;
}

/* A caller could not know a size that is a part of another parameter. */
static void check_visible(Ck *ck, const Pat *p, const Bindings *names, int first_uid)
{
    Visible v = {names, first_uid, NULL};
    if (!ty_any_size(p->type, is_hidden, &v))
        return;
    ck_error(ck, p->loc, "this parameter has the size `%s`, which is not known to callers",
             show_size(ck, v.bad));
    ck_note(ck, v.bad->var->loc, "only a parameter as a whole can be a size of a later one");
}

/* The same of a result as it is declared. */
void check_result_visible(Ck *ck, const TypeExp *te, const AType *t, const Bindings *names,
                          int first_uid)
{
    Visible v = {names, first_uid, NULL};
    if (!ty_any_size(t, is_hidden, &v))
        return;
    ck_error(ck, te->loc, "the declared result has the size `%s`, which is not known to callers",
             show_size(ck, v.bad));
    ck_note(ck, v.bad->var->loc, "only a parameter as a whole can be a size of the result");
}

/* The finished type of the definition; takes the variables of its level for parameters. */
static bool is_unknown(void *first_id, const Size *leaf)
{
    return leaf->kind == SZ_UNKNOWN && !leaf->wrong && leaf->id >= *(int *)first_id;
}

/* Whether a value of the type has arrays, other than what its functions take and return, of sizes
 * that were made up. */
static bool holds_unknown(const AType *t, int first_id)
{
    t = type_deref(t);
    bool found = false;
    if (t->kind == TY_ARRAY)
        return sz_any(t->array.dim, is_unknown, &first_id) ||
               holds_unknown(t->array.elem, first_id);
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = holds_unknown(t->elems.at[i], first_id);
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n && !found; i++)
        found = sz_any(t->sargs.at[i], is_unknown, &first_id);
    return found;
}

/* A value of any size is another one at each use, which would make up its sizes anew. */
static void check_value_sizes(Ck *ck, const Def *d, int first_id)
{
    bool sized = false;
    for (int i = 0; i < d->bind->tparams.n; i++)
        sized |= d->bind->tparams.at[i]->kind == BIND_SIZE;
    if (sized && holds_unknown(d->bind->type, first_id))
        ck_error(ck, d->loc,
                 "`%s` has size parameters and a size that it makes up (`%s`): only a function may "
                 "have both",
                 d->name, show(ck, d->bind->type));
}

void check_applicable(Ck *ck, const Def *d, const AType *result, int first_id)
{
    const AType *t = ty_takes_unwitnessed(ck, result, first_id);
    if (t)
        ck_error(ck, d->loc,
                 "the function that `%s` returns takes `%s`, whose size is not known outside; take "
                 "`[]` and claim the size by `:>`",
                 d->name, show(ck, t));
}

/* The declared result as callers see it: anonymous sizes in it are what the body says, sizes that
 * callers know or, if it says nothing, decide, and one if it makes them one. Those that are left
 * the function makes up. */
static AType *infer_anonymous(Ck *ck, Def *d, const Bindings *names, Bindings *exists,
                              const Subst *made, int first_uid, int first_id)
{
    Subst s = {0};
    Bindings left = {0};
    Visible v = {names, first_uid, NULL};
    for (int i = 0; i < exists->n; i++) {
        Size *z = size_deref(made->sizes.at[i]), *known = NULL;
        if (!sz_any(z, is_unknown, &first_id) && !sz_any(z, is_hidden, &v))
            known = z;
        for (int k = 0; k < i && !known; k++)
            if (sz_same(size_deref(made->sizes.at[k]), z))
                known = sz_var(ck, exists->at[k]);
        if (known)
            subst_size(ck, &s, exists->at[i], known);
        else
            vec_push(ck->a, &left, exists->at[i]);
    }
    *exists = left;
    return ty_subst(ck, d->ret_type, &s);
}

static void generalise(Ck *ck, Def *d, AType *body, Bindings *tparams, Bindings *exists,
                       const Subst *made, int first_uid, int first_id)
{
    Bindings keep = *tparams;
    keep.cap = keep.n; /* pushes must not write into tparams */
    for (int i = 0; i < d->params.n; i++) {
        check_visible(ck, d->params.at[i], &keep, first_uid);
        Binding *b = size_param(d->params.at[i], NULL);
        if (b)
            vec_push(ck->a, &keep, b);
    }
    if (d->ret) {
        Bindings visible = keep;
        visible.cap = visible.n;
        vec_append(ck->a, &visible, exists);
        check_result_visible(ck, d->ret, d->ret_type, &visible, first_uid);
    }
    AType *ret = d->ret ? infer_anonymous(ck, d, &keep, exists, made, first_uid, first_id)
                        : ty_plain(ck, body);
    vec_append(ck->a, &keep, exists);
    AType *left = ty_leave(ck, ret, first_uid, &keep, d->loc);
    if (d->params.n) {
        check_applicable(ck, d, left, first_id);
        left = seal_result(ck, ty_unwitnessed(ck, left, first_id, d->loc), exists, first_id);
    }
    if (!d->ret)
        d->ret_type = left;
    AType *t = build_type(ck, d, left, exists);
    generalise_type(ck, t, tparams);
    d->bind->type = t;
    d->bind->tparams = *tparams;
}

void check_def(Ck *ck, Def *d)
{
    Scopes scopes = scopes_now(ck);
    Bindings *outer_sizes = ck->sizes;
    Bindings tparams = {0}, exists = {0};
    Subst made = {0};
    int first_uid = ck->n_bindings, first_id = ck->ids, deferred = ck->deferred.n;

    check_attrs(ck, &d->attrs);
    vec_push(ck->a, &ck->current, d);
    ck->level++;
    ck->sizes = &tparams;
    check_tparams(ck, &d->tparams, &tparams);
    const Bindings declared = tparams; /* those of anonymous sizes follow */
    for (int i = 0; i < d->params.n; i++)
        check_pat(ck, d->params.at[i], AT_PARAM);
    bool distinct = check_distinct(ck, &declared, &d->params);
    d->ret_type = NULL;
    if (d->ret) {
        ck->sizes = &exists;
        d->ret_type = check_type(ck, d->ret, d->params.n ? AT_RESULT : AT_FREE);
    }
    for (int i = 0; i < exists.n; i++)
        subst_size(ck, &made, exists.at[i], sz_meta(ck, d->loc));
    AType *body = check_body(ck, d, d->ret ? ty_subst(ck, d->ret_type, &made) : NULL);
    ck->level--;
    ck->current.n--;
    scopes_back(ck, scopes);
    ck->sizes = outer_sizes;

    d->bind = new_binding(ck, BIND_DEF, d->name, d->loc);
    d->bind->def = d;
    d->bind->doc = d->doc;
    solve_wanted(ck, !d->local);
    solve_sizes(ck, deferred, !d->local);
    generalise(ck, d, body, &tparams, &exists, &made, first_uid, first_id);
    if (distinct)
        check_sizes_used(ck, d);
    if (!d->params.n)
        check_value_sizes(ck, d, first_id);
    bind_name(ck, d->bind);
}
