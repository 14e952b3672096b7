/* NVIDIA's devices beside those of other processes of the machine: memory of the host's that
 * transfers are fast with, buffers that others copy from, and marks that they wait for. */
#include "runtime/drivers/dev_cuda.h"

#include <stdlib.h>

RT_API void *rt_cu_host_new(rt_dev *base, int64_t bytes)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    void *memory = NULL;
    d->host_pinned = d->f.pinned(&memory, (size_t)bytes) == 0;
    return d->host_pinned ? memory : malloc((size_t)bytes);
}

RT_API void rt_cu_host_free(rt_dev *base, void *memory)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    if (d->host_pinned)
        d->f.pinned_free(memory);
    else
        free(memory);
}

RT_API rt_dev_error rt_cu_offer_new(rt_dev *base, int64_t bytes, int64_t in_use,
                                    rt_dev_buffer **out, rt_dev_offer *offer)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_dev_error e = base->driver->alloc(base, bytes, in_use, out);
    if (e.status != RT_DEV_OK)
        return e;
    return rt_cu_error(d, d->f.ipc_offer(offer, rt_cu_at(*out, 0)), "cuIpcGetMemHandle");
}

RT_API rt_dev_error rt_cu_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_buffer **out)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_pointer p = 0;
    rt_cu_result err = d->f.ipc_take(&p, *offer, RT_CU_IPC_PEERS);
    *out = err == 0 ? (rt_dev_buffer *)(uintptr_t)p : NULL;
    return rt_cu_error(d, err, "cuIpcOpenMemHandle");
}

RT_API void rt_cu_leave(rt_dev *base, rt_dev_buffer *taken)
{
    ((rt_cu_dev *)base)->f.ipc_leave(rt_cu_at(taken, 0));
}

/* --- Marks: events --- */

RT_API rt_dev_error rt_cu_mark_new(rt_dev *base, rt_dev_mark **out, rt_dev_offer *offer)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_ptr event = NULL;
    rt_cu_result err = d->f.event_new(&event, RT_CU_EVENT_SHARED);
    *out = (rt_dev_mark *)event;
    return rt_cu_error(d, err ? err : d->f.ipc_offer_event(offer, event), "cuIpcGetEventHandle");
}

RT_API rt_dev_error rt_cu_mark_take(rt_dev *base, const rt_dev_offer *offer, rt_dev_mark **out)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    rt_cu_ptr event = NULL;
    rt_cu_result err = d->f.ipc_take_event(&event, *offer);
    *out = (rt_dev_mark *)event;
    return rt_cu_error(d, err, "cuIpcOpenEventHandle");
}

RT_API rt_dev_error rt_cu_mark_set(rt_dev *base, rt_dev_mark *m)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    return rt_cu_enqueued(d, d->f.event_record((rt_cu_ptr)m, d->stream), "cuEventRecord");
}

RT_API rt_dev_error rt_cu_mark_await(rt_dev *base, rt_dev_mark *m)
{
    rt_cu_dev *d = (rt_cu_dev *)base;
    return rt_cu_enqueued(d, d->f.stream_await(d->stream, (rt_cu_ptr)m, 0), "cuStreamWaitEvent");
}

RT_API void rt_cu_mark_free(rt_dev *base, rt_dev_mark *m)
{
    ((rt_cu_dev *)base)->f.event_free((rt_cu_ptr)m);
}

RT_API uint64_t rt_cu_identity(const rt_dev *base)
{
    const rt_cu_dev *d = (const rt_cu_dev *)base;
    uint64_t number = d->is_nvidia;
    for (int i = 0; i < RT_UUID && d->is_nvidia; i++)
        number = (number ^ d->uuid[i]) * UINT64_C(0x100000001b3);
    return number;
}
