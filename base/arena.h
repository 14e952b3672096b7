/* Arenas: memory with a common lifetime. The compiler frees nothing but scratch: what a pass
 * returns lives in the permanent arena until exit, temporaries lie between arena_mark and
 * arena_reset. With -DARENA_DEBUG every object is an allocation of its own, so that address
 * sanitizers see overruns between neighbours. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* p, which was just allocated; NULL ends the process with a message. */
void *mem_or_exit(void *p);

typedef struct Arena Arena;
typedef struct {
    void *chunk;
    size_t used;
} ArenaMark;

Arena *arena_new(void);
void arena_free(Arena *a); /* NULL is fine */

/* Zeroed memory, aligned for every type. Never NULL: running out of memory ends the process with
 * a message. */
void *arena_alloc(Arena *a, size_t size);
/* Makes what p points to larger, where it is; false: there is no room behind it. */
bool arena_extend(Arena *a, void *p, size_t old, size_t size);
void *arena_memdup(Arena *a, const void *from, size_t size);
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
__attribute__((format(printf, 2, 0))) char *arena_vprintf(Arena *a, const char *fmt, va_list ap);

ArenaMark arena_mark(Arena *a);
void arena_reset(Arena *a, ArenaMark m); /* forgets all that was allocated since the mark */

/* Where somebody keeps in mind what there is in the arena; NULL at first. Such an arena is not
 * reset. */
void **arena_table(Arena *a);

#define NEW(a, T)     ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

#endif
