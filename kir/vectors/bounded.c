/* Loops end where a check fails that their turns begin with, if its position counts up with them:
 *
 *     for i from lo to hi by 1 {                let base = lo + c
 *         let p = i + c                         let within = 0 <= base && base < n ? n - base : 0
 *         if !(0 <= p && p < n) {               let end = within < hi - lo ? lo + within : hi
 *             fail 3 (p, n)              =>     for i from lo to end by 1 {
 *             leave w                               load x = xs[i + c]
 *         }                                         ..
 *         load x = xs[p]                        }
 *         ..                                    if end < hi {
 *     }                                             let p = end + c
 *                                                   if !(0 <= p && p < n) { fail 3 (p, n) leave w }
 *                                               }
 *
 * So are several of them that follow each other: the loop ends with the first. That is what rows of
 * unequal lengths ask of their elements' places, which begin where an array says. Loops of a
 * constant number of turns stay: their end tells the C compiler more than it costs to ask each
 * time.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/facts/counted.h"
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

/* The statements that a turn begins with, up to the last of such checks, have no effect and ask
 * nothing else; 0: there is none. */
static int beginning(const KCounted *c, const KBlock *b)
{
    int end = 0;
    for (int i = 0; i < b->n; i++) {
        const KStm *s = b->at[i];
        if (kstm_checks(s) && kcounted_is_range(c, s->x[0]))
            end = i + 1;
        else if (s->kind != KST_LET && s->kind != KST_LOAD)
            break;
    }
    return end;
}

/* What a turn begins with, for the one in which a check fails. */
static void turn_at(KBuild *b, const KBlock *begin, const KVar *turn, const KExp *end)
{
    PtrMap *to = ptrmap_new(b->arena);
    ptrmap_put(to, turn, (void *)(uintptr_t)end);
    KBlock copy = kblock_copy(b, begin, to);
    for (int i = 0; i < copy.n; i++)
        kb_push(b, copy.at[i]);
}

static void bound(KBuild *b, KCounted *c, KStm *loop, int n)
{
    Arena *a = b->arena;
    KBlock begin = {0}, body = {0}, all = loop->body[0];
    const KExp *within = NULL, *lo = kx_conv(a, T_I64, loop->x[0]), *hi = loop->x[1];
    for (int i = 0; i < all.n; i++) {
        if (i < n)
            vec_push(a, &begin, all.at[i]);
        if (i >= n || all.at[i]->kind != KST_IF) {
            vec_push(a, &body, all.at[i]);
            continue;
        }
        const KExp *more = kcounted_within(c, b, all.at[i]->x[0]);
        within = within ? kx_min(a, within, more) : more;
    }
    const KExp *last = kx_add(a, lo, within);
    last = hi->type.index ? kx_index(a, last) : kx_conv(a, hi->type.elem, last);
    const KExp *fewer = kstm_has_turns(a, loop, within);
    const KExp *end = kb_let(b, "end", kx_select(a, fewer, last, hi));
    loop->x[1] = end;
    loop->body[0] = body;
    kb_push(b, loop);
    kb_if(b, kx_lt(a, end, hi));
    turn_at(b, &begin, loop->var, end);
    kb_end(b);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    KCounted *c = kcounted_of_turns(b->arena, env, s);
    int n = c && !kstm_turns(s) ? beginning(c, &s->body[0]) : 0;
    if (n > 0)
        bound(b, c, s, n);
    else
        kb_push(b, s);
}

void kir_bound_loops(Arena *a, KFun *f)
{
    KInfo *info = kinfo_of(a, &f->body);
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = info, .leave = leave});
}
