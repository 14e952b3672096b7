/* Words by which groups tell each other what they found (board.h). */
#include "kernels/level1/board.h"

#include <limits.h>

enum {
    LINE = 8,            /* words */
    HALF = 32,           /* bits */
    MOST_LOOKS = 1 << 28 /* at a word: minutes */
};

static const KExp *word_const(KGen *kg, uint64_t k)
{
    return kx_const(kg->cx->perm, (Const){.type = T_U64, .i = (int64_t)k});
}

static const KExp *upper(KGen *kg, const KExp *word)
{
    return kx_prim2(kg->cx->perm, OP_SHR, word, word_const(kg, HALF));
}

static const KExp *lower(KGen *kg, const KExp *word)
{
    return kx_prim2(kg->cx->perm, OP_AND, word, word_const(kg, UINT32_MAX));
}

static const KExp *raised(KGen *kg, const KExp *word, int bits)
{
    return kx_prim2(kg->cx->perm, OP_SHL, word, word_const(kg, (uint64_t)bits));
}

static int words_of(PrimType t)
{
    return prim_type_bytes[t] == 8 ? 2 : 1;
}

static int words_of_all(const Accs *ac)
{
    int n = 0;
    for (int j = 0; j < ac->n; j++)
        n += words_of(ac->types[j]);
    return n;
}

bool board_holds(const Exp *e)
{
    int n = 0;
    for (int j = 0; j < e->seg.nes.n; j++)
        n += words_of(e->seg.op->params.at[j]->type.elem);
    return n <= LINE;
}

const KExp *board_bytes(Ctx *cx, const KExp *groups)
{
    const KExp *lines = sx_add(cx, groups, sx_const(cx, 1));
    return sx_mul(cx, lines, sx_const(cx, LINE * (int64_t)sizeof(uint64_t)));
}

/* --- Numbers ------------------------------------------------------------------------------- */

static const KExp *number_in(KGen *kg, const KExp *word)
{
    return kx_conv(kg->cx->perm, T_I64, lower(kg, word));
}

/* The group that draws the last number leaves the word as the next launch needs it. */
static void draw(KGen *kg, KBuf *words, KBuf *drawn, const KExp *total)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *zero = kg_int(kg, 0), *one = word_const(kg, 1);
    KVar *old = kb_var_new(b, "old", ktype(T_U64));
    kb_if(b, kg_eq(kg, kg->lid, zero));
    kb_stm(b, (KStm){.kind = KST_ATOMIC, .var = old, .buf = words, .op = OP_ADD, .x = {zero, one}});
    kb_store(b, drawn, zero, kg_of(kg, old));
    const KExp *last = kg_sub(kg, total, kg_int(kg, 1));
    kb_if(b, kg_eq(kg, number_in(kg, kg_of(kg, old)), last));
    const KExp *next = kx_prim2(a, OP_ADD, upper(kg, kg_of(kg, old)), one);
    kb_stm(b, (KStm){.kind = KST_POST, .buf = words, .x = {zero, raised(kg, next, HALF)}});
    kb_end(b);
    kb_end(b);
    kb_meet(b, 1u << KS_LOCAL);
}

/* A mark is twice the launch's number, plus 2 since words are 0 at first; one more says that it is
 * all. */
void board_recall(Board *bd)
{
    KGen *kg = bd->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *word = kb_load(b, "word", bd->drawn, kg_int(kg, 0));
    /* It lies between these; passes are to see it. */
    const KExp *number = kg_min(kg, number_in(kg, word), kg_sub(kg, bd->total, kg_int(kg, 1)));
    bd->number = kb_let(b, "number", kg_max(kg, kg_int(kg, 0), number));
    const KExp *launch = kx_prim2(a, OP_ADD, upper(kg, word), word_const(kg, 1));
    bd->part = kb_let(b, "part", lower(kg, raised(kg, launch, 1)));
    bd->whole = kb_let(b, "whole", kx_prim2(a, OP_OR, bd->part, word_const(kg, 1)));
}

Board board_open(KGen *kg, const Accs *ac, KBuf *words, const KExp *total)
{
    KBuf *drawn = kg_param_local(kg, "drawn", T_U64, sx_const(kg->cx, 1));
    draw(kg, words, drawn, total);
    Board bd = {.kg = kg, .ac = ac, .words = words, .drawn = drawn, .total = total};
    board_recall(&bd);
    return bd;
}

/* --- Values -------------------------------------------------------------------------------- */

static const KExp *word_at(const Board *bd, const KExp *number, int k)
{
    KGen *kg = bd->kg;
    const KExp *line = kg_mul(kg, kg_add(kg, number, kg_int(kg, 1)), kg_int(kg, LINE));
    return kg_add(kg, line, kg_int(kg, k));
}

const KExp *board_bits(KGen *kg, const KExp *x)
{
    return kx_to_word(kg->cx->perm, words_of(x->type.elem) == 1 ? T_U32 : T_U64, x);
}

const KExp *board_value(KGen *kg, PrimType t, const KExp *bits)
{
    Arena *a = kg->cx->perm;
    return kx_from_word(a, t, words_of(t) == 1 ? kx_conv(a, T_U32, bits) : bits);
}

void board_post(const Board *bd, const KExp **x, const KExp *mark)
{
    KGen *kg = bd->kg;
    KBuild *b = kg->kb;
    const KExp *high = kb_let(b, "mark", raised(kg, mark, HALF));
    for (int j = 0, k = 0; j < bd->ac->n; j++) {
        const KExp *bits = kb_let(b, "bits", kx_conv(kg->cx->perm, T_U64, board_bits(kg, x[j])));
        for (int i = 0; i < words_of(bd->ac->types[j]); i++, k++) {
            const KExp *half = i ? upper(kg, bits) : lower(kg, bits);
            const KExp *word = kx_prim2(kg->cx->perm, OP_OR, high, half);
            kb_stm(b, (KStm){.kind = KST_POST,
                             .buf = bd->words,
                             .x = {word_at(bd, bd->number, k), word}});
        }
    }
}

/* The words of a group. */
typedef struct {
    const KExp *number;
    KVar **seen;
} Line;

/* Do all words of a line have one mark of this launch? */
static const KExp *is_there(const Board *bd, const Line *line, int n)
{
    KGen *kg = bd->kg;
    Arena *a = kg->cx->perm;
    const KExp *mark = upper(kg, kg_of(kg, line->seen[0]));
    const KExp *there = kg_eq(kg, kx_prim2(a, OP_OR, mark, word_const(kg, 1)), bd->whole);
    for (int k = 1; k < n; k++)
        there = kg_and(kg, there, kg_eq(kg, upper(kg, kg_of(kg, line->seen[k])), mark));
    return there;
}

static void peek(const Board *bd, const Line *line, int n)
{
    KBuild *b = bd->kg->kb;
    for (int k = 0; k < n; k++) {
        const KExp *at = word_at(bd, line->number, k);
        KVar *word = kb_var_new(b, "word", ktype(T_U64));
        kb_stm(b, (KStm){.kind = KST_PEEK, .var = word, .buf = bd->words, .x = {at}});
        kb_set(b, line->seen[k], kg_of(bd->kg, word));
    }
}

/* Looks until the n words of each line are there; gives up where that cannot be. */
static void look(const Board *bd, const Line *lines, int n_lines, int n)
{
    KGen *kg = bd->kg;
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    const KExp *one = kx_conv(a, T_I32, kg_int(kg, 1)),
               *most = kx_conv(a, T_I32, kg_int(kg, MOST_LOOKS));
    KVar *looks = kb_var(b, "looks", T_I32, kg_zero(kg, T_I32));
    KStm *again = kb_do(b);
    const KExp *there = kx_bool(a, true);
    for (int i = 0; i < n_lines; i++)
        peek(bd, &lines[i], n);
    for (int i = 0; i < n_lines; i++)
        there = kg_and(kg, there, is_there(bd, &lines[i], n));
    kb_set(b, looks, kx_prim2(a, OP_ADD, kg_of(kg, looks), one));
    const KExp *missing = kx_not(a, there);
    kb_do_end(b, again, kg_and(kg, missing, kg_lt(kg, kg_of(kg, looks), most)));
    kb_if(b, missing);
    const char *msg = "internal error: a work-group waited in vain for another one";
    kb_stm(b, (KStm){.kind = KST_FAIL, .site = plan_site(kg->pb->plan, kg->seg->loc, msg)});
    kg->waits = true;
    kb_end(b);
}

/* x := the values of a line. */
static void take(const Board *bd, const Line *line, const Accs *x)
{
    KGen *kg = bd->kg;
    Arena *a = kg->cx->perm;
    for (int j = 0, k = 0; j < x->n; k += words_of(x->types[j++])) {
        const KExp *bits = lower(kg, kg_of(kg, line->seen[k]));
        if (words_of(x->types[j]) == 2)
            bits = kx_prim2(a, OP_OR, bits, raised(kg, kg_of(kg, line->seen[k + 1]), HALF));
        kb_set(kg->kb, x->acc[j], board_value(kg, x->types[j], bits));
    }
}

void board_wait_for(const Board *bd, int n, const KExp *const *number, const Accs *x,
                    const KExp **whole)
{
    KGen *kg = bd->kg;
    Arena *a = kg->cx->perm;
    int n_words = words_of_all(x);
    Line *lines = NEWN(a, Line, n);
    for (int i = 0; i < n; i++) {
        lines[i] = (Line){number[i], NEWN(a, KVar *, n_words)};
        for (int k = 0; k < n_words; k++)
            lines[i].seen[k] = kb_var(kg->kb, "seen", T_U64, word_const(kg, 0));
    }
    look(bd, lines, n, n_words);
    for (int i = 0; i < n; i++) {
        take(bd, &lines[i], &x[i]);
        whole[i] = kx_ne(a, upper(kg, kg_of(kg, lines[i].seen[0])), bd->part);
    }
}

const KExp *board_wait(const Board *bd, const KExp *number, const Accs *x)
{
    const KExp *whole;
    board_wait_for(bd, 1, &number, x, &whole);
    return whole;
}
