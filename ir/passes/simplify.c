/* The simplifier: local rules to a fixpoint, in both dialects.
 *
 * A round rebuilds the program front to back. Operands are replaced by what they stand for (copy
 * propagation); then the rules for the form are tried until none applies. There is one function a
 * rule: scalars in simplify_scalar.c (folding, identities, comparisons that ranges.c decides),
 * arrays in simplify_array.c (views of views, elements of known arrays, bounds checks), statements
 * with bodies in simplify_control.c. dce.c then removes what became unused, copies.c needless
 * copies.
 *
 * Before: a well-formed program. After: the same, and the interpreter's results are the same bit
 * for bit. Run-time errors keep their meaning as far as results depend on them: a failing statement
 * that nobody needs may go (assertions stay). */
#include "ir/passes/simplify.h"

#include <string.h>

enum { MAX_ROUNDS = 12, MAX_RULES = 50 };

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

/* What the truth of cond says of conditions it was made of. */
static void assume_parts(Simp *S, Atom cond, bool truth)
{
    if (!cond.var)
        return;
    const Exp *d = simp_def(S, cond);
    replace_here(S, cond.var, atom_bool(truth));
    if (!d || d->kind != E_PRIM)
        return;
    PrimOp op = d->prim.op;
    if (op == OP_NOT) {
        assume_parts(S, d->prim.args.at[0], !truth);
    } else if ((op == OP_LAND && truth) || (op == OP_LOR && !truth)) {
        assume_parts(S, d->prim.args.at[0], truth);
        assume_parts(S, d->prim.args.at[1], truth);
    }
}

void simp_assume(Simp *S, Atom cond, bool truth)
{
    ranges_cond(S->ra, cond, truth);
    assume_parts(S, cond, truth);
}

/* --- Statements and bodies ------------------------------------------------------------------ */

void simp_emit(Simp *S, Vars pat, Exp *e)
{
    Stm s = {simp_binders(S, &pat), e};
    ranges_bind(S->ra, &s.pat, e);
    bld_stm(S->bl, s);
}

static Exp *try_rules(Simp *S, const Exp *e, const RuleRow *rows)
{
    for (const RuleRow *row = rows; row->rule; row++) {
        Exp *r = row->kind == e->kind ? row->rule(S, e) : NULL;
        if (r) {
            r->attrs = e->attrs;
            S->changed = true;
            return r;
        }
    }
    return NULL;
}

static Atom map_atom(void *env, Atom a)
{
    return simp_atom(env, a);
}

/* A statement without bodies. */
static void simp_simple(Simp *S, const Stm *s)
{
    ExpMapper m = {.env = S, .atom = map_atom};
    Exp *e = exp_map_parts(S->cx, s->exp, &m);
    for (int i = 0; i < MAX_RULES; i++) {
        Exp *r = try_rules(S, e, scalar_rules);
        if (!r)
            r = try_rules(S, e, array_rules);
        if (!r)
            break;
        e = r;
    }
    if (e->kind == E_ATOM) {
        S->changed = true;
        simp_replace(S, s->pat.at[0], e->atom);
        return;
    }
    if (e->kind == E_ASSERT && atom_eq(e->assertion.cond, atom_bool(true))) {
        S->changed = true;
        return;
    }
    simp_emit(S, s->pat, e);
    if (e->kind == E_ASSERT)
        assume_parts(S, e->assertion.cond, true);
}

static void simp_stm(Simp *S, const Stm *s)
{
    if (!exp_is(s->exp, F_CODE)) {
        simp_simple(S, s);
        return;
    }
    switch (exp_member(s->exp)) {
    case M_branch: simp_if(S, s); return;
    case M_loop: simp_loop(S, s); return;
    case M_soac: simp_soac(S, s); return;
    case M_seg: simp_seg(S, s); return;
    default: ice(s->exp->loc, "no form");
    }
}

Atoms simp_splice(Simp *S, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        simp_stm(S, &b->stms.at[i]);
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

/* --- The pass ------------------------------------------------------------------------------- */

static Entry simp_entry(Ctx *cx, const Prog *p, const Entry *en, bool *changed)
{
    Simp S = {.cx = cx, .dialect = p->dialect};
    S.repl = varmap_new(cx->perm);
    S.defs = varmap_new(cx->perm);
    S.ra = ranges_new(cx, S.defs);
    S.unstable = alias_consumed(cx, en);
    Entry r = *en;
    for (int i = 0; i < en->params.n; i++)
        ranges_given(S.ra, en->params.at[i]->type);
    r.body = simp_body(&S, en->body);
    *changed = *changed || S.changed;
    return r;
}

static Prog *simp_round(Ctx *cx, const Prog *in, bool *changed)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = simp_entry(cx, in, &in->entries.at[i], changed);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}

Prog *pass_simplify(Ctx *cx, const Prog *in)
{
    bool changed = true;
    const Prog *p = in;
    for (int i = 0; i < MAX_ROUNDS && changed; i++) {
        changed = false;
        p = simp_round(cx, p, &changed);
        p = dce_prog(cx, p, &changed);
        p = copies_prog(cx, p, &changed);
    }
    return (Prog *)(uintptr_t)p;
}
