/* The size that work-groups get, by what they do. */
#include "common/policy.h"
#include "cost/group_time.h"
#include "tests/unit/check.h"

static Ctx cx;
static Var *size;

enum { UNITS = 132, LOCAL_BYTES = 49152 };

static const KExp *num(int64_t i)
{
    return sx_const(&cx, i);
}

static int64_t eval(const KExp *a)
{
    int64_t x = a->n ? eval(sx_left(a)) : 0, y = a->n ? eval(sx_right(a)) : 0;
    switch (sx_kind(a)) {
    case SX_CONST: return a->c.i;
    case SX_SIZE: return a->fact == SIZE_COMPUTE_UNITS ? UNITS : LOCAL_BYTES;
    case SX_ADD: return x + y;
    case SX_SUB: return x - y;
    case SX_MUL: return x * y;
    case SX_DIV: return x / y;
    case SX_CEILDIV: return (x + y - 1) / y;
    case SX_MOD: return x % y;
    case SX_MIN: return x < y ? x : y;
    case SX_MAX: return x > y ? x : y;
    case SX_SELECT: return eval(sx_cond(a)) ? x : y;
    case SX_VAR:
    case SX_KVAR:
    case N_SX_KINDS: break;
    }
    CHECK(false);
    return 0;
}

/* `groups` a compute unit, each with so many bytes of local memory and 4 for each work-item. */
static GroupWork work(int groups, int bytes)
{
    GroupWork w = {.groups = num(groups), .size = size};
    w.local = sx_add(&cx, num(bytes), sx_mul(&cx, sx_var(&cx, size), num(4)));
    return w;
}

static GroupTime some(int steps, int near, int far)
{
    GroupTime t = group_time_times(&cx, num(steps), group_time_step(&cx));
    t = group_time_add(&cx, t, group_time_times(&cx, num(near), group_time_read(&cx, true)));
    return group_time_add(&cx, t, group_time_times(&cx, num(far), group_time_read(&cx, false)));
}

static void map(GroupWork *w, int width, int turns, GroupTime elem)
{
    GroupNest n = {.width = num(width), .turns = num(turns), .elem = elem, .meets = 1};
    n.step = group_time_zero(&cx);
    group_work_add(&cx, w, n);
}

static void reduce(GroupWork *w, int width, int turns, GroupTime elem)
{
    GroupNest n = {.width = num(width), .turns = num(turns), .elem = elem, .meets = 2};
    n.step = some(4, 1, 0);
    n.steps = 1;
    group_work_add(&cx, w, n);
}

static int64_t time_of(const GroupWork *w, int k)
{
    return eval(group_all_time(&cx, w, k));
}

static int64_t best(const GroupWork *w)
{
    const KExp *times[GROUP_SIZES];
    for (int k = 0; k < GROUP_SIZES; k++)
        times[k] = group_all_time(&cx, w, k);
    return eval(group_best_size(&cx, times, w->several ? 0 : GROUP_WARP));
}

static void test_best_size(void)
{
    const KExp *times[GROUP_SIZES];
    for (int least = 0; least < GROUP_SIZES; least++) {
        for (int k = 0; k < GROUP_SIZES; k++)
            times[k] = num(k == least ? 5 : 6 + k);
        CHECK_INT(eval(group_best_size(&cx, times, 0)), group_size_number(least));
    }
    for (int k = 0; k < GROUP_SIZES; k++)
        times[k] = num(7);
    CHECK_INT(eval(group_best_size(&cx, times, 0)), group_size_number(0));
    CHECK_INT(eval(group_best_size(&cx, times, GROUP_WARP)), RT_USUAL_WARP);
}

/* Many groups of short steps want to be small; few with much to load, large. */
static void test_shapes(void)
{
    GroupWork steps = work(31, 512);
    reduce(&steps, 128, 100, some(8, 1, 0));
    map(&steps, 128, 100, some(2, 1, 0));
    CHECK_INT(best(&steps), 32);

    GroupWork loads = work(1, 4096);
    map(&loads, 4096, 1, some(10, 0, 2));
    CHECK_INT(best(&loads), 1024);

    GroupWork narrow = work(8, 512);
    map(&narrow, 32, 1000, some(10, 2, 0));
    CHECK_INT(best(&narrow), 32);

    GroupWork waves = work(1, 4096);
    map(&waves, 32, 63, some(20, 4, 0));
    map(&waves, 1024, 3, some(20, 0, 3));
    CHECK(best(&waves) >= 256);
}

/* A few work-items for each of many short elements, where a group has several; a warp where there
 * are few elements, or long ones in as much memory as there is. */
static void test_few(void)
{
    for (int several = 0; several < 2; several++) {
        GroupWork many = work(248, 1200), few = work(2, 1200), large = work(496, 7000);
        GroupWork *all[] = {&many, &few, &large};
        for (int i = 0; i < 3; i++) {
            all[i]->several = several;
            for (int k = 0; k < 3; k++)
                reduce(all[i], i == 2 ? 256 : 32, 1, some(40, 10, 1));
        }
        CHECK(several ? best(&many) < 32 : best(&many) == 32);
        CHECK_INT(best(&few), 32);
        CHECK_INT(best(&large), 32);
    }
}

/* Groups that do not fit a compute unit at once wait one after the other. */
static void test_local_memory(void)
{
    GroupWork little = work(8, 100), much = work(8, LOCAL_BYTES);
    map(&little, 256, 10, some(5, 0, 1));
    map(&much, 256, 10, some(5, 0, 1));
    for (int k = 0; k < GROUP_SIZES - 2; k++)
        CHECK(time_of(&much, k) > time_of(&little, k));
}

/* Constructs that are equally wide and run equally often are one row; times add up. */
static void test_sums(void)
{
    GroupWork once = work(1, 0), twice = work(1, 0), other = work(1, 0);
    map(&once, 100, 3, some(5, 1, 1));
    map(&twice, 100, 3, some(5, 1, 1));
    map(&twice, 100, 3, some(5, 1, 1));
    CHECK_INT(twice.nests.n, 1);
    map(&other, 100, 3, some(5, 1, 1));
    map(&other, 100, 6, some(5, 1, 1));
    CHECK_INT(other.nests.n, 2);
    for (int k = 0; k < GROUP_SIZES; k++) {
        CHECK(time_of(&twice, k) >= 2 * time_of(&once, k));
        CHECK(time_of(&twice, k) <= 2 * time_of(&once, k) + 1);
        CHECK(time_of(&other, k) >= 3 * time_of(&once, k));
        CHECK(time_of(&other, k) <= 3 * time_of(&once, k) + 2);
    }
}

int main(void)
{
    Arena *a = arena_new();
    cx = (Ctx){.perm = a, .scratch = a};
    size = var_new(&cx, "size", type_prim(T_I64), (Loc){0});
    test_best_size();
    test_shapes();
    test_few();
    test_local_memory();
    test_sums();
    arena_free(a);
    return check_summary();
}
