/* The checker, shared by its files. Phases of one definition, in this order:
 *   check_def.c   patterns, parameters, result, generalisation
 *   check_exp.c   expressions: names, types and sizes by inference (unify.c)
 *   check_sum.c   constructors, match
 *   zonk.c        inference variables are replaced by what they stand for; literals get scalars
 *   causality.c   sizes are known before they are used
 *   exhaust.c     patterns cover all values
 *   consume.c     aliases and consumption, on the finished types
 *
 * Levels: each function body is checked one level deeper than what surrounds it; an inference
 * variable carries the level of the outermost body that mentions it. When a body is finished, the
 * variables of its level belong to nobody else and become type parameters. */
#ifndef FRONTEND_CHECK_CHECK_H
#define FRONTEND_CHECK_CHECK_H

#include "frontend/check/fe_check.h"
#include "frontend/names/names.h"

/* --- check_type.c --------------------------------------------------------------------------- */

AType *check_type(Ck *ck, TypeExp *te, TypePlace at);
void check_type_decl(Ck *ck, TypeDecl *d);
/* What it has to be declared by. */
TParamKind lifted_of(const AType *t);
/* Makes the declared type known. */
void bind_type(Ck *ck, TypeDecl *d);
/* What the abstract type t, which stands for something, stands for. */
AType *ty_meaning(Ck *ck, const AType *t);
/* The type with what its abstract types stand for (s); anonymous sizes of that become what they
 * would be if it were written at such a place. `sizes` receives size parameters; NULL: they stay
 * open. */
AType *ty_reveal(Ck *ck, AType *t, const Subst *s, TypePlace at, Bindings *sizes);

/* --- check_def.c ---------------------------------------------------------------------------- */

AType *check_pat(Ck *ck, Pat *p, TypePlace at);
/* Whether a type is written in it. */
bool pat_says_type(const Pat *p);
void check_def(Ck *ck, Def *d);
/* Reports that nobody could apply a function that the definition returns, of type `result` or in
 * it, since it takes an array of a size that only the definition knows: made up since first_id. */
void check_applicable(Ck *ck, const Def *d, const AType *result, int first_id);
/* Whether no name is bound twice, by the patterns or by one and the sizes beside them; reports
 * those that are. */
bool check_distinct(Ck *ck, const Bindings *beside, const Pats *ps);
/* Reports sizes of `let [n] ...` or `loop [n] ...` that are not those of an array in the pattern.
 */
void check_names_used(Ck *ck, const Bindings *sizes, const AType *pattern);
/* Binds type and size parameters; `out` receives them. */
void check_tparams(Ck *ck, TParams *tps, Bindings *out);
TypeClass class_of_lifted(TParamKind k);

/* --- check_exp.c, check_app.c --------------------------------------------------------------- */

AType *check_exp(Ck *ck, AExp *e);
/* As check_exp for an expression whose type is expected to be `want`: lambdas take the types of
 * their parameters from it. Does not require it. */
AType *check_against(Ck *ck, AExp *e, AType *want);
/* Requires type `want` of e, of the part of the program that `what` names ("condition"). */
bool check_is(Ck *ck, AExp *e, AType *want, const char *what);
bool require(Ck *ck, AExp *at, AType *want, AType *have, const char *what);
/* Of what has no value: warns of attributes that mean nothing, refuses those of values. */
void check_attrs(Ck *ck, const Attrs *as);
/* The type of an application. A function that is left where another type is wanted is reported: an
 * argument is missing. */
AType *check_app(Ck *ck, AExp *e, const AType *want);
AType *check_opsect(Ck *ck, AExp *e);
/* Reports a size in the declared result te, of type t, that a function has made known since
 * first_uid, but not as one of `names`. */
void check_result_visible(Ck *ck, const TypeExp *te, const AType *t, const Bindings *names,
                          int first_uid);
/* The variable that a parameter is as a whole, if it is one that the sizes in `later` may mention:
 * any i64, others if they do. `later` may be NULL: then any. */
Binding *size_param(const Pat *p, const AType *later);
/* Reports that `what` of type t is, or has in it, a function: functions are chosen when the program
 * is compiled, so no control flow may yield one. */
bool value_only(Ck *ck, AType *t, Loc loc, const char *what);
AType *check_loop(Ck *ck, AExp *e, AType *want);

/* --- check_sum.c ---------------------------------------------------------------------------- */

AType *check_constr(Ck *ck, AExp *e, AType *want);
AType *check_match(Ck *ck, AExp *e, AType *want);
/* --- zonk.c, causality.c, exhaust.c, consume.c, warn.c --- */

/* Gives the remaining variables their defaults, then finishes the types of all nodes. */
void zonk_def(Ck *ck, Def *d);
/* Replaces abstract types by what they stand for, in all nodes of a definition. */
void reveal_def(Ck *ck, Def *d);
/* Reports sizes made up in the definition (from id `first_id` on) that are used too early, or never
 * decided. */
void causality_def(Ck *ck, Def *d, int first_id);
void consume_def(Ck *ck, Def *d);
/* warn.c: warns of comparisons of arrays, of loops that cannot be unrolled as they should, and of
 * checks that remain where they should not. */
void warn_def(Ck *ck, const Def *d);
/* exhaust.c: reports patterns that do not match all values, together those of a match; warns of
 * cases that are never reached. */
void exhaust_def(Ck *ck, const Def *d);

#endif
