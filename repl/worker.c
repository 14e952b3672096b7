/* Forked processes, and the signals of who waits for them. */
#include "repl/worker.h"

#include "base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted, ended;
static volatile pid_t working;

void worker_signal(int sig)
{
    *(sig == SIGINT ? &interrupted : &ended) = sig;
    if (working > 0)
        kill(working, sig);
}

bool worker_interrupted(void)
{
    bool was = interrupted;
    interrupted = 0;
    return was;
}

int worker_ended(void)
{
    return ended;
}

bool worker_wait(int fd)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* none comes between the question and the wait */
    if (!interrupted && !ended)
        ppoll(&input, 1, NULL, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !interrupted && !ended;
}

/* What is typed is not for it: nor, where a file is read, its place there. */
static _Noreturn void work_apart(Work *work, void *env, FILE *found, pid_t parent)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_USER);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    int code = work(env, found);
    fflush(NULL);
    _exit(code);
}

WorkEnd worker_run(Work *work, void *env)
{
    int fd = memfd_create("found", MFD_CLOEXEC), status = 0;
    FILE *found = fd < 0 ? NULL : fdopen(fd, "w+b");
    fflush(NULL); /* what is in buffers is written once */
    pid_t parent = getpid(), pid = found ? fork() : -1;
    if (pid == 0)
        work_apart(work, env, found, parent);
    if (pid < 0) {
        fprintf(stderr, "minifut: no process for it: %s\n", strerror(errno));
        if (found)
            fclose(found);
        else if (fd >= 0)
            close(fd);
        return (WorkEnd){.code = -1};
    }
    working = pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    working = 0;
    if (WIFEXITED(status)) {
        rewind(found);
        return (WorkEnd){.code = WEXITSTATUS(status), .found = found};
    }
    fclose(found);
    return (WorkEnd){.code = -1, .signal = WTERMSIG(status)};
}
