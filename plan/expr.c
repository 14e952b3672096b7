/* Scalar expressions and the conditions of checks, for the host and for kernels: data (kir/kir.h)
 * over what `atom` makes of the operands. */
#include "plan/expr.h"
#include "ir/ranges.h"
#include "ir/stops.h"

#include "base/intern.h"

#include <string.h>

const char *atom_c(Atom a)
{
    return a.var ? var_c_name(a.var) : kir_const_c(a.c);
}

/* --- Expressions --------------------------------------------------------------------------- */

const KExp *host_atom(Arena *a, Atom x)
{
    return x.var ? kx_host(a, x.var) : kx_const(a, x.c);
}

static const KExp *in_host(void *env, Atom a)
{
    return host_atom(env, a);
}

Scalars scalars_host(Arena *a, Ranges *known)
{
    return (Scalars){a, in_host, a, known};
}

static const KExp *of(const Scalars *sc, Atom a)
{
    return sc->atom(sc->env, a);
}

const KExp *scalar_exp(const Scalars *sc, const Exp *e)
{
    if (e->kind == E_ATOM)
        return of(sc, e->atom);
    if (e->kind == E_CONV)
        return kx_conv(sc->arena, e->conv.to, of(sc, e->conv.arg));
    if (e->kind != E_PRIM)
        ice(e->loc, "%s is not a scalar expression", form_info[e->kind].tag);
    const KExp *args[3];
    ASSERT(e->prim.args.n <= 3);
    for (int i = 0; i < e->prim.args.n; i++)
        args[i] = of(sc, e->prim.args.at[i]);
    return kx_prim(sc->arena, e->prim.op, e->prim.type, args);
}

/* --- Checks -------------------------------------------------------------------------------- */

/* Is a + slack <= b known where the check would stand? */
static bool certain(const Scalars *sc, Atom a, Atom b, int64_t slack)
{
    return ranges_le(sc->known, a, b, slack);
}

const KExp *scalar_check(const Scalars *sc, const Exp *e, const char **msg)
{
    if (e->kind != E_PRIM || !prim_is_int(e->prim.type))
        return NULL;
    PrimOp op = e->prim.op;
    Atom y = e->prim.args.n > 1 ? e->prim.args.at[1] : (Atom){0};
    const KExp *zero = kx_const(sc->arena, (Const){.type = e->prim.type});
    if (op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM) {
        if ((!y.var && y.c.i != 0) || certain(sc, atom_int(e->prim.type, 0), y, 1))
            return NULL;
        *msg = stop_text[STOP_DIVISION];
        return kx_ne(sc->arena, of(sc, y), zero);
    }
    if (op == OP_POW && prim_is_signed(e->prim.type)) {
        if (certain(sc, atom_int(e->prim.type, 0), y, 0))
            return NULL;
        *msg = stop_text[STOP_EXPONENT];
        return kx_le(sc->arena, zero, of(sc, y));
    }
    return NULL;
}

static const KExp *not_negative(const Scalars *sc, const KExp *x)
{
    return kx_le(sc->arena, kx_int(sc->arena, 0), x);
}

/* 0 <= s < z, as far as that is not known; NULL: it is. */
static const KExp *position_check(const Scalars *sc, Atom s, Atom z)
{
    const KExp *low = certain(sc, atom_i64(0), s, 0) ? NULL : not_negative(sc, of(sc, s));
    const KExp *high = certain(sc, s, z, 1) ? NULL : kx_lt(sc->arena, of(sc, s), of(sc, z));
    return low && high ? kx_and(sc->arena, low, high) : low ? low : high;
}

/* A slice that is known to be inside. */
static bool slice_fits(const Scalars *sc, DimIndex d, Atom size)
{
    Type t = {T_I64, 1, &size};
    if (ranges_in_bounds(sc->known, t, &(DimIndexes){&d, 1, 1}))
        return true;
    if (d.start.var || d.n.var || d.stride.var || d.n.c.i < 1)
        return false;
    Atom last = atom_i64(d.start.c.i + (d.n.c.i - 1) * d.stride.c.i);
    return !position_check(sc, d.start, size) && !position_check(sc, last, size);
}

/* The condition for one index component to lie in a dimension of size `size`; NULL: it does. */
static const KExp *dim_check(const Scalars *sc, DimIndex d, Atom size)
{
    Arena *a = sc->arena;
    const KExp *s = of(sc, d.start), *z = of(sc, size);
    if (!d.is_slice)
        return position_check(sc, d.start, size);
    if (slice_fits(sc, d, size))
        return NULL;
    const KExp *n = of(sc, d.n), *st = of(sc, d.stride), *in = not_negative(sc, s);
    if (atom_is_int(d.stride, 1)) {
        in = kx_and(a, in, kx_le(a, s, kx_sub(a, z, n)));
    } else {
        const KExp *last = kx_add(a, s, kx_mul(a, kx_sub(a, n, kx_int(a, 1)), st));
        in = kx_and(a, in, kx_lt(a, s, z));
        in = kx_and(a, in, kx_and(a, not_negative(sc, last), kx_lt(a, last, z)));
    }
    if (!d.n.var && d.n.c.i >= 1)
        return in;
    /* Empty slices are fine anywhere. */
    in = kx_and(a, kx_lt(a, kx_int(a, 0), n), in);
    return kx_or(a, kx_eq(a, n, kx_int(a, 0)), in);
}

const KExp *index_check(const Scalars *sc, const Exp *e)
{
    Type t;
    bool safe;
    const DimIndexes *at = index_dims(e, &t, &safe);
    const KExp *all = NULL;
    for (int k = 0; k < at->n && !safe; k++) {
        const KExp *in = dim_check(sc, at->at[k], t.dims[k]);
        all = !in ? all : all ? kx_and(sc->arena, all, in) : in;
    }
    return all;
}

static void push_arg(const Scalars *sc, KExps *args, Atom a)
{
    vec_push(sc->arena, args, of(sc, a));
}

/* Behind the last of the slice's positions: of a step by one the number itself, else with care for
 * what does not fit, as mf_slice_end in common/scalar.h. */
static const KExp *slice_end(const Scalars *sc, DimIndex d)
{
    Arena *a = sc->arena;
    const KExp *s = of(sc, d.start), *n = of(sc, d.n), *st = of(sc, d.stride);
    const KExp *wrapped = kx_prim2(a, OP_ADD, s, kx_prim2(a, OP_MUL, n, st));
    const KExp *careful = kx_saturate(a, OP_ADD, s, kx_saturate(a, OP_MUL, n, st));
    const KExp *one = kx_or(a, kx_eq(a, st, kx_int(a, 1)), kx_eq(a, st, kx_int(a, -1)));
    return kx_select(a, one, wrapped, careful);
}

int index_site(const Scalars *sc, Plan *p, const Exp *e, KExps *args)
{
    Type t;
    bool safe;
    const DimIndexes *at = index_dims(e, &t, &safe);
    IndexStop stop = stop_index(sc->arena, e);
    *args = (KExps){0};
    for (int i = 0; i < stop.n; i++) {
        DimIndex d = at->at[stop.at[i].dim];
        switch (stop.at[i].part) {
        case INDEX_START: push_arg(sc, args, d.start); break;
        case INDEX_END: vec_push(sc->arena, args, slice_end(sc, d)); break;
        case INDEX_STRIDE: push_arg(sc, args, d.stride); break;
        case INDEX_SIZE: push_arg(sc, args, t.dims[stop.at[i].dim]); break;
        }
    }
    return plan_site(p, e->loc, stop.text);
}

int assert_site(const Scalars *sc, Plan *p, const Exp *e, KExps *args)
{
    *args = (KExps){0};
    for (int i = 0; i < e->assertion.args.n && i < MOST_STOP_NUMBERS; i++)
        push_arg(sc, args, e->assertion.args.at[i]);
    return plan_site(p, e->loc, e->assertion.msg);
}
