/* Finding libedit. */
#include "repl/libedit.h"

#include <dlfcn.h>
#include <string.h>

/* As Debian, other systems, and those who have what it is developed with call it. */
static const char *const names[] = {"libedit.so.2", "libedit.so.0", "libedit.so"};

static void *function(void *library, const char *name, bool *all)
{
    void *found = dlsym(library, name);
    *all = *all && found;
    return found;
}

const Libedit *libedit_find(void)
{
    static Libedit calls;
    void *library = NULL;
    bool all = true;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
#define LIBEDIT_CALL(result, name, params)                                                         \
    memcpy(&calls.name, &(void *){function(library, #name, &all)}, sizeof(void *));
    LIBEDIT_CALLS(LIBEDIT_CALL)
#undef LIBEDIT_CALL
    return all ? &calls : NULL;
}
