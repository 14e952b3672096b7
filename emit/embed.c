/* The text of the runtime inside the compiler. The Makefile makes it from runtime/ with bundle.sh.
 */
#include "emit/emit_parts.h"

#include "runtime_embed.c"

const char *embed_runtime(RuntimePart part, size_t *n)
{
    static const struct {
        const char *text;
        size_t n;
    } parts[] = {
        [RUNTIME_CORE] = {runtime_core, sizeof runtime_core - 1},
        [RUNTIME_PROGRAM] = {runtime_program, sizeof runtime_program - 1},
        [RUNTIME_LIBRARY] = {runtime_library, sizeof runtime_library - 1},
        [RUNTIME_MPI] = {runtime_mpi, sizeof runtime_mpi - 1},
        [RUNTIME_API] = {runtime_api, sizeof runtime_api - 1},
        [RUNTIME_KERNELS] = {runtime_kernels, sizeof runtime_kernels - 1},
    };
    *n = parts[part].n;
    return parts[part].text;
}

void emit_runtime(Out *o, RuntimePart part)
{
    size_t n;
    const char *text = embed_runtime(part, &n);
    out_putn(o, text, n);
    out_puts(o, "\n");
}

const char *embed_digest(void)
{
    return runtime_digest;
}
