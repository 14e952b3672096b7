/* Objects lie one behind the other in chunks. Those of the usual size are cut off regions whose
 * pages come all at once, and are kept when they are free: given back to malloc, they went back to
 * the system, and came again page by page, a fault each. Large pages were tried: the faults are
 * gone, but where the system has to find such pages first it takes three times as long as all of
 * them. */
#include "base/arena.h"

#include "base/diag.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *prev;
    size_t size;
    size_t touched; /* bytes that are not surely zero, but for what was used of the top chunk */
    max_align_t data[];
};

/* Of the top chunk what lies before `next` is used, and what lies between `next` and `end` is
 * zero. */
struct Arena {
    char *next, *end;
    Chunk *top;
    void *table;
};

#ifdef ARENA_DEBUG
enum { CHUNK_SIZE = 1 };
#else
enum { CHUNK_SIZE = 64 * 1024 - sizeof(Chunk) };
#endif

void *mem_or_exit(void *p)
{
    if (!p) {
        fputs("minifut: out of memory\n", stderr);
        exit(EXIT_LIMIT);
    }
    return p;
}

Arena *arena_new(void)
{
    return mem_or_exit(calloc(1, sizeof(Arena)));
}

/* --- Chunks --- */

enum { FIRST_REGION = 4, MOST_REGION = 32 }; /* chunks */

/* Of a thread: free chunks of the usual size; what is left of its region, and how large it was. */
static _Thread_local Chunk *spare;
static _Thread_local char *region, *region_end;
static _Thread_local int region_chunks;

/* Twice as large as the one before, so that small programs take few pages. */
static void region_new(void)
{
    region_chunks = region_chunks ? 2 * region_chunks : FIRST_REGION;
    region_chunks = region_chunks < MOST_REGION ? region_chunks : MOST_REGION;
    size_t size = (sizeof(Chunk) + CHUNK_SIZE) * (size_t)region_chunks;
    region =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    mem_or_exit(region == MAP_FAILED ? NULL : region);
    region_end = region + size;
}

static Chunk *usual_chunk(void)
{
    Chunk *c = spare;
    if (c) {
        spare = c->prev;
        return c;
    }
    if (region == region_end)
        region_new();
    c = (Chunk *)(void *)region;
    region += sizeof(Chunk) + CHUNK_SIZE;
    c->size = CHUNK_SIZE;
    return c;
}

static size_t used(const Arena *a)
{
    return (size_t)(a->next - (char *)a->top->data);
}

/* So many bytes of the top chunk are used. */
static void set_used(Arena *a, size_t n)
{
    a->next = (char *)a->top->data + n;
    a->end = a->top->touched > n ? a->next : (char *)a->top->data + a->top->size;
}

/* The top chunk will not be the top. */
static void leave_top(Arena *a)
{
    if (a->top && a->top->touched < used(a))
        a->top->touched = used(a);
}

static void push_chunk(Arena *a, size_t size)
{
    bool usual = CHUNK_SIZE > 1 && size <= CHUNK_SIZE;
    Chunk *c = usual ? usual_chunk() : mem_or_exit(calloc(1, sizeof(Chunk) + size));
    if (!usual)
        c->size = size;
    leave_top(a);
    c->prev = a->top;
    a->top = c;
    set_used(a, 0);
}

static void pop_chunk(Arena *a)
{
    Chunk *c = a->top;
    leave_top(a);
    a->top = c->prev;
    a->next = a->end = a->top ? (char *)a->top->data : NULL; /* until set_used */
    if (CHUNK_SIZE == 1 || c->size != CHUNK_SIZE) {
        free(c);
        return;
    }
    c->prev = spare;
    spare = c;
}

void arena_free(Arena *a)
{
    if (!a)
        return;
    while (a->top)
        pop_chunk(a);
    free(a);
}

/* Of what is allocated for so many bytes. */
static size_t size_of(size_t size)
{
    if (size > SIZE_MAX / 2)
        mem_or_exit(NULL);
    if (size == 0)
        size = 1;
#ifndef ARENA_DEBUG
    const size_t align = _Alignof(max_align_t);
    size = (size + align - 1) / align * align;
#endif
    return size;
}

/* Makes the next `size` bytes of the top chunk zero, and some that will be wanted soon; false: it
 * has not so many. */
static bool make_zero(Arena *a, size_t size)
{
    enum { AHEAD = 1024 };
    Chunk *c = a->top;
    char *data = c ? (char *)c->data : NULL;
    if (!c || c->size - used(a) < size)
        return false;
    while (a->end < a->next + size) {
        size_t from = (size_t)(a->end - data), to = from + AHEAD;
        to = to < c->touched ? to : c->touched;
        memset(a->end, 0, to - from);
        a->end = data + (to < c->touched ? to : c->size);
    }
    return true;
}

static void *take(Arena *a, size_t size)
{
    size = size_of(size);
    if (!make_zero(a, size)) {
        push_chunk(a, size);
        make_zero(a, size);
    }
    void *p = a->next;
    a->next += size;
    return p;
}

void *arena_alloc(Arena *a, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    if (size - 1 >= (size_t)(a->end - a->next))
        return take(a, size);
    void *p = a->next;
    a->next += (size + align - 1) / align * align;
    return p;
}

bool arena_extend(Arena *a, void *p, size_t old, size_t size)
{
    size_t more = size_of(size) - size_of(old);
    if (!a->top || (char *)p + size_of(old) != a->next || !make_zero(a, more))
        return false;
    a->next += more;
    return true;
}

void *arena_memdup(Arena *a, const void *from, size_t size)
{
    void *p = arena_alloc(a, size);
    return size ? memcpy(p, from, size) : p;
}

char *arena_strndup(Arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *arena_strdup(Arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

ArenaMark arena_mark(Arena *a)
{
    return (ArenaMark){a->top, a->top ? used(a) : 0};
}

void **arena_table(Arena *a)
{
    return &a->table;
}

void arena_reset(Arena *a, ArenaMark m)
{
    if (a->table) /* it would know of what is gone */
        abort();
    while (a->top && a->top != m.chunk)
        pop_chunk(a);
    leave_top(a);
    if (a->top)
        set_used(a, m.used);
}
