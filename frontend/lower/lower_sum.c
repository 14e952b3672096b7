/* Lowering of sums: constructors and match. What a sum is says lower_layout.c. */
#include "frontend/lower/lower_int.h"

/* --- Constructors --------------------------------------------------------------------------- */

Val *lower_constr(Low *L, Env *env, const AExp *e)
{
    const AType *at = type_deref(e->type);
    int chosen = type_part(at, e->constr.name);
    Vals args = {0}, holds = {0};
    for (int i = 0; i < e->constr.elems.n; i++) {
        Val *v = lower_exp(L, env, e->constr.elems.at[i]);
        vec_push(L->cx->perm, &args, v);
    }
    Val *own = val_tuple(L, args);
    const AType *beside = at->elems.at[chosen];
    Loc loc = low_loc(L, e->loc);
    for (int k = 0; k < at->elems.n; k++) {
        Val *v = k == chosen ? own : blank_holds(L, env, at->elems.at[k], beside, own, loc);
        vec_push(L->cx->perm, &holds, v);
    }
    return val_sum(L, &holds, chosen, atom_int(sum_tag(at), chosen), 0);
}

/* --- match ---------------------------------------------------------------------------------- */

/* Cases that may be the one: all but the last have a test that only the run decides. */
typedef struct {
    Low *L;
    Env *env;
    const AExp *e;
    Val *what;
    VEC(const Case *) cases;
    Atoms tests;
} Match;

static Val *lower_case(const Match *m, int i)
{
    const Case *c = m->cases.at[i];
    return lower_exp(m->L, bind_pat(m->L, m->env, c->pat, m->what), c->body);
}

/* One of the cases first to last: if `first` is the case, or, when they are many, by the number of
 * the one that is (`at`), so that a thousand of them do not nest a thousand deep. */
static Val *lower_cases(const Match *m, int first, int last, const Atom *at)
{
    Low *L = m->L;
    if (first == last)
        return lower_case(m, first);
    Loc loc = low_loc(L, m->e->loc);
    int mid = at ? (first + last) / 2 : first;
    Atom test = at ? emit_op(L, loc, OP_LE, *at, atom_int(T_I32, mid)) : m->tests.at[first];
    Scope *s1 = scope_push(L);
    Val *v1 = lower_cases(m, first, mid, at);
    scope_pop(L, s1);
    Scope *s2 = scope_push(L);
    Val *v2 = lower_cases(m, mid + 1, last, at);
    scope_pop(L, s2);
    return join_branches(L, loc, test, s1, v1, s2, v2, m->e->type, m->env);
}

Val *lower_match(Low *L, Env *env, const AExp *e)
{
    enum { MANY = 8 };
    Match m = {.L = L, .env = env, .e = e, .what = lower_exp(L, env, e->match.e)};
    for (int i = 0; i < e->match.cases.n; i++) {
        const Case *c = &e->match.cases.at[i];
        bool last = i == e->match.cases.n - 1; /* they cover all values */
        Atom test = last ? atom_bool(true) : pat_matches(L, c->pat, m.what);
        if (!test.var && !test.c.i)
            continue;
        vec_push(L->cx->perm, &m.cases, c);
        vec_push(L->cx->perm, &m.tests, test);
        if (!test.var)
            break;
    }
    if (m.cases.n > 1)
        preload_sizes(L, env, e->type, NULL);
    int last = m.cases.n - 1;
    if (m.cases.n <= MANY)
        return lower_cases(&m, 0, last, NULL);
    Atom at = atom_int(T_I32, last);
    for (int i = last - 1; i >= 0; i--)
        at = emit_choice(L, low_loc(L, m.cases.at[i]->loc), m.tests.at[i], atom_int(T_I32, i), at);
    return lower_cases(&m, 0, last, &at);
}
