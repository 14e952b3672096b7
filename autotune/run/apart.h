/* Work on several data sets at the same time, a process for each. */
#ifndef AUTOTUNE_RUN_APART_H
#define AUTOTUNE_RUN_APART_H

#include <stdbool.h>

typedef struct {
    void *env;
    void (*work)(void *env,
                 int dataset); /* in a process of its own, which ends with it and says nothing */
    void (*look)(void *env);   /* in this one, now and then, as long as others work */
    bool (*ends)(void);        /* is all to end early? The others are told so (SIGTERM). */
} Apart;

/* Works on data sets 0..n-1, at most `most` at a time, until all have ended. What comes of it is on
 * disk, or not. */
void work_apart(const Apart *w, int n, int most);

/* How many processes may build kernels here without getting in each other's way. */
int processes_apart(void);

/* A file, there already, whose lock says whose turn it is: a handle to close(), -1 if it cannot be
 * opened. */
int turn_open(const char *path);
/* Waits for the turn and takes it, or leaves it to others. False: all is to end. */
bool turn_pass(int turn, bool take, bool (*ends)(void));

#endif
