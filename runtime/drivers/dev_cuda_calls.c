/* Calls of NVIDIA's driver: their errors, and what they are given of buffers. */
#include "runtime/drivers/dev_cuda.h"

RT_API rt_cu_pointer rt_cu_at(const rt_dev_buffer *b, int64_t off)
{
    return ((rt_cu_pointer)(uintptr_t)b & ~(rt_cu_pointer)RT_CU_PART) + (rt_cu_pointer)off;
}

RT_API rt_dev_error rt_cu_error(const rt_cu_dev *d, rt_cu_result err, const char *call)
{
    static const rt_cu_result refusals[] = {RT_CU_NO_MEMORY, RT_CU_INVALID_VALUE,
                                            RT_CU_NO_RESOURCES};
    rt_dev_error e = {RT_DEV_OK, call, ""};
    if (err == 0)
        return e;
    e.status = RT_DEV_FAILED;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i] == err)
            e.status = RT_DEV_REFUSED;
    if (d->f.error_name(err, &e.name) != 0)
        e.name = "unknown error";
    return e;
}

RT_API rt_dev_error rt_cu_enqueued(rt_cu_dev *d, rt_cu_result err, const char *call)
{
    d->idle = false;
    d->changes++;
    return rt_cu_error(d, err, call);
}
