/* Positions of the protocol: lines from 0, and units within them, of UTF-16 unless the editor wants
 * others. A line ends at \n, \r\n or \r; a byte that begins no UTF-8 character counts as one unit.
 */
#ifndef LSP_TEXT_H
#define LSP_TEXT_H

#include "base/vec.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t line, unit;
} Position;

typedef enum { UTF_16, UTF_8, UTF_32, N_ENCODINGS } Encoding;
extern const char *const encoding_names[];
/* What units are from now on: of all positions, since one editor is talked to. */
void positions_count_in(Encoding e);
Encoding positions_counted_in(void);

/* A text, followed by a zero byte, and where its lines begin. */
typedef struct {
    const char *text;
    size_t n;
    VEC(uint32_t) begins;
    bool wide; /* there are characters of several bytes, or units */
} Lines;

Lines lines_of(Arena *a, const char *text, size_t n);
/* Of an offset; one inside of a character counts as that character's. */
Position lines_position(const Lines *l, size_t offset);
/* The same of an offset that is not far behind a position, nor before its line. */
Position lines_position_behind(const Lines *l, Position p, size_t offset);
/* The offset of a position; of one behind its line's end, that end; of one behind the last line,
 * the text's end. */
size_t lines_offset(const Lines *l, Position p);

/* May the byte be in a name, behind its beginning? */
static inline bool text_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

#endif
