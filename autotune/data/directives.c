/* Reading the directives of a program. The blocks are copied to a text of the same length as the
 * program in which everything else is white space; positions in it are positions in the program. */
#include "autotune/data/directives.h"

#include "autotune/data/random.h"
#include "base/out.h"
#include "command/source.h"
#include "common/values.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    Arena *a;
    Directives *d;
    uint32_t base;  /* position of the program's first byte */
    char *text;     /* the blocks */
    size_t at, end; /* the next byte of the block, and its end */
    Words entries;  /* that the following cases are for */
    int n_cases;    /* so far, each counted once */
    bool ok;
} Parser;

/* --- Tokens --------------------------------------------------------------------------------- */

static Loc range(const Parser *p, size_t from, size_t to)
{
    return (Loc){p->base + (uint32_t)from, p->base + (uint32_t)to};
}

static void fail(Parser *p, size_t from, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports an error at the word that begins at `from`; the rest of the block is skipped. */
static void fail(Parser *p, size_t from, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(p->a, fmt, ap);
    va_end(ap);
    size_t to = from;
    while (to < p->end && !isspace((unsigned char)p->text[to]))
        to++;
    diag_error(range(p, from, to), "%s", text);
    p->ok = false;
    p->at = p->end;
}

static void skip_space(Parser *p)
{
    while (p->at < p->end) {
        if (isspace((unsigned char)p->text[p->at]))
            p->at++;
        else if (p->text[p->at] == '-' && p->text[p->at + 1] == '-')
            while (p->at < p->end && p->text[p->at] != '\n')
                p->at++;
        else
            return;
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next word without taking it; "" if something else comes. */
static const char *peek_word(Parser *p)
{
    skip_space(p);
    size_t n = 0;
    while (p->at + n < p->end && is_word(p->text[p->at + n]))
        n++;
    return arena_strndup(p->a, p->text + p->at, n);
}

static bool take_char(Parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || p->text[p->at] != c)
        return false;
    p->at++;
    return true;
}

static bool take_word(Parser *p, const char *word)
{
    if (strcmp(peek_word(p), word) != 0)
        return false;
    p->at += strlen(word);
    return true;
}

/* The rest of the line, without white space around it; NULL if there is nothing. */
static const char *rest_of_line(Parser *p, Loc *loc)
{
    size_t from = p->at, to;
    while (p->at < p->end && p->text[p->at] != '\n')
        p->at++;
    to = p->at;
    while (from < to && isspace((unsigned char)p->text[from]))
        from++;
    while (to > from && isspace((unsigned char)p->text[to - 1]))
        to--;
    *loc = range(p, from, to);
    return to > from ? arena_strndup(p->a, p->text + from, to - from) : NULL;
}

/* A regular expression to the end of the line. */
static const char *take_regex(Parser *p, Loc *loc)
{
    if (!take_char(p, ':')) {
        fail(p, p->at, "expected `:` and a regular expression");
        return NULL;
    }
    const char *text = rest_of_line(p, loc);
    regex_t re;
    char why[256];
    int code = text ? regcomp(&re, text, REG_EXTENDED | REG_NOSUB | REG_NEWLINE) : 0;
    if (code) {
        regerror(code, &re, why, sizeof why);
        diag_error(*loc, "not a regular expression: %s", why);
        p->ok = false;
    } else if (text) {
        regfree(&re);
    }
    return text;
}

/* The text between braces, as a range; nested braces and strings are stepped over. */
static bool take_braces(Parser *p, size_t *from, size_t *to)
{
    skip_space(p);
    size_t open = p->at;
    if (!take_char(p, '{')) {
        fail(p, p->at, "expected `{`");
        return false;
    }
    *from = p->at;
    for (int depth = 1; p->at < p->end; p->at++) {
        char c = p->text[p->at];
        if (c == '"') {
            for (p->at++; p->at < p->end && p->text[p->at] != '"'; p->at++)
                p->at += p->text[p->at] == '\\' && p->at + 1 < p->end;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            *to = p->at++;
            return true;
        }
    }
    fail(p, open, "this brace is not closed");
    return false;
}

/* --- Values --------------------------------------------------------------------------------- */

/* The program's text with white space for all but text[from..to). */
static DataSource inline_values(Parser *p, size_t from, size_t to)
{
    char *text = arena_strndup(p->a, p->text, to);
    for (size_t i = 0; i < from; i++)
        text[i] = text[i] == '\n' ? '\n' : ' ';
    return (DataSource){p->d->file, text, to};
}

/* The program's, with a slash behind it; "" where it is the one at hand. */
static const char *folder_of(Parser *p)
{
    const char *slash = strrchr(p->d->file, '/');
    return slash ? arena_strndup(p->a, p->d->file, (size_t)(slash + 1 - p->d->file)) : "";
}

static DataSource file_values(Parser *p, Loc *loc)
{
    skip_space(p);
    size_t from = p->at;
    while (p->at < p->end && !isspace((unsigned char)p->text[p->at]))
        p->at++;
    *loc = range(p, from, p->at);
    if (from == p->at) {
        fail(p, from, "expected the name of a file");
        return (DataSource){0};
    }
    const char *name = arena_strndup(p->a, p->text + from, p->at - from);
    if (*name != '/')
        name = arena_printf(p->a, "%s%s", folder_of(p), name);
    if (access(name, R_OK) != 0) {
        diag_error(*loc, "cannot read %s: %s", name, strerror(errno));
        p->ok = false;
    }
    return (DataSource){name, NULL, 0};
}

/* `{ values }` or `@ file`. */
static DataSource take_values(Parser *p, Loc *loc)
{
    skip_space(p);
    size_t start = p->at, from, to;
    if (take_char(p, '@'))
        return file_values(p, loc);
    if (p->at == p->end || p->text[p->at] != '{') {
        fail(p, start, "expected `{ values }` or `@ file`");
        return (DataSource){0};
    }
    if (!take_braces(p, &from, &to))
        return (DataSource){0};
    *loc = range(p, start, to + 1);
    return inline_values(p, from, to);
}

/* Values in one line, shortened, as the name of a case without a name. */
static const char *short_text(Parser *p, const TestCase *c)
{
    const char *text = c->random ? c->random : c->input.text ? c->input.text : c->input.name;
    enum { LONGEST = 32 };
    Out o = {0};
    size_t n = c->input.text ? c->input.n : strlen(text);
    for (size_t i = 0; i < n && o.n < LONGEST; i++)
        if (!isspace((unsigned char)text[i]))
            out_putn(&o, text + i, 1);
        else if (o.n && o.text[o.n - 1] != ' ')
            out_puts(&o, " ");
    if (o.n == LONGEST)
        out_puts(&o, "...");
    while (o.n && o.text[o.n - 1] == ' ')
        o.text[--o.n] = '\0';
    const char *name = arena_printf(p->a, "#%d (%s)", p->n_cases, o.text ? o.text : "");
    out_free(&o);
    return name;
}

bool directives_random(Arena *a, TestCase *c)
{
    if (!c->random || c->input.text)
        return true;
    char *blob = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&blob, &n);
    char *types = arena_strdup(a, c->random), *save;
    RandomGen g = {.state = c->input_loc.beg};
    bool ok = f != NULL;
    for (char *t = strtok_r(types, " \n\t\r,", &save); t && ok;
         t = strtok_r(NULL, " \n\t\r,", &save)) {
        rt_hvalue v;
        const char *wrong = random_value(a, &g, t, &v);
        if (wrong) {
            diag_error(c->input_loc, "%s", wrong);
            ok = false;
            break;
        }
        ok = rt_write_binary(f, &v);
        rt_hvalue_free(&v);
    }
    if (f)
        ok = fclose(f) == 0 && ok;
    c->input = (DataSource){"random input", arena_memdup(a, blob ? blob : "", n), n};
    free(blob);
    return ok;
}

/* --- Cases ---------------------------------------------------------------------------------- */

/* What stands between `input`'s braces. */
typedef enum { INPUT_VALUES, INPUT_TYPES /* random */, INPUT_SCRIPT } InputKind;

/* A word before `input`. False if it is not one. */
static bool case_word(TestCase *c, const char *w, InputKind *kind)
{
    if (strcmp(w, "compiled") == 0)
        c->compiled = true;
    else if (strcmp(w, "random") == 0)
        *kind = INPUT_TYPES;
    else if (strcmp(w, "script") == 0)
        *kind = INPUT_SCRIPT;
    else if (strcmp(w, "notest") == 0)
        c->notest = true;
    else if (strcmp(w, "notune") == 0)
        c->notune = true;
    else if (strcmp(w, "nobench") == 0)
        c->nobench = true;
    else /* such as no_python: of other tools */
        return strncmp(w, "no_", 3) == 0;
    return true;
}

/* Words up to and with `input`. */
static void case_words(Parser *p, TestCase *c, InputKind *kind)
{
    while (p->ok && p->at < p->end && !take_word(p, "input")) {
        const char *w = peek_word(p);
        if (!*w)
            fail(p, p->at, "expected `input`");
        else if (!case_word(c, w, kind))
            fail(p, p->at,
                 "`%s` is no directive: tags, entry:, input, output, error: or, before input, "
                 "compiled, random, script, notest, notune, nobench",
                 w);
        else
            p->at += strlen(w);
    }
}

static void script_input(Parser *p, TestCase *c, const char *text, size_t n, Loc loc)
{
    c->input = (DataSource){"script input", text, n};
    c->script = script_parse(p->a, text, n, loc, folder_of(p));
    p->ok = c->script != NULL;
}

/* Files that it loads are sought where the program's are. */
static void script_file(Parser *p, TestCase *c)
{
    size_t n;
    const char *text = source_read(p->a, c->input.name, false, c->input_loc, &n);
    p->ok = text != NULL;
    if (!p->ok)
        return;
    uint32_t base = diag_source_add(c->input.name, text, n);
    script_input(p, c, text, n, (Loc){base, base + (uint32_t)n});
}

/* What is between the braces: types or an expression, and no values. */
static void case_input(Parser *p, TestCase *c, InputKind kind)
{
    c->input = take_values(p, &c->input_loc);
    if (kind == INPUT_VALUES || !p->ok)
        return;
    if (!c->input.text && kind == INPUT_SCRIPT) {
        script_file(p, c);
        return;
    }
    if (!c->input.text) {
        diag_error(c->input_loc, "random input is given by types: random input { [100]i32 }");
        p->ok = false;
        return;
    }
    size_t from = c->input_loc.beg - p->base + 1, to = c->input_loc.end - p->base - 1;
    const char *text = arena_strndup(p->a, p->text + from, to - from);
    c->input = (DataSource){0};
    if (kind == INPUT_TYPES)
        c->random = text;
    else
        script_input(p, c, text, to - from, (Loc){c->input_loc.beg + 1, c->input_loc.end - 1});
}

/* What the case should give; nothing if no expectation follows. */
static void case_output(Parser *p, TestCase *c)
{
    if (take_word(p, "output")) {
        c->output = take_values(p, &c->output_loc);
        c->expect = EXPECT_VALUES;
    } else if (take_word(p, "auto")) {
        c->expect = EXPECT_AUTO;
        if (!take_word(p, "output"))
            fail(p, p->at, "expected `output` after `auto`");
    } else if (take_word(p, "error")) {
        c->error = take_regex(p, &c->output_loc);
        c->expect = EXPECT_ERROR;
    }
}

static void take_case(Parser *p)
{
    TestCase c = {.loc = range(p, p->at, p->at + 1)};
    InputKind kind = INPUT_VALUES;
    if (take_char(p, '"')) {
        size_t from = p->at;
        while (p->at < p->end && p->text[p->at] != '"' && p->text[p->at] != '\n')
            p->at++;
        c.name = arena_strndup(p->a, p->text + from, p->at - from);
        if (!take_char(p, '"'))
            fail(p, from - 1, "this name is not closed");
    }
    case_words(p, &c, &kind);
    if (p->ok && p->at == p->end)
        fail(p, p->end, "expected `input`");
    if (p->ok)
        case_input(p, &c, kind);
    if (p->ok)
        case_output(p, &c);
    if (!p->ok)
        return;
    p->n_cases++;
    if (!c.name)
        c.name = short_text(p, &c);
    for (int i = 0; i < p->entries.n; i++) {
        c.entry = p->entries.at[i];
        for (int k = 0; k < p->d->cases.n; k++)
            if (strcmp(p->d->cases.at[k].entry, c.entry) == 0 &&
                strcmp(p->d->cases.at[k].name, c.name) == 0) {
                diag_error(c.loc, "there is already a case \"%s\" of %s", c.name, c.entry);
                p->ok = false;
            }
        vec_push(p->a, &p->d->cases, c);
    }
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* `: NAME ...`, up to the end of the line; *loc is that of the names. */
static Words take_names(Parser *p, Loc *loc)
{
    size_t start = p->at;
    Words names = {0};
    bool colon = take_char(p, ':');
    const char *line = colon ? rest_of_line(p, loc) : NULL;
    if (!line)
        fail(p, start,
             colon ? "expected the names of entry points"
                   : "expected `:` and the names of entry points");
    char *words = arena_strdup(p->a, line ? line : ""), *save;
    for (char *w = strtok_r(words, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
        vec_push(p->a, &names, w);
    return names;
}

static void take_entries(Parser *p)
{
    Loc loc;
    p->entries = take_names(p, &loc);
}

static void take_properties(Parser *p)
{
    Loc loc;
    Words names = take_names(p, &loc);
    for (int i = 0; i < names.n; i++)
        vec_push(p->a, &p->d->properties, ((Property){names.at[i], loc}));
}

static void take_tags(Parser *p)
{
    size_t from, to;
    if (!take_braces(p, &from, &to))
        return;
    char *words = arena_strndup(p->a, p->text + from, to - from), *save;
    for (char *w = strtok_r(words, " \t\r\n", &save); w; w = strtok_r(NULL, " \t\r\n", &save))
        vec_push(p->a, &p->d->tags, w);
}

/* `structure gpu-mem { }`: counts of another compiler's operators, after one of its pipelines. */
static void skip_structure(Parser *p)
{
    size_t from, to;
    skip_space(p);
    while (p->at < p->end && (is_word(p->text[p->at]) || p->text[p->at] == '-'))
        p->at++;
    take_braces(p, &from, &to);
}

static void take_rejection(Parser *p, size_t from)
{
    Loc loc;
    const char *text = take_regex(p, &loc);
    if (p->d->rejected)
        fail(p, from, "the program's error is given twice");
    p->d->rejected = true;
    p->d->rejection = text;
    p->d->rejection_loc = loc;
}

static void take_block(Parser *p)
{
    vec_push(p->a, &p->entries, "main");
    for (skip_space(p); p->at < p->end; skip_space(p)) {
        size_t from = p->at;
        Loc loc;
        if (take_word(p, "tags")) {
            take_tags(p);
        } else if (take_word(p, "entry")) {
            take_entries(p);
        } else if (take_word(p, "structure")) {
            skip_structure(p);
        } else if (take_word(p, "property")) {
            take_properties(p);
        } else if (take_word(p, "warning")) {
            const char *text = take_regex(p, &loc);
            vec_push(p->a, &p->d->warnings, text);
        } else if (take_word(p, "error")) {
            take_rejection(p, from);
        } else {
            take_case(p);
        }
        if (!p->ok)
            return;
    }
}

/* The line at `from` without its `--`; false if it is no comment that begins the line. */
static bool comment(const char *text, size_t n, size_t from, size_t *beg, size_t *end)
{
    if (from + 2 > n || text[from] != '-' || text[from + 1] != '-')
        return false;
    *beg = from + 2;
    for (*end = *beg; *end < n && text[*end] != '\n'; ++*end)
        ;
    return true;
}

static bool is_separator(const char *text, size_t beg, size_t end)
{
    while (beg < end && isspace((unsigned char)text[beg]))
        beg++;
    while (end > beg && isspace((unsigned char)text[end - 1]))
        end--;
    return end - beg == 2 && memcmp(text + beg, "==", 2) == 0;
}

static size_t next_line(const char *text, size_t n, size_t at)
{
    while (at < n && text[at] != '\n')
        at++;
    return at < n ? at + 1 : n;
}

/* Parses each block: what follows a line `-- ==` in a run of comment lines. */
static bool parse(Parser *p, const char *text, size_t n)
{
    bool ok = true;
    size_t beg, end;
    for (size_t at = 0; at < n;) {
        bool starts = comment(text, n, at, &beg, &end) && is_separator(text, beg, end);
        at = next_line(text, n, at);
        if (!starts)
            continue;
        p->at = p->end = at;
        while (at < n && comment(text, n, at, &beg, &end) && !is_separator(text, beg, end)) {
            memcpy(p->text + beg, text + beg, end - beg);
            at = next_line(text, n, at);
            p->end = end;
        }
        p->ok = true;
        p->entries = (Words){0};
        take_block(p);
        ok &= p->ok;
    }
    return ok;
}

static char *blank_copy(Arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] == '\n' ? '\n' : ' ';
    return copy;
}

bool directives_read(Arena *a, const char *file, Directives *d)
{
    *d = (Directives){.file = file};
    size_t n;
    const char *text = source_read(a, file, true, NO_LOC, &n);
    if (!text)
        return false;
    Parser p = {.a = a, .d = d, .text = blank_copy(a, text, n)};
    p.base = diag_source_add(file, text, n);
    bool ok = parse(&p, text, n);
    if (ok && d->rejected && d->cases.n) {
        diag_error(d->cases.at[0].loc, "the program must be rejected: it cannot have cases");
        ok = false;
    }
    return ok;
}

bool data_source_open(const DataSource *s, rt_reader *r)
{
    if (!s->text)
        return rt_reader_open(r, s->name);
    rt_reader_mem(r, s->text, s->n, s->name);
    return true;
}

bool directives_tagged(const Directives *d, const char *tag)
{
    for (int i = 0; i < d->tags.n; i++)
        if (strcmp(d->tags.at[i], tag) == 0)
            return true;
    return false;
}

bool directives_match(const char *regex, const char *text)
{
    regex_t re;
    if (!regex)
        return true;
    if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB | REG_NEWLINE) != 0)
        return false; /* directives_read has complained */
    bool found = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return found;
}
