#include "base/arena.h"

#include "base/diag.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *prev;
    size_t size, used;
    max_align_t data[];
};

struct Arena {
    Chunk *top;
    void *table;
};

#ifdef ARENA_DEBUG
enum { CHUNK_SIZE = 1 };
#else
enum { CHUNK_SIZE = 64 * 1024 };
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

static void pop_chunk(Arena *a)
{
    Chunk *c = a->top;
    a->top = c->prev;
    free(c);
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
    Chunk *c = a->top;
    if (!c || c->size - c->used < size) {
        size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        Chunk *fresh = mem_or_exit(malloc(sizeof(Chunk) + room));
        fresh->prev = c;
        fresh->size = room;
        fresh->used = 0;
        a->top = c = fresh;
    }
    void *p = (char *)c->data + c->used;
    c->used += size;
    return memset(p, 0, size);
}

bool arena_extend(Arena *a, void *p, size_t old, size_t size)
{
    Chunk *c = a->top;
    old = size_of(old);
    size = size_of(size);
    if (!c || (char *)p + old != (char *)c->data + c->used || c->size - c->used < size - old)
        return false;
    memset((char *)p + old, 0, size - old);
    c->used += size - old;
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
