/* The names of builtins.def as bindings, made when they are first used. Their schemes are types of
 * the language, read by its own parser. */
#include "frontend/names/names.h"

#include "base/intern.h"
#include "common/spell.h"
#include "frontend/syntax/parse.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name, *on, *scheme,
        *doc; /* on: letters of scalars, NULL for plain names; doc: as a doc comment */
    BuiltinId id;
} Row;

#define WITH_EXAMPLE(doc, example, gives) doc "\n\n>>> " example "\n" gives
static const Row rows[] = {
#define BUILTIN(id, name, scheme, doc, example, gives)                                             \
    {name, NULL, scheme, WITH_EXAMPLE(doc, example, gives), BI_##id},
#define OPERATOR(id, name, scheme, doc, example, gives)                                            \
    {name, NULL, scheme, WITH_EXAMPLE(doc, example, gives), BI_##id},
#define ALIAS(id, name, scheme, doc, example, gives)                                               \
    {name, NULL, scheme, WITH_EXAMPLE(doc, example, gives), BI_##id},
#define MEMBER(id, name, on, scheme, doc, example, gives)                                          \
    {name, on, scheme, WITH_EXAMPLE(doc, example, gives), BI_##id},
#define PRIVATE(id, name, scheme) {name, NULL, scheme, NULL, BI_##id},
#include "frontend/syntax/builtins.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* In the order of the file: a section's title, or a name in it. */
static const struct {
    const char *section, *name;
} order[] = {
#define SECTION(title)                                  {title, NULL},
#define BUILTIN(id, name, scheme, doc, example, gives)  {NULL, name},
#define OPERATOR(id, name, scheme, doc, example, gives) {NULL, name},
#define ALIAS(id, name, scheme, doc, example, gives)    {NULL, name},
#include "frontend/syntax/builtins.def"
};

/* A binding of the scheme of a builtin. It is older than all of programs, whenever the builtin was
 * first used: how old what is looked for is (types.h) must not depend on what was used before. */
static Binding *old_binding(Ck *ck, BindKind kind, const char *name, Loc loc)
{
    int younger = ck->n_bindings;
    Binding *b = new_binding(ck, kind, name, loc);
    ck->n_bindings = younger;
    b->uid = OLDEST_UID + ck->n_old_bindings++;
    return b;
}

/* --- Types ---------------------------------------------------------------------------------- */

/* type~ acc 't: abstract, and of no module. */
Binding *acc_type(Ck *ck)
{
    if (ck->acc)
        return ck->acc;
    TypeDecl *d = NEW(ck->a, TypeDecl);
    Binding *t = new_binding(ck, BIND_TYPE_PARAM, intern("t"), (Loc){0, 0});
    t->cls = TC_VALUE;
    *d = (TypeDecl){.name = intern("acc"), .lifted = TP_TYPE_LIFTED_SIZE, .acc = true};
    d->bind = ck->acc = new_binding(ck, BIND_TYPE, d->name, (Loc){0, 0});
    d->bind->tdecl = d;
    d->bind->cls = TC_SIZED;
    vec_push(ck->a, &d->tparams, ((TParam){.name = t->name, .kind = TP_TYPE, .bind = t}));
    return ck->acc;
}

/* --- Schemes -------------------------------------------------------------------------------- */

typedef struct {
    Ck *ck;
    Bindings params;   /* quantified so far */
    const PrimType *t; /* what `t` stands for in a member */
} Scheme;

static Binding *scheme_param(Scheme *sc, BindKind kind, const char *name)
{
    for (int i = 0; i < sc->params.n; i++)
        if (sc->params.at[i]->name == name && sc->params.at[i]->kind == kind)
            return sc->params.at[i];
    Binding *b = old_binding(sc->ck, kind, name, ((Loc){0, 0}));
    vec_push(sc->ck->a, &sc->params, b);
    return b;
}

static AType *scheme_type(Scheme *sc, const TypeExp *te, Bindings *named, Bindings *exists);

static AType *scheme_acc(Scheme *sc, const TypeExp *te, Bindings *named)
{
    AType *t = NEW(sc->ck->a, AType);
    t->kind = TY_VAR;
    t->var = acc_type(sc->ck);
    vec_push(sc->ck->a, &t->targs, scheme_type(sc, te->args.at[0], named, NULL));
    return t;
}

static AType *scheme_name(Scheme *sc, const char *name)
{
    static const struct {
        const char *name;
        TypeClass cls;
    } classes[] = {{"eq", TC_EQ},   {"prim", TC_PRIM}, {"num", TC_NUM},
                   {"int", TC_INT}, {"bits", TC_BITS}, {"float", TC_FLOAT}};
    PrimType s;
    if (prim_named(name, &s))
        return ty_scalar(sc->ck, s);
    if (!strcmp(name, "t"))
        return ty_scalar(sc->ck, *sc->t);
    if (!strcmp(name, "ubits"))
        return ty_scalar(sc->ck, prim_like(PK_UNSIGNED, *sc->t));
    TypeClass cls = TC_VALUE;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(name, classes[i].name))
            cls = classes[i].cls;
    if (cls != TC_VALUE && sc->t) /* an operator as member: f32.+ */
        return ty_scalar(sc->ck, *sc->t);
    Binding *b = scheme_param(sc, BIND_TYPE_PARAM, intern(name));
    b->cls = cls;
    AType *t = NEW(sc->ck->a, AType);
    t->kind = TY_VAR;
    t->var = b;
    return t;
}

static Size *scheme_size(Scheme *sc, const AExp *e, const Bindings *named)
{
    if (e->kind == AE_LIT)
        return sz_const(sc->ck, (int64_t)e->lit.bits);
    if (e->kind == AE_APP)
        return sz_op(sc->ck, e->app.fn->var.name[0], scheme_size(sc, e->app.args.at[0], named),
                     scheme_size(sc, e->app.args.at[1], named));
    for (int i = 0; i < named->n; i++)
        if (named->at[i]->name == e->var.name)
            return sz_var(sc->ck, named->at[i]);
    return sz_var(sc->ck, scheme_param(sc, BIND_SIZE, e->var.name));
}

/* `named`: named parameters and existential sizes in scope; `exists` receives the latter. */
static AType *scheme_type(Scheme *sc, const TypeExp *te, Bindings *named, Bindings *exists)
{
    Ck *ck = sc->ck;
    switch (te->kind) {
    case TE_NAME: return te->args.n ? scheme_acc(sc, te, named) : scheme_name(sc, te->name);
    case TE_ARRAY: {
        AType *elem = scheme_type(sc, te->elem, named, exists);
        return ty_array(ck, scheme_size(sc, te->dim, named), elem);
    }
    case TE_TUPLE: {
        ATypes ts = {0};
        for (int i = 0; i < te->args.n; i++)
            vec_push(ck->a, &ts, scheme_type(sc, te->args.at[i], named, exists));
        return ty_tuple(ck, ts);
    }
    case TE_UNIQUE: {
        AType *t = scheme_type(sc, te->elem, named, exists);
        t->unique = true;
        return t;
    }
    case TE_EXISTS:
        for (int i = 0; i < te->sizes.n; i++) {
            Binding *b = old_binding(ck, BIND_SIZE, te->sizes.at[i].name, te->loc);
            vec_push(ck->a, named, b);
            vec_push(ck->a, exists, b);
        }
        return scheme_type(sc, te->elem, named, exists);
    case TE_FUN: {
        AType *p = scheme_type(sc, te->param, named, exists);
        Binding *name = NULL;
        if (te->name) {
            name = old_binding(ck, BIND_LOCAL, te->name, te->loc);
            vec_push(ck->a, named, name);
        }
        Bindings made_up = {0};
        AType *f = ty_fun(ck, p, scheme_type(sc, te->elem, named, &made_up));
        f->fun.name = name;
        f->fun.exists = made_up;
        return f;
    }
    case TE_RECORD:
    case TE_SUM:
    case TE_SIZE: break;
    }
    ice(te->loc, "scheme of a builtin has a form that is not read");
}

/* `u`: the scalar that T.U converts from, NULL for all but conversions. */
static Binding *make(Ck *ck, const char *name, const Row *r, const PrimType *t, const PrimType *u)
{
    ParseCtx ctx = {.a = ck->a, .text = r->scheme, .n = strlen(r->scheme)};
    if (!parse_text(&ctx, PARSE_TYPE))
        ice(((Loc){0, 0}), "scheme of `%s` does not parse", name);
    Binding *b = old_binding(ck, BIND_BUILTIN, name, ((Loc){0, 0}));
    Scheme sc = {.ck = ck, .t = t};
    Bindings named = {0}, exists = {0};
    b->builtin = r->id;
    b->for_prelude = !r->doc;
    b->scalar = t ? *t : T_BOOL;
    b->type = scheme_type(&sc, ctx.type, &named, &exists);
    b->tparams = sc.params;
    if (u)
        b->type = ty_fun(ck, ty_scalar(ck, *u), ty_scalar(ck, *t));
    ptrmap_put(ck->builtins, name, b);
    return b;
}

/* --- Look-up -------------------------------------------------------------------------------- */

static bool member_on(const Row *r, PrimType s)
{
    char c = s == T_BOOL ? 'b' : prim_is_float(s) ? 'f' : prim_is_signed(s) ? 's' : 'u';
    return r->on && strchr(r->on, c);
}

/* Is it a member of the scalar's module? Plain rows over numbers are, too (f32.+ f32.sum), unless
 * the module has a member of its own by that name. */
static bool in_module(const Row *r, PrimType t)
{
    if (r->on)
        return member_on(r, t);
    for (int i = 0; i < N_ROWS; i++)
        if (!strcmp(rows[i].name, r->name) && member_on(&rows[i], t))
            return false;
    return (strstr(r->scheme, "num") && t != T_BOOL) ||
           (strstr(r->scheme, "int") && prim_is_int(t)) ||
           (strstr(r->scheme, "bits") && !prim_is_float(t)) || strstr(r->scheme, "prim") ||
           strstr(r->scheme, "eq ");
}

static const Row *member_row(const char *name, PrimType t)
{
    for (int i = 0; i < N_ROWS; i++)
        if (!strcmp(rows[i].name, name) && in_module(&rows[i], t))
            return &rows[i];
    return NULL;
}

static const Row *row_named(BuiltinId id)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].id == id)
            return &rows[i];
    ice(((Loc){0, 0}), "no row for a builtin");
}

static Binding *find_member(Ck *ck, const char *name, const char *dot)
{
    PrimType t, u;
    if (!prim_named(intern_n(name, (size_t)(dot - name)), &t))
        return NULL;
    const char *m = dot + 1;
    if (prim_named(m, &u)) /* T.U */
        return make(ck, name, row_named(BI_CONV), &t, &u);
    if (!strncmp(m, "to_", 3) && prim_named(m + 3, &u)) /* U.to_T */
        return make(ck, name, row_named(BI_CONV), &u, &t);
    if (prim_is_signed(t) && (!strcmp(m, "sign") || !strcmp(m, "unsign"))) { /* the same bits */
        u = prim_like(PK_UNSIGNED, t);
        return make(ck, name, row_named(BI_CONV), !strcmp(m, "sign") ? &t : &u,
                    !strcmp(m, "sign") ? &u : &t);
    }
    const Row *r = member_row(m, t);
    return r ? make(ck, name, r, &t, NULL) : NULL;
}

Binding *find_builtin(Ck *ck, const char *name)
{
    if (!ck->builtins)
        ck->builtins = ptrmap_new(ck->a);
    Binding *known = ptrmap_get(ck->builtins, name);
    if (known)
        return known;
    const char *dot = strchr(name, '.');
    if (dot)
        return find_member(ck, name, dot);
    for (int i = 0; i < N_ROWS; i++)
        if (!rows[i].on && !strcmp(rows[i].name, name))
            return make(ck, name, &rows[i], NULL, NULL);
    return NULL;
}

void try_builtins(struct rt_spelling *sp)
{
    const char *dot = strchr(sp->word, '.');
    PrimType s = T_BOOL;
    bool member = dot && prim_named(intern_n(sp->word, (size_t)(dot - sp->word)), &s);
    for (int i = 0; i < N_ROWS; i++) {
        if (!member && !rows[i].on && rows[i].doc) {
            rt_spell_try(sp, rows[i].name);
        } else if (member && member_on(&rows[i], s)) {
            char text[64];
            snprintf(text, sizeof text, "%s.%s", prim_type_text[s], rows[i].name);
            rt_spell_try(sp, intern(text));
        }
    }
}

/* --- For editors ---------------------------------------------------------------------------- */

void fe_builtins(const char *module, void (*fn)(void *env, const char *name), void *env)
{
    PrimType s = T_BOOL;
    if (module && !prim_named(module, &s))
        return;
    for (int i = 0; i < N_ROWS; i++)
        if (module ? in_module(&rows[i], s) : !rows[i].on && rows[i].doc)
            fn(env, rows[i].name);
    for (int u = 0; module && u < N_PRIM_TYPES; u++)
        fn(env, prim_type_text[u]);
    if (module && s != T_BOOL)
        fn(env, "to_i64");
    if (module && prim_is_float(s))
        fn(env, "to_f64");
}

const Binding *fe_builtin(Ast *ast, const char *name)
{
    Ck ck = {.a = ast->arena, .ast = ast, .n_bindings = ast->n_bindings};
    return find_builtin(&ck, intern(name));
}

const char *fe_builtin_doc(const char *name)
{
    const char *dot = strchr(name, '.');
    PrimType s, u;
    if (dot && prim_named(intern_n(name, (size_t)(dot - name)), &s)) {
        const Row *r = member_row(dot + 1, s);
        bool converts =
            prim_named(dot + 1, &u) || (!strncmp(dot + 1, "to_", 3) && prim_named(dot + 4, &u));
        return converts ? row_named(BI_CONV)->doc : r ? r->doc : NULL;
    }
    for (int i = 0; i < N_ROWS; i++)
        if (!rows[i].on && !strcmp(rows[i].name, name))
            return rows[i].doc;
    return NULL;
}

const char *fe_builtin_section(const char *name)
{
    const char *section = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (order[i].section)
            section = order[i].section;
        else if (!strcmp(order[i].name, name))
            return section;
    }
    return NULL;
}
