/* Local memory in which neighbouring work-items would wait for each other.
 *
 * Local memory has banks, word i is in bank i modulo their number, and a bank gives one word at a
 * time. Work-items that access elements at a distance of a multiple of 32 words all want the same
 * bank: an access takes 32 times as long (a diagonal, or a column, of rows of 32 or 33 elements).
 * So in such a buffer a word is left out behind each 32:
 *
 *     load x = a[p]   =>   load x = a[p + p / 32]
 *
 * Then elements at a distance of 32 are in neighbouring banks, and those beside each other still
 * are. A step of NW, 63 waves over the diagonals of 33 x 33 elements, takes 7.9 us on an H200
 * instead of 10.1.
 *
 * Which buffers are to be padded is decided on the kernel as made, as its launches have to give
 * them more bytes; positions change on the target, when whatever looks into them is done.
 *
 * Before: buffers that no VIEW names are marked, or not. After: none is marked. */
#include "kir/facts/dealt.h"
#include "kir/facts/position.h"
#include "kir/passes/passes.h"

enum { BANKS = 32, WORD = 4, TOO_MANY = 8 /* work-items that want one bank */ };

/* --- Which buffers ---------------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    const KInfo *info;
    KPositions *positions;
    PtrSet *turns; /* variables that are a work-item's number, or more by a multiple of the group's
                      size */
    PtrSet *viewed;
} Padded;

static bool find_turns(void *env, KStm *s)
{
    Padded *w = env;
    KDealtLoop loop;
    if (kdealt_loop(w->arena, w->info, s, &loop))
        ptrset_add(w->turns, loop.j->var);
    if (s->kind == KST_VIEW)
        ptrset_add(w->viewed, s->buf->of);
    return true;
}

static bool is_neighbours(const Padded *w, const KExp *x);

/* Does x grow by 1 from work-item to work-item? */
static bool grows(Padded *w, const KExp *x)
{
    Poly p = kposition(w->positions, x);
    for (int i = 0; i < p.n; i++)
        if (p.t[i].k == 1 && !p.t[i].leaves[1] &&
            is_neighbours(w, kposition_leaf(w->positions, p.t[i].leaves[0])))
            return true;
    return false;
}

/* Have neighbouring work-items neighbouring numbers x, most of them? */
static bool is_neighbours(const Padded *w, const KExp *x)
{
    if (x->kind == KE_ID)
        return x->id == KID_LOCAL && x->dim == 0;
    if (x->kind == KE_VAR)
        return ptrset_has(w->turns, x->var);
    bool rest = x->kind == KE_PRIM && (x->op == OP_REM || x->op == OP_MOD);
    return rest && x->x[1]->kind == KE_CONST && x->x[1]->c.i >= TOO_MANY &&
           grows((Padded *)w, x->x[0]);
}

static bool meets_in_bank(Padded *w, const KStm *s)
{
    Poly p = kposition(w->positions, s->x[0]);
    int64_t words = prim_type_bytes[s->buf->elem] / WORD;
    for (int i = 0; i < p.n; i++) {
        int64_t k = words * kposition_factor(&p, p.t[i].leaves[0]);
        if (k && k % TOO_MANY == 0 &&
            is_neighbours(w, kposition_leaf(w->positions, p.t[i].leaves[0])))
            return true;
    }
    return false;
}

static bool mark(void *env, KStm *s)
{
    Padded *w = env;
    if ((kstm_reads(s) || kstm_writes(s)) && s->buf->space == KS_LOCAL && !s->buf->of &&
        !ptrset_has(w->viewed, s->buf) && prim_type_bytes[s->buf->elem] >= WORD && !s->buf->padded)
        s->buf->padded = meets_in_bank(w, s);
    return true;
}

void kir_mark_padded(Arena *a, KFun *f)
{
    Padded w = {.arena = a,
                .info = kinfo_of(a, &f->body),
                .positions = kpositions_new(a, f),
                .turns = ptrmap_new(a),
                .viewed = ptrmap_new(a)};
    kblock_visit(&f->body, &(KVisitor){.env = &w, .enter = find_turns});
    kblock_visit(&f->body, &(KVisitor){.env = &w, .enter = mark});
}

/* --- Positions -------------------------------------------------------------------------------- */

/* A position that changes gets no name: two names for it would not be seen to be the same place
 * (hazard.c), where a work-item reads an element and writes it. */
static void move(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if ((kstm_reads(s) || kstm_writes(s)) && s->buf->padded) {
        int64_t row = BANKS * WORD / prim_type_bytes[s->buf->elem];
        const KExp *at = kexp_changes(s->x[0]) ? s->x[0] : kb_let(b, "at", s->x[0]);
        s->x[0] = kx_add(b->arena, at, kx_quot(b->arena, at, kx_int(b->arena, row)));
    }
    kb_push(b, s);
}

void kir_padded(Arena *a, KFun *f)
{
    if (!f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = NULL, .leave = move});
    for (int i = 0; i < f->params.n; i++)
        if (f->params.at[i].kind == KP_LOCAL)
            f->params.at[i].buf->padded = false;
}
