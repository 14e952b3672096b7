/* Rule G14: reductions and scans with an operator on arrays that is no map (rule G4), such as a
 * product of matrices. One thread for all would take n steps, each of as many as an operator has;
 * as a tree, of log n steps, each is a map of the operator over pairs that are not each other's
 * operands, whose own parallelism is flattened as that of any map. With n - 1 applications a
 * reduction does no more work than one after the other, with less than 2n a scan no more than
 * twice (Brent and Kung, "A regular layout for parallel adders", 1982). The operator must be
 * associative, as for all reductions; operands keep their order.
 *
 *     reduce op ne xs  =>  let ws = map (\i -> op xs[2i] xs[2i+1]) (iota (n/2)) ++ [xs[n-1] if odd]
 *                          loop ws for t < log h:         ws[0], ws[2s], .. := op ws[0] ws[s], ..
 *                          in ws[0]                                                    (s = 2^t)
 *
 *     scan op ne xs    =>  loop ws = copy xs for t < log n:
 *                            ws[2s-1], ws[4s-1], .. := op ws[s-1] ws[2s-1], ..
 *                          loop ws for t = log n - 1 .. 0:
 *                            ws[3s-1], ws[5s-1], .. := op ws[2s-1] ws[3s-1], ..
 *
 * Each step reads and writes every (2s)-th row, in an array that stays as large as it is: under a
 * nest loops carry regular arrays (rule G7). */
#include "flatten/rules.h"

/* --- Numbers -------------------------------------------------------------------------------- */

static Atom plus(Bld *bl, Loc loc, Atom a, Atom b)
{
    return bld_binop(bl, loc, OP_ADD, a, b);
}

static Atom minus(Bld *bl, Loc loc, Atom a, Atom b)
{
    return bld_exp(bl, "d", exp_binop(bl->cx, loc, OP_SUB, a, b));
}

static Atom shifted(Bld *bl, Loc loc, PrimOp op, Atom a, Atom by)
{
    return bld_exp(bl, "s", exp_binop(bl->cx, loc, op, a, by));
}

/* How often n is halved, rounded up, until it is 1 (none for 0). */
static Atom halvings(Bld *bl, Loc loc, Atom n)
{
    Ctx *cx = bl->cx;
    Atom last = bld_exp(bl, "last", exp_binop(cx, loc, OP_SUB, n, atom_i64(1)));
    last = bld_exp(bl, "last", exp_binop(cx, loc, OP_MAX, last, atom_i64(0)));
    Atom zeros = bld_exp(bl, "zeros", exp_unop(cx, loc, OP_CLZ, last));
    zeros = bld_exp(bl, "zeros", exp_conv(cx, loc, T_I64, zeros));
    return bld_exp(bl, "steps", exp_binop(cx, loc, OP_SUB, atom_i64(64), zeros));
}

/* --- A step --------------------------------------------------------------------------------- */

/* map (\i -> op xs[first + i * stride] xs[first + i * stride + apart]) (iota count) */
typedef struct {
    Atom first, stride, apart, count;
} Pairs;

static Atom operand(Flat *fl, Atom arr, const Var *param, Atom at, Loc loc, Bld *bl)
{
    Atom x = bld_exp(bl, param->base, exp_index(fl->cx, loc, arr, &at, 1, true));
    if (x.var->type.rank == 0 || !is_consumed(fl, atom_var((Var *)(uintptr_t)param)))
        return x;
    Exp *c = exp_new(fl->cx, E_COPY, loc);
    c->copy.arr = x;
    return bld_exp(bl, param->base, c);
}

static Atoms combined(Flat *fl, const Exp *e, const Atoms *arrs, const Pairs *p, Bld *bl)
{
    Ctx *cx = fl->cx;
    Loc loc = e->loc;
    const Lambda *op = e->soac.op;
    Exp *iota = exp_new(cx, E_IOTA, loc);
    iota->iota.n = p->count;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    Atoms is = {0}, args = {0};
    vec_push(cx->perm, &is, bld_exp(bl, "is", iota));
    Vars params = {0};
    vec_push(cx->perm, &params, var_new(cx, "i", type_prim(T_I64), loc));
    Bld in = bld_new(cx);
    Atom at = bld_binop(&in, loc, OP_MUL, atom_var(params.at[0]), p->stride);
    Atom left = plus(&in, loc, p->first, at), right = plus(&in, loc, left, p->apart);
    int n = arrs->n;
    for (int k = 0; k < 2 * n; k++)
        vec_push(cx->perm, &args,
                 operand(fl, arrs->at[k % n], op->params.at[k], k < n ? left : right, loc, &in));
    Atoms res = bld_inline_lambda(&in, op, &args);
    Exp *map = exp_map(cx, loc, p->count, is, lambda_new(cx, params, bld_body(&in, res)));
    map->attrs = e->attrs;
    return bld_exps(bl, "pairs", map);
}

/* ws with what the pairs give in place of their operand on the left or on the right. */
static Atoms replaced(Flat *fl, const Exp *e, const Atoms *ws, const Pairs *p, Atom to, Bld *bl)
{
    Ctx *cx = fl->cx;
    Atoms ys = combined(fl, e, ws, p, bl), res = {0};
    for (int k = 0; k < ws->n; k++) {
        Type t = atom_type(ws->at[k]);
        Exp *up = exp_new(cx, E_UPDATE, e->loc);
        up->update.arr = ws->at[k];
        up->update.val = ys.at[k];
        up->update.safe = true;
        vec_push(cx->perm, &up->update.at, ((DimIndex){true, to, p->count, p->stride}));
        for (int d = 1; d < t.rank; d++)
            vec_push(cx->perm, &up->update.at,
                     ((DimIndex){true, atom_i64(0), t.dims[d], atom_i64(1)}));
        vec_push(cx->perm, &res, bld_exp(bl, ws->at[k].var->base, up));
    }
    return res;
}

/* Which pairs there are in turn number t, of arrays of n elements; returns where what they give
 * goes to. */
typedef Atom Step(Bld *bl, Loc loc, Atom n, Atom t, Atom turns, Pairs *p);

/* The loop of so many turns that takes ws through steps. */
static Atoms steps(Flat *fl, const Exp *e, const Atoms *ws, Atom n, Atom turns, Step *step, Bld *bl)
{
    Ctx *cx = fl->cx;
    Exp *loop = exp_new(cx, E_LOOP, e->loc);
    loop->loop.kind = LOOP_FOR;
    loop->loop.bound = turns;
    loop->loop.i = var_new(cx, "t", type_prim(T_I64), e->loc);
    loop->loop.inits = *ws;
    for (int k = 0; k < ws->n; k++)
        vec_push(cx->perm, &loop->loop.params, var_new(cx, "ws", atom_type(ws->at[k]), e->loc));
    Atoms params = atoms_of_vars(cx, &loop->loop.params);
    Bld in = bld_new(cx);
    Pairs p;
    Atom to = step(&in, e->loc, n, atom_var(loop->loop.i), turns, &p);
    Atoms next = replaced(fl, e, &params, &p, to, &in);
    loop->loop.body = bld_body(&in, next);
    return bld_exps(bl, "ws", loop);
}

/* --- Reductions ----------------------------------------------------------------------------- */

/* ws[2s * i] and ws[2s * i + s], as far as the latter is there: (n - s + 2s - 1) / 2s of them. */
static Atom halving_step(Bld *bl, Loc loc, Atom n, Atom t, Atom turns, Pairs *p)
{
    (void)turns;
    Atom next = plus(bl, loc, t, atom_i64(1)), s = shifted(bl, loc, OP_SHL, atom_i64(1), t);
    Atom up = minus(bl, loc, plus(bl, loc, n, s), atom_i64(1));
    *p = (Pairs){atom_i64(0), shifted(bl, loc, OP_SHL, atom_i64(1), next), s,
                 shifted(bl, loc, OP_SHR, up, next)};
    return p->first;
}

/* The neighbours in pairs, combined; the last element, if it has none; the neutral element, if
 * there are no others. */
static Atoms first_halving(Flat *fl, const Exp *e, Atom half, Atom rest, Bld *bl)
{
    Ctx *cx = fl->cx;
    Loc loc = e->loc;
    Pairs p = {atom_i64(0), atom_i64(2), atom_i64(1), half};
    Atoms ys = combined(fl, e, &e->soac.arrs, &p, bl), ws = {0};
    Atom paired = shifted(bl, loc, OP_SHL, half, atom_i64(1));
    Atom one = bld_exp(bl, "one", exp_binop(cx, loc, OP_MIN, e->soac.width, atom_i64(1)));
    Atom none = minus(bl, loc, atom_i64(1), one);
    Atom size = plus(bl, loc, plus(bl, loc, half, rest), none);
    for (int k = 0; k < ys.n; k++) {
        Type t = atom_type(e->soac.arrs.at[k]);
        Exp *last = exp_new(cx, E_INDEX, loc), *all = exp_new(cx, E_CONCAT, loc);
        last->index.arr = e->soac.arrs.at[k];
        last->index.safe = true;
        vec_push(cx->perm, &last->index.at, ((DimIndex){true, paired, rest, atom_i64(1)}));
        for (int d = 1; d < t.rank; d++)
            vec_push(cx->perm, &last->index.at,
                     ((DimIndex){true, atom_i64(0), t.dims[d], atom_i64(1)}));
        Atom neutral = bld_exp(bl, "ne", exp_replicate(cx, loc, none, e->soac.nes.at[k]));
        all->concat.n = size;
        vec_push(cx->perm, &all->concat.arrs, ys.at[k]);
        vec_push(cx->perm, &all->concat.arrs, bld_exp(bl, "last", last));
        vec_push(cx->perm, &all->concat.arrs, neutral);
        vec_push(cx->perm, &ws, bld_exp(bl, "ws", all));
    }
    return ws;
}

static Atoms reduction(Flat *fl, const Exp *e, Bld *bl)
{
    Loc loc = e->loc;
    Atom n = e->soac.width, half = shifted(bl, loc, OP_SHR, n, atom_i64(1));
    Atom rest = bld_exp(bl, "rest", exp_binop(fl->cx, loc, OP_AND, n, atom_i64(1)));
    Atoms ws = first_halving(fl, e, half, rest, bl), res = {0};
    Atom h = plus(bl, loc, half, rest), zero = atom_i64(0);
    ws = steps(fl, e, &ws, h, halvings(bl, loc, h), halving_step, bl);
    for (int k = 0; k < ws.n; k++)
        vec_push(fl->cx->perm, &res,
                 bld_exp(bl, "res", exp_index(fl->cx, loc, ws.at[k], &zero, 1, true)));
    return res;
}

/* --- Scans ---------------------------------------------------------------------------------- */

/* ws[2s * i + s - 1] and ws[2s * i + 2s - 1]: n / 2s of them. The latter becomes the result of all
 * 2s elements up to there. */
static Atom up_step(Bld *bl, Loc loc, Atom n, Atom t, Atom turns, Pairs *p)
{
    (void)turns;
    Atom next = plus(bl, loc, t, atom_i64(1)), s = shifted(bl, loc, OP_SHL, atom_i64(1), t);
    Atom stride = shifted(bl, loc, OP_SHL, atom_i64(1), next);
    *p = (Pairs){minus(bl, loc, s, atom_i64(1)), stride, s, shifted(bl, loc, OP_SHR, n, next)};
    return minus(bl, loc, stride, atom_i64(1));
}

/* ws[2s * i + 2s - 1] and ws[2s * i + 3s - 1]: (n - s) / 2s of them. The former is the result of
 * all elements up to there already, the latter becomes that. */
static Atom down_step(Bld *bl, Loc loc, Atom n, Atom t, Atom turns, Pairs *p)
{
    Atom left = minus(bl, loc, turns, t), level = minus(bl, loc, left, atom_i64(1));
    Atom s = shifted(bl, loc, OP_SHL, atom_i64(1), level);
    Atom stride = shifted(bl, loc, OP_SHL, atom_i64(1), left);
    Atom first = minus(bl, loc, stride, atom_i64(1));
    *p = (Pairs){first, stride, s, shifted(bl, loc, OP_SHR, minus(bl, loc, n, s), left)};
    return plus(bl, loc, first, s);
}

static Atoms scanned(Flat *fl, const Exp *e, Bld *bl)
{
    Atoms ws = {0};
    Atom n = e->soac.width, turns = halvings(bl, e->loc, n);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Exp *c = exp_new(fl->cx, E_COPY, e->loc);
        c->copy.arr = e->soac.arrs.at[k];
        vec_push(fl->cx->perm, &ws, bld_exp(bl, "ws", c));
    }
    ws = steps(fl, e, &ws, n, turns, up_step, bl);
    return steps(fl, e, &ws, n, turns, down_step, bl);
}

/* --- The rule ------------------------------------------------------------------------------- */

Atoms rule_g14(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    bool scan = exp_is(e, F_SCAN);
    log_rule(fl, "G14", S, e, "operator on arrays: a tree of maps");
    Bld bl = bld_new(fl->cx);
    Atoms res = scan ? scanned(fl, e, &bl) : reduction(fl, e, &bl);
    for (int k = 0; k < res.n; k++) {
        res.at[k].var->base = s->pat.at[k]->base;
        inherit_consumed(fl, s->pat.at[k], res.at[k].var);
    }
    Body *b = bld_body(&bl, res);
    analyse_body(fl, b);
    Flat inner = *fl;
    inner.depth++;
    return name_results(fl, S, s, flatten_body(&inner, S, b, out), out);
}
