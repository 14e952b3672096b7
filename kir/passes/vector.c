/* Neighbouring elements are loaded and stored together, as vectors: on a GPU four loads of a float
 * cost four times the instructions of one of four floats, and neighbouring work-items, a row apart,
 * ask for the same lines four times.
 *
 *     load x: f32 = xs[i * 4]              load v: f32x4 = xs[i * 4]
 *     load y: f32 = xs[i * 4 + 1]          let x: f32 = v.0
 *     ...                             =>   ...
 *     store ys[i * 2 + 1] = q              store ys[i * 2] = vector(p, q)
 *
 * Elements go together that are a vector's: next to each other from a position on of which it is
 * proved that it is a multiple of their number, in a buffer that is aligned (position.h). Loads go
 * up to the first of them and stores down to the last, past statements of their block that neither
 * change where they are nor touch the same memory; none goes past a barrier, a choice or a loop.
 * Of memory that is only read a vector may be loaded if more than half of it is wanted: as buffers
 * end where an aligned vector does, the rest of it is there, too.
 *
 * Values remain scalars, so that no other pass need know. Private arrays are no memory that wide
 * accesses speed up. */
#include "kir/facts/position.h"
#include "kir/facts/range.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { MOST_LANES = 8, MOST_APART = 64 }; /* statements between the first and the last */

typedef struct {
    KStmKind kind;
    int lanes, n;
    int first, last;   /* of its elements, in the block */
    const KExp *value; /* what was loaded */
    const KExp *part[MOST_LANES];
} Group;

/* A statement of a block. */
typedef struct {
    KStm *s;
    Poly at;   /* LOAD, STORE: the position */
    Group *in; /* NULL: it stays */
    int lane;
} Item;

typedef struct {
    Arena *arena;
    KBuild *b;
    KPositions *positions;
    bool columns; /* neighbours in local memory will not stay such (columns.c) */
    int most;     /* bytes of one */
    Item *items;  /* of the block at work */
    int n;
} Vectors;

/* --- What may change places ------------------------------------------------------------------- */

/* Does what is before it happen before, and does it go on to what is after it? */
static bool is_passable(const KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
    case KST_SET:
    case KST_LOAD:
    case KST_STORE:
    case KST_ARRAY:
    case KST_VIEW:
    case KST_FRESH:
    case KST_CALL:
    case KST_COMMENT: return true;
    case KST_FAILING:
    case KST_ATOMIC:
    case KST_CAS:
    case KST_RACE:
    case KST_COPY:
    case KST_ROUND:
    case KST_FRAGMENTS:
    case KST_MULTIPLY:
    case KST_EXPOSE:
    case KST_SETTLE:
    case KST_PEEK:
    case KST_PREFETCH:
    case KST_ARRIVE:
    case KST_POST:
    case KST_FOR:
    case KST_WHILE:
    case KST_IF:
    case KST_BLOCK:
    case KST_WORK:
    case KST_LEAVE:
    case KST_BARRIER:
    case KST_FAIL:
    case KST_HEAP:
    case KST_SHUFFLE:
    case KST_POWER:
    case KST_GIVE:
    case N_KSTMS: break;
    }
    return false;
}

static bool is_access(const KStm *s)
{
    return (s->kind == KST_LOAD || s->kind == KST_STORE) && s->buf->space != KS_PRIVATE &&
           !s->buf->padded;
}

/* Are they different elements of one buffer? */
static bool are_apart(const Item *x, const Item *y)
{
    int64_t d;
    if (x->s->buf != y->s->buf || !kposition_distance(&x->at, &y->at, &d))
        return false;
    return d >= kstm_lanes(x->s) || -d >= kstm_lanes(y->s);
}

/* Must the access stay on its side of a statement that is passable? */
static bool holds(const Item *of, const Item *access)
{
    const KStm *s = of->s, *a = access->s;
    if (s->kind == KST_SET)
        return kexp_uses(a->x[0], s->var);
    if (!is_access(s) || (s->kind == KST_LOAD && a->kind == KST_LOAD))
        return false;
    if (a->kind == KST_LOAD && kbuf_root(a->buf)->read_only)
        return false;
    return kbuf_overlap(s->buf, a->buf) && !are_apart(of, access);
}

/* May the access at i go past all that is between i and k? */
static bool may_pass(const Vectors *v, int i, int k)
{
    for (int t = (i < k ? i : k) + 1; t < (i < k ? k : i); t++)
        if (holds(&v->items[t], &v->items[i]))
            return false;
    return true;
}

/* --- What goes together ----------------------------------------------------------------------- */

/* Its elements so far may stand where the one at k is, or that with the first. */
static bool may_join(const Vectors *v, const Group *g, const int *members, int n, int k)
{
    if (g->kind == KST_LOAD)
        return may_pass(v, k, g->first);
    for (int i = 0; i < n; i++)
        if (!may_pass(v, members[i], k))
            return false;
    return true;
}

static bool is_aligned(const Vectors *v, const Item *x, int lanes)
{
    int64_t bytes = (int64_t)lanes * prim_type_bytes[x->s->buf->elem];
    return bytes <= v->most && kposition_step(v->positions, &x->at, lanes) == lanes &&
           kposition_align(v->positions, x->s->buf, bytes) == bytes;
}

/* Its place in the vector to which the element at i belongs; -1: it is not of it. */
static int lane_in(const Vectors *v, const Group *g, int k)
{
    const Item *x = &v->items[g->first], *y = &v->items[k];
    int64_t d;
    if (y->in || y->s->kind != g->kind || y->s->buf != x->s->buf || kstm_lanes(y->s) > 1 ||
        !kposition_distance(&x->at, &y->at, &d))
        return -1;
    int64_t lane = (x->at.c & (g->lanes - 1)) + d;
    return lane >= 0 && lane < g->lanes ? (int)lane : -1;
}

static bool is_enough(const KBuf *buf, const Group *g)
{
    return kbuf_root(buf)->read_only ? g->n > g->lanes / 2 : g->n == g->lanes;
}

/* The vector that begins with the element at i, if there are enough of it. */
static void gather(Vectors *v, int i, int lanes)
{
    Group g = {.kind = v->items[i].s->kind, .lanes = lanes, .first = i};
    const KBuf *buf = v->items[i].s->buf;
    int members[MOST_APART], lane[MOST_APART], n = 0;
    unsigned have = 0;
    for (int k = i; k < v->n && k < i + MOST_APART && is_passable(v->items[k].s); k++) {
        int l = lane_in(v, &g, k);
        if (l < 0 || (g.kind == KST_STORE && have >> l & 1) || !may_join(v, &g, members, n, k))
            continue;
        g.n += !(have >> l & 1);
        have |= 1u << l;
        members[n] = g.last = k;
        lane[n++] = l;
    }
    if (!is_enough(buf, &g))
        return;
    Group *to = arena_memdup(v->arena, &g, sizeof g);
    for (int k = 0; k < n; k++) {
        v->items[members[k]].in = to;
        v->items[members[k]].lane = lane[k];
    }
}

/* --- The block afterwards --------------------------------------------------------------------- */

/* Where the vector begins of which that is an element. */
static const KExp *start_of(const Vectors *v, const Item *x)
{
    return kbound_add(v->arena, x->s->x[0], kx_int(v->arena, -x->lane));
}

static void put_load(const Vectors *v, const Item *x)
{
    Group *g = x->in;
    if (!g->value) {
        KVar *all = kb_var_new(v->b, x->s->buf->name, x->s->var->type);
        all->type.lanes = g->lanes;
        kb_load_var(v->b, all, x->s->buf, start_of(v, x));
        g->value = kx_var(v->arena, all);
    }
    kb_let_var(v->b, x->s->var, kx_part(v->arena, g->value, x->lane));
}

/* The values are those of before. */
static void put_store(const Vectors *v, int i)
{
    const Item *x = &v->items[i];
    Group *g = x->in;
    g->part[x->lane] = kb_let(v->b, "part", x->s->x[1]);
    if (i == g->last)
        kb_store(v->b, x->s->buf, start_of(v, x), kx_vector(v->arena, g->part, g->lanes));
}

static void put(const Vectors *v, int i)
{
    const Item *x = &v->items[i];
    v->b->at = x->s->loc;
    if (!x->in)
        kb_push(v->b, x->s);
    else if (x->s->kind == KST_LOAD)
        put_load(v, x);
    else
        put_store(v, i);
}

static void look_at(Vectors *v, const KBlock *block)
{
    v->n = block->n;
    v->items = NEWN(v->arena, Item, block->n);
    for (int i = 0; i < block->n; i++) {
        Item *x = &v->items[i];
        x->s = block->at[i];
        if (is_access(x->s))
            x->at = kposition(v->positions, x->s->x[0]);
    }
}

/* The widest vectors first. Did any statement change? */
static bool find_groups(Vectors *v, KStmKind kind)
{
    bool found = false;
    for (int lanes = MOST_LANES; lanes > 1; lanes /= 2)
        for (int i = 0; i < v->n; i++) {
            const Item *x = &v->items[i];
            bool alone = x->s->kind == kind && is_access(x->s) && !x->in && kstm_lanes(x->s) == 1 &&
                         !(v->columns && x->s->buf->space == KS_LOCAL);
            if (alone && is_aligned(v, x, lanes))
                gather(v, i, lanes);
            found |= x->in != NULL;
        }
    return found;
}

/* Loads and stores one after the other: where both moved, they might pass each other unseen. */
static void group(Vectors *v, KBlock *block, KStmKind kind)
{
    look_at(v, block);
    if (!find_groups(v, kind))
        return;
    *block = (KBlock){0};
    kb_into(v->b, block);
    for (int i = 0; i < v->n; i++)
        put(v, i);
    v->b->open.n--;
}

static void walk(Vectors *v, KBlock *block)
{
    for (int i = 0; i < block->n; i++)
        for (int k = 0; k < 2; k++)
            walk(v, &block->at[i]->body[k]);
    group(v, block, KST_LOAD);
    group(v, block, KST_STORE);
}

void kir_vector(Arena *a, KFun *f)
{
    if (!f->vector_bytes)
        return;
    Vectors v = {.arena = a,
                 .b = kb_more(a, f),
                 .positions = kpositions_new(a, f),
                 .columns = f->columns != KC_NONE,
                 .most = f->vector_bytes};
    walk(&v, &f->body);
}
