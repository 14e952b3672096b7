/* Values that one statement wants are part of its expression, as people write it.
 *
 *     let t: u64 = x                               let y: u64 = t * 48271 % n
 *     let s: u64 = t * 48271                 =>    if y < m { .. }
 *     let y: u64 = s % n
 *     let c: bool = y < m
 *     if c { .. }
 *
 * A third of the statements of a kernel go: for those who read it and for compilers, which it means
 * nothing else to. Hence what they may do differently stays: products of floats keep their names in
 * sums (one expression may be contracted), so do indices that are a position (printed unsigned),
 * and what C would compute only where it is needed. Names stay as well where the line would be
 * long, or the value is wanted far below or in an inner block, where it might be computed more
 * often.
 *
 * Before: a kernel on a target; last, since the others look for values by name. After: well-formed.
 */
#include "kir/passes/passes.h"
#include "kir/walk.h"

#include <string.h>

enum { MOST_CHARS = 72, MOST_WAITING = 8 };

/* A value that may become part of a statement that follows, the only one that wants it. */
typedef struct {
    const KVar *var;
    const KExp *x;
    int at;       /* of the block's statements */
    bool changes; /* it mentions what SETs change */
} Waiting;

typedef struct {
    Arena *arena;
    const KInfo *info;
    Waiting waiting[MOST_WAITING]; /* the oldest first */
    int n;
} Compose;

/* --- Expressions ------------------------------------------------------------------------------ */

/* What an operation takes beside its operands: "mf_div_i32(, )", " + ". */
static int chars_around(const KExp *x)
{
    enum { OF_SIGN = 3, OF_CALL = 13 };
    bool sign = x->exact || prim_is_float(x->x[0]->type.elem) || x->type.elem == T_BOOL;
    return sign && x->n == 2 ? OF_SIGN : OF_CALL;
}

/* About as many characters as its text has. */
static int chars_of(const KExp *x)
{
    enum { OF_NUMBER = 4, OF_ID = 16, OF_CHOICE = 6, OF_CAST = 5, OF_REST = 8 };
    int n = 0;
    for (int i = 0; i < x->n; i++)
        n += chars_of(x->x[i]);
    switch (x->kind) {
    case KE_CONST: return OF_NUMBER;
    case KE_VAR: return (int)strlen(x->var->name);
    case KE_ID: return OF_ID;
    case KE_PRIM: return n + chars_around(x);
    case KE_SELECT: return n + OF_CHOICE;
    case KE_CONV: return n + OF_CAST;
    case KE_PART:
    case KE_VECTOR:
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case N_KEXPS: break;
    }
    return n + OF_REST;
}

static int chars_wanted(const KStm *s)
{
    int n = 0;
    for (int i = 0; i < kstm_info[s->kind].operands; i++)
        n += s->x[i] ? chars_of(s->x[i]) : 0;
    return n;
}

/* Would a sum that it is part of be a product and a sum? */
static bool is_product(const KExp *x)
{
    bool within = x->kind == KE_SELECT || x->kind == KE_CONV;
    if (!prim_is_float(x->type.elem) || (x->kind != KE_PRIM && !within))
        return false;
    if (x->kind == KE_PRIM && x->op == OP_MUL)
        return true;
    bool product = false;
    for (int i = 0; i < x->n && (within || x->op == OP_NEG); i++)
        product |= is_product(x->x[i]);
    return product;
}

static bool is_sum(const KExp *x)
{
    return x->kind == KE_PRIM && (x->op == OP_ADD || x->op == OP_SUB || x->op == OP_NEG);
}

/* May x be an operand of the expression as it stands? */
static bool may_stand_in(const KExp *x, const KExp *around)
{
    return x->type.lanes == 1 && !(is_sum(around) && is_product(x));
}

/* --- What waits ------------------------------------------------------------------------------- */

static const Waiting *waiting(const Compose *c, const KVar *v)
{
    for (int i = 0; i < c->n; i++)
        if (c->waiting[i].var == v)
            return &c->waiting[i];
    return NULL;
}

static void forget(Compose *c, int i)
{
    c->n--;
    memmove(&c->waiting[i], &c->waiting[i + 1], sizeof *c->waiting * (size_t)(c->n - i));
}

/* A value that nothing but a statement behind it in its block may want. */
static void wait_for(Compose *c, const KStm *s, int at)
{
    if (s->kind != KST_LET || kinfo_get(c->info, s->var).uses != 1)
        return;
    if (c->n == MOST_WAITING)
        forget(c, 0);
    c->waiting[c->n++] = (Waiting){s->var, s->x[0], at, kexp_changes(s->x[0])};
}

/* Whose values the statement leaves as they are may be computed behind it, too. */
static void pass(Compose *c, const KStm *s)
{
    bool plain = s->kind == KST_LET || s->kind == KST_LOAD || s->kind == KST_VAR ||
                 s->kind == KST_STORE || s->kind == KST_SET;
    for (int i = c->n; i-- > 0;)
        if (!plain || (s->kind == KST_SET && c->waiting[i].changes))
            forget(c, i);
}

/* --- Statements ------------------------------------------------------------------------------- */

typedef struct {
    Compose *c;
    KBlock *block;
    int room; /* characters */
} Taking;

static const KExp *take(Taking *t, const KExp *x, const KExp *around)
{
    const Waiting *w = x->kind == KE_VAR ? waiting(t->c, x->var) : NULL;
    int more = w ? chars_of(w->x) - (int)strlen(x->var->name) : 0;
    if (!w || more > t->room || (around && !may_stand_in(w->x, around)))
        return x;
    t->room -= more;
    t->block->at[w->at] = NULL;
    return w->x;
}

/* Would C compute operand i only where it is needed? What stands there makes branches, where names
 * that are computed before make none: a maximum with its position took 1.3 times as long (H100). */
static bool is_lazy(const KExp *x, int i)
{
    bool chooses =
        x->kind == KE_SELECT || (x->kind == KE_PRIM && (x->op == OP_LAND || x->op == OP_LOR));
    return chooses && i > 0;
}

static const KExp *compose_exp(Taking *t, const KExp *x, const KExp *around)
{
    if (x->n == 0)
        return take(t, x, around);
    const KExp **to = NULL;
    for (int i = 0; i < x->n; i++) {
        const KExp *y = is_lazy(x, i) ? x->x[i] : compose_exp(t, x->x[i], x);
        if (y != x->x[i] && !to)
            to = arena_memdup(t->c->arena, x->x, sizeof *to * (size_t)x->n);
        if (to)
            to[i] = y;
    }
    if (!to)
        return x;
    KExp own = *x;
    own.x = to;
    return kx_node(t->c->arena, own);
}

/* Do operands of the statement stand in its text once, and are they computed where it stands? */
static bool takes_in(const KStm *s)
{
    return s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET || s->kind == KST_IF ||
           s->kind == KST_LOAD || s->kind == KST_STORE;
}

static bool is_position(const KStm *s, int operand)
{
    return s->buf && operand == 0 && s->x[0]->kind == KE_VAR && s->x[0]->type.index;
}

static void take_in(Compose *c, KBlock *block, KStm *s)
{
    Taking t = {c, block, MOST_CHARS - chars_wanted(s)};
    for (int i = 0; i < kstm_info[s->kind].operands && c->n > 0 && takes_in(s); i++)
        if (s->x[i] && !is_position(s, i))
            s->x[i] = compose_exp(&t, s->x[i], NULL);
    while (block->n > 0 && !vec_last(block))
        block->n--;
}

static void compact(KBlock *b)
{
    int n = 0;
    for (int i = 0; i < b->n; i++)
        if (b->at[i])
            b->at[n++] = b->at[i];
    b->n = n;
}

static void compose_block(Arena *a, const KInfo *info, KBlock *block)
{
    Compose c = {.arena = a, .info = info};
    KBlock old = *block;
    *block = (KBlock){0};
    for (int i = 0; i < old.n; i++) {
        KStm *s = old.at[i];
        for (int k = 0; k < 2; k++)
            compose_block(a, info, &s->body[k]);
        take_in(&c, block, s);
        pass(&c, s);
        vec_push(a, block, s);
        wait_for(&c, s, block->n - 1);
    }
    compact(block);
}

void kir_compose(Arena *a, KFun *f)
{
    compose_block(a, kinfo_of(a, &f->body), &f->body);
}
