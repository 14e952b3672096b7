/* Types as written to types: names, abbreviations with their arguments, sizes. */
#include "frontend/check.h"

#include "base/intern.h"

#include <string.h>

/* Arguments of the abbreviation being expanded hide behind its parameters' bindings; `[]` inside
 * means what it means at the place of use. */
typedef struct {
    TypePlace at;
    Bindings *exists; /* receives sizes made up by the innermost function result, or NULL */
    bool in_abbreviation;
    bool in_array; /* or stands for a type parameter that arrays may hold */
    bool in_param; /* of a function */
    int depth;     /* of abbreviations */
    struct Whole *whole;
} How;

/* The type as a whole: abbreviations of abbreviations may be of any size. */
enum { MAX_ABBREVIATIONS = 200 };
struct Whole {
    Loc loc;
    int parts;
    bool reported;
    TParamKind lifted; /* what an abbreviation of it has to be: type, type~ or type^ */
    Loc lifted_by;
};

static const char *const lifted_words[] = {
    [TP_TYPE] = "type", [TP_TYPE_LIFTED_SIZE] = "type~", [TP_TYPE_LIFTED] = "type^"};

/* A part of the type at loc that arrays cannot hold: it is a function, or its sizes may vary. */
static void lift(Ck *ck, const How *how, TParamKind kind, Loc loc, const char *what)
{
    if (kind > how->whole->lifted) {
        how->whole->lifted = kind;
        how->whole->lifted_by = loc;
    }
    if (how->in_array && what && kind > TP_TYPE)
        ck_error(ck, loc, "arrays cannot hold `%s`: %s", what,
                 kind == TP_TYPE_LIFTED ? "it may be or hold a function" : "its sizes may vary");
}

static AType *convert(Ck *ck, TypeExp *te, How *how);

static Size *anonymous_size(Ck *ck, const How *how, Loc loc)
{
    if (how->in_abbreviation)
        lift(ck, how, TP_TYPE_LIFTED_SIZE, loc, NULL);
    if (how->in_abbreviation && how->in_param && !how->depth)
        ck_error(ck, loc,
                 "an anonymous size in a function's parameter could not be known; make it a "
                 "size parameter, as in `type^ t [n] = [n]i32 -> i32`");
    switch (how->at) {
    case AT_RESULT: {
        Binding *b = new_binding(ck, BIND_SIZE, intern("[]"), loc);
        b->type = ty_scalar(ck, S_I64);
        vec_push(ck->a, how->exists ? how->exists : ck->sizes, b);
        return sz_var(ck, b);
    }
    case AT_LOOP: return sz_unknown(ck, loc);
    case AT_PARAM:
    case AT_FREE: return sz_meta(ck, loc);
    }
    ice(loc, "bad place of a type");
}

static Size *written_size(Ck *ck, AExp *dim, const How *how, Loc loc)
{
    if (!dim)
        return anonymous_size(ck, how, loc);
    AType *t = check_against(ck, dim, ty_scalar(ck, S_I64));
    if (!require(ck, dim, ty_scalar(ck, S_I64), t, "size"))
        return sz_meta(ck, loc); /* any: one error is enough */
    Size *s = sz_of_exp(ck, dim);
    s->loc = dim->loc;
    return s;
}

static AType *expand(Ck *ck, TypeExp *te, TypeDecl *d, How *how)
{
    int n_sizes = 0, n_types = 0, have_sizes = 0, have_types = 0;
    for (int i = 0; i < d->tparams.n; i++)
        *(d->tparams.at[i].kind == TP_SIZE ? &n_sizes : &n_types) += 1;
    for (int i = 0; i < te->args.n; i++)
        *(te->args.at[i]->kind == TE_SIZE ? &have_sizes : &have_types) += 1;
    if (n_sizes != have_sizes || n_types != have_types) {
        ck_error(ck, te->loc, "type `%s` takes %d size%s and %d type%s, not %d and %d", d->name,
                 n_sizes, n_sizes == 1 ? "" : "s", n_types, n_types == 1 ? "" : "s", have_sizes,
                 have_types);
        ck_note(ck, d->loc, "`%s` is defined here", d->name);
        return ty_error(ck);
    }
    Subst s = {0};
    for (int i = 0; i < d->tparams.n; i++) {
        TParam *p = &d->tparams.at[i];
        TypeExp *arg = te->args.at[i];
        if ((arg->kind == TE_SIZE) != (p->kind == TP_SIZE)) {
            ck_error(ck, arg->loc, "argument %d of type `%s` should be a %s", i + 1, d->name,
                     p->kind == TP_SIZE ? "size, as in `[n]`" : "type");
            ck_note(ck, p->loc, "the parameter is declared here");
            return ty_error(ck);
        }
        if (p->kind == TP_SIZE)
            subst_size(ck, &s, p->bind, written_size(ck, arg->dim, how, arg->loc));
        else {
            How inside = *how;
            inside.in_array |= p->kind == TP_TYPE;
            fe_subst_type(ck, &s, p->bind, convert(ck, arg, &inside));
        }
    }
    lift(ck, how, d->lifted, te->loc, d->name);
    if (!d->type)
        return ty_error(ck);
    /* Anonymous sizes of the abbreviation are new ones at each use. */
    How inner = *how;
    inner.depth++;
    inner.in_abbreviation = true;
    Scope *scope = ck->scope, *types = ck->types;
    for (int i = 0; i < d->tparams.n; i++)
        bind_name(ck, d->tparams.at[i].bind);
    AType *t = d->type->kind == TY_ERROR ? d->type : ty_subst(ck, convert(ck, d->te, &inner), &s);
    ck->scope = scope;
    ck->types = types;
    return t;
}

static AType *named(Ck *ck, TypeExp *te, How *how)
{
    Scalar sc;
    if (scalar_from_name(te->name, &sc)) {
        if (te->args.n)
            ck_error(ck, te->loc, "type `%s` takes no arguments", te->name);
        return ty_scalar(ck, sc);
    }
    Loc loc = {te->loc.beg, te->loc.beg + (uint32_t)strlen(te->name)};
    Binding *b = find_type(ck, te->name, loc);
    te->bind = b;
    if (!b)
        return ty_error(ck);
    if (b->kind == BIND_TYPE)
        return expand(ck, te, b->tdecl, how);
    if (te->args.n)
        ck_error(ck, te->loc, "type parameter `%s` takes no arguments", te->name);
    lift(ck, how,
         b->cls == TC_ANY     ? TP_TYPE_LIFTED
         : b->cls == TC_SIZED ? TP_TYPE_LIFTED_SIZE
                              : TP_TYPE,
         te->loc, te->name);
    AType *t = NEW(ck->a, AType);
    t->kind = TY_VAR;
    t->var = b;
    return t;
}

static AType *record(Ck *ck, TypeExp *te, How *how)
{
    AType *t = ty_tuple(ck, (ATypes){0});
    t->kind = TY_RECORD;
    for (int i = 0; i < te->args.n; i++) {
        AType *f = convert(ck, te->args.at[i], how);
        if (!ty_record_add(ck, t, te->names.at[i], f))
            ck_error(ck, te->args.at[i]->loc, "field `%s` stands twice in this record",
                     te->names.at[i]);
    }
    return t;
}

static AType *function(Ck *ck, TypeExp *te, How *how)
{
    How param = *how;
    param.exists = NULL;
    param.in_param = true;
    lift(ck, how, TP_TYPE_LIFTED, te->loc, NULL);
    AType *p = convert(ck, te->param, &param);
    Scope *scope = ck->scope;
    Binding *name = NULL;
    if (te->name) {
        name = te->bind = new_binding(ck, BIND_LOCAL, te->name, te->loc);
        name->type = p;
        bind_name(ck, name);
    }
    Bindings exists = {0};
    How result = *how;
    if (how->at != AT_FREE || te->elem->kind == TE_EXISTS) {
        result.at = AT_RESULT;
        result.exists = &exists;
    }
    AType *r = convert(ck, te->elem, &result);
    ck->scope = scope;
    AType *f = ty_fun(ck, p, r);
    f->fun.name = name;
    f->fun.exists = exists;
    return f;
}

/* The names of ?[n].t stand for what an anonymous size would be here, which an abbreviation may say
 * of itself, wherever it is used. */
static AType *exists(Ck *ck, TypeExp *te, How *how)
{
    if (how->at != AT_RESULT && !how->in_abbreviation)
        ck_error(ck, te->loc,
                 "existential sizes may stand in results of functions and in abbreviations only");
    Scope *scope = ck->scope;
    Subst s = {0};
    Bindings bound = {0};
    for (int i = 0; i < te->sizes.n; i++) {
        Binding *b = new_binding(ck, BIND_SIZE, te->sizes.at[i].name, te->sizes.at[i].loc);
        vec_push(ck->a, &bound, b);
        b->type = ty_scalar(ck, S_I64);
        bind_name(ck, b);
        if (how->at == AT_RESULT)
            vec_push(ck->a, how->exists ? how->exists : ck->sizes, b);
        else
            subst_size(ck, &s, b, anonymous_size(ck, how, te->loc));
    }
    AType *t = convert(ck, te->elem, how);
    ck->scope = scope;
    for (int i = 0; i < te->sizes.n; i++)
        if (t->kind != TY_ERROR && !ty_witnesses(t, bound.at[i]))
            ck_error(ck, te->sizes.at[i].loc,
                     "`%s` is not the size of an array here, so it could not be known",
                     te->sizes.at[i].name);
    return how->at == AT_RESULT ? t : ty_subst(ck, t, &s);
}

static AType *convert(Ck *ck, TypeExp *te, How *how)
{
    struct Whole *w = how->whole;
    if (how->depth > MAX_ABBREVIATIONS || ++w->parts > MAX_TYPE_PARTS) {
        if (!w->reported)
            diag_limit(w->loc, "this type is too large (more than %d %s)",
                       w->parts > MAX_TYPE_PARTS ? MAX_TYPE_PARTS : MAX_ABBREVIATIONS,
                       w->parts > MAX_TYPE_PARTS ? "parts" : "abbreviations inside each other");
        w->reported = true;
        return ty_error(ck);
    }
    switch (te->kind) {
    case TE_NAME: return named(ck, te, how);
    case TE_ARRAY: {
        Size *dim = written_size(ck, te->dim, how, te->loc);
        How inside = *how;
        inside.in_array = true;
        int errors = diag_errors();
        AType *elem = convert(ck, te->elem, &inside);
        if (ty_has_fun(elem) && diag_errors() == errors)
            ck_error(ck, te->elem->loc, "arrays cannot hold functions (`%s`)", show(ck, elem));
        if (elem->unique)
            ck_error(ck, te->elem->loc, "elements of arrays cannot be unique; write `*[]t`");
        return ty_array(ck, dim, elem);
    }
    case TE_TUPLE: {
        ATypes ts = {0};
        for (int i = 0; i < te->args.n; i++)
            vec_push(ck->a, &ts, convert(ck, te->args.at[i], how));
        return ty_tuple(ck, ts);
    }
    case TE_RECORD: return record(ck, te, how);
    case TE_FUN: return function(ck, te, how);
    case TE_UNIQUE: {
        AType *t = NEW(ck->a, AType);
        *t = *convert(ck, te->elem, how);
        t->unique = t->kind != TY_ERROR;
        return t;
    }
    case TE_EXISTS: return exists(ck, te, how);
    case TE_SIZE: break;
    }
    ice(te->loc, "a size where a type was expected");
}

static AType *whole_type(Ck *ck, TypeExp *te, TypePlace at, const TypeDecl *decl)
{
    struct Whole whole = {.loc = te->loc, .lifted = TP_TYPE};
    How how = {.at = at, .whole = &whole, .in_abbreviation = decl != NULL};
    AType *t = convert(ck, te, &how);
    if (decl && whole.lifted > decl->lifted && !whole.reported)
        ck_error(ck, whole.lifted_by, "`%s` %s: it must be defined by `%s`, not `%s`", decl->name,
                 whole.lifted == TP_TYPE_LIFTED ? "is or holds a function"
                                                : "has sizes that may vary",
                 lifted_words[whole.lifted], lifted_words[decl->lifted]);
    return whole.reported ? ty_error(ck) : ty_limited(ck, t, te->loc);
}

AType *check_type(Ck *ck, TypeExp *te, TypePlace at)
{
    return whole_type(ck, te, at, NULL);
}

void check_type_decl(Ck *ck, TypeDecl *d)
{
    Scope *scope = ck->scope, *types = ck->types;
    Bindings params = {0};
    check_tparams(ck, &d->tparams, &params);
    int errors = diag_errors();
    d->type = whole_type(ck, d->te, AT_FREE, d);
    for (int i = 0; i < params.n && diag_errors() == errors; i++)
        if (params.at[i]->kind == BIND_SIZE && !ty_mentions(d->type, params.at[i]))
            ck_error(ck, params.at[i]->loc, "size parameter `%s` is not used by the type",
                     params.at[i]->name);
    if (diag_errors() != errors)
        d->type = ty_error(ck); /* so that its uses do not say it again */
    ck->scope = scope;
    ck->types = types;
    Scalar sc;
    if (scalar_from_name(d->name, &sc))
        ck_error(ck, d->loc, "`%s` is a builtin type", d->name);
    d->bind = new_binding(ck, BIND_TYPE, d->name, d->loc);
    d->bind->tdecl = d;
    bind_name(ck, d->bind);
}
