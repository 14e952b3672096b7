/* Patterns: what they bind, and when they match. */
#include "frontend/lower/lower_int.h"

Env *bind_pat(Low *L, Env *env, const Pat *p, Val *v)
{
    switch (p->kind) {
    case P_VAR:
        name_val(L, v, p->name);
        env = bind_sizes(L, env, p->type, v);
        return env_add(L, env, p->bind, v);
    case P_WILD: return bind_sizes(L, env, p->type, v);
    case P_TUPLE:
        if (p->elems.n == 1 && v->kind != V_TUPLE)
            return bind_pat(L, env, p->elems.at[0], v);
        for (int i = 0; i < p->elems.n; i++)
            env = bind_pat(L, env, p->elems.at[i], v->elems.at[i]);
        return env;
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++)
            env =
                bind_pat(L, env, p->elems.at[i], lower_project(p->type, v, p->names.at[i], p->loc));
        return env;
    case P_ASCRIBE:
        v = match_type(L, &env, p->type, v, low_loc(L, p->loc));
        return bind_pat(L, env, p->pat, v);
    case P_LIT: return env;
    case P_CONSTR:
        v = sum_holds(L, v, type_part(type_deref(p->type), p->name));
        for (int i = 0; i < p->elems.n; i++)
            env = bind_pat(L, env, p->elems.at[i], v->elems.at[i]);
        return env;
    }
    ice(p->loc, "no pattern");
}

static Atom all_match(Low *L, const Pats *ps, const Val *v)
{
    Atom all = atom_bool(true);
    for (int i = 0; i < ps->n; i++)
        all = emit_both(L, ps->at[i]->loc, all, pat_matches(L, ps->at[i], v->elems.at[i]));
    return all;
}

/* Only looks at numbers: those of another constructor are there too, and do no harm. */
Atom pat_matches(Low *L, const Pat *p, const Val *v)
{
    Loc loc = low_loc(L, p->loc);
    Atom ok = atom_bool(true);
    switch (p->kind) {
    case P_VAR:
    case P_WILD: return ok;
    case P_ASCRIBE: return pat_matches(L, p->pat, v);
    case P_TUPLE: return p->elems.n ? all_match(L, &p->elems, v) : ok;
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++)
            ok = emit_both(
                L, loc, ok,
                pat_matches(L, p->elems.at[i], lower_project(p->type, v, p->names.at[i], p->loc)));
        return ok;
    case P_LIT: return emit_op(L, loc, OP_EQ, v->atom, val_scalar(lower_exp(L, NULL, p->lit), loc));
    case P_CONSTR: {
        const AType *at = type_deref(p->type);
        int k = type_part(at, p->name);
        if (at->elems.n > 1)
            ok = emit_op(L, loc, OP_EQ, v->elems.at[0]->atom, atom_int(sum_tag(at), k));
        return emit_both(L, loc, ok, all_match(L, &p->elems, sum_holds(L, v, k)));
    }
    }
    ice(p->loc, "no pattern");
}
