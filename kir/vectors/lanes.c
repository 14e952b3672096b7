/* Elements whose loops turn as often as each of them wants go through these loops side by side, in
 * lanes, as long as one of them turns:
 *
 *                                         for base from beg to end by 32 {
 *                                             array as: private f32[32]
 *     for i from beg to end by 1 {            ..
 *         load x: f32 = xs[i]                 for lane from 0 to 32 by 1 {
 *         var a: f32 = x                          let i = base + lane
 *         while a < m {                           load x: f32 = xs[i]
 *             set a = a * x         =>            on[lane] = a < m, as[lane] = x, ..
 *         }                                   }
 *         store ys[i] = a                     while any of them is on {
 *     }                                           for lane from 0 to 32 by 1 {
 *                                                     let next = as[lane] * xs'[lane]
 *                                                     as[lane] = on[lane] ? next : as[lane]
 *                                                     on[lane] = on[lane] && next < m
 *                                                 }
 *                                             }
 *                                             for lane .. { store ys[base + lane] = as[lane] }
 *                                         }
 *
 * The loops over lanes become vectors; a loop whose turns wait for each other does not. What turns
 * do they do for lanes, too, that are done, whose values stay: so such a loop does nothing but
 * compute, and does not divide integers. No element reads what another one writes, nor do two
 * statements write to the same array.
 *
 * The last lanes begin so early that they are all there, and what some elements are is computed
 * twice; where there are fewer elements the loop stays. Where elements are added up outside of it,
 * in one straight piece, lanes do that in their order, and the loop stays for the last elements.
 *
 * Pieces. The body of the loop is cut at its inner loops, into straight pieces and loops in turns.
 * What one piece knows and another one needs is in an array of the lanes.
 *
 * Before: a kernel on a target. After: well-formed. */
#include "kir/vectors/vectors.h"
#include "kir/walk.h"

enum { LANES = 32, MOST_STMS = 256, MOST_PIECES = 9 };

/* A run of statements of the body, from .. to-1, or a loop that stands in it. Straight pieces,
 * which may be empty, stand before and behind each loop. */
typedef struct {
    int from, to;
    const KStm *loop; /* NULL: straight */
    bool turns;       /* a loop that turns as often for all elements; else lanes end on their own */
} Piece;

/* A variable of the body that several pieces know. */
typedef struct {
    KVar *var;
    int home;                 /* the piece that binds it */
    bool needed;              /* by another piece */
    bool loaded[MOST_PIECES]; /* by piece: does it need the value from before? */
    KBuf *all;                /* the values for the lanes, if it is needed */
    const KExp *old;          /* in a piece that loads it: the value from before */
} Shared;

typedef struct {
    Arena *arena;
    KBuild *b;
    const KStm *loop;
    Piece pieces[MOST_PIECES];
    int n_pieces;
    VEC(Shared) vars;
    bool ordered;      /* does an element change what is outside of the loop? */
    const KExp *first; /* the element of lane 0 */
    const KExp *turn;  /* of a loop in turns of all: its variable */
    /* of the loop that asks its lanes next: */
    PrimType word; /* as wide as what they compute */
    KBuf *on;      /* by lane, 1 or 0: does it turn? */
    KVar *any;     /* is one on? */
    KBuf *count;   /* FOR: its variable, by lane */
} Lanes;

/* --- Which loops ------------------------------------------------------------------------------ */

/* Statements that may be done for lanes that are done: they compute. */
static bool note_computing(void *env, KStm *s)
{
    bool *computes = env;
    bool plain = s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET ||
                 s->kind == KST_IF || s->kind == KST_BLOCK || s->kind == KST_COMMENT;
    *computes &= plain && !kstm_divides(s);
    return *computes;
}

static bool computes(const KBlock *b)
{
    bool yes = true;
    kblock_visit(b, &(KVisitor){.env = &yes, .enter = note_computing});
    return yes;
}

typedef struct {
    Arena *arena;
    PtrSet *bound;      /* variables that the body binds */
    VEC(KVar *) others; /* those of outside that it sets */
    int n;
} Inside;

static bool note_inside(void *env, KStm *s)
{
    Inside *w = env;
    w->n++;
    if (kstm_def(s))
        ptrset_add(w->bound, kstm_def(s));
    if ((kstm_info[s->kind].flags & KF_SET) && !ptrset_has(w->bound, s->var))
        vec_push(w->arena, &w->others, s->var);
    return true;
}

/* Does s, in a straight piece, do the same in whatever order elements are done, and twice? */
static bool is_straight(const KStm *s)
{
    switch (s->kind) {
    case KST_LET:
    case KST_VAR:
    case KST_SET:
    case KST_COMMENT: return true;
    case KST_LOAD:
    case KST_STORE: return s->buf->space == KS_GLOBAL && kstm_lanes(s) == 1;
    case KST_IF: return computes(&s->body[0]) && computes(&s->body[1]);
    default: return false;
    }
}

/* Is what statement `of` of the body stores read by none of its statements, nor written by another
 * one? */
static bool stores_alone(const KBlock *b, int of)
{
    for (int i = 0; i < b->n; i++)
        if (i != of && (b->at[i]->kind == KST_LOAD || b->at[i]->kind == KST_STORE) &&
            kbuf_overlap(b->at[i]->buf, b->at[of]->buf))
            return false;
    return true;
}

typedef struct {
    const PtrSet *bound;
    bool found;
} Bound;

static void note_bound(void *env, const KExp *x)
{
    Bound *w = env;
    w->found |= x->kind == KE_VAR && ptrset_has(w->bound, x->var);
}

static bool uses_bound(const KExp *x, const PtrSet *bound)
{
    Bound w = {bound, false};
    kexp_visit(x, note_bound, &w);
    return w.found;
}

/* Is it a loop that lanes can go through, and does it turn as often for all elements? */
static bool is_inner(const KStm *s, const PtrSet *bound, bool *turns)
{
    if ((s->kind != KST_FOR && s->kind != KST_WHILE) || s->doubling || !computes(&s->body[0]))
        return false;
    *turns = s->kind == KST_FOR;
    for (int k = 0; k < 3 && s->kind == KST_FOR; k++)
        *turns &= !uses_bound(s->x[k], bound) && !kexp_changes(s->x[k]);
    return *turns || !kstm_divides(s);
}

/* --- Pieces ----------------------------------------------------------------------------------- */

/* The loop that piece p asks its lanes about at its end; NULL: it is none of those. */
static const KStm *asks_for(const Lanes *l, int p)
{
    bool last = p + 1 >= l->n_pieces;
    return last || l->pieces[p].loop || l->pieces[p + 1].turns ? NULL : l->pieces[p + 1].loop;
}

/* Does piece p, what it asks its lanes included, read v or give it a value? */
static bool touches(const Lanes *l, int p, const KVar *v)
{
    const Piece *q = &l->pieces[p];
    const KStm *next = asks_for(l, p);
    if (q->loop)
        return kblock_uses(&q->loop->body[0], v) || kblock_sets(&q->loop->body[0], v) ||
               (!q->turns && kstm_uses(q->loop, v));
    for (int i = q->from; i < q->to; i++) {
        const KStm *s = l->loop->body[0].at[i];
        if (kstm_uses(s, v) || kstm_sets(s, v) || kblock_uses(&s->body[0], v) ||
            kblock_uses(&s->body[1], v) || kblock_sets(&s->body[0], v) ||
            kblock_sets(&s->body[1], v))
            return true;
    }
    return next && kstm_uses(next, v);
}

/* Does one straight piece alone know v, a variable of outside? */
static bool knows_alone(const Lanes *l, const KVar *v)
{
    int n = 0;
    bool loops = false;
    for (int p = 0; p < l->n_pieces; p++)
        if (touches(l, p, v)) {
            n++;
            loops |= l->pieces[p].loop != NULL;
        }
    return n == 1 && !loops;
}

static bool add_piece(Lanes *l, Piece p)
{
    if (l->n_pieces == MOST_PIECES)
        return false;
    l->pieces[l->n_pieces++] = p;
    return true;
}

/* Cuts the body into pieces; false where something cannot be done in lanes, or nothing is to gain.
 */
static bool cut(Lanes *l)
{
    const KBlock *b = &l->loop->body[0];
    Inside in = {.arena = l->arena, .bound = ptrmap_new(l->arena)};
    ptrset_add(in.bound, l->loop->var);
    kblock_visit(b, &(KVisitor){.env = &in, .enter = note_inside});
    bool pays = false, fits = in.n <= MOST_STMS;
    int from = 0;
    for (int i = 0; fits && i < b->n; i++) {
        const KStm *s = b->at[i];
        Piece p = {.from = i, .to = i + 1, .loop = s};
        if (is_inner(s, in.bound, &p.turns)) {
            fits = add_piece(l, (Piece){.from = from, .to = i}) && add_piece(l, p);
            pays |= !p.turns;
            from = i + 1;
        } else {
            fits = is_straight(s) && (s->kind != KST_STORE || stores_alone(b, i));
        }
    }
    fits = fits && pays && add_piece(l, (Piece){.from = from, .to = b->n});
    for (int j = 0; fits && j < in.others.n; j++)
        fits = knows_alone(l, in.others.at[j]);
    l->ordered = in.others.n > 0;
    return fits;
}

/* --- What pieces know ------------------------------------------------------------------------- */

/* Does it give v a value? */
static bool sets(const Lanes *l, int p, const KVar *v)
{
    const Piece *q = &l->pieces[p];
    if (q->loop)
        return kblock_sets(&q->loop->body[0], v);
    for (int i = q->from; i < q->to; i++) {
        const KStm *s = l->loop->body[0].at[i];
        if (kstm_sets(s, v) || kblock_sets(&s->body[0], v) || kblock_sets(&s->body[1], v))
            return true;
    }
    return false;
}

/* Does each turn give v a value before it is asked for? */
static bool sets_first(const Piece *q, const KVar *v)
{
    const KBlock *b = q->loop ? &q->loop->body[0] : NULL;
    for (int i = 0; b && i < b->n; i++) {
        const KStm *s = b->at[i];
        if (kstm_uses(s, v) || kblock_uses(&s->body[0], v) || kblock_uses(&s->body[1], v))
            return false;
        if (kstm_sets(s, v))
            return true;
    }
    return false;
}

/* Finds which pieces need v from others, last to first: one that only gives it a value need not
 * know it where no later one does. */
static void share(Lanes *l, KVar *v, int home)
{
    Shared s = {.var = v, .home = home};
    for (int p = l->n_pieces - 1; p > home; p--) {
        s.loaded[p] = touches(l, p, v) && (s.needed || !sets_first(&l->pieces[p], v));
        s.needed |= s.loaded[p];
    }
    vec_push(l->arena, &l->vars, s);
}

static void share_all(Lanes *l)
{
    const KBlock *b = &l->loop->body[0];
    for (int p = 0; p < l->n_pieces; p++)
        for (int i = l->pieces[p].from; !l->pieces[p].loop && i < l->pieces[p].to; i++)
            if (kstm_def(b->at[i]))
                share(l, kstm_def(b->at[i]), p);
}

/* --- Pieces in lanes -------------------------------------------------------------------------- */

/* What the piece knows from others. */
static void load_shared(Lanes *l, int p, const KExp *lane)
{
    for (int j = 0; j < l->vars.n; j++) {
        Shared *s = &l->vars.at[j];
        if (s->home >= p || !touches(l, p, s->var))
            continue;
        s->old = s->loaded[p] ? kb_load(l->b, "old", s->all, lane) : NULL;
        if (s->var->mutable_)
            kb_var_var(l->b, s->var, s->old);
        else
            kb_let_var(l->b, s->var, s->old);
    }
}

/* What others know from it. on: NULL, or does the lane turn? Else values stay. */
static void keep_shared(Lanes *l, int p, const KExp *lane, const KExp *on)
{
    for (int j = 0; j < l->vars.n; j++) {
        const Shared *s = &l->vars.at[j];
        if (!s->needed || (s->home != p && (!s->loaded[p] || !sets(l, p, s->var))))
            continue;
        const KExp *now = kx_var(l->arena, s->var);
        kb_store(l->b, s->all, lane, on ? kx_select(l->arena, on, now, s->old) : now);
    }
}

static const KExp *word(const Lanes *l, int64_t x)
{
    return kx_const(l->arena, (Const){.type = l->word, .i = x});
}

/* The lane turns if `turns` says so, and it did before: was, NULL at first. */
static void ask(Lanes *l, const KExp *lane, const KExp *turns, const KExp *was)
{
    Arena *a = l->arena;
    const KExp *on = kx_select(a, turns, word(l, 1), word(l, 0));
    on = kb_let(l->b, "on", was ? kx_prim2(a, OP_AND, was, on) : on);
    kb_store(l->b, l->on, lane, on);
    kb_set(l->b, l->any, kx_prim2(a, OP_OR, kx_var(a, l->any), on));
}

static void ask_first(Lanes *l, const KStm *loop, const KExp *lane)
{
    Arena *a = l->arena;
    if (loop->kind == KST_FOR) {
        kb_store(l->b, l->count, lane, loop->x[0]);
        ask(l, lane, kx_lt(a, loop->x[0], loop->x[1]), NULL);
    } else {
        ask(l, lane, loop->post ? kx_bool(a, true) : loop->x[0], NULL);
    }
}

/* A turn of a lane that is on, or a look at one that is done. */
static void turn(Lanes *l, int p, const KExp *lane)
{
    Arena *a = l->arena;
    KBuild *b = l->b;
    const KStm *loop = l->pieces[p].loop;
    const KExp *was = kb_load(b, "was", l->on, lane), *again = loop->x[0];
    const KExp *on = kb_let(b, "turns", kx_ne(a, was, word(l, 0)));
    const KExp *count = NULL;
    if (loop->kind == KST_FOR) {
        count = kb_load(b, "count", l->count, lane);
        kb_let_var(b, loop->var, count);
    }
    for (int i = 0; i < loop->body[0].n; i++)
        kb_push(b, loop->body[0].at[i]);
    if (count) {
        const KExp *next = kb_let(b, "next", kx_prim2(a, OP_ADD, count, loop->x[2]));
        kb_store(b, l->count, lane, kx_select(a, on, next, count));
        again = kx_lt(a, next, loop->x[1]);
    }
    keep_shared(l, p, lane, on);
    ask(l, lane, again, was);
}

static void straight(Lanes *l, int p, const KExp *lane)
{
    const Piece *q = &l->pieces[p];
    const KStm *next = asks_for(l, p);
    for (int i = q->from; i < q->to; i++)
        kb_push(l->b, l->loop->body[0].at[i]);
    keep_shared(l, p, lane, NULL);
    if (next)
        ask_first(l, next, lane);
}

static void turn_of_all(Lanes *l, int p, const KExp *lane)
{
    const KStm *loop = l->pieces[p].loop;
    kb_let_var(l->b, loop->var, l->turn);
    for (int i = 0; i < loop->body[0].n; i++)
        kb_push(l->b, loop->body[0].at[i]);
    keep_shared(l, p, lane, NULL);
}

/* The loop over lanes, with a copy of what `does` makes for one of them: its variables are bound
 * elsewhere, too. */
static void for_lanes(Lanes *l, int p, void (*does)(Lanes *, int, const KExp *))
{
    KBuild *b = l->b;
    Arena *a = l->arena;
    KBlock one = {0};
    const KExp *lane = kb_for(b, "lane", kx_int(a, 0), kx_int(a, LANES), kx_int(a, 1));
    kb_enter(b, &one);
    kb_let_var(b, l->loop->var, kx_add(a, l->first, lane));
    load_shared(l, p, lane);
    does(l, p, lane);
    kb_end(b);
    KBlock own = kblock_copy(b, &one, NULL);
    for (int i = 0; i < own.n; i++)
        kb_push(b, own.at[i]);
    kb_end(b);
}

/* The loop whose lanes piece p asks: 32 bits do for lanes, where values have no more. */
static void begin_asking(Lanes *l, int p)
{
    const KStm *loop = asks_for(l, p);
    if (!loop)
        return;
    l->word = T_I32;
    for (int j = 0; j < l->vars.n; j++)
        if (l->vars.at[j].loaded[p + 1] && prim_type_bytes[l->vars.at[j].var->type.elem] > 4)
            l->word = T_I64;
    l->on = kb_array(l->b, "on", l->word, LANES);
    if (loop->kind == KST_FOR)
        l->count = kb_array(l->b, "counts", loop->var->type.elem, LANES);
    l->any = kb_var(l->b, "any", l->word, word(l, 0));
}

static void piece(Lanes *l, int p)
{
    KBuild *b = l->b;
    const Piece *q = &l->pieces[p];
    if (!q->loop) {
        begin_asking(l, p);
        for_lanes(l, p, straight);
        return;
    }
    if (q->turns) {
        l->turn = kb_for(b, q->loop->var->name, q->loop->x[0], q->loop->x[1], q->loop->x[2]);
        for_lanes(l, p, turn_of_all);
    } else {
        kb_while(b, kx_ne(l->arena, kx_var(l->arena, l->any), word(l, 0)));
        kb_set(b, l->any, word(l, 0));
        for_lanes(l, p, turn);
    }
    kb_end(b);
}

/* --- The loop --------------------------------------------------------------------------------- */

/* The loop over the first elements of lanes, and what goes on in it. */
static void lanes_from(Lanes *l, const KExp *beg, const KExp *end, const KExp *most)
{
    Arena *a = l->arena;
    KBuild *b = l->b;
    const KExp *base = kb_for(b, "base", beg, end, kx_int(a, LANES));
    l->first = kb_let(b, "first", kx_min(a, base, most));
    for (int j = 0; j < l->vars.n; j++) {
        Shared *v = &l->vars.at[j];
        if (v->needed)
            v->all = kb_array(b, v->var->name, v->var->type.elem, LANES);
    }
    for (int p = 0; p < l->n_pieces; p++)
        piece(l, p);
    kb_end(b);
}

static void in_lanes(Lanes *l, KStm *s)
{
    Arena *a = l->arena;
    KBuild *b = l->b;
    const KExp *lanes = kx_int(a, LANES);
    const KExp *beg = kb_let(b, "beg", s->x[0]), *end = kb_let(b, "end", s->x[1]);
    const KExp *n = kb_let(b, "n", kx_sub(a, end, beg));
    share_all(l);
    if (l->ordered) {
        const KExp *whole = kx_mul(a, kx_quot(a, kx_max(a, n, kx_int(a, 0)), lanes), lanes);
        const KExp *rest = kb_let(b, "rest", kx_add(a, beg, whole));
        lanes_from(l, beg, rest, rest);
        s->x[0] = rest;
        kb_push(b, s);
        return;
    }
    kb_if(b, kx_le(a, lanes, n));
    lanes_from(l, beg, end, kx_sub(a, end, lanes));
    kb_else(b);
    kb_push(b, s);
    kb_end(b);
}

static void leave(void *env, KBuild *b, KStm *s)
{
    Lanes l = {.arena = env, .b = b, .loop = s};
    bool counts = s->kind == KST_FOR && !s->doubling && kx_is_int(s->x[2], 1) &&
                  s->var->type.elem == T_I64 && !kexp_changes(s->x[0]) && !kexp_changes(s->x[1]);
    if (counts && cut(&l))
        in_lanes(&l, s);
    else
        kb_push(b, s);
}

void kir_lanes(Arena *a, KFun *f)
{
    if (f->alone)
        kblock_rewrite(kb_more(a, f), &f->body, &(KRewriter){.env = a, .leave = leave});
}
