#include "packages/git.h"

#include "base/vec.h"
#include "command/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

static bool verbose;

void git_set_verbose(void)
{
    verbose = true;
}

/* Where git would look for another repository than the one that it is told: it may have started us,
 * as a hook. */
static const char *const elsewhere[] = {"GIT_DIR",
                                        "GIT_WORK_TREE",
                                        "GIT_INDEX_FILE",
                                        "GIT_OBJECT_DIRECTORY",
                                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                        "GIT_COMMON_DIR",
                                        "GIT_NAMESPACE"};

/* In the child: neither git nor what it starts asks for a password. Who reads from the terminal all
 * the same, in the background, gets an error, and is not stopped. */
static void become_git(const char *const *words, int in, int out, int err)
{
    signal(SIGTTIN, SIG_IGN);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        unsetenv(elsewhere[i]);
    setenv("GIT_TERMINAL_PROMPT", "0", 1);
    setenv("GIT_ASKPASS", "", 1);
    setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    if (in < 0)
        in = open("/dev/null", O_RDONLY);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    execvp(words[0], (char *const *)words);
    dprintf(2, "%s", strerror(errno));
    _exit(NOT_STARTED);
}

typedef VEC(char) Bytes;

/* Reads both pipes to their ends. */
static void read_pipes(Arena *a, const int pipes[2], Bytes texts[2])
{
    struct pollfd fds[2] = {{.fd = pipes[0], .events = POLLIN}, {.fd = pipes[1], .events = POLLIN}};
    static char part[1 << 16];
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, part, sizeof part);
            if (n == 0 || (n < 0 && errno != EINTR))
                fds[i].fd = -1;
            for (ssize_t k = 0; k < n; k++)
                vec_push(a, &texts[i], part[k]);
        }
    }
}

/* Closes those that are open. */
static void close_pipes(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static GitAnswer run(Arena *a, const char *const *words, FILE *input)
{
    GitAnswer g = {0};
    int fds[4] = {-1, -1, -1, -1}; /* two pipes: where to read, and to write */
    pid_t pid = -1;
    if (pipe2(fds, O_CLOEXEC) == 0 && pipe2(fds + 2, O_CLOEXEC) == 0)
        pid = child_fork(true);
    if (pid == 0)
        become_git(words, input ? fileno(input) : -1, fds[1], fds[3]);
    if (pid < 0) {
        g.missing = errno != EINTR;
        g.errors = arena_strdup(a, strerror(errno));
        close_pipes(fds, 4);
        return g;
    }
    close(fds[1]);
    close(fds[3]);
    Bytes texts[2] = {{0}};
    read_pipes(a, (const int[]){fds[0], fds[2]}, texts);
    close(fds[0]);
    close(fds[2]);
    int status = child_wait(pid);
    g.ok = status == 0;
    g.missing = status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED;
    g.n = (size_t)texts[0].n;
    vec_push(a, &texts[0], '\0');
    g.text = texts[0].at;
    while (texts[1].n && vec_last(&texts[1]) == '\n')
        texts[1].n--;
    vec_push(a, &texts[1], '\0');
    g.errors = texts[1].at;
    return g;
}

GitAnswer git_run(Arena *a, const char *dir, FILE *input, const char *const *args)
{
    /* What goes on in the background would hold our pipes open; a server that has fallen silent is
     * given up after half a minute. */
    static const char *const usual[] = {"git",
                                        "-c",
                                        "maintenance.auto=false",
                                        "-c",
                                        "gc.auto=0",
                                        "-c",
                                        "http.lowSpeedLimit=1",
                                        "-c",
                                        "http.lowSpeedTime=30"};
    VEC(const char *) words = {0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        vec_push(a, &words, usual[i]);
    if (dir)
        vec_push(a, &words, arena_printf(a, "--git-dir=%s", dir));
    for (; *args; args++)
        vec_push(a, &words, *args);
    if (verbose) {
        fputs("git", stderr);
        for (int i = (int)(sizeof usual / sizeof *usual); i < words.n; i++)
            fprintf(stderr, " %s", words.at[i]);
        fputc('\n', stderr);
    }
    vec_push(a, &words, NULL);
    return run(a, words.at, input);
}

char *git_line(const GitAnswer *g, size_t *at, char end)
{
    if (*at >= g->n)
        return NULL;
    char *line = g->text + *at, *stop = memchr(line, end, g->n - *at);
    if (!stop)
        stop = g->text + g->n;
    *stop = '\0';
    *at = (size_t)(stop - g->text) + 1;
    return line;
}
