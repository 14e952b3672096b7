/* The start of the OpenCL driver, once for all programs. PoCL reads its library of built-in
 * functions when it builds its first kernel, which takes longer than all else that a small program
 * does. So the process that starts the others does that once, and programs, built as shared
 * objects, run in forks of it: each still has a process of its own, which may crash.
 *
 * A fork takes along the thread that calls it and no other. So this is done only where nothing but
 * PoCL is installed, with its device without threads; drivers of GPUs are not touched. */
#include "runtime/drivers/dev_opencl.h"
#include "testing/testing.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The only platform, if that is PoCL; else NULL. */
static rt_cl_platform_id only_pocl(void)
{
    rt_cl_platform_id p[2];
    rt_cl_uint n = 0;
    char name[256] = "";
    if (!rt_cl() || rt_cl()->GetPlatformIDs(2, p, &n) != RT_CL_SUCCESS || n != 1 ||
        rt_cl()->GetPlatformInfo(p[0], RT_CL_PLATFORM_NAME, sizeof name, name, NULL) !=
            RT_CL_SUCCESS)
        return NULL;
    return strcmp(name, "Portable Computing Language") == 0 ? p[0] : NULL;
}

/* Asked in another process: in this one no other driver is to be loaded. */
static bool is_only_pocl(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(only_pocl() ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* What PoCL read for it goes with its last context, so that one stays. */
static bool build_kernel(rt_cl_platform_id p)
{
    static const char *text = "int f(int x) { return x + 1; }\n";
    rt_cl_device_id d;
    rt_cl_uint n = 0;
    rt_cl_int err = rt_cl()->GetDeviceIDs(p, RT_CL_DEVICE_TYPE_ALL, 1, &d, &n);
    rt_cl_context c =
        err == RT_CL_SUCCESS && n ? rt_cl()->CreateContext(NULL, 1, &d, NULL, NULL, &err) : NULL;
    rt_cl_program program = c ? rt_cl()->CreateProgramWithSource(c, 1, &text, NULL, &err) : NULL;
    return program && rt_cl()->BuildProgram(program, 1, &d, "", NULL, NULL) == RT_CL_SUCCESS;
}

static int count_threads(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

bool driver_start(void)
{
    static const char device[] = "POCL_DEVICES";
    const char *asked = getenv(device);
    int threads = count_threads();
    if ((asked && strcmp(asked, "basic") != 0) || !threads || !is_only_pocl())
        return false;
    setenv(device, "basic", 1);
    rt_cl_platform_id p = only_pocl();
    if (p && build_kernel(p) && count_threads() == threads)
        return true;
    if (!asked)
        unsetenv(device);
    return false;
}
