/* Bodies that do nothing but reduce: a reduction beside scalar code, perhaps in a loop that
 * combines what it gives by its own operator, so that the whole is one reduction over the elements
 * of all turns:
 *
 *     loop acc for k < n { .. part := redomap op ne f ys; in op acc part }
 *
 * Whoever gives op to a reduction says that it is associative, so acc may be kept in several parts,
 * and the parts be combined behind the loop, where op is commutative, too. */
#include "ir/ir.h"

static bool is_scalars(const Body *b);

/* Scalar code and views? */
static bool is_scalar_code(const Stm *s)
{
    const Exp *e = s->exp;
    if (exp_is(e, F_SCALAR) || e->kind == E_INDEX || e->kind == E_REARRANGE || e->kind == E_ASSERT)
        return true;
    if (!types_scalar(&s->pat, 0, s->pat.n))
        return false;
    if (e->kind == E_IF)
        return is_scalars(e->branch.then_) && is_scalars(e->branch.else_);
    if (e->kind == E_LOOP)
        return e->loop.kind == LOOP_FOR && is_scalars(e->loop.body);
    return e->kind == E_REDOMAP && s->pat.n == e->soac.nes.n && is_scalars(e->soac.op->body) &&
           is_scalars(e->soac.fn->body);
}

static bool is_scalars(const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        if (!is_scalar_code(&b->stms.at[i]))
            return false;
    return true;
}

/* The number of the only statement that is or holds a SOAC, the others being scalar code; -1: there
 * is no such. */
static int summing(const Body *b)
{
    int at = -1;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (exp_has_soac(s->exp)) {
            if (at >= 0 || !types_scalar(&s->pat, 0, s->pat.n))
                return -1;
            at = i;
        } else if (!is_scalar_code(s)) {
            return -1;
        }
    }
    return at;
}

static const Exp *defined_as(const Body *b, Atom a)
{
    for (int i = 0; i < b->stms.n; i++)
        for (int j = 0; j < b->stms.at[i].pat.n; j++)
            if (b->stms.at[i].pat.at[j] == a.var)
                return b->stms.at[i].exp;
    return NULL;
}

/* Is y, at the end of the loop's turn, what the operator makes as x, of the loop's value and what
 * the reduction gives? */
static bool combines(const Exp *loop, const Stm *red, Atom x, Atom y)
{
    const Lambda *op = red->exp->soac.op;
    int n = red->pat.n;
    for (int j = 0; j < n && x.var; j++) {
        if (x.var == op->params.at[j])
            return y.var == loop->loop.params.at[j];
        if (x.var == op->params.at[n + j])
            return y.var == red->pat.at[j];
    }
    const Exp *e = x.var ? defined_as(op->body, x) : NULL;
    const Exp *f = y.var ? defined_as(loop->loop.body, y) : NULL;
    if (!e)
        return atom_eq(x, y);
    if (!f || e->kind != E_PRIM || f->kind != E_PRIM || e->prim.op != f->prim.op ||
        e->prim.type != f->prim.type || e->prim.args.n != f->prim.args.n)
        return false;
    for (int k = 0; k < e->prim.args.n; k++)
        if (!combines(loop, red, e->prim.args.at[k], f->prim.args.at[k]))
            return false;
    return true;
}

/* Does the loop nothing with its values but to combine them with the reduction's, statement `at` of
 * its body? */
static bool only_combines(Ctx *cx, const Exp *loop, int at)
{
    const Body *b = loop->loop.body;
    const Stm *red = &b->stms.at[at];
    if (!red->exp->soac.comm || loop->loop.params.n != red->pat.n)
        return false;
    VarSet *accs = varmap_new(cx->perm);
    for (int j = 0; j < red->pat.n; j++) {
        if (!combines(loop, red, red->exp->soac.op->body->res.at[j], b->res.at[j]))
            return false;
        varset_add(accs, loop->loop.params.at[j]);
    }
    for (int i = 0; i < b->stms.n; i++)
        if (i <= at ? exp_uses_any(b->stms.at[i].exp, accs) : exp_traps(b->stms.at[i].exp))
            return false;
    return true;
}

static bool is_sum(const Stm *s)
{
    return s->exp->kind == E_REDOMAP && is_scalar_code(s) && !exp_traps(s->exp);
}

bool body_sums(Ctx *cx, const Body *b, Summing *s)
{
    *s = (Summing){.at = summing(b)};
    if (s->at < 0)
        return false;
    const Stm *stm = &b->stms.at[s->at];
    s->red = stm;
    if (stm->exp->kind == E_LOOP && stm->exp->loop.kind == LOOP_FOR) {
        s->loop = stm->exp;
        s->in_loop = summing(stm->exp->loop.body);
        if (s->in_loop < 0)
            return false;
        s->red = &stm->exp->loop.body->stms.at[s->in_loop];
    }
    return is_sum(s->red) && (!s->loop || only_combines(cx, s->loop, s->in_loop));
}
