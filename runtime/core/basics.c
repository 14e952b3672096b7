/* What the core has of its host: memory, texts in it, a clock. */
#include "runtime/core/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

static __thread jmp_buf *rt_no_memory;

RT_API void *rt_grow(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q && rt_no_memory)
        longjmp(*rt_no_memory, 1);
    if (!q) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return q;
}

RT_API void rt_leave_to(jmp_buf *place)
{
    rt_no_memory = place;
}

RT_API char *rt_format(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *s = rt_grow(NULL, (size_t)(n < 0 ? 0 : n) + 1);
    s[0] = '\0';
    vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

RT_API uint64_t rt_hash(uint64_t h, const char *s)
{
    do {
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    } while (*s++);
    return h;
}

RT_API double rt_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
