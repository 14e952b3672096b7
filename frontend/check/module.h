/* Modules, as the checker interprets them: structures, parametric modules, types of modules. After
 * the check nothing is left of them but definitions (Ast.defs): names point to these.
 *
 *   module.c   expressions of modules: structures, application, ascription
 *   modtype.c  types of modules: instances of them, and modules matched against them,
 *   modfit.c   member by member
 */
#ifndef FRONTEND_CHECK_MODULE_H
#define FRONTEND_CHECK_MODULE_H

#include "frontend/check/check.h"

/* What was known where something was written that is looked at later. */
typedef struct {
    Scopes scopes;
    File *file;
    int horizon; /* definitions at top level from here on came later */
    const char *path;
} Closure;

/* A type of modules and where it was written. */
typedef struct ModSig {
    const ModType *type;
    Closure at;
    bool wrong; /* errors in its declaration were reported */
    bool large; /* it is beyond the limits, which was: it is not looked into again */
} ModSig;

struct Module {
    Loc loc;     /* where it was made */
    bool wrong;  /* errors in it were reported: a name that is missing may be due to them */
    bool scalar; /* a scalar's module: its members are those of builtins.def, `of` */
    PrimType of;
    bool intrinsics;  /* its members are the names that are provided without a module */
    Bindings members; /* in order; a later one hides earlier ones of its name and space */
    /* A parametric module: what it makes of an argument. */
    const ModExp *lambda; /* ME_LAMBDA, written at `at`; or, */
    Closure at;
    const ModSig *sig; /* seen as of this type (MT_FUN): */
    Module *inner;     /* what it is; NULL: any of that type */
    Subst known;       /* abstract types in it and in what it makes: what they stand for */
    Subst inside;      /* abstract types of the module around, which `sig` mentions: what they
                          stand for in `inner` */
};

static inline bool is_parametric(const Module *m)
{
    return m->lambda || m->sig;
}

/* --- module.c --- */

Module *module_new(Ck *ck, Loc loc);
/* The module of a scalar type. */
Module *scalar_module(Ck *ck, PrimType s);
/* The type of that name that every program has, or NULL. */
Binding *scalar_type(Ck *ck, const char *name);
/* The module by which the operators that are provided can be named where others hide them. */
Module *intrinsics_module(Ck *ck);
/* The member of that name, or NULL. */
Binding *module_member(Ck *ck, Module *m, const char *name, Space space);
/* Calls fn for each member that is not hidden, in order. */
void module_each(Ck *ck, Module *m, void (*fn)(void *env, Binding *b), void *env);
void check_module_decl(Ck *ck, Decl *d);
void check_open(Ck *ck, Decl *d);
/* The result of a parametric module for an argument; at: the application. */
Module *module_apply(Ck *ck, Module *f, Module *arg, Loc at);
Closure closure_now(const Ck *ck);
/* Goes to where the closure was made; the result is where it was, to go back by. */
Closure closure_enter(Ck *ck, const Closure *c);

/* --- modtype.c --- */

/* The module m seen as of a type: it has what the type says and no more, its types are abstract
 * where the type says no more of them. m NULL: any module of that type. What is wrong with m is
 * reported at `at`. `seen`, unless NULL, receives the abstract types made, and values that may be
 * sizes. known, unless NULL: what abstract types that the module type mentions stand for. */
Module *module_ascribe(Ck *ck, Module *m, const ModSig *sig, Loc at, Bindings *seen,
                       const Subst *known);
/* The substitution that takes what is seen for what it stands for. */
Subst meanings(Ck *ck, const Bindings *seen);
void add_meanings(Ck *ck, Subst *s, const Subst *more);

/* --- modfit.c --- */

/* Why a value of type `have` is not one of the type `want` that is specified ("": the types say
 * it), or NULL: only what callers see must agree. Sizes that a function makes up may be less than
 * any, parameters may be consumed less, results shared less. */
const char *value_misfit(Ck *ck, AType *want, AType *have);
/* An anonymous size of a parameter in the type of a value, which has to have a name in a
 * specification; or NULL. */
const TypeExp *anonymous_in_param(const TypeExp *te);
/* Whether a type with these parameters may be one that is specified to have the others: it takes
 * all that those take. */
bool params_fit(const TParams *spec, const TParams *have);
/* What has to be said of the type that d stands for; of a parameter's, of which nothing is known,
 * anything will do. */
TParamKind type_lifted_in_fact(const TypeDecl *d);
/* What a specified type is by `with`: no more than it is specified to be, if that can be said of
 * it. */
TypeDecl *type_refined(Ck *ck, const TypeDecl *with, TParamKind said);

/* --- check.c --- */

void check_decls(Ck *ck, Decls *ds);
/* Where the declaration gives something of that space the name; {0, 0}: it does not. */
Loc declared_at(const Decl *d, const char *name, Space space);
/* The module of a file. */
Module *file_module(Ck *ck, File *f);

#endif
