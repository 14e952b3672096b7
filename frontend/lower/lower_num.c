/* Numbers: constants, operations on them, what is known of them and asserted. */
#include "frontend/lower/lower_int.h"

#include <math.h>

/* --- Constants ------------------------------------------------------------------------------ */

Atom atom_highest(PrimType t)
{
    if (prim_is_float(t))
        return atom_float(t, INFINITY);
    int bits = prim_bits(t);
    if (!prim_is_signed(t))
        return atom_int(t, -1);
    return atom_int(t, (int64_t)(UINT64_MAX >> (65 - bits)));
}

Atom atom_lowest(PrimType t)
{
    if (prim_is_float(t))
        return atom_float(t, -INFINITY);
    int bits = prim_bits(t);
    return prim_is_signed(t) ? atom_int(t, (int64_t)(UINT64_MAX << (bits - 1))) : atom_int(t, 0);
}

Atom atom_number(PrimType t, int i)
{
    return prim_is_float(t) ? atom_float(t, i) : atom_int(t, i);
}

Atom neutral(PrimType t, PrimOp op)
{
    switch ((int)op) {
    case OP_ADD:
    case OP_OR:
    case OP_XOR: return atom_number(t, 0);
    case OP_MUL: return atom_number(t, 1);
    case OP_AND: return atom_int(t, -1);
    case OP_MIN: return t == T_BOOL ? atom_bool(true) : atom_highest(t);
    case OP_MAX: return t == T_BOOL ? atom_bool(false) : atom_lowest(t);
    case OP_LAND: return atom_bool(true);
    case OP_LOR: return atom_bool(false);
    default: ice(NO_LOC, "no neutral element is known");
    }
}

/* --- Facts ---------------------------------------------------------------------------------- */

void add_fact(Low *L, Fact f)
{
    vec_push(L->cx->perm, &L->sc->facts, f);
}

/* The result of an operation that is at hand already. */
static bool find_op(Low *L, PrimOp op, Atom a, Atom b, Atom *res)
{
    bool commutes = op != OP_SUB && op != OP_DIV && op != OP_MOD;
    for (Scope *sc = L->sc; sc; sc = sc->up) {
        for (int i = 0; i < sc->facts.n; i++) {
            Fact *f = &sc->facts.at[i];
            if (f->kind != FACT_OP || f->op != op)
                continue;
            if ((atom_eq(f->a, a) && atom_eq(f->b, b)) ||
                (commutes && atom_eq(f->a, b) && atom_eq(f->b, a))) {
                *res = f->res;
                return true;
            }
        }
    }
    return false;
}

/* a - b where a was computed as b + res. */
static bool find_difference(Low *L, Atom a, Atom b, Atom *res)
{
    for (Scope *sc = L->sc; sc; sc = sc->up) {
        for (int i = 0; i < sc->facts.n; i++) {
            Fact *f = &sc->facts.at[i];
            if (f->kind != FACT_OP || f->op != OP_ADD || !atom_eq(f->res, a))
                continue;
            if (atom_eq(f->a, b) || atom_eq(f->b, b)) {
                *res = atom_eq(f->a, b) ? f->b : f->a;
                return true;
            }
        }
    }
    return false;
}

static bool find_fact(Low *L, FactKind kind, Atom a, Atom b)
{
    for (Scope *sc = L->sc; sc; sc = sc->up) {
        for (int i = 0; i < sc->facts.n; i++) {
            Fact *f = &sc->facts.at[i];
            if (f->kind == kind && atom_eq(f->a, a) && atom_eq(f->b, b))
                return true;
        }
    }
    return false;
}

/* A comparison of integer constants. */
static bool fold_comparison(PrimOp op, Atom a, Atom b, Atom *res)
{
    if (a.var || b.var || prim_is_float(a.c.type))
        return false;
    bool less = prim_is_signed(a.c.type) ? a.c.i < b.c.i : (uint64_t)a.c.i < (uint64_t)b.c.i;
    bool same = a.c.i == b.c.i;
    if (op != OP_EQ && op != OP_NE && op != OP_LT && op != OP_LE)
        return false;
    *res = atom_bool(op == OP_EQ ? same : op == OP_NE ? !same : less || (op == OP_LE && same));
    return true;
}

Atom emit_op(Low *L, Loc loc, PrimOp op, Atom a, Atom b)
{
    Type t = atom_type(a);
    Atom known;
    if (t.rank == 0 && fold_comparison(op, a, b, &known))
        return known;
    bool reuse = t.elem == T_I64 && (op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN ||
                                     op == OP_MAX || op == OP_DIV || op == OP_MOD);
    if (!reuse)
        return emit(L, exp_binop(L->cx, loc, op, a, b));
    Atom r;
    if (find_op(L, op, a, b, &r))
        return r;
    if (op == OP_SUB && atom_eq(a, b))
        return atom_i64(0);
    if (op == OP_SUB && find_difference(L, a, b, &r))
        return r;
    int before = L->sc->bld.stms.n;
    r = bld_binop(&L->sc->bld, loc, op, a, b);
    if (L->sc->bld.stms.n > before) {
        r.var->base = L->tmp;
        add_fact(L, (Fact){FACT_OP, op, a, b, r});
    }
    return r;
}

Atom emit_conv(Low *L, Loc loc, PrimType to, Atom a)
{
    PrimType from = atom_type(a).elem;
    if (from == to)
        return a;
    if (!a.var)
        return const_conv(to, a.c);
    return emit(L, exp_conv(L->cx, loc, to, a));
}

Atom emit_neg(Low *L, Loc loc, Atom a)
{
    PrimType t = atom_type(a).elem;
    if (!a.var && prim_is_int(t))
        return atom_int(t, (int64_t)(0 - (uint64_t)a.c.i));
    if (!a.var && prim_is_float(t))
        return atom_float(t, -a.c.f);
    return emit(L, exp_unop(L->cx, loc, OP_NEG, a));
}

Atom emit_not(Low *L, Loc loc, Atom a)
{
    if (!a.var)
        return atom_bool(!a.c.i);
    return emit(L, exp_unop(L->cx, loc, OP_NOT, a));
}

Atom emit_both(Low *L, Loc loc, Atom a, Atom b)
{
    if (a.var && b.var)
        return emit(L, exp_binop(L->cx, loc, OP_LAND, a, b));
    Atom known = a.var ? b : a;
    return known.c.i ? (a.var ? a : b) : known;
}

Atom emit_choice(Low *L, Loc loc, Atom test, Atom a, Atom b)
{
    if (!test.var)
        return test.c.i ? a : b;
    Bld b1 = bld_new(L->cx), b2 = bld_new(L->cx);
    Atoms r1 = {0}, r2 = {0};
    vec_push(L->cx->perm, &r1, a);
    vec_push(L->cx->perm, &r2, b);
    return emit(L, exp_if(L->cx, loc, test, bld_body(&b1, r1), bld_body(&b2, r2)));
}

Atom at_least_0(Low *L, Loc loc, Atom n)
{
    return find_fact(L, FACT_NONNEG, n, n) ? n : emit_op(L, loc, OP_MAX, n, atom_i64(0));
}

/* --- Assertions ----------------------------------------------------------------------------- */

void assert_that(Low *L, Loc loc, Atom cond, const char *msg, const Atom *args, int n)
{
    if (!cond.var && cond.c.i)
        return;
    Exp *e = exp_new(L->cx, E_ASSERT, loc);
    e->assertion.cond = cond;
    e->assertion.msg = msg;
    for (int i = 0; i < n; i++)
        vec_push(L->cx->perm, &e->assertion.args, args[i]);
    emit_none(L, e);
}

void assert_eq(Low *L, Loc loc, Atom a, Atom b, const char *msg, const Atom *args, int n)
{
    if (atom_eq(a, b) || L->unsafe || find_fact(L, FACT_EQ, a, b) || find_fact(L, FACT_EQ, b, a))
        return;
    assert_that(L, loc, emit_op(L, loc, OP_EQ, a, b), msg, args, n);
    add_fact(L, (Fact){FACT_EQ, OP_EQ, a, b, a});
    if (find_fact(L, FACT_NONNEG, a, a) && !find_fact(L, FACT_NONNEG, b, b))
        know_nonneg(L, b);
}

void know_nonneg(Low *L, Atom n)
{
    if (n.var)
        add_fact(L, (Fact){FACT_NONNEG, OP_LE, n, n, n});
}

Atom checked_size(Low *L, Loc loc, Atom n, const char *msg, const Atom *args, int n_args)
{
    if ((!n.var && n.c.i >= 0) || find_fact(L, FACT_NONNEG, n, n))
        return n;
    if (!L->unsafe) {
        Atom ok = atom_bool(false);
        if (n.var)
            ok = emit(L, exp_binop(L->cx, loc, OP_LE, atom_i64(0), n));
        assert_that(L, loc, ok, msg, args, n_args);
    }
    know_nonneg(L, n);
    return n.var ? n : atom_i64(0);
}

Atom within(Low *L, Loc loc, Atom n, int64_t most)
{
    Atom natural = emit_op(L, loc, OP_LE, atom_i64(0), n);
    return emit_both(L, loc, natural, emit_op(L, loc, OP_LE, n, atom_i64(most)));
}

Atom bounded_size(Low *L, Loc loc, Atom n, const char *msg, const Atom *args, int n_args)
{
    if (find_fact(L, FACT_NONNEG, n, n) || (!n.var && n.c.i >= 0 && n.c.i <= MAX_SIZE))
        return n;
    if (!L->unsafe)
        assert_that(L, loc, within(L, loc, n, MAX_SIZE), msg, args, n_args);
    know_nonneg(L, n);
    return n.var ? n : atom_i64(0);
}

Atom count_saying(Low *L, Loc loc, Atom n, const char *negative, const Atom *args, int n_args)
{
    if (find_fact(L, FACT_NONNEG, n, n))
        return n;
    Atom size = checked_size(L, loc, n, negative, args, n_args);
    Atom small = emit_op(L, loc, OP_LE, size, atom_i64(MAX_SIZE));
    if (!L->unsafe)
        assert_that(L, loc, small, stop_text[STOP_TOO_LARGE], &n, 1);
    return small.var || small.c.i ? size : atom_i64(0);
}

Atom count_arg(Low *L, Loc loc, Atom n)
{
    return count_saying(L, loc, n, stop_text[STOP_NEGATIVE_SIZE], &n, 1);
}

Atom size_sum(Low *L, Loc loc, Atom n, Atom m)
{
    Atom args[2] = {n, m};
    return bounded_size(L, loc, emit_op(L, loc, OP_ADD, n, m), stop_text[STOP_SUM_TOO_LARGE], args,
                        2);
}

Atom size_product(Low *L, Loc loc, Atom n, Atom m)
{
    Atom args[2] = {n, m}, all = emit_op(L, loc, OP_MUL, n, m);
    if (atom_is_int(n, 1) || atom_is_int(m, 1) || L->unsafe || find_fact(L, FACT_PRODUCT, n, m))
        return all;
    Atom high = emit(L, exp_binop(L->cx, loc, OP_MULHI, n, m));
    Atom ok = emit(L, exp_binop(L->cx, loc, OP_EQ, high, atom_i64(0)));
    ok = emit_both(L, loc, ok, within(L, loc, all, MAX_SIZE));
    assert_that(L, loc, ok, stop_text[STOP_PRODUCT_TOO_LARGE], args, 2);
    know_nonneg(L, all);
    add_fact(L, (Fact){FACT_PRODUCT, OP_MUL, n, m, all});
    return all;
}

/* Dimension d of a value of type t, whose outer n dimensions are to be `dims`. */
static void assert_fits(Low *L, Loc loc, Type t, int d, const Atom *dims, int n)
{
    const char *text = stop_shape(L->cx->perm, t.rank, t.elem);
    Atom args[MOST_STOP_NUMBERS] = {t.dims[d], dims[d]};
    for (int i = 0; text && i < t.rank; i++) {
        args[i] = t.dims[i];
        args[t.rank + i] = i < n ? dims[i] : t.dims[i];
    }
    assert_eq(L, loc, t.dims[d], dims[d], text ? text : stop_text[STOP_SIZES], args,
              text ? 2 * t.rank : 2);
}

Atom fit_atom(Low *L, Loc loc, Atom arr, const Atom *dims, int n)
{
    Type t = atom_type(arr);
    ASSERT(n <= t.rank);
    bool same = true, never = false;
    for (int i = 0; i < n; i++) {
        if (atom_eq(t.dims[i], dims[i]))
            continue;
        same = false;
        never = never || (!t.dims[i].var && !dims[i].var);
        assert_fits(L, loc, t, i, dims, n);
    }
    if (same)
        return arr;
    if (never) { /* behind an assertion that fails: any value of the type will do */
        Exp *sc = exp_new(L->cx, E_SCRATCH, loc);
        sc->scratch.type = type_array_n(L->cx, type_drop(t, n), dims, n);
        return emit(L, sc);
    }
    Exp *e = exp_new(L->cx, E_RESHAPE, loc);
    e->reshape.arr = arr;
    for (int i = 0; i < t.rank; i++)
        vec_push(L->cx->perm, &e->reshape.dims, i < n ? dims[i] : t.dims[i]);
    return emit_all(L, arr.var->base, e).at[0];
}

static Val *fit_val(Low *L, Loc loc, Val *v, const Atom *dims, int n)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++)
        as.at[i] = fit_atom(L, loc, as.at[i], dims, n);
    return val_rebuild(L, v, &as);
}

Val *fit_like(Low *L, Loc loc, Val *v, const Val *like)
{
    if (v->kind == V_ATOM && like->kind == V_ATOM && !atom_type(v->atom).rank)
        return v; /* one of many numbers in an array literal */
    Atoms as = val_leaves(L, v), to = val_leaves(L, like);
    if (as.n != to.n)
        ice(loc, "lowering: %d components where %d were expected", as.n, to.n);
    for (int i = 0; i < as.n; i++) {
        Type t = atom_type(to.at[i]);
        as.at[i] = fit_atom(L, loc, as.at[i], t.dims, t.rank);
    }
    return val_rebuild(L, v, &as);
}

Atom common_width(Low *L, Loc loc, Val **vals, int n)
{
    const Atom *a = val_first_leaf(vals[0]);
    if (!a)
        ice(loc, "lowering: an array without a size");
    Atom width = atom_type(*a).dims[0];
    for (int i = 0; i < n; i++)
        vals[i] = fit_val(L, loc, vals[i], &width, 1);
    return width;
}
