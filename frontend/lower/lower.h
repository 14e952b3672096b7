/* From the checked syntax tree to the IR (SOAC dialect). */
#ifndef FRONTEND_LOWER_LOWER_H
#define FRONTEND_LOWER_LOWER_H

#include "frontend/frontend.h"
#include "ir/ir.h"

/* Lowers each entry point of a program that passed fe_check: functions are inlined, function values
 * applied at compile time, arrays of tuples become tuples of arrays. The result is well-formed
 * (ir_verify) in the SOAC dialect. What is not supported is reported (diag_limit); then NULL. */
Prog *fe_lower(Ctx *cx, const Ast *ast);

/* Which values of the top level are at hand: asked once an entry for each that it needs, without
 * type and size parameters. Those that are become further parameters of the entry, in the order of
 * asking. */
typedef struct {
    bool (*has)(void *env, const Def *def);
    void *env;
} FeGiven;
Prog *fe_lower_given(Ctx *cx, const Ast *ast, const FeGiven *given);

/* Reports what of a program that passed fe_check is not supported, on whichever target, where
 * recursion may be the reason: fe_lower of a program with functions that call themselves, and of
 * these by themselves. The tree has more entry points afterwards. */
void fe_limits(Ast *ast);

#endif
