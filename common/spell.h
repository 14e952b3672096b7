/* What a misspelt word may have been meant to be: the nearest of the words that there are. Used by
 * generated programs for options and parameters, and by the compiler for names and commands. */
#ifndef COMMON_SPELL_H
#define COMMON_SPELL_H

#include <stdio.h>
#include <string.h>

enum { RT_SPELL_MAX = 64 }; /* letters of the words compared */

typedef struct rt_spelling {
    const char *word, *nearest; /* NULL: none is near */
    int distance;               /* of `nearest`, or one more than it may be */
    char text[RT_SPELL_MAX + 32];
} rt_spelling;

/* Edit distance: letters inserted, deleted, replaced, neighbours exchanged. */
static inline int rt_spell_distance(const char *a, const char *b)
{
    int n = (int)strnlen(a, RT_SPELL_MAX + 1), m = (int)strnlen(b, RT_SPELL_MAX + 1);
    int d[3][RT_SPELL_MAX + 1]; /* of the beginnings of a, this one and two before, to those of b */
    if (n > RT_SPELL_MAX || m > RT_SPELL_MAX || n > m + 3 || m > n + 3)
        return RT_SPELL_MAX;
    for (int i = 0; i <= n; i++) {
        int *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        for (int j = 0; j <= m; j++) {
            if (!i || !j) {
                row[j] = i + j;
                continue;
            }
            int c = up[j - 1] + (a[i - 1] != b[j - 1]);
            c = up[j] + 1 < c ? up[j] + 1 : c;
            c = row[j - 1] + 1 < c ? row[j - 1] + 1 : c;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < c)
                c = up2[j - 2] + 1;
            row[j] = c;
        }
    }
    return d[n % 3][m];
}

/* A suggestion may be off by about a third of the word. */
static inline rt_spelling rt_spell(const char *word)
{
    size_t n = strlen(word);
    rt_spelling s = {.word = word, .distance = n < 3 ? 1 : n < 6 ? 2 : n < 9 ? 3 : 4};
    return s;
}

static inline void rt_spell_try(rt_spelling *s, const char *candidate)
{
    int d = rt_spell_distance(s->word, candidate);
    if (d < s->distance && d > 0) {
        s->distance = d;
        s->nearest = candidate;
    }
}

/* "; did you mean 'x'?", or nothing. */
static inline const char *rt_spell_hint(rt_spelling *s)
{
    s->text[0] = '\0';
    if (s->nearest)
        snprintf(s->text, sizeof s->text, "; did you mean '%s'?", s->nearest);
    return s->text;
}

#endif
