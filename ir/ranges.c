/* What is known of integers: facts "polynomial >= 0" over variables, for the prover (prove/).
 *
 * Facts come from loop counters, nest indices, array sizes, conditions of branches, assertions and
 * definitions (div, mod, min, max, conversions). A variable that is a min, a max or a choice is
 * also replaced by each of its alternatives in turn.
 *
 * Variables stand for their mathematical values. An operation is looked into only if it cannot wrap
 * around: `bits` bounds the size of its operands; array sizes have SIZE_BITS, which is asserted
 * where they are made. */
#include "ir/ranges.h"

enum { SAFE_BITS = 61, LOOK = 6 /* definitions deep */ };

typedef struct {
    const Var *var;
    int fact; /* the one that makes it a size */
} Size;

struct Ranges {
    Ctx *cx;
    VarMap *defs;
    Prover *prover;
    LeafKind var;
    VarMap *index_of; /* nest indices, loop counters: Var -> Atom *, the bound */
    VEC(Size) sizes;  /* of arrays that exist */
    VarSet *is_size;  /* the same */
};

static bool choices(void *env, const void *var, Goal *g);
static void range_of_var(void *env, const void *var, int64_t *lo, int64_t *hi);

Ranges *ranges_new(Ctx *cx, VarMap *defs)
{
    Ranges *ra = NEW(cx->perm, Ranges);
    ra->cx = cx;
    ra->defs = defs;
    ra->prover = prover_new(cx->perm);
    ra->var = (LeafKind){.cases = choices, .range = range_of_var, .env = ra};
    ra->index_of = varmap_new(cx->perm);
    ra->is_size = varmap_new(cx->perm);
    return ra;
}

int ranges_mark(const Ranges *ra)
{
    return prover_mark(ra->prover);
}

void ranges_reset(Ranges *ra, int mark)
{
    prover_reset(ra->prover, mark);
    while (ra->sizes.n && vec_last(&ra->sizes).fact >= mark)
        varmap_del(ra->is_size, ra->sizes.at[--ra->sizes.n].var);
}

/* --- How large numbers are -------------------------------------------------------------------- */

Prover *ranges_prover(Ranges *ra)
{
    return ra->prover;
}

const Atom *ranges_below(const Ranges *ra, const Var *v)
{
    return varmap_get(ra->index_of, v);
}

const Def *ranges_def(const Ranges *ra, const Var *v)
{
    return varmap_get(ra->defs, v);
}

static const Exp *def_of(const Ranges *ra, const Var *v)
{
    const Def *d = varmap_get(ra->defs, v);
    return d && d->k == 0 ? d->exp : NULL;
}

static int type_bits(PrimType t)
{
    int bits = prim_bits(t);
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
    if (varset_has(ra->is_size, a.var))
        return SIZE_BITS;
    const Exp *e = def_of(ra, a.var);
    if (!e || depth == 0)
        return 64;
    if (e->kind == E_CONV && prim_is_signed(e->conv.from) && !prim_is_signed(e->conv.to))
        return e->conv.from == T_I64 ? 64 : prim_bits(e->conv.from);
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
    int bx = bits_of(ra, x, LOOK), by = bits_of(ra, y, LOOK);
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

static void range_of_var(void *env, const void *var, int64_t *lo, int64_t *hi)
{
    const Ranges *ra = env;
    Atom a = atom_var((Var *)(uintptr_t)var);
    int bits = bits_of(ra, a, LOOK);
    if (bits < 64) {
        int64_t most = (INT64_C(1) << bits) - 1;
        *hi = most < *hi ? most : *hi;
        *lo = -most - 1 > *lo ? -most - 1 : *lo;
    }
    bool natural = varset_has(ra->is_size, var) || !prim_is_signed(a.var->type.elem);
    if (natural && *lo < 0 && a.var->type.elem != T_U64)
        *lo = 0;
}

/* --- Polynomials of numbers ----------------------------------------------------------------- */

static bool add_atom(Ranges *ra, Poly *p, Atom a, int64_t k, int depth);

static bool add_var(Ranges *ra, Poly *p, Var *v, int64_t k)
{
    Poly leaf = prover_leaf(ra->prover, v->id + 1, &ra->var, v);
    return poly_add(p, &leaf, k);
}

static bool add_product(Ranges *ra, Poly *p, Atom x, Atom y, int64_t k, int depth)
{
    Poly f = poly_const(0), g = f;
    return add_atom(ra, &f, x, 1, depth) && add_atom(ra, &g, y, 1, depth) && poly_mul(&f, &g) &&
           poly_add(p, &f, k);
}

/* p += k * a for what a was computed from; false where that is not known, or does not fit. */
static bool add_def(Ranges *ra, Poly *p, Atom a, int64_t k, int depth)
{
    const Exp *e = def_of(ra, a.var);
    if (!e || depth == 0)
        return false;
    if (e->kind == E_CONV && prim_is_int(e->conv.from) && prim_is_int(e->conv.to) &&
        type_bits(e->conv.from) < type_bits(e->conv.to) &&
        (prim_is_signed(e->conv.to) || !prim_is_signed(e->conv.from)))
        return add_atom(ra, p, e->conv.arg, k, depth - 1);
    if (e->kind != E_PRIM || !prim_is_signed(e->prim.type) || e->prim.args.n != 2)
        return false;
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    PrimOp op = e->prim.op;
    if ((op != OP_ADD && op != OP_SUB && op != OP_MUL) || !exact(ra, e->prim.type, op, x, y))
        return false;
    if (op == OP_MUL)
        return add_product(ra, p, x, y, k, depth - 1);
    return add_atom(ra, p, x, k, depth - 1) && add_atom(ra, p, y, op == OP_ADD ? k : -k, depth - 1);
}

/* p += k * a */
static bool add_atom(Ranges *ra, Poly *p, Atom a, int64_t k, int depth)
{
    Poly c = poly_const(a.var ? 0 : a.c.i), whole = *p;
    if (!a.var)
        return poly_add(p, &c, k);
    if (add_def(ra, p, a, k, depth))
        return true;
    *p = whole;
    return add_var(ra, p, a.var, k);
}

bool ranges_poly(Ranges *ra, Atom a, Poly *p)
{
    *p = poly_const(0);
    return add_atom(ra, p, a, 1, LOOK);
}

/* b - a - slack */
static bool difference(Ranges *ra, Poly *p, Atom a, Atom b, int64_t slack)
{
    *p = poly_const(-slack);
    return add_atom(ra, p, b, 1, LOOK) && add_atom(ra, p, a, -1, LOOK);
}

/* --- Facts ---------------------------------------------------------------------------------- */

/* a + slack <= b */
static void fact_le(Ranges *ra, Atom a, Atom b, int64_t slack)
{
    Poly p;
    if (difference(ra, &p, a, b, slack))
        prover_assume(ra->prover, &p);
}

static bool is_news(const Ranges *ra, Atom n)
{
    return n.var && !varset_has(ra->is_size, n.var);
}

static void size_fact(Ranges *ra, Atom n)
{
    if (!is_news(ra, n))
        return;
    varset_add(ra->is_size, n.var);
    vec_push(ra->cx->perm, &ra->sizes, (Size){n.var, ranges_mark(ra)});
    Poly p = poly_const(0);
    if (add_var(ra, &p, n.var, 1))
        prover_assume(ra->prover, &p);
    /* The same in terms of what the size was computed from. */
    fact_le(ra, atom_i64(0), n, 0);
}

void ranges_given(Ranges *ra, Type t)
{
    for (int i = 0; i < t.rank; i++)
        size_fact(ra, t.dims[i]);
}

/* Are there so many, or more? */
static bool surely_some(Ranges *ra, Atom n)
{
    return ranges_le(ra, atom_i64(1), n, 0);
}

bool ranges_dim_exists(Ranges *ra, Type t, int d)
{
    for (int k = 0; k < t.rank; k++)
        if (k != d && !surely_some(ra, t.dims[k]))
            return false;
    return true;
}

void ranges_type(Ranges *ra, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (is_news(ra, t.dims[d]) && ranges_dim_exists(ra, t, d))
            size_fact(ra, t.dims[d]);
}

/* 0 <= i < bound */
static void index_fact(Ranges *ra, Var *i, Atom bound)
{
    varmap_put(ra->index_of, i, arena_memdup(ra->cx->perm, &bound, sizeof bound));
    fact_le(ra, atom_int(i->type.elem, 0), atom_var(i), 0);
    fact_le(ra, atom_var(i), bound, 1);
}

/* --- Questions ------------------------------------------------------------------------------ */

static bool case_of(Ranges *ra, Goal *g, Atom a)
{
    Poly p = poly_const(0);
    return add_atom(ra, &p, a, 1, LOOK) && prove_case(g, &p);
}

/* What a variable may be: the operands of a minimum, the results of a choice. */
static bool choices(void *env, const void *var, Goal *g)
{
    Ranges *ra = env;
    const Def *d = varmap_get(ra->defs, var);
    if (!d)
        return false;
    const Exp *e = d->exp;
    if (e->kind == E_PRIM && (e->prim.op == OP_MIN || e->prim.op == OP_MAX))
        return case_of(ra, g, e->prim.args.at[0]) && case_of(ra, g, e->prim.args.at[1]);
    if (e->kind != E_IF)
        return false;
    bool ok = true;
    for (int truth = 1; truth >= 0 && ok; truth--) {
        const Body *b = truth ? e->branch.then_ : e->branch.else_;
        int mark = ranges_mark(ra);
        ranges_cond(ra, e->branch.test, truth);
        ok = case_of(ra, g, b->res.at[d->k]);
        ranges_reset(ra, mark);
    }
    return ok;
}

bool ranges_le(Ranges *ra, Atom a, Atom b, int64_t slack)
{
    PrimType t = atom_type(a).elem;
    /* Constants of u64 are kept as negative numbers when large. */
    if (!prim_is_int(t) || t == T_U64)
        return false;
    /* |a| < 2^bits */
    if (!b.var && slack == 0 && b.c.i >= MAX_SIZE && bits_of(ra, a, LOOK) <= SIZE_BITS)
        return true;
    Poly goal;
    return difference(ra, &goal, a, b, slack) && prover_nonneg(ra->prover, &goal);
}

/* --- Conditions and definitions ------------------------------------------------------------- */

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
static void fact_div(Ranges *ra, Var *v, Atom x, int64_t m)
{
    Poly p = poly_const(0), q = poly_const(m - 1), nonneg = p;
    if (add_atom(ra, &p, x, 1, LOOK) && add_var(ra, &p, v, -m)) {
        prover_assume(ra->prover, &p);
        if (poly_add(&q, &p, -1))
            prover_assume(ra->prover, &q);
    }
    if (add_var(ra, &nonneg, v, 1))
        prover_assume(ra->prover, &nonneg);
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
        if (e->kind != E_IOTA && e->kind != E_REPLICATE) /* moved ones may have any size (ir.h) */
            ranges_type(ra, pat->at[k]->type);
        def_fact(ra, pat->at[k]);
    }
    if (e->kind == E_ASSERT)
        ranges_cond(ra, e->assertion.cond, true);
}

/* --- Binders of bodies ---------------------------------------------------------------------- */

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
    if (nd->row)
        index_fact(ra, nd->row, nd->rows);
    types(ra, &nd->xs);
}

void ranges_some(Ranges *ra, Atom width)
{
    Var *at = NEW(ra->cx->perm, Var);
    *at = (Var){.base = "at", .type = type_prim(T_I64)};
    index_fact(ra, at, width);
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

/* --- Bounds --------------------------------------------------------------------------------- */

static bool slice_in_bounds(Ranges *ra, Atom size, const DimIndex *d)
{
    Poly p;
    if (!ranges_le(ra, atom_i64(0), d->n, 0) || d->stride.var)
        return false;
    int64_t s = d->stride.c.i;
    if (s == 1)
        /* 0 <= start, start + n <= size */
        return ranges_le(ra, atom_i64(0), d->start, 0) && difference(ra, &p, d->start, size, 0) &&
               add_atom(ra, &p, d->n, -1, LOOK) && prover_nonneg(ra->prover, &p);
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
