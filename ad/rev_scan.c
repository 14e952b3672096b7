/* Scans in reverse, of scalars: the adjoint of result i is what is asked of it and what result
 * i + 1 hands on,
 *   a_i = s_i + J_i a_{i+1},  J_i = d op (y_i, x_{i+1}) / d y_i,
 * a scan from the right of linear functions.
 *
 * The matrices are mostly sparse, and so are their products: what is zero in all of them is not
 * carried. Results that hand nothing to each other need no common matrix; where two of them have
 * the same one, it is carried once. Of (a, b) op (c, d) = (c + d a, b d) it is the number d for
 * both: a scan of three numbers, not of two and four. */
#include "ad/reverse.h"

typedef struct {
    Rev *r;
    const Stm *s;
    Loc loc;
    Atom width;
    int n, k;    /* values; those of them that are floats */
    int *which;  /* these */
    bool *hands; /* k * k: [a, b]: may d op_b / d y_a be other than 0? */
    int *with;   /* the least of the floats that it exchanges something with */
} Scan;

/* Floats whose adjoints are scanned together: the members of some blocks, one block behind the
 * other. Their matrix, of each of the blocks: */
typedef struct {
    Ints members;
    int size;
    bool *carried; /* size * size: can it be other than 0, of an element or of a product? */
    bool *own;     /* ... of an element? */
} Together;

/* --- One element ---------------------------------------------------------------------------- */

/* The matrix, by rows, of the operator's arguments y and x. */
static Atom *slopes_of(const Scan *S, Bld *bl, const Atoms *args)
{
    Ctx *cx = S->r->cx;
    Atom *slopes = NEWN(cx->perm, Atom, S->k * S->k);
    for (int b = 0; b < S->k; b++) {
        bool *seeded = NEWN(cx->perm, bool, S->n), *wanted = NEWN(cx->perm, bool, 2 * S->n);
        Atoms all = {0};
        for (int a = 0; a < S->k; a++)
            wanted[S->which[a]] = true;
        seeded[S->which[b]] = true;
        vec_append(cx->perm, &all, args);
        ad_atom(cx, &all, atom_float(S->s->pat.at[S->which[b]]->type.elem, 1));
        Lambda *d = rev_lambda(S->r, S->s->exp->soac.op, seeded, wanted);
        Atoms column = bld_inline_lambda(bl, d, &all);
        for (int a = 0; a < S->k; a++)
            slopes[a * S->k + b] = column.at[a];
    }
    return slopes;
}

static bool is_one(Atom a)
{
    PrimType t = atom_type(a).elem;
    return !a.var && prim_is_float(t) && atom_eq(a, atom_float(t, 1));
}

static bool is_zero(Atom a)
{
    return !a.var && atom_eq(a, atom_zero(atom_type(a).elem));
}

/* Without factors of 1. */
static Atom plain(const VarMap *defs, Atom a)
{
    const Exp *e = a.var ? varmap_get(defs, a.var) : NULL;
    if (e && e->kind == E_ATOM)
        return plain(defs, e->atom);
    if (!e || e->kind != E_PRIM || e->prim.op != OP_MUL)
        return a;
    for (int i = 0; i < 2; i++)
        if (is_one(e->prim.args.at[i]))
            return plain(defs, e->prim.args.at[1 - i]);
    return a;
}

/* Are both computed alike, as far as so many `steps` tell? What is read in several places would be
 * compared for each of them. */
static bool alike(const VarMap *defs, Atom a, Atom b, int *steps)
{
    a = plain(defs, a);
    b = plain(defs, b);
    const Exp *d = a.var ? varmap_get(defs, a.var) : NULL;
    const Exp *e = b.var ? varmap_get(defs, b.var) : NULL;
    if (atom_eq(a, b))
        return true;
    bool same = --*steps > 0 && d && e && d->kind == E_PRIM && e->kind == E_PRIM &&
                d->prim.op == e->prim.op && d->prim.type == e->prim.type;
    for (int i = 0; same && i < d->prim.args.n; i++)
        same = alike(defs, d->prim.args.at[i], e->prim.args.at[i], steps);
    return same;
}

/* --- Who is scanned together ---------------------------------------------------------------- */

static Ints block_of(const Scan *S, int first)
{
    Ints is = {0};
    for (int a = first; a < S->k; a++)
        if (S->with[a] == first)
            vec_push(S->r->cx->perm, &is, a);
    return is;
}

/* Do two blocks have the same matrix? */
static bool same_block(const Scan *S, const VarMap *defs, const Atom *slopes, const Ints *x,
                       const Ints *y)
{
    int steps = 1000; /* enough for slopes that people write */
    bool same = x->n == y->n;
    for (int a = 0; same && a < x->n; a++) {
        PrimType t = S->s->pat.at[S->which[x->at[a]]]->type.elem;
        same = t == S->s->pat.at[S->which[y->at[a]]]->type.elem;
        for (int b = 0; same && b < x->n; b++)
            same = alike(defs, slopes[x->at[a] * S->k + x->at[b]],
                         slopes[y->at[a] * S->k + y->at[b]], &steps);
    }
    return same;
}

/* What products of the matrix can have: of the unit matrix, too. */
static void close_products(Together *g)
{
    int n = g->size;
    for (int a = 0; a < n; a++)
        g->carried[a * n + a] = true;
    for (int q = 0; q < n; q++)
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                g->carried[a * n + b] |= g->carried[a * n + q] && g->carried[q * n + b];
}

static Together together_new(const Scan *S, const Ints *block)
{
    Arena *mem = S->r->cx->perm;
    int n = block->n;
    Together g = {.size = n, .own = NEWN(mem, bool, n *n), .carried = NEWN(mem, bool, n *n)};
    vec_append(mem, &g.members, block);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            g.own[a * n + b] = g.carried[a * n + b] = S->hands[block->at[a] * S->k + block->at[b]];
    close_products(&g);
    return g;
}

/* Floats that exchange something, by any way, get the same least number. */
static void find_blocks(Scan *S, const Atom *slopes)
{
    S->hands = NEWN(S->r->cx->perm, bool, S->k * S->k);
    S->with = NEWN(S->r->cx->perm, int, S->k);
    for (int a = 0; a < S->k; a++)
        S->with[a] = a;
    for (int i = 0; i < S->k * S->k; i++) {
        int a = i / S->k, b = i % S->k, x = S->with[a], y = S->with[b];
        S->hands[i] = !is_zero(slopes[i]);
        for (int c = 0; S->hands[i] && c < S->k; c++)
            if (S->with[c] == x || S->with[c] == y)
                S->with[c] = x < y ? x : y;
    }
}

typedef VEC(Together) Togethers;

static Togethers who_together(Scan *S)
{
    Ctx *cx = S->r->cx;
    Togethers gs = {0};
    Atoms args = {0};
    Bld bl = bld_new(cx);
    VarMap *defs = varmap_new(cx->perm);
    for (int i = 0; i < 2 * S->n; i++)
        ad_atom(cx, &args, atom_var(var_new(cx, "x", S->s->pat.at[i % S->n]->type, S->loc)));
    const Atom *slopes = slopes_of(S, &bl, &args);
    for (int i = 0; i < bl.stms.n; i++)
        for (int k = 0; k < bl.stms.at[i].pat.n; k++)
            varmap_put(defs, bl.stms.at[i].pat.at[k], bl.stms.at[i].exp);
    find_blocks(S, slopes);
    for (int a = 0; a < S->k; a++) {
        Ints block = block_of(S, a);
        Together *to = NULL;
        for (int g = 0; g < gs.n && block.n > 0 && !to; g++) {
            Ints first = block_of(S, S->with[gs.at[g].members.at[0]]);
            if (same_block(S, defs, slopes, &first, &block))
                to = &gs.at[g];
        }
        if (to)
            vec_append(cx->perm, &to->members, &block);
        else if (block.n > 0)
            vec_push(cx->perm, &gs, together_new(S, &block));
    }
    return gs;
}

/* --- The scan from the right ---------------------------------------------------------------- */

/* The matrices' elements that are carried, as arrays, from the right: number 0 is that of the last
 * element, behind which there is nothing. */
static Atoms slopes_from_right(const Scan *S, const Together *g)
{
    Rev *r = S->r;
    Ctx *cx = r->cx;
    const Exp *e = S->s->exp;
    Atoms arrs = {0}, args = {0}, res[2] = {{0}, {0}};
    for (int j = 0; j < S->n; j++)
        ad_atom(cx, &arrs, ad_reversed(&r->bl, S->loc, atom_var(S->s->pat.at[j])));
    Each m = rev_each(r, S->loc, S->width, &arrs);
    Bld last = bld_new(cx), other = bld_new(cx);
    Atom next = bld_binop(&other, S->loc, OP_SUB, S->width, m.i);
    vec_append(cx->perm, &args, &m.args);
    for (int j = 0; j < S->n; j++)
        ad_atom(cx, &args, ad_row(&other, S->loc, e->soac.arrs.at[j], next));
    const Atom *slopes = slopes_of(S, &other, &args);
    for (int i = 0; i < g->size * g->size; i++) {
        int a = g->members.at[i / g->size], b = g->members.at[i % g->size];
        if (!g->carried[i])
            continue;
        ad_atom(cx, &res[1], slopes[a * S->k + b]);
        ad_atom(cx, &res[0], atom_zero(S->s->pat.at[S->which[a]]->type.elem));
    }
    Atom is_last = bld_binop(&m.in, S->loc, OP_EQ, m.i, atom_i64(0));
    Exp *choice = exp_if(cx, S->loc, is_last, bld_body(&last, res[0]), bld_body(&other, res[1]));
    return rev_each_done(r, S->loc, S->width, &m, bld_exps(&m.in, "slope", choice));
}

/* Which of the carried numbers element [a, b] is; behind those of the members. */
static int place_of(const Together *g, int a, int b)
{
    int at = g->members.n;
    for (int i = 0; i < a * g->size + b; i++)
        at += g->carried[i];
    return at;
}

static Atom with(Bld *bl, Loc loc, Atom sum, Atom x, Atom y)
{
    return ad_add(bl, loc, sum, bld_binop(bl, loc, OP_MUL, x, y));
}

/* (c, J) op (d, K) = (d + K c, K J): the function of the right end first. */
static Lambda *linear_operator(const Scan *S, const Together *g, PrimType t)
{
    Ctx *cx = S->r->cx;
    int size = g->size, n = place_of(g, size - 1, size - 1) + 1;
    Vars ps = {0};
    Bld bl = bld_new(cx);
    for (int i = 0; i < 2 * n; i++)
        vec_push(cx->perm, &ps, var_new(cx, "c", type_prim(t), S->loc));
    Atoms as = atoms_of_vars(cx, &ps), res = {0};
    const Atom *l = as.at, *x = as.at + n;
    for (int i = 0; i < g->members.n; i++) {
        int a = i % size, block = i - a;
        Atom sum = atom_zero(t);
        for (int b = 0; b < size; b++)
            if (g->carried[a * size + b])
                sum = with(&bl, S->loc, sum, x[place_of(g, a, b)], l[block + b]);
        ad_atom(cx, &res, ad_add(&bl, S->loc, x[i], sum));
    }
    for (int i = 0; i < size * size; i++) {
        int a = i / size, b = i % size;
        Atom sum = atom_zero(t);
        for (int q = 0; q < size; q++)
            if (g->carried[a * size + q] && g->carried[q * size + b])
                sum = with(&bl, S->loc, sum, x[place_of(g, a, q)], l[place_of(g, q, b)]);
        if (g->carried[i])
            ad_atom(cx, &res, sum);
    }
    return lambda_new(cx, ps, bld_body(&bl, res));
}

/* Puts a_i of the members where `out` has them. */
static void scan_together(const Scan *S, const Together *g, Atoms seeds, Atom *out)
{
    Rev *r = S->r;
    Ctx *cx = r->cx;
    Atoms arrs = {0}, nes = {0}, slopes = slopes_from_right(S, g);
    PrimType t = S->s->pat.at[S->which[g->members.at[0]]]->type.elem;
    for (int i = 0; i < g->members.n; i++) {
        ad_atom(cx, &arrs, ad_reversed(&r->bl, S->loc, seeds.at[g->members.at[i]]));
        ad_atom(cx, &nes, atom_zero(t));
    }
    vec_append(cx->perm, &arrs, &slopes);
    for (int i = 0; i < g->size * g->size; i++)
        if (g->carried[i])
            ad_atom(cx, &nes, atom_float(t, i % (g->size + 1) == 0));
    Lambda *op = linear_operator(S, g, t);
    Atoms all = rev_scanned(&r->bl, S->loc, S->width, arrs, nes, op);
    for (int i = 0; i < g->members.n; i++)
        out[g->members.at[i]] = ad_reversed(&r->bl, S->loc, all.at[i]);
}

/* a_i of all results that are floats. */
static Atoms adjoints(Scan *S)
{
    Ctx *cx = S->r->cx;
    Atoms seeds = {0}, out = {0};
    for (int a = 0; a < S->k; a++)
        ad_atom(cx, &seeds, rev_take(S->r, S->s->pat.at[S->which[a]]));
    Togethers gs = who_together(S);
    vec_append(cx->perm, &out, &seeds);
    for (int g = 0; g < gs.n; g++)
        scan_together(S, &gs.at[g], seeds, out.at);
    return out;
}

static void scan_any(Rev *r, const Stm *s)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Scan S = {.r = r, .s = s, .loc = e->loc, .width = e->soac.width, .n = e->soac.nes.n};
    S.which = NEWN(cx->perm, int, S.n);
    bool *seeded = NEWN(cx->perm, bool, S.n), *wanted = NEWN(cx->perm, bool, 2 * S.n);
    for (int j = 0; j < S.n; j++) {
        seeded[j] = ad_is_float(s->pat.at[j]->type);
        wanted[S.n + j] = seeded[j] && rev_active(r, e->soac.arrs.at[j]);
        if (seeded[j])
            S.which[S.k++] = j;
    }
    Atoms seeds = adjoints(&S), arrs = {0}, ys = atoms_of_vars(cx, &s->pat), args = {0};
    vec_append(cx->perm, &arrs, &e->soac.arrs);
    vec_append(cx->perm, &arrs, &seeds);
    Each m = rev_each(r, S.loc, S.width, &arrs);
    Atom is_first = bld_binop(&m.in, S.loc, OP_EQ, m.i, atom_i64(0));
    Atom prev = bld_binop(&m.in, S.loc, OP_SUB, m.i, atom_i64(1));
    args = rev_rows_or(&m.in, S.loc, is_first, &e->soac.nes, &ys, prev);
    vec_append(cx->perm, &args, &m.args);
    Lambda *d = rev_lambda(r, e->soac.op, seeded, wanted);
    Atoms out = rev_each_done(r, S.loc, S.width, &m, bld_inline_lambda(&m.in, d, &args));
    rev_add_wanted(r, e, wanted + S.n, &out);
}

void rev_scan(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    vec_push(r->cx->perm, fwd, *s);
    if (ad_combines_by(e) != OP_ADD) {
        scan_any(r, s);
        return;
    }
    Atoms arrs = {0};
    ad_atom(r->cx, &arrs, ad_reversed(&r->bl, e->loc, rev_take(r, s->pat.at[0])));
    Lambda *op = ad_operator(r->cx, e->loc, OP_ADD, type_prim(s->pat.at[0]->type.elem));
    Atoms nes = {0};
    ad_atom(r->cx, &nes, atom_zero(s->pat.at[0]->type.elem));
    Atoms sums = rev_scanned(&r->bl, e->loc, e->soac.width, arrs, nes, op);
    rev_add(r, e->loc, e->soac.arrs.at[0], ad_reversed(&r->bl, e->loc, sums.at[0]));
}
