/* Forward mode, on the SOAC dialect: beside each value that depends on the parameters its tangent,
 * and beside each array an array of tangents, of the same type.
 *
 *     \x ys ->                        \x ys x' ys' ->
 *       reduce (+) 0                      reduce (\(a, a') (b, b') ->
 *         (map (\y -> x * y) ys)                      (a + b, a' + b')) (0, 0)
 *                                           (map (\y y' -> (x * y, y * x' + x * y'))
 *                                              ys ys')
 *
 * What is not active (active.c) has no tangent and costs nothing; where the other branch, turn or
 * element has one, it is a zero. A function's statements keep their variables, so that tangents,
 * whose sizes are those of the values, can stand among them: all is done on a copy.
 *
 * Before: well-formed, without calls and derivatives inside. After: well-formed, but for
 * consumption: a tangent may share the memory of another one where the values do not. */
#include "ad/ad_int.h"

typedef struct {
    Ctx *cx;
    VarSet *active;
    VarMap *tangents; /* active variable -> Atom * */
} Fwd;

/* --- Tangents of variables ------------------------------------------------------------------ */

static bool is_active(const Fwd *F, Atom a)
{
    return a.var && varset_has(F->active, a.var);
}

static void put_tangent(const Fwd *F, const Var *v, Atom tangent)
{
    varmap_put(F->tangents, v, arena_memdup(F->cx->scratch, &tangent, sizeof tangent));
}

static Atom tangent_of(const Fwd *F, Bld *bl, Loc loc, Atom a)
{
    if (!is_active(F, a))
        return ad_zero(bl, loc, atom_type(a));
    const Atom *tangent = varmap_get(F->tangents, a.var);
    ASSERT(tangent);
    return *tangent;
}

static const char *tangent_name(const Fwd *F, const Var *v)
{
    return arena_printf(F->cx->scratch, "%s'", v->base);
}

static Var *tangent_new(const Fwd *F, const Var *v)
{
    Var *tangent = var_new(F->cx, tangent_name(F, v), v->type, v->loc);
    put_tangent(F, v, atom_var(tangent));
    return tangent;
}

/* Appends n binders, then fresh ones for the tangents of those that are active. */
static void dual_vars(const Fwd *F, Vars *to, Var *const *vs, int n)
{
    for (int i = 0; i < n; i++)
        vec_push(F->cx->perm, to, vs[i]);
    for (int i = 0; i < n; i++)
        if (is_active(F, atom_var(vs[i]))) {
            Var *tangent = tangent_new(F, vs[i]);
            vec_push(F->cx->perm, to, tangent);
        }
}

/* Appends n operands, then the tangents of those whose counterpart in `of` is active. */
static void dual_atoms(const Fwd *F, Bld *bl, Loc loc, Atoms *to, const Atom *as, Var *const *of,
                       int n)
{
    for (int i = 0; i < n; i++)
        vec_push(F->cx->perm, to, as[i]);
    for (int i = 0; i < n; i++)
        if (is_active(F, atom_var(of[i]))) {
            Atom tangent = tangent_of(F, bl, loc, as[i]);
            vec_push(F->cx->perm, to, tangent);
        }
}

static Exp *exp_copy(const Fwd *F, const Exp *e)
{
    return arena_memdup(F->cx->perm, e, sizeof *e);
}

static void put_stms(const Fwd *F, Bld *bl, const Stms *stms);

/* --- Scalars -------------------------------------------------------------------------------- */

static bool is_const(Atom a, double x)
{
    return !a.var && a.c.f == x;
}

/* The sum and partial * tangent; `sum` is NULL where there is none yet. */
static Atom add_term(Bld *bl, Loc loc, const char *name, const Atom *sum, Atom partial,
                     Atom tangent)
{
    Ctx *cx = bl->cx;
    if (is_const(partial, -1))
        return bld_exp(bl, name,
                       sum ? exp_binop(cx, loc, OP_SUB, *sum, tangent)
                           : exp_unop(cx, loc, OP_NEG, tangent));
    Atom term = is_const(partial, 1)
                    ? tangent
                    : bld_exp(bl, name, exp_binop(cx, loc, OP_MUL, partial, tangent));
    return sum ? bld_exp(bl, name, exp_binop(cx, loc, OP_ADD, *sum, term)) : term;
}

/* The partial derivatives times the tangents of the operands. */
static void put_prim(const Fwd *F, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    Var *res = s->pat.at[0];
    Atom sum = {0};
    bld_stm(bl, *s);
    if (!is_active(F, atom_var(res)))
        return;
    for (int i = 0; i < e->prim.args.n; i++) {
        Atom arg = e->prim.args.at[i];
        if (!is_active(F, arg) || !ad_has_partial(e, i))
            continue;
        Atom partial = ad_partial(bl, e->loc, e, atom_var(res), i);
        sum = add_term(bl, e->loc, tangent_name(F, res), sum.var ? &sum : NULL, partial,
                       tangent_of(F, bl, e->loc, arg));
    }
    put_tangent(F, res, sum);
}

/* --- Forms that move elements --------------------------------------------------------------- */

typedef struct {
    const Fwd *F;
    Bld *bl;
    Loc loc;
} Moved;

/* Positions and sizes are the same for tangents. */
static Atom moved_atom(void *env, Atom a)
{
    const Moved *m = env;
    return ad_is_float(atom_type(a)) ? tangent_of(m->F, m->bl, m->loc, a) : a;
}

static void put_moved(const Fwd *F, Bld *bl, const Stm *s)
{
    bld_stm(bl, *s);
    if (!is_active(F, atom_var(s->pat.at[0])))
        return;
    Moved m = {F, bl, s->exp->loc};
    Exp *e = exp_map_parts(F->cx, s->exp, &(ExpMapper){.env = &m, .atom = moved_atom});
    bld_define(bl, tangent_new(F, s->pat.at[0]), e);
}

/* --- Branches and loops --------------------------------------------------------------------- */

/* The body with the tangents of results of which the counterparts in `of` are active. */
static Body *dual_body(const Fwd *F, Loc loc, const Body *b, const Vars *of)
{
    Bld bl = bld_new(F->cx);
    Atoms res = {0};
    put_stms(F, &bl, &b->stms);
    dual_atoms(F, &bl, loc, &res, b->res.at, of->at, b->res.n);
    return bld_body(&bl, res);
}

static void put_branch(const Fwd *F, Bld *bl, const Stm *s)
{
    Exp *e = exp_copy(F, s->exp);
    Vars pat = {0};
    e->branch.then_ = dual_body(F, e->loc, e->branch.then_, &s->pat);
    e->branch.else_ = dual_body(F, e->loc, e->branch.else_, &s->pat);
    dual_vars(F, &pat, s->pat.at, s->pat.n);
    bld_stm(bl, (Stm){pat, e});
}

static void put_loop(const Fwd *F, Bld *bl, const Stm *s)
{
    Exp *e = exp_copy(F, s->exp);
    const Vars params = e->loop.params;
    Vars pat = {0};
    Atoms inits = {0};
    dual_atoms(F, bl, e->loc, &inits, e->loop.inits.at, params.at, params.n);
    e->loop.inits = inits;
    e->loop.params = (Vars){0};
    dual_vars(F, &e->loop.params, params.at, params.n);
    e->loop.body = dual_body(F, e->loc, e->loop.body, &params);
    dual_vars(F, &pat, s->pat.at, s->pat.n);
    bld_stm(bl, (Stm){pat, e});
}

/* --- SOACs ---------------------------------------------------------------------------------- */

/* Results of a function: those that an operator takes, the first n, with their tangents, then the
 * others with theirs. */
static void dual_results(const Fwd *F, Bld *bl, Loc loc, Atoms *to, const Atom *res,
                         const Vars *pat, int n)
{
    dual_atoms(F, bl, loc, to, res, pat->at, n);
    dual_atoms(F, bl, loc, to, res + n, pat->at + n, pat->n - n);
}

/* Index components that a function gives; for SCATTER those of tangents again, behind them. */
static int dual_indexes(const Fwd *F, Atoms *to, const Exp *e, const Vars *pat)
{
    const Atom *res = e->soac.fn->body->res.at;
    const Dests *dests = &e->soac.dests;
    int n = 0;
    for (int k = 0; k < (e->kind == E_HIST ? 1 : dests->n); k++)
        n += dests->at[k].rank;
    for (int i = 0; i < n; i++)
        vec_push(F->cx->perm, to, res[i]);
    for (int k = 0, at = 0; e->kind == E_SCATTER && k < dests->n; at += dests->at[k++].rank)
        for (int i = 0; i < dests->at[k].rank && is_active(F, atom_var(pat->at[k])); i++)
            vec_push(F->cx->perm, to, res[at + i]);
    return n;
}

static Lambda *dual_fn(const Fwd *F, const Exp *e, const Vars *pat)
{
    const Lambda *fn = e->soac.fn;
    Vars params = {0};
    Atoms res = {0};
    Bld bl = bld_new(F->cx);
    dual_vars(F, &params, fn->params.at, fn->params.n);
    put_stms(F, &bl, &fn->body->stms);
    int indexes = exp_is(e, F_DESTS) ? dual_indexes(F, &res, e, pat) : 0;
    dual_results(F, &bl, e->loc, &res, fn->body->res.at + indexes, pat, e->soac.nes.n);
    return lambda_new(F->cx, params, bld_body(&bl, res));
}

static Lambda *dual_op(const Fwd *F, const Exp *e, const Vars *pat)
{
    const Lambda *op = e->soac.op;
    int n = e->soac.nes.n;
    Vars params = {0};
    dual_vars(F, &params, op->params.at, n);
    dual_vars(F, &params, op->params.at + n, n);
    return lambda_new(F->cx, params, dual_body(F, e->loc, op->body, pat));
}

static Dests dual_dests(const Fwd *F, Bld *bl, const Exp *e, const Vars *pat)
{
    const Dests *ds = &e->soac.dests;
    Dests r = {0};
    vec_append(F->cx->perm, &r, ds);
    for (int k = 0; k < ds->n; k++)
        if (is_active(F, atom_var(pat->at[k]))) {
            Dest d = {tangent_of(F, bl, e->loc, ds->at[k].arr), ds->at[k].rank};
            vec_push(F->cx->perm, &r, d);
        }
    return r;
}

static void put_soac(const Fwd *F, Bld *bl, const Stm *s)
{
    const Exp *old = s->exp;
    Exp *e = exp_copy(F, old);
    const Lambda *fn = old->soac.fn;
    int n = old->soac.nes.n;
    Vars pat = {0};
    e->soac.arrs = e->soac.nes = (Atoms){0};
    dual_atoms(F, bl, e->loc, &e->soac.arrs, old->soac.arrs.at, fn ? fn->params.at : s->pat.at,
               old->soac.arrs.n);
    dual_atoms(F, bl, e->loc, &e->soac.nes, old->soac.nes.at, s->pat.at, n);
    e->soac.dests = dual_dests(F, bl, old, &s->pat);
    e->soac.fn = fn ? dual_fn(F, old, &s->pat) : NULL;
    e->soac.op = old->soac.op ? dual_op(F, old, &s->pat) : NULL;
    dual_vars(F, &pat, s->pat.at, n);
    dual_vars(F, &pat, s->pat.at + n, s->pat.n - n);
    bld_stm(bl, (Stm){pat, e});
}

/* --- Bodies --------------------------------------------------------------------------------- */

static void put_stm(const Fwd *F, Bld *bl, const Stm *s)
{
    switch (ad_class(s->exp)) {
    case AD_PRIM: put_prim(F, bl, s); return;
    case AD_MOVED: put_moved(F, bl, s); return;
    case AD_BRANCH: put_branch(F, bl, s); return;
    case AD_LOOP: put_loop(F, bl, s); return;
    case AD_SOAC: put_soac(F, bl, s); return;
    case AD_NONE: bld_stm(bl, *s); return;
    case AD_RESOLVED:
    case AD_OWN: ice(s->exp->loc, "a tangent by an adjoint");
    }
}

static void put_stms(const Fwd *F, Bld *bl, const Stms *stms)
{
    for (int i = 0; i < stms->n; i++)
        put_stm(F, bl, &stms->at[i]);
}

Lambda *ad_forward(Ctx *cx, const Lambda *fn)
{
    const Lambda *lam = ad_plain(cx, ad_inlined(cx, fn));
    ArenaMark m = arena_mark(cx->scratch);
    const Fwd F = {cx, ad_active(cx, lam), varmap_new(cx->scratch)};
    Vars params = {0};
    Bld bl = bld_new(cx);
    dual_vars(&F, &params, lam->params.at, lam->params.n);
    put_stms(&F, &bl, &lam->body->stms);
    Atoms res = {0};
    vec_append(cx->perm, &res, &lam->body->res);
    for (int i = 0; i < lam->body->res.n; i++) {
        Atom a = lam->body->res.at[i];
        if (!ad_is_float(atom_type(a)))
            continue;
        Atom tangent = tangent_of(&F, &bl, a.var ? a.var->loc : NO_LOC, a);
        vec_push(cx->perm, &res, tangent);
    }
    arena_reset(cx->scratch, m);
    return lambda_new(cx, params, bld_body(&bl, res));
}
