/* Phases: kernels spliced into one, run by the evaluator as a launch of one group, which meets
 * itself. */
#include "kir/passes.h"
#include "kir/phase.h"
#include "kir/target.h"
#include "kir/text.h"
#include "kir/verify.h"
#include "tests/unit/check.h"
#include "tests/unit/kir_eval.h"

enum { ITEMS = 8, MOST_ELEMS = 64 };

static Arena *a;
static Ctx *cx;

/* dst[i] = 2 * src[i] + k; sums of the rows of a group each, by a tree in local memory, from which
 * those that are wrong are told; dst[0] += 1 where a row is empty, by global numbers in two
 * dimensions. */
static const char text[] =
    "kernel twice\n"
    "    mem src: global i64 mem dst: global i64 scalar n: i64 scalar k: i64\n"
    "{\n"
    "    for i: i64 from group_id * group_size + local_id to n by grid_size {\n"
    "        load x: i64 = src[i]\n"
    "        store dst[i] = x * 2 + k\n"
    "    }\n"
    "}\n"
    "kernel sums may_fail\n"
    "    failure mem src: global i64 mem dst: global i64 local tmp: local i64 scalar rows: i64 "
    "scalar most: i64\n"
    "{\n"
    "    let stopped: bool = failed_before\n"
    "    for row: i64 from group_id to select(stopped, 0, rows) by groups {\n"
    "        load x: i64 = src[row * group_size + local_id]\n"
    "        work told {\n"
    "            if most < x {\n"
    "                fail 7 (row, x)\n"
    "                leave told\n"
    "            }\n"
    "        }\n"
    "        store tmp[local_id] = x\n"
    "        barrier local\n"
    "        for d: i64 from 1 to group_size times 2 {\n"
    "            if local_id % (2 * d) == 0 {\n"
    "                load l: i64 = tmp[local_id]\n"
    "                load r: i64 = tmp[local_id + d]\n"
    "                store tmp[local_id] = l + r\n"
    "            }\n"
    "            barrier local\n"
    "        }\n"
    "        if local_id == 0 {\n"
    "            load s: i64 = tmp[0]\n"
    "            store dst[row] = s\n"
    "        }\n"
    "        barrier local\n"
    "    }\n"
    "}\n"
    "kernel cells\n"
    "    mem dst: global i64\n"
    "{\n"
    "    view all: global i64 of dst at 8\n"
    "    if local_id == 0 {\n"
    "        store all[group_id * groups.1 + group_id.1] = group_id * 100 + group_id.1\n"
    "    }\n"
    "}\n"
    "kernel heap\n"
    "    heap bytes: global u8, size: i64\n"
    "{\n"
    "}\n"
    "kernel flat\n"
    "    mem dst: global i64\n"
    "{\n"
    "    store dst[local_id.1] = 1\n"
    "}\n";

static KFuns funs;

/* The kernel that is made: what there is of it. */
typedef struct {
    KBuild *b;
    KBuf *p, *q, *tmp;
} Made;

static KBuf *param(KBuild *b, KParamKind kind, KSpace space, const char *name)
{
    KBuf *buf = kb_buf_new(b, name, space, T_I64);
    vec_push(a, &b->fun->params, ((KFormal){.kind = kind, .buf = buf}));
    return buf;
}

static Made made(void)
{
    Made m = {.b = kb_new(a)};
    m.b->fun->name = "made";
    m.b->fun->may_fail = true;
    vec_push(a, &m.b->fun->params, ((KFormal){.kind = KP_FAILURE}));
    m.p = param(m.b, KP_MEM, KS_GLOBAL, "p");
    m.q = param(m.b, KP_MEM, KS_GLOBAL, "q");
    m.tmp = param(m.b, KP_LOCAL, KS_LOCAL, "tmp");
    return m;
}

static const KExp *num(int64_t k)
{
    return kx_int(a, k);
}

static void twice(Made m, KBuf *src, KBuf *dst, const KExp *from, int64_t n, int64_t groups)
{
    const KPhaseArg args[] = {
        {.buf = src, .offset = from}, {.buf = dst}, {.value = num(n)}, {.value = num(1)}};
    CHECK(!kir_phase(m.b, &(KPhase){.fun = funs.at[0], .args = args, .groups = {num(groups)}}));
}

static void sums(Made m, KBuf *src, KBuf *dst, int64_t rows, int64_t groups, int64_t most)
{
    const KPhaseArg args[] = {{0},
                              {.buf = src},
                              {.buf = dst},
                              {.buf = m.tmp},
                              {.value = num(rows)},
                              {.value = num(most)}};
    CHECK(!kir_phase(m.b, &(KPhase){.fun = funs.at[1], .args = args, .groups = {num(groups)}}));
}

/* The kernel as it is and as the GPUs have it, run by one group on p[i] = i. */
static const Ev *run(const KFun *f, uint64_t seed)
{
    Ev *ev = ev_new(a, f, ITEMS, seed);
    for (int i = 0; i < f->params.n; i++) {
        const KFormal *p = &f->params.at[i];
        EvMem *m = p->buf ? ev_add(ev, p->buf, p->kind == KP_LOCAL ? ITEMS : MOST_ELEMS) : NULL;
        for (int64_t k = 0; m && p->buf->name[0] == 'p' && k < MOST_ELEMS; k++)
            memcpy(m->at + 8 * k, &k, sizeof k);
    }
    ev_run(ev);
    if (ev->error[0])
        fprintf(stderr, "%s\n", ev->error);
    CHECK(!ev->error[0]);
    return ev;
}

static int64_t at(const Ev *ev, const char *buf, int64_t i)
{
    int64_t x = -1;
    for (int k = 0; k < ev->n_mem; k++)
        if (ev->mem[k].buf->space == KS_GLOBAL && ev->mem[k].buf->name[0] == buf[0])
            memcpy(&x, ev->mem[k].at + 8 * i, sizeof x);
    return x;
}

static void check_form(const KFun *f)
{
    Loc where;
    const char *wrong = kir_check(a, f, &where);
    if (wrong)
        fprintf(stderr, "%s\n", wrong);
    CHECK(!wrong);
}

static KFun *on_gpu(const KFun *f)
{
    KFun *on = kir_specialize(a, f, &ktargets[KTARGET_GPU]);
    kir_passes(a, on, false);
    check_form(on);
    return on;
}

/* Twice three times, to and fro, and a sum of each row in between; a kernel is spliced more than
 * once. */
static void loop_of_phases(void)
{
    Made m = made();
    kb_stopped(m.b);
    kb_for(m.b, "t", num(0), num(3), num(1));
    twice(m, m.p, m.q, NULL, MOST_ELEMS, 5);
    kb_meet_grid(m.b);
    sums(m, m.q, m.p, MOST_ELEMS / ITEMS, 3, INT64_MAX);
    kb_meet_grid(m.b);
    twice(m, m.p, m.p, NULL, 4, 1);
    kb_meet_grid(m.b);
    kb_end(m.b);
    check_form(m.b->fun);
    const KFun *both[] = {m.b->fun, on_gpu(m.b->fun)};
    int64_t p[MOST_ELEMS], q[MOST_ELEMS];
    for (int i = 0; i < MOST_ELEMS; i++)
        p[i] = i;
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < MOST_ELEMS; i++)
            q[i] = p[i] * 2 + 1;
        for (int r = 0; r < MOST_ELEMS / ITEMS; r++) {
            p[r] = 0;
            for (int i = 0; i < ITEMS; i++)
                p[r] += q[r * ITEMS + i];
        }
        for (int i = 0; i < 4; i++)
            p[i] = p[i] * 2 + 1;
    }
    for (int k = 0; k < 2; k++) {
        const Ev *ev = run(both[k], 11);
        for (int i = 0; i < MOST_ELEMS; i++)
            CHECK(at(ev, "p", i) == p[i] && at(ev, "q", i) == q[i]);
    }
}

/* What fails in a phase ends none of its groups, and leaves out the phases behind the next barrier.
 */
static void failures(void)
{
    Made m = made();
    sums(m, m.p, m.q, 4, 2, 9);
    twice(m, m.p, m.p, NULL, 8, 1);
    kb_meet_grid(m.b);
    twice(m, m.q, m.q, NULL, MOST_ELEMS, 1);
    kb_meet_grid(m.b);
    sums(m, m.q, m.q, 4, 2, 0);
    check_form(m.b->fun);
    const KFun *both[] = {m.b->fun, on_gpu(m.b->fun)};
    for (int k = 0; k < 2; k++) {
        const Ev *ev = run(both[k], 5);
        CHECK(ev->failed);
        CHECK_INT(at(ev, "q", 0), 28);
        CHECK_INT(at(ev, "q", 3), 28 + 3 * 64);
        CHECK_INT(at(ev, "p", 7), 15); /* no barrier of the grid in between */
    }
}

/* Groups in two dimensions; arguments that are parts of a buffer. */
static void numbers(void)
{
    Made m = made();
    const KPhaseArg cells[] = {{.buf = m.q, .offset = num(2)}};
    KPhase p = {.fun = funs.at[2], .args = cells, .groups = {num(3), num(4)}};
    CHECK(!kir_phase(m.b, &p));
    kb_meet_grid(m.b);
    twice(m, m.q, m.p, num(3), 12, 2);
    const KFun *both[] = {m.b->fun, on_gpu(m.b->fun)};
    for (int k = 0; k < 2; k++) {
        const Ev *ev = run(both[k], 3);
        for (int i = 0; i < 12; i++)
            CHECK_INT(at(ev, "p", i), 2 * (i / 4 * 100 + i % 4) + 1);
    }
}

static void refused(void)
{
    Made m = made();
    const KPhaseArg args[] = {
        {.buf = m.p}, {.buf = m.tmp}, {.value = num(1)}, {.value = kx_bool(a, true)}};
    CHECK(kir_phase(m.b, &(KPhase){.fun = funs.at[0], .args = args}));
    CHECK(kir_phase(m.b, &(KPhase){.fun = funs.at[3], .args = args}));
    CHECK(kir_phase(m.b, &(KPhase){.fun = funs.at[4], .args = args}));
    CHECK_INT(m.b->fun->body.n, 0);
}

int main(void)
{
    a = arena_new();
    cx = NEW(a, Ctx);
    *cx = (Ctx){.perm = a, .scratch = arena_new()};
    CHECK(kir_read(cx, "phases", text, strlen(text), &funs));
    loop_of_phases();
    failures();
    numbers();
    refused();
    return check_summary();
}
