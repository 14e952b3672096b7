/* A unit test is a program: CHECKs, then `return check_summary();`. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdio.h>
#include <string.h>

static int checks_passed, checks_failed;

#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (c) {                                                                                   \
            checks_passed++;                                                                       \
        } else {                                                                                   \
            checks_failed++;                                                                       \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c);                        \
        }                                                                                          \
    } while (0)

#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (got), want_ = (want);                                                    \
        if (got_ == want_) {                                                                       \
            checks_passed++;                                                                       \
        } else {                                                                                   \
            checks_failed++;                                                                       \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #got, got_,  \
                    want_);                                                                        \
        }                                                                                          \
    } while (0)

static inline int check_summary(void)
{
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed > 0;
}

#endif
