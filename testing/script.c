/* Script input: an expression of the program's functions, as in Futhark's test files. It becomes an
 * entry point behind a copy of the program, which the interpreter runs; a tuple is several values. */
#include "testing/testing.h"

#include "base/source.h"
#include "interp/interp.h"
#include "passes.h"

#include <stdlib.h>
#include <string.h>

static const char script_entry[] = "minifut_test_script";

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
static Prog *with_script(Run *run, const TestCase *c)
{
    size_t n;
    const char *text = source_read(run->a, run->file, false, c->loc, &n);
    if (!text)
        return NULL;
    Behind b = {run->file, arena_printf(run->a, "%s\nentry %s =\n%s\n", text, script_entry, c->script), 0};
    b.n = strlen(b.text);
    source_set_instead(behind_program, &b);
    Prog *p = front_end(run->cx, run->file);
    source_set_instead(NULL, NULL);
    return p;
}

/* The results as binary data; false if there is no memory. */
static bool keep_values(Run *run, TestCase *c, const InterpResult *r)
{
    char *blob = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&blob, &n);
    bool ok = f != NULL;
    for (int i = 0; i < r->n && ok; i++)
        ok = rt_write_binary(f, &r->values[i]);
    if (f)
        ok = fclose(f) == 0 && ok;
    c->input = (DataSource){"script input", arena_memdup(run->a, blob ? blob : "", n), n};
    free(blob);
    return ok;
}

bool test_script(Run *run, TestCase *c)
{
    if (!c->script || c->notest)
        return true;
    test_at(run, "the script of case %s of %s", c->name, c->entry);
    Prog *p = with_script(run, c);
    if (!p)
        return false;
    Interp *in = interp_new(p);
    InterpResult r = interp_run(in, interp_entry(p, script_entry), NULL, 0, NULL);
    bool ok = r.status == INTERP_OK;
    if (!ok)
        diag_error(c->input_loc, "script input: %s", r.message);
    else if (!keep_values(run, c, &r))
        diag_error(c->input_loc, "script input: out of memory");
    ok = ok && c->input.n;
    interp_result_free(&r);
    interp_free(in);
    return ok;
}
