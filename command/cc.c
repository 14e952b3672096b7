#include "command/cc.h"

#include "base/arena.h"
#include "command/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 1024 };

/* Adds the words of a text, which is cut. */
static void split(char *text, const char **words, int *n)
{
    char *save;
    for (char *w = strtok_r(text, " \t\n", &save); w && *n < MAX_WORDS;
         w = strtok_r(NULL, " \t\n", &save))
        words[(*n)++] = w;
}

static void add(const char *const *list, const char **words, int *n)
{
    for (; *list && *n < MAX_WORDS; list++)
        words[(*n)++] = *list;
}

/* Becomes the compiler. */
static void run_call(const CcCall *c, bool quiet)
{
    const char *words[MAX_WORDS + 1];
    int n = 0;
    const char *cc = getenv(c->mpi ? "MPICC" : "CC"), *flags = getenv("CFLAGS");
    const char *usual = c->mpi ? "mpicc" : "cc";
    split(mem_or_exit(strdup(cc && *cc ? cc : usual)), words, &n);
    if (n == 0)
        words[n++] = usual;
    words[n++] = "-std=gnu11";
    add(c->flags, words, &n);
    split(mem_or_exit(strdup(flags ? flags : "")), words, &n);
    add(c->args, words, &n);
    words[n] = NULL;
    int null = open("/dev/null", O_RDWR);
    if (null >= 0)
        dup2(null, 0); /* the input may be for the program that is compiled */
    if (null >= 0 && quiet)
        dup2(null, 2);
    execvp(words[0], (char *const *)words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Waits for all children; the status of the first that fails, which ends the others and what these
 * have started. */
static int wait_all(void)
{
    int failed = 0, status;
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR;) {
        if (pid < 0 || status == 0 || failed)
            continue;
        failed = status;
        signal(SIGTERM, SIG_IGN);
        kill(0, SIGTERM);
    }
    return failed;
}

/* In a child, which has a group of its own: all calls as its children, in that group, so that what
 * ends it ends them. */
static void run_calls(const CcCall *calls, int n, bool quiet)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            run_call(&calls[i], quiet);
        }
        if (pid < 0) {
            fprintf(stderr, "minifut: cannot start the C compiler: %s\n", strerror(errno));
            kill(0, SIGTERM);
        }
    }
    int status = wait_all();
    if (WIFSIGNALED(status)) { /* end alike */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

int cc_run_all(const CcCall *calls, int n, const char *folder, bool quiet)
{
    pid_t pid = child_fork(true);
    if (pid == 0 && folder)
        setenv("TMPDIR", folder, 1);
    if (pid == 0 && n == 1)
        run_call(&calls[0], quiet);
    if (pid == 0)
        run_calls(calls, n, quiet);
    return pid < 0 ? -1 : child_wait(pid);
}

bool cc_level_chosen(void)
{
    const char *words[MAX_WORDS + 1], *flags = getenv("CFLAGS");
    char *text = mem_or_exit(strdup(flags ? flags : ""));
    int n = 0;
    bool chosen = false;
    split(text, words, &n);
    for (int i = 0; i < n; i++)
        chosen |= strncmp(words[i], "-O", 2) == 0;
    free(text);
    return chosen;
}

bool cc_optimises(void)
{
    const char *words[MAX_WORDS + 1], *cc = getenv("CC");
    char *text = mem_or_exit(strdup(cc ? cc : ""));
    int n = 0;
    split(text, words, &n);
    const char *slash = n > 0 ? strrchr(words[0], '/') : NULL;
    const char *name = n == 0 ? "" : slash ? slash + 1 : words[0];
    size_t length = strlen(name);
    bool tiny = length >= 3 && strcmp(name + length - 3, "tcc") == 0;
    free(text);
    return !tiny;
}

char *cc_file(const char *path)
{
    char *arg = mem_or_exit(malloc(strlen(path) + 3));
    sprintf(arg, "%s%s", path[0] == '/' || path[0] == '.' ? "" : "./", path);
    return arg;
}
