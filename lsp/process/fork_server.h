/* A process that does what takes long once, and lives on: each question is answered by a fork of
 * it, which has all that it has, so that a crash or an endless loop costs one answer. It ends when
 * its parent does. */
#ifndef LSP_PROCESS_FORK_SERVER_H
#define LSP_PROCESS_FORK_SERVER_H

#include "lsp/process/job.h"

typedef struct {
    pid_t pid; /* 0: there is none */
    int fd;    /* a socket: there is something to be read when the process has ended */
} ForkServer;

/* What it does. Texts are to be freed. */
typedef struct {
    char *(*begin)(void *env);                         /* gives its first output */
    char *(*prepare)(void *env, const char *question); /* gives the answer; NULL: a fork does */
    char *(*answer)(void *env, const char *question);  /* in the fork */
} ForkServerLife;

/* Starts one with what the caller has as it is at that moment; its first output is that of `first`.
 * False: it cannot be (errno). */
bool fork_server_start(ForkServer *f, Job *first, const ForkServerLife *life, void *env);
/* Asks it; its answer is the output of that job. False: it cannot be asked (errno): of EMSGSIZE and
 * EAGAIN this question, now; else at all. */
bool fork_server_ask(const ForkServer *f, const char *question, Job *answer);
/* Ends it and its forks; how it had ended before, if it had, are the words in `why`. */
void fork_server_end(ForkServer *f, char *why, size_t size);

#endif
