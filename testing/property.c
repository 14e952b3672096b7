/* Properties: entry points that must give `true` whatever they are given, as Futhark's test files
 * have them. The interpreter tries arguments that grow up to a size; one for which a property does
 * not hold is made smaller as long as it still does not. Some of those tried become cases, so that
 * compiled programs are asked, too. */
#include "testing/testing.h"

#include "autotune/data/random.h"
#include "base/out.h"
#include "interp/interp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 100, DEFAULT_SIZE = 50, MOST_SHRINKS = 500, SHRINK_ELEMENTS = 40, CASES = 3 };

typedef VEC(rt_hvalue) Args;

typedef struct {
    Run *run;
    const Property *p;
    Interp *in;
    const Entry *en, *generator, *shrinker;
    RandomGen g;
    const char *why; /* it does not hold */
} Trial;

static void free_args(Args *args)
{
    for (int i = 0; i < args->n; i++)
        rt_hvalue_free(&args->at[i]);
    args->n = 0;
}

static const char *first_line(Arena *a, const char *text)
{
    return arena_strndup(a, text, strcspn(text, "\n"));
}

static bool holds(Trial *t, const Args *args)
{
    InterpResult r = interp_run(t->in, t->en, args->at, args->n, NULL);
    bool ok = r.status == INTERP_OK && *(const bool *)r.values[0].data;
    if (!ok)
        t->why = r.status == INTERP_OK ? "gives false" : first_line(t->run->a, r.message);
    interp_result_free(&r);
    return ok;
}

/* What the entry point gives, as further arguments; false if it fails, which t->why says, or gives
 * another number of values than the property takes. */
static bool apply(Trial *t, const Entry *en, const Args *args, Args *res)
{
    InterpResult r = interp_run(t->in, en, args->at, args->n, NULL);
    bool ok = r.status == INTERP_OK && r.n == t->en->params.n;
    t->why = arena_printf(t->run->a, "%s: %s", en->name,
                          r.status == INTERP_OK ? "it does not give what the property takes"
                                                : first_line(t->run->a, r.message));
    for (int i = 0; ok && i < r.n; i++) {
        vec_push(t->run->a, res, r.values[i]);
        r.values[i].data = NULL; /* theirs now */
    }
    interp_result_free(&r);
    return ok;
}

/* --- Candidates ----------------------------------------------------------------------------- */

static rt_hvalue scalar(rt_prim p, int64_t x)
{
    rt_hvalue v;
    if (!rt_hvalue_make(&v, p, 0, NULL))
        ice(NO_LOC, "no memory for a number");
    memcpy(v.data, &x, (size_t)rt_prim_size(p)); /* little endian, as the data formats are */
    return v;
}

static int64_t random_below(Trial *t, int64_t n)
{
    rt_hvalue v;
    random_value(t->run->a, &t->g, "u32", &v);
    int64_t x = rt_int_get(RT_U32, v.data) % n;
    rt_hvalue_free(&v);
    return x;
}

/* Numbers between -size and size, as far as their type has them. */
static void set_bounds(Trial *t, int64_t size)
{
    for (int p = 0; p < RT_N_PRIMS; p++) {
        RandomBounds *b = &t->g.bounds[p];
        int64_t most = rt_prim_size((rt_prim)p) == 1 && size > 127 ? 127 : size;
        bool negative = rt_prim_is_float((rt_prim)p) || rt_prim_is_signed((rt_prim)p);
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, most);
        b->set = p != RT_BOOL && rt_parse_scalar(text, (rt_prim)p, &b->hi);
        snprintf(text, sizeof text, "%" PRId64, negative ? -most : 0);
        b->set = b->set && rt_parse_scalar(text, (rt_prim)p, &b->lo);
    }
}

/* The size that the variable is, in this candidate. */
static int64_t size_of(Trial *t, PtrMap *sizes, const Var *v, int64_t most)
{
    int64_t *n = ptrmap_get(sizes, v);
    if (!n) {
        n = NEW(t->run->a, int64_t);
        *n = random_below(t, most + 1);
        ptrmap_put(sizes, v, n);
    }
    return *n;
}

static bool random_args(Trial *t, int64_t size, Args *args)
{
    PtrMap *sizes = ptrmap_new(t->run->a);
    const Vars *ps = &t->en->params;
    set_bounds(t, size);
    for (int i = 0; i < ps->n; i++) {
        Type ty = ps->at[i]->type;
        Out o = {0};
        for (int d = 0; d < ty.rank; d++)
            out_printf(&o, "[%" PRId64 "]",
                       ty.dims[d].var ? size_of(t, sizes, ty.dims[d].var, size) : ty.dims[d].c.i);
        out_puts(&o, prim_type_text[ty.elem]);
        rt_hvalue v;
        t->why = random_value(t->run->a, &t->g, o.text, &v);
        out_free(&o);
        if (t->why)
            return false;
        vec_push(t->run->a, args, v);
    }
    return true;
}

/* Arguments of about this size; *seed is what the generator is given, if there is one. */
static bool candidate(Trial *t, int64_t size, int64_t *seed, Args *args)
{
    if (!t->generator)
        return random_args(t, size, args);
    *seed = random_below(t, INT32_MAX);
    Args given = {0};
    vec_push(t->run->a, &given, scalar(RT_I64, size));
    vec_push(t->run->a, &given, scalar(RT_I64, *seed));
    bool ok = apply(t, t->generator, &given, args);
    free_args(&given);
    return ok;
}

/* --- Smaller ones --------------------------------------------------------------------------- */

/* The first n of the v's elements along dimension d. */
static rt_hvalue shortened(const rt_hvalue *v, int d, int64_t n)
{
    int64_t shape[RT_MAX_RANK], outer = 1, inner = rt_prim_size(v->prim);
    for (int k = 0; k < v->rank; k++) {
        shape[k] = k == d ? n : v->shape[k];
        outer *= k < d ? v->shape[k] : 1;
        inner *= k > d ? v->shape[k] : 1;
    }
    rt_hvalue r;
    if (!rt_hvalue_make(&r, v->prim, v->rank, shape))
        ice(NO_LOC, "no memory for a part of an array");
    for (int64_t i = 0; i < outer; i++)
        memcpy((char *)r.data + i * n * inner, (const char *)v->data + i * v->shape[d] * inner,
               (size_t)(n * inner));
    return r;
}

static rt_hvalue copied(const rt_hvalue *v)
{
    rt_hvalue r;
    if (!rt_hvalue_make(&r, v->prim, v->rank, v->shape))
        ice(NO_LOC, "no memory for a copy of an array");
    memcpy(r.data, v->data, (size_t)rt_hvalue_bytes(v));
    return r;
}

/* Takes the other arguments in the place of these if the property does not hold of them, either. */
static bool adopt(Trial *t, Args *args, Args *other)
{
    const char *why = t->why;
    bool smaller = !holds(t, other);
    Args drop = smaller ? *args : *other;
    if (smaller)
        *args = *other;
    else
        t->why = why;
    free_args(&drop);
    return smaller;
}

/* With n in the place of a size. */
static bool shrink_size(Trial *t, Args *args, const Var *size, int64_t n)
{
    const Vars *ps = &t->en->params;
    Args other = {0};
    for (int i = 0; i < ps->n; i++) {
        rt_hvalue v = copied(&args->at[i]);
        for (int d = 0; d < ps->at[i]->type.rank; d++)
            if (ps->at[i]->type.dims[d].var == size) {
                rt_hvalue part = shortened(&v, d, n);
                rt_hvalue_free(&v);
                v = part;
            }
        vec_push(t->run->a, &other, v);
    }
    return adopt(t, args, &other);
}

static bool shrink_sizes(Trial *t, Args *args)
{
    const Vars *ps = &t->en->params;
    for (int i = 0; i < ps->n; i++)
        for (int d = 0; d < ps->at[i]->type.rank; d++) {
            const Var *size = ps->at[i]->type.dims[d].var;
            int64_t n = args->at[i].shape[d];
            const int64_t less[] = {0, n / 2, n - 1};
            for (int k = 0; size && n && k < 3; k++)
                if (shrink_size(t, args, size, less[k]))
                    return true;
        }
    return false;
}

/* What may take a number's place: 0, half of it, the next one towards 0. */
typedef enum { TO_ZERO, TO_HALF, TO_NEXT, N_STEPS } Step;

static bool smaller(const rt_hvalue *v, const char *at, Step step, rt_scalar *x)
{
    char text[64];
    if (rt_prim_is_float(v->prim)) {
        double f = rt_float_get(v->prim, at);
        double less[] = {0, f / 2, f > 0 ? f - 1 : f + 1};
        snprintf(text, sizeof text, "%.0f", less[step]);
    } else {
        int64_t n = rt_int_get(v->prim, at), less[] = {0, n / 2, n > 0 ? n - 1 : n + 1};
        snprintf(text, sizeof text, "%" PRId64, less[step]);
    }
    bool is_bool = v->prim == RT_BOOL;
    return is_bool ? step == TO_ZERO : rt_parse_scalar(text, v->prim, x);
}

static bool shrink_element(Trial *t, Args *args, int i, int64_t k, Step step)
{
    const rt_hvalue *v = &args->at[i];
    int64_t bytes = rt_prim_size(v->prim);
    const char *at = (const char *)v->data + k * bytes;
    const char zero[sizeof(rt_scalar)] = {0};
    rt_scalar x = {0};
    if (memcmp(at, zero, (size_t)bytes) == 0 || !smaller(v, at, step, &x) ||
        memcmp(&x, at, (size_t)bytes) == 0)
        return false;
    Args other = {0};
    for (int j = 0; j < args->n; j++)
        vec_push(t->run->a, &other, copied(&args->at[j]));
    memcpy((char *)other.at[i].data + k * bytes, &x, (size_t)bytes);
    return adopt(t, args, &other);
}

static bool shrink_elements(Trial *t, Args *args)
{
    for (int i = 0; i < args->n; i++) {
        int64_t n = rt_hvalue_count(&args->at[i]);
        for (int64_t k = 0; k < n && k < SHRINK_ELEMENTS; k++)
            for (int step = 0; step < N_STEPS; step++)
                if (shrink_element(t, args, i, k, (Step)step))
                    return true;
    }
    return false;
}

/* Once, by the program's own function. */
static bool shrink_by_program(Trial *t, Args *args)
{
    const char *why = t->why;
    Args given = {0}, other = {0};
    vec_append(t->run->a, &given, args);
    rt_hvalue random = scalar(RT_I32, random_below(t, INT32_MAX));
    vec_push(t->run->a, &given, random);
    bool ok = apply(t, t->shrinker, &given, &other);
    rt_hvalue_free(&random);
    t->why = why;
    return ok && adopt(t, args, &other);
}

static void shrink(Trial *t, Args *args)
{
    for (int i = 0; i < MOST_SHRINKS; i++)
        if (t->shrinker)
            shrink_by_program(t, args);
        else if (t->generator || !(shrink_sizes(t, args) || shrink_elements(t, args)))
            return;
}

/* --- A property ----------------------------------------------------------------------------- */

static void tell(Trial *t, const TestCase *c, const Args *args)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; f && i < args->n; i++) {
        fputs(i ? " " : "", f);
        rt_write_text(f, &args->at[i]);
    }
    if (f)
        fclose(f);
    test_fail(t->run, c, "it does not hold of %s: %s", text ? text : "this", t->why);
    free(text);
}

/* The arguments as a case: what a generator made is made again, as it may be or hold sums. */
static void add_case(Trial *t, TestCase c, int64_t size, int64_t seed, const Args *args)
{
    char *blob = NULL;
    size_t n = 0;
    FILE *f = t->generator ? NULL : open_memstream(&blob, &n);
    for (int i = 0; f && i < args->n; i++)
        rt_write_binary(f, &args->at[i]);
    if (f)
        fclose(f);
    c.name = arena_printf(t->run->a, "property, size %" PRId64, size);
    c.input = (DataSource){"property", arena_memdup(t->run->a, blob ? blob : "", n), n};
    c.output = (DataSource){"property", "true", 4};
    c.expect = EXPECT_VALUES;
    free(blob);
    if (t->generator) {
        const char *script = arena_printf(t->run->a, "%s %" PRId64 "i64 %" PRId64 "i64",
                                          t->generator->name, size, seed);
        c.script = script_parse(t->run->a, script, strlen(script), c.loc, "");
    }
    vec_push(t->run->a, &t->run->d.cases, c);
}

static void try_property(Trial *t)
{
    TestCase c = {.name = "property", .entry = t->p->entry, .loc = t->p->loc};
    c.input_loc = c.output_loc = t->p->loc;
    int64_t most = t->en->size > 0 ? t->en->size : DEFAULT_SIZE;
    for (int i = 0; i < CANDIDATES; i++) {
        int64_t size = most * (i + 1) / CANDIDATES, seed = 0;
        Args args = {0};
        bool made = candidate(t, size, &seed, &args), ok = made && holds(t, &args);
        if (!made) {
            test_fail(t->run, &c, "no arguments: %s", t->why);
        } else if (!ok) {
            shrink(t, &args);
            tell(t, &c, &args);
        } else if ((i + 1) % (CANDIDATES / CASES) == 0) {
            add_case(t, c, size, seed, &args);
        }
        free_args(&args);
        if (!ok)
            return;
    }
    test_pass(t->run);
}

/* What is wrong with it; NULL if nothing is. */
static const char *find_entries(Trial *t)
{
    const Prog *p = t->run->prog;
    if (!(t->en = interp_entry(p, t->p->entry)))
        return "there is no such entry point";
    const Vars *ps = &t->en->params;
    const Atoms *res = &t->en->body->res;
    Type b = res->n ? atom_type(res->at[0]) : (Type){0};
    if (res->n != 1 || b.rank || b.elem != T_BOOL)
        return "a property gives a `bool`";
    const char *gen = t->en->generator, *shrink = t->en->shrinker;
    if (gen && !(t->generator = interp_entry(p, gen)))
        return arena_printf(t->run->a, "its `gen`, `%s`, is no entry point", gen);
    if (shrink && !(t->shrinker = interp_entry(p, shrink)))
        return arena_printf(t->run->a, "its `shrink`, `%s`, is no entry point", shrink);
    if (gen && t->generator->params.n != 2)
        return arena_printf(t->run->a, "its `gen`, `%s`, does not take a size and a seed", gen);
    if (shrink && t->shrinker->params.n != ps->n + 1)
        return arena_printf(
            t->run->a, "its `shrink`, `%s`, does not take what it takes, and a number", shrink);
    TestCase c = {.entry = t->p->entry};
    return !gen && test_takes_sum(t->run, &c)
               ? "what is or holds a sum needs a generator: #[prop(gen(f))]"
               : NULL;
}

void test_properties(Run *run)
{
    Interp *in = run->d.properties.n ? interp_new(run->prog) : NULL;
    for (int i = 0; i < run->d.properties.n; i++) {
        Trial t = {.run = run, .p = &run->d.properties.at[i], .in = in};
        const char *wrong = find_entries(&t);
        TestCase c = {.name = "property", .entry = t.p->entry, .loc = t.p->loc};
        test_at(run, "the property %s", t.p->entry);
        if (wrong)
            test_fail(run, &c, "%s", wrong);
        else
            try_property(&t);
    }
    interp_free(in);
}
