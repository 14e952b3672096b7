/* How long a group of so many work-items takes: what the size of work-groups is chosen by. A model
 * of GPUs, in cycles, as host expressions over sizes and facts of the device. It knows nothing of
 * kernels. */
#ifndef COST_GROUP_TIME_H
#define COST_GROUP_TIME_H

#include "size/size.h"

/* The time of a piece of code of one work-item: until it is done, where nothing else is to be done
 * meanwhile, and in which the compute unit does nothing else for the work-item's warp. */
typedef struct {
    const KExp *wait, *busy;
} GroupTime;

/* Constructs of level 0 that are equally wide and run equally often. */
typedef struct {
    const KExp *width, *turns; /* elements; how often each is run */
    GroupTime elem;            /* an element of each of them */
    int meets;                 /* barriers of a turn */
    GroupTime step; /* reductions and scans: a step over the work-items of each of them ... */
    int steps;      /* ... and how many of them there are */
} GroupNest;

typedef struct {
    VEC(GroupNest) nests;
    const KExp *groups; /* that each compute unit gets, at least 1 */
    const KExp *local;  /* bytes of local memory of a group ... */
    const Var *size;    /* ... in terms of its size */
    bool several; /* can a group work on several elements at a time? Then all this is of one */
} GroupWork;

/* What takes how long. */
GroupTime group_time_zero(Ctx *cx);
GroupTime group_time_step(Ctx *cx); /* a short operation */
GroupTime group_time_prim(Ctx *cx, const Exp *e);
GroupTime group_time_read(Ctx *cx, bool local);    /* an element of an array */
GroupTime group_time_checked(Ctx *cx, bool local); /* ... whose index is checked */
GroupTime group_time_add(Ctx *cx, GroupTime a, GroupTime b);
GroupTime group_time_times(Ctx *cx, const KExp *n, GroupTime a);
void group_work_add(Ctx *cx, GroupWork *w, GroupNest n);

/* Sizes to choose from: number k = 0 .. GROUP_SIZES-1, each twice the one before; GROUP_WARP is a
 * warp. Smaller ones are for groups that work on several elements at a time, so many for each. */
enum { GROUP_WARP = 2, GROUP_SIZES = 8 };
int group_size_number(int k);
/* The time of all groups of that size. */
const KExp *group_all_time(Ctx *cx, const GroupWork *w, int k);
/* The size that takes the least of these times, from number `first` on. */
const KExp *group_best_size(Ctx *cx, const KExp *const *times, int first);

#endif
