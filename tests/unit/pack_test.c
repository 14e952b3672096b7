/* Packed texts, read again by another reader than the runtime's: they are what they were,
 * printable, and shorter where something occurs again. */
#include "common/packed.h"
#include "emit/emit_parts.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 17 };

static int number(const char **at)
{
    int n = 0, unit = 1, place;
    do {
        place = packed_place(*(*at)++);
        n += place % PACKED_BASE * unit;
        unit *= PACKED_BASE;
    } while (place >= PACKED_BASE);
    return n;
}

/* How many characters the packed text stands for; they are in `out`. */
static int read_again(const char *at, char *out)
{
    int n = 0, recent[PACKED_RECENT] = {0};
    while (*at) {
        char c = *at++;
        if (c != '@') {
            out[n++] = c == '$' ? 0 : c;
        } else if (*at == '@' || *at == '$') {
            out[n++] = *at++;
        } else {
            int said = number(&at), length = number(&at) + PACKED_LEAST, last = PACKED_RECENT - 1;
            int back = said > last ? said - last : recent[said];
            for (int i = said > last ? last : said; i > 0; i--)
                recent[i] = recent[i - 1];
            recent[0] = back;
            CHECK(back > 0 && back <= n && n + length <= MOST);
            for (; length > 0; length--, n++)
                out[n] = out[n - back];
        }
    }
    return n;
}

/* Gives the packed length. */
static int check_texts(const Texts *texts)
{
    static char out[MOST];
    Arena *a = arena_new();
    const char *packed = emit_pack(a, texts);
    int n = read_again(packed, out), at = 0, length = (int)strlen(packed);
    for (int i = 0; i < texts->n; i++) {
        CHECK(at < n && strcmp(out + at, texts->at[i]) == 0);
        at += (int)strlen(texts->at[i]) + 1;
    }
    CHECK(at == n);
    arena_free(a);
    return length;
}

static Texts texts_of(Arena *a, int n, const char *const *from)
{
    Texts texts = {0};
    for (int i = 0; i < n; i++)
        vec_push(a, &texts, from[i]);
    return texts;
}

static void some_texts(Arena *a)
{
    static const char *const signs[] = {"", "@", "$", "@@$$@", "a@b$c/p.sf\n", "a@b$c/p.sf\n", ""},
                             *const run[] =
                                 {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                             *const same[] = {"f32 x_1234 = 5;\nf32 y_1234 = 6;\n",
                                              "f32 x_1235 = 5;\nf32 y_1235 = 6;\n"};
    Texts none = {0}, texts = texts_of(a, 7, signs);
    CHECK(check_texts(&none) == 0);
    check_texts(&texts);
    texts = texts_of(a, 1, run);
    CHECK(check_texts(&texts) <= 6);
    texts = texts_of(a, 2, same);
    CHECK(check_texts(&texts) < (int)(strlen(same[0]) + strlen(same[1])) * 2 / 3);
}

/* Characters of a small alphabet, so that much occurs again, near and far. */
static void random_texts(Arena *a, unsigned seed)
{
    Texts texts = {0};
    static const char signs[] = "ab@$ \n7_";
    srand(seed);
    for (int i = 0; i < 8; i++) {
        int n = rand() % 4000, few = 1 + rand() % 8;
        char *text = NEWN(a, char, n + 1);
        for (int k = 0; k < n; k++)
            text[k] = signs[rand() % few];
        vec_push(a, &texts, text);
    }
    check_texts(&texts);
}

int main(void)
{
    Arena *a = arena_new();
    some_texts(a);
    for (unsigned seed = 0; seed < 40; seed++)
        random_texts(a, seed);
    arena_free(a);
    return check_summary();
}
