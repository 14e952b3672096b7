/* Script input: an expression of the program's functions, as in Futhark's test files. It becomes an
 * entry point behind a copy of the program, which the interpreter runs; a tuple is several values.
 * What it loads from files are the parameters of that entry point. */
#include "testing/testing.h"

#include "base/out.h"
#include "base/source.h"
#include "interp/interp.h"
#include "passes.h"

#include <stdlib.h>
#include <string.h>

static const char script_entry[] = "minifut_test_script";

typedef struct {
    Run *run;
    const TestCase *c;
    VEC(rt_hvalue) loaded;
    Out params, body;
    size_t copied; /* of the script's text */
} Text;

/* --- Files ---------------------------------------------------------------------------------- */

/* A parameter for a value, which stands in its file's place. */
static void add_param(Text *t, rt_hvalue v)
{
    char type[256];
    rt_type_name(v.prim, v.rank, type, sizeof type);
    out_printf(&t->params, " (loaded_%d: %s)", t->loaded.n, type);
    out_printf(&t->body, "loaded_%d", t->loaded.n);
    vec_push(t->run->a, &t->loaded, v);
}

static bool load_bytes(Text *t, const Script *s)
{
    size_t n;
    rt_hvalue v;
    const char *bytes = source_read(t->run->a, s->name, false, s->loc, &n);
    if (!bytes)
        return false;
    if (!rt_hvalue_make(&v, RT_U8, 1, (const int64_t[]){(int64_t)n})) {
        diag_error(s->loc, "script input: out of memory");
        return false;
    }
    memcpy(v.data, bytes, n);
    add_param(t, v);
    return true;
}

static bool load_values(Text *t, const Script *s)
{
    rt_reader r;
    rt_hvalue v;
    bool ok = rt_reader_open(&r, s->name);
    out_puts(&t->body, "(");
    for (int i = 0; ok && !rt_reader_at_end(&r); i++)
        if ((ok = rt_read_any(&r, &v))) {
            out_puts(&t->body, i ? ", " : "");
            add_param(t, v);
        }
    out_puts(&t->body, ")");
    if (!ok)
        diag_error(s->loc, "script input: %s", r.error);
    rt_reader_close(&r);
    return ok;
}

/* --- Its text ------------------------------------------------------------------------------- */

static void copy_up_to(Text *t, Loc loc)
{
    size_t to = loc.beg - t->c->input_loc.beg - 1; /* the text begins behind a brace */
    out_putn(&t->body, t->c->input.text + t->copied, to - t->copied);
    t->copied = to + (loc.end - loc.beg);
}

static bool add_files(Text *t, const Script *s)
{
    bool ok = true;
    if (s->kind == SCRIPT_DATA || s->kind == SCRIPT_BYTES) {
        copy_up_to(t, s->loc);
        return s->kind == SCRIPT_DATA ? load_values(t, s) : load_bytes(t, s);
    }
    for (int i = 0; i < s->parts.n && ok; i++)
        ok = add_files(t, s->parts.at[i]);
    return ok;
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

/* The program with the script behind it. NULL after a message. */
static Prog *with_script(Text *t)
{
    Run *run = t->run;
    size_t n;
    const char *text = source_read(run->a, run->file, false, t->c->loc, &n);
    if (!text || !add_files(t, t->c->script))
        return NULL;
    out_puts(&t->body, t->c->input.text + t->copied);
    Behind b = {run->file, arena_printf(run->a, "%s\nentry %s%s =\n%s\n", text, script_entry,
                                        t->params.text ? t->params.text : "", t->body.text), 0};
    b.n = strlen(b.text);
    source_set_instead(behind_program, &b);
    Prog *p = front_end(run->cx, run->file);
    source_set_instead(NULL, NULL);
    return p;
}

/* --- Its values ----------------------------------------------------------------------------- */

static const Entry *entry_of(const Run *run, const TestCase *c)
{
    for (int i = 0; i < run->prog->entries.n; i++)
        if (strcmp(run->prog->entries.at[i].name, c->entry) == 0)
            return &run->prog->entries.at[i];
    return NULL;
}

/* The results as binary data, numbers of the types that the entry point takes; false if there is no memory. */
static bool keep_values(Run *run, TestCase *c, const InterpResult *r)
{
    char *blob = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&blob, &n);
    bool ok = f != NULL;
    const Entry *e = entry_of(run, c);
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
    if (!ok)
        diag_error(c->input_loc, "script input: %s", r.message);
    else if (!(ok = keep_values(t->run, c, &r)))
        diag_error(c->input_loc, "script input: out of memory");
    interp_result_free(&r);
    interp_free(in);
    return ok;
}

bool test_script(Run *run, TestCase *c)
{
    if (!c->script || c->notest)
        return true;
    test_at(run, "the script of case %s of %s", c->name, c->entry);
    Text t = {.run = run, .c = c};
    const Prog *p = with_script(&t);
    bool ok = p && run_script(&t, c, p);
    for (int i = 0; i < t.loaded.n; i++)
        rt_hvalue_free(&t.loaded.at[i]);
    out_free(&t.params);
    out_free(&t.body);
    return ok;
}
