/* Shifts by the counter of a loop, as loops over the bits of a number have them, go along: a
 * variable begins as x and is shifted by one at the end of each turn.
 *
 *     for i ..                            var y = x
 *         let t = shr(x, conv.i32 i)  =>  for i ..
 *         ..                                  let t = y
 *                                             ..
 *                                             set y = conv.i32 i == -1 ? x : shr(y, 1)
 *
 * The target's compiler unrolls such a loop and knows by how many bits two of its turns differ, so
 * that the test of a bit is one instruction. Of x >> i it knows nothing, and has to keep i below
 * the number of bits; a shift by more gives what shifts by one come to. (Where the counter has more
 * bits than the shift, i comes to 0 again.) Nothing changes for CPUs: their compilers make vectors
 * of the turns, which a value that goes along prevents. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_SHIFTED = 4 };

typedef struct {
    KBuild *b;
    const KStm *loop;
    PtrMap *lets;  /* KVar -> the value of its LET in the loop */
    PtrSet *bound; /* variables bound in the loop */
    const KExp *values[MOST_SHIFTED];
    KVar *shifted[MOST_SHIFTED];
    int n;
} Shifts;

static bool note(void *env, KStm *s)
{
    Shifts *w = env;
    if (kstm_def(s))
        ptrset_add(w->bound, kstm_def(s));
    if (s->kind == KST_LET)
        ptrmap_put(w->lets, s->var, s->x[0]);
    return true;
}

/* What names in the loop stand for. */
static const KExp *named(const Shifts *w, const KExp *x)
{
    const KExp *let;
    while (x->kind == KE_VAR && (let = ptrmap_get(w->lets, x->var)))
        x = let;
    return x;
}

/* Is it the loop's counter, as a number of whatever type? */
static bool is_counter(const Shifts *w, const KExp *x)
{
    x = named(w, x);
    if (x->kind == KE_CONV)
        x = named(w, x->x[0]);
    return x->kind == KE_VAR && x->var == w->loop->var;
}

/* A variable that is the same in all turns, shifted by the counter. */
static bool goes_along(const Shifts *w, const KExp *x)
{
    if (x->kind != KE_PRIM || x->op != OP_SHR || x->type.lanes != 1 || x->type.index)
        return false;
    const KExp *v = x->x[0];
    return v->kind == KE_VAR && !v->var->mutable_ && !ptrset_has(w->bound, v->var) &&
           v->var != w->loop->var && is_counter(w, x->x[1]);
}

/* The variable that is the value shifted; NULL: there are too many. */
static KVar *shifted(Shifts *w, const KExp *value)
{
    for (int k = 0; k < w->n; k++)
        if (kx_same(w->values[k], value))
            return w->shifted[k];
    if (w->n == MOST_SHIFTED)
        return NULL;
    w->values[w->n] = value;
    return w->shifted[w->n++] = kb_var(w->b, "shifted", value->type.elem, value);
}

static bool replace(void *env, KStm *s)
{
    Shifts *w = env;
    if (s->kind == KST_LET && goes_along(w, s->x[0])) {
        KVar *y = shifted(w, s->x[0]->x[0]);
        if (y)
            s->x[0] = kx_var(w->b->arena, y);
    }
    return true;
}

static const KExp *number(Arena *a, PrimType t, int64_t k)
{
    return kx_const(a, (Const){.type = t, .i = k});
}

static const KExp *next(const Shifts *w, int k)
{
    Arena *a = w->b->arena;
    PrimType t = w->values[k]->type.elem;
    int bits = prim_bits(t);
    const KExp *y = kx_prim2(a, OP_SHR, kx_var(a, w->shifted[k]), number(a, t, 1));
    if (bits == 64)
        return y;
    const KExp *last = number(a, t, prim_is_signed(t) ? -1 : ((int64_t)1 << bits) - 1);
    const KExp *i = kx_conv(a, t, kx_var(a, w->loop->var));
    return kx_select(a, kx_eq(a, i, last), w->values[k], y);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if (s->kind == KST_FOR && !s->doubling && kx_is_int(s->x[0], 0) && kx_is_int(s->x[2], 1) &&
        !kblock_ends_by_leaving(&s->body[0])) {
        Shifts w = {b, s, ptrmap_new(b->arena), ptrmap_new(b->arena), {0}, {0}, 0};
        kblock_visit(&s->body[0], &(KVisitor){.env = &w, .enter = note});
        kblock_visit(&s->body[0], &(KVisitor){.env = &w, .enter = replace});
        kb_into(b, &s->body[0]);
        for (int k = 0; k < w.n; k++)
            kb_set(b, w.shifted[k], next(&w, k));
        kb_end(b);
    }
    kb_push(b, s);
}

void kir_shifts(Arena *a, KFun *f)
{
    if (!f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave});
}
