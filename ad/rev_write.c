/* Scatters and histograms in reverse: what was written reads its adjoint where it went.
 *
 * Histograms: `+` like a scatter that keeps what was there. Of `min` and `max` the element that won
 * gets the adjoint of its bin. By any other operator the elements come one after the other, and
 * each keeps what its bin held before. */
#include "ad/reverse.h"

/* seed[idx] for each element of the index arrays; zero where that is outside. */
static Atom gathered(Rev *r, Loc loc, Atom seed, Atom width, const Atoms *idx)
{
    Ctx *cx = r->cx;
    Bld in = bld_new(cx), yes = bld_new(cx), no = bld_new(cx);
    Vars ps = {0};
    for (int k = 0; k < idx->n; k++)
        vec_push(cx->perm, &ps, var_new(cx, "at", type_prim(T_I64), loc));
    Atoms at = atoms_of_vars(cx, &ps), res = {0};
    Type t = atom_type(seed);
    Atom ok = ad_inside(&in, loc, &at, t);
    Atom there = bld_exp(&yes, "adj", exp_index(cx, loc, seed, at.at, at.n, true));
    ad_atom(cx, &res, ad_if(&in, loc, ok, &yes, there, &no, ad_zero(&no, loc, type_drop(t, at.n))));
    Lambda *fn = lambda_new(cx, ps, bld_body(&in, res));
    return bld_exp(&r->bl, "adj", exp_map(cx, loc, width, *idx, fn));
}

static Atoms some(Ctx *cx, const Atoms *as, int from, int n)
{
    Atoms r = {0};
    for (int i = 0; i < n; i++)
        ad_atom(cx, &r, as->at[from + i]);
    return r;
}

/* --- Scatters ------------------------------------------------------------------------------- */

/* seed with zeros where something was written. */
static Atom without(Rev *r, const Exp *e, const Dest *d, Atom seed, Atoms idx)
{
    Ctx *cx = r->cx;
    Loc loc = e->loc;
    Type elem = type_drop(atom_type(seed), d->rank);
    Types ts = {0};
    Atoms arrs = {0};
    vec_append(cx->perm, &arrs, &idx);
    for (int k = 0; k < idx.n; k++)
        vec_push(cx->perm, &ts, type_prim(T_I64));
    Lambda *fn = ad_identity(cx, loc, &ts);
    Bld in = bld_new(cx);
    Atoms res = {0};
    vec_append(cx->perm, &res, &fn->body->res);
    ad_atom(cx, &res, ad_zero(&in, loc, elem));
    Exp *w = ad_soac(cx, E_SCATTER, loc, e->soac.width, arrs);
    w->soac.fn = lambda_new(cx, fn->params, bld_body(&in, res));
    vec_push(cx->perm, &w->soac.dests, (Dest){seed, d->rank});
    return bld_exp(&r->bl, "adj", w);
}

void rev_scatter(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    const Dests *ds = &e->soac.dests;
    int at = 0, n_idx = 0;
    vec_push(r->cx->perm, fwd, *s);
    for (int j = 0; j < ds->n; j++)
        n_idx += ds->at[j].rank;
    for (int j = 0; j < ds->n; at += ds->at[j++].rank) {
        if (!rev_has(r, s->pat.at[j]))
            continue;
        Atom seed = rev_take(r, s->pat.at[j]);
        Atoms idx = some(r->cx, &e->soac.arrs, at, ds->at[j].rank);
        Atom vals = e->soac.arrs.at[n_idx + j];
        if (rev_active(r, vals))
            rev_add(r, e->loc, vals, gathered(r, e->loc, seed, e->soac.width, &idx));
        if (rev_active(r, ds->at[j].arr))
            rev_add(r, e->loc, ds->at[j].arr, without(r, e, &ds->at[j], seed, idx));
    }
}

/* --- Histograms ----------------------------------------------------------------------------- */

static void hist_sum(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    const Dest *d = &e->soac.dests.at[0];
    vec_push(r->cx->perm, fwd, *s);
    Atom seed = rev_take(r, s->pat.at[0]);
    Atoms idx = some(r->cx, &e->soac.arrs, 0, d->rank);
    if (rev_active(r, e->soac.arrs.at[d->rank]))
        rev_add(r, e->loc, e->soac.arrs.at[d->rank],
                gathered(r, e->loc, seed, e->soac.width, &idx));
    rev_add(r, e->loc, d->arr, seed);
}

/* \(x, at) (y, at') -> the lesser (greater) and where it is; where it is as `ad_choice` has it. */
static void hist_choice(Rev *r, const Stm *s, PrimOp op, Stms *fwd)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    const Dest *d = &e->soac.dests.at[0];
    Type t = s->pat.at[0]->type;
    Bld bl = bld_new(cx);
    Type at_type = {T_I64, t.rank, t.dims};
    Atom none = ad_filled(&bl, loc, t.dims, t.rank, atom_i64(-1));
    Exp *h = exp_new(cx, E_HIST, loc);
    *h = *e;
    h->soac.dests = (Dests){0};
    h->soac.nes = h->soac.arrs = (Atoms){0};
    vec_push(cx->perm, &h->soac.dests, *d);
    vec_push(cx->perm, &h->soac.dests, (Dest){none, d->rank});
    vec_append(cx->perm, &h->soac.arrs, &e->soac.arrs);
    ad_atom(cx, &h->soac.arrs, ad_iota(&bl, loc, e->soac.width));
    ad_atom(cx, &h->soac.nes, e->soac.nes.at[0]);
    ad_atom(cx, &h->soac.nes, e->soac.width); /* no element */
    Types ts = {0};
    for (int k = 0; k < h->soac.arrs.n; k++)
        vec_push(cx->perm, &ts, type_row(atom_type(h->soac.arrs.at[k])));
    h->soac.fn = ad_identity(cx, loc, &ts);
    h->soac.op = ad_choice(cx, loc, op, t.elem);
    h->soac.comm = true;
    Stm chosen = {.exp = h};
    Var *at = var_new(cx, "at", at_type, loc);
    vec_push(cx->perm, &chosen.pat, s->pat.at[0]);
    vec_push(cx->perm, &chosen.pat, at);
    bld_stm(&bl, chosen);
    vec_append(cx->perm, fwd, &bl.stms);
    Atom seed = rev_take(r, s->pat.at[0]);
    Atoms dims = {0}, idx = {0};
    for (int k = 0; k < t.rank; k++)
        ad_atom(cx, &dims, t.dims[k]);
    ad_atom(cx, &idx, atom_var(at));
    rev_add_list(r, loc, e->soac.arrs.at[d->rank], dims, idx, seed);
    if (rev_active(r, d->arr))
        rev_add(r, loc, d->arr, ad_where(&r->bl, loc, atom_var(at), -1, seed));
}

/* --- Any operator --------------------------------------------------------------------------- */

typedef struct {
    Rev *r;
    const Stm *s;
    const Exp *e;
    Loc loc;
    int n, rank;
    Atoms olds; /* what each element found in its bin */
} Bins;

/* The place of element i's bin, and whether there is one. */
static DimIndexes bin_of(Bins *B, Bld *bl, Atom i, Type t, Atom *ok)
{
    Atoms idx = {0};
    DimIndexes at = {0};
    for (int k = 0; k < B->rank; k++)
        ad_atom(bl->cx, &idx, ad_row(bl, B->loc, B->e->soac.arrs.at[k], i));
    *ok = ad_inside(bl, B->loc, &idx, t);
    for (int k = 0; k < B->rank; k++) {
        DimIndex one = {false, idx.at[k], atom_i64(1), atom_i64(1)};
        vec_push(bl->cx->perm, &at, one);
    }
    return at;
}

static DimIndexes with_rest(Ctx *cx, DimIndexes at, Type t)
{
    DimIndexes all = {0};
    vec_append(cx->perm, &all, &at);
    for (int d = at.n; d < t.rank; d++)
        vec_push(cx->perm, &all, ad_whole(t, d));
    return all;
}

static Exp *loop_over(Bins *B, Vars params, Atoms inits, Var *i, Body *body)
{
    Exp *l = exp_new(B->r->cx, E_LOOP, B->loc);
    l->loop.kind = LOOP_FOR;
    l->loop.params = params;
    l->loop.inits = inits;
    l->loop.i = i;
    l->loop.bound = B->e->soac.width;
    l->loop.body = body;
    return l;
}

/* loop (dests, olds) for i < n: what the bin holds is kept, then combined with the element. */
static void hist_forward(Bins *B, Stms *fwd)
{
    Ctx *cx = B->r->cx;
    Vars params = {0};
    Atoms inits = {0}, here = {0};
    Bld front = bld_new(cx), in = bld_new(cx), yes = bld_new(cx), no = bld_new(cx);
    Var *i = var_new(cx, "i", type_prim(T_I64), B->loc);
    for (int j = 0; j < 2 * B->n; j++) {
        Type t = B->s->pat.at[j % B->n]->type;
        Type old = type_array(cx, type_drop(t, B->rank), B->e->soac.width);
        bool dest = j < B->n;
        vec_push(cx->perm, &params, var_new(cx, dest ? "bins" : "old", dest ? t : old, B->loc));
        ad_atom(cx, &inits, dest ? B->e->soac.dests.at[j].arr : ad_scratch(&front, B->loc, old));
        ad_atom(cx, &here, atom_var(params.at[j]));
    }
    Atom ok, iv = atom_var(i);
    DimIndexes at = bin_of(B, &in, iv, params.at[0]->type, &ok);
    Atoms args = {0}, res = {0};
    for (int j = 0; j < B->n; j++) {
        DimIndexes bin = with_rest(cx, at, params.at[j]->type);
        ad_atom(cx, &args, ad_at(&yes, B->loc, here.at[j], &bin, true));
    }
    Atoms found = {0};
    vec_append(cx->perm, &found, &args);
    for (int j = 0; j < B->n; j++)
        ad_atom(cx, &args, ad_row(&yes, B->loc, B->e->soac.arrs.at[B->rank + j], iv));
    Atoms made = bld_inline_lambda(&yes, B->e->soac.op, &args);
    for (int j = 0; j < B->n; j++) {
        DimIndexes row = ad_row_at(cx, params.at[B->n + j]->type, iv);
        ad_atom(cx, &res, ad_with(&yes, B->loc, here.at[B->n + j], &row, found.at[j], true));
    }
    Atoms out = {0};
    for (int j = 0; j < B->n; j++) {
        DimIndexes bin = with_rest(cx, at, params.at[j]->type);
        ad_atom(cx, &out, ad_with(&yes, B->loc, here.at[j], &bin, made.at[j], true));
    }
    vec_append(cx->perm, &out, &res);
    Exp *choice = exp_if(cx, B->loc, ok, bld_body(&yes, out), bld_body(&no, here));
    Atoms next = bld_exps(&in, "bins", choice);
    Exp *l = loop_over(B, params, inits, i, bld_body(&in, next));
    Stm s = {.exp = l};
    vec_append(cx->perm, &s.pat, &B->s->pat);
    for (int j = 0; j < B->n; j++) {
        Var *old = var_new(cx, "old", params.at[B->n + j]->type, B->loc);
        vec_push(cx->perm, &s.pat, old);
        ad_atom(cx, &B->olds, atom_var(old));
    }
    vec_append(cx->perm, fwd, &front.stms);
    vec_push(cx->perm, fwd, s);
}

/* From the last element to the first: the adjoint of a bin becomes that of what it held. */
static void hist_back(Bins *B)
{
    Rev *r = B->r;
    Ctx *cx = r->cx;
    bool *seeded = NEWN(cx->perm, bool, B->n), *wanted = NEWN(cx->perm, bool, 2 * B->n);
    Ints floats = {0};
    for (int j = 0; j < B->n; j++)
        if (ad_is_float(B->s->pat.at[j]->type)) {
            seeded[j] = wanted[j] = wanted[B->n + j] = true;
            vec_push(cx->perm, &floats, j);
        }
    int m = floats.n;
    Vars params = {0};
    Atoms inits = {0}, here = {0};
    for (int k = 0; k < 2 * m; k++) {
        int j = floats.at[k % m];
        Var *y = B->s->pat.at[j];
        Type val = type_array(cx, type_drop(y->type, B->rank), B->e->soac.width);
        vec_push(cx->perm, &params, var_new(cx, "adj", k < m ? y->type : val, B->loc));
        ad_atom(cx, &inits, k < m ? rev_take(r, y) : ad_zero(&r->bl, B->loc, val));
        ad_atom(cx, &here, atom_var(params.at[k]));
    }
    Bld in = bld_new(cx), yes = bld_new(cx), no = bld_new(cx);
    Var *turn = var_new(cx, "k", type_prim(T_I64), B->loc);
    Atom last = bld_binop(&r->bl, B->loc, OP_SUB, B->e->soac.width, atom_i64(1)), ok;
    Atom i = bld_binop(&in, B->loc, OP_SUB, last, atom_var(turn));
    DimIndexes at = bin_of(B, &in, i, B->s->pat.at[0]->type, &ok);
    Atoms args = {0}, out = {0};
    for (int j = 0; j < B->n; j++)
        ad_atom(cx, &args, ad_row(&yes, B->loc, B->olds.at[j], i));
    for (int j = 0; j < B->n; j++)
        ad_atom(cx, &args, ad_row(&yes, B->loc, B->e->soac.arrs.at[B->rank + j], i));
    for (int k = 0; k < m; k++) {
        DimIndexes bin = with_rest(cx, at, params.at[k]->type);
        ad_atom(cx, &args, ad_at(&yes, B->loc, here.at[k], &bin, true));
    }
    Lambda *d = rev_lambda(r, B->e->soac.op, seeded, wanted);
    Atoms back = bld_inline_lambda(&yes, d, &args);
    for (int k = 0; k < 2 * m; k++) {
        DimIndexes to =
            k < m ? with_rest(cx, at, params.at[k]->type) : ad_row_at(cx, params.at[k]->type, i);
        ad_atom(cx, &out, ad_with(&yes, B->loc, here.at[k], &to, back.at[k], true));
    }
    Exp *choice = exp_if(cx, B->loc, ok, bld_body(&yes, out), bld_body(&no, here));
    Atoms next = bld_exps(&in, "adj", choice);
    Exp *l = loop_over(B, params, inits, turn, bld_body(&in, next));
    Atoms res = bld_exps(&r->bl, "adj", l);
    for (int k = 0; k < m; k++) {
        rev_add(r, B->loc, B->e->soac.dests.at[floats.at[k]].arr, res.at[k]);
        rev_add(r, B->loc, B->e->soac.arrs.at[B->rank + floats.at[k]], res.at[m + k]);
    }
}

void rev_hist(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    PrimOp op = ad_combines_by(e);
    bool scalars = atom_type(e->soac.nes.at[0]).rank == 0;
    if (op == OP_ADD) {
        hist_sum(r, s, fwd);
    } else if (scalars && (op == OP_MIN || op == OP_MAX)) {
        hist_choice(r, s, op, fwd);
    } else {
        Bins B = {r, s, e, e->loc, e->soac.nes.n, e->soac.dests.at[0].rank, {0}};
        hist_forward(&B, fwd);
        hist_back(&B);
    }
}
