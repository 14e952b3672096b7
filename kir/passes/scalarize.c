/* Private arrays that are only asked at constant positions become variables, one an element. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_ELEMENTS = 64 };

typedef struct {
    Arena *arena;
    PtrMap *vars;   /* KBuf -> KVar *[count] */
    PtrSet *others; /* arrays that stay */
} Scalars;

static bool is_element(const KStm *s)
{
    return (s->kind == KST_LOAD || s->kind == KST_STORE) && kstm_lanes(s) == 1 &&
           s->x[0]->kind == KE_CONST && s->x[0]->c.i >= 0 && s->x[0]->c.i < s->buf->count;
}

static bool find_others(void *env, KStm *s)
{
    Scalars *w = env;
    if (s->kind == KST_VIEW)
        ptrset_add(w->others, s->buf->of);
    if (s->with)
        ptrset_add(w->others, s->with);
    if (s->kind == KST_ARRAY ? s->buf->count > MOST_ELEMENTS : s->buf && !is_element(s))
        ptrset_add(w->others, s->buf);
    return true;
}

static void declare(Scalars *w, KBuild *b, KBuf *buf)
{
    KVar **vars = NEWN(w->arena, KVar *, buf->count);
    for (int64_t i = 0; i < buf->count; i++)
        vars[i] = kb_var(b, buf->name, buf->elem, NULL);
    ptrmap_put(w->vars, buf, vars);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    Scalars *w = env;
    if (s->kind == KST_ARRAY && !ptrset_has(w->others, s->buf)) {
        declare(w, b, s->buf);
        return;
    }
    KVar **vars = s->buf ? ptrmap_get(w->vars, s->buf) : NULL;
    KVar *v = vars ? vars[s->x[0]->c.i] : NULL;
    if (!v)
        kb_push(b, s);
    else if (s->kind == KST_LOAD)
        kb_let_var(b, s->var, kx_var(w->arena, v));
    else
        kb_set(b, v, s->x[1]);
}

void kir_scalarize(Arena *a, KFun *f)
{
    Scalars w = {a, ptrmap_new(a), ptrmap_new(a)};
    kblock_visit(&f->body, &(KVisitor){.env = &w, .enter = find_others});
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &w, .leave = leave});
}
