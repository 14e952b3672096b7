/* Lowering of indexing, slices, in-place updates, ranges and array literals. Defaults of slices and
 * the validity of ranges are those of the Futhark language reference. */
#include "frontend/lower/lower_int.h"

/* --- Small i64 arithmetic ------------------------------------------------------------------- */

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

/* --- Slices --------------------------------------------------------------------------------- */

/* i:j:s of w elements, or the element i, and what of it is written. */
typedef struct {
    const ADimIndex *d;
    Atom i, j, s, w;
} Cut;
typedef VEC(Cut) Cuts;

/* What is said of wrong ones, with these numbers. */
typedef struct {
    const char *text;
    Atoms args;
} Said;

static void say_number(Low *L, Said *said, Out *o, const char *text, Atom number)
{
    out_puts(o, text);
    vec_push(L->cx->perm, &said->args, number);
}

static void say_cut(Low *L, Said *said, Out *o, const Cut *c)
{
    const ADimIndex *d = c->d;
    if (d->i || (d->slice && !d->j && !d->s))
        say_number(L, said, o, "%d", c->i);
    if (d->slice)
        out_puts(o, ":");
    if (d->j)
        say_number(L, said, o, "%d", c->j);
    if (d->s)
        say_number(L, said, o, ":%d", c->s);
}

static Said say_cuts(Low *L, const Cuts *cs)
{
    Said said = {0};
    Out o = {0};
    out_puts(&o, "Index [");
    for (int k = 0; k < cs->n; k++) {
        out_puts(&o, k ? ", " : "");
        say_cut(L, &said, &o, &cs->at[k]);
    }
    out_puts(&o, "] out of bounds for array of shape ");
    for (int k = 0; k < cs->n; k++)
        say_number(L, &said, &o, "[%d]", cs->at[k].w);
    out_puts(&o, ".");
    said.text = intern(o.text);
    out_free(&o);
    return said.args.n <= MOST_STOP_NUMBERS ? said : (Said){.text = stop_text[STOP_INDEX_LONG]};
}

/* A stride beyond all sizes is as good as any other such one; sums with it do not wrap around. */
static const int64_t most_stride = 2 * (MAX_SIZE + 1);

/* i and j of a slice with a constant stride other than 0 */
static Cut const_cut(Low *L, Env *env, const ADimIndex *d, int64_t s, Atom w, Loc loc)
{
    bool up = s > 0;
    s = s > most_stride ? most_stride : s < -most_stride ? -most_stride : s;
    Atom i = d->i ? low_i64(L, env, d->i)
             : up ? atom_i64(0)
                  : emit_op(L, loc, OP_SUB, w, atom_i64(1));
    Atom j = d->j ? low_i64(L, env, d->j) : up ? w : atom_i64(-1);
    return (Cut){d, i, j, atom_i64(s), w};
}

/* ... with one known at run time: the defaults depend on its sign */
static Cut var_cut(Low *L, Env *env, const ADimIndex *d, Atom s, Atom w, Loc loc)
{
    Atom down = emit(L, exp_binop(L->cx, loc, OP_LT, s, atom_i64(0)));
    Atom i = d->i ? low_i64(L, env, d->i)
                  : emit_choice(L, loc, down, emit_op(L, loc, OP_SUB, w, atom_i64(1)), atom_i64(0));
    Atom j = d->j ? low_i64(L, env, d->j) : emit_choice(L, loc, down, atom_i64(-1), w);
    return (Cut){d, i, j, s, w};
}

static Cut lower_cut(Low *L, Env *env, const ADimIndex *d, Atom w, Loc loc)
{
    if (!d->slice)
        return (Cut){.d = d, .i = low_i64(L, env, d->i), .w = w};
    Atom s = d->s ? low_i64(L, env, d->s) : atom_i64(1);
    bool known = !s.var && s.c.i != 0;
    return known ? const_cut(L, env, d, s.c.i, w, loc) : var_cut(L, env, d, s, w, loc);
}

static DimIndex const_slice(Low *L, Loc loc, const Cut *c, const Said *said)
{
    const ADimIndex *d = c->d;
    int64_t s = c->s.c.i;
    bool up = s > 0, one = s == 1 || s == -1;
    Atom span = up ? emit_op(L, loc, OP_SUB, c->j, c->i) : c->w;
    if (!up && (d->i || d->j))
        span =
            d->j ? emit_op(L, loc, OP_SUB, c->i, c->j) : emit_op(L, loc, OP_ADD, c->i, atom_i64(1));
    if (!atom_eq(span, c->w)) /* the distance is rounded: none that wrapped around may pass */
        span = (one ? checked_size : bounded_size)(L, loc, span, said->text, said->args.at,
                                                   said->args.n);
    Atom n = ceil_div(L, loc, span, up ? s : -s);
    know_nonneg(L, n);
    return (DimIndex){true, c->i, n, c->s};
}

static DimIndex var_slice(Low *L, Loc loc, const Cut *c, const Said *said)
{
    check(L, loc, OP_NE, c->s, atom_i64(0), said->text, said->args.at, said->args.n);
    Atom sgn = emit(L, exp_unop(L->cx, loc, OP_SGN, c->s));
    Atom span = emit_op(L, loc, OP_SUB, c->j, c->i), size = emit_op(L, loc, OP_MUL, span, sgn);
    /* j on the wrong side of i must not pass as an empty slice after rounding. */
    if (!atom_eq(size, c->w))
        bounded_size(L, loc, size, said->text, said->args.at, said->args.n);
    Atom s = emit_op(L, loc, OP_MAX, emit_op(L, loc, OP_MIN, c->s, atom_i64(most_stride)),
                     atom_i64(-most_stride));
    Atom round = emit_op(L, loc, OP_SUB, emit_op(L, loc, OP_ADD, span, s), sgn);
    Atom n = emit_op(L, loc, OP_QUOT, round, s);
    know_nonneg(L, n);
    return (DimIndex){true, c->i, n, s};
}

static DimIndex lower_slice(Low *L, Loc loc, const Cut *c, const Said *said)
{
    if (!c->d->slice)
        return (DimIndex){false, c->i, atom_i64(1), atom_i64(1)};
    bool known = !c->s.var && c->s.c.i != 0;
    return known ? const_slice(L, loc, c, said) : var_slice(L, loc, c, said);
}

/* Adds those of arr[at][dims]; `at` has fixed ones only. */
static void lower_dims(Low *L, Env *env, Val *arr, const ADimIndices *dims, Loc loc, DimIndexes *at)
{
    Atoms as = val_leaves(L, arr);
    Type t = atom_type(as.at[0]);
    Cuts cs = {0};
    for (int i = 0, n = at->n; i < dims->n; i++)
        vec_push(L->cx->perm, &cs, lower_cut(L, env, &dims->at[i], t.dims[n + i], loc));
    Said said = say_cuts(L, &cs);
    for (int i = 0; i < cs.n; i++)
        vec_push(L->cx->perm, at, lower_slice(L, loc, &cs.at[i], &said));
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
    DimIndexes at = {0};
    lower_dims(L, env, arr, dims, loc, &at);
    return index_val(L, loc, arr, &at, false);
}

/* --- Paths ---------------------------------------------------------------------------------- */

Val *lower_path(Low *L, Env *env, const Steps *path, Val *v, Loc loc)
{
    for (int i = 0; i < path->n; i++) {
        const Step *s = &path->at[i];
        v = s->field ? lower_project(type_deref(s->of), v, s->field, loc)
                     : lower_index(L, env, v, &s->dims, loc);
    }
    return v;
}

static Val *write_at(Low *L, Loc loc, Val *arr, const DimIndexes *at, Val *v)
{
    Atoms as = val_leaves(L, arr), vs = val_leaves(L, v);
    ASSERT(as.n == vs.n);
    for (int i = 0; i < as.n; i++) {
        Exp *up = exp_new(L->cx, E_UPDATE, loc);
        up->update.arr = as.at[i];
        up->update.at = full_dims(L, as.at[i], at);
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

/* v with [at] and the path behind that being the new value of e. The components of an array of
 * records are arrays, so only those that the path leads to are written. */
static Val *update_path(Low *L, Env *env, const AExp *e, Val *v, DimIndexes at, int step)
{
    Loc loc = low_loc(L, e->loc);
    const Steps *path = &e->update.path;
    if (step == path->n) {
        Val *new = lower_exp(L, env, e->update.value);
        return at.n ? write_at(L, loc, v, &at, new) : new;
    }
    const Step *s = &path->at[step];
    if (s->field) {
        int k = type_field(type_deref(s->of), s->field);
        ASSERT(v->kind == V_TUPLE && k >= 0 && k < v->elems.n);
        Vals vs = {0};
        vec_append(L->cx->perm, &vs, &v->elems);
        vs.at[k] = update_path(L, env, e, vs.at[k], at, step + 1);
        return val_tuple(L, vs);
    }
    for (int i = 0; i < at.n; i++)
        if (at.at[i].is_slice) { /* a part of a part */
            Val *part = index_val(L, loc, v, &at, false);
            part = update_path(L, env, e, part, (DimIndexes){0}, step);
            return write_at(L, loc, v, &at, part);
        }
    lower_dims(L, env, v, &s->dims, loc, &at);
    return update_path(L, env, e, v, at, step + 1);
}

Val *lower_update(Low *L, Env *env, const AExp *e)
{
    return update_path(L, env, e, lower_exp(L, env, e->update.e), (DimIndexes){0}, 0);
}

/* --- Ranges --------------------------------------------------------------------------------- */

/* A range as it is written, in its own type, and its ends as i64 (u64 beyond: the same bits). */
typedef struct {
    Loc loc;
    RangeKind kind;
    Atom start, second, end; /* second: == start if there is none */
    Atom a, next, b;         /* start, second, end */
    bool stepped;            /* second is written */
} Ends;

/* What is said of a wrong one, with these arguments. */
static const char *range_stop(const Ends *r, Atom args[3], int *n)
{
    static const Stop texts[][2] = {[RANGE_TO] = {STOP_RANGE_TO, STOP_STEPS_TO},
                                    [RANGE_BELOW] = {STOP_RANGE_BELOW, STOP_STEPS_BELOW},
                                    [RANGE_ABOVE] = {STOP_RANGE_ABOVE, STOP_STEPS_ABOVE}};
    *n = 0;
    args[(*n)++] = r->a;
    if (r->stepped)
        args[(*n)++] = r->next;
    args[(*n)++] = r->b;
    return stop_text[texts[r->kind][r->stepped]];
}

/* The number of elements of a range with step 1 or -1. */
static Atom unit_range_count(Low *L, const Ends *r)
{
    Loc loc = r->loc;
    bool down = r->kind == RANGE_ABOVE, unsign = atom_type(r->start).elem == T_U64;
    Atom from = unsign ? r->start : r->a, to = unsign ? r->end : r->b, args[3];
    int n_args;
    const char *text = range_stop(r, args, &n_args);
    /* 1...n has the n elements that the checker says it has. */
    if (!unsign && ((r->kind == RANGE_TO && atom_is_int(r->a, 1)) ||
                    (r->kind == RANGE_BELOW && atom_is_int(r->a, 0))))
        return count_saying(L, loc, r->b, text, args, n_args);
    check(L, loc, OP_LE, down ? to : from, down ? from : to, text, args, n_args);
    Atom span = emit_op(L, loc, OP_SUB, down ? r->a : r->b, down ? r->b : r->a);
    int64_t one = r->kind == RANGE_TO;
    if (!L->unsafe)
        assert_that(L, loc, within(L, loc, span, MAX_SIZE - one), stop_text[STOP_NUMBERS_TOO_LARGE],
                    (Atom[]){r->a, r->b}, 2);
    Atom n = emit_op(L, loc, OP_ADD, span, atom_i64(one));
    know_nonneg(L, n);
    return n;
}

/* How many steps of `size` there are in a span, both u64; whether the end counts says the kind. */
static Atom count_steps(Low *L, const Ends *r, Atom span, Atom size)
{
    Loc loc = r->loc;
    Atom args[2] = {r->a, r->b};
    const char *numbers_too_large = stop_text[STOP_NUMBERS_TOO_LARGE];
    enum { SMALL = 1 << 12 };
    if (!size.var && size.c.i > 0 && size.c.i < SMALL) { /* known to the prover of bounds */
        if (!L->unsafe)
            assert_that(L, loc, within(L, loc, span, MAX_SIZE * size.c.i - 1), numbers_too_large,
                        args, 2);
        if (r->kind == RANGE_TO)
            span = emit_op(L, loc, OP_ADD, span, atom_i64(1));
        return ceil_div(L, loc, span, size.c.i);
    }
    span = emit_conv(L, loc, T_U64, span);
    size = emit_conv(L, loc, T_U64, size);
    Atom q = emit_op(L, loc, OP_DIV, span, size), n = emit_conv(L, loc, T_I64, q);
    check(L, loc, OP_LT, q, atom_int(T_U64, MAX_SIZE), numbers_too_large, args, 2);
    if (r->kind == RANGE_TO)
        return emit_op(L, loc, OP_ADD, n, atom_i64(1));
    Atom rest = emit_op(L, loc, OP_NE, emit_op(L, loc, OP_MUL, q, size), span);
    return emit_op(L, loc, OP_ADD, n, emit_conv(L, loc, T_I64, rest));
}

/* a..s...b with a step of either sign, unless the kind fixes it */
static Atom step_range_count(Low *L, const Ends *r, Atom step)
{
    Loc loc = r->loc;
    Atom args[3], sgn = atom_i64(1);
    int n_args;
    const char *text = range_stop(r, args, &n_args);
    Atom up = emit_op(L, loc, OP_LT, r->start, r->second);
    Atom down = emit_op(L, loc, OP_LT, r->second, r->start);
    Atom ascends = emit_both(L, loc, up, emit_op(L, loc, OP_LE, r->start, r->end));
    Atom descends = emit_both(L, loc, down, emit_op(L, loc, OP_LE, r->end, r->start)), ok = ascends;
    if (r->kind == RANGE_ABOVE) {
        ok = descends;
    } else if (r->kind == RANGE_TO) {
        ok = emit_not(L, loc,
                      emit_both(L, loc, emit_not(L, loc, ascends), emit_not(L, loc, descends)));
        sgn = emit_op(L, loc, OP_SUB, emit_conv(L, loc, T_I64, up), emit_conv(L, loc, T_I64, down));
    }
    if (!L->unsafe)
        assert_that(L, loc, ok, text, args, n_args);
    if ((!ok.var && !ok.c.i) || atom_is_int(step, 0))
        return atom_i64(0);
    /* The distances between its numbers are exact as u64. */
    Atom span = r->kind == RANGE_ABOVE ? emit_op(L, loc, OP_SUB, r->a, r->b)
                                       : emit_op(L, loc, OP_SUB, r->b, r->a);
    Atom size = r->kind == RANGE_ABOVE ? emit_neg(L, loc, step) : step;
    if (r->kind == RANGE_TO) {
        span = emit_op(L, loc, OP_MUL, span, sgn);
        size = emit_op(L, loc, OP_MUL, size, sgn);
    }
    return count_steps(L, r, span, size);
}

Range lower_range_parts(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    Ends r = {.loc = loc, .kind = e->range.kind};
    r.start = r.second = val_scalar(lower_exp(L, env, e->range.start), loc);
    PrimType t = atom_type(r.start).elem;
    r.a = emit_conv(L, loc, T_I64, r.start);
    if (e->range.second)
        r.second = val_scalar(lower_exp(L, env, e->range.second), loc);
    r.stepped = e->range.second != NULL;
    r.next = emit_conv(L, loc, T_I64, r.second);
    r.end = val_scalar(lower_exp(L, env, e->range.end), loc);
    r.b = emit_conv(L, loc, T_I64, r.end);
    bool unit = !r.start.var && !r.second.var && r.second.c.i > r.start.c.i &&
                r.second.c.i - 1 == r.start.c.i;
    if (!e->range.second || (unit && r.kind != RANGE_ABOVE))
        return (Range){r.start, atom_int(t, r.kind == RANGE_ABOVE ? -1 : 1),
                       unit_range_count(L, &r)};
    Atom step = emit_op(L, loc, OP_SUB, r.next, r.a);
    Atom count = step_range_count(L, &r, step);
    know_nonneg(L, count);
    return (Range){r.start, emit_conv(L, loc, t, step), count};
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

Atom make_iota(Low *L, Loc loc, Atom n)
{
    n = count_arg(L, loc, n);
    Exp *e = exp_new(L->cx, E_IOTA, loc);
    e->iota.n = n;
    e->iota.start = atom_i64(0);
    e->iota.stride = atom_i64(1);
    return emit(L, e);
}

/* --- Array literals ------------------------------------------------------------------------- */

static Atom emit_literal(Low *L, Loc loc, Type elem, Atoms elems)
{
    Exp *e = exp_new(L->cx, E_ARRAYLIT, loc);
    e->arraylit.elem = elem;
    e->arraylit.elems = elems;
    return emit(L, e);
}

/* Any value of the type, behind an assertion that fails: an element of an empty array. */
/* A hole where a value of type `at` is wanted; the run stops where it is reached, or, of a
 * function, where that is applied. */
Val *hole_value(Low *L, Env *env, const AExp *e, const AType *at)
{
    at = type_deref(at);
    Loc loc = low_loc(L, e->loc);
    if (at->kind == TY_FUN)
        return val_fun(
            L, (Fun){.kind = FUN_HOLE, .arity = type_arity(at), .env = env, .exp = e, .type = at});
    if (type_is_composite(at) && at->kind != TY_SUM && at->elems.n) {
        Vals vs = {0};
        for (int i = 0; i < at->elems.n; i++)
            vec_push(L->cx->perm, &vs, hole_value(L, env, e, at->elems.at[i]));
        return val_tuple(L, vs);
    }
    const char *text =
        arena_printf(L->cx->perm, "%s%s", stop_text[STOP_HOLE], type_str(L->cx->perm, e->type));
    assert_that(L, loc, atom_bool(false), text, NULL, 0);
    return index_row(L, loc, empty_array(L, env, at, loc), atom_i64(0), true);
}

Val *lower_array(Low *L, Env *env, const AExp *e)
{
    Loc loc = low_loc(L, e->loc);
    const AExps *es = &e->seq.elems;
    if (es->n == 0)
        return empty_array(L, env, type_deref(e->type)->array.elem, loc);
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
