/* Copies: removal of those that nobody can notice, and those that are needed (at the end).
 *
 * A copy lets its result be consumed without harm to the original, and the other way round. It is
 * not needed where
 *   - the original is the body's own fresh array that nothing else uses afterwards: the result
 *     takes its place (Takeover), or
 *   - neither of the two is consumed afterwards and the result does not leave the body (ReadOnly;
 *     in the SOAC dialect only: after flattening a copy may be there for its layout). */
#include "ir/passes/simplify.h"

typedef struct {
    Ctx *cx;
    bool seg;
    Alias *al; /* of the whole entry */
    bool changed;
} Copies;

static Body *copies_body(Copies *C, const Body *b);

/* Is a a fresh array (no view of one) that a statement of b before `before` made? */
static bool own_fresh(Copies *C, const Body *b, int before, Atom a)
{
    if (!alias_is_root(C->al, a.var))
        return false;
    for (int i = 0; i < before; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            if (b->stms.at[i].pat.at[k] == a.var)
                return true;
    return false;
}

/* Is something that may share memory with a used by the statements from `from` on or the result? */
static bool used_later(Copies *C, const Body *b, int from, Atom a)
{
    VarSet *free = varmap_new(C->cx->scratch);
    for (int i = from; i < b->stms.n; i++)
        free_in_stm(free, &b->stms.at[i]);
    for (int k = 0; k < b->res.n; k++)
        if (b->res.at[k].var)
            varset_add(free, b->res.at[k].var);
    Vars roots = alias_roots(C->al, a);
    for (int i = 0; i < b->stms.n && i < from; i++)
        for (int k = 0; k < b->stms.at[i].pat.n; k++) {
            Atom x = atom_var(b->stms.at[i].pat.at[k]);
            if (varset_has(free, x.var) && alias_overlap(C->al, x, a))
                return true;
        }
    for (int r = 0; r < roots.n; r++)
        if (varset_has(free, roots.at[r]))
            return true;
    return false;
}

static bool takeover(Copies *C, const Body *b, int at)
{
    Atom a = b->stms.at[at].exp->copy.arr;
    return a.var && own_fresh(C, b, at, a) && !used_later(C, b, at + 1, a);
}

/* The roots of what b returns. */
static VarSet *returned_roots(Copies *C, const Body *b)
{
    VarSet *set = varmap_new(C->cx->perm);
    for (int k = 0; k < b->res.n; k++) {
        const Vars rs = alias_roots(C->al, b->res.at[k]);
        for (int i = 0; i < rs.n; i++)
            varset_add(set, rs.at[i]);
    }
    return set;
}

/* `*returned` is made when it is first needed. */
static bool read_only(Copies *C, const Body *b, int at, VarSet **returned)
{
    Atom a = b->stms.at[at].exp->copy.arr, c = atom_var(b->stms.at[at].pat.at[0]);
    if (C->seg || !a.var || alias_ever_consumed(C->al, a) || alias_ever_consumed(C->al, c))
        return false;
    if (!*returned)
        *returned = returned_roots(C, b);
    const Vars rs = alias_roots(C->al, c);
    for (int i = 0; i < rs.n; i++)
        if (varset_has(*returned, rs.at[i]))
            return false;
    return true;
}

static Body *map_body(void *env, Body *b)
{
    return copies_body(env, b);
}

static Lambda *map_lambda(void *env, Lambda *l)
{
    Copies *C = env;
    return lambda_new(C->cx, l->params, copies_body(C, l->body));
}

static Body *copies_body(Copies *C, const Body *b)
{
    ExpMapper m = {.env = C, .body = map_body, .lambda = map_lambda};
    Bld bl = bld_new(C->cx);
    VarSet *returned = NULL;
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        /* One at a time: what is known of aliases holds for the program as it was. */
        if (!C->changed && s.exp->kind == E_COPY &&
            (takeover(C, b, i) || read_only(C, b, i, &returned))) {
            s.exp = exp_atom(C->cx, s.exp->loc, s.exp->copy.arr);
            C->changed = true;
        } else if (!C->changed) {
            s.exp = exp_map_parts(C->cx, s.exp, &m);
        }
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

/* Until nothing is left to remove. */
static Entry copies_entry(Ctx *cx, Entry en, bool seg, bool *changed)
{
    for (bool again = true; again;) {
        Copies C = {cx, seg, alias_new(cx), false};
        for (int i = 0; i < en.params.n; i++)
            alias_bind(C.al, en.params.at[i], true);
        alias_body(C.al, en.body);
        en.body = copies_body(&C, en.body);
        again = C.changed;
        *changed = *changed || again;
    }
    return en;
}

Prog *copies_prog(Ctx *cx, const Prog *p, bool *changed)
{
    Prog *r = NEW(cx->perm, Prog);
    r->dialect = p->dialect;
    for (int i = 0; i < p->entries.n; i++) {
        Entry en = copies_entry(cx, p->entries.at[i], p->dialect == D_SEG, changed);
        vec_push(cx->perm, &r->entries, en);
    }
    return r;
}

/* --- Copies that are needed ----------------------------------------------------------------- */

static void copy_at(Ctx *cx, AliasSite at)
{
    Var *from = at.operand->var, *to = var_like(cx, from);
    Exp *e = exp_new(cx, E_COPY,
                     at.stm < at.body->stms.n ? at.body->stms.at[at.stm].exp->loc : from->loc);
    e->copy.arr = *at.operand;
    *at.operand = atom_var(to);
    Stm s = {.exp = e};
    vec_push(cx->perm, &s.pat, to);
    vec_push(cx->perm, &at.body->stms, s);
    for (int i = at.body->stms.n - 1; i > at.stm; i--) {
        at.body->stms.at[i] = at.body->stms.at[i - 1];
        at.body->stms.at[i - 1] = s;
    }
}

/* Copies of arrays that would be consumed although they are still needed.
 *
 * The rules of consumption of the language and those of the IR (alias.c) differ in both directions:
 * a function's result may be declared fresh where the IR sees what it was made of (zip), arguments
 * are evaluated in another order than is written, components that are one parameter there are
 * parameters of their own here. What the front end accepts is made to obey the rules of the IR:
 * where an operand that is consumed breaks them, it is copied first. Programs that obey them, all
 * but a few, stay as they are; copies that turn out not to be needed go away later. */
void ir_copy_needed(Ctx *cx, Entry *en)
{
    /* Each round settles one operand for good: copies are nobody else's. */
    for (;;) {
        Arena *mem = arena_new();
        Ctx own = {.perm = mem, .scratch = mem};
        Alias *al = alias_entry(&own, en);
        bool done = !alias_error(al, NULL);
        AliasSite at = alias_error_site(al);
        arena_free(mem);
        if (done)
            return;
        copy_at(cx, at);
    }
}
