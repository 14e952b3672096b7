/* Do barriers stand where all work-items meet, and wherever one must be waited for? (uniform.h)
 *
 * A walk over the kernel carries the accesses to local memory that no barrier has followed yet, and
 * holds each new access against them. Two of them are safe together if neither writes, if both are
 * done in one step, or if it is certain enough that they are a work-item's own:
 *
 *  - both stand where one work-item alone comes, by the same choice: `if local_id == 0`, or by a
 * loop that the others leave at once: `for i from select(local_id == 0, 0, n) to n`;
 *  - they stand in opposite branches of what is fixed while the kernel runs: `if atomic64`;
 *  - both are at places that are dealt to the work-items (dealt.h);
 *  - both are at the same place, which differs between work-items: buf[local_id]; or one is of a
 *    vector in which the other is;
 *  - both are in the column of a matrix that a loop has dealt to the work-item: buf[i], buf[r * k +
 * i] in `for i from local_id to k by group_size`, or where `i = base + local_id` is less than k, in
 * `for base from 0 to k by group_size`;
 *  - a loop deals turns i to the work-items, and no two of these have that distance: buf[3 * i],
 *    buf[3 * i + 1];
 *  - they are at places that differ and are the same for all: buf[0], buf[1];
 *  - they are in the two halves of a buffer that a loop works on in turns: buf[cur + ...] and
 *    buf[next + ...], where cur and next are exchanged, and never changed otherwise;
 *  - all work-items have written the same value to a place that is the same for all;
 *  - an earlier load and a later store stand under one choice that varies and has to do with the
 *    place of only one of them, or with their distance: a step of a tree, where those that read
 *    what is d away are chosen so that nobody writes there.
 *
 * Dealt places, and those from columns on, believe the maker, and so does this: memory that VIEWs
 * name from different offsets on is different. Where there is one work-item in a group (not
 * `teams`), nothing is asked; where work-items stand in columns (columns.c), only whether they
 * meet: the rest was seen when there was one.
 *
 * Of two places in the row that is dealt to the work-item, buf[k * i + x] and buf[k * i + y], often
 * cannot be told whether x and y stay in the row: they are data, of which bounds checks or proofs
 * about the program know, or have to do with i themselves, where a row is an array of several
 * dimensions. Then the answer is UNSURE, and that is no error: a right program must not
 * end in an internal one. It is only for one and the same row; that different rows, or a row and
 * the memory around it, need a barrier in between is the rule that makers go by, and what breaks it
 * is reported whether or not the places can be compared. */
#include "kir/facts/uniform.h"

#include "base/ptrmap.h"
#include "kir/facts/dealt.h"
#include "kir/facts/halves.h"
#include "kir/facts/places.h"
#include "kir/text/text.h"
#include "kir/walk.h"

#include <stdint.h>
#include <string.h>

enum { DIMS = 3, MOST_NODES = 64 };

/* A branch of an IF that is around. */
typedef struct {
    const KStm *stm;
    int branch;
    const KExp *condition; /* expanded */
} Choice;

typedef struct {
    const KStm *stm;
    int number;
    const KExp *at;          /* position, expanded */
    const KExp *swapped;     /* the same with halves exchanged; NULL: it is in none */
    const KExp *offset;      /* of the VIEW, expanded; NULL: 0 */
    const KExp *alone[DIMS]; /* conditions that leave one work-item, a dimension each */
    const KStm *turn;        /* the innermost loop whose turn base + local_id it is in, or NULL */
    const Choice *choices;   /* around it */
    int n_choices;
    bool lead;  /* by the group's lead alone */
    bool dealt; /* at a place that is dealt to the work-item */
} Access;

typedef struct {
    Arena *arena;
    KPlaces places;
    const KDealt *dealt;
    PtrMap *defs;    /* immutable variable -> expression that it stands for */
    PtrMap *offsets; /* VIEW's buffer -> its offset */
    PtrMap *access;  /* statement -> Access */
    VEC(Access *) all;
    VEC(Choice) around;
    VEC(const KStm *) turning; /* FORs around, expanded */
    KHalves halves;
    PtrMap *exits; /* WORK -> what is pending where it is left */
    KColumns columns;
    const KStm *stm; /* what is wrong, and with it */
    const char *error;
} Hazard;

/* --- What expressions stand for --------------------------------------------------------------- */

static void count_node(void *env, const KExp *x)
{
    (void)x;
    ++*(int *)env;
}

/* An index stands for the i64 that it is. */
static const KExp *plain(Arena *a, const KExp *x)
{
    if (x->kind == KE_CONV && x->type.elem == T_I64 && x->x[0]->type.elem == T_I64)
        return x->x[0];
    if (!x->type.index)
        return x;
    KExp e = *x;
    e.type.index = false;
    return kx_node(a, e);
}

static const KExp *expand_var(void *env, const KExp *x)
{
    const Hazard *h = env;
    const KExp *def = x->kind == KE_VAR ? ptrmap_get(h->defs, x->var) : NULL;
    return def ? def : plain(h->arena, x);
}

static const KExp *expand(Hazard *h, const KExp *x)
{
    return x ? kexp_map(h->arena, x, expand_var, h) : NULL;
}

static void define(Hazard *h, const KStm *s)
{
    const KExp *x = expand(h, s->x[0]);
    int nodes = 0;
    kexp_visit(x, count_node, &nodes);
    if (nodes <= MOST_NODES && !kplaces_changes(&h->places, x))
        ptrmap_put(h->defs, s->var, x);
}

/* x = base + k; no base: k. */
static const KExp *split_sum(const KExp *x, int64_t *k)
{
    *k = x->kind == KE_CONST ? x->c.i : 0;
    if (x->kind == KE_CONST)
        return NULL;
    bool sum = x->kind == KE_PRIM && x->exact && (x->op == OP_ADD || x->op == OP_SUB);
    if (!sum || x->x[1]->kind != KE_CONST)
        return x;
    *k = x->op == OP_ADD ? x->x[1]->c.i : -x->x[1]->c.i;
    return x->x[0];
}

/* Is y the number x + *by, whatever variables are? */
static bool distance(const KExp *x, const KExp *y, int64_t *by)
{
    int64_t k, l;
    const KExp *a = split_sum(x, &k), *b = split_sum(y, &l);
    *by = l - k;
    return a && b ? kx_same(a, b) : a == b;
}

/* --- Who comes here --------------------------------------------------------------------------- */

static void note_alone(const Hazard *h, Access *a, const KExp *cond)
{
    int dim;
    if (kplaces_alone(&h->places, cond, &dim)) {
        a->alone[dim] = cond;
    } else if (cond->kind == KE_PRIM && cond->op == OP_LAND) {
        note_alone(h, a, cond->x[0]);
        note_alone(h, a, cond->x[1]);
    }
}

/* Is x true or false in a branch that is around? */
static bool is_decided(Hazard *h, const KExp *x, bool *holds)
{
    for (int i = 0; i < h->around.n; i++) {
        const Choice *c = &h->around.at[i];
        *holds = c->branch == 0;
        if (kx_same(x, c->condition))
            return true;
    }
    return false;
}

/* The loop leaves one work-item if the others start at its end. */
static void note_alone_in(Hazard *h, Access *a, const KStm *loop)
{
    const KExp *from = loop->x[0];
    bool holds;
    while (from->kind == KE_SELECT && is_decided(h, from->x[0], &holds))
        from = from->x[holds ? 1 : 2];
    if (from->kind == KE_SELECT && kx_same(from->x[2], loop->x[1]))
        note_alone(h, a, from->x[0]);
}

static void note_dims(void *env, const KExp *x)
{
    Hazard *h = env;
    if (x->kind == KE_ID && (x->id == KID_LOCAL || x->id == KID_GROUP_SIZE))
        h->places.dims |= 1u << x->dim;
}

/* --- Two accesses ----------------------------------------------------------------------------- */

static bool reads(const Access *a)
{
    return kstm_reads(a->stm);
}

static bool writes(const Access *a)
{
    return kstm_writes(a->stm);
}

/* Tiles that are copied in rounds are kept apart by these, and by the maker. */
static bool in_rounds(const Access *a)
{
    return a->stm->kind == KST_COPY || a->stm->kind == KST_FRAGMENTS;
}

static bool one_step(const Access *a)
{
    return a->stm->kind != KST_LOAD && a->stm->kind != KST_STORE && !in_rounds(a);
}

static bool same_alone(const Hazard *h, const Access *a, const Access *b)
{
    for (int d = 0; d < DIMS; d++)
        if (h->places.dims & 1u << d &&
            !(a->alone[d] && b->alone[d] && kx_same(a->alone[d], b->alone[d])))
            return false;
    return true;
}

static bool same_or_none(const KExp *x, const KExp *y)
{
    return x && y ? kx_same(x, y) : x == y;
}

static bool uniform_store(const Hazard *h, const Access *a)
{
    return a->stm->kind == KST_STORE && kuniform_exp(h->places.uniform, a->stm->x[1]) &&
           kuniform_flow(h->places.uniform, a->stm);
}

static void find_var(void *env, const KExp *x)
{
    *(bool *)env |= x->kind == KE_VAR;
}

/* Is it the same for all of the group as long as the kernel runs? */
static bool is_fixed(const Hazard *h, const KExp *x)
{
    bool has_var = false;
    kexp_visit(x, find_var, &has_var);
    return !has_var && kuniform_exp(h->places.uniform, x);
}

/* Does the kernel come to one of them only if it never comes to the other? */
static bool exclusive(const Hazard *h, const Access *a, const Access *b)
{
    for (int i = 0; i < a->n_choices; i++)
        for (int k = 0; k < b->n_choices; k++) {
            const Choice *c = &a->choices[i], *d = &b->choices[k];
            if (c->branch != d->branch && kx_same(c->stm->x[0], d->stm->x[0]) &&
                is_fixed(h, c->stm->x[0]))
                return true;
        }
    return false;
}

typedef struct {
    const KExp *x, *y;
    bool in_one;
} Only;

/* Is it a variable or a number of the work-item that the one has and the other has not? */
static void find_only(void *env, const KExp *v)
{
    Only *o = env;
    if (v->kind == KE_VAR)
        o->in_one |= kexp_uses(o->x, v->var) != kexp_uses(o->y, v->var);
}

typedef struct {
    int64_t distance;
    bool found;
} Steps;

/* Is it the number of a work-item in steps of twice the distance, and(p, 2 * d - 1)? */
static void find_steps(void *env, const KExp *x)
{
    Steps *s = env;
    s->found |= x->kind == KE_PRIM && x->op == OP_AND && s->distance > 0 &&
                kx_is_int(x->x[1], 2 * s->distance - 1);
}

/* An earlier load and a later store of those that a condition on the distance has chosen. */
static bool chosen(const Hazard *h, const Access *load, const Access *store)
{
    if (load->stm->kind != KST_LOAD || store->stm->kind != KST_STORE)
        return false;
    for (int i = 0; i < load->n_choices && i < store->n_choices; i++) {
        const Choice *c = &load->choices[i], *d = &store->choices[i];
        Only o = {load->at, store->at, false};
        Steps s = {0};
        if (c->stm != d->stm || c->branch != d->branch)
            return false;
        kexp_visit(c->stm->x[0], find_only, &o);
        if (distance(store->at, load->at, &s.distance))
            kexp_visit(c->condition, find_steps, &s);
        if ((o.in_one || s.found) && !kuniform_exp(h->places.uniform, c->stm->x[0]))
            return true;
    }
    return false;
}

/* --- Together --------------------------------------------------------------------------------- */

/* Do two work-items find the same element? */
typedef enum { APART, UNSURE, MEET } Meeting;

/* Places in the same memory, by elements of the same size; `at`: where a is seen from b. */
static Meeting meeting(const Hazard *h, const Access *a, const KExp *at, const Access *b)
{
    int64_t d, m = kstm_lanes(a->stm), n = kstm_lanes(b->stm);
    bool known = distance(at, b->at, &d);
    bool varies = !kuniform_exp(h->places.uniform, at) ||
                  (a->offset && !kuniform_exp(h->places.uniform, a->offset));
    const KStm *turn = a->turn == b->turn ? a->turn : NULL;
    if (khalves_apart(&h->halves, at, b->at))
        return APART;
    if (varies) {
        bool inside = known && ((d >= 0 && d + n <= m) || (d <= 0 && m - d <= n));
        bool apart = kplaces_same_column(&h->places, at, b->at, turn) ||
                     kplaces_turns_apart(&h->places, at, b->at);
        if (inside || (m == 1 && n == 1 && apart))
            return APART;
        return kplaces_maybe_same_row(&h->places, at, b->at) ? UNSURE : MEET;
    }
    if (known && d < m && -d < n)
        return uniform_store(h, a) ? APART : MEET;
    return known && kuniform_exp(h->places.uniform, b->at) ? APART : MEET;
}

static bool conflict(const Hazard *h, const Access *a, const KExp *at, const Access *b)
{
    const KBuf *m = a->stm->buf, *n = b->stm->buf;
    bool ordered = (writes(a) && reads(b)) || (reads(a) && writes(b));
    if (!ordered || (one_step(a) && one_step(b)) || (in_rounds(a) && in_rounds(b)))
        return false;
    if (!kbuf_overlap(m, n) || !same_or_none(a->offset, b->offset))
        return false;
    if (same_alone(h, a, b) || exclusive(h, a, b) || chosen(h, a, b))
        return false;
    if (m == n && a->dealt && b->dealt)
        return false;
    return prim_type_bytes[m->elem] != prim_type_bytes[n->elem] || meeting(h, a, at, b) == MEET;
}

/* --- What there is ---------------------------------------------------------------------------- */

static bool is_local_access(const KStm *s)
{
    return (kstm_reads(s) || kstm_writes(s)) && s->buf && s->buf->space == KS_LOCAL;
}

/* Of p + p / 32, as positions in padded buffers are, p; the summands may be converted. */
static const KExp *without_gaps(const KExp *x)
{
    if (x->kind != KE_PRIM || x->op != OP_ADD)
        return x;
    const KExp *p = kx_converted(x->x[0]), *q = kx_converted(x->x[1]);
    bool gap = q->kind == KE_PRIM && q->op == OP_QUOT && q->x[1]->kind == KE_CONST;
    return gap && kx_same(kx_converted(q->x[0]), p) ? x->x[0] : x;
}

static void note_access(Hazard *h, const KStm *s)
{
    Access *a = NEW(h->arena, Access);
    const KExp *at = without_gaps(s->x[0]);
    *a = (Access){
        .stm = s, .number = h->all.n, .at = expand(h, at), .dealt = kdealt_access(h->dealt, s, at)};
    const KExp *swapped = kexp_subst(h->arena, a->at, h->halves.other);
    a->swapped = swapped == a->at ? NULL : swapped;
    a->offset = ptrmap_get(h->offsets, s->buf);
    for (int i = 0; i < h->around.n; i++) {
        Choice c = h->around.at[i];
        const KStm *turn = c.branch == 0 ? kplaces_turn(&h->places, c.condition) : NULL;
        if (c.branch == 0)
            note_alone(h, a, c.condition);
        if (turn)
            a->turn = turn;
        a->lead |= c.branch == 0 && c.condition->kind == KE_ID && c.condition->id == KID_IN_LEAD;
    }
    a->n_choices = h->around.n;
    a->choices = arena_memdup(h->arena, h->around.at, sizeof *a->choices * (size_t)a->n_choices);
    for (int i = 0; i < h->turning.n; i++)
        note_alone_in(h, a, h->turning.at[i]);
    vec_push(h->arena, &h->all, a);
    ptrmap_put(h->access, s, a);
}

/* The loop with its bounds expanded. */
static void note_loop(Hazard *h, const KStm *s)
{
    KStm *to = NEW(h->arena, KStm);
    *to = *s;
    for (int i = 0; i < 3; i++)
        to->x[i] = expand(h, s->x[i]);
    ptrmap_put(h->places.loops, s->var, to);
    vec_push(h->arena, &h->turning, to);
}

static void note_block(Hazard *h, const KBlock *b);

static void note_stm(Hazard *h, const KStm *s)
{
    kstm_visit_exps(s, note_dims, h);
    if (s->kind == KST_LET)
        define(h, s);
    if (s->kind == KST_FOR)
        note_loop(h, s);
    if (s->kind == KST_VIEW && s->x[0])
        ptrmap_put(h->offsets, s->buf, expand(h, s->x[0]));
    if (is_local_access(s))
        note_access(h, s);
    const KExp *condition = s->kind == KST_IF ? expand(h, s->x[0]) : NULL;
    for (int k = 0; k < 2; k++) {
        if (s->kind == KST_IF)
            vec_push(h->arena, &h->around, ((Choice){s, k, condition}));
        note_block(h, &s->body[k]);
        h->around.n -= s->kind == KST_IF;
    }
    h->turning.n -= s->kind == KST_FOR;
}

static void note_block(Hazard *h, const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        note_stm(h, b->at[i]);
}

/* --- The walk ------------------------------------------------------------------------------ */

/* Which accesses may have come since the last barrier: for each number a set, before halves were
 * exchanged, or after; and the same of those of the lead that only a barrier of its own has
 * followed, which others than the lead did not wait for. */
enum {
    AS_IT_IS = 1,
    SWAPPED = 2,
    MET = 2 /* bits that a set moves by */,
    SETS_AS_IT_IS = 5,
    SETS_SWAPPED = 10
};

static uint8_t *pending_new(Hazard *h)
{
    return NEWN(h->arena, uint8_t, h->all.n + 1);
}

static uint8_t *pending_copy(Hazard *h, const uint8_t *p)
{
    return arena_memdup(h->arena, p, (size_t)h->all.n + 1);
}

/* p := p or q; did that change it? */
static bool pending_join(const Hazard *h, uint8_t *p, const uint8_t *q)
{
    bool changed = false;
    for (int i = 0; i < h->all.n; i++) {
        changed |= (q[i] & ~p[i]) != 0;
        p[i] |= q[i];
    }
    return changed;
}

static void pending_clear(const Hazard *h, uint8_t *p)
{
    memset(p, 0, (size_t)h->all.n);
}

/* Is the statement the end of an exchange? Then what was in one half is in the other. */
static void pending_swap(const Hazard *h, const KStm *s, uint8_t *p)
{
    for (int k = 0; k < h->halves.swaps.n; k++) {
        const KSwap *swap = &h->halves.swaps.at[k];
        for (int i = 0; swap->last == s && i < h->all.n; i++) {
            const KExp *at = h->all.at[i]->at;
            if (kexp_uses(at, swap->v) || kexp_uses(at, swap->w))
                p[i] = (uint8_t)((p[i] & SETS_AS_IT_IS) << 1 | (p[i] & SETS_SWAPPED) >> 1);
        }
    }
}

static void wrong(Hazard *h, const KStm *s, const char *error)
{
    if (!h->error) {
        h->stm = s;
        h->error = error;
    }
}

static void access(Hazard *h, const KStm *s, uint8_t *p)
{
    const Access *b = ptrmap_get(h->access, s);
    for (int i = 0; i < h->all.n; i++) {
        const Access *a = h->all.at[i];
        int since = b->lead ? p[i] : p[i] | p[i] >> MET;
        if ((since & AS_IT_IS && conflict(h, a, a->at, b)) ||
            (since & SWAPPED && conflict(h, a, a->swapped, b)))
            wrong(h, s,
                  arena_printf(h->arena, "no barrier between this and another work-item's '%s'",
                               kstm_text(a->stm)));
    }
    p[b->number] |= AS_IT_IS;
}

static void walk_block(Hazard *h, const KBlock *b, uint8_t *p);

static bool for_teams(const KExp *x)
{
    return x->kind == KE_ID && x->id == KID_TEAMS;
}

static bool for_single(const KExp *x)
{
    return x->kind == KE_PRIM && x->op == OP_NOT && for_teams(x->x[0]);
}

static bool is_never(const KExp *x, bool value)
{
    return x->kind == KE_CONST && (x->c.i != 0) != value;
}

/* What is only for a group of one work-item does not count, nor what no work-item comes to. */
static void walk_if(Hazard *h, const KStm *s, uint8_t *p)
{
    uint8_t *q = pending_copy(h, p);
    bool then = !for_single(s->x[0]) && !is_never(s->x[0], true);
    bool els = !for_teams(s->x[0]) && !is_never(s->x[0], false);
    if (then)
        walk_block(h, &s->body[0], p);
    if (els)
        walk_block(h, &s->body[1], q);
    if (!then)
        pending_clear(h, p);
    if (els)
        pending_join(h, p, q);
}

static void walk_loop(Hazard *h, const KStm *s, uint8_t *p)
{
    uint8_t *in = pending_copy(h, p), *out;
    do {
        out = pending_copy(h, in);
        walk_block(h, &s->body[0], out);
    } while (pending_join(h, in, out));
    /* Without a turn, what came before stays. */
    if (kstm_turns(s))
        pending_clear(h, p);
    pending_join(h, p, out);
}

static void walk_work(Hazard *h, const KStm *s, uint8_t *p)
{
    uint8_t *left = pending_new(h);
    ptrmap_put(h->exits, s, left);
    walk_block(h, &s->body[0], p);
    pending_join(h, p, left);
}

static void pending_meet_lead(const Hazard *h, uint8_t *p)
{
    for (int i = 0; i < h->all.n; i++)
        if (h->all.at[i]->lead)
            p[i] = (uint8_t)((p[i] | p[i] << MET) & (AS_IT_IS | SWAPPED) << MET);
}

static void walk_meet(Hazard *h, const KStm *s, uint8_t *p)
{
    if (!kuniform_flow(h->places.uniform, s))
        wrong(h, s,
              s->lead ? "not all of a group's lead come here together, and nobody else"
                      : "not all work-items of a group come here together");
    if (kstm_fence(s) & 1u << KS_LOCAL && s->lead)
        pending_meet_lead(h, p);
    else if (kstm_fence(s) & 1u << KS_LOCAL)
        pending_clear(h, p);
}

static void walk_stm(Hazard *h, const KStm *s, uint8_t *p)
{
    if (is_local_access(s) && h->columns != KC_DONE)
        access(h, s, p);
    else if (s->kind == KST_SET)
        pending_swap(h, s, p);
    else if (s->kind == KST_BARRIER)
        walk_meet(h, s, p);
    else if (s->kind == KST_IF)
        walk_if(h, s, p);
    else if (s->kind == KST_FOR || s->kind == KST_WHILE)
        walk_loop(h, s, p);
    else if (s->kind == KST_BLOCK)
        walk_block(h, &s->body[0], p);
    else if (s->kind == KST_WORK)
        walk_work(h, s, p);
    else if (s->kind == KST_LEAVE) {
        pending_join(h, ptrmap_get(h->exits, s->target), p);
        pending_clear(h, p); /* nothing follows */
    }
}

static void walk_block(Hazard *h, const KBlock *b, uint8_t *p)
{
    for (int i = 0; i < b->n; i++)
        walk_stm(h, b->at[i], p);
}

static bool find_shared(void *env, KStm *s)
{
    *(bool *)env |= s->kind == KST_BARRIER || is_local_access(s);
    return !*(bool *)env;
}

const char *kir_hazard(Arena *a, const KFun *f, const KStm **at)
{
    bool shares = false;
    kblock_visit(&f->body, &(KVisitor){.env = &shares, .enter = find_shared});
    if (!shares)
        return NULL;
    Hazard *h = NEW(a, Hazard);
    *h = (Hazard){.arena = a,
                  .places = {.uniform = kuniform_of(a, f),
                             .positions = kpositions_new(a, f),
                             .loops = ptrmap_new(a),
                             .dims = 1},
                  .dealt = kdealt_of(a, f),
                  .defs = ptrmap_new(a),
                  .offsets = ptrmap_new(a),
                  .access = ptrmap_new(a),
                  .exits = ptrmap_new(a),
                  .halves = khalves_of(a, &f->body),
                  .columns = f->columns};
    h->places.halves = h->halves.other;
    note_block(h, &f->body);
    walk_block(h, &f->body, pending_new(h));
    *at = h->stm;
    return h->error;
}
