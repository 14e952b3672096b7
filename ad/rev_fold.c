/* Reductions and scans in reverse, of scalars.
 *
 * reduce: `+` hands its adjoint to each element, `min` and `max` to the one that it is. By any
 * other operator, an element stands between what is before and behind it, op (op l x) r, which two
 * scans find: the derivative of that by x.
 *
 * scan: the adjoint of result i is what is asked of it and what result i + 1 hands on:
 *   a_i = s_i + J_i a_{i+1},  J_i = d op (y_i, x_{i+1}) / d y_i,
 * a scan from the right of linear functions. */
#include "ad/reverse.h"

/* --- Reductions ----------------------------------------------------------------------------- */

static void reduce_choice(Rev *r, const Stm *s, PrimOp op, Stms *fwd)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    Bld bl = bld_new(cx);
    Exp *c = exp_new(cx, E_REDUCE, loc);
    *c = *e;
    c->soac.arrs = c->soac.nes = (Atoms){0};
    ad_atom(cx, &c->soac.arrs, e->soac.arrs.at[0]);
    ad_atom(cx, &c->soac.arrs, ad_iota(&bl, loc, e->soac.width));
    ad_atom(cx, &c->soac.nes, e->soac.nes.at[0]);
    ad_atom(cx, &c->soac.nes, e->soac.width); /* no element */
    c->soac.op = ad_choice(cx, loc, op, s->pat.at[0]->type.elem);
    c->soac.comm = true;
    Var *at = var_new(cx, "at", type_prim(T_I64), loc);
    Stm chosen = {.exp = c};
    vec_push(cx->perm, &chosen.pat, s->pat.at[0]);
    vec_push(cx->perm, &chosen.pat, at);
    bld_stm(&bl, chosen);
    vec_append(cx->perm, fwd, &bl.stms);
    Atoms idx = {0};
    ad_atom(cx, &idx, atom_var(at));
    rev_add_list(r, loc, e->soac.arrs.at[0], (Atoms){0}, idx, rev_take(r, s->pat.at[0]));
}

/* Row i of each array, or where `test` holds the neutral elements. */
static Atoms rows_or(Bld *bl, Loc loc, Atom test, const Atoms *nes, const Atoms *arrs, Atom i)
{
    Bld x = bld_new(bl->cx), y = bld_new(bl->cx);
    Atoms rows = {0};
    for (int j = 0; j < arrs->n; j++)
        ad_atom(bl->cx, &rows, ad_row(&y, loc, arrs->at[j], i));
    Exp *e = exp_if(bl->cx, loc, test, bld_body(&x, *nes), bld_body(&y, rows));
    return bld_exps(bl, "near", e);
}

static Atoms all_reversed(Bld *bl, Loc loc, const Atoms *arrs)
{
    Atoms as = {0};
    for (int i = 0; i < arrs->n; i++)
        ad_atom(bl->cx, &as, ad_reversed(bl, loc, arrs->at[i]));
    return as;
}

static Atoms scanned(Bld *bl, Loc loc, Atom width, Atoms arrs, Atoms nes, Lambda *op)
{
    Exp *e = ad_soac(bl->cx, E_SCAN, loc, width, arrs);
    e->soac.nes = nes;
    e->soac.op = op;
    return bld_exps(bl, "scanned", e);
}

static Lambda *flipped(Ctx *cx, const Lambda *op)
{
    Lambda *f = rename_lambda(cx, op);
    Vars ps = {0};
    int n = f->params.n / 2;
    for (int i = 0; i < 2 * n; i++)
        vec_push(cx->perm, &ps, f->params.at[(i + n) % (2 * n)]);
    return lambda_new(cx, ps, f->body);
}

/* \x l r -> op (op l x) r */
static Lambda *between(Ctx *cx, Loc loc, const Lambda *op)
{
    int n = op->params.n / 2;
    Vars ps = {0};
    Bld bl = bld_new(cx);
    for (int k = 0; k < 3 * n; k++)
        vec_push(cx->perm, &ps, var_new(cx, "x", op->params.at[k % n]->type, loc));
    Atoms first = {0};
    for (int k = 0; k < n; k++)
        ad_atom(cx, &first, atom_var(ps.at[n + k]));
    for (int k = 0; k < n; k++)
        ad_atom(cx, &first, atom_var(ps.at[k]));
    Atoms second = bld_inline_lambda(&bl, op, &first);
    Atoms args = {0};
    vec_append(cx->perm, &args, &second);
    for (int k = 0; k < n; k++)
        ad_atom(cx, &args, atom_var(ps.at[2 * n + k]));
    return lambda_new(cx, ps, bld_body(&bl, bld_inline_lambda(&bl, op, &args)));
}

/* Which results have an adjoint, and those. */
static Atoms seeds_of(Rev *r, const Stm *s, bool *seeded)
{
    Atoms as = {0};
    for (int j = 0; j < s->pat.n; j++) {
        seeded[j] = rev_has(r, s->pat.at[j]);
        if (seeded[j])
            ad_atom(r->cx, &as, rev_take(r, s->pat.at[j]));
    }
    return as;
}

/* A map over numbers and arrays; its function's results are the adjoints of the arrays that are
 * wanted. */
typedef struct {
    Bld in;
    Vars params;
    Atoms arrs, args; /* args: the parameters behind the number */
    Atom i;
} Each;

static Each each(Rev *r, Loc loc, Atom width, const Atoms *arrs)
{
    Ctx *cx = r->cx;
    Each m = {.in = bld_new(cx)};
    ad_atom(cx, &m.arrs, ad_iota(&r->bl, loc, width));
    vec_append(cx->perm, &m.arrs, arrs);
    for (int k = 0; k < m.arrs.n; k++) {
        Type t = type_row(atom_type(m.arrs.at[k]));
        vec_push(cx->perm, &m.params, var_new(cx, k ? "x" : "i", t, loc));
        if (k)
            ad_atom(cx, &m.args, atom_var(m.params.at[k]));
    }
    m.i = atom_var(m.params.at[0]);
    return m;
}

static Atoms each_done(Rev *r, Loc loc, Atom width, Each *m, Atoms res)
{
    Lambda *fn = lambda_new(r->cx, m->params, bld_body(&m->in, res));
    return bld_exps(&r->bl, "adj", exp_map(r->cx, loc, width, m->arrs, fn));
}

static void add_wanted(Rev *r, const Exp *e, const bool *wanted, const Atoms *out)
{
    int k = 0;
    for (int j = 0; j < e->soac.nes.n; j++)
        if (wanted[j])
            rev_add(r, e->loc, e->soac.arrs.at[j], out->at[k++]);
}

static void reduce_any(Rev *r, const Stm *s)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    int n = e->soac.nes.n;
    bool *seeded = NEWN(cx->perm, bool, n), *wanted = NEWN(cx->perm, bool, 3 * n);
    Atoms seeds = seeds_of(r, s, seeded);
    for (int j = 0; j < n; j++)
        wanted[j] = rev_active(r, e->soac.arrs.at[j]);
    Atom width = e->soac.width;
    Atoms back = all_reversed(&r->bl, loc, &e->soac.arrs);
    Lambda *op = rename_lambda(cx, e->soac.op);
    Atoms before = scanned(&r->bl, loc, width, e->soac.arrs, e->soac.nes, op);
    Atoms behind = scanned(&r->bl, loc, width, back, e->soac.nes, flipped(cx, e->soac.op));
    Atom last = bld_binop(&r->bl, loc, OP_SUB, width, atom_i64(1));
    Each m = each(r, loc, width, &e->soac.arrs);
    Bld *in = &m.in;
    Atom is_first = bld_binop(in, loc, OP_EQ, m.i, atom_i64(0));
    Atom is_last = bld_binop(in, loc, OP_EQ, m.i, last);
    Atom prev = bld_binop(in, loc, OP_SUB, m.i, atom_i64(1));
    Atom next = bld_binop(in, loc, OP_SUB, bld_binop(in, loc, OP_SUB, last, m.i), atom_i64(1));
    Atoms args = {0}, l = rows_or(in, loc, is_first, &e->soac.nes, &before, prev);
    Atoms x = rows_or(in, loc, is_last, &e->soac.nes, &behind, next);
    vec_append(cx->perm, &args, &m.args);
    vec_append(cx->perm, &args, &l);
    vec_append(cx->perm, &args, &x);
    vec_append(cx->perm, &args, &seeds);
    Lambda *d = rev_lambda(r, between(cx, loc, e->soac.op), seeded, wanted);
    Atoms out = each_done(r, loc, width, &m, bld_inline_lambda(in, d, &args));
    add_wanted(r, e, wanted, &out);
}

void rev_reduce(Rev *r, const Stm *s, Stms *fwd)
{
    const Exp *e = s->exp;
    PrimOp op = ad_combines_by(e);
    if (op == OP_MIN || op == OP_MAX) {
        reduce_choice(r, s, op, fwd);
        return;
    }
    vec_push(r->cx->perm, fwd, *s);
    if (op != OP_ADD) {
        reduce_any(r, s);
        return;
    }
    Atom seed = rev_take(r, s->pat.at[0]);
    rev_add(r, e->loc, e->soac.arrs.at[0],
            bld_exp(&r->bl, "adj", exp_replicate(r->cx, e->loc, e->soac.width, seed)));
}

/* --- Scans ---------------------------------------------------------------------------------- */

typedef struct {
    Rev *r;
    const Stm *s;
    Loc loc;
    Atom width;
    int n, k;   /* values; those of them that are floats */
    int *which; /* these */
} Scan;

/* J_i by rows: element (a, b) is d op_b / d y_a. */
static Atoms jacobians(Scan *S)
{
    Rev *r = S->r;
    Ctx *cx = r->cx;
    const Exp *e = S->s->exp;
    Atoms none = {0}, ys = {0}, res[2] = {{0}, {0}};
    Each m = each(r, S->loc, S->width, &none);
    Bld last = bld_new(cx), other = bld_new(cx);
    Atom next = bld_binop(&other, S->loc, OP_ADD, m.i, atom_i64(1));
    for (int j = 0; j < S->n; j++)
        ad_atom(cx, &ys, ad_row(&other, S->loc, atom_var(S->s->pat.at[j]), m.i));
    for (int j = 0; j < S->n; j++)
        ad_atom(cx, &ys, ad_row(&other, S->loc, e->soac.arrs.at[j], next));
    Atom *matrix = NEWN(cx->perm, Atom, S->k * S->k);
    for (int b = 0; b < S->k; b++) {
        bool *seeded = NEWN(cx->perm, bool, S->n), *wanted = NEWN(cx->perm, bool, 2 * S->n);
        Atoms args = {0};
        for (int a = 0; a < S->k; a++)
            wanted[S->which[a]] = true;
        seeded[S->which[b]] = true;
        vec_append(cx->perm, &args, &ys);
        ad_atom(cx, &args, atom_float(S->s->pat.at[S->which[b]]->type.elem, 1));
        Lambda *d = rev_lambda(r, e->soac.op, seeded, wanted);
        Atoms column = bld_inline_lambda(&other, d, &args);
        for (int a = 0; a < S->k; a++)
            matrix[a * S->k + b] = column.at[a];
    }
    for (int a = 0; a < S->k * S->k; a++) {
        ad_atom(cx, &res[1], matrix[a]);
        ad_atom(cx, &res[0], atom_zero(atom_type(matrix[a]).elem));
    }
    Atom end = bld_binop(&r->bl, S->loc, OP_SUB, S->width, atom_i64(1));
    Atom is_last = bld_binop(&m.in, S->loc, OP_EQ, m.i, end);
    Exp *choice = exp_if(cx, S->loc, is_last, bld_body(&last, res[0]), bld_body(&other, res[1]));
    return each_done(r, S->loc, S->width, &m, bld_exps(&m.in, "slope", choice));
}

static Atom dot(Bld *bl, Loc loc, const Atom *x, int dx, const Atom *y, int dy, int n)
{
    Atom sum = bld_binop(bl, loc, OP_MUL, x[0], y[0]);
    for (int i = 1; i < n; i++)
        sum = bld_binop(bl, loc, OP_ADD, sum, bld_binop(bl, loc, OP_MUL, x[i * dx], y[i * dy]));
    return sum;
}

/* (c, J) op (d, K) = (d + K c, K J): the function of the right end first. */
static Lambda *linear_operator(Scan *S, PrimType t)
{
    Ctx *cx = S->r->cx;
    int k = S->k, n = k + k * k;
    Vars ps = {0};
    Bld bl = bld_new(cx);
    for (int i = 0; i < 2 * n; i++)
        vec_push(cx->perm, &ps, var_new(cx, "c", type_prim(t), S->loc));
    Atoms as = atoms_of_vars(cx, &ps), res = {0};
    const Atom *c = as.at, *J = c + k, *d = c + n, *K = d + k;
    for (int a = 0; a < k; a++)
        ad_atom(cx, &res,
                bld_binop(&bl, S->loc, OP_ADD, d[a], dot(&bl, S->loc, K + a * k, 1, c, 1, k)));
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
            ad_atom(cx, &res, dot(&bl, S->loc, K + a * k, 1, J + b, k, k));
    return lambda_new(cx, ps, bld_body(&bl, res));
}

/* a_i of all results that are floats. */
static Atoms adjoints(Scan *S)
{
    Rev *r = S->r;
    Ctx *cx = r->cx;
    Atoms arrs = {0}, nes = {0}, js = jacobians(S), out = {0};
    PrimType t = S->s->pat.at[S->which[0]]->type.elem;
    for (int a = 0; a < S->k; a++) {
        Atom s = rev_take(r, S->s->pat.at[S->which[a]]);
        ad_atom(cx, &arrs, ad_reversed(&r->bl, S->loc, s));
        ad_atom(cx, &nes, atom_zero(t));
    }
    for (int a = 0; a < js.n; a++) {
        ad_atom(cx, &arrs, ad_reversed(&r->bl, S->loc, js.at[a]));
        ad_atom(cx, &nes, atom_float(t, a % (S->k + 1) == 0));
    }
    Atoms all = scanned(&r->bl, S->loc, S->width, arrs, nes, linear_operator(S, t));
    for (int a = 0; a < S->k; a++)
        ad_atom(cx, &out, ad_reversed(&r->bl, S->loc, all.at[a]));
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
    Each m = each(r, S.loc, S.width, &arrs);
    Atom is_first = bld_binop(&m.in, S.loc, OP_EQ, m.i, atom_i64(0));
    Atom prev = bld_binop(&m.in, S.loc, OP_SUB, m.i, atom_i64(1));
    args = rows_or(&m.in, S.loc, is_first, &e->soac.nes, &ys, prev);
    vec_append(cx->perm, &args, &m.args);
    Lambda *d = rev_lambda(r, e->soac.op, seeded, wanted);
    Atoms out = each_done(r, S.loc, S.width, &m, bld_inline_lambda(&m.in, d, &args));
    add_wanted(r, e, wanted + S.n, &out);
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
    Atoms sums = scanned(&r->bl, e->loc, e->soac.width, arrs, nes, op);
    rev_add(r, e->loc, e->soac.arrs.at[0], ad_reversed(&r->bl, e->loc, sums.at[0]));
}
