/* Halos: a map that reads an array of its own rows a few rows before and behind needs no more than
 * the edges of what the ranks beside it have.
 *
 *     map (\i -> f xs[i - 1] xs[i + 1]) (iota n)
 *       =>  let ys = 1 row, those of xs that are here, 1 row    -- GATHER of what lies beside
 *           in map (\i -> f ys[i - 1 - first + 1] ys[i + 1 - first + 1]) (first, first + 1, ..)
 *
 * Positions may be computed in any way: that they are near the element's number is proved
 * (ir/ranges.h), as that they are within the array has been. */
#include "level2/shares.h"

enum { MOST = 64 /* rows on either side */ };

typedef struct {
    Ranges *ra;
    const Var *x;
    Atom i;     /* the number of the element */
    int lo, hi; /* rows that are read before and behind */
    bool near;
} Look;

/* The least number of rows that b surely is at most behind a; MOST + 1: more than it is worth. */
static int behind(Ranges *ra, Atom a, Atom b)
{
    int c = 0;
    while (c <= MOST && !ranges_le(ra, b, a, -c))
        c++;
    return c;
}

static void look_body(Look *l, const Body *b);

static void look_atom(void *env, Atom a)
{
    Look *l = env;
    l->near = l->near && a.var != l->x;
}

static void look_lambda(Look *l, const Lambda *fn, const Atoms *arrs)
{
    if (!fn)
        return;
    int mark = ranges_mark(l->ra);
    if (arrs)
        ranges_rows(l->ra, &fn->params, arrs);
    look_body(l, fn->body);
    ranges_reset(l->ra, mark);
}

static void look_side(Look *l, const Exp *e, bool truth)
{
    int mark = ranges_mark(l->ra);
    ranges_cond(l->ra, e->branch.test, truth);
    look_body(l, truth ? e->branch.then_ : e->branch.else_);
    ranges_reset(l->ra, mark);
}

static void look_exp(Look *l, const Exp *e)
{
    if (e->kind == E_INDEX && e->index.arr.var == l->x) {
        const DimIndex *at = &e->index.at.at[0];
        l->near = l->near && e->index.safe && !at->is_slice;
        if (!l->near)
            return;
        int lo = behind(l->ra, at->start, l->i), hi = behind(l->ra, l->i, at->start);
        l->lo = lo > l->lo ? lo : l->lo;
        l->hi = hi > l->hi ? hi : l->hi;
        l->near = l->lo <= MOST && l->hi <= MOST;
        return;
    }
    exp_visit(e, &(ExpVisitor){.env = l, .atom = look_atom});
    if (exp_is_soac(e)) {
        look_lambda(l, e->soac.fn, &e->soac.arrs);
        look_lambda(l, e->soac.op, NULL);
    } else if (e->kind == E_LOOP) {
        int mark = ranges_mark(l->ra);
        ranges_loop(l->ra, e);
        look_body(l, e->loop.body);
        ranges_reset(l->ra, mark);
    } else if (e->kind == E_IF) {
        look_side(l, e, true);
        look_side(l, e, false);
    }
}

static void look_body(Look *l, const Body *b)
{
    for (int i = 0; i < b->stms.n && l->near; i++) {
        look_exp(l, b->stms.at[i].exp);
        ranges_bind(l->ra, &b->stms.at[i].pat, b->stms.at[i].exp);
    }
    for (int i = 0; i < b->res.n; i++)
        look_atom(l, b->res.at[i]);
}

/* --- Reading the halo ----------------------------------------------------------------------- */

typedef struct {
    Ctx *cx;
    const Var *x;
    Halo to;
} Move;

static Body *move_body(void *env, Body *b)
{
    Move *m = env;
    Bld bl = bld_new(m->cx);
    const ExpMapper inside = {.env = m, .body = move_body};
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        Exp *r = exp_map_parts(m->cx, s.exp, &inside);
        if (exp_is_soac(r)) {
            Lambda *fn = r->soac.fn, *op = r->soac.op;
            r->soac.fn = fn ? lambda_new(m->cx, fn->params, move_body(m, fn->body)) : NULL;
            r->soac.op = op ? lambda_new(m->cx, op->params, move_body(m, op->body)) : NULL;
        }
        if (r->kind == E_INDEX && r->index.arr.var == m->x) {
            DimIndexes at = {0};
            vec_append(m->cx->perm, &at, &r->index.at);
            Atom own = bld_binop(&bl, r->loc, OP_SUB, at.at[0].start, m->to.first);
            at.at[0].start = bld_binop(&bl, r->loc, OP_ADD, own, m->to.at);
            r->index.arr = m->to.rows;
            r->index.at = at;
        }
        s.exp = r;
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

/* The parameter that is the number of the element; not a variable: there is none. */
static Atom number_of(const Parts *P, const Exp *e)
{
    for (int k = 0; k < e->soac.arrs.n; k++) {
        const Exp *made = uses_def(P->us, e->soac.arrs.at[k]);
        if (made && made->kind == E_IOTA && atom_is_int(made->iota.start, 0) &&
            atom_is_int(made->iota.stride, 1) && atom_type(made->iota.start).elem == T_I64)
            return atom_var(e->soac.fn->params.at[k]);
    }
    return (Atom){0};
}

const Lambda *halo_read(Parts *P, const Exp *e, const Share *share)
{
    const Lambda *fn = e->soac.fn;
    Atom i = fn ? number_of(P, e) : (Atom){0};
    if (!i.var)
        return fn;
    Vars used = free_vars_lambda(P->cx, fn);
    for (int k = 0; k < used.n; k++) {
        const Part *p = parts_part(P, used.at[k]);
        if (!p || p->whole || p->share != share || share->kept_of)
            continue;
        Look l = {P->ra, used.at[k], i, 0, 0, true};
        look_lambda(&l, fn, &e->soac.arrs);
        if (!l.near)
            continue;
        Move m = {P->cx, used.at[k], parts_halo(P, used.at[k], l.lo, l.hi)};
        fn = lambda_new(P->cx, fn->params, move_body(&m, fn->body));
    }
    return fn;
}
