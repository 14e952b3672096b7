/* The program `git`, on repositories without a working tree. No shell is in between, it asks
 * nobody for anything, and knows of no repository but the one that it is told. */
#ifndef PACKAGES_GIT_H
#define PACKAGES_GIT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    bool ok;      /* it ran, and with success */
    bool missing; /* there is no such program, or it cannot be started: `errors` says why */
    char *text;   /* what it printed, a zero byte behind it */
    size_t n;
    const char *errors; /* what it printed as errors, without the newline at the end */
} GitAnswer;

/* From now on what is run is printed to standard error first. */
void git_set_verbose(void);

/* Runs git with the arguments, up to NULL, in the repository `dir` (NULL: none); input: a file that
 * is its standard input (NULL: nothing). What comes from outside is in no argument that could be
 * taken for an option. A signal meanwhile ends it: then the answer is not ok. Signals must be held
 * (command/child.h). */
GitAnswer git_run(Arena *a, const char *dir, FILE *input, const char *const *args);
#define GIT(a, dir, ...) git_run((a), (dir), NULL, (const char *const[]){__VA_ARGS__, NULL})

/* The answer's lines, one at a time: *at moves behind the one that is given, which gets a zero byte
 * instead of its `end`; NULL behind the last one. */
char *git_line(const GitAnswer *g, size_t *at, char end);

#endif
