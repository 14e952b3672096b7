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
 * i] in `for i from local_id to k by group_size`;
 *  - a loop deals turns i to the work-items, and no two of these have that distance: buf[3 * i], buf[3 * i + 1];
 *  - they are at places that differ and are the same for all: buf[0], buf[1];
 *  - they are in the two halves of a buffer that a loop works on in turns: buf[cur + ...] and
 *    buf[next + ...], where cur and next are exchanged, and never changed otherwise;
 *  - all work-items have written the same value to a place that is the same for all;
 *  - an earlier load and a later store stand under one choice that varies and has to do with the
 *    place of only one of them: a step of a tree, where those that read what is d away are chosen
 *    so that nobody writes there.
 *
 * Dealt places, and those from columns on, believe the maker, and so does this: memory that VIEWs
 * name from different offsets on is different. Where there is one work-item in a group (not
 * `teams`), nothing is asked; where work-items stand in columns (columns.c), only whether they meet: the
 * rest was seen when there was one.
 *
 * Of two places in the row that is dealt to the work-item, buf[k * i + x] and buf[k * i + y], often
 * cannot be told whether x and y stay in the row: they are data, of which bounds checks or proofs
 * about the program know. Then the answer is UNSURE, and that is no error: a right program must not
 * end in an internal one. It is only for one and the same row; that different rows, or a row and
 * the memory around it, need a barrier in between is the rule that makers go by, and what breaks it
 * is reported whether or not the places can be compared. */
#include "kir/uniform.h"

#include "base/ptrmap.h"
#include "kir/dealt.h"
#include "kir/halves.h"
#include "kir/position.h"
#include "kir/text.h"
#include "kir/walk.h"

#include <stdint.h>
#include <string.h>

enum { DIMS = 3, MOST_NODES = 64, MOST_CHOICES = 64 };

/* A branch of an IF that is around. */
typedef struct {
    const KStm *stm;
    int branch;
} Choice;

typedef struct {
    const KStm *stm;
    int number;
    const KExp *at;          /* position, expanded */
    const KExp *swapped;     /* the same with halves exchanged; NULL: it is in none */
    const KExp *offset;      /* of the VIEW, expanded; NULL: 0 */
    const KExp *alone[DIMS]; /* conditions that leave one work-item, a dimension each */
    Choice choices[MOST_CHOICES];
    int n_choices;
} Access;

typedef struct {
    Arena *arena;
    const KUniform *uniform;
    const KDealt *dealt;
    KPositions *positions;
    PtrMap *defs;    /* immutable variable -> expression that it stands for */
    PtrMap *loops;   /* variable -> its FOR, bounds expanded */
    PtrMap *offsets; /* VIEW's buffer -> its offset */
    PtrMap *access;  /* statement -> Access */
    VEC(Access *) all;
    VEC(Choice) around;
    VEC(const KStm *) turning; /* FORs around, expanded */
    KHalves halves;
    PtrMap *exits;   /* WORK -> what is pending where it is left */
    unsigned dims;   /* in which the kernel tells work-items apart */
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
    KExp *e = NEW(a, KExp);
    *e = *x;
    e->type.index = false;
    return e;
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

typedef struct {
    const PtrMap *but;
    bool found;
} Mutable;

static void find_mutable(void *env, const KExp *x)
{
    Mutable *m = env;
    m->found |= x->kind == KE_VAR && x->var->mutable_ && !ptrmap_get(m->but, x->var);
}

/* Does its value depend on when it is asked for? On which half is which it may. */
static bool changes(const Hazard *h, const KExp *x)
{
    Mutable m = {h->halves.other, false};
    kexp_visit(x, find_mutable, &m);
    return m.found;
}

static void define(Hazard *h, const KStm *s)
{
    const KExp *x = expand(h, s->x[0]);
    int nodes = 0;
    kexp_visit(x, count_node, &nodes);
    if (nodes <= MOST_NODES && !changes(h, x))
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

/* Is x the work-item's number in a dimension, moved by what is the same for all? */
static bool is_number(const Hazard *h, const KExp *x, int *dim)
{
    if (x->kind == KE_ID && x->id == KID_LOCAL) {
        *dim = x->dim;
        return true;
    }
    if (x->kind != KE_PRIM || !x->exact || (x->op != OP_ADD && x->op != OP_SUB))
        return false;
    return (kuniform_exp(h->uniform, x->x[1]) && is_number(h, x->x[0], dim)) ||
           (kuniform_exp(h->uniform, x->x[0]) && is_number(h, x->x[1], dim));
}

/* Does x hold for one number of work-items in the dimension? */
static bool is_alone(const Hazard *h, const KExp *x, int *dim)
{
    if (x->kind != KE_PRIM || x->op != OP_EQ || changes(h, x))
        return false;
    for (int i = 0; i < 2; i++)
        if (is_number(h, x->x[i], dim) && kuniform_exp(h->uniform, x->x[1 - i]))
            return true;
    return false;
}

static void note_alone(const Hazard *h, Access *a, const KExp *cond)
{
    int dim;
    if (is_alone(h, cond, &dim)) {
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
        if (kx_same(x, expand(h, c->stm->x[0])))
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
        h->dims |= 1u << x->dim;
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

static bool one_step(const Access *a)
{
    return a->stm->kind != KST_LOAD && a->stm->kind != KST_STORE;
}

static bool same_alone(const Hazard *h, const Access *a, const Access *b)
{
    for (int d = 0; d < DIMS; d++)
        if (h->dims & 1u << d && !(a->alone[d] && b->alone[d] && kx_same(a->alone[d], b->alone[d])))
            return false;
    return true;
}

static bool same_or_none(const KExp *x, const KExp *y)
{
    return x && y ? kx_same(x, y) : x == y;
}

static bool uniform_store(const Hazard *h, const Access *a)
{
    return a->stm->kind == KST_STORE && kuniform_exp(h->uniform, a->stm->x[1]) &&
           kuniform_flow(h->uniform, a->stm);
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
    return !has_var && kuniform_exp(h->uniform, x);
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

/* An earlier load and a later store of those that a condition on the distance has chosen. */
static bool chosen(const Hazard *h, const Access *load, const Access *store)
{
    if (load->stm->kind != KST_LOAD || store->stm->kind != KST_STORE)
        return false;
    for (int i = 0; i < load->n_choices && i < store->n_choices; i++) {
        const Choice *c = &load->choices[i], *d = &store->choices[i];
        Only o = {load->at, store->at, false};
        if (c->stm != d->stm || c->branch != d->branch)
            return false;
        kexp_visit(c->stm->x[0], find_only, &o);
        if (o.in_one && !kuniform_exp(h->uniform, c->stm->x[0]))
            return true;
    }
    return false;
}

/* Do work-items that go from here to there by this step never meet? Each starts at its number, or
 * one alone starts before the end. */
static bool deals(const Hazard *h, const KExp *from, const KExp *to, const KExp *step)
{
    int dim;
    if (is_number(h, from, &dim))
        return step->kind == KE_ID && step->id == KID_GROUP_SIZE && step->dim == dim;
    if (from->kind != KE_SELECT)
        return false;
    if (is_alone(h, from->x[0], &dim))
        return h->dims == 1 && kx_same(from->x[2], to);
    return step->kind == KE_SELECT && kx_same(from->x[0], step->x[0]) &&
           deals(h, from->x[1], to, step->x[1]) && deals(h, from->x[2], to, step->x[2]);
}

/* The loop that deals its turns to the work-items and has x as its variable; else NULL. */
static const KStm *dealt_by(const Hazard *h, const KExp *x)
{
    const KStm *s = x->kind == KE_VAR ? ptrmap_get(h->loops, x->var) : NULL;
    return s && !s->doubling && deals(h, s->x[0], s->x[1], s->x[2]) ? s : NULL;
}

static bool is_multiple(const KExp *x, const KExp *of)
{
    if (of->kind == KE_CONST && of->c.i == 1)
        return true;
    return x->kind == KE_PRIM && x->exact && x->op == OP_MUL &&
           (kx_same(x->x[0], of) || kx_same(x->x[1], of));
}

/* The loop whose turn it is to which the column of x belongs, NULL if that is not seen. */
static const KStm *column_of(const Hazard *h, const KExp *x)
{
    const KStm *s = dealt_by(h, x);
    bool sum = x->kind == KE_PRIM && x->exact && x->op == OP_ADD;
    for (int i = 0; !s && sum && i < 2; i++) {
        s = dealt_by(h, x->x[i]);
        if (s && !is_multiple(x->x[1 - i], s->x[1]))
            s = NULL;
    }
    return s;
}

static bool same_column(const Hazard *h, const KExp *x, const KExp *y)
{
    const KStm *s = column_of(h, x);
    return s && s == column_of(h, y);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static const KStm *loop_of(const Hazard *h, const KExp *x)
{
    return x->kind == KE_VAR ? ptrmap_get(h->loops, x->var) : NULL;
}

/* Does no other work-item have the same number x? */
static bool is_own_number(const Hazard *h, const KExp *x)
{
    return (x->kind == KE_ID && x->id == KID_LOCAL) || dealt_by(h, x);
}

/* The width of the rows that a number of work-items counts in both positions: k times some leaves.
 */
static bool row_width(const Hazard *h, const Poly *x, const Poly *y, Term *width)
{
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < POLY_DEGREE && x->t[i].leaves[k]; k++) {
            Leaf l = x->t[i].leaves[k];
            Poly w, v, rest;
            if (!is_own_number(h, kposition_leaf(h->positions, l)))
                continue;
            poly_split(x, l, &w, &rest);
            poly_split(y, l, &v, &rest);
            if (!poly_add(&v, &w, -1) || v.n || v.c || w.n + (w.c != 0) != 1)
                continue;
            *width = w.n ? w.t[0] : (Term){.k = w.c};
            return true;
        }
    return false;
}

static bool is_number_exp(const KExp *x, int64_t k)
{
    return x->kind == KE_CONST && x->c.i == k;
}

static bool is_one(const Term *width)
{
    return width->k == 1 && !width->leaves[0];
}

/* The polynomial in the first turn of loops from 0 on, which may be about the elements of a row. */
static bool in_first_turns(const Hazard *h, Poly *d, const Term *width)
{
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < POLY_DEGREE && d->t[i].leaves[k]; k++) {
            Leaf l = d->t[i].leaves[k];
            const KStm *s = loop_of(h, kposition_leaf(h->positions, l));
            Poly none = poly_const(0);
            if (!s || s->doubling || !is_number_exp(s->x[0], 0))
                continue;
            if (is_one(width) && !is_number_exp(s->x[1], 1))
                continue;
            if (!poly_replace(d, l, &none))
                return false;
            i = -1;
            break;
        }
    return true;
}

/* Is the term a row or some for sure: a number of them, or as many as a loop doubles? */
static bool is_rows(const Hazard *h, const Term *t, const Term *width)
{
    Term w = *width, q;
    w.k = 1;
    if (t->k % width->k != 0 || !term_quotient(t, &w, &q))
        return false;
    for (int i = 0; i < POLY_DEGREE && q.leaves[i]; i++) {
        const KStm *s = loop_of(h, kposition_leaf(h->positions, q.leaves[i]));
        if (!s || !s->doubling)
            return false;
    }
    return true;
}

/* May it be 0, as far as can be told? */
static bool is_unknown(const Hazard *h, const Poly *d)
{
    const Term *t = &d->t[0];
    if (d->n != 1 || d->c || (t->k != 1 && t->k != -1) || t->leaves[1])
        return d->n == 0 && d->c == 0;
    const KExp *x = kposition_leaf(h->positions, t->leaves[0]);
    return x->kind != KE_ID && !loop_of(h, x);
}

/* Are places that differ by d in rows that differ? A row of one element is as good as one that
 * has not been dealt: there only what is data, or was computed before, is not compared. */
static bool is_other_row(const Hazard *h, const Poly *d, const Term *width)
{
    bool number = !width->leaves[0];
    if (is_one(width))
        return !is_unknown(h, d);
    if (!d->n)
        return number && (d->c >= width->k || -d->c >= width->k);
    for (int i = 0; i < d->n; i++)
        if (!is_rows(h, &d->t[i], width))
            return false;
    return number ? d->c % width->k == 0 : d->c == 0;
}

/* Two places of the row that is the work-item's own, as far as can be told. Where work-items have
 * numbers in two dimensions, a row may be of several. */
static bool maybe_same_row(const Hazard *h, const KExp *at, const KExp *bt)
{
    Poly x = kposition(h->positions, at), d = kposition(h->positions, bt);
    Term width;
    if (h->dims != 1 || !row_width(h, &x, &d, &width))
        return false;
    return !poly_add(&d, &x, -1) || !in_first_turns(h, &d, &width) || !is_other_row(h, &d, &width);
}

/* --- Together --------------------------------------------------------------------------------- */

/* Do two work-items find the same element? */
typedef enum { APART, UNSURE, MEET } Meeting;

/* By how much the position grows with base + local_id, the element that a loop deals; 0: not known. */
static int64_t factor_of(const Hazard *h, const Poly *x)
{
    int64_t own = 0, base = 0;
    for (int i = 0; i < x->n; i++)
        for (int m = 0; m < POLY_DEGREE && x->t[i].leaves[m]; m++) {
            const KExp *leaf = kposition_leaf(h->positions, x->t[i].leaves[m]);
            bool dealt = loop_of(h, leaf) && loop_of(h, leaf)->x[2]->kind == KE_ID; /* group_size */
            if (leaf->kind == KE_ID && leaf->id == KID_LOCAL)
                own = kposition_factor(x, x->t[i].leaves[m]);
            else if (!kuniform_exp(h->uniform, leaf) || (dealt && base))
                return 0;
            else if (dealt)
                base = kposition_factor(x, x->t[i].leaves[m]);
        }
    return own == base ? own : 0;
}

/* Are they at a distance that no two turns have? */
static bool turns_apart(const Hazard *h, const KExp *at, const KExp *bt)
{
    Poly x = kposition(h->positions, at), y = kposition(h->positions, bt);
    return h->dims == 1 && factor_of(h, &x) == factor_of(h, &y) && kposition_turns_apart(&x, &y, factor_of(h, &x));
}

/* Places in the same memory, by elements of the same size; `at`: where a is seen from b. */
static Meeting meeting(const Hazard *h, const Access *a, const KExp *at, const Access *b)
{
    int64_t d, m = kstm_lanes(a->stm), n = kstm_lanes(b->stm);
    bool known = distance(at, b->at, &d);
    bool varies =
        !kuniform_exp(h->uniform, at) || (a->offset && !kuniform_exp(h->uniform, a->offset));
    if (khalves_apart(&h->halves, at, b->at))
        return APART;
    if (varies) {
        bool inside = known && ((d >= 0 && d + n <= m) || (d <= 0 && m - d <= n));
        if (inside || (m == 1 && n == 1 && (same_column(h, at, b->at) || turns_apart(h, at, b->at))))
            return APART;
        return maybe_same_row(h, at, b->at) ? UNSURE : MEET;
    }
    if (known && d < m && -d < n)
        return uniform_store(h, a) ? APART : MEET;
    return known && kuniform_exp(h->uniform, b->at) ? APART : MEET;
}

static bool conflict(const Hazard *h, const Access *a, const KExp *at, const Access *b)
{
    const KBuf *m = a->stm->buf, *n = b->stm->buf;
    bool ordered = (writes(a) && reads(b)) || (reads(a) && writes(b));
    if (!ordered || (one_step(a) && one_step(b)))
        return false;
    if (!kbuf_overlap(m, n) || !same_or_none(a->offset, b->offset))
        return false;
    if (same_alone(h, a, b) || exclusive(h, a, b) || chosen(h, a, b))
        return false;
    if (m == n && kdealt_access(h->dealt, a->stm) && kdealt_access(h->dealt, b->stm))
        return false;
    return prim_type_bytes[m->elem] != prim_type_bytes[n->elem] || meeting(h, a, at, b) == MEET;
}

/* --- What there is ---------------------------------------------------------------------------- */

static bool is_local_access(const KStm *s)
{
    return (kstm_reads(s) || kstm_writes(s)) && s->buf && s->buf->space == KS_LOCAL;
}

/* Of p + p / 32, as positions in padded buffers are, p. */
static const KExp *without_gaps(const KExp *x)
{
    const KExp *q = x->kind == KE_PRIM && x->op == OP_ADD ? x->x[1] : NULL;
    bool gap = q && q->kind == KE_PRIM && q->op == OP_QUOT && q->x[1]->kind == KE_CONST;
    return gap && kx_same(q->x[0], x->x[0]) ? x->x[0] : x;
}

static void note_access(Hazard *h, const KStm *s)
{
    Access *a = NEW(h->arena, Access);
    *a = (Access){.stm = s, .number = h->all.n, .at = expand(h, without_gaps(s->x[0]))};
    const KExp *swapped = kexp_subst(h->arena, a->at, h->halves.other);
    a->swapped = swapped == a->at ? NULL : swapped;
    a->offset = ptrmap_get(h->offsets, s->buf);
    for (int i = 0; i < h->around.n; i++) {
        Choice c = h->around.at[i];
        if (c.branch == 0)
            note_alone(h, a, expand(h, c.stm->x[0]));
        if (i < MOST_CHOICES)
            a->choices[a->n_choices++] = c;
    }
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
    ptrmap_put(h->loops, s->var, to);
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
    for (int k = 0; k < 2; k++) {
        if (s->kind == KST_IF)
            vec_push(h->arena, &h->around, ((Choice){s, k}));
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
 * exchanged, or after. */
enum { AS_IT_IS = 1, SWAPPED = 2 };

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
                p[i] = (uint8_t)((p[i] & AS_IT_IS ? SWAPPED : 0) | (p[i] & SWAPPED ? AS_IT_IS : 0));
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
        if ((p[i] & AS_IT_IS && conflict(h, a, a->at, b)) ||
            (p[i] & SWAPPED && conflict(h, a, a->swapped, b)))
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

/* What is only for a group of one work-item does not count. */
static void walk_if(Hazard *h, const KStm *s, uint8_t *p)
{
    uint8_t *q = pending_copy(h, p);
    bool then = !for_single(s->x[0]), els = !for_teams(s->x[0]);
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

static void walk_meet(Hazard *h, const KStm *s, uint8_t *p)
{
    if (!kuniform_flow(h->uniform, s))
        wrong(h, s, "not all work-items of a group come here together");
    if (kstm_fence(s) & 1u << KS_LOCAL)
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

const char *kir_hazard(Arena *a, const KFun *f, const KStm **at)
{
    Hazard *h = NEW(a, Hazard);
    *h = (Hazard){.arena = a,
                  .uniform = kuniform_of(a, f),
                  .dealt = kdealt_of(a, f),
                  .positions = kpositions_new(a, f),
                  .defs = ptrmap_new(a),
                  .loops = ptrmap_new(a),
                  .offsets = ptrmap_new(a),
                  .access = ptrmap_new(a),
                  .exits = ptrmap_new(a),
                  .halves = khalves_of(a, &f->body),
                  .columns = f->columns,
                  .dims = 1};
    note_block(h, &f->body);
    walk_block(h, &f->body, pending_new(h));
    *at = h->stm;
    return h->error;
}
