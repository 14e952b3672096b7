/* Definitions at top level, through all phases, and those that are entry points. */
#include "frontend/check/check.h"
#include "frontend/consume/consume.h"

#include "base/intern.h"

#include <string.h>

/* Are the sizes there in time, of what has the right types? */
static void check_times(Ck *ck, Def *d, int errors, int first_id)
{
    int messages = diag_messages();
    if (diag_errors() == errors && !ck->skipped)
        causality_def(ck, d, first_id);
    if (diag_errors() == errors && !ck->skipped && !d->params.n)
        check_applicable(ck, d, d->bind->type, first_id);
    diag_explained(messages, SECTION_SIZES);
}

/* Then patterns and consumption. */
static void check_use(Ck *ck, Def *d, int errors)
{
    if (!d->wrong)
        exhaust_def(ck, d);
    d->wrong |= diag_errors() > errors;
    int messages = diag_messages();
    if (!d->wrong)
        consume_def(ck, d);
    diag_explained(messages, SECTION_CONSUMPTION);
    if (diag_errors() == errors && !ck->applying && ck->file != ck->prelude)
        warn_def(ck, d);
}

void check_top(Ck *ck, Def *d)
{
    int errors = ck->errors = diag_errors();
    bool names_only = ck->ast->names_only;
    forget_size_names(ck);
    ck->trail.n = 0;
    ck->wanted.n = 0;
    ck->deferred.n = 0;
    ck->skipped = false;
    int first_id = ck->ids;
    memcpy(ck->outside, ck->scopes, sizeof ck->outside);
    check_def(ck, d);
    zonk_def(ck, d);
    d->bind->fresh = type_deref(d->bind->type)->kind != TY_FUN && ty_has_abstract(d->bind->type);
    if (!names_only)
        check_times(ck, d, errors, first_id);
    d->wrong = diag_errors() > errors || ck->skipped;
    if (d->wrong && ty_has_error(d->bind->type)) /* what is made of it is no error */
        d->bind->type = ty_error(ck);
    if (!names_only)
        check_use(ck, d, errors);
    if (!ck->supposing)
        vec_push(ck->a, &ck->ast->defs, d);
}

/* --- Entry points --------------------------------------------------------------------------- */

static bool has_type_var(void *env, const AType *t)
{
    t = type_deref(t);
    bool var = t->kind == TY_VAR && !type_is_acc(t);
    return var || type_any_part(t, has_type_var, env);
}

static bool has_acc(void *env, const AType *t)
{
    return type_is_acc(t) || type_any_part(type_deref(t), has_acc, env);
}

/* The type written for the pattern, or for all of its parts; NULL: there is none. */
static const TypeExp *written_type(Ck *ck, const Pat *p)
{
    if (p->kind != P_TUPLE && p->kind != P_RECORD)
        return p->kind == P_ASCRIBE ? p->te : NULL;
    TypeExp *te = NEW(ck->a, TypeExp);
    *te = (TypeExp){
        .kind = p->kind == P_TUPLE ? TE_TUPLE : TE_RECORD, .loc = p->loc, .names = p->names};
    for (int i = 0; i < p->elems.n; i++) {
        const TypeExp *part = written_type(ck, p->elems.at[i]);
        if (!part)
            return NULL;
        vec_push(ck->a, &te->args, (TypeExp *)part);
    }
    return te;
}

/* What callers from outside may give and take. */
static bool is_outside(const AType *t)
{
    return !has_type_var(NULL, t) && !has_acc(NULL, t) && !ty_has_fun(t);
}

static bool check_interface(Ck *ck, const char *what, const AType *t, Loc loc)
{
    if (has_type_var(NULL, t))
        ck_error(ck, loc, "an entry point cannot be polymorphic: %s has type `%s`", what,
                 show(ck, t));
    else if (has_acc(NULL, t))
        ck_error(ck, loc, "%s of an entry point cannot be or hold an accumulator (`%s`)", what,
                 show(ck, t));
    else if (ty_has_fun(t))
        ck_error(ck, loc, "%s of an entry point cannot be or hold a function (`%s`)", what,
                 show(ck, t));
    else
        return true;
    return false;
}

/* The type t with the uniqueness of `like`, which is the same type but for sizes. */
static AType *unique_like(Ck *ck, AType *t, const AType *like)
{
    AType *c = NEW(ck->a, AType);
    *c = *type_deref(t);
    like = type_deref(like);
    c->unique = like->unique;
    if (type_is_composite(c)) {
        c->elems = (ATypes){0};
        for (int i = 0; i < like->elems.n; i++)
            vec_push(ck->a, &c->elems,
                     unique_like(ck, type_deref(t)->elems.at[i], like->elems.at[i]));
    }
    return c;
}

static AExp *new_var(Ck *ck, const char *name, Loc loc)
{
    AExp *e = NEW(ck->a, AExp);
    *e = (AExp){.kind = AE_VAR, .loc = loc};
    e->var.name = name;
    return e;
}

/* A definition with all the parameters that its type has: of `entry f = map g` this is
 * `entry f xs = f xs`, where the `f` inside is the definition as written. */
static Def *eta_expanded(Ck *ck, const Def *d)
{
    Def *x = NEW(ck->a, Def);
    *x = (Def){.name = d->name, .loc = d->loc, .span = d->span, .doc = d->doc, .attrs = d->attrs};
    x->body = NEW(ck->a, AExp);
    *x->body = (AExp){.kind = AE_APP, .loc = d->body->loc};
    x->body->app.fn = new_var(ck, d->name, d->loc);
    for (int i = 0; i < type_arity(d->bind->type); i++) {
        Pat *p = NEW(ck->a, Pat); /* of a name that nothing else has */
        *p = (Pat){.kind = P_VAR, .loc = i < d->params.n ? d->params.at[i]->loc : d->loc};
        p->name = intern(arena_printf(ck->a, "%d", i));
        vec_push(ck->a, &x->params, p);
        vec_push(ck->a, &x->body->app.args, new_var(ck, p->name, p->loc));
    }
    check_def(ck, x);
    zonk_def(ck, x);
    const AType *t = d->bind->type;
    for (int i = 0; i < x->params.n; i++, t = type_deref(t->fun.result)) {
        Pat *p = x->params.at[i];
        p->type = p->bind->type = unique_like(ck, p->type, t->fun.param);
    }
    consume_def(ck, x);
    if (ck->abstract)
        reveal_def(ck, x);
    vec_push(ck->a, &ck->ast->defs, x);
    return x;
}

/* The type written for parameter i, of the definition or of the function that it declares to
 * return; NULL if there is none. `*ret` is what is left of the declared result. */
static const TypeExp *written_param(Ck *ck, const Def *d, int i, const TypeExp **ret)
{
    if (i < d->params.n)
        return written_type(ck, d->params.at[i]);
    if (!*ret || (*ret)->kind != TE_FUN) {
        *ret = NULL;
        return NULL;
    }
    const TypeExp *te = (*ret)->param;
    *ret = (*ret)->elem;
    return te;
}

static const char *param_name(Ck *ck, const Def *d, int i)
{
    const Pat *p = i < d->params.n ? d->params.at[i] : NULL;
    const Pat *v = p && p->kind == P_ASCRIBE ? p->pat : p;
    return v && v->kind == P_VAR ? v->name : intern(arena_printf(ck->a, "arg%d", i));
}

/* The sizes that an entry point is polymorphic in are read off its arguments. */
static void check_constructive(Ck *ck, const Def *d)
{
    for (int i = 0; i < d->bind->tparams.n; i++) {
        const Binding *b = d->bind->tparams.at[i];
        bool found = b->kind != BIND_SIZE;
        for (int j = 0; j < d->params.n; j++)
            found |= ty_witnesses(d->params.at[j]->type, b);
        if (found)
            continue;
        if (b->name[0] == '[')
            ck_error(ck, d->loc,
                     "the sizes of entry point `%s` cannot be found from its arguments: "
                     "its type is `%s`",
                     d->name, show(ck, d->bind->type));
        else
            ck_error(ck, b->loc,
                     "size parameter `%s` of an entry point must be the size of a parameter "
                     "by itself, as in `[%s]t`",
                     b->name, b->name);
    }
}

static void add_entry(Ck *ck, Def *as_written)
{
    Def *d = type_arity(as_written->ret_type) ? eta_expanded(ck, as_written) : as_written;
    EntryPoint ep = {.def = d, .name = d->name, .result = d->ret_type};
    const TypeExp *te = as_written->ret;
    if (strspn(d->name, "+-*/%=!><|&^"))
        ck_error(ck, d->loc, "an operator cannot be an entry point");
    bool ok = true;
    for (int i = 0; i < as_written->tparams.n; i++) {
        const TParam *p = &as_written->tparams.at[i];
        if (p->kind != TP_SIZE) {
            ck_error(ck, p->loc, "an entry point cannot be polymorphic: it has a type parameter");
            ok = false;
            break;
        }
    }
    for (int i = 0; i < d->params.n; i++) {
        const Pat *p = d->params.at[i];
        ok = ok && check_interface(ck, "a parameter", p->type, p->loc);
        EntryParam ip = {.type = p->type, .loc = p->loc, .name = param_name(ck, as_written, i)};
        ip.te = written_param(ck, as_written, i, &te);
        vec_push(ck->a, &ep.params, ip);
    }
    if (ok)
        check_constructive(ck, d);
    Loc at = as_written->ret ? as_written->ret->loc : d->loc;
    if (ok)
        check_interface(ck, "the result", d->ret_type, at);
    /* As in Futhark, several results are what is written as a tuple, or not at all. */
    bool tuple = d->ret_type->kind == TY_TUPLE && (!te || te->kind == TE_TUPLE);
    for (int i = 0; i < (tuple ? d->ret_type->elems.n : 1); i++) {
        EntryParam ip = {.type = tuple ? d->ret_type->elems.at[i] : d->ret_type, .loc = at};
        ip.name = intern(arena_printf(ck->a, "out%d", i));
        ip.te = tuple && te ? te->args.at[i] : te;
        vec_push(ck->a, &ep.results, ip);
    }
    vec_push(ck->a, &ck->ast->entries, ep);
}

/* `main` is one however it is defined. */
static bool is_entry(const Def *d)
{
    return d->entry || !strcmp(d->name, "main");
}

/* The function of which an expression is the name: its parameters and sizes have names, too. */
static Def *meant(const Ck *ck, Def *d)
{
    const AExp *e = d->body;
    const Binding *b = ck->ast->main->exp && e->kind == AE_VAR ? e->var.bind : NULL;
    return b && b->kind == BIND_DEF && !b->stands && b->def->params.n ? b->def : d;
}

void check_entries(Ck *ck)
{
    const Decls *ds = &ck->ast->main->decls;
    for (int i = 0; i < ds->n; i++) {
        Def *d = ds->at[i].def;
        int messages = diag_messages();
        if (d && is_entry(d) && !d->wrong) /* of a wrong one the type is a guess */
            add_entry(ck, meant(ck, d));
        diag_explained(messages, SECTION_ENTRIES);
    }
}

/* --- Values --------------------------------------------------------------------------------- */

FeValue fe_value(const Def *d)
{
    const AType *t = type_deref(d->bind->type);
    bool general = d->bind->tparams.n || has_type_var(NULL, t);
    return t->kind == TY_FUN || (!general && ty_has_fun(t)) ? FE_FUNCTION
           : has_acc(NULL, t)                               ? FE_WRITING
           : general                                        ? FE_GENERAL
                                                            : FE_VALUE;
}

void fe_add_value(Ast *ast, Def *d)
{
    EntryPoint ep = {.def = d, .name = d->name, .result = d->bind->type};
    EntryParam result = {
        .name = intern("out0"), .type = d->bind->type, .te = d->ret, .loc = d->loc};
    vec_push(ast->arena, &ep.results, result);
    vec_push(ast->arena, &ast->entries, ep);
}

static bool could_be_entry(const Def *d)
{
    bool could =
        d->recursive && !d->wrong && !is_entry(d) && d->params.n && is_outside(d->ret_type);
    for (int i = 0; i < d->params.n; i++)
        could = could && is_outside(d->params.at[i]->type);
    for (int i = 0; could && i < d->bind->tparams.n; i++) {
        bool found = false;
        for (int k = 0; k < d->params.n; k++)
            found |= ty_witnesses(d->params.at[k]->type, d->bind->tparams.at[i]);
        could = found;
    }
    return could;
}

void fe_add_recursive(Ast *ast)
{
    const Decls *ds = &ast->main->decls;
    for (int i = 0; i < ds->n; i++) {
        Def *d = ds->at[i].def;
        if (!d || !could_be_entry(d))
            continue;
        EntryPoint ep = {.def = d, .name = d->name, .result = d->ret_type};
        for (int k = 0; k < d->params.n; k++) {
            const Pat *p = d->params.at[k];
            vec_push(ast->arena, &ep.params,
                     ((EntryParam){.name = intern("arg"), .type = p->type, .loc = p->loc}));
        }
        vec_push(ast->arena, &ep.results,
                 ((EntryParam){.name = intern("out"), .type = d->ret_type, .loc = d->loc}));
        vec_push(ast->arena, &ast->entries, ep);
    }
}
