/* The devices that there are: OpenCL's, and the processor that the program itself runs on. Also
 * part of the compiler, for `minifut devices`. */
#include "runtime/drivers/dev_driver.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What /proc/cpuinfo calls the processor, and its clock; "" and 0 if it does not say. */
static void rt_nat_processor(char *model, size_t size, unsigned *mhz)
{
    char line[512];
    double clock;
    FILE *f = fopen("/proc/cpuinfo", "r");
    model[0] = '\0';
    *mhz = 0;
    while (f && fgets(line, sizeof line, f) && (!model[0] || !*mhz)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        if (strncmp(line, "model name", 10) == 0 && !model[0])
            snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        if (strncmp(line, "cpu MHz", 7) == 0 && sscanf(colon + 1, "%lf", &clock) == 1)
            *mhz = (unsigned)clock;
    }
    if (f)
        fclose(f);
}

/* Bytes that this process may have: the system's, or less for its group of processes. */
static int64_t rt_nat_memory(void)
{
    long long limit;
    int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    int64_t all = pages > 0 && size > 0 ? pages * size : 0;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (f && fscanf(f, "%lld", &limit) == 1 && limit > 0 && limit < all)
        all = limit;
    if (f)
        fclose(f);
    return all;
}

/* As many as the share of the processors that a group of processes may have; 0: it is not limited.
 */
static int rt_nat_quota(void)
{
    double quota = 0, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (!f)
        return 0;
    int found = fscanf(f, "%lf %lf", &quota, &period);
    fclose(f);
    return found == 2 && quota > 0 && period > 0 ? (int)(quota / period + 0.999) : 0;
}

RT_API int rt_nat_cpus(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
    int quota = rt_nat_quota();
    n = quota > 0 && quota < n ? quota : n;
    return n < 1 ? 1 : (int)n;
}

/* MINIFUT_THREADS=N: with so many threads. */
static int64_t rt_nat_threads(void)
{
    const char *user = getenv("MINIFUT_THREADS");
    long n = user ? strtol(user, NULL, 10) : 0;
    return n > 0 && n <= RT_DEV_MOST_THREADS ? n : rt_nat_cpus();
}

/* Bytes that a core keeps at hand for itself. */
static int64_t rt_nat_cache(void)
{
    enum { USUAL = 512 << 10 };
    int64_t size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > USUAL ? size : USUAL;
}

/* Work-items of a group run one after the other, so that there may be many. */
static void rt_nat_describe(rt_dev_info *i)
{
    char model[sizeof i->name - 16];
    unsigned mhz;
    rt_nat_processor(model, sizeof model, &mhz);
    *i = (rt_dev_info){.units = rt_nat_threads(),
                       .max_group = 4096,
                       .memory = rt_nat_memory(),
                       .local_memory = rt_nat_cache(),
                       .has_f64 = true,
                       .parts = true,
                       .own_cache = true};
    i->rank = (rt_rank){.cpu = true, .native = true, .units = (unsigned)i->units, .mhz = mhz};
    snprintf(i->platform_name, sizeof i->platform_name, "minifut");
    snprintf(i->name, sizeof i->name, "native%s%s", *model ? ": " : "", model);
    snprintf(i->version, sizeof i->version, "functions of the program");
    snprintf(i->driver, sizeof i->driver, "threads");
}

RT_API rt_dev_info *rt_dev_find(bool opencl, bool native, int *n)
{
    const char *user = getenv("MINIFUT_DRIVER");
    *n = 0;
    native = native && !(user && (strcmp(user, "opencl") == 0 || strcmp(user, "cuda") == 0));
    opencl = (opencl || !native) && !(user && strcmp(user, "native") == 0);
    rt_dev_info *all = opencl ? rt_cl_find(n) : NULL;
    rt_dev_info *more = native ? realloc(all, ((size_t)*n + 1) * sizeof *more) : NULL;
    if (!more)
        return all;
    rt_nat_describe(&more[(*n)++]);
    return more;
}
