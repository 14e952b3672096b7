/* The text of the runtime inside the compiler. The Makefile makes it from runtime/ with bundle.sh.
 */
#include "emit/emit_parts.h"

#include "runtime_embed.c"

const char *embed_runtime(size_t *n)
{
    *n = sizeof runtime_text - 1;
    return runtime_text;
}
