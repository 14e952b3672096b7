/* Script input: an expression of the program's functions, as in Futhark's test files. It becomes an
 * entry point behind a copy of the program, which the interpreter runs; a tuple is several values.
 * What it loads from files, and values that are no expressions, are the parameters of that entry
 * point. */
#include "testing/testing.h"

#include "base/out.h"
#include "command/source.h"
#include "interp/interp.h"
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>

static const char script_entry[] = "minifut_test_script";

/* Names that `let` has bound. */
typedef struct Bound Bound;
struct Bound {
    const Script *let;
    const Bound *up;
};

typedef struct {
    Run *run;
    VEC(rt_hvalue) loaded;
    Out params, body;
    const Script *unknown; /* the first call of what is no entry point */
} Text;

/* --- Values --------------------------------------------------------------------------------- */

/* A parameter for a value, which stands in its place. */
static void put_param(Text *t, rt_hvalue v)
{
    char type[256];
    rt_type_name(v.prim, v.rank, type, sizeof type);
    out_printf(&t->params, " (loaded_%d: %s)", t->loaded.n, type);
    out_printf(&t->body, "loaded_%d", t->loaded.n);
    vec_push(t->run->a, &t->loaded, v);
}

static bool put_bytes(Text *t, const Script *s)
{
    rt_hvalue v;
    const char *wrong = script_bytes(t->run->a, s, NULL, &v);
    if (wrong)
        diag_error(s->loc, "script input: %s", wrong);
    else
        put_param(t, v);
    return !wrong;
}

/* All values that the reader has, as a tuple of parameters. */
static bool put_values(Text *t, const Script *s, rt_reader *r, bool ok)
{
    rt_hvalue v;
    out_puts(&t->body, "(");
    for (int i = 0; ok && !rt_reader_at_end(r); i++)
        if ((ok = rt_read_any(r, &v))) {
            out_puts(&t->body, i ? ", " : "");
            put_param(t, v);
        }
    out_puts(&t->body, ")");
    if (!ok)
        diag_error(s->loc, "script input: %s", r->error);
    rt_reader_close(r);
    return ok;
}

static bool put_file(Text *t, const Script *s)
{
    rt_reader r;
    return put_values(t, s, &r, rt_reader_open(&r, s->name));
}

/* A literal stands in the text, where it gets the type that is wanted, but for what is no
 * expression there. */
static bool put_literal(Text *t, const Script *s)
{
    rt_reader r;
    if (!memmem(s->text, s->n, "empty", 5)) {
        out_printf(&t->body, "(%.*s)", (int)s->n, s->text);
        return true;
    }
    rt_reader_mem(&r, s->text, s->n, "it");
    return put_values(t, s, &r, true);
}

/* --- Its text ------------------------------------------------------------------------------- */

static bool put(Text *t, const Script *s, const Bound *known);

static bool is_bound(const char *name, const Bound *known)
{
    for (; known; known = known->up)
        for (int i = 0; i < known->let->names.n; i++)
            if (strcmp(known->let->names.at[i], name) == 0)
                return true;
    return false;
}

static const Entry *entry_named(const Run *run, const char *name)
{
    for (int i = 0; i < run->prog->entries.n; i++)
        if (strcmp(run->prog->entries.at[i].name, name) == 0)
            return &run->prog->entries.at[i];
    return NULL;
}

static bool put_call(Text *t, const Script *s, const Bound *known)
{
    if (!t->unknown && !is_bound(s->name, known) && !entry_named(t->run, s->name))
        t->unknown = s;
    bool ok = true;
    out_printf(&t->body, "(%s", s->name);
    for (int i = 0; i < s->parts.n && ok; i++) {
        out_puts(&t->body, " ");
        ok = put(t, s->parts.at[i], known);
    }
    out_puts(&t->body, ")");
    return ok;
}

static bool put_parts(Text *t, const Script *s, const Bound *known)
{
    bool ok = true, record = s->kind == SCRIPT_RECORD;
    out_puts(&t->body, record ? "{" : "(");
    for (int i = 0; i < s->parts.n && ok; i++) {
        out_puts(&t->body, i ? ", " : "");
        if (record)
            out_printf(&t->body, "%s = ", s->names.at[i]);
        ok = put(t, s->parts.at[i], known);
    }
    out_puts(&t->body, record ? "}" : ")");
    return ok;
}

static bool put_let(Text *t, const Script *s, const Bound *known)
{
    const Bound inside = {s, known};
    out_puts(&t->body, "(let (");
    for (int i = 0; i < s->names.n; i++)
        out_printf(&t->body, "%s%s", i ? ", " : "", s->names.at[i]);
    out_puts(&t->body, ") = ");
    bool ok = put(t, s->parts.at[0], known);
    out_puts(&t->body, " in ");
    ok = ok && put(t, s->parts.at[1], &inside);
    out_puts(&t->body, ")");
    return ok;
}

/* The expression as the language has it, in parentheses where it is not an atom. False after a
 * message. */
static bool put(Text *t, const Script *s, const Bound *known)
{
    switch (s->kind) {
    case SCRIPT_CALL: return put_call(t, s, known);
    case SCRIPT_VALUE: return put_literal(t, s);
    case SCRIPT_STRING:
    case SCRIPT_BYTES: return put_bytes(t, s);
    case SCRIPT_DATA: return put_file(t, s);
    case SCRIPT_TUPLE:
    case SCRIPT_RECORD: return put_parts(t, s, known);
    case SCRIPT_LET: return put_let(t, s, known);
    case SCRIPT_CODE: out_printf(&t->body, "(%.*s\n)", (int)s->n, s->text); return true;
    }
    return false;
}

typedef struct {
    const char *file, *text;
    size_t n;
} Behind;

static const char *behind_program(void *env, const char *path, size_t *n)
{
    const Behind *b = env;
    *n = b->n;
    return strcmp(path, b->file) == 0 ? b->text : NULL;
}

/* What the frontend said is about a text that nobody has seen: of the first message, what is wrong,
 * but for its syntax. */
static void tell_rejected(const Text *t, const TestCase *c)
{
    const char *said = strstr(test_messages(t->run), "error: ");
    said = said ? said + strlen("error: ") : "this is not supported";
    bool syntax = strncmp(said, "unexpected", 10) == 0 || strncmp(said, "the file ends", 13) == 0;
    if (t->unknown && strncmp(said, "unknown", 7) == 0)
        diag_error(t->unknown->loc, "script input: %s", script_no_entry(t->run->a, t->unknown));
    else
        diag_error(c->script->loc, "script input: %s",
                   syntax && c->script->kind == SCRIPT_CODE ? c->script->name : said);
}

/* The program with the script behind it. NULL after a message. */
static Prog *with_script(Text *t, const TestCase *c)
{
    Run *run = t->run;
    size_t n;
    const char *text = source_read(run->a, run->file, false, c->loc, &n);
    if (!text || !put(t, c->script, NULL))
        return NULL;
    Behind b = {run->file,
                arena_printf(run->a, "%s\nentry %s%s =\n%s\n", text, script_entry,
                             t->params.text ? t->params.text : "", t->body.text),
                0};
    b.n = strlen(b.text);
    source_set_instead(behind_program, &b);
    Prog *p = front_resolved(run->cx, run->file);
    source_set_instead(NULL, NULL);
    if (!p)
        tell_rejected(t, c);
    return p;
}

/* --- Its values ----------------------------------------------------------------------------- */

/* The results as binary data, numbers of the types that the entry point takes; false if there is no
 * memory. */
static bool keep_values(Run *run, TestCase *c, const InterpResult *r)
{
    char *blob = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&blob, &n);
    bool ok = f != NULL;
    const Entry *e = entry_named(run, c->entry);
    for (int i = 0; i < r->n && ok; i++) {
        rt_hvalue other = {0}, *v = &r->values[i];
        rt_prim wanted = i < e->params.n ? test_prim(e->params.at[i]->type) : v->prim;
        bool converted = v->prim != wanted && script_convert(v, wanted, &other);
        ok = rt_write_binary(f, converted ? &other : v);
        if (converted)
            rt_hvalue_free(&other);
    }
    if (f)
        ok = fclose(f) == 0 && ok;
    c->input = (DataSource){"script input", arena_memdup(run->a, blob ? blob : "", n), n};
    free(blob);
    return ok;
}

static bool run_script(Text *t, TestCase *c, const Prog *p)
{
    Interp *in = interp_new(p);
    InterpResult r = interp_run(in, interp_entry(p, script_entry), t->loaded.at, t->loaded.n, NULL);
    bool ok = r.status == INTERP_OK;
    if (!ok) {
        diag_error(c->input_loc, "script input: %.*s", (int)strcspn(r.message, "\n"), r.message);
        if (r.loc.beg)
            diag_note(r.loc, "here");
    } else if (!(ok = keep_values(t->run, c, &r)))
        diag_error(c->input_loc, "script input: out of memory");
    interp_result_free(&r);
    interp_free(in);
    return ok;
}

bool test_script(Run *run, TestCase *c)
{
    if (!c->script || c->notest)
        return true;
    if (diag_errors())
        return false; /* the first is told */
    test_at(run, "the script of case %s of %s", c->name, c->entry);
    Text t = {.run = run};
    const Prog *p = with_script(&t, c);
    bool ok = p && run_script(&t, c, p);
    for (int i = 0; i < t.loaded.n; i++)
        rt_hvalue_free(&t.loaded.at[i]);
    out_free(&t.params);
    out_free(&t.body);
    return ok;
}
