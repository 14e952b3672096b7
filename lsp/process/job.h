/* Work in a process of its own. It has what the server has as it is at that moment; its memory goes
 * with it, and a crash or an endless loop costs one answer. */
#ifndef LSP_PROCESS_JOB_H
#define LSP_PROCESS_JOB_H

#include "lsp/process/wire.h"

#include <sys/types.h>

enum { JOB_SECONDS = 10, JOB_GB = 2 }; /* at most */

typedef struct {
    int fd;    /* to be read when there is something; 0: none is at work */
    pid_t pid; /* the process, 0: it is none of ours, but of a fork server */
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

/* --- For fork_server.c ----------------------------------------------------------------------- */

/* A descriptor that children of this process do not have. */
void job_hold(int fd);
void job_close(int fd);
/* In a child: closes what its parent holds, but `kept`, and takes the standard streams away. */
void job_begin_child(int kept);
/* From now on this process may take so long; 0: as long as it likes. */
void job_limit_time(int seconds);
void job_limit_memory(void);
/* Writes an output, which is freed; what has no reader any more is lost. */
void job_write(int fd, char *text);
/* Writes that there is none, and why. */
void job_write_failure(int fd, const char *why);
/* How a process ended, of that status. */
void job_words(int status, char *why, size_t size);

#endif
