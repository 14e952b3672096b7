/* Consumption: functions and their applications (consume_int.h). */
#include "frontend/consume/consume_int.h"

/* --- Results of functions ------------------------------------------------------------------- */

/* Why a component of a function's result cannot be unique. */
typedef struct {
    const Ref *outside; /* it may be this, which the caller may know under another name */
    const Ref *shared;  /* or it shares this with another component */
    bool hidden;        /* or it may share memory where nobody can see it */
} Unfresh;

/* Whether a variable that may be named is a parameter, of the function around, that is unique. */
static bool is_consumed_param(const Co *co, const Ref *r)
{
    if (r->v->kind != VAR_LOCAL || r->v->depth != co->frames.n || !r->v->may)
        return false;
    Leaves ls = {0};
    al_leaves(r->v->type, r->v->al, false, &ls, co->a);
    return ls.at[r->leaf].unique;
}

/* Of a leaf among those that al_count has counted. */
static Unfresh why_unfresh(const Co *co, const Leaf *l)
{
    Unfresh u = {.shared = al_in_others(l)};
    for (int i = 0; l->t->kind != TY_FUN && i < l->refs.n && !u.outside; i++) {
        const Ref *r = &l->refs.at[i];
        u.hidden |= r->v->kind == VAR_HIDDEN;
        if ((r->v->in_scope || r->v->kind == VAR_GLOBAL) && !is_consumed_param(co, r))
            u.outside = r;
    }
    return u;
}

/* The result of a function whose result type says unique must be nobody else's. */
static void check_unique_result(Co *co, const AType *t, Al *al, Loc loc)
{
    Leaves ls = {0};
    al_leaves(t, al, false, &ls, co->a);
    al_count(co, t, &ls);
    for (int i = 0; i < ls.n; i++) {
        if (!ls.at[i].unique || !al_holds_arrays(ls.at[i].t))
            continue;
        Unfresh u = why_unfresh(co, &ls.at[i]);
        if (u.outside) {
            const char *name = u.outside->v->name;
            ck_error(co->ck, loc, "the result is declared unique, but may alias `%s`", name);
            ck_note(co->ck, u.outside->v->loc,
                    "`%s` is bound here; return a `copy`, or drop the `*`", name);
            return;
        }
        if (u.shared) {
            if (u.shared->v->kind <= VAR_GLOBAL)
                ck_error(co->ck, loc,
                         "components of the result share `%s`, but one is declared unique",
                         u.shared->v->name);
            else
                ck_error(co->ck, loc,
                         "components of the result may share memory, but one is declared unique");
            if (u.shared->v->kind != VAR_LOCAL)
                ck_note(co->ck, u.shared->v->loc, "they come from here; use `copy`");
            return;
        }
        if (u.hidden) {
            ck_error(co->ck, loc, "the result is declared unique, but %s; use `copy`",
                     al_why_hidden);
            return;
        }
    }
}

/* t with `*` where a result with these leaves, counted, is fresh. */
static AType *infer_unique(Co *co, const AType *t, const Leaves *ls, int *next)
{
    AType *c = NEW(co->ck->a, AType);
    *c = *t;
    if (al_is_product(t)) {
        c->elems = (ATypes){0};
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->ck->a, &c->elems, infer_unique(co, t->elems.at[i], ls, next));
        return c;
    }
    const Leaf *l = &ls->at[(*next)++];
    if (t->kind == TY_ARRAY || t->kind == TY_VAR) {
        Unfresh u = why_unfresh(co, l);
        c->unique = !u.outside && !u.shared && !u.hidden;
    }
    return c;
}

static AType *with_result(Co *co, const AType *t, int params, AType *result)
{
    if (!params)
        return result;
    AType *c = NEW(co->ck->a, AType);
    *c = *t;
    c->fun.result = with_result(co, t->fun.result, params - 1, result);
    return c;
}

/* Parameter number i of a function; of what is no function (it was reported) anything. */
static const AType *param_type(const AType *t, int i)
{
    for (; i && t->kind == TY_FUN; i--)
        t = t->fun.result;
    return t->kind == TY_FUN ? t->fun.param : t;
}

static const AType *result_after(const AType *t, int params)
{
    for (; params && t->kind == TY_FUN; params--)
        t = t->fun.result;
    return t;
}

/* A function returns the accumulators that it was given, none from outside. */
static void check_accumulators(Co *co, const Leaves *ls, Loc loc)
{
    for (int i = 0; i < ls->n; i++) {
        const Ref *r = type_is_acc(ls->at[i].t) ? why_unfresh(co, &ls->at[i]).outside : NULL;
        if (!r)
            continue;
        ck_error(co->ck, loc,
                 "this function may return the accumulator `%s`, which it was not given",
                 r->v->name);
        ck_note(co->ck, r->v->loc, "`%s` is bound here", r->v->name);
        return;
    }
}

/* The type of a function with this body, which says what the caller need not know to share memory
 * with others: declared, or found out. */
static AType *settle_result(Co *co, AType *t, int params, bool declared, const AExp *body, Al *al,
                            Loc loc)
{
    AType *res = (AType *)result_after(t, params);
    if (declared) {
        co_check_functions(co, body, res);
        check_unique_result(co, res, al, loc);
        return t;
    }
    Leaves ls = {0};
    int next = 0;
    al_leaves(res, al, false, &ls, co->a);
    al_count(co, res, &ls);
    check_accumulators(co, &ls, loc);
    res = infer_unique(co, al_add_unique(co, res, body->type), &ls, &next);
    return with_result(co, t, params, res);
}

/* --- Definitions and lambdas ---------------------------------------------------------------- */

static Al *co_derived(Co *co, const AType *t, Al *al);

/* A function must not hand out a top-level value: applying it is not known to yield that. */
static void check_no_global(Co *co, const Def *d, Al *al)
{
    Leaves ls = {0};
    al_leaves(d->ret_type, al, false, &ls, co->a);
    for (int i = 0; i < ls.n; i++) {
        if (ls.at[i].unique || (!d->params.n && ls.at[i].t->kind != TY_FUN))
            continue; /* checked already; a value may be another's */
        const Refs rs = al_list_outside(co, co_derived(co, ls.at[i].t, ls.at[i].al)->refs);
        for (int j = 0; j < rs.n; j++) {
            const Var *v = rs.at[j].v;
            if (v->kind != VAR_GLOBAL || rs.at[j].closure)
                continue;
            ck_error(co->ck, d->body->loc,
                     "the result of `%s` may alias the top-level definition `%s`; use `copy %s`",
                     d->name, v->name, v->name);
            ck_note(co->ck, v->loc, "`%s` is defined here", v->name);
            return;
        }
    }
}

/* Whether a component of a result that is not unique may be known to others unseen. */
static bool returns_hidden(Co *co, const AType *t, Al *al)
{
    Leaves ls = {0};
    al_leaves(t, al, false, &ls, co->a);
    for (int i = 0; i < ls.n; i++) {
        const Refs rs = al_list_outside(co, ls.at[i].al->refs);
        for (int j = 0; j < rs.n && !ls.at[i].unique; j++)
            if (rs.at[j].v->kind == VAR_HIDDEN)
                return true;
    }
    return false;
}

/* What a local function captures: what it uses from outside, and top-level values it may return. */
static Al *captured(Co *co, RefSet *used, const Al *result)
{
    Al *al = al_none(co);
    const Refs rs = al_list_outside(co, al_all(co, result));
    al->refs = used;
    for (int i = 0; i < rs.n; i++)
        al->refs = al_set_with(co, rs.at[i], al->refs);
    return al;
}

Al *co_def(Co *co, Def *d)
{
    int scope = co->scope.n, marked = co->marked.n, consumptions = co->consumptions;
    bool value = d->local && !d->params.n;
    if (!value)
        al_push_frame(co, FRAME_FUNCTION);
    for (int i = 0; i < d->params.n; i++)
        al_bind_pat(co, d->params.at[i], al_none(co), BIND_PARAM);
    Al *al = al_shape(co, d->ret_type, co_eval(co, d->body));
    if (d->params.n) {
        AType *t = settle_result(co, d->bind->type, d->params.n, d->ret, d->body, al,
                                 d->ret ? d->ret->loc : d->body->loc);
        d->bind->type = t;
        d->ret_type = (AType *)result_after(t, d->params.n);
    } else if (d->ret) {
        co_check_functions(co, d->body, d->ret_type);
        if (al_any_unique(d->ret_type))
            ck_error(co->ck, d->ret->loc,
                     "`%s` is a value, no function: its type cannot have a `*`", d->name);
    } else {
        d->bind->type = al_add_unique(co, d->bind->type, d->body->type);
    }
    if (!d->local && !d->params.n && co->consumptions > consumptions && ty_has_fun(d->ret_type))
        ck_error(co->ck, d->body->loc,
                 "`%s` is or holds a function, so nothing may be consumed to make it: each use "
                 "would consume that again",
                 d->name);
    al_unscope(co, scope);
    if (value)
        return al;
    if (!d->local) {
        check_no_global(co, d, al);
        d->bind->hides = returns_hidden(co, d->ret_type, al);
    }
    return captured(co, al_pop_frame(co, marked), al);
}

Al *co_lambda(Co *co, AExp *e)
{
    int scope = co->scope.n, marked = co->marked.n;
    al_push_frame(co, FRAME_FUNCTION);
    for (int i = 0; i < e->lambda.params.n; i++)
        al_bind_pat(co, e->lambda.params.at[i], al_none(co), BIND_PARAM);
    Al *al = al_shape(co, result_after(e->type, e->lambda.params.n), co_eval(co, e->lambda.body));
    e->type = settle_result(co, e->type, e->lambda.params.n, e->lambda.ret, e->lambda.body, al,
                            e->lambda.ret ? e->lambda.ret->loc : e->loc);
    al_unscope(co, scope);
    return captured(co, al_pop_frame(co, marked), al);
}

/* --- Functions as values -------------------------------------------------------------------- */

/* Whether what a function of this result type returns can share memory with what it captured. */
static bool can_alias(const AType *t, bool unique)
{
    t = result_after(t, -1);
    unique |= al_is_unique(t);
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        if (can_alias(t->elems.at[i], unique))
            return true;
    return !unique && (t->kind == TY_ARRAY || t->kind == TY_VAR);
}

/* What a value may share memory with that a function makes of this one. */
static Al *co_derived(Co *co, const AType *t, Al *al)
{
    Al *c = al_none(co);
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        vec_push(co->a, &c->kids, co_derived(co, t->elems.at[i], al_kid(al, i)));
    if (al_is_product(t))
        return c;
    if (t->kind != TY_FUN || can_alias(t, false))
        return al;
    c->refs = al_set_closure(co, al->refs);
    return c;
}

typedef enum { FITS, CONSUMES, NOT_UNIQUE } Fit;

/* Is every component of t unique that is so in `want`? */
static bool as_unique(const AType *t, const AType *want, bool unique, bool wanted)
{
    unique |= al_is_unique(t);
    wanted |= al_is_unique(want);
    for (int i = 0; al_is_product(want) && t->kind == want->kind && i < want->elems.n; i++)
        if (!as_unique(t->elems.at[i], want->elems.at[i], unique, wanted))
            return false;
    return unique || !wanted || (want->kind != TY_ARRAY && want->kind != TY_VAR);
}

/* A function that consumes its parameter may not stand for one that does not, nor one whose result
 * is shared for one whose result is unique. */
static Fit fit(const AType *have, const AType *want)
{
    Fit f = FITS;
    if (have->kind != want->kind)
        return FITS;
    if (have->kind == TY_FUN) {
        if (!as_unique(want->fun.param, have->fun.param, false, false))
            return CONSUMES;
        if (!as_unique(have->fun.result, want->fun.result, false, false))
            return NOT_UNIQUE;
        f = fit(want->fun.param, have->fun.param);
        return f ? f : fit(have->fun.result, want->fun.result);
    }
    for (int i = 0; al_is_product(have) && i < have->elems.n && !f; i++)
        f = fit(have->elems.at[i], want->elems.at[i]);
    return f;
}

void co_check_functions(Co *co, const AExp *e, const AType *want)
{
    Fit f = fit(e->type, want);
    if (f == CONSUMES)
        ck_error(co->ck, e->loc, "this function consumes its argument (`%s`), but `%s` is needed",
                 show(co->ck, e->type), show(co->ck, want));
    else if (f == NOT_UNIQUE)
        ck_error(co->ck, e->loc,
                 "the result of this function may share memory (`%s`), but `%s` is needed; use "
                 "`copy`",
                 show(co->ck, e->type), show(co->ck, want));
}

/* --- Applications --------------------------------------------------------------------------- */

/* What a result may alias: its components that are not unique, all that was passed in and kept. */
static Al *result_al(Co *co, const AType *t, bool unique, RefSet *kept)
{
    Al *c = al_none(co);
    unique |= al_is_unique(t);
    if ((unique && t->kind != TY_FUN) || !al_holds_arrays(t))
        return c;
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        vec_push(co->a, &c->kids, result_al(co, t->elems.at[i], unique, kept));
    if (!al_is_product(t))
        c->refs = kept;
    return c;
}

static bool has_var(void *var, const AType *t)
{
    return t->kind == TY_VAR ? t->var == var : type_any_part(t, has_var, var);
}

static bool mentions(const AType *t, const Binding *var)
{
    return has_var((void *)var, t);
}

/* --- What a type parameter tells ------------------------------------------------------------ */

static int times_mentioned(const AType *t, const Binding *var)
{
    int n = 0;
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        n += times_mentioned(t->elems.at[i], var);
    return al_is_product(t) ? n : mentions(t, var);
}

/* Whether the parameter has the type variable only as what functions of one argument, which they do
 * not consume, return, and the argument of type `have` has functions there that return what is
 * fresh. */
static bool only_made_fresh(const AType *param, const AType *have, const Binding *var)
{
    if (!mentions(param, var))
        return true;
    if (have->kind != param->kind)
        return false;
    for (int i = 0; al_is_product(param) && i < param->elems.n; i++)
        if (!only_made_fresh(param->elems.at[i], have->elems.at[i], var))
            return false;
    if (al_is_product(param))
        return true;
    if (param->kind != TY_FUN || mentions(param->fun.param, var) || al_any_unique(param->fun.param))
        return false;
    const AType *res = param->fun.result, *got = have->fun.result;
    return res->kind == TY_VAR && res->var == var && !can_alias(got, false) && !ty_has_fun(got);
}

/* t, the type of what e returns, with `*` where that is fresh since its type is a parameter of the
 * function, which has nothing of it but what its arguments make: `x |> copy`. */
static AType *fresh_by_type(Co *co, const AExp *e, const AType *whole, const AType *generic,
                            AType *t)
{
    const Binding *fn = e->app.fn->var.bind;
    AType c = *t;
    if (al_is_product(generic) && t->kind == generic->kind) {
        c.elems = (ATypes){0};
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->ck->a, &c.elems,
                     fresh_by_type(co, e, whole, generic->elems.at[i], t->elems.at[i]));
    } else if (al_binds_type(fn, generic) && times_mentioned(whole, generic->var) == 1) {
        const AType *from = fn->type;
        bool fresh = true;
        for (int i = 0; i < e->app.args.n; i++, from = from->fun.result)
            fresh &= only_made_fresh(from->fun.param, e->app.args.at[i]->type, generic->var);
        c.unique |= fresh;
    }
    return arena_memdup(co->ck->a, &c, sizeof c);
}

static bool shows_function(const AType *t)
{
    bool shows = t->kind == TY_FUN || (t->kind == TY_ARRAY && shows_function(t->array.elem));
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        shows |= shows_function(t->elems.at[i]);
    return shows;
}

/* Whether fn may have values of this type, if it has some of the type parameters in `has`. */
static bool may_have(const Binding *fn, const AType *t, const Bindings *has)
{
    bool all = true;
    for (int i = 0; i < fn->tparams.n; i++) {
        bool got = false;
        for (int j = 0; j < has->n; j++)
            got |= has->at[j] == fn->tparams.at[i];
        all &= got || !mentions(t, fn->tparams.at[i]);
    }
    return all || shows_function(t);
}

/* Adds to `has` the type parameters of fn that there are values of when it has an argument of this
 * type. */
static void add_had(Co *co, const Binding *fn, const AType *param, Bindings *has)
{
    while (param->kind == TY_FUN && may_have(fn, param->fun.param, has))
        param = param->fun.result;
    for (int i = 0; param->kind != TY_FUN && i < fn->tparams.n; i++)
        if (mentions(param, fn->tparams.at[i]))
            vec_push(co->a, has, fn->tparams.at[i]);
}

/* Whether fn can have made a value of that type parameter with its first n arguments: if it has no
 * more of them, each call may return that value. */
static bool made_before(Co *co, const Binding *fn, int n, Binding *var)
{
    Bindings has = {0};
    for (int round = 0; round < n; round++)
        for (int i = 0; i < n; i++)
            add_had(co, fn, param_type(fn->type, i), &has);
    for (int i = 0; i < has.n; i++)
        if (has.at[i] == var)
            return true;
    return false;
}

/* What e, an application, returns; it may lack the last argument: `id >-> copy`. */
static AType *app_result(Co *co, const AExp *e)
{
    int n = e->app.args.n;
    AType *res = (AType *)result_after(e->app.fn->type, n);
    const Binding *b = e->app.fn->kind == AE_VAR ? e->app.fn->var.bind : NULL;
    if (!b || (b->kind != BIND_DEF && b->kind != BIND_BUILTIN))
        return res;
    int lacks = type_arity(b->type) - n;
    if (lacks < 0 || lacks > 1 || ty_has_fun(result_after(res, lacks)))
        return res;
    const AType *generic = type_result(b->type);
    if (!lacks)
        return fresh_by_type(co, e, generic, generic, res);
    if (!al_binds_type(b, generic) || mentions(param_type(b->type, n), generic->var) ||
        made_before(co, b, n, generic->var))
        return res;
    return with_result(co, res, 1, fresh_by_type(co, e, generic, generic, res->fun.result));
}

/* --- Arguments ------------------------------------------------------------------------------ */

/* Whether that component of an argument is consumed, if its type is that of a parameter. */
static bool is_taken(const Leaf *l)
{
    return l->unique && (l->t->kind == TY_ARRAY || l->t->kind == TY_VAR);
}

/* Whether no component of an argument that is consumed overlaps with another; reports if one does.
 * Those that are not may. */
static bool check_separate(Co *co, const AType *t, Al *al, Loc loc)
{
    Leaves ls = {0};
    al_leaves(t, al, false, &ls, co->a);
    al_count(co, t, &ls);
    for (int i = 0; i < ls.n; i++) {
        const Ref *r = is_taken(&ls.at[i]) ? al_in_others(&ls.at[i]) : NULL;
        if (!r)
            continue;
        const char *name = r->v->kind <= VAR_GLOBAL ? r->v->name : NULL;
        ck_error(co->ck, loc,
                 "this is consumed, but components of it may share memory%s; use `copy`",
                 name ? arena_printf(co->a, " (of `%s`)", name) : "");
        return false;
    }
    return true;
}

typedef struct {
    Al *al;
    RefSet *refs;
    RefSet *taken,
        *kept;  /* what the function consumes of it, what the result may share memory with */
    int marked; /* how much was consumed when it had been evaluated */
} Arg;

static void split_arg(Co *co, const AExp *e, const AType *param, Arg *x)
{
    Leaves have = {0}, want = {0};
    al_leaves(e->type, x->al, false, &have, co->a);
    al_leaves(param, x->al, false, &want, co->a);
    for (int i = 0; i < have.n; i++)
        if (have.n == want.n && is_taken(&want.at[i]))
            x->taken = al_set_union(co, x->taken, al_all(co, have.at[i].al));
        else
            x->kept =
                al_set_union(co, x->kept, al_all(co, co_derived(co, have.at[i].t, have.at[i].al)));
}

/* Consumes what is taken of argument number k. The function, and the other arguments, must not
 * share memory with it. False after an error. */
static bool consume_arg(Co *co, const AExp *e, const AType *param, const Arg *args, int n, int k,
                        RefSet *fn)
{
    const Arg *x = &args[k];
    if (!al_set_alive(co, x->taken)) /* its use was reported */
        return false;
    if (!check_separate(co, param, x->al, e->loc))
        return false;
    const char *who = "the function that is applied";
    const Refs taken = al_list(co, x->taken), used = al_list(co, fn);
    const Ref *r = al_shared(co, &taken, &used);
    for (int i = 0; i < n && !r; i++) {
        const Refs others = i != k ? al_list(co, args[i].refs) : (Refs){0};
        if ((r = al_shared(co, &taken, &others)))
            who = "another argument";
    }
    if (!r)
        al_consume(co, &taken, e->loc);
    else if (r->v->kind <= VAR_GLOBAL)
        ck_error(co->ck, e->loc, "`%s` is consumed here, but %s uses it too; use `copy`",
                 r->v->name, who);
    else
        ck_error(co->ck, e->loc, "this is consumed, but it may share memory with %s; use `copy`",
                 who);
    return !r;
}

static Arg eval_arg(Co *co, AExp *e)
{
    int marked = co->marked.n;
    Arg x = {.al = co_eval(co, e)};
    x.refs = al_all(co, x.al);
    x.marked = co->marked.n;
    if (x.marked > marked && ty_has_fun(e->type))
        ck_error(co->ck, e->loc,
                 "this argument is a function (`%s`), so nothing may be consumed to make it",
                 show(co->ck, e->type));
    return x;
}

/* A pipe is a function of the prelude like others: what it applies to its argument must not consume
 * that, nor may anything have been consumed to make it. */
static void check_piped(Co *co, const AExp *e, const Arg *args)
{
    for (int i = 0; i < e->app.args.n; i++) {
        const AExp *arg = e->app.args.at[i];
        if (!arg->piped)
            continue;
        if (al_any_unique(param_type(e->app.fn->type, i)))
            ck_error(co->ck, arg->loc,
                     "what is piped into a function must not be consumed by it; write an "
                     "application `f x`");
        else if (co->marked.n > args[i].marked)
            ck_error(co->ck, arg->loc,
                     "nothing may be consumed to make the function that this is piped into");
    }
}

/* An operator section keeps its operand, as a lambda would. */
static void section_consumes(Co *co, const AExp *operand)
{
    ck_error(co->ck, operand->loc,
             "each application of this section would consume this; write a lambda");
}

/* Functions evaluate their last argument first and the function last, operators their left operand
 * first. All are needed until the call, and only that consumes. */
Al *co_app(Co *co, AExp *e)
{
    int n = e->app.args.n;
    AExp **es = e->app.args.at;
    Arg *args = NEWN(co->a, Arg, n + 1);
    for (int k = 0; k < n; k++) {
        int i = e->app.infix ? k : n - 1 - k;
        args[i] = eval_arg(co, es[i]);
    }
    RefSet *fn = al_all(co, co_eval(co, e->app.fn)), *kept = fn;
    const AType *ft = e->app.fn->type;
    if (e->app.infix && n == 1 && al_any_unique(param_type(ft, 0)))
        section_consumes(co, es[0]);
    for (int i = 0; i < n; i++) {
        if (co->marked.n > args[i].marked)
            al_check_alive(co, args[i].refs, es[i]->loc,
                           es[i]->kind == AE_VAR ? es[i]->var.name : NULL);
        co_check_functions(co, es[i], param_type(ft, i));
        split_arg(co, es[i], param_type(ft, i), &args[i]);
    }
    bool ok = true;
    for (int i = n - 1; i >= 0; i--) {
        if (ok && al_any_unique(param_type(ft, i)))
            ok = consume_arg(co, es[i], param_type(ft, i), args, n, i, fn);
        kept = al_set_union(co, kept, args[i].kept);
    }
    check_piped(co, e, args);
    const AType *res = app_result(co, e);
    e->type = al_add_unique(co, e->type, res);
    if (!can_alias(res, false))
        return ty_has_fun(res) ? result_al(co, res, false, kept) : al_none(co);
    const char *name = e->app.fn->kind == AE_VAR ? e->app.fn->var.name : NULL;
    if (al_is_product(res)) /* its components may share memory */
        kept = al_set_union(
            co, kept,
            al_set_with(co, (Ref){al_make_up(co, VAR_CALL, name, e->loc), 0, false}, NULL));
    return result_al(co, res, false, kept);
}

/* (op e): each application of it would consume e, if op consumes its right operand. */
Al *co_opsect(Co *co, AExp *e)
{
    Al *op = co_eval(co, e->opsect.op);
    Arg x = eval_arg(co, e->opsect.arg);
    const AType *right = param_type(e->opsect.op->type, 1);
    co_check_functions(co, e->opsect.arg, right);
    if (al_any_unique(right))
        section_consumes(co, e->opsect.arg);
    return al_union(co, op, x.al);
}
