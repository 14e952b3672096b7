/* The IR's own machinery: text form and back, what the reader and the verifier reject and how they
 * say it, substitution, free variables, aliases, patterns with existential sizes. */
#include "ir/ir.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

static Ctx cx;

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static Prog *parse(const char *text)
{
    return ir_read(&cx, "test.ir", text, strlen(text));
}

/* --- The text form ------------------------------------------------------------------------------
 */

/* Ids renumbered in order of their first occurrence: a second reading in one process gets others.
 */
static void renumber(char *text)
{
    VEC(const char *) seen = {0};
    char *to = text;
    for (const char *s = text; *s;) {
        size_t n = strspn(s, "0123456789");
        if (n == 0 || s == text || s[-1] != '_') {
            *to++ = *s++;
            continue;
        }
        const char *id = arena_strndup(cx.perm, s, n);
        int k = 0;
        while (k < seen.n && strcmp(seen.at[k], id) != 0)
            k++;
        if (k == seen.n)
            vec_push(cx.perm, &seen, id);
        *to++ = (char)('!' + k);
        s += n;
    }
    *to = '\0';
}

static void round_trip(const char *path)
{
    char *text = read_file(path);
    CHECK(text != NULL);
    if (!text)
        return;
    Prog *p = parse(text);
    CHECK(p != NULL);
    Out a = {0}, b = {0};
    if (p)
        ir_print(&a, p);
    Prog *q = p ? parse(a.text) : NULL;
    CHECK(q != NULL);
    if (q) {
        ir_print(&b, q);
        renumber(a.text);
        renumber(b.text);
        CHECK(strcmp(a.text, b.text) == 0);
        CHECK(ir_check(&cx, q) == NULL);
    }
    free(text);
    out_free(&a);
    out_free(&b);
}

static void constants(void)
{
    static const char *const texts[] = {"-128i8",
                                        "255u8",
                                        "-9223372036854775808i64",
                                        "0.1f32",
                                        "-0.0f32",
                                        "1e+300f64",
                                        "f32.inf",
                                        "-f64.inf",
                                        "f64.nan",
                                        "-f32.nan",
                                        "true",
                                        "18446744073709551615u64",
                                        "10.0f32",
                                        "1e-45f32",
                                        "123456.789f64",
                                        "3i64",
                                        "f64.nan:9221120237041090561"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char buf[200];
        snprintf(buf, sizeof buf, "dialect soac entry main () = { in %s }", texts[i]);
        Prog *p = parse(buf);
        CHECK(p != NULL);
        if (p)
            CHECK(strcmp(atom_text(p->entries.at[0].body->res.at[0]), texts[i]) == 0);
    }
}

/* --- Wrong programs --- */

/* Reads the text; what is reported must contain `want`. */
static void rejected(const char *text, const char *want)
{
    char got[4096] = "";
    FILE *tmp = tmpfile();
    int saved = dup(2);
    CHECK(tmp != NULL);
    if (!tmp)
        return;
    Prog *p = parse(text);
    fflush(stderr);
    dup2(fileno(tmp), 2);
    diag_flush();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(tmp);
    size_t n = fread(got, 1, sizeof got - 1, tmp);
    got[n] = '\0';
    fclose(tmp);
    CHECK(p == NULL);
    CHECK(strstr(got, want) != NULL);
    if (!strstr(got, want))
        fprintf(stderr, "  wanted: %s\n  got: %s\n", want, got);
}

#define MAIN(params, body) "dialect soac entry main [n, m] (" params ") = { " body " }"
#define SEG(params, body)  "dialect seg entry main [n, m] (" params ") = { " body " }"
#define XS                 "xs: [n]f32, ys: [m]f32"

static void reader_errors(void)
{
    rejected("", "expected 'dialect'");
    rejected("dialect soac entry main () = { in x }", "x is not in scope");
    rejected("dialect soac entry main () = { in 300u8 }", "300u8 does not fit in u8");
    rejected("dialect soac entry main () = { in -1u8 }", "does not fit in u8");
    rejected("dialect soac entry main () = { in 1.5i32 }", "is not an integer");
    rejected("dialect soac entry main () = { in 1q }", "no suffix");
    rejected("dialect soac entry main () = { let x: i32 = add.i31 1i32 1i32 in x }",
             "i31 is not a scalar type");
    rejected("dialect soac entry main () = { let x: i32 = ", "expected");
    rejected("dialect soac entry main () = { let x: i32 = 1i32 in (x", "expected ')'");
    rejected("dialect soac entry main () = { let a_1: i32 = 1i32 let a_1: i32 = 2i32 in a_1 }",
             "a_1 is bound twice");
    rejected(MAIN(XS, "let a: f32 = xs[:, :] in a"), "more positions than dimensions");
    rejected("dialect soac entry main () = { in \"abc", "string without an end");
    rejected("dialect soac \x01", "unexpected character");
}

static void function_errors(void)
{
#define CALLS(function, body)                                                                      \
    "dialect soac function f_f1 " function " entry main (a: i64) = { " body " }"
#define ONE "let x: i64 = call f_f1 (a) in x"
    rejected("dialect soac entry main (a: i64) = { " ONE " }", "there is no function f_f1");
    rejected(CALLS("(b: i64) = { in b } function f_f1 (c: i64) = { in c }", ONE),
             "there are two functions f_f1");
    rejected(CALLS("(b: i64) = { in b }", "let x: i64 = call f_f1 (a, a) in x"),
             "2 arguments instead of 1");
    rejected(CALLS("(b: i32) = { in b }", "let x: i32 = call f_f1 (a) in x"), "arguments a_");
    rejected(CALLS("(b: i64) = { in b }", "let x: i32 = call f_f1 (a) in x"), "variable x_");
    rejected(CALLS("(b: i64) = { in () }", "let () = call f_f1 (a) in a"),
             "a function of 0 results");
    rejected(CALLS("(b: i64) = { let c: i64 = quot.i64 1i64 b in c }", ONE), "what may fail");
    rejected(CALLS("(b: i64) = { let () = assert true \"no\" () in b }", ONE),
             "ASSERT in a function");
    rejected(CALLS("(b: i64) = { let c: [1]i64 = replicate [1] b let d: i64 = c[0]! in d }", ONE),
             "REPLICATE in a function");
#undef CALLS
#undef ONE
}

static void verifier_errors(void)
{
    rejected(MAIN(XS, "let a: i32 = add.f32 1.0f32 2.0f32 in a"),
             "has type i32 instead of f32, in: let a_");
    rejected(MAIN(XS, "let a: f32 = add.f32 1.0f32 2i32 in a"), "operand 2i32 has type i32");
    rejected(MAIN(XS, "let a: f32 = and.f32 1.0f32 2.0f32 in a"), "and does not work on f32");
    rejected(MAIN(XS, "let a: f32 = xs[0i32] in a"), "position 0i32 has type i32 instead of i64");
    rejected(MAIN(XS, "let a: f32 = xs[0, 1] in a"), "2 positions instead of 1");
    rejected(MAIN(XS, "let a: [n]f32 = map n (ys) \\(y: f32) -> { in y } in a"), "rows instead of");
    rejected(MAIN(XS, "let a: [n]f32 = map n (xs) \\(y: i32) -> { in 1.0f32 } in a"), "parameter");
    rejected(MAIN(XS, "let a: f32 = reduce n (xs) op \\(x: f32, y: f32) -> { in (x, y) }"
                      " nes (0.0f32) in a"),
             "results of the operator");
    rejected(MAIN(XS, "let a: [n]f32 = rearrange (1) xs in a"), "no permutation");
    rejected(MAIN(XS, "let a: i32 = if true then { in 1i32 } else { in 1i64 } in a"),
             "but the branches give");
    rejected(MAIN(XS, "let a: i32 = loop (p: i32 = 1i64) for i: i64 < n do { in p } in a"),
             "initial values 1i64");
    rejected(MAIN(XS, "let a: i32 = loop (p: i32 = 1i32) for i: i32 < n do { in p } in a"),
             "bound n_");
    rejected(MAIN(XS, "let (a: f32, b: f32) = jvp (n) (1) \\(x: f32) -> { in x } in a"),
             "arguments n_");
    rejected(MAIN(XS, "let (a: f32, b: f32) = jvp (1.0f32) (n) \\(x: f32) -> { in x } in a"),
             "seeds n_");
    rejected(MAIN(XS, "let (a: f32, b: f32) = vjp (1.0f32) () \\(x: f32) -> { in x } in a"),
             "0 seeds instead of 1");
    rejected(
        MAIN(XS, "let (a: f32, b: [n]f32) = vjp (xs) (xs) \\(v: [n]f32) -> { in 1.0f32 } in a"),
        "seeds xs_");
    rejected(
        MAIN(XS, "let (a: f32, b: f32) = vjp (xs) (1.0f32) \\(v: [n]f32) -> { in 1.0f32 } in a"),
        "variable b_");
    rejected(MAIN(XS, "let a: f32 = with_vjp (1.0f32) () \\(x: f32) -> { in x } "
                      "\\(y: f32) -> { in y } in a"),
             "1 parameters of the operator instead of 2");
    rejected(MAIN(XS, "let a: f32 = with_vjp (1.0f32) () \\(x: f32) -> { in x } "
                      "\\(y: f32, z: f32) -> { in n } in a"),
             "adjoints n_");
    rejected(MAIN(XS, "let a: f32 = stop_gradient (1.0f32) (1.0f32) \\(x: f32) -> { in x } in a"),
             "1 seeds instead of 0");
    rejected(SEG(XS, "let (a: f32, b: f32) = jvp (1.0f32) (1.0f32) \\(x: f32) -> { in x } in a"),
             "jvp does not belong");
    rejected(MAIN(XS, "let () = assert true \"%d\" () in n"), "0 arguments of the message instead");
    rejected(MAIN(XS, "let c: bool = suff outer \"a\" path () n in c"), "does not belong");
    rejected(SEG(XS, "let c: bool = suff outer \"a\" path () n"
                     " let d: bool = suff outer \"a\" path () n in (c, d)"),
             "compared twice");
    rejected(SEG(XS, "let a: [n]f32 = segmap^0 <x in xs; i < n> { in x } in a"),
             "segmap^0 where only level 1 may stand");
    rejected(
        SEG(XS,
            "let a: [n]f32 = segmap^1 <x in xs; i < n> {"
            " let r: [m]f32 = segmap^1 <y in ys; j < m> { in y } let z: f32 = r[0] in z } in a"),
        "segmap^1 where only level 0 may stand");
    rejected(
        SEG(XS,
            "let a: [n]f32 = map n (xs) \\(x: f32) -> {"
            " let r: [m]f32 = segmap^1 <y in ys; j < m> { in y } let z: f32 = r[0] in z } in a"),
        "inside sequential code");
}

#define UNIQUE "xs: *[n]f32, ys: [n]f32"

static void consumption_errors(void)
{
    rejected(MAIN(UNIQUE, "let a: [n]f32 = update ys[0] = 1.0f32 in a"), "is not unique");
    rejected(MAIN(UNIQUE, "let a: [n]f32 = update xs[0] = 1.0f32 let b: f32 = xs[0] in (a, b)"),
             "is used after it was consumed");
    rejected(
        MAIN(UNIQUE, "let v: [2]f32 = xs[0:2:1] let a: [n]f32 = update xs[0] = 1.0f32 in (a, v)"),
        "which it may share memory with, was consumed");
    rejected(MAIN(UNIQUE, "let a: [n]f32 = loop (p: [n]f32 = ys) for i: i64 < n do {"
                          " let q: [n]f32 = update xs[i] = 1.0f32 in q } in a"),
             "inside a body that runs several times");
    /* What a loop's last turn made is bound where the loop is, not in another loop's turns. */
    rejected(MAIN(UNIQUE,
                  "let a: [n]f32 = loop (p: [n]f32 = xs) for i: i64 < n do {"
                  " let q: [n]f32 = update p[i] = 1.0f32 in q }"
                  "let b: [n]f32 = loop (p: [n]f32 = ys) for i: i64 < n do {"
                  " let q: [n]f32 = update a[i] = 1.0f32 let r: [n]f32 = copy q in r } in b"),
             "inside a body that runs several times");
    rejected(MAIN(UNIQUE,
                  "let (a: [n]f32, b: [n]f32) = loop (p: [n]f32 = xs, q: [n]f32 = xs)"
                  " for i: i64 < n do { let r: [n]f32 = update p[i] = 1.0f32 in (r, q) } in a"),
             "may share memory with");
    rejected(MAIN(UNIQUE, "let a: [n]f32 = loop (p: [n]f32 = xs) for i: i64 < n do {"
                          " let x: f32 = xs[i] let q: [n]f32 = update p[0] = x in q } in a"),
             "is used in its body");
    rejected(MAIN(UNIQUE,
                  "let a: [n]f32 = if true then { let q: [n]f32 = update xs[0] = 1.0f32 in q }"
                  " else { in ys } in (a, xs)"),
             "is used after it was consumed");
    rejected(MAIN(UNIQUE, "let (a: [n]f32, b: [n]f32) = jvp (xs) (ys) \\(v: [n]f32) -> {"
                          " let q: [n]f32 = update v[0] = 1.0f32 in q } in a"),
             "the parameter v_");
    rejected(MAIN(UNIQUE, "let (a: [n]f32, b: f32) = vjp (1.0f32) (ys) \\(x: f32) -> {"
                          " let q: [n]f32 = update xs[0] = x in q } in a"),
             "inside a body that runs several times");
    CHECK(parse(MAIN(UNIQUE,
                     "let a: [n]f32 = if true then { let q: [n]f32 = update xs[0] = 1.0f32 in q }"
                     " else { let q: [n]f32 = update xs[1] = 1.0f32 in q } in a")) != NULL);
    CHECK(parse(MAIN(UNIQUE, "let a: [n]f32 = loop (p: [n]f32 = xs) for i: i64 < n do {"
                             " let q: [n]f32 = update p[i] = 1.0f32 in q } in a")) != NULL);
}

/* --- Functions --- */

static void walking(void)
{
    Prog *p =
        parse(MAIN("xss: [n][m]f32, k: i64",
                   "let r: [n][m]f32 = map n (xss) \\(xs: [m]f32) -> {"
                   " let t: [m]f32 = map m (xs) \\(x: f32) -> {"
                   "   let kf: f32 = conv.i64.f32 k let y: f32 = add.f32 x kf in y } in t } in r"));
    CHECK(p != NULL);
    if (!p)
        return;
    const Entry *en = &p->entries.at[0];
    const Exp *e = en->body->stms.at[0].exp;
    Vars free = free_vars_lambda(&cx, e->soac.fn);
    CHECK_INT(free.n, 2); /* m, k */
    VarSet *s = varmap_new(cx.perm);
    varset_add(s, en->params.at[1]);
    CHECK(exp_uses_any(e, s));
    varmap_del(s, en->params.at[1]);
    CHECK(!exp_uses_any(e, s));
    Exp *copy = rename_exp(&cx, e);
    CHECK(copy->soac.fn->params.at[0] != e->soac.fn->params.at[0]);
    CHECK(type_eq(copy->soac.fn->params.at[0]->type, e->soac.fn->params.at[0]->type));
    Subst *su = subst_new(&cx);
    subst_add(su, en->params.at[1], atom_i64(7));
    Exp *seven = subst_exp(&cx, su, e);
    CHECK(!exp_uses_any(seven, (varset_add(s, en->params.at[1]), s)));
    CHECK(!exp_traps(e) && exp_has_soac(e) && !exp_has_effect(e));
    VarMap *m = varmap_new(cx.perm);
    Vars many = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(cx.perm, &many, var_new(&cx, "v", type_prim(T_I32), (Loc){0, 0}));
    for (int i = 0; i < 1000; i += 2)
        varset_add(m, many.at[i]);
    int hits = 0;
    for (int i = 0; i < 1000; i++)
        hits += varset_has(m, many.at[i]);
    CHECK_INT(hits, 500);
}

static void existential_sizes(void)
{
    Prog *p = parse(MAIN("xs: [n]f32, ys: [m]f32, c: bool",
                         "let (k: i64, zs: [k]f32, ws: [n]f32) = if c then { in (n, xs, xs) }"
                         " else { in (m, ys, xs) } in zs"));
    CHECK(p != NULL);
    if (!p)
        return;
    const Exp *e = p->entries.at[0].body->stms.at[0].exp;
    Vars pat = exp_pat(&cx, "r", e);
    CHECK_INT(pat.n, 3);
    CHECK(pat.at[1]->type.dims[0].var == pat.at[0]);
    CHECK(pat.at[2]->type.dims[0].var == p->entries.at[0].sizes.at[0]);
}

static void consumed_arrays(void)
{
    Prog *p = parse(MAIN("xs: *[n]f32, ys: [n]f32",
                         "let a: [n]f32 = copy ys let b: [n]f32 = copy ys"
                         " let (c: [n]f32, d: [n]f32) = loop (p: [n]f32 = a, q: [n]f32 = b)"
                         " for i: i64 < n do { let r: [n]f32 = update p[i] = 1.0f32 in (q, r) }"
                         " in (c, d)"));
    CHECK(p != NULL);
    if (!p)
        return;
    const Entry *en = &p->entries.at[0];
    VarSet *s = alias_consumed(&cx, en);
    /* p's next value is q: both initial values are consumed. */
    CHECK(varset_has(s, en->body->stms.at[0].pat.at[0]));
    CHECK(varset_has(s, en->body->stms.at[1].pat.at[0]));
    CHECK(!varset_has(s, en->params.at[1]));
    Vars eaten = exp_consumes(&cx, en->body->stms.at[2].exp);
    CHECK_INT(eaten.n, 2);
}

/* --- The table of forms --------------------------------------------------------------------- */

static bool trait(int k, unsigned traits)
{
    return (form_info[k].traits & traits) != 0;
}

/* What one trait implies of the others, and that forms of one member differ by word
 * or operation. */
static void form_traits(void)
{
    for (int k = 0; k < N_FORMS; k++) {
        ExpMember m = form_info[k].member;
        bool nests = m == M_soac || m == M_seg;
        CHECK(!trait(k, F_BINS) || trait(k, F_DESTS));
        CHECK(!trait(k, F_DESTS) || (nests && trait(k, F_STAYS)));
        CHECK(!trait(k, F_OP) || nests);
        CHECK(!trait(k, F_FN) || m == M_soac);
        CHECK(!nests || trait(k, F_CODE));
        CHECK(m != M_seg || form_info[k].dialects == D_SEG);
        CHECK(!trait(k, F_VIEW) || !trait(k, F_ALLOC | F_CODE | F_STAYS));
        Exp *e = exp_new(&cx, (ExpKind)k, (Loc){0});
        CHECK((exp_dests(e) != NULL) == nests);
        for (int j = 0; j < k; j++)
            CHECK(!*form_info[k].text || strcmp(form_info[k].text, form_info[j].text) != 0);
    }
}

int main(void)
{
    cx = (Ctx){.perm = arena_new(), .scratch = arena_new()};
    round_trip("tests/unit/ir_all.ir");
    round_trip("tests/unit/ir_seg.ir");
    constants();
    reader_errors();
    function_errors();
    verifier_errors();
    consumption_errors();
    walking();
    existential_sizes();
    consumed_arrays();
    form_traits();
    arena_free(cx.perm);
    arena_free(cx.scratch);
    return check_summary();
}
