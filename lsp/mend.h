/* Texts that are alike in parts, and a text that parses in the place of one that does not. */
#ifndef LSP_MEND_H
#define LSP_MEND_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

/* So many bytes are the same in a text at `here` and in another one at `there`. */
typedef struct {
    size_t here, there, n;
} Run;
typedef VEC(Run) Runs; /* in order, in both texts */

typedef struct {
    const char *text; /* followed by a zero byte */
    size_t n;
} Text;

/* Adds what both have in common at their beginnings and ends, where `a` stands at `here` in a text
 * and `b` at `there`. Both runs are added, also if they are empty. */
void runs_compare(Arena *mem, Runs *runs, Text a, size_t here, Text b, size_t there);

/* Does a definition begin at an offset, as they are written? */
bool begins_definition(const char *text, size_t at);

typedef bool TextParses(void *env, Text text);
/* The text in which those definitions at top level which do not parse by themselves are as they
 * were in another text, or are not there if it has none that are called so; and what of it stands
 * in the text. It may not parse all the same. */
Text text_mended(Arena *a, Text text, Text before, TextParses *parses, void *env, Runs *runs);

#endif
