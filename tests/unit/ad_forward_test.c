/* Forward mode (ad/forward.c) of the functions of tests/unit/ad.ir: what comes out is well-formed,
 * the values are the same bit for bit, and the tangents are what difference quotients say. */
#include "ad/ad_int.h"
#include "interp/interp.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_VALUES = 32 };
static const double step = 1e-5, tolerance = 1e-5;

/* --- Programs ------------------------------------------------------------------------------- */

static ExtParam ext_of(Ctx *cx, Type t)
{
    char text[64];
    rt_prim p;
    rt_prim_named(prim_type_text[t.elem], &p);
    rt_type_name(p, t.rank, text, sizeof text);
    return (ExtParam){"x", false, {.text = arena_strdup(cx->perm, text), .n_vals = 1}};
}

static void put_name(Ctx *cx, ExtParams *exts)
{
    vec_last(exts).name = arena_printf(cx->perm, "x%d", exts->n);
}

/* The entry with tangents of its arguments as further arguments. */
static Prog *forward(Ctx *cx, const Entry *en)
{
    const Lambda *lam = ad_forward(cx, lambda_new(cx, en->params, en->body));
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = D_SOAC;
    Entry dual = {.name = en->name, .sizes = en->sizes, .params = lam->params, .body = lam->body};
    for (int i = 0; i < lam->params.n; i++) {
        vec_push(cx->perm, &dual.ext_params, ext_of(cx, lam->params.at[i]->type));
        put_name(cx, &dual.ext_params);
    }
    for (int i = 0; i < lam->body->res.n; i++) {
        vec_push(cx->perm, &dual.ext_results, ext_of(cx, atom_type(lam->body->res.at[i])));
        put_name(cx, &dual.ext_results);
    }
    ir_copy_needed(cx, &dual);
    vec_push(cx->perm, &p->entries, dual);
    const char *wrong = ir_check(cx, p);
    CHECK(!wrong);
    if (wrong) {
        Out o = {0};
        ir_print(&o, p);
        printf("%s: %s\n%s\n", en->name, wrong, o.text);
        out_free(&o);
        return NULL;
    }
    return p;
}

/* --- Values --------------------------------------------------------------------------------- */

static double element(const rt_hvalue *v, int64_t i)
{
    return rt_float_get(v->prim, (const char *)v->data + i * rt_prim_size(v->prim));
}

static void put_element(const rt_hvalue *v, int64_t i, double x)
{
    rt_scalar s;
    int size = rt_prim_size(v->prim);
    rt_float_put(v->prim, x, &s);
    memcpy((char *)v->data + i * size, &s, (size_t)size);
}

static rt_hvalue like(const rt_hvalue *v)
{
    rt_hvalue r;
    rt_hvalue_make(&r, v->prim, v->rank, v->shape);
    return r;
}

/* v + h * dir, of integers v. */
static rt_hvalue moved(const rt_hvalue *v, const rt_hvalue *dir, double h)
{
    rt_hvalue r = like(v);
    memcpy(r.data, v->data, (size_t)rt_hvalue_bytes(v));
    for (int64_t i = 0; rt_prim_is_float(v->prim) && i < rt_hvalue_count(v); i++)
        put_element(&r, i, element(v, i) + h * element(dir, i));
    return r;
}

/* Some direction: numbers between 0.25 and 1.25, in turn with either sign. */
static rt_hvalue direction(const rt_hvalue *v, int seed)
{
    rt_hvalue r = like(v);
    for (int64_t i = 0; rt_prim_is_float(v->prim) && i < rt_hvalue_count(v); i++) {
        double x = 0.25 + (double)((i * 7 + seed * 5) % 11) / 10;
        put_element(&r, i, (i + seed) % 2 ? x : -x);
    }
    return r;
}

static void free_values(rt_hvalue *vs, int n)
{
    for (int i = 0; i < n; i++)
        rt_hvalue_free(&vs[i]);
}

/* --- Points --------------------------------------------------------------------------------- */

static InterpResult run(const Prog *p, const Entry *en, const rt_hvalue *args, int n)
{
    Interp *in = interp_new(p);
    InterpResult r = interp_run(in, en, args, n, NULL);
    interp_free(in);
    CHECK(r.status == INTERP_OK);
    if (r.status != INTERP_OK)
        printf("%s: %s\n", en->name, r.message);
    return r;
}

static InterpResult run_moved(const Prog *p, const Entry *en, const rt_hvalue *args,
                              const rt_hvalue *dirs, double h)
{
    rt_hvalue at[MAX_VALUES];
    for (int i = 0; i < en->params.n; i++)
        at[i] = moved(&args[i], &dirs[i], h);
    InterpResult r = run(p, en, at, en->params.n);
    free_values(at, en->params.n);
    return r;
}

static void compare(const Entry *en, int k, const rt_hvalue *got, const rt_hvalue *below,
                    const rt_hvalue *above)
{
    CHECK(rt_hvalue_count(got) == rt_hvalue_count(above));
    for (int64_t i = 0; i < rt_hvalue_count(got); i++) {
        double want = (element(above, i) - element(below, i)) / (2 * step), is = element(got, i);
        bool ok = fabs(is - want) <= tolerance * (1 + fabs(want)) ||
                  (isnan(want) && is == 0); /* of an infinite constant */
        CHECK(ok);
        if (!ok)
            printf("%s: result %d, element %d: %.10g, not %.10g\n", en->name, k, (int)i, is, want);
    }
}

/* p's entry and its dual program, at args in the direction dirs; then, `times` - 1 times, the dual
 * program and its own. */
static void compare_all(Ctx *cx, const Prog *p, const Entry *en, const rt_hvalue *args,
                        const rt_hvalue *dirs, int times)
{
    const Prog *dual = times ? forward(cx, en) : NULL;
    if (!dual)
        return;
    rt_hvalue both[MAX_VALUES], both_dirs[MAX_VALUES];
    int n = en->params.n;
    memcpy(both, args, sizeof *args * (size_t)n);
    for (int i = 0; i < en->params.n; i++)
        if (rt_prim_is_float(args[i].prim))
            both[n++] = dirs[i];
    InterpResult at = run(p, en, args, en->params.n);
    InterpResult below = run_moved(p, en, args, dirs, -step);
    InterpResult above = run_moved(p, en, args, dirs, step);
    InterpResult got = run(dual, &dual->entries.at[0], both, n);
    int next = at.n;
    for (int k = 0; k < at.n && got.status == INTERP_OK; k++) {
        CHECK(rt_hvalue_equal(&got.values[k], &at.values[k], 0, NULL, 0));
        if (rt_prim_is_float(at.values[k].prim))
            compare(en, k, &got.values[next++], &below.values[k], &above.values[k]);
    }
    CHECK(got.n == next);
    interp_result_free(&at);
    interp_result_free(&below);
    interp_result_free(&above);
    interp_result_free(&got);
    for (int i = 0; i < n; i++)
        both_dirs[i] = direction(&both[i], i + 1);
    compare_all(cx, dual, &dual->entries.at[0], both, both_dirs, times - 1);
    free_values(both_dirs, n);
}

static void check_point(Ctx *cx, const Prog *p, const Entry *en, const char *line)
{
    rt_hvalue args[MAX_VALUES], dirs[MAX_VALUES];
    rt_reader rd;
    rt_reader_mem(&rd, line, strcspn(line, "\n"), "a point");
    for (int i = 0; i < en->params.n; i++) {
        Type t = en->params.at[i]->type;
        rt_prim prim;
        rt_prim_named(prim_type_text[t.elem], &prim);
        bool is_read = rt_read_value(&rd, prim, t.rank, &args[i]);
        CHECK(is_read);
        if (!is_read) {
            printf("%s: %s\n", en->name, rd.error);
            return;
        }
        dirs[i] = direction(&args[i], i);
    }
    compare_all(cx, p, en, args, dirs, 2);
    free_values(args, en->params.n);
    free_values(dirs, en->params.n);
}

/* --- How many tangents there are ------------------------------------------------------------ */

static void count_var(void *env, Var *v)
{
    int *n = env;
    *n += v->base[strlen(v->base) - 1] == '\'';
}

static void count_body(void *env, Body *b);

static void count_lambda(void *env, Lambda *l)
{
    count_body(env, l->body); /* its parameters are binders of the expression */
}

static void count_body(void *env, Body *b)
{
    ExpVisitor v = {.env = env, .binder = count_var, .body = count_body, .lambda = count_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        exp_visit(b->stms.at[i].exp, &v);
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            count_var(env, b->stms.at[i].pat.at[k]);
    }
}

static void check_tangents(Ctx *cx, const Entry *en, const char *line)
{
    int n = 0;
    const Lambda *lam = ad_forward(cx, lambda_new(cx, en->params, en->body));
    for (int i = 0; i < lam->params.n; i++)
        count_var(&n, lam->params.at[i]);
    count_body(&n, lam->body);
    CHECK_INT(n, atoi(line));
    if (n != atoi(line))
        printf("%s\n", en->name);
}

/* --- Sums ------------------------------------------------------------------------------------ */

static void check_sum(Ctx *cx)
{
    const char *text = "dialect soac entry main [n, m] (a: [n][m]f32, b: [n][m]f32) = { in a }";
    const char *values = "[[1f32, 2f32]] [[30f32, 40f32]] [[31f32, 42f32]]";
    Prog *p = ir_read(cx, "sum.ir", text, strlen(text));
    Entry *en = &p->entries.at[0];
    Bld bl = bld_new(cx);
    Atoms res = {0};
    Atom a = atom_var(en->params.at[0]), b = atom_var(en->params.at[1]);
    Atom zero = ad_zero(&bl, NO_LOC, type_prim(T_F32));
    CHECK(atom_eq(ad_add(&bl, NO_LOC, zero, atom_float(T_F32, 2)), atom_float(T_F32, 2)));
    CHECK_INT(bl.stms.n, 0);
    Atom sum = ad_add(&bl, NO_LOC, a, b);
    sum = ad_add(&bl, NO_LOC, ad_zero(&bl, NO_LOC, atom_type(a)), sum);
    vec_push(cx->perm, &res, sum);
    en->body = bld_body(&bl, res);
    CHECK(!ir_check(cx, p));
    rt_hvalue vs[3];
    rt_reader rd;
    rt_reader_mem(&rd, values, strlen(values), "sum");
    for (int i = 0; i < 3; i++)
        CHECK(rt_read_any(&rd, &vs[i]));
    InterpResult r = run(p, en, vs, 2);
    CHECK(rt_hvalue_equal(&r.values[0], &vs[2], 0, NULL, 0));
    interp_result_free(&r);
    free_values(vs, 3);
}

/* --- The file ------------------------------------------------------------------------------- */

static void check_line(Ctx *cx, const Prog *p, const char *line)
{
    bool point = !strncmp(line, "-- point ", 9);
    if (!point && strncmp(line, "-- tangents ", 12))
        return;
    line += point ? 9 : 12;
    size_t n = strcspn(line, " \n");
    for (int i = 0; i < p->entries.n; i++) {
        const Entry *en = &p->entries.at[i];
        if (strlen(en->name) != n || strncmp(line, en->name, n))
            continue;
        if (point)
            check_point(cx, p, en, line + n);
        else
            check_tangents(cx, en, line + n);
        return;
    }
    CHECK(false);
    printf("no entry %.*s\n", (int)n, line);
}

int main(int argc, char **argv)
{
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    const char *path = argc > 1 ? argv[1] : "tests/unit/ad.ir";
    char *text = NULL;
    size_t n = 0;
    FILE *f = fopen(path, "rb");
    if (!f || getdelim(&text, &n, 0, f) < 0) {
        perror(path);
        return EXIT_USAGE;
    }
    fclose(f);
    const Prog *p = ir_read(&cx, path, text, strlen(text));
    diag_flush();
    CHECK(p);
    check_sum(&cx);
    for (const char *s = text; p && s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
        check_line(&cx, p, s);
    free(text);
    return check_summary();
}
