/* Children of the server. An output ends with a zero byte: of what has none the process has failed.
 * Behind one there may be words that say why. */
#include "lsp/process/job.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Descriptors ---------------------------------------------------------------------------- */

/* A child that lives on with one of them would keep it open when its owner has closed it. */
static struct {
    int *at, n, cap;
} held;

void job_hold(int fd)
{
    if (held.n == held.cap) {
        held.cap = held.cap ? 2 * held.cap : 16;
        held.at = mem_or_exit(realloc(held.at, (size_t)held.cap * sizeof *held.at));
    }
    held.at[held.n++] = fd;
}

void job_close(int fd)
{
    for (int i = 0; i < held.n; i++)
        if (held.at[i] == fd)
            held.at[i--] = held.at[--held.n];
    close(fd);
}

void job_begin_child(int kept)
{
    for (int i = 0; i < held.n; i++)
        if (held.at[i] != kept)
            close(held.at[i]);
    held.n = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);     /* it does not outlive one that is killed */
    int null = open("/dev/null", O_RDWR); /* the protocol's descriptors are not for it */
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

/* --- Limits --------------------------------------------------------------------------------- */

void job_limit_time(int seconds)
{
    signal(SIGALRM, SIG_DFL);
    alarm((unsigned)seconds);
}

void job_limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which maps much more than it has */
    struct rlimit memory = {(rlim_t)JOB_GB << 30, (rlim_t)JOB_GB << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
}

/* --- Output --------------------------------------------------------------------------------- */

static void write_bytes(int fd, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = write(fd, bytes + at, n - at);
        if (k < 0 && errno != EINTR)
            return;
        at += k > 0 ? (size_t)k : 0;
    }
}

void job_write(int fd, char *text)
{
    write_bytes(fd, text, strlen(text) + 1);
    free(text);
}

void job_write_failure(int fd, const char *why)
{
    write_bytes(fd, "", 1);
    write_bytes(fd, why, strlen(why) + 1);
}

void job_words(int status, char *why, size_t size)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(why, size, "it took more than %d s", (int)JOB_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(why, size, "it ended by signal %d", WTERMSIG(status));
    else
        snprintf(why, size, "it ended with code %d", WEXITSTATUS(status));
}

/* --- A job ---------------------------------------------------------------------------------- */

bool job_start(Job *j, JobWork *work, void *env)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL); /* what is in buffers is written once */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        job_begin_child(ends[1]);
        job_limit_time(JOB_SECONDS);
        job_limit_memory();
        job_write(ends[1], work(env));
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    job_hold(ends[0]);
    *j = (Job){.pid = pid, .fd = ends[0]};
    return true;
}

bool job_read(Job *j)
{
    char bytes[1 << 16];
    ssize_t n = read(j->fd, bytes, sizeof bytes);
    if (n > 0)
        buffer_put(&j->out, bytes, (size_t)n);
    return n == 0 || (n < 0 && errno != EINTR);
}

/* Its exit status; the job is none any more. */
static int bury(Job *j)
{
    int status = 0;
    job_close(j->fd);
    while (j->pid && waitpid(j->pid, &status, 0) < 0 && errno == EINTR) {
    }
    *j = (Job){0};
    return status;
}

void job_cancel(Job *j)
{
    if (j->pid)
        kill(j->pid, SIGKILL);
    free(j->out.bytes);
    bury(j);
}

char *job_end(Job *j, char *why, size_t size)
{
    char *text = j->out.bytes;
    size_t n = j->out.n, k = text ? strlen(text) : 0;
    bool ours = j->pid != 0;
    int status = bury(j);
    if (text && k + 1 == n) /* the buffer has a zero byte of its own behind */
        return text;
    if (text && k < n)
        snprintf(why, size, "%s", text + k + 1);
    else if (ours)
        job_words(status, why, size);
    free(text);
    return NULL;
}
