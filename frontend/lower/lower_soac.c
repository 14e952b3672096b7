/* Lowering of the second-order array combinators, and of derivatives. Arrays of tuples are several
 * arrays: a map over them has a parameter for each, a reduction of them one operator with several
 * accumulators. */
#include "frontend/lower/lower_int.h"

const AType *call_result_type(const Call *c)
{
    const AType *t = c->fn->type ? type_deref(c->fn->type) : NULL;
    for (int i = 0; t && i < c->n; i++)
        t = t->kind == TY_FUN ? type_deref(t->fun.result) : NULL;
    return t;
}

const AType *elem_of(const AType *at)
{
    at = at ? type_deref(at) : NULL;
    return at && at->kind == TY_ARRAY ? type_deref(at->array.elem) : NULL;
}

/* --- Lambdas -------------------------------------------------------------------------------- */

typedef struct {
    Scope *sc;
    unsigned attrs;
} FnScope;

/* The body of an operator: attributes of the SOAC do not concern the SOACs in it. */
static FnScope open_fn(Low *L)
{
    FnScope f = {NULL, L->attrs};
    L->attrs = 0;
    f.sc = scope_push(L);
    return f;
}

static void end_fn(Low *L, FnScope f)
{
    scope_pop(L, f.sc);
    L->attrs = f.attrs;
}

static Atoms push_all(Low *L, Val **vals, int n)
{
    Atoms as = {0};
    for (int i = 0; i < n; i++) {
        Atoms more = val_leaves(L, vals[i]);
        vec_append(L->cx->perm, &as, &more);
    }
    return as;
}

/* --- map ------------------------------------------------------------------------------------ */

/* Names for parameters that the function (an operator, say) gave none. */
static void name_args(Low *L, Val **args, int n)
{
    static const char *const names[] = {"x", "y", "z", "u", "v"};
    for (int i = 0; i < n; i++)
        name_val(L, args[i], intern(i < 5 ? names[i] : "x"));
}

Val *make_map(Low *L, Loc loc, Val **arrs, int n, BodyFn *body, void *env, const AType *elem_type,
              const Env *tenv)
{
    Vars params = {0};
    Atom width = common_width(L, loc, arrs, n);
    if (elem_type)
        preload_sizes(L, tenv, elem_type, &loc);
    FnScope f = open_fn(L);
    Val **args = NEWN(L->cx->perm, Val *, n);
    for (int i = 0; i < n; i++)
        args[i] = params_like(L, arrs[i], true, &params, loc);
    Val *res = body(L, env, args, loc);
    end_fn(L, f);
    name_args(L, args, n);
    Lambda *lam = close_lambda(L, f.sc, params, res, elem_type, tenv, loc);
    Atoms out = {0};
    if (lam->body->res.n)
        out = emit_all(L, L->tmp, exp_map(L->cx, loc, width, push_all(L, arrs, n), lam));
    return val_rebuild(L, res, &out);
}

typedef struct {
    Val *fn;
    int n;
} Applied;

static Val *apply_body(Low *L, void *env, Val **args, Loc loc)
{
    Applied *a = env;
    Vals vs = {args, a->n, a->n};
    return apply(L, a->fn, &vs, loc);
}

static Val *lower_map(Low *L, const Call *c)
{
    Applied a = {c->arg[0], c->n - 1};
    return make_map(L, c->loc, c->arg + 1, c->n - 1, apply_body, &a, elem_of(call_result_type(c)),
                    c->fn->env_use);
}

/* --- Commutativity -------------------------------------------------------------------------- */

static bool op_commutes(PrimOp op)
{
    return op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_MAX || op == OP_AND ||
           op == OP_OR || op == OP_XOR || op == OP_LAND || op == OP_LOR;
}

static bool pair_is(const Atoms *as, Atom x, Atom y)
{
    return as->n == 2 && ((atom_eq(as->at[0], x) && atom_eq(as->at[1], y)) ||
                          (atom_eq(as->at[0], y) && atom_eq(as->at[1], x)));
}

/* Is each result one commutative operation (or a map of one) on its two parameters, and nothing
 * else computed? */
static bool lambda_commutes(const Lambda *lam)
{
    int n = lam->body->res.n;
    if (lam->params.n != 2 * n || lam->body->stms.n != n)
        return false;
    for (int i = 0; i < n; i++) {
        const Exp *e = NULL;
        for (int k = 0; k < n; k++)
            if (lam->body->stms.at[k].pat.n == 1 &&
                lam->body->stms.at[k].pat.at[0] == lam->body->res.at[i].var)
                e = lam->body->stms.at[k].exp;
        Atom x = atom_var(lam->params.at[i]), y = atom_var(lam->params.at[n + i]);
        bool ok =
            e &&
            ((e->kind == E_PRIM && op_commutes(e->prim.op) && pair_is(&e->prim.args, x, y)) ||
             (e->kind == E_MAP && pair_is(&e->soac.arrs, x, y) && lambda_commutes(e->soac.fn)));
        if (!ok)
            return false;
    }
    return true;
}

/* --- reduce and scan ------------------------------------------------------------------------ */

typedef struct {
    ExpKind kind; /* REDUCE, SCAN, REDOMAP, SCANOMAP */
    Val *op, *fn; /* fn: of REDOMAP and SCANOMAP */
    PrimOp prim;  /* the operator if op is NULL */
    Val *ne, *arr;
    bool comm;
    const AType *type; /* of the values that are combined; NULL if not known */
    const Env *tenv;
} Fold;

/* fn's lambda; *res gets its results. */
static Lambda *fold_map(Low *L, Loc loc, const Fold *fo, Val **res)
{
    Vars params = {0};
    if (fo->type)
        preload_sizes(L, fo->tenv, fo->type, NULL);
    FnScope f = open_fn(L);
    *res = apply1(L, fo->fn, params_like(L, fo->arr, true, &params, loc), loc);
    end_fn(L, f);
    Lambda *lam = close_lambda(L, f.sc, params, *res, fo->type, fo->tenv, loc);
    *res = val_rebuild(L, *res, &lam->body->res);
    return lam;
}

static Val *lower_fold(Low *L, Loc loc, Fold *fo)
{
    Exp *e = exp_new(L->cx, fo->kind, loc);
    Vars params = {0}, xs = {0};
    Val *x, *res;
    e->soac.width = common_width(L, loc, &fo->arr, 1);
    if (fo->fn) {
        e->soac.fn = fold_map(L, loc, fo, &res);
        x = params_like(L, res, false, &xs, loc);
    } else {
        x = params_like(L, fo->arr, true, &xs, loc);
    }
    Val *ne = fit_like(L, loc, fo->ne, x);
    Val *acc = params_like(L, ne, false, &params, loc);
    vec_append(L->cx->perm, &params, &xs);
    FnScope f = open_fn(L);
    if (fo->op)
        res = apply2(L, fo->op, acc, x, loc);
    else
        res = val_atom(L, emit(L, exp_binop(L->cx, loc, fo->prim, acc->atom, x->atom)));
    res = fit_like(L, loc, res, acc);
    end_fn(L, f);
    name_val(L, acc, intern("acc"));
    name_val(L, x, intern("x"));
    e->soac.op = close_lambda(L, f.sc, params, res, NULL, NULL, loc);
    e->soac.comm = fo->comm || lambda_commutes(e->soac.op);
    e->soac.nes = val_leaves(L, ne);
    e->soac.arrs = val_leaves(L, fo->arr);
    Atoms out = {0};
    if (e->soac.nes.n)
        out = emit_all(L, L->tmp, e);
    return val_rebuild(L, ne, &out);
}

Atom reduce_prim(Low *L, Loc loc, PrimOp op, Atom arr)
{
    Type t = atom_type(arr);
    Fold fo = {.kind = E_REDUCE, .prim = op, .comm = true};
    if (t.rank > 1) {
        Atom n = t.dims[0];
        for (int d = 1; d < t.rank; d++)
            n = emit_op(L, loc, OP_MUL, n, t.dims[d]);
        Exp *e = exp_new(L->cx, E_RESHAPE, loc);
        e->reshape.arr = arr;
        vec_push(L->cx->perm, &e->reshape.dims, n);
        arr = emit(L, e);
    }
    fo.ne = val_atom(L, neutral(t.elem, op));
    fo.arr = val_atom(L, arr);
    return lower_fold(L, loc, &fo)->atom;
}

static Val *lower_reduce(Low *L, const Call *c, ExpKind kind, bool comm)
{
    unsigned traits = form_info[kind].traits;
    bool mapped = traits & F_FN;
    const AType *t = call_result_type(c);
    Fold fo = {.kind = kind, .op = c->arg[0], .comm = comm, .tenv = c->fn->env_use};
    fo.fn = mapped ? c->arg[1] : NULL;
    fo.ne = c->arg[mapped ? 2 : 1];
    fo.arr = c->arg[mapped ? 3 : 2];
    fo.type = traits & F_SCAN ? elem_of(t) : t;
    return lower_fold(L, c->loc, &fo);
}

/* --- scatter -------------------------------------------------------------------------------- */

/* scatter of vs (leaves of one width) into dests at positions that `index` computes from the
 * parameters of the lambda, given as values structured like ins. */
typedef Atoms IndexFn(Low *L, Loc loc, void *env, Val **ins);

static Atoms make_scatter(Low *L, Loc loc, Atom width, const Atoms *dests, int rank, Val **ins,
                          int n_ins, Val *vs, IndexFn *index, void *env)
{
    Exp *e = exp_new(L->cx, E_SCATTER, loc);
    Vars params = {0};
    Atoms res = {0};
    for (int i = 0; i < dests->n; i++)
        vec_push(L->cx->perm, &e->soac.dests, (Dest){dests->at[i], rank});
    FnScope f = open_fn(L);
    Val **args = NEWN(L->cx->perm, Val *, n_ins);
    for (int i = 0; i < n_ins; i++)
        args[i] = params_like(L, ins[i], true, &params, loc);
    Atoms vals = val_leaves(L, params_like(L, vs, true, &params, loc));
    Atoms at = index(L, loc, env, args);
    for (int i = 0; i < dests->n; i++)
        vec_append(L->cx->perm, &res, &at);
    vec_append(L->cx->perm, &res, &vals);
    end_fn(L, f);
    e->soac.width = width;
    e->soac.fn = lambda_new(L->cx, params, bld_body(&f.sc->bld, res));
    e->soac.arrs = push_all(L, ins, n_ins);
    Atoms more = val_leaves(L, vs);
    vec_append(L->cx->perm, &e->soac.arrs, &more);
    return emit_all(L, L->tmp, e);
}

static Atoms given_index(Low *L, Loc loc, void *env, Val **ins)
{
    (void)env;
    Atoms as = val_leaves(L, ins[0]);
    for (int i = 0; i < as.n; i++)
        as.at[i] = emit_conv(L, loc, T_I64, as.at[i]);
    return as;
}

/* The values' rows in the shape of the destinations' elements. */
static Val *fit_rows(Low *L, Loc loc, Val *vs, Atom width, const Atoms *dests, int rank)
{
    Atoms as = val_leaves(L, vs);
    ASSERT(as.n == dests->n);
    for (int i = 0; i < as.n; i++) {
        Type t = type_array(L->cx, type_drop(atom_type(dests->at[i]), rank), width);
        as.at[i] = fit_atom(L, loc, as.at[i], t.dims, t.rank);
    }
    return val_rebuild(L, vs, &as);
}

static Val *lower_scatter(Low *L, const Call *c, int rank)
{
    Atom width;
    Atoms dests = val_leaves(L, c->arg[0]);
    width = common_width(L, c->loc, c->arg + 1, 2);
    Val *vs = fit_rows(L, c->loc, c->arg[2], width, &dests, rank);
    Atoms out = make_scatter(L, c->loc, width, &dests, rank, c->arg + 1, 1, vs, given_index, NULL);
    return val_rebuild(L, c->arg[0], &out);
}

/* --- filter and partition ------------------------------------------------------------------- */

/* flags: the bool array of the predicate; offs: how many of the first i+1 satisfy it; count: all.
 */
typedef struct {
    Atom width, flags, offs, count;
} Compact;

static Compact count_flags(Low *L, Loc loc, Val *pred, Val *arr, Atom width)
{
    Compact k = {.width = width};
    Exp *e = exp_new(L->cx, E_SCANOMAP, loc);
    Vars ps = {0}, ops = {0};
    FnScope f = open_fn(L);
    Atom flag = val_scalar(apply1(L, pred, params_like(L, arr, true, &ps, loc), loc), loc);
    Val *res = val_pair(L, val_atom(L, emit_conv(L, loc, T_I64, flag)), val_atom(L, flag));
    end_fn(L, f);
    e->soac.fn = close_lambda(L, f.sc, ps, res, NULL, NULL, loc);
    Val *zero = val_atom(L, atom_i64(0));
    Atom a = params_like(L, zero, false, &ops, loc)->atom;
    Atom b = params_like(L, zero, false, &ops, loc)->atom;
    f = open_fn(L);
    Val *sum = val_atom(L, emit(L, exp_binop(L->cx, loc, OP_ADD, a, b)));
    end_fn(L, f);
    e->soac.op = close_lambda(L, f.sc, ops, sum, NULL, NULL, loc);
    e->soac.comm = true;
    e->soac.width = width;
    vec_push(L->cx->perm, &e->soac.nes, atom_i64(0));
    e->soac.arrs = val_leaves(L, arr);
    Atoms out = emit_all(L, "flags", e);
    k.offs = out.at[0];
    k.offs.var->base = intern("offsets");
    k.flags = out.at[1];
    Scope *s1 = scope_push(L), *s2;
    Val *none = val_atom(L, atom_i64(0));
    scope_pop(L, s1);
    s2 = scope_push(L);
    Atom last = emit_op(L, loc, OP_SUB, width, atom_i64(1));
    Val *all = index_row(L, loc, val_atom(L, k.offs), last, true);
    scope_pop(L, s2);
    Atom empty = emit(L, exp_binop(L->cx, loc, OP_EQ, width, atom_i64(0)));
    k.count = join_branches(L, loc, empty, s1, none, s2, all, NULL, NULL)->atom;
    k.count.var->base = intern("count");
    know_nonneg(L, k.count);
    return k;
}

/* ins: flag, offset. The position of a satisfying element, else -1. */
static Atoms filter_index(Low *L, Loc loc, void *env, Val **ins)
{
    (void)env;
    Atoms as = {0};
    Atom flag = emit_conv(L, loc, T_I64, ins[0]->atom);
    Atom pos = emit_op(L, loc, OP_MUL, flag, ins[1]->atom);
    vec_push(L->cx->perm, &as, emit_op(L, loc, OP_SUB, pos, atom_i64(1)));
    return as;
}

/* ins: flag, offset, index. The others go behind the `count` that satisfy, in order. */
static Atoms partition_index(Low *L, Loc loc, void *env, Val **ins)
{
    const Compact *k = env;
    Atoms as = {0};
    Atom first = emit_op(L, loc, OP_SUB, ins[1]->atom, atom_i64(1));
    Atom second =
        emit_op(L, loc, OP_SUB, emit_op(L, loc, OP_ADD, k->count, ins[2]->atom), ins[1]->atom);
    vec_push(L->cx->perm, &as, emit_choice(L, loc, ins[0]->atom, first, second));
    return as;
}

/* All elements, those that satisfy in front (the others undefined, or behind). */
static Val *compact(Low *L, Loc loc, Val *arr, Compact *k, IndexFn *index, int n_ins)
{
    Atoms as = val_leaves(L, arr), dests = {0};
    for (int i = 0; i < as.n; i++) {
        Exp *e = exp_new(L->cx, E_SCRATCH, loc);
        e->scratch.type = atom_type(as.at[i]);
        vec_push(L->cx->perm, &dests, emit(L, e));
    }
    Val *ins[3] = {val_atom(L, k->flags), val_atom(L, k->offs), NULL};
    if (n_ins == 3)
        ins[2] = val_atom(L, make_iota(L, loc, k->width));
    Atoms out = make_scatter(L, loc, k->width, &dests, 1, ins, n_ins, arr, index, k);
    return val_rebuild(L, arr, &out);
}

static Val *lower_filter(Low *L, const Call *c, bool partition)
{
    Atom width, zero = atom_i64(0), one = atom_i64(1);
    Val *arr = c->arg[1];
    width = common_width(L, c->loc, &arr, 1);
    Compact k = count_flags(L, c->loc, c->arg[0], arr, width);
    if (!partition) {
        Val *v = compact(L, c->loc, arr, &k, filter_index, 2);
        return slice_rows(L, c->loc, v, zero, k.count, one, true);
    }
    Val *v = compact(L, c->loc, arr, &k, partition_index, 3);
    Atom others = emit_op(L, c->loc, OP_SUB, width, k.count);
    know_nonneg(L, others);
    return val_pair(L, slice_rows(L, c->loc, v, zero, k.count, one, true),
                    slice_rows(L, c->loc, v, k.count, others, one, true));
}

/* --- reduce_by_index ------------------------------------------------------------------------ */

/* The leaves of the destination, all with the same atoms for the numbers of bins. */
static Atoms hist_dests(Low *L, Loc loc, Val *dest, int rank)
{
    Atoms as = val_leaves(L, dest);
    for (int i = 1; i < as.n; i++) {
        Type t = atom_type(as.at[i]), first = atom_type(as.at[0]);
        Atom *dims = NEWN(L->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++)
            dims[d] = d < rank ? first.dims[d] : t.dims[d];
        as.at[i] = fit_atom(L, loc, as.at[i], dims, t.rank);
    }
    return as;
}

/* Parameters of the type of dest's elements. */
static Val *bin_params(Low *L, Loc loc, Val *dest, const Atoms *dests, int rank, const char *name,
                       Vars *params)
{
    Atoms as = {0};
    for (int i = 0; i < dests->n; i++) {
        Type t = type_drop(atom_type(dests->at[i]), rank);
        Var *v = var_new(L->cx, name, t, loc);
        vec_push(L->cx->perm, params, v);
        vec_push(L->cx->perm, &as, atom_var(v));
    }
    return val_rebuild(L, dest, &as);
}

/* The operator of a histogram; *ne is given the shape of an element. */
static Lambda *hist_op(Low *L, const Call *c, const Atoms *dests, int rank, Val **ne)
{
    Vars params = {0};
    Val *acc = bin_params(L, c->loc, c->arg[0], dests, rank, "acc", &params);
    Val *x = bin_params(L, c->loc, c->arg[0], dests, rank, "x", &params);
    *ne = fit_like(L, c->loc, c->arg[2], x);
    FnScope f = open_fn(L);
    Val *res = fit_like(L, c->loc, apply2(L, c->arg[1], acc, x, c->loc), acc);
    end_fn(L, f);
    return close_lambda(L, f.sc, params, res, NULL, NULL, c->loc);
}

/* dest op ne is vs */
static Val *lower_hist(Low *L, const Call *c, int rank)
{
    Loc loc = c->loc;
    Atom width;
    width = common_width(L, loc, c->arg + 3, 2);
    Atoms dests = hist_dests(L, loc, c->arg[0], rank);
    if (dests.n == 0)
        return c->arg[0];
    Exp *e = exp_new(L->cx, E_HIST, loc);
    Val *vs = fit_rows(L, loc, c->arg[4], width, &dests, rank), *ne;
    e->soac.width = width;
    e->soac.op = hist_op(L, c, &dests, rank, &ne);
    e->soac.nes = val_leaves(L, ne);
    e->soac.arrs = val_leaves(L, c->arg[3]);
    Atoms more = val_leaves(L, vs);
    vec_append(L->cx->perm, &e->soac.arrs, &more);
    for (int i = 0; i < dests.n; i++)
        vec_push(L->cx->perm, &e->soac.dests, (Dest){dests.at[i], rank});
    Vars params = {0};
    FnScope f = open_fn(L);
    Atoms res = given_index(L, loc, NULL, (Val *[]){params_like(L, c->arg[3], true, &params, loc)});
    Atoms vals = val_leaves(L, params_like(L, vs, true, &params, loc));
    vec_append(L->cx->perm, &res, &vals);
    end_fn(L, f);
    e->soac.fn = lambda_new(L->cx, params, bld_body(&f.sc->bld, res));
    Atoms out = emit_all(L, L->tmp, e);
    return val_rebuild(L, c->arg[0], &out);
}

/* --- Dispatch ------------------------------------------------------------------------------- */

static Val *sum_of(Low *L, const Call *c, PrimOp op)
{
    return val_atom(L, reduce_prim(L, c->loc, op, val_scalar(c->arg[0], c->loc)));
}

/* --- Derivatives ---------------------------------------------------------------------------- */

static Atoms atoms_part(Low *L, const Atoms *as, int from, int n)
{
    Atoms r = {0};
    for (int i = from; i < from + n; i++)
        vec_push(L->cx->perm, &r, as->at[i]);
    return r;
}

/* Notes which of v's leaves are numbers of constructors. How many leaves there are. */
static int mark_tags(Low *L, const Val *v, bool *tags)
{
    int n = 0;
    if (v->kind != V_TUPLE)
        return 1;
    for (int i = 0; i < v->elems.n; i++)
        n += mark_tags(L, v->elems.at[i], tags + n);
    tags[0] |= v->sum != NULL;
    for (int k = 0; v->sum && k < v->sum->holds.n; k++) {
        const SumPlaces *places = &v->sum->places.at[k];
        bool *held = NEWN(L->cx->perm, bool, n);
        mark_tags(L, v->sum->holds.at[k], held);
        for (int i = 0; i < places->n; i++)
            tags[places->at[i]] |= held[i];
    }
    return n;
}

/* A derivative of v, whose leaves are `as`: of the constructors that v is of, as a number of one is
 * nothing to differentiate. */
static Val *derivative_of(Low *L, const Val *v, const Atoms *as)
{
    Atoms of = val_leaves(L, v), leaves = {0};
    bool *tags = NEWN(L->cx->perm, bool, as->n);
    mark_tags(L, v, tags);
    for (int i = 0; i < as->n; i++)
        vec_push(L->cx->perm, &leaves, tags[i] ? of.at[i] : as->at[i]);
    return val_rebuild(L, v, &leaves);
}

/* f as e's function, of the value x; what it gives, of type t (NULL: not known). */
static Val *deriv_fn(Low *L, const Call *c, Exp *e, Val *f, Val *x, const AType *t)
{
    Vars params = {0};
    if (t)
        preload_sizes(L, c->fn->env_use, t, NULL);
    FnScope scope = open_fn(L);
    Val *param = params_like(L, x, false, &params, c->loc);
    Val *res = apply1(L, f, param, c->loc);
    end_fn(L, scope);
    name_args(L, &param, 1);
    e->deriv.fn = close_lambda(L, scope.sc, params, res, t, c->fn->env_use, c->loc);
    e->deriv.args = val_leaves(L, x);
    return val_rebuild(L, res, &e->deriv.fn->body->res);
}

/* What f gives, and the tangents of that, or the adjoints of f's argument. Attributes say nothing
 * of it: what is made of a derivative is not what is written. */
static Val *lower_deriv(Low *L, const Call *c, ExpKind kind)
{
    Exp *e = exp_new(L->cx, kind, c->loc);
    const AType *t = call_result_type(c);
    t = t && type_is_composite(t) ? t->elems.at[0] : NULL;
    Val *res = deriv_fn(L, c, e, c->arg[0], c->arg[1], t);
    e->deriv.seeds = val_leaves(L, fit_like(L, c->loc, c->arg[2], kind == E_JVP ? c->arg[1] : res));
    Atoms out = emit_all(L, L->tmp, e);
    e->attrs = 0;
    int n = e->deriv.fn->body->res.n;
    Atoms given = atoms_part(L, &out, 0, n), derived = atoms_part(L, &out, n, out.n - n);
    res = val_rebuild(L, res, &given);
    return val_pair(L, res, derivative_of(L, kind == E_JVP ? res : c->arg[1], &derived));
}

/* What f gives, with the adjoint of its argument by another function. */
static Val *lower_with_vjp(Low *L, const Call *c)
{
    Exp *e = exp_new(L->cx, E_WITH_VJP, c->loc);
    Vars back = {0};
    Val *res = deriv_fn(L, c, e, c->arg[0], c->arg[2], call_result_type(c));
    FnScope g = open_fn(L);
    Val *ys[2] = {params_like(L, res, false, &back, c->loc),
                  params_like(L, res, false, &back, c->loc)};
    Atoms seeds = val_leaves(L, ys[1]);
    Val *adjoint = apply2(L, c->arg[1], ys[0], derivative_of(L, ys[0], &seeds), c->loc);
    adjoint = fit_like(L, c->loc, adjoint, c->arg[2]);
    end_fn(L, g);
    name_args(L, ys, 2);
    e->deriv.back = close_lambda(L, g.sc, back, adjoint, NULL, c->fn->env_use, c->loc);
    Atoms out = emit_all(L, L->tmp, e);
    e->attrs = 0;
    return val_rebuild(L, res, &out);
}

static Val *lower_stop(Low *L, const Call *c)
{
    Exp *e = exp_new(L->cx, E_STOP, c->loc);
    Vars params = {0};
    FnScope f = open_fn(L);
    Val *x = params_like(L, c->arg[0], false, &params, c->loc);
    end_fn(L, f);
    e->deriv.fn = close_lambda(L, f.sc, params, x, NULL, c->fn->env_use, c->loc);
    e->deriv.args = val_leaves(L, c->arg[0]);
    Atoms out = emit_all(L, L->tmp, e);
    e->attrs = 0;
    return val_rebuild(L, c->arg[0], &out);
}

Val *lower_soac(Low *L, const Call *c)
{
    switch ((int)c->id) {
    case BI_MAP: return lower_map(L, c);
    case BI_REDUCE: return lower_reduce(L, c, E_REDUCE, false);
    case BI_REDUCE_COMM: return lower_reduce(L, c, E_REDUCE, true);
    case BI_SCAN: return lower_reduce(L, c, E_SCAN, false);
    case BI_REDOMAP: return lower_reduce(L, c, E_REDOMAP, false);
    case BI_SCANOMAP: return lower_reduce(L, c, E_SCANOMAP, false);
    case BI_SCATTER: return lower_scatter(L, c, 1);
    case BI_SCATTER_2D: return lower_scatter(L, c, 2);
    case BI_SCATTER_3D: return lower_scatter(L, c, 3);
    case BI_FILTER: return lower_filter(L, c, false);
    case BI_PARTITION: return lower_filter(L, c, true);
    case BI_HIST: return lower_hist(L, c, 1);
    case BI_HIST_2D: return lower_hist(L, c, 2);
    case BI_HIST_3D: return lower_hist(L, c, 3);
    case BI_JVP: return lower_deriv(L, c, E_JVP);
    case BI_VJP: return lower_deriv(L, c, E_VJP);
    case BI_WITH_VJP: return lower_with_vjp(L, c);
    case BI_STOP_GRADIENT: return lower_stop(L, c);
    case BI_SUM: return sum_of(L, c, OP_ADD);
    case BI_PRODUCT: return sum_of(L, c, OP_MUL);
    case BI_MINIMUM: return sum_of(L, c, OP_MIN);
    case BI_MAXIMUM: return sum_of(L, c, OP_MAX);
    default: return NULL;
    }
}
