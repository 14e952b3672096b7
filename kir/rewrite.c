/* Rewriting kernels in place, and copying them. */
#include "kir/walk.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void kstm_map_exps(Arena *a, KStm *s, KExpMap *fn, void *env)
{
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        s->x[i] = kexp_map(a, s->x[i], fn, env);
    for (int i = 0; i < s->args.n; i++)
        s->args.at[i] = kexp_map(a, s->args.at[i], fn, env);
}

void kblock_map_exps(Arena *a, KBlock *b, KExpMap *fn, void *env)
{
    for (int i = 0; i < b->n; i++) {
        kstm_map_exps(a, b->at[i], fn, env);
        for (int k = 0; k < 2; k++)
            kblock_map_exps(a, &b->at[i]->body[k], fn, env);
    }
}

static const KExp *subst(void *env, const KExp *x)
{
    const KExp *to = x->kind == KE_VAR ? ptrmap_get(env, x->var) : NULL;
    return to ? to : x;
}

void kblock_subst(Arena *a, KBlock *b, const PtrMap *to)
{
    kblock_map_exps(a, b, subst, (PtrMap *)(uintptr_t)to);
}

/* --- Additions -------------------------------------------------------------------------------- */

/* The N of a name that ends in _kN, 0 if it does not. */
static int number_of(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    unsigned k = 0;
    for (unsigned digit = 1; n > 0 && isdigit((unsigned char)name[n - 1]); digit *= 10)
        k += digit * (unsigned)(name[--n] - '0');
    return n >= 2 && name[n - 1] == 'k' && name[n - 2] == '_' ? (int)k : 0;
}

static void note_name(KBuild *b, const char *name)
{
    int k = number_of(name);
    b->n_names = k > b->n_names ? k : b->n_names;
}

static bool note_names(void *env, KStm *s)
{
    KBuild *b = env;
    note_name(b, s->var ? s->var->name : NULL);
    note_name(b, s->buf ? s->buf->name : NULL);
    note_name(b, s->label);
    return true;
}

KBuild *kb_more(Arena *a, KFun *f)
{
    KBuild *b = NEW(a, KBuild);
    *b = (KBuild){.arena = a, .fun = f};
    for (int i = 0; i < f->params.n; i++) {
        const KFormal *p = &f->params.at[i];
        note_name(b, p->var ? p->var->name : NULL);
        note_name(b, p->buf ? p->buf->name : NULL);
    }
    kblock_visit(&f->body, &(KVisitor){.env = b, .enter = note_names});
    return b;
}

void kb_into(KBuild *b, KBlock *block)
{
    vec_push(b->arena, &b->open, block);
}

void kb_push(KBuild *b, KStm *s)
{
    vec_push(b->arena, kb_block(b), s);
}

void kblock_rewrite(KBuild *b, KBlock *block, const KRewriter *r)
{
    KBlock old = *block;
    *block = (KBlock){0};
    Loc at = b->at;
    vec_push(b->arena, &b->open, block);
    for (int i = 0; i < old.n; i++) {
        KStm *s = old.at[i];
        if (r->enter)
            r->enter(r->env, s);
        for (int k = 0; k < 2; k++)
            if (s->body[k].n > 0)
                kblock_rewrite(b, &s->body[k], r);
        b->at = s->loc;
        r->leave(r->env, b, s);
    }
    b->open.n--;
    b->at = at;
}

/* --- Copying ---------------------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    KBuild *names; /* new names are made with it; NULL: they stay, and nothing is shared */
    PtrMap *exps;  /* KVar -> KExp */
    PtrMap *bufs;  /* KBuf -> KBuf */
    PtrMap *works; /* KStm -> KStm */
} Copy;

static const char *copy_text(const Copy *c, const char *text)
{
    return text && !c->names ? arena_strdup(c->arena, text) : text;
}

/* The same base with another number. */
static const char *copy_name(const Copy *c, const char *name)
{
    if (!c->names)
        return copy_text(c, name);
    size_t n = strlen(name);
    if (number_of(name)) {
        while (name[n - 1] != '_')
            n--;
        n--;
    }
    return arena_printf(c->arena, "%.*s_k%d", (int)n, name, ++c->names->n_names);
}

static KVar *copy_binder(const Copy *c, const KVar *v)
{
    KVar *to = NEW(c->arena, KVar);
    *to = *v;
    to->name = copy_name(c, v->name);
    ptrmap_put(c->exps, v, kx_var(c->arena, to));
    return to;
}

/* The variable that stands for one that the statement changes. */
static KVar *copy_changed(const Copy *c, KVar *v)
{
    const KExp *to = v ? ptrmap_get(c->exps, v) : NULL;
    if (!to)
        return v;
    ASSERT(to->kind == KE_VAR);
    return (KVar *)(uintptr_t)to->var;
}

static KBuf *copy_buf(const Copy *c, KBuf *b)
{
    KBuf *to = ptrmap_get(c->bufs, b);
    return to ? to : b;
}

static KBuf *copy_declared(const Copy *c, const KBuf *b)
{
    KBuf *to = NEW(c->arena, KBuf);
    *to = *b;
    to->name = copy_name(c, b->name);
    if (b->of)
        to->of = copy_buf(c, (KBuf *)(uintptr_t)b->of);
    ptrmap_put(c->bufs, b, to);
    return to;
}

/* The same in the copy's arena. */
static const KExp *whole_exp(const Copy *c, const KExp *x)
{
    enum { MOST = 8 };
    const KExp *operands[MOST], *to = x->kind == KE_VAR ? ptrmap_get(c->exps, x->var) : NULL;
    if (to && to->type.index == x->type.index)
        return to;
    KExp e = *x;
    e.var = to ? to->var : x->var;
    ASSERT(x->n <= MOST);
    for (int i = 0; i < x->n; i++)
        operands[i] = whole_exp(c, x->x[i]);
    e.x = operands;
    return kx_node(c->arena, e);
}

static const KExp *copy_exp(const Copy *c, const KExp *x)
{
    if (!x)
        return NULL;
    return c->names ? kexp_subst(c->arena, x, c->exps) : whole_exp(c, x);
}

static KBlock copy_block(const Copy *c, const KBlock *b);

/* What the operands are is found before what the statement binds, which they do not see. */
static KStm *copy_stm(const Copy *c, const KStm *s)
{
    KStm *to = NEW(c->arena, KStm);
    *to = *s;
    to->args = (KExps){0};
    for (int i = 0; i < s->args.n; i++)
        vec_push(c->arena, &to->args, copy_exp(c, s->args.at[i]));
    /* The condition at the end of a do-while sees nothing of its block, either. */
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        to->x[i] = copy_exp(c, s->x[i]);
    to->text = copy_text(c, s->text);
    to->buf = kstm_declares(s) ? copy_declared(c, s->buf) : copy_buf(c, s->buf);
    to->with = copy_buf(c, s->with);
    to->var = kstm_def(s) ? copy_binder(c, s->var) : copy_changed(c, s->var);
    to->top = copy_changed(c, s->top);
    if (s->label) {
        to->label = copy_name(c, s->label);
        ptrmap_put(c->works, s, to);
    }
    const KStm *work = s->target ? ptrmap_get(c->works, s->target) : NULL;
    to->target = work ? work : s->target;
    for (int k = 0; k < 2; k++)
        to->body[k] = copy_block(c, &s->body[k]);
    return to;
}

static KBlock copy_block(const Copy *c, const KBlock *b)
{
    KBlock to = {.n = b->n, .cap = b->n};
    to.at = b->n > 0 ? NEWN(c->arena, KStm *, b->n) : NULL;
    for (int i = 0; i < b->n; i++)
        to.at[i] = copy_stm(c, b->at[i]);
    return to;
}

KBlock kblock_copy(KBuild *b, const KBlock *block, const PtrMap *to)
{
    Arena *a = b->arena;
    PtrMap *exps = to ? ptrmap_copy(a, to) : ptrmap_new(a);
    Copy c = {a, b, exps, ptrmap_new(a), ptrmap_new(a)};
    return copy_block(&c, block);
}

KFun *kfun_copy(Arena *a, const KFun *f)
{
    Arena *maps = arena_new();
    Copy c = {a, NULL, ptrmap_new(maps), ptrmap_new(maps), ptrmap_new(maps)};
    KFun *to = NEW(a, KFun);
    *to = *f;
    to->params = (KFormals){0};
    for (int i = 0; i < f->params.n; i++) {
        KFormal p = f->params.at[i];
        p.buf = p.buf ? copy_declared(&c, p.buf) : NULL;
        p.var = p.var ? copy_binder(&c, p.var) : NULL;
        vec_push(a, &to->params, p);
    }
    to->slices = (KSlices){0};
    for (int i = 0; i < f->slices.n; i++) {
        KSlice s = f->slices.at[i];
        vec_push(a, &to->slices, ((KSlice){copy_buf(&c, s.buf), copy_exp(&c, s.count)}));
    }
    to->narrow_when = (KExps){0};
    for (int i = 0; i < f->narrow_when.n; i++)
        vec_push(a, &to->narrow_when, copy_exp(&c, f->narrow_when.at[i]));
    to->body = copy_block(&c, &f->body);
    arena_free(maps);
    return to;
}
