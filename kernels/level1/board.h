/* What the groups of one launch tell each other while they run: a board of words of 64 bits in
 * global memory (rt_board), of which each group has a line.
 *
 *   line 0            how many groups have begun, in the lower half; the upper half is the
 *                     launch's number
 *   line 1 + number   the values of an operator that a group has found, 32 bits to a word; the
 *                     upper half of each word says in which launch, and whether it is all that the
 *                     group will find
 *
 * A group draws its number when it begins. So those with smaller numbers have begun before it, and
 * on devices where groups that run go on (fact LOOKS_BACK) it may wait for them. Words are written
 * and read whole, so a reader that finds the marks of this launch in all words of a line has values
 * that belong together: nothing has to be ordered, and nothing cleared between launches. Lines are
 * as far apart as memory transfers at a time; with several groups' words in one of these pieces
 * scans take 1.13 of the time. */
#ifndef KERNELS_LEVEL1_BOARD_H
#define KERNELS_LEVEL1_BOARD_H

#include "kernels/level1/segments.h"

typedef struct {
    KGen *kg;
    const Accs *ac;
    KBuf *words;
    KBuf *drawn; /* in local memory: what the group drew */
    const KExp *total;
    const KExp *number;       /* of this group */
    const KExp *part, *whole; /* marks of this launch: not all yet; all */
} Board;

/* Does a value of e's operator fit into a line? */
bool board_holds(const Exp *e);
/* The bytes of a board for so many groups. */
const KExp *board_bytes(Ctx *cx, const KExp *groups);
/* Draws the group's number, of `total`, which is the number of groups that the launch has. A
 * barrier. `words`: of the launch, from kg_param_mem. */
Board board_open(KGen *kg, const Accs *ac, KBuf *words, const KExp *total);
/* The same once more, behind long code that would keep it in registers. */
void board_recall(Board *bd);
/* One work-item writes the group's values. */
void board_post(const Board *bd, const KExp **x, const KExp *mark);
/* This work-item waits until that group has written values, which become those of x. Are they all
 * that it will find? */
const KExp *board_wait(const Board *bd, const KExp *number, const Accs *x);
/* The same of n groups, whose words are looked at together. whole: of each, its answer. */
void board_wait_for(const Board *bd, int n, const KExp *const *number, const Accs *x,
                    const KExp **whole);

/* The bits of a value as a word of 32 or 64 bits, and back from either. */
const KExp *board_bits(KGen *kg, const KExp *x);
const KExp *board_value(KGen *kg, PrimType t, const KExp *bits);

#endif
