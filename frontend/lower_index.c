/* Lowering of indexing, slices, in-place updates, ranges and array literals. Defaults of slices and
 * the validity of ranges are those of the Futhark language reference. */
#include "frontend/lower_int.h"

/* --- Small i64 arithmetic -------------------------------------------------------------------- */

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

/* ceil(a / k) for a constant k > 0 and a >= 0 */
static Atom ceil_div(Low *L, Loc loc, Atom a, int64_t k)
{
    if (k == 1)
        return a;
    if (!a.var)
        return atom_i64(a.c.i / k + (a.c.i % k > 0));
    Atom up = emit_op(L, loc, OP_ADD, a, atom_i64(k - 1));
    return emit_op(L, loc, OP_DIV, up, atom_i64(k));
}

static Atom low_i64(Low *L, Env *env, const AExp *e)
{
    Atom a = val_scalar(lower_exp(L, env, e), e->loc);
    return emit_conv(L, low_loc(L, e->loc), T_I64, a);
}

static void check(Low *L, Loc loc, PrimOp op, Atom a, Atom b, const char *msg, const Atom *args,
                  int n)
{
    if (!L->unsafe)
        assert_that(L, loc, emit_op(L, loc, op, a, b), msg, args, n);
}

/* --- Slices ---------------------------------------------------------------------------------- */

static Atom check_length(Low *L, Loc loc, Atom n, Atom i, Atom j, Atom w)
{
    Atom args[3] = {i, j, w};
    if (atom_eq(n, w))
        return n;
    return checked_size(L, loc, n, "slice %d:%d is invalid for an array of size %d", args, 3);
}

/* i:j:s with a stride that is a constant other than 0 */
static DimIndex const_stride(Low *L, Env *env, const ADimIndex *d, int64_t s, Atom w, Loc loc)
{
    bool up = s > 0;
    Atom i = d->i ? low_i64(L, env, d->i)
             : up ? atom_i64(0)
                  : emit_op(L, loc, OP_SUB, w, atom_i64(1));
    Atom j = d->j ? low_i64(L, env, d->j) : up ? w : atom_i64(-1);
    Atom span = up ? emit_op(L, loc, OP_SUB, j, i) : w;
    if (!up && (d->i || d->j))
        span = d->j ? emit_op(L, loc, OP_SUB, i, j) : emit_op(L, loc, OP_ADD, i, atom_i64(1));
    span = check_length(L, loc, span, i, j, w);
    Atom n = ceil_div(L, loc, span, up ? s : -s);
    know_nonneg(L, n);
    return (DimIndex){true, i, n, atom_i64(s)};
}

/* i:j:s with a stride known at run time: the defaults depend on its sign */
static DimIndex var_stride(Low *L, Env *env, const ADimIndex *d, Atom s, Atom w, Loc loc)
{
    check(L, loc, OP_NE, s, atom_i64(0), "slice with stride zero", NULL, 0);
    Atom down = emit(L, exp_binop(L->cx, loc, OP_LT, s, atom_i64(0)));
    Atom i = d->i ? low_i64(L, env, d->i)
                  : emit_choice(L, loc, down, emit_op(L, loc, OP_SUB, w, atom_i64(1)), atom_i64(0));
    Atom j = d->j ? low_i64(L, env, d->j) : emit_choice(L, loc, down, atom_i64(-1), w);
    Atom sgn = emit(L, exp_unop(L->cx, loc, OP_SGN, s));
    Atom span = emit_op(L, loc, OP_SUB, j, i);
    Atom round = emit_op(L, loc, OP_SUB, emit_op(L, loc, OP_ADD, span, s), sgn);
    Atom n = emit_op(L, loc, OP_QUOT, round, s);
    /* j on the wrong side of i must not pass as an empty slice after rounding. */
    check_length(L, loc, emit_op(L, loc, OP_MUL, span, sgn), i, j, w);
    know_nonneg(L, n);
    return (DimIndex){true, i, n, s};
}

static DimIndex lower_dim(Low *L, Env *env, const ADimIndex *d, Atom w, Loc loc)
{
    if (!d->slice)
        return (DimIndex){false, low_i64(L, env, d->i), atom_i64(1), atom_i64(1)};
    Atom s = d->s ? low_i64(L, env, d->s) : atom_i64(1);
    if (!s.var && s.c.i != 0)
        return const_stride(L, env, d, s.c.i, w, loc);
    return var_stride(L, env, d, s, w, loc);
}

static DimIndexes lower_dims(Low *L, Env *env, Val *arr, const ADimIndices *dims, Loc loc)
{
    Atoms as = val_leaves(L, arr);
    DimIndexes at = {0};
    Type t = atom_type(as.at[0]);
    for (int i = 0; i < dims->n; i++)
        vec_push(L->cx->perm, &at, lower_dim(L, env, &dims->at[i], t.dims[i], loc));
    return at;
}

static bool is_whole(const DimIndex *d, Atom w)
{
    return d->is_slice && atom_is_int(d->start, 0) && atom_is_int(d->stride, 1) && atom_eq(d->n, w);
}

/* `at` followed by the whole of arr's other dimensions */
static DimIndexes full_dims(Low *L, Atom arr, const DimIndexes *at)
{
    Type t = atom_type(arr);
    DimIndexes all = {0};
    vec_append(L->cx->perm, &all, at);
    for (int d = at->n; d < t.rank; d++)
        vec_push(L->cx->perm, &all, (DimIndex){true, atom_i64(0), t.dims[d], atom_i64(1)});
    return all;
}

static Atom index_atom(Low *L, Loc loc, Atom arr, const DimIndexes *at, bool safe)
{
    Type t = atom_type(arr);
    Exp *e = exp_new(L->cx, E_INDEX, loc);
    e->index.arr = arr;
    e->index.at = full_dims(L, arr, at);
    e->index.safe = safe;
    bool whole = true;
    for (int d = 0; d < t.rank; d++)
        whole = whole && is_whole(&e->index.at.at[d], t.dims[d]);
    return whole ? arr : emit(L, e);
}

static Val *index_val(Low *L, Loc loc, Val *v, const DimIndexes *at, bool safe)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++)
        as.at[i] = index_atom(L, loc, as.at[i], at, safe);
    return val_rebuild(L, v, &as);
}

Val *slice_rows(Low *L, Loc loc, Val *v, Atom start, Atom n, Atom stride, bool safe)
{
    DimIndex d = {true, start, n, stride};
    DimIndexes at = {&d, 1, 1};
    return index_val(L, loc, v, &at, safe);
}

Val *index_row(Low *L, Loc loc, Val *v, Atom i, bool safe)
{
    DimIndex d = {false, i, atom_i64(1), atom_i64(1)};
    DimIndexes at = {&d, 1, 1};
    return index_val(L, loc, v, &at, safe);
}

Val *lower_index(Low *L, Env *env, Val *arr, const ADimIndices *dims, Loc loc)
{
    DimIndexes at = lower_dims(L, env, arr, dims, loc);
    return index_val(L, loc, arr, &at, false);
}

Val *lower_update(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    Val *arr = lower_exp(L, env, e->update.e);
    DimIndexes at = lower_dims(L, env, arr, &e->update.dims, loc);
    Val *v = lower_exp(L, env, e->update.value);
    Atoms as = val_leaves(L, arr), vs = val_leaves(L, v);
    ASSERT(as.n == vs.n);
    for (int i = 0; i < as.n; i++) {
        Exp *up = exp_new(L->cx, E_UPDATE, loc);
        up->update.arr = as.at[i];
        up->update.at = full_dims(L, as.at[i], &at);
        Atoms dims = {0};
        for (int d = 0; d < up->update.at.n; d++)
            if (up->update.at.at[d].is_slice)
                vec_push(L->cx->perm, &dims, up->update.at.at[d].n);
        up->update.val = fit_atom(L, loc, vs.at[i], dims.at, dims.n);
        const char *base = as.at[i].var->base;
        as.at[i] = emit_all(L, base, up).at[0];
    }
    return val_rebuild(L, arr, &as);
}

/* --- Ranges ---------------------------------------------------------------------------------- */

/* The number of elements of a range with step 1 or -1. */
static Atom unit_range_count(Low *L, Loc loc, RangeKind kind, Atom a, Atom b)
{
    Atom span = kind == RANGE_ABOVE ? emit_op(L, loc, OP_SUB, a, b) : emit_op(L, loc, OP_SUB, b, a);
    /* 1...n has the n elements that the checker says it has. */
    if (kind == RANGE_TO && atom_is_int(a, 1))
        return count_arg(L, loc, b);
    if (atom_is_int(a, 0) && kind == RANGE_BELOW)
        return count_arg(L, loc, b);
    Atom args[2] = {a, b};
    span = checked_size(L, loc, span, "the range from %d to %d is invalid", args, 2);
    if (kind != RANGE_TO)
        return span;
    Atom n = emit_op(L, loc, OP_ADD, span, atom_i64(1));
    know_nonneg(L, n);
    return n;
}

/* a..s...b with a step of either sign, unless the kind fixes it */
static Atom step_range_count(Low *L, Loc loc, RangeKind kind, Atom a, Atom b, Atom step)
{
    Atom args[3] = {a, b, step}, zero = atom_i64(0);
    const char *msg = "the range from %d to %d with step %d is invalid";
    if (!step.var && (step.c.i == 0 || (kind == RANGE_BELOW && step.c.i < 0) ||
                      (kind == RANGE_ABOVE && step.c.i > 0)))
        check(L, loc, OP_NE, zero, zero, msg, args, 3);
    else if (step.var)
        check(L, loc, kind == RANGE_TO ? OP_NE : OP_LT, kind == RANGE_ABOVE ? step : zero,
              kind == RANGE_ABOVE ? zero : step, msg, args, 3);
    Atom dist = emit_op(L, loc, OP_SUB, b, a), sgn, size;
    if (step.var) {
        sgn = emit(L, exp_unop(L->cx, loc, OP_SGN, step));
        size = emit(L, exp_unop(L->cx, loc, OP_ABS, step));
    } else {
        sgn = atom_i64(step.c.i < 0 ? -1 : 1);
        size = atom_i64(step.c.i < 0 ? -step.c.i : step.c.i > 0 ? step.c.i : 1);
    }
    Atom span = emit_op(L, loc, OP_MUL, dist, sgn);
    span = checked_size(L, loc, span, msg, args, 3);
    if (kind == RANGE_TO)
        span = emit_op(L, loc, OP_ADD, span, atom_i64(1));
    if (!size.var)
        return ceil_div(L, loc, span, size.c.i);
    Atom up = emit_op(L, loc, OP_SUB, emit_op(L, loc, OP_ADD, span, size), atom_i64(1));
    return emit_op(L, loc, OP_DIV, up, size);
}

Range lower_range_parts(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    Range r;
    r.start = val_scalar(lower_exp(L, env, e->range.start), loc);
    PrimType t = atom_type(r.start).elem;
    Atom a = emit_conv(L, loc, T_I64, r.start), second = r.start;
    if (e->range.second)
        second = val_scalar(lower_exp(L, env, e->range.second), loc);
    Atom b = low_i64(L, env, e->range.end);
    if (!e->range.second) {
        r.step = atom_int(t, e->range.kind == RANGE_ABOVE ? -1 : 1);
        r.count = unit_range_count(L, loc, e->range.kind, a, b);
        return r;
    }
    Atom step = emit_op(L, loc, OP_SUB, emit_conv(L, loc, T_I64, second), a);
    r.count = step_range_count(L, loc, e->range.kind, a, b, step);
    r.step = emit_conv(L, loc, t, step);
    know_nonneg(L, r.count);
    return r;
}

Val *lower_range(Low *L, Env *env, const AExp *e)
{
    Range r = lower_range_parts(L, env, e);
    Exp *io = exp_new(L->cx, E_IOTA, low_loc(L, e->loc));
    io->iota.n = r.count;
    io->iota.start = r.start;
    io->iota.stride = r.step;
    return val_atom(L, emit(L, io));
}

/* --- Array literals -------------------------------------------------------------------------- */

static Atom emit_literal(Low *L, Loc loc, Type elem, Atoms elems)
{
    Exp *e = exp_new(L->cx, E_ARRAYLIT, loc);
    e->arraylit.elem = elem;
    e->arraylit.elems = elems;
    return emit(L, e);
}

/* The empty array whose elements are of type at: each array below it with the dims so far. */
static Val *empty_array(Low *L, Env *env, const AType *at, Atoms dims, Loc loc)
{
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: {
        Type t = {(PrimType)at->scalar, dims.n, dims.at};
        return val_atom(L, emit_literal(L, loc, t, (Atoms){0}));
    }
    case TY_ARRAY: {
        Atom n;
        if (!size_atom(L, env, at->array.dim, &n))
            n = atom_i64(0);
        Atoms more = {0};
        vec_append(L->cx->perm, &more, &dims);
        vec_push(L->cx->perm, &more, n);
        return empty_array(L, env, at->array.elem, more, loc);
    }
    case TY_TUPLE:
    case TY_RECORD: {
        if (!at->elems.n)
            return val_atom(L, emit_literal(L, loc, (Type){T_BOOL, dims.n, dims.at}, (Atoms){0}));
        Vals vs = {0};
        for (int i = 0; i < at->elems.n; i++) {
            Val *v = empty_array(L, env, at->elems.at[i], dims, loc);
            vec_push(L->cx->perm, &vs, v);
        }
        return val_tuple(L, vs);
    }
    case TY_VAR: {
        const Env *en = env_find(env, at->var);
        if (!en) /* nobody can tell: there is no value of that type */
            return empty_array(L, env, &(AType){.kind = TY_TUPLE}, dims, loc);
        if (en->type)
            return empty_array(L, (Env *)en->type_env, en->type, dims, loc);
        Atoms as = val_leaves(L, en->val);
        for (int i = 0; i < as.n; i++) {
            Type t = type_drop(atom_type(as.at[i]), en->drop);
            t = type_array_n(L->cx, t, dims.at, dims.n);
            as.at[i] = emit_literal(L, loc, t, (Atoms){0});
        }
        return val_rebuild(L, en->val, &as);
    }
    case TY_FUN:
    case TY_META:
    case TY_ERROR: break;
    }
    ice(loc, "lowering: an empty array of functions");
}

/* Any value of the type, behind an assertion that fails: an element of an empty array. */
Val *lower_hole(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    assert_that(L, loc, atom_bool(false), "this hole of the program was reached", NULL, 0);
    return index_row(L, loc, empty_array(L, env, e->type, (Atoms){0}, loc), atom_i64(0), true);
}

Val *lower_array(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    const AExps *es = &e->seq.elems;
    if (es->n == 0)
        return empty_array(L, env, type_deref(e->type)->array.elem, (Atoms){0}, loc);
    VEC(Atoms) rows = {0};
    Val *first = NULL;
    for (int i = 0; i < es->n; i++) {
        Val *v = lower_exp(L, env, es->at[i]);
        if (first)
            v = fit_like(L, low_loc(L, es->at[i]->loc), v, first);
        else
            first = v;
        vec_push(L->cx->perm, &rows, val_leaves(L, v));
    }
    Atoms out = {0};
    for (int k = 0; k < rows.at[0].n; k++) {
        Atoms elems = {0};
        for (int i = 0; i < rows.n; i++)
            vec_push(L->cx->perm, &elems, rows.at[i].at[k]);
        vec_push(L->cx->perm, &out, emit_literal(L, loc, atom_type(rows.at[0].at[k]), elems));
    }
    return val_rebuild(L, first, &out);
}
