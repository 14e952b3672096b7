/* OpenCL's functions, from its loader: nothing of it is needed to build a program, and where there
 * is none a program has no OpenCL devices. Also part of the compiler. */
#include "runtime/drivers/dev_driver.h"
#include "runtime/drivers/dev_opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static rt_cl_functions rt_cl_found;
static bool rt_cl_there;

/* As if the program were linked with the loader: what was loaded before it goes first (debuggers
 * that are preloaded, Oclgrind's simulator, the OpenCL of who has the program inside), function by
 * function, and sees the loader's. It is never closed: drivers have threads. */
static void rt_cl_look_for(void)
{
#define RT_CL_SYMBOL(result, name, params) {"cl" #name, &rt_cl_found.name},
    static const rt_symbol symbols[] = {RT_CL_FUNCTIONS(RT_CL_SYMBOL)};
#undef RT_CL_SYMBOL
    enum { ALL = sizeof symbols / sizeof *symbols, MODE = RTLD_NOW | RTLD_GLOBAL };
    const char *named = secure_getenv("MINIFUT_OPENCL");
    if (named && *named) {
        void *library = dlopen(named, MODE);
        rt_cl_there = library && rt_symbols_find(1, &library, ALL, symbols);
        return;
    }
    void *places[] = {RTLD_DEFAULT, dlopen("libOpenCL.so.1", MODE)};
    if (!places[1])
        places[1] = dlopen("libOpenCL.so", MODE);
    rt_cl_there = rt_symbols_find(places[1] ? 2 : 1, places, ALL, symbols);
}

RT_API const rt_cl_functions *rt_cl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, rt_cl_look_for);
    return rt_cl_there ? &rt_cl_found : NULL;
}
