/* Applications and operator sections. */
#include "frontend/check/check.h"

#include <string.h>

/* A call at work: one entry for each argument. */
typedef struct {
    Ck *ck;
    AExp *e;
    ATypes params;
    VEC(Size *) named; /* stands for the parameter in later types, or NULL */
    AType *result;
    const AType *want; /* of the result, or NULL */
    const char *fn;    /* name for messages, or NULL */
} Call;

static const char *fn_name(const AExp *fn)
{
    if (fn->kind != AE_VAR)
        return NULL;
    return strncmp(fn->var.name, "prefix ", 7) ? fn->var.name : fn->var.name + 7;
}

static const char *arg_words(Call *c, int i)
{
    if (!c->fn)
        return "the argument";
    if (c->e->app.infix && c->e->app.args.n == 2)
        return arena_printf(c->ck->a, "%s operand of `%s`", i ? "right" : "left", c->fn);
    if (c->e->app.infix)
        return arena_printf(c->ck->a, "operand of `%s`", c->fn);
    if (c->e->app.args.n == 1)
        return arena_printf(c->ck->a, "the argument of `%s`", c->fn);
    return arena_printf(c->ck->a, "argument %d of `%s`", i + 1, c->fn);
}

static void not_a_function(Call *c, const AType *t)
{
    Ck *ck = c->ck;
    const AExp *e = c->e, *arg = e->app.args.at[0];
    const char *is = t->kind == TY_META && t->meta.cls <= TC_VALUE ? "a stored value" : said(ck, t);
    ck_error(ck, e->app.fn->loc,
             "%s%s%s is applied to %d argument%s, but is not a function: it is %s",
             c->fn ? "`" : "", c->fn ? c->fn : "this", c->fn ? "`" : "", e->app.args.n,
             e->app.args.n == 1 ? "" : "s", is);
    if (t->kind == TY_ARRAY && arg->kind == AE_ARRAY)
        ck_note(ck, arg->loc, "an index touches what it indexes: `xs[i]`, not `xs [i]`");
}

/* Takes the parameters that the arguments need off the function's type. False after an error. */
static bool open_call(Call *c, AType *tf)
{
    Ck *ck = c->ck;
    AExp *e = c->e;
    AType *t = type_deref(tf);
    for (int i = 0; i < e->app.args.n; i++) {
        t = type_deref(t);
        if (t->kind == TY_ERROR)
            return false;
        if (t->kind == TY_META && t->meta.cls == TC_ANY) {
            AType *f = ty_fun(ck, ty_meta(ck, TC_ANY, e->loc), ty_meta(ck, TC_ANY, e->loc));
            if (ty_unify(ck, t, f))
                t = f;
        }
        if (t->kind != TY_FUN) {
            if (!i)
                not_a_function(c, t);
            else
                ck_error(ck, e->app.args.at[i]->loc, "%s%s%s takes %d argument%s, but is given %d",
                         c->fn ? "`" : "", c->fn ? c->fn : "this function", c->fn ? "`" : "", i,
                         i == 1 ? "" : "s", e->app.args.n);
            return false;
        }
        vec_push(ck->a, &c->params, t->fun.param);
        Size *n = NULL;
        AType *r = t->fun.result;
        Subst s = {0};
        if (t->fun.name)
            subst_size(ck, &s, t->fun.name, n = sz_meta(ck, e->app.args.at[i]->loc));
        vec_push(ck->a, &c->named, n);
        t = ty_open(ck, &t->fun.exists, ty_subst(ck, r, &s), e->loc);
    }
    c->result = t;
    return true;
}

/* `x * 2.5` with an integer x: more likely x is what is wrong. */
static bool mixed_operands(Call *c, int i, AType *t)
{
    const AType *want = type_deref(c->params.at[i]), *have = type_deref(t);
    if (!c->e->app.infix || c->e->app.args.n != 2 || !i || want->kind != TY_SCALAR ||
        !prim_is_int(want->scalar) || have->kind != TY_META || have->meta.cls != TC_FLOAT)
        return false;
    const char *s = prim_type_text[want->scalar];
    ck_error(c->ck, c->e->app.args.at[i]->loc,
             "%s should be `%s`, but is %s; convert the left one with `f32.%s` or `f64.%s`",
             arg_words(c, i), s, said(c->ck, t), s, s);
    offer_conversion(c->ck, c->e->app.args.at[0]->loc, have, want);
    return true;
}

/* What the types do not show: that a power is meant, that an i32 is one by default. */
static void note_wrong_arg(Call *c, const AType *have)
{
    const AType *t = type_deref(have);
    bool is_float = t->kind == TY_SCALAR ? prim_is_float(t->scalar)
                                         : t->kind == TY_META && t->meta.cls == TC_FLOAT;
    if (c->e->app.infix && c->fn && !strcmp(c->fn, "^") && is_float)
        ck_note(c->ck, c->e->app.fn->loc,
                "`^` is the exclusive or of bits; a power is written `x ** y`");
    int more = type_arity(c->result);
    bool partial = c->want && type_deref(c->want)->kind == TY_FUN; /* on purpose */
    if (more && !partial && c->fn && !c->e->app.infix)
        ck_note(c->ck, c->e->app.fn->loc,
                "`%s` takes %d arguments, but is given %d here: is one missing?", c->fn,
                c->e->app.args.n + more, c->e->app.args.n);
    note_default(c->ck, c->e->app.fn);
}

static bool is_functional(const Call *c, int i)
{
    AExpKind k = c->e->app.args.at[i]->kind;
    return type_deref(c->params.at[i])->kind == TY_FUN || k == AE_LAMBDA || k == AE_PATHSECT;
}

/* What is wanted of a function is what other arguments are: one of those may be wrong. */
static void note_wrong_function(Call *c, int i, const AType *have)
{
    Ck *ck = c->ck;
    const AType *want = type_deref(c->params.at[i]);
    have = type_deref(have);
    if (want->kind != TY_FUN || have->kind != TY_FUN)
        return;
    const AType *param = type_deref(want->fun.param), *gives = type_deref(want->fun.result),
                *other = type_deref(have->fun.result);
    if (param->kind == TY_TUPLE && param->elems.n == type_arity(have) && gives->kind != TY_FUN)
        ck_note(ck, c->e->app.args.at[i]->loc,
                "it takes %d arguments, but is given one, a tuple: apply it to the parts, as in "
                "`\\(x, y) -> f x y`",
                param->elems.n);
    else if (want->fun.result->kind == TY_META && other->kind != TY_FUN &&
             strcmp(show(ck, gives), show(ck, other)) != 0)
        for (int j = 0; j < c->params.n; j++)
            if (!is_functional(c, j) && c->params.at[j] == want->fun.result)
                ck_note(ck, c->e->app.args.at[j]->loc,
                        "the function should give what this argument is: %s", said(ck, gives));
}

static bool check_arg(Call *c, int i)
{
    Ck *ck = c->ck;
    AExp *arg = c->e->app.args.at[i];
    AType *want = c->params.at[i], *t = check_against(ck, arg, want);
    bool ok = !mixed_operands(c, i, t) &&
              (agree(ck, want, t) || disagree(ck, arg, want, t, arg_words(c, i)));
    if (!ok) {
        note_wrong_function(c, i, t);
        note_wrong_arg(c, t);
    }
    if (c->named.at[i])
        sz_unify(ck, c->named.at[i], sz_of_exp(ck, arg));
    return ok && t->kind != TY_ERROR;
}

static bool settle(void *env, const Size *leaf)
{
    (void)env;
    if (leaf->kind == SZ_UNKNOWN)
        ((Size *)leaf)->varies = false;
    return false;
}

/* Sizes that arrays of a value tell by themselves, also beside functions that take them. */
typedef struct Told {
    const AType *value;
    const struct Told *outer;
} Told;

/* Whether an array of the value, other than of a function in it, has the size. */
static bool tells(const AType *t, const Size *size)
{
    t = type_deref(t);
    bool found = t->kind == TY_ARRAY && (sz_same(t->array.dim, size) || tells(t->array.elem, size));
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = tells(t->elems.at[i], size);
    return found;
}

static bool made_at_call(void *env, const Size *leaf)
{
    if (leaf->kind != SZ_UNKNOWN || !leaf->each_call)
        return false;
    for (const Told *told = env; told; told = told->outer)
        if (tells(told->value, leaf))
            return false;
    return true;
}

/* Whether a function of the type, or one in it, takes an array of a size that another function,
 * which was given to the call, makes up, and that nobody tells who applies it. */
static bool takes_made_up(const AType *t, Told told)
{
    t = type_deref(t);
    bool found = t->kind == TY_FUN &&
                 (ty_any_size(t->fun.param, made_at_call, &told) ||
                  takes_made_up(t->fun.result, (Told){.value = t->fun.result, .outer = &told}));
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = takes_made_up(t->elems.at[i], told);
    return found;
}

/* The result of a call. Sizes that the functions given to it may vary are now those of its values;
 * if it is a function, as of `f >-> g`, it makes them up when it is called. */
static AType *called(Ck *ck, AType *t)
{
    t = type_deref(t);
    if (t->kind != TY_FUN) {
        t = ty_any_settled(ck, t);
        ty_any_size(t, settle, NULL);
        return t;
    }
    AType *r = type_deref(t->fun.result), *inner = r;
    Bindings exists = t->fun.exists;
    exists.cap = exists.n;
    if (r->kind == TY_FUN)
        inner = called(ck, r);
    else
        inner = seal_varying(ck, ty_any_settled(ck, r), &exists);
    if (inner == r)
        return t;
    AType *f = ty_fun_like(ck, t, t->fun.param, inner);
    f->fun.exists = exists;
    return f;
}

/* --- rearrange ------------------------------------------------------------------------------ */

/* The type of `rearrange (d1,...,dk)`, from arrays of k dimensions or more; NULL after an error. */
static AType *rearrange_type(Ck *ck, AExp *e)
{
    AExp *perm = e->app.args.at[0];
    check_exp(ck, perm);
    int k = perm->kind == AE_TUPLE ? perm->seq.elems.n : 1;
    if (perm->kind != AE_TUPLE && perm->kind != AE_LIT) {
        ck_error(ck, perm->loc,
                 "`rearrange` needs a literal tuple of dimensions, as in `rearrange (1,0) xs`");
        return NULL;
    }
    VEC(Size *) dims = {0};
    for (int i = 0; i < k; i++)
        vec_push(ck->a, &dims, sz_meta(ck, perm->loc));
    AType *elem = ty_meta(ck, TC_VALUE, perm->loc), *from = elem, *to = elem;
    bool seen[64] = {false};
    for (int i = k - 1; i >= 0; i--) {
        AExp *d = perm->kind == AE_TUPLE ? perm->seq.elems.at[i] : perm;
        bool ok = k <= 64 && d->kind == AE_LIT && !d->lit.is_float && d->lit.bits < (uint64_t)k &&
                  !seen[d->lit.bits];
        if (!ok) {
            ck_error(ck, d->loc,
                     "`rearrange` needs a literal permutation of 0..%d, "
                     "as in `rearrange (1,0) xs`",
                     k - 1);
            return NULL;
        }
        ty_unify(ck, ty_scalar(ck, T_I64), d->type);
        seen[d->lit.bits] = true;
        to = ty_array(ck, dims.at[d->lit.bits], to);
        from = ty_array(ck, dims.at[i], from);
    }
    return ty_fun(ck, perm->type, ty_fun(ck, from, to));
}

static bool is_rearrange(Ck *ck, AExp *fn)
{
    if (fn->kind != AE_VAR || in_scope(ck, fn->var.name, SPACE_TERM))
        return false;
    Binding *b = find_builtin(ck, fn->var.name);
    return b && b->builtin == BI_REARRANGE;
}

/* --- Applications --------------------------------------------------------------------------- */

/* The arguments of a call that is wrong: nothing is known of what they should be. */
static void check_alone(Ck *ck, const AExp *e)
{
    for (int i = 0; i < e->app.args.n; i++) {
        if (e->app.args.at[i]->kind == AE_LAMBDA || /* nothing is known of its parameters */
            module_of_exp(ck, e->app.args.at[i]))
            ck->skipped = true;
        else /* nor of which type a constructor is */
            ty_unify(ck, ty_error(ck), check_exp(ck, e->app.args.at[i]));
    }
}

static bool may_be_function(const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_META && t->meta.cls == TC_ANY;
}

/* `reduce (+) xs` for a number: what is missing is reported, not that the arguments that are there
 * do not fit where they stand. */
static bool lacks_argument(Call *c)
{
    const AType *t = type_deref(c->result), *w = c->want ? type_deref(c->want) : NULL;
    if (!w || t->kind != TY_FUN || w->kind == TY_FUN || w->kind == TY_ERROR || may_be_function(w) ||
        !c->fn || may_be_function(type_result(t)))
        return false;
    int n = c->e->app.args.n, more = type_arity(t);
    ck_error(c->ck, c->e->loc, "`%s` takes %d arguments, but is given %d: %s missing", c->fn,
             n + more, n, more == 1 ? "one is" : arena_printf(c->ck->a, "%d are", more));
    const Binding *b = c->e->app.fn->var.bind;
    ck_note(c->ck, c->e->app.fn->loc, "it is `%s`", show(c->ck, b ? b->type : c->e->app.fn->type));
    return true;
}

AType *check_app(Ck *ck, AExp *e, const AType *want)
{
    AExp *fn = e->app.fn;
    Call c = {.ck = ck, .e = e, .want = want, .fn = fn_name(fn)};
    AType *tf;
    if (is_rearrange(ck, fn)) {
        tf = rearrange_type(ck, e);
        fn->var.bind = find_builtin(ck, fn->var.name);
        fn->type = tf = tf ? tf : ty_error(ck);
    } else {
        tf = check_exp(ck, fn);
    }
    if (!open_call(&c, tf) || lacks_argument(&c)) {
        check_alone(ck, e);
        return ty_error(ck);
    }
    /* Functions come last: by then their parameters are known from the other arguments. */
    bool ok = true;
    for (int i = 0; i < e->app.args.n; i++) {
        if (is_functional(&c, i))
            continue;
        if (ok || !e->app.infix)
            ok &= check_arg(&c, i);
        else /* one operand is wrong: what the other should be is not known */
            ty_unify(ck, ty_error(ck), check_exp(ck, e->app.args.at[i]));
    }
    for (int i = 0; i < e->app.args.n; i++)
        if (is_functional(&c, i))
            ok &= check_arg(&c, i);
    if (ok && takes_made_up(c.result, (Told){.value = c.result})) {
        ck_error(ck, e->loc,
                 "this is a function that takes arrays of sizes that depend on an argument of "
                 "another one "
                 "(`%s`), so nobody could apply it",
                 show(ck, c.result));
        return ty_error(ck);
    }
    c.result = called(ck, c.result);
    TypeKind left = type_elem(c.result)->kind;
    bool guessed = left == TY_META || left == TY_FUN ||
                   (fn->kind == AE_VAR && fn->var.bind && fn->var.bind->by_default);
    if (!ok && guessed) /* no more errors from it */
        return ty_error(ck);
    return ty_plain(ck, c.result);
}

/* (op e): a function of the left operand. */
AType *check_opsect(Ck *ck, AExp *e)
{
    AType *a = ty_meta(ck, TC_ANY, e->loc), *r = ty_meta(ck, TC_ANY, e->loc);
    AType *b = check_exp(ck, e->opsect.arg);
    AType *op = check_exp(ck, e->opsect.op);
    ck_try(ck);
    AType *f = type_deref(op);
    if (f->kind == TY_ERROR) {
        ty_unify(ck, f, b);
        return f;
    }
    if (f->kind == TY_FUN && type_deref(f->fun.result)->kind == TY_FUN) {
        AType *g = type_deref(f->fun.result);
        require(ck, e->opsect.arg, g->fun.param, b,
                arena_printf(ck->a, "right operand of `%s`", e->opsect.op->var.name));
        return ty_fun(ck, f->fun.param, ty_open(ck, &g->fun.exists, g->fun.result, e->loc));
    }
    if (!ty_unify(ck, op, ty_fun(ck, a, ty_fun(ck, b, r)))) {
        ck_error(ck, e->loc, "`%s` is not a function of two arguments: it is `%s`",
                 e->opsect.op->var.name, show(ck, op));
        return ty_error(ck);
    }
    return ty_fun(ck, a, r);
}
