#include "base/intern.h"

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry Entry;
struct Entry {
    Entry *next;
    uint32_t hash;
    size_t len;
    char text[];
};

static Arena *names;
static Entry **buckets;
static size_t n_buckets, n_entries;

static uint32_t fnv1a(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static void grow_table(void)
{
    size_t n = n_buckets ? 2 * n_buckets : 1024;
    Entry **fresh = NEWN(names, Entry *, n);
    for (size_t i = 0; i < n_buckets; i++)
        for (Entry *e = buckets[i], *next; e; e = next) {
            next = e->next;
            e->next = fresh[e->hash & (n - 1)];
            fresh[e->hash & (n - 1)] = e;
        }
    buckets = fresh;
    n_buckets = n;
}

const char *intern_n(const char *s, size_t n)
{
    if (!names)
        names = arena_new();
    if (n_entries >= n_buckets)
        grow_table();
    uint32_t h = fnv1a(s, n);
    Entry **slot = &buckets[h & (n_buckets - 1)];
    for (Entry *e = *slot; e; e = e->next)
        if (e->hash == h && e->len == n && memcmp(e->text, s, n) == 0)
            return e->text;
    Entry *e = arena_alloc(names, sizeof(Entry) + n + 1);
    e->hash = h;
    e->len = n;
    memcpy(e->text, s, n);
    e->next = *slot;
    *slot = e;
    n_entries++;
    return e->text;
}

const char *intern(const char *s)
{
    return intern_n(s, strlen(s));
}

const char *intern_member(const char *module, const char *member)
{
    char buf[64], *s = buf;
    size_t n = strlen(module), m = strlen(member);
    if (n + 1 + m > sizeof buf)
        s = mem_or_exit(malloc(n + 1 + m));
    memcpy(s, module, n);
    s[n] = '.';
    memcpy(s + n + 1, member, m);
    const char *name = intern_n(s, n + 1 + m);
    if (s != buf)
        free(s);
    return name;
}
