/* Uses and definitions of arrays, found in one walk over an entry. */
#include "ir/passes/uses.h"

static void use_atom(void *env, Atom a)
{
    Uses *us = env;
    if (a.var && a.var->type.rank > 0)
        varmap_put(us->count, a.var, (void *)(uses_count(us, a.var) + 1));
}

static void use_lambda(void *env, Lambda *l);

static void use_body(void *env, Body *b)
{
    Uses *us = env;
    ExpVisitor v = {env, use_atom, NULL, use_body, use_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        exp_visit(s->exp, &v);
        for (int k = 0; k < s->pat.n; k++)
            varmap_put(us->defs, s->pat.at[k], s->exp);
    }
    for (int i = 0; i < b->res.n; i++)
        use_atom(env, b->res.at[i]);
}

static void use_lambda(void *env, Lambda *l)
{
    use_body(env, l->body);
}

Uses *uses_entry(Ctx *cx, const Entry *en)
{
    Uses *us = NEW(cx->perm, Uses);
    us->count = varmap_new(cx->perm);
    us->defs = varmap_new(cx->perm);
    us->unstable = alias_consumed(cx, en);
    use_body(us, en->body);
    return us;
}

uintptr_t uses_count(const Uses *us, const Var *v)
{
    return (uintptr_t)varmap_get(us->count, v);
}

const Exp *uses_def(const Uses *us, Atom a)
{
    return a.var ? varmap_get(us->defs, a.var) : NULL;
}

bool uses_stable(const Uses *us, Atom a)
{
    return !a.var || a.var->type.rank == 0 || !varset_has(us->unstable, a.var);
}

bool uses_all_stable(const Uses *us, Arena *scratch, const VarSet *vars)
{
    Vars vs = varset_list(scratch, vars);
    for (int k = 0; k < vs.n; k++)
        if (!uses_stable(us, atom_var(vs.at[k])))
            return false;
    return true;
}

static bool counts_up(const Exp *e)
{
    return e && e->kind == E_IOTA && atom_is_int(e->iota.start, 0) &&
           atom_is_int(e->iota.stride, 1) && atom_type(e->iota.start).elem == T_I64;
}

Atom uses_index_input(const Uses *us, Bld *out, const Exp *e, Atoms *arrs, Vars *params)
{
    for (int k = 0; k < arrs->n; k++)
        if (counts_up(uses_def(us, arrs->at[k])))
            return atom_var(params->at[k]);
    Exp *iota = exp_new(out->cx, E_IOTA, e->loc);
    iota->iota.n = e->soac.width;
    iota->iota.start = atom_i64(0);
    iota->iota.stride = atom_i64(1);
    vec_push(out->cx->perm, arrs, bld_exp(out, "is", iota));
    vec_push(out->cx->perm, params, var_new(out->cx, "i", type_prim(T_I64), e->loc));
    return atom_var(vec_last(params));
}
