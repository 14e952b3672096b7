/* Types of modules. An instance of one is a module with the specified members; made of a module at
 * hand (ascription), each specification is matched with that module's member, and the types that
 * the specification leaves open become abstract: new types that stand for those of the module. */
#include "frontend/check/module.h"

#include "base/intern.h"

#include <string.h>

/* Types of modules inside each other, and specifications in all, those that are included too. */
enum { MAX_SIGNATURES = 100, MAX_SPECS = 10000 };

/* How many specifications a module is told not to meet: where one given for another, all would be.
 */
enum { MAX_MISMATCHES = 4 };

/* A `with`: what an abstract type of the module type is. */
typedef struct Refine {
    const char *name;    /* from the module at work on: "t", "M.t" */
    const char *written; /* another name that stands for it, so written; "": not of this module */
    TypeDecl *decl;      /* already checked, where it was written */
    bool *used;
    struct Refine *up;
    int part; /* of the name as it was written: "M.t" has 0 and 1 */
} Refine;

typedef struct {
    Ck *ck;
    Module *have;       /* NULL: any */
    Module *view;       /* being made */
    Bindings *seen;     /* abstract types, and values that may be sizes */
    const Subst *known; /* abstract types of elsewhere, and what they stand for */
    Refine *with;
    Loc at;           /* of the module at hand, */
    const char *path; /* and "A.B." for the member at work on in it, for messages */
    bool quiet;       /* the type of modules is wrong, so no module is */
    bool argument;    /* the module is what a parametric one is applied to */
} Inst;

static void instantiate(Inst *in, const ModType *t);

static const char *said_name(const Inst *in, const Spec *s)
{
    return arena_printf(in->ck->a, "%s%s", in->path, s->name);
}

/* False: that was not said. */
static bool mismatch(Inst *in, const Spec *s, Loc have, const char *message)
{
    Ck *ck = in->ck;
    in->view->wrong = true;
    if (in->quiet)
        return false;
    ck->mismatches = in->at.beg == ck->mismatched.beg ? ck->mismatches + 1 : 1;
    ck->mismatched = in->at;
    if (ck->mismatches == MAX_MISMATCHES + 1)
        ck_note(ck, s->loc, "that is not all: `%s` and perhaps others are not as specified either",
                said_name(in, s));
    if (ck->mismatches > MAX_MISMATCHES)
        return false;
    ck_error(ck, in->at, "%s", message);
    ck_note(ck, s->loc, "`%s` is specified here", said_name(in, s));
    if (have.beg)
        ck_note(ck, have, "and defined here");
    return true;
}

/* what: the kind and name of what the module does not have. */
static void lacks(Inst *in, const Spec *s, Space space, const char *what)
{
    Ck *ck = in->ck;
    const Binding *near = nearest_member(ck, in->have, s->name, space);
    const char *hint = near ? arena_printf(ck->a, "; did you mean `%s`?", near->name) : "";
    if (mismatch(in, s, NO_LOC, arena_printf(ck->a, "this module has no %s%s", what, hint)) && near)
        diag_fix_word(near->loc, near->name, s->name);
}

void add_meanings(Ck *ck, Subst *s, const Subst *more)
{
    for (int i = 0; i < more->from.n; i++) {
        vec_push(ck->a, &s->from, more->from.at[i]);
        vec_push(ck->a, &s->types, more->types.at[i]);
        vec_push(ck->a, &s->sizes, more->sizes.at[i]);
        vec_push(ck->a, &s->decls, more->decls.at[i]);
    }
}

Subst meanings(Ck *ck, const Bindings *seen)
{
    Subst s = {0};
    for (int i = 0; i < seen->n; i++) {
        Binding *b = seen->at[i];
        if (b->kind == BIND_TYPE && b->tdecl->means)
            subst_decl(ck, &s, b, b->tdecl->means);
        else if (b->stands)
            subst_size(ck, &s, b, sz_var(ck, b->stands));
    }
    return s;
}

static Subst meanings_now(const Inst *in)
{
    Subst s = meanings(in->ck, in->seen);
    if (in->known)
        add_meanings(in->ck, &s, in->known);
    return s;
}

static void add_member(Inst *in, Binding *b)
{
    vec_push(in->ck->a, &in->view->members, b);
}

/* --- Values --------------------------------------------------------------------------------- */

/* Is it a type of functions? */
static bool is_function_type(const AType *t)
{
    return type_deref(t)->kind == TY_FUN;
}

static void match_spec(Inst *in, const Spec *s, Binding *b)
{
    Ck *ck = in->ck;
    Binding *have = module_member(ck, in->have, s->name, SPACE_TERM);
    if (!have) {
        lacks(in, s, SPACE_TERM,
              arena_printf(ck->a, "value `%s` of type `%s`", said_name(in, s), show(ck, b->type)));
        return;
    }
    if (have->kind == BIND_MODULE) {
        mismatch(in, s, have->loc,
                 arena_printf(ck->a, "`%s` of this module is a module, not a value of type `%s`",
                              said_name(in, s), show(ck, b->type)));
        return;
    }
    b->kind = have->kind;
    b->def = have->def;
    b->builtin = have->builtin;
    b->scalar = have->scalar;
    b->stands = have;
    note_match(ck, s->loc, have->loc);
    const AType *is = type_deref(b->type);
    if (is->kind == TY_SCALAR && is->scalar == T_I64)
        vec_push(ck->a, in->seen, b);
    if (!have->type || type_deref(have->type)->kind == TY_ERROR || (have->def && have->def->wrong))
        return;
    Subst means = meanings_now(in);
    Bindings sizes = {0}; /* of what abstract types stand for: the value must take any */
    bool fun = is_function_type(b->type);
    AType *want = ty_reveal(ck, b->type, &means, fun ? AT_PARAM : AT_UNKNOWN, &sizes);
    const char *shown = show(ck, have->type);
    ck_try(ck);
    const char *why = value_misfit(ck, want, ty_instance(ck, have, in->at));
    if (why)
        mismatch(in, s, have->loc,
                 arena_printf(ck->a,
                              "value `%s` of this module should have type `%s`, but has `%s`%s",
                              said_name(in, s), show(ck, want), shown,
                              *why ? arena_printf(ck->a, " (%s)", why) : ""));
}

static bool names_function(Ck *ck, const TypeExp *te)
{
    if (te->kind != TE_NAME)
        return te->kind == TE_FUN;
    Binding *b = find_type(ck, te->name, te->loc);
    return b && b->tdecl && b->tdecl->type && is_function_type(b->tdecl->type);
}

static void spec_value(Inst *in, const Spec *s)
{
    static Def any; /* of a value that is not known */
    Ck *ck = in->ck;
    Scopes scopes = scopes_now(ck);
    Bindings tparams = {0}, *outer = ck->sizes;
    TParams tps = clone_tparams(ck->a, s->tparams);
    ck->level++;
    ck->sizes = &tparams;
    check_tparams(ck, &tps, &tparams);
    const TypeExp *anonymous = anonymous_in_param(s->te);
    if (anonymous)
        ck_error(ck, anonymous->loc,
                 "the size of a parameter must have a name in a specification, as in `val %s [n] : "
                 "[n]t -> ...`",
                 s->name);
    TypeExp *te = clone_type(ck->a, s->te);
    AType *t = check_type(ck, te, names_function(ck, s->te) ? AT_PARAM : AT_UNKNOWN);
    note_type(ck, &tps, te);
    ck->level--;
    ck->sizes = outer;
    if (ty_has_error(t)) {
        t = ty_error(ck);
        in->view->wrong = true;
    }
    generalise_type(ck, t, &tparams);
    scopes_back(ck, scopes);
    Binding *b = new_binding(ck, BIND_DEF, s->name, s->loc);
    b->type = t;
    b->tparams = tparams;
    b->def = &any;
    b->fresh = !is_function_type(t) && ty_has_abstract(t);
    if (in->have && t->kind != TY_ERROR)
        match_spec(in, s, b);
    b->doc = b->stands && b->stands->doc ? b->stands->doc : s->doc;
    bind_name(ck, b);
    note_name(ck, s->loc, 0, b);
    add_member(in, b);
}

/* --- What `with` names ---------------------------------------------------------------------- */

/* "t" for "M" and "M.t"; NULL if it is not of that module. */
static const char *name_within(const char *module, const char *name)
{
    size_t n = strlen(module);
    return strncmp(name, module, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

/* Whether the specified type is another one with the same parameters: `type u 'a = t a`. */
static bool renames(const Spec *s)
{
    if (s->te->kind != TE_NAME || s->te->args.n != s->tparams.n)
        return false;
    for (int i = 0; i < s->tparams.n; i++) {
        const TypeExp *arg = s->te->args.at[i];
        bool size = arg->kind == TE_SIZE && arg->dim && arg->dim->kind == AE_VAR;
        const char *name = size                                       ? arg->dim->var.name
                           : arg->kind == TE_NAME && arg->args.n == 0 ? arg->name
                                                                      : NULL;
        if (name != s->tparams.at[i].name)
            return false;
    }
    return true;
}

static const char *abstract_name(Ck *ck, const ModType *t, const char *name, int *fuel);

/* The same, where only the first n specifications count. */
static const char *abstract_spec(Ck *ck, const Specs *specs, int n, const char *name, int *fuel)
{
    for (int i = n - 1; i >= 0; i--) {
        const Spec *s = specs->at[i];
        const char *found = NULL;
        if (s->kind == SPEC_TYPE && strcmp(s->name, name) == 0)
            return !s->te       ? name
                   : renames(s) ? abstract_spec(ck, specs, i, s->te->name, fuel)
                                : NULL;
        const char *rest = s->kind == SPEC_MODULE ? name_within(s->name, name) : NULL;
        if (s->kind == SPEC_INCLUDE)
            found = abstract_name(ck, s->mtype, name, fuel);
        else if (rest && (found = abstract_name(ck, s->mtype, rest, fuel)))
            found = arena_printf(ck->a, "%s.%s", s->name, found);
        if (found)
            return found;
    }
    return NULL;
}

/* The abstract type that a name stands for in modules of that type, from which it is seen: itself,
 * or what it is specified to be. NULL: none, or so much is to be looked at that there is no fuel
 * left. */
static const char *abstract_name(Ck *ck, const ModType *t, const char *name, int *fuel)
{
    while (t->kind == MT_WITH)
        t = t->e;
    if (--*fuel < 0 || t->kind == MT_FUN)
        return NULL;
    if (t->kind == MT_SPECS)
        return abstract_spec(ck, &t->specs, t->specs.n, name, fuel);
    Binding *b = find_binding(ck, t->name, SPACE_SIG);
    if (!b || !b->sig)
        return NULL;
    Closure back = closure_enter(ck, &b->sig->at);
    const char *found = abstract_name(ck, b->sig->type, name, fuel);
    closure_enter(ck, &back);
    return found;
}

/* --- Types ---------------------------------------------------------------------------------- */

static Refine *refinement(Inst *in, const char *name)
{
    for (Refine *r = in->with; r; r = r->up)
        if (!strcmp(r->name, name))
            return r;
    return NULL;
}

/* Whether both take the same sizes and types, in the same order. */
static bool same_params(const TParams *a, const TParams *b)
{
    for (int i = 0; i < a->n && i < b->n; i++)
        if ((a->at[i].kind == TP_SIZE) != (b->at[i].kind == TP_SIZE))
            return false;
    return a->n == b->n;
}

static const char *const lifted_words[] = {
    [TP_TYPE] = "type", [TP_TYPE_LIFTED_SIZE] = "type~", [TP_TYPE_LIFTED] = "type^"};

/* The declared type applied to parameters of its own, those of `like`. */
static AType *type_of_params(Ck *ck, TypeDecl *d, const TypeDecl *like)
{
    AType *t = NEW(ck->a, AType);
    t->kind = TY_VAR;
    t->var = d->bind;
    for (int i = 0; i < like->tparams.n; i++) {
        Binding *p = like->tparams.at[i].bind;
        if (p->kind == BIND_SIZE) {
            vec_push(ck->a, &t->sargs, sz_var(ck, p));
        } else {
            AType *v = NEW(ck->a, AType);
            v->kind = TY_VAR;
            v->var = p;
            vec_push(ck->a, &t->targs, v);
        }
    }
    Subst s = {0};
    subst_decl(ck, &s, d->bind, d);
    return d->type ? ty_reveal(ck, t, &s, AT_FREE, NULL) : t;
}

/* Whether b is the size of an array in the type, or in what an abstract one is applied to. */
static bool holds_size(const AType *t, const Binding *b)
{
    t = type_deref(t);
    bool found = ty_witnesses(t, b);
    if (t->kind == TY_ARRAY)
        return found || holds_size(t->array.elem, b);
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = holds_size(t->elems.at[i], b);
    for (int i = 0; t->kind == TY_VAR && i < t->targs.n && !found; i++)
        found = holds_size(t->targs.at[i], b);
    return found;
}

/* An abstract type may be what `have` is. */
static void match_abstract(Inst *in, const Spec *s, const TypeDecl *d, const TypeDecl *have,
                           Loc loc)
{
    Ck *ck = in->ck;
    if (have->lifted > d->lifted) {
        mismatch(in, s, loc,
                 arena_printf(
                     ck->a, "type `%s` of this module is declared by `%s`, but `%s` is specified",
                     said_name(in, s), lifted_words[have->lifted], lifted_words[d->lifted]));
        return;
    }
    for (int i = 0; have->type && have->type->kind != TY_ERROR && i < have->tparams.n; i++) {
        const TParam *p = &have->tparams.at[i];
        if (p->kind != TP_SIZE || holds_size(have->type, p->bind))
            continue;
        mismatch(
            in, s, loc,
            arena_printf(ck->a,
                         "type `%s` cannot be abstract: `%s` is not the size of an array in `%s`",
                         said_name(in, s), p->name, show(ck, have->type)));
        return;
    }
}

/* No value of the type is wrong because of it. */
static void given_up(Ck *ck, TypeDecl *d)
{
    if (d->type) {
        d->type = ty_error(ck);
        return;
    }
    d->means = arena_memdup(ck->a, d, sizeof *d);
    d->means->type = ty_error(ck);
}

static void match_type_spec(Inst *in, const Spec *s, TypeDecl *d)
{
    Ck *ck = in->ck;
    Binding *have = module_member(ck, in->have, s->name, SPACE_TYPE);
    if (!have) {
        lacks(in, s, SPACE_TYPE, arena_printf(ck->a, "type `%s`", said_name(in, s)));
        given_up(ck, d);
        return;
    }
    TypeDecl *h = have->tdecl;
    note_match(ck, s->loc, have->loc);
    if (!params_fit(&d->tparams, &h->tparams)) {
        mismatch(in, s, have->loc,
                 arena_printf(ck->a, "type `%s` of this module has other parameters than specified",
                              said_name(in, s)));
        given_up(ck, d);
    } else if (!d->type) {
        match_abstract(in, s, d, h, have->loc);
        d->means = h;
        if (in->argument &&
            type_lifted_in_fact(d) < d->lifted) /* all that is done with it will be asked again */
            d->bind->cls = class_of_lifted(type_lifted_in_fact(d));
    } else {
        Subst means = meanings_now(in);
        AType *want = ty_reveal(ck, type_of_params(ck, d, d), &means, AT_FREE, NULL);
        AType *is = type_of_params(ck, h, d);
        ck_try(ck);
        if (!ty_unify(ck, want, is)) {
            mismatch(in, s, have->loc,
                     arena_printf(ck->a, "type `%s` of this module is `%s`, but should be `%s`",
                                  said_name(in, s), show(ck, is), show(ck, want)));
            given_up(ck, d);
        }
    }
}

/* Keeps for editors that what `with` names is what the specification says. */
static void note_refined(Ck *ck, TypeDecl *spec, const Refine *r)
{
    if (!ck->ast->uses || strcmp(r->written, spec->name) != 0)
        return;
    Binding *b = new_binding(ck, BIND_TYPE, spec->name, spec->loc);
    b->tdecl = spec;
    note_name(ck, r->decl->loc, r->part, b);
}

static void spec_type(Inst *in, const Spec *s)
{
    Ck *ck = in->ck;
    TypeDecl *d = NEW(ck->a, TypeDecl);
    *d = (TypeDecl){.name = s->name, .loc = s->loc, .lifted = s->lifted, .doc = s->doc};
    d->tparams = clone_tparams(ck->a, s->tparams);
    Refine *r = refinement(in, s->name);
    if (s->te) {
        d->te = clone_type(ck->a, s->te);
        check_type_decl(ck, d);
        note_type(ck, &d->tparams, d->te);
        for (r = in->with; r; r = r->up)
            note_refined(ck, d, r);
    } else if (r && !params_fit(&d->tparams, &r->decl->tparams)) {
        mismatch(
            in, s, r->decl->loc,
            arena_printf(ck->a, "type `%s` has other parameters than specified", said_name(in, s)));
        return;
    } else if (r) {
        note_refined(ck, d, r);
        d = type_refined(ck, r->decl, d->lifted);
        d->name = s->name;
        d->doc = s->doc;
        bind_type(ck, d);
        *r->used = true;
    } else {
        Scopes scopes = scopes_now(ck);
        Bindings params = {0};
        check_tparams(ck, &d->tparams, &params);
        note_type(ck, &d->tparams, NULL);
        scopes_back(ck, scopes);
        bind_type(ck, d);
        d->module = ck->path;
        ck->abstract = true;
        vec_push(ck->a, in->seen, d->bind);
    }
    if (in->have)
        match_type_spec(in, s, d);
    in->view->wrong |= d->type && ty_has_error(d->type);
    note_name(ck, s->loc, 0, d->bind);
    add_member(in, d->bind);
}

/* --- Modules -------------------------------------------------------------------------------- */

/* The refinements of members of the member of that name. */
static Refine *refinements_of(Inst *in, const char *name)
{
    Refine *kept = NULL;
    for (Refine *r = in->with; r; r = r->up) {
        const char *rest = name_within(name, r->name), *written = name_within(name, r->written);
        if (!rest)
            continue;
        Refine *inner = arena_memdup(in->ck->a, r, sizeof *r);
        inner->name = rest;
        inner->written = written ? written : "";
        inner->up = kept;
        kept = inner;
    }
    return kept;
}

static void spec_module(Inst *in, const Spec *s)
{
    Ck *ck = in->ck;
    Inst inner = *in;
    inner.with = refinements_of(in, s->name);
    inner.path = arena_printf(ck->a, "%s%s.", in->path, s->name);
    inner.view = module_new(ck, s->loc);
    if (in->have) {
        Binding *have = module_member(ck, in->have, s->name, SPACE_TERM);
        if (!have) {
            lacks(in, s, SPACE_TERM, arena_printf(ck->a, "module `%s`", said_name(in, s)));
            return;
        }
        if (have->kind != BIND_MODULE) {
            mismatch(in, s, have->loc,
                     arena_printf(ck->a, "`%s` of this module is a value, not a module",
                                  said_name(in, s)));
            return;
        }
        inner.have = have->module;
        note_match(ck, s->loc, have->loc);
    }
    const char *path = ck->path;
    ck->path = arena_printf(ck->a, "%s%s.", path ? path : "", s->name);
    Scopes scopes = scopes_now(ck);
    instantiate(&inner, s->mtype);
    scopes_back(ck, scopes);
    ck->path = path;
    in->view->wrong |= inner.view->wrong;
    Binding *b = new_binding(ck, BIND_MODULE, s->name, s->loc);
    b->module = inner.view;
    b->doc = s->doc;
    bind_name(ck, b);
    note_name(ck, s->loc, 0, b);
    add_member(in, b);
}

/* A parametric module is of such a type if it makes a module of the result's type of any argument
 * of the parameter's. */
static void match_parametric(Inst *in)
{
    Ck *ck = in->ck;
    const ModSig *sig = in->view->sig;
    ModSig param = {sig->type->param.type, sig->at, sig->wrong, sig->large};
    if (ck->applying > 1 || ck->supposing > 1) /* checked further out */
        return;
    Scopes scopes = scopes_now(ck);
    ck->supposing++;
    const char *path = ck->path;
    ck->path = sig->type->param.name ? arena_printf(ck->a, "%s.", sig->type->param.name) : "";
    Module *arg = module_ascribe(ck, NULL, &param, in->at, NULL, NULL);
    ck->path = path;
    Module *made = ck->apply(ck, in->view, arg, in->at);
    ck->supposing--;
    scopes_back(ck, scopes);
    in->view->wrong |= made->wrong;
}

static void instance_parametric(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    ModSig *sig = NEW(ck->a, ModSig);
    *sig = (ModSig){t, closure_now(ck), false, false};
    in->view->sig = sig;
    in->view->inner = in->have;
    in->view->inside = meanings_now(in);
    if (!in->have || is_parametric(in->have)) {
        match_parametric(in);
        return;
    }
    ck_error(ck, in->at, "this module is not parametric, but should be");
    ck_note(ck, t->loc, "by its type here");
    in->view->wrong = true;
}

/* Whether two declared types are one: `include s with t = t` says it of an abstract one. */
static bool same_type(Ck *ck, TypeDecl *a, TypeDecl *b)
{
    if (!same_params(&a->tparams, &b->tparams))
        return false;
    ck_try(ck);
    return ty_unify(ck, type_of_params(ck, a, a), type_of_params(ck, b, a));
}

/* Nothing that follows can name the other one. */
static void hides_type(Loc at, const char *name, const Binding *other)
{
    diag_warn(at, "Inclusion shadows type `%s`, which is specified before", name);
    diag_note(other->loc, "that one is specified here");
}

/* What follows may use what is included. */
static void spec_include(Inst *in, const Spec *s)
{
    Inst inner = *in;
    inner.view = module_new(in->ck, s->loc);
    instantiate(&inner, s->mtype);
    in->view->wrong |= inner.view->wrong;
    for (int i = 0; i < inner.view->members.n; i++) {
        Binding *b = inner.view->members.at[i];
        Binding *other =
            b->kind == BIND_TYPE ? module_member(in->ck, in->view, b->name, SPACE_TYPE) : NULL;
        if (other && !same_type(in->ck, other->tdecl, b->tdecl))
            hides_type(s->loc, b->name, other);
        bind_name(in->ck, b);
        add_member(in, b);
    }
}

/* --- Types of modules ----------------------------------------------------------------------- */

/* Where the name of specification i is specified before in the same list; {0,0}: nowhere. */
static Loc specified_before(const ModType *t, int i)
{
    const Spec *s = t->specs.at[i];
    for (int k = 0; k < i && s->name; k++)
        if (t->specs.at[k]->name == s->name &&
            (t->specs.at[k]->kind == SPEC_TYPE) == (s->kind == SPEC_TYPE))
            return t->specs.at[k]->loc;
    return (Loc){0, 0};
}

/* What is included may be specified again; of types that are abstract there are two then. */
static void warn_of_hidden(Inst *in, const Spec *s)
{
    Binding *b = s->kind == SPEC_TYPE ? module_member(in->ck, in->view, s->name, SPACE_TYPE) : NULL;
    if (b && (!b->tdecl->type || !s->te))
        hides_type(s->loc, s->name, b);
}

static void instance_specs(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    if (in->have && is_parametric(in->have)) {
        ck_error(ck, in->at, "this module is parametric: it has members only when it is applied");
        ck_note(ck, t->loc, "which this type of modules wants");
        in->view->wrong = true;
        return;
    }
    for (int i = 0; i < t->specs.n && ck->specs <= MAX_SPECS; i++) {
        const Spec *s = t->specs.at[i];
        Loc other = specified_before(t, i);
        if (other.beg) {
            ck_error(ck, s->loc, "`%s` is specified twice in this module type", s->name);
            ck_note(ck, other, "the other specification is here");
            in->view->wrong = true;
            continue;
        }
        warn_of_hidden(in, s);
        switch (s->kind) {
        case SPEC_VAL: spec_value(in, s); break;
        case SPEC_TYPE: spec_type(in, s); break;
        case SPEC_MODULE: spec_module(in, s); break;
        case SPEC_INCLUDE: spec_include(in, s); break;
        }
    }
}

static void instance_with(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    bool used = false;
    TypeDecl *d = NEW(ck->a, TypeDecl);
    *d = (TypeDecl){.name = intern("(with)"), .loc = t->name_loc, .lifted = TP_TYPE_LIFTED};
    d->tparams = clone_tparams(ck->a, t->tparams);
    d->te = clone_type(ck->a, t->te);
    Scopes scopes = scopes_now(ck);
    check_type_decl(ck, d);
    note_type(ck, &d->tparams, d->te);
    scopes_back(ck, scopes);
    d->lifted = lifted_of(d->type);
    int fuel = MAX_SPECS;
    const char *abstract = abstract_name(ck, t->e, t->name, &fuel);
    Refine r = {abstract ? abstract : t->name, t->name, d, &used, in->with, 0};
    for (const char *s = t->name; *s; s++)
        r.part += *s == '.';
    in->with = &r;
    instantiate(in, t->e);
    in->with = r.up;
    if (!used && !in->view->wrong) {
        ck_error(ck, t->name_loc, "the module type has no abstract type `%s`", t->name);
        in->view->wrong = true;
    }
}

/* Nothing more is made of the outermost type. */
static void too_large(Inst *in)
{
    in->ck->specs = MAX_SPECS + 1;
    in->ck->large++;
    in->view->wrong = true;
}

/* Whether a type of modules is small enough; if not, that is reported once for the outermost. */
static bool within_limits(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    bool reported = ck->specs > MAX_SPECS;
    if (t->kind == MT_SPECS)
        ck->specs += t->specs.n;
    if (ck->signatures <= MAX_SIGNATURES && ck->specs <= MAX_SPECS)
        return true;
    bool many = ck->specs > MAX_SPECS;
    if (!reported)
        diag_limit(in->at,
                   many ? "more than %d specifications in a type of modules"
                        : "more than %d types of modules inside each other",
                   many ? MAX_SPECS : MAX_SIGNATURES);
    too_large(in);
    return false;
}

static void instance_of(Inst *in, const ModType *t);

static void instantiate(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    if (!ck->signatures)
        ck->specs = 0;
    ck->signatures++;
    if (in->have && in->have->wrong)
        in->view->wrong = true;
    else if (within_limits(in, t))
        instance_of(in, t);
    ck->signatures--;
}

static void instance_of(Inst *in, const ModType *t)
{
    Ck *ck = in->ck;
    switch (t->kind) {
    case MT_NAME: {
        ModSig *sig = find_sig(ck, t->name, t->loc);
        if (!sig) {
            in->view->wrong = true;
            return;
        }
        if (sig->large) {
            too_large(in);
            return;
        }
        const char *path = ck->path;
        Closure back = closure_enter(ck, &sig->at);
        ck->path = path;
        Scopes inner = scopes_now(ck);
        bool quiet = in->quiet;
        in->quiet |= sig->wrong;
        in->view->wrong |= sig->wrong;
        instantiate(in, sig->type);
        in->quiet = quiet;
        scopes_back(ck, inner);
        closure_enter(ck, &back);
        return;
    }
    case MT_SPECS: instance_specs(in, t); return;
    case MT_WITH: instance_with(in, t); return;
    case MT_FUN: instance_parametric(in, t); return;
    }
}

Module *module_ascribe(Ck *ck, Module *m, const ModSig *sig, Loc at, Bindings *seen,
                       const Subst *known)
{
    Bindings own = {0};
    Inst in = {.ck = ck, .have = m, .view = module_new(ck, at), .at = at, .path = ""};
    in.seen = seen ? seen : &own;
    in.argument = seen != NULL;
    in.known = known;
    if (m && m->wrong)
        return m;
    const char *path = ck->path;
    Closure back = closure_enter(ck, &sig->at);
    ck->path = path;
    ck->in_module++;
    instantiate(&in, sig->type);
    ck->in_module--;
    closure_enter(ck, &back);
    return in.view;
}
