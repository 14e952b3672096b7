/* Copies of arrays that would be consumed although they are still needed.
 *
 * The rules of consumption of the language and those of the IR (alias.c) differ in both directions:
 * a function's result may be declared fresh where the IR sees what it was made of (zip), arguments
 * are evaluated in another order than is written, components that are one parameter there are
 * parameters of their own here. What the front end accepts is made to obey the rules of the IR:
 * where an operand that is consumed breaks them, it is copied first. Programs that obey them, all
 * but a few, stay as they are; copies that turn out not to be needed go away later (copies.c). */
#include "ir/ir.h"

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
