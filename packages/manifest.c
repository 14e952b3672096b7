#include "packages/manifest.h"

#include <ctype.h>
#include <string.h>

/* --- Paths of packages ------------------------------------------------------------------------ */

static bool is_path_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("@-/.:_~", c));
}

const char *package_path_wrong(Arena *a, const char *path)
{
    if (!strchr(path, '/'))
        return "it is no path such as github.com/USER/NAME";
    for (const char *at = path;; at++) {
        size_t n = strcspn(at, "/");
        if (!n)
            return "it has an empty part";
        if (strspn(at, ".") == n || *at == '-')
            return arena_printf(a, "it has a part `%.*s`", (int)n, at);
        for (size_t i = 0; i < n; i++)
            if (!is_path_char(at[i]))
                return "it has other characters than letters, digits and @-/.:_~";
        at += n;
        if (!*at)
            return NULL;
    }
}

/* --- Reading ---------------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    const char *text;
    size_t n, at;
    const char *wrong; /* NULL: nothing is, so far */
    size_t from, to;   /* where */
} Reader;

static bool at_end(const Reader *r)
{
    return r->at == r->n;
}

static bool comes(const Reader *r, const char *word)
{
    size_t k = strlen(word);
    return r->n - r->at >= k && !memcmp(r->text + r->at, word, k);
}

static void skip_space(Reader *r)
{
    while (!at_end(r) && isspace((unsigned char)r->text[r->at]))
        r->at++;
}

static void skip_blanks(Reader *r)
{
    while (!at_end(r) && (r->text[r->at] == ' ' || r->text[r->at] == '\t'))
        r->at++;
}

/* The end of what stands at r->at without a space in it. */
static size_t word_end(const Reader *r)
{
    size_t to = r->at;
    while (to < r->n && !isspace((unsigned char)r->text[to]))
        to++;
    return to;
}

/* The word that comes is not what was expected; the first such message counts. */
static void fail(Reader *r, const char *wrong)
{
    if (r->wrong)
        return;
    r->wrong = wrong;
    r->from = r->at;
    r->to = word_end(r);
}

/* The comment that comes, without `--` and without white space behind it. */
static const char *read_comment(Reader *r)
{
    size_t from = r->at + 2, to;
    while (!at_end(r) && r->text[r->at] != '\n')
        r->at++;
    for (to = r->at; to > from && isspace((unsigned char)r->text[to - 1]);)
        to--;
    return arena_strndup(r->a, r->text + from, to - from);
}

static void read_comments(Reader *r, Comments *to)
{
    for (skip_space(r); comes(r, "--"); skip_space(r))
        vec_push(r->a, to, read_comment(r));
}

static const char *read_path(Reader *r, Loc *loc)
{
    size_t from = r->at;
    while (!at_end(r) && is_path_char(r->text[r->at]))
        r->at++;
    size_t n = r->at - from;
    while (n > 1 && r->text[from + n - 1] == '/') /* as some packages end theirs */
        n--;
    const char *path = arena_strndup(r->a, r->text + from, n), *wrong = NULL;
    loc->beg = (uint32_t)from;
    loc->end = (uint32_t)r->at;
    if (!*path)
        fail(r, "expected the path of a package, such as github.com/USER/NAME");
    else
        wrong = package_path_wrong(r->a, path);
    if (wrong) {
        r->at = from;
        fail(r, arena_printf(r->a, "`%s` is no path of a package: %s", path, wrong));
    }
    return path;
}

/* PATH VERSION [#HASH], on one line. */
static Require read_require(Reader *r)
{
    Require q = {0};
    q.path = read_path(r, &q.loc);
    skip_blanks(r);
    size_t k = r->wrong ? 0 : semver_read(r->a, r->text + r->at, r->n - r->at, &q.version);
    if (!k)
        fail(r, "expected a version, such as 1.2.0");
    r->at += k;
    size_t end = r->at;
    skip_blanks(r);
    if (comes(r, "#")) {
        size_t from = ++r->at;
        while (!at_end(r) && isalnum((unsigned char)r->text[r->at]))
            r->at++;
        if (r->at == from)
            fail(r, "expected the hash of a commit behind `#`");
        q.hash = arena_strndup(r->a, r->text + from, r->at - from);
        end = r->at;
    }
    if (end == r->at && !at_end(r) && !isspace((unsigned char)r->text[end]) &&
        r->text[end] != '}' && !comes(r, "--"))
        fail(r, "this does not belong to a version");
    return q;
}

static void read_requires(Reader *r, Requires *to)
{
    skip_space(r);
    if (!comes(r, "{"))
        fail(r, "expected `{` behind `require`");
    else
        r->at++;
    for (skip_space(r); !r->wrong && !comes(r, "}"); skip_space(r)) {
        if (at_end(r))
            fail(r, "expected `}` at the end of the requirements");
        else if (comes(r, "--"))
            vec_push(r->a, to, (Require){.comment = read_comment(r)});
        else
            vec_push(r->a, to, read_require(r));
    }
    r->at += !r->wrong;
}

const char *manifest_parse(Arena *a, const char *text, size_t n, uint32_t base, Manifest *m,
                           Loc *where)
{
    Reader r = {.a = a, .text = text, .n = n};
    *m = (Manifest){0};
    read_comments(&r, &m->head);
    if (comes(&r, "package")) {
        r.at += strlen("package");
        skip_space(&r);
        m->package = read_path(&r, &m->loc);
        read_comments(&r, &m->middle);
    }
    bool requires = !r.wrong && comes(&r, "require");
    if (requires) {
        r.at += strlen("require");
        read_requires(&r, &m->lines);
        read_comments(&r, &m->tail);
    }
    if (!at_end(&r))
        fail(&r, requires     ? "expected nothing behind the requirements"
                 : m->package ? "expected `require {`"
                              : "expected `package PATH` or `require {`");
    m->loc.beg += base;
    m->loc.end += base;
    for (int i = 0; i < m->lines.n; i++) {
        m->lines.at[i].loc.beg += base;
        m->lines.at[i].loc.end += base;
    }
    *where = (Loc){base + (uint32_t)r.from, base + (uint32_t)r.to};
    return r.wrong;
}

bool manifest_read(Arena *a, const char *name, const char *text, size_t n, Manifest *m)
{
    Loc where;
    uint32_t base = diag_source_add(name, text, n);
    const char *wrong = manifest_parse(a, text, n, base, m, &where);
    diag_source_done(base);
    if (wrong)
        diag_error(where, "%s", wrong);
    for (int i = 0; i < m->lines.n && !wrong; i++) {
        const Require *q = &m->lines.at[i];
        if (q->path && manifest_find(m, q->path) != q)
            diag_warn(q->loc, "`%s` is required once more below, and that is what counts", q->path);
    }
    return !wrong;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void print_comments(Out *o, const Comments *c)
{
    for (int i = 0; i < c->n; i++)
        out_printf(o, "--%s\n", c->at[i]);
}

void manifest_print(Out *o, Arena *a, const Manifest *m)
{
    print_comments(o, &m->head);
    if (m->package)
        out_printf(o, "package %s\n\n", m->package);
    print_comments(o, &m->middle);
    out_puts(o, "require {\n");
    for (int i = 0; i < m->lines.n; i++) {
        const Require *q = &m->lines.at[i];
        if (q->path)
            out_printf(o, "  %s %s%s%s\n", q->path, semver_text(a, q->version), q->hash ? " #" : "",
                       q->hash ? q->hash : "");
        else
            out_printf(o, "  --%s\n", q->comment);
    }
    out_puts(o, "}\n");
    print_comments(o, &m->tail);
}

Require *manifest_find(const Manifest *m, const char *path)
{
    for (int i = m->lines.n - 1; i >= 0; i--)
        if (m->lines.at[i].path && !strcmp(m->lines.at[i].path, path))
            return &m->lines.at[i];
    return NULL;
}
