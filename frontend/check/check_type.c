/* Types as written to types: names, abbreviations with their arguments, sizes. */
#include "frontend/check/check.h"

#include "base/intern.h"
#include "common/prim.h"

#include <string.h>

enum { MAX_CONSTRUCTORS = 256 };

/* A name that a type around binds: each of one type has one of its own. */
typedef struct Named {
    const char *name;
    Loc loc;
    const struct Named *up;
} Named;

/* The place of a type; `[]` in an abbreviation means what it means at the place of use. */
typedef struct {
    TypePlace at;
    Bindings *exists; /* receives sizes made up by the innermost function result, or NULL */
    bool in_abbreviation;
    bool in_array;
    bool argument;   /* is given for a parameter of a type */
    bool in_param;   /* of a function */
    bool in_result;  /* of a function, */
    TypePlace outer; /* whose place is this */
    int depth;       /* 1 inside an abbreviation that is used */
    const Named *named;
    struct Whole *whole;
} How;

/* The type as a whole. */
struct Whole {
    Loc loc;
    int parts;
    bool reported;
    TParamKind lifted; /* what an abbreviation of it has to be: type, type~ or type^ */
    TParamKind
        eased; /* and what it is for all that, by types that are more than they are said to be */
    Loc lifted_by;
    bool reveals;    /* what abstract types stand for, */
    ASizes from, to; /* whose anonymous sizes became these */
};

static const char *const lifted_words[] = {
    [TP_TYPE] = "type", [TP_TYPE_LIFTED_SIZE] = "type~", [TP_TYPE_LIFTED] = "type^"};

/* Whether sizes of an argument vary, which says nothing of the whole, as to Futhark. */
static bool says_nothing(const How *how, TParamKind kind, const char *what)
{
    return how->argument && !how->in_array && what && kind == TP_TYPE_LIFTED_SIZE;
}

/* A part of the type at loc that arrays cannot hold: it is a function, or its sizes may vary. */
static void lift(Ck *ck, const How *how, TParamKind kind, Loc loc, const char *what)
{
    if (says_nothing(how, kind, what))
        return;
    if (kind > how->whole->lifted) {
        how->whole->lifted = kind;
        how->whole->lifted_by = loc;
    }
    if (how->in_array && what && kind > TP_TYPE)
        ck_error(ck, loc, "arrays cannot hold `%s`: %s", what,
                 kind == TP_TYPE_LIFTED ? "it may be or hold a function" : "its sizes may vary");
}

/* As lift, of a type that `with` or a parametric module's argument made more than it is declared to
 * be, which to Futhark stays what it is declared to be. */
static void ease(Ck *ck, const How *how, TParamKind kind, Loc loc, const char *what)
{
    struct Whole *w = how->whole;
    TParamKind lifted = w->lifted;
    lift(ck, how, kind, loc, what);
    w->lifted = lifted;
    if (kind > w->eased && !says_nothing(how, kind, what))
        w->eased = kind;
}

/* The place of a function's parameter, and that of its result, for which it may make up sizes. */
static How param_of(const How *how)
{
    How param = *how;
    param.exists = NULL;
    param.in_param = true;
    if (how->in_result && how->outer != AT_RESULT)
        param.at = how->outer;
    return param;
}

static How result_of(const How *how, Bindings *exists)
{
    How result = *how;
    if (!how->in_result)
        result.outer = how->at;
    result.in_result = true;
    result.at = AT_RESULT;
    result.exists = exists;
    return result;
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
        b->type = ty_scalar(ck, T_I64);
        vec_push(ck->a, how->exists ? how->exists : ck->sizes, b);
        return sz_var(ck, b);
    }
    case AT_UNKNOWN: return sz_unknown(ck, loc);
    case AT_PARAM:
    case AT_FREE: return sz_meta(ck, loc);
    }
    ice(loc, "bad place of a type");
}

/* Finds in an expression what binds names. */
static void find_binder(void *found, AExp *e)
{
    const AExp **binder = found;
    if (*binder)
        return;
    bool binds = e->kind == AE_LAMBDA || e->kind == AE_LET || e->kind == AE_LETFUN ||
                 e->kind == AE_LOOP || e->kind == AE_MATCH;
    if (binds)
        *binder = e;
    else
        aexp_children(e, find_binder, found);
}

static Size *written_size(Ck *ck, AExp *dim, const How *how, Loc loc)
{
    const AExp *binder = NULL;
    if (!dim)
        return anonymous_size(ck, how, loc);
    if (how->in_abbreviation)
        find_binder(&binder, dim);
    if (binder) {
        ck_error(ck, binder->loc, "a size in an abbreviation cannot bind names");
        return sz_meta(ck, loc); /* any: one error is enough */
    }
    AType *t = check_against(ck, dim, ty_scalar(ck, T_I64));
    if (!require(ck, dim, ty_scalar(ck, T_I64), t, "size"))
        return sz_meta(ck, loc); /* any: one error is enough */
    Size *s = sz_of_exp(ck, dim);
    s->loc = dim->loc;
    return s;
}

/* --- Uses of abbreviations and abstract types ----------------------------------------------- */

typedef struct {
    Ck *ck;
    const Subst *means; /* abstract types and what they stand for; or NULL */
    ASizes from, to;    /* anonymous sizes met */
    Loc loc;
    int parts;
} Use;

static AType *instance(Ck *ck, TypeDecl *d, const Subst *args, const How *how, Loc loc);
static AType *ty_applied(Ck *ck, TypeDecl *d, const AType *t, const How *how);

/* An abstract type that stands for arrays has in arguments of others, in the result of a function,
 * the size that it has where it stands first in the function's type, as in Futhark: `key -> box
 * key` keeps it. NULL: it stands here first. */
static Size *stands_first(const How *how, const Size *s)
{
    const struct Whole *w = how->whole;
    for (int i = 0; how->argument && !how->in_param && i < w->from.n; i++) {
        Size *z = w->to.at[i];
        bool known = z->kind == SZ_META;
        for (int k = 0; how->exists && k < how->exists->n && !known; k++)
            known = z->kind == SZ_VAR && z->var == how->exists->at[k];
        if (w->from.at[i] == s && known)
            return z;
    }
    return NULL;
}

static Size *use_anonymous(Use *u, Size *s, const How *how)
{
    struct Whole *w = how->whole;
    Size *z = stands_first(how, s);
    if (z)
        return z;
    z = anonymous_size(u->ck, how, u->loc);
    if (w->reveals) {
        vec_push(u->ck->a, &w->from, s);
        vec_push(u->ck->a, &w->to, z);
    }
    return z;
}

static Size *use_size(Use *u, Size *s, const How *how)
{
    s = size_deref(s);
    if (s->kind == SZ_OP)
        return sz_op(u->ck, s->op, use_size(u, s->a, how), use_size(u, s->b, how));
    if (s->kind == SZ_EXP) {
        ASizes args = {0};
        for (int i = 0; i < s->args.n; i++)
            vec_push(u->ck->a, &args, use_size(u, s->args.at[i], how));
        return sz_exp_with(u->ck, s, args);
    }
    if (s->kind != SZ_META)
        return s;
    for (int i = 0; i < u->from.n; i++)
        if (u->from.at[i] == s)
            return u->to.at[i];
    Size *z = use_anonymous(u, s, how);
    vec_push(u->ck->a, &u->from, s);
    vec_push(u->ck->a, &u->to, z);
    return z;
}

static AType *use_type(Use *u, AType *t, const How *how);

static AType *use_fun(Use *u, AType *t, const How *how)
{
    Bindings exists = t->fun.exists;
    exists.cap = exists.n; /* pushes must not write into those of t */
    How param = param_of(how), result = result_of(how, &exists);
    AType *p = use_type(u, t->fun.param, &param);
    AType *f = ty_fun_like(u->ck, t, p, use_type(u, t->fun.result, &result));
    f->fun.exists = exists;
    return f;
}

/* An abstract type, perhaps as what it stands for, with its arguments. */
static AType *use_var(Use *u, AType *t, const How *how)
{
    TypeDecl *means = NULL;
    for (int i = 0; u->means && i < u->means->from.n && !means; i++)
        means = u->means->from.at[i] == t->var ? u->means->decls.at[i] : NULL;
    AType *c = NEW(u->ck->a, AType);
    *c = *t;
    c->targs = (ATypes){0};
    c->sargs = (ASizes){0};
    How arg = *how;
    arg.argument = !means;
    for (int i = 0; i < t->targs.n; i++)
        vec_push(u->ck->a, &c->targs, use_type(u, t->targs.at[i], &arg));
    for (int i = 0; i < t->sargs.n; i++)
        vec_push(u->ck->a, &c->sargs, use_size(u, t->sargs.at[i], how));
    return means ? ty_applied(u->ck, means, c, how) : c;
}

/* A type in another place: its anonymous sizes are those of that place. */
static AType *use_type(Use *u, AType *t, const How *how)
{
    bool unique = t->unique;
    AType *d = type_deref(t), *c = d;
    if (++u->parts > MAX_TYPE_PARTS) {
        u->ck->too_large = true;
        return ty_error(u->ck);
    }
    unique |= d->unique;
    switch (d->kind) {
    case TY_ARRAY: {
        AType *elem = use_type(u, d->array.elem, how);
        c = ty_array(u->ck, use_size(u, d->array.dim, how), elem);
        break;
    }
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM: {
        ATypes es = {0};
        for (int i = 0; i < d->elems.n; i++)
            vec_push(u->ck->a, &es, use_type(u, d->elems.at[i], how));
        c = ty_elems_like(u->ck, d, es);
        break;
    }
    case TY_FUN: c = use_fun(u, d, how); break;
    case TY_VAR: c = use_var(u, d, how); break;
    case TY_SCALAR:
    case TY_META:
    case TY_ERROR: return t;
    }
    if (c->unique != unique) {
        c = arena_memdup(u->ck->a, c, sizeof *c);
        c->unique = unique;
    }
    return c;
}

/* The abbreviation or abstract type with arguments for its parameters. */
static AType *instance(Ck *ck, TypeDecl *d, const Subst *args, const How *how, Loc loc)
{
    if (d->type) {
        How inner = *how;
        inner.depth++;
        inner.in_abbreviation = true;
        Use u = {.ck = ck, .loc = loc};
        return ty_subst(ck, use_type(&u, d->type, &inner), args);
    }
    AType *t = NEW(ck->a, AType);
    t->kind = TY_VAR;
    t->var = d->bind;
    for (int i = 0; i < args->from.n; i++) {
        if (args->types.at[i])
            vec_push(ck->a, &t->targs, args->types.at[i]);
        else
            vec_push(ck->a, &t->sargs, args->sizes.at[i]);
    }
    return t;
}

/* The type that d stands for, of the arguments of t. */
static AType *ty_applied(Ck *ck, TypeDecl *d, const AType *t, const How *how)
{
    Subst args = {0};
    int types = 0, sizes = 0;
    for (int i = 0; i < d->tparams.n; i++) {
        const TParam *p = &d->tparams.at[i];
        if (p->kind == TP_SIZE && sizes < t->sargs.n)
            subst_size(ck, &args, p->bind, t->sargs.at[sizes++]);
        else if (p->kind != TP_SIZE && types < t->targs.n)
            fe_subst_type(ck, &args, p->bind, t->targs.at[types++]);
    }
    return instance(ck, d, &args, how, d->loc);
}

AType *ty_reveal(Ck *ck, AType *t, const Subst *s, TypePlace at, Bindings *sizes)
{
    struct Whole whole = {.loc = ck->here, .reveals = true};
    Bindings made = {0}, *outer = ck->sizes;
    How how = {.at = at, .whole = &whole, .depth = 1, .in_abbreviation = true};
    Use u = {.ck = ck, .means = s, .loc = ck->here};
    ck->level++;
    ck->sizes = sizes ? sizes : &made;
    t = ty_subst(ck, use_type(&u, t, &how), s);
    ck->level--;
    ck->sizes = outer;
    if (sizes)
        generalise_type(ck, t, sizes);
    return t;
}

AType *ty_meaning(Ck *ck, const AType *t)
{
    struct Whole whole = {.loc = ck->here};
    How how = {.at = AT_UNKNOWN, .whole = &whole, .depth = 1, .in_abbreviation = true};
    return ty_applied(ck, t->var->tdecl->means, t, &how);
}

/* Whether an abstract type or type parameter in it may have sizes that vary. */
static bool has_sized_var(void *env, const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_VAR ? t->var->cls == TC_SIZED
                             : t->kind != TY_FUN && type_any_part(t, has_sized_var, env);
}

/* Whether it has arrays of what they cannot hold. */
static bool arrays_hold_lifted(void *env, const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_ARRAY ? ty_has_fun(t) || has_sized_var(env, t)
                               : type_is_composite(t) && type_any_part(t, arrays_hold_lifted, env);
}

static AType *expand(Ck *ck, TypeExp *te, TypeDecl *d, How *how)
{
    int n_sizes = 0, n_types = 0, have_sizes = 0, have_types = 0;
    for (int i = 0; i < d->tparams.n; i++)
        *(d->tparams.at[i].kind == TP_SIZE ? &n_sizes : &n_types) += 1;
    for (int i = 0; i < te->args.n; i++)
        *(te->args.at[i]->kind == TE_SIZE ? &have_sizes : &have_types) += 1;
    if (n_sizes != have_sizes || n_types != have_types) {
        if (!n_sizes && !n_types)
            ck_error(ck, te->loc, "type `%s` takes no arguments", te->name);
        else if (n_sizes || have_sizes)
            ck_error(ck, te->loc, "type `%s` takes %d size%s and %d type%s, not %d and %d", d->name,
                     n_sizes, n_sizes == 1 ? "" : "s", n_types, n_types == 1 ? "" : "s", have_sizes,
                     have_types);
        else
            ck_error(ck, te->loc, "type `%s` takes %d type%s, not %d", d->name, n_types,
                     n_types == 1 ? "" : "s", have_types);
        if (d->loc.beg)
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
            inside.argument |= p->kind == TP_TYPE;
            fe_subst_type(ck, &s, p->bind, convert(ck, arg, &inside));
        }
    }
    (d->eased ? ease : lift)(ck, how, d->lifted, te->loc, te->name);
    AType *t = instance(ck, d, &s, how, te->loc);
    if (te->args.n && arrays_hold_lifted(NULL, t)) {
        ck_error(ck, te->loc,
                 "arrays cannot hold what `%s` is applied to: it may be or hold a function, or "
                 "its sizes may vary",
                 d->name);
        return ty_error(ck);
    }
    return t;
}

static AType *named(Ck *ck, TypeExp *te, How *how)
{
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

static AType *record_or_sum(Ck *ck, TypeExp *te, How *how)
{
    AType *t = ty_tuple(ck, (ATypes){0});
    bool sum = te->kind == TE_SUM;
    t->kind = sum ? TY_SUM : TY_RECORD;
    if (sum && te->args.n > MAX_CONSTRUCTORS) {
        ck_error(ck, te->loc, "a sum has at most %d constructors, but this one has %d",
                 MAX_CONSTRUCTORS, te->args.n);
        return ty_error(ck);
    }
    for (int i = 0; i < te->args.n; i++) {
        AType *part = convert(ck, te->args.at[i], how);
        const char *name = sum ? te->args.at[i]->name : te->names.at[i];
        if (part->kind == TY_ERROR && sum)
            return part;
        if (!ty_part_add(ck, t, name, part))
            ck_error(ck, te->args.at[i]->loc,
                     sum ? "constructor `#%s` stands twice in this type"
                         : "field `%s` stands twice in this record",
                     name);
    }
    return t;
}

/* One more name that a type binds; reports if a type around binds it. */
static Named name_once(Ck *ck, const How *how, const char *name, Loc loc)
{
    for (const Named *n = how->named; n; n = n->up) {
        if (n->name != name)
            continue;
        ck_error(ck, loc, "`%s` is bound twice in this type", name);
        ck_note(ck, n->loc, "the other one is here");
        break;
    }
    return (Named){name, loc, how->named};
}

static AType *function(Ck *ck, TypeExp *te, How *how)
{
    Bindings exists = {0};
    How param = param_of(how), result = result_of(how, &exists);
    Named own;
    if (te->name) {
        own = name_once(ck, how, te->name, te->loc);
        param.named = result.named = &own;
    }
    lift(ck, how, TP_TYPE_LIFTED, te->loc, NULL);
    AType *p = convert(ck, te->param, &param);
    Scopes scopes = scopes_now(ck);
    Binding *name = NULL;
    if (te->name) {
        name = te->bind = new_binding(ck, BIND_LOCAL, te->name, te->name_loc);
        name->type = p;
        bind_name(ck, name);
    }
    AType *r = convert(ck, te->elem, &result);
    scopes_back(ck, scopes);
    AType *f = ty_fun(ck, p, r);
    f->fun.name = name;
    f->fun.exists = exists;
    return f;
}

/* The names of ?[n].t stand for what an anonymous size would be here, in an abbreviation wherever
 * it is used. */
static AType *exists(Ck *ck, TypeExp *te, How *how)
{
    Scopes scopes = scopes_now(ck);
    Subst s = {0};
    Bindings bound = {0};
    How inside = *how;
    Named *names = NEWN(ck->a, Named, te->sizes.n);
    for (int i = 0; i < te->sizes.n; i++) {
        names[i] = name_once(ck, &inside, te->sizes.at[i].name, te->sizes.at[i].loc);
        inside.named = &names[i];
        Binding *b = new_binding(ck, BIND_SIZE, te->sizes.at[i].name, te->sizes.at[i].loc);
        vec_push(ck->a, &bound, b);
        b->type = ty_scalar(ck, T_I64);
        bind_name(ck, b);
        if (how->at == AT_RESULT)
            vec_push(ck->a, how->exists ? how->exists : ck->sizes, b);
        else
            subst_size(ck, &s, b, anonymous_size(ck, how, te->loc));
    }
    AType *t = convert(ck, te->elem, &inside);
    scopes_back(ck, scopes);
    for (int i = 0; i < te->sizes.n; i++)
        if (t->kind != TY_ERROR && !ty_witnesses(t, bound.at[i]))
            ck_error(ck, te->sizes.at[i].loc,
                     "`%s` is not the size of an array here, so it could not be known",
                     te->sizes.at[i].name);
    return how->at == AT_RESULT ? t : ty_subst(ck, t, &s);
}

/* Is it written as scalars alone? What a name stands for may be another type elsewhere: that of a
 * module type, in another module. */
static bool says_only_scalars(const TypeExp *te)
{
    PrimType prim;
    bool only = te->kind == TE_TUPLE || te->kind == TE_RECORD ||
                (te->kind == TE_NAME && prim_named(te->name, &prim));
    for (int i = 0; i < te->args.n && only; i++)
        only = says_only_scalars(te->args.at[i]);
    return only;
}

static AType *convert(Ck *ck, TypeExp *te, How *how)
{
    struct Whole *w = how->whole;
    if (++w->parts > MAX_TYPE_PARTS) {
        if (!w->reported)
            diag_limit(w->loc, "this type is too large (more than %d parts)", MAX_TYPE_PARTS);
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
        if (has_sized_var(NULL, elem) && diag_errors() == errors)
            ck_error(ck, te->elem->loc, "arrays cannot hold `%s`: its sizes may vary",
                     show(ck, elem));
        if (te->elem->kind == TE_UNIQUE)
            diag_warn(te->elem->loc, "`*` has no effect on the elements of an array; write `*[]t`");
        return ty_array(ck, dim, ty_plain(ck, elem));
    }
    case TE_TUPLE: {
        ATypes ts = {0};
        for (int i = 0; i < te->args.n; i++)
            vec_push(ck->a, &ts, convert(ck, te->args.at[i], how));
        return ty_tuple(ck, ts);
    }
    case TE_RECORD:
    case TE_SUM: return record_or_sum(ck, te, how);
    case TE_FUN: return function(ck, te, how);
    case TE_UNIQUE: {
        AType *t = NEW(ck->a, AType);
        *t = *convert(ck, te->elem, how);
        t->unique = t->kind != TY_ERROR;
        if (says_only_scalars(te->elem))
            diag_warn(te->loc, "`*` has no effect on `%s`, which holds no arrays",
                      show(ck, ty_plain(ck, t)));
        return t;
    }
    case TE_EXISTS: return exists(ck, te, how);
    case TE_SIZE: break;
    }
    ice(te->loc, "a size where a type was expected");
}

static AType *whole_type(Ck *ck, TypeExp *te, TypePlace at, TypeDecl *decl)
{
    struct Whole whole = {.loc = te->loc, .lifted = TP_TYPE};
    How how = {.at = at, .whole = &whole, .in_abbreviation = decl != NULL};
    AType *t = convert(ck, te, &how);
    if (ck->applying &&
        whole.lifted > whole.eased) /* what was known of the parameter has been asked */
        whole.eased = whole.lifted;
    else if (decl && whole.lifted > decl->lifted && !whole.reported)
        ck_error(ck, whole.lifted_by, "`%s` %s: it must be defined by `%s`, not `%s`", decl->name,
                 whole.lifted == TP_TYPE_LIFTED ? "is or holds a function"
                                                : "has sizes that may vary",
                 lifted_words[whole.lifted], lifted_words[decl->lifted]);
    if (decl && whole.eased > decl->lifted) {
        decl->lifted = whole.eased;
        decl->eased = true;
    }
    return whole.reported ? ty_error(ck) : ty_limited(ck, t, te->loc);
}

AType *check_type(Ck *ck, TypeExp *te, TypePlace at)
{
    return whole_type(ck, te, at, NULL);
}

static bool is_open(void *env, const Size *leaf)
{
    (void)env;
    return leaf->kind == SZ_META;
}

TParamKind lifted_of(const AType *t)
{
    return ty_has_fun(t)                                             ? TP_TYPE_LIFTED
           : ty_any_size(t, is_open, NULL) || has_sized_var(NULL, t) ? TP_TYPE_LIFTED_SIZE
                                                                     : TP_TYPE;
}

/* --- Declarations of types, and parameters -------------------------------------------------- */

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

void check_type_decl(Ck *ck, TypeDecl *d)
{
    Scopes scopes = scopes_now(ck);
    Bindings params = {0};
    check_tparams(ck, &d->tparams, &params);
    int errors = diag_errors();
    d->type = whole_type(ck, d->te, AT_FREE, d);
    for (int i = 0; i < params.n && diag_errors() == errors && !ty_has_error(d->type); i++)
        if (params.at[i]->kind == BIND_SIZE && !ty_mentions(d->type, params.at[i]))
            ck_error(ck, params.at[i]->loc, "size parameter `%s` is not used by the type",
                     params.at[i]->name);
    if (diag_errors() != errors)
        d->type = ty_error(ck); /* so that its uses do not say it again */
    scopes_back(ck, scopes);
    bind_type(ck, d);
}

void bind_type(Ck *ck, TypeDecl *d)
{
    d->bind = new_binding(ck, BIND_TYPE, d->name, d->loc);
    d->bind->tdecl = d;
    d->bind->doc = d->doc;
    d->bind->cls = class_of_lifted(d->lifted);
    bind_name(ck, d->bind);
}
