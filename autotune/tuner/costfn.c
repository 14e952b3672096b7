/* The command gets lines `NAME TIME WEIGHT BEST` with tabs between on its standard input, and
 * prints a number. */
#include "autotune/tuner/costfn.h"

#include "autotune/run/talk.h"
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What was asked, and the answer. */
typedef struct {
    const char *lines;
    double worth;
} Answer;

struct Cost {
    Arena *a;
    const char *command;
    double limit;
    const Datasets *ds;
    const double *weights;
    VEC(Answer) known;
    bool ended;        /* it is not asked any more */
    const char *wrong; /* why, if that is its fault */
};

/* A run of the command. */
typedef struct {
    pid_t pid;
    int to, from;     /* -1: closed */
    const char *left; /* to be written */
    Out said;
    double deadline;
    bool late; /* this process was to end before: the best so far is still chosen */
} Child;

/* No number is longer. */
enum { MOST = 1000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- Running it ----------------------------------------------------------------------------- */

_Noreturn static void become(const char *command, const int to[2], const int from[2])
{
    setpgid(0, 0); /* so that all of it can be ended */
    dup2(to[0], 0);
    dup2(from[1], 1);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static bool start(Child *ch, const char *command, const char *lines, double limit)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC))
        return false;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    fflush(NULL);
    *ch = (Child){.to = to[1],
                  .from = from[0],
                  .left = lines,
                  .deadline = now() + limit,
                  .late = server_interrupted()};
    ch->pid = fork();
    if (ch->pid == 0)
        become(command, to, from);
    setpgid(ch->pid, ch->pid); /* whichever of the two comes first */
    close(to[0]);
    close(from[1]);
    fcntl(ch->to, F_SETFL, O_NONBLOCK);
    fcntl(ch->from, F_SETFL, O_NONBLOCK);
    return ch->pid > 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A command need not read what it is told. */
static void write_some(Child *ch)
{
    ssize_t n = write(ch->to, ch->left, strlen(ch->left));
    if (n > 0)
        ch->left += n;
    if (!*ch->left || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&ch->to);
}

static void read_some(Child *ch)
{
    char buf[256];
    ssize_t n = read(ch->from, buf, sizeof buf);
    if (n > 0)
        out_putn(&ch->said, buf, (size_t)n);
    if (n == 0 || ch->said.n > MOST || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&ch->from);
}

static bool may_go_on(const Child *ch)
{
    return now() < ch->deadline && (ch->late || !server_interrupted());
}

/* Its exit status; -1 and nothing left of it if it took too long or we are to end. */
static int finish(Child *ch)
{
    int status = -1;
    useconds_t nap = 100;
    while (ch->from >= 0 && may_go_on(ch)) {
        struct pollfd fds[2] = {{ch->from, POLLIN, 0}, {ch->to, POLLOUT, 0}};
        poll(fds, 2, (int)((ch->deadline - now()) * 1000) + 1);
        if (fds[1].revents && ch->to >= 0)
            write_some(ch);
        if (fds[0].revents)
            read_some(ch);
    }
    close_end(&ch->to);
    close_end(&ch->from);
    pid_t ended = 0;
    while ((ended = waitpid(ch->pid, &status, WNOHANG)) == 0 && may_go_on(ch)) {
        usleep(nap);
        nap = nap < 20000 ? 2 * nap : nap;
    }
    kill(-ch->pid, SIGKILL); /* what it left behind, too */
    if (ended)
        return status;
    while (waitpid(ch->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

/* --- What it says --------------------------------------------------------------------------- */

/* The whole text as a number. */
static bool parse_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && !end[strspn(end, " \t\r\n")] && !isnan(*number);
}

/* Why a run of the command is of no use; NULL if it is. */
static const char *fault(const Cost *c, const Child *ch, int status, double *worth)
{
    const char *said = ch->said.text ? ch->said.text : "";
    int n = (int)strcspn(said, "\r\n");
    if (now() >= ch->deadline)
        return arena_printf(c->a, "it takes longer than %g s", c->limit);
    if (ch->said.n > MOST)
        return "it prints more than a number";
    if (status < 0 || WIFSIGNALED(status))
        return "it was ended by a signal";
    if (WEXITSTATUS(status))
        return arena_printf(c->a, "exit code %d", WEXITSTATUS(status));
    return parse_number(said, worth)
               ? NULL
               : arena_printf(c->a, "it prints '%.*s', not a number", n, said);
}

static double ask(Cost *c, const char *lines)
{
    Child ch = {0};
    double worth = INFINITY;
    const char *wrong = NULL;
    if (!start(&ch, c->command, lines, c->limit)) {
        wrong = arena_printf(c->a, "it cannot be started: %s", strerror(errno));
    } else {
        int status = finish(&ch);
        wrong = fault(c, &ch, status, &worth);
        out_free(&ch.said);
    }
    bool interrupted = server_interrupted() && !ch.late;
    c->ended = wrong || interrupted;
    if (wrong && !interrupted)
        c->wrong = arena_printf(c->a, "--objective=%s: %s", c->command, wrong);
    return c->ended ? INFINITY : worth;
}

/* --- What it is told ------------------------------------------------------------------------ */

/* A name without what separates. */
static void put_name(Out *o, const char *name)
{
    for (const char *s = name; *s; s++)
        out_putn(o, strchr("\t\r\n", *s) ? "?" : s, 1);
}

static const char *lines_of(Cost *c, int n, const int *datasets, const double *seconds,
                            const double *bests)
{
    Out o = {0};
    for (int i = 0; i < n; i++) {
        int d = datasets[i];
        put_name(&o, c->ds->at[d].name);
        if (isfinite(seconds[i]))
            out_printf(&o, "\t%.3f", seconds[i] * 1e6);
        else
            out_puts(&o, "\tfail");
        out_printf(&o, "\t%.9g\t%.3f\n", c->weights ? c->weights[d] : 1, bests[i] * 1e6);
    }
    const char *lines = arena_strdup(c->a, o.text ? o.text : "");
    out_free(&o);
    return lines;
}

Cost *cost_open(Arena *a, const char *command, double limit, const Datasets *ds,
                const double *weights)
{
    Cost *c = NEW(a, Cost);
    *c = (Cost){.a = a, .command = command, .limit = limit, .ds = ds, .weights = weights};
    signal(SIGPIPE, SIG_IGN);
    return c;
}

double cost_of(void *cost, int n, const int *datasets, const double *seconds, const double *bests)
{
    Cost *c = cost;
    if (c->ended)
        return INFINITY;
    const char *lines = lines_of(c, n, datasets, seconds, bests);
    for (int i = 0; i < c->known.n; i++)
        if (strcmp(c->known.at[i].lines, lines) == 0)
            return c->known.at[i].worth;
    double worth = ask(c, lines);
    if (!c->ended)
        vec_push(c->a, &c->known, ((Answer){lines, worth}));
    return worth;
}

const char *cost_wrong(const Cost *c)
{
    return c->wrong;
}
