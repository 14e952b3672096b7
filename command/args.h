/* The arguments of a command: one table says which options there are, reads them and is
 * the help. */
#ifndef COMMAND_ARGS_H
#define COMMAND_ARGS_H

#include <stdbool.h>
#include <stdio.h>

/* It is no option at all. */
enum { ARGS_UNKNOWN = -2 };

/* An option. How the help shows it says what it is called and whether it takes a value: "-d,
 * --device NAME",
 * "--only=thresholds", "-q, --quiet". The value goes to the one of number (which must be positive),
 * text and take that is set; an option without one sets *flag, or calls take with NULL. */
typedef struct {
    const char *shown;
    const char *help; /* lines; NULL: the help leaves the option out */
    bool *flag;
    const char **text;
    double *number;
    int (*take)(void *env, const char *value); /* -1, or the exit code after a message */
    int commands;                              /* bits of those that have the option; 0: all */
    const char *values; /* for completion: words that the value may be, or that TYPE in the name
                           stands for; NULL: not known */
} ArgRow;

typedef struct {
    const char *command;                      /* in front of messages: "minifut tune" */
    const char *about;                        /* what the help begins with: lines */
    const ArgRow *rows;                       /* the last one shows nothing */
    int which;                                /* the command's bit */
    void *env;                                /* of take, other and word */
    int (*other)(void *env, const char *arg); /* takes an option that is in no row, or ARGS_UNKNOWN;
                                                 NULL: there are none */
    int (*word)(void *env, const char *arg);  /* takes what is no option: -1, or the exit code */
    const char *files; /* for completion: endings of the files that words name, "sf ir"; NULL: they
                          are no files */
    const char *first; /* for completion: what the first word may be; NULL: not known */
} Args;

/* Reads the arguments: options, as `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-n=VALUE` or, of
 * numbers, `-nVALUE`, and words in any order; after `--` only words. -1; 0 after the help was asked
 * for and printed, and after `--complete` as the only argument; else the exit code, after a
 * message.
 * --complete, for the completion of shells (tools/completion/): prints a line `files ENDINGS`, one
 * `first WORDS` if they are known, then
 * for each option that the help shows its names, what its value is called, words that it may be,
 * and the first line of its help, tabs between. */
int args_read(const Args *a, int argc, char **argv);
/* Prints the help. */
void args_help(const Args *a, FILE *f);
/* Is it one of the words? */
bool args_listed(const char *words, const char *word);
/* Says what is wrong with the arguments; EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int args_wrong(const Args *a, const char *fmt, ...);

#endif
