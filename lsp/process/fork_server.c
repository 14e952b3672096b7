/* A question is a packet on a socket, with the descriptor of the pipe that takes the answer. The
 * fork server keeps that pipe open until the fork has ended, to say why if there is no answer; and
 * when nobody will read it any more, it ends the fork. */
#include "lsp/process/fork_server.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- The process ---------------------------------------------------------------------------- */

enum { MOST_FORKS = 4 }; /* at a time */

typedef struct {
    pid_t pid; /* 0: none */
    int fd;    /* of its answer */
    bool lost; /* nobody reads it */
} Fork;

typedef struct {
    int socket;
    const ForkServerLife *life;
    void *env;
    Fork forks[MOST_FORKS];
} Process;

/* The room for a control message with one descriptor. */
typedef union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
} OneDescriptor;

/* Ended children interrupt waiting, and nothing else. */
static void on_child(int signal)
{
    (void)signal;
}

/* The next question, to be freed, and the descriptor of its answer; NULL: nobody asks any more. */
static char *take_question(int socket, int *answer)
{
    ssize_t n = recv(socket, NULL, 0, MSG_PEEK | MSG_TRUNC);
    if (n <= 0)
        return NULL;
    char *text = mem_or_exit(calloc(1, (size_t)n + 1));
    OneDescriptor control;
    struct iovec bytes = {text, (size_t)n};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS) {
        free(text);
        return NULL;
    }
    memcpy(answer, CMSG_DATA(c), sizeof *answer);
    return text;
}

static bool has_reader(int pipe)
{
    struct pollfd fd = {.fd = pipe};
    return poll(&fd, 1, 0) <= 0 || !(fd.revents & POLLERR);
}

static _Noreturn void answer_in_fork(const Process *p, const char *question, int fd)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_DFL);
    job_begin_child(fd);
    job_limit_time(JOB_SECONDS);
    job_write(fd, p->life->answer(p->env, question));
    _exit(0);
}

/* False: nobody asks any more. */
static bool take(Process *p)
{
    int fd = -1;
    char *question = take_question(p->socket, &fd);
    Fork *f = p->forks;
    if (!question)
        return false;
    while (f->pid)
        f++;
    if (has_reader(fd)) {
        job_hold(fd);
        job_limit_time(JOB_SECONDS);
        char *text = p->life->prepare(p->env, question);
        if (text)
            job_write(fd, text);
        job_limit_time(0);
        *f = (Fork){.pid = text ? 0 : fork(), .fd = fd};
        if (!text && f->pid == 0)
            answer_in_fork(p, question, fd);
    }
    if (f->pid < 0) {
        job_write_failure(fd, strerror(errno));
        *f = (Fork){0};
    }
    if (!f->pid)
        job_close(fd);
    free(question);
    return true;
}

static void write_failure(int fd, int status)
{
    char why[64];
    job_words(status, why, sizeof why);
    job_write_failure(fd, why);
}

static void bury_forks(Process *p)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (Fork *f = p->forks; f < p->forks + MOST_FORKS; f++) {
            if (f->pid != pid)
                continue;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                write_failure(f->fd, status);
            job_close(f->fd);
            *f = (Fork){0};
        }
}

/* One turn; false: nobody asks any more. */
static bool turn(Process *p, const sigset_t *signals)
{
    struct pollfd fds[1 + MOST_FORKS];
    bool room = false;
    bury_forks(p);
    for (int i = 0; i < MOST_FORKS; i++) {
        room |= !p->forks[i].pid;
        fds[1 + i] =
            (struct pollfd){.fd = p->forks[i].pid && !p->forks[i].lost ? p->forks[i].fd : -1};
    }
    fds[0] = (struct pollfd){.fd = p->socket, .events = room ? POLLIN : 0};
    if (ppoll(fds, 1 + MOST_FORKS, NULL, signals) < 0)
        return errno == EINTR;
    for (int i = 0; i < MOST_FORKS; i++)
        if (fds[1 + i].revents & POLLERR) {
            p->forks[i].lost = true;
            kill(p->forks[i].pid, SIGKILL);
        }
    return fds[0].revents & POLLIN ? take(p) : !fds[0].revents;
}

static _Noreturn void live(Process *p)
{
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    signal(SIGCHLD, on_child);
    while (turn(p, &before)) {
    }
    if (getpgrp() == getpid())
        kill(0, SIGKILL); /* with its forks, which are its group */
    _exit(0);
}

/* --- Its parent ----------------------------------------------------------------------------- */

bool fork_server_start(ForkServer *f, Job *first, const ForkServerLife *life, void *env)
{
    int ends[2], out[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        close(out[0]);
        close(out[1]);
        return false;
    }
    fflush(NULL); /* what is in buffers is written once */
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        close(ends[0]);
        close(out[0]);
        job_begin_child(-1);
        job_hold(ends[1]);
        job_limit_memory();
        job_limit_time(JOB_SECONDS);
        job_write(out[1], life->begin(env));
        job_limit_time(0);
        close(out[1]);
        live(&(Process){.socket = ends[1], .life = life, .env = env});
    }
    close(ends[1]);
    close(out[1]);
    if (pid < 0) {
        close(ends[0]);
        close(out[0]);
        return false;
    }
    setpgid(pid, pid); /* who of both comes first */
    job_hold(ends[0]);
    job_hold(out[0]);
    *f = (ForkServer){pid, ends[0]};
    *first = (Job){.fd = out[0]};
    return true;
}

bool fork_server_ask(const ForkServer *f, const char *question, Job *answer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    OneDescriptor control = {0};
    struct iovec bytes = {(char *)question, strlen(question)};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(c), &ends[1], sizeof(int));
    ssize_t n = sendmsg(f->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    int err = errno;
    close(ends[1]);
    if (n < 0) {
        close(ends[0]);
        errno = err;
        return false;
    }
    job_hold(ends[0]);
    *answer = (Job){.fd = ends[0]};
    return true;
}

void fork_server_end(ForkServer *f, char *why, size_t size)
{
    int status = 0;
    kill(-f->pid, SIGKILL); /* does nothing to a process that has ended */
    while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR) {
    }
    job_words(status, why, size);
    job_close(f->fd);
    *f = (ForkServer){0};
}
