/* What a device can do at most: a copy and chains of multiply-adds, as a program of this compiler,
 * so that its kernels are built and timed as those that they are compared with. */
#include "autotune/bench/roofline.h"
#include "autotune/run/compiler.h"
#include "command/cc.h"
#include "command/tempdir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Eight chains a thread hide the latency of one; their results are wanted, so none goes away. */
static const char program[] =
    "entry copied [n] (xs: [n]f32): [n]f32 = map (+ 1) xs\n"
    "entry chained [n] (steps: i32) (xs: [n]f32): [n]f32 =\n"
    "  let once (x: f32): f32 = f32.fma x 0.9375 1\n"
    "  let next x = once (once (once (once x)))\n"
    "  let chains x =\n"
    "    let (a, b, c, d, e, f, g, h) =\n"
    "      loop (a, b, c, d, e, f, g, h) = (x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7)\n"
    "      for _t < steps do\n"
    "        (next a, next b, next c, next d, next e, next f, next g, next h)\n"
    "    in a + b + c + d + e + f + g + h\n"
    "  in map chains xs\n";

/* Where memory is fast, as on GPUs, a copy must be large: caches hold a small one, and its launch
 * counts. Elsewhere that would only take long. */
enum { COPIED = 1 << 22, COPIED_FAST = 1 << 25, CHAINS = 1 << 20, STEPS = 64 };
static const double FAST = 100e9; /* bytes a second */

/* n zeros as a binary value behind `first`, a scalar or nothing. */
static DataSource zeros(Arena *a, const rt_hvalue *first, int64_t n)
{
    DataSource d = {.name = "zeros"};
    rt_hvalue xs;
    char *text = NULL;
    FILE *f = open_memstream(&text, &d.n);
    bool ok = f && rt_hvalue_make(&xs, RT_F32, 1, &n);
    if (ok) {
        ok = (!first || rt_write_binary(f, first)) && rt_write_binary(f, &xs);
        rt_hvalue_free(&xs);
    }
    ok = f && fclose(f) == 0 && ok;
    if (!ok)
        ice(NO_LOC, "no room for the input of the ceilings");
    d.text = arena_memdup(a, text, d.n);
    free(text);
    return d;
}

static double fastest(const Profile *p, bool moves)
{
    double most = 0;
    for (int i = 0; i < p->n; i++) {
        const ProfileRow *r = &p->at[i];
        if (r->seconds > 0)
            most = fmax(most, (moves ? r->bytes : r->operations) / r->seconds);
    }
    return most;
}

/* The best rate of a kernel when `entry` runs on data set d: of as many profiles as it takes to
 * reach it twice. Other work on the machine makes some of them slower, and if it makes all, none
 * says what the device can do. */
static const char *best(Session *s, const char *entry, int d, double limit, bool moves, Ceilings *c)
{
    enum { FEWEST = 3, MOST = 8 };
    static const double AGAIN = 0.95;
    double top = 0, next = 0;
    const char *wrong = session_use(s, entry);
    for (int i = 0; i < MOST && !wrong && (i < FEWEST || next < AGAIN * top); i++) {
        Profile p = {0};
        wrong = session_profile(s, d, limit, &p);
        double rate = fastest(&p, moves);
        next = fmax(next, fmin(rate, top));
        top = fmax(top, rate);
    }
    *(moves ? &c->bytes : &c->operations) = top;
    c->unsteady |= next < AGAIN * top;
    return wrong;
}

static const char *taken_away(Arena *a, const char *name)
{
    const char *given = getenv(name), *kept = given ? arena_strdup(a, given) : NULL;
    unsetenv(name);
    return kept;
}

/* As minifut itself would, with optimised kernels, however the program is built. */
static int compile_optimised(Arena *a, const char *source, const char *binary)
{
    const char *flags = taken_away(a, "CFLAGS"), *cc = cc_optimises() ? NULL : taken_away(a, "CC");
    int code = compile_program(source, binary, NULL, false, false);
    if (flags)
        setenv("CFLAGS", flags, 1);
    if (cc)
        setenv("CC", cc, 1);
    return code;
}

static const char *measure(Arena *a, const SessionOptions *o, const char *folder, Ceilings *c)
{
    Out text = {0};
    SessionOptions own = {.device = o->device,
                          .platform = o->platform,
                          .timeout = o->timeout,
                          .profile = true,
                          .entry = "copied"};
    const char *source = arena_printf(a, "%s/ceilings.sf", folder), *wrong = NULL;
    own.program = program_binary(a, source);
    out_puts(&text, program);
    bool written = out_write_file(&text, source);
    out_free(&text);
    if (!written)
        return arena_printf(a, "cannot write %s: %s", source, strerror(errno));
    if (compile_optimised(a, source, own.program) != 0)
        return "the program that measures the device does not compile";
    int32_t steps = STEPS;
    rt_hvalue first = {.prim = RT_I32, .data = &steps};
    Datasets ds = {0};
    vec_push(a, &ds, ((Dataset){.name = "chained", .in = zeros(a, &first, CHAINS)}));
    vec_push(a, &ds, ((Dataset){.name = "copied", .in = zeros(a, NULL, COPIED)}));
    vec_push(a, &ds, ((Dataset){.name = "copied", .in = zeros(a, NULL, COPIED_FAST)}));
    Session *s = session_open(a, &own, &ds, &wrong);
    if (s && c->operations == 0)
        wrong = best(s, "chained", 0, o->timeout, false, c);
    if (s && !wrong && c->bytes == 0) {
        Ceilings before = *c;
        wrong = best(s, "copied", 1, o->timeout, true, c);
        if (!wrong && c->bytes > FAST) {
            *c = before; /* the small copy says nothing */
            wrong = best(s, "copied", 2, o->timeout, true, c);
        }
    }
    session_close(s);
    return wrong;
}

const char *ceilings_measure(Arena *a, const SessionOptions *o, Ceilings *c)
{
    TempDir t;
    if (c->bytes > 0 && c->operations > 0)
        return NULL;
    if (!tempdir_open(&t, NULL)) {
        const char *path = arena_strdup(a, t.path);
        free(t.path);
        return arena_printf(a, "cannot make a temporary folder %s: %s", path, strerror(errno));
    }
    const char *wrong = measure(a, o, t.path, c);
    tempdir_close(&t);
    if (!wrong && !(c->bytes > 0 && c->operations > 0))
        return "the device does not tell the time of kernels: give --gbs and --gflops";
    return wrong;
}

const char *ceilings_doubt(const Ceilings *c)
{
    return c->unsteady
               ? " at least: what it reached varied, as on a busy machine, so these are no ceilings"
               : "";
}
