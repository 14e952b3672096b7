/* What is known of integers: facts "affine form >= 0" over variables, and a small prover.
 *
 * Facts come from loop counters, nest indices, array sizes, conditions of branches, assertions and
 * definitions (div, mod, min, max, conversions). To prove T >= 0, the youngest variable of T is
 * cancelled with a fact that has it with the same sign, and so on until a constant is left; a
 * variable that is a min, a max or a choice is also replaced by each of its alternatives in turn.
 *
 * Variables stand for their mathematical values. An operation is looked into only if it cannot wrap
 * around: `bits` bounds the size of its operands; array sizes have SIZE_BITS, which is asserted
 * where they are made. */
#include "ir/ranges.h"

#include <string.h>

enum { MAX_TERMS = 8, MAX_DEPTH = 7, SAFE_BITS = 61 };

typedef struct {
    const Var *v;
    int64_t k;
} Term;

/* c + sum of k*v */
typedef struct {
    int64_t c;
    int n;
    bool is_size; /* as a fact: its variable is the size of an array */
    Term t[MAX_TERMS];
} Affine;

struct Ranges {
    Ctx *cx;
    VarMap *defs;
    VEC(Affine) facts;
    VarMap *index_of; /* nest indices, loop counters: Var -> Atom *, the bound */
    int steps;        /* left for the proof at work */
    int nested;       /* proofs at work within each other */
};

Ranges *ranges_new(Ctx *cx, VarMap *defs)
{
    Ranges *ra = NEW(cx->perm, Ranges);
    ra->cx = cx;
    ra->defs = defs;
    ra->index_of = varmap_new(cx->perm);
    return ra;
}

int ranges_mark(const Ranges *ra)
{
    return ra->facts.n;
}

void ranges_reset(Ranges *ra, int mark)
{
    ra->facts.n = mark;
}

/* --- Affine forms ----------------------------------------------------------------------------- */

static bool add_term(Affine *f, const Var *v, int64_t k)
{
    for (int i = 0; i < f->n; i++) {
        if (f->t[i].v != v)
            continue;
        if (__builtin_add_overflow(f->t[i].k, k, &f->t[i].k))
            return false;
        if (f->t[i].k == 0)
            f->t[i] = f->t[--f->n];
        return true;
    }
    if (k == 0)
        return true;
    if (f->n == MAX_TERMS)
        return false;
    f->t[f->n++] = (Term){v, k};
    return true;
}

/* f := f * m + g * k; false on overflow. */
static bool combine(Affine *f, int64_t m, const Affine *g, int64_t k)
{
    int64_t x;
    if (__builtin_mul_overflow(f->c, m, &f->c) || __builtin_mul_overflow(g->c, k, &x) ||
        __builtin_add_overflow(f->c, x, &f->c))
        return false;
    for (int i = 0; i < f->n; i++)
        if (__builtin_mul_overflow(f->t[i].k, m, &f->t[i].k))
            return false;
    for (int i = 0; i < g->n; i++)
        if (__builtin_mul_overflow(g->t[i].k, k, &x) || !add_term(f, g->t[i].v, x))
            return false;
    return true;
}

static const Exp *def_of(const Ranges *ra, const Var *v)
{
    const Def *d = varmap_get(ra->defs, v);
    return d && d->k == 0 ? d->exp : NULL;
}

static bool is_size(const Ranges *ra, const Var *v)
{
    for (int i = 0; i < ra->facts.n; i++) {
        const Affine *f = &ra->facts.at[i];
        if (f->is_size && f->t[0].v == v)
            return true;
    }
    return false;
}

static int type_bits(PrimType t)
{
    int bits = 8 * prim_type_bytes[t];
    return prim_is_signed(t) ? bits - 1 : bits;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int const_bits(int64_t i)
{
    int bits = 0;
    for (uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i; u; u >>= 1)
        bits++;
    return bits;
}

/* |a| < 2^bits; 64: nothing is known. */
static int bits_of(const Ranges *ra, Atom a, int depth)
{
    if (!a.var)
        return const_bits(a.c.i);
    int own = type_bits(a.var->type.elem);
    if (own < 48)
        return own;
    const Atom *bound = varmap_get(ra->index_of, a.var);
    if (bound)
        return depth > 0 ? bits_of(ra, *bound, depth - 1) : 64;
    if (is_size(ra, a.var))
        return SIZE_BITS;
    const Exp *e = def_of(ra, a.var);
    if (!e || depth == 0)
        return 64;
    if (e->kind == E_CONV && prim_is_signed(e->conv.from) && !prim_is_signed(e->conv.to))
        return e->conv.from == T_I64 ? 64 : 8 * prim_type_bytes[e->conv.from];
    if (e->kind == E_CONV && prim_is_int(e->conv.from))
        return bits_of(ra, e->conv.arg, depth - 1);
    if (e->kind != E_PRIM || !prim_is_signed(e->prim.type))
        return 64;
    int x = bits_of(ra, e->prim.args.at[0], depth - 1);
    int y = e->prim.args.n > 1 ? bits_of(ra, e->prim.args.at[1], depth - 1) : 0;
    int r = 64;
    if (e->prim.op == OP_ADD || e->prim.op == OP_SUB)
        r = max_int(x, y) + 1;
    else if (e->prim.op == OP_MUL)
        r = x + y;
    else if (e->prim.op == OP_MIN || e->prim.op == OP_MAX)
        r = max_int(x, y);
    else if (e->prim.op == OP_DIV || e->prim.op == OP_QUOT)
        r = x;
    else if (e->prim.op == OP_MOD || e->prim.op == OP_REM)
        r = y;
    else if (e->prim.op == OP_NEG || e->prim.op == OP_ABS)
        r = x;
    return r > SAFE_BITS ? 64 : r;
}

/* Can x op y not wrap around in type t? */
static bool exact(Ranges *ra, PrimType t, PrimOp op, Atom x, Atom y)
{
    int bx = bits_of(ra, x, 6), by = bits_of(ra, y, 6);
    int r = op == OP_MUL ? bx + by : max_int(bx, by) + 1;
    if (r <= (t == T_I64 ? SAFE_BITS : type_bits(t)))
        return true;
    /* In small types: a counter plus one is at most its bound, a non-negative number less a
     * non-negative constant is above the least number. */
    if (op == OP_ADD && x.var && atom_is_int(y, 1))
        return varmap_get(ra->index_of, x.var) != NULL;
    if (op == OP_SUB && !y.var && y.c.i >= 0)
        return ranges_le(ra, atom_int(t, 0), x, 0);
    return false;
}

/* f += k * a */
static bool add_atom(Ranges *ra, Affine *f, Atom a, int64_t k, int depth)
{
    Affine c = {.c = a.var ? 0 : a.c.i};
    if (!a.var)
        return combine(f, 1, &c, k);
    const Exp *e = def_of(ra, a.var);
    if (!e || depth == 0)
        return add_term(f, a.var, k);
    if (e->kind == E_CONV && prim_is_int(e->conv.from) && prim_is_int(e->conv.to) &&
        type_bits(e->conv.from) < type_bits(e->conv.to) &&
        (prim_is_signed(e->conv.to) || !prim_is_signed(e->conv.from)))
        return add_atom(ra, f, e->conv.arg, k, depth - 1);
    if (e->kind != E_PRIM || !prim_is_signed(e->prim.type) || e->prim.args.n != 2)
        return add_term(f, a.var, k);
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    PrimType t = e->prim.type;
    if ((e->prim.op == OP_ADD || e->prim.op == OP_SUB) && exact(ra, t, e->prim.op, x, y))
        return add_atom(ra, f, x, k, depth - 1) &&
               add_atom(ra, f, y, e->prim.op == OP_ADD ? k : -k, depth - 1);
    int64_t m;
    if (e->prim.op == OP_MUL && (!x.var || !y.var) && exact(ra, t, OP_MUL, x, y)) {
        int64_t by = x.var ? y.c.i : x.c.i;
        return !__builtin_mul_overflow(k, by, &m) && add_atom(ra, f, x.var ? x : y, m, depth - 1);
    }
    return add_term(f, a.var, k);
}

/* b - a - slack */
static bool difference(Ranges *ra, Affine *f, Atom a, Atom b, int64_t slack)
{
    *f = (Affine){.c = -slack};
    return add_atom(ra, f, b, 1, 6) && add_atom(ra, f, a, -1, 6);
}

/* --- Facts ------------------------------------------------------------------------------------ */

static void add_fact(Ranges *ra, const Affine *f)
{
    if (f->n > 0)
        vec_push(ra->cx->perm, &ra->facts, *f);
}

/* a + slack <= b */
static void fact_le(Ranges *ra, Atom a, Atom b, int64_t slack)
{
    Affine f;
    if (difference(ra, &f, a, b, slack))
        add_fact(ra, &f);
}

static void size_fact(Ranges *ra, Atom n)
{
    if (!n.var || is_size(ra, n.var))
        return;
    Affine f = {.n = 1, .is_size = true, .t = {{n.var, 1}}};
    add_fact(ra, &f);
    /* The same in terms of what the size was computed from. */
    fact_le(ra, atom_i64(0), n, 0);
}

void ranges_type(Ranges *ra, Type t)
{
    for (int i = 0; i < t.rank; i++)
        size_fact(ra, t.dims[i]);
}

/* 0 <= i < bound */
static void index_fact(Ranges *ra, Var *i, Atom bound)
{
    varmap_put(ra->index_of, i, arena_memdup(ra->cx->perm, &bound, sizeof bound));
    fact_le(ra, atom_int(i->type.elem, 0), atom_var(i), 0);
    fact_le(ra, atom_var(i), bound, 1);
}

/* --- The prover ------------------------------------------------------------------------------- */

static bool prove(Ranges *ra, const Affine *goal, int depth);

static int youngest(const Affine *f)
{
    int best = 0;
    for (int i = 1; i < f->n; i++)
        if (f->t[i].v->id > f->t[best].v->id)
            best = i;
    return best;
}

/* goal - fact (scaled, so that v cancels) >= 0? */
static bool prove_with(Ranges *ra, const Affine *goal, int64_t k, const Affine *fact, int64_t q,
                       int depth)
{
    Affine rest = *goal;
    int64_t ak = k < 0 ? -k : k, aq = q < 0 ? -q : q;
    if (ak % aq == 0)
        return combine(&rest, 1, fact, -(ak / aq)) && prove(ra, &rest, depth - 1);
    return combine(&rest, aq, fact, -ak) && prove(ra, &rest, depth - 1);
}

/* The goal with v replaced by a. */
static bool prove_replaced(Ranges *ra, const Affine *goal, const Var *v, int64_t k, Atom a,
                           int depth)
{
    Affine f = *goal;
    return add_term(&f, v, -k) && add_atom(ra, &f, a, k, 6) && prove(ra, &f, depth - 1);
}

static bool prove_cases(Ranges *ra, const Affine *goal, const Var *v, int64_t k, int depth)
{
    const Def *d = varmap_get(ra->defs, v);
    if (!d)
        return false;
    const Exp *e = d->exp;
    if (e->kind == E_PRIM && (e->prim.op == OP_MIN || e->prim.op == OP_MAX))
        return prove_replaced(ra, goal, v, k, e->prim.args.at[0], depth) &&
               prove_replaced(ra, goal, v, k, e->prim.args.at[1], depth);
    if (e->kind != E_IF)
        return false;
    int mark = ranges_mark(ra);
    ranges_cond(ra, e->branch.test, true);
    bool ok = prove_replaced(ra, goal, v, k, e->branch.then_->res.at[d->k], depth);
    ranges_reset(ra, mark);
    if (!ok)
        return false;
    ranges_cond(ra, e->branch.test, false);
    ok = prove_replaced(ra, goal, v, k, e->branch.else_->res.at[d->k], depth);
    ranges_reset(ra, mark);
    return ok;
}

static bool prove(Ranges *ra, const Affine *goal, int depth)
{
    if (goal->n == 0)
        return goal->c >= 0;
    if (depth == 0 || ra->steps <= 0)
        return false;
    ra->steps -= 1 + ra->facts.n / 256; /* each step goes through the facts */
    int at = youngest(goal);
    const Var *v = goal->t[at].v;
    int64_t k = goal->t[at].k;
    for (int i = ra->facts.n - 1; i >= 0; i--) {
        for (int j = 0; j < ra->facts.at[i].n; j++) {
            Term t = ra->facts.at[i].t[j];
            if (t.v != v || (t.k > 0) != (k > 0))
                continue;
            Affine f = ra->facts.at[i]; /* proofs within this one add facts, and take them away */
            if (prove_with(ra, goal, k, &f, t.k, depth))
                return true;
        }
    }
    return prove_cases(ra, goal, v, k, depth);
}

/* Proofs need proofs that operations do not wrap around: up to a limit. */
static bool start_proof(Ranges *ra, const Affine *goal)
{
    enum { MAX_NESTED = 3, MAX_STEPS = 400 };
    if (ra->nested == MAX_NESTED)
        return false;
    int outer = ra->steps;
    ra->steps = MAX_STEPS;
    ra->nested++;
    bool ok = prove(ra, goal, MAX_DEPTH);
    ra->nested--;
    ra->steps = outer;
    return ok;
}

bool ranges_le(Ranges *ra, Atom a, Atom b, int64_t slack)
{
    PrimType t = atom_type(a).elem;
    /* Constants of u64 are kept as negative numbers when large. */
    if (!prim_is_int(t) || t == T_U64)
        return false;
    /* |a| < 2^bits */
    if (!b.var && slack == 0 && b.c.i >= MAX_SIZE && bits_of(ra, a, 6) <= SIZE_BITS)
        return true;
    Affine goal;
    return difference(ra, &goal, a, b, slack) && start_proof(ra, &goal);
}

/* --- Conditions and definitions --------------------------------------------------------------- */

static void fact_differ(Ranges *ra, Atom a, Atom b)
{
    if (ranges_le(ra, a, b, 0))
        fact_le(ra, a, b, 1);
    else if (ranges_le(ra, b, a, 0))
        fact_le(ra, b, a, 1);
}

void ranges_cond(Ranges *ra, Atom cond, bool truth)
{
    const Exp *e = cond.var ? def_of(ra, cond.var) : NULL;
    if (!e || e->kind != E_PRIM)
        return;
    Atom x = e->prim.args.at[0], y = e->prim.args.n > 1 ? e->prim.args.at[1] : x;
    PrimOp op = e->prim.op;
    if (op == OP_NOT) {
        ranges_cond(ra, x, !truth);
        return;
    }
    if ((op == OP_LAND && truth) || (op == OP_LOR && !truth)) {
        ranges_cond(ra, x, truth);
        ranges_cond(ra, y, truth);
        return;
    }
    if (!prim_is_int(e->prim.type) || e->prim.type == T_U64)
        return;
    if (op == OP_LT || op == OP_LE) {
        int64_t strict = op == OP_LT;
        if (truth)
            fact_le(ra, x, y, strict);
        else
            fact_le(ra, y, x, 1 - strict);
    } else if (op == OP_EQ || op == OP_NE) {
        if ((op == OP_EQ) == truth) {
            fact_le(ra, x, y, 0);
            fact_le(ra, y, x, 0);
        } else {
            fact_differ(ra, x, y);
        }
    }
}

/* v = x div m with 0 <= x, 0 < m constant: m*v <= x <= m*v + m - 1. */
static void fact_div(Ranges *ra, const Var *v, Atom x, int64_t m)
{
    Affine f = {0};
    if (add_atom(ra, &f, x, 1, 6) && add_term(&f, v, -m)) {
        Affine g = {.c = m - 1};
        add_fact(ra, &f);
        if (combine(&g, 1, &f, -1))
            add_fact(ra, &g);
    }
    Affine nonneg = {.n = 1, .t = {{v, 1}}};
    add_fact(ra, &nonneg);
}

static void prim_facts(Ranges *ra, Var *v, const Exp *e)
{
    Atom x = e->prim.args.at[0], y = e->prim.args.n > 1 ? e->prim.args.at[1] : x, me = atom_var(v);
    Atom zero = atom_int(e->prim.type, 0);
    switch (e->prim.op) {
    case OP_MIN:
        fact_le(ra, me, x, 0);
        fact_le(ra, me, y, 0);
        break;
    case OP_MAX:
        fact_le(ra, x, me, 0);
        fact_le(ra, y, me, 0);
        break;
    case OP_DIV:
    case OP_QUOT:
        if (!y.var && y.c.i > 0 && ranges_le(ra, zero, x, 0))
            fact_div(ra, v, x, y.c.i);
        break;
    case OP_SHR:
        if (!y.var && y.c.i >= 0 && y.c.i < 31 && ranges_le(ra, zero, x, 0))
            fact_div(ra, v, x, INT64_C(1) << y.c.i);
        break;
    case OP_MOD:
    case OP_REM:
        if (ranges_le(ra, zero, y, 1) && (e->prim.op == OP_MOD || ranges_le(ra, zero, x, 0))) {
            fact_le(ra, zero, me, 0);
            fact_le(ra, me, y, 1);
        }
        break;
    case OP_AND:
        if (!y.var && y.c.i >= 0) {
            fact_le(ra, zero, me, 0);
            fact_le(ra, me, y, 0);
        }
        break;
    case OP_ABS: fact_le(ra, x, me, 0); break;
    default: break; /* nothing beyond what add_atom sees */
    }
}

static void def_fact(Ranges *ra, const Var *v)
{
    const Exp *e = def_of(ra, v);
    if (!e || v->type.rank || !prim_is_int(v->type.elem) || v->type.elem == T_U64)
        return;
    Var *me = (Var *)(uintptr_t)v;
    if (e->kind == E_PRIM && prim_is_signed(e->prim.type)) {
        prim_facts(ra, me, e);
    } else if (e->kind == E_CONV && prim_is_int(e->conv.from)) {
        /* Cutting a non-negative number down to fewer bits does not make it larger. */
        Atom zero = atom_int(e->conv.from, 0);
        if (type_bits(e->conv.from) > type_bits(e->conv.to) && ranges_le(ra, zero, e->conv.arg, 0))
            fact_le(ra, atom_var(me), e->conv.arg, 0);
        else if (!prim_is_signed(e->conv.from) && e->conv.from != T_U64)
            fact_le(ra, zero, e->conv.arg, 0);
    }
}

void ranges_bind(Ranges *ra, const Vars *pat, const Exp *e)
{
    for (int k = 0; k < pat->n; k++) {
        Def d = {e, k};
        varmap_put(ra->defs, pat->at[k], arena_memdup(ra->cx->perm, &d, sizeof d));
        ranges_type(ra, pat->at[k]->type);
        def_fact(ra, pat->at[k]);
    }
    if (e->kind == E_ASSERT)
        ranges_cond(ra, e->assertion.cond, true);
}

/* --- Binders of bodies ------------------------------------------------------------------------ */

static void types(Ranges *ra, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        ranges_type(ra, vs->at[k]->type);
}

void ranges_loop(Ranges *ra, const Exp *loop)
{
    types(ra, &loop->loop.params);
    if (loop->loop.kind == LOOP_FOR && loop->loop.i->type.elem != T_U64)
        index_fact(ra, loop->loop.i, loop->loop.bound);
}

void ranges_dim(Ranges *ra, const NestDim *nd)
{
    index_fact(ra, nd->idx, nd->width);
    types(ra, &nd->xs);
}

/* The elements of an iota are within its bounds. */
static void row_facts(Ranges *ra, Var *x, Atom arr)
{
    const Exp *d = arr.var ? def_of(ra, arr.var) : NULL;
    if (d && d->kind == E_IOTA && x->type.elem == T_I64 && atom_is_int(d->iota.start, 0) &&
        atom_is_int(d->iota.stride, 1))
        index_fact(ra, x, d->iota.n);
}

void ranges_rows(Ranges *ra, const Vars *params, const Atoms *arrs)
{
    types(ra, params);
    int first = params->n - arrs->n;
    for (int j = 0; j < arrs->n && first >= 0; j++)
        row_facts(ra, params->at[first + j], arrs->at[j]);
}

/* --- Bounds
 * --------------------------------------------------------------------------------------------------
 */

static bool slice_in_bounds(Ranges *ra, Atom size, const DimIndex *d)
{
    Affine f;
    if (!ranges_le(ra, atom_i64(0), d->n, 0) || d->stride.var)
        return false;
    int64_t s = d->stride.c.i;
    if (s == 1)
        /* 0 <= start, start + n <= size */
        return ranges_le(ra, atom_i64(0), d->start, 0) && difference(ra, &f, d->start, size, 0) &&
               add_atom(ra, &f, d->n, -1, 6) && start_proof(ra, &f);
    if (s == -1)
        /* n - 1 <= start <= size - 1 */
        return ranges_le(ra, d->start, size, 1) && ranges_le(ra, d->n, d->start, -1);
    return false;
}

bool ranges_in_bounds(Ranges *ra, Type arr, const DimIndexes *at)
{
    for (int i = 0; i < at->n; i++) {
        const DimIndex *d = &at->at[i];
        Atom size = arr.dims[i];
        if (d->is_slice) {
            bool whole =
                atom_is_int(d->start, 0) && atom_is_int(d->stride, 1) && atom_eq(d->n, size);
            if (!whole && !slice_in_bounds(ra, size, d))
                return false;
        } else if (!ranges_le(ra, atom_i64(0), d->start, 0) || !ranges_le(ra, d->start, size, 1)) {
            return false;
        }
    }
    return true;
}
