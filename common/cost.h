/* The part of the cost model (cost/) on which compiler, interpreter and programs agree: numbers
 * that say what counts as much on a device of today, and by them the time that work takes, in steps
 * of a work-item. What was measured for them: bench/results/decisions.md. */
#ifndef COMMON_COST_H
#define COMMON_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Work-items that fill a device: the thresholds of untuned programs. */
#define RT_FULL_DEVICE 32768
/* Steps of a work-item that take as long as a launch. */
#define RT_LAUNCH_STEPS 64
/* Bytes that a thread loads at once: of so long rows each can be read by a thread of its own. */
#define RT_ROW_BYTES 16
/* Elements of rows up to which threads do well that keep several of them in global memory. */
#define RT_SHORT_ROW 12

/* Additions in the time in which an element goes to memory and comes back, as all others do; loads,
 * and places in the text that read such an element, which may be instead. */
#define RT_PASS_WORK  256
#define RT_PASS_LOADS 24
#define RT_PASS_READS 12
/* Additions that take no longer than a load from a cache. */
#define RT_LOAD_WORK 8

/* The time of so many launches, in which each work-item makes `steps`, one after the other, and the
 * whole device together goes over `elems`. */
static inline __attribute__((unused)) int64_t mf_time(int64_t launches, int64_t steps,
                                                      int64_t elems)
{
    return launches * RT_LAUNCH_STEPS + steps + elems / RT_FULL_DEVICE;
}

/* Additions that take a microsecond at best, on a processor's core and on a GPU: those of matrix
 * products. */
#define RT_CPU_ADDS_US 4e4
#define RT_GPU_ADDS_US 5e7

/* Elements that come from other ranks in a microsecond: through the hosts, and from device to
 * device. */
#define RT_TOLD_US   5e2
#define RT_BESIDE_US 6e4

/* Does it pay to share out what costs so many additions over ranks, of which one does adds_us a
 * microsecond, if that has ranks gather so many elements, of which gathered_us come in a
 * microsecond, or exchange anything (1, 0)? */
static inline __attribute__((unused)) bool mf_shares(double cost, int64_t gathered,
                                                     int64_t exchanges, int64_t ranks,
                                                     double adds_us, double gathered_us)
{
    enum { TOGETHER_US = 15, EXCHANGE_US = 45 }; /* ranks do not end at once */
    double others = (double)(ranks - 1) / (double)ranks;
    return others * cost / adds_us >
           TOGETHER_US + EXCHANGE_US * (double)exchanges + others * (double)gathered / gathered_us;
}

/* Does a version in one launch pay, whose work-items make `steps`, by the side of one that spreads
 * the `elems` over the whole device but takes `spared` launches more? */
static inline __attribute__((unused)) bool mf_pays(int64_t spared, int64_t steps, int64_t elems)
{
    return mf_time(0, steps, 0) <= mf_time(spared, 0, elems);
}

/* How often the one's time goes into the other's, so that RT_FULL_DEVICE is as long, and what a
 * threshold finds of inputs of one size and skew holds for those of others. At least 1. */
static inline __attribute__((unused)) int64_t mf_gain(int64_t spared, int64_t steps, int64_t elems)
{
    int64_t spread = spared * RT_LAUNCH_STEPS * RT_FULL_DEVICE + elems;
    int64_t gain = spread / (steps > 1 ? steps : 1);
    return gain > 1 ? gain : 1;
}

/* Elements that the device goes over in the time of so many steps. */
static inline __attribute__((unused)) int64_t mf_elems_in(int64_t steps)
{
    return steps * RT_FULL_DEVICE;
}

/* Is it fewer passes over memory if so many readers compute an array that is made from `arrays`,
 * than if it is made and read? A launch is worth one, too. */
static inline __attribute__((unused)) bool mf_spares_passes(int64_t readers, int64_t arrays)
{
    return readers * arrays <= arrays + 1 + readers;
}

/* Of so many launches of `items` work-items in all, on a device that runs at_once of them: are they
 * so short that launching is what takes the time? */
static inline __attribute__((unused)) bool
mf_launches_bind(int64_t launches, int64_t items, double bytes, double operations, int64_t at_once)
{
    enum { ROUNDS = 2, BYTES = 4 << 20, OPERATIONS = 64 /* of a work-item */ };
    return items <= launches * at_once * ROUNDS && bytes <= (double)launches * BYTES &&
           operations <= (double)items * OPERATIONS;
}

/* What the parallelism of a version counts in a comparison with its threshold, when there is `work`
 * in all. If it fills a device it counts in full. Below, what is not exploited is time: each
 * work-item makes work / par steps, of which RT_LAUNCH_STEPS take about as long as the launches
 * that the next version has more. 0 < par: at least 1, at most par. */
static inline __attribute__((unused)) int64_t mf_par_in_effect(int64_t par, int64_t work)
{
    if (par <= 0 || par >= RT_FULL_DEVICE || work <= par)
        return par;
    int64_t in_effect = par * RT_LAUNCH_STEPS / mf_time(1, work / par - 1, 0);
    return in_effect > 1 ? in_effect : 1;
}

#endif
