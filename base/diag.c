#include "base/diag.h"

#include "base/arena.h"
#include "base/intern.h"
#include "base/out.h"
#include "base/stage.h"
#include "base/vec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    char *text;
    uint32_t base, n;
    uint32_t room; /* n may become so many */
    int done;      /* as which of the sources it was complete, from 1; 0: not yet */
    /* Made when a place is first asked for: where each line begins; the characters before each
     * BLOCK of bytes, since a line may be as long as the file. */
    VEC(uint32_t) lines, chars;
} Source;

static struct {
    Arena *mem;
    VEC(Source) sources;
    DiagMessages msgs;
    int n_user, n_limit, n_groups;
    int n_done;              /* sources */
    VEC(const char *) named; /* sections */
    int n_dropped;           /* beyond MAX_KEPT */
    uint32_t told;           /* places before this one have no warnings */
    bool mute_notes;         /* the message before was a duplicate */
} D;

enum { BLOCK = 256, LEAST_ROOM = 4096 };
enum { MAX_ERRORS = 20, MAX_KEPT = 200 }; /* shown; kept: more are only counted */

static Arena *mem(void)
{
    if (!D.mem)
        D.mem = arena_new();
    return D.mem;
}

/* A file's name as messages show it: UTF-8, on one line, without commands to a terminal. */
static const char *shown_name(const char *name)
{
    char *text = arena_strdup(mem(), name);
    for (char *p = text; *p;) {
        size_t k = utf8_length(p);
        if (k == 0 || (unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
        p += k ? k : 1;
    }
    return intern(text);
}

static uint32_t behind_sources(void)
{
    return vec_last(&D.sources).base + vec_last(&D.sources).room + 1;
}

uint32_t diag_source_add(const char *name, const char *text, size_t n)
{
    uint32_t base = 1;
    if (D.sources.n)
        base = behind_sources();
    Source s = {.name = shown_name(name),
                .text = arena_strndup(mem(), text, n),
                .base = base,
                .n = (uint32_t)n,
                .room = 2 * (uint32_t)n + LEAST_ROOM};
    vec_push(mem(), &D.sources, s);
    return base;
}

static Source *find_source(uint32_t off)
{
    for (int i = 0; off && i < D.sources.n; i++) {
        Source *s = &D.sources.at[i];
        if (off >= s->base && off <= s->base + s->n)
            return s;
    }
    return NULL;
}

bool diag_source_change(uint32_t base, const char *text, size_t n)
{
    Source *s = find_source(base);
    if (!s || s->base != base || n > s->room)
        return false;
    s->text = arena_strndup(mem(), text, n);
    s->n = (uint32_t)n;
    s->lines.n = s->chars.n = 0;
    return true;
}

void diag_source_done(uint32_t base)
{
    Source *s = find_source(base);
    if (s && !s->done)
        s->done = ++D.n_done;
}

/* The number of characters before offset `at` of a source. */
static uint32_t chars_before(Source *s, uint32_t at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; !s->chars.n || i < s->n; i++) {
        if (i % BLOCK == 0 && i / BLOCK == (uint32_t)s->chars.n)
            vec_push(mem(), &s->chars, n);
        else if (i % BLOCK == 0)
            break;
        n += i < s->n && ((unsigned char)s->text[i] & 0xC0) != 0x80;
    }
    uint32_t block = at / BLOCK < (uint32_t)s->chars.n ? at / BLOCK : (uint32_t)s->chars.n - 1;
    n = s->chars.at[block];
    for (uint32_t i = block * BLOCK; i < at; i++)
        n += ((unsigned char)s->text[i] & 0xC0) != 0x80;
    return n;
}

/* The line that offset `at` of a source is in, from 0. */
static int line_of(Source *s, uint32_t at)
{
    if (!s->lines.n) {
        vec_push(mem(), &s->lines, 0);
        for (uint32_t i = 0; i < s->n; i++)
            if (s->text[i] == '\n')
                vec_push(mem(), &s->lines, i + 1);
    }
    int lo = 0, hi = s->lines.n;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        *(s->lines.at[mid] <= at ? &lo : &hi) = mid;
    }
    return lo;
}

Place diag_place(Loc loc)
{
    Source *s = find_source(loc.beg);
    if (!s)
        return (Place){NULL, 0, 0};
    uint32_t at = loc.beg - s->base;
    int line = line_of(s, at);
    uint32_t col = chars_before(s, at) - chars_before(s, s->lines.at[line]);
    return (Place){s->name, line + 1, (int)col + 1};
}

const char *diag_place_str(Loc loc)
{
    Place p = diag_place(loc);
    if (!p.file)
        return "?";
    char buf[512];
    snprintf(buf, sizeof buf, "%.400s:%d:%d", p.file, p.line, p.col);
    return intern(buf);
}

/* The line around offset `at` of a source; of a very long one, the neighbourhood. */
static void line_around(const Source *s, uint32_t at, uint32_t *beg, uint32_t *end)
{
    *beg = *end = at;
    while (*beg > 0 && s->text[*beg - 1] != '\n' && at - *beg <= 120)
        --*beg;
    while (*end < s->n && s->text[*end] != '\n' && *end - at <= 160)
        ++*end;
    if (at - *beg > 120)
        *beg = at - 80;
    while (*beg < at && ((unsigned char)s->text[*beg] & 0xC0) == 0x80)
        ++*beg;
    if (*end - at > 160)
        *end = at + 80;
    while (*end > at && ((unsigned char)s->text[*end] & 0xC0) == 0x80)
        --*end;
}

const char *diag_line_text(Loc loc)
{
    const Source *s = loc.beg ? find_source(loc.beg) : NULL;
    if (!s)
        return NULL;
    uint32_t from, to;
    line_around(s, loc.beg - s->base, &from, &to);
    return intern_n(s->text + from, to - from);
}

/* Names and types of the program may be of any length: of a long text, the beginning and the end.
 */
static const char *shortened(const char *text)
{
    enum { MAX_TEXT = 600, TAIL = 150 };
    size_t n = strlen(text), head = MAX_TEXT - TAIL, tail = n - TAIL;
    if (n <= MAX_TEXT)
        return text;
    while (((unsigned char)text[head] & 0xC0) == 0x80)
        head--;
    while (((unsigned char)text[tail] & 0xC0) == 0x80)
        tail++;
    return arena_printf(mem(), "%.*s ... %s", (int)head, text, text + tail);
}

static void add(DiagKind kind, Loc loc, const char *fmt, va_list ap)
{
    const char *text = shortened(arena_vprintf(mem(), fmt, ap));
    if (kind == DIAG_NOTE) {
        if (D.mute_notes)
            return;
    } else if (kind == DIAG_WARNING && loc.beg && loc.beg < D.told) {
        D.mute_notes = true;
        return;
    } else if (D.msgs.n >= MAX_KEPT) {
        D.n_user += kind == DIAG_ERROR;
        D.n_limit += kind == DIAG_LIMIT;
        D.n_dropped++;
        D.mute_notes = true;
        return;
    } else {
        D.mute_notes = false;
        for (int i = 0; i < D.msgs.n; i++) {
            const DiagMessage *m = &D.msgs.at[i];
            if (m->kind == kind && m->loc.beg == loc.beg && strcmp(m->text, text) == 0) {
                D.mute_notes = true;
                return;
            }
        }
        D.n_groups++;
        D.n_user += kind == DIAG_ERROR;
        D.n_limit += kind == DIAG_LIMIT;
    }
    DiagMessage m = {kind, loc, D.n_groups, D.msgs.n, text, NULL, NULL};
    vec_push(mem(), &D.msgs, m);
}

#define DEFINE_MESSAGE(fn, kind)                                                                   \
    void fn(Loc loc, const char *fmt, ...)                                                         \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        add(kind, loc, fmt, ap);                                                                   \
        va_end(ap);                                                                                \
    }
DEFINE_MESSAGE(diag_error, DIAG_ERROR)
DEFINE_MESSAGE(diag_warn, DIAG_WARNING)
DEFINE_MESSAGE(diag_limit, DIAG_LIMIT)
DEFINE_MESSAGE(diag_note, DIAG_NOTE)

void diag_told(void)
{
    D.told = D.sources.n ? behind_sources() : 0;
}

void diag_fix(Loc at, const char *text)
{
    int i = D.msgs.n - 1;
    while (i >= 0 && D.msgs.at[i].kind == DIAG_NOTE)
        i--;
    if (i < 0 || D.mute_notes || !at.beg) /* it was one too many, or one that is there */
        return;
    DiagFix *f = NEW(mem(), DiagFix);
    const DiagFix **end = &D.msgs.at[i].fixes;
    while (*end)
        end = (const DiagFix **)&(*end)->next;
    *f = (DiagFix){at, arena_strdup(mem(), text), NULL};
    *end = f;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

void diag_fix_word(Loc loc, const char *word, const char *instead)
{
    const Source *s = find_source(loc.beg);
    size_t n = strlen(word);
    for (uint32_t at = s ? loc.end - s->base : 0; s && at-- > loc.beg - s->base;) {
        const char *t = s->text + at;
        bool begins = !in_word(word[0]) || at == 0 || !in_word(t[-1]);
        bool ends = !in_word(word[n - 1]) || !in_word(t[n < s->n - at ? n : 0]);
        if (n <= s->n - at && s->base + at + n <= loc.end && !memcmp(t, word, n) && begins &&
            (ends || at + n == s->n)) {
            diag_fix((Loc){s->base + at, s->base + at + (uint32_t)n}, instead);
            return;
        }
    }
}

void diag_fix_around(Loc loc, const char *before, const char *behind)
{
    const Source *s = find_source(loc.beg);
    if (s && loc.end > loc.beg)
        diag_fix(loc, arena_printf(mem(), "%s%.*s%s", before, (int)(loc.end - loc.beg),
                                   s->text + (loc.beg - s->base), behind));
}

int diag_messages(void)
{
    return D.n_groups;
}

void diag_explained(int since, const char *section)
{
    for (int i = D.msgs.n - 1; i >= 0 && D.msgs.at[i].group > since; i--)
        D.msgs.at[i].section = section;
}

int diag_wrong(void)
{
    return D.n_user;
}

int diag_errors(void)
{
    return D.n_user + D.n_limit;
}

bool diag_is_full(void)
{
    return diag_errors() >= MAX_KEPT;
}

bool diag_has_dropped(void)
{
    return D.n_dropped > 0;
}

int diag_exit_code(void)
{
    return D.n_user ? EXIT_USER : D.n_limit ? EXIT_LIMIT : 0;
}

const char *diag_excerpt(Loc loc)
{
    const Source *s = find_source(loc.beg);
    if (!s)
        return NULL;
    uint32_t at = loc.beg - s->base, beg, end;
    line_around(s, at, &beg, &end);
    uint32_t stop = loc.end > s->base ? loc.end - s->base : at;
    char *text = arena_alloc(mem(), 2 * (size_t)(end - beg) + 16), *to = text;
    to += sprintf(to, "    ");
    for (uint32_t i = beg; i < end; i++) {
        unsigned char c = (unsigned char)s->text[i];
        *to++ = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    to += sprintf(to, "\n    ");
    for (uint32_t i = beg; i < at; i++)
        if (((unsigned char)s->text[i] & 0xC0) != 0x80)
            *to++ = ' ';
    *to++ = '^';
    for (uint32_t i = at + 1; i < stop && i < end; i++)
        if (((unsigned char)s->text[i] & 0xC0) != 0x80)
            *to++ = '~';
    *to = '\0';
    return text;
}

void diag_print_line(Loc loc)
{
    const char *text = diag_excerpt(loc);
    if (text)
        fprintf(stderr, "%s\n", text);
}

/* In which order sources come. */
static int rank_of(Loc loc)
{
    const Source *s = find_source(loc.beg);
    return !s ? 0 : s->done ? s->done : D.n_done + 1;
}

static int by_place(const void *a, const void *b)
{
    const DiagMessage *const *x = a, *const *y = b;
    int s = rank_of((*x)->loc), t = rank_of((*y)->loc);
    if (s != t)
        return s < t ? -1 : 1;
    if ((*x)->loc.beg != (*y)->loc.beg)
        return (*x)->loc.beg < (*y)->loc.beg ? -1 : 1;
    return (*x)->order - (*y)->order;
}

static void print_msg(const DiagMessage *m)
{
    static const char *const word[] = {"error", "warning", "limitation", "note"};
    Place p = diag_place(m->loc);
    if (p.file)
        fprintf(stderr, "%s:%d:%d: ", p.file, p.line, p.col);
    else
        fprintf(stderr, "minifut: ");
    fprintf(stderr, "%s: %s\n", word[m->kind], m->text);
    diag_print_line(m->loc);
}

/* The pending messages but for notes, in the order of their places; how many. */
static int sorted_heads(const DiagMessage ***out)
{
    int n = 0;
    const DiagMessage **head = NEWN(mem(), const DiagMessage *, D.msgs.n);
    for (int i = 0; i < D.msgs.n; i++)
        if (D.msgs.at[i].kind != DIAG_NOTE)
            head[n++] = &D.msgs.at[i];
    if (n)
        qsort(head, (size_t)n, sizeof *head, by_place);
    *out = head;
    return n;
}

static int notes_of(const DiagMessage *m)
{
    int n = 0;
    while (m->order + 1 + n < D.msgs.n && m[1 + n].group == m->group)
        n++;
    return n;
}

/* Where more stands about it, once. */
static void print_section(const char *section)
{
    for (int i = 0; i < D.named.n; i++)
        if (strcmp(D.named.at[i], section) == 0)
            return;
    vec_push(mem(), &D.named, section);
    fprintf(stderr, "    see \"%s\" in docs/language.md\n", section);
}

void diag_flush(void)
{
    int shown = 0, hidden = D.n_dropped;
    const DiagMessage **head;
    int heads = D.msgs.n ? sorted_heads(&head) : 0;
    for (int i = 0; i < heads; i++) {
        if (shown == MAX_ERRORS) {
            hidden++;
            continue;
        }
        shown += head[i]->kind != DIAG_WARNING;
        for (int j = 0; j <= notes_of(head[i]); j++)
            print_msg(head[i] + j);
        if (head[i]->section)
            print_section(head[i]->section);
    }
    if (hidden)
        fprintf(stderr, "minifut: %d more not shown\n", hidden);
    D.msgs.n = 0;
    D.n_dropped = 0;
}

void diag_take(DiagTake *take, void *env)
{
    const DiagMessage **head;
    int heads = D.msgs.n ? sorted_heads(&head) : 0;
    for (int i = 0; i < heads; i++)
        take(env, head[i], head[i] + 1, notes_of(head[i]));
    D.msgs.n = 0;
    D.n_dropped = 0;
}

DiagMessages diag_pending(Arena *a)
{
    DiagMessages all = {0};
    vec_append(a, &all, &D.msgs);
    return all;
}

int diag_count(void)
{
    return D.msgs.n;
}

void diag_forget(void)
{
    D.msgs.n = D.n_user = D.n_limit = D.n_dropped = 0;
}

void diag_again(const DiagMessage *all, int n)
{
    for (int i = 0; i < n; i++) {
        DiagMessage m = all[i];
        D.n_user += m.kind == DIAG_ERROR;
        D.n_limit += m.kind == DIAG_LIMIT;
        m.order = D.msgs.n;
        vec_push(mem(), &D.msgs, m);
    }
}

void diag_reset(void)
{
    arena_free(D.mem);
    memset(&D, 0, sizeof D);
}

_Noreturn void ice_at(const char *file, int line, Loc loc, const char *fmt, ...)
{
    diag_flush();
    fprintf(stderr, "%s%sinternal error in pass %s (%s:%d): ", loc.beg ? diag_place_str(loc) : "",
            loc.beg ? ": " : "minifut: ", stage_name(), file, line);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nThis is a bug of minifut, not of your program.\n");
    exit(EXIT_BUG);
}
