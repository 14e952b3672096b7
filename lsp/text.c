/* Byte offsets to the positions of the protocol, and back. */
#include "lsp/text.h"

#include "base/out.h"

const char *const encoding_names[] = {[UTF_16] = "utf-16", [UTF_8] = "utf-8", [UTF_32] = "utf-32"};
static Encoding counted_in;

void positions_count_in(Encoding e)
{
    counted_in = e;
}

Encoding positions_counted_in(void)
{
    return counted_in;
}

Lines lines_of(Arena *a, const char *text, size_t n)
{
    Lines l = {.text = text, .n = n};
    vec_push(a, &l.begins, 0);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n'))
            vec_push(a, &l.begins, (uint32_t)(i + 1));
        l.wide |= (unsigned char)text[i] >= 0x80;
    }
    return l;
}

/* The length of the character at an offset, which is no end, and its units. */
static size_t character(const Lines *l, size_t at, uint32_t *units)
{
    if ((unsigned char)l->text[at] < 0x80) {
        *units = 1;
        return 1;
    }
    size_t k = utf8_length(l->text + at);
    k = k ? k : 1;
    *units = counted_in == UTF_8 ? (uint32_t)k : counted_in == UTF_16 && k == 4 ? 2 : 1;
    return k;
}

/* Of an offset in a line. */
static Position position_in(const Lines *l, uint32_t line, size_t offset)
{
    Position p = {line, 0};
    size_t at = l->begins.at[line];
    if (!l->wide)
        p.unit = (uint32_t)(offset - at);
    while (l->wide && at < offset) {
        uint32_t units;
        size_t k = character(l, at, &units);
        if (at + k > offset)
            break;
        at += k;
        p.unit += units;
    }
    return p;
}

Position lines_position(const Lines *l, size_t offset)
{
    int lo = 0, hi = l->begins.n;
    if (offset > l->n)
        offset = l->n;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        *(l->begins.at[mid] <= offset ? &lo : &hi) = mid;
    }
    return position_in(l, (uint32_t)lo, offset);
}

Position lines_position_behind(const Lines *l, Position p, size_t offset)
{
    uint32_t line = p.line;
    if (offset > l->n)
        offset = l->n;
    while (line + 1 < (uint32_t)l->begins.n && l->begins.at[line + 1] <= offset)
        line++;
    return position_in(l, line, offset);
}

size_t lines_offset(const Lines *l, Position p)
{
    if (p.line >= (uint32_t)l->begins.n)
        return l->n;
    size_t at = l->begins.at[p.line];
    for (uint32_t unit = 0, units; unit < p.unit && at < l->n; unit += units) {
        if (l->text[at] == '\n' || l->text[at] == '\r')
            break;
        size_t k = character(l, at, &units);
        if (unit + units > p.unit) /* between the halves of a character */
            break;
        at += k;
    }
    return at;
}
