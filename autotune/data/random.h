/* Random values. The generator is splitmix64, so a seed gives the same values everywhere. */
#ifndef AUTOTUNE_DATA_RANDOM_H
#define AUTOTUNE_DATA_RANDOM_H

#include "base/arena.h"
#include "common/values.h"

typedef struct {
    rt_scalar lo, hi;
    bool set;
} RandomBounds;

typedef struct {
    uint64_t state;                  /* the seed, to begin with */
    RandomBounds bounds[RT_N_PRIMS]; /* if not set: floats 0:1, integers their whole range */
} RandomGen;

/* NULL if `what` is a type or a value, or what is wrong. */
const char *random_check(Arena *a, const char *what);

/* A value of a type such as `[10][20]f32`, or the value that `what` is ("42i64"). NULL, or what is
 * wrong. */
const char *random_value(Arena *a, RandomGen *g, const char *what, rt_hvalue *v);

/* An integer or boolean scalar as an integer. */

#endif
