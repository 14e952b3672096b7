/* A line: context, data set, settings, outcome, seconds, noise, runs, comparisons, parts, reason,
 * and the fingerprint of all that. Blanks separate them; a text's own ones are escaped, an empty
 * text is `-`. */
#include "autotune/run/journal.h"

#include "base/out.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *dataset, *settings;
    Measurement m;
    bool handed_out;
} Entry;

static const char FORGET[] = "forget ";
enum { CONTEXT_DIGITS = 16 };

struct Journal {
    Arena *a;
    const char *path, *context;
    int fd; /* -1: nothing is written */
    VEC(Entry) entries;
};

/* The outcomes of a measurement, as words. */
static const struct {
    const char *word;
    bool ok, cut, partial, wrong;
} outcomes[] = {
    {"ok", true, false, false, false},    {"cut", true, true, false, false},
    {"stopped", true, true, true, false}, {"failed", false, false, false, false},
    {"wrong", false, false, false, true},
};
enum { N_OUTCOMES = sizeof outcomes / sizeof *outcomes };

/* --- Fingerprints --------------------------------------------------------------------------- */

Fingerprint fingerprint(void)
{
    return (Fingerprint){UINT64_C(0xcbf29ce484222325)};
}

void fingerprint_text(Fingerprint *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        f->value = (f->value ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
}

bool fingerprint_file(Fingerprint *f, const char *path)
{
    char buf[1 << 16];
    FILE *in = fopen(path, "rb");
    if (!in)
        return false;
    for (size_t n; (n = fread(buf, 1, sizeof buf, in)) > 0;)
        fingerprint_text(f, buf, n);
    bool ok = !ferror(in);
    fclose(in);
    return ok;
}

const char *fingerprint_digits(Arena *a, const Fingerprint *f)
{
    return arena_printf(a, "%016" PRIx64, f->value);
}

static const char *line_digits(Arena *a, const char *line, size_t n)
{
    Fingerprint f = fingerprint();
    fingerprint_text(&f, line, n);
    return fingerprint_digits(a, &f);
}

/* --- Words ---------------------------------------------------------------------------------- */

static void put_word(Out *o, const char *text)
{
    if (!*text || strcmp(text, "-") == 0)
        out_puts(o, *text ? "%2d" : "-");
    else
        for (const char *p = text; *p; p++)
            out_printf(o, isgraph((unsigned char)*p) && !strchr("%,:", *p) ? "%c" : "%%%02x",
                       (unsigned char)*p);
}

/* The text of a word, in place. */
static char *read_word(char *word)
{
    char *to = word;
    if (strcmp(word, "-") == 0)
        *word = '\0';
    for (char *p = word; *p; p++) {
        unsigned byte;
        if (*p == '%' && sscanf(p + 1, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            p += 2;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return word;
}

/* NAME:PAR:1,NAME:PAR:0,... */
static void put_comparisons(Out *o, const LogLines *log)
{
    if (!log->n)
        out_puts(o, "-");
    for (int i = 0; i < log->n; i++) {
        out_puts(o, i ? "," : "");
        put_word(o, log->at[i].name);
        out_printf(o, ":%lld:%d", (long long)log->at[i].par, log->at[i].outcome);
    }
}

static bool read_comparisons(Arena *a, char *word, LogLines *log)
{
    char *save;
    if (strcmp(word, "-") == 0)
        return true;
    for (char *c = strtok_r(word, ",", &save); c; c = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(c, ':');
        long long par;
        int held;
        if (!colon || sscanf(colon, ":%lld:%d", &par, &held) != 2)
            return false;
        *colon = '\0';
        vec_push(a, log, ((LogLine){read_word(c), par, held == 1}));
    }
    return true;
}

/* NAME:SECONDS:NOISE,... */
static void put_parts(Out *o, const TimedParts *parts)
{
    if (!parts->n)
        out_puts(o, "-");
    for (int i = 0; i < parts->n; i++) {
        out_puts(o, i ? "," : "");
        put_word(o, parts->at[i].name);
        out_printf(o, ":%.17g:%.17g", parts->at[i].seconds, parts->at[i].noise);
    }
}

static bool read_parts(Arena *a, char *word, TimedParts *parts)
{
    char *save;
    if (strcmp(word, "-") == 0)
        return true;
    for (char *c = strtok_r(word, ",", &save); c; c = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(c, ':');
        TimedPart p = {0};
        if (!colon || sscanf(colon, ":%lf:%lf", &p.seconds, &p.noise) != 2)
            return false;
        *colon = '\0';
        p.name = read_word(c);
        vec_push(a, parts, p);
    }
    return true;
}

/* --- Lines ---------------------------------------------------------------------------------- */

static const char *outcome_word(const Measurement *m)
{
    int i = 0;
    while (outcomes[i].ok != m->ok || outcomes[i].cut != m->cut ||
           outcomes[i].partial != m->partial || outcomes[i].wrong != m->wrong)
        i++;
    return outcomes[i].word;
}

static void put_line(Arena *a, Out *o, const char *context, const char *dataset,
                     const char *settings, const Measurement *m)
{
    size_t start = o->n;
    out_printf(o, "%s ", context);
    put_word(o, dataset);
    out_puts(o, " ");
    put_word(o, settings);
    out_printf(o, " %s %.17g %.17g %d ", outcome_word(m), m->median, m->noise, m->n);
    put_comparisons(o, &m->log);
    out_puts(o, " ");
    put_parts(o, &m->parts);
    out_puts(o, " ");
    put_word(o, m->why ? m->why : "");
    out_printf(o, " %s\n", line_digits(a, o->text + start, o->n - start));
}

/* A line without its end; false if it is another program's, or not whole. */
static bool read_line(Arena *a, const char *context, char *line, Entry *e)
{
    enum {
        CONTEXT,
        DATASET,
        SETTINGS,
        OUTCOME,
        SECONDS,
        NOISE,
        RUNS,
        COMPARISONS,
        PARTS,
        WHY,
        DIGITS,
        N
    };
    char *last = strrchr(line, ' '), *word[N], *save;
    if (!last || strcmp(line_digits(a, line, (size_t)(last - line)), last + 1) != 0)
        return false;
    int n = 0;
    for (char *w = strtok_r(line, " ", &save); w && n < N; w = strtok_r(NULL, " ", &save))
        word[n++] = w;
    if (n != N || strcmp(word[CONTEXT], context) != 0)
        return false;
    int k = 0;
    while (k < N_OUTCOMES && strcmp(outcomes[k].word, word[OUTCOME]) != 0)
        k++;
    if (k == N_OUTCOMES)
        return false;
    e->m = (Measurement){.ok = outcomes[k].ok,
                         .cut = outcomes[k].cut,
                         .partial = outcomes[k].partial,
                         .wrong = outcomes[k].wrong,
                         .median = strtod(word[SECONDS], NULL),
                         .noise = strtod(word[NOISE], NULL),
                         .n = (int)strtol(word[RUNS], NULL, 10),
                         .why = outcomes[k].ok ? NULL : read_word(word[WHY])};
    e->dataset = read_word(word[DATASET]);
    e->settings = read_word(word[SETTINGS]);
    return read_comparisons(a, word[COMPARISONS], &e->m.log) &&
           read_parts(a, word[PARTS], &e->m.parts);
}

/* --- The file ------------------------------------------------------------------------------- */

/* What makes all lines of its context above it count no more. */
static bool is_forgetting(const Journal *j, const char *line)
{
    size_t n = sizeof FORGET - 1;
    return strncmp(line, FORGET, n) == 0 && strcmp(line + n, j->context) == 0;
}

/* Reads all lines; *cut_off: the last one has no end. False and errno on failure. */
static bool read_entries(Journal *j, bool *cut_off)
{
    FILE *f = fopen(j->path, "r");
    char *buf = NULL;
    size_t cap = 0;
    *cut_off = false;
    if (!f)
        return errno == ENOENT;
    for (ssize_t n; (n = getline(&buf, &cap, f)) > 0;) {
        Entry e = {0};
        *cut_off = buf[n - 1] != '\n';
        if (*cut_off || buf[0] == '#')
            continue;
        char *line = arena_strndup(j->a, buf, (size_t)n - 1);
        if (is_forgetting(j, line))
            j->entries.n = 0;
        else if (read_line(j->a, j->context, line, &e))
            vec_push(j->a, &j->entries, e);
    }
    bool ok = !ferror(f);
    free(buf);
    fclose(f);
    return ok;
}

/* Is it the beginning of what `title` or FORGET begins, as far as the line goes? */
static bool is_heading(const char *line)
{
    size_t skip = strncmp(line, "# ", 2) == 0 ? 2 : sizeof FORGET - 1;
    if (skip != 2 && strncmp(line, FORGET, skip) != 0)
        return false;
    size_t digits = strspn(line + skip, "0123456789abcdef");
    return digits == CONTEXT_DIGITS || skip + digits == strlen(line);
}

bool journal_is(const char *path)
{
    Arena *a = arena_new();
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    bool is = true; /* one without lines */
    while (f && getline(&line, &cap, f) > 0) {
        char *digits = strrchr(line, ' ');
        line[strcspn(line, "\n")] = '\0';
        if (!*line)
            continue;
        is = is_heading(line) ||
             (digits && strcmp(line_digits(a, line, (size_t)(digits - line)), digits + 1) == 0);
        break;
    }
    free(line);
    if (f)
        fclose(f);
    arena_free(a);
    return f && is;
}

/* Writes all of it, or gives up writing. */
static bool append(Journal *j, const Out *o, const char **wrong)
{
    ssize_t n = write(j->fd, o->text, o->n);
    if (n == (ssize_t)o->n)
        return true;
    *wrong = arena_printf(j->a, "cannot write %s: %s", j->path, strerror(n < 0 ? errno : ENOSPC));
    close(j->fd);
    j->fd = -1;
    return false;
}

/* Only files are read: what a device gives has no end. False and errno on failure. */
static bool read_file(Journal *j, bool *cut_off)
{
    struct stat st;
    if (stat(j->path, &st) != 0)
        return errno == ENOENT;
    errno = EISDIR;
    return S_ISREG(st.st_mode) ? read_entries(j, cut_off) : !S_ISDIR(st.st_mode);
}

Journal *journal_open(Arena *a, const char *path, const char *context, const char *title,
                      JournalMode mode, const char **wrong)
{
    Journal *j = NEW(a, Journal);
    bool cut_off = false, fresh = mode == JOURNAL_AFRESH;
    int flags =
        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK; /* a pipe may have no reader */
    *j = (Journal){.a = a, .path = path, .context = context, .fd = -1};
    *wrong = NULL;
    bool readable = read_file(j, &cut_off);
    if (readable && mode == JOURNAL_LOOKS)
        return j;
    if (!readable || (j->fd = open(path, flags, 0666)) < 0) {
        *wrong = arena_printf(a, "cannot use %s: %s", path, strerror(errno));
        return j;
    }
    Out o = {0};
    out_puts(&o, cut_off ? "\n" : "");
    if (fresh)
        out_printf(&o, "%s%s\n", FORGET, context);
    if (fresh || !j->entries.n)
        out_printf(&o, "# %s\n", title);
    j->entries.n = fresh ? 0 : j->entries.n;
    if (o.n)
        append(j, &o, wrong);
    out_free(&o);
    return j;
}

void journal_close(Journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
}

bool journal_next(Journal *j, const char *dataset, const char *settings, Measurement *m)
{
    for (int i = 0; i < j->entries.n; i++) {
        Entry *e = &j->entries.at[i];
        if (e->handed_out || strcmp(e->settings, settings) != 0 || strcmp(e->dataset, dataset) != 0)
            continue;
        e->handed_out = true;
        *m = e->m;
        return true;
    }
    return false;
}

int journal_left(const Journal *j)
{
    int n = 0;
    for (int i = 0; i < j->entries.n; i++)
        n += !j->entries.at[i].handed_out;
    return n;
}

bool journal_add(Journal *j, const char *dataset, int n, const char *const settings[],
                 const Measurement m[], const char **wrong)
{
    if (j->fd < 0)
        return true;
    Out lines = {0};
    for (int i = 0; i < n; i++)
        put_line(j->a, &lines, j->context, dataset, settings[i], &m[i]);
    bool ok = append(j, &lines, wrong);
    out_free(&lines);
    return ok;
}
