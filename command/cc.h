/* Running the C compiler. No shell is in between: whatever a file is called, it is an argument. */
#ifndef COMMAND_CC_H
#define COMMAND_CC_H

#include <stdbool.h>

/* Runs $CC (cc) -std=gnu11 -O1 $CFLAGS ARGS... and waits; the two variables are split at white
 * space. `args` ends with NULL; those that are files are made by cc_file. `quiet`: without its
 * messages. 0 if it succeeded, -1 and errno if it could not be started, else its status as of
 * waitpid. A signal meanwhile ends it and all that it started, if signals are held
 * (command/child.h). */
int cc_run(const char *const *args, bool quiet);

/* The name of a file as an argument that cannot be taken for an option or a file of options; to
 * free(). */
char *cc_file(const char *path);

#endif
