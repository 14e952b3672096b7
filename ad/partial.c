/* Partial derivatives of scalar operations: formulas from the last column of ir/prims.def, put into
 * statements. With r = x / y:
 *
 *     DIV  "1 y div ; r y div neg"  -->  let dx = div.f64 1.0f64 y
 *                                        let q = div.f64 r y
 *                                        let dy = neg.f64 q
 *
 * Formulas are read once, when one is first needed. Operations on constants, and with what is
 * neutral to them, become no statements: the derivative of x ** 2 is one multiplication. */
#include "ad/ad_int.h"

#include "ir/scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Formulas ------------------------------------------------------------------------------- */

enum { MAX_STEPS = 16, MAX_STACK = 8, MAX_OPERANDS = 3 };

typedef enum { STEP_OPERAND, STEP_RESULT, STEP_NUMBER, STEP_OP, STEP_NUM, STEP_DIGAMMA } StepKind;
typedef struct {
    StepKind kind;
    int which; /* operand, or operation */
    double number;
} Step;
typedef struct {
    Step at[MAX_STEPS];
    int n; /* 0: the derivative is zero */
} Formula;

static const struct {
    const char *word;
    Step step;
} words[] = {
    {"x", {STEP_OPERAND, 0, 0}},        {"y", {STEP_OPERAND, 1, 0}},
    {"z", {STEP_OPERAND, 2, 0}},        {"r", {STEP_RESULT, 0, 0}},
    {"num", {STEP_NUM, 0, 0}},          {"digamma", {STEP_DIGAMMA, 0, 0}},
    {"pi", {STEP_NUMBER, 0, M_PI}},     {"ln2", {STEP_NUMBER, 0, M_LN2}},
    {"ln10", {STEP_NUMBER, 0, M_LN10}}, {"2/sqrtpi", {STEP_NUMBER, 0, M_2_SQRTPI}},
};

static bool is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && !strncmp(s, word, n);
}

static Step step_read(PrimOp of, const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(s, n, words[i].word))
            return words[i].step;
    for (int op = 0; op < N_PRIM_OPS; op++)
        if (is_word(s, n, prim_info[op].text))
            return (Step){STEP_OP, op, 0};
    char *end;
    double number = strtod(s, &end);
    if (end != s + n)
        ice(NO_LOC, "prims.def: what is %.*s of %s?", (int)n, s, prim_info[of].text);
    return (Step){STEP_NUMBER, 0, number};
}

static void formulas_read(PrimOp op, Formula *of)
{
    int i = 0;
    for (const char *s = prim_info[op].partials + strspn(prim_info[op].partials, " "); *s;) {
        size_t n = strcspn(s, " ");
        if (is_word(s, n, ";"))
            i++;
        else
            of[i].at[of[i].n++] = step_read(op, s, n);
        ASSERT(i < prim_info[op].arity && of[i].n < MAX_STEPS);
        s += n + strspn(s + n, " ");
    }
}

static const Formula *formula_of(PrimOp op, int i)
{
    static Formula table[N_PRIM_OPS][MAX_OPERANDS];
    static bool is_read;
    for (int k = 0; k < N_PRIM_OPS && !is_read; k++)
        formulas_read((PrimOp)k, table[k]);
    is_read = true;
    return &table[op][i];
}

/* --- Statements ----------------------------------------------------------------------------- */

/* The calculator: where statements go, and the type of numbers. */
typedef struct {
    Bld *bl;
    Loc loc;
    PrimType type;
} Calc;

static Atom number(const Calc *C, double x)
{
    return atom_float(C->type, x);
}

static bool is_number(Atom a, double x)
{
    return !a.var && prim_is_float(a.c.type) && a.c.f == x;
}

/* What the operation gives without a statement; false: it needs one. */
static bool fold(PrimOp op, const Atom *args, Atom *out)
{
    Val v[MAX_OPERANDS] = {0}, d = {0};
    PrimType t = atom_type(args[0]).elem;
    bool known = true;
    for (int i = 0; i < prim_info[op].arity; i++) {
        known = known && !args[i].var;
        v[i] = args[i].var ? v[i] : scalar_const(args[i].c);
    }
    if (known) {
        scalar_fn(op, t)(&d, &v[0], &v[1], &v[2]);
        *out = const_atom(prim_result(op, t), d);
    } else if ((op == OP_ADD && is_number(args[0], 0)) || (op == OP_MUL && is_number(args[0], 1))) {
        *out = args[1];
    } else if (((op == OP_ADD || op == OP_SUB) && is_number(args[1], 0)) ||
               ((op == OP_MUL || op == OP_DIV || op == OP_POW) && is_number(args[1], 1))) {
        *out = args[0];
    } else if (op == OP_POW && is_number(args[1], 0)) {
        *out = atom_float(t, 1);
    } else {
        return false;
    }
    return true;
}

static Atom apply(const Calc *C, PrimOp op, const Atom *args)
{
    Atom folded;
    if (fold(op, args, &folded))
        return folded;
    Exp *e = exp_new(C->bl->cx, E_PRIM, C->loc);
    e->prim.op = op;
    e->prim.type = atom_type(args[0]).elem;
    for (int i = 0; i < prim_info[op].arity; i++)
        vec_push(C->bl->cx->perm, &e->prim.args, args[i]);
    return bld_exp(C->bl, prim_info[op].text, e);
}

static Atom binop(const Calc *C, PrimOp op, Atom a, Atom b)
{
    return apply(C, op, (Atom[]){a, b});
}

/* 1 for true, 0 for false. */
static Atom truth(const Calc *C, Atom a)
{
    return a.var ? bld_exp(C->bl, "num", exp_conv(C->bl->cx, C->loc, C->type, a))
                 : const_conv(C->type, a.c);
}

/* The rest of the asymptotic series log w - 1/2w - ..: the sum of B_2k / (2k w^2k). */
static Atom digamma_tail(const Calc *C, Atom w)
{
    static const double coeffs[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                    1.0 / 132, -691.0 / 32760, 1.0 / 12};
    Atom q = binop(C, OP_DIV, number(C, 1), binop(C, OP_MUL, w, w)), sum = number(C, 0);
    for (int k = (int)(sizeof coeffs / sizeof *coeffs) - 1; k >= 0; k--)
        sum = binop(C, OP_MUL, q, binop(C, OP_ADD, number(C, coeffs[k]), sum));
    return sum;
}

/* Of negative x it is that of 1 - x less pi / tan(pi x), of positive z that of z + 8, for which the
 * series is exact to the last places, less 1/z + .. + 1/(z + 7). Branches would cost more than what
 * they spare: a number is chosen by a factor that is 0 or 1. */
static Atom digamma(const Calc *C, Atom x)
{
    enum { SHIFT = 8 };
    Atom one = number(C, 1), is_neg = truth(C, binop(C, OP_LT, x, number(C, 0)));
    Atom flip = binop(C, OP_SUB, binop(C, OP_SUB, one, x), x);
    Atom z = binop(C, OP_ADD, binop(C, OP_MUL, flip, is_neg), x);
    Atom w = binop(C, OP_ADD, z, number(C, SHIFT));
    Atom sum = binop(C, OP_SUB, apply(C, OP_LOG, &w), binop(C, OP_DIV, number(C, 0.5), w));
    sum = binop(C, OP_SUB, sum, digamma_tail(C, w));
    for (int k = 0; k < SHIFT; k++)
        sum = binop(C, OP_SUB, sum, binop(C, OP_DIV, one, binop(C, OP_ADD, z, number(C, k))));
    /* Where x is positive the tangent becomes 1, as its own could be 0. */
    Atom at = binop(C, OP_MUL, is_neg, x), tangent = apply(C, OP_TANPI, &at);
    tangent = binop(C, OP_ADD, tangent, binop(C, OP_SUB, one, is_neg));
    Atom mirrored = binop(C, OP_DIV, binop(C, OP_MUL, is_neg, number(C, M_PI)), tangent);
    return binop(C, OP_SUB, sum, mirrored);
}

/* --- Partial derivatives -------------------------------------------------------------------- */

bool ad_has_partial(const Exp *e, int i)
{
    return prim_is_float(e->prim.type) && e->prim.args.at[i].var &&
           formula_of(e->prim.op, i)->n > 0;
}

/* The operands of an operation are on top of the stack, whose height becomes that without them. */
static Atom step_value(const Calc *C, const Step *step, const Exp *e, Atom res, Atom *stack, int *n)
{
    switch (step->kind) {
    case STEP_OPERAND: return e->prim.args.at[step->which];
    case STEP_RESULT: return res;
    case STEP_NUMBER: return number(C, step->number);
    case STEP_OP:
        *n -= prim_info[step->which].arity;
        ASSERT(*n >= 0);
        return apply(C, (PrimOp)step->which, stack + *n);
    case STEP_NUM: ASSERT(*n > 0); return truth(C, stack[--*n]);
    case STEP_DIGAMMA: ASSERT(*n > 0); return digamma(C, stack[--*n]);
    }
    ice(C->loc, "no step");
}

Atom ad_partial(Bld *bl, Loc loc, const Exp *e, Atom res, int i)
{
    if (!ad_has_partial(e, i))
        return atom_zero(e->prim.type);
    Calc C = {bl, loc, e->prim.type};
    const Formula *f = formula_of(e->prim.op, i);
    Atom stack[MAX_STACK];
    int n = 0;
    for (int k = 0; k < f->n; k++) {
        Atom a = step_value(&C, &f->at[k], e, res, stack, &n);
        ASSERT(n < MAX_STACK);
        stack[n++] = a;
    }
    ASSERT(n == 1);
    return stack[0];
}

void ad_partials(Bld *bl, Loc loc, const Exp *e, Atom res, Atom *out)
{
    for (int i = 0; i < e->prim.args.n; i++)
        out[i] = ad_partial(bl, loc, e, res, i);
}
