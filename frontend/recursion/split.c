/* A body with recursive calls as states: code that ends at a call, and what comes after it. */
#include "frontend/recursion/recursion_int.h"

/* --- Questions ------------------------------------------------------------------------------ */

typedef struct {
    const Function *self;
    const Exp *call; /* the first */
} Calls;

static void calls_in_exp(Calls *c, const Exp *e);

static void calls_in_body(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        calls_in_exp(env, b->stms.at[i].exp);
}

static void calls_in_lambda(void *env, Lambda *l)
{
    calls_in_body(env, l->body);
}

static void calls_in_exp(Calls *c, const Exp *e)
{
    if (e->kind == E_CALL && e->call.fn == c->self && !c->call)
        c->call = e;
    ExpVisitor v = {.env = c, .body = calls_in_body, .lambda = calls_in_lambda};
    exp_visit(e, &v);
}

/* The first recursive call in e, or NULL. */
static const Exp *self_call(const Cut *c, const Exp *e)
{
    Calls calls = {.self = c->f->self};
    calls_in_exp(&calls, e);
    return calls.call;
}

static bool gives(const Atoms *res, const Vars *pat)
{
    if (res->n != pat->n)
        return false;
    for (int i = 0; i < res->n; i++)
        if (res->at[i].var != pat->at[i])
            return false;
    return true;
}

bool code_returns(const Code *code)
{
    if (code->end == CODE_BRANCH)
        return code_returns(code->yes) || code_returns(code->no);
    return code->end == CODE_RETURN;
}

static bool ends_from(const Code *code, PtrSet *seen)
{
    if (code->end == CODE_BRANCH)
        return ends_from(code->yes, seen) || ends_from(code->no, seen);
    if (code->end != CODE_JUMP || ptrset_has(seen, code->to))
        return code->end == CODE_RETURN;
    ptrset_add(seen, code->to);
    return ends_from(code->to->code, seen);
}

bool code_ends(Cut *c, const Code *start)
{
    return ends_from(start, ptrmap_new(c->cx->perm));
}

/* --- What a state has to know --------------------------------------------------------------- */

/* How what a body gives goes on: it is what the function gives (to NULL), or what a state is given.
 * The head of a `for` loop is given the next number before it. */
typedef struct {
    State *to;
    Var *i;
} Then;

static void add_kept(const Cut *c, State *s, const VarSet *free, Var *v)
{
    if (!varset_has(c->inner, v) || vars_find(&s->given, v) >= 0 || vars_find(&s->kept, v) >= 0)
        return;
    for (int d = 0; d < v->type.rank; d++)
        if (v->type.dims[d].var)
            add_kept(c, s, free, v->type.dims[d].var);
    vec_push(c->cx->perm, &s->kept, v);
}

/* What of the function's own variables is in the set, or in types of what the state is given; sizes
 * before what has them. */
static void keep_free(const Cut *c, State *s, const VarSet *free)
{
    for (int i = 0; i < s->given.n; i++)
        for (int d = 0; d < s->given.at[i]->type.rank; d++)
            if (s->given.at[i]->type.dims[d].var)
                add_kept(c, s, free, s->given.at[i]->type.dims[d].var);
    Vars all = varset_list(c->cx->perm, free);
    for (int i = 0; i < all.n; i++)
        add_kept(c, s, free, all.at[i]);
}

static void free_in_then(VarSet *s, const Then *t)
{
    for (int i = 0; t->to && i < t->to->kept.n; i++)
        varset_add(s, t->to->kept.at[i]);
    if (t->i)
        varset_add(s, t->i);
}

/* --- Cutting -------------------------------------------------------------------------------- */

static Code *code_new(Cut *c, const Stm *stms, int n, CodeEnd end)
{
    Code *code = NEW(c->cx->perm, Code);
    code->end = end;
    for (int i = 0; i < n; i++)
        vec_push(c->cx->perm, &code->stms, stms[i]);
    return code;
}

static State *state_new(Cut *c, bool resumes, Vars given)
{
    State *s = NEW(c->cx->perm, State);
    *s = (State){.resumes = resumes, .given = given};
    vec_push(c->cx->perm, &c->states, s);
    s->id = c->states.n;
    return s;
}

static Code *split(Cut *c, const Stm *stms, int n, const Atoms *res, Then then);

/* The state that goes on with the statements after one that binds `given`. */
static State *rest_state(Cut *c, bool resumes, Vars given, const Stm *stms, int n, const Atoms *res,
                         Then then)
{
    State *s = state_new(c, resumes, given);
    VarSet *free = varmap_new(c->cx->perm);
    free_in_body(free, &(Body){{(Stm *)stms, n, n}, *res});
    free_in_then(free, &then);
    keep_free(c, s, free);
    s->code = split(c, stms, n, res, then);
    return s;
}

static void go_on(Cut *c, Code *code, const Atoms *res, Then then)
{
    code->end = then.to ? CODE_JUMP : CODE_RETURN;
    code->to = then.to;
    if (then.i) {
        Var *next = var_like(c->cx, then.i);
        Atom one = atom_int(then.i->type.elem, 1);
        Stm s = {.exp = exp_binop(c->cx, then.i->loc, OP_ADD, atom_var(then.i), one)};
        vec_push(c->cx->perm, &s.pat, next);
        vec_push(c->cx->perm, &code->stms, s);
        vec_push(c->cx->perm, &code->vals, atom_var(next));
    }
    vec_append(c->cx->perm, &code->vals, res);
}

static Code *body_code(Cut *c, const Body *b, Then then)
{
    return split(c, b->stms.at, b->stms.n, &b->res, then);
}

/* The head of the loop is given its parameters, with the number of a `for` loop before them; what
 * comes after the loop is given the parameters. */
static Code *split_loop(Cut *c, const Stm *s, Code *before, State *after)
{
    const Exp *e = s->exp;
    bool counts = e->loop.kind == LOOP_FOR;
    Vars given = {0};
    if (counts)
        vec_push(c->cx->perm, &given, e->loop.i);
    vec_append(c->cx->perm, &given, &e->loop.params);
    State *head = state_new(c, false, given);
    VarSet *free = varmap_new(c->cx->perm);
    free_in_body(free, e->loop.body);
    if (counts && e->loop.bound.var)
        varset_add(free, e->loop.bound.var);
    free_in_then(free, &(Then){.to = after});
    keep_free(c, head, free);
    head->code = code_new(c, NULL, 0, CODE_BRANCH);
    if (counts) {
        Var *more = var_new(c->cx, "more", type_prim(T_BOOL), e->loc);
        Stm test = {.exp = exp_binop(c->cx, e->loc, OP_LT, atom_var(e->loop.i), e->loop.bound)};
        vec_push(c->cx->perm, &test.pat, more);
        vec_push(c->cx->perm, &head->code->stms, test);
        head->code->test = atom_var(more);
    } else {
        head->code->test = atom_var(e->loop.cond);
    }
    head->code->yes = body_code(c, e->loop.body, (Then){head, counts ? e->loop.i : NULL});
    head->code->no = code_new(c, NULL, 0, CODE_JUMP);
    head->code->no->to = after;
    head->code->no->vals = atoms_of_vars(c->cx, &e->loop.params);
    before->end = CODE_JUMP;
    before->to = head;
    if (counts)
        vec_push(c->cx->perm, &before->vals, atom_int(e->loop.i->type.elem, 0));
    vec_append(c->cx->perm, &before->vals, &e->loop.inits);
    return before;
}

/* A map as a loop that fills its results. */
static Exp *map_as_loop(Cut *c, const Exp *e, Stms *before)
{
    Types ts = exp_types(c->cx, e);
    Exp *loop = exp_new(c->cx, E_LOOP, e->loc);
    loop->loop.kind = LOOP_FOR;
    loop->loop.i = var_new(c->cx, "i", type_prim(T_I64), e->loc);
    loop->loop.bound = e->soac.width;
    Bld in = bld_new(c->cx), out = bld_new(c->cx);
    Atoms rows = {0}, res = {0};
    Atom i = atom_var(loop->loop.i);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Exp *row = exp_index(c->cx, e->loc, e->soac.arrs.at[k], &i, 1, true);
        vec_push(c->cx->perm, &rows, bld_exp(&in, "x", row));
    }
    Atoms vals = bld_inline_lambda(&in, e->soac.fn, &rows);
    for (int k = 0; k < ts.n; k++) {
        Exp *scratch = exp_new(c->cx, E_SCRATCH, e->loc), *up = exp_new(c->cx, E_UPDATE, e->loc);
        scratch->scratch.type = ts.at[k];
        vec_push(c->cx->perm, &loop->loop.inits, bld_exp(&out, "xs", scratch));
        Var *p = var_new(c->cx, "xs", ts.at[k], e->loc);
        vec_push(c->cx->perm, &loop->loop.params, p);
        up->update.arr = atom_var(p);
        up->update.at = exp_index(c->cx, e->loc, atom_var(p), &i, 1, true)->index.at;
        up->update.val = vals.at[k];
        up->update.safe = true;
        vec_push(c->cx->perm, &res, bld_exp(&in, "xs", up));
    }
    loop->loop.body = bld_body(&in, res);
    vec_append(c->cx->perm, before, &out.stms);
    return loop;
}

static Code *cannot(Cut *c, const Exp *e, Code *code)
{
    if (!c->why) {
        bool scan = e->kind == E_SCANOMAP; /* filters are made of such */
        c->why = arena_printf(c->cx->perm, "inside of a `%s`, which is not supported",
                              scan ? "scan` or `filter" : form_info[e->kind].text);
        c->f->failed = e->loc;
    }
    code->end = CODE_RETURN;
    return code;
}

/* Results become a state's, or the function's (`then`). */
static Code *split(Cut *c, const Stm *stms, int n, const Atoms *res, Then then)
{
    int i = 0;
    while (i < n && !self_call(c, stms[i].exp))
        i++;
    Code *code = code_new(c, stms, i, CODE_BRANCH);
    if (i == n) {
        go_on(c, code, res, then);
        return code;
    }
    Stm s = stms[i];
    if (s.exp->kind == E_MAP)
        s.exp = map_as_loop(c, s.exp, &code->stms);
    const Exp *e = s.exp;
    bool last = i == n - 1 && !then.to && gives(res, &s.pat);
    stms += i + 1;
    n -= i + 1;
    /* What was made here is the function's own, too. */
    for (int k = i; k < code->stms.n; k++)
        for (int j = 0; j < code->stms.at[k].pat.n; j++)
            varset_add(c->inner, code->stms.at[k].pat.at[j]);
    if (e->kind == E_LOOP)
        bound_in_body(c->inner, &(Body){.stms = {&s, 1, 1}});
    if (e->kind == E_CALL) {
        code->end = last ? CODE_TAIL : CODE_CALL;
        code->vals = e->call.args;
        if (!last)
            code->to = rest_state(c, true, s.pat, stms, n, res, then);
    } else if (e->kind == E_IF) {
        if (!last)
            then = (Then){.to = rest_state(c, false, s.pat, stms, n, res, then)};
        code->test = e->branch.test;
        code->yes = body_code(c, e->branch.then_, then);
        code->no = body_code(c, e->branch.else_, then);
    } else if (e->kind == E_LOOP) {
        return split_loop(c, &s, code, rest_state(c, false, s.pat, stms, n, res, then));
    } else {
        return cannot(c, e, code);
    }
    return code;
}

Code *split_body(Cut *c)
{
    return body_code(c, c->f->body, (Then){0});
}
