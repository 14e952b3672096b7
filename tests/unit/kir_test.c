/* Kernel IR: the builder and what folds, walking, rewriting, copying, keys. */
#include "kir/facts/position.h"
#include "kir/facts/verify.h"
#include "kir/hash.h"
#include "kir/text/text.h"
#include "kir/walk.h"
#include "tests/unit/check.h"

static Arena *a;

/* --- Expressions --------------------------------------------------------------------------------
 */

static void folding(void)
{
    KVar v = {.name = "v", .type = ktype(T_I64)};
    const KExp *x = kx_var(a, &v), *zero = kx_int(a, 0), *one = kx_int(a, 1);
    CHECK(kx_add(a, x, zero) == x && kx_add(a, zero, x) == x && kx_sub(a, x, zero) == x);
    CHECK(kx_mul(a, x, one) == x && kx_is_int(kx_mul(a, x, zero), 0));
    CHECK(kx_quot(a, x, one) == x && kx_is_int(kx_rem(a, x, one), 0));
    CHECK(kx_is_int(kx_add(a, kx_int(a, 40), kx_int(a, 2)), 42));
    CHECK(kx_is_int(kx_rem(a, kx_int(a, 17), kx_int(a, 5)), 2));
    /* What would wrap around stays an operation. */
    CHECK(kx_add(a, kx_int(a, INT64_MAX), one)->kind == KE_PRIM);
    CHECK(kx_quot(a, one, zero)->kind == KE_PRIM);
    CHECK(kx_and(a, kx_bool(a, true), kx_lt(a, x, one))->op == OP_LT);
    CHECK(kx_is_int(kx_or(a, kx_lt(a, x, one), kx_bool(a, true)), 1));
    CHECK(kx_select(a, kx_lt(a, zero, one), x, one) == x);
    CHECK(kx_lt(a, x, one)->type.elem == T_BOOL);
    CHECK(kx_same(kx_add(a, x, one), kx_add(a, x, kx_int(a, 1))));
    CHECK(!kx_same(kx_add(a, x, one), kx_prim2(a, OP_ADD, x, one)));
    const KExp *parts[] = {x, one};
    CHECK(kx_part(a, kx_vector(a, parts, 2), 1) == one);
}

/* --- A kernel -----------------------------------------------------------------------------------
 * sum = 0; for i < n { x = in[i]; sum = sum + x }; if (n < 1) { out[0] = sum }
 */

typedef struct {
    KBuild *b;
    KBuf *in, *out;
    KVar *n, *sum;
    KStm *loop;
} Sum;

static KBuf *param_buf(KBuild *b, const char *name)
{
    KBuf *buf = kb_buf_new(b, name, KS_GLOBAL, T_I64);
    vec_push(b->arena, &b->fun->params, ((KFormal){.kind = KP_MEM, .buf = buf}));
    return buf;
}

static Sum make_sum(void)
{
    KBuild *b = kb_new(a);
    Sum s = {.b = b, .in = param_buf(b, "in"), .out = param_buf(b, "out")};
    s.n = kb_var_new(b, "n", ktype(T_I64));
    vec_push(a, &b->fun->params, ((KFormal){.kind = KP_SCALAR, .var = s.n}));
    s.sum = kb_var(b, "sum", T_I64, kx_int(a, 0));
    const KExp *sum = kx_var(a, s.sum), *n = kx_var(a, s.n);
    const KExp *i = kb_for(b, "i", kx_int(a, 0), n, kx_int(a, 1));
    s.loop = b->fun->body.at[1];
    kb_set(b, s.sum, kx_add(a, sum, kb_load(b, "x", s.in, i)));
    kb_end(b);
    kb_if(b, kx_lt(a, n, kx_int(a, 1)));
    kb_store(b, s.out, kx_int(a, 0), sum);
    kb_end(b);
    return s;
}

static bool count(void *env, KStm *s)
{
    ++*(int *)env;
    return s->kind != KST_FOR;
}

static void questions(void)
{
    Sum s = make_sum();
    const KBlock *body = &s.b->fun->body;
    int n = 0;
    kblock_visit(body, &(KVisitor){.env = &n, .enter = count});
    CHECK_INT(n, 4); /* not what is in the loop */
    CHECK(kblock_sets(body, s.sum) && kblock_sets(&s.loop->body[0], s.sum));
    CHECK(!kstm_sets(s.loop, s.sum) && !kstm_sets(body->at[0], s.sum));
    CHECK(kblock_uses(body, s.n) && !kblock_uses(&s.loop->body[0], s.n) && kstm_uses(s.loop, s.n));
    CHECK(kstm_def(s.loop) == s.loop->var && kstm_def(body->at[0]) == s.sum);
    CHECK(kblock_writes(body, s.out) && kblock_writes(body, s.in));
    s.out->no_alias = true;
    CHECK(kblock_writes(body, s.out) && !kblock_writes(body, s.in));
    CHECK(!kblock_writes(&s.loop->body[0], s.out));
    CHECK(kblock_has(body, KST_LOAD) && !kblock_has(body, KST_BARRIER));
    KInfo *info = kinfo_of(a, body);
    CHECK_INT(kinfo_get(info, s.sum).uses, 2);
    CHECK_INT(kinfo_get(info, s.sum).sets, 1);
    CHECK(kinfo_get(info, s.loop->var).def == s.loop && !kinfo_get(info, s.n).def);
    CHECK_INT(kinfo_get(info, s.loop->var).uses, 1);
    CHECK_INT(kfun_types(s.b->fun), 1 << T_I64 | 1 << T_BOOL);
    s.out->elem = T_F32;
    CHECK_INT(kfun_types(s.b->fun), 1 << T_I64 | 1 << T_BOOL | 1 << T_F32);
}

static void heap_sets_two(void)
{
    KBuild *b = kb_new(a);
    KVar *at = kb_var(b, "at", T_I64, NULL), *top = kb_var(b, "top", T_I64, kx_int(a, 0));
    KStm *s = kb_stm(
        b, (KStm){.kind = KST_HEAP, .var = at, .top = top, .x = {kx_int(a, 3), kx_int(a, 4)}});
    CHECK(kstm_sets(s, at) && kstm_sets(s, top) && kstm_uses(s, top) && !kstm_uses(s, at));
    CHECK(!kstm_def(s));
}

/* --- Rewriting ----------------------------------------------------------------------------------
 */

static void substitution(void)
{
    Sum s = make_sum();
    PtrMap *to = ptrmap_new(a);
    ptrmap_put(to, s.n, kx_int(a, 0));
    kblock_subst(a, &s.b->fun->body, to);
    CHECK(!kblock_uses(&s.b->fun->body, s.n));
    CHECK(kx_is_int(s.loop->x[1], 0));
    CHECK(kx_is_int(s.b->fun->body.at[2]->x[0], 1)); /* 0 < 1 */
    const KExp *x = kx_add(a, kx_var(a, s.sum), kx_int(a, 1));
    CHECK(kexp_subst(a, x, to) == x);
}

/* Without loads; a barrier in front of every store. */
static void drop_and_add(void *env, KBuild *b, KStm *s)
{
    (void)env;
    if (s->kind == KST_LOAD)
        return;
    if (s->kind == KST_STORE)
        kb_meet(b, 1u << KS_LOCAL);
    kb_push(b, s);
}

static void rewriting(void)
{
    Sum s = make_sum();
    KBuild *b = kb_more(a, s.b->fun);
    kblock_rewrite(b, &s.b->fun->body, &(KRewriter){.leave = drop_and_add});
    CHECK_INT(s.b->fun->body.n, 3);
    CHECK_INT(s.loop->body[0].n, 1);
    const KBlock *then = &s.b->fun->body.at[2]->body[0];
    CHECK(then->n == 2 && then->at[0]->kind == KST_BARRIER && then->at[1]->kind == KST_STORE);
    CHECK_INT(b->open.n, 0);
    CHECK_INT(b->n_names, s.b->n_names); /* so that new names are new */
}

/* --- Copying ------------------------------------------------------------------------------------
 */

static void copy_of_block(void)
{
    Sum s = make_sum();
    PtrMap *to = ptrmap_new(a);
    ptrmap_put(to, s.loop->var, kx_int(a, 7));
    KBlock c = kblock_copy(kb_more(a, s.b->fun), &s.loop->body[0], to);
    const KStm *load = c.at[0], *set = c.at[1];
    CHECK(c.n == 2 && load != s.loop->body[0].at[0]);
    CHECK(kx_is_int(load->x[0], 7) && load->buf == s.in);
    CHECK(load->var != s.loop->body[0].at[0]->var);
    CHECK(strncmp(load->var->name, "x_k", 3) == 0);
    CHECK(strcmp(load->var->name, s.loop->body[0].at[0]->var->name) != 0);
    CHECK(set->var == s.sum && kstm_uses(set, load->var));
    CHECK(!kstm_uses(s.loop->body[0].at[1], load->var)); /* the original stays */
}

static void copy_of_work(void)
{
    KBuild *b = kb_new(a);
    KStm *w = kb_work(b);
    KBuf *arr = kb_array(b, "arr", T_F32, 4);
    kb_load(b, "x", arr, kx_int(a, 0));
    kb_leave(b, w);
    kb_end(b);
    KBlock c = kblock_copy(b, &b->fun->body, NULL);
    const KStm *work = c.at[0], *array = work->body[0].at[0], *leave = work->body[0].at[2];
    CHECK(work != w && leave->target == work && strcmp(work->label, w->label) != 0);
    CHECK(array->buf != arr && work->body[0].at[1]->buf == array->buf);
    CHECK_INT(array->buf->count, 4);
}

static void copy_of_kernel(void)
{
    Sum s = make_sum();
    KFun *f = kfun_copy(a, s.b->fun);
    CHECK(f->params.at[0].buf != s.in && f->params.at[2].var != s.n);
    CHECK(strcmp(f->params.at[2].var->name, s.n->name) == 0);
    CHECK(kblock_uses(&f->body, f->params.at[2].var) && !kblock_uses(&f->body, s.n));
    CHECK(kblock_sets(&s.b->fun->body, s.sum) && !kblock_sets(&f->body, s.sum));
    CHECK(f->body.at[1]->body[0].at[0]->buf == f->params.at[0].buf);
}

/* --- Keys ----------------------------------------------------------------------------------- */

static KFun *parse(const char *text)
{
    static Ctx cx;
    cx.perm = a;
    KFuns fs = {0};
    CHECK(kir_read(&cx, "test.kir", text, strlen(text), &fs) && fs.n == 1);
    return fs.n == 1 ? fs.at[0] : NULL;
}

static bool same(const char *x, const char *y)
{
    return kkey_same(kir_key(a, parse(x)), kir_key(a, parse(y)));
}

/* A kernel of two variables, then BODY. */
#define KERNEL(BODY)                                                                               \
    "kernel k may_fail failure scalar n: i64 scalar m: i64 mem xs: global f32 mem ys: global f32 " \
    "{ " BODY " }"

static void keys(void)
{
    CHECK(same("kernel a \"what\" mem x: global f32 { load y: f32 = x[0] comment \"c\" }",
               "kernel b mem u: global f32 { load v: f32 = u[0] }"));
    CHECK(same("kernel a { work s { leave s } }", "kernel a { work t { leave t } }"));
    CHECK(!same("kernel a mem x: global f32 { }", "kernel a mem x: global f32 read_only { }"));
    CHECK(!same("kernel a scalar x: i32 { }", "kernel a scalar x: i64 { }"));
    CHECK(!same("kernel a { work s { work t { leave s } } }",
                "kernel a { work s { work t { leave t } } }"));
    static const char *const bodies[] = {
        KERNEL(""),
        KERNEL("let x: i64 = n"),
        KERNEL("let x: i64 = m"),
        KERNEL("var x: i64 = n"),
        KERNEL("let x: i64 = n + m"),
        KERNEL("let x: i64 = m + n"),
        KERNEL("let x: i64 = add.i64(n, m)"),
        KERNEL("let x: i64 = n - m"),
        KERNEL("let x: i64 = n let y: i64 = x"),
        KERNEL("let x: i64 = n let y: i64 = n"),
        KERNEL("let x: i64 = 1"),
        KERNEL("let x: i64 = 2"),
        KERNEL("let x: f32 = 0.0f32"),
        KERNEL("let x: f32 = -0.0f32"),
        KERNEL("let x: f32 = f32.nan"),
        KERNEL("load x: f32 = xs[n]"),
        KERNEL("load x: f32 = ys[n]"),
        KERNEL("load x: f32x2 = ys[n]"),
        KERNEL("let x: i64 = local_id"),
        KERNEL("let x: i64 = local_id.1"),
        KERNEL("let x: i64 = group_id"),
        KERNEL("if n < m { barrier local }"),
        KERNEL("if n < m { } else { barrier local }"),
        KERNEL("if n < m { } barrier local"),
        KERNEL("if n < m { } barrier local global"),
        KERNEL("for i: i64 from 0 to n by 2 { }"),
        KERNEL("for i: i64 from 0 to n times 2 { }"),
        KERNEL("for i: i64 from 0 to n by 2 unroll 4 { }"),
        KERNEL("while n < m { }"),
        KERNEL("do { } while n < m"),
        KERNEL("fail 1 ()"),
        KERNEL("fail 2 ()"),
        KERNEL("fail 2 (n)"),
    };
    enum { N = sizeof bodies / sizeof *bodies };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            if (same(bodies[i], bodies[k]) != (i == k)) {
                fprintf(stderr, "%s\n%s\n", bodies[i], bodies[k]);
                CHECK(false);
            }
}

/* --- Scopes --------------------------------------------------------------------------------- */

/* What the text cannot say. */
static void bound_twice(void)
{
    Loc at;
    KBuild *b = kb_new(a);
    KVar *v = kb_var_new(b, "v", ktype(T_I64));
    kb_let_var(b, v, kx_int(a, 1));
    CHECK(!kir_check(a, b->fun, &at));
    kb_let_var(b, v, kx_int(a, 2));
    CHECK(kir_check(a, b->fun, &at) != NULL);
    b = kb_new(a);
    KVar *w = kb_var_new(b, "w", ktype(T_I64));
    kb_let(b, "x", kx_add(a, kx_var(a, w), kx_int(a, 1)));
    CHECK(kir_check(a, b->fun, &at) != NULL);
}

/* --- Positions ------------------------------------------------------------------------------ */

/* Is what the first statement binds k times n plus what has no n, with all that may wrap around for
 * leaves, too? */
static void grows(const char *body, int64_t k, int64_t exactly)
{
    const KFun *f = parse(body);
    KPositions *ps = kpositions_new(a, f);
    const KExp *n = kx_var(a, f->params.at[1].var), *x = f->body.at[0]->x[0];
    Leaf l = kposition(ps, n).t[0].leaves[0];
    Poly p = kposition(ps, x), exact = kposition_exact(ps, x);
    CHECK_INT(kposition_factor(&p, l), k);
    CHECK_INT(kposition_factor(&exact, l), exactly);
}

static void positions(void)
{
    grows(KERNEL("let x: i64 = 3 * n + m"), 3, 3);
    grows(KERNEL("let x: i64 = mul.i64(3, n) + n"), 4, 1);
    grows(KERNEL("let x: i64 = 2 * (n + sub.i64(m, n)) + n"), 1, 3);
    grows(KERNEL("let x: i64 = m / n"), 0, 0);
}

static void maps(void)
{
    static int keys[1000];
    PtrMap *m = ptrmap_new(a);
    for (int i = 0; i < 1000; i++)
        ptrmap_put(m, &keys[i], &keys[999 - i]);
    for (int i = 0; i < 1000; i += 2)
        ptrmap_put(m, &keys[i], NULL);
    CHECK_INT(ptrmap_count(m), 500);
    PtrMap *c = ptrmap_copy(a, m);
    ptrmap_put(c, &keys[1], NULL);
    CHECK(ptrmap_get(m, &keys[1]) == &keys[998] && !ptrmap_get(c, &keys[1]));
    CHECK(!ptrmap_get(m, &keys[2]) && ptrmap_get(c, &keys[999]) == &keys[0]);
}

int main(void)
{
    a = arena_new();
    folding();
    questions();
    heap_sets_two();
    substitution();
    rewriting();
    copy_of_block();
    copy_of_work();
    copy_of_kernel();
    keys();
    bound_twice();
    positions();
    maps();
    return check_summary();
}
