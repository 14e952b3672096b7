/* Lowering of the array functions: construction, cutting, joining, permuting, reshaping. */
#include "frontend/lower/lower_int.h"

#include <string.h>

/* --- Construction --------------------------------------------------------------------------- */

static Val *make_replicate(Low *L, Loc loc, Atom n, Val *v)
{
    n = count_arg(L, loc, n);
    if (val_has_fun(v))
        ice(loc, "lowering: an array of functions");
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++)
        as.at[i] = emit(L, exp_replicate(L->cx, loc, n, as.at[i]));
    return val_rebuild(L, v, &as);
}

/* tabulate: the indices of the dimensions around, then those still to come */
typedef struct {
    Val *fn;
    Vals given;
    Val *iotas[3];
    int n;
    const AType *elem;
    const Env *tenv;
} Tabulate;

static Val *tabulate_body(Low *L, void *env, Val **args, Loc loc)
{
    Tabulate t = *(Tabulate *)env;
    Vals given = {0};
    vec_append(L->cx->perm, &given, &t.given);
    vec_push(L->cx->perm, &given, args[0]);
    t.given = given;
    if (given.n == t.n)
        return apply(L, t.fn, &given, loc);
    t.elem = elem_of(t.elem);
    return make_map(L, loc, &t.iotas[given.n], 1, tabulate_body, &t, t.elem, t.tenv);
}

static Val *lower_tabulate(Low *L, const Call *c, int n)
{
    Tabulate t = {.fn = c->arg[n], .n = n, .tenv = c->fn->env_use};
    Atom total = atom_i64(1), dims[3];
    for (int i = 0; i < n; i++) {
        dims[i] = count_arg(L, c->loc, val_scalar(c->arg[i], c->loc));
        total = size_product(L, c->loc, total, dims[i]);
    }
    for (int i = 0; i < n; i++)
        t.iotas[i] = val_atom(L, make_iota(L, c->loc, dims[i]));
    t.elem = elem_of(call_result_type(c));
    return make_map(L, c->loc, &t.iotas[0], 1, tabulate_body, &t, t.elem, t.tenv);
}

Val *copied(Low *L, Loc loc, const Val *v)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++) {
        if (atom_type(as.at[i]).rank == 0)
            continue;
        Exp *e = exp_new(L->cx, E_COPY, loc);
        e->copy.arr = as.at[i];
        as.at[i] = emit(L, e);
    }
    return val_rebuild(L, v, &as);
}

/* --- Sizes ---------------------------------------------------------------------------------- */

static Atom length_of(Low *L, Loc loc, Val *v)
{
    return common_width(L, loc, &v, 1);
}

static Val *lower_zip(Low *L, const Call *c)
{
    Vals vs = {0};
    for (int i = 0; i < c->n; i++)
        vec_push(L->cx->perm, &vs, c->arg[i]);
    common_width(L, c->loc, vs.at, vs.n);
    return val_tuple(L, vs);
}

/* --- Cutting -------------------------------------------------------------------------------- */

static Val *take_rows(Low *L, Loc loc, Val *v, Atom k)
{
    Atom args[3] = {atom_i64(0), k, length_of(L, loc, v)};
    k = checked_size(L, loc, k, stop_text[STOP_SLICE], args,
                     3); /* the slice's bounds are checked */
    return slice_rows(L, loc, v, atom_i64(0), k, atom_i64(1), false);
}

static Val *drop_rows(Low *L, Loc loc, Val *v, Atom k)
{
    Atom w = length_of(L, loc, v), n = emit_op(L, loc, OP_SUB, w, k);
    n = checked_size(L, loc, n, stop_text[STOP_SLICE_FROM], (Atom[]){k, w}, 2);
    return slice_rows(L, loc, v, k, n, atom_i64(1), false);
}

static Val *init_rows(Low *L, Loc loc, Val *v)
{
    Atom w = length_of(L, loc, v), n = emit_op(L, loc, OP_SUB, w, atom_i64(1));
    n = checked_size(L, loc, n, stop_text[STOP_SLICE], (Atom[]){atom_i64(0), n, w}, 3);
    return slice_rows(L, loc, v, atom_i64(0), n, atom_i64(1), true);
}

static Val *tail_rows(Low *L, Loc loc, Val *v)
{
    Atom w = length_of(L, loc, v), n = emit_op(L, loc, OP_SUB, w, atom_i64(1));
    n = checked_size(L, loc, n, stop_text[STOP_SLICE_FROM], (Atom[]){atom_i64(1), w}, 2);
    return slice_rows(L, loc, v, atom_i64(1), n, atom_i64(1), true);
}

static Val *last_row(Low *L, Loc loc, Val *v)
{
    Atom w = length_of(L, loc, v);
    return index_row(L, loc, v, emit_op(L, loc, OP_SUB, w, atom_i64(1)), false);
}

static Val *reverse_rows(Low *L, Loc loc, Val *v)
{
    Atom w = length_of(L, loc, v), last = emit_op(L, loc, OP_SUB, w, atom_i64(1));
    return slice_rows(L, loc, v, last, w, atom_i64(-1), true);
}

/* The sizes of the outer n dimensions of a type: how many are known. */
static int outer_sizes(Low *L, const Env *env, const AType *at, Atom *out, bool *known, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        at = at ? type_deref(at) : NULL;
        known[i] = at && at->kind == TY_ARRAY && size_atom(L, env, at->array.dim, &out[i]);
        found += known[i];
        at = at && at->kind == TY_ARRAY ? at->array.elem : NULL;
    }
    return found;
}

/* split: the sizes are those of the result's type; one of them is enough. */
static Val *lower_split(Low *L, const Call *c)
{
    Loc loc = c->loc;
    const AType *t = call_result_type(c);
    Atom w = length_of(L, loc, c->arg[0]), n, m;
    bool has_n = false, has_m = false;
    if (t && t->kind == TY_TUPLE && t->elems.n == 2) {
        outer_sizes(L, c->fn->env_use, t->elems.at[0], &n, &has_n, 1);
        outer_sizes(L, c->fn->env_use, t->elems.at[1], &m, &has_m, 1);
    }
    if (!has_n && !has_m) {
        low_limit(L, loc, "the sizes of this split cannot be determined here");
    }
    if (!has_n)
        n = emit_op(L, loc, OP_SUB, w, m);
    Atom rest = emit_op(L, loc, OP_SUB, w, n);
    if (has_n && has_m)
        assert_eq(L, loc, rest, m, stop_text[STOP_SIZES], (Atom[]){rest, m}, 2);
    n = checked_size(L, loc, n, stop_text[STOP_SLICE_TO], (Atom[]){n, w}, 2);
    rest = checked_size(L, loc, rest, stop_text[STOP_SLICE_FROM], (Atom[]){n, w}, 2);
    return val_pair(L, slice_rows(L, loc, c->arg[0], atom_i64(0), n, atom_i64(1), true),
                    slice_rows(L, loc, c->arg[0], n, rest, atom_i64(1), true));
}

/* --- Joining -------------------------------------------------------------------------------- */

static Val *concat_rows(Low *L, Loc loc, Val *a, Val *b)
{
    Atom n = length_of(L, loc, a), m = length_of(L, loc, b);
    Atoms as = val_leaves(L, a), bs = val_leaves(L, b);
    ASSERT(as.n == bs.n);
    Atom total = size_sum(L, loc, n, m);
    for (int i = 0; i < as.n; i++) {
        Type t = type_array(L->cx, type_row(atom_type(as.at[i])), m);
        Exp *e = exp_new(L->cx, E_CONCAT, loc);
        e->concat.dim = 0;
        e->concat.n = total;
        vec_push(L->cx->perm, &e->concat.arrs, as.at[i]);
        vec_push(L->cx->perm, &e->concat.arrs, fit_atom(L, loc, bs.at[i], t.dims, t.rank));
        as.at[i] = emit(L, e);
    }
    return val_rebuild(L, a, &as);
}

/* r mod max(n, 1). By one step, as stencils rotate, without a division: since that may fail, it
 * would keep the rotation from leaving the nest around it. */
static Atom rotation(Low *L, Loc loc, Atom r, Atom n)
{
    Atom one = atom_i64(1);
    if (!r.var && (r.c.i == 1 || r.c.i == -1)) {
        Atom most = emit_op(L, loc, OP_MAX, emit_op(L, loc, OP_SUB, n, one), atom_i64(0));
        return r.c.i < 0 ? most : emit_op(L, loc, OP_MIN, most, one);
    }
    return emit_op(L, loc, OP_MOD, r, emit_op(L, loc, OP_MAX, n, one));
}

/* result[i] = xs[(i+r) mod n]: the part from r on, then the part before it */
static Val *lower_rotate(Low *L, const Call *c)
{
    Loc loc = c->loc;
    Val *v = c->arg[1];
    Atom n = length_of(L, loc, v), one = atom_i64(1);
    Atom r = rotation(L, loc, val_scalar(c->arg[0], loc), n);
    Atom rest = emit_op(L, loc, OP_SUB, n, r);
    know_nonneg(L, emit_op(L, loc, OP_ADD, rest, r)); /* n */
    Val *a = slice_rows(L, loc, v, r, rest, one, true);
    Val *b = slice_rows(L, loc, v, atom_i64(0), r, one, true);
    return fit_like(L, loc, concat_rows(L, loc, a, b), v);
}

static Val *lower_in_bounds(Low *L, const Call *c)
{
    Loc loc = c->loc;
    Atom args[3];
    for (int i = 0; i < 3; i++)
        args[i] = val_scalar(c->arg[i], loc);
    Atom first = emit_op(L, loc, OP_LE, atom_i64(0), args[0]);
    Atom last = emit_op(L, loc, OP_LE, args[1], args[2]);
    Atom ok =
        emit_both(L, loc, emit_op(L, loc, OP_LE, args[0], args[1]), emit_both(L, loc, first, last));
    if (!L->unsafe)
        assert_that(L, loc, ok, stop_text[STOP_SLICE], args, 3);
    return c->arg[3];
}

/* --- Permuting and reshaping ---------------------------------------------------------------- */

/* Exchanges the outer n dimensions of each leaf as perm says. */
static Val *permute(Low *L, Loc loc, Val *v, const int *perm, int n)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++) {
        int rank = atom_type(as.at[i]).rank;
        int *full = NEWN(L->cx->perm, int, rank);
        ASSERT(n <= rank);
        for (int d = 0; d < rank; d++)
            full[d] = d < n ? perm[d] : d;
        const char *base = as.at[i].var->base;
        as.at[i] = emit_all(L, base, exp_rearrange(L->cx, loc, full, as.at[i])).at[0];
    }
    return val_rebuild(L, v, &as);
}

static Val *lower_rearrange(Low *L, const Call *c)
{
    Atoms ds = val_leaves(L, c->arg[0]);
    int *perm = NEWN(L->cx->perm, int, ds.n);
    bool *seen = NEWN(L->cx->perm, bool, ds.n);
    for (int i = 0; i < ds.n; i++) {
        int64_t d = ds.at[i].var ? -1 : ds.at[i].c.i;
        if (d < 0 || d >= ds.n || seen[d])
            ice(c->loc, "lowering: rearrange without a permutation of constants");
        perm[i] = (int)d;
        seen[d] = true;
    }
    return permute(L, c->loc, c->arg[1], perm, ds.n);
}

/* The outer n dimensions replaced by dims. */
static Val *reshape_outer(Low *L, Loc loc, Val *v, int n, const Atom *dims, int n_dims)
{
    Atoms as = val_leaves(L, v);
    for (int i = 0; i < as.n; i++) {
        Type t = atom_type(as.at[i]);
        Exp *e = exp_new(L->cx, E_RESHAPE, loc);
        e->reshape.arr = as.at[i];
        for (int d = 0; d < n_dims; d++)
            vec_push(L->cx->perm, &e->reshape.dims, dims[d]);
        for (int d = n; d < t.rank; d++)
            vec_push(L->cx->perm, &e->reshape.dims, t.dims[d]);
        as.at[i] = emit(L, e);
    }
    return val_rebuild(L, v, &as);
}

static Val *lower_flatten(Low *L, const Call *c, int n)
{
    Atoms as = val_leaves(L, c->arg[0]);
    Type t = atom_type(as.at[0]);
    Atom total = t.dims[0];
    for (int d = 1; d < n; d++)
        total = size_product(L, c->loc, total, t.dims[d]);
    return reshape_outer(L, c->loc, c->arg[0], n, &total, 1);
}

/* The sizes are those of the result's type; one of them may follow from the others. */
static Val *lower_unflatten(Low *L, const Call *c, int n)
{
    Loc loc = c->loc;
    Atom dims[4], total = length_of(L, loc, c->arg[0]), product = atom_i64(1);
    bool known[4];
    int found = outer_sizes(L, c->fn->env_use, call_result_type(c), dims, known, n);
    if (found < n - 1) {
        low_limit(L, loc, "the sizes of this unflatten cannot be determined here");
    }
    static const Stop texts[] = {
        [2] = STOP_UNFLATTEN, [3] = STOP_UNFLATTEN_3D, [4] = STOP_UNFLATTEN_4D};
    const char *text = stop_text[texts[n]];
    Atom args[5] = {total};
    memcpy(args + 1, dims, sizeof *dims * (size_t)n);
    for (int d = 0; d < n; d++)
        if (known[d]) {
            dims[d] = found == n ? count_saying(L, loc, dims[d], text, args, n + 1)
                                 : count_arg(L, loc, dims[d]);
            product = size_product(L, loc, product, dims[d]);
        }
    for (int d = 0; d < n && found < n; d++) {
        if (!known[d]) {
            Atom some = emit_op(L, loc, OP_MAX, product, atom_i64(1));
            dims[d] = emit_op(L, loc, OP_DIV, total, some);
            know_nonneg(L, dims[d]);
            product = emit_op(L, loc, OP_MUL, product, dims[d]); /* at most total, or both are 0 */
        }
    }
    memcpy(args + 1, dims, sizeof *dims * (size_t)n);
    assert_eq(L, loc, total, product, text, args, n + 1);
    return reshape_outer(L, loc, c->arg[0], 1, dims, n);
}

/* --- Dispatch ------------------------------------------------------------------------------- */

Val *lower_array_builtin(Low *L, const Call *c)
{
    static const int swap[2] = {1, 0};
    Loc loc = c->loc;
    Val **arg = c->arg;
    switch ((int)c->id) {
    case BI_ZIP: return lower_zip(L, c);
    case BI_UNZIP: return arg[0];
    case BI_IOTA: return val_atom(L, make_iota(L, loc, val_scalar(arg[0], loc)));
    case BI_REPLICATE: return make_replicate(L, loc, val_scalar(arg[0], loc), arg[1]);
    case BI_TABULATE: return lower_tabulate(L, c, 1);
    case BI_TABULATE_2D: return lower_tabulate(L, c, 2);
    case BI_TABULATE_3D: return lower_tabulate(L, c, 3);
    case BI_ROTATE: return lower_rotate(L, c);
    case BI_REVERSE: return reverse_rows(L, loc, arg[0]);
    case BI_TRANSPOSE: return permute(L, loc, arg[0], swap, 2);
    case BI_REARRANGE: return lower_rearrange(L, c);
    case BI_FLATTEN: return lower_flatten(L, c, 2);
    case BI_FLATTEN_3D: return lower_flatten(L, c, 3);
    case BI_FLATTEN_4D: return lower_flatten(L, c, 4);
    case BI_UNFLATTEN: return lower_unflatten(L, c, 2);
    case BI_UNFLATTEN_3D: return lower_unflatten(L, c, 3);
    case BI_UNFLATTEN_4D: return lower_unflatten(L, c, 4);
    case BI_CONCAT: return concat_rows(L, loc, arg[0], arg[1]);
    case BI_LENGTH: return val_atom(L, length_of(L, loc, arg[0]));
    case BI_INDICES: return val_atom(L, make_iota(L, loc, length_of(L, loc, arg[0])));
    case BI_HEAD: return index_row(L, loc, arg[0], atom_i64(0), false);
    case BI_LAST: return last_row(L, loc, arg[0]);
    case BI_TAIL: return tail_rows(L, loc, arg[0]);
    case BI_INIT: return init_rows(L, loc, arg[0]);
    case BI_TAKE: return take_rows(L, loc, arg[1], val_scalar(arg[0], loc));
    case BI_DROP: return drop_rows(L, loc, arg[1], val_scalar(arg[0], loc));
    case BI_SPLIT: return lower_split(L, c);
    case BI_IN_BOUNDS: return lower_in_bounds(L, c);
    case BI_COPY: return copied(L, c->loc, c->arg[0]);
    default: return NULL;
    }
}
