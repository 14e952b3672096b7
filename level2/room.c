/* Loops that carry arrays with room for the rows of the ranks beside, where their turns read such
 * (halo.c): what a turn makes is built there, and only those rows are moved.
 *
 *     loop xs for i < k do                    loop ys = 1 row, xs', 1 row for i < k do
 *       map (\i -> f xs[i - 1] xs[i + 1])  =>   let ys = ys with what lies beside     -- in place
 *                                               let zs' = map (\i -> f ys[..] ys[..])
 *                                               in 1 row, zs', 1 row
 *
 * That zs' lies where it is wanted from the start is the business of memory/within.c. */
#include "level2/shares.h"

bool room_wanted(const Parts *P, const Var *v, Room *room)
{
    const Part *p = varmap_get(P->parts, v);
    if (!p || !p->beside || (p->lo <= room->lo && p->hi <= room->hi))
        return false;
    room->lo = p->lo > room->lo ? p->lo : room->lo;
    room->hi = p->hi > room->hi ? p->hi : room->hi;
    return true;
}

void room_make(Parts *P, Room *room, const Share *share, Loc loc)
{
    Bld *bl = &P->at->bl;
    Atom with = bld_binop(bl, loc, OP_ADD, share->count, atom_i64(room->lo + room->hi));
    room->size = parts_choice(P, bl, "size", loc, share->shared, with, share->n);
    room->at = parts_choice(P, bl, "at", loc, share->shared, atom_i64(room->lo), atom_i64(0));
}

Type room_type(Ctx *cx, Type t, const Room *room)
{
    t.dims = arena_memdup(cx->perm, t.dims, sizeof *t.dims * (size_t)t.rank);
    t.dims[0] = room->size;
    return t;
}

Atom room_blank(Parts *P, Type t, const Room *room, Loc loc)
{
    Exp *e = exp_new(P->cx, E_SCRATCH, loc);
    e->scratch.type = room_type(P->cx, t, room);
    return bld_exp(&P->at->bl, "room", e);
}

Atom room_with(Parts *P, Atom blank, Atom part, const Share *share, const Room *room, Loc loc)
{
    Ctx *cx = P->cx;
    Exp *e = exp_new(cx, E_UPDATE, loc);
    e->update.arr = blank;
    e->update.at = parts_slice(cx, atom_type(blank), room->at, share->count);
    e->update.val = part;
    e->update.safe = true;
    return bld_exp(&P->at->bl, "rows", e);
}

/* The part that lies in rows. */
static Exp *part_in(Parts *P, Atom rows, const Share *share, const Room *room, Loc loc)
{
    Exp *e = exp_new(P->cx, E_INDEX, loc);
    e->index.arr = rows;
    e->index.at = parts_slice(P->cx, atom_type(rows), room->at, share->count);
    e->index.safe = true;
    return e;
}

Var *room_left(Parts *P, const Var *v, Atom rows, const Share *share, const Room *room)
{
    Ctx *cx = P->cx;
    Var *part = var_new(cx, v->base, parts_type(cx, v->type, share), v->loc);
    Bld all = bld_new(cx), here = bld_new(cx);
    Atoms some = {0}, same = {0};
    vec_push(cx->perm, &some, bld_exp(&all, "part", part_in(P, rows, share, room, v->loc)));
    Exp *e = exp_new(cx, E_RESHAPE, v->loc); /* it is all of them: nothing is copied */
    for (int d = 0; d < part->type.rank; d++)
        vec_push(cx->perm, &e->reshape.dims, part->type.dims[d]);
    e->reshape.arr = rows;
    vec_push(cx->perm, &same, bld_exp(&here, "part", e));
    bld_define(&P->at->bl, part,
               exp_if(cx, v->loc, share->shared, bld_body(&all, some), bld_body(&here, same)));
    return part;
}

void room_enter(Parts *P, const Var *v, Var *carried, Share *share, const Room *room)
{
    Ctx *cx = P->cx;
    Bld all = bld_new(cx), here = bld_new(cx);
    Atoms got = {0}, same = {0};
    Exp *e = exp_new(cx, E_GATHER, v->loc);
    vec_push(cx->perm, &e->ranks.args, atom_var(carried));
    vec_push(cx->perm, &e->ranks.args, share->n);
    vec_push(cx->perm, &e->ranks.args, atom_i64(room->lo));
    vec_push(cx->perm, &e->ranks.args, atom_i64(room->hi));
    vec_push(cx->perm, &got, bld_exp(&all, "beside", e));
    vec_push(cx->perm, &same, atom_var(carried));
    Var *rows = var_new(cx, v->base, carried->type, v->loc);
    bld_define(&P->at->bl, rows,
               exp_if(cx, v->loc, share->shared, bld_body(&all, got), bld_body(&here, same)));
    Var *part = var_new(cx, v->base, parts_type(cx, v->type, share), v->loc);
    bld_define(&P->at->bl, part, part_in(P, atom_var(rows), share, room, v->loc));
    parts_put(P, v, part, share);
    Part *p = varmap_get(P->parts, v);
    p->beside = true;
    p->halo = (Halo){atom_var(rows), share->first, room->at};
    p->lo = room->lo;
    p->hi = room->hi;
}
