/* What every part writes with: text for C and JSON, identifiers, files. */
#include "autotune/run/measure.h"
#include "base/ident.h"
#include "base/out.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

/* What a writer makes of a text. */
static char *written(void (*write)(Out *o, const char *s), const char *s)
{
    Out o = {0};
    write(&o, s);
    return out_take(&o);
}

static void as_c_string(Out *o, const char *s)
{
    out_c_string(o, s, strlen(s));
}

static void as_c_comment(Out *o, const char *s)
{
    out_c_comment(o, "%s", s);
}

static void makes(void (*write)(Out *o, const char *s), const char *in, const char *want)
{
    char *got = written(write, in);
    CHECK(strcmp(got, want) == 0);
    if (strcmp(got, want) != 0)
        fprintf(stderr, "    %s gives %s, expected %s\n", in, got, want);
    free(got);
}

static void test_text(void)
{
    makes(as_c_string, "a\"b\\c", "\"a\\\"b\\\\c\"");
    makes(as_c_string,
          "?"
          "?/\n\001"
          "7\x7f",
          "\"?\\?/\\n\\0017\\177\"");
    makes(as_c_string, "\xc3\xbc", "\"\\303\\274\"");
    makes(as_c_comment, "a */ b", "/* a *\\x2f b */");
    makes(as_c_comment, "*/*/\n", "/* *\\x2f*\\x2f\\x0a */");
    makes(out_quoted, "\xc3\xbc\t\"", "\"\xc3\xbc\\t\\\"\"");
    makes(out_quoted,
          "\xff"
          "a\xc3",
          "\"\\ufffda\\ufffd\"");
    makes(out_quoted, "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* half a surrogate */
    Out o = {0};
    out_c_string(&o, "a\0b", 3);
    CHECK(strcmp(o.text, "\"a\\000b\"") == 0);
    out_free(&o);
}

/* All names of up to five characters of an alphabet that is made to clash, and long ones. */
static void test_identifiers(void)
{
    static const char alphabet[] = "apuxh_'1";
    enum { N = 8, LENGTH = 5 };
    VEC(const char *) seen = {0};
    Arena *a = arena_new();
    int same = 0, wrong = 0;
    for (int length = 1; length <= LENGTH; length++) {
        int count = 1;
        for (int i = 0; i < length; i++)
            count *= N;
        for (int k = 0; k < count; k++) {
            char name[80] = "";
            for (int i = 0, rest = k; i < length; i++, rest /= N)
                name[i] = alphabet[rest % N];
            const char *id = c_ident(name);
            wrong += strlen(id) > 56 ||
                     strspn(id, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(id) ||
                     id[0] == '_' || (id[0] >= '0' && id[0] <= '9');
            vec_push(a, &seen, id);
        }
    }
    for (int k = 0; k < 200; k++) {
        char name[256];
        memset(name, k % 2 ? '\'' : 'a', 255);
        name[100 + k / 2] = '\0';
        const char *id = c_ident(name);
        wrong += strlen(id) > 56;
        vec_push(a, &seen, id);
    }
    /* Identifiers are interned: the same one is the same pointer. */
    const char **sorted = arena_memdup(a, seen.at, sizeof *seen.at * (size_t)seen.n);
    for (int gap = seen.n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < seen.n; i++)
            for (int k = i - gap; k >= 0 && sorted[k] > sorted[k + gap]; k -= gap) {
                const char *x = sorted[k];
                sorted[k] = sorted[k + gap];
                sorted[k + gap] = x;
            }
    for (int i = 1; i < seen.n; i++)
        same += sorted[i] == sorted[i - 1];
    CHECK(seen.n > 37000);
    CHECK_INT(same, 0);
    CHECK_INT(wrong, 0);
    arena_free(a);
}

static void test_speedup(void)
{
    CHECK(speedup(0, 0) == 1); /* not -nan */
    CHECK(speedup(4e-6, 2e-6) == 2);
    CHECK(speedup(4e-6, 0) < 5); /* less than a microsecond counts as one */
}

int main(void)
{
    test_text();
    test_identifiers();
    test_speedup();
    return check_summary();
}
