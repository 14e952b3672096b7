/* Expressions in the middle of C text. */
#ifndef EXP_EXP_C_H
#define EXP_EXP_C_H

#include "exp/exp.h"

/* How tightly operators bind; what binds less stands in parentheses, bits and shifts always. */
typedef enum {
    P_SELECT,
    P_LOR,
    P_LAND,
    P_BITS,
    P_COMPARE,
    P_SUM,
    P_PRODUCT,
    P_UNARY,
    P_PRIMARY
} PLevel;

void exp_c(Out *o, const KExp *x, PLevel level); /* in parentheses if it binds less */
void exp_c_type(Out *o, KType t);
const char *exp_c_sign(const KExp *x);       /* the operator it is: " + "; NULL: a function */
const KExp *exp_without_cast(const KExp *x); /* an assignment converts as a cast does */

#endif
