/* Numbers modulo the size of a group: what variables stand for is looked through, loops count from
 * where they begin in steps that are multiples. */
#include "kir/facts/dealt.h"

#include "base/ptrmap.h"

/* Modulo the size of the group: anything, nothing, the work-item's number. */
typedef enum { ANY, NONE, OWN } Rest;

struct KDealt {
    PtrMap *rests; /* variable -> &rest_of[...] */
    bool flat;     /* work-items are numbered in one dimension */
};
static const Rest rest_of[] = {ANY, NONE, OWN};

static Rest rest_sum(Rest x, Rest y)
{
    return x == NONE ? y : y == NONE ? x : ANY;
}

static Rest rest_prim(const KDealt *d, const KExp *x);

static Rest rest(const KDealt *d, const KExp *x)
{
    const Rest *known;
    switch (x->kind) {
    case KE_CONST: return x->type.elem == T_I64 && x->c.i == 0 ? NONE : ANY;
    case KE_VAR: return (known = ptrmap_get(d->rests, x->var)) ? *known : ANY;
    case KE_ID:
        return x->id == KID_LOCAL                                  ? OWN
               : x->id == KID_GROUP_SIZE || x->id == KID_GRID_SIZE ? NONE
                                                                   : ANY;
    case KE_CONV:
        return x->type.elem == T_I64 && x->x[0]->type.elem == T_I64 ? rest(d, x->x[0]) : ANY;
    case KE_PRIM: return x->exact && x->n == 2 ? rest_prim(d, x) : ANY;
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_SELECT:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return ANY;
}

static Rest rest_prim(const KDealt *d, const KExp *x)
{
    Rest a = rest(d, x->x[0]), b = rest(d, x->x[1]);
    if (x->op == OP_ADD)
        return rest_sum(a, b);
    if (x->op == OP_SUB)
        return b == NONE ? a : ANY;
    return x->op == OP_MUL && (a == NONE || b == NONE) ? NONE : ANY;
}

bool kdealt_step(const KExp *step, const KExp *to)
{
    step = kx_converted(step);
    if (step->kind != KE_ID)
        return false;
    return step->id == KID_GROUP_SIZE ||
           (step->id == KID_LEAD_SIZE && to->kind == KE_CONST && to->c.i <= LEAD_LEAST);
}

/* What is bound comes before what uses it. */
static bool find(void *env, KStm *s)
{
    KDealt *d = env;
    if (s->kind == KST_LET && s->x[0]->type.elem == T_I64)
        ptrmap_put(d->rests, s->var, &rest_of[rest(d, s->x[0])]);
    if (s->kind == KST_FOR && !s->doubling &&
        (rest(d, s->x[2]) == NONE || kdealt_step(s->x[2], s->x[1])))
        ptrmap_put(d->rests, s->var, &rest_of[rest(d, s->x[0])]);
    return true;
}

static void find_dims(void *env, const KExp *x)
{
    KDealt *d = env;
    if (x->kind == KE_ID && (x->id == KID_LOCAL || x->id == KID_GROUP_SIZE) && x->dim > 0)
        d->flat = false;
}

static bool find_dims_stm(void *env, KStm *s)
{
    kstm_visit_exps(s, find_dims, env);
    return true;
}

KDealt *kdealt_of(Arena *a, const KFun *f)
{
    KDealt *d = NEW(a, KDealt);
    *d = (KDealt){.rests = ptrmap_new(a), .flat = true};
    kblock_visit(&f->body, &(KVisitor){.env = d, .enter = find_dims_stm});
    kblock_visit(&f->body, &(KVisitor){.env = d, .enter = find});
    return d;
}

static bool is_dealt(const KDealt *d, const KExp *x)
{
    return d->flat && rest(d, x) == OWN;
}

bool kdealt_access(const KDealt *d, const KStm *s, const KExp *at)
{
    return !s->buf->of && kstm_lanes(s) == 1 && is_dealt(d, at);
}

/* --- Loops ------------------------------------------------------------------------------------ */

static const KExp *definition(const KInfo *info, const KExp *x)
{
    const KStm *s = x->kind == KE_VAR ? kinfo_get(info, x->var).def : NULL;
    return s && s->kind == KST_LET ? definition(info, s->x[0]) : x;
}

static bool is_id(const KInfo *info, const KExp *x, KId id)
{
    x = definition(info, x);
    return x->kind == KE_ID && x->id == id && x->dim == 0;
}

bool kdealt_is_number(const KInfo *info, const KExp *x)
{
    return is_id(info, x, KID_LOCAL);
}

/* In `for base from 0 to n by group_size { let j = base + local_id; if j < n {} }`, with more LETs
 * or without, j; else NULL. */
static const KExp *based(const KInfo *info, const KStm *s)
{
    const KBlock *b = &s->body[0];
    const KStm *last = b->n > 1 ? vec_last(b) : NULL;
    for (int i = 0; i < b->n - 1; i++)
        if (b->at[i]->kind != KST_LET)
            return NULL;
    if (!last || last->kind != KST_IF || last->body[1].n > 0)
        return NULL;
    const KExp *less = last->x[0],
               *j = less->kind == KE_PRIM && less->op == OP_LT ? less->x[0] : NULL;
    const KExp *sum =
        j && j->kind == KE_VAR && kx_same(less->x[1], s->x[1]) ? definition(info, j) : NULL;
    bool adds = sum && sum->kind == KE_PRIM && sum->op == OP_ADD && sum->exact &&
                sum->x[0]->kind == KE_VAR && sum->x[0]->var == s->var &&
                kdealt_is_number(info, sum->x[1]);
    return adds ? j : NULL;
}

bool kdealt_loop(Arena *a, const KInfo *info, KStm *s, KDealtLoop *loop)
{
    if (s->kind != KST_FOR || s->doubling || !is_id(info, s->x[2], KID_GROUP_SIZE))
        return false;
    bool straight = kdealt_is_number(info, s->x[0]);
    const KExp *j = straight ? kx_var(a, s->var) : kx_is_int(s->x[0], 0) ? based(info, s) : NULL;
    if (!j)
        return false;
    *loop = (KDealtLoop){s, j, straight ? &s->body[0] : &vec_last(&s->body[0])->body[0],
                         !straight && s->body[0].n > 2};
    return true;
}
