/* Statements that may go wrong: elements and parts of arrays by index, assertions, operations that
 * trap. What fails is recorded with its place; a thread leaves its work, a group goes on with what
 * does no harm. */
#include "kernels/kernel.h"

/* --- Failures ------------------------------------------------------------------------------ */

/* Records a failure at `site` unless cond holds. A thread then leaves its work; a group, whose
 * threads all see the same, goes on, and the condition's value is returned, as it is if it is known
 * to fail: what follows is code all the same. */
static const KExp *check(KGen *kg, const KExp *cond, int site, const KExps *args)
{
    KBuild *b = kg->kb;
    bool fails = cond->kind == KE_CONST && !cond->c.i;
    const KExp *ok = fails ? cond : NULL;
    if (kg->coop)
        ok = cond = kb_let(b, "ok", cond);
    kb_if(b, kx_not(kg->cx->perm, cond));
    KStm *f = kb_stm(b, (KStm){.kind = KST_FAIL, .site = site});
    f->args = *args;
    kg->may_fail = true;
    if (!kg->coop)
        kb_leave(b, kg->work);
    kb_end(b);
    return ok;
}

void kg_assert(KGen *kg, const Stm *s)
{
    KExps args;
    Scalars sc = kg_scalars(kg);
    int site = assert_site(&sc, kg->pb->plan, s->exp, &args);
    check(kg, kg_atom(kg, s->exp->assertion.cond), site, &args);
}

void kg_prim_checks(KGen *kg, const Exp *e)
{
    const char *msg;
    Scalars sc = kg_scalars(kg);
    const KExp *cond = kg_divides_safely(kg, e) ? NULL : scalar_check(&sc, e, &msg);
    if (cond)
        check(kg, cond, plan_site(kg->pb->plan, e->loc, msg), &(KExps){0});
}

/* The check of an INDEX or UPDATE; NULL, or in group mode the condition. */
static const KExp *check_index(KGen *kg, const Exp *e)
{
    kg->guard = true;
    Scalars sc = kg_scalars(kg);
    const KExp *cond = index_check(&sc, e);
    if (!cond)
        return NULL;
    KExps args;
    int site = index_site(&sc, kg->pb->plan, e, &args);
    return check(kg, cond, site, &args);
}

/* --- Index and update ---------------------------------------------------------------------- */

/* x if ok, else 0. */
static const KExp *if_ok(KGen *kg, const char *base, const KExp *ok, const KExp *x)
{
    const KExp *r = kx_select(kg->cx->perm, ok, kg_at(kg, x), kg_int(kg, 0));
    return kg_sx_of(kg, kb_let(kg->kb, base, r));
}

/* A view whose check failed becomes one that always shows the block's first element. */
static Lmad harmless(KGen *kg, Lmad l, int rank, const KExp *ok)
{
    const KExp **strides = NEWN(kg->cx->perm, const KExp *, rank);
    Lmad r = {if_ok(kg, "off", ok, l.offset), strides};
    for (int k = 0; k < rank; k++)
        strides[k] = if_ok(kg, "stride", ok, l.strides[k]);
    return r;
}

/* v := the element at l if ok, else 0. */
static void load_if(KGen *kg, const Var *v, const KLoc *l, const KExp *ok)
{
    kg_var(kg, v, kg_zero(kg, v->type.elem));
    kb_if(kg->kb, ok);
    kg_set(kg, v, loc_load(kg, v->base, l, NULL, 0));
    kb_end(kg->kb);
}

void kg_index(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const KExp *ok = check_index(kg, e);
    KLoc r = *kg_arr(kg, e->index.arr.var);
    r.at = lmad_index(kg->cx, r.at, &e->index.at);
    if (v->type.rank == 0) {
        if (ok)
            load_if(kg, v, &r, ok);
        else
            kg_load(kg, v, &r, NULL, 0);
        kg_touch(kg);
        return;
    }
    if (ok)
        r.at = harmless(kg, r.at, v->type.rank, ok);
    kg_bind_arr(kg, v, r);
}

/* The memory that an update of arr may write: arr's own if it is this thread's, else a copy. */
static KLoc writable(KGen *kg, const Var *v, Atom arr)
{
    KLoc *l = kg_arr(kg, arr.var);
    if (kg_in_place(kg, v, l))
        return *l;
    KLoc copy = kg_alloc(kg, v, v->type);
    kg_copy(kg, &copy, l, v->type);
    return copy;
}

void kg_update(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    Var *v = s->pat.at[0];
    const KExp *ok = check_index(kg, e);
    KLoc dst = writable(kg, v, e->update.arr);
    kg_bind_arr(kg, v, dst);
    KLoc part = dst;
    part.at = lmad_index(kg->cx, dst.at, &e->update.at);
    if (ok) {
        kg_sync(kg); /* all barriers outside the branch, or all threads inside it: ok is uniform */
        kb_if(kg->kb, ok);
    }
    kg_store(kg, &part, atom_type(e->update.val), e->update.val);
    if (ok)
        kb_end(kg->kb);
}
