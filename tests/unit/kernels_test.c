/* The kernels of all programs here, as they are made and on each target: their text read back is
 * the same, and the passes leave nothing that they are to take away. `kernels_test
 * [PROGRAM.sf...]`. */
#include "check.h"

#include "host/host.h"
#include "kir/facts/verify.h"
#include "kir/text/text.h"
#include "kir_tidy.h"
#include "pipeline/passes.h"

#include <glob.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* How the process of a program ends. */
enum { EXIT_NONE = 0, EXIT_KERNELS = 10, EXIT_WRONG = 11 };

#ifdef ARENA_DEBUG
enum { EVERY = 8 }; /* slow: some of the programs */
#else
enum { EVERY = 2 };
#endif

typedef struct {
    Ctx *cx;
    const char *program;
    bool ours;    /* one of examples/ or bench/ */
    bool indices; /* ... that computes nothing else in 64 bits */
    int failed;
} Test;

static void fail(Test *t, const KFun *f, const char *what, const KStm *s)
{
    t->failed++;
    printf("%s: %s: %s%s%s\n", t->program, f->name, what, s ? ": " : "", s ? kstm_text(s) : "");
}

static const char *text_of(Test *t, const KFun *f)
{
    Out o = {0};
    kir_print(&o, f);
    const char *text = arena_strdup(t->cx->perm, o.text);
    out_free(&o);
    return text;
}

static void check_text(Test *t, const KFun *f)
{
    const char *text = text_of(t, f);
    KFuns read = {0};
    if (!kir_read(t->cx, f->name, text, strlen(text), &read) || read.n != 1) {
        diag_flush();
        fail(t, f, "its text cannot be read", NULL);
        return;
    }
    Loc at;
    const char *wrong = kir_check(t->cx->perm, read.at[0], &at);
    if (wrong)
        fail(t, f, wrong, NULL);
    else if (strcmp(text, text_of(t, read.at[0])) != 0)
        fail(t, f, "its text read back is another one", NULL);
}

/* Processors compute addresses in 64 bits at no cost; there an index that runs along a work-item's
 * neighbours may be as wide. */
static void check_tidy(Test *t, const KFun *f, const KTarget *target)
{
    Arena *a = t->cx->perm;
    bool narrow = t->indices && target->traits & 1u << KID_COALESCES;
    const struct {
        const char *what;
        const KStm *s;
    } found[] = {
        {"behind a barrier, with no access between them", t->ours ? td_idle_barrier(a, f) : NULL},
        {"nobody uses it", td_unused_load(a, f)},
        {"64 bits in a loop", narrow && !td_has_wide_data(f) ? td_wide_loop(a, f) : NULL}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (found[i].s)
            fail(t, f, found[i].what, found[i].s);
}

/* A condition's expression (kir/facts/limits.h) where every size is 1. */
static double least(const KExp *x)
{
    double at[2] = {0, 0};
    if (x->kind == KE_CONST)
        return (double)x->c.i;
    if (x->kind == KE_CONV)
        return least(x->x[0]);
    if (x->kind != KE_PRIM)
        return 1;
    for (int i = 0; i < 2 && i < x->n; i++)
        at[i] = least(x->x[i]);
    switch ((int)x->op) { /* what they are made of */
    case OP_ADD: return at[0] + at[1];
    case OP_MUL: return at[0] * at[1];
    case OP_MIN: return at[0] < at[1] ? at[0] : at[1];
    case OP_MAX: return at[0] > at[1] ? at[0] : at[1];
    }
    return 0;
}

/* 32 bits are enough for the indices of some launches. */
static void check_narrow(Test *t, const KFun *f)
{
    for (int i = 0; i < f->narrow_when.n; i++) {
        const KExp *c = f->narrow_when.at[i];
        if (c->kind == KE_PRIM && c->op == OP_LE && least(c->x[0]) > least(c->x[1]))
            fail(t, f, "it always has indices of 64 bits", NULL);
    }
}

static Plan *plan_of(Ctx *cx, const char *file)
{
    PassOptions none = {0};
    Prog *p = front_end(cx, file);
    if (!p || p->entries.n == 0)
        return NULL;
    p = passes_run(cx, p, 0, n_passes - 1, &none);
    diag_flush();
    return diag_errors() ? NULL : host_plan(cx, p, true);
}

/* What these compute in i64 is no index arithmetic: tests/kir/emitted says what it is. */
static bool computes_wide(const char *file)
{
    static const char *const names[] = {"BFAST",         "Heston", "LavaMD", "NW",
                                        "OptionPricing", "gmm",    "sort",   "stencil"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= strstr(file, names[i]) != NULL;
    return found;
}

/* In a process of its own: memory is given back at its end. Programs that are to be rejected have
 * no kernels. */
static int check_program(const char *file)
{
    Arena *a = arena_new();
    Ctx cx = {.perm = a, .scratch = arena_new()};
    Test t = {.cx = &cx, .program = file};
    Plan *p = plan_of(&cx, file);
    t.ours = strncmp(file, "tests/", 6) != 0;
    t.indices = t.ours && !computes_wide(file);
    for (int i = 0; p && i < p->kernels.n; i++) {
        check_text(&t, p->kernels.at[i]->fun);
        for (int k = 0; k < N_KTARGETS; k++) {
            check_text(&t, p->kernels.at[i]->on[k]);
            check_tidy(&t, p->kernels.at[i]->on[k], &ktargets[k]);
            if (t.indices && ktargets[k].traits & 1u << KID_COALESCES)
                check_narrow(&t, p->kernels.at[i]->on[k]);
        }
    }
    return t.failed ? EXIT_WRONG : p && p->kernels.n ? EXIT_KERNELS : EXIT_NONE;
}

static void start(const char *file)
{
    fflush(stdout);
    if (fork() != 0)
        return;
    if (!freopen("/dev/null", "w", stderr))
        exit(EXIT_BUG);
    int code = check_program(file);
    fflush(stdout);
    _exit(code);
}

static int with_kernels;

static void finish(void)
{
    int status;
    CHECK(wait(&status) > 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BUG;
    CHECK(code == EXIT_KERNELS || code == EXIT_NONE);
    with_kernels += code == EXIT_KERNELS;
}

static void check_programs(const char *const *files, int n, int every)
{
    enum { JOBS = 2 };
    int running = 0;
    for (int i = 0; i < n; i += every) {
        if (running == JOBS)
            finish();
        else
            running++;
        start(files[i]);
    }
    while (running-- > 0)
        finish();
}

/* --- The questions, on kernels that have what they look for --- */

typedef const KStm *Question(Arena *a, const KFun *f);

static void check_question(const char *text, Question *ask, const char *want)
{
    Arena *a = arena_new();
    Ctx cx = {.perm = a, .scratch = arena_new()};
    KFuns read = {0};
    CHECK(kir_read(&cx, "question", text, strlen(text), &read) && read.n == 1);
    const KStm *s = read.n ? ask(a, read.at[0]) : NULL;
    CHECK(s ? want && strcmp(kstm_text(s), want) == 0 : !want);
    arena_free(a);
}

#define NARROW(body)                                                                               \
    "kernel k narrow local l: local i32 mem g: global i32 scalar n: i64 { " body " }"
#define KERNEL(body) "kernel k local l: local i32 mem g: global i32 scalar n: i64 { " body " }"

static void check_questions(void)
{
    check_question(KERNEL("store l[local_id] = 1i32 barrier local barrier global"), td_idle_barrier,
                   "barrier global");
    check_question(KERNEL("barrier local load x: i32 = l[0] barrier local store g[0] = x"),
                   td_idle_barrier, NULL);
    check_question(
        KERNEL(
            "for i: i64 from 0 to n by 1 { barrier local store l[0] = 1i32 barrier global local }"),
        td_idle_barrier, "barrier local");
    check_question(KERNEL("barrier local if local_id < n { store l[0] = 1i32 } barrier local"),
                   td_idle_barrier, NULL);
    check_question(
        KERNEL(
            "barrier local if 1 < n { store l[0] = 1i32 barrier local } else { store l[1] = 1i32 } "
            "barrier global"),
        td_idle_barrier, "barrier global");
    check_question(
        KERNEL(
            "work done { barrier local if 1 < n { leave done } store l[0] = 1i32 } barrier global"),
        td_idle_barrier, "barrier global");
    check_question(KERNEL("load x: i32 = l[0] load y: i32 = l[1] store g[0] = y"), td_unused_load,
                   "load x: i32 = l[0]");
    check_question(KERNEL("load x: i32 = l[0] store g[0] = x"), td_unused_load, NULL);
    check_question(KERNEL("for i: i64 from 0 to n by 1 { store g[i] = 1i32 }"), td_wide_loop, NULL);
    check_question(
        NARROW(
            "let k: i64 = n * 2 for i: index from 0 to conv.index(k) by 1 { store g[i] = 1i32 }"),
        td_wide_loop, NULL);
    check_question(NARROW("for i: index from 0 to conv.index(n) by 1 { let k: i64 = n * 2 store "
                          "g[i] = conv.i32(k) }"),
                   td_wide_loop, "let k: i64 = n * 2");
    check_question(
        NARROW("for i: index from 0 to 9 by 1 { while conv.i64(i) < n { store g[i] = 1i32 } }"),
        td_wide_loop, "while conv.i64(i) < n {");
}

int main(int argc, char **argv)
{
    static const char *const where[] = {"examples/*.sf", "bench/*/*.sf", "tests/programs/*/*.sf",
                                        "tests/e2e/*/*.sf"};
    check_questions();
    if (argc > 1) {
        check_programs((const char *const *)argv + 1, argc - 1, 1);
        return check_summary();
    }
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        glob_t g;
        CHECK(glob(where[i], 0, NULL, &g) == 0);
        int few = with_kernels;
        check_programs((const char *const *)g.gl_pathv, (int)g.gl_pathc, EVERY);
        CHECK(with_kernels > few);
        globfree(&g);
    }
    return check_summary();
}
