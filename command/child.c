#include "command/child.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDS = sizeof ends / sizeof *ends };

static struct {
    struct sigaction before[N_ENDS];
    volatile pid_t target; /* of kill(): negative, a group; 0: there is no child */
    volatile sig_atomic_t came;
    int holds; /* within each other */
} child;

static void pass_on(int sig)
{
    child.came = sig;
    if (child.target)
        kill(child.target, SIGTERM); /* what is started in the background ignores SIGINT */
}

/* Blocks those signals. */
static void block(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < N_ENDS; i++)
        sigaddset(&set, ends[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void child_hold(void)
{
    if (child.holds++)
        return;
    child.came = 0;
    for (int i = 0; i < N_ENDS; i++) {
        struct sigaction act = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
        /* What is ignored (nohup) stays so. */
        if (sigaction(ends[i], NULL, &child.before[i]) == 0 &&
            child.before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    }
}

void child_release(void)
{
    if (--child.holds)
        return;
    for (int i = 0; i < N_ENDS; i++)
        sigaction(ends[i], &child.before[i], NULL);
    if (child.came)
        raise(child.came);
}

/* In the child. */
static void begin(bool group, const sigset_t *mask)
{
    if (group) {
        setpgid(0, 0);
        signal(SIGTTOU, SIG_IGN); /* it is in the background, whose messages a terminal may want to
                                     stop (stty tostop) */
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int i = 0; i < N_ENDS; i++)
        if (child.before[i].sa_handler != SIG_IGN)
            signal(ends[i], SIG_DFL);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

pid_t child_fork(bool group)
{
    sigset_t mask;
    block(&mask); /* none comes between the child and its number */
    pid_t pid = child.came ? -1 : fork();
    if (pid == 0) {
        begin(group, &mask);
        return 0;
    }
    int saved = child.came ? EINTR : errno;
    if (pid > 0 && group)
        setpgid(pid, pid);
    child.target = pid < 0 ? 0 : group ? -pid : pid;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = saved;
    return pid;
}

int child_wait(pid_t pid)
{
    siginfo_t info;
    int status, ended;
    /* The number is the child's until it is reaped: nobody else gets what comes up to then. */
    do
        ended = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    while (ended < 0 && errno == EINTR);
    child.target = 0;
    while (ended == 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            ended = -1;
    return ended < 0 ? -1 : status;
}
