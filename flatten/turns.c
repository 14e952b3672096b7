/* Before rule G7 takes a loop out of a nest: what its turns do alike for all elements of the nest
 * is done ahead, for many turns at once.
 *
 *     map (\p -> loop (r = p)            loop (rs = ps) for b < blocks do
 *       for k < n do                       let sss = map (\k -> map (\a -> scan (f k) a) as)
 *       map (\(a, x) ->                                  (turns of block b)
 *         let s = scan (f k) a     ==>   in loop rs for j < turns do
 *         in g s x) as r) ps               map (\r -> map (\(a, s, x) -> g s x) as sss[j] r) rs
 *
 * What turns do alike for all elements of the nest (ir/chains/alike.c) is computed for a block of
 * turns in one map, which has more parallelism and takes fewer launches. A block has as
 * many turns as need no more than MOST_AHEAD elements together.
 *
 * Only where SOACs are found that are worth it; scalar code stays in the loop. e_top and e_middle
 * of maps further out have the loop as it is: a thread or a work-group has no memory for many
 * turns. */
#include "flatten/rules.h"

enum { MOST_AHEAD = 1 << 22 };

static AlikeAt alike_at(const Flat *fl)
{
    return (AlikeAt){fl->cx, fl->defs, fl->overwritten};
}

static Vars one_var(Flat *fl, Var *v)
{
    Vars vs = {0};
    vec_push(fl->cx->perm, &vs, v);
    return vs;
}

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

/* The loop over the turns of a block, to which `ahead` belongs. */
static Exp *turns_of_block(Flat *fl, const Exp *loop, const Alike *p, Atom from, Atom n,
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
static Exp *loop_of_blocks(Flat *fl, const Exp *e, const Alike *p, Bld *out)
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
    AlikeAt at = alike_at(fl);
    Exp *map = alike_map(&at, e, p, from, n, &bl);
    map->attrs =
        ATTR_ONLY_INNER; /* a block has many turns so that there is something to do at once */
    Atoms ahead = bld_exps(&bl, "ahead", map);
    Atoms inits = atoms_of_vars(cx, &r->loop.params);
    Atoms res = bld_exps(&bl, "res", turns_of_block(fl, e, p, from, n, &ahead, &inits));
    r->loop.body = bld_body(&bl, res);
    return r;
}

const Exp *loop_ahead(Flat *fl, const MapNest *S, const Exp *e, Bld *out)
{
    Alike p = {0};
    VarSet *params = varmap_new(fl->cx->perm), *around = varmap_new(fl->cx->perm);
    AlikeAt at = alike_at(fl);
    for (int k = 0; k < e->loop.params.n; k++)
        varset_add(params, e->loop.params.at[k]);
    nest_vars(S, around);
    if (fl->level == 0 || e->loop.kind != LOOP_FOR || e->loop.i->type.elem != T_I64 ||
        types_variant(params, &e->loop.params) || !alike_turns(&at, around, e, &p))
        return NULL;
    log_rule(fl, "G7", S, e, "what does not vary with it is computed ahead");
    Bld bl = bld_new(fl->cx);
    const Exp *blocks = loop_of_blocks(fl, e, &p, out);
    bld_stm(&bl, (Stm){e->loop.params, (Exp *)(uintptr_t)blocks});
    analyse_body(fl, bld_body(&bl, (Atoms){0}));
    return blocks;
}
