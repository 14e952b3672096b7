/* Maps take the shape in which their results are read.
 *
 *     let yss = map n (xss) \xs -> map m (xs) f        let xs = reshape [w] xss
 *     let ys = reshape [w] yss                   ==>   let ys = map w (xs) f
 *     reduce w (ys) ..                                 reduce w (ys) ..
 *
 *     let ys = map w (xs) f                            let xss = reshape [n, m] xs
 *     let yss = reshape [n, m] ys                ==>   let yss = map n (xss) \xs -> map m (xs) f
 *     map n (yss) ..                                   map n (yss) ..
 *
 * Then they fuse with their readers: a reshape between them is one of what there is anyway. Of n
 * maps over m elements the flat map's index k gives both, i = k / m and j = k % m, where rows or
 * indices are used other than element by element, and likewise of deeper nests; a map over the
 * rows' numbers has k = i * m + j.
 *
 * Only where nothing is lost: all results are read through such reshapes alone, and those by SOACs
 * of the same body; a nest of maps is perfect (between its levels there are cheap operations and
 * views that cannot fail) and has no further parallelism inside. A reshape of a view would be a
 * copy, so views are read by indices instead. The map moves to its reshape, so what it reads must
 * keep its value.
 *
 * Before: well-formed. After: well-formed; what nobody uses is left to simplify. */
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    Uses *us;
    bool changed;
    int depth; /* of lambdas */
} Renest;

enum { MOST_LEVELS = 8 }; /* of a nest that is made flat */

/* A map that is to take another shape. */
typedef struct {
    const Stm *map;
    int levels;                   /* flat: of the nest, at least 2; else 0 */
    const Exp *nest[MOST_LEVELS]; /* flat: its maps, the outermost first */
    Vars pat;                     /* of the reshapes */
    int last;                     /* the first of them in the body */
    Atoms dims;                   /* flat: its size; else the two sizes */
} Shape;

/* --- What may be done ----------------------------------------------------------------------- */

/* How often v is an input of the SOACs of b. */
static uintptr_t soac_inputs(const Body *b, const Var *v)
{
    uintptr_t n = 0;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        for (int k = 0; exp_is_soac(e) && k < e->soac.arrs.n; k++)
            n += e->soac.arrs.at[k].var == v;
    }
    return n;
}

/* The one statement of b that mentions v, a reshape to `rank` dimensions that only SOACs of b read;
 * -1: it is not so. */
static int read_through(const Renest *R, const Body *b, int from, const Var *v, int rank)
{
    if (uses_count(R->us, v) != 1)
        return -1;
    for (int i = from; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (s->exp->kind != E_RESHAPE || s->exp->reshape.arr.var != v)
            continue;
        uintptr_t n = uses_count(R->us, s->pat.at[0]);
        bool ok = s->exp->reshape.dims.n == rank && n > 0 && n == soac_inputs(b, s->pat.at[0]) &&
                  uses_stable(R->us, atom_var(s->pat.at[0]));
        return ok ? i : -1;
    }
    return -1;
}

/* All results of the map at `at`, by reshapes to the same dimensions. */
static bool reshapes_of(const Renest *R, const Body *b, int at, int rank, Shape *sh)
{
    const Stm *s = &b->stms.at[at];
    *sh = (Shape){.map = s, .last = b->stms.n};
    for (int k = 0; k < s->pat.n; k++) {
        int r = read_through(R, b, at + 1, s->pat.at[k], rank);
        if (r < 0)
            return false;
        const Stm *re = &b->stms.at[r];
        for (int d = 0; k > 0 && d < rank; d++)
            if (!atom_eq(re->exp->reshape.dims.at[d], sh->dims.at[d]))
                return false;
        sh->dims = re->exp->reshape.dims;
        sh->last = r < sh->last ? r : sh->last;
        vec_push(R->cx->perm, &sh->pat, re->pat.at[0]);
    }
    return s->pat.n > 0;
}

/* The reads of e could be done later. */
static bool reads_stable(const Renest *R, const Exp *e)
{
    VarSet *free = varmap_new(R->cx->perm);
    free_in_exp(free, e);
    return uses_all_stable(R->us, R->cx->perm, free);
}

static bool rows_stable(const Renest *R, const Lambda *l)
{
    for (int i = 0; i < l->params.n; i++)
        if (!uses_stable(R->us, atom_var(l->params.at[i])))
            return false;
    return true;
}

static bool scalar_results(const Exp *e)
{
    for (int k = 0; k < e->soac.fn->body->res.n; k++)
        if (atom_type(e->soac.fn->body->res.at[k]).rank > 0)
            return false;
    return true;
}

/* Code that may be done again for each element of a row; a reshape may copy it. */
static bool cheap_between(const Exp *e)
{
    return exp_is(e, F_SCALAR | F_VIEW) && e->kind != E_RESHAPE && !exp_traps(e);
}

/* Is no failure reported in place of another one when the map is done where its results are read?
 * Assertions of the host come before what fails in kernels anyway. */
static bool failures_in_order(const Renest *R, const Body *b, int at, int last)
{
    for (int i = at + 1; i < last && exp_traps(b->stms.at[at].exp); i++) {
        const Exp *e = b->stms.at[i].exp;
        if (exp_traps(e) && (e->kind != E_ASSERT || R->depth > 0))
            return false;
    }
    return true;
}

/* The map that, with cheap code before it, is all that e's function does; NULL: it does more. */
static const Stm *perfect_inner(const Exp *e)
{
    const Body *b = e->soac.fn->body;
    const Stm *last = b->stms.n ? &vec_last(&b->stms) : NULL;
    if (!last || last->exp->kind != E_MAP || last->exp->attrs != e->attrs ||
        last->pat.n != b->res.n)
        return NULL;
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var != last->pat.at[k])
            return NULL;
    for (int i = 0; i < b->stms.n - 1; i++)
        if (!cheap_between(b->stms.at[i].exp))
            return NULL;
    return last;
}

/* The maps of the perfect nest e, the outermost first; known outside is how large they are, and
 * what they read could be read later. */
static bool find_nest(const Renest *R, const Exp *e, Shape *sh)
{
    VarSet *own = varmap_new(R->cx->perm);
    const Stm *in;
    sh->nest[0] = e;
    for (sh->levels = 1; sh->levels < MOST_LEVELS && (in = perfect_inner(e)); sh->levels++) {
        const Body *b = e->soac.fn->body;
        for (int i = 0; i < b->stms.n - 1; i++)
            varset_add(own, b->stms.at[i].pat.at[0]);
        e = sh->nest[sh->levels] = in->exp;
        if ((e->soac.width.var && varset_has(own, e->soac.width.var)) ||
            !rows_stable(R, e->soac.fn))
            return false;
    }
    return sh->levels > 1 && !body_has_soac(e->soac.fn->body) && scalar_results(e) &&
           rows_stable(R, sh->nest[0]->soac.fn) && reads_stable(R, sh->nest[0]);
}

static bool can_flatten(const Renest *R, const Body *b, int at, Shape *sh)
{
    const Exp *e = b->stms.at[at].exp;
    return e->kind == E_MAP && perfect_inner(e) && reshapes_of(R, b, at, 1, sh) &&
           failures_in_order(R, b, at, sh->last) && find_nest(R, e, sh);
}

static bool can_unflatten(const Renest *R, const Body *b, int at, Shape *sh)
{
    const Exp *e = b->stms.at[at].exp;
    return e->kind == E_MAP && !body_has_soac(e->soac.fn->body) && scalar_results(e) &&
           reshapes_of(R, b, at, 2, sh) && failures_in_order(R, b, at, sh->last) &&
           reads_stable(R, e) && rows_stable(R, e->soac.fn);
}

/* --- Making it ------------------------------------------------------------------------------ */

static void bind(Bld *bl, Var *v, Exp *e)
{
    Stm s = {.exp = e};
    vec_push(bl->cx->perm, &s.pat, v);
    bld_stm(bl, s);
}

static bool counts(const Renest *R, Atom arr)
{
    const Exp *d = uses_def(R->us, arr);
    return d && d->kind == E_IOTA && atom_is_int(d->iota.start, 0) &&
           atom_is_int(d->iota.stride, 1) && atom_type(d->iota.start).elem == T_I64;
}

/* Is a reshape of arr one that costs nothing? */
static bool reshapes_freely(const Renest *R, Atom arr)
{
    const Exp *d = uses_def(R->us, arr);
    return !d || !exp_is(d, F_VIEW) || d->kind == E_RESHAPE;
}

static Atom numbers(Bld *out, Loc loc, Atom n)
{
    Exp *iota = exp_new(out->cx, E_IOTA, loc);
    iota->iota.n = n;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    return bld_exp(out, "is", iota);
}

/* Row i of arr: i itself for numbers. */
static void bind_row(const Renest *R, Bld *bl, Loc loc, Var *x, Atom arr, Atom i)
{
    bind(bl, x, counts(R, arr) ? exp_atom(R->cx, loc, i) : exp_index(R->cx, loc, arr, &i, 1, true));
}

/* arr with its outermost `from` dimensions replaced by dims. */
static Atom reshaped(Renest *R, Bld *out, Loc loc, Atom arr, const Atoms *dims, int from)
{
    Type t = atom_type(arr);
    Exp *e = exp_new(R->cx, E_RESHAPE, loc);
    e->reshape.arr = arr;
    vec_append(R->cx->perm, &e->reshape.dims, dims);
    for (int d = from; d < t.rank; d++)
        vec_push(R->cx->perm, &e->reshape.dims, t.dims[d]);
    return bld_exp(out, arr.var->base, e);
}

/* The array outside of the nest of whose elements q, an input of its map at `level`, has a row; not
 * a variable: there is none. */
static Atom rows_of(const Shape *sh, int level, Atom q)
{
    for (; level > 0; level--) {
        const Exp *e = sh->nest[level - 1];
        int k = vars_find(&e->soac.fn->params, q.var);
        if (k < 0)
            return (Atom){0};
        q = e->soac.arrs.at[k];
    }
    return q;
}

/* The numbers of the element k at each level. */
static void numbers_of(Bld *bl, const Shape *sh, Var *k, Atom *at)
{
    Atom left = atom_var(k);
    for (int l = sh->levels - 1; l > 0; l--) {
        const Exp *e = sh->nest[l];
        /* Not 0, so that the divisions cannot fail: with no column there is no element. */
        Exp *most = exp_binop(bl->cx, e->loc, OP_MAX, e->soac.width, atom_i64(1));
        Atom m = bld_exp(bl, "m", most);
        Atom row = bld_exp(bl, "i", exp_binop(bl->cx, e->loc, OP_QUOT, left, m));
        at[l] = bld_exp(bl, "j", exp_binop(bl->cx, e->loc, OP_REM, left, m));
        left = row;
    }
    at[0] = left;
}

static Stm flat_map(Renest *R, Bld *out, const Shape *sh)
{
    Ctx *cx = R->cx;
    const Exp *last = sh->nest[sh->levels - 1];
    Loc loc = last->loc;
    Atoms arrs = {0};
    Vars params = {0};
    Bld bl = bld_new(cx);
    Atom at[MOST_LEVELS];
    Var *k = var_new(cx, "k", type_prim(T_I64), loc);
    vec_push(cx->perm, &arrs, numbers(out, loc, sh->dims.at[0]));
    vec_push(cx->perm, &params, k);
    numbers_of(&bl, sh, k, at);
    for (int l = 0; l < sh->levels; l++) {
        const Exp *e = sh->nest[l];
        const Body *b = e->soac.fn->body;
        for (int p = 0; p < e->soac.fn->params.n; p++) {
            Var *x = e->soac.fn->params.at[p];
            Atom rows = e == last ? rows_of(sh, l, e->soac.arrs.at[p]) : (Atom){0};
            if (!rows.var || !reshapes_freely(R, rows)) {
                bind_row(R, &bl, e->loc, x, e->soac.arrs.at[p], at[l]);
                continue;
            }
            vec_push(cx->perm, &arrs, reshaped(R, out, loc, rows, &sh->dims, sh->levels));
            vec_push(cx->perm, &params, x);
        }
        for (int s = 0; s < b->stms.n - (e != last); s++)
            bld_stm(&bl, b->stms.at[s]);
    }
    Lambda *fn = lambda_new(cx, params, bld_body(&bl, last->soac.fn->body->res));
    Exp *r = exp_map(cx, loc, sh->dims.at[0], arrs, fn);
    r->attrs = sh->nest[0]->attrs;
    return (Stm){sh->pat, r};
}

/* Row i of what becomes two-dimensional: m elements from i * m on. */
static Atom part(Renest *R, Bld *bl, Loc loc, Atom arr, Atom first, Atom m)
{
    Exp *e = exp_index(R->cx, loc, arr, NULL, 0, true);
    e->index.at.at[0].start = first;
    e->index.at.at[0].n = m;
    return bld_exp(bl, arr.var->base, e);
}

static Stm nested_map(Renest *R, Bld *out, const Shape *sh)
{
    Ctx *cx = R->cx;
    const Exp *e = sh->map->exp;
    Loc loc = e->loc;
    Atom n = sh->dims.at[0], m = sh->dims.at[1];
    Atoms arrs = {0}, inner_arrs = {0};
    Vars params = {0}, inner_params = {0};
    Bld bl = bld_new(cx), inner = bld_new(cx);
    Var *i = var_new(cx, "i", type_prim(T_I64), loc), *j = var_like(cx, i);
    vec_push(cx->perm, &arrs, numbers(out, loc, n));
    vec_push(cx->perm, &params, i);
    vec_push(cx->perm, &inner_arrs, numbers(out, loc, m));
    vec_push(cx->perm, &inner_params, j);
    Atom first = bld_exp(&bl, "first", exp_binop(cx, loc, OP_MUL, atom_var(i), m));
    for (int p = 0; p < e->soac.fn->params.n; p++) {
        Var *x = e->soac.fn->params.at[p];
        Atom arr = e->soac.arrs.at[p];
        if (counts(R, arr)) {
            bind(&inner, x, exp_binop(cx, loc, OP_ADD, first, atom_var(j)));
            continue;
        }
        vec_push(cx->perm, &inner_params, x);
        if (!reshapes_freely(R, arr)) {
            vec_push(cx->perm, &inner_arrs, part(R, &bl, loc, arr, first, m));
            continue;
        }
        Atom rows = reshaped(R, out, loc, arr, &sh->dims, 1);
        Var *row = var_new(cx, x->base, type_row(atom_type(rows)), loc);
        vec_push(cx->perm, &arrs, rows);
        vec_push(cx->perm, &params, row);
        vec_push(cx->perm, &inner_arrs, atom_var(row));
    }
    vec_append(cx->perm, &inner.stms, &e->soac.fn->body->stms);
    Lambda *fn = lambda_new(cx, inner_params, bld_body(&inner, e->soac.fn->body->res));
    Exp *rows = exp_map(cx, loc, m, inner_arrs, fn);
    rows->attrs = e->attrs;
    Lambda *outer = lambda_new(cx, params, bld_body(&bl, bld_exps(&bl, "row", rows)));
    Exp *r = exp_map(cx, loc, n, arrs, outer);
    r->attrs = e->attrs;
    return (Stm){sh->pat, r};
}

/* --- Bodies --------------------------------------------------------------------------------- */

static bool binds_any_of(const Stm *s, const Vars *vs)
{
    for (int k = 0; k < vs->n; k++)
        if (s->pat.n == 1 && s->pat.at[0] == vs->at[k])
            return true;
    return false;
}

/* b with one map in another shape, NULL: there is none that may be. */
static Body *renest_one(Renest *R, const Body *b)
{
    for (int at = b->stms.n - 1; at >= 0; at--) {
        Shape sh;
        bool flat = can_flatten(R, b, at, &sh);
        if (!flat && !can_unflatten(R, b, at, &sh))
            continue;
        Bld bl = bld_new(R->cx);
        for (int i = 0; i < b->stms.n; i++) {
            if (i == sh.last)
                bld_stm(&bl, flat ? flat_map(R, &bl, &sh) : nested_map(R, &bl, &sh));
            if (i != at && !binds_any_of(&b->stms.at[i], &sh.pat))
                bld_stm(&bl, b->stms.at[i]);
        }
        return bld_body(&bl, b->res);
    }
    return NULL;
}

static Lambda *renest_lambda(void *env, Lambda *l);

static Body *renest_body(void *env, Body *b)
{
    Renest *R = env;
    Body *other = R->changed ? NULL : renest_one(R, b);
    if (other) {
        R->changed = true;
        return other;
    }
    ExpMapper m = {.env = env, .body = renest_body, .lambda = renest_lambda};
    Bld bl = bld_new(R->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (!R->changed && exp_is(s.exp, F_CODE))
            s.exp = exp_map_parts(R->cx, s.exp, &m);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

static Lambda *renest_lambda(void *env, Lambda *l)
{
    Renest *R = env;
    R->depth++;
    Body *b = renest_body(R, l->body);
    R->depth--;
    return lambda_new(R->cx, l->params, b);
}

Prog *pass_renest(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Renest R = {.cx = cx};
        do { /* a change is a new map, and may be the reason for another one */
            R.changed = false;
            R.us = uses_entry(cx, &en);
            en.body = renest_body(&R, en.body);
        } while (R.changed);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
