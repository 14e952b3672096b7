/* Sums, abstract types and arrays of them in the header of opaque.sf, from C. Built under
 * AddressSanitizer. */
#include "opaque.h"
#include "checks.h"

/* The call fails, with a message that has these words. */
static void fails_at(int line, bool fails, const char *words)
{
    char *message = futhark_context_get_error(ctx);
    CHECK_AT(line, fails && message && strstr(message, words), message ? message : words);
    free(message);
}
#define FAILS(e, words) fails_at(__LINE__, (e) == FUTHARK_PROGRAM_ERROR, (words))

typedef struct futhark_opaque_shape shape;

static shape *circle(float x, float y, float r)
{
    struct futhark_opaque_point *at = NULL;
    shape *s = NULL;
    OK(futhark_new_opaque_point(ctx, &at, x, y));
    OK(futhark_new_opaque_shape_circle(ctx, &s, at, r));
    futhark_free_opaque_point(ctx, at);
    return s;
}

static float radius(const shape *s)
{
    float r = -1;
    struct futhark_opaque_point *at = NULL;
    OK(futhark_destruct_opaque_shape_circle(ctx, &at, &r, s));
    futhark_free_opaque_point(ctx, at);
    return r;
}

/* --- Sums --- */

static void variants(void)
{
    shape *s = circle(1, 2, 3), *grown = NULL, *empty = NULL, *line = NULL;
    CHECK(futhark_variant_opaque_shape(ctx, s) == 0);
    OK(futhark_entry_grow(ctx, &grown, 2, s));
    CHECK(futhark_variant_opaque_shape(ctx, grown) == 0 && radius(grown) == 6 && radius(s) == 3);
    OK(futhark_new_opaque_shape_empty(ctx, &empty));
    CHECK(futhark_variant_opaque_shape(ctx, empty) == 1);
    OK(futhark_destruct_opaque_shape_empty(ctx, empty));
    struct futhark_opaque_segment *segment = NULL, *of = NULL;
    FAILS(futhark_destruct_opaque_shape_line(ctx, &of, empty), "is #empty, not #line");

    /* What a variant holds has the types that the program calls it by. */
    struct futhark_opaque_point *p = NULL, *q = NULL;
    OK(futhark_new_opaque_point(ctx, &p, 1, 2));
    OK(futhark_new_opaque_segment(ctx, &segment, p, 7, p));
    OK(futhark_new_opaque_shape_line(ctx, &line, segment));
    futhark_free_opaque_shape(ctx, grown);
    OK(futhark_entry_grow(ctx, &grown, 3, line));
    OK(futhark_destruct_opaque_shape_line(ctx, &of, grown));
    OK(futhark_project_opaque_segment_to(ctx, &q, of));
    float y = 0;
    int32_t label = 0;
    OK(futhark_project_opaque_point_y(ctx, &y, q));
    OK(futhark_project_opaque_segment_label(ctx, &label, of));
    CHECK(y == 6 && label == 7);

    /* Sums in sums. */
    struct MARK *mark = NULL;
    int8_t size = 0;
    shape *marked = NULL;
    OK(NEW_SMALL(ctx, &mark));
    OK(futhark_new_opaque_shape_mark(ctx, &marked, mark));
    FREE_MARK(ctx, mark);
    futhark_free_opaque_shape(ctx, grown);
    OK(futhark_entry_grow(ctx, &grown, 1, marked));
    OK(futhark_destruct_opaque_shape_mark(ctx, &mark, grown));
    CHECK(VARIANT_MARK(ctx, mark) == 0);
    OK(DESTRUCT_LARGE(ctx, &size, mark));
    CHECK(size == 1);
    FREE_MARK(ctx, mark);

    futhark_free_opaque_shape(ctx, marked);
    futhark_free_opaque_point(ctx, q);
    futhark_free_opaque_segment(ctx, of);
    futhark_free_opaque_shape(ctx, line);
    futhark_free_opaque_segment(ctx, segment);
    futhark_free_opaque_point(ctx, p);
    futhark_free_opaque_shape(ctx, empty);
    futhark_free_opaque_shape(ctx, grown);
    futhark_free_opaque_shape(ctx, s);
}

/* A variant that holds an array; those of others have no elements, whatever size they
 * should have. */
static void arrays_in_sums(void)
{
    int32_t xs[] = {1, 2, 4}, sum = -1;
    float both[] = {0, 1};
    int64_t n = -1;
    bool flag = false;
    struct futhark_i32_1d *steps = futhark_new_i32_1d(ctx, xs, 3), *held = NULL;
    struct futhark_i32_1d *less = futhark_new_i32_1d(ctx, xs, 2);
    struct futhark_f32_1d *two = futhark_new_f32_1d(ctx, both, 2);
    struct futhark_opaque_path *p = NULL, *still = NULL, *turns = NULL;
    OK(futhark_new_opaque_path_steps(ctx, &p, steps, true));
    OK(futhark_new_opaque_path_still(ctx, &still));
    OK(futhark_new_opaque_path_turns(ctx, &turns, steps, steps, two));
    OK(futhark_entry_steps(ctx, &n, &sum, turns));
    CHECK(n == 3 && sum == 0);
    futhark_free_opaque_path(ctx, turns);
    OK(futhark_new_opaque_path_turns(ctx, &turns, steps, less, two));
    FAILS(futhark_entry_steps(ctx, &n, &sum, turns),
          "Error: Value of (desugared) shape [2] cannot match shape of type \"[3]");
    futhark_free_opaque_path(ctx, turns);
    futhark_free_i32_1d(ctx, less);
    futhark_free_f32_1d(ctx, two);
    futhark_free_i32_1d(ctx, steps);
    OK(futhark_entry_steps(ctx, &n, &sum, p));
    CHECK(n == 3 && sum == 7);
    OK(futhark_entry_steps(ctx, &n, &sum, still));
    CHECK(n == 0 && sum == 0);
    OK(futhark_destruct_opaque_path_steps(ctx, &held, &flag, p));
    CHECK(flag && futhark_shape_i32_1d(ctx, held)[0] == 3);
    futhark_free_i32_1d(ctx, held);
    futhark_free_opaque_path(ctx, still);
    futhark_free_opaque_path(ctx, p);
}

/* --- Arrays of sums --- */

/* What elements do not hold takes the size of what others do; elements change their variant. */
static void arrays_in_arrays_of_sums(void)
{
    int32_t xs[] = {4, 5, 6}, sum = 0;
    struct futhark_i32_1d *three = futhark_new_i32_1d(ctx, xs, 3);
    struct futhark_opaque_triple *gap = NULL, *triple = NULL;
    struct futhark_opaque_arr1d_triple *some = NULL, *none = NULL;
    OK(futhark_new_opaque_triple_gap(ctx, &gap));
    OK(futhark_new_opaque_triple_triple(ctx, &triple, three));
    futhark_free_i32_1d(ctx, three);
    struct futhark_opaque_triple *elems[] = {gap, triple, gap};
    OK(futhark_new_opaque_arr1d_triple(ctx, &some, elems, 3));
    OK(futhark_entry_triples(ctx, &sum, gap, some));
    CHECK(sum == -10 + 2);
    OK(futhark_set_opaque_arr1d_triple(ctx, some, triple, 0));
    OK(futhark_set_opaque_arr1d_triple(ctx, some, gap, 1));
    OK(futhark_entry_triples(ctx, &sum, triple, some));
    CHECK(sum == 40 + 2);
    elems[1] = gap;
    OK(futhark_new_opaque_arr1d_triple(ctx, &none, elems, 3));
    OK(futhark_entry_triples(ctx, &sum, triple, none));
    CHECK(sum == 40 - 3);
    futhark_free_opaque_arr1d_triple(ctx, some);
    futhark_free_opaque_arr1d_triple(ctx, none);
    futhark_free_opaque_triple(ctx, gap);
    futhark_free_opaque_triple(ctx, triple);
}

static void arrays_of_sums(void)
{
    shape *empty = NULL, *s = circle(0, 0, 5), *e = NULL;
    OK(futhark_new_opaque_shape_empty(ctx, &empty));
    shape *elems[] = {s, empty, s};
    struct futhark_opaque_arr1d_shape *three = NULL, *grown = NULL, *back = NULL;
    OK(futhark_new_opaque_arr1d_shape(ctx, &three, elems, 3));
    CHECK(futhark_shape_opaque_arr1d_shape(ctx, three)[0] == 3);
    OK(futhark_entry_grow_all(ctx, &grown, 2, three));
    OK(futhark_index_opaque_arr1d_shape(ctx, &e, grown, 2));
    CHECK(radius(e) == 10);
    futhark_free_opaque_shape(ctx, e);
    OK(futhark_set_opaque_arr1d_shape(ctx, grown, empty, 2));
    OK(futhark_index_opaque_arr1d_shape(ctx, &e, grown, 2));
    CHECK(futhark_variant_opaque_shape(ctx, e) == 1);
    futhark_free_opaque_shape(ctx, e);
    FAILS(futhark_index_opaque_arr1d_shape(ctx, &e, grown, 3), "index 3 is out of bounds");

    void *bytes = NULL;
    size_t size = 0;
    OK(futhark_store_opaque_arr1d_shape(ctx, grown, &bytes, &size));
    back = futhark_restore_opaque_arr1d_shape(ctx, bytes);
    CHECK(back != NULL);
    OK(futhark_index_opaque_arr1d_shape(ctx, &e, back, 0));
    CHECK(radius(e) == 10);
    FAILS(futhark_restore_opaque_shape(ctx, bytes) ? 0 : 2, "no stored value of type shape");
    ((char *)bytes)[7 + 8] = 4; /* the first element's variant */
    FAILS(futhark_restore_opaque_arr1d_shape(ctx, bytes) ? 0 : 2, "a number is that of no variant");
    ((char *)bytes)[7] = 2; /* two variants for three elements */
    FAILS(futhark_restore_opaque_arr1d_shape(ctx, bytes) ? 0 : 2, "[]shape");
    free(bytes);
    futhark_free_opaque_shape(ctx, e);
    futhark_free_opaque_arr1d_shape(ctx, back);
    futhark_free_opaque_arr1d_shape(ctx, grown);
    futhark_free_opaque_arr1d_shape(ctx, three);
    futhark_free_opaque_shape(ctx, s);
    futhark_free_opaque_shape(ctx, empty);
}

/* --- Types of modules --- */

static void types_of_modules(void)
{
    int32_t xs[] = {3, -1, 4}, sum = 0;
    struct futhark_i32_1d *x = futhark_new_i32_1d(ctx, xs, 3);
    struct futhark_opaque_arr1d_counter_t *cs = NULL, *back = NULL;
    struct futhark_opaque_counter_t *c = NULL;
    void *bytes = NULL;
    size_t size = 0;
    OK(futhark_entry_count(ctx, &cs, x));
    OK(futhark_store_opaque_arr1d_counter_t(ctx, cs, &bytes, &size));
    back = futhark_restore_opaque_arr1d_counter_t(ctx, bytes);
    OK(futhark_entry_total(ctx, &sum, back));
    CHECK(sum == 7);
    OK(futhark_index_opaque_arr1d_counter_t(ctx, &c, back, 1));
    CHECK(futhark_variant_opaque_counter_t(ctx, c) == 1);

    /* A record of another module's application, made of values that have no name outside. */
    struct COUNTER *none = NULL, *second = NULL;
    struct futhark_opaque_unit *unit = NULL, *held = NULL;
    struct futhark_opaque_two_t *two = NULL, *up = NULL;
    OK(futhark_new_opaque_unit(ctx, &unit));
    OK(NEW_NEVER(ctx, &none, unit));
    OK(futhark_new_opaque_two_t(ctx, &two, none, none));
    OK(futhark_entry_up_two(ctx, &up, 5, two));
    OK(futhark_project_opaque_two_t_second(ctx, &second, up));
    OK(DESTRUCT_COUNTED(ctx, &sum, &held, second));
    CHECK(sum == 10);
    futhark_free_opaque_unit(ctx, held);
    FREE_COUNTER(ctx, second);
    futhark_free_opaque_two_t(ctx, up);
    futhark_free_opaque_two_t(ctx, two);
    FREE_COUNTER(ctx, none);
    futhark_free_opaque_unit(ctx, unit);
    free(bytes);
    futhark_free_opaque_counter_t(ctx, c);
    futhark_free_opaque_arr1d_counter_t(ctx, back);
    futhark_free_opaque_arr1d_counter_t(ctx, cs);
    futhark_free_i32_1d(ctx, x);
}

/* A tuple that is called something is one result. */
static void results(void)
{
    struct futhark_opaque_point *p = NULL, *q = NULL;
    struct futhark_opaque_both *both = NULL;
    int32_t n = 0;
    float y = 0;
    OK(futhark_new_opaque_point(ctx, &p, 1, 2));
    OK(futhark_entry_to_both(ctx, &both, p, 9));
    OK(futhark_entry_from_both(ctx, &q, &n, both));
    OK(futhark_project_opaque_point_y(ctx, &y, q));
    CHECK(n == 9 && y == 2);
    futhark_free_opaque_both(ctx, both);
    futhark_free_opaque_point(ctx, q);
    futhark_free_opaque_point(ctx, p);
}

int main(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    ctx = futhark_context_new(cfg);
    variants();
    arrays_in_sums();
    arrays_of_sums();
    arrays_in_arrays_of_sums();
    types_of_modules();
    results();
    futhark_context_free(ctx);
    futhark_context_config_free(cfg);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
