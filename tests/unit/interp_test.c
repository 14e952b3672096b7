/* Runs IR programs by the interpreter and compares.
 *
 *     interp_test                     the files of tests/unit, and of tests/pass/fuse, joined,
 *                                     renest, turn-sums and factored, after the pass too
 *     interp_test FILE.ir...
 *     interp_test --fuse FILE.ir...   before and after pass_fuse, which must make no difference
 *     interp_test --print FILE.ir     prints the program after pass_fuse
 *
 * The files say what they expect in comments at the start of a line:
 *
 *   -- test ENTRY VALUE* => VALUE*    these results, bit for bit
 *   -- test ENTRY VALUE* =~ VALUE*    floats within 1e-6
 *   -- test ENTRY VALUE* !! TEXT      a user error with this message (without the file's name)
 *   -- same ENTRY VALUE*              the same outcome before and after (--fuse)
 *   -- log NAME PAR OUTCOME           the comparisons made by the test above, in order
 *   -- set NAME=VALUE                 a threshold for the tests below
 *   -- set fits=0                     from here on no work-group version fits (1: all do) */
#include "interp/code.h"

#include "base/stage.h"
#include "interp/interp.h"
#include "tests/unit/check.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 32, MAX_SETS = 32, MAX_SAME = 1000 };

typedef struct {
    const char *path;
    int line;
    const Prog *prog;
    Interp *in;
    struct {
        char name[64];
        int64_t value;
    } sets[MAX_SETS];
    int n_sets;
    bool nofit;
    Out log;
    char *outcomes[MAX_SAME]; /* of the `same` lines, before the pass */
    int n_same, round;
} Test;

static void failure(Test *t, const char *text, const char *got)
{
    checks_failed++;
    printf("%s:%d: %s\n    got: %s\n", t->path, t->line, text, got);
}

/* --- Guards --------------------------------------------------------------------------------- */

static int64_t threshold(void *env, const char *name)
{
    const Test *t = env;
    for (int i = t->n_sets - 1; i >= 0; i--)
        if (!strcmp(t->sets[i].name, name))
            return t->sets[i].value;
    return RT_FULL_DEVICE;
}

static void compared(void *env, const char *name, int64_t par, bool outcome)
{
    Test *t = env;
    out_printf(&t->log, "%s %lld %s\n", name, (long long)par, outcome ? "true" : "false");
}

static bool fits(void *env, const Exp *suff)
{
    const Test *t = env;
    (void)suff;
    return !t->nofit;
}

/* --- Values --------------------------------------------------------------------------------- */

/* All values in a text; their number, or -1. */
static int read_values(const char *text, size_t n, rt_hvalue *vs)
{
    rt_reader rd;
    int k = 0;
    rt_reader_mem(&rd, text, n, "test");
    while (!rt_reader_at_end(&rd)) {
        if (k == MAX_VALUES || !rt_read_any(&rd, &vs[k])) {
            printf("%s\n", rd.error);
            k = -1;
            break;
        }
        k++;
    }
    rt_reader_close(&rd);
    return k;
}

static void free_values(rt_hvalue *vs, int n)
{
    for (int i = 0; i < n; i++)
        rt_hvalue_free(&vs[i]);
}

static char *results_text(const InterpResult *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; i < r->n; i++) {
        fputs(i ? " " : "", f);
        rt_write_text(f, &r->values[i]);
    }
    fclose(f);
    return text;
}

static void compare(Test *t, const InterpResult *r, const char *want, double tol)
{
    rt_hvalue vs[MAX_VALUES];
    int n = read_values(want, strlen(want), vs);
    char *got = results_text(r);
    bool ok = n == r->n;
    for (int i = 0; i < n && ok; i++)
        ok = rt_hvalue_equal(&r->values[i], &vs[i], tol, NULL, 0);
    if (ok)
        checks_passed++;
    else
        failure(t, want, got);
    free(got);
    free_values(vs, n);
}

/* --- Directives ----------------------------------------------------------------------------- */

/* "L:C: TEXT" of "Error: TEXT" and a line "FILE:L:C:"; without a place the text, or its second
 * line. */
static void told(const InterpResult *r, char *to, size_t n)
{
    const char *msg = r->message ? r->message : "no error";
    msg += strncmp(msg, "Error: ", 7) == 0 ? 7 : 0;
    const char *second = strchr(msg, '\n');
    Place p = diag_place(r->loc);
    if (p.file)
        snprintf(to, n, "%d:%d: %.*s", p.line, p.col, (int)strcspn(msg, "\n"), msg);
    else
        snprintf(to, n, "%s", second ? second + 1 : msg);
}

static void check_result(Test *t, const InterpResult *r, const char *op, const char *want)
{
    if (op[0] == '=' && r->status == INTERP_OK) {
        compare(t, r, want, op[1] == '~' ? 1e-6 : 0);
        return;
    }
    char msg[1024];
    told(r, msg, sizeof msg);
    if (op[1] == '!' && r->status == INTERP_USER && !strcmp(msg, want))
        checks_passed++;
    else
        failure(t, want, msg);
}

static void run_test(Test *t, const char *line)
{
    const char *ops[] = {" => ", " =~ ", " !! "}, *op = NULL;
    for (int i = 0; i < 3 && !op; i++)
        op = strstr(line, ops[i]);
    size_t n_name = strcspn(line, " ");
    if (!op) {
        failure(t, "no `=>`, `=~` or `!!`", line);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n_name, line);
    const Entry *en = interp_entry(t->prog, name);
    rt_hvalue args[MAX_VALUES];
    const char *from = line + n_name;
    int n = from < op ? read_values(from, (size_t)(op - from), args) : 0;
    if (!en || n < 0) {
        failure(t, "no such entry or bad values", line);
        return;
    }
    InterpGuards g = {t, threshold, compared, fits};
    t->log.n = 0;
    InterpResult r = interp_run(t->in, en, args, n, &g);
    check_result(t, &r, op + 1, op + 4);
    interp_result_free(&r);
    free_values(args, n);
}

static void run_same(Test *t, const char *line)
{
    rt_hvalue args[MAX_VALUES];
    char name[64];
    size_t n_name = strcspn(line, " ");
    snprintf(name, sizeof name, "%.*s", (int)n_name, line);
    const Entry *en = interp_entry(t->prog, name);
    int n = read_values(line + n_name, strlen(line + n_name), args), k = t->n_same++;
    if (!en || n < 0 || k >= MAX_SAME) {
        failure(t, "no such entry, bad values or too many lines", line);
        return;
    }
    InterpResult r = interp_run(t->in, en, args, n, NULL);
    char *got = r.status == INTERP_OK ? results_text(&r) : strdup(r.message);
    interp_result_free(&r);
    free_values(args, n);
    if (t->round == 0) {
        t->outcomes[k] = got;
        return;
    }
    if (!strcmp(got, t->outcomes[k]))
        checks_passed++;
    else
        failure(t, t->outcomes[k], got);
    free(got);
    free(t->outcomes[k]);
}

static void set_threshold(Test *t, const char *text)
{
    if (!strcmp(text, "fits=0") || !strcmp(text, "fits=1")) {
        t->nofit = text[5] == '0';
        return;
    }
    const char *eq = strchr(text, '=');
    snprintf(t->sets[t->n_sets].name, sizeof t->sets->name, "%.*s", (int)(eq - text), text);
    t->sets[t->n_sets++].value = strtoll(eq + 1, NULL, 10);
}

static void directives(Test *t, const char *text)
{
    t->line = 0;
    t->n_sets = t->n_same = 0;
    size_t logged = 0;
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        char line[4096];
        snprintf(line, sizeof line, "%.*s", (int)n, s);
        t->line++;
        if (!strncmp(line, "-- test ", 8)) {
            run_test(t, line + 8);
            logged = 0;
        } else if (!strncmp(line, "-- same ", 8)) {
            run_same(t, line + 8);
        } else if (!strncmp(line, "-- set ", 7)) {
            set_threshold(t, line + 7);
        } else if (!strncmp(line, "-- log ", 7)) {
            size_t k = strlen(line + 7);
            bool ok = t->log.n > logged && !strncmp(t->log.text + logged, line + 7, k) &&
                      t->log.text[logged + k] == '\n';
            if (ok)
                checks_passed++;
            else
                failure(t, line + 7, t->log.n > logged ? t->log.text + logged : "nothing");
            logged += k + 1;
        }
        s += n + (s[n] == '\n');
    }
}

static Prog *after(Ctx *cx, PassFn *pass, const Prog *p)
{
    stage_enter("the pass under test");
    Prog *q = pass(cx, p);
    ir_verify(cx, q, "the pass under test");
    return q;
}

static Prog *read_program(Ctx *cx, const char *path, char **text)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    *text = NULL;
    if (!f || getdelim(text, &n, 0, f) < 0) {
        perror(path);
        exit(EXIT_USAGE);
    }
    fclose(f);
    Prog *p = ir_read(cx, path, *text, strlen(*text));
    diag_flush();
    return p;
}

/* pass: what is done after the first round, NULL: there is no second. */
static void run_file(Ctx *cx, const char *path, PassFn *pass)
{
    char *text;
    Test t = {.path = path, .prog = read_program(cx, path, &text)};
    for (int round = 0; t.prog && round < (pass ? 2 : 1); round++) {
        if (round)
            t.prog = after(cx, pass, t.prog);
        t.round = round;
        t.in = interp_new(t.prog);
        directives(&t, text);
        interp_free(t.in);
    }
    if (!t.prog)
        failure(&t, "malformed program", "");
    out_free(&t.log);
    free(text);
}

static void print_fused(Ctx *cx, const char *path)
{
    char *text;
    Prog *p = read_program(cx, path, &text);
    Out o = {0};
    if (p)
        ir_print(&o, after(cx, pass_fuse, p));
    fputs(o.text ? o.text : "", stdout);
    out_free(&o);
    free(text);
}

/* --- The tables of operations --------------------------------------------------------------- */

static bool takes(char operands, PrimType t)
{
    switch (operands) {
    case 'I': return prim_is_int(t);
    case 'F': return prim_is_float(t);
    case 'N': return t != T_BOOL;
    case 'B': return t == T_BOOL;
    case 'W': return t == T_U16 || t == T_U32 || t == T_U64;
    default: return true;
    }
}

/* Each operation has a function for exactly the types that prims.def says. */
static void check_tables(void)
{
    for (int op = 0; op < N_PRIM_OPS; op++)
        for (int t = 0; t < N_PRIM_TYPES; t++)
            CHECK((scalar_fn((PrimOp)op, (PrimType)t) != NULL) ==
                  takes(prim_info[op].operands, (PrimType)t));
    for (int f = 0; f < N_PRIM_TYPES; f++)
        for (int t = 0; t < N_PRIM_TYPES; t++)
            CHECK(scalar_conv((PrimType)f, (PrimType)t) != NULL);
}

/* --- Malformed programs
 * -------------------------------------------------------------------------------- Statement `stm`
 * of the entry's body gets the entry's parameter `param` as its operand, which the verifier would
 * refuse: the interpreter must say what is wrong and not crash. */

static void check_bug(Ctx *cx, const char *text, int stm, int param, const char *want)
{
    Prog *p = ir_read(cx, "bug.ir", text, strlen(text));
    diag_flush();
    if (!p) {
        CHECK(p);
        return;
    }
    Entry *en = &p->entries.at[0];
    Exp *e = en->body->stms.at[stm].exp;
    Atom a = atom_var(en->params.at[param]);
    if (e->kind == E_INDEX)
        e->index.arr = a;
    else if (e->kind == E_UPDATE)
        e->update.val = a;
    else if (e->kind == E_MAP)
        e->soac.arrs.at[e->soac.arrs.n - 1] = a;
    else if (e->kind == E_RESHAPE)
        e->reshape.arr = a;
    else if (e->kind == E_CONCAT)
        e->concat.arrs.at[1] = a;
    else
        e->atom = a;
    rt_hvalue args[2];
    int n = read_values("[1, 2, 3] [[1, 2], [3, 4]]", 26, args);
    Interp *in = interp_new(p);
    InterpResult r = interp_run(in, en, args, n, NULL);
    CHECK(r.status == INTERP_BUG);
    CHECK(r.message && strstr(r.message, want));
    if (r.message && !strstr(r.message, want))
        printf("got: %s\n", r.message);
    interp_result_free(&r);
    interp_free(in);
    free_values(args, n);
}

#define BUG_ENTRY "dialect soac entry main [n, m] (a: *[n]i32, b: *[m][m]i32) = { "

static void check_bugs(Ctx *cx)
{
    check_bug(cx, BUG_ENTRY "let c: [n]i32 = update a[0] = 5i32 let x: i32 = c[0] in x }", 1, 0,
              "used after it was consumed");
    check_bug(cx,
              BUG_ENTRY "let c: [n]i32 = copy a let r: [n]i32 = map n (a, c) \\(x: i32, y: i32) "
                        "-> { in y } in r }",
              1, 1, "map of width 3 over an array of 2 elements");
    check_bug(cx, BUG_ENTRY "let c: [m][m]i32 = b in c }", 0, 0, "but its type [m_");
    check_bug(
        cx, BUG_ENTRY "let d: [3]i32 = iota 3 0i32 1i32 let c: [1][3]i32 = reshape [1, 3] d in c }",
        1, 1, "reshape of 4 elements to 3");
    check_bug(cx,
              BUG_ENTRY "let z: [2][2]i32 = replicate [2, 2] 0i32 let w: [2][2]i32 = copy z "
                        "let c: [2][2]i32 = update z[:, :] = w in c }",
              2, 0, "another shape");
}

static void run_folder(Ctx *cx, const char *pattern, PassFn *pass)
{
    glob_t g = {0};
    glob(pattern, 0, NULL, &g);
    CHECK(g.gl_pathc > 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        run_file(cx, g.gl_pathv[i], pass);
    globfree(&g);
}

int main(int argc, char **argv)
{
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    bool fuse = argc > 1 && !strcmp(argv[1], "--fuse");
    if (argc == 3 && !strcmp(argv[1], "--print")) {
        print_fused(&cx, argv[2]);
        return 0;
    }
    if (!fuse) {
        check_tables();
        check_bugs(&cx);
    }
    if (argc == 1) {
        run_folder(&cx, "tests/unit/interp_*.ir", NULL);
        run_folder(&cx, "tests/pass/fuse/*.ir", pass_fuse);
        run_folder(&cx, "tests/pass/joined/*.ir", pass_joined);
        run_folder(&cx, "tests/pass/renest/*.ir", pass_renest);
        run_folder(&cx, "tests/pass/turn-sums/*.ir", pass_turn_sums);
        run_folder(&cx, "tests/pass/factored/*.ir", pass_factored);
    }
    for (int i = 1 + fuse; i < argc; i++)
        run_file(&cx, argv[i], fuse ? pass_fuse : NULL);
    arena_free(cx.perm);
    arena_free(cx.scratch);
    return check_summary();
}
