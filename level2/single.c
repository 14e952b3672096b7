/* Single elements of arrays in parts: who has the element tells the others.
 *
 *     xs[i]  =>  let r = i / each                   -- who has it
 *                let x = if r is this rank then xs'[i - first] else 0
 *                in what rank r told of x
 *
 * Where this would be in each turn of a loop, of an array from before it, all of the array is
 * gathered instead, once. */
#include "ir/stops.h"
#include "level2/shares.h"

/* Is there a loop between here and where p is made? */
static bool is_in_turns(const Parts *P, const Part *p)
{
    for (const Level *l = P->at; l && l != p->level; l = l->outer)
        if (l->turns)
            return true;
    return false;
}

/* Positions that may be out of bounds stop the program, on all ranks alike. */
static void check_positions(Parts *P, const Exp *e)
{
    Ctx *cx = P->cx;
    Bld *bl = &P->at->bl;
    Type t = e->index.arr.var->type;
    IndexStop stop = stop_index(cx->perm, e);
    Atoms numbers = {0};
    for (int k = 0; k < stop.n; k++) {
        int d = stop.at[k].dim;
        vec_push(cx->perm, &numbers,
                 stop.at[k].part == INDEX_SIZE ? t.dims[d] : e->index.at.at[d].start);
    }
    for (int k = 0; k < 2 * e->index.at.n; k++) {
        Atom i = e->index.at.at[k / 2].start;
        Exp *inside = k % 2 == 0 ? exp_binop(cx, e->loc, OP_LE, atom_i64(0), i)
                                 : exp_binop(cx, e->loc, OP_LT, i, t.dims[k / 2]);
        Exp *check = exp_new(cx, E_ASSERT, e->loc);
        check->assertion.cond = bld_exp(bl, "inside", inside);
        check->assertion.msg = stop.text;
        check->assertion.args = numbers;
        bld_stm(bl, (Stm){(Vars){0}, check});
    }
}

/* The element, of what is here: row number `row` of it. */
static Atom element(Bld *bl, const Part *p, const Exp *e, Atom row)
{
    Atoms at = {0};
    for (int d = 0; d < e->index.at.n; d++)
        vec_push(bl->cx->perm, &at, d == 0 ? row : e->index.at.at[d].start);
    return bld_exp(bl, "x", exp_index(bl->cx, e->loc, atom_var(p->var), at.at, at.n, true));
}

bool single_read(Parts *P, const Stm *s)
{
    const Exp *e = s->exp;
    Ctx *cx = P->cx;
    Part *p = e->kind == E_INDEX ? parts_part(P, e->index.arr.var) : NULL;
    if (!p || p->whole || p->share->kept_of || s->pat.at[0]->type.rank > 0 || is_in_turns(P, p))
        return false;
    (void)parts_settled(P, p);
    if (!e->index.safe)
        check_positions(P, e);
    const Share *share = p->share;
    Loc loc = e->loc;
    Atom i = e->index.at.at[0].start;
    Bld all = bld_new(cx), alone = bld_new(cx), mine = bld_new(cx), others = bld_new(cx);
    Atoms found = {0}, same = {0}, own = {0}, none = {0};
    Atom of = bld_exp(&all, "of", exp_binop(cx, loc, OP_QUOT, i, share->each));
    Atom here = bld_exp(&all, "here", exp_binop(cx, loc, OP_EQ, of, share->rank));
    Atom row = bld_binop(&mine, loc, OP_SUB, i, share->first);
    vec_push(cx->perm, &own, element(&mine, p, e, row));
    vec_push(cx->perm, &none, atom_zero(s->pat.at[0]->type.elem));
    Exp *x = exp_if(cx, loc, here, bld_body(&mine, own), bld_body(&others, none));
    Atoms told = bld_exps(&all, "x", x);
    Told t = soac_tell(P, &all, NULL, &told, loc);
    found = soac_told_by(&all, &t, of, loc);
    vec_push(cx->perm, &same, element(&alone, p, e, i));
    bld_define(&P->at->bl, s->pat.at[0],
               exp_if(cx, loc, share->shared, bld_body(&all, found), bld_body(&alone, same)));
    parts_know(P, s->pat.at[0]);
    return true;
}
