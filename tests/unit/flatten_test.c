/* The flattening pass on IR text: `flatten_test [--bless] [FILE.ir...]`, by default those of
 * tests/flatten. Each file is tested as it is, then after simplify, cse, hoist and fuse and with
 * simplify at the end (shapes are not checked then).
 *
 * A test is one file of the SOAC dialect that says what it expects in comments:
 *
 *     -- input VALUE*             run the (only) entry on these; every mode, and every threshold
 *                                 forced both ways, must give what the unflattened program gives
 *     -- output VALUE*            and that is this
 *     -- fails                    the input above must be refused, before and after
 *     -- thresholds N             their number in mode incremental
 *     -- shape [MODE] PATH N, ..  parallel constructs: /if/then/segmap 1 means that the body
 *                                 reached by these forms holds one segmap; default mode:
 *                                 incremental
 *     -- path NAME PATH           the PATH of a threshold's class
 *     -- log RULE TEXT            some line of the derivation (incremental) has this rule and text
 *
 * Beside x.ir, x.explain holds the output of explain in mode incremental (without the
 * derivation), if it is there; --bless rewrites it. */
#include "flatten/rules.h"
#include "interp/interp.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 16 };

typedef struct {
    const char *path;
    char *text;
    Ctx cx;
    Prog *soac;
    bool prepared; /* the passes before flattening run first, simplify after it */
    Prog *flat[N_FLATTEN_MODES];
    int passed, failed;
} Test;

static void fail(Test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(Test *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%s: ", t->path);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    t->failed++;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t n = 0;
    FILE *m = open_memstream(&text, &n);
    for (int c; (c = getc(f)) != EOF;)
        putc(c, m);
    fclose(f);
    fclose(m);
    return text;
}

/* --- Running -----------------------------------------------------------------------------------
 */

/* Which thresholds are met: all, none, or all but/none but one. */
typedef struct {
    const char *name; /* NULL: none special */
    int64_t others, this;
} Forced;

static int64_t forced(void *env, const char *name)
{
    const Forced *f = env;
    return f->name && strcmp(f->name, name) == 0 ? f->this : f->others;
}

static int read_args(Test *t, const Entry *en, const char *line, rt_hvalue *args)
{
    rt_reader rd;
    rt_reader_mem(&rd, line, strcspn(line, "\n"), t->path);
    for (int k = 0; k < en->params.n; k++) {
        Type ty = en->params.at[k]->type;
        rt_prim p = RT_I32;
        rt_prim_named(prim_type_text[ty.elem], &p);
        if (!rt_read_value(&rd, p, ty.rank, &args[k])) {
            fail(t, "input: %s", rd.error);
            return -1;
        }
    }
    return en->params.n;
}

static InterpResult run(const Prog *p, const rt_hvalue *args, int n, Forced f)
{
    Interp *in = interp_new(p);
    InterpGuards g = {.env = &f, .threshold = forced};
    InterpResult r = interp_run(in, &p->entries.at[0], args, n, &g);
    interp_free(in);
    return r;
}

static void compare(Test *t, const char *what, const InterpResult *got, const InterpResult *want)
{
    char why[256] = "";
    if (want->status == INTERP_USER) {
        if (got->status == INTERP_USER)
            t->passed++;
        else
            fail(t, "%s: does not fail as it should", what);
        return;
    }
    if (got->status != INTERP_OK || got->n != want->n) {
        fail(t, "%s: %s", what, got->message ? got->message : "other number of results");
        return;
    }
    for (int k = 0; k < got->n; k++)
        if (!rt_hvalue_equal(&got->values[k], &want->values[k], 1e-5, why, sizeof why)) {
            fail(t, "%s: result %d: %s", what, k, why);
            return;
        }
    t->passed++;
}

static void check_version(Test *t, FlattenMode m, const rt_hvalue *args, int n, Forced f,
                          const InterpResult *want)
{
    char what[200];
    snprintf(what, sizeof what, "mode %s, thresholds %s%s%s", fl_mode_text[m],
             f.others ? "huge" : "0", f.name ? " but " : "", f.name ? f.name : "");
    InterpResult got = run(t->flat[m], args, n, f);
    compare(t, what, &got, want);
    interp_result_free(&got);
}

static void check_input(Test *t, const char *line, const char *output, bool fails)
{
    rt_hvalue args[MAX_VALUES], outs[MAX_VALUES];
    int n = read_args(t, &t->soac->entries.at[0], line, args), n_outs = 0;
    if (n < 0)
        return;
    InterpResult want = run(t->soac, args, n, (Forced){0});
    if (want.status != (fails ? INTERP_USER : INTERP_OK))
        fail(t, "before flattening: %s", want.message ? want.message : "does not fail");
    if (output) {
        rt_reader rd;
        rt_reader_mem(&rd, output, strcspn(output, "\n"), t->path);
        while (!rt_reader_at_end(&rd) && n_outs < MAX_VALUES && rt_read_any(&rd, &outs[n_outs]))
            n_outs++;
        InterpResult given = {.status = INTERP_OK, .values = outs, .n = n_outs};
        compare(t, "before flattening", &want, &given);
    }
    FlThresholds ts = fl_thresholds(&t->cx, &t->flat[FLATTEN_INCREMENTAL]->entries.at[0]);
    for (int m = 0; m < N_FLATTEN_MODES; m++) {
        check_version(t, m, args, n, (Forced){NULL, 0, 0}, &want);
        if (m != FLATTEN_INCREMENTAL)
            continue;
        check_version(t, m, args, n, (Forced){NULL, INT64_MAX, 0}, &want);
        for (int i = 0; i < ts.n; i++) {
            check_version(t, m, args, n, (Forced){ts.at[i].name, INT64_MAX, 0}, &want);
            check_version(t, m, args, n, (Forced){ts.at[i].name, 0, INT64_MAX}, &want);
        }
    }
    for (int k = 0; k < n; k++)
        rt_hvalue_free(&args[k]);
    for (int k = 0; k < n_outs; k++)
        rt_hvalue_free(&outs[k]);
    interp_result_free(&want);
}

/* --- Shapes --------------------------------------------------------------------------------------
 */

static int count_in(const Body *b, const char *path);

static int count_exp(const Exp *e, const char *name, size_t len, const char *rest)
{
    const char *text = form_info[e->kind].text;
    bool intra = len > 2 && name[len - 2] == '^';
    if (intra && (!exp_is_seg(e) || e->seg.level != name[len - 1] - '0'))
        return 0;
    size_t want = intra ? len - 2 : len;
    if (strlen(text) != want || strncmp(text, name, want) != 0)
        return 0;
    if (!*rest)
        return 1;
    if (exp_is_seg(e))
        return count_in(e->seg.body, rest);
    if (e->kind == E_LOOP)
        return count_in(e->loop.body, rest);
    if (e->kind == E_IF && strncmp(rest, "/then", 5) == 0)
        return rest[5] ? count_in(e->branch.then_, rest + 5) : 1;
    if (e->kind == E_IF && strncmp(rest, "/else", 5) == 0)
        return rest[5] ? count_in(e->branch.else_, rest + 5) : 1;
    if (exp_is_soac(e) && e->soac.fn)
        return count_in(e->soac.fn->body, rest);
    return 0;
}

static int count_in(const Body *b, const char *path)
{
    const char *name = path + 1;
    size_t len = strcspn(name, "/");
    int n = 0;
    for (int i = 0; i < b->stms.n; i++)
        n += count_exp(b->stms.at[i].exp, name, len, name + len);
    return n;
}

/* [MODE] PATH N, PATH N .. */
static void check_shape(Test *t, const char *line)
{
    char buf[1000], *save;
    snprintf(buf, sizeof buf, "%.*s", (int)strcspn(line, "\n"), line);
    int mode = FLATTEN_INCREMENTAL;
    char *at = buf + strspn(buf, " ");
    if (*at != '/') {
        char *end = at + strcspn(at, " ");
        *end = 0;
        mode = fl_mode_of_text(at);
        if (mode < 0) {
            fail(t, "unknown mode in shape: %s", at);
            return;
        }
        at = end + 1;
    }
    for (char *one = strtok_r(at, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
        char path[200];
        int want = 0;
        if (sscanf(one, " %199s %d", path, &want) != 2) {
            fail(t, "malformed shape: %s", one);
            continue;
        }
        int got = count_in(t->flat[mode]->entries.at[0].body, path);
        if (got == want)
            t->passed++;
        else
            fail(t, "mode %s: %s: %d, expected %d", fl_mode_text[mode], path, got, want);
    }
}

/* --- Other expectations --- */

static void check_path(Test *t, const char *line)
{
    char buf[1000];
    snprintf(buf, sizeof buf, "%.*s", (int)strcspn(line, "\n"), line);
    char *name = buf + strspn(buf, " "), *path = name + strcspn(name, " ");
    if (*path)
        *path++ = 0;
    FlThresholds ts = fl_thresholds(&t->cx, &t->flat[FLATTEN_INCREMENTAL]->entries.at[0]);
    for (int i = 0; i < ts.n; i++)
        if (strcmp(ts.at[i].name, name) == 0) {
            const char *got = path_text(&t->cx, &ts.at[i].path);
            if (strcmp(got, path) == 0)
                t->passed++;
            else
                fail(t, "%s: path is (%s), expected (%s)", name, got, path);
            return;
        }
    fail(t, "no threshold %s", name);
}

static void check_log(Test *t, const char *line, const Derivations *log)
{
    char buf[1000];
    snprintf(buf, sizeof buf, "%.*s", (int)strcspn(line, "\n"), line);
    char *rule = buf + strspn(buf, " "), *text = rule + strcspn(rule, " ");
    if (*text)
        *text++ = 0;
    for (int i = 0; i < log->n; i++)
        if (strcmp(log->at[i].rule, rule) == 0 && strstr(log->at[i].outcome, text)) {
            t->passed++;
            return;
        }
    fail(t, "no step %s with \"%s\" in the derivation", rule, text);
}

/* The explanation without the derivation, whose positions are those of the IR text. */
static char *explanation(Test *t)
{
    Out o = {0};
    fl_explain(&o, &t->cx, t->flat[FLATTEN_INCREMENTAL], NULL);
    char *all = out_take(&o), *beg = strstr(all, "    derivation:"),
         *end = strstr(all, "    thresholds:");
    if (beg && end)
        memmove(beg, end, strlen(end) + 1);
    return all;
}

static void check_explain(Test *t, bool bless)
{
    char path[500];
    snprintf(path, sizeof path, "%.*s.explain", (int)(strlen(t->path) - 3), t->path);
    char *want = read_file(path), *got = explanation(t);
    if (want && strcmp(want, got) != 0) {
        if (bless) {
            FILE *f = fopen(path, "w");
            fputs(got, f);
            fclose(f);
        } else {
            fail(t, "explain differs from %s:\n%s", path, got);
        }
    } else if (want) {
        t->passed++;
    }
    free(want);
    free(got);
}

/* --- Tests --- */

static const char *directive(const char *text, const char *name)
{
    char mark[40];
    int n = snprintf(mark, sizeof mark, "-- %s", name);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, mark, (size_t)n) == 0 && (at[n] == ' ' || at[n] == '\n'))
            return at + n;
    }
    return NULL;
}

/* What the pipeline does before flattening, and more. */
static Prog *prepared(Ctx *cx, Prog *p)
{
    static PassFn *const passes[] = {pass_simplify, pass_cse, pass_hoist, pass_fuse, pass_simplify};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        p = passes[i](cx, p);
    return p;
}

static bool flatten_all(Test *t)
{
    const char *wrong;
    t->soac = ir_read(&t->cx, t->path, t->text, strlen(t->text));
    diag_flush();
    if (!t->soac) {
        fail(t, "not read");
        return false;
    }
    if ((wrong = ir_check(&t->cx, t->soac))) {
        fail(t, "before flattening: %s", wrong);
        return false;
    }
    bool ok = true;
    Prog *in = t->prepared ? prepared(&t->cx, t->soac) : t->soac;
    for (int m = N_FLATTEN_MODES - 1; m >= 0; m--) { /* the log is that of incremental */
        t->cx.flatten_mode = m;
        t->flat[m] = fl_flatten(&t->cx, in);
        wrong = ir_check(&t->cx, t->flat[m]);
        if (!wrong && t->prepared) {
            t->flat[m] = pass_simplify(&t->cx, t->flat[m]);
            wrong = ir_check(&t->cx, t->flat[m]);
        }
        if (wrong) {
            fail(t, "mode %s: %s", fl_mode_text[m], wrong);
            ok = false;
        } else {
            t->passed++;
        }
    }
    return ok;
}

static void run_test(Test *t, bool bless)
{
    if (!flatten_all(t))
        return;
    Derivations log = *log_of(&t->cx);
    int n_thresholds = fl_thresholds(&t->cx, &t->flat[0]->entries.at[0]).n;
    const char *at;
    for (at = t->text; (at = directive(at, "input"));) {
        const char *nl = strchr(at, '\n'), *next = nl ? nl + 1 : "";
        bool has_out = strncmp(next, "-- output", 9) == 0;
        bool fails = strncmp(next, "-- fails", 8) == 0;
        check_input(t, at, has_out ? next + 9 : NULL, fails);
    }
    if (t->prepared)
        return;
    if ((at = directive(t->text, "thresholds"))) {
        int want = atoi(at);
        if (want == n_thresholds)
            t->passed++;
        else
            fail(t, "%d thresholds, expected %d", n_thresholds, want);
    }
    for (at = t->text; (at = directive(at, "shape"));)
        check_shape(t, at);
    for (at = t->text; (at = directive(at, "path"));)
        check_path(t, at);
    for (at = t->text; (at = directive(at, "log"));)
        check_log(t, at, &log);
    check_explain(t, bless);
}

static Test test_new(const char *path, bool first_passes)
{
    Test t = {.path = path, .text = read_file(path), .prepared = first_passes};
    t.cx.perm = arena_new();
    t.cx.scratch = arena_new();
    return t;
}

static void test_free(Test *t)
{
    free(t->text);
    arena_free(t->cx.scratch);
    arena_free(t->cx.perm);
    diag_reset();
}

int main(int argc, char **argv)
{
    bool bless = argc > 1 && strcmp(argv[1], "--bless") == 0;
    int passed = 0, failed = 0;
    glob_t g = {.gl_pathv = argv + 1 + bless, .gl_pathc = (size_t)(argc - 1 - bless)};
    if (g.gl_pathc == 0)
        glob("tests/flatten/*.ir", 0, NULL, &g);
    for (size_t i = 0; i < 2 * g.gl_pathc; i++) {
        bool prepared = i % 2 == 1;
        Test t = test_new(g.gl_pathv[i / 2], prepared);
        if (!t.text)
            fail(&t, "cannot be read");
        else
            run_test(&t, bless && !prepared);
        passed += t.passed;
        failed += t.failed;
        test_free(&t);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}
