/* Loops that turn as often as each element wants, in lanes (kir/vectors/lanes.c): random ones give
 * what they gave. */
#include "check.h"

#include "kir/facts/verify.h"
#include "kir/passes/passes.h"
#include "kir/text/text.h"
#include "kir/vectors/vectors.h"
#include "kir/walk.h"
#include "kir_eval.h"

#include <stdlib.h>

enum { VARS = 4, MOST_LOOPS = 3 };

typedef struct {
    Arena *a;
    KBuild *b;
    uint64_t seed;
    KVar *vars[VARS]; /* of an element */
    const KExp *x;    /* what was loaded for it */
} Made;

static int any(Made *m, int n)
{
    return (int)(ev_random(&m->seed) % (unsigned)n);
}

static const KExp *constant(const Made *m, PrimType t, int x)
{
    return kx_conv(m->a, t, kx_int(m->a, x));
}

/* A number of type t: never divided by. */
static const KExp *number(Made *m, PrimType t, int depth)
{
    static const PrimOp ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_XOR, OP_MIN, OP_MAX};
    if (depth > 0 && any(m, 3)) {
        const KExp *x = number(m, t, depth - 1), *y = number(m, t, depth - 1);
        return any(m, 4) ? kx_prim2(m->a, ops[any(m, 6)], x, y)
                         : kx_select(m->a, kx_lt(m->a, y, x), x, y);
    }
    switch (any(m, 3)) {
    case 0: return constant(m, t, any(m, 9) - 4);
    case 1: return kx_conv(m->a, t, m->x);
    default: return kx_conv(m->a, t, kx_var(m->a, m->vars[any(m, VARS)]));
    }
}

static void change(Made *m)
{
    KVar *v = m->vars[any(m, VARS)];
    const KExp *x = kb_let(m->b, "t", number(m, v->type.elem, 2));
    bool branch = any(m, 3) == 0;
    if (branch)
        kb_if(m->b, kx_lt(m->a, number(m, T_I32, 1), number(m, T_I32, 1)));
    kb_set(m->b, v, x);
    if (branch)
        kb_end(m->b);
}

static void changes(Made *m, int most)
{
    for (int n = any(m, most + 1); n > 0; n--)
        change(m);
}

/* At most eight turns. */
static const KExp *turns(Made *m)
{
    return kx_prim2(m->a, OP_AND, number(m, T_I32, 1), constant(m, T_I32, 7));
}

static void counted(Made *m, bool alike)
{
    const KExp *most = alike ? constant(m, T_I32, any(m, 4)) : kb_let(m->b, "most", turns(m));
    KVar *t = kb_var_new(m->b, "t", ktype(T_I32));
    kb_for_var(m->b, t, constant(m, T_I32, 0), most, constant(m, T_I32, 1 + any(m, 2)));
    if (any(m, 2))
        kb_set(m->b, m->vars[0], kx_var(m->a, t)); /* an i32 */
    changes(m, 3);
    kb_end(m->b);
}

/* While, or do while. */
static void conditional(Made *m, bool post)
{
    KBuild *b = m->b;
    KVar *left = kb_var(b, "left", T_I32, turns(m));
    const KExp *now = kx_var(m->a, left), *more = kx_lt(m->a, constant(m, T_I32, 0), now);
    bool told = !post && any(m, 2); /* the condition is a variable */
    KVar *go = told ? kb_var(b, "go", T_BOOL, more) : NULL;
    KStm *loop = post ? kb_do(b) : kb_while(b, told ? kx_var(m->a, go) : more);
    changes(m, 3);
    kb_set(b, left, kx_prim2(m->a, OP_SUB, now, constant(m, T_I32, 1)));
    if (told)
        kb_set(b, go, more);
    if (post)
        kb_do_end(b, loop, more);
    else
        kb_end(b);
}

static KBuf *param(KBuild *b, const char *name, PrimType t)
{
    KBuf *buf = kb_buf_new(b, name, KS_GLOBAL, t);
    buf->no_alias = true;
    vec_push(b->arena, &b->fun->params, (KFormal){.kind = KP_MEM, .buf = buf});
    return buf;
}

/* all := what depends on the order of elements. */
static void add_up(Made *m, KVar *all)
{
    const KExp *x = kx_prim2(m->a, OP_MUL, kx_var(m->a, all), constant(m, T_I64, 3));
    kb_set(m->b, all, kx_prim2(m->a, OP_ADD, x, number(m, T_I64, 1)));
}

static KFun *random_kernel(Arena *a, uint64_t seed, int n)
{
    static const PrimType types[VARS] = {T_I32, T_I64, T_I32, T_I8};
    KBuild *b = kb_new(a);
    Made m = {.a = a, .b = b, .seed = seed};
    KBuf *out[VARS], *xs = param(b, "xs", T_I32), *sum = param(b, "sum", T_I64);
    int adds = any(&m, 3); /* before, behind the loops, or nowhere */
    b->fun->name = "turning";
    b->fun->alone = true;
    for (int j = 0; j < VARS; j++)
        out[j] = param(b, kb_name(b, "out"), types[j]);
    KVar *all = kb_var(b, "all", T_I64, kx_int(a, 1));
    const KExp *i = kb_for(b, "i", kx_int(a, 0), kx_int(a, n), kx_int(a, 1));
    m.x = kb_load(b, "x", xs, i);
    for (int j = 0; j < VARS; j++)
        m.vars[j] = kb_var(b, "v", types[j], kx_conv(a, types[j], m.x));
    if (adds == 0)
        add_up(&m, all);
    for (int loops = 1 + any(&m, MOST_LOOPS); loops > 0; loops--) {
        changes(&m, 2);
        int kind = any(&m, 4);
        if (kind < 2)
            counted(&m, kind == 0);
        else
            conditional(&m, kind == 3);
    }
    changes(&m, 2);
    if (adds == 1)
        add_up(&m, all);
    for (int j = 0; j < VARS; j++)
        if (j == 0 || any(&m, 2))
            kb_store(b, out[j], i, kx_var(a, m.vars[j]));
    kb_end(b);
    kb_store(b, sum, kx_int(a, 0), kx_var(a, all));
    return b->fun;
}

static Ev *run(Arena *a, const KFun *f, int n)
{
    Ev *ev = ev_new(a, f, 1, 1);
    uint64_t seed = 99;
    for (int i = 0; i < f->params.n; i++)
        ev_add(ev, f->params.at[i].buf, n + 1);
    for (int i = 0; i < n; i++)
        ((int32_t *)ev->mem[0].at)[i] = (int32_t)(ev_random(&seed) % 41) - 20;
    ev->now = 0;
    ev_run(ev);
    return ev;
}

static void show(const char *title, const KFun *f)
{
    Out o = {0};
    kir_print(&o, f);
    fprintf(stderr, "--- %s\n%s\n", title, o.text);
    out_free(&o);
}

/* Is there a loop over lanes, and did the kernel stay what it is? */
static bool try_one(Arena *a, uint64_t seed, int n)
{
    KFun *before = random_kernel(a, seed, n), *after = kfun_copy(a, before);
    Loc at;
    CHECK(!kir_check(a, before, &at));
    kir_lanes(a, after);
    const char *wrong = kir_check(a, after, &at);
    const Ev *x = run(a, before, n), *y = run(a, after, n);
    bool same = !wrong && !x->error[0] && !y->error[0] && ev_same(x, y);
    CHECK(same);
    if (!same) {
        fprintf(stderr, "seed %llu, %d elements: %s, %s, %s\n", (unsigned long long)seed, n,
                wrong ? wrong : "well-formed", x->error, y->error);
        show("before", before);
        show("after", after);
    }
    return kblock_has(&after->body, KST_ARRAY);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 5, 31, 32, 33, 64, 75};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    int n = argc > 1 ? atoi(argv[1]) : 400, lanes = 0;
    for (int seed = 1; seed <= n && checks_failed == 0; seed++) {
        Arena *a = arena_new();
        lanes += try_one(a, (uint64_t)seed, sizes[seed % SIZES]);
        arena_free(a);
    }
    CHECK(lanes > n / 2);
    return check_summary();
}
