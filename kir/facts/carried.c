/* Variables that carry values around: each is only ever given what one of its family was given
 * first. So are the two halves of a buffer that a loop exchanges: t = cur; cur = next; next = t.
 * A family is found by joining what is assigned to each other; a variable that is given anything
 * else spoils its own. */
#include "kir/facts/carried.h"

#include "kir/walk.h"

typedef struct Member Member;
struct Member {
    Member *joined; /* towards the one that stands for the family; NULL: it does itself */
    KStms firsts;   /* of that one: the family's VARs */
    bool spoilt;
};

struct KCarried {
    Arena *arena;
    const KInfo *info;
    PtrMap *of; /* KVar -> Member */
};

static Member *family(const KCarried *c, const KVar *v)
{
    Member *m = ptrmap_get(c->of, v);
    while (m && m->joined)
        m = m->joined;
    return m;
}

static void join(KCarried *c, Member *m, Member *n)
{
    if (m == n)
        return;
    n->joined = m;
    m->spoilt |= n->spoilt;
    for (int i = 0; i < n->firsts.n; i++)
        vec_push(c->arena, &m->firsts, n->firsts.at[i]);
}

static bool note_first(void *env, KStm *s)
{
    KCarried *c = env;
    if (s->kind != KST_VAR)
        return true;
    Member *m = NEW(c->arena, Member);
    m->spoilt = !s->x[0];
    vec_push(c->arena, &m->firsts, s);
    ptrmap_put(c->of, s->var, m);
    return true;
}

/* The variable whose value it is, or was when a LET kept it. */
static const KVar *source(const KCarried *c, const KExp *x)
{
    const KStm *def = x->kind == KE_VAR ? kinfo_get(c->info, x->var).def : NULL;
    if (def && def->kind == KST_LET)
        return source(c, def->x[0]);
    return def ? x->var : NULL;
}

static bool note_change(void *env, KStm *s)
{
    KCarried *c = env;
    if (!(kstm_info[s->kind].flags & KF_SET))
        return true;
    Member *m = family(c, s->var), *top = s->top ? family(c, s->top) : NULL;
    const KVar *v = s->kind == KST_SET ? source(c, s->x[0]) : NULL;
    Member *from = v ? family(c, v) : NULL;
    if (top)
        top->spoilt = true;
    if (from)
        join(c, m, from);
    else
        m->spoilt = true;
    return true;
}

KCarried *kcarried_of(Arena *a, const KBlock *b)
{
    KCarried *c = NEW(a, KCarried);
    *c = (KCarried){.arena = a, .info = kinfo_of(a, b), .of = ptrmap_new(a)};
    kblock_visit(b, &(KVisitor){.env = c, .enter = note_first});
    kblock_visit(b, &(KVisitor){.env = c, .enter = note_change});
    return c;
}

const KStms *kcarried_firsts(const KCarried *c, const KVar *v)
{
    const Member *m = family(c, v);
    return m && !m->spoilt ? &m->firsts : NULL;
}
