/* A size must be decided before it is used: `length` in `filter p >-> length` would have to know
 * the size of an array that nobody has made yet. Types alone do not say so, since inference knows
 * no order. This pass goes through a finished definition in the order in which values arise:
 * arguments before the function, operands from left to right, what is bound before what uses it.
 * The sizes of a value are known once it is there; a function and an empty array have to know
 * theirs before. */
#include "frontend/check/check.h"

typedef struct {
    Ck *ck;
    int first;        /* sizes made up before are those of other definitions */
    bool *known;      /* by id, from first on */
    VEC(int) learned; /* in order, to forget what is known in one branch only */
} Causes;

static void visit(Causes *c, AExp *e);

static void learn_id(Causes *c, int id)
{
    if (!c->known[id - c->first])
        vec_push(c->ck->a, &c->learned, id);
    c->known[id - c->first] = true;
}

static void learn_size(Causes *c, const Size *s)
{
    s = size_deref(s);
    const ASizes *leaves = sz_leaves(s);
    for (int i = 0; leaves && i < leaves->n; i++)
        learn_size(c, leaves->at[i]);
    if (!leaves && s->kind == SZ_OP) {
        learn_size(c, s->a);
        learn_size(c, s->b);
    }
    for (int i = 0; s->kind == SZ_EXP && i < s->args.n; i++)
        learn_size(c, s->args.at[i]);
    if (s->kind == SZ_UNKNOWN && s->id >= c->first)
        learn_id(c, s->id);
}

/* A value of the type is there. */
static void learn(Causes *c, const AType *t)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        learn_size(c, t->array.dim);
        learn(c, t->array.elem);
    }
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        learn(c, t->elems.at[i]);
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++)
        learn_size(c, t->sargs.at[i]);
    for (int i = 0; t->kind == TY_VAR && i < t->targs.n; i++)
        learn(c, t->targs.at[i]);
}

static void forget(Causes *c, int mark)
{
    while (c->learned.n > mark)
        c->known[c->learned.at[--c->learned.n] - c->first] = false;
}

typedef struct {
    Causes *c;
    const Size *bad;
} Search;

static bool is_not_known(void *env, const Size *leaf)
{
    Search *s = env;
    if (leaf->kind != SZ_UNKNOWN || leaf->id < s->c->first || s->c->known[leaf->id - s->c->first])
        return false;
    s->bad = leaf;
    return true;
}

static bool is_needed(void *env, const Size *leaf)
{
    return !leaf->each_call && is_not_known(env, leaf);
}

/* A size in the type of a function or an empty array that is not known here, or NULL. */
static const Size *size_needed(Causes *c, const AType *t)
{
    Search s = {c, NULL};
    return ty_any_size(t, is_needed, &s) ? s.bad : NULL;
}

static void report_needed(Causes *c, const Size *bad, const AType *t, Loc loc, const char *what)
{
    Ck *ck = c->ck;
    if (bad->varies) {
        ck_error(ck, loc, "a size of %s (`%s`) is ambiguous: nothing here decides it", what,
                 show(ck, t));
    } else {
        ck_error(ck, loc, "a size of %s (`%s`) is needed before it is known", what, show(ck, t));
        if (bad->loc.beg)
            ck_note(ck, bad->loc, "it is made up here; bind this to a name before");
    }
    learn_size(c, bad);
}

static void need(Causes *c, const AType *t, Loc loc, const char *what)
{
    const Size *bad = size_needed(c, t);
    if (bad)
        report_needed(c, bad, t, loc, what);
}

/* The same of what has a name, with a mark before that. */
static void need_named(Causes *c, const AExp *e, const char *mark, const char *name)
{
    const Size *bad = size_needed(c, e->type);
    if (bad)
        report_needed(c, bad, e->type, e->loc, arena_printf(c->ck->a, "`%s%s`", mark, name));
}

/* The size of a parameter cannot be one that the function makes up. */
static void visit_params(Causes *c, const Pats *ps)
{
    Ck *ck = c->ck;
    for (int i = 0; i < ps->n; i++) {
        const Pat *p = ps->at[i];
        Search s = {c, NULL};
        if (!p->type || !ty_any_size(p->type, is_not_known, &s))
            continue;
        if (s.bad->varies) {
            need(c, p->type, p->loc, "this parameter");
            continue;
        }
        ck_error(ck, p->loc, "a size of this parameter (`%s`) would have to be one made up later",
                 show(ck, p->type));
        if (s.bad->loc.beg)
            ck_note(ck, s.bad->loc, "it is made up here; claim that both are equal by `e :> t`");
        learn_size(c, s.bad);
    }
}

/* What is learned inside counts inside only. */
static void visit_inside(Causes *c, AExp *e)
{
    int mark = c->learned.n;
    visit(c, e);
    forget(c, mark);
}

/* The function with its first n arguments; f <| x is an operator, of which f is the left operand.
 */
static void visit_applied(Causes *c, const AExp *e, int n)
{
    if (!n) {
        visit(c, e->app.fn);
        return;
    }
    AExp *last = e->app.args.at[n - 1];
    if (last->piped != PIPED_BACK)
        visit(c, last);
    visit_applied(c, e, n - 1);
    if (last->piped == PIPED_BACK)
        visit(c, last);
}

static bool learn_leaf(void *env, const Size *leaf)
{
    learn_size(env, leaf);
    return false;
}

/* What a call has made up is decided behind it, also where only a function in its result has it. */
static void visit_app(Causes *c, const AExp *e)
{
    bool section =
        e->app.infix && e->app.args.n == 1; /* a function: it is there before its operand */
    if (!e->app.infix) {
        visit_applied(c, e, e->app.args.n);
    } else {
        if (section)
            visit(c, e->app.fn);
        for (int i = 0; i < e->app.args.n; i++)
            visit(c, e->app.args.at[i]);
        if (!section)
            visit(c, e->app.fn);
    }
    ty_any_size(e->type, learn_leaf, c);
}

static void visit_var(Causes *c, const AExp *e)
{
    const Binding *b = e->var.bind;
    if (b->kind == BIND_BUILTIN || b->kind == BIND_DEF)
        need_named(c, e, "", e->var.name);
}

static void visit_loop(Causes *c, const AExp *e)
{
    visit(c, e->loop.init);
    int mark = c->learned.n;
    learn(c, e->loop.pat->type);
    visit(c, e->loop.bound);
    visit(c, e->loop.body);
    forget(c, mark);
}

static void visit_child(void *env, AExp *e)
{
    visit(env, e);
}

/* What is written side by side arises side by side: none knows the sizes of the others. */
static void visit_beside(Causes *c, const AExps *es)
{
    VEC(int) all = {0};
    for (int i = 0; i < es->n; i++) {
        int mark = c->learned.n;
        visit(c, es->at[i]);
        for (int k = mark; k < c->learned.n; k++)
            vec_push(c->ck->a, &all, c->learned.at[k]);
        forget(c, mark);
    }
    for (int i = 0; i < all.n; i++)
        learn_id(c, all.at[i]);
}

static void visit_parts(Causes *c, AExp *e)
{
    switch (e->kind) {
    case AE_HOLE: need(c, e->type, e->loc, "this hole"); return;
    case AE_VAR: visit_var(c, e); return;
    case AE_ARRAY:
        if (!e->seq.elems.n)
            need(c, e->type, e->loc, "this empty array");
        visit_beside(c, &e->seq.elems);
        return;
    case AE_TUPLE:
    case AE_RECORD: visit_beside(c, &e->seq.elems); return;
    case AE_APP: visit_app(c, e); return;
    case AE_OPSECT:
        visit(c, e->opsect.op);
        visit(c, e->opsect.arg);
        return;
    case AE_PATHSECT: need(c, e->type, e->loc, "this section"); break;
    case AE_LAMBDA:
        visit_params(c, &e->lambda.params);
        visit_inside(c, e->lambda.body);
        return;
    case AE_IF:
        visit(c, e->cond.test);
        visit_inside(c, e->cond.then);
        visit_inside(c, e->cond.els);
        return;
    case AE_MATCH:
        visit(c, e->match.e);
        for (int i = 0; i < e->match.cases.n; i++)
            visit_inside(c, e->match.cases.at[i].body);
        return;
    case AE_CONSTR:
        aexp_children(e, visit_child, c);
        need_named(c, e, "#", e->constr.name);
        return;
    case AE_LETFUN:
        visit_params(c, &e->letfun.def->params);
        visit_inside(c, e->letfun.def->body);
        visit(c, e->letfun.body);
        return;
    case AE_LOOP: visit_loop(c, e); return;
    default: break;
    }
    aexp_children(e, visit_child, c);
}

static void visit(Causes *c, AExp *e)
{
    if (!e->type) /* not reached by the checker, after an error elsewhere */
        return;
    visit_parts(c, e);
    learn(c, e->type);
}

void causality_def(Ck *ck, Def *d, int first_id)
{
    Causes c = {.ck = ck, .first = first_id};
    c.known = NEWN(ck->a, bool, ck->ids - first_id + 1);
    visit_params(&c, &d->params);
    visit(&c, d->body);
}
