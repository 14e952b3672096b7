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

/* A loop over the rows of what the SOAC goes over, for whose arrays `rows` becomes the rows; its
 * body is built in `in`. */
static Exp *loop_over(Cut *c, const Exp *e, Bld *in, Atoms *rows)
{
    Exp *loop = exp_new(c->cx, E_LOOP, e->loc);
    loop->loop.kind = LOOP_FOR;
    loop->loop.i = var_new(c->cx, "i", type_prim(T_I64), e->loc);
    loop->loop.bound = e->soac.width;
    Atom i = atom_var(loop->loop.i);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Exp *row = exp_index(c->cx, e->loc, e->soac.arrs.at[k], &i, 1, true);
        vec_push(c->cx->perm, rows, bld_exp(in, "x", row));
    }
    return loop;
}

/* A parameter of the loop, from `init` on. */
static Atom carried(Cut *c, Exp *loop, Atom init)
{
    Var *p = var_new(c->cx, "x", atom_type(init), loop->loc);
    vec_push(c->cx->perm, &loop->loop.params, p);
    vec_push(c->cx->perm, &loop->loop.inits, init);
    return atom_var(p);
}

/* The array with another element, or row, at a place that it has. */
static Atom updated(Cut *c, Bld *bl, Loc loc, Atom arr, const Atom *at, int rank, Atom val)
{
    Exp *up = exp_new(c->cx, E_UPDATE, loc);
    up->update.arr = arr;
    up->update.at = exp_index(c->cx, loc, arr, at, rank, true)->index.at;
    up->update.val = val;
    up->update.safe = true;
    return bld_exp(bl, "xs", up);
}

/* An array of type t that the loop fills, made by `before`: each turn has another row, which the
 * body gives, too. */
static void filled(Cut *c, Exp *loop, Bld *before, Bld *in, Type t, Atom row, Atoms *res)
{
    Exp *scratch = exp_new(c->cx, E_SCRATCH, loop->loc);
    scratch->scratch.type = t;
    Atom i = atom_var(loop->loop.i), p = carried(c, loop, bld_exp(before, "xs", scratch));
    vec_push(c->cx->perm, res, updated(c, in, loop->loc, p, &i, 1, row));
}

/* A map, reduction or scan as a loop, one element after the other; *s gives what it gave, and more.
 * What has to be there before is appended to `before`. */
static void as_loop(Cut *c, Stm *s, Stms *before)
{
    const Exp *e = s->exp;
    Types ts = exp_types(c->cx, e);
    Bld in = bld_new(c->cx), out = bld_new(c->cx);
    Atoms vals = {0}, rows = {0}, res = {0};
    Exp *loop = loop_over(c, e, &in, &rows);
    for (int k = 0; exp_is(e, F_OP) && k < e->soac.nes.n; k++)
        vec_push(c->cx->perm, &vals, carried(c, loop, e->soac.nes.at[k]));
    vec_append(c->cx->perm, &vals, &rows);
    vals = bld_inline_lambda(&in, exp_is(e, F_OP) ? e->soac.op : e->soac.fn, &vals);
    Vars pat = {0};
    if (exp_is(e, F_OP))
        vec_append(c->cx->perm, &res, &vals);
    for (int k = 0; exp_is(e, F_SCAN) && k < ts.n; k++)
        vec_push(c->cx->perm, &pat, var_new(c->cx, "last", type_drop(ts.at[k], 1), e->loc));
    for (int k = 0; !exp_is(e, F_FOLD) && k < ts.n; k++)
        filled(c, loop, &out, &in, ts.at[k], vals.at[k], &res);
    loop->loop.body = bld_body(&in, res);
    vec_append(c->cx->perm, before, &out.stms);
    vec_append(c->cx->perm, &pat, &s->pat);
    *s = (Stm){pat, loop};
}

/* A histogram as a loop, which combines one element after the other into the destinations. */
static void hist_as_loop(Cut *c, Stm *s)
{
    Ctx *cx = c->cx;
    const Exp *e = s->exp;
    const Dests *ds = &e->soac.dests;
    int rank = ds->at[0].rank;
    Bld in = bld_new(cx), hit = bld_new(cx);
    Atoms rows = {0}, kept = {0}, args = {0}, res = {0};
    Exp *loop = loop_over(c, e, &in, &rows);
    Atoms vals = bld_inline_lambda(&in, e->soac.fn, &rows);
    Atom inside = atom_bool(true);
    for (int d = 0; d < rank; d++) {
        Atom size = atom_type(ds->at[0].arr).dims[d];
        Atom from = bld_binop(&in, e->loc, OP_LE, atom_i64(0), vals.at[d]);
        Atom to = bld_binop(&in, e->loc, OP_LT, vals.at[d], size);
        inside = bld_binop(&in, e->loc, OP_LAND, inside, bld_binop(&in, e->loc, OP_LAND, from, to));
    }
    for (int k = 0; k < ds->n; k++) {
        vec_push(cx->perm, &kept, carried(c, loop, ds->at[k].arr));
        Exp *old = exp_index(cx, e->loc, vec_last(&kept), vals.at, rank, true);
        vec_push(cx->perm, &args, bld_exp(&hit, "x", old));
    }
    for (int k = 0; k < ds->n; k++)
        vec_push(cx->perm, &args, vals.at[rank + k]);
    args = bld_inline_lambda(&hit, e->soac.op, &args);
    for (int k = 0; k < ds->n; k++)
        vec_push(cx->perm, &res, updated(c, &hit, e->loc, kept.at[k], vals.at, rank, args.at[k]));
    Body *other = NEW(cx->perm, Body);
    other->res = kept;
    Exp *branch = exp_if(cx, e->loc, inside, bld_body(&hit, res), other);
    loop->loop.body = bld_body(&in, bld_exps(&in, "xs", branch));
    s->exp = loop;
}

/* A redomap or scanomap as a map, and a reduction or scan of some of what that gives. */
static void unfused(Cut *c, const Stm *s, Stms *all)
{
    Ctx *cx = c->cx;
    const Exp *e = s->exp;
    int n = e->soac.nes.n;
    Exp *map = exp_new(cx, E_MAP, e->loc);
    map->soac = e->soac;
    map->soac.op = NULL;
    map->soac.nes = (Atoms){0};
    Types ts = exp_types(cx, map);
    Stm first = {.exp = map}, second = {.exp = exp_new(cx, E_REDUCE, e->loc)};
    if (exp_is(e, F_SCAN))
        second.exp->kind = E_SCAN;
    second.exp->soac = e->soac;
    second.exp->soac.fn = NULL;
    second.exp->soac.arrs = (Atoms){0};
    for (int k = 0; k < s->pat.n; k++) {
        if (k >= n) {
            vec_push(cx->perm, &first.pat, s->pat.at[k]);
            continue;
        }
        Var *v = var_new(cx, "x", ts.at[k], e->loc);
        vec_push(cx->perm, &first.pat, v);
        vec_push(cx->perm, &second.exp->soac.arrs, atom_var(v));
        vec_push(cx->perm, &second.pat, s->pat.at[k]);
    }
    vec_push(cx->perm, all, first);
    vec_push(cx->perm, all, second);
}

static Code *cannot(Cut *c, const Exp *e, Code *code)
{
    if (!c->why) {
        c->why = arena_printf(c->cx->perm, "inside of a `%s`, which is not supported",
                              form_info[e->kind].text);
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
    if (s.exp->kind == E_REDOMAP || s.exp->kind == E_SCANOMAP) {
        Stms all = {0};
        for (int k = 0; k < n; k++)
            if (k == i)
                unfused(c, &s, &all);
            else
                vec_push(c->cx->perm, &all, stms[k]);
        return split(c, all.at, all.n, res, then);
    }
    if (s.exp->kind == E_MAP || s.exp->kind == E_REDUCE || s.exp->kind == E_SCAN)
        as_loop(c, &s, &code->stms);
    if (s.exp->kind == E_HIST)
        hist_as_loop(c, &s);
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
