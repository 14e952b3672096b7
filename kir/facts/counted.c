/* What grows by one where p does is p, what is bound to it, and sums with what is the same for all
 * p. In 64 bits two ends that both lie within 0 .. n-1 and are less than 2^63 apart have all
 * between them there, too, even where sums wrap around; and where one p has a position there, so
 * have as many behind it as there are positions left. */
#include "kir/facts/counted.h"

struct KCounted {
    const KInfo *info;
    const KStm *loop, *when;
    const KVar *p;
    const KExp *first, *limit; /* p is first .. limit - 1 */
    PtrMap *inside;            /* variable that the loop binds -> its statement */
    PtrSet *changed;           /* variables that it sets */
    PtrSet *early;             /* loads that no question comes before */
    const KExp *end;           /* p for the values that are wanted */
    PtrMap *at_end;            /* loaded variable -> its value there */
    KBuild *b;
};

typedef enum { SAME, GROWS, OTHER } Slope;

static bool note(void *env, KStm *s)
{
    KCounted *c = env;
    KVar *v = kstm_def(s);
    if (v)
        ptrmap_put(c->inside, v, s);
    if (kstm_info[s->kind].flags & KF_SET)
        ptrset_add(c->changed, s->var);
    if (s->kind == KST_HEAP)
        ptrset_add(c->changed, s->top);
    return true;
}

static Slope slope(const KCounted *c, const KExp *x);

static Slope slope_of_var(const KCounted *c, const KVar *v)
{
    if (v == c->p)
        return GROWS;
    const KStm *s = ptrmap_get(c->inside, v);
    if (ptrset_has(c->changed, v) || v == c->loop->var)
        return OTHER;
    if (!s)
        return SAME;
    if (s->kind == KST_LET)
        return slope(c, s->x[0]);
    bool same = ptrset_has(c->early, s) && kstm_lanes(s) == 1 && slope(c, s->x[0]) == SAME &&
                !kblock_writes(&c->loop->body[0], s->buf);
    return same ? SAME : OTHER;
}

/* A conversion keeps what p is, not what sums in fewer bits are. Where no question guards what is
 * done for a p, turns that are not there may be what a division is not to be done for. */
static Slope slope(const KCounted *c, const KExp *x)
{
    if (!c->when && kexp_divides(x))
        return OTHER;
    if (x->kind == KE_VAR)
        return slope_of_var(c, x->var);
    bool all_same = true;
    for (int i = 0; i < x->n; i++)
        all_same = all_same && slope(c, x->x[i]) == SAME;
    if (all_same)
        return SAME;
    if (x->kind == KE_CONV)
        return x->type.elem == T_I64 && x->x[0]->kind == KE_VAR ? slope(c, x->x[0]) : OTHER;
    if (x->kind != KE_PRIM || x->saturate || x->type.elem != T_I64 || x->type.lanes != 1 ||
        x->n != 2)
        return OTHER;
    Slope left = slope(c, x->x[0]), right = slope(c, x->x[1]);
    if (x->op == OP_ADD && (left == SAME || right == SAME))
        return left == SAME ? right : left;
    return x->op == OP_SUB && right == SAME ? left : OTHER;
}

/* Numbers of a work-item or a turn: products of two of them and sums of such fit in 31 bits. */
static bool is_small(const KCounted *c, const KExp *x)
{
    enum { MOST_TURNS = 64 };
    if (x->kind == KE_CONV)
        return is_small(c, x->x[0]);
    if (x->kind == KE_CONST)
        return x->c.i >= 0 && x->c.i <= MOST_TURNS;
    if (x->kind == KE_ID)
        return x->id == KID_LOCAL || x->id == KID_GROUP_SIZE;
    if (x->kind != KE_VAR)
        return false;
    if (x->var == c->loop->var)
        return is_small(c, c->loop->x[0]) && is_small(c, c->loop->x[1]);
    const KStm *s = kinfo_get(c->info, x->var).def;
    return s && s->kind == KST_LET && is_small(c, s->x[0]);
}

static bool at_least_0(const KCounted *c, const KExp *x)
{
    if (is_small(c, x))
        return true;
    if (x->kind == KE_PRIM && x->op == OP_ADD)
        return at_least_0(c, x->x[0]) && at_least_0(c, x->x[1]);
    if (x->kind == KE_PRIM && x->op == OP_MUL)
        return is_small(c, x->x[0]) && is_small(c, x->x[1]);
    const KStm *s = x->kind == KE_VAR ? kinfo_get(c->info, x->var).def : NULL;
    return s && s->kind == KST_LET && at_least_0(c, s->x[0]);
}

typedef struct {
    const KCounted *c;
    bool found;
} Inside;

static void find_inside(void *env, const KExp *x)
{
    Inside *w = env;
    w->found |=
        x->kind == KE_VAR && (ptrmap_get(w->c->inside, x->var) ||
                              ptrset_has(w->c->changed, x->var) || x->var == w->c->loop->var);
}

/* Is it known before the loop? */
static bool is_before(const KCounted *c, const KExp *x)
{
    Inside w = {c, false};
    kexp_visit(x, find_inside, &w);
    return !w.found;
}

/* p < limit */
static bool is_limit(const KCounted *c, const KStm *s)
{
    const KExp *x = s->kind == KST_IF && s->body[1].n == 0 ? s->x[0] : NULL;
    return x && x->kind == KE_PRIM && x->op == OP_LT && x->x[0]->kind == KE_VAR &&
           is_before(c, x->x[1]) && at_least_0(c, x->x[0]);
}

/* The loads up to the first question but p < limit; false: that was met. */
static bool find_early(KCounted *c, const KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (s->kind == KST_LOAD)
            ptrset_add(c->early, s);
        bool goes_on =
            s->kind == KST_WORK || s == c->when ? find_early(c, &s->body[0]) : s->kind != KST_IF;
        if (!goes_on || s == c->when)
            return false;
    }
    return true;
}

static KCounted *counted_new(Arena *a, const KInfo *info, const KStm *loop)
{
    KCounted *c = NEW(a, KCounted);
    *c = (KCounted){.info = info, .loop = loop};
    c->inside = ptrmap_new(a);
    c->changed = ptrmap_new(a);
    c->early = ptrmap_new(a);
    kblock_visit(&loop->body[0], &(KVisitor){.env = c, .enter = note});
    return c;
}

KCounted *kcounted_of(Arena *a, const KInfo *info, const KStm *loop)
{
    KCounted *c = counted_new(a, info, loop);
    for (int i = 0; i < loop->body[0].n && !c->when; i++)
        if (is_limit(c, loop->body[0].at[i]))
            c->when = loop->body[0].at[i];
    if (!c->when)
        return NULL;
    c->p = c->when->x[0]->x[0]->var;
    c->first = kx_conv(a, c->p->type.elem, kx_int(a, 0));
    c->limit = c->when->x[0]->x[1];
    find_early(c, &loop->body[0]);
    return c;
}

KCounted *kcounted_of_turns(Arena *a, const KInfo *info, const KStm *loop)
{
    if (loop->kind != KST_FOR || loop->doubling || loop->var->type.elem == T_U64 ||
        !kx_is_int(kx_converted(loop->x[2]), 1) || kexp_changes(loop->x[0]) ||
        kexp_changes(loop->x[1]))
        return NULL;
    KCounted *c = counted_new(a, info, loop);
    c->p = loop->var;
    c->first = loop->x[0];
    c->limit = loop->x[1];
    find_early(c, &loop->body[0]);
    return c;
}

const KStm *kcounted_if(const KCounted *c)
{
    return c->when;
}

bool kcounted_is_same(const KCounted *c, const KExp *x)
{
    return slope(c, x) == SAME;
}

static bool is_prim(const KExp *x, PrimOp op)
{
    return x->kind == KE_PRIM && x->op == op;
}

bool kcounted_is_range(const KCounted *c, const KExp *x)
{
    if (!is_prim(x, OP_NOT) || !is_prim(x->x[0], OP_LAND))
        return false;
    const KExp *low = x->x[0]->x[0], *high = x->x[0]->x[1];
    return is_prim(low, OP_LE) && is_prim(high, OP_LT) && kx_is_int(low->x[0], 0) &&
           kx_same(low->x[1], high->x[0]) && high->x[0]->type.elem == T_I64 &&
           slope(c, high->x[0]) == GROWS && slope(c, high->x[1]) == SAME;
}

/* --- At an end -------------------------------------------------------------------------------- */

static const KExp *there(void *env, const KExp *x)
{
    KCounted *c = env;
    Arena *a = c->b->arena;
    if (x->kind != KE_VAR)
        return x;
    if (x->var == c->p)
        return c->end;
    const KExp *known = ptrmap_get(c->at_end, x->var);
    const KStm *s = ptrmap_get(c->inside, x->var);
    if (known || !s)
        return known ? known : x;
    if (s->kind == KST_LET)
        return kexp_map(a, s->x[0], there, c);
    /* a block has a beginning, whatever else there is */
    const KExp *at = kexp_map(a, s->x[0], there, c), *zero = kx_int(a, 0);
    const KExp *some = kx_lt(a, c->first, c->limit);
    at = kx_select(a, some, at, at->type.index ? kx_index(a, zero) : zero);
    KVar *v = kb_var_new(c->b, "there", x->var->type);
    kb_load_var(c->b, v, s->buf, at);
    ptrmap_put(c->at_end, x->var, (void *)(uintptr_t)kx_var(a, v));
    return kx_var(a, v);
}

static const KExp *value_at(KCounted *c, const KExp *x, const KExp *p)
{
    c->end = p;
    return kexp_map(c->b->arena, x, there, c);
}

const KExp *kcounted_number(const KCounted *c, Arena *a)
{
    return kx_var(a, c->p);
}

const KExp *kcounted_position(const KExp *cond)
{
    return cond->x[0]->x[1]->x[0];
}

/* The n of the range; *base: the position for the first p. */
static const KExp *begin(KCounted *c, KBuild *b, const KExp *cond, const KExp **base)
{
    c->b = b;
    c->at_end = ptrmap_new(b->arena); /* what is loaded is the same for all */
    *base = kb_let(b, "base", value_at(c, kcounted_position(cond), c->first));
    return kb_let(b, "n", value_at(c, cond->x[0]->x[1]->x[1], c->first));
}

static const KExp *is_within(Arena *a, const KExp *x, const KExp *n)
{
    return kx_and(a, kx_prim2(a, OP_LE, kx_int(a, 0), x), kx_lt(a, x, n));
}

const KExp *kcounted_beyond(KCounted *c, KBuild *b, const KExp *cond, const KExp **base)
{
    Arena *a = b->arena;
    const KExp *one = kx_conv(a, c->p->type.elem, kx_int(a, 1));
    const KExp *n = begin(c, b, cond, base), *beyond = NULL;
    const KExp *last = kx_prim2(a, OP_SUB, c->limit, one);
    const KExp *ends[] = {*base, value_at(c, kcounted_position(cond), last)};
    for (int i = 0; i < 2; i++) {
        const KExp *end = kb_let(b, "end", ends[i]);
        const KExp *out = kb_let(b, "beyond", kx_not(a, is_within(a, end, n)));
        beyond = beyond ? kx_or(a, beyond, out) : out;
    }
    return kx_and(a, kx_lt(a, c->first, c->limit), beyond);
}

const KExp *kcounted_within(KCounted *c, KBuild *b, const KExp *cond)
{
    Arena *a = b->arena;
    const KExp *base, *n = begin(c, b, cond, &base);
    const KExp *some = kx_sub(a, n, base), *none = kx_int(a, 0);
    return kb_let(b, "within", kx_select(a, is_within(a, base, n), some, none));
}
