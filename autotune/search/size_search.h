/* The search for sizes: work-items of groups, groups, elements of a work-item. Pure as the search
 * for thresholds (search.h), and made after it, with the thresholds that it chose. */
#ifndef AUTOTUNE_SEARCH_SIZE_SEARCH_H
#define AUTOTUNE_SEARCH_SIZE_SEARCH_H

#include "autotune/search/search.h"

/* Measures data set d under both, in turn. False: give up the whole search. */
typedef bool PairFn(void *env, int dataset, const int64_t *const sizes[2], Sample out[2]);

typedef struct {
    int n, n_datasets;
    const int64_t *defaults; /* [size] its value where nothing is set; 0: it is left alone */
    RunFn *run;              /* settings: values beside the sizes, 0 for the default */
    PairFn *pair;
    void *env;
    int tests;       /* measurements that may be made */
    double seconds;  /* ... and until when, by this clock; INFINITY: no limit */
    double expected; /* so long one will take, to begin with: none begins that would end too late */
    double (*clock)(void);
} SizeSearch;

typedef struct {
    bool complete;   /* false: a function gave up; the rest says what is known by then */
    bool limited;    /* it ended at its limits: there may be better ones */
    int64_t *chosen; /* [size] 0: the default */
    int *tried;      /* [size] how many other values */
    int runs;        /* measurements; of a pair two */
} SizesFound;

/* Coordinate search: from a size's default on, twice or half of it is taken as long as some data
 * set gains beyond noise by it, and none loses; so with the next size, and all of them once more if
 * one has changed. What looks like a gain is measured against what it is to replace, run by run,
 * before it is believed. */
SizesFound sizes_search(Arena *a, const SizeSearch *s);

#endif
