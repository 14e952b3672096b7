/* The partial derivatives of scalar operations (prims.def, ad/partial.c): each operation on floats
 * against difference quotients; what they come to as statements; values at kinks and poles. */
#include "ad/ad_int.h"
#include "interp/interp.h"
#include "tests/unit/check.h"

#include <math.h>

enum { MAX_RESULTS = 4 };

/* An operation as a program that gives its result, then, if asked, its partial derivatives. */
typedef struct {
    const Prog *prog;
    Interp *in;
    int arity;
} Calculator;

/* `last`: a constant in place of the last operand, or NULL. */
static Prog *program(Ctx *cx, PrimOp op, PrimType t, const char *last)
{
    const PrimInfo *info = &prim_info[op];
    const char *ty = prim_type_text[t], *to = prim_type_text[prim_result(op, t)];
    const char *names[] = {"x_1", "y_2", "z_3"};
    Out o = {0};
    out_printf(&o, "dialect soac entry main (x_1: %s, y_2: %s, z_3: %s) = { let r_4: %s = %s.%s",
               ty, ty, ty, to, info->text, ty);
    for (int i = 0; i < info->arity; i++)
        out_printf(&o, " %s", last && i == info->arity - 1 ? last : names[i]);
    out_printf(&o, " in r_4 }");
    Prog *p = ir_read(cx, "op.ir", o.text, strlen(o.text));
    diag_flush();
    out_free(&o);
    return p;
}

static Prog *with_partials(Ctx *cx, PrimOp op, PrimType t, const char *last)
{
    Prog *p = program(cx, op, t, last);
    Entry *en = &p->entries.at[0];
    Bld bl = bld_new(cx);
    Atoms res = {0};
    Atom partials[MAX_RESULTS];
    bld_stm(&bl, en->body->stms.at[0]);
    vec_push(cx->perm, &res, en->body->res.at[0]);
    ad_partials(&bl, NO_LOC, en->body->stms.at[0].exp, res.at[0], partials);
    for (int i = 0; i < prim_info[op].arity; i++) {
        ExtParam ext = {"partial", false, {.text = prim_type_text[t], .n_vals = 1}};
        vec_push(cx->perm, &res, partials[i]);
        vec_push(cx->perm, &en->ext_results, ext);
    }
    en->body = bld_body(&bl, res);
    const char *wrong = ir_check(cx, p);
    CHECK(!wrong);
    if (wrong)
        printf("%s: %s\n", prim_info[op].text, wrong);
    return p;
}

static Calculator calculator(const Prog *p, PrimOp op)
{
    return (Calculator){p, interp_new(p), prim_info[op].arity};
}

static void calculate(const Calculator *c, const double *x, double *out)
{
    rt_hvalue args[3];
    const Entry *en = &c->prog->entries.at[0];
    for (int i = 0; i < 3; i++) {
        rt_prim t;
        rt_scalar s;
        rt_prim_named(prim_type_text[en->params.at[i]->type.elem], &t);
        rt_float_put(t, x[i], &s);
        rt_hvalue_make(&args[i], t, 0, NULL);
        memcpy(args[i].data, &s, (size_t)rt_prim_size(t));
    }
    InterpResult r = interp_run(c->in, en, args, 3, NULL);
    CHECK(r.status == INTERP_OK);
    for (int i = 0; i < r.n; i++)
        out[i] = rt_prim_is_float(r.values[i].prim)
                     ? rt_float_get(r.values[i].prim, r.values[i].data)
                     : NAN;
    for (int i = 0; i < 3; i++)
        rt_hvalue_free(&args[i]);
    interp_result_free(&r);
}

/* --- Difference quotients ------------------------------------------------------------------- */

static double quotient(const Calculator *c, const double *at, int i, double h)
{
    double x[3] = {at[0], at[1], at[2]}, below, above;
    x[i] = at[i] - h;
    calculate(c, x, &below);
    x[i] = at[i] + h;
    calculate(c, x, &above);
    return (above - below) / (2 * h);
}

/* The quotient, if two of them agree so well that the operation is defined and smooth there. */
static bool derivative(const Calculator *c, const double *at, int i, double *d)
{
    double rough = quotient(c, at, i, 2e-5);
    *d = quotient(c, at, i, 1e-5);
    return isfinite(rough) && fabs(*d - rough) <= 1e-6 * (1 + fabs(*d));
}

static const double points[][3] = {{0.375, 0.75, -1.5}, {-0.625, 1.25, 0.5}, {0.875, -2.5, 3},
                                   {1.625, 2.125, 1},   {-2.375, 3.25, 2},   {7.25, 3.5, -0.25},
                                   {-7.75, -1.25, 1},   {30.5, 7.125, 5}};

static void check_op(Ctx *cx, PrimOp op, PrimType t, double tolerance)
{
    Calculator exact = calculator(program(cx, op, T_F64, NULL), op);
    Calculator of = calculator(with_partials(cx, op, t, NULL), op);
    int compared = 0;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        double got[MAX_RESULTS], want;
        calculate(&of, points[k], got);
        for (int i = 0; i < of.arity; i++) {
            if (!derivative(&exact, points[k], i, &want))
                continue;
            compared++;
            CHECK(fabs(got[1 + i] - want) <= tolerance * (1 + fabs(want)));
            if (!(fabs(got[1 + i] - want) <= tolerance * (1 + fabs(want))))
                printf("%s.%s, operand %d at %g %g %g: %.10g, not %.10g\n", prim_info[op].text,
                       prim_type_text[t], i, points[k][0], points[k][1], points[k][2], got[1 + i],
                       want);
        }
    }
    CHECK(compared >= 3 * of.arity);
    if (compared < 3 * of.arity)
        printf("%s: compared in %d places only\n", prim_info[op].text, compared);
    interp_free(exact.in);
    interp_free(of.in);
}

static void check_quotients(Ctx *cx)
{
    for (int op = 0; op < N_PRIM_OPS; op++) {
        if (!strchr("FNAS", prim_info[op].operands) || prim_info[op].result != 'S')
            continue;
        check_op(cx, (PrimOp)op, T_F64, 1e-6);
        check_op(cx, (PrimOp)op, T_F32, 1e-4);
    }
}

/* --- Statements ----------------------------------------------------------------------------- */

/* The operations that the derivatives consist of, then what they are, of f64 or another type;
 * variables of statements are named after their operations. */
static void check_text(Ctx *cx, PrimOp op, PrimType t, const char *last, const char *want)
{
    Prog *p = with_partials(cx, op, t, last);
    const Body *b = p->entries.at[0].body;
    Out o = {0};
    for (int i = 1; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        out_printf(&o, "%s ", e->kind == E_PRIM ? prim_info[e->prim.op].text : "conv");
    }
    for (int i = 1; i < b->res.n; i++) {
        const Atom a = b->res.at[i];
        out_printf(&o, i > 1 ? ", %s" : "= %s", a.var ? a.var->base : atom_text(a));
    }
    CHECK(!strcmp(o.text, want));
    if (strcmp(o.text, want))
        printf("%s: %s\n", prim_info[op].text, o.text);
    out_free(&o);
}

static void check_texts(Ctx *cx)
{
    check_text(cx, OP_ADD, T_F64, NULL, "= 1.0f64, 1.0f64");
    check_text(cx, OP_SUB, T_F32, NULL, "= 1.0f32, -1.0f32");
    check_text(cx, OP_NEG, T_F32, NULL, "= -1.0f32");
    check_text(cx, OP_MUL, T_F64, NULL, "= y, x");
    check_text(cx, OP_FMA, T_F64, NULL, "= y, x, 1.0f64");
    check_text(cx, OP_FMA, T_F64, "2.0f64", "= y, x, 0.0f64");
    check_text(cx, OP_DIV, T_F64, NULL, "div div neg = div, neg");
    check_text(cx, OP_SIN, T_F64, NULL, "cos = cos");
    check_text(cx, OP_EXP, T_F64, NULL, "= r");
    check_text(cx, OP_MIN, T_F64, NULL, "le conv lt conv = num, num");
    check_text(cx, OP_FLOOR, T_F64, NULL, "= 0.0f64");
    check_text(cx, OP_POW, T_F64, "2.0f64", "mul = mul, 0.0f64");
    check_text(cx, OP_POW, T_F64, "1.0f64", "= 1.0f64, 0.0f64");
    check_text(cx, OP_POW, T_F64, "0.5f64", "pow mul = mul, 0.0f64");
    /* Integers, and what has no floats as results, have none. */
    check_text(cx, OP_MUL, T_I32, NULL, "= 0i32, 0i32");
    check_text(cx, OP_ABS, T_I64, NULL, "= 0i64");
    check_text(cx, OP_LT, T_F32, NULL, "= 0.0f32, 0.0f32");
    check_text(cx, OP_TO_BITS, T_F32, NULL, "= 0.0f32");
    check_text(cx, OP_FROM_BITS, T_U32, NULL, "= 0u32");
}

/* --- Kinks and poles ------------------------------------------------------------------------ */

static void check_at(Ctx *cx, PrimOp op, double x, double y, double dx, double dy)
{
    Calculator c = calculator(with_partials(cx, op, T_F64, NULL), op);
    double at[3] = {x, y, 0}, got[MAX_RESULTS] = {0};
    calculate(&c, at, got);
    CHECK(got[1] == dx);
    CHECK(c.arity == 1 || got[2] == dy);
    if (got[1] != dx || (c.arity > 1 && got[2] != dy))
        printf("%s at %g %g: %g %g\n", prim_info[op].text, x, y, got[1], got[2]);
    interp_free(c.in);
}

static void check_kinks(Ctx *cx)
{
    check_at(cx, OP_ABS, 0, 0, 0, 0);
    check_at(cx, OP_MIN, 2, 2, 1, 0);
    check_at(cx, OP_MAX, 2, 2, 1, 0);
    check_at(cx, OP_HYPOT, 0, 0, 0, 0);
    check_at(cx, OP_SQRT, 0, 0, INFINITY, 0);
    check_at(cx, OP_POW, 0, 2, 0, 0);
    check_at(cx, OP_POW, 0, 1, 1, 0);
    check_at(cx, OP_POW, 0, 0.5, INFINITY, 0);
    check_at(cx, OP_POW, 0, 0, 0, 0);
    check_at(cx, OP_MOD, -7, 2, 1, 3);
    check_at(cx, OP_MOD, 7, INFINITY, 1, 0);
    check_at(cx, OP_COPYSIGN, -3, 2, -1, 0);
}

int main(void)
{
    Ctx cx = {.perm = arena_new(), .scratch = arena_new()};
    check_quotients(&cx);
    check_texts(&cx);
    check_kinks(&cx);
    return check_summary();
}
