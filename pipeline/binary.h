/* Programs from their C text. */
#ifndef PIPELINE_BINARY_H
#define PIPELINE_BINARY_H

#include "base/out.h"

#include <stdbool.h>
#include <stddef.h>

/* What is known of kernels that are C functions. */
typedef struct {
    size_t bytes;  /* of their text (emit_c) */
    bool portable; /* they run on other machines of this kind, too */
    bool mpi;      /* the program is for several ranks: built by MPI's compiler */
    bool shared;   /* it is a library: NAME.so */
} BinaryKernels;

/* NAME, or NAME.so of a shared library. */
const char *binary_file(Arena *a, const char *name, bool shared);
/* Builds NAME, or NAME.so, from NAME.c, in a new file beside it; an old one stays as it was until
 * the new one is there. The exit code, 0 or 1 after a message. The runtime, which all programs
 * begin with, is taken from a library that holds it compiled, where there is one of this very text
 * (libminifut_rt-DIGEST.a, of libraries libminifut_so-DIGEST.a). Kernels are compiled apart from
 * host code, optimised and side by side, unless $CFLAGS chooses one level for all. */
int binary_build(Arena *a, const char *name, const BinaryKernels *k);
/* Builds a program of the C text without a name: an open file, which goes when it is closed. -1
 * after a message. However this ends, it leaves no file. */
int binary_build_unnamed(Arena *a, const Out *text, const BinaryKernels *k);
/* Compiles the runtime into the folder, so that the programs that this process and its children
 * build need not do it each for itself: sets $MINIFUT_RUNTIME, and adds to $CFLAGS, which must be
 * final but for options of the linker. If it cannot, they do. */
void binary_share_runtime(Arena *a, const char *folder);
/* Becomes the program in the open file; args[0] is what it calls itself. Returns only if that
 * fails: the exit code, after a message. */
int binary_become(int file, const char *const *args);
/* Is it a program or library that we have built? They have their help in them, or the name of a
 * function that only our libraries have. */
bool binary_is_ours(const char *path);
/* Can a program get this name? A folder cannot, and a device or pipe must not be replaced: false
 * after a message. */
bool binary_may_be(const char *name);

#endif
