/* Modules, as the checker interprets them: structures, parametric modules, types of modules. After
 * the check nothing is left of them but definitions (Ast.defs): names point to these.
 *
 *   modfit.c   whether a member is what is specified
 *   modtype.c  types of modules: instances of them, and modules matched against them
 *   module.c   expressions of modules, declarations, files
 *
 * Each is above the ones before it; whether a parametric module is of a type is seen by its
 * application (ck->apply). */
#ifndef FRONTEND_CHECK_MODULE_H
#define FRONTEND_CHECK_MODULE_H

#include "frontend/check/check.h"

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

/* --- module.c --- */

/* What ck->apply is: the result of a parametric module for an argument; at: the application. */
Module *module_apply(Ck *ck, Module *f, Module *arg, Loc at);
/* The module of a file, which is checked when it is first imported, in whatever module that is. */
Module *file_module(Ck *ck, File *f);
/* Checks the main file from a declaration on: there is a module of those before. */
void file_module_from(Ck *ck, File *f, int first);

#endif
