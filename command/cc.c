#include "command/cc.h"

#include "base/arena.h"
#include "command/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int cc_run(const char *const *args, bool quiet)
{
    const char *words[MAX_WORDS + 1];
    int n = 0;
    const char *cc = getenv("CC"), *flags = getenv("CFLAGS");
    char *cc_words = mem_or_exit(strdup(cc && *cc ? cc : "cc"));
    char *flag_words = mem_or_exit(strdup(flags ? flags : ""));
    split(cc_words, words, &n);
    if (n == 0)
        words[n++] = "cc";
    words[n++] = "-std=gnu11";
    words[n++] = "-O1"; /* host code does little; -O2 would take twice as long */
    split(flag_words, words, &n);
    for (int i = 0; args[i] && n < MAX_WORDS; i++)
        words[n++] = args[i];
    words[n] = NULL;
    pid_t pid = child_fork(true);
    if (pid == 0) {
        int null = quiet ? open("/dev/null", O_WRONLY) : -1;
        if (null >= 0)
            dup2(null, 2);
        execvp(words[0], (char *const *)words);
        fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    int status = pid < 0 ? -1 : child_wait(pid);
    free(cc_words);
    free(flag_words);
    return status;
}

char *cc_file(const char *path)
{
    char *arg = mem_or_exit(malloc(strlen(path) + 3));
    sprintf(arg, "%s%s", path[0] == '/' || path[0] == '.' ? "" : "./", path);
    return arg;
}
