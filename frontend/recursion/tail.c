/* Recursion where nothing is left to do after a call is a loop:
 *
 *     f x = if p x then g x else f (h x)
 *
 * becomes `let x = loop x = init while it calls itself do h x in g x`, where the tests are computed
 * in both. So what the function gives is computed once, and nothing but its parameters goes around.
 * Where the tests take more than scalars to compute, and the function gives scalars, these go
 * around instead: else functions that apply each other before their tests would be computed twice
 * at each level. */
#include "frontend/recursion/recursion_int.h"

static void emit_stms(Bld *bl, Subst *su, const Code *code)
{
    for (int i = 0; i < code->stms.n; i++)
        bld_stm(bl, subst_stm(bl->cx, su, &code->stms.at[i]));
}

/* Sizes among the next parameters as the arrays' types say them. */
static void settle_sizes(Bld *bl, Loc loc, const Vars *params, Atoms *next)
{
    VarSet *known = varmap_new(bl->cx->perm);
    for (int i = 0; i < params->n; i++) {
        Type t = params->at[i]->type;
        Atom *dims = NEWN(bl->cx->perm, Atom, t.rank);
        for (int d = 0; d < t.rank; d++) {
            int k = t.dims[d].var ? vars_find(params, t.dims[d].var) : -1;
            dims[d] = t.dims[d];
            if (k >= 0 && !varset_has(known, t.dims[d].var)) {
                next->at[k] = atom_type(next->at[i]).dims[d];
                varset_add(known, t.dims[d].var);
            }
            if (k >= 0)
                dims[d] = next->at[k];
        }
        if (t.rank)
            next->at[i] = as_type(bl, loc, next->at[i], (Type){t.elem, t.rank, dims});
    }
}

/* Is there more than scalars and elements before the last test? */
static bool is_costly(const Code *code)
{
    if (code->end != CODE_BRANCH)
        return false;
    for (int i = 0; i < code->stms.n; i++) {
        const Exp *e = code->stms.at[i].exp;
        if (!exp_is(e, F_SCALAR) && e->kind != E_INDEX)
            return true;
    }
    return is_costly(code->yes) || is_costly(code->no);
}

/* The next parameters, and whether there is a next call; `results` (may be NULL): what the function
 * gives, if there is none. */
static Body *emit_turn(const Cut *c, Bld bl, Subst *su, const Code *code, const Vars *results)
{
    Ctx *cx = c->cx;
    const SelfCalls *f = c->f;
    Atoms res = {0};
    if (code->end == CODE_BRANCH) {
        emit_stms(&bl, su, code);
        Atom test = subst_in(cx, su, code->test);
        Body *yes = emit_turn(c, bld_new(cx), su, code->yes, results);
        Body *no = emit_turn(c, bld_new(cx), su, code->no, results);
        res = bld_exps(&bl, "next", exp_if(cx, f->loc, test, yes, no));
        settle_sizes(&bl, f->loc, &f->params, &res);
        return bld_body(&bl, res);
    }
    bool again = code->end == CODE_TAIL;
    if (again || results)
        emit_stms(&bl, su, code);
    for (int i = 0; i < f->params.n; i++)
        vec_push(cx->perm, &res,
                 subst_in(cx, su, again ? code->vals.at[i] : atom_var(f->params.at[i])));
    vec_push(cx->perm, &res, atom_bool(again));
    for (int i = 0; results && i < results->n; i++)
        vec_push(cx->perm, &res,
                 again ? atom_zero(results->at[i]->type.elem) : subst_in(cx, su, code->vals.at[i]));
    return bld_body(&bl, res);
}

/* The results where there is no further call: of a branch to one the other side is taken. */
static Atoms emit_end(const Cut *c, Bld *bl, Subst *su, const Code *code, const Vars *pat)
{
    Ctx *cx = c->cx;
    Atoms res = {0};
    emit_stms(bl, su, code);
    if (code->end == CODE_BRANCH) {
        bool yes = code_returns(code->yes), no = code_returns(code->no);
        if (!yes || !no)
            return emit_end(c, bl, su, yes ? code->yes : code->no, pat);
        Bld y = bld_new(cx), n = bld_new(cx);
        Atoms a = emit_end(c, &y, su, code->yes, pat), b = emit_end(c, &n, su, code->no, pat);
        Exp *e =
            exp_if(cx, c->f->loc, subst_in(cx, su, code->test), bld_body(&y, a), bld_body(&n, b));
        res = bld_exps(bl, c->f->name, e);
        settle_sizes(bl, c->f->loc, pat, &res);
        return res;
    }
    for (int i = 0; i < code->vals.n; i++)
        vec_push(cx->perm, &res, subst_in(cx, su, code->vals.at[i]));
    return res;
}

void emit_tail(Bld *bl, const Cut *c, const Code *start, const Vars *pat)
{
    Ctx *cx = c->cx;
    const SelfCalls *f = c->f;
    Exp *loop = exp_new(cx, E_LOOP, f->loc);
    loop->loop.kind = LOOP_WHILE;
    loop->loop.cond = var_new(cx, "again", type_prim(T_BOOL), f->loc);
    vec_append(cx->perm, &loop->loop.params, &f->params);
    vec_append(cx->perm, &loop->loop.inits, &f->inits);
    settle_sizes(bl, f->loc, &f->params, &loop->loop.inits);
    vec_push(cx->perm, &loop->loop.params, loop->loop.cond);
    vec_push(cx->perm, &loop->loop.inits, atom_bool(true));
    bool carries = is_costly(start) && types_scalar(pat, 0, pat->n);
    for (int i = 0; carries && i < pat->n; i++) {
        Type t = pat->at[i]->type;
        vec_push(cx->perm, &loop->loop.params, var_new(cx, pat->at[i]->base, t, f->loc));
        vec_push(cx->perm, &loop->loop.inits, atom_zero(t.elem));
    }
    Body *turn = emit_turn(c, bld_new(cx), subst_new(cx), start, carries ? pat : NULL);
    Bld in = bld_new(cx);
    in.stms = turn->stms;
    settle_sizes(&in, f->loc, &f->params, &turn->res);
    loop->loop.body = bld_body(&in, turn->res);
    Atoms last = bld_exps(bl, f->name, loop);
    Subst *su = subst_new(cx);
    Atoms res = {0};
    for (int i = 0; i < f->params.n; i++)
        subst_add(su, f->params.at[i], last.at[i]);
    for (int i = 0; carries && i < pat->n; i++)
        vec_push(cx->perm, &res, last.at[f->params.n + 1 + i]);
    if (!carries)
        res = emit_end(c, bl, su, start, pat);
    define_results(bl, f->loc, pat, &res);
}
