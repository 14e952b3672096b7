/* Rules for scalar operations and conversions. Floats are never reassociated: a rule on floats
 * gives the same bits, signed zeros and NaNs included. Constants are folded with the interpreter's
 * own functions. */
#include "ir/passes/simplify.h"
#include "ir/scalar.h"
#include "prove/poly.h"

#include <math.h>

/* --- Constants ------------------------------------------------------------------------------ */

/* Does e look at, or make, the bits of a NaN? Constants do not keep them. */
static bool nan_bits(const Exp *e, Val arg, Val res)
{
    if (e->prim.op != OP_TO_BITS && e->prim.op != OP_FROM_BITS)
        return false;
    bool to = e->prim.op == OP_TO_BITS;
    PrimType t = to ? e->prim.type : prim_result(OP_FROM_BITS, e->prim.type);
    return isnan(const_atom(t, to ? arg : res).c.f);
}

static Exp *fold_prim(Simp *S, const Exp *e)
{
    Val v[3] = {{0}}, r = {0};
    for (int i = 0; i < e->prim.args.n; i++) {
        if (e->prim.args.at[i].var)
            return NULL;
        v[i] = scalar_const(e->prim.args.at[i].c);
    }
    ScalarFn *fn = scalar_fn(e->prim.op, e->prim.type);
    if (!fn || exp_traps(e))
        return NULL;
    fn(&r, &v[0], &v[1], &v[2]);
    if (nan_bits(e, v[0], r))
        return NULL;
    return exp_atom(S->cx, e->loc, const_atom(prim_result(e->prim.op, e->prim.type), r));
}

static Exp *fold_conv(Simp *S, const Exp *e)
{
    if (e->conv.from == e->conv.to)
        return exp_atom(S->cx, e->loc, e->conv.arg);
    if (e->conv.arg.var)
        return NULL;
    return exp_atom(S->cx, e->loc, const_conv(e->conv.to, e->conv.arg.c));
}

/* conv b c (conv a b x) = conv a c x, if it cuts or fills up x with the same bits. a is filled up
 * with copies of its sign only on the way from a signed to a signed type. */
static Exp *conv_conv(Simp *S, const Exp *e)
{
    const Exp *in = simp_def(S, e->conv.arg);
    if (!in || in->kind != E_CONV)
        return NULL;
    PrimType a = in->conv.from, b = in->conv.to, c = e->conv.to;
    if (!prim_is_int(a) || !prim_is_int(b) || !prim_is_int(c))
        return NULL;
    int na = prim_type_bytes[a], nb = prim_type_bytes[b], nc = prim_type_bytes[c];
    bool cut = nc <= na && nc <= nb;
    bool filled = na < nb && (!prim_is_signed(a) || prim_is_signed(b) == prim_is_signed(c));
    bool recast = na == nb && (prim_is_signed(a) == prim_is_signed(b) || !prim_is_signed(c));
    if (!cut && !filled && !recast)
        return NULL;
    Exp *r = exp_conv(S->cx, e->loc, c, in->conv.arg);
    r->conv.from = a;
    return r;
}

/* --- Identities ----------------------------------------------------------------------------- */

static bool is_const(Atom a, double f)
{
    if (a.var || a.c.type == T_BOOL)
        return false;
    if (prim_is_float(a.c.type))
        return atom_eq(a, atom_float(a.c.type, f));
    return a.c.i == (int64_t)f;
}

/* x op k = x for the constant k on the right. */
static bool right_unit(PrimOp op, Atom k, bool is_float)
{
    switch (op) {
    case OP_ADD: return is_const(k, is_float ? -0.0 : 0);
    case OP_SUB: return is_const(k, 0);
    case OP_MUL:
    case OP_DIV: return is_const(k, 1);
    case OP_QUOT:
    case OP_POW: return !is_float && is_const(k, 1);
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR: return is_const(k, 0);
    case OP_AND: return is_const(k, -1) || (!k.var && atom_eq(k, atom_int(k.c.type, -1)));
    case OP_LAND: return atom_eq(k, atom_bool(true));
    case OP_LOR: return atom_eq(k, atom_bool(false));
    default: return false;
    }
}

/* x op k = k. */
static bool right_zero(PrimOp op, Atom k, bool is_float)
{
    if (op == OP_LAND)
        return atom_eq(k, atom_bool(false));
    if (op == OP_LOR)
        return atom_eq(k, atom_bool(true));
    return !is_float && (op == OP_MUL || op == OP_AND) && is_const(k, 0);
}

bool simp_commutes(PrimOp op, PrimType t)
{
    switch (op) {
    case OP_ADD:
    case OP_MUL:
    case OP_EQ:
    case OP_NE: return true;
    case OP_MIN: /* of floats: min(-0, 0) may be either */
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_LAND:
    case OP_LOR:
    case OP_MULHI: return !prim_is_float(t);
    default: return false;
    }
}

static Exp *units(Simp *S, const Exp *e)
{
    if (e->prim.args.n != 2)
        return NULL;
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    PrimOp op = e->prim.op;
    bool fl = prim_is_float(e->prim.type);
    if (right_unit(op, y, fl))
        return exp_atom(S->cx, e->loc, x);
    if (right_zero(op, y, fl))
        return exp_atom(S->cx, e->loc, y);
    if (simp_commutes(op, e->prim.type) && right_unit(op, x, fl))
        return exp_atom(S->cx, e->loc, y);
    if (simp_commutes(op, e->prim.type) && right_zero(op, x, fl))
        return exp_atom(S->cx, e->loc, x);
    /* x mod 1 = x rem 1 = 0 */
    if (!fl && (op == OP_MOD || op == OP_REM) && is_const(y, 1))
        return exp_atom(S->cx, e->loc, atom_int(e->prim.type, 0));
    /* Constants to the right, so that equal things look equal. */
    if (!fl && simp_commutes(op, e->prim.type) && !x.var && y.var)
        return exp_binop(S->cx, e->loc, op, y, x);
    return NULL;
}

/* Both operands the same variable. Comparisons of a NaN with itself are not what they seem. */
static Exp *same_operands(Simp *S, const Exp *e)
{
    if (e->prim.args.n != 2 || !atom_eq(e->prim.args.at[0], e->prim.args.at[1]))
        return NULL;
    Atom x = e->prim.args.at[0];
    bool fl = prim_is_float(e->prim.type);
    switch (e->prim.op) {
    case OP_SUB:
    case OP_XOR: return fl ? NULL : exp_atom(S->cx, e->loc, atom_int(e->prim.type, 0));
    case OP_AND:
    case OP_OR:
    case OP_LAND:
    case OP_LOR:
    case OP_MIN:
    case OP_MAX: return exp_atom(S->cx, e->loc, x);
    case OP_EQ:
    case OP_LE: return fl ? NULL : exp_atom(S->cx, e->loc, atom_bool(true));
    case OP_NE: return fl ? NULL : exp_atom(S->cx, e->loc, atom_bool(false));
    case OP_LT: return exp_atom(S->cx, e->loc, atom_bool(false));
    default: return NULL;
    }
}

/* The operation that op undoes; N_PRIM_OPS if there is none. */
static PrimOp inverse(PrimOp op)
{
    switch ((int)op) {
    case OP_NEG:
    case OP_NOT:
    case OP_COMPL: return op;
    case OP_TO_BITS: return OP_FROM_BITS;
    case OP_FROM_BITS: return OP_TO_BITS;
    }
    return N_PRIM_OPS;
}

/* An operation on what its inverse made. */
static Exp *twice(Simp *S, const Exp *e)
{
    PrimOp op = e->prim.op;
    const Exp *in = simp_def(S, e->prim.args.at[0]);
    if (inverse(op) == N_PRIM_OPS || !in || in->kind != E_PRIM)
        return NULL;
    Atom x = in->prim.args.at[0];
    if (in->prim.op == inverse(op))
        return exp_atom(S->cx, e->loc, x);
    if (op != OP_NOT || in->prim.args.n != 2)
        return NULL;
    /* not (x < y) = y <= x holds for whatever is totally ordered. */
    Atom y = in->prim.args.at[1];
    bool total = !prim_is_float(in->prim.type);
    if (in->prim.op == OP_EQ || in->prim.op == OP_NE)
        return exp_binop(S->cx, e->loc, in->prim.op == OP_EQ ? OP_NE : OP_EQ, x, y);
    if (total && (in->prim.op == OP_LT || in->prim.op == OP_LE))
        return exp_binop(S->cx, e->loc, in->prim.op == OP_LT ? OP_LE : OP_LT, y, x);
    return NULL;
}

/* b == true, b != false: b, or its negation. */
static Exp *bool_compare(Simp *S, const Exp *e)
{
    PrimOp op = e->prim.op;
    if ((op != OP_EQ && op != OP_NE) || e->prim.type != T_BOOL || e->prim.args.at[1].var)
        return NULL;
    if ((op == OP_EQ) == (e->prim.args.at[1].c.i != 0))
        return exp_atom(S->cx, e->loc, e->prim.args.at[0]);
    return exp_unop(S->cx, e->loc, OP_NOT, e->prim.args.at[0]);
}

/* x ** 2 is one multiplication, which rounds as well as any power. */
static Exp *square(Simp *S, const Exp *e)
{
    if (e->prim.op != OP_POW || !is_const(e->prim.args.at[1], 2))
        return NULL;
    Atom x = e->prim.args.at[0];
    return exp_binop(S->cx, e->loc, OP_MUL, x, x);
}

/* --- Sums: integers wrap around, so addition is associative --------------------------------- */

static const Exp *int_prim(const Simp *S, Atom a, PrimOp op)
{
    const Exp *d = simp_def(S, a);
    return d && d->kind == E_PRIM && d->prim.op == op && prim_is_int(d->prim.type) ? d : NULL;
}

/* x + k, as a subtraction if k is negative. */
static Exp *plus(Simp *S, Loc loc, Atom x, PrimType t, int64_t k)
{
    Atom c = atom_int(t, k);
    if (c.c.i == 0)
        return exp_atom(S->cx, loc, x);
    if (prim_is_signed(t) && c.c.i < 0 && atom_int(t, -(uint64_t)c.c.i).c.i > 0)
        return exp_binop(S->cx, loc, OP_SUB, x, atom_int(t, -c.c.i));
    return exp_binop(S->cx, loc, OP_ADD, x, c);
}

/* (x +- k1) +- k2, (x * k1) * k2 */
static Exp *chained_constants(Simp *S, const Exp *e)
{
    PrimOp op = e->prim.op;
    if (!prim_is_int(e->prim.type) || e->prim.args.n != 2 || e->prim.args.at[1].var)
        return NULL;
    uint64_t k = (uint64_t)e->prim.args.at[1].c.i;
    if (op == OP_MUL) {
        const Exp *m = int_prim(S, e->prim.args.at[0], OP_MUL);
        if (!m || m->prim.args.at[1].var)
            return NULL;
        Atom c = atom_int(e->prim.type, (int64_t)(k * (uint64_t)m->prim.args.at[1].c.i));
        return exp_binop(S->cx, e->loc, OP_MUL, m->prim.args.at[0], c);
    }
    if (op != OP_ADD && op != OP_SUB)
        return NULL;
    const Exp *in = int_prim(S, e->prim.args.at[0], OP_ADD);
    if (!in)
        in = int_prim(S, e->prim.args.at[0], OP_SUB);
    if (!in || in->prim.args.at[1].var)
        return NULL;
    uint64_t j = (uint64_t)in->prim.args.at[1].c.i;
    uint64_t sum = (in->prim.op == OP_ADD ? j : -j) + (op == OP_ADD ? k : -k);
    return plus(S, e->loc, in->prim.args.at[0], e->prim.type, (int64_t)sum);
}

/* (x + y) - y = x, (x - y) + y = x, x - (x - y) = y and their like. */
static Exp *cancelled(Simp *S, const Exp *e)
{
    if (!prim_is_int(e->prim.type) || (e->prim.op != OP_ADD && e->prim.op != OP_SUB))
        return NULL;
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    const Exp *dx_add = int_prim(S, x, OP_ADD), *dx_sub = int_prim(S, x, OP_SUB);
    const Exp *dy_sub = int_prim(S, y, OP_SUB);
    if (e->prim.op == OP_SUB && dx_add) {
        if (atom_eq(dx_add->prim.args.at[1], y))
            return exp_atom(S->cx, e->loc, dx_add->prim.args.at[0]);
        if (atom_eq(dx_add->prim.args.at[0], y))
            return exp_atom(S->cx, e->loc, dx_add->prim.args.at[1]);
    }
    if (e->prim.op == OP_SUB && dy_sub && atom_eq(dy_sub->prim.args.at[0], x))
        return exp_atom(S->cx, e->loc, dy_sub->prim.args.at[1]);
    if (e->prim.op == OP_ADD && dx_sub && atom_eq(dx_sub->prim.args.at[1], y))
        return exp_atom(S->cx, e->loc, dx_sub->prim.args.at[0]);
    if (e->prim.op == OP_ADD && dy_sub && atom_eq(dy_sub->prim.args.at[1], x))
        return exp_atom(S->cx, e->loc, dy_sub->prim.args.at[0]);
    return NULL;
}

/* A number as a polynomial of variables; `vars`: those that occurred. */
typedef struct {
    const Simp *S;
    Poly p;
    Vars vars;
} Sum;

static bool sum_add(Sum *s, Atom a, int64_t k, int depth);

static bool sum_add_product(Sum *s, Atom x, Atom y, int64_t k, int depth)
{
    Sum f = {.S = s->S}, g = f;
    bool ok = sum_add(&f, x, 1, depth) && sum_add(&g, y, 1, depth) && poly_mul(&f.p, &g.p) &&
              poly_add(&s->p, &f.p, k);
    vec_append(s->S->cx->scratch, &s->vars, &f.vars);
    vec_append(s->S->cx->scratch, &s->vars, &g.vars);
    return ok;
}

/* s += k*a. False: there is no room. */
static bool sum_add(Sum *s, Atom a, int64_t k, int depth)
{
    Poly one = poly_const(a.var ? 0 : a.c.i);
    const Exp *d = depth > 0 ? simp_def(s->S, a) : NULL;
    bool sum = d && d->kind == E_PRIM && prim_is_int(d->prim.type);
    if (!a.var)
        return poly_add(&s->p, &one, k);
    if (sum && (d->prim.op == OP_ADD || d->prim.op == OP_SUB))
        return sum_add(s, d->prim.args.at[0], k, depth - 1) &&
               sum_add(s, d->prim.args.at[1], d->prim.op == OP_ADD ? k : -k, depth - 1);
    if (sum && d->prim.op == OP_MUL)
        return sum_add_product(s, d->prim.args.at[0], d->prim.args.at[1], k, depth - 1);
    one = poly_leaf(a.var->id + 1);
    vec_push(s->S->cx->scratch, &s->vars, a.var);
    return poly_add(&s->p, &one, k);
}

/* Differences of which a number or a variable is left, as between the ends of a slice: (i + 2) - (i
 * - 1) = 3, (i + 1)*n - i*n = n. */
static Exp *difference(Simp *S, const Exp *e)
{
    enum { DEPTH = 4 };
    if (!prim_is_int(e->prim.type) || e->prim.op != OP_SUB || !e->prim.args.at[0].var ||
        !e->prim.args.at[1].var)
        return NULL;
    ArenaMark mark = arena_mark(S->cx->scratch);
    Sum s = {.S = S};
    Exp *r = NULL;
    if (sum_add(&s, e->prim.args.at[0], 1, DEPTH) && sum_add(&s, e->prim.args.at[1], -1, DEPTH)) {
        const Poly *p = &s.p;
        if (p->n == 0)
            r = exp_atom(S->cx, e->loc, atom_int(e->prim.type, p->c));
        for (int i = 0; i < s.vars.n && !r; i++)
            if (p->n == 1 && p->c == 0 && p->t[0].k == 1 && p->t[0].leaves[1] == 0 &&
                p->t[0].leaves[0] == s.vars.at[i]->id + 1)
                r = exp_atom(S->cx, e->loc, atom_var(s.vars.at[i]));
    }
    arena_reset(S->cx->scratch, mark);
    return r;
}

/* --- Comparisons that ranges decide --------------------------------------------------------- */

static Exp *decided(Simp *S, const Exp *e)
{
    if (!prim_is_int(e->prim.type) || e->prim.args.n != 2)
        return NULL;
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    switch (e->prim.op) {
    case OP_LT:
    case OP_LE: {
        int64_t strict = e->prim.op == OP_LT;
        if (ranges_le(S->ra, x, y, strict))
            return exp_atom(S->cx, e->loc, atom_bool(true));
        if (ranges_le(S->ra, y, x, 1 - strict))
            return exp_atom(S->cx, e->loc, atom_bool(false));
        return NULL;
    }
    case OP_EQ:
    case OP_NE:
        if (ranges_le(S->ra, x, y, 1) || ranges_le(S->ra, y, x, 1))
            return exp_atom(S->cx, e->loc, atom_bool(e->prim.op == OP_NE));
        if (ranges_le(S->ra, x, y, 0) && ranges_le(S->ra, y, x, 0))
            return exp_atom(S->cx, e->loc, atom_bool(e->prim.op == OP_EQ));
        return NULL;
    case OP_MIN:
    case OP_MAX:
        if (ranges_le(S->ra, x, y, 0))
            return exp_atom(S->cx, e->loc, e->prim.op == OP_MIN ? x : y);
        if (ranges_le(S->ra, y, x, 0))
            return exp_atom(S->cx, e->loc, e->prim.op == OP_MIN ? y : x);
        return NULL;
    default: return NULL;
    }
}

const RuleRow scalar_rules[] = {
    {E_PRIM, fold_prim},  {E_PRIM, units},        {E_PRIM, same_operands},     {E_PRIM, twice},
    {E_PRIM, square},     {E_PRIM, bool_compare}, {E_PRIM, chained_constants}, {E_PRIM, cancelled},
    {E_PRIM, difference}, {E_PRIM, decided},      {E_CONV, fold_conv},         {E_CONV, conv_conv},
    {E_ATOM, NULL},
};
