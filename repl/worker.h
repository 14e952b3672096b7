/* Work in a process of its own: what it takes of memory goes with it, an interrupt, a crash or an
 * internal error ends it alone. */
#ifndef REPL_WORKER_H
#define REPL_WORKER_H

#include <stdbool.h>
#include <stdio.h>

/* Gives an exit code; what it writes to `found` is read by who has started it. */
typedef int Work(void *env, FILE *found);

typedef struct {
    int code;    /* -1: it gave none: ... */
    int signal;  /* ... this ended it; 0: it could not be started, which has been said */
    FILE *found; /* at its beginning, to be closed; NULL if there is no code */
} WorkEnd;
/* Runs the work and waits. SIGINT ends it, whoever it is sent to, if its handler only notes that
 * (worker_signal). */
WorkEnd worker_run(Work *work, void *env);

/* The handler of signals of the whole command. What has come: an interrupt (asked for once); what
 * is to end the command, 0 if nothing is. */
void worker_signal(int sig);
bool worker_interrupted(void);
int worker_ended(void);
/* Waits until a file can be read or a signal comes. False: an interrupt or what is to end the
 * command has come, now or before. */
bool worker_wait(int fd);

#endif
