/* Keys of kernels: a walk in order, in which variables, buffers and labels are told by the numbers
 * that they get where they come first. Whatever has parts or may be missing is told with its number
 * of parts, so that different kernels have different words. */
#include "kir/hash.h"

#include "base/intern.h"

#include <string.h>

KKeyWords kkey_words(Arena *a)
{
    return (KKeyWords){.arena = a, .numbers = ptrmap_new(a)};
}

void kkey_put(KKeyWords *k, uint64_t w)
{
    vec_push(k->arena, &k->words, w);
}

bool kkey_put_object(KKeyWords *k, const void *p)
{
    uintptr_t n = p ? (uintptr_t)ptrmap_get(k->numbers, p) : 0;
    bool first = p && !n;
    if (first) {
        n = (uintptr_t)ptrmap_count(k->numbers) + 1;
        ptrmap_put(k->numbers, p, (const void *)n);
    }
    kkey_put(k, n);
    return first;
}

static void put_text(KKeyWords *k, const char *text)
{
    kkey_put(k, text ? (uint64_t)(uintptr_t)intern(text) : 0);
}

static void put_type(KKeyWords *k, KType t)
{
    kkey_put(k, (uint64_t)t.elem << 16 | (uint64_t)t.lanes << 8 | t.index);
}

static void put_var(KKeyWords *k, const KVar *v)
{
    if (kkey_put_object(k, v)) {
        put_type(k, v->type);
        kkey_put(k, v->mutable_);
    }
}

static uint64_t buf_flags(const KBuf *b)
{
    return (uint64_t)b->space << 16 | (uint64_t)b->elem << 8 | b->padded << 5 | b->own_writes << 4 |
           b->read_only << 3 | b->no_alias << 2 | b->write_any << 1 | b->unshared;
}

static void put_buf(KKeyWords *k, const KBuf *b)
{
    if (!kkey_put_object(k, b))
        return;
    kkey_put(k, buf_flags(b));
    kkey_put(k, (uint64_t)b->count);
    kkey_put(k, (uint64_t)b->align);
    put_buf(k, b->of);
}

void kkey_put_const(KKeyWords *k, Const c)
{
    uint64_t bits = (uint64_t)c.i;
    if (prim_is_float(c.type))
        memcpy(&bits, &c.f, sizeof bits);
    kkey_put(k, bits);
}

/* Equal ones are one, and large ones share their parts: each is told once. */
void kkey_put_exp(KKeyWords *k, const KExp *x)
{
    if (!x) {
        kkey_put(k, UINT64_MAX);
        return;
    }
    if (x->n > 0 && !kkey_put_object(k, x))
        return;
    kkey_put(k, (uint64_t)x->kind << 32 | (uint64_t)x->n << 2 | x->saturate << 1 | x->exact);
    put_type(k, x->type);
    if (x->kind == KE_CONST)
        kkey_put_const(k, x->c);
    else if (x->kind == KE_VAR)
        put_var(k, x->var);
    else if (x->kind == KE_HOST)
        kkey_put_object(k, x->host);
    else
        kkey_put(k, (uint64_t)x->op << 32 | (uint64_t)x->fact << 24 | (uint64_t)x->id << 16 |
                        (uint64_t)x->dim);
    for (int i = 0; i < x->n; i++)
        kkey_put_exp(k, x->x[i]);
}

static void put_block(KKeyWords *k, const KBlock *b);

static uint64_t stm_flags(const KStm *s)
{
    return (uint64_t)s->op << 32 | (uint64_t)s->fence << 16 | s->likely << 3 | s->lead << 2 |
           s->doubling << 1 | s->post;
}

/* Once; what it does, not its name. */
static void put_function(KKeyWords *k, const KFun *f)
{
    if (!kkey_put_object(k, f))
        return;
    for (int i = 0; i < f->params.n; i++)
        put_var(k, f->params.at[i].var);
    put_block(k, &f->body);
}

static uint64_t tile_word(const KTile *t)
{
    uint64_t w = (uint64_t)t->elem << 2 | (uint64_t)t->turned[0] << 1 | t->turned[1];
    w = w << 10 | (uint64_t)t->rows;
    w = w << 10 | (uint64_t)t->cols;
    w = w << 10 | (uint64_t)t->k << 1 | (uint64_t)t->half;
    w = w << 12 | (uint64_t)t->pitch[0];
    return w << 12 | (uint64_t)t->pitch[1];
}

static uint64_t wide_word(const KTile *t)
{
    uint64_t w = (uint64_t)t->wide << 2 | (uint64_t)t->fresh << 1 | t->last;
    w = w << 1 | t->rounded;
    return (w << 12 | (uint64_t)t->tall[0]) << 12 | (uint64_t)t->tall[1];
}

static void put_stm(KKeyWords *k, const KStm *s)
{
    kkey_put(k, s->kind);
    kkey_put(k, stm_flags(s));
    kkey_put(k, (uint64_t)(uint32_t)s->unroll << 32 | (uint32_t)s->site);
    if (s->kind == KST_WORK)
        kkey_put_object(k, s);
    kkey_put_object(k, s->target);
    put_text(k, s->text);
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        kkey_put_exp(k, s->x[i]);
    kkey_put(k, (uint64_t)s->args.n);
    for (int i = 0; i < s->args.n; i++)
        kkey_put_exp(k, s->args.at[i]);
    put_var(k, s->var);
    put_var(k, s->top);
    put_buf(k, s->buf);
    put_buf(k, s->with);
    kkey_put(k, tile_word(&s->tile));
    kkey_put(k, wide_word(&s->tile));
    put_function(k, s->fun);
    for (int i = 0; i < 2; i++)
        put_block(k, &s->body[i]);
}

static void put_block(KKeyWords *k, const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->at[i]->kind != KST_COMMENT)
            put_stm(k, b->at[i]);
    kkey_put(k, N_KSTMS); /* the end */
}

KKey kkey_of(const KKeyWords *k)
{
    uint64_t h = 0;
    for (int i = 0; i < k->words.n; i++) {
        h = (h ^ k->words.at[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    return (KKey){h, k->words.n, k->words.at};
}

static uint64_t fun_flags(const KFun *f)
{
    return (uint64_t)f->columns << 32 | (uint64_t)f->heap_types << 3 | (uint64_t)f->sized << 2 |
           (uint64_t)f->narrow << 1 | f->may_fail;
}

KKey kir_key(Arena *a, const KFun *f)
{
    KKeyWords k = kkey_words(a);
    kkey_put(&k, fun_flags(f));
    kkey_put(&k, (uint64_t)f->params.n);
    for (int i = 0; i < f->params.n; i++) {
        kkey_put(&k, (uint64_t)f->params.at[i].kind << 1 | f->params.at[i].steady);
        put_buf(&k, f->params.at[i].buf);
        put_var(&k, f->params.at[i].var);
    }
    kkey_put(&k, (uint64_t)f->slices.n);
    for (int i = 0; i < f->slices.n; i++) {
        put_buf(&k, f->slices.at[i].buf);
        kkey_put_exp(&k, f->slices.at[i].count);
    }
    put_block(&k, &f->body);
    return kkey_of(&k);
}

bool kkey_same(KKey x, KKey y)
{
    return x.hash == y.hash && x.n == y.n &&
           memcmp(x.words, y.words, sizeof *x.words * (size_t)x.n) == 0;
}

/* --- Stamps --- */

static void mix(uint64_t *h, uint64_t w)
{
    *h = (*h ^ w) * UINT64_C(0x9E3779B97F4A7C15);
    *h ^= *h >> 29;
}

static void mix_object(uint64_t *h, const void *p)
{
    mix(h, (uint64_t)(uintptr_t)p);
}

static void stamp_var(uint64_t *h, const KVar *v)
{
    mix_object(h, v);
    if (!v)
        return;
    mix_object(h, v->name);
    mix(h, (uint64_t)v->type.elem << 17 | (uint64_t)v->type.lanes << 9 | v->type.index << 1 |
               v->mutable_);
}

static void stamp_buf(uint64_t *h, const KBuf *b)
{
    mix_object(h, b);
    if (!b)
        return;
    mix_object(h, b->name);
    mix(h, buf_flags(b));
    mix(h, (uint64_t)b->count);
    mix(h, (uint64_t)b->align);
    mix_object(h, b->of);
}

static void stamp_block(uint64_t *h, const KBlock *b)
{
    mix(h, (uint64_t)b->n);
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        mix_object(h, s);
        mix(h, s->kind);
        mix(h, stm_flags(s));
        mix(h, (uint64_t)(uint32_t)s->unroll << 32 | (uint32_t)s->site);
        mix_object(h, s->target);
        mix_object(h, s->label);
        mix_object(h, s->text);
        mix_object(h, s->fun);
        for (int k = 0; k < 3; k++)
            mix_object(h, s->x[k]);
        for (int k = 0; k < s->args.n; k++)
            mix_object(h, s->args.at[k]);
        stamp_var(h, s->var);
        stamp_var(h, s->top);
        stamp_buf(h, s->buf);
        stamp_buf(h, s->with);
        mix(h, tile_word(&s->tile));
        mix(h, wide_word(&s->tile));
        for (int k = 0; k < 2; k++)
            stamp_block(h, &s->body[k]);
    }
}

uint64_t kir_stamp(const KFun *f)
{
    uint64_t h = fun_flags(f);
    mix(&h, (uint64_t)f->alone << 32 | (uint64_t)f->vector_bytes);
    for (int i = 0; i < f->narrow_when.n; i++)
        mix_object(&h, f->narrow_when.at[i]);
    for (int i = 0; i < f->params.n; i++) {
        mix(&h, (uint64_t)f->params.at[i].kind << 1 | f->params.at[i].steady);
        stamp_buf(&h, f->params.at[i].buf);
        stamp_var(&h, f->params.at[i].var);
    }
    for (int i = 0; i < f->slices.n; i++) {
        stamp_buf(&h, f->slices.at[i].buf);
        mix_object(&h, f->slices.at[i].count);
    }
    stamp_block(&h, &f->body);
    return h;
}
