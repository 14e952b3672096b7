/* Work in a process of its own. It has what the server has as it is at that moment; its memory goes
 * with it, and a crash or an endless loop costs one answer. */
#ifndef LSP_PROCESS_JOB_H
#define LSP_PROCESS_JOB_H

#include "lsp/process/wire.h"

#include <sys/types.h>

enum { JOB_SECONDS = 10, JOB_GB = 2 }; /* at most */

typedef struct {
    pid_t pid; /* 0: none is at work */
    int fd;    /* to be read when there is something */
    Buffer out;
} Job;

/* What the work gives, a text to be freed, is the job's output. */
typedef char *JobWork(void *env);
/* Starts the work; false: it cannot be (errno). */
bool job_start(Job *j, JobWork *work, void *env);
/* Reads what there is; true: the job has ended. */
bool job_read(Job *j);
/* The output, to be freed, of a job that has ended; NULL, and words in `why`, if it failed. */
char *job_end(Job *j, char *why, size_t size);
/* Ends a job; its output is lost. */
void job_cancel(Job *j);

#endif
