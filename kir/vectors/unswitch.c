/* Whether a loop's only inner loop has turns at all is asked once, before both:
 *
 *                                             if 0 < m {
 *     for i from 0 to n by 1 {                    for i from 0 to n by 1 {
 *         load x: f32 = xs[i]                         load x: f32 = xs[i]
 *         var a: f32 = x                              var a: f32 = x
 *         for t from 0 to m by 1 {                    for t from 0 to m by 1 {
 *             set a = a * a + x             =>            set a = a * a + x
 *         }                                           }
 *         store ys[i] = a                             store ys[i] = a
 *     }                                           }
 *                                             } else {
 *                                                 for i from 0 to n by 1 { .. without it .. }
 *                                             }
 *
 * So the turns of the outer loop have no branch, and compilers make vectors of them: neighbours go
 * through the inner loop side by side. gcc 12 does not ask before by itself. Only where the inner
 * loop computes: one that reads memory is as fast as that is.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

enum { MOST_COPIED = 64 }; /* statements */

static bool is_loop(const KStm *s)
{
    return s->kind == KST_FOR || s->kind == KST_WHILE;
}

typedef struct {
    int n, loops;
    bool computes; /* nothing but numbers */
} Contents;

static bool look(void *env, KStm *s)
{
    Contents *c = env;
    c->n++;
    c->loops += is_loop(s);
    c->computes &= !s->buf && (s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET ||
                               s->kind == KST_COMMENT);
    return true;
}

static Contents contents(const KBlock *b)
{
    Contents c = {.computes = true};
    kblock_visit(b, &(KVisitor){.env = &c, .enter = look});
    return c;
}

/* Are the bounds of loop b->at[i] numbers that were known before `outer`, whose body b is? */
static bool is_known_before(const KStm *outer, int i)
{
    const KBlock *b = &outer->body[0];
    const KStm *inner = b->at[i];
    for (int k = 0; k < 2; k++) {
        const KExp *x = inner->x[k];
        if (kexp_changes(x) || kexp_uses(x, outer->var))
            return false;
        for (int j = 0; j < i; j++) {
            const KVar *v = kstm_def(b->at[j]);
            if (v && kexp_uses(x, v))
                return false;
        }
    }
    return true;
}

/* The number in the body of the inner loop of which to ask before; -1: there is none. */
static int inner_loop(const KStm *outer)
{
    const KBlock *b = &outer->body[0];
    Contents all = contents(b);
    int i = 0;
    while (i < b->n && b->at[i]->kind != KST_FOR)
        i++;
    if (outer->kind != KST_FOR || all.loops != 1 || i == b->n)
        return -1;
    Contents inner = contents(&b->at[i]->body[0]);
    bool pays = inner.computes && all.n - inner.n <= MOST_COPIED && !kstm_turns(b->at[i]);
    return pays && is_known_before(outer, i) ? i : -1;
}

/* The loop without statement i of its body: with names of its own, since both stand in the kernel.
 */
static KStm *without(KBuild *b, const KStm *loop, int i)
{
    KStm rest = *loop;
    KBlock one = {0};
    rest.body[0] = (KBlock){0};
    for (int j = 0; j < loop->body[0].n; j++)
        if (j != i)
            vec_push(b->arena, &rest.body[0], loop->body[0].at[j]);
    vec_push(b->arena, &one, &rest);
    return kblock_copy(b, &one, NULL).at[0];
}

static void leave(void *env, KBuild *b, KStm *s)
{
    int i = inner_loop(s);
    if (i < 0) {
        kb_push(b, s);
        return;
    }
    const KStm *inner = s->body[0].at[i];
    kb_if(b, kx_lt(env, inner->x[0], inner->x[1]));
    kb_push(b, s);
    kb_else(b);
    kb_push(b, without(b, s, i));
    kb_end(b);
}

void kir_unswitch(Arena *a, KFun *f)
{
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = a, .leave = leave});
}
