/* Arrays of which each rank has a part (shares.h): shares, parts of arrays that are whole, and the
 * whole of those that are in parts. */
#include "level2/shares.h"

#include "base/intern.h"

static Exp *ranks_exp(Ctx *cx, ExpKind k, Loc loc, const Atom *args, int n)
{
    Exp *e = exp_new(cx, k, loc);
    for (int i = 0; i < n; i++)
        vec_push(cx->perm, &e->ranks.args, args[i]);
    return e;
}

/* --- Shares --------------------------------------------------------------------------------- */

static Level *outermost(const Parts *P)
{
    Level *l = P->at;
    while (l->outer)
        l = l->outer;
    return l;
}

static void know_rank(Parts *P, Loc loc)
{
    Bld *bl = &outermost(P)->bl;
    if (P->rank.var)
        return;
    P->rank = bld_exp(bl, "rank", ranks_exp(P->cx, E_MY_RANK, loc, NULL, 0));
    P->ranks = bld_exp(bl, "ranks", ranks_exp(P->cx, E_RANKS, loc, NULL, 0));
}

Atom parts_choice(Parts *P, Bld *bl, const char *base, Loc loc, Atom test, Atom x, Atom y)
{
    Ctx *cx = P->cx;
    Body *sides[2];
    for (int k = 0; k < 2; k++) {
        Bld b = bld_new(cx);
        Atoms res = {0};
        vec_push(cx->perm, &res, k == 0 ? x : y);
        sides[k] = bld_body(&b, res);
    }
    return bld_exp(bl, base, exp_if(cx, loc, test, sides[0], sides[1]));
}

Share *parts_share(Parts *P, Atom n, Loc loc)
{
    for (int i = 0; i < P->shares.n; i++)
        if (atom_eq(P->shares.at[i]->n, n))
            return P->shares.at[i];
    Level *level = parts_level(P, n);
    ASSERT(level);
    know_rank(P, loc);
    Ctx *cx = P->cx;
    Bld *bl = &level->bl;
    Share *s = NEW(cx->perm, Share);
    *s = (Share){.n = n, .level = level};
    Atom does[] = {weigh_work(P, bl, level, n, loc), weigh_cost(P, bl, level, n, loc)};
    Exp *e = ranks_exp(cx, E_SHARED, loc, does, 2);
    e->ranks.name = intern(arena_printf(cx->perm, "%s.suff_dist_%d", P->entry, P->n_thresholds++));
    s->test = e;
    s->at = bl->stms.n;
    s->shared = bld_exp(bl, "shared", e);
    s->rank = parts_choice(P, bl, "rank", loc, s->shared, P->rank, atom_i64(0));
    s->ranks = parts_choice(P, bl, "ranks", loc, s->shared, P->ranks, atom_i64(1));
    s->each = bld_exp(bl, "each", ranks_exp(cx, E_SHARE, loc, (Atom[]){n, s->ranks}, 2));
    s->first = bld_binop(bl, loc, OP_MIN, n, bld_binop(bl, loc, OP_MUL, s->rank, s->each));
    Atom left = bld_binop(bl, loc, OP_SUB, n, s->first);
    s->count = bld_binop(bl, loc, OP_MAX, atom_i64(0), bld_binop(bl, loc, OP_MIN, s->each, left));
    vec_push(cx->perm, &P->shares, s);
    return s;
}

Share *parts_share_kept(Parts *P, Atom n, Share *of, Atom first, Atom count)
{
    Share *s = NEW(P->cx->perm, Share);
    *s = (Share){.n = n,
                 .level = P->at,
                 .shared = of->shared,
                 .rank = of->rank,
                 .ranks = of->ranks,
                 .first = first,
                 .count = count,
                 .kept_of = of->kept_of ? of->kept_of : of};
    vec_push(P->cx->perm, &P->shares, s);
    return s;
}

/* Elements of dimensions d, d + 1 .. of t, as far as they are known where the share begins. */
static Atom elems_from(Parts *P, Bld *bl, const Share *s, Type t, int d)
{
    Atom n = atom_i64(1);
    for (; d < t.rank; d++)
        if (parts_before(P, t.dims[d], s->level, s->at))
            n = bld_binop(bl, s->test->loc, OP_MUL, n, t.dims[d]);
    return n;
}

/* Tells the share's test how many elements are gathered where it is true. */
static void tell_gathered(Parts *P, Share *s)
{
    Bld own = bld_new(P->cx);
    Atom row = atom_i64(0);
    Loc loc = s->test->loc;
    for (int i = 0; i < s->wanted.n; i++)
        row = bld_binop(&own, loc, OP_ADD, row, elems_from(P, &own, s, s->wanted.at[i]->type, 1));
    Atom all = bld_binop(&own, loc, OP_MUL, s->n, row);
    for (int i = 0; i < s->combined.n; i++)
        all = bld_binop(&own, loc, OP_ADD, all, elems_from(P, &own, s, s->combined.at[i]->type, 0));
    vec_push(P->cx->perm, &s->test->ranks.args, all);
    Stms *stms = &s->level->bl.stms, done = {0};
    for (int i = 0; i < stms->n; i++) {
        if (i == s->at)
            vec_append(P->cx->perm, &done, &own.stms);
        vec_push(P->cx->perm, &done, stms->at[i]);
    }
    *stms = done;
}

void parts_leave(Parts *P, Level *level)
{
    int kept = 0;
    for (int i = P->shares.n - 1; i >= 0; i--) /* the last first: statements move */
        if (P->shares.at[i]->level == level && !P->shares.at[i]->kept_of)
            tell_gathered(P, P->shares.at[i]);
    for (int i = 0; i < P->shares.n; i++)
        if (P->shares.at[i]->level != level)
            P->shares.at[kept++] = P->shares.at[i];
    P->shares.n = kept;
}

/* --- Parts ---------------------------------------------------------------------------------- */

Type parts_type(Ctx *cx, Type t, const Share *share)
{
    Type r = t;
    r.dims = NEWN(cx->perm, Atom, t.rank);
    for (int d = 0; d < t.rank; d++)
        r.dims[d] = d == 0 ? share->count : t.dims[d];
    return r;
}

void parts_put(Parts *P, const Var *v, Var *var, Share *share)
{
    Part *p = NEW(P->cx->perm, Part);
    *p = (Part){.var = var, .share = share, .level = P->at};
    parts_know(P, v);
    parts_know(P, var);
    varmap_put(P->parts, v, p);
}

Atoms parts_go_on(Parts *P, Bld *bl, const Lambda *op, const Atoms *before, const Atoms *parts,
                  const Share *share, Loc loc)
{
    Ctx *cx = P->cx;
    Bld turn = bld_new(cx), on = bld_new(cx), alone = bld_new(cx);
    Vars xs = {0};
    Atoms both = {0};
    vec_append(cx->perm, &both, before);
    for (int k = 0; k < parts->n; k++) {
        Var *x = var_new(cx, "x", type_row(atom_type(parts->at[k])), loc);
        vec_push(cx->perm, &xs, x);
        vec_push(cx->perm, &both, atom_var(x));
    }
    Atoms sums = bld_inline_lambda(&turn, op, &both);
    Exp *map = exp_map(cx, loc, share->count, *parts, lambda_new(cx, xs, bld_body(&turn, sums)));
    Atoms res = bld_exps(&on, "on", map);
    return bld_exps(bl, "on",
                    exp_if(cx, loc, share->shared, bld_body(&on, res), bld_body(&alone, *parts)));
}

Var *parts_settled(Parts *P, Part *p)
{
    Atoms before = {0}, part = {0};
    if (!p->op)
        return p->var;
    vec_push(P->cx->perm, &before, p->before);
    vec_push(P->cx->perm, &part, atom_var(p->var));
    Bld *bl = &p->level->bl;
    p->var = parts_go_on(P, bl, p->op, &before, &part, p->share, p->var->loc).at[0].var;
    p->op = NULL;
    Bound *b = NEW(P->cx->perm, Bound);
    *b = (Bound){p->level, bl->stms.n};
    varmap_put(P->bound, p->var, b);
    return p->var;
}

Var *parts_get(Parts *P, Atom a, const Share *share)
{
    Part *p = a.var ? varmap_get(P->parts, a.var) : NULL;
    return p && p->share == share ? parts_settled(P, p) : NULL;
}

DimIndexes parts_slice(Ctx *cx, Type t, Atom first, Atom count)
{
    DimIndexes at = {0};
    for (int d = 0; d < t.rank; d++)
        vec_push(cx->perm, &at,
                 (DimIndex){.is_slice = true,
                            .start = d == 0 ? first : atom_i64(0),
                            .n = d == 0 ? count : t.dims[d],
                            .stride = atom_i64(1)});
    return at;
}

bool parts_all(const DimIndex *di, Atom n)
{
    return di->is_slice && atom_is_int(di->start, 0) && atom_is_int(di->stride, 1) &&
           atom_eq(di->n, n);
}

static Atom numbers_from(Parts *P, Bld *bl, const Exp *iota, const Share *share)
{
    PrimType t = atom_type(iota->iota.start).elem;
    Atom first = t == T_I64 ? share->first
                            : bld_exp(bl, "first", exp_conv(P->cx, iota->loc, t, share->first));
    Atom off = bld_exp(bl, "off", exp_binop(P->cx, iota->loc, OP_MUL, first, iota->iota.stride));
    Exp *e = exp_new(P->cx, E_IOTA, iota->loc);
    e->iota.n = share->count;
    e->iota.start =
        bld_exp(bl, "start", exp_binop(P->cx, iota->loc, OP_ADD, iota->iota.start, off));
    e->iota.stride = iota->iota.stride;
    return bld_exp(bl, "part", e);
}

/* What is read of a parameter is known in the end: until then there may be ROWS of it. */
Part *parts_part(Parts *P, const Var *v)
{
    Part *p = varmap_get(P->parts, v);
    if (p || !varset_has(P->given, v))
        return p;
    Share *share = parts_share(P, v->type.dims[0], v->loc);
    Bld *bl = &share->level->bl; /* the entry's */
    p = NEW(P->cx->perm, Part);
    *p = (Part){.share = share, .level = share->level};
    const Atom args[] = {atom_var((Var *)(uintptr_t)v), share->count, share->shared};
    p->rows = ranks_exp(P->cx, E_ROWS, v->loc, args, 3);
    p->var = var_new(P->cx, v->base, parts_type(P->cx, v->type, share), v->loc);
    bld_define(bl, p->var, p->rows);
    Bound *b = NEW(P->cx->perm, Bound);
    *b = (Bound){share->level, bl->stms.n};
    varmap_put(P->bound, p->var, b);
    varmap_put(P->parts, v, p);
    return p;
}

/* Is v a parameter of which there may be parts alone? From here on it is whole: its ROWS become a
 * slice. */
static bool take_whole(Parts *P, const Var *v)
{
    if (!varset_has(P->given, v))
        return false;
    Part *p = varmap_get(P->parts, v);
    varmap_del(P->given, v);
    if (p) {
        Exp *e = p->rows;
        *e = (Exp){.kind = E_INDEX, .loc = e->loc};
        e->index.arr = atom_var((Var *)(uintptr_t)v);
        e->index.at = parts_slice(P->cx, v->type, p->share->first, p->share->count);
        e->index.safe = p->whole = true;
        p->rows = NULL;
    }
    return true;
}

Atom parts_of(Parts *P, Atom a, const Share *share, Loc loc)
{
    (void)(a.var ? parts_part(P, a.var) : NULL);
    Var *v = parts_get(P, a, share);
    if (v)
        return atom_var(v);
    Bld *bl = &P->at->bl;
    const Exp *made = uses_def(P->us, a);
    if (made && made->kind == E_IOTA && prim_is_int(a.var->type.elem))
        return numbers_from(P, bl, made, share);
    if (made && made->kind == E_REPLICATE && made->replicate.dims.n == 1)
        return bld_exp(bl, "part", exp_replicate(P->cx, loc, share->count, made->replicate.val));
    parts_gather(P, a.var);
    Exp *e = exp_new(P->cx, E_INDEX, loc);
    e->index.arr = a;
    e->index.at = parts_slice(P->cx, a.var->type, share->first, share->count);
    e->index.safe = true;
    return bld_exp(bl, "part", e);
}

/* v := `shared` ? the rows that are here, from row `first` of an array of v's type on, and then
 * what GATHER with these other arguments makes of it : the rows that are here, which are all. */
static void gather_into(Bld *bl, Var *v, const Part *p, Atom first, const Atoms *args)
{
    Ctx *cx = bl->cx;
    Type t = v->type;
    Bld all = bld_new(cx), here = bld_new(cx);
    Atoms got = {0}, same = {0}, with = {0};
    Exp *e = exp_new(cx, E_SCRATCH, v->loc);
    e->scratch.type = t;
    Atom blank = bld_exp(&all, "blank", e);
    e = exp_new(cx, E_UPDATE, v->loc);
    e->update.arr = blank;
    e->update.at = parts_slice(cx, t, first, p->share->count);
    e->update.val = atom_var(p->var);
    e->update.safe = true;
    vec_push(cx->perm, &with, bld_exp(&all, "rows", e));
    vec_append(cx->perm, &with, args);
    vec_push(cx->perm, &got,
             bld_exp(&all, "all", ranks_exp(cx, E_GATHER, v->loc, with.at, with.n)));
    e = exp_new(cx, E_RESHAPE, v->loc);
    for (int d = 0; d < t.rank; d++)
        vec_push(cx->perm, &e->reshape.dims, t.dims[d]);
    e->reshape.arr = atom_var(p->var);
    vec_push(cx->perm, &same, bld_exp(&here, "all", e));
    bld_define(bl, v,
               exp_if(cx, v->loc, p->share->shared, bld_body(&all, got), bld_body(&here, same)));
}

void parts_tell(Parts *P, ConstVars *told, const Var *v)
{
    for (int i = 0; i < told->n; i++)
        if (told->at[i] == v)
            return;
    vec_push(P->cx->perm, told, v);
}

static void keep_outer(const Parts *P, ConstVars *told)
{
    int kept = 0;
    for (int i = 0; i < told->n; i++) {
        const Bound *b = varmap_get(P->bound, told->at[i]);
        const Level *l = P->at->outer;
        while (l && l != b->level)
            l = l->outer;
        if (l)
            told->at[kept++] = told->at[i];
    }
    told->n = kept;
}

void parts_untell(Parts *P)
{
    for (int i = 0; i < P->shares.n; i++) {
        keep_outer(P, &P->shares.at[i]->wanted);
        keep_outer(P, &P->shares.at[i]->combined);
    }
}

void parts_gather(Parts *P, const Var *v)
{
    Part *p = varmap_get(P->parts, v);
    if (take_whole(P, v) || !p || p->whole)
        return;
    p->whole = true;
    (void)parts_settled(P, p);
    Share *of = p->share->kept_of;
    Atoms from = {0};
    if (of)
        vec_push(P->cx->perm, &from, p->share->first);
    Share *tested = of ? of : p->share;
    parts_tell(P, &tested->wanted, v);
    gather_into(&p->level->bl, (Var *)(uintptr_t)v, p, p->share->first, &from);
}

void parts_gather_all(Parts *P, const VarSet *used)
{
    Vars vs = varset_list(P->cx->perm, used);
    for (int i = 0; i < vs.n; i++)
        parts_gather(P, vs.at[i]);
}

Halo parts_halo(Parts *P, const Var *v, int lo, int hi)
{
    Part *p = varmap_get(P->parts, v);
    const Share *s = p->share;
    Ctx *cx = P->cx;
    Bld *bl = &p->level->bl;
    Loc loc = v->loc;
    if (p->beside && lo <= p->lo && hi <= p->hi)
        return p->halo;
    (void)parts_settled(P, p);
    Atom with = bld_binop(bl, loc, OP_ADD, s->count, atom_i64(lo + hi));
    Atom size = parts_choice(P, bl, "size", loc, s->shared, with, s->n);
    Halo h = {.first = s->first,
              .at = parts_choice(P, bl, "at", loc, s->shared, atom_i64(lo), atom_i64(0))};
    Type t = v->type;
    t.dims = arena_memdup(cx->perm, t.dims, sizeof *t.dims * (size_t)t.rank);
    t.dims[0] = size;
    Var *rows = var_new(cx, v->base, t, loc);
    Atoms args = {0};
    vec_push(cx->perm, &args, s->n);
    vec_push(cx->perm, &args, atom_i64(lo));
    vec_push(cx->perm, &args, atom_i64(hi));
    gather_into(bl, rows, p, atom_i64(lo), &args);
    h.rows = atom_var(rows);
    p->beside = true;
    p->halo = h;
    p->lo = lo;
    p->hi = hi;
    return h;
}

Atom parts_beside(Parts *P, Atom a, const Share *share, const Lambda *fn, Loc loc)
{
    const Part *p = a.var ? varmap_get(P->parts, a.var) : NULL;
    VarSet *used = varmap_new(P->cx->perm);
    if (fn)
        free_in_lambda(used, fn);
    if (!p || p->share != share || !p->beside || !varset_has(used, p->halo.rows.var))
        return parts_of(P, a, share, loc);
    Bld *bl = &P->at->bl;
    Exp *e = exp_new(P->cx, E_INDEX, loc);
    e->index.arr = p->halo.rows;
    e->index.at = parts_slice(P->cx, p->halo.rows.var->type, p->halo.at, share->count);
    e->index.safe = true;
    return bld_exp(bl, "part", e);
}
