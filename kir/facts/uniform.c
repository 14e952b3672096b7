/* Uniformity: a fixpoint over what is found to vary.
 *
 * A variable varies if what it is set to does, or if it is set where only some of the work-items
 * come that had come to its VAR. So each VAR remembers how many of the blocks around it are entered
 * by a choice that varies, and a SET compares. A LEAVE that some take and others do not sets apart
 * all that follows in its WORK, the turns of loops included that it leaves. */
#include "kir/facts/uniform.h"

#include "base/ptrmap.h"
#include "kir/walk.h"

enum { NO_LEAD = -1 };

typedef struct {
    const KStm *stm;
    int level; /* at its beginning */
    bool split;
} Work;

struct KUniform {
    Arena *arena;
    PtrSet *varying; /* variables, private buffers */
    PtrSet *apart;   /* statements to which not all come together */
    PtrSet *left;    /* loops that some work-items leave before others */
    PtrMap *level;   /* VAR's variable -> 1 + level at its VAR */
    VEC(Work) works;
    int depth; /* choices that vary, around */
    int lead;  /* level in the choice of the group's lead that is around; NO_LEAD: there is none */
    bool changed;
};

/* --- Questions -------------------------------------------------------------------------------- */

/* A choice by the target: where the work-items of a group do not work together there are
 * no others. */
static bool is_by_team(const KExp *x)
{
    return x->kind == KE_SELECT && x->x[0]->kind == KE_ID && x->x[0]->id == KID_TEAMS;
}

bool kuniform_exp(const KUniform *u, const KExp *x)
{
    if (x->kind == KE_VAR)
        return !ptrset_has(u->varying, x->var);
    if (x->kind == KE_ID)
        return kid_info[x->id].uniform;
    if (is_by_team(x))
        return kuniform_exp(u, x->x[1]);
    for (int i = 0; i < x->n; i++)
        if (!kuniform_exp(u, x->x[i]))
            return false;
    return true;
}

bool kuniform_flow(const KUniform *u, const KStm *s)
{
    return !ptrset_has(u->apart, s);
}

/* --- Finding ---------------------------------------------------------------------------------- */

static void add(KUniform *u, PtrSet *set, const void *p)
{
    if (!ptrset_has(set, p)) {
        ptrset_add(set, p);
        u->changed = true;
    }
}

static int level(const KUniform *u)
{
    int n = u->depth;
    for (int i = 0; i < u->works.n; i++)
        n += u->works.at[i].split;
    return n;
}

static void set_var(KUniform *u, const KVar *v, bool uniform)
{
    uintptr_t declared = (uintptr_t)ptrmap_get(u->level, v);
    if (!uniform || (declared && level(u) >= (int)declared))
        add(u, u->varying, v);
}

static void declare_var(KUniform *u, const KVar *v)
{
    ptrmap_put(u->level, v, (const void *)(uintptr_t)(level(u) + 1));
}

static bool uniform_place(const KUniform *u, const KStm *s)
{
    return kuniform_exp(u, s->x[0]) && !ptrset_has(u->varying, kbuf_root(s->buf));
}

/* A private array differs between work-items as soon as something in it does. */
static void store(KUniform *u, const KStm *s)
{
    bool same = kuniform_exp(u, s->x[0]) && kuniform_exp(u, s->x[1]) && level(u) == 0;
    if (s->buf->space == KS_PRIVATE && !same)
        add(u, u->varying, kbuf_root(s->buf));
}

static void view(KUniform *u, const KStm *s)
{
    if (s->x[0] && !kuniform_exp(u, s->x[0]))
        add(u, u->varying, kbuf_root(s->buf));
}

static void leave(KUniform *u, const KStm *s)
{
    for (int i = 0; i < u->works.n; i++) {
        Work *w = &u->works.at[i];
        if (w->stm == s->target && level(u) > w->level)
            w->split = true;
    }
}

static bool exps_uniform(const KUniform *u, const KStm *s)
{
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        if (s->x[i] && !kuniform_exp(u, s->x[i]))
            return false;
    return true;
}

static bool args_uniform(const KUniform *u, const KStm *s)
{
    for (int i = 0; i < s->args.n; i++)
        if (!kuniform_exp(u, s->args.at[i]))
            return false;
    return true;
}

static void find_block(KUniform *u, const KBlock *b);

static void find_loop(KUniform *u, const KStm *s)
{
    if (s->kind == KST_FOR)
        set_var(u, s->var, kuniform_exp(u, s->x[0]) && kuniform_exp(u, s->x[2]));
    int before = level(u);
    bool left = ptrset_has(u->left, s), apart = left || !exps_uniform(u, s);
    u->depth += apart;
    find_block(u, &s->body[0]);
    u->depth -= apart;
    if (level(u) > before && !left)
        add(u, u->left, s);
}

static void find_work(KUniform *u, const KStm *s)
{
    vec_push(u->arena, &u->works, ((Work){s, level(u), false}));
    find_block(u, &s->body[0]);
    u->works.n--;
}

/* All of the group choose whether they are of its lead. */
static void find_if(KUniform *u, const KStm *s)
{
    bool lead = s->x[0]->kind == KE_ID && s->x[0]->id == KID_IN_LEAD && level(u) == 0;
    int around = u->lead;
    bool apart = !exps_uniform(u, s);
    u->depth += apart;
    u->lead = lead ? level(u) : around;
    find_block(u, &s->body[0]);
    u->lead = around;
    find_block(u, &s->body[1]);
    u->depth -= apart;
}

static void find_stm(KUniform *u, const KStm *s)
{
    if (level(u) > (s->lead ? u->lead : 0))
        add(u, u->apart, s);
    switch (s->kind) {
    case KST_VAR:
        declare_var(u, s->var);
        set_var(u, s->var, exps_uniform(u, s));
        return;
    case KST_LET:
    case KST_SET:
    case KST_POWER:
    case KST_SHUFFLE: set_var(u, s->var, kuniform_exp(u, s->x[0])); return;
    case KST_LOAD: set_var(u, s->var, uniform_place(u, s)); return;
    case KST_STORE: store(u, s); return;
    case KST_VIEW: view(u, s); return;
    case KST_CALL: set_var(u, s->var, args_uniform(u, s)); return;
    case KST_FAILING: set_var(u, s->var, false); return;
    case KST_PEEK:
    case KST_ARRIVE:
    case KST_ATOMIC:
    case KST_CAS:
        if (s->var)
            set_var(u, s->var, false);
        return;
    case KST_FRAGMENTS:
    case KST_MULTIPLY: add(u, u->varying, kbuf_root(s->with)); return;
    case KST_HEAP:
        set_var(u, s->var, false);
        set_var(u, s->top, false);
        return;
    case KST_FOR:
    case KST_WHILE: find_loop(u, s); return;
    case KST_IF: find_if(u, s); return;
    case KST_BLOCK: find_block(u, &s->body[0]); return;
    case KST_WORK: find_work(u, s); return;
    case KST_LEAVE: leave(u, s); return;
    case KST_ARRAY:
    case KST_FRESH:
    case KST_RACE:
    case KST_PREFETCH:
    case KST_POST:
    case KST_COPY:
    case KST_ROUND:
    case KST_EXPOSE:
    case KST_SETTLE:
    case KST_BARRIER:
    case KST_FAIL:
    case KST_GIVE:
    case KST_COMMENT:
    case N_KSTMS: return;
    }
}

static void find_block(KUniform *u, const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        find_stm(u, b->at[i]);
}

KUniform *kuniform_of(Arena *a, const KFun *f)
{
    KUniform *u = NEW(a, KUniform);
    *u = (KUniform){.arena = a,
                    .varying = ptrmap_new(a),
                    .apart = ptrmap_new(a),
                    .left = ptrmap_new(a),
                    .level = ptrmap_new(a),
                    .lead = NO_LEAD};
    do {
        u->changed = false;
        find_block(u, &f->body);
    } while (u->changed);
    return u;
}
