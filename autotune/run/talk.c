#include "autotune/run/talk.h"

#include "command/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct Server {
    pid_t pid; /* 0 when it is gone */
    int to, from, err;
    Out in;  /* read from the server, not yet handed out */
    Out log; /* its standard error */
    char *handed_out;
};

enum { MAX_ARGS = 64, MAX_LAUNCHER = 16 }; /* words */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bury(Server *s, bool kill_it)
{
    if (!s->pid)
        return;
    if (kill_it)
        kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
    close(s->to);
    close(s->from);
    close(s->err);
}

/* Reads what is there; false at the end of the stream. */
static bool drain(int fd, Out *o)
{
    char buf[4096];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof buf);
        if (n > 0)
            out_putn(o, buf, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else
            return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
}

/* The line `mark` in the text, NULL if it is not there. */
static char *find_line(char *text, const char *mark)
{
    size_t n = strlen(mark);
    for (char *p = text; p && (p = strstr(p, mark)); p += n)
        if ((p == text || p[-1] == '\n') && p[n] == '\n')
            return p;
    return NULL;
}

/* Is the reply whole? It ends with `%%% OK`; a failure has `%%% FAILURE` before it, between what
 * was logged and the reason. Leaves in *in the reply's text, a failure's reason first and what was
 * logged behind TALK_LOG. */
static bool cut_reply(Out *in, bool *ok)
{
    static const char failure[] = "%%% FAILURE\n";
    char *end = find_line(in->text, "%%% OK");
    if (!end)
        return false;
    *end = '\0';
    in->n = (size_t)(end - in->text);
    char *at = find_line(in->text, "%%% FAILURE");
    *ok = !at;
    if (at) {
        Out text = {0};
        out_puts(&text, at + sizeof failure - 1);
        out_puts(&text, TALK_LOG);
        out_putn(&text, in->text, (size_t)(at - in->text));
        out_free(in);
        *in = text;
    }
    return true;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = 1;
}

void server_catch_interrupts(void)
{
    catch_signals(on_interrupt);
}

bool server_interrupted(void)
{
    return interrupted;
}

/* Waits until the server has answered. */
static TalkStatus await(Server *s, double seconds, bool *ok)
{
    double deadline = now() + seconds;
    bool open = true;
    while (!cut_reply(&s->in, ok)) {
        double left = deadline - now();
        if (!open || left <= 0 || interrupted) {
            drain(s->err, &s->log);
            bury(s, true);
            return open && !interrupted ? TALK_TIMEOUT : TALK_DEAD;
        }
        struct pollfd fds[2] = {{s->from, POLLIN, 0}, {s->err, POLLIN, 0}};
        if (poll(fds, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR)
            open = false;
        if (fds[1].revents)
            drain(s->err, &s->log);
        if (fds[0].revents)
            open = drain(s->from, &s->in);
    }
    drain(s->err, &s->log);
    return TALK_OK;
}

/* Runs main of a shared object, as exec would. */
_Noreturn static void call_main(const char *prog, int argc, char **argv)
{
    int (*entry)(int, char **) = NULL;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    void *object = dlopen(prog, RTLD_NOW);
    if (object)
        *(void **)&entry = dlsym(object, "main");
    if (!entry) {
        fprintf(stderr, "cannot load %s: %s\n", prog, dlerror());
        _exit(127);
    }
    int code = entry(argc, argv);
    fflush(NULL);
    _exit(code);
}

/* The beginning of a command that runs on so many ranks, by $MPIRUN, which is to be of the MPI
 * whose compiler $MPICC is: more than processors, if need be, and by whoever that is. Open MPI
 * wants to be told both; the names are those of its series 4 and 5. */
static int add_mpirun(const char **argv, int ranks)
{
    static char number[16], launcher[1024];
    static const char *const told[][2] = {
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        setenv(told[i][0], told[i][1], 0);
    const char *asked = getenv("MPIRUN");
    char *save;
    int n = 0;
    snprintf(launcher, sizeof launcher, "%s", asked ? asked : "");
    for (char *w = strtok_r(launcher, " ", &save); w && n < MAX_LAUNCHER;
         w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    if (n == 0)
        argv[n++] = "mpirun";
    snprintf(number, sizeof number, "%d", ranks);
    argv[n++] = "-n";
    argv[n++] = number;
    return n;
}

static void child(const char *prog, bool forked, int ranks, const char *const *args,
                  const int to[2], const int from[2], const int err[2])
{
    const char *argv[MAX_LAUNCHER + MAX_ARGS + 5] = {NULL};
    int n = ranks > 0 ? add_mpirun(argv, ranks) : 0;
    argv[n++] = prog;
    argv[n++] = "--server";
    for (int i = 0; args && args[i] && i < MAX_ARGS; i++)
        argv[n++] = args[i];
    dup2(to[0], 0);
    dup2(from[1], 1);
    dup2(err[1], 2);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    signal(SIGPIPE, SIG_DFL);
    if (forked)
        call_main(prog, n, (char **)argv);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

Server *server_start(const char *prog, bool forked, int ranks, const char *const *args, Out *why)
{
    int to[2], from[2], err[2];
    Server *s = calloc(1, sizeof *s);
    if (!s || pipe(to) || pipe(from) || pipe(err)) {
        out_printf(why, "cannot start %s: %s", prog, strerror(errno));
        free(s);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0)
        child(prog, forked, ranks, args, to, from, err);
    close(to[0]);
    close(from[1]);
    close(err[1]);
    s->to = to[1];
    s->from = from[0];
    s->err = err[0];
    fcntl(s->from, F_SETFL, O_NONBLOCK);
    fcntl(s->err, F_SETFL, O_NONBLOCK);
    fcntl(s->to, F_SETFD, FD_CLOEXEC);
    fcntl(s->from, F_SETFD, FD_CLOEXEC);
    fcntl(s->err, F_SETFD, FD_CLOEXEC);
    bool ok = false;
    if (s->pid < 0 || await(s, 120, &ok) != TALK_OK || !ok) {
        const char *log = s->log.text ? s->log.text : "";
        int n = (int)strlen(log);
        while (n && log[n - 1] == '\n')
            n--;
        if (server_interrupted()) /* while it started */
            out_puts(why, "interrupted");
        else
            out_printf(why, "%s does not start as a server: %.*s", prog, n, log);
        server_stop(s);
        return NULL;
    }
    out_free(&s->in);
    return s;
}

void server_stop(Server *s)
{
    if (!s)
        return;
    if (s->pid > 0) {
        close(s->to); /* end of input ends a server */
        s->to = -1;
        for (int i = 0; i < 50 && s->pid; i++) {
            if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
                close(s->from);
                close(s->err);
                s->pid = 0;
                break;
            }
            usleep(10000);
        }
        bury(s, true);
    }
    out_free(&s->in);
    out_free(&s->log);
    free(s->handed_out);
    free(s);
}

TalkStatus server_command(Server *s, double seconds, Out *reply, const char *fmt, ...)
{
    out_free(reply);
    if (!s->pid)
        return TALK_DEAD;
    Out line = {0};
    va_list ap;
    va_start(ap, fmt);
    out_vprintf(&line, fmt, ap);
    va_end(ap);
    out_puts(&line, "\n");
    const char *p = line.text;
    size_t n = line.n;
    while (n) {
        ssize_t k = write(s->to, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            break;
        p += k;
        n -= (size_t)k;
    }
    out_free(&line);
    bool ok = false;
    TalkStatus status = await(s, seconds, &ok);
    *reply = s->in;
    s->in = (Out){0};
    return status != TALK_OK ? status : ok ? TALK_OK : TALK_FAILURE;
}

const char *server_log(Server *s)
{
    free(s->handed_out);
    s->handed_out = out_take(&s->log);
    return s->handed_out;
}
