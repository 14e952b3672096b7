/* Threads that share out the pieces of a run among them: the groups of a launch of functions. */
#ifndef RT_POOL_H
#define RT_POOL_H

#include <stddef.h>

#include "runtime/drivers/dev.h"

typedef struct rt_pool rt_pool;

/* Does pieces `first` to `end`, without that. At any time there is one call for each thread, of
 * which the caller of rt_pool_run has number 0. */
typedef void rt_pool_work(void *job, int thread, size_t first, size_t end);

/* A pool that works with so many threads, the caller's among them, or as many as there can be;
 * NULL: no memory. looks: whoever waits looks for a while before it sleeps, as is good where there
 * are as many processors. */
RT_API rt_pool *rt_pool_new(int threads, bool looks);
/* Its threads have ended when it is gone. */
RT_API void rt_pool_free(rt_pool *p);
/* Does pieces `first` to `end`, without that, and ends when they are done. wake: threads that sleep
 * are woken for it, as many as can be of use beside those that do not. By one thread at a time. */
RT_API void rt_pool_run(rt_pool *p, rt_pool_work *work, void *job, size_t first, size_t end,
                        bool wake);
/* In a run, by its caller's thread: they are woken now. */
RT_API void rt_pool_wake(rt_pool *p);

#endif
