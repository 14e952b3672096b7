/* Compiling the program that is to be run, by a process of this very compiler. */
#include "autotune/compiler.h"

#include "base/child.h"
#include "base/diag.h"
#include "base/output.h"
#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *program_binary(Arena *a, const char *source)
{
    size_t n = source_stem(source);
    const char *name =
        source[n] ? arena_strndup(a, source, n) : arena_printf(a, "%s.out", source);
    return strchr(name, '/') ? name : arena_printf(a, "./%s", name);
}

int compile_program(const char *source, const char *binary, const char *mode, bool force)
{
    char option[64];
    snprintf(option, sizeof option, "--flatten=%s", mode ? mode : "incremental");
    const char *args[9] = {"minifut", "compile", option, "-o", binary};
    int n = 5;
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
    fprintf(stderr, "minifut: the compiler was ended by a signal (%s)%s\n", strsignal(WTERMSIG(status)),
            killed ? ": is there too little memory?" : "");
    return killed || WTERMSIG(status) == SIGTERM ? EXIT_LIMIT : EXIT_BUG;
}

void compiler_protect_sources(const char *source)
{
    int fd[2];
    pid_t pid = pipe2(fd, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0)
        return;
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(fd[1], 1);
        dup2(null, 2);
        execl("/proc/self/exe", "minifut", "sources", "--", source, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    FILE *f = fdopen(fd[0], "r");
    char *name = NULL;
    size_t cap = 0;
    while (f && getdelim(&name, &cap, '\0', f) > 0)
        output_protect(name, "a file of the program");
    free(name);
    f ? fclose(f) : close(fd[0]);
    waitpid(pid, NULL, 0);
}
