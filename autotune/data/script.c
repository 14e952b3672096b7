#include "autotune/data/script.h"

#include "base/out.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    Arena *a;
    const char *text, *folder;
    size_t at, n;
    Loc loc;
    int depth;
    bool failed;
    const char *why; /* then what was wrong, and where */
    Loc where;
} Parser;

enum { MAX_DEPTH = 200 }; /* of expressions within others */

static Loc between(const Parser *p, size_t from, size_t to)
{
    return (Loc){p->loc.beg + (uint32_t)from, p->loc.beg + (uint32_t)to};
}

/* The first thing that is wrong is kept; NULL. */
static Script *fail(Parser *p, size_t from, const char *what)
{
    if (!p->failed) {
        p->why = what;
        p->where = between(p, from, from < p->n ? from + 1 : from);
    }
    p->failed = true;
    return NULL;
}

/* The next character that is neither white space nor in a comment; '\0' at the end. */
static char peek(Parser *p)
{
    for (; p->at < p->n; p->at++) {
        if (p->text[p->at] == '-' && p->text[p->at + 1] == '-')
            p->at += strcspn(p->text + p->at, "\n");
        else if (!isspace((unsigned char)p->text[p->at]))
            return p->text[p->at];
    }
    return '\0';
}

static bool take(Parser *p, char c)
{
    bool there = peek(p) == c && c;
    p->at += there;
    return there;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* The length of the name that comes next; 0 if none does. */
static size_t name_ahead(Parser *p)
{
    size_t n = 0;
    if (isalpha((unsigned char)peek(p)))
        while (p->at + n < p->n && in_name(p->text[p->at + n]))
            n++;
    return n;
}

static bool ahead(Parser *p, const char *word)
{
    return name_ahead(p) == strlen(word) && memcmp(p->text + p->at, word, strlen(word)) == 0;
}

static bool take_word(Parser *p, const char *word)
{
    bool there = ahead(p, word);
    p->at += there ? strlen(word) : 0;
    return there;
}

static const char *take_name(Parser *p)
{
    size_t n = ahead(p, "let") || ahead(p, "in") ? 0 : name_ahead(p);
    if (!n) {
        fail(p, p->at, "expected a name");
        return "";
    }
    const char *name = arena_strndup(p->a, p->text + p->at, n);
    p->at += n;
    return name;
}

static Script *new_script(Parser *p, ScriptKind kind, size_t from)
{
    Script *s = NEW(p->a, Script);
    s->kind = kind;
    s->loc = between(p, from, p->at);
    return s;
}

static Script *parse_exp(Parser *p);

/* --- Atoms ---------------------------------------------------------------------------------- */

/* A value is what the reader of inputs takes for one. */
static Script *parse_value(Parser *p)
{
    size_t from = p->at;
    rt_reader r;
    rt_hvalue v;
    rt_reader_mem(&r, p->text + from, p->n - from, "it");
    if (!rt_read_any(&r, &v)) {
        bool begun =
            from < p->n && (strchr("[-", p->text[from]) || isdigit((unsigned char)p->text[from]));
        const char *why = strstr(r.error, ": ");
        return fail(
            p, from,
            begun && why
                ? arena_strdup(p->a, why + 2)
                : "expected an expression: a value, a string, a call of an entry point, a tuple "
                  "or a record");
    }
    rt_hvalue_free(&v);
    p->at += r.pos;
    while (p->at > from && isspace((unsigned char)p->text[p->at - 1]))
        p->at--;
    Script *s = new_script(p, SCRIPT_VALUE, from);
    s->text = p->text + from;
    s->n = p->at - from;
    return s;
}

static Script *parse_string(Parser *p)
{
    static const char escapes[][2] = {{'n', '\n'}, {'t', '\t'}, {'\\', '\\'}, {'"', '"'}};
    size_t from = p->at++;
    char *text = arena_alloc(p->a, p->n - from), *to = text;
    for (; p->at < p->n && p->text[p->at] != '"'; p->at++) {
        char c = p->text[p->at];
        if (c == '\\') {
            c = ++p->at < p->n ? p->text[p->at] : '\0';
            size_t i = 0;
            while (i < sizeof escapes / sizeof *escapes && escapes[i][0] != c)
                i++;
            if (i == sizeof escapes / sizeof *escapes)
                return fail(p, p->at - 1, "strings have the escapes \\n \\t \\\\ \\\"");
            c = escapes[i][1];
        }
        *to++ = c;
    }
    if (p->at == p->n)
        return fail(p, from, "this string is not closed");
    p->at++;
    Script *s = new_script(p, SCRIPT_STRING, from);
    s->text = text;
    s->n = (size_t)(to - text);
    return s;
}

/* Does a member of the module of built-in functions come next, io.loaddata? */
static bool member_ahead(Parser *p)
{
    return ahead(p, "io") && p->at + 2 < p->n && p->text[p->at + 2] == '.';
}

static Script *parse_builtin(Parser *p)
{
    size_t from = p->at;
    p->at += member_ahead(p) ? strlen("io.") : strlen("$");
    bool bytes = ahead(p, "loadbytes");
    if (!take_word(p, "loadbytes") && !take_word(p, "loaddata"))
        return fail(p, from, "the built-in functions are `$loaddata` and `$loadbytes`");
    if (peek(p) != '"')
        return fail(p, p->at, "expected the name of a file, in quotes");
    size_t file = p->at;
    Script *given = parse_string(p);
    if (!given)
        return NULL;
    Script *s = new_script(p, bytes ? SCRIPT_BYTES : SCRIPT_DATA, from);
    s->name = arena_printf(p->a, "%s%.*s", given->n && *given->text == '/' ? "" : p->folder,
                           (int)given->n, given->text);
    if (access(s->name, R_OK) != 0)
        return fail(p, file, arena_printf(p->a, "cannot read %s: %s", s->name, strerror(errno)));
    return s;
}

/* Expressions, or fields, up to `close`. */
static Script *parse_parts(Parser *p, ScriptKind kind, char close)
{
    size_t from = p->at++;
    Script *s = new_script(p, kind, from);
    while (!p->failed && !take(p, close)) {
        if (s->parts.n && !take(p, ','))
            return fail(p, p->at, arena_printf(p->a, "expected `,` or `%c`", close));
        if (kind == SCRIPT_RECORD) {
            vec_push(p->a, &s->names, take_name(p));
            if (!p->failed && !take(p, '='))
                return fail(p, p->at, "expected `=`");
        }
        vec_push(p->a, &s->parts, parse_exp(p));
    }
    s->loc = between(p, from, p->at);
    return kind == SCRIPT_TUPLE && s->parts.n == 1 ? s->parts.at[0] : s;
}

/* The name of a type of floats, as in f32.nan? */
static bool float_ahead(Parser *p)
{
    for (int t = 0; t < RT_N_PRIMS; t++)
        if (rt_prim_is_float((rt_prim)t) && ahead(p, rt_prim_name((rt_prim)t)))
            return true;
    return false;
}

/* Does a value come next that begins like a name? */
static bool is_named_value(Parser *p)
{
    size_t n = name_ahead(p);
    char behind = p->at + n < p->n ? p->text[p->at + n] : '\0';
    return ahead(p, "true") || ahead(p, "false") || (float_ahead(p) && behind == '.') ||
           (ahead(p, "empty") && behind == '(');
}

static bool atom_ahead(Parser *p)
{
    char c = peek(p);
    return c && (strchr("({\"$[-", c) || isdigit((unsigned char)c) ||
                 (name_ahead(p) && !ahead(p, "in") && !ahead(p, "let")));
}

static Script *parse_atom(Parser *p)
{
    char c = peek(p);
    switch (c) {
    case '(': return parse_parts(p, SCRIPT_TUPLE, ')');
    case '{': return parse_parts(p, SCRIPT_RECORD, '}');
    case '"': return parse_string(p);
    case '$': return parse_builtin(p);
    default: break;
    }
    if (member_ahead(p))
        return parse_builtin(p);
    if (!name_ahead(p) || is_named_value(p))
        return parse_value(p);
    size_t from = p->at;
    const char *name = take_name(p);
    Script *s = new_script(p, SCRIPT_CALL, from);
    s->name = name;
    return s;
}

/* --- Expressions ---------------------------------------------------------------------------- */

static Script *parse_let(Parser *p, size_t from)
{
    Script *s = new_script(p, SCRIPT_LET, from);
    if (take(p, '(')) {
        do
            vec_push(p->a, &s->names, take_name(p));
        while (!p->failed && take(p, ','));
        if (!p->failed && !take(p, ')'))
            return fail(p, p->at, "expected `,` or `)`");
    } else {
        vec_push(p->a, &s->names, take_name(p));
    }
    if (!p->failed && !take(p, '='))
        return fail(p, p->at, "expected `=`");
    vec_push(p->a, &s->parts, parse_exp(p));
    if (!p->failed && !take_word(p, "in") && !(peek(p) && ahead(p, "let")))
        return fail(p, p->at, "expected `in`");
    vec_push(p->a, &s->parts, parse_exp(p));
    return s;
}

static Script *parse_exp(Parser *p)
{
    if (p->failed)
        return NULL;
    peek(p);
    size_t from = p->at;
    if (++p->depth > MAX_DEPTH)
        return fail(p, from, "this is nested too deeply");
    Script *s = take_word(p, "let") ? parse_let(p, from) : parse_atom(p);
    p->depth--;
    if (!s || s->kind != SCRIPT_CALL)
        return s;
    while (!p->failed && atom_ahead(p))
        vec_push(p->a, &s->parts, parse_atom(p));
    s->loc = between(p, from, p->at);
    return s;
}

Script *script_parse(Arena *a, const char *text, size_t n, Loc loc, const char *folder)
{
    Parser p = {.a = a, .text = arena_strndup(a, text, n), .n = n, .loc = loc, .folder = folder};
    Script *s = parse_exp(&p);
    if (!p.failed && peek(&p))
        fail(&p, p.at,
             "expected its end: a function is applied to names, values, and expressions in "
             "parentheses");
    if (!p.failed)
        return s;
    p.at = 0;
    if (!peek(&p) || memchr(text, '$', n)) {
        diag_error(p.where, "script input: %s", p.why);
        return NULL;
    }
    s = new_script(&p, SCRIPT_CODE, 0);
    s->loc = p.where;
    s->name = p.why;
    s->text = p.text;
    s->n = n;
    return s;
}

bool script_convert(const rt_hvalue *from, rt_prim prim, rt_hvalue *to)
{
    if (!rt_prim_is_signed(from->prim) || !rt_hvalue_make(to, prim, from->rank, from->shape))
        return false;
    int64_t size = rt_prim_size(prim), step = rt_prim_size(from->prim),
            n = rt_hvalue_bytes(from) / step;
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        char text[64];
        rt_scalar x;
        rt_scalar_text(from->prim, (const char *)from->data + i * step, text, sizeof text);
        text[strcspn(text, "i")] = '\0';
        ok = rt_parse_scalar(text, prim, &x);
        memcpy((char *)to->data + i * size, &x, (size_t)size);
    }
    if (!ok)
        rt_hvalue_free(to);
    return ok;
}

static const char *bytes_value(const char *bytes, size_t n, rt_hvalue *v)
{
    if (!rt_hvalue_make(v, RT_U8, 1, (const int64_t[]){(int64_t)n}))
        return "there is no memory for these bytes";
    memcpy(v->data, bytes, n);
    return NULL;
}

const char *script_bytes(Arena *a, const Script *s, bool (*stopped)(void), rt_hvalue *v)
{
    if (s->kind == SCRIPT_STRING)
        return bytes_value(s->text, s->n, v);
    Out all = {0};
    char part[1 << 16];
    const char *unread;
    FILE *f = rt_file_open(s->name, false, &unread);
    errno = 0;
    bool stop = false;
    for (size_t n; f && !stop && (n = fread(part, 1, sizeof part, f)) > 0;
         stop = stopped && stopped())
        out_putn(&all, part, n);
    const char *wrong = !f || ferror(f) ? arena_printf(a, "cannot read %s: %s", s->name,
                                                       f ? strerror(errno) : unread)
                        : stop          ? "interrupted"
                                        : bytes_value(all.text ? all.text : "", all.n, v);
    if (f)
        fclose(f);
    out_free(&all);
    return wrong;
}

const char *script_no_entry(Arena *a, const Script *call)
{
    return arena_printf(a, "`%s` is no entry point of the program", call->name);
}
