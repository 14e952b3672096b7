/* The end of inference for one top-level definition: variables that nothing determined get their
 * defaults (numbers i32, with a point f64), every node its final type, every literal its scalar. */
#include "frontend/check/check.h"

#include <inttypes.h>
#include <math.h>

static void zonk_exp(Ck *ck, AExp *e);

/* --- Types ---------------------------------------------------------------------------------- */

static Size *zonk_size(Ck *ck, Size *s)
{
    s = size_deref(s);
    if (s->facts && !s->facts->open && !(ck->revealing && s->facts->exps))
        return s;
    switch (s->kind) {
    case SZ_META: {
        Size *u = sz_unknown(ck, s->loc);
        u->varies = true; /* nothing decides it: causality.c reports it where that matters */
        u->each_call = s->each_call;
        s->ref = u;
        return u;
    }
    case SZ_OP: {
        Size *a = zonk_size(ck, s->a), *b = zonk_size(ck, s->b);
        if (a == s->a && b == s->b)
            return s;
        Size *r = sz_op(ck, s->op, a, b);
        s->kind = SZ_META; /* in every type that has it, once: it may be a long sum */
        s->ref = r;
        return r;
    }
    case SZ_EXP: {
        ASizes args = {0};
        zonk_exp(ck, s->exp); /* whole: of `-128`, 128 alone may not fit its type */
        for (int i = 0; i < s->args.n; i++)
            vec_push(ck->a, &args, zonk_size(ck, s->args.at[i]));
        Size *r = sz_exp_with(ck, s, args);
        if (r->kind == SZ_EXP)
            sz_settle_exp(ck, r, false);
        s->kind = SZ_META;
        s->ref = r;
        return r;
    }
    case SZ_CONST:
    case SZ_VAR:
    case SZ_UNKNOWN: return s;
    }
    return s;
}

static AType *default_type(Ck *ck, AType *m)
{
    if (m->meta.cls == TC_EQ && diag_errors() == ck->errors)
        ck_error(ck, m->meta.loc,
                 "the type of what is compared here is ambiguous; say it, as in `(x: i32)`");
    m->meta.ref = ty_scalar(ck, m->meta.cls == TC_FLOAT ? T_F64 : T_I32);
    return m->meta.ref;
}

static AType *zonk_var(void *env, AType *t)
{
    TypeMap *m = env;
    if (t->kind == TY_META)
        return default_type(m->ck, t);
    bool means = m->ck->revealing && t->var->tdecl && t->var->tdecl->means;
    return means ? ty_map(m, ty_meaning(m->ck, t)) : NULL;
}

static Size *zonk_whole(void *env, Size *s)
{
    return zonk_size(((TypeMap *)env)->ck, s);
}

/* What variables stand for may be known to be too large only here. */
static AType *zonk_type(Ck *ck, AType *t)
{
    TypeMap m = {.ck = ck, .whole = zonk_whole, .var = zonk_var, .last = true};
    m.env = &m;
    return ty_map(&m, t);
}

/* --- Literals ------------------------------------------------------------------------------- */

static void check_range(Ck *ck, AExp *e, bool negated)
{
    PrimType s = e->lit.scalar;
    if (prim_is_float(s)) {
        e->lit.fval = prim_round(s, e->lit.is_float ? e->lit.fval : (double)e->lit.bits);
        if (isinf(e->lit.fval))
            ck_error(ck, e->loc, "literal is out of range for `%s`", prim_type_text[s]);
        return;
    }
    int bits = prim_bits(s);
    if (s == T_BOOL)
        return;
    if (e->lit.suffixed) /* wraps around, as in Futhark: 0xffi8 is -1, 257u8 is 1 */
        return;
    uint64_t max = prim_is_signed(s) ? ((uint64_t)1 << (bits - 1)) - 1 + negated
                   : negated         ? 0
                                     : UINT64_MAX >> (64 - bits);
    if (e->lit.bits > max)
        ck_error(ck, e->loc, "literal %s%" PRIu64 " is out of range for `%s`", negated ? "-" : "",
                 e->lit.bits, prim_type_text[s]);
}

static void zonk_lit(Ck *ck, AExp *e, bool negated)
{
    if (e->lit.checked || e->type->kind != TY_SCALAR)
        return;
    e->lit.checked = true;
    e->lit.scalar = e->type->scalar;
    check_range(ck, e, negated);
}

/* --- Trees ---------------------------------------------------------------------------------- */

static TreeParts zonked_parts(Ck *ck);

static void part_exp(void *env, AExp **e)
{
    zonk_exp(env, *e);
}

static void part_type(void *env, TypeExp **t)
{
    TreeParts p = zonked_parts(env);
    texp_parts(*t, &p);
}

static void part_found(void *env, AType **t)
{
    *t = zonk_type(env, *t);
}

static void part_pat(void *env, Pat **pat)
{
    TreeParts p = zonked_parts(env);
    Binding *b = (*pat)->bind;
    if (b && b->type)
        b->type = zonk_type(env, b->type);
    pat_parts(*pat, &p);
}

static void part_def(void *env, Def **d)
{
    TreeParts p = zonked_parts(env);
    def_parts(*d, &p);
    (*d)->bind->type = zonk_type(env, (*d)->bind->type);
}

static TreeParts zonked_parts(Ck *ck)
{
    return (TreeParts){.env = ck,
                       .exp = part_exp,
                       .pat = part_pat,
                       .type = part_type,
                       .found = part_found,
                       .def = part_def};
}

/* `-128`, of which 128 alone may not fit its type. */
static bool negates_literal(const AExp *e)
{
    const AExp *fn = e->kind == AE_APP ? e->app.fn : NULL;
    return fn && fn->kind == AE_VAR && fn->var.bind && fn->var.bind->builtin == BI_NEG &&
           e->app.args.at[0]->kind == AE_LIT;
}

static void zonk_negated(Ck *ck, AExp *e)
{
    AExp *lit = e->app.args.at[0];
    zonk_exp(ck, e->app.fn);
    if (!lit->type)
        return;
    lit->type = zonk_type(ck, lit->type);
    zonk_lit(ck, lit, true);
}

static void zonk_children(Ck *ck, AExp *e)
{
    TreeParts p = zonked_parts(ck);
    if (e->kind == AE_LIT)
        zonk_lit(ck, e, false);
    else if (e->kind == AE_HOLE && !ck->revealing)
        tell_hole(ck, e);
    else if (negates_literal(e))
        zonk_negated(ck, e);
    else
        aexp_parts(e, &p);
}

/* Each expression once: the sizes in its type have expressions, whose types have sizes. */
static void zonk_exp(Ck *ck, AExp *e)
{
    if (!e->type ||
        e->zonked == ck->zonk_round) /* no type: not reached by the checker, after an error */
        return;
    e->zonked = ck->zonk_round;
    e->type = zonk_type(ck, e->type);
    if (ck->too_large && !ck->too_large_at.beg)
        ck->too_large_at = e->loc;
    if (type_rank(e->type) > MAX_ARRAY_RANK && !ck->rank_reported) {
        diag_limit(e->loc, "arrays of more than %d dimensions are not supported", MAX_ARRAY_RANK);
        ck->rank_reported = true;
    }
    zonk_children(ck, e);
}

/* The first number in the type that is still of any type, or NULL. */
static const AType *open_number(const AType *t)
{
    t = type_deref(t);
    const AType *open = t->kind == TY_META && t->meta.cls >= TC_BITS ? t : NULL;
    if (t->kind == TY_ARRAY)
        open = open_number(t->array.elem);
    if (t->kind == TY_FUN)
        open = open_number(t->fun.param);
    if (t->kind == TY_FUN && !open)
        open = open_number(t->fun.result);
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !open; i++)
        open = open_number(t->elems.at[i]);
    return open;
}

/* A parameter without a type may look as if it took any numbers. */
static void warn_default(const Def *d)
{
    for (int i = 0; i < d->params.n; i++) {
        const AType *open = open_number(d->params.at[i]->type);
        if (!open)
            continue;
        diag_warn(d->params.at[i]->loc,
                  "Defaulting ambiguous type to %s: nothing says of which type this number is",
                  open->meta.cls == TC_FLOAT ? "f64" : "i32");
        return;
    }
}

void zonk_def(Ck *ck, Def *d)
{
    ck->zonk_round++;
    d->bind->by_default |= open_number(d->bind->type) != NULL;
    if (!ck->applying && diag_errors() == ck->errors)
        warn_default(d);
    part_def(ck, &d);
    if (ck->too_large && !diag_errors())
        ty_limited(ck, d->bind->type, ck->too_large_at.beg ? ck->too_large_at : d->loc);
    ck->too_large = false;
    ck->too_large_at = (Loc){0};
}

void reveal_def(Ck *ck, Def *d)
{
    ck->revealing = true;
    zonk_def(ck, d);
    ck->revealing = false;
}
