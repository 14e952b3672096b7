/* A program that is being written is broken in a definition or two; the others are what they are.
 * So a text is cut into definitions, by what stands at the beginnings of lines, and those that are
 * as they were before need not be looked at. */
#include "lsp/mend.h"

#include "base/intern.h"
#include "base/out.h"

#include <ctype.h>
#include <string.h>

static void add_run(Arena *a, Runs *runs, Run r)
{
    Run *last = runs->n ? &vec_last(runs) : NULL;
    if (last && last->here + last->n == r.here && last->there + last->n == r.there)
        last->n += r.n;
    else
        vec_push(a, runs, r);
}

void runs_compare(Arena *mem, Runs *runs, Text a, size_t here, Text b, size_t there)
{
    size_t least = a.n < b.n ? a.n : b.n, front = 0, back = 0;
    while (front < least && a.text[front] == b.text[front])
        front++;
    while (back < least - front && a.text[a.n - 1 - back] == b.text[b.n - 1 - back])
        back++;
    add_run(mem, runs, (Run){here, there, front});
    add_run(mem, runs, (Run){here + a.n - back, there + b.n - back, back});
}

/* --- Definitions as they are written --------------------------------------------------------- */

typedef struct {
    Text text;
    const char *key; /* what it defines, interned: `def f`; "": nothing */
} Piece;
typedef VEC(Piece) Pieces;

bool begins_definition(const char *text, size_t at)
{
    return (isalpha((unsigned char)text[at]) || text[at] == '#') &&
           (at == 0 || text[at - 1] == '\n');
}

/* Where the comments begin that stand right above a line. */
static size_t above(const char *text, size_t line, size_t floor)
{
    while (line > floor) {
        size_t before = line - 1;
        while (before > floor && text[before - 1] != '\n')
            before--;
        if (strncmp(text + before, "--", 2) != 0)
            break;
        line = before;
    }
    return line;
}

static const char *skip_comments(const char *s)
{
    for (s += strspn(s, " \t\r\n"); s[0] == '-' && s[1] == '-'; s += strspn(s, " \t\r\n"))
        s += strcspn(s, "\n");
    return s;
}

/* The words up to the name: `local def f`, `module type m`; attributes are a part of them. */
static const char *key_of(Text t)
{
    static const char *const words[] = {"local", "def",  "entry",  "let",
                                        "type",  "open", "module", "import"};
    const char *from = skip_comments(t.text), *s = from;
    for (bool more = true; more;) {
        size_t n = strcspn(s, " \t\r\n");
        more = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            more |= strlen(words[i]) == n && strncmp(s, words[i], n) == 0;
        more |= *s == '#';
        if (more)
            s = skip_comments(s + n);
    }
    size_t name = strcspn(s + (*s == '('), " \t\r\n[(:=") + (*s == '(');
    const char *end = t.text + t.n;
    return from < end ? intern_n(from, (size_t)((s + name < end ? s + name : end) - from)) : "";
}

static Pieces pieces_of(Arena *a, Text t)
{
    Pieces all = {0};
    size_t from = 0;
    for (size_t i = 1; i <= t.n; i++) {
        if (i < t.n && !begins_definition(t.text, i))
            continue;
        size_t to = i < t.n ? above(t.text, i, from) : i;
        if (to == from)
            continue;
        Text one = {t.text + from, to - from};
        vec_push(a, &all, (Piece){one, key_of(one)});
        from = to;
    }
    return all;
}

/* --- Mending --------------------------------------------------------------------------------- */

static bool same_text(Text a, Text b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* The number of the piece that says the same, else of the first one that defines the same; -1:
 * there is none. */
static int counterpart(const Pieces *in, const Piece *p)
{
    int first = -1;
    for (int i = 0; i < in->n; i++) {
        const Piece *q = &in->at[i];
        if (q->key != p->key)
            continue;
        if (same_text(q->text, p->text))
            return i;
        first = first < 0 ? i : first;
    }
    return first;
}

/* How many pieces of `all` from number `from` on have no counterpart in the others. */
static int alone(const Pieces *all, int from, const Pieces *others)
{
    int n = 0;
    while (from + n < all->n && counterpart(others, &all->at[from + n]) < 0)
        n++;
    return n;
}

/* What stands in the place of piece i, which does not parse: number k before, else what followed
 * number `last` if that is gone; and what came then and is gone, which may be a part of the piece
 * now, unless it is what the next pieces were. `last` becomes the last one of these. */
static Text instead(const Pieces *now, int i, const Pieces *then, int k, int *last)
{
    int from = k >= 0 ? k : *last + 1;
    int gone = alone(then, from + (k >= 0), now), others = alone(now, i + 1, then);
    if (k < 0 && !gone)
        return (Text){"\n", 1};
    int parts = (k >= 0) + gone - (others < gone ? others : gone);
    *last = from + (parts ? parts : 1) - 1;
    const Text *first = &then->at[from].text, *end = &then->at[*last].text;
    return (Text){first->text, (size_t)(end->text + end->n - first->text)};
}

Text text_mended(Arena *a, Text text, Text before, TextParses *parses, void *env, Runs *runs)
{
    Pieces now = pieces_of(a, text), then = pieces_of(a, before);
    Out o = {0};
    for (int i = 0, last = -1; i < now.n; i++) {
        const Piece *p = &now.at[i];
        int k = counterpart(&then, p);
        bool keep = k >= 0 && same_text(p->text, then.at[k].text);
        if (!keep)
            keep = parses(env, (Text){arena_strndup(a, p->text.text, p->text.n), p->text.n});
        last = k >= 0 ? k : last;
        Text put = keep ? p->text : instead(&now, i, &then, k, &last);
        runs_compare(a, runs, p->text, (size_t)(p->text.text - text.text), put, o.n);
        out_putn(&o, put.text, put.n);
    }
    size_t n = o.n;
    return (Text){out_keep(&o, a), n};
}
