/* Mutated text and bytes against what reads them.
 *
 *     bytes TARGET SEED N SECONDS FOLDER FILE...
 *
 * TARGET: program (scanner, parser, checker, and the whole compiler for what is a program all the
 * same), ir (the reader of IR text and the verifier), values (Futhark's text and binary formats,
 * the text that is in every generated program too), tuning (tuning files) or log (a tuning's log).
 * Each of N inputs, or as many as SECONDS allow (0: no bound), is a mutation of a FILE; a child
 * process reads it. A crash, a sanitizer's report, an internal error, more than 40 s of processor
 * time or 1000 MB (without sanitizers; the largest program of tests/ takes 790) is a finding: a
 * line is printed, and the input is left in FOLDER. Last line: N passed, N failed.
 *
 * With -DLIBFUZZER and clang -fsanitize=fuzzer the same targets are for libFuzzer: FUZZ_TARGET
 * names one in the environment. */
#define Size TunedSize /* the frontend has sizes of its own */
#include "autotune/data/file.h"
#include "autotune/run/journal.h"
#undef Size
#include "base/intern.h"
#include "base/stage.h"
#include "common/values.h"
#include "emit/emit.h"
#include "flatten/flatten.h"
#include "fmt/fmt.h"
#include "frontend/lower/lower.h"
#include "host/host.h"
#include "pipeline/passes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds of the processor, for what never ends: a whole file of tests takes a compiler with
 * sanitizers nine. */
enum { MAX_INPUT = 1 << 14, MOST_CPU = 40, MOST_KB = 1000 << 10 };

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:allocator_may_return_null=1";
}
#endif

/* --- Targets --- */

static Ctx *new_ctx(void)
{
    Arena *perm = arena_new();
    Ctx *cx = NEW(perm, Ctx);
    cx->perm = perm;
    cx->scratch = arena_new();
    return cx;
}

static void compile_program(Ctx *cx, Prog *p)
{
    PassOptions opts = {.verify = VERIFY_EACH};
    p = passes_run(cx, p, 0, n_passes - 1, &opts);
    if (diag_errors() || !p->entries.n)
        return;
    stage_enter("plan");
    Plan *plan = host_plan(cx, p, true);
    if (diag_errors())
        return;
    Out out = {0};
    stage_enter("emit");
    emit_c(cx, &out, plan, "fuzz.sf");
    out_free(&out);
}

/* What is a program is formatted as the same program, and then as it is. */
static void format_program(const char *text, size_t n)
{
    Out once = {0}, twice = {0};
    if (fmt_text("fuzz.sf", text, n, &once) && once.n) {
        fmt_text("fuzz.sf", once.text, once.n, &twice);
        if (once.n != twice.n || memcmp(once.text, twice.text, once.n))
            ice(NO_LOC, "formatted differently a second time");
    }
    out_free(&once);
    out_free(&twice);
    diag_reset();
}

static void target_program(const char *text, size_t n)
{
    Ctx *cx = new_ctx();
    format_program(arena_strndup(cx->perm, text, n), n);
    stage_enter("parse");
    Ast *ast = fe_parse(cx->perm, "fuzz.sf", arena_strndup(cx->perm, text, n), n);
    stage_enter("check");
    if (ast && fe_check(ast) && !diag_errors()) {
        stage_enter("lower");
        Prog *p = fe_lower(cx, ast);
        if (!diag_errors())
            compile_program(cx, p);
    }
    diag_flush();
    diag_reset();
    arena_free(cx->scratch);
    arena_free(cx->perm);
}

static void target_ir(const char *text, size_t n)
{
    Ctx *cx = new_ctx();
    stage_enter("read");
    Prog *p = ir_read(cx, "fuzz.ir", text, n);
    if (p && !diag_errors())
        ir_check(cx, p);
    diag_flush();
    diag_reset();
    arena_free(cx->scratch);
    arena_free(cx->perm);
}

static void target_values(const char *text, size_t n)
{
    rt_reader r;
    rt_hvalue v;
    rt_reader_mem(&r, text, n, "input");
    while (!rt_reader_at_end(&r) && rt_read_any(&r, &v)) {
        rt_write_text(stdout, &v);
        rt_hvalue_free(&v);
    }
    rt_reader_close(&r);
    for (int p = 0; p < RT_N_PRIMS; p++) {
        rt_reader_mem(&r, text, n, "input");
        if (rt_read_value(&r, (rt_prim)p, p % 4, &v))
            rt_hvalue_free(&v);
        rt_reader_close(&r);
    }
}

/* A file in memory with this text: its path, until close(*fd). */
static const char *file_of(const char *text, size_t n, int *fd)
{
    static char path[64];
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, text, n) != (ssize_t)n)
        exit(1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    return path;
}

static void target_tuning(const char *text, size_t n)
{
    int fd;
    Arena *a = arena_new();
    Settings s = {0};
    const char *path = file_of(text, n, &fd), *wrong;
    ASSERT(tuning_read(a, path, &s, &wrong) == tuning_is(path));
    tuning_comment(a, path, "device: ");
    Out again = {0};
    tuning_print(&again, "a comment\nof two lines", &s);
    out_free(&again);
    close(fd);
    arena_free(a);
}

/* The text with each line's fingerprint as it must be: else no line that is changed would
 * be read. */
static char *with_fingerprints(Arena *a, const char *text, size_t n)
{
    Out o = {0};
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        const char *last = memrchr(text + at, ' ', len);
        size_t kept = last && text[at] != '#' ? (size_t)(last - text) - at : len;
        Fingerprint f = fingerprint();
        fingerprint_text(&f, text + at, kept);
        out_putn(&o, text + at, kept);
        if (kept < len)
            out_printf(&o, " %s", fingerprint_digits(a, &f));
        out_puts(&o, end ? "\n" : "");
        at += len + 1;
    }
    return out_take(&o);
}

static void target_log(const char *text, size_t n)
{
    int fd;
    Arena *a = arena_new();
    char *whole = with_fingerprints(a, text, n);
    const char *path = file_of(whole, strlen(whole), &fd), *wrong, *settings = "5/never";
    Measurement m;
    journal_is(path);
    Journal *j = journal_open(a, path, "0123456789abcdef", "0123456789abcdef: main on a device",
                              JOURNAL_GOES_ON, &wrong);
    int known = journal_left(j);
    while (journal_next(j, "a", settings, &m))
        journal_add(j, "b", 1, &settings, &m, &wrong);
    ASSERT(journal_left(j) <= known);
    journal_close(j);
    close(fd);
    free(whole);
    arena_free(a);
}

typedef void Target(const char *text, size_t n);

static Target *target_named(const char *name)
{
    return strcmp(name, "program") == 0  ? target_program
           : strcmp(name, "ir") == 0     ? target_ir
           : strcmp(name, "values") == 0 ? target_values
           : strcmp(name, "tuning") == 0 ? target_tuning
           : strcmp(name, "log") == 0    ? target_log
                                         : NULL;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static Target *target;
    if (!target && !(target = target_named(getenv("FUZZ_TARGET") ? getenv("FUZZ_TARGET") : "")))
        target = target_program;
    target((const char *)data, n);
    return 0;
}
#else

/* --- Mutation --- */

typedef struct {
    char *text;
    size_t n;
} Input;

static Input *corpus;
static int n_corpus;
static uint64_t state; /* of the pseudo-random numbers (splitmix64) */

static size_t pick(size_t n)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return n ? (size_t)((z ^ (z >> 31)) % n) : 0;
}

/* Replaces the bytes from..to by others. */
static void replace(Input *in, size_t from, size_t to, const char *by, size_t n)
{
    if (in->n - (to - from) + n > MAX_INPUT)
        return;
    memmove(in->text + from + n, in->text + to, in->n - to);
    memcpy(in->text + from, by, n);
    in->n = in->n - (to - from) + n;
}

static bool word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The token at or after a random place: from..to. */
static void random_token(const Input *in, size_t *from, size_t *to)
{
    size_t at = pick(in->n);
    while (at > 0 && word_byte(in->text[at]) && word_byte(in->text[at - 1]))
        at--;
    while (at < in->n && isspace((unsigned char)in->text[at]))
        at++;
    *from = *to = at;
    if (at == in->n)
        return;
    do
        ++*to;
    while (*to < in->n && word_byte(in->text[at]) && word_byte(in->text[*to]));
}

static void mutate_token(Input *in)
{
    static const char *const words[] = {"0",
                                        "-1",
                                        "9223372036854775807",
                                        "1e400",
                                        "map",
                                        "let",
                                        "in",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        "->",
                                        "\\x ->",
                                        "#[x]",
                                        "..<",
                                        ":>",
                                        "i64",
                                        "[]",
                                        "()",
                                        "'t",
                                        "loop",
                                        "with",
                                        "{",
                                        "}",
                                        "if true then",
                                        "f32",
                                        "*",
                                        ":",
                                        "=",
                                        "\"\\u{1F600}\"",
                                        "reduce",
                                        "filter",
                                        "scan (+) 0",
                                        "?[k].",
                                        "255u8",
                                        "module",
                                        "module type",
                                        "open",
                                        "local",
                                        "include",
                                        "val",
                                        "import \"/prelude\"",
                                        "match",
                                        "case _ ->",
                                        "#some",
                                        "#none |",
                                        "type t =",
                                        "'a",
                                        "~",
                                        "M.",
                                        ": { type t }",
                                        "with t = i32"};
    size_t from, to, f2, t2;
    random_token(in, &from, &to);
    const Input *other = pick(3) ? in : &corpus[pick((size_t)n_corpus)];
    random_token(other, &f2, &t2);
    char copy[256];
    size_t n = t2 - f2 < sizeof copy ? t2 - f2 : sizeof copy;
    memcpy(copy, other->text + f2, n);
    switch (pick(5)) {
    case 0: replace(in, from, to, "", 0); break;
    case 1: replace(in, from, to, copy, n); break;
    case 2: replace(in, from, from, copy, n); break;
    case 3: {
        const char *w = words[pick(sizeof words / sizeof *words)];
        replace(in, from, pick(2) ? to : from, w, strlen(w));
        break;
    }
    default: replace(in, to, to, " ", 1); break;
    }
}

/* The line around a random place: from..to, with its end. */
static void random_line(const Input *in, size_t *from, size_t *to)
{
    *from = *to = pick(in->n);
    while (*from > 0 && in->text[*from - 1] != '\n')
        --*from;
    while (*to < in->n && in->text[(*to)++] != '\n')
        ;
}

/* A line less, or one more, of this input or another. */
static void mutate_line(Input *in)
{
    size_t from, to, f2, t2;
    random_line(in, &from, &to);
    const Input *other = pick(2) ? in : &corpus[pick((size_t)n_corpus)];
    random_line(other, &f2, &t2);
    char copy[256];
    size_t n = t2 - f2 < sizeof copy ? t2 - f2 : sizeof copy;
    memcpy(copy, other->text + f2, n);
    if (pick(3))
        replace(in, from, from, copy, n);
    else
        replace(in, from, to, "", 0);
}

static void mutate_bytes(Input *in)
{
    size_t at = pick(in->n + 1), n = 1 + pick(8);
    char c = (char)pick(256);
    if (at + n > in->n)
        n = in->n - at;
    switch (pick(6)) {
    case 0: replace(in, at, at + n, "", 0); break;
    case 1: replace(in, at, at, &c, 1); break;
    case 2:
        if (at < in->n)
            in->text[at] ^= (char)(1 << pick(8));
        break;
    case 3: /* a number of a header becomes large */
        for (size_t i = 0; i < n; i++)
            in->text[at + i] = (char)(pick(2) ? 0xff : 0x7f);
        break;
    case 4: in->n = at; break;
    default: { /* a piece of another input */
        const Input *o = &corpus[pick((size_t)n_corpus)];
        size_t from = pick(o->n), len = pick(64);
        if (from + len > o->n)
            len = o->n - from;
        replace(in, at, at, o->text + from, len);
        break;
    }
    }
}

static void mutate(Input *in, bool text)
{
    const Input *base = &corpus[pick((size_t)n_corpus)];
    in->n = base->n < MAX_INPUT ? base->n : MAX_INPUT;
    memcpy(in->text, base->text, in->n);
    for (size_t turns = 1 + pick(4); turns > 0; turns--) {
        if (text && !pick(6) && in->n)
            mutate_line(in);
        else if (text && pick(5) && in->n)
            mutate_token(in);
        else
            mutate_bytes(in);
    }
}

/* --- Running --- */

/* What a child said, for a finding's line: the first line with the strongest sign of a bug. False
 * if there is only the weakest or none. */
static bool say(const char *log, char *buf, size_t size)
{
    static const char *const signs[] = {"SUMMARY:", "runtime error:", "internal error", "bug"};
    enum { N = sizeof signs / sizeof *signs };
    size_t best = N;
    snprintf(buf, size, "no message");
    FILE *f = fopen(log, "r");
    char line[1024];
    while (f && fgets(line, sizeof line, f))
        for (size_t i = 0; i < best; i++)
            if (strstr(line, signs[i])) {
                snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line);
                best = i;
            }
    if (f)
        fclose(f);
    return best < 2;
}

static void child(Target *target, const Input *in, const char *log)
{
    struct rlimit cpu = {MOST_CPU, MOST_CPU + 1}, core = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_WRONLY);
    dup2(fd, 2);
    dup2(null, 1);
    char *exact = malloc(in->n ? in->n : 1); /* so that a read beyond it is seen */
    if (exact) {
        memcpy(exact, in->text, in->n);
        target(exact, in->n);
    }
    _exit(0);
}

/* 0, or the line of a finding in buf. */
static int run_one(Target *target, const Input *in, const char *log, char *buf, size_t size)
{
    int status;
    struct rusage use;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        child(target, in, log);
    if (pid < 0 || wait4(pid, &status, 0, &use) < 0) {
        snprintf(buf, size, "cannot run: %s", strerror(errno));
        return 1;
    }
    char said[512];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
#ifndef __SANITIZE_ADDRESS__
    if (use.ru_maxrss > MOST_KB) {
        snprintf(buf, size, "%ld MB of memory", use.ru_maxrss >> 10);
        return 1;
    }
#endif
    bool reported = say(log, said, sizeof said); /* sanitizers exit with 1 as well */
    if (!reported && (code <= 1 || code == 3))
        return 0;
    snprintf(buf, size, "%s (code %d)",
             code == 128 + SIGXCPU || code == 128 + SIGKILL ? "it does not end" : said, code);
    return 1;
}

static void read_corpus(int n, char **paths)
{
    corpus = calloc((size_t)n, sizeof *corpus);
    for (int i = 0; i < n; i++) {
        FILE *f = fopen(paths[i], "rb");
        Input *in = &corpus[n_corpus];
        if (!f || !(in->text = malloc(MAX_INPUT)))
            continue;
        in->n = fread(in->text, 1, MAX_INPUT, f);
        fclose(f);
        n_corpus += in->n > 0;
    }
}

static void keep(const char *folder, const char *target, long k, const Input *in)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%ld", folder, target, k);
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(in->text, 1, in->n, f);
        fclose(f);
    }
    printf("  %s\n", path);
}

int main(int argc, char **argv)
{
    Target *target = argc > 6 ? target_named(argv[1]) : NULL;
    if (!target) {
        fprintf(stderr,
                "usage: bytes program|ir|values|tuning|log SEED N SECONDS FOLDER FILE...\n");
        return 2;
    }
    long n = atol(argv[3]), seconds = atol(argv[4]), failed = 0, k = 0;
    time_t end = time(NULL) + seconds;
    read_corpus(argc - 6, argv + 6);
    if (!n_corpus)
        return 2;
    Input in = {malloc(MAX_INPUT), 0};
    char log[4096], buf[1024], seen[32][1024];
    snprintf(log, sizeof log, "%s/log-%d", argv[5], (int)getpid());
    for (; in.text && (!n || k < n) && (!seconds || time(NULL) < end); k++) {
        state = (uint64_t)atol(argv[2]) * 1000003u + (uint64_t)k;
        mutate(&in, strcmp(argv[1], "values") != 0);
        if (!run_one(target, &in, log, buf, sizeof buf))
            continue;
        bool new = failed < 32;
        for (int i = 0; i < failed && i < 32; i++)
            new = new &&strcmp(seen[i], buf) != 0;
        if (new) { /* each kind once */
            strcpy(seen[failed++], buf);
            printf("FAIL %s %ld: %s\n", argv[1], k, buf);
            keep(argv[5], argv[1], k, &in);
        }
    }
    unlink(log);
    free(in.text);
    printf("%ld passed, %ld failed\n", k - failed, failed);
    return failed > 0;
}
#endif
