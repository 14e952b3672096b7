/* Positions as polynomials: see position.h. */
#include "kir/facts/position.h"

#include "exp/expmap.h"
#include "kir/walk.h"

enum { MOST_STEPS = 64 }; /* for one question: what stands for a variable may have it twice */

struct KPositions {
    Arena *arena;
    const KInfo *info;
    PtrMap *views;   /* VIEW's buffer -> the KStm */
    ExpMap *numbers; /* KExp -> its Leaf, as a pointer */
    KExps leaves;    /* of Leaf 1, 2 ... */
    int steps;
    bool exact; /* what may wrap around is a leaf */
};

static bool find_view(void *env, KStm *s)
{
    KPositions *p = env;
    if (s->kind == KST_VIEW)
        ptrmap_put(p->views, s->buf, s);
    return true;
}

KPositions *kpositions_new(Arena *a, const KFun *f)
{
    KPositions *p = NEW(a, KPositions);
    *p = (KPositions){.arena = a,
                      .info = kinfo_of(a, &f->body),
                      .views = ptrmap_new(a),
                      .numbers = expmap_new(a)};
    kblock_visit(&f->body, &(KVisitor){.env = p, .enter = find_view});
    return p;
}

/* What the variable is bound to, NULL if that is not told or may change. */
static const KExp *definition(const KPositions *p, const KVar *v)
{
    const KStm *s = kinfo_get(p->info, v).def;
    return s && s->kind == KST_LET && !kexp_changes(s->x[0]) ? s->x[0] : NULL;
}

/* --- Sums ------------------------------------------------------------------------------------- */

static Poly leaf(KPositions *p, const KExp *x)
{
    uintptr_t n = (uintptr_t)expmap_get(p->numbers, x);
    if (!n) {
        vec_push(p->arena, &p->leaves, x);
        n = (uintptr_t)p->leaves.n;
        expmap_put(p->numbers, x, (const void *)n);
    }
    return poly_leaf((Leaf)n);
}

static bool is_i64(const KExp *x)
{
    return x->type.elem == T_I64 && x->type.lanes == 1;
}

static Poly sum_of(KPositions *p, const KExp *x);

static Poly prim_sum(KPositions *p, const KExp *x)
{
    bool sum = x->op == OP_ADD || x->op == OP_SUB;
    if (x->saturate || (!sum && x->op != OP_MUL) || (p->exact && !x->exact))
        return leaf(p, x);
    Poly r = sum_of(p, x->x[0]), y = sum_of(p, x->x[1]);
    bool ok = sum ? poly_add(&r, &y, x->op == OP_ADD ? 1 : -1) : poly_mul(&r, &y);
    return ok ? r : leaf(p, x);
}

static Poly sum_of(KPositions *p, const KExp *x)
{
    if (!is_i64(x) || ++p->steps > MOST_STEPS)
        return leaf(p, x);
    switch (x->kind) {
    case KE_CONST: return poly_const(x->c.i);
    case KE_VAR: {
        const KExp *def = definition(p, x->var);
        return def ? sum_of(p, def) : leaf(p, x);
    }
    case KE_CONV: return is_i64(x->x[0]) ? sum_of(p, x->x[0]) : leaf(p, x);
    case KE_PRIM: return prim_sum(p, x);
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_SELECT:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return leaf(p, x);
}

Poly kposition(KPositions *p, const KExp *x)
{
    p->steps = 0;
    return sum_of(p, x);
}

Poly kposition_exact(KPositions *p, const KExp *x)
{
    p->exact = true;
    Poly r = kposition(p, x);
    p->exact = false;
    return r;
}

const KExp *kposition_leaf(const KPositions *p, Leaf l)
{
    return p->leaves.at[l - 1];
}

bool kposition_distance(const Poly *x, const Poly *y, int64_t *by)
{
    Poly d = *y;
    bool ok = poly_add(&d, x, -1) && d.n == 0;
    *by = ok ? d.c : 0;
    return ok;
}

int64_t kposition_factor(const Poly *x, Leaf l)
{
    Poly factor, rest;
    poly_split(x, l, &factor, &rest);
    return factor.n ? 0 : factor.c;
}

bool kposition_turns_apart(const Poly *x, const Poly *y, int64_t k)
{
    int64_t by;
    return k && kposition_distance(x, y, &by) && (by == 0 || by % k != 0);
}

/* --- Multiples -------------------------------------------------------------------------------- */

static int64_t lesser(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* The largest power of two that divides k, at most `most`. */
static int64_t power_in(int64_t k, int64_t most)
{
    uint64_t power = (uint64_t)k & -(uint64_t)k;
    return k && power < (uint64_t)most ? (int64_t)power : most;
}

static int64_t multiple(KPositions *p, const KExp *x, int64_t most);

/* Of what each of them is. */
static int64_t multiple_both(KPositions *p, const KExp *x, const KExp *y, int64_t most)
{
    return multiple(p, y, multiple(p, x, most));
}

static int64_t prim_multiple(KPositions *p, const KExp *x, int64_t most)
{
    switch ((int)x->op) { /* what positions are made of */
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX: return x->saturate ? 1 : multiple_both(p, x->x[0], x->x[1], most);
    case OP_REM: return x->exact ? multiple_both(p, x->x[0], x->x[1], most) : 1;
    case OP_MUL: {
        int64_t k = multiple(p, x->x[0], most);
        return x->saturate ? 1 : k * multiple(p, x->x[1], most / k);
    }
    }
    return 1;
}

static int64_t var_multiple(KPositions *p, const KVar *v, int64_t most)
{
    const KStm *s = kinfo_get(p->info, v).def;
    if (!s || v->mutable_)
        return 1;
    if (s->kind == KST_LET)
        return multiple(p, s->x[0], most);
    if (s->kind != KST_FOR)
        return 1;
    return s->doubling ? multiple(p, s->x[0], most) : multiple_both(p, s->x[0], s->x[2], most);
}

static int64_t multiple(KPositions *p, const KExp *x, int64_t most)
{
    if (!is_i64(x) || most == 1 || ++p->steps > MOST_STEPS)
        return 1;
    switch (x->kind) {
    case KE_CONST: return power_in(x->c.i, most);
    case KE_VAR: return var_multiple(p, x->var, most);
    case KE_PRIM: return prim_multiple(p, x, most);
    case KE_SELECT: return multiple_both(p, x->x[1], x->x[2], most);
    case KE_CONV: return multiple(p, x->x[0], most); /* of an i64; else 1 */
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_ID:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: break;
    }
    return 1;
}

static int64_t term_multiple(KPositions *p, const Term *t, int64_t most)
{
    int64_t k = power_in(t->k, most);
    for (int i = 0; i < POLY_DEGREE && t->leaves[i]; i++)
        k *= multiple(p, kposition_leaf(p, t->leaves[i]), most / k);
    return k;
}

int64_t kposition_step(KPositions *p, const Poly *x, int64_t most)
{
    p->steps = 0;
    for (int i = 0; i < x->n; i++)
        most = term_multiple(p, &x->t[i], most);
    return most;
}

int64_t kposition_align(KPositions *p, const KBuf *b, int64_t most)
{
    p->steps = 0;
    while (b->of) {
        const KStm *view = ptrmap_get(p->views, b);
        if (view->x[0])
            most = multiple(p, view->x[0], most);
        b = b->of;
    }
    return lesser(most, b->align ? b->align : prim_type_bytes[b->elem]);
}
