/* Definitions: parameters, results, and what a definition is polymorphic in. */
#include "frontend/check/check.h"

#include <string.h>

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
        if (!*why)
            offer_conversion(ck, at->loc, d->ret_type, body);
        ck_note(ck, d->ret->loc, "the result type is declared here");
        note_default(ck, at);
    }
    ck->here = outer;
    return body;
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

/* The finished type of the definition; takes the variables of its level for parameters. */
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

typedef struct {
    const char *name;
    bool found;
} Mention;

/* Looks for the name where it is evaluated whatever is the case: in no branch. */
static void find_mention(void *env, AExp *e)
{
    Mention *m = env;
    const AExp *fn = e->kind == AE_APP ? e->app.fn : NULL;
    bool lazy = fn && fn->kind == AE_VAR && e->app.args.n == 2 &&
                (!strcmp(fn->var.name, "&&") || !strcmp(fn->var.name, "||"));
    m->found |= e->kind == AE_VAR && e->var.name == m->name;
    if (e->kind == AE_IF)
        find_mention(m, e->cond.test);
    else if (e->kind == AE_MATCH)
        find_mention(m, e->match.e);
    else if (lazy)
        find_mention(m, e->app.args.at[0]);
    else
        aexp_children(e, find_mention, m);
}

/* Inside of a function with a declared result its name means itself. If it means something else
 * besides, only where it stands in branches, as recursion that may end does: `def map f xs : []t =
 * map f (f' xs)` is what the library's map makes of these. NULL if it does not. */
static Binding *bind_self(Ck *ck, Def *d, const Bindings *tparams, const Bindings *exists)
{
    const Binding *other = find_binding(ck, d->name, SPACE_TERM);
    Mention m = {.name = d->name};
    if (other)
        find_mention(&m, d->body);
    bool param = other && other->kind < BIND_DEF;
    if (!d->ret || !d->params.n || ck->file == ck->prelude || param || m.found)
        return NULL;
    Binding *b = new_binding(ck, BIND_DEF, d->name, d->loc);
    b->def = d;
    vec_append(ck->a, &b->tparams, tparams);
    b->type = opened_type(ck, build_type(ck, d, d->ret_type, exists), &b->tparams);
    bind_name(ck, b);
    return b;
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
    Binding *self = bind_self(ck, d, &tparams, &exists);
    AType *body = check_body(ck, d, d->ret ? ty_subst(ck, d->ret_type, &made) : NULL);
    ck->level--;
    ck->current.n--;
    scopes_back(ck, scopes);
    ck->sizes = outer_sizes;

    d->bind = d->early ? d->early : self ? self : new_binding(ck, BIND_DEF, d->name, d->loc);
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

/* --- Functions that call each other --------------------------------------------------------- */

/* Looks in definitions for a name, and in those of that list that they mention. */
typedef struct {
    PtrMap *defs;
    PtrSet *seen;
    const char *name;
    bool found;
} Way;

static void find_way(void *env, AExp *e)
{
    Way *w = env;
    Def *d = e->kind == AE_VAR ? ptrmap_get(w->defs, e->var.name) : NULL;
    w->found |= e->kind == AE_VAR && e->var.name == w->name;
    if (w->found)
        return;
    if (d && !ptrset_has(w->seen, d)) {
        ptrset_add(w->seen, d);
        find_way(w, d->body);
    }
    aexp_children(e, find_way, w);
}

static bool is_written(const Pat *p)
{
    bool all = p->kind == P_TUPLE || p->kind == P_RECORD;
    for (int i = 0; all && i < p->elems.n; i++)
        all = is_written(p->elems.at[i]);
    return all || p->kind == P_ASCRIBE;
}

/* What is known of a definition before its body is looked at. What names in its type mean is noted
 * when it is checked. */
static Binding *declare(Ck *ck, Def *d)
{
    Scopes scopes = scopes_now(ck), outside;
    memcpy(outside.at, ck->outside, sizeof outside.at);
    Bindings *sizes = ck->sizes, exists = {0};
    NameUses *uses = ck->ast->uses;
    Binding *b = new_binding(ck, BIND_DEF, d->name, d->loc);
    ck->ast->uses = NULL;
    b->def = d;
    b->doc = d->doc;
    scopes_back(ck, outside);
    ck->sizes = &b->tparams;
    check_tparams(ck, &d->tparams, &b->tparams);
    for (int i = 0; i < d->params.n; i++)
        check_pat(ck, d->params.at[i], AT_PARAM);
    ck->sizes = &exists;
    d->ret_type = check_type(ck, d->ret, AT_RESULT);
    b->type = opened_type(ck, build_type(ck, d, d->ret_type, &exists), &b->tparams);
    ck->sizes = sizes;
    ck->ast->uses = uses;
    scopes_back(ck, scopes);
    return b;
}

Binding *find_below(Ck *ck, const char *name, Loc loc)
{
    const Decls *ds = ck->decls;
    Def *top = ds && ck->decl < ds->n ? ds->at[ck->decl].def : NULL, *d = NULL;
    if (!top || !ck->current.n || ck->current.at[0] != top || find_binding(ck, name, SPACE_TERM))
        return NULL;
    ck->below = true;
    for (int i = ck->decl + 1; i < ds->n && !d && !diag_is_full(); i++)
        if (ds->at[i].def && ds->at[i].def->name == name)
            d = ds->at[i].def;
    if (!d || !d->params.n)
        return NULL;
    Way w = {.defs = ptrmap_new(ck->a), .seen = ptrmap_new(ck->a), .name = top->name};
    for (int i = 0; i < ds->n; i++)
        if (ds->at[i].def)
            ptrmap_put(w.defs, ds->at[i].def->name, ds->at[i].def);
    find_way(&w, d->body);
    if (!w.found)
        return NULL;
    bool written = top->ret && d->ret;
    for (int i = 0; i < d->params.n; i++)
        written = written && is_written(d->params.at[i]);
    if (!d->early && written)
        d->early = declare(ck, d);
    if (written) {
        ck->ast->recursive = top->recursive = d->recursive = true;
        return d->early;
    }
    ck_error(
        ck, loc,
        "`%s` and `%s` call each other: then the types of their results have to be written, and "
        "those of the parameters of `%s`, which is defined below",
        top->name, name, name);
    ck_note(ck, d->loc, "`%s` is defined here", name);
    Binding *b = new_binding(ck, BIND_DEF, name, d->loc);
    b->type = ty_error(ck);
    return b;
}
