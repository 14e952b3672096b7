/* What parameters in global memory have to do with each other, as facts of their buffers: what is
 * only read may be cached, and what no other parameter reaches needs no order. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

static bool find_written(void *env, KStm *s)
{
    if (s->buf && kstm_writes(s))
        ptrset_add(env, kbuf_root(s->buf));
    return true;
}

static bool is_global(const KFormal *p)
{
    return p->kind == KP_MEM && p->buf->space == KS_GLOBAL;
}

void kir_aliases(Arena *a, KFun *f, KApartFn *apart, void *env)
{
    PtrSet *written = ptrmap_new(a); /* buffers, themselves or by a view */
    kblock_visit(&f->body, &(KVisitor){.env = written, .enter = find_written});
    for (int i = 0; i < f->params.n; i++) {
        if (!is_global(&f->params.at[i]))
            continue;
        KBuf *b = f->params.at[i].buf;
        bool writes = ptrset_has(written, b);
        b->read_only = !writes;
        b->no_alias = true;
        for (int k = 0; k < f->params.n; k++) {
            if (k == i || !is_global(&f->params.at[k]) || apart(env, i, k))
                continue;
            bool other_writes = ptrset_has(written, f->params.at[k].buf);
            b->read_only &= !other_writes;
            b->no_alias &= !writes && !other_writes;
        }
    }
}
