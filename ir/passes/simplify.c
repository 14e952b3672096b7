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

/* --- Statements and bodies ------------------------------------------------------------------ */

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
        simp_assume_parts(S, e->assertion.cond, true);
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
    case M_deriv: simp_deriv(S, s); return;
    default: ice(s->exp->loc, "no form");
    }
}

/* --- The pass ------------------------------------------------------------------------------- */

static Entry simp_entry(Ctx *cx, const Prog *p, const Entry *en, bool *changed)
{
    Simp S = {.cx = cx, .dialect = p->dialect, .stm = simp_stm};
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
