/* What the turns of a loop do alike, whatever varies around it: what each of them does that depends
 * on its number alone.
 *
 *     for k < n do                              common: s = map (\a -> scan (f k) a) as
 *       map (\(a, x) ->                          stay:   map (\(a, s, x) -> g s x) as s xs
 *         let s = scan (f k) a in g s x)        given:  s
 *         as xs
 *
 * A map that does some of that for elements which do not vary is split: this is one map, what
 * varies the other. Only SOACs are worth it; scalar code is done again where it is needed.
 *
 * SOAC dialect. Flattening computes it ahead, for the turns of a block (flatten/turns.c); so does
 * reverse mode, for all of them (once.c). */
#include "ir/chains/alike.h"

#include "ir/ranges.h"

/* --- What varies, and what is live ------------------------------------------------------------ */

bool atom_variant(const VarSet *variant, Atom a)
{
    return a.var && varset_has(variant, a.var);
}

bool type_variant(const VarSet *variant, Type t, const Vars *pat)
{
    for (int d = 0; d < t.rank; d++)
        if (atom_variant(variant, t.dims[d]) ||
            (t.dims[d].var && vars_find(pat, t.dims[d].var) >= 0))
            return true;
    return false;
}

bool types_variant(const VarSet *variant, const Vars *pat)
{
    for (int k = 0; k < pat->n; k++)
        if (type_variant(variant, pat->at[k]->type, pat))
            return true;
    return false;
}

bool binds_any(const Stm *s, const VarSet *set)
{
    for (int k = 0; k < s->pat.n; k++)
        if (varset_has(set, s->pat.at[k]))
            return true;
    return false;
}

Stms stms_live(Ctx *cx, const Stms *ss, VarSet *need, bool keep_asserts)
{
    bool *keep = NEWN(cx->perm, bool, ss->n + 1);
    Stms r = {0};
    for (int i = ss->n - 1; i >= 0; i--) {
        keep[i] = binds_any(&ss->at[i], need) || (keep_asserts && ss->at[i].exp->kind == E_ASSERT);
        if (keep[i])
            free_in_stm(need, &ss->at[i]);
    }
    for (int i = 0; i < ss->n; i++)
        if (keep[i])
            vec_push(cx->perm, &r, ss->at[i]);
    return r;
}

/* --- Parts ------------------------------------------------------------------------------------ */

static void add_pat(VarSet *s, const Vars *pat)
{
    for (int k = 0; k < pat->n; k++)
        varset_add(s, pat->at[k]);
}

static Vars one_var(Ctx *cx, Var *v)
{
    Vars vs = {0};
    vec_push(cx->perm, &vs, v);
    return vs;
}

static VarSet *union_of(const AlikeAt *in, const VarSet *a, const VarSet *b)
{
    VarSet *u = varmap_new(in->cx->perm);
    Vars as = varset_list(in->cx->perm, a), bs = varset_list(in->cx->perm, b);
    add_pat(u, &as);
    add_pat(u, &bs);
    return u;
}

static bool pat_overwritten(const AlikeAt *in, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        if (varset_has(in->overwritten, s->pat.at[k]))
            return true;
    return false;
}

/* Is it the same wherever it is done, and can be done anywhere? */
static bool is_common(const AlikeAt *in, const VarSet *variant, const Stm *s)
{
    return s->pat.n > 0 && !exp_uses_any(s->exp, variant) && !exp_traps(s->exp) &&
           !pat_overwritten(in, s) && exp_consumes(in->cx, s->exp).n == 0 &&
           exp_safe_anywhere(in->defs, s->exp);
}

static void note_part(const AlikeAt *in, Alike *p, VarSet *variant, const Stm *s)
{
    bool common = is_common(in, variant, s), moves = common && exp_has_soac(s->exp);
    if (common)
        vec_push(in->cx->perm, &p->common, *s);
    else
        add_pat(variant, &s->pat);
    if (moves)
        vec_append(in->cx->perm, &p->given, &s->pat);
    else
        vec_push(in->cx->perm, &p->stay, *s);
}

/* Leaves of what is given only what the statements that stay need, or of the results; of those only
 * what is needed. False: there is nothing, or arrays of sizes that are known inside only. */
static bool settle_parts(const AlikeAt *in, Alike *p, const VarSet *inside, const Atoms *res)
{
    VarSet *need = varmap_new(in->cx->perm);
    Vars given = {0};
    for (int k = 0; k < res->n; k++)
        if (res->at[k].var)
            varset_add(need, res->at[k].var);
    p->stay = stms_live(in->cx, &p->stay, need, true);
    for (int k = 0; k < p->given.n; k++)
        if (varset_has(need, p->given.at[k]))
            vec_push(in->cx->perm, &given, p->given.at[k]);
    p->given = given;
    VarSet *from = varmap_new(in->cx->perm);
    add_pat(from, &given);
    p->common = stms_live(in->cx, &p->common, from, false);
    return given.n > 0 && !types_variant(inside, &given);
}

/* --- Maps that are split ---------------------------------------------------------------------- */

/* Elements at fixed places, whose reading may fail (the first of an array that may be empty): they
 * are read by the function of a map instead where that shows that they are there. Where it has no
 * elements nobody reads them, and what nobody needs may fail unseen (ir/passes/dce.c). */
static Stm with_elements(const AlikeAt *in, const Stms *elements, const Stm *s)
{
    const Exp *e = s->exp;
    VarSet *used = varmap_new(in->cx->perm);
    if (e->kind != E_MAP)
        return *s;
    free_in_lambda(used, e->soac.fn);
    Body b = {.res = e->soac.fn->body->res};
    for (int i = 0; i < elements->n; i++) {
        const Stm *x = &elements->at[i];
        if (!varset_has(used, x->pat.at[0]))
            continue;
        Exp *safe = exp_new(in->cx, E_INDEX, x->exp->loc);
        *safe = *x->exp;
        safe->index.safe = true;
        vec_push(in->cx->perm, &b.stms, (Stm){x->pat, safe});
    }
    if (b.stms.n == 0)
        return *s;
    vec_append(in->cx->perm, &b.stms, &e->soac.fn->body->stms);
    Exp *r = exp_new(in->cx, E_MAP, e->loc);
    *r = *e;
    r->soac.fn = rename_lambda(
        in->cx, lambda_new(in->cx, e->soac.fn->params, bld_body(&(Bld){in->cx, b.stms}, b.res)));
    return (Stm){s->pat, r};
}

static bool is_element(const VarSet *variant, const Stm *s)
{
    return s->exp->kind == E_INDEX && s->pat.n == 1 && s->pat.at[0]->type.rank == 0 &&
           !s->exp->index.safe && !exp_uses_any(s->exp, variant);
}

/* Params of the function that `used` has, and their arrays. */
static void needed_params(const AlikeAt *in, const Exp *map, const VarSet *used, Vars *params,
                          Atoms *arrs)
{
    for (int k = 0; k < map->soac.arrs.n; k++)
        if (varset_has(used, map->soac.fn->params.at[k])) {
            vec_push(in->cx->perm, params, map->soac.fn->params.at[k]);
            vec_push(in->cx->perm, arrs, map->soac.arrs.at[k]);
        }
}

static Exp *map_over(const AlikeAt *in, const Exp *like, const Vars *params, const Atoms *arrs,
                     const Stms *stms, Atoms res)
{
    Body *b = bld_body(&(Bld){in->cx, *stms}, res);
    Exp *m = exp_map(in->cx, like->loc, like->soac.width, *arrs, lambda_new(in->cx, *params, b));
    m->attrs = like->attrs;
    return m;
}

/* The parts of a map's function; variant: what varies outside of it. */
static bool parts_of_map(const AlikeAt *in, const VarSet *variant, const Exp *e, Alike *p)
{
    const Lambda *fn = e->soac.fn;
    VarSet *varies = union_of(in, variant, varmap_new(in->cx->perm)),
           *inside = varmap_new(in->cx->perm);
    Stms elements = {0};
    add_pat(inside, &fn->params);
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (atom_variant(variant, e->soac.arrs.at[k]))
            varset_add(varies, fn->params.at[k]);
    for (int i = 0; i < fn->body->stms.n; i++) {
        const Stm *s = &fn->body->stms.at[i], with = with_elements(in, &elements, s);
        if (is_element(varies, s))
            vec_push(in->cx->perm, &elements, *s);
        note_part(in, p, varies, is_common(in, varies, &with) ? &with : s);
        add_pat(inside, &s->pat);
    }
    return settle_parts(in, p, inside, &fn->body->res);
}

/* A map as two, if some of what it does is common to what varies; else as it is. */
static Stms split_map(const AlikeAt *in, const VarSet *variant, const Stm *s)
{
    Ctx *cx = in->cx;
    const Exp *e = s->exp;
    Alike p = {0};
    Bld bl = bld_new(cx);
    if (e->kind != E_MAP || e->attrs || !exp_uses_any(e, variant) ||
        atom_variant(variant, e->soac.width) || !parts_of_map(in, variant, e, &p)) {
        bld_stm(&bl, *s);
        return bl.stms;
    }
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < p.common.n; i++)
        free_in_stm(used, &p.common.at[i]);
    Vars params = {0}, all = {0};
    Atoms arrs = {0}, all_arrs = {0};
    needed_params(in, e, used, &params, &arrs);
    if (params.n == 0) { /* the same for all elements of the map */
        Body *once = rename_body(cx, bld_body(&(Bld){cx, p.common}, atoms_of_vars(cx, &p.given)));
        vec_append(cx->perm, &bl.stms, &once->stms);
        for (int k = 0; k < p.given.n; k++)
            bld_stm(&bl,
                    (Stm){one_var(in->cx, p.given.at[k]), exp_atom(cx, e->loc, once->res.at[k])});
        bld_stm(&bl, (Stm){s->pat, map_over(in, e, &e->soac.fn->params, &e->soac.arrs, &p.stay,
                                            e->soac.fn->body->res)});
        return bl.stms;
    }
    Exp *common = map_over(in, e, &params, &arrs, &p.common, atoms_of_vars(cx, &p.given));
    common->soac.fn = rename_lambda(cx, common->soac.fn);
    vec_append(cx->perm, &all, &e->soac.fn->params);
    vec_append(cx->perm, &all, &p.given);
    vec_append(cx->perm, &all_arrs, &e->soac.arrs);
    Atoms made = bld_exps(&bl, "common", common);
    vec_append(cx->perm, &all_arrs, &made);
    bld_stm(&bl, (Stm){s->pat, map_over(in, e, &all, &all_arrs, &p.stay, e->soac.fn->body->res)});
    return bl.stms;
}

/* --- Loops ------------------------------------------------------------------------------------ */

bool alike_turns(const AlikeAt *in, const VarSet *varies, const Exp *e, Alike *p)
{
    VarSet *none = varmap_new(in->cx->perm), *variant = union_of(in, varies, none);
    VarSet *inside = union_of(in, varies, none);
    const Body *b = e->loop.body;
    add_pat(variant, &e->loop.params);
    add_pat(inside, &e->loop.params);
    varset_add(inside, e->loop.i);
    for (int i = 0; i < b->stms.n; i++) {
        Stms pieces = split_map(in, variant, &b->stms.at[i]);
        for (int k = 0; k < pieces.n; k++) {
            note_part(in, p, variant, &pieces.at[k]);
            add_pat(inside, &pieces.at[k].pat);
        }
    }
    return settle_parts(in, p, inside, &b->res);
}

Exp *alike_map(const AlikeAt *in, const Exp *loop, const Alike *p, Atom from, Atom n, Bld *out)
{
    Ctx *cx = in->cx;
    Exp *iota = exp_new(cx, E_IOTA, loop->loc);
    iota->iota.n = n;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    Vars params = {0};
    Atoms arrs = {0};
    vec_push(cx->perm, &params, var_new(cx, "turn", type_prim(T_I64), loop->loc));
    vec_push(cx->perm, &arrs, bld_exp(out, "turns", iota));
    Bld bl = bld_new(cx);
    Exp *k = exp_binop(cx, loop->loc, OP_ADD, from, atom_var(params.at[0]));
    bld_stm(&bl, (Stm){one_var(in->cx, loop->loop.i), k});
    vec_append(cx->perm, &bl.stms, &p->common);
    Lambda *fn = lambda_new(cx, params, bld_body(&bl, atoms_of_vars(cx, &p->given)));
    Exp *m = exp_map(cx, loop->loc, n, arrs, rename_lambda(cx, fn));
    return m;
}
