/* What a work-item makes for itself stays in its registers.
 *
 * Level-0 constructs deal their elements to the work-items of a group, each every group-size-th,
 * and pass arrays on in local memory. Where all that is ever written to such an array is written by
 * the work-item that has the element, and it reads the element back in its turn of a later loop, an
 * array of its own serves as well:
 *
 *     for j from lid to n by group_size { store a[j] = x }
 *     for j from lid to n by group_size { load y = a[j] .. }
 *
 * becomes, where the compiler will know how many turns these are, and they are few,
 *
 *     for base from 0 to n by group_size unroll 8 {
 *         turn = base / group_size; j = base + lid; if j < n { own[turn] = x } }
 *
 * and stays what it is elsewhere: IFs on `unrolls` choose, which a kernel built for the sizes of
 * its launch answers with yes. Elements that other work-items read besides are kept in both. Of a
 * buffer whose halves a loop exchanges each half has such an array, and they are exchanged like the
 * halves.
 *
 * Element c + j is turn / group_size of work-item j % group_size in each loop, whatever their ends
 * are, if c is the same in all: a polynomial over what does not change from the FRESH on behind
 * which all accesses stand.
 *
 * Before: a kernel as made, with its FRESHs. After: well-formed; `unrolls` may stand
 * in conditions. */
#include "kir/facts/dealt.h"
#include "kir/facts/halves.h"
#include "kir/facts/position.h"
#include "kir/facts/uniform.h"
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum {
    MOST_TURNS = 8,
    MOST_WORDS =
        64, /* registers of a work-item that arrays of loops that belong together may take */
    WORD = 4
};

/* A loop whose turns are dealt to the work-items. */
typedef struct Dealt Dealt;
struct Dealt {
    KStm *loop;
    const KBlock *body; /* of the turn */
    const KExp *j,
        *total; /* the element of the turn; how many there are, by parameters; NULL: not by them */
    Dealt *joined; /* towards the one that stands for those that share arrays */
    int words;     /* of that one: of all arrays */
};

typedef struct {
    const KStm *stm;
    const Dealt *in; /* NULL: the access is in none, or not by the element */
    int order;
    Poly from; /* what is added to the element */
} Access;

typedef struct {
    KBuf *buf, *own[2]; /* own[1]: of the other half */
    const KStm *fresh;
    int n_fresh;
    int begin, end;    /* where its block goes on behind the FRESH, and ends */
    const KSwap *swap; /* of its halves; NULL: there are none */
    bool stays;        /* others read it, too */
    VEC(Access) accesses;
} Array;

/* What takes the place of an access. */
typedef struct {
    const Array *array;
    int half;
} Cell;

typedef struct {
    Arena *arena;
    KPositions *positions;
    const KUniform *uniform;
    const KInfo *info;
    KHalves halves;
    PtrMap *arrays; /* KBuf -> Array */
    VEC(Array *) all;
    PtrMap *orders; /* statement -> its number, as a pointer */
    int order;
    Dealt *dealt;     /* around; NULL: none */
    PtrMap *loops;    /* FOR -> Dealt */
    PtrMap *places;   /* access -> Cell */
    PtrMap *begins;   /* FRESH -> Array */
    PtrMap *swaps;    /* the last statement of an exchange -> Array */
    const KExp *turn; /* where accesses are replaced */
} Own;

/* --- Loops that deal -------------------------------------------------------------------------- */

static const KExp *definition(const Own *w, const KExp *x)
{
    const KStm *s = x->kind == KE_VAR ? kinfo_get(w->info, x->var).def : NULL;
    return s && s->kind == KST_LET ? definition(w, s->x[0]) : x;
}

typedef struct {
    const Own *w;
    bool found;
} Search;

static void find_bound(void *env, const KExp *x)
{
    Search *f = env;
    f->found |= x->kind == KE_ID || (x->kind == KE_VAR && kinfo_get(f->w->info, x->var).def);
}

/* NULL: it is not by parameters alone. */
static const KExp *by_parameters(const Own *w, const KExp *x)
{
    Search f = {w, false};
    x = definition(w, x);
    kexp_visit(x, find_bound, &f);
    return f.found ? NULL : x;
}

static Dealt *dealt_of(const Own *w, KStm *s)
{
    KDealtLoop loop;
    if (!kdealt_loop(w->arena, w->info, s, &loop) || loop.more)
        return NULL;
    Dealt *d = NEW(w->arena, Dealt);
    *d = (Dealt){.loop = s, .j = loop.j, .body = loop.body, .total = by_parameters(w, s->x[1])};
    return d;
}

static Dealt *family(Dealt *d)
{
    while (d->joined)
        d = d->joined;
    return d;
}

static void join(Dealt *d, Dealt *e)
{
    d = family(d);
    e = family(e);
    if (d == e)
        return;
    e->joined = d;
    d->words += e->words;
}

/* --- Accesses --------------------------------------------------------------------------------- */

static void begin(Own *w, KStm *s)
{
    Array *a = ptrmap_get(w->arrays, s->buf);
    if (!a)
        return;
    a->n_fresh++;
    a->fresh = s;
    a->begin = w->order;
}

static void note_access(Own *w, const KStm *s)
{
    Array *a = ptrmap_get(w->arrays, kbuf_root(s->buf));
    if (!a)
        return;
    Access at = {.stm = s, .order = w->order};
    bool plain = (s->kind == KST_LOAD || s->kind == KST_STORE) && !s->buf->of && kstm_lanes(s) == 1;
    if (plain && w->dealt) {
        Poly j = kposition(w->positions, w->dealt->j);
        at.from = kposition(w->positions, s->x[0]);
        at.in = poly_add(&at.from, &j, -1) ? w->dealt : NULL;
    }
    vec_push(w->arena, &a->accesses, at);
}

static bool for_teams(const KExp *x)
{
    return x->kind == KE_ID && x->id == KID_TEAMS;
}

/* Is the branch only for groups of one work-item? */
static bool is_single(const KStm *s, int branch)
{
    const KExp *x = s->x[0];
    if (s->kind != KST_IF)
        return false;
    return branch ? for_teams(x) : x->kind == KE_PRIM && x->op == OP_NOT && for_teams(x->x[0]);
}

static void note_block(Own *w, const KBlock *b);

static void note_stm(Own *w, KStm *s)
{
    ptrmap_put(w->orders, s, (const void *)(uintptr_t)++w->order);
    if (s->kind == KST_FRESH)
        begin(w, s);
    else if (kstm_reads(s) || kstm_writes(s))
        note_access(w, s);
    Dealt *d = w->dealt ? NULL : dealt_of(w, s);
    if (d) {
        w->dealt = d;
        ptrmap_put(w->loops, s, d);
    }
    for (int k = 0; k < 2; k++)
        if (!is_single(s, k))
            note_block(w, &s->body[k]);
    if (d)
        w->dealt = NULL;
}

static void note_block(Own *w, const KBlock *b)
{
    for (int i = 0; i < b->n; i++)
        note_stm(w, b->at[i]);
    w->order++;
    for (int i = 0; i < b->n; i++) {
        Array *a = b->at[i]->kind == KST_FRESH ? ptrmap_get(w->arrays, b->at[i]->buf) : NULL;
        if (a)
            a->end = w->order;
    }
}

static int order_of(const Own *w, const KStm *s)
{
    return (int)(uintptr_t)ptrmap_get(w->orders, s);
}

static const KStm *var_def(const Own *w, const KVar *v)
{
    return kinfo_get(w->info, v).def;
}

/* --- Which arrays ----------------------------------------------------------------------------- */

typedef struct {
    const Own *w;
    const Array *a;
    bool varies;
} Varying;

/* Is there something that may not be the same at all accesses? */
static void find_varying(void *env, const KExp *x)
{
    Varying *v = env;
    const KStm *def = x->kind == KE_VAR ? var_def(v->w, x->var) : NULL;
    if (def)
        v->varies |= x->var->mutable_ || !order_of(v->w, def) || order_of(v->w, def) > v->a->begin;
}

static bool is_steady(const Own *w, const Array *a, const Poly *p)
{
    Varying v = {w, a, false};
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < POLY_DEGREE && p->t[i].leaves[k]; k++) {
            const KExp *x = kposition_leaf(w->positions, p->t[i].leaves[k]);
            v.varies |= !kuniform_exp(w->uniform, x);
            kexp_visit(x, find_varying, &v);
        }
    return !v.varies;
}

static bool is_same(const Poly *x, const Poly *y)
{
    int64_t by;
    return kposition_distance(x, y, &by) && by == 0;
}

/* *half: the number in the exchange of the variable that is in the position, which is taken out of
 * it; -1: none is. */
static void take_half(Own *w, const KSwap *swap, Poly *from, int *half)
{
    const KVar *vars[] = {swap->v, swap->w};
    *half = -1;
    for (int k = 0; k < 2; k++) {
        Poly v = kposition(w->positions, kx_var(w->arena, vars[k])), rest = *from;
        if (v.n != 1 || !poly_add(&rest, &v, -1) || rest.n >= from->n)
            continue;
        *from = rest;
        *half = k;
    }
}

/* Before there are halves: the one that is to begin there; -1: none is. */
static int first_half(Own *w, const KSwap *swap, const Access *at, const Poly *from)
{
    const KVar *vars[] = {swap->v, swap->w};
    for (int k = 0; k < 2; k++) {
        const KStm *def = var_def(w, vars[k]);
        if (!def || def->kind != KST_VAR || !def->x[0] || at->order > order_of(w, def))
            continue;
        Poly here = at->from, begins = kposition(w->positions, def->x[0]);
        if (poly_add(&here, &begins, -1) && is_same(&here, from))
            return k;
    }
    return -1;
}

/* The exchange of variables that occur in the positions, NULL if there is none. */
static const KSwap *swap_of(Own *w, const Array *a)
{
    for (int i = 0; i < w->halves.swaps.n; i++) {
        const KSwap *s = &w->halves.swaps.at[i];
        for (int k = 0; k < a->accesses.n; k++) {
            Poly from = a->accesses.at[k].from;
            int half = -1;
            if (a->accesses.at[k].in)
                take_half(w, s, &from, &half);
            if (half >= 0)
                return s;
        }
    }
    return NULL;
}

/* Where the first half, or all of it, begins: by the first access that is in a loop. */
static bool base_of(Own *w, const Array *a, Poly *from)
{
    for (int k = 0; k < a->accesses.n; k++) {
        const Access *at = &a->accesses.at[k];
        int half = 0;
        *from = at->from;
        if (at->in && a->swap)
            take_half(w, a->swap, from, &half);
        if (at->in && half >= 0 && is_steady(w, a, from))
            return true;
    }
    return false;
}

/* In which half the work-item's own element is that the access is about, -1: it is not
 * about that. */
static int half_of(Own *w, const Array *a, const Access *at, const Poly *from)
{
    Poly here = at->from;
    int half = 0;
    if (!at->in || !at->in->total)
        return -1;
    if (a->swap)
        take_half(w, a->swap, &here, &half);
    if (half < 0)
        return first_half(w, a->swap, at, from);
    return is_same(&here, from) ? half : -1;
}

static bool is_once(const Own *w, const KSwap *swap)
{
    int n = 0;
    for (int i = 0; i < w->halves.swaps.n; i++)
        n += w->halves.swaps.at[i].v == swap->v || w->halves.swaps.at[i].v == swap->w;
    return n == 1;
}

static bool spans(const Own *w, const Array *a)
{
    for (int i = 0; i < a->accesses.n; i++)
        if (a->accesses.at[i].order < a->begin || a->accesses.at[i].order > a->end)
            return false;
    if (!a->swap)
        return true;
    int at = order_of(w, a->swap->last);
    if (!kuniform_exp(w->uniform, kx_var(w->arena, a->swap->v)))
        return false;
    return is_once(w, a->swap) && at > a->begin && at < a->end;
}

static void take(Own *w, Array *a)
{
    Poly from;
    bool reads = false, writes = false;
    if (a->n_fresh != 1)
        return;
    a->swap = swap_of(w, a);
    if (!spans(w, a) || !base_of(w, a, &from))
        return;
    for (int i = 0; i < a->accesses.n; i++) {
        const Access *at = &a->accesses.at[i];
        bool own = half_of(w, a, at, &from) >= 0;
        if (!own && at->stm->kind != KST_LOAD)
            return;
        reads |= own && at->stm->kind == KST_LOAD;
        writes |= own && at->stm->kind == KST_STORE;
        a->stays |= !own;
    }
    if (!reads || !writes)
        return;
    Dealt *first = NULL;
    for (int i = 0; i < a->accesses.n; i++) {
        const Access *at = &a->accesses.at[i];
        int half = half_of(w, a, at, &from);
        if (half < 0)
            continue;
        Cell *p = NEW(w->arena, Cell);
        *p = (Cell){a, half};
        ptrmap_put(w->places, at->stm, p);
        if (first)
            join(first, (Dealt *)at->in);
        first = first ? first : (Dealt *)at->in;
    }
    family(first)->words += (prim_type_bytes[a->buf->elem] + WORD - 1) / WORD;
    ptrmap_put(w->begins, a->fresh, a);
    if (a->swap)
        ptrmap_put(w->swaps, a->swap->last, a);
}

/* --- In their place --------------------------------------------------------------------------- */

static const KExp *group_size(const Own *w)
{
    return kx_id(w->arena, KID_GROUP_SIZE);
}

static const KExp *few_turns(const Own *w, const Dealt *d)
{
    Arena *a = w->arena;
    int words = family((Dealt *)d)->words, turns = MOST_WORDS / words;
    turns = turns < MOST_TURNS ? turns : MOST_TURNS;
    return kx_le(a, d->total, kx_mul(a, kx_int(a, turns), group_size(w)));
}

/* May the work-items keep what the loops of the family pass on? */
static const KExp *kept(const Own *w, const Dealt *d)
{
    Arena *a = w->arena;
    const KExp *cond = kx_and(a, kx_id(a, KID_TEAMS), kx_id(a, KID_UNROLLS));
    KExps seen = {0};
    for (int i = 0; i < w->all.n; i++)
        for (int k = 0; k < w->all.at[i]->accesses.n; k++) {
            const Access *at = &w->all.at[i]->accesses.at[k];
            bool new =
                ptrmap_get(w->places, at->stm) && family((Dealt *)at->in) == family((Dealt *)d);
            for (int j = 0; new &&j < seen.n; j++)
                new = !kx_same(seen.at[j], at->in->total);
            if (!new)
                continue;
            vec_push(a, &seen, at->in->total);
            cond = kx_and(a, cond, few_turns(w, at->in));
        }
    return cond;
}

static const Dealt *dealt_with(const Own *w, const Array *a)
{
    for (int i = 0; i < a->accesses.n; i++)
        if (ptrmap_get(w->places, a->accesses.at[i].stm))
            return a->accesses.at[i].in;
    return NULL;
}

static void declare(KBuild *b, Array *a)
{
    for (int k = 0; k < (a->swap ? 2 : 1); k++)
        a->own[k] = kb_array(b, "own", a->buf->elem, MOST_TURNS);
}

/* for t: own[0][t], own[1][t] = own[1][t], own[0][t] */
static void exchange(const Own *w, KBuild *b, const Array *a)
{
    kb_if(b, kept(w, dealt_with(w, a)));
    const KExp *t =
        kb_for(b, "t", kx_int(w->arena, 0), kx_int(w->arena, MOST_TURNS), kx_int(w->arena, 1));
    vec_last(b->open.at[b->open.n - 2])->unroll = MOST_TURNS;
    const KExp *x = kb_load(b, "x", a->own[0], t), *y = kb_load(b, "y", a->own[1], t);
    kb_store(b, a->own[0], t, y);
    kb_store(b, a->own[1], t, x);
    kb_end(b);
    kb_end(b);
}

typedef struct {
    Arena *arena;
    KBlock stms;
} List;

static bool list_stm(void *env, KStm *s)
{
    List *l = env;
    vec_push(l->arena, &l->stms, s);
    return true;
}

static KBlock list_of(const Own *w, const KBlock *b)
{
    List l = {.arena = w->arena};
    kblock_visit(b, &(KVisitor){.env = &l, .enter = list_stm});
    return l.stms;
}

static void replace(void *env, KBuild *b, KStm *s)
{
    const Own *w = env;
    const Cell *p = ptrmap_get(w->places, s);
    if (!p) {
        kb_push(b, s);
        return;
    }
    KBuf *own = p->array->own[p->half];
    if (s->kind == KST_LOAD) {
        kb_load_var(b, s->var, own, w->turn);
        return;
    }
    if (p->array->stays)
        kb_push(b, s);
    kb_store(b, own, w->turn, s->x[1]);
}

/* A copy of the statements with the work-item's own elements in the array's stead. */
static void put_copy(Own *w, KBuild *b, const KBlock *block, const PtrMap *to, const KExp *turn)
{
    KBlock copy = kblock_copy(b, block, to);
    KBlock from = list_of(w, block), into = list_of(w, &copy);
    for (int i = 0; i < from.n; i++)
        ptrmap_put(w->places, into.at[i], ptrmap_get(w->places, from.at[i]));
    w->turn = turn;
    kblock_rewrite(b, &copy, &(KRewriter){.env = w, .leave = replace});
    for (int i = 0; i < copy.n; i++)
        kb_push(b, copy.at[i]);
}

static bool has_places(const Own *w, const KStm *s)
{
    KBlock in = list_of(w, &s->body[0]);
    for (int i = 0; i < in.n; i++)
        if (ptrmap_get(w->places, in.at[i]))
            return true;
    return false;
}

/* The loop where they are kept, else the loop as it was. */
static void put_loop(Own *w, KBuild *b, KStm *s, const Dealt *d)
{
    Arena *a = w->arena;
    const KExp *cond = kept(w, d);
    PtrMap *to = ptrmap_new(a);
    kb_if(b, cond);
    const KExp *base = kb_for(b, "base", kx_int(a, 0), s->x[1], group_size(w));
    vec_last(b->open.at[b->open.n - 2])->unroll = MOST_TURNS;
    const KExp *turn = kb_let(b, "turn", kx_quot(a, base, group_size(w)));
    const KExp *j = kb_let(b, "j", kx_add(a, base, kx_id(a, KID_LOCAL)));
    ptrmap_put(to, d->j->var, j);
    kb_if(b, kx_lt(a, j, s->x[1]));
    put_copy(w, b, d->body, to, turn);
    kb_end(b);
    kb_end(b);
    kb_else(b);
    kb_push(b, s);
    kb_end(b);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    Own *w = env;
    const Dealt *d = ptrmap_get(w->loops, s);
    Array *begins = ptrmap_get(w->begins, s), *swaps = ptrmap_get(w->swaps, s);
    if (d && has_places(w, s))
        put_loop(w, b, s, d);
    else
        kb_push(b, s);
    if (begins)
        declare(b, begins);
    if (swaps)
        exchange(w, b, swaps);
}

void kir_replace_scalars(Arena *a, KFun *f)
{
    Own w = {.arena = a,
             .positions = kpositions_new(a, f),
             .uniform = kuniform_of(a, f),
             .info = kinfo_of(a, &f->body),
             .halves = khalves_of(a, &f->body),
             .arrays = ptrmap_new(a),
             .orders = ptrmap_new(a),
             .loops = ptrmap_new(a),
             .places = ptrmap_new(a),
             .begins = ptrmap_new(a),
             .swaps = ptrmap_new(a)};
    for (int i = 0; i < f->params.n; i++) {
        if (f->params.at[i].kind != KP_LOCAL)
            continue;
        Array *array = NEW(a, Array);
        array->buf = f->params.at[i].buf;
        ptrmap_put(w.arrays, array->buf, array);
        vec_push(a, &w.all, array);
    }
    note_block(&w, &f->body);
    for (int i = 0; i < w.all.n; i++)
        take(&w, w.all.at[i]);
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &w, .leave = leave});
}

/* --- For the launches that there are ---------------------------------------------------------- */

typedef struct {
    const KFun *fun;
    const bool *steady;
    bool unrolls, known;
} Settle;

static void look_at(void *env, const KExp *x)
{
    Settle *t = env;
    t->unrolls |= x->kind == KE_ID && x->id == KID_UNROLLS;
    if (x->kind != KE_VAR)
        return;
    bool steady = false;
    for (int i = 0; i < t->fun->params.n; i++)
        steady |= t->fun->params.at[i].var == x->var && t->steady && t->steady[i];
    t->known &= steady;
}

static void settle(void *env, KBuild *b, KStm *s)
{
    Settle *t = env;
    t->unrolls = false;
    t->known = t->steady != NULL;
    if (s->kind == KST_IF)
        kexp_visit(s->x[0], look_at, t);
    if (!t->unrolls || t->known) {
        kb_push(b, s);
        return;
    }
    for (int i = 0; i < s->body[1].n; i++)
        kb_push(b, s->body[1].at[i]);
}

void kir_settle_own(Arena *a, KFun *f, const bool *steady)
{
    Settle t = {.fun = f, .steady = f->columns ? NULL : steady};
    kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = &t, .leave = settle});
}
