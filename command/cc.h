/* Running the C compiler. No shell is in between: whatever a file is called, it is an argument. */
#ifndef COMMAND_CC_H
#define COMMAND_CC_H

#include <stdbool.h>

/* A call: $CC (cc) -std=gnu11 FLAGS... $CFLAGS ARGS..., the two variables split at white space, so
 * that of options which exclude each other those of CFLAGS count. Both lists end with NULL; of
 * `args` those that are files are made by cc_file. */
typedef struct {
    const char *const *flags, *const *args;
    bool mpi; /* by $MPICC (mpicc) instead of $CC */
} CcCall;

/* Runs the calls side by side, and waits. `quiet`: without their messages. 0 if all succeeded, -1
 * and errno if they could not be started, else the status of one that failed, as of waitpid; it
 * ends the others. A signal meanwhile ends all and what they started, if signals are held
 * (command/child.h). folder: for temporary files, which compilers that are ended may leave; NULL:
 * where they are always. */
int cc_run_all(const CcCall *calls, int n, const char *folder, bool quiet);
/* Does $CFLAGS choose a level of optimisation? */
bool cc_level_chosen(void);
/* Can $CC optimise? Not tcc. */
bool cc_optimises(void);

/* The name of a file as an argument that cannot be taken for an option or a file of options; to
 * free(). */
char *cc_file(const char *path);

#endif
