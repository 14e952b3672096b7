/* Kernels' texts in few characters. Versions of a nest have much the same body, and what differs
 * are mostly the numbers in names: all texts are one, in which what occurred before is a reference
 * to it, as compressors do. common/packed.h has the form.
 *
 * Of the places where the next FEWEST characters stood before, the latest MOST_PLACES are tried,
 * and the distance of the last reference, which is written shorter; what spares most is taken,
 * unless more is spared from the next character on. */
#include "emit/emit_parts.h"

#include "common/packed.h"

#include <string.h>

enum { FEWEST = 5, MOST_PLACES = 32, HASH_BITS = 18, HASHES = 1 << HASH_BITS };

typedef struct {
    const char *at;
    int n;
    int *latest; /* by hash of FEWEST characters: where they begin; -1: nowhere */
    int *before; /* by place: the one before it with the same hash; -1: none */
    packed_recent recent;
} Packer;

typedef struct {
    int distance, n, spares; /* characters */
} Match;

static int digits_of(int n)
{
    int digits = 1;
    for (; n >= PACKED_BASE; n /= PACKED_BASE)
        digits++;
    return digits;
}

static int hash_at(const char *s)
{
    uint64_t x = 0;
    memcpy(&x, s, FEWEST);
    return (int)(x * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS));
}

static void note_place(Packer *p, int i)
{
    if (i + FEWEST > p->n)
        return;
    int *latest = &p->latest[hash_at(p->at + i)];
    p->before[i] = *latest;
    *latest = i;
}

/* The number that says the distance. */
static int distance_number(const Packer *p, int distance)
{
    for (int i = 0; i < PACKED_RECENT; i++)
        if (p->recent.at[i] == distance)
            return i;
    return distance - 1 + PACKED_RECENT;
}

/* How many characters from i on are those from `from` on, which is before it. */
static int in_common(const Packer *p, int from, int i)
{
    const char *at = p->at + i, *other = p->at + from;
    int n = 0, most = p->n - i;
    for (uint64_t x, y; n + (int)sizeof x <= most; n += (int)sizeof x) {
        memcpy(&x, at + n, sizeof x);
        memcpy(&y, other + n, sizeof y);
        if (x != y)
            break;
    }
    while (n < most && at[n] == other[n])
        n++;
    return n;
}

static void try_distance(const Packer *p, int i, int distance, Match *best)
{
    int n = in_common(p, i - distance, i);
    if (n < PACKED_LEAST)
        return;
    int written = distance_number(p, distance);
    int spares = n - 1 - digits_of(written) - digits_of(n - PACKED_LEAST);
    if (spares > best->spares)
        *best = (Match){distance, n, spares};
}

/* The best reference for what stands from i on; its n is 0 where none spares anything. */
static Match match_at(const Packer *p, int i)
{
    Match best = {0};
    for (int k = 0; k < PACKED_RECENT && p->recent.at[k]; k++)
        try_distance(p, i, p->recent.at[k], &best);
    if (i + FEWEST > p->n)
        return best;
    int from = p->latest[hash_at(p->at + i)];
    for (int tried = 0; from >= 0 && tried < MOST_PLACES; tried++) {
        /* it is longer than the best so far only if it goes on behind that */
        if (i + best.n < p->n && p->at[from + best.n] == p->at[i + best.n])
            try_distance(p, i, i - from, &best);
        from = p->before[from];
    }
    return best;
}

static void put_number(Out *o, int n)
{
    static const char signs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (; n >= PACKED_BASE; n /= PACKED_BASE)
        out_putn(o, &signs[PACKED_BASE + n % PACKED_BASE], 1);
    out_putn(o, &signs[n], 1);
}

static void put_reference(Out *o, Packer *p, const Match *m)
{
    out_puts(o, "@");
    put_number(o, distance_number(p, m->distance));
    put_number(o, m->n - PACKED_LEAST);
    packed_use(&p->recent, m->distance);
}

static void put_character(Out *o, char c)
{
    if (c == '@' || c == '$')
        out_puts(o, "@");
    out_putn(o, c ? &c : "$", 1);
}

static void pack(Packer *p, Out *o)
{
    Match m = match_at(p, 0);
    for (int i = 0; i < p->n;) {
        note_place(p, i);
        Match next = m.n && i + 1 == p->n ? (Match){0} : match_at(p, i + 1);
        if (!m.n || next.spares > m.spares) {
            put_character(o, p->at[i++]);
            m = next;
            continue;
        }
        put_reference(o, p, &m);
        for (int k = 1; k < m.n; k++)
            note_place(p, i + k);
        i += m.n;
        m = match_at(p, i);
    }
}

const char *emit_pack(Arena *a, const Texts *texts)
{
    Out all = {0}, packed = {0};
    for (int i = 0; i < texts->n; i++)
        out_putn(&all, texts->at[i], strlen(texts->at[i]) + 1);
    Arena *tables = arena_new();
    Packer p = {.at = all.text, .n = (int)all.n};
    p.latest = NEWN(tables, int, HASHES);
    p.before = NEWN(tables, int, p.n + 1);
    memset(p.latest, -1, HASHES * sizeof *p.latest);
    pack(&p, &packed);
    arena_free(tables);
    out_free(&all);
    return out_keep(&packed, a);
}
