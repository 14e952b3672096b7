/* Partial results that the last group to arrive combines (arrive.h). */
#include "kernels/level1/arrive.h"

#include "kernels/level1/board.h"

static PrimType word_of(PrimType t)
{
    return prim_type_bytes[t] == 8 ? T_U64 : T_U32;
}

ArriveMems arrive_mems(PlanBuild *pb, const Lambda *op, int n, const KExp *counters,
                       const KExp *parts)
{
    Ctx *cx = pb->cx;
    ArriveMems m = {.count = pb_mem(pb, "count"), .parts = NEWN(cx->perm, Mem *, n)};
    const KExp *word = sx_const(cx, prim_type_bytes[T_U32]);
    pb_alloc_shared(pb, m.count, sx_mul(cx, counters, word), ALLOC_COUNTS);
    for (int j = 0; j < n; j++) {
        int bytes = prim_type_bytes[word_of(op->params.at[j]->type.elem)];
        m.parts[j] = pb_alloc(pb, "partial", sx_mul(cx, parts, sx_const(cx, bytes)));
    }
    return m;
}

Arrive arrive_open(KGen *kg, const ArriveMems *m, int n, const PrimType *types)
{
    Arrive a = {.kg = kg, .n = n, .types = types};
    a.count = kg_param_mem(kg, m->count, T_U32);
    a.parts = NEWN(kg->cx->perm, KBuf *, n);
    for (int j = 0; j < n; j++)
        a.parts[j] = kg_param_mem(kg, m->parts[j], word_of(types[j]));
    a.told = kg_param_local(kg, "told", T_I32, sx_const(kg->cx, 1));
    return a;
}

void arrive_put(const Arrive *a, const KExp *at, const KExp *const *x)
{
    KGen *kg = a->kg;
    for (int j = 0; j < a->n; j++) {
        const KExp *bits = board_bits(kg, x[j]);
        kb_stm(kg->kb, (KStm){.kind = KST_POST, .buf = a->parts[j], .x = {at, bits}});
    }
}

const KExp **arrive_get(const Arrive *a, const KExp *at)
{
    KGen *kg = a->kg;
    const KExp **x = NEWN(kg->cx->perm, const KExp *, a->n);
    for (int j = 0; j < a->n; j++) {
        KVar *word = kb_var_new(kg->kb, "word", ktype(word_of(a->types[j])));
        kb_stm(kg->kb, (KStm){.kind = KST_PEEK, .var = word, .buf = a->parts[j], .x = {at}});
        x[j] = kb_let(kg->kb, "x", board_value(kg, a->types[j], kg_of(kg, word)));
    }
    return x;
}

/* Arrives; is it the last one? Then the counter is as it was. */
static const KExp *come(const Arrive *a, const KExp *counter, const KExp *all)
{
    KGen *kg = a->kg;
    KBuild *b = kg->kb;
    Arena *mem = kg->cx->perm;
    KVar *before = kb_var_new(b, "before", ktype(T_U32));
    kb_stm(b, (KStm){.kind = KST_ARRIVE, .var = before, .buf = a->count, .x = {counter}});
    const KExp *one = kx_conv(mem, T_U32, kg_int(kg, 1));
    const KExp *there = kx_prim2(mem, OP_ADD, kg_of(kg, before), one);
    const KExp *last = kb_let(b, "last", kg_eq(kg, there, kx_conv(mem, T_U32, all)));
    kb_if(b, last);
    kb_stm(b, (KStm){.kind = KST_POST,
                     .buf = a->count,
                     .x = {counter, kx_conv(mem, T_U32, kg_int(kg, 0))}});
    kb_end(b);
    return last;
}

/* `then` does not stand in a branch: PoCL does not get the barriers of loops right that do. */
void arrive(const Arrive *a, const KExp *one, const KExp *counter, const KExp *all,
            ArriveThen *then, void *env)
{
    KGen *kg = a->kg;
    KBuild *b = kg->kb;
    Arena *mem = kg->cx->perm;
    const KExp *zero = kg_int(kg, 0);
    kg_if_teams(kg);
    kb_if(b, one);
    kb_store(b, a->told, zero, kx_conv(mem, T_I32, come(a, counter, all)));
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL | 1u << KS_GLOBAL);
    const KExp *told = kb_load(b, "told", a->told, zero);
    then(env, kb_let(b, "last", kx_ne(mem, told, kg_zero(kg, T_I32))), true);
    kb_else(b);
    kb_if(b, one);
    then(env, come(a, counter, all), false);
    kb_end(b);
    kb_end(b);
}
