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
    size_t size, used;
    size_t touched; /* bytes that are not surely zero */
    max_align_t data[];
};

struct Arena {
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

static void push_chunk(Arena *a, size_t size)
{
    bool usual = CHUNK_SIZE > 1 && size <= CHUNK_SIZE;
    Chunk *c = usual ? usual_chunk() : mem_or_exit(calloc(1, sizeof(Chunk) + size));
    if (!usual)
        c->size = size;
    c->used = 0;
    c->prev = a->top;
    a->top = c;
}

static void pop_chunk(Arena *a)
{
    Chunk *c = a->top;
    a->top = c->prev;
    if (CHUNK_SIZE == 1 || c->size != CHUNK_SIZE) {
        free(c);
        return;
    }
    c->prev = spare;
    spare = c;
}

/* The next bytes of the chunk, zeroed. */
static void *take(Chunk *c, size_t size)
{
    char *p = (char *)c->data + c->used;
    size_t end = c->used + size;
    if (c->touched > c->used)
        memset(p, 0, (c->touched < end ? c->touched : end) - c->used);
    c->touched = c->touched > end ? c->touched : end;
    c->used = end;
    return p;
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

void *arena_alloc(Arena *a, size_t size)
{
    size = size_of(size);
    if (!a->top || a->top->size - a->top->used < size)
        push_chunk(a, size);
    return take(a->top, size);
}

bool arena_extend(Arena *a, void *p, size_t old, size_t size)
{
    Chunk *c = a->top;
    old = size_of(old);
    size = size_of(size);
    if (!c || (char *)p + old != (char *)c->data + c->used || c->size - c->used < size - old)
        return false;
    take(c, size - old);
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
    return (ArenaMark){a->top, a->top ? a->top->used : 0};
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
    if (a->top)
        a->top->used = m.used;
}
