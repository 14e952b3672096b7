/* Compiling the program that is to be run, by a process of this very compiler. */
#include "autotune/run/compiler.h"

#include "base/diag.h"
#include "command/child.h"
#include "command/output.h"
#include "command/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *program_binary(Arena *a, const char *source)
{
    size_t n = source_stem(source);
    const char *name = source[n] ? arena_strndup(a, source, n) : arena_printf(a, "%s.out", source);
    return strchr(name, '/') ? name : arena_printf(a, "./%s", name);
}

int compile_program(const char *source, const char *binary, const char *mode, bool mpi, bool force)
{
    char option[64];
    snprintf(option, sizeof option, "--flatten=%s", mode ? mode : "incremental");
    const char *args[10] = {"minifut", "compile", option, "-o", binary};
    int n = 5;
    if (mpi)
        args[n++] = "--mpi";
    if (force)
        args[n++] = "--force";
    args[n++] = "--";
    args[n++] = source;
    fflush(NULL);
    child_hold();
    pid_t pid = child_fork(false);
    if (pid == 0) {
        execv("/proc/self/exe", (char *const *)args);
        _exit(127);
    }
    int status = pid < 0 ? -1 : child_wait(pid);
    child_release();
    if (status < 0) {
        fprintf(stderr, "minifut: cannot start the compiler: %s\n", strerror(errno));
        return EXIT_USER;
    }
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    bool killed = WTERMSIG(status) == SIGKILL;
    fprintf(stderr, "minifut: the compiler was ended by a signal (%s)%s\n",
            strsignal(WTERMSIG(status)), killed ? ": is there too little memory?" : "");
    return killed || WTERMSIG(status) == SIGTERM ? EXIT_LIMIT : EXIT_BUG;
}

int compiler_prints(Out *o, const char *const *args)
{
    char part[1 << 12];
    int fd[2], status;
    ssize_t n;
    if (pipe2(fd, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(fd[1], STDOUT_FILENO);
        dup2(none, STDERR_FILENO);
        execv("/proc/self/exe", (char *const *)args);
        _exit(127);
    }
    close(fd[1]);
    while (pid > 0 && ((n = read(fd[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
        out_putn(o, part, n > 0 ? (size_t)n : 0);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return pid > 0 ? status : -1;
}

void compiler_protect_sources(const char *source)
{
    const char *const args[] = {"minifut", "sources", "--", source, NULL};
    Out names = {0};
    (void)compiler_prints(&names, args); /* of a program with mistakes, too */
    for (size_t at = 0; at < names.n; at += strlen(names.text + at) + 1)
        output_protect(names.text + at, "a file of the program");
    out_free(&names);
}
