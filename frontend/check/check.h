/* The checker of expressions and definitions, shared by its files.
 *
 * Phases of one definition, in this order (check_top.c):
 *   check_def.c   parameters, result, generalisation
 *   check_exp.c   expressions: names, types and sizes by inference (types/unify.c)
 *   zonk.c        inference variables are replaced by what they stand for; literals get scalars
 *   causality.c   sizes are known before they are used
 *   exhaust.c     patterns cover all values
 *   consume/      aliases and consumption, on the finished types
 *   warn.c        warnings
 *
 * Of the rules each file is above the ones before it: require.c, check_attr.c, check_type.c,
 * check_pat.c, check_def.c, those of forms (check_app.c, check_loop.c, check_sum.c), check_exp.c.
 * All of them type expressions that are parts of what they check: that is the one way up, and goes
 * by check_against. */
#ifndef FRONTEND_CHECK_CHECK_H
#define FRONTEND_CHECK_CHECK_H

#include "frontend/check/fe_check.h"
#include "frontend/names/names.h"

/* --- Parts ---------------------------------------------------------------------------------- */

/* Types the expression (infer_exp), whose type is expected to be `want`, or NULL: lambdas take the
 * types of their parameters from it. Does not require it. */
static inline AType *check_against(Ck *ck, AExp *e, AType *want)
{
    return ck->exp(ck, e, want);
}
static inline AType *check_exp(Ck *ck, AExp *e)
{
    return check_against(ck, e, NULL);
}

/* --- require.c ------------------------------------------------------------------------------ */

/* Requires type `want` of e, of the part of the program that `what` names ("condition"). */
bool check_is(Ck *ck, AExp *e, AType *want, const char *what);
bool require(Ck *ck, AExp *at, AType *want, AType *have, const char *what);
/* The two halves of `require`, for whom the words of `what` are dear: makes the types one; and
 * says, right behind that, why they are not, which gives false. */
bool agree(Ck *ck, AType *want, AType *have);
bool disagree(Ck *ck, AExp *at, AType *want, AType *have, const char *what);
/* Reports that `what` of type t is, or has in it, a function: functions are chosen when the program
 * is compiled, so no control flow may yield one. */
bool value_only(Ck *ck, AType *t, Loc loc, const char *what);

/* --- check_attr.c --------------------------------------------------------------------------- */

void check_attr(Ck *ck, const Attr *a);
/* Of what has no value: warns of attributes that mean nothing, refuses those of values. */
void check_attrs(Ck *ck, const Attrs *as);

/* What an attribute stands before. */
typedef enum {
    BEFORE_EXP = 1,
    BEFORE_LOOP = 2, /* an expression with a loop in it, or in a function that it applies */
    BEFORE_SOAC = 4, /* ... with a function of arrays in it, like map, that may become a loop */
    BEFORE_DEF = 8,
    BEFORE_RECURSION = 16, /* the definition of a function that calls itself */
    BEFORE_PAT = 32,
} AttrPlace;

/* What any of them belongs before: AttrPlaces. */
unsigned attrs_before(const Attrs *as);
/* Warns of attributes that are ignored before what they stand before: `places`, AttrPlaces. */
void warn_attrs(const Attrs *as, unsigned places);

/* --- check_type.c --------------------------------------------------------------------------- */

/* Where a type stands decides what an anonymous size `[]` in it means. */
typedef enum {
    AT_PARAM,   /* any size: a size parameter of the function */
    AT_RESULT,  /* a size that the function makes up */
    AT_UNKNOWN, /* a size that nothing is known of */
    AT_FREE,    /* the size of the value at hand */
} TypePlace;

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
/* Binds type and size parameters; `out` receives them. */
void check_tparams(Ck *ck, TParams *tps, Bindings *out);
TypeClass class_of_lifted(TParamKind k);

/* --- check_pat.c ---------------------------------------------------------------------------- */

AType *check_pat(Ck *ck, Pat *p, TypePlace at);
/* Whether a type is written in it. */
bool pat_says_type(const Pat *p);
/* Whether no name is bound twice, by the patterns or by one and the sizes beside them; reports
 * those that are. */
bool check_distinct(Ck *ck, const Bindings *beside, const Pats *ps);
/* Reports sizes of `let [n] ...` or `loop [n] ...` that are not those of an array in the pattern.
 */
void check_names_used(Ck *ck, const Bindings *sizes, const AType *pattern);
/* The variable that a parameter is as a whole, if it is one that the sizes in `later` may mention:
 * any i64, others if they do. `later` may be NULL: then any. */
Binding *size_param(const Pat *p, const AType *later);

/* --- check_def.c ---------------------------------------------------------------------------- */

void check_def(Ck *ck, Def *d);
/* The function of that name below the definition at work, if it calls that one in turn and its type
 * is written (else this is reported, at loc, and its type an error); NULL if there is none. */
Binding *find_below(Ck *ck, const char *name, Loc loc);
/* Reports that nobody could apply a function that the definition returns, of type `result` or in
 * it, since it takes an array of a size that only the definition knows: made up since first_id. */
void check_applicable(Ck *ck, const Def *d, const AType *result, int first_id);
/* Reports a size in the declared result te, of type t, that a function has made known since
 * first_uid, but not as one of `names`. */
void check_result_visible(Ck *ck, const TypeExp *te, const AType *t, const Bindings *names,
                          int first_uid);

/* --- check_app.c, check_loop.c, check_sum.c ------------------------------------------------- */

/* The type of an application. A function that is left where another type is wanted is reported: an
 * argument is missing. */
AType *check_app(Ck *ck, AExp *e, const AType *want);
AType *check_opsect(Ck *ck, AExp *e);
AType *check_loop(Ck *ck, AExp *e, AType *want);
AType *check_constr(Ck *ck, AExp *e, AType *want);
AType *check_match(Ck *ck, AExp *e, AType *want);

/* --- check_exp.c ---------------------------------------------------------------------------- */

/* What ck->exp is. */
AType *infer_exp(Ck *ck, AExp *e, AType *want);

/* --- hole.c --------------------------------------------------------------------------------- */

/* Warns of the hole, whose type is finished: what is wanted, and names that have or return it. */
void tell_hole(Ck *ck, const AExp *e);

/* --- zonk.c, causality.c, exhaust.c, warn.c ------------------------------------------------- */

/* Gives the remaining variables their defaults, then finishes the types of all nodes. */
void zonk_def(Ck *ck, Def *d);
/* Replaces abstract types by what they stand for, in all nodes of a definition. */
void reveal_def(Ck *ck, Def *d);
/* Reports sizes made up in the definition (from id `first_id` on) that are used too early, or never
 * decided. */
void causality_def(Ck *ck, Def *d, int first_id);
/* warn.c: warns of comparisons of arrays, of attributes that are ignored where they are, of loops
 * that cannot be unrolled as they should, and of checks that remain where they should not. */
void warn_def(Ck *ck, const Def *d);
/* exhaust.c: reports patterns that do not match all values, together those of a match; warns of
 * cases that are never reached. */
void exhaust_def(Ck *ck, const Def *d);

/* --- check_top.c ---------------------------------------------------------------------------- */

/* A definition at top level, through all phases. */
void check_top(Ck *ck, Def *d);
/* The entry points of the main file. */
void check_entries(Ck *ck);

#endif
