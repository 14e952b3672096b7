/* Before rule G7 takes a loop out of a nest: what its turns do alike for all elements of the nest
 * is done ahead, for many turns at once.
 *
 *     map (\p -> loop (r = p)            loop (rs = ps) for b < blocks do
 *       for k < n do                       let sss = map (\k -> map (\a -> scan (f k) a) as)
 *       map (\(a, x) ->                                  (turns of block b)
 *         let s = scan (f k) a     ==>   in loop rs for j < turns do
 *         in g s x) as r) ps               map (\r -> map (\(a, s, x) -> g s x) as sss[j] r) rs
 *
 * Two things happen. A map in the loop that does something for elements which do not vary with the
 * nest is split, so that this is one map, done once instead of for each element of the nest; what
 * varies is the other map. Then, what does not depend on what the loop carries is computed for a
 * block of turns in one map, which has more parallelism and takes fewer launches. A block has as
 * many turns as need no more than MOST_AHEAD elements together.
 *
 * Only where SOACs are found that are worth it; scalar code stays in the loop. e_top and e_middle
 * of maps further out have the loop as it is: a thread or a work-group has no memory for many
 * turns. */
#include "flatten/rules.h"

#include "ir/ranges.h"

enum { MOST_AHEAD = 1 << 22 };

static void add_pat(VarSet *s, const Vars *pat)
{
    for (int k = 0; k < pat->n; k++)
        varset_add(s, pat->at[k]);
}

static Vars one_var(Flat *fl, Var *v)
{
    Vars vs = {0};
    vec_push(fl->cx->perm, &vs, v);
    return vs;
}

static VarSet *union_of(Flat *fl, const VarSet *a, const VarSet *b)
{
    VarSet *u = varmap_new(fl->cx->perm);
    Vars as = varset_list(fl->cx->perm, a), bs = varset_list(fl->cx->perm, b);
    add_pat(u, &as);
    add_pat(u, &bs);
    return u;
}

static bool pat_overwritten(const Flat *fl, const Stm *s)
{
    for (int k = 0; k < s->pat.n; k++)
        if (varset_has(fl->overwritten, s->pat.at[k]))
            return true;
    return false;
}

/* Is it the same wherever it is done, and can be done anywhere? */
static bool is_common(Flat *fl, const VarSet *variant, const Stm *s)
{
    return s->pat.n > 0 && !exp_uses_any(s->exp, variant) && !exp_traps(s->exp) &&
           !pat_overwritten(fl, s) && exp_consumes(fl->cx, s->exp).n == 0 &&
           exp_safe_anywhere(fl->defs, s->exp);
}

/* What is found of a body: statements in order. */
typedef struct {
    Stms common; /* those that may be done elsewhere */
    Stms stay;   /* all but the common ones that are worth it */
    Vars given;  /* what these bind */
} Parts;

static void note_part(Flat *fl, Parts *p, VarSet *variant, const Stm *s)
{
    bool common = is_common(fl, variant, s), moves = common && exp_has_soac(s->exp);
    if (common)
        vec_push(fl->cx->perm, &p->common, *s);
    else
        add_pat(variant, &s->pat);
    if (moves)
        vec_append(fl->cx->perm, &p->given, &s->pat);
    else
        vec_push(fl->cx->perm, &p->stay, *s);
}

/* Leaves of what is given only what the statements that stay need, or of the results; of those only
 * what is needed. False: there is nothing, or arrays of sizes that are known inside only. */
static bool settle_parts(Flat *fl, Parts *p, const VarSet *inside, const Atoms *res)
{
    VarSet *need = varmap_new(fl->cx->perm);
    Vars given = {0};
    for (int k = 0; k < res->n; k++)
        if (res->at[k].var)
            varset_add(need, res->at[k].var);
    p->stay = live_stms(fl, &p->stay, need, true);
    for (int k = 0; k < p->given.n; k++)
        if (varset_has(need, p->given.at[k]))
            vec_push(fl->cx->perm, &given, p->given.at[k]);
    p->given = given;
    VarSet *from = varmap_new(fl->cx->perm);
    add_pat(from, &given);
    p->common = live_stms(fl, &p->common, from, false);
    return given.n > 0 && !types_variant(inside, &given);
}

/* --- Maps that are split ---------------------------------------------------------------------- */

/* Elements at fixed places, whose reading may fail (the first of an array that may be empty): they
 * are read by the function of a map instead where that shows that they are there. Where it has no
 * elements nobody reads them, and what nobody needs may fail unseen (ir/passes/dce.c). */
static Stm with_elements(Flat *fl, const Stms *elements, const Stm *s)
{
    const Exp *e = s->exp;
    VarSet *used = varmap_new(fl->cx->perm);
    if (e->kind != E_MAP)
        return *s;
    free_in_lambda(used, e->soac.fn);
    Body b = {.res = e->soac.fn->body->res};
    for (int i = 0; i < elements->n; i++) {
        const Stm *x = &elements->at[i];
        if (!varset_has(used, x->pat.at[0]))
            continue;
        Exp *safe = exp_new(fl->cx, E_INDEX, x->exp->loc);
        *safe = *x->exp;
        safe->index.safe = true;
        vec_push(fl->cx->perm, &b.stms, (Stm){x->pat, safe});
    }
    if (b.stms.n == 0)
        return *s;
    vec_append(fl->cx->perm, &b.stms, &e->soac.fn->body->stms);
    Exp *r = exp_new(fl->cx, E_MAP, e->loc);
    *r = *e;
    r->soac.fn = rename_lambda(
        fl->cx, lambda_new(fl->cx, e->soac.fn->params, bld_body(&(Bld){fl->cx, b.stms}, b.res)));
    return (Stm){s->pat, r};
}

static bool is_element(const VarSet *variant, const Stm *s)
{
    return s->exp->kind == E_INDEX && s->pat.n == 1 && s->pat.at[0]->type.rank == 0 &&
           !s->exp->index.safe && !exp_uses_any(s->exp, variant);
}

/* Params of the function that `used` has, and their arrays. */
static void needed_params(Flat *fl, const Exp *map, const VarSet *used, Vars *params, Atoms *arrs)
{
    for (int k = 0; k < map->soac.arrs.n; k++)
        if (varset_has(used, map->soac.fn->params.at[k])) {
            vec_push(fl->cx->perm, params, map->soac.fn->params.at[k]);
            vec_push(fl->cx->perm, arrs, map->soac.arrs.at[k]);
        }
}

static Exp *map_over(Flat *fl, const Exp *like, const Vars *params, const Atoms *arrs,
                     const Stms *stms, Atoms res)
{
    Body *b = bld_body(&(Bld){fl->cx, *stms}, res);
    Exp *m = exp_map(fl->cx, like->loc, like->soac.width, *arrs, lambda_new(fl->cx, *params, b));
    m->attrs = like->attrs;
    return m;
}

/* The parts of a map's function; variant: what varies outside of it. */
static bool parts_of_map(Flat *fl, const VarSet *variant, const Exp *e, Parts *p)
{
    const Lambda *fn = e->soac.fn;
    VarSet *varies = union_of(fl, variant, varmap_new(fl->cx->perm)),
           *inside = varmap_new(fl->cx->perm);
    Stms elements = {0};
    add_pat(inside, &fn->params);
    for (int k = 0; k < e->soac.arrs.n; k++)
        if (atom_variant(variant, e->soac.arrs.at[k]))
            varset_add(varies, fn->params.at[k]);
    for (int i = 0; i < fn->body->stms.n; i++) {
        const Stm *s = &fn->body->stms.at[i], with = with_elements(fl, &elements, s);
        if (is_element(varies, s))
            vec_push(fl->cx->perm, &elements, *s);
        note_part(fl, p, varies, is_common(fl, varies, &with) ? &with : s);
        add_pat(inside, &s->pat);
    }
    return settle_parts(fl, p, inside, &fn->body->res);
}

/* A map as two, if some of what it does is common to what varies; else as it is. */
static Stms split_map(Flat *fl, const VarSet *variant, const Stm *s)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    Parts p = {0};
    Bld bl = bld_new(cx);
    if (e->kind != E_MAP || e->attrs || !exp_uses_any(e, variant) ||
        atom_variant(variant, e->soac.width) || !parts_of_map(fl, variant, e, &p)) {
        bld_stm(&bl, *s);
        return bl.stms;
    }
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < p.common.n; i++)
        free_in_stm(used, &p.common.at[i]);
    Vars params = {0}, all = {0};
    Atoms arrs = {0}, all_arrs = {0};
    needed_params(fl, e, used, &params, &arrs);
    if (params.n == 0) { /* the same for all elements of the map */
        Body *once = rename_body(cx, bld_body(&(Bld){cx, p.common}, atoms_of_vars(cx, &p.given)));
        vec_append(cx->perm, &bl.stms, &once->stms);
        for (int k = 0; k < p.given.n; k++)
            bld_stm(&bl, (Stm){one_var(fl, p.given.at[k]), exp_atom(cx, e->loc, once->res.at[k])});
        bld_stm(&bl, (Stm){s->pat, map_over(fl, e, &e->soac.fn->params, &e->soac.arrs, &p.stay,
                                            e->soac.fn->body->res)});
        return bl.stms;
    }
    Exp *common = map_over(fl, e, &params, &arrs, &p.common, atoms_of_vars(cx, &p.given));
    common->soac.fn = rename_lambda(cx, common->soac.fn);
    vec_append(cx->perm, &all, &e->soac.fn->params);
    vec_append(cx->perm, &all, &p.given);
    vec_append(cx->perm, &all_arrs, &e->soac.arrs);
    Atoms made = bld_exps(&bl, "common", common);
    vec_append(cx->perm, &all_arrs, &made);
    bld_stm(&bl, (Stm){s->pat, map_over(fl, e, &all, &all_arrs, &p.stay, e->soac.fn->body->res)});
    return bl.stms;
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* How many turns are done ahead at a time. */
static Atom turns_ahead(const Vars *given, Atom n, Loc loc, Bld *out)
{
    Atom one = atom_i64(1), elems = atom_i64(0);
    for (int k = 0; k < given->n; k++) {
        Atom size = one;
        for (int d = 0; d < given->at[k]->type.rank; d++)
            size = bld_binop(out, loc, OP_MUL, size, given->at[k]->type.dims[d]);
        elems = bld_binop(out, loc, OP_ADD, elems, size);
    }
    elems = bld_binop(out, loc, OP_MAX, one, elems);
    Atom most = bld_binop(out, loc, OP_QUOT, atom_i64(MOST_AHEAD), elems);
    return bld_binop(out, loc, OP_MAX, one, bld_binop(out, loc, OP_MIN, n, most));
}

/* map (\j -> what is given by turn from + j) (iota n) */
static Exp *map_of_turns(Flat *fl, const Exp *loop, const Parts *p, Atom from, Atom n, Bld *out)
{
    Ctx *cx = fl->cx;
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
    bld_stm(&bl, (Stm){one_var(fl, loop->loop.i), k});
    vec_append(cx->perm, &bl.stms, &p->common);
    Lambda *fn = lambda_new(cx, params, bld_body(&bl, atoms_of_vars(cx, &p->given)));
    Exp *m = exp_map(cx, loop->loc, n, arrs, rename_lambda(cx, fn));
    m->attrs =
        ATTR_ONLY_INNER; /* a block has many turns so that there is something to do at once */
    return m;
}

/* The loop over the turns of a block, to which `ahead` belongs. */
static Exp *turns_of_block(Flat *fl, const Exp *loop, const Parts *p, Atom from, Atom n,
                           const Atoms *ahead, const Atoms *inits)
{
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    Exp *r = exp_new(cx, E_LOOP, loop->loc);
    r->loop = loop->loop;
    r->loop.inits = *inits;
    r->loop.bound = n;
    r->loop.i = var_new(cx, "turn", type_prim(T_I64), loop->loc);
    Atom j = atom_var(r->loop.i);
    bld_stm(&bl, (Stm){one_var(fl, loop->loop.i), exp_binop(cx, loop->loc, OP_ADD, from, j)});
    for (int k = 0; k < ahead->n; k++)
        bld_stm(&bl, (Stm){one_var(fl, p->given.at[k]),
                           exp_index(cx, loop->loc, ahead->at[k], &j, 1, true)});
    vec_append(cx->perm, &bl.stms, &p->stay);
    r->loop.body = bld_body(&bl, loop->loop.body->res);
    return r;
}

/* The loop over blocks. */
static Exp *loop_of_blocks(Flat *fl, const Exp *e, const Parts *p, Bld *out)
{
    Ctx *cx = fl->cx;
    Loc loc = e->loc;
    Atom zero = atom_i64(0), all = bld_binop(out, loc, OP_MAX, zero, e->loop.bound);
    Atom most = turns_ahead(&p->given, all, loc, out);
    Atom less = bld_binop(out, loc, OP_SUB, most, atom_i64(1));
    Exp *r = exp_new(cx, E_LOOP, loc);
    r->loop = e->loop;
    r->loop.params = (Vars){0};
    for (int k = 0; k < e->loop.params.n; k++)
        vec_push(cx->perm, &r->loop.params, var_like(cx, e->loop.params.at[k]));
    r->loop.i = var_new(cx, "block", type_prim(T_I64), loc);
    r->loop.bound = bld_binop(out, loc, OP_QUOT, bld_binop(out, loc, OP_ADD, all, less), most);
    Bld bl = bld_new(cx);
    Atom from = bld_binop(&bl, loc, OP_MUL, atom_var(r->loop.i), most);
    Atom n = bld_binop(&bl, loc, OP_MIN, most, bld_binop(&bl, loc, OP_SUB, all, from));
    n = bld_binop(&bl, loc, OP_MAX, zero, n);
    Atoms ahead = bld_exps(&bl, "ahead", map_of_turns(fl, e, p, from, n, &bl));
    Atoms inits = atoms_of_vars(cx, &r->loop.params);
    Atoms res = bld_exps(&bl, "res", turns_of_block(fl, e, p, from, n, &ahead, &inits));
    r->loop.body = bld_body(&bl, res);
    return r;
}

/* What the loop's body consists of, maps split. */
static bool parts_of_loop(Flat *fl, const MapNest *S, const Exp *e, Parts *p)
{
    VarSet *variant = varmap_new(fl->cx->perm), *inside = varmap_new(fl->cx->perm);
    const Body *b = e->loop.body;
    nest_vars(S, variant);
    nest_vars(S, inside);
    add_pat(variant, &e->loop.params);
    add_pat(inside, &e->loop.params);
    varset_add(inside, e->loop.i);
    for (int i = 0; i < b->stms.n; i++) {
        Stms pieces = split_map(fl, variant, &b->stms.at[i]);
        for (int k = 0; k < pieces.n; k++) {
            note_part(fl, p, variant, &pieces.at[k]);
            add_pat(inside, &pieces.at[k].pat);
        }
    }
    return settle_parts(fl, p, inside, &b->res);
}

const Exp *loop_ahead(Flat *fl, const MapNest *S, const Exp *e, Bld *out)
{
    Parts p = {0};
    VarSet *params = varmap_new(fl->cx->perm);
    add_pat(params, &e->loop.params);
    if (fl->level == 0 || e->loop.kind != LOOP_FOR || e->loop.i->type.elem != T_I64 ||
        types_variant(params, &e->loop.params) || !parts_of_loop(fl, S, e, &p))
        return NULL;
    log_rule(fl, "G7", S, e, "what does not vary with it is computed ahead");
    Bld bl = bld_new(fl->cx);
    const Exp *blocks = loop_of_blocks(fl, e, &p, out);
    bld_stm(&bl, (Stm){e->loop.params, (Exp *)(uintptr_t)blocks});
    analyse_body(fl, bld_body(&bl, (Atoms){0}));
    return blocks;
}
