/* Making kernels: statements are appended to the innermost open block. */
#include "kir/kir.h"

#include "base/ident.h"

KBuild *kb_new(Arena *a)
{
    KBuild *b = NEW(a, KBuild);
    *b = (KBuild){.arena = a, .fun = NEW(a, KFun)};
    vec_push(a, &b->open, &b->fun->body);
    return b;
}

const char *kb_name(KBuild *b, const char *base)
{
    return arena_printf(b->arena, "%s_k%d", c_ident(base), ++b->n_names);
}

KVar *kb_var_new(KBuild *b, const char *base, KType t)
{
    KVar *v = NEW(b->arena, KVar);
    *v = (KVar){.name = kb_name(b, base), .type = t};
    return v;
}

KBuf *kb_buf_new(KBuild *b, const char *base, KSpace s, PrimType elem)
{
    KBuf *buf = NEW(b->arena, KBuf);
    *buf = (KBuf){.name = kb_name(b, base), .space = s, .elem = elem};
    return buf;
}

KBlock *kb_block(KBuild *b)
{
    return vec_last(&b->open);
}

static KStm *stm_new(KBuild *b, KStm s)
{
    KStm *p = NEW(b->arena, KStm);
    *p = s;
    if (!p->loc.beg)
        p->loc = b->at;
    return p;
}

KStm *kb_stm(KBuild *b, KStm s)
{
    KStm *p = stm_new(b, s);
    vec_push(b->arena, kb_block(b), p);
    return p;
}

/* --- Variables -------------------------------------------------------------------------------- */

void kb_let_var(KBuild *b, KVar *v, const KExp *x)
{
    kb_stm(b, (KStm){.kind = KST_LET, .var = v, .x = {x}});
}

void kb_load_var(KBuild *b, KVar *v, KBuf *buf, const KExp *at)
{
    kb_stm(b, (KStm){.kind = KST_LOAD, .var = v, .buf = buf, .x = {at}});
}

void kb_var_var(KBuild *b, KVar *v, const KExp *init)
{
    v->mutable_ = true;
    kb_stm(b, (KStm){.kind = KST_VAR, .var = v, .x = {init}});
}

const KExp *kb_let(KBuild *b, const char *base, const KExp *x)
{
    if (x->kind == KE_CONST || (x->kind == KE_VAR && !x->var->mutable_))
        return x;
    KVar *v = kb_var_new(b, base, x->type);
    kb_let_var(b, v, x);
    return kx_var(b->arena, v);
}

const KExp *kb_load(KBuild *b, const char *base, KBuf *buf, const KExp *at)
{
    KVar *v = kb_var_new(b, base, ktype(buf->elem));
    kb_load_var(b, v, buf, at);
    return kx_var(b->arena, v);
}

KVar *kb_var(KBuild *b, const char *base, PrimType t, const KExp *init)
{
    KVar *v = kb_var_new(b, base, ktype(t));
    kb_var_var(b, v, init);
    return v;
}

void kb_set(KBuild *b, KVar *v, const KExp *x)
{
    kb_stm(b, (KStm){.kind = KST_SET, .var = v, .x = {x}});
}

/* --- Memory ----------------------------------------------------------------------------------- */

void kb_store(KBuild *b, KBuf *buf, const KExp *at, const KExp *x)
{
    kb_stm(b, (KStm){.kind = KST_STORE, .buf = buf, .x = {at, x}});
}

KBuf *kb_array(KBuild *b, const char *base, PrimType elem, int64_t count)
{
    KBuf *buf = kb_buf_new(b, base, KS_PRIVATE, elem);
    buf->count = count > 0 ? count : 1;
    kb_stm(b, (KStm){.kind = KST_ARRAY, .buf = buf});
    return buf;
}

void kb_fresh(KBuild *b, KBuf *buf)
{
    kb_stm(b, (KStm){.kind = KST_FRESH, .buf = buf});
}

void kb_meet(KBuild *b, unsigned fence)
{
    kb_stm(b, (KStm){.kind = KST_BARRIER, .fence = fence});
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static KStm *open_stm(KBuild *b, KStm s)
{
    KStm *p = kb_stm(b, s);
    vec_push(b->arena, &b->open, &p->body[0]);
    return p;
}

void kb_enter(KBuild *b, KBlock *block)
{
    vec_push(b->arena, &b->open, block);
}

void kb_end(KBuild *b)
{
    ASSERT(b->open.n > 1);
    b->open.n--;
}

void kb_for_var(KBuild *b, KVar *v, const KExp *from, const KExp *to, const KExp *step)
{
    open_stm(b, (KStm){.kind = KST_FOR, .var = v, .x = {from, to, step}});
}

const KExp *kb_for(KBuild *b, const char *base, const KExp *from, const KExp *to, const KExp *step)
{
    KVar *v = kb_var_new(b, base, to->type);
    kb_for_var(b, v, from, to, step);
    return kx_var(b->arena, v);
}

const KExp *kb_for_times(KBuild *b, const char *base, const KExp *from, const KExp *to, int factor)
{
    KVar *v = kb_var_new(b, base, to->type);
    KStm s = {.kind = KST_FOR, .var = v, .doubling = true};
    s.x[0] = from;
    s.x[1] = to;
    s.x[2] = kx_int(b->arena, factor);
    open_stm(b, s);
    return kx_var(b->arena, v);
}

KStm *kb_while(KBuild *b, const KExp *cond)
{
    return open_stm(b, (KStm){.kind = KST_WHILE, .x = {cond}});
}

void kb_if(KBuild *b, const KExp *cond)
{
    open_stm(b, (KStm){.kind = KST_IF, .x = {cond}});
}

void kb_if_likely(KBuild *b, const KExp *cond)
{
    open_stm(b, (KStm){.kind = KST_IF, .x = {cond}, .likely = true});
}

void kb_else(KBuild *b)
{
    kb_end(b);
    KStm *s = vec_last(kb_block(b));
    ASSERT(s->kind == KST_IF && s->body[1].n == 0);
    vec_push(b->arena, &b->open, &s->body[1]);
}

void kb_open_block(KBuild *b)
{
    open_stm(b, (KStm){.kind = KST_BLOCK});
}

KStm *kb_work(KBuild *b)
{
    return open_stm(b, (KStm){.kind = KST_WORK, .label = kb_name(b, "stop")});
}

void kb_leave(KBuild *b, const KStm *work)
{
    kb_stm(b, (KStm){.kind = KST_LEAVE, .target = work});
}

KStm *kb_do(KBuild *b)
{
    return open_stm(b, (KStm){.kind = KST_WHILE, .post = true});
}

void kb_do_end(KBuild *b, KStm *loop, const KExp *cond)
{
    loop->x[0] = cond;
    kb_end(b);
}

bool kir_leaves(const KBlock *b, const KStm *work)
{
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if ((s->kind == KST_LEAVE && s->target == work) || kir_leaves(&s->body[0], work) ||
            kir_leaves(&s->body[1], work))
            return true;
    }
    return false;
}

/* --- Places ----------------------------------------------------------------------------------- */

KPlace kb_place(KBuild *b)
{
    return (KPlace){kb_block(b), kb_block(b)->n};
}

void kb_insert(KBuild *b, KPlace p, KStm s)
{
    vec_push(b->arena, p.block, NULL);
    for (int i = p.block->n - 1; i > p.i; i--)
        p.block->at[i] = p.block->at[i - 1];
    p.block->at[p.i] = stm_new(b, s);
}

/* --- Functions -------------------------------------------------------------------------------- */

KType kfun_gives(const KFun *f)
{
    ASSERT(f->is_function && f->body.n > 0);
    return vec_last(&f->body)->x[0]->type;
}
