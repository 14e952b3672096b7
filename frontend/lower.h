/* From the checked syntax tree to the IR (SOAC dialect).
 *
 * The tree and the IR both have types, expressions, indices and loops, under the same short names.
 * This header includes both: the tree's become AType, AExp, AE_IF, ... Whoever needs both sides
 * (lowering, the driver) includes this header, and ast.h or frontend.h only through it. */
#ifndef FRONTEND_LOWER_H
#define FRONTEND_LOWER_H

#ifdef FRONTEND_AST_H
#error "include frontend/lower.h before (and instead of) frontend/frontend.h and frontend/ast.h"
#endif

#define Type       AType
#define Types      ATypes
#define Exp        AExp
#define ExpKind    AExpKind
#define DimIndex   ADimIndex
#define LoopKind   ALoopKind
#define LOOP_FOR   ALOOP_FOR
#define LOOP_IN    ALOOP_IN
#define LOOP_WHILE ALOOP_WHILE
#define E_INDEX    AE_INDEX
#define E_UPDATE   AE_UPDATE
#define E_IF       AE_IF
#define E_LOOP     AE_LOOP
#define E_ASSERT   AE_ASSERT
#include "frontend/frontend.h"
#undef Type
#undef Types
#undef Exp
#undef ExpKind
#undef DimIndex
#undef LoopKind
#undef LOOP_FOR
#undef LOOP_IN
#undef LOOP_WHILE
#undef E_INDEX
#undef E_UPDATE
#undef E_IF
#undef E_LOOP
#undef E_ASSERT

#include "ir/ir.h"

/* Lowers each entry point of a program that passed fe_check: functions are inlined, function values
 * applied at compile time, arrays of tuples become tuples of arrays. The result is well-formed
 * (ir_verify) in the SOAC dialect. What is not supported is reported (diag_limit); then NULL. */
Prog *fe_lower(Ctx *cx, const Ast *ast);

#endif
