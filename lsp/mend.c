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

/* What stands in the place of a piece that does not parse, of which the one before it was number
 * `last` before. One without a counterpart may have been that which followed there. */
static Text instead(const Pieces *now, const Pieces *then, const Piece *same, int last)
{
    bool other = last + 1 < then->n && counterpart(now, &then->at[last + 1]) < 0;
    return same ? same->text : other ? then->at[last + 1].text : (Text){"\n", 1};
}

Text text_mended(Arena *a, Text text, Text before, TextParses *parses, void *env, Runs *runs)
{
    Pieces now = pieces_of(a, text), then = pieces_of(a, before);
    Out o = {0};
    for (int i = 0, last = -1; i < now.n; i++) {
        const Piece *p = &now.at[i];
        int k = counterpart(&then, p);
        const Piece *q = k >= 0 ? &then.at[k] : NULL;
        bool keep = q && same_text(p->text, q->text);
        if (!keep)
            keep = parses(env, (Text){arena_strndup(a, p->text.text, p->text.n), p->text.n});
        Text put = keep ? p->text : instead(&now, &then, q, last);
        runs_compare(a, runs, p->text, (size_t)(p->text.text - text.text), put, o.n);
        out_putn(&o, put.text, put.n);
        last = k >= 0 ? k : last + 1;
    }
    size_t n = o.n;
    return (Text){out_keep(&o, a), n};
}
