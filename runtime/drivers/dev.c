/* dev.h by the driver of the device: OpenCL, or what is faster with the same kernels. */
#include "runtime/drivers/dev_driver.h"

#include <stdlib.h>
#include <string.h>

/* MINIFUT_DRIVER=opencl, cuda: by that one alone. Untold libcuda is tried on NVIDIA's devices that
 * exchange data with others, which OpenCL cannot without the host, and OpenCL where it is not
 * there.
 */
RT_API rt_dev_error rt_dev_open(const rt_dev_info *info, bool profiling, rt_dev **out)
{
    if (info->rank.native)
        return rt_nat_open(info, profiling, out);
    const char *user = getenv("MINIFUT_DRIVER");
    bool asked = user && strcmp(user, "cuda") == 0 && !info->queue;
    if (asked || (info->among && !user && !info->queue && strstr(info->platform_name, "NVIDIA"))) {
        rt_dev_error e = rt_cu_open(info, profiling, out);
        if (asked || e.status == RT_DEV_OK)
            return e;
    }
    return rt_cl_open(info, profiling, out);
}

RT_API void *rt_dev_of_queue(void *queue, bool *profiling)
{
    return rt_cl_of_queue(queue, profiling);
}

RT_API rt_dev_error rt_dev_kernel_of(rt_dev *d, rt_dev_function *f, rt_dev_kernel **out)
{
    static const rt_dev_error none = {RT_DEV_FAILED, "a kernel as function", "texts are built"};
    return d->driver->kernel_of ? d->driver->kernel_of(d, f, out) : none;
}

RT_API void rt_dev_enter(rt_dev *d)
{
    if (d->driver->enter)
        d->driver->enter(d);
}

RT_API bool rt_dev_stop(rt_dev *d, bool stop)
{
    return d->driver->stop && d->driver->stop(d, stop);
}

RT_API int rt_dev_event_busy(rt_dev *d, const rt_dev_event *e, int64_t *ns)
{
    return d->driver->busy ? d->driver->busy(d, e, ns) : 0;
}

RT_API void *rt_dev_host_new(rt_dev *d, int64_t bytes)
{
    return d->driver->host_new ? d->driver->host_new(d, bytes) : malloc((size_t)bytes);
}

RT_API void rt_dev_host_free(rt_dev *d, void *memory)
{
    if (d->driver->host_free)
        d->driver->host_free(d, memory);
    else
        free(memory);
}

static const rt_dev_error rt_dev_apart = {RT_DEV_FAILED, "memory of other processes",
                                          "this driver knows none"};

RT_API bool rt_dev_offers(const rt_dev *d)
{
    return d->driver->offer_new != NULL;
}

RT_API rt_dev_error rt_dev_offer_new(rt_dev *d, int64_t bytes, int64_t in_use, rt_dev_buffer **out,
                                     rt_dev_offer *offer)
{
    return d->driver->offer_new ? d->driver->offer_new(d, bytes, in_use, out, offer) : rt_dev_apart;
}

RT_API rt_dev_error rt_dev_take(rt_dev *d, const rt_dev_offer *offer, rt_dev_buffer **out)
{
    return d->driver->take(d, offer, out);
}

RT_API void rt_dev_leave(rt_dev *d, rt_dev_buffer *taken)
{
    d->driver->leave(d, taken);
}

RT_API rt_dev_error rt_dev_mark_new(rt_dev *d, rt_dev_mark **out, rt_dev_offer *offer)
{
    return d->driver->mark_new(d, out, offer);
}

RT_API rt_dev_error rt_dev_mark_take(rt_dev *d, const rt_dev_offer *offer, rt_dev_mark **out)
{
    return d->driver->mark_take(d, offer, out);
}

RT_API rt_dev_error rt_dev_mark_set(rt_dev *d, rt_dev_mark *m)
{
    return d->driver->mark_set(d, m);
}

RT_API rt_dev_error rt_dev_mark_await(rt_dev *d, rt_dev_mark *m)
{
    return d->driver->mark_await(d, m);
}

RT_API void rt_dev_mark_free(rt_dev *d, rt_dev_mark *m)
{
    d->driver->mark_free(d, m);
}

RT_API uint64_t rt_dev_identity(const rt_dev *d)
{
    return d->driver->identity ? d->driver->identity(d) : 0;
}

#define RT_DEV_CALL(result, name, params, ...)                                                     \
    RT_API result rt_dev_##name params                                                             \
    {                                                                                              \
        return d->driver->name(__VA_ARGS__);                                                       \
    }
RT_DRIVER_CALLS(RT_DEV_CALL)

RT_API bool rt_dev_tries(rt_dev *d, const char *text, const char *options, const char *name,
                         size_t group, int32_t x[2])
{
    const size_t size = 2 * sizeof *x;
    char *log = NULL, *more = NULL;
    rt_dev_program *program = NULL;
    rt_dev_kernel *kernel = NULL;
    rt_dev_buffer *words = NULL;
    rt_dev_build(d, 1, &text, options, &program, &log);
    if (program)
        rt_dev_kernel_new(d, program, name, &kernel, &more);
    bool ran = kernel && rt_dev_alloc(d, size, 0, &words).status == RT_DEV_OK &&
               rt_dev_write(d, words, 0, size, x, NULL).status == RT_DEV_OK &&
               rt_dev_arg_buffer(d, kernel, 0, words).status == RT_DEV_OK &&
               rt_dev_launch(d, kernel, 1, &group, &group, NULL).status == RT_DEV_OK &&
               rt_dev_read(d, words, 0, size, x, NULL).status == RT_DEV_OK;
    if (words)
        rt_dev_free(d, words);
    if (kernel)
        rt_dev_kernel_free(d, kernel);
    if (program)
        rt_dev_program_unref(d, program);
    free(log);
    free(more);
    return ran;
}
