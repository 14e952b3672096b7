/* Lines that kernels' texts have in common stand once. Versions of a nest, and the kernels of the
 * targets, have much the same body; what of it is equal line for line, however far indented, is a
 * text of its own, and a line "@N" where it stood, N its number:
 *
 *     for (...) {              if (c) {                  0: const f32 a = x * x;
 *         const f32 a = x * x;     for (...) {               const f32 b = a - y;
 *         const f32 b = a - y;         const f32 a = ...     ...
 *         ...                          ...               and "        @0", "            @0"
 *
 * Each run of lines is looked for among those before it, as compressors do: places where FEWEST
 * lines are equal are found by a hash of these, and the longest run from one of them is taken. Runs
 * taken from overlapping places are cut into pieces, so that each is one text. The runtime puts the
 * texts together again (rt_text_whole). Nothing is decided by what stands in a line. */
#include "emit/emit_parts.h"

#include <string.h>

enum { FEWEST = 10, SHORTEST = 4, MOST_PLACES = 16 };

typedef struct {
    const char *at; /* without its indentation */
    int n, indent;  /* characters; `at` has the newline */
    int same;       /* the first line that reads the same but for its indentation */
    int end;        /* one past the last line of its text */
    int first;      /* the line that it is taken from: that text's, itself if it is new */
    int times;      /* of such a one: how often it is taken, itself included */
    int before;     /* the last line before it where FEWEST lines have the same hash; -1: none */
    bool cut;       /* of such a one: pieces may not go on across its beginning */
} Line;

typedef struct {
    Arena *arena; /* for what is there meanwhile */
    VEC(Line) lines;
    int *table; /* hash -> line, -1 if there is none */
    size_t size;
    Line *at;
} Sharing;

/* --- Lines ------------------------------------------------------------------------------------ */

static void add_lines(Sharing *s, const char *text)
{
    int first = s->lines.n;
    while (*text) {
        size_t indent = strspn(text, " "), n = strcspn(text + indent, "\n");
        n += text[indent + n] == '\n';
        Line l = {.at = text + indent, .n = (int)n, .indent = (int)indent};
        ASSERT(*l.at != '@');
        vec_push(s->arena, &s->lines, l);
        text += indent + n;
    }
    for (int i = first; i < s->lines.n; i++)
        s->lines.at[i].end = s->lines.n;
}

static void clear_table(Sharing *s)
{
    for (size_t i = 0; i < s->size; i++)
        s->table[i] = -1;
}

static uint64_t hash_more(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_line(const Line *l)
{
    uint64_t h = 0;
    for (int i = 0; i < l->n; i++)
        h = h * 31 + (unsigned char)l->at[i];
    return hash_more(0, h);
}

static bool reads_same(const Line *x, const Line *y)
{
    return x->n == y->n && memcmp(x->at, y->at, (size_t)x->n) == 0;
}

static void find_same(Sharing *s)
{
    s->size = 64;
    while (s->size < 2 * (size_t)s->lines.n)
        s->size *= 2;
    s->table = NEWN(s->arena, int, s->size);
    clear_table(s);
    for (int i = 0; i < s->lines.n; i++) {
        size_t k = hash_line(&s->at[i]) & (s->size - 1);
        while (s->table[k] >= 0 && !reads_same(&s->at[s->table[k]], &s->at[i]))
            k = (k + 1) & (s->size - 1);
        if (s->table[k] < 0)
            s->table[k] = i;
        s->at[i].same = s->table[k];
    }
}

/* --- Runs ------------------------------------------------------------------------------------- */

static size_t place_of(const Sharing *s, int i)
{
    uint64_t h = 0;
    for (int k = 0; k < FEWEST; k++)
        h = hash_more(h, (uint64_t)s->at[i + k].same);
    return h & (s->size - 1);
}

/* How many lines from i on are those from `from` on, as far indented against each other. */
static int run_length(const Sharing *s, int i, int from)
{
    int most = s->at[i].end - i, n = 0, further = s->at[i].indent - s->at[from].indent;
    if (most > s->at[from].end - from)
        most = s->at[from].end - from;
    if (most > i - from)
        most = i - from;
    while (n < most && s->at[i + n].same == s->at[from + n].same &&
           s->at[i + n].indent - s->at[from + n].indent == further)
        n++;
    return n;
}

static void take_run(Sharing *s, int i, int from, int n)
{
    for (int k = 0; k < n; k++)
        s->at[i + k].first = s->at[from + k].first;
}

static void find_runs(Sharing *s)
{
    clear_table(s);
    int known = 0; /* the line behind the last run that was taken */
    for (int i = 0; i < s->lines.n; i++) {
        s->at[i].first = i < known ? s->at[i].first : i;
        if (i + FEWEST > s->at[i].end)
            continue;
        size_t k = place_of(s, i);
        int best = 0, from = -1;
        for (int p = s->table[k], n = 0; i >= known && p >= 0 && n < MOST_PLACES; n++) {
            int length = run_length(s, i, p);
            if (length > best) {
                best = length;
                from = p;
            }
            p = s->at[p].before;
        }
        if (best >= FEWEST) {
            take_run(s, i, from, best);
            known = i + best;
        }
        s->at[i].before = s->table[k];
        s->table[k] = i;
    }
}

/* --- Pieces ----------------------------------------------------------------------------------- */

static int further(const Sharing *s, int i)
{
    return s->at[i].indent - s->at[s->at[i].first].indent;
}

/* Does line i follow the one before it where both are taken from, as far indented? */
static bool goes_on(const Sharing *s, int i)
{
    return i > 0 && s->at[i - 1].end == s->at[i].end && s->at[i].first == s->at[i - 1].first + 1 &&
           further(s, i) == further(s, i - 1);
}

static void find_cuts(Sharing *s)
{
    for (int i = 0; i < s->lines.n; i++)
        s->at[s->at[i].first].times++;
    for (int i = 0; i < s->lines.n; i++) {
        int next = i + 1 < s->lines.n && goes_on(s, i + 1) ? s->lines.n : s->at[i].first + 1;
        if (!goes_on(s, i))
            s->at[s->at[i].first].cut = true;
        if (next < s->lines.n)
            s->at[next].cut = true;
    }
    for (int i = 1; i < s->lines.n; i++)
        s->at[i].cut |= s->at[i].times != s->at[i - 1].times;
}

static int piece_end(const Sharing *s, int i)
{
    int end = i + 1;
    while (end < s->at[i].end && goes_on(s, end) && !s->at[s->at[end].first].cut)
        end++;
    return end;
}

static int least_indent(const Sharing *s, int i, int end)
{
    int least = s->at[i].indent;
    for (; i < end; i++)
        if (s->at[i].indent < least && *s->at[i].at != '\n')
            least = s->at[i].indent;
    return least;
}

static void put_spaces(Out *o, int n)
{
    for (int i = 0; i < n; i++)
        out_puts(o, " ");
}

/* The lines of a piece, which begin so far to the left. */
static const char *piece_text(Arena *a, const Sharing *s, int i, int end, int indent)
{
    Out o = {0};
    for (; i < end; i++) {
        put_spaces(&o, *s->at[i].at == '\n' ? 0 : s->at[i].indent - indent);
        out_putn(&o, s->at[i].at, (size_t)s->at[i].n);
    }
    return out_keep(&o, a);
}

static bool is_shared(const Sharing *s, int i, int end)
{
    return s->at[s->at[i].first].times > 1 && end - i >= SHORTEST;
}

/* The text of lines i to end; numbers[line]: of the text that begins with it, from 1. */
static const char *put_text(Arena *a, const Sharing *s, int i, int *numbers, Texts *shared)
{
    Out o = {0};
    for (int end, last = s->at[i].end; i < last; i = end) {
        end = piece_end(s, i);
        if (!is_shared(s, i, end)) {
            const char *own = piece_text(a, s, i, end, 0);
            out_puts(&o, own);
            continue;
        }
        int *number = &numbers[s->at[i].first], indent = least_indent(s, i, end);
        if (!*number) {
            vec_push(a, shared, piece_text(a, s, i, end, indent));
            *number = shared->n;
        }
        put_spaces(&o, indent);
        out_printf(&o, "@%d\n", *number - 1);
    }
    return out_keep(&o, a);
}

Texts emit_share(Arena *a, Texts *texts)
{
    Texts shared = {0};
    Sharing s = {.arena = arena_new()};
    for (int i = 0; i < texts->n; i++)
        add_lines(&s, texts->at[i]);
    s.at = s.lines.at;
    find_same(&s);
    find_runs(&s);
    find_cuts(&s);
    int *numbers = NEWN(s.arena, int, s.lines.n);
    for (int i = 0, line = 0; i < texts->n; i++) {
        int end = line < s.lines.n ? s.at[line].end : line;
        texts->at[i] = put_text(a, &s, line, numbers, &shared);
        line = end;
    }
    arena_free(s.arena);
    return shared;
}
