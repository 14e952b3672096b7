/* Where attention is one kernel of matrix units (kernels/matrix/segattention.c): what guards know
 * of it. What they take for such without its being one is done by a thread a row. */
#include "flatten/rules.h"
#include "ir/chains/attention.h"

/* Of an array with `at`, which dimension is dimension dim of what is read of it; -1: its neighbours
 * are not read as they lie, or where differs below what is known outside of S and b. */
static int dim_read(Flat *fl, const MapNest *S, const Body *b, const Exp *e, int dim)
{
    int n = -1, found = -1;
    for (int i = 0; i < e->index.at.n; i++) {
        const DimIndex *d = &e->index.at.at[i];
        bool last = i == e->index.at.n - 1;
        n += d->is_slice;
        if (d->is_slice ? last || !atom_is_int(d->stride, 1) : !is_outer(fl, S, b, NULL, d->start))
            return -1;
        if (d->is_slice && n == dim)
            found = i;
    }
    return found;
}

/* From b, under S, towards where v's memory is known: what v is a view or a part of, of which
 * dimension *dim of v is dimension *dim; *rows is set where that is an element of the innermost
 * dimension. False: it is none. */
static bool seen_through(Flat *fl, const MapNest *S, const Body *b, Atom *v, int *dim, bool *rows)
{
    int d, k;
    const Exp *e = NULL;
    for (int i = 0; i < b->stms.n; i++)
        if (vars_find(&b->stms.at[i].pat, v->var) == 0)
            e = b->stms.at[i].exp;
    if (!e && nest_find(S, v->var, &d, &k)) {
        *v = S->dims.at[d].arrs.at[k];
        *rows |= d == S->dims.n - 1;
        ++*dim;
        return true;
    }
    for (int i = S->dims.n - 1; i >= 0 && !e; i--)
        e = bound_in_pre(&S->dims.at[i], v->var);
    e = e ? e : def_of(fl, *v);
    if (!e || (e->kind != E_REARRANGE && e->kind != E_INDEX && e->kind != E_ATOM))
        return false;
    if (e->kind == E_REARRANGE)
        *dim = e->rearrange.perm[*dim];
    else if (e->kind == E_INDEX)
        *dim = dim_read(fl, S, b, e, *dim);
    *v = e->kind == E_ATOM ? e->atom : e->kind == E_INDEX ? e->index.arr : e->rearrange.arr;
    return v->var && *dim >= 0;
}

/* Are v's neighbours in dimension `dim` neighbours in memory, as far as is seen, and has each row,
 * an element of S's innermost dimension, one of its own (own), or all the same? */
static bool lies_along(Flat *fl, const MapNest *S, const Body *b, Atom v, int dim, bool own)
{
    bool rows = false;
    while (seen_through(fl, S, b, &v, &dim, &rows)) {
    }
    return v.var && dim == v.var->type.rank - 1 && rows == own;
}

static Atom binop(Bld *bl, PrimOp op, Atom a, Atom b)
{
    return bld_binop(bl, (Loc){0}, op, a, b);
}

/* The smaller or larger one of two sizes, which may be the same. */
static Atom of_both(Bld *bl, PrimOp op, Atom a, Atom b)
{
    return atom_eq(a, b) ? a : binop(bl, op, a, b);
}

/* More than 0 where the kernel can do the rows of S with body b, and that has enough blocks to be
 * worth it: rows of up to WIDEST numbers, a multiple of COPIED, in blocks of rows and keys that are
 * not mostly empty. NULL: not here, or some sizes are not known outside of `known` and `around`. */
static const Atom *units_of(Flat *fl, const MapNest *S, const Body *b, const MapNest *known,
                            const Body *around, Bld *bl)
{
    enum { LEAST = 32, WIDEST = 128, COPIED = 8, BLOCK = 128, BLOCKS = 32 };
    Attention a;
    if (!attention_find(fl->cx, b, &a) || !lies_along(fl, S, b, a.q, 0, true) ||
        !lies_along(fl, S, b, a.scores->exp->soac.arrs.at[a.key], 1, false) ||
        !lies_along(fl, S, b, a.product->exp->soac.arrs.at[a.value], 0, false))
        return NULL;
    Atom d = a.dot->exp->soac.width, c = a.product->exp->soac.width,
         rows = vec_last(&S->dims).width, keys = a.scores->exp->soac.width,
         sizes[] = {d, c, keys, rows};
    MapNest outer = *S;
    outer.dims.n--;
    for (int i = 0; i < 4; i++)
        if (!is_outer(fl, known, around, NULL, sizes[i]))
            return NULL;
    for (int i = 0; i < outer.dims.n; i++)
        if (!is_outer(fl, known, around, NULL, outer.dims.at[i].width))
            return NULL;
    Atom *units = NEW(fl->cx->perm, Atom);
    Atom room = binop(bl, OP_SUB, atom_i64(WIDEST + 1), of_both(bl, OP_MAX, d, c));
    Atom few = binop(bl, OP_QUOT, of_both(bl, OP_MIN, keys, rows), atom_i64(LEAST));
    Atom each = binop(bl, OP_QUOT, binop(bl, OP_ADD, rows, atom_i64(BLOCK - 1)), atom_i64(BLOCK));
    Atom blocks = binop(bl, OP_MUL, par_of_nest(fl, &outer, bl), each);
    few = binop(bl, OP_MIN, few, binop(bl, OP_QUOT, blocks, atom_i64(BLOCKS)));
    Atom rest = binop(bl, OP_REM, d, atom_i64(COPIED));
    if (!atom_eq(d, c))
        rest = binop(bl, OP_ADD, rest, binop(bl, OP_REM, c, atom_i64(COPIED)));
    rest = binop(bl, OP_MUL, rest, atom_i64(WIDEST + 1));
    *units = binop(bl, OP_SUB, binop(bl, OP_MIN, room, few), rest);
    *units = binop(bl, OP_MAX, *units, atom_i64(0));
    return units;
}

const Atom *units_of_top(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    Attention a;
    if (!attention_find(fl->cx, b, &a))
        return units_of_middle(fl, S, b, bl);
    /* Rows are blocks' of the innermost dimension, whose width is that of S outside of it. */
    MapNest outer = *S;
    outer.dims.n--;
    return units_of(fl, S, b, &outer, b, bl);
}

const Atom *units_of_middle(Flat *fl, const MapNest *S, const Body *b, Bld *bl)
{
    MapNest inner = nest_copy(fl, S);
    const Body *in = b;
    for (const Exp *map = only_map(in); map; map = only_map(in)) {
        if (inner.dims.n > S->dims.n)
            vec_append(fl->cx->perm, &vec_last(&inner.dims).pre, &in->stms);
        inner = nest_push(fl, &inner, map->soac.width, &map->soac.fn->params, &map->soac.arrs);
        in = map->soac.fn->body;
    }
    const Atom *units = in == b ? NULL : units_of(fl, &inner, in, S, b, bl);
    Atom *none = units ? NEW(fl->cx->perm, Atom) : NULL;
    if (none)
        *none = binop(bl, OP_SUB, atom_i64(0), *units);
    return none;
}
