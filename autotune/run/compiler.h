/* Compiling the program that is to be run, by a process of this very compiler. */
#ifndef AUTOTUNE_RUN_COMPILER_H
#define AUTOTUNE_RUN_COMPILER_H

#include "base/arena.h"
#include "base/out.h"

#include <stdbool.h>

/* The name of the binary that `minifut compile` makes of a source, as a path that can be run. */
const char *program_binary(Arena *a, const char *source);
/* Compiles the source in a mode of flattening ("full"; NULL: the default); `mpi`: for several
 * ranks; `force`: over files that are not ours. Returns the compiler's exit code (it prints its own
 * messages). */
int compile_program(const char *source, const char *binary, const char *mode, bool mpi, bool force);
/* What a process of this very compiler prints, without its messages; `args` ends with NULL. Its
 * status as of waitpid, or -1. */
int compiler_prints(Out *o, const char *const *args);
/* The files that a program is made of, imports too, must not be written over. */
void compiler_protect_sources(const char *source);

#endif
