/* Indices of 32 bits: what the launch proves to fit is computed in the type `index`, which has 32
 * bits in one variant of the kernel and 64 in the other.
 *
 * Integers of 64 bits get a range (range.c), which is an expression over what the host knows when
 * it launches the kernel. If the range of a value is known, it becomes an index, and that its range
 * fits becomes a condition of the launch (KFun.narrow_when, limits.h): no inequality between sizes
 * is proved here, the host computes both sides. Where an index meets other 64-bit arithmetic it is
 * converted; scalar parameters are converted once, at the start.
 *
 * Arithmetic that may wrap around (not exact) is what it would be without wrapping, if the operands
 * and the result fit; products with large constants, as hash functions have, are left alone: their
 * conditions would never hold, and take the others with them. */
#include "kir/facts/carried.h"
#include "kir/facts/chosen.h"
#include "kir/facts/limits.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_FACTOR = 1 << 16, MOST_LIMITS = 256 };

typedef struct {
    Arena *arena;
    KFun *fun;
    KBuild *b;
    KRanges *ranges;
    const KCarried *carried;
    const KChosen
        *chosen; /* the first time around, when it is found which of them are of indices */
    VEC(KFamily *)
    families; /* of the variables that statements bind, in the order in which they are walked */
    int at;   /* the next one's */
    PtrMap *params; /* KVar of a parameter -> KVar, the same as an index */
    KBlock head;    /* binds those */
    KLimits limits; /* of what became an index */
    int64_t most;   /* the largest index */
} Narrow;

/* --- Limits ----------------------------------------------------------------------------------- */

static bool is_param(const Narrow *w, const KVar *v)
{
    for (int i = 0; i < w->fun->params.n; i++)
        if (w->fun->params.at[i].kind == KP_SCALAR && w->fun->params.at[i].var == v)
            return true;
    return false;
}

/* Ranges build on it that parameters are at least 0. */
static void need_natural_param(void *env, const KExp *x)
{
    Narrow *w = env;
    if (x->kind == KE_VAR && x->type.elem == T_I64 && is_param(w, x->var))
        vec_push(w->arena, &w->limits, (KRange){.lo = x});
}

/* Is a number among those of which the bound is the least (or the greatest), and too far out? Least
 * and greatest numbers begin reductions. */
static bool never_fits(const Narrow *w, const KExp *bound, PrimOp of)
{
    if (bound->kind == KE_PRIM && bound->op == of)
        return never_fits(w, bound->x[0], of) || never_fits(w, bound->x[1], of);
    return bound->kind == KE_CONST && (bound->c.i < -w->most - 1 || bound->c.i > w->most);
}

/* Can all of the range be an index? If so, that it is becomes a condition. */
static bool fits(Narrow *w, KRange r)
{
    if (!r.lo || !r.hi || w->limits.n >= MOST_LIMITS || never_fits(w, r.lo, OP_MIN) ||
        never_fits(w, r.hi, OP_MAX))
        return false;
    for (int i = 0; i < w->limits.n; i++) {
        KRange k = w->limits.at[i];
        if (k.hi && kx_same(k.lo, r.lo) && kx_same(k.hi, r.hi))
            return true;
    }
    vec_push(w->arena, &w->limits, r);
    return true;
}

/* --- Expressions ------------------------------------------------------------------------------ */

static const KExp *wide(Narrow *w, const KExp *x);
static const KExp *narrow(Narrow *w, const KExp *x);

/* The parameter as an index, bound at the start of the kernel. */
static const KExp *param_index(Narrow *w, const KVar *v)
{
    KVar *to = ptrmap_get(w->params, v);
    if (!to) {
        KType t = {.elem = T_I64, .lanes = 1, .index = true};
        to = kb_var_new(w->b, v->name, t);
        ptrmap_put(w->params, v, to);
        kb_into(w->b, &w->head);
        kb_let_var(w->b, to, kx_index(w->arena, kx_var(w->arena, v)));
        w->b->open.n--;
    }
    return kx_var(w->arena, to);
}

static const KExp *narrow_var(Narrow *w, const KExp *x)
{
    return is_param(w, x->var) ? param_index(w, x->var) : kx_index(w->arena, x);
}

static bool is_i64(const KExp *x)
{
    return x->type.elem == T_I64 && x->type.lanes == 1;
}

static bool is_large_factor(const KExp *x)
{
    return x->kind == KE_CONST && (x->c.i > MOST_FACTOR || x->c.i < -MOST_FACTOR);
}

/* Has it a product with a large constant in it, as hash functions have? */
static bool is_hash(const KExp *x)
{
    if (x->kind == KE_PRIM && x->op == OP_MUL && !x->exact &&
        (is_large_factor(x->x[0]) || is_large_factor(x->x[1])))
        return true;
    for (int i = 0; i < x->n; i++)
        if (is_hash(x->x[i]))
            return true;
    return false;
}

/* An operation on indices, whose operands must fit as well? */
static bool is_index_op(const KExp *x)
{
    switch ((int)x->op) { /* those that krange_of knows */
    case OP_MUL:
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX:
    case OP_QUOT:
    case OP_REM:
    case OP_DIV:
    case OP_MOD:
    case OP_AND: return true;
    }
    return false;
}

/* What is not exact stays so: that nothing wraps around and no operand of a division is negative is
 * known of launches with 32 bits only, and this is the text of both variants. */
static const KExp *index_prim(Narrow *w, const KExp *x)
{
    const KExp *to[2];
    for (int i = 0; i < 2; i++)
        if (!(to[i] = narrow(w, x->x[i])))
            return NULL;
    KExp e = *kx_prim2(w->arena, x->op, to[0], to[1]);
    e.exact = x->exact;
    e.type.index = true;
    return kx_node(w->arena, e);
}

static const KExp *index_select(Narrow *w, const KExp *x)
{
    const KExp *y = narrow(w, x->x[1]), *z = narrow(w, x->x[2]);
    if (!y || !z)
        return NULL;
    const KExp *to[] = {wide(w, x->x[0]), y, z};
    KExp e = *x;
    e.x = to;
    e.type.index = true;
    return kx_node(w->arena, e);
}

static const KExp *with_wide_operands(Narrow *w, const KExp *x);

static const KExp *index_of(Narrow *w, const KExp *x)
{
    const KExp *e = NULL;
    if (!fits(w, krange_of(w->ranges, x)))
        return NULL;
    if (x->kind == KE_VAR)
        return narrow_var(w, x);
    if (x->kind == KE_CONST)
        return kx_index(w->arena, x);
    if (x->kind == KE_PRIM && is_index_op(x))
        e = index_prim(w, x);
    else if (x->kind == KE_SELECT)
        e = index_select(w, x);
    if (e || kexp_may_wrap(x))
        return e;
    /* It fits, though what it is made of may not. */
    kexp_visit(x, need_natural_param, w);
    return kx_index(w->arena, with_wide_operands(w, x));
}

/* x as an index; NULL if it is not known to fit. */
static const KExp *narrow(Narrow *w, const KExp *x)
{
    if (x->type.index)
        return x;
    if (x->kind == KE_VAR && x->var->type.index)
        return kx_var(w->arena, x->var);
    if (!is_i64(x) || is_hash(x))
        return NULL;
    int n = w->limits.n;
    const KExp *e = index_of(w, x);
    if (!e)
        w->limits.n = n;
    return e;
}

static const KExp *with_wide_operands(Narrow *w, const KExp *x)
{
    if (x->n == 0)
        return x;
    const KExp **to = NEWN(w->arena, const KExp *, x->n);
    for (int i = 0; i < x->n; i++)
        to[i] = wide(w, x->x[i]);
    return kexp_with(w->arena, x, to);
}

/* Operands that are both indices; the operation itself gives something else. */
static const KExp *on_indices(Narrow *w, const KExp *x)
{
    const KExp *to[2];
    for (int i = 0; i < 2; i++)
        if (!is_i64(x->x[i]) || !(to[i] = narrow(w, x->x[i])))
            return NULL;
    return kexp_with(w->arena, x, to);
}

/* x with its type as it is; what is an index inside is one. */
static const KExp *wide(Narrow *w, const KExp *x)
{
    const KExp *e = NULL;
    if (x->kind == KE_VAR) {
        const KExp *now = x->type.index == x->var->type.index ? x : kx_var(w->arena, x->var);
        return kx_conv(w->arena, x->type.elem, now);
    }
    if (x->kind == KE_PRIM && prim_info[x->op].result == 'B' && x->n == 2)
        e = on_indices(w, x);
    else if (x->kind == KE_CONV && is_i64(x->x[0]) && (e = narrow(w, x->x[0])))
        return kexp_with(w->arena, x, &e);
    else if (is_i64(x) && (x->kind == KE_PRIM || x->kind == KE_SELECT) && (e = narrow(w, x)))
        return kx_conv(w->arena, T_I64, e);
    return e ? e : with_wide_operands(w, x);
}

/* x as an index that has room for it. */
static const KExp *index_in(Narrow *w, const KExp *x)
{
    const KExp *e = narrow(w, x);
    return e ? e : kx_index(w->arena, wide(w, x));
}

static const KExp *either(Narrow *w, const KExp *x)
{
    const KExp *e = is_i64(x) ? narrow(w, x) : NULL;
    return e ? e : wide(w, x);
}

/* --- Statements ------------------------------------------------------------------------------- */

static void walk(Narrow *w, KBlock *b);

static bool stands_in(const KBlock *b, const KStm *s)
{
    for (int i = 0; i < b->n; i++)
        if (b->at[i] == s)
            return true;
    return false;
}

/* Variables of this block that only exchange their values are indices together. */
static void decide_family(Narrow *w, const KBlock *b, const KStms *firsts)
{
    KRange all = krange_of(w->ranges, firsts->at[0]->x[0]);
    for (int i = 0; i < firsts->n; i++) {
        const KStm *s = firsts->at[i];
        if (!is_i64(s->x[0]) || !stands_in(b, s) || !narrow(w, s->x[0]))
            return;
        all = kranges_either(w->ranges, all, krange_of(w->ranges, s->x[0]));
    }
    for (int i = 0; i < firsts->n && fits(w, all); i++) {
        firsts->at[i]->var->type.index = true;
        kranges_set(w->ranges, firsts->at[i]->var, all);
    }
}

/* What the family is given from elsewhere here. */
static void look_at_sources(Narrow *w, const KStm *s)
{
    KFamily *f;
    KExps from = kchosen_sources(w->chosen, s, &f);
    for (int i = 0; i < from.n; i++) {
        KRange r = krange_of(w->ranges, from.at[i]);
        bool scalar = from.at[i]->kind == KE_VAR && is_param(w, from.at[i]->var);
        f->spoilt |= !is_i64(from.at[i]) || !r.lo || !r.hi || (!scalar && !narrow(w, from.at[i]));
        if (scalar)
            vec_push(w->arena, &f->scalars, from.at[i]->var);
        f->range = f->seen ? kranges_either(w->ranges, f->range, r) : r;
        f->seen = true;
    }
}

/* The family of the variable that s binds, if it is of indices. */
static KFamily *family_at(Narrow *w, const KStm *s)
{
    KFamily *f = NULL;
    if (w->chosen) {
        look_at_sources(w, s);
        f = kchosen_family(w->chosen, s);
        vec_push(w->arena, &w->families, f);
        return NULL;
    }
    if (w->at < w->families.n)
        f = w->families.at[w->at++];
    return f && f->seen && !f->spoilt && f->changes && fits(w, f->range) ? f : NULL;
}

static void walk_chosen(Narrow *w, KStm *s, const KFamily *f)
{
    if (!f || s->var->type.index)
        return;
    kranges_set(w->ranges, s->var, f->range);
    s->var->type.index = s->kind != KST_LOAD; /* memory stays as it is */
}

static void walk_var(Narrow *w, const KBlock *b, KStm *s)
{
    const KStms *firsts = kcarried_firsts(w->carried, s->var);
    if (firsts && !s->var->type.index)
        decide_family(w, b, firsts);
    if (s->x[0])
        s->x[0] = s->var->type.index ? index_in(w, s->x[0]) : wide(w, s->x[0]);
}

static void walk_let(Narrow *w, KStm *s)
{
    const KExp *x = s->x[0], *e = is_i64(x) ? narrow(w, x) : NULL;
    KRange r = krange_of(w->ranges, x);
    kranges_define(w->ranges, s->var, x);
    s->x[0] = e ? e : wide(w, x);
    if (!e)
        return;
    s->var->type.index = true;
    kranges_set(w->ranges, s->var, r);
}

/* The variable may become what its bound is, and a step more. */
static bool for_fits(Narrow *w, const KStm *s, KRange *in)
{
    KRange from = krange_of(w->ranges, s->x[0]), to = krange_of(w->ranges, s->x[1]);
    KRange step = krange_of(w->ranges, s->x[2]);
    if (!to.hi || !step.lo || !step.hi || !from.lo || !kbound_is_natural(step.lo))
        return false;
    Arena *a = w->arena;
    const KExp *last = kbound_add(a, to.hi, kx_int(a, -1)), *end = kbound_add(a, last, step.hi);
    if (s->doubling)
        end = kx_mul(a, kx_max(a, last, kx_int(a, 0)), step.hi);
    *in = (KRange){from.lo, last};
    return !s->var->mutable_ && is_i64(s->x[0]) && fits(w, (KRange){from.lo, end}) &&
           fits(w, from) && fits(w, to) && fits(w, step);
}

static void walk_for(Narrow *w, KStm *s)
{
    KRange in;
    const KExp *to[3] = {NULL};
    const KExp *end = s->x[1];
    KRange from = krange_of(w->ranges, s->x[0]);
    bool ok = s->var->type.elem == T_I64 && for_fits(w, s, &in);
    for (int i = 0; ok && i < 3; i++)
        ok = (to[i] = narrow(w, s->x[i]));
    for (int i = 0; i < 3; i++)
        s->x[i] = ok ? to[i] : wide(w, s->x[i]);
    if (ok) {
        s->var->type.index = true;
        kranges_set(w->ranges, s->var, in);
        kranges_end(w->ranges, s->var, end);
    }
    int mark = kranges_mark(w->ranges);
    if (from.lo && kbound_is_natural(from.lo))
        kranges_assume_some(w->ranges, end);
    walk(w, &s->body[0]);
    kranges_forget(w->ranges, mark);
}

static void walk_if(Narrow *w, KStm *s)
{
    const KExp *cond = s->x[0];
    s->x[0] = wide(w, cond);
    for (int k = 0; k < 2; k++) {
        int mark = kranges_mark(w->ranges);
        kranges_assume(w->ranges, cond, k == 0);
        walk(w, &s->body[k]);
        kranges_forget(w->ranges, mark);
    }
    /* What follows is reached by those that did not leave. */
    for (int k = 0; k < 2; k++)
        if (kblock_ends_by_leaving(&s->body[k]))
            kranges_assume(w->ranges, cond, k == 1);
}

static bool is_about_tiles(const KStm *s)
{
    return s->kind == KST_COPY || s->kind == KST_FRAGMENTS;
}

/* Which operands may be indices: positions, and how many elements are copied. */
static bool takes_index(const KStm *s, int i)
{
    bool number = i == 2 && s->kind == KST_COPY && s->x[i]->type.elem == T_I64;
    return (i == 0 || (i == 1 && is_about_tiles(s)) || number) && s->buf && s->x[i];
}

static void walk_stm(Narrow *w, const KBlock *b, KStm *s)
{
    walk_chosen(w, s, family_at(w, s));
    switch (s->kind) {
    case KST_LET: walk_let(w, s); return;
    case KST_VAR: walk_var(w, b, s); return;
    case KST_SET: s->x[0] = s->var->type.index ? index_in(w, s->x[0]) : wide(w, s->x[0]); return;
    case KST_FOR: walk_for(w, s); return;
    case KST_IF: walk_if(w, s); return;
    case KST_SHUFFLE:
        s->x[0] = s->var->type.index ? index_in(w, s->x[0]) : wide(w, s->x[0]);
        s->x[1] = either(w, s->x[1]);
        return;
    default: break; /* they have operands and blocks, and tell nothing */
    }
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        if (s->x[i])
            s->x[i] = takes_index(s, i) ? either(w, s->x[i]) : wide(w, s->x[i]);
    for (int i = 0; i < s->args.n; i++)
        s->args.at[i] = is_about_tiles(s) ? either(w, s->args.at[i]) : wide(w, s->args.at[i]);
    walk(w, &s->body[0]);
}

static void walk(Narrow *w, KBlock *b)
{
    int mark = kranges_mark(w->ranges);
    for (int i = 0; i < b->n; i++)
        walk_stm(w, b, b->at[i]);
    kranges_forget(w->ranges, mark);
}

static Narrow begin(Arena *a, KFun *f, const KBlock *body, int bits)
{
    return (Narrow){.arena = a,
                    .fun = f,
                    .b = kb_more(a, f),
                    .ranges = kranges_new(a, f),
                    .carried = kcarried_of(a, body),
                    .params = ptrmap_new(a),
                    .most = ((int64_t)1 << (bits - 1)) - 1};
}

/* A scalar that is data otherwise may be any number: that it is small is no condition for the
 * others. */
static void check_scalars(const Narrow *w, KFamily *f)
{
    for (int i = 0; f && i < f->scalars.n; i++)
        f->spoilt |= !ptrmap_get(w->params, f->scalars.at[i]);
}

/* What is chosen among indices is known when all has been walked: so a copy is, first. */
static void find_chosen(Narrow *w, int bits)
{
    if (!kchosen_any(kchosen_of(w->arena, &w->fun->body)))
        return;
    KBlock copy = kblock_copy(kb_more(w->arena, w->fun), &w->fun->body, NULL);
    Narrow first = begin(w->arena, w->fun, &copy, bits);
    first.chosen = kchosen_of(w->arena, &copy);
    walk(&first, &copy);
    for (int i = 0; i < first.families.n; i++)
        check_scalars(&first, first.families.at[i]);
    w->families.at = first.families.at;
    w->families.n = first.families.n;
}

void kir_narrow_to(Arena *a, KFun *f, int bits)
{
    if (f->narrow)
        return;
    Narrow w = begin(a, f, &f->body, bits);
    find_chosen(&w, bits);
    walk(&w, &f->body);
    vec_append(a, &w.head, &f->body);
    f->body = w.head;
    f->narrow = true;
    f->narrow_when = klimits_conditions(a, &w.limits, w.most);
}

void kir_narrow(Arena *a, KFun *f)
{
    enum { BITS = 32 };
    kir_narrow_to(a, f, BITS);
}
