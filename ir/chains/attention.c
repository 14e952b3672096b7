/* Attention known again: the chain of constructs of one row that can be done in one pass over keys.
 *
 *     m, s = redomap max nes -inf (\k_j .. -> let t = f (q . k_j) in (t, t)) ks ..
 *     z, e = redomap + nes 0 (\s_j -> let t = exp (s_j - m) in (t, t)) s
 *     p    = map (\e_j -> e_j / z) e                              (perhaps)
 *     out  = map (\v_c -> g (redomap + nes 0 (*) (f16 p) v_c)) vs
 *
 * The rule: m is the maximum of the same s that exp is taken of, and all that is made of e is
 * linear in it: z, and the sums over keys. As exp (s - m') = exp (s - m) * exp (m - m'), these can
 * be had for the keys up to any one, with the maximum m of those, and be made those of a larger
 * maximum m' by a product. So neither s nor e need be kept. A division by z, which is the same for
 * all keys, may then stand behind the sum. What rounding to f16 does to p is as much as before:
 * numbers from 0 to 1 are rounded, of which those near 0 count little in the sum (the online
 * softmax of Milakov and Gimelshein, arXiv:1805.02867; in attention: Dao et al., arXiv:2205.14135).
 *
 * Not where p is not rounded to f16: matrix units take nothing else.
 *
 * SOAC or SEG dialect; nothing is changed. Functions may compute more of e than is needed: where a
 * value comes from is found through functions and their arrays (origin). */
#include "ir/chains/attention.h"

#include <math.h>

/* --- Where values come from ----------------------------------------------------------------- */

/* A scalar in the function of `in`, a SOAC. */
typedef struct {
    const Exp *in;
    const Var *v;
} Element;

static const Stm *binder(const Body *b, const Var *v)
{
    for (int i = 0; i < b->stms.n; i++)
        if (vars_find(&b->stms.at[i].pat, v) >= 0)
            return &b->stms.at[i];
    return NULL;
}

/* The array of which v is an element in the function of e; NULL: it is none. */
static const Var *array_of(const Exp *e, const Var *v)
{
    int k = vars_find(&e->soac.fn->params, v);
    return k < 0 ? NULL : e->soac.arrs.at[k].var;
}

/* Goes back from an element of an array that the row's body makes to what is computed for it: the
 * expression; NULL: it comes from elsewhere. */
static const Exp *origin(const Attention *a, Element *p)
{
    while (p->v) {
        const Stm *s = binder(p->in->soac.fn->body, p->v);
        if (s)
            return s->exp;
        const Var *arr = array_of(p->in, p->v);
        const Stm *maker = arr ? binder(a->body, arr) : NULL;
        if (!maker || (maker->exp->kind != E_MAP && maker->exp->kind != E_REDOMAP))
            return NULL;
        int j = vars_find(&maker->pat, arr);
        *p = (Element){maker->exp, maker->exp->soac.fn->body->res.at[j].var};
    }
    return NULL;
}

/* The expression, if it is a conversion between these, whose operand p becomes. */
static bool is_conv(const Attention *a, Element *p, PrimType from, PrimType to)
{
    Element at = *p;
    const Exp *e = origin(a, &at);
    if (!e || e->kind != E_CONV || e->conv.from != from || e->conv.to != to)
        return false;
    *p = (Element){at.in, e->conv.arg.var};
    return true;
}

/* ... an operation, whose first operand p becomes; *second: the other one. */
static bool is_prim(const Attention *a, Element *p, PrimOp op, const Var **second)
{
    Element at = *p;
    const Exp *e = origin(a, &at);
    if (!e || e->kind != E_PRIM || e->prim.op != op || e->prim.type != T_F32)
        return false;
    *p = (Element){at.in, e->prim.args.at[0].var};
    if (second)
        *second = e->prim.args.at[1].var;
    return true;
}

/* --- Reductions ----------------------------------------------------------------------------- */

static bool is_fold(const Exp *e, PrimOp op, double neutral)
{
    if (e->kind != E_REDOMAP || e->soac.nes.n != 1)
        return false;
    const Exp *of = lambda_op(e->soac.op);
    return of && of->prim.op == op && of->prim.type == T_F32 &&
           atom_eq(e->soac.nes.at[0], atom_float(T_F32, neutral));
}

/* redomap + (\x y -> f32.f16 x * f32.f16 y) xs ys, of two arrays of f16? */
static bool is_dot(const Exp *e)
{
    if (!is_fold(e, OP_ADD, 0) || e->soac.arrs.n != 2)
        return false;
    const Body *f = e->soac.fn->body;
    const Var *x[2] = {e->soac.fn->params.at[0], e->soac.fn->params.at[1]};
    const Stm *mul = binder(f, f->res.at[0].var);
    if (!mul || f->res.n != 1 || mul->exp->kind != E_PRIM || mul->exp->prim.op != OP_MUL)
        return false;
    bool seen[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        const Var *y = mul->exp->prim.args.at[i].var;
        const Stm *conv = y ? binder(f, y) : NULL;
        for (int k = 0; k < 2; k++)
            seen[k] |= conv && conv->exp->kind == E_CONV && conv->exp->conv.arg.var == x[k] &&
                       x[k]->type.elem == T_F16 && x[k]->type.rank == 0;
    }
    return seen[0] && seen[1];
}

/* --- Scores --------------------------------------------------------------------------------- */

/* The only SOAC of a body, or of one of its branches; NULL: there are others. */
static const Stm *only_soac(const Body *b)
{
    const Stm *found = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i], *in = NULL;
        if (!exp_has_soac(s->exp))
            continue;
        if (found)
            return NULL;
        if (s->exp->kind == E_IF) {
            const Body *side[2] = {s->exp->branch.then_, s->exp->branch.else_};
            bool other = body_has_soac(side[1]);
            if (other && body_has_soac(side[0]))
                return NULL;
            in = only_soac(side[other]);
        } else if (exp_is_soac(s->exp)) {
            in = s;
        }
        if (!in)
            return NULL;
        found = in;
    }
    return found;
}

/* Takes the statement for the scores, if it is these. */
static bool is_scores(Attention *a, const Stm *s)
{
    const Exp *e = s->exp;
    if (!is_fold(e, OP_MAX, -INFINITY) || s->pat.n != 2)
        return false;
    const Body *f = e->soac.fn->body;
    if (!f->res.at[0].var || f->res.at[0].var != f->res.at[1].var)
        return false;
    a->dot = only_soac(f);
    if (!a->dot || !is_dot(a->dot->exp))
        return false;
    const Atoms *xs = &a->dot->exp->soac.arrs;
    for (int i = 0; i < 2; i++) {
        a->key = vars_find(&e->soac.fn->params, xs->at[i].var);
        a->q = xs->at[1 - i];
        if (a->key >= 0 && vars_find(&e->soac.fn->params, a->q.var) < 0 && !binder(f, a->q.var)) {
            a->scores = s;
            return true;
        }
    }
    return false;
}

/* Is the element exp (s_j - m)? */
static bool is_exp(const Attention *a, Element p)
{
    const Var *m = NULL;
    if (!is_prim(a, &p, OP_EXP, NULL) || !is_prim(a, &p, OP_SUB, &m) || m != a->scores->pat.at[0])
        return false;
    const Var *score = a->scores->exp->soac.fn->body->res.at[0].var;
    origin(a, &p);
    return p.in == a->scores->exp && p.v == score;
}

static bool is_exp_sum(const Attention *a, const Stm *s)
{
    const Exp *e = s->exp;
    return is_fold(e, OP_ADD, 0) && is_exp(a, (Element){e, e->soac.fn->body->res.at[0].var});
}

/* --- The product ---------------------------------------------------------------------------- */

/* Is the element p_j, in f32? */
static bool is_weight(Attention *a, Element p)
{
    const Var *z = NULL;
    if (!is_conv(a, &p, T_F16, T_F32) || !is_conv(a, &p, T_F32, T_F16))
        return false;
    a->divided = is_prim(a, &p, OP_DIV, &z);
    return (!a->divided || z == a->sum->pat.at[0]) && is_exp(a, p);
}

/* Is the element v_cj in f32, of a row of the product's map? */
static bool is_value(Attention *a, const Exp *map, Element p)
{
    const Stm *conv = p.v ? binder(p.in->soac.fn->body, p.v) : NULL;
    if (!conv || conv->exp->kind != E_CONV || conv->exp->conv.from != T_F16 ||
        conv->exp->conv.to != T_F32)
        return false;
    const Var *row = array_of(p.in, conv->exp->conv.arg.var);
    a->value = row ? vars_find(&map->soac.fn->params, row) : -1;
    return a->value >= 0;
}

static bool is_product(Attention *a, const Stm *s)
{
    const Exp *map = s->exp;
    const Stm *w = map->kind == E_MAP ? only_soac(map->soac.fn->body) : NULL;
    if (!w || w != binder(map->soac.fn->body, w->pat.at[0]) || !is_fold(w->exp, OP_ADD, 0) ||
        w->exp->soac.fn->body->res.n != 1 || s->pat.n != 1 || s->pat.at[0]->type.rank != 1)
        return false;
    const Body *f = w->exp->soac.fn->body;
    const Stm *mul = f->res.at[0].var ? binder(f, f->res.at[0].var) : NULL;
    if (!mul || mul->exp->kind != E_PRIM || mul->exp->prim.op != OP_MUL ||
        mul->exp->prim.type != T_F32)
        return false;
    const Atoms *xs = &mul->exp->prim.args;
    for (int i = 0; i < 2; i++)
        if (is_value(a, map, (Element){w->exp, xs->at[i].var}) &&
            is_weight(a, (Element){w->exp, xs->at[1 - i].var})) {
            a->product = s;
            a->weighed = w;
            return true;
        }
    return false;
}

/* --- All of it ------------------------------------------------------------------------------ */

static bool is_plain(const Exp *e)
{
    return (exp_is(e, F_SCALAR) || e->kind == E_INDEX || e->kind == E_REARRANGE) && !exp_traps(e);
}

static bool is_in(const VarSet *set, Atom a)
{
    return a.var && varset_has(set, a.var);
}

/* Does nothing but the chain read arrays that statements of it make, and is v there before it? */
static bool is_closed(Ctx *cx, const Attention *a)
{
    VarSet *made = varmap_new(cx->perm), *behind = varmap_new(cx->perm);
    const Atoms *read = &a->product->exp->soac.arrs;
    bool chain = true;
    for (int i = 0; i < a->body->stms.n; i++) {
        const Stm *s = &a->body->stms.at[i];
        for (int k = 0; s >= a->scores && k < s->pat.n; k++)
            varset_add(behind, s->pat.at[k]);
        if (!exp_has_soac(s->exp)) {
            chain &= !exp_uses_any(s->exp, made);
            continue;
        }
        for (int k = 0; s != a->product && k < s->pat.n; k++)
            if (s->pat.at[k]->type.rank > 0)
                varset_add(made, s->pat.at[k]);
    }
    chain &= !is_in(behind, read->at[a->value]);
    for (int k = 0; k < read->n; k++)
        chain &= !is_in(made, read->at[k]);
    /* The function of the columns has them in the sum alone. */
    const Stms *g = &a->product->exp->soac.fn->body->stms;
    for (int i = 0; i < g->n; i++)
        chain &= &g->at[i] == a->weighed || !exp_uses_any(g->at[i].exp, made);
    return chain;
}

/* Is q known outside of the scores' function, and are the widths outside of the body and of what is
 * `bound` besides? */
static bool is_known(Ctx *cx, const Attention *a, VarSet *bound)
{
    VarSet *inside = varmap_new(cx->perm);
    bound_in_body(inside, a->scores->exp->soac.fn->body);
    bound_in_body(bound, a->body);
    return !is_in(inside, a->q) && !is_in(bound, a->dot->exp->soac.width) &&
           !is_in(bound, a->scores->exp->soac.width) && !is_in(bound, a->product->exp->soac.width);
}

bool attention_find(Ctx *cx, const Body *b, Attention *a)
{
    *a = (Attention){.body = b};
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (is_plain(s->exp))
            continue;
        if (a->product || !exp_is_soac(s->exp) || exp_traps(s->exp))
            return false;
        if (!a->scores && !is_scores(a, s))
            return false;
        if (a->scores == s)
            continue;
        if (!a->sum && is_exp_sum(a, s))
            a->sum = s;
        else if (a->sum ? !is_product(a, s) && s->exp->kind != E_MAP : true)
            return false;
    }
    return a->product && b->res.n == 1 && b->res.at[0].var == a->product->pat.at[0] &&
           is_closed(cx, a) && is_known(cx, a, varmap_new(cx->perm));
}

bool attention_of(Ctx *cx, const Exp *seg, Attention *a)
{
    if (seg->kind != E_SEGMAP || seg->seg.level != 1 || nest_is_ragged(&seg->seg.nest))
        return false;
    VarSet *bound = varmap_new(cx->perm);
    for (int d = 0; d < seg->seg.nest.n; d++) {
        const NestDim *nd = &seg->seg.nest.at[d];
        varset_add(bound, nd->idx);
        for (int k = 0; k < nd->xs.n; k++)
            varset_add(bound, nd->xs.at[k]);
    }
    return attention_find(cx, seg->seg.body, a) && is_known(cx, a, bound);
}

/* --- Scores without the product ------------------------------------------------------------- */

static Body *without(Ctx *cx, const Body *b, const Stm *dot)
{
    Body *r = NEW(cx->perm, Body);
    *r = (Body){.res = b->res};
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (&b->stms.at[i] == dot)
            continue;
        if (s.exp->kind == E_IF)
            s.exp =
                exp_if(cx, s.exp->loc, s.exp->branch.test, without(cx, s.exp->branch.then_, dot),
                       without(cx, s.exp->branch.else_, dot));
        vec_push(cx->perm, &r->stms, s);
    }
    return r;
}

const Body *attention_score(Ctx *cx, const Attention *a)
{
    return without(cx, a->scores->exp->soac.fn->body, a->dot);
}
