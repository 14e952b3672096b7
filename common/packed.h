/* Texts in few characters, one behind the other: how a program has those of its kernels
 * (emit/emit_pack.c writes, runtime/core/target.c reads).
 *
 *   $     the end of a text
 *   @@ @$ the characters @ and $
 *   @dn   characters that stood before: PACKED_LEAST + n of them, from 1 + d - PACKED_RECENT
 *         characters back on; they may go on into themselves. d < PACKED_RECENT: as far back as the
 *         d-th last of the different distances so far, which becomes the last
 *   else  the character
 *
 * d and n are numbers in base PACKED_BASE, the lowest digit first. There are two signs for each
 * digit, in the order 0-9 A-Z a-z: the first, and PACKED_BASE further the one that says that
 * another digit follows. */
#ifndef COMMON_PACKED_H
#define COMMON_PACKED_H

enum { PACKED_BASE = 31, PACKED_LEAST = 4, PACKED_RECENT = 8 };

/* The distances that were used last, the last one first; 0: none. */
typedef struct {
    int at[PACKED_RECENT];
} packed_recent;

/* What place a digit's sign has in that order. */
static inline int packed_place(char sign)
{
    return sign <= '9' ? sign - '0' : sign <= 'Z' ? sign - 'A' + 10 : sign - 'a' + 36;
}

/* A distance becomes the first; if it was none of them, the last is forgotten. */
static inline void packed_use(packed_recent *r, int distance)
{
    int place = 0;
    while (place < PACKED_RECENT - 1 && r->at[place] != distance)
        place++;
    for (int i = place; i > 0; i--)
        r->at[i] = r->at[i - 1];
    r->at[0] = distance;
}

#endif
