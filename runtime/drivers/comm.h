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

typedef struct {
    /* Joins the other ranks. */
    rt_place (*open)(int *argc, char ***argv);
    /* all := `bytes` of each rank, in their order. */
    void (*all)(const void *mine, int64_t bytes, void *all);
    /* Rank r has bytes at[r] .. at[r + 1] - 1 of `all`, and gets the others. */
    void (*blocks)(char *all, const int64_t *at);
    /* To the rank before this one and from it, and to the one behind it and from it; messages of no
     * bytes are not sent. */
    void (*beside)(const rt_message to[2], const rt_message from[2]);
    /* From one rank to another: these two call it. */
    void (*give)(int from, int to, void *data, int64_t bytes);
    /* From rank 0 to all. */
    void (*tell)(void *data, int64_t bytes);
    void (*close)(void);
    /* Ends all ranks, those that wait, too, with exit code 1. */
    void (*stop)(void);
} rt_comm;

#endif
