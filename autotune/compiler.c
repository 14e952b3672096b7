/* Compiling the program that is to be run, by a process of this very compiler. */
#include "autotune/compiler.h"

#include "base/diag.h"
#include "base/source.h"

#include <errno.h>
#include <stdio.h>
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

int compile_program(const char *source, const char *binary, const char *mode)
{
    char option[64];
    snprintf(option, sizeof option, "--flatten=%s", mode ? mode : "incremental");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "minifut", "compile", option, "-o", binary, "--", source,
              (char *)NULL);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        fprintf(stderr, "minifut: cannot start the compiler: %s\n", strerror(errno));
        return EXIT_USER;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BUG;
}
