/* Functions of programs: making them, what a call takes, which ones a program calls. */
#include "ir/ir.h"

/* --- What a call takes ---------------------------------------------------------------------- */

/* Turns that a loop is taken to have that does not say how many. */
enum { SOME_TURNS = 16, MOST_STEPS = 1 << 24 };

static void steps_of_body(void *env, Body *b);

static int steps_of(const Exp *e)
{
    int64_t n = 0, turns = 1;
    ExpVisitor v = {.env = &n, .body = steps_of_body};
    exp_visit(e, &v);
    if (e->kind == E_LOOP)
        turns = e->loop.bound.var ? SOME_TURNS : e->loop.bound.c.i;
    n = exp_steps(e) + (turns > MOST_STEPS || turns < 0 ? MOST_STEPS : n * turns);
    return n > MOST_STEPS ? MOST_STEPS : (int)n;
}

static void steps_of_body(void *env, Body *b)
{
    int64_t *n = env;
    for (int i = 0; i < b->stms.n; i++)
        *n += steps_of(b->stms.at[i].exp);
    *n = *n > MOST_STEPS ? MOST_STEPS : *n;
}

const Function *function_new(Ctx *cx, const char *name, Loc loc, bool noinline, const Lambda *lam)
{
    int64_t steps = 0;
    steps_of_body(&steps, lam->body);
    Function *f = NEW(cx->perm, Function);
    *f = (Function){name, loc, lam, noinline, (int)steps};
    return f;
}

/* --- Those of a program --------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    PtrSet *met;
    Functions *all;
} Called;

static void called_in(void *env, Body *b);

static void called_in_lambda(void *env, Lambda *l)
{
    called_in(env, l->body);
}

static void called_in(void *env, Body *b)
{
    Called *c = env;
    ExpVisitor v = {.env = env, .body = called_in, .lambda = called_in_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        if (e->kind != E_CALL) {
            exp_visit(e, &v);
        } else if (!ptrset_has(c->met, e->call.fn)) {
            ptrset_add(c->met, e->call.fn);
            called_in(env, e->call.fn->lam->body);
            vec_push(c->arena, c->all, e->call.fn);
        }
    }
}

Functions prog_functions(Arena *a, const Prog *p)
{
    Functions all = {0};
    Called c = {a, ptrmap_new(a), &all};
    for (int i = 0; i < p->entries.n; i++)
        called_in(&c, p->entries.at[i].body);
    return all;
}
