/* Turns that the work-items of a group share out record what fails behind their loop.
 *
 *     for j from lid to n by group_size unroll 4 {   var failed = 0; var arg = 0
 *       work w {                                     for j from lid to n by group_size unroll 4 {
 *         if !(0 <= i && i < n) {                      work w {
 *           fail 3 (i, n)                       =>       if !(0 <= i && i < n) {
 *           leave w                                        set arg = failed == 0 ? i : arg
 *         }                                                set failed = failed == 0 ? 1 : failed
 *         load x = xs[i]                                   leave w
 *         store a[j] = x                               ...
 *       }                                            }
 *     }                                              if failed == 1 { fail 3 (arg, n) }
 *
 * To record a failure is a call with atomics in it, across which the target's compiler moves
 * nothing: each load would have arrived, and be stored, before the next index is looked at. With
 * assignments alone the turns are straight code under predicates, and their loads are on their way
 * together (a step of NW: 8.2 us on an H200 instead of 9.0; without checks 7.9). The first failure
 * of a work-item is kept; which one of a launch is recorded nobody knows.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/facts/dealt.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_SITES = 4, MOST_ARGS = 4 };

typedef struct {
    KBuild *b;
    PtrSet *bound; /* variables that the loop binds or changes; works of it */
    VEC(KStm *) fails;
    KVar *args[MOST_ARGS], *failed;
    int n_args; /* that vary, of the failure that has most of them */
    bool other; /* something that asks for failures, a loop, or a way out past what comes behind
                   this one */
} Failures;

static bool note_bound(void *env, KStm *s)
{
    Failures *w = env;
    if (s->var)
        ptrset_add(w->bound, s->var);
    if (s->kind == KST_WORK)
        ptrset_add(w->bound, s);
    w->other |= s->kind == KST_LEAVE && !ptrset_has(w->bound, s->target);
    w->other |= s->kind == KST_FOR || s->kind == KST_WHILE || s->kind == KST_FAILING ||
                s->kind == KST_HEAP || s->kind == KST_BARRIER;
    if (s->kind == KST_FAIL)
        vec_push(w->b->arena, &w->fails, s);
    return true;
}

typedef struct {
    const Failures *w;
    bool found;
} Varying;

static void find_varying(void *env, const KExp *x)
{
    Varying *v = env;
    v->found |= x->kind == KE_VAR && ptrset_has(v->w->bound, x->var);
}

static bool varies(const Failures *w, const KExp *x)
{
    Varying v = {w, false};
    kexp_visit(x, find_varying, &v);
    return v.found;
}

static int n_varying(const Failures *w, const KStm *fail)
{
    int n = 0;
    for (int i = 0; i < fail->args.n; i++)
        n += varies(w, fail->args.at[i]);
    return n;
}

static bool shares_out(const KStm *s)
{
    return s->kind == KST_FOR && s->unroll > 1 && !s->doubling && kdealt_step(s->x[2], s->x[1]);
}

/* Numbers are kept in 64 bits if one of them has that many. */
static bool are_indices(const Failures *w)
{
    for (int i = 0; i < w->fails.n; i++)
        for (int k = 0; k < w->fails.at[i]->args.n; k++) {
            const KExp *x = w->fails.at[i]->args.at[k];
            if (varies(w, x) && !kx_converted(x)->type.index)
                return false;
        }
    return true;
}

/* Can it be done with the loop? */
static bool look_into(Failures *w, const KStm *loop)
{
    kblock_visit(&loop->body[0], &(KVisitor){.env = w, .enter = note_bound});
    ptrset_add(w->bound, loop->var);
    for (int i = 0; i < w->fails.n; i++) {
        int n = n_varying(w, w->fails.at[i]);
        w->n_args = n > w->n_args ? n : w->n_args;
    }
    return !w->other && w->fails.n > 0 && w->fails.n <= MOST_SITES && w->n_args <= MOST_ARGS;
}

static const KExp *site_number(const Failures *w, int i)
{
    return kx_const(w->b->arena, (Const){.type = T_I32, .i = i});
}

/* v := x, unless something failed before. */
static void set_first(const Failures *w, KBuild *b, KVar *v, const KExp *x)
{
    Arena *a = b->arena;
    const KExp *none = kx_eq(a, kx_var(a, w->failed), site_number(w, 0));
    x = v->type.index ? kx_converted(x) : kx_conv(a, v->type.elem, x);
    kb_set(b, v, kx_select(a, none, x, kx_var(a, v)));
}

static int number_of(const Failures *w, const KStm *fail)
{
    for (int i = 0; i < w->fails.n; i++)
        if (w->fails.at[i] == fail)
            return i + 1;
    return 0;
}

static void replace(void *env, KBuild *b, KStm *s)
{
    const Failures *w = env;
    if (s->kind != KST_FAIL) {
        kb_push(b, s);
        return;
    }
    for (int i = 0, k = 0; i < s->args.n; i++)
        if (varies(w, s->args.at[i]))
            set_first(w, b, w->args[k++], s->args.at[i]);
    set_first(w, b, w->failed, site_number(w, number_of(w, s)));
}

/* The failure, of what was found when it happened. */
static void record(const Failures *w, KBuild *b, int i)
{
    Arena *a = b->arena;
    const KStm *fail = w->fails.at[i];
    KExps args = {0};
    for (int j = 0, k = 0; j < fail->args.n; j++)
        vec_push(a, &args,
                 varies(w, fail->args.at[j]) ? kx_conv(a, T_I64, kx_var(a, w->args[k++]))
                                             : fail->args.at[j]);
    kb_if(b, kx_eq(a, kx_var(a, w->failed), site_number(w, i + 1)));
    kb_stm(b, (KStm){.kind = KST_FAIL, .loc = fail->loc, .site = fail->site, .args = args});
    kb_end(b);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    (void)env;
    Failures w = {.b = b, .bound = ptrmap_new(b->arena)};
    if (!shares_out(s) || !look_into(&w, s)) {
        kb_push(b, s);
        return;
    }
    w.failed = kb_var(b, "failed", T_I32, site_number(&w, 0));
    const KExp *zero =
        are_indices(&w) ? kx_index(b->arena, kx_int(b->arena, 0)) : kx_int(b->arena, 0);
    for (int k = 0; k < w.n_args; k++) {
        w.args[k] = kb_var_new(b, "arg", zero->type);
        kb_var_var(b, w.args[k], zero);
    }
    kblock_rewrite(b, &s->body[0], &(KRewriter){.env = &w, .leave = replace});
    kb_push(b, s);
    for (int i = 0; i < w.fails.n; i++)
        record(&w, b, i);
}

void kir_failures(Arena *a, KFun *f)
{
    if (!f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = leave});
}
