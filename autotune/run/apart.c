#include "autotune/run/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8 };

int processes_apart(void)
{
    long n =
        sysconf(_SC_NPROCESSORS_ONLN) / 2; /* a driver's compiler has threads, and somebody runs */
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

/* -1 if there is no process for it. */
static pid_t start(const Apart *w, int dataset)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    w->work(w->env, dataset);
    _exit(0);
}

void work_apart(const Apart *w, int n, int most)
{
    const useconds_t LOOK = 20000;
    pid_t pids[MOST];
    int next = 0, running = 0;
    bool told = false;
    most = most < MOST ? most : MOST;
    for (bool more = true; more || running; usleep(running ? LOOK : 0)) {
        more = more && next < n && !w->ends();
        while (more && running < most && next < n) {
            pid_t pid = start(w, next++);
            if (pid > 0)
                pids[running++] = pid;
        }
        for (int i = 0; w->ends() && !told && i < running; i++)
            kill(pids[i], SIGTERM);
        told = w->ends();
        for (int i = running - 1; i >= 0; i--)
            if (waitpid(pids[i], NULL, WNOHANG) != 0)
                pids[i] = pids[--running];
        w->look(w->env);
    }
}

int turn_open(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool turn_pass(int turn, bool take, bool (*ends)(void))
{
    while (flock(turn, take ? LOCK_EX : LOCK_UN) != 0)
        if (errno != EINTR || ends())
            return false;
    return true;
}
