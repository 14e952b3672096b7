/* What the rules of simplification stand on: what variables stand for, what is known where, and the
 * body under construction. */
#include "ir/passes/simplify.h"

/* --- Replacement ---------------------------------------------------------------------------- */

Atom simp_atom(const Simp *S, Atom a)
{
    const Atom *to;
    while (a.var && (to = varmap_get(S->repl, a.var)))
        a = *to;
    return a;
}

static Atom simp_one_atom(const void *S, Atom a)
{
    return simp_atom(S, a);
}

Atoms simp_atoms(const Simp *S, const Atoms *as)
{
    return atoms_map(S->cx, as, simp_one_atom, S);
}

void simp_replace(Simp *S, const Var *v, Atom a)
{
    a = simp_atom(S, a);
    if (a.var == v)
        return;
    varmap_put(S->repl, v, arena_memdup(S->cx->perm, &a, sizeof a));
}

/* For the time of the scope. */
static void replace_here(Simp *S, const Var *v, Atom a)
{
    vec_push(S->cx->perm, &S->undo, ((Undo){v, varmap_get(S->repl, v)}));
    simp_replace(S, v, a);
}

const Exp *simp_def(const Simp *S, Atom a)
{
    const Def *d = a.var ? varmap_get(S->defs, a.var) : NULL;
    return d && d->k == 0 ? d->exp : NULL;
}

bool simp_stable(const Simp *S, Atom a)
{
    return !a.var || a.var->type.rank == 0 || !varset_has(S->unstable, a.var);
}

static Type simp_type(const Simp *S, Type t)
{
    Type r = {t.elem, t.rank, t.rank ? NEWN(S->cx->perm, Atom, t.rank) : NULL};
    for (int i = 0; i < t.rank; i++)
        r.dims[i] = simp_atom(S, t.dims[i]);
    return type_eq(t, r) ? t : r;
}

Vars simp_binders(Simp *S, const Vars *vs)
{
    Vars r = {0};
    int n_fresh = 0;
    for (int i = 0; i < vs->n; i++) {
        Var *v = vs->at[i], *w = v;
        if (!type_eq(v->type, simp_type(S, v->type))) {
            w = var_like(S->cx, v);
            if (varset_has(S->unstable, v))
                varset_add(S->unstable, w);
            simp_replace(S, v, atom_var(w));
            n_fresh++;
        }
        vec_push(S->cx->perm, &r, w);
    }
    /* Fresh variables only: the others' types are as they should be. A type may also mention a
     * variable of the list that was replaced by a fresh one. */
    for (int i = 0; n_fresh && i < r.n; i++)
        if (r.at[i] != vs->at[i])
            r.at[i]->type = simp_type(S, r.at[i]->type);
    return r;
}

Var *simp_binder(Simp *S, Var *v)
{
    Vars vs = {.at = &v, .n = 1};
    return simp_binders(S, &vs).at[0];
}

/* --- Scopes --------------------------------------------------------------------------------- */

Scope simp_enter(Simp *S)
{
    return (Scope){ranges_mark(S->ra), S->undo.n};
}

void simp_leave(Simp *S, Scope sc)
{
    ranges_reset(S->ra, sc.facts);
    while (S->undo.n > sc.undo) {
        Undo u = S->undo.at[--S->undo.n];
        if (u.before)
            varmap_put(S->repl, u.var, u.before);
        else
            varmap_del(S->repl, u.var);
    }
}

void simp_assume_parts(Simp *S, Atom cond, bool truth)
{
    if (!cond.var)
        return;
    const Exp *d = simp_def(S, cond);
    replace_here(S, cond.var, atom_bool(truth));
    if (!d || d->kind != E_PRIM)
        return;
    PrimOp op = d->prim.op;
    if (op == OP_NOT) {
        simp_assume_parts(S, d->prim.args.at[0], !truth);
    } else if ((op == OP_LAND && truth) || (op == OP_LOR && !truth)) {
        simp_assume_parts(S, d->prim.args.at[0], truth);
        simp_assume_parts(S, d->prim.args.at[1], truth);
    }
}

void simp_assume(Simp *S, Atom cond, bool truth)
{
    ranges_cond(S->ra, cond, truth);
    simp_assume_parts(S, cond, truth);
}

/* --- Statements and bodies ------------------------------------------------------------------ */

void simp_emit(Simp *S, Vars pat, Exp *e)
{
    Stm s = {simp_binders(S, &pat), e};
    ranges_bind(S->ra, &s.pat, e);
    bld_stm(S->bl, s);
}

Atoms simp_splice(Simp *S, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        S->stm(S, &b->stms.at[i]);
    return simp_atoms(S, &b->res);
}

Body *simp_body(Simp *S, const Body *b)
{
    Bld inner = bld_new(S->cx), *outer = S->bl;
    S->bl = &inner;
    Atoms res = simp_splice(S, b);
    S->bl = outer;
    return bld_body(&inner, res);
}
