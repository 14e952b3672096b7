/* Loops that are maps, or scatters.
 *
 *     loop (as = xs) for i < n do                        map n (iota n, xs) \i x ->
 *       as with [i] = f i as[i]             =>             f i x
 *
 * A loop whose turn i reads and writes element i alone of each array that it carries, and carries
 * nothing else, is a map however it was written. As one it fuses, it is parallel, and an operator
 * that is one is interchanged with its reduction or scan (rule G4). What a turn reads besides is
 * not written by any. An array may be carried for one row of it, `as with [r, i] = ..`: then the
 * row is mapped and written back, so that a nest of such loops becomes a nest of maps, from the
 * inside out. Writes may be conditional: an element that is not written stays as it was.
 *
 *     loop ys = xs for i < n do                          scatter (iota (n * w)) into xs \k ->
 *       scatter (iota w) into ys \j -> (i * w + j, f i j)    =>   (k, f (k / w) (k % w))
 *
 * A loop whose turns scatter into what it carries, each to places of its own, and read nothing of
 * it, is one scatter.
 *
 * SOAC dialect. Loops that are to be sequential or unrolled, by an attribute, stay loops. */
#include "ir/passes/simplify.h"

/* A carried array, all accesses to which are at [at.., i, ..]. */
typedef struct {
    Var *param;
    DimIndexes before; /* positions that do not vary; i stands behind them */
    Var *elem;         /* what the array had at i when the turn began */
    bool read;
} Carried;

/* What element i of an array is by now, in the middle of a turn. */
typedef struct {
    Carried *of;
    Atom val;
} Element;

typedef struct {
    Simp *S;
    const Exp *loop;
    VEC(Carried) carried;
    VarMap *elements; /* Var -> Element *: carried arrays as they change in a turn */
    VarSet *inside;   /* what a turn binds */
} Turn;

static bool turn_body(Turn *T, const Body *b, Atoms *res, Bld *out);

/* --- Where carried arrays are accessed ------------------------------------------------------ */

static bool is_counter(const Turn *T, const DimIndex *d)
{
    return !d->is_slice && d->start.var == T->loop->loop.i;
}

static bool all_whole(const DimIndexes *at, int from, Type t)
{
    for (int d = from; d < t.rank; d++)
        if (!at->at[d].is_slice || !atom_is_int(at->at[d].start, 0) ||
            !atom_is_int(at->at[d].stride, 1) || !atom_eq(at->at[d].n, t.dims[d]))
            return false;
    return true;
}

/* Are they the same element, or parts of the same? */
static bool at_element(const Turn *T, const Carried *c, const DimIndexes *at)
{
    for (int d = 0; d < c->before.n; d++)
        if (at->at[d].is_slice || !atom_eq(at->at[d].start, c->before.at[d].start))
            return false;
    return is_counter(T, &at->at[c->before.n]);
}

/* All of array a behind the positions before i. */
static DimIndexes row_at(const Turn *T, const Carried *c)
{
    Type t = c->param->type;
    DimIndexes at = {0};
    vec_append(T->S->cx->perm, &at, &c->before);
    for (int d = c->before.n; d < t.rank; d++) {
        DimIndex whole = {true, atom_i64(0), t.dims[d], atom_i64(1)};
        vec_push(T->S->cx->perm, &at, whole);
    }
    return at;
}

/* An access [before.., i, ..] to c's array: what stands before does not vary, and is a place of the
 * array whatever the loop does, since the map reads and writes that row even where no turn would.
 */
static bool find_place(const Turn *T, Carried *c, const DimIndexes *at)
{
    int d = 0;
    while (d < at->n && !is_counter(T, &at->at[d]))
        d++;
    if (d == at->n || !atom_eq(c->param->type.dims[d], T->loop->loop.bound))
        return false;
    for (int k = 0; k < d; k++)
        if (at->at[k].is_slice ||
            (at->at[k].start.var && varset_has(T->inside, at->at[k].start.var)))
            return false;
    c->before = (DimIndexes){.at = at->at, .n = d};
    DimIndexes row = row_at(T, c);
    return d == 0 || ranges_in_bounds(T->S->ra, c->param->type, &row);
}

static void find_update(const Turn *T, Carried *c, const Body *b, bool *found)
{
    for (int i = 0; i < b->stms.n && !*found; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind == E_UPDATE && e->update.arr.var == c->param) {
            *found = find_place(T, c, &e->update.at);
            return;
        }
        if (e->kind == E_IF) {
            find_update(T, c, e->branch.then_, found);
            if (!*found)
                find_update(T, c, e->branch.else_, found);
        }
    }
}

/* --- A turn on elements --------------------------------------------------------------------- */

static Element *element_of(const Turn *T, Atom a)
{
    return a.var ? varmap_get(T->elements, a.var) : NULL;
}

static void set_element(Turn *T, const Var *v, Carried *of, Atom val)
{
    varmap_put(T->elements, v, arena_memdup(T->S->cx->perm, &(Element){of, val}, sizeof(Element)));
}

/* Is a carried array mentioned in e? */
static bool mentions(const Turn *T, const Exp *e)
{
    return exp_uses_any(e, T->elements);
}

static bool turn_index(Turn *T, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Element *x = element_of(T, e->index.arr);
    if (!x || !at_element(T, x->of, &e->index.at))
        return false;
    int d = x->of->before.n + 1;
    if (d < e->index.at.n && !e->index.safe) /* what is told of a failure has all positions */
        return false;
    Exp *r = exp_atom(T->S->cx, e->loc, x->val);
    if (d < e->index.at.n) {
        r = exp_new(T->S->cx, E_INDEX, e->loc);
        r->index.arr = x->val;
        r->index.at = (DimIndexes){.at = e->index.at.at + d, .n = e->index.at.n - d};
        r->index.safe = true;
    }
    x->of->read = x->of->read || x->val.var == x->of->elem;
    bld_stm(out, (Stm){s->pat, r});
    return true;
}

static Atom copied(const Turn *T, Atom a, Loc loc, Bld *out)
{
    Exp *c = exp_new(T->S->cx, E_COPY, loc);
    c->copy.arr = a;
    return bld_exp(out, a.var->base, c);
}

/* The element, an array, behind an update of a part of it: the positions from d on. */
static Atom part_written(const Turn *T, const Exp *e, int d, Element *x, Bld *out)
{
    Exp *up = exp_new(T->S->cx, E_UPDATE, e->loc);
    x->of->read = x->of->read || x->val.var == x->of->elem;
    up->update.arr = copied(T, x->val, e->loc, out);
    up->update.at = (DimIndexes){.at = e->update.at.at + d, .n = e->update.at.n - d};
    up->update.val = e->update.val;
    up->update.safe = true;
    return bld_exp(out, x->of->param->base, up);
}

static bool turn_update(Turn *T, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Element *x = element_of(T, e->update.arr);
    if (!x || !at_element(T, x->of, &e->update.at) || element_of(T, e->update.val))
        return false;
    Atom val = e->update.val;
    int d = x->of->before.n + 1;
    bool whole = all_whole(&e->update.at, d, atom_type(e->update.arr));
    if (!whole && !e->update.safe)
        return false;
    if (!whole)
        val = part_written(T, e, d, x, out);
    else if (!simp_stable(T->S, val)) /* it may change once it is copied into the array */
        val = copied(T, val, e->loc, out);
    set_element(T, s->pat.at[0], x->of, val);
    return true;
}

static bool turn_if(Turn *T, const Stm *s, Bld *out)
{
    Ctx *cx = T->S->cx;
    const Exp *e = s->exp;
    Bld then_ = bld_new(cx), else_ = bld_new(cx);
    Atoms xs = {0}, ys = {0};
    Vars pat = {0};
    if (!turn_body(T, e->branch.then_, &xs, &then_) || !turn_body(T, e->branch.else_, &ys, &else_))
        return false;
    for (int k = 0; k < s->pat.n; k++) {
        Var *v = s->pat.at[k];
        Element *x = element_of(T, e->branch.then_->res.at[k]);
        Element *y = element_of(T, e->branch.else_->res.at[k]);
        if (x || y) {
            if (!x || !y || x->of != y->of || !type_eq(v->type, x->of->param->type))
                return false;
            Carried *c = x->of;
            c->read = c->read || x->val.var == c->elem || y->val.var == c->elem;
            xs.at[k] = x->val;
            ys.at[k] = y->val;
            v = var_new(cx, v->base, c->elem->type, v->loc);
            set_element(T, s->pat.at[k], c, atom_var(v));
        }
        vec_push(cx->perm, &pat, v);
    }
    Exp *r = exp_if(cx, e->loc, e->branch.test, bld_body(&then_, xs), bld_body(&else_, ys));
    r->attrs = e->attrs;
    bld_stm(out, (Stm){pat, r});
    return true;
}

/* The statements of b on elements; false: it is no map. res: b's results, of which those that are
 * carried arrays are left to the caller. */
static bool turn_body(Turn *T, const Body *b, Atoms *res, Bld *out)
{
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        bool ok = true;
        if (!mentions(T, s->exp))
            bld_stm(out, *s);
        else if (s->exp->kind == E_INDEX)
            ok = turn_index(T, s, out);
        else if (s->exp->kind == E_UPDATE)
            ok = turn_update(T, s, out);
        else
            ok = s->exp->kind == E_IF && turn_if(T, s, out);
        if (!ok)
            return false;
    }
    vec_append(T->S->cx->perm, res, &b->res);
    return true;
}

/* --- The map -------------------------------------------------------------------------------- */

static bool may_be_map(const Exp *e)
{
    if (e->loop.kind != LOOP_FOR || (e->attrs & (ATTR_SEQUENTIAL | ATTR_UNROLL)) ||
        e->loop.i->type.elem != T_I64 || e->loop.params.n == 0)
        return false;
    for (int k = 0; k < e->loop.params.n; k++)
        if (e->loop.params.at[k]->type.rank == 0)
            return false;
    return true;
}

static bool find_carried(Turn *T)
{
    Ctx *cx = T->S->cx;
    const Exp *e = T->loop;
    for (int k = 0; k < e->loop.params.n; k++) {
        Carried c = {.param = e->loop.params.at[k]};
        bool found = false;
        find_update(T, &c, e->loop.body, &found);
        if (!found)
            return false;
        c.elem = var_new(cx, c.param->base, type_drop(c.param->type, c.before.n + 1), c.param->loc);
        vec_push(cx->perm, &T->carried, c);
    }
    for (int k = 0; k < T->carried.n; k++)
        set_element(T, T->carried.at[k].param, &T->carried.at[k], atom_var(T->carried.at[k].elem));
    return true;
}

static Atom input_of(Turn *T, const Carried *c, Atom init)
{
    if (c->before.n == 0)
        return init;
    Exp *e = exp_new(T->S->cx, E_INDEX, T->loop->loc);
    e->index.arr = init;
    e->index.at = row_at(T, c);
    e->index.safe = true;
    return bld_exp(T->S->bl, c->param->base, e);
}

static void emit_map(Turn *T, const Vars *pat, Body *b)
{
    Simp *S = T->S;
    Ctx *cx = S->cx;
    const Exp *e = T->loop;
    Exp *iota = exp_new(cx, E_IOTA, e->loc);
    iota->iota.n = e->loop.bound;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    Atoms arrs = {0};
    Vars params = {0}, made = {0};
    vec_push(cx->perm, &arrs, bld_exp(S->bl, "is", iota));
    vec_push(cx->perm, &params, e->loop.i);
    for (int k = 0; k < T->carried.n; k++)
        if (T->carried.at[k].read) {
            vec_push(cx->perm, &arrs, input_of(T, &T->carried.at[k], e->loop.inits.at[k]));
            vec_push(cx->perm, &params, T->carried.at[k].elem);
        }
    Exp *map = exp_map(cx, e->loc, e->loop.bound, arrs, lambda_new(cx, params, b));
    map->attrs = attr_with_strips(e->attrs, 0); /* no turn is kept */
    for (int k = 0; k < pat->n; k++) {
        const Carried *c = &T->carried.at[k];
        Type t = type_array(cx, c->elem->type, e->loop.bound);
        vec_push(cx->perm, &made,
                 c->before.n ? var_new(cx, c->param->base, t, c->param->loc) : pat->at[k]);
    }
    simp_emit(S, made, map);
    for (int k = 0; k < pat->n; k++) {
        if (T->carried.at[k].before.n == 0)
            continue;
        Exp *up = exp_new(cx, E_UPDATE, e->loc);
        up->update.arr = e->loop.inits.at[k];
        up->update.at = row_at(T, &T->carried.at[k]);
        up->update.val = simp_atom(S, atom_var(made.at[k]));
        up->update.safe = true;
        Vars one = {.at = (Var **)(uintptr_t)&pat->at[k], .n = 1};
        simp_emit(S, one, up);
    }
}

/* --- Scatters ------------------------------------------------------------------------------- */

/* A number i * turn + j * elem + one that does not vary, of turn i and element j. Factors: 0, 1,
 * an atom. */
typedef struct {
    Atom turn, elem;
} Linear;

typedef struct {
    Simp *S;
    const Exp *loop, *scatter;
    Stms inner;              /* what is computed in a turn, and for an element */
    VarSet *inside, *counts; /* what varies; params of the scatter's function that are j */
} Writes;

static const Exp *inner_def(const Writes *W, const Var *v)
{
    for (int i = 0; i < W->inner.n; i++)
        if (W->inner.at[i].pat.n == 1 && W->inner.at[i].pat.at[0] == v)
            return W->inner.at[i].exp;
    return NULL;
}

static bool is_zero(Atom a)
{
    return atom_is_int(a, 0);
}

static bool add_factors(Atom *x, Atom y)
{
    bool ok = is_zero(*x) || is_zero(y);
    *x = is_zero(*x) ? y : *x;
    return ok;
}

/* x times f, which does not vary. */
static bool times_factor(Atom *x, Atom f)
{
    bool ok = is_zero(*x) || atom_is_int(*x, 1);
    *x = is_zero(*x) ? *x : f;
    return ok;
}

static bool is_linear(const Writes *W, Atom a, Linear *l)
{
    Linear r;
    *l = (Linear){atom_i64(0), atom_i64(0)};
    if (!a.var || !varset_has(W->inside, a.var))
        return true;
    if (a.var == W->loop->loop.i || varset_has(W->counts, a.var)) {
        *(a.var == W->loop->loop.i ? &l->turn : &l->elem) = atom_i64(1);
        return true;
    }
    const Exp *e = inner_def(W, a.var);
    if (!e || e->kind != E_PRIM || (e->prim.op != OP_ADD && e->prim.op != OP_MUL))
        return false;
    Atom x = e->prim.args.at[0], y = e->prim.args.at[1];
    if (e->prim.op == OP_ADD)
        return is_linear(W, x, l) && is_linear(W, y, &r) && add_factors(&l->turn, r.turn) &&
               add_factors(&l->elem, r.elem);
    bool second = y.var && varset_has(W->inside, y.var);
    return is_linear(W, second ? y : x, l) &&
           (second ? !x.var || !varset_has(W->inside, x.var) : true) &&
           times_factor(&l->turn, second ? x : y) && times_factor(&l->elem, second ? x : y);
}

/* Does no element of a turn write where one of another does? In one dimension elements of a turn
 * lie together, or turns within an element; or turns and elements have a dimension each. */
static bool places_differ(const Writes *W, const Atom *at, int rank)
{
    Atom one = atom_i64(1), width = W->scatter->soac.width;
    bool turn = false, elem = false;
    for (int d = 0; d < rank; d++) {
        Linear l;
        if (!is_linear(W, at[d], &l))
            return false;
        if ((atom_eq(l.elem, one) && atom_eq(l.turn, width)) ||
            (atom_eq(l.turn, one) && atom_eq(l.elem, W->loop->loop.bound)))
            return true;
        turn = turn || (atom_eq(l.turn, one) && is_zero(l.elem));
        elem = elem || (atom_eq(l.elem, one) && is_zero(l.turn));
    }
    return turn && elem;
}

/* The statements of a turn: scalars that cost little, and a scatter that is all it gives. */
static bool find_scatter(Writes *W)
{
    enum { MOST = 8 };
    const Body *b = W->loop->loop.body;
    const Var *carried = W->loop->loop.params.at[0];
    if (b->stms.n == 0 || b->stms.n > MOST || W->loop->loop.params.n != 1)
        return false;
    const Stm *last = &vec_last(&b->stms);
    const Exp *e = W->scatter = last->exp;
    if (e->kind != E_SCATTER || e->soac.dests.n != 1 || e->soac.dests.at[0].arr.var != carried ||
        b->res.at[0].var != last->pat.at[0] || e->soac.width.var || e->soac.width.c.i < 1 ||
        (e->attrs & ATTR_SEQUENTIAL))
        return false;
    VarSet *just = varmap_new(W->S->cx->perm);
    varset_add(just, carried);
    for (int i = 0; i < b->stms.n - 1; i++) {
        const Stm *s = &b->stms.at[i];
        if (!exp_is(s->exp, F_SCALAR) || s->exp->kind == E_CALL || exp_traps(s->exp) ||
            s->pat.n != 1 || s->pat.at[0]->type.rank > 0)
            return false;
    }
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (e->soac.arrs.at[k].var == carried || varset_has(W->inside, e->soac.arrs.at[k].var))
            return false;
    const Stms *inside = &e->soac.fn->body->stms;
    for (int i = 0; i < inside->n; i++)
        if (exp_uses_any(inside->at[i].exp, just))
            return false;
    return true;
}

static bool is_iota(const Simp *S, Atom a)
{
    const Exp *e = simp_def(S, a);
    return e && e->kind == E_IOTA && is_zero(e->iota.start) && atom_is_int(e->iota.stride, 1);
}

/* What the scatter's function knows of turn and element, from the number of both. */
static Body *body_of_both(const Writes *W, Atom number)
{
    Ctx *cx = W->S->cx;
    Bld bl = bld_new(cx);
    const Exp *e = W->scatter;
    Loc loc = e->loc;
    Exp *turn = exp_binop(cx, loc, OP_QUOT, number, e->soac.width);
    Vars i = {0};
    vec_push(cx->perm, &i, W->loop->loop.i);
    bld_stm(&bl, (Stm){i, turn});
    Atom j = bld_exp(&bl, "j", exp_binop(cx, loc, OP_REM, number, e->soac.width));
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Vars x = {0};
        vec_push(cx->perm, &x, e->soac.fn->params.at[k]);
        bool count = varset_has(W->counts, x.at[0]);
        Exp *value =
            count ? exp_atom(cx, loc, j) : exp_index(cx, loc, e->soac.arrs.at[k], &j, 1, true);
        bld_stm(&bl, (Stm){x, value});
    }
    vec_append(cx->perm, &bl.stms, &W->inner);
    return bld_body(&bl, e->soac.fn->body->res);
}

static void emit_scatter(const Writes *W, const Vars *pat)
{
    Simp *S = W->S;
    Ctx *cx = S->cx;
    Loc loc = W->loop->loc;
    Atom turns = W->loop->loop.bound;
    if (turns.var)
        turns = bld_exp(S->bl, "turns", exp_binop(cx, loc, OP_MAX, turns, atom_i64(0)));
    Exp *iota = exp_new(cx, E_IOTA, loc), *r = exp_new(cx, E_SCATTER, loc);
    Exp *all = exp_binop(cx, loc, OP_MUL, turns, W->scatter->soac.width);
    iota->iota.n = bld_exp(S->bl, "all", all);
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    Vars params = {0};
    vec_push(cx->perm, &params, var_new(cx, "k", type_prim(T_I64), loc));
    r->attrs = W->scatter->attrs;
    r->soac.width = iota->iota.n;
    vec_push(cx->perm, &r->soac.arrs, bld_exp(S->bl, "ks", iota));
    r->soac.fn = lambda_new(cx, params, body_of_both(W, atom_var(params.at[0])));
    Dest dest = W->scatter->soac.dests.at[0];
    dest.arr = W->loop->loop.inits.at[0];
    vec_push(cx->perm, &r->soac.dests, dest);
    simp_emit(S, *pat, r);
}

bool simp_loop_as_scatter(Simp *S, const Vars *pat, const Exp *e)
{
    if (!may_be_map(e))
        return false;
    Writes W = {.S = S, .loop = e};
    W.inside = varmap_new(S->cx->perm);
    W.counts = varmap_new(S->cx->perm);
    varset_add(W.inside, e->loop.i);
    bound_in_body(W.inside, e->loop.body);
    if (!find_scatter(&W))
        return false;
    const Exp *sc = W.scatter;
    for (int k = 0; k < sc->soac.arrs.n; k++) {
        varset_add(W.inside, sc->soac.fn->params.at[k]);
        if (is_iota(S, sc->soac.arrs.at[k]))
            varset_add(W.counts, sc->soac.fn->params.at[k]);
    }
    W.inner = (Stms){.at = e->loop.body->stms.at, .n = e->loop.body->stms.n - 1};
    Stms all = {0};
    vec_append(S->cx->perm, &all, &W.inner);
    vec_append(S->cx->perm, &all, &sc->soac.fn->body->stms);
    W.inner = all;
    if (!places_differ(&W, sc->soac.fn->body->res.at, sc->soac.dests.at[0].rank))
        return false;
    S->changed = true;
    emit_scatter(&W, pat);
    return true;
}

bool simp_loop_as_map(Simp *S, const Vars *pat, const Exp *e)
{
    if (!may_be_map(e))
        return false;
    Turn T = {.S = S, .loop = e};
    T.elements = varmap_new(S->cx->perm);
    T.inside = varmap_new(S->cx->perm);
    for (int k = 0; k < e->loop.params.n; k++)
        varset_add(T.inside, e->loop.params.at[k]);
    varset_add(T.inside, e->loop.i);
    bound_in_body(T.inside, e->loop.body);
    Bld bl = bld_new(S->cx);
    Atoms res = {0};
    if (!find_carried(&T) || !turn_body(&T, e->loop.body, &res, &bl))
        return false;
    for (int k = 0; k < res.n; k++) {
        Element *x = element_of(&T, res.at[k]);
        if (!x || x->of != &T.carried.at[k])
            return false;
        x->of->read = x->of->read || x->val.var == x->of->elem;
        res.at[k] = x->val;
    }
    S->changed = true;
    emit_map(&T, pat, bld_body(&bl, res));
    return true;
}
