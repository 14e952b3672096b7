/* Children of the server. */
#include "lsp/process/job.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void child(int fd, JobWork *work, void *env)
{
    int null = open("/dev/null", O_RDWR); /* the protocol's descriptors are not for it */
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    signal(SIGALRM, SIG_DFL);
    alarm(JOB_SECONDS);
#ifndef __SANITIZE_ADDRESS__ /* which maps much more than it has */
    struct rlimit memory = {(rlim_t)JOB_GB << 30, (rlim_t)JOB_GB << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    char *text = work(env);
    for (size_t at = 0, n = strlen(text); at < n;) {
        ssize_t k = write(fd, text + at, n - at);
        if (k < 0 && errno != EINTR)
            _exit(1);
        at += k > 0 ? (size_t)k : 0;
    }
    _exit(0);
}

bool job_start(Job *j, JobWork *work, void *env)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fflush(NULL); /* what is in buffers is written once */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(ends[1], work, env);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
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
    close(j->fd);
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) {
    }
    *j = (Job){0};
    return status;
}

void job_cancel(Job *j)
{
    kill(j->pid, SIGKILL);
    free(j->out.bytes);
    bury(j);
}

char *job_end(Job *j, char *why, size_t size)
{
    char *text = j->out.bytes;
    int status = bury(j);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && text)
        return text;
    free(text);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(why, size, "it took more than %d s", (int)JOB_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(why, size, "it ended by signal %d", WTERMSIG(status));
    else
        snprintf(why, size, "it ended with code %d", WEXITSTATUS(status));
    return NULL;
}
