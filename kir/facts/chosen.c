/* Variables whose values are chosen among indices: the place of the least element, the last one
 * that was found.
 *
 *     var best: i64 = n
 *     for j .. { if .. { set best = j } }
 *     shuffle other = best lane ..;  store buf[..] = best;  load x = buf[..]
 *
 * Variables, what lanes exchange, and local and private buffers make a family if they are given
 * each other's values: as they are, or by select, min or max of them. What comes in from elsewhere
 * are its sources. Where all of these are indices, so is what the variables hold (narrow.c finds
 * out, and of which range): comparisons and exchanges take 32 bits. */
#include "kir/facts/chosen.h"

#include "kir/walk.h"

typedef struct {
    KFamily *family;
    KExps sources;
} Giving;

struct KChosen {
    Arena *arena;
    const KInfo *info;
    PtrMap *of;     /* KVar or KBuf -> KFamily */
    PtrMap *giving; /* statement -> Giving */
    VEC(KFamily *) all;
};

static KFamily *root(KFamily *f)
{
    while (f && f->joined)
        f = f->joined;
    return f;
}

static KFamily *family_of(const KChosen *c, const void *member)
{
    return root(ptrmap_get(c->of, member));
}

static KFamily *join(KFamily *f, KFamily *g)
{
    if (f != g) {
        g->joined = f;
        f->spoilt |= g->spoilt;
        f->changes |= g->changes;
    }
    return f;
}

static KFamily *make(KChosen *c, const void *member)
{
    KFamily *f = NEW(c->arena, KFamily);
    ptrmap_put(c->of, member, f);
    vec_push(c->arena, &c->all, f);
    return f;
}

/* --- Members ---------------------------------------------------------------------------------- */

static bool is_i64(KType t)
{
    return t.elem == T_I64 && t.lanes == 1 && !t.index;
}

static bool may_be_member(const KBuf *b)
{
    return b->space != KS_GLOBAL && b->elem == T_I64 && !b->of;
}

static KFamily *buffer(KChosen *c, const KBuf *b)
{
    KFamily *f = family_of(c, b);
    return f ? f : make(c, b);
}

static bool is_plain(const KStm *s)
{
    return (s->kind == KST_LOAD || s->kind == KST_STORE) && kstm_lanes(s) == 1;
}

static bool note_member(void *env, KStm *s)
{
    KChosen *c = env;
    if ((s->kind == KST_VAR || s->kind == KST_SHUFFLE) && is_i64(s->var->type))
        make(c, s->var)->changes = true;
    const KBuf *buf = s->kind == KST_VIEW ? s->buf->of : s->buf;
    if (!buf || !may_be_member(buf))
        return true;
    KFamily *f = buffer(c, buf);
    if (!is_plain(s) && s->kind != KST_ARRAY && s->kind != KST_FRESH)
        f->spoilt = true;
    else if (s->kind == KST_LOAD)
        ptrmap_put(c->of, s->var, f);
    return true;
}

/* --- What they are given ---------------------------------------------------------------------- */

static bool is_choice(const KExp *x)
{
    return x->kind == KE_SELECT ||
           (x->kind == KE_PRIM && (x->op == OP_MIN || x->op == OP_MAX) && x->type.elem == T_I64);
}

static void give(KChosen *c, Giving *to, const KExp *x)
{
    KFamily *f = x->kind == KE_VAR ? family_of(c, x->var) : NULL;
    const KStm *def = x->kind == KE_VAR && !f ? kinfo_get(c->info, x->var).def : NULL;
    const KExp *is = def && def->kind == KST_LET ? def->x[0] : NULL;
    if (f)
        to->family = join(root(to->family), f);
    else if (is && (is->kind == KE_VAR || is_choice(is)))
        give(c, to, is);
    else if (is_choice(x))
        for (int i = x->kind == KE_SELECT; i < x->n; i++)
            give(c, to, x->x[i]);
    else
        vec_push(c->arena, &to->sources, x);
}

static bool note_giving(void *env, KStm *s)
{
    KChosen *c = env;
    bool store = s->kind == KST_STORE;
    KFamily *f = store ? family_of(c, s->buf) : s->var ? family_of(c, s->var) : NULL;
    if (s->top && family_of(c, s->top))
        family_of(c, s->top)->spoilt = true;
    if (!f || s->kind == KST_LOAD)
        return true;
    if (!store && s->kind != KST_VAR && s->kind != KST_SET && s->kind != KST_SHUFFLE) {
        f->spoilt = true;
        return true;
    }
    Giving *to = NEW(c->arena, Giving);
    to->family = f;
    if (s->x[store])
        give(c, to, s->x[store]);
    ptrmap_put(c->giving, s, to);
    return true;
}

KChosen *kchosen_of(Arena *a, const KBlock *b)
{
    KChosen *c = NEW(a, KChosen);
    *c =
        (KChosen){.arena = a, .info = kinfo_of(a, b), .of = ptrmap_new(a), .giving = ptrmap_new(a)};
    kblock_visit(b, &(KVisitor){.env = c, .enter = note_member});
    kblock_visit(b, &(KVisitor){.env = c, .enter = note_giving});
    return c;
}

KFamily *kchosen_family(const KChosen *c, const KStm *s)
{
    bool binds = s->kind == KST_VAR || s->kind == KST_LOAD || s->kind == KST_SHUFFLE;
    return binds ? family_of(c, s->var) : NULL;
}

bool kchosen_any(const KChosen *c)
{
    for (int i = 0; i < c->all.n; i++)
        if (!c->all.at[i]->joined && c->all.at[i]->changes && !c->all.at[i]->spoilt)
            return true;
    return false;
}

KExps kchosen_sources(const KChosen *c, const KStm *s, KFamily **to)
{
    const Giving *g = ptrmap_get(c->giving, s);
    *to = g ? root(g->family) : NULL;
    return g ? g->sources : (KExps){0};
}
