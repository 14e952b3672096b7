/* The barrier over the grid of runtime/kernels/prelude.cl, compiled as C: threads of this machine
 * are the groups. On devices that run one group after the other only one group can be tried. */
#include "tests/unit/check.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* --- What the prelude needs of OpenCL --- */

typedef unsigned uint;
typedef unsigned long ulong;
#define __global
#define __local
#define CLK_LOCAL_MEM_FENCE  1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fence)       ((void)(fence))
#define mem_fence(fence)     __sync_synchronize()

static _Thread_local int group;
static int n_groups;

static size_t get_group_id(int dim)
{
    return dim ? 0 : (size_t)group;
}

static size_t get_num_groups(int dim)
{
    return dim ? 1 : (size_t)n_groups;
}

static size_t get_local_id(int dim)
{
    return 0 * (size_t)dim;
}

static uint as_uint(float x)
{
    return (union {
               float f;
               uint u;
           }){.f = x}
        .u;
}

static float as_float(uint x)
{
    return (union {
               uint u;
               float f;
           }){.u = x}
        .f;
}

/* Who looks lets others run: there may be more threads than processors. */
#define atomic_or(place, x)                                                                        \
    ((x) == 0 ? (sched_yield(), __sync_fetch_and_or(place, x)) : __sync_fetch_and_or(place, x))
#define atomic_inc(place)               __sync_fetch_and_add(place, 1) /* is not called */
#define atomic_add(place, x)            __sync_fetch_and_add(place, x)
#define atomic_cmpxchg(place, old, new) __sync_val_compare_and_swap(place, old, new)
#define atomic_xchg(place, x)           __sync_lock_test_and_set(place, x)
#define atomic_max(place, x)            __sync_fetch_and_add(place, x) /* is not called */

/* Long, so that groups meet however busy the processors are; a moment, where one never comes. */
static int most_looks;
#define MF_MOST_LOOKS most_looks
#include "runtime/kernels/prelude.cl"

/* --- Launches --- */

enum { MOST_GROUPS = 6, MOST_BARRIERS = 12, LAUNCHES = 100, SITE = 7 };

static mf_failure failure;
static int launch;

/* A launch: how many barriers, who fails on the way to which (-1: nobody), who never comes. */
typedef struct {
    int barriers, fails_at, fails, missing;
} Launch;
static Launch now;
static int arrived[MOST_BARRIERS]; /* groups on their way into each */
static bool answer[MOST_GROUPS][MOST_BARRIERS];
static int early[MOST_GROUPS]; /* barriers that were left before all had come */

static void *run_group(void *number)
{
    group = (int)(intptr_t)number;
    for (int k = 0; k < now.barriers && group != now.missing; k++) {
        if (k == now.fails_at && group == now.fails)
            mf_fail(&failure, launch, SITE, k, 0, 0, 0, 0, 0, 0, 0);
        __sync_fetch_and_add(&arrived[k], 1);
        int said = 0;
        answer[group][k] = mf_meet_grid(&failure, launch, true, &said);
        early[group] += __sync_fetch_and_add(&arrived[k], 0) < n_groups;
    }
    return NULL;
}

static void run_launch(int n, Launch l)
{
    pthread_t threads[MOST_GROUPS];
    n_groups = n;
    now = l;
    most_looks = l.missing >= 0 ? 1 << 16 : INT_MAX;
    launch++;
    memset(arrived, 0, sizeof arrived);
    memset(early, 0, sizeof early);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, run_group, (void *)(intptr_t)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void reset(void)
{
    failure = (mf_failure){.site = -1, .launch = INT_MAX};
}

static int draw(int n)
{
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)n);
}

/* Launches of any number of groups, one after the other; what fails is heard of by all at the next
 * barrier, and at all that follow. */
static void random_launches(void)
{
    reset();
    for (int i = 0; i < LAUNCHES; i++) {
        Launch l = {.barriers = draw(MOST_BARRIERS + 1), .fails_at = -1, .missing = -1};
        int n = 1 + draw(MOST_GROUPS);
        bool fails = draw(3) == 0 && l.barriers > 0;
        if (fails)
            l.fails_at = draw(l.barriers);
        l.fails = draw(n);
        run_launch(n, l);
        bool right = true;
        for (int g = 0; g < n; g++) {
            right = right && early[g] == 0;
            for (int k = 0; k < l.barriers; k++)
                right = right && answer[g][k] == (fails && k >= l.fails_at);
        }
        CHECK(right);
        CHECK_INT(failure.site, fails ? SITE : -1);
        CHECK(!fails || (failure.launch == launch && failure.args[0] == l.fails_at));
        CHECK((failure.met & 0x7fffffffu) == 0); /* ready for the next one */
        if (fails)
            reset();
    }
}

/* Where one never comes the others give up, all of them, and at all later barriers at once. */
static void missing_group(void)
{
    reset();
    run_launch(3, (Launch){.barriers = 4, .fails_at = -1, .missing = 1});
    CHECK_INT(failure.site, MF_UNMET);
    CHECK_INT(failure.launch, launch);
    for (int k = 0; k < 4; k++)
        CHECK(answer[0][k] && answer[2][k]);
    reset();
    run_launch(3, (Launch){.barriers = 4, .fails_at = -1, .missing = -1});
    CHECK_INT(failure.site, -1);
    CHECK(!answer[0][3] && !answer[1][3] && !answer[2][3]);
}

int main(void)
{
    random_launches();
    missing_group();
    return check_summary();
}
