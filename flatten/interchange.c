/* Interchanges of the nest: with a reduction of arrays (G4), a loop (G7), a branch (G8); and a map
 * turned into a loop. */
#include "flatten/rules.h"

/* --- G4: reduce (map (\x y -> e)) (replicate k d) z ----------------------------------------- */

static Atom transposed(Flat *fl, Atom a, Loc loc, Bld *bl)
{
    int rank = atom_type(a).rank, *perm = NEWN(fl->cx->perm, int, rank);
    for (int d = 0; d < rank; d++)
        perm[d] = d < 2 ? 1 - d : d;
    return bld_exp(bl, a.var->base, exp_rearrange(fl->cx, loc, perm, a));
}

/* map (\column -> reduce op1 d column) (transpose z); of scan: transposed back. */
static Body *interchanged(Flat *fl, const Stm *s)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Atom width;
    Bld bl = bld_new(cx);
    Exp *inner = exp_new(cx, e->kind, e->loc);
    inner->soac.width = e->soac.width;
    inner->soac.comm = e->soac.comm;
    inner->soac.op = op_on_elements(fl, e->soac.op, &width);
    Vars columns = {0};
    Atoms arrs = {0};
    for (int k = 0; k < e->soac.nes.n; k++) {
        Atom ne = element_of_neutral(fl, e->soac.nes.at[k], &columns, &arrs, &bl);
        vec_push(cx->perm, &inner->soac.nes, ne);
        Atom t = transposed(fl, e->soac.arrs.at[k], e->loc, &bl);
        vec_push(cx->perm, &arrs, t);
        Var *c = var_new(cx, "col", type_row(atom_type(t)), e->loc);
        vec_push(cx->perm, &columns, c);
        vec_push(cx->perm, &inner->soac.arrs, atom_var(c));
    }
    Bld in = bld_new(cx);
    Atoms res = bld_exps(&in, "r", inner);
    Lambda *lam = lambda_new(cx, columns, bld_body(&in, res));
    Exp *outer = exp_map(cx, e->loc, width, arrs, lam);
    outer->attrs = e->attrs;
    Atoms mapped = bld_exps(&bl, "res", outer);
    for (int k = 0; k < mapped.n && e->kind == E_SCAN; k++)
        mapped.at[k] = transposed(fl, mapped.at[k], e->loc, &bl);
    return bld_body(&bl, mapped);
}

/* Rule G4: reduce (map (\y -> e)) (replicate k d) z is map (reduce (\y -> e) d) (transpose z); scan
 * likewise. Needs g4_applies. */
Atoms rule_g4(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    log_rule(fl, "G4", S, s->exp, "interchanged with the map in its operator");
    Body *b = interchanged(fl, s);
    analyse_body(fl, b);
    return name_results(fl, S, s, flatten_body(fl, S, b, out), out);
}

/* --- G7: loops ------------------------------------------------------------------------------ */

/* The host loop of rule G7 under construction. */
typedef struct {
    Vars params, pat;
    Atoms inits;
    Vars variant_pat; /* of the original pattern: those that vary in the nest */
} HostLoop;

/* Splits the loop's params: those that vary in the nest become arrays over S, known in S1. */
static void loop_params(Flat *fl, const MapNest *S, MapNest *S1, const Exp *e, const Vars *pat,
                        const VarSet *variant, HostLoop *h, Bld *out)
{
    Ctx *cx = fl->cx;
    for (int k = 0; k < e->loop.params.n; k++) {
        Var *p = e->loop.params.at[k], *r = pat->at[k];
        Atom init = e->loop.inits.at[k];
        if (varset_has(variant, p)) {
            init = expand_atom(fl, S, init, p->base, e->loc, out);
            Var *outer = var_new(cx, plural(fl, p->base, S->dims.n),
                                 nest_expand_type(fl, S, p->type), p->loc);
            nest_extend(fl, S1, p, atom_var(outer));
            vec_push(cx->perm, &h->variant_pat, r);
            p = outer;
            r = var_new(cx, plural(fl, r->base, S->dims.n), nest_expand_type(fl, S, r->type),
                        r->loc);
        }
        vec_push(cx->perm, &h->params, p);
        vec_push(cx->perm, &h->inits, init);
        vec_push(cx->perm, &h->pat, r);
    }
}

Body *loop_body(Flat *fl, const MapNest *S1, const Exp *e, const VarSet *variant)
{
    Ctx *cx = fl->cx;
    Body varying = {.stms = e->loop.body->stms};
    for (int k = 0; k < e->loop.params.n; k++)
        if (varset_has(variant, e->loop.params.at[k]))
            vec_push(cx->perm, &varying.res, e->loop.body->res.at[k]);
    Bld bl = bld_new(cx);
    Atoms made = flatten_body(fl, S1, &varying, &bl), res = {0};
    for (int k = 0, m = 0; k < e->loop.params.n; k++) {
        bool v = varset_has(variant, e->loop.params.at[k]);
        vec_push(cx->perm, &res, v ? made.at[m] : e->loop.body->res.at[k]);
        m += v;
    }
    return bld_body(&bl, res);
}

/* Rule G7: a loop under S whose trip count does not vary and whose body has parallelism to exploit
 * becomes a loop over the arrays of all its values: loop zs' ys' = (replicate m z) ys for i < n do
 * (S, <z' y' in zs' ys'> |- body). */
Atoms rule_g7(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    ASSERT(!is_host(S));
    Ctx *cx = fl->cx;
    VarSet *variant = varmap_new(cx->perm);
    nest_vars(S, variant);
    add_variant_params(fl, variant, s->exp);
    if (turns_vary(variant, s->exp))
        return rule_g12(fl, S, s, out);
    const Exp *e = loop_ahead(fl, S, s->exp, out);
    e = e ? e : s->exp;
    add_variant_params(fl, variant, e);
    log_rule(fl, "G7", S, e, "the nest goes into the loop");
    HostLoop h = {0};
    MapNest S1 = nest_copy(fl, S);
    loop_params(fl, S, &S1, e, &s->pat, variant, &h, out);
    Exp *r = exp_new(cx, E_LOOP, e->loc);
    r->loop = e->loop;
    r->loop.params = h.params;
    r->loop.inits = h.inits;
    Flat inner = *fl;
    inner.depth++;
    r->loop.body = loop_body(&inner, &S1, e, variant);
    bld_stm(out, (Stm){h.pat, r});
    return atoms_of_vars(cx, &h.pat);
}

/* --- G8: branches --------------------------------------------------------------------------- */

/* map (\x -> b) y, where <x in y> is S's last dimension; only the xs and the code of that dimension
 * that b needs: of the rest, arrays may have been consumed since. */
static Exp *map_of_branch(Flat *fl, MapNest *S, const Body *b, Loc loc, Bld *out)
{
    Ctx *cx = fl->cx;
    const MapDim *nd = &vec_last(&S->dims);
    VarSet *need = varmap_new(cx->perm);
    free_in_body(need, b);
    Bld bl = bld_new(cx);
    bl.stms = stms_live(fl->cx, &nd->pre, need, false);
    vec_append(cx->perm, &bl.stms, &b->stms);
    Body *whole = bld_body(&bl, b->res);
    Vars params = {0};
    Atoms arrs = {0};
    for (int k = 0; k < nd->xs.n; k++)
        if (varset_has(need, nd->xs.at[k])) {
            vec_push(cx->perm, &params, nd->xs.at[k]);
            vec_push(cx->perm, &arrs, nd->arrs.at[k]);
        }
    if (varset_has(need, nd->idx)) {
        Exp *iota = exp_new(cx, E_IOTA, loc);
        iota->iota.n = nd->width;
        iota->iota.start = atom_i64(0);
        iota->iota.stride = atom_i64(1);
        vec_push(cx->perm, &params, nd->idx);
        vec_push(cx->perm, &arrs, bld_exp(out, "is", iota));
    }
    if (nd->row && varset_has(need, nd->row)) {
        keep_rows(fl, S, out);
        vec_push(cx->perm, &params, nd->row);
        vec_push(cx->perm, &arrs, nd->rows_of);
    }
    return exp_map(cx, loc, nd->width, arrs, rename_lambda(cx, lambda_new(cx, params, whole)));
}

static Body *branch_body(Flat *fl, const MapNest *S, const Body *b, const Stm *s)
{
    MapNest outer = nest_copy(fl, S);
    outer.dims.n--;
    Bld bl = bld_new(fl->cx);
    MapNest own = nest_copy(fl, S);
    Stm m = {.exp = map_of_branch(fl, &own, b, s->exp->loc, &bl)};
    m.pat = exp_pat(fl->cx, "res", m.exp);
    for (int k = 0; k < m.pat.n; k++) {
        m.pat.at[k]->base = s->pat.at[k]->base;
        inherit_consumed(fl, s->pat.at[k], m.pat.at[k]);
    }
    Bld in = bld_new(fl->cx);
    bld_stm(&in, m);
    analyse_body(fl, bld_body(&in, (Atoms){0}));
    Atoms res = flatten_stm(fl, &outer, &m, &bl);
    return bld_body(&bl, res);
}

/* Rule G8: if c then e1 else e2 under S,<x in y>, c invariant: if c then [S |- map (\x -> e1) y]
 * else [S |- map (\x -> e2) y], so that G3 tries all its versions in each branch. */
Atoms rule_g8(Flat *fl, const MapNest *S, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    ASSERT(!is_host(S));
    VarSet *variant = varmap_new(fl->cx->perm);
    nest_vars(S, variant);
    if (atom_variant(variant, e->branch.test))
        return rule_g11(fl, S, s, out);
    log_rule(fl, "G8", S, e, "the nest goes into both branches");
    Flat inner = *fl;
    inner.depth++;
    Body *then_ = branch_body(&inner, S, e->branch.then_, s);
    Body *else_ = branch_body(&inner, S, e->branch.else_, s);
    return bind_results(fl, S, &s->pat, exp_if(fl->cx, e->loc, e->branch.test, then_, else_), out);
}

/* --- Maps as loops -------------------------------------------------------------------------- */

Body *map_to_loop(Flat *fl, const Stm *s)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Bld bl = bld_new(cx), in = bld_new(cx);
    Exp *loop = exp_new(cx, E_LOOP, e->loc);
    loop->loop.kind = LOOP_FOR;
    loop->loop.bound = e->soac.width;
    loop->loop.i = var_new(cx, "i", type_prim(T_I64), e->loc);
    Atom i = atom_var(loop->loop.i);
    Atoms rows = {0}, next = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom row = element_at(fl, e->soac.arrs.at[k], e->soac.fn->params.at[k], i, &in);
        vec_push(cx->perm, &rows, row);
    }
    Atoms vals = bld_inline_lambda(&in, e->soac.fn, &rows);
    for (int k = 0; k < vals.n; k++) {
        Type t = s->pat.at[k]->type;
        Exp *blank = exp_new(cx, E_SCRATCH, e->loc);
        blank->scratch.type = t;
        vec_push(cx->perm, &loop->loop.inits, bld_exp(&bl, "blank", blank));
        Var *p = var_new(cx, s->pat.at[k]->base, t, e->loc);
        vec_push(cx->perm, &loop->loop.params, p);
        Exp *up = exp_new(cx, E_UPDATE, e->loc);
        up->update.arr = atom_var(p);
        up->update.at = exp_index(cx, e->loc, atom_var(p), &i, 1, true)->index.at;
        up->update.val = vals.at[k];
        up->update.safe = true;
        vec_push(cx->perm, &next, bld_exp(&in, p->base, up));
    }
    loop->loop.body = bld_body(&in, next);
    Atoms res = bld_exps(&bl, "res", loop);
    Body *b = bld_body(&bl, res);
    analyse_body(fl, b);
    return b;
}
