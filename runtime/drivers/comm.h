/* What several processes, the ranks of one program, do together. comm_mpi.c answers by MPI; a
 * program for one process has none. All ranks make the same calls in the same order; each waits for
 * the others. What fails ends all of them. */
#ifndef RT_COMM_H
#define RT_COMM_H

#include <stdint.h>

/* Which rank this is, of how many, and which of those on this machine. */
typedef struct {
    int rank, ranks, here, beside;
} rt_place;

typedef struct {
    char *data;
    int64_t bytes;
} rt_message;

/* Ranks that have joined. */
typedef struct rt_group rt_group;

typedef struct {
    /* Joins the other ranks that were started with this one. */
    rt_group *(*open)(int *argc, char ***argv, rt_place *at);
    /* Of a library: joins those of a communicator that its caller has, by the number that other
     * languages know it by; NULL: all that were started. NULL: they cannot be joined yet, or there
     * is no memory. */
    rt_group *(*join)(const int *communicator, rt_place *at);
    /* all := `bytes` of each rank, in their order. */
    void (*all)(rt_group *g, const void *mine, int64_t bytes, void *all);
    /* Rank r has bytes at[r] .. at[r + 1] - 1 of `all`, and gets the others. */
    void (*blocks)(rt_group *g, char *all, const int64_t *at);
    /* To the rank before this one and from it, and to the one behind it and from it; messages of no
     * bytes are not sent. */
    void (*beside)(rt_group *g, const rt_message to[2], const rt_message from[2]);
    /* From one rank to another: these two call it. */
    void (*give)(rt_group *g, int from, int to, void *data, int64_t bytes);
    /* From rank 0 to all. */
    void (*tell)(rt_group *g, void *data, int64_t bytes);
    /* What was opened, or joined, is left. */
    void (*close)(rt_group *g);
    /* Ends all ranks, those that wait, too, with exit code 1. */
    void (*stop)(void);
} rt_comm;

#endif
