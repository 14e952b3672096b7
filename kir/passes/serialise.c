/* Loops whose turns have so little to do that the lead of a group does them alone: all others of
 * the group would wait at each barrier for nothing.
 *
 *                                                       barrier
 *                                                       if in_lead {
 *     for wave from 0 to 63 by 1 {                          for wave from 0 to 63 by 1 {
 *         barrier                                               barrier lead
 *         for j from lid to 32 by group_size {    =>            for j from lid to 32 by lead_size {
 *             load x = a[k * j + wave]                              load x = a[k * j + wave]
 *             ...                                                   ...
 *         }                                                     }
 *     }                                                     }
 *                                                       }
 *                                                       barrier
 *
 * Elements are done by the work-items that did them before, in the same order: who is not of the
 * lead had none. So what the loop does for elements may be anything but what a group does together.
 * So may what its first work-item does; else only numbers are computed, which nobody needs behind
 * the loop, and failures recorded that all would record. Where a group has no lead of its own, this
 * is what it was before.
 *
 * Of the loops in each other the outermost is taken, and `barriers` looks then which barriers
 * around it are needed.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/facts/dealt.h"
#include "kir/facts/uniform.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

typedef struct {
    Arena *arena;
    KBuild *b;
    const KInfo *info;
    const KUniform *uniform;
} Lead;

/* A loop that is looked at. */
typedef struct {
    const Lead *lead;
    PtrSet *inside;    /* works in it, variables that it binds */
    VEC(KStm *) dealt; /* loops */
    VEC(KStm *) barriers;
    VEC(KVar *) carried; /* what it changes of variables from outside, other than for elements */
    bool ok;
} Narrow;

/* --- What may be in such a loop --- */

static bool note_inside(void *env, KStm *s)
{
    if (s->kind == KST_WORK)
        ptrset_add(env, s);
    if (kstm_def(s))
        ptrset_add(env, s->var);
    return true;
}

/* What a work-item may do for its elements. */
static bool check_own(void *env, KStm *s)
{
    Narrow *n = env;
    bool fits = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET ||
                s->kind == KST_LOAD || s->kind == KST_STORE || s->kind == KST_RACE ||
                s->kind == KST_ATOMIC || s->kind == KST_CAS || s->kind == KST_ARRAY ||
                s->kind == KST_VIEW || s->kind == KST_IF || s->kind == KST_FOR ||
                s->kind == KST_WHILE || s->kind == KST_BLOCK || s->kind == KST_WORK ||
                s->kind == KST_LEAVE || s->kind == KST_FAIL || s->kind == KST_COMMENT;
    n->ok &= fits && (s->kind != KST_LEAVE || ptrset_has(n->inside, s->target));
    return true;
}

/* What all of a group may do beside that: nothing that others see but through variables. */
static bool is_for_all(const Narrow *n, const KStm *s)
{
    if (s->kind == KST_FAIL)
        return kuniform_flow(n->lead->uniform, s);
    return s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET || s->kind == KST_LOAD ||
           s->kind == KST_ARRAY || s->kind == KST_VIEW || s->kind == KST_IF || s->kind == KST_FOR ||
           s->kind == KST_WHILE || s->kind == KST_BLOCK || s->kind == KST_WORK ||
           s->kind == KST_LEAVE || s->kind == KST_BARRIER || s->kind == KST_FRESH ||
           s->kind == KST_COMMENT;
}

/* `if local_id == 0 {}` */
static bool is_for_first(const Narrow *n, const KStm *s)
{
    const KExp *x = s->kind == KST_IF ? s->x[0] : NULL;
    return x && x->kind == KE_PRIM && x->op == OP_EQ && kdealt_is_number(n->lead->info, x->x[0]) &&
           kx_is_int(x->x[1], 0) && s->body[1].n == 0;
}

static bool check_around(void *env, KStm *s)
{
    Narrow *n = env;
    KDealtLoop loop;
    if (kdealt_loop(n->lead->arena, n->lead->info, s, &loop)) {
        n->ok &= s->x[1]->kind == KE_CONST && s->x[1]->c.i <= LEAD_LEAST;
        vec_push(n->lead->arena, &n->dealt, s);
        kblock_visit(loop.body, &(KVisitor){.env = n, .enter = check_own});
        return false;
    }
    if (is_for_first(n, s)) {
        kblock_visit(&s->body[0], &(KVisitor){.env = n, .enter = check_own});
        return false;
    }
    n->ok &= is_for_all(n, s) && (s->kind != KST_LEAVE || ptrset_has(n->inside, s->target));
    if (s->kind == KST_BARRIER)
        vec_push(n->lead->arena, &n->barriers, s);
    if (s->kind == KST_SET && !ptrset_has(n->inside, s->var))
        vec_push(n->lead->arena, &n->carried, s->var);
    return true;
}

static bool uses(const KStm *s, const KVar *v)
{
    return kstm_uses(s, v) || kstm_sets(s, v) || kblock_uses(&s->body[0], v) ||
           kblock_uses(&s->body[1], v) || kblock_sets(&s->body[0], v) ||
           kblock_sets(&s->body[1], v);
}

/* Can the variable be one of the lead: is it bound before statement `at` of the block, to what it
 * could be bound to there, and is that statement the only one to know it? */
static bool is_carried_alone(const KBlock *b, int at, const KVar *v)
{
    bool bound = false;
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        bound |= i < at && s->kind == KST_VAR && s->var == v && !(s->x[0] && kexp_changes(s->x[0]));
        if (i != at && uses(s, v))
            return false;
    }
    return bound;
}

static bool is_narrow(Narrow *n, const KBlock *b, int at)
{
    KBlock alone = {0};
    vec_push(n->lead->arena, &alone, b->at[at]);
    kblock_visit(&alone, &(KVisitor){.env = n->inside, .enter = note_inside});
    kblock_visit(&alone, &(KVisitor){.env = n, .enter = check_around});
    for (int i = 0; i < n->carried.n && n->ok; i++)
        n->ok = is_carried_alone(b, at, n->carried.at[i]);
    return n->ok && n->dealt.n > 0 && n->barriers.n > 0;
}

/* --- In its place --- */

static bool is_carried(const Narrow *n, const KStm *s)
{
    for (int i = 0; i < n->carried.n; i++)
        if (s->kind == KST_VAR && s->var == n->carried.at[i])
            return true;
    return false;
}

static void put_loop(const Narrow *n, const KBlock *b, int at, KBlock *to)
{
    enum { ALL = 1u << KS_LOCAL | 1u << KS_GLOBAL };
    KBuild *k = n->lead->b;
    for (int i = 0; i < n->dealt.n; i++)
        n->dealt.at[i]->x[2] = kx_id(k->arena, KID_LEAD_SIZE);
    for (int i = 0; i < n->barriers.n; i++)
        n->barriers.at[i]->lead = true;
    kb_into(k, to);
    kb_meet(k, ALL);
    kb_if(k, kx_id(k->arena, KID_IN_LEAD));
    for (int i = 0; i < at; i++)
        if (is_carried(n, b->at[i]))
            kb_push(k, b->at[i]);
    kb_push(k, b->at[at]);
    kb_end(k);
    kb_meet(k, ALL);
    k->open.n--;
}

/* The block with the loop that is statement `at` for the lead alone. */
static KBlock with_lead(const Narrow *n, const KBlock *b, int at)
{
    KBlock to = {0};
    for (int i = 0; i < b->n; i++)
        if (i == at)
            put_loop(n, b, at, &to);
        else if (!is_carried(n, b->at[i]))
            vec_push(n->lead->arena, &to, b->at[i]);
    return to;
}

static void walk(Lead *w, KBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        KStm *s = b->at[i];
        Narrow n = {.lead = w, .inside = ptrmap_new(w->arena), .ok = true};
        if ((s->kind == KST_FOR || s->kind == KST_WHILE) && is_narrow(&n, b, i)) {
            int before = b->n - i;
            *b = with_lead(&n, b, i);
            i = b->n - before; /* the barrier behind it */
        } else {
            for (int k = 0; k < 2; k++)
                walk(w, &s->body[k]);
        }
    }
}

/* --- Which kernels --- */

static void find_dim(void *env, const KExp *x)
{
    *(bool *)env |= x->kind == KE_ID && x->dim > 0;
}

static bool find_dims(void *env, KStm *s)
{
    kstm_visit_exps(s, find_dim, env);
    return true;
}

void kir_serialise(Arena *a, KFun *f)
{
    bool dims = false; /* are work-items, or groups, numbered in several of them? */
    kblock_visit(&f->body, &(KVisitor){.env = &dims, .enter = find_dims});
    if (f->alone || dims || f->columns != KC_NONE)
        return;
    Lead w = {.arena = a,
              .b = kb_more(a, f),
              .info = kinfo_of(a, &f->body),
              .uniform = kuniform_of(a, f)};
    walk(&w, &f->body);
}
