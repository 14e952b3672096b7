#include "testing/testing.h"

#include "interp/interp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The type of an atom as values have it. */
rt_prim test_prim(Type t)
{
    rt_prim p;
    if (!rt_prim_named(prim_type_text[t.elem], &p))
        ice(NO_LOC, "no value has type %s", prim_type_text[t.elem]);
    return p;
}

/* --- Reading values ------------------------------------------------------------------------- */

typedef VEC(rt_hvalue) Values;

/* A message of a reader without its `file:line:col: `; for inline values these go to *line and
 * *col. */
static const char *split_message(const Run *run, const DataSource *src, const char *error,
                                 int *line, int *col)
{
    size_t n = strlen(src->name);
    int used = 0;
    *line = 0;
    if (src->name == run->file && strncmp(error, src->name, n) == 0 &&
        sscanf(error + n, ":%d:%d: %n", line, col, &used) == 2 && used)
        return error + n + used;
    *line = 0;
    return error;
}

/* The position of byte `col` of a line of the text in which `within` begins. */
static Loc position(const DataSource *src, Loc within, int line, int col)
{
    /* The text has the bytes of the program up to its end: count from there. */
    uint32_t base = within.end - 1 - (uint32_t)src->n;
    size_t i = 0;
    for (int l = 1; l < line && i < src->n; i++)
        l += src->text[i] == '\n';
    uint32_t at = base + (uint32_t)i + (uint32_t)col - 1;
    return (Loc){at, at + 1};
}

static void complain(const Run *run, const DataSource *src, Loc loc, const char *what,
                     const rt_reader *r)
{
    int line, col;
    const char *text = split_message(run, src, r->error, &line, &col);
    diag_error(line ? position(src, loc, line, col) : loc, "%s: %s", what, text);
}

/* Reads values of these types, nothing after them. False after a message. */
static bool read_values(Run *run, const DataSource *src, Loc loc, const Types *types,
                        const char *what, Values *vs)
{
    rt_reader r;
    if (!data_source_open(src, &r)) {
        diag_error(loc, "%s", r.error);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < types->n && ok; i++) {
        rt_hvalue v;
        ok = rt_read_value(&r, test_prim(types->at[i]), types->at[i].rank, &v);
        if (ok)
            vec_push(run->a, vs, v);
        else
            complain(run, src, loc, arena_printf(run->a, "%s %d", what, i + 1), &r);
    }
    if (ok && !rt_reader_at_end(&r)) {
        diag_error(loc, "there are more than %d %ss", types->n, what);
        ok = false;
    }
    if (!rt_reader_close(&r) && ok) {
        diag_error(loc, "%s", r.error);
        ok = false;
    }
    return ok;
}

static void free_values(Values *vs)
{
    for (int i = 0; i < vs->n; i++)
        rt_hvalue_free(&vs->at[i]);
    vs->n = 0;
}

/* --- Running -------------------------------------------------------------------------------- */

/* The first of them that is or holds a sum. NULL: none. */
static const ExtType *sum_among(const ExtParams *ps)
{
    for (int i = 0; i < ps->n; i++)
        if (ext_holds_sum(&ps->at[i].type))
            return &ps->at[i].type;
    return NULL;
}

bool test_takes_sum(const Run *run, const TestCase *c)
{
    return sum_among(&interp_entry(run->prog, c->entry)->ext_params) != NULL;
}

const char *test_unwritable(Run *run, const TestCase *c)
{
    const Entry *en = interp_entry(run->prog, c->entry);
    const ExtType *in = sum_among(&en->ext_params), *out = sum_among(&en->ext_results);
    if (in && !c->script)
        return arena_printf(run->a,
                            "a parameter of type %s cannot be given: it is or holds a sum; "
                            "a script can make it",
                            ext_name(in));
    if (out && c->expect == EXPECT_VALUES)
        return arena_printf(run->a,
                            "a result of type %s cannot be written down: it is or holds a sum",
                            ext_name(out));
    return NULL;
}

/* Are the results what the case says? */
static bool as_expected(Run *run, const TestCase *c, const Entry *en, const InterpResult *r)
{
    if (c->expect != EXPECT_VALUES)
        return true;
    Types types = {0};
    Values want = {0};
    for (int i = 0; i < en->body->res.n; i++)
        vec_push(run->a, &types, atom_type(en->body->res.at[i]));
    bool ok = read_values(run, &c->output, c->output_loc, &types, "result", &want);
    if (!ok) {
        test_fail(run, c, "interpreter: %s", test_messages(run));
    }
    char why[1024];
    for (int i = 0; i < want.n && ok; i++) {
        ok = rt_hvalue_equal(&r->values[i], &want.at[i],
                             session_tolerance(want.at[i].prim, test_tolerance(run)), why,
                             sizeof why);
        if (!ok)
            test_fail(run, c, "interpreter: result %d: %s", i, why);
    }
    free_values(&want);
    return ok;
}

static void keep_results(Run *run, const InterpResult *r, CaseResult *keep)
{
    keep->known = true;
    keep->n = r->n;
    keep->values = arena_memdup(run->a, r->values, sizeof *r->values * (size_t)r->n);
    for (int i = 0; i < r->n; i++)
        r->values[i].data = NULL; /* ours now */
}

static bool check_error(Run *run, const TestCase *c, const InterpResult *r)
{
    if (r->status == INTERP_OK)
        test_fail(run, c, "interpreter: it should fail, but did not");
    else if (!directives_match(c->error, r->message))
        test_fail(run, c, "interpreter: failed with `%s`, expected a match of `%s`", r->message,
                  c->error);
    else
        return true;
    return false;
}

static void run_case(Run *run, Interp *in, TestCase *c, CaseResult *keep)
{
    const Entry *en = interp_entry(run->prog, c->entry);
    Types types = {0};
    Values args = {0};
    const char *unwritable = test_unwritable(run, c);
    if (unwritable) {
        test_fail(run, c, "%s", unwritable);
        return;
    }
    for (int i = 0; i < en->params.n; i++)
        vec_push(run->a, &types, en->params.at[i]->type);
    if (!read_values(run, &c->input, c->input_loc, &types, "input", &args)) {
        test_fail(run, c, "interpreter: %s", test_messages(run));
        return;
    }
    InterpResult r = interp_run(in, en, args.at, args.n, NULL);
    bool ok;
    if (r.status == INTERP_BUG) {
        test_fail(run, c, "interpreter: internal error: %s", r.message);
        ok = false;
    } else if (c->expect == EXPECT_ERROR) {
        ok = check_error(run, c, &r);
    } else if (r.status != INTERP_OK) {
        test_fail(run, c, "interpreter: %s", r.message);
        ok = false;
    } else {
        ok = as_expected(run, c, en, &r);
        keep_results(run, &r, keep);
    }
    if (ok)
        test_pass(run);
    interp_result_free(&r);
    free_values(&args);
}

/* The soft limit of memory; RLIM_INFINITY for none. Sanitizers reserve far more than they use. */
static void limit_memory(rlim_t bytes)
{
#if !defined __SANITIZE_ADDRESS__
    struct rlimit r;
    if (getrlimit(RLIMIT_AS, &r) == 0) {
        r.rlim_cur = r.rlim_max != RLIM_INFINITY && bytes > r.rlim_max ? r.rlim_max : bytes;
        setrlimit(RLIMIT_AS, &r);
    }
#else
    (void)bytes;
#endif
}

void test_interpret(Run *run)
{
    Interp *in = interp_new(run->prog);
    limit_memory((rlim_t)8 << 30);
    for (int i = 0; i < run->d.cases.n; i++) {
        TestCase *c = &run->d.cases.at[i];
        if (c->notest || c->compiled)
            continue;
        test_at(run, "the interpreter at case %s of %s", c->name, c->entry);
        run_case(run, in, c, &run->results[i]);
    }
    limit_memory(RLIM_INFINITY);
    interp_free(in);
}
