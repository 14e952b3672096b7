/* The files that commands write, and what they must not write over: what they read, and what
 * somebody else has made. */
#ifndef COMMAND_OUTPUT_H
#define COMMAND_OUTPUT_H

#include "base/out.h"

#include <stdbool.h>
#include <stdio.h>

/* How files of a kind that we have made are recognised: they begin with one of the heads, or `ours`
 * says so. */
typedef struct {
    const char *heads[4];
    bool (*ours)(const char *path);
} OutputKind;

typedef struct {
    const char *path;   /* NULL: it is not written */
    const char *option; /* that names it: "-o"; NULL: its name follows from another one */
    const OutputKind *kind;
} Output;

/* What one command writes. */
typedef struct {
    const char *command; /* in front of messages: "minifut tune" */
    bool force; /* what is there and not ours is written over; what the command reads never is */
    const Output *of;
    int n;
} Outputs;

/* From now on no output may be this file, however it is spelt or linked: `what` says what it is ("a
 * data set"). Files that are not there, devices and pipes do not count. source_read notes all that
 * it reads. */
void output_protect(const char *path, const char *what);
/* Writes the names of all that is protected, each followed by a zero byte. */
void output_print_protected(FILE *f);

/* May they all be written? No output may be what the command reads, nor another one of its outputs
 * (EXIT_USAGE); what is there must be ours or forced (EXIT_USER). 0, or the exit code after a
 * message. */
int output_check(const Outputs *os);
/* Is one of them there already, as a file? */
bool output_any_there(const Outputs *os);
/* Writes the text to one of them by out_write_file, if it still may be. 0, or the exit code after a
 * message. */
int output_write(const Outputs *os, const Output *o, const Out *text);

#endif
