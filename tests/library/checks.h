/* What the clients in C count by. Each includes the header of its library first. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdlib.h>
#include <string.h>

static int passed, failed;
static struct futhark_context *ctx;

static void check_at(const char *file, int line, bool ok, const char *what)
{
    const char *slash = strrchr(file, '/');
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("failed: %s:%d: %s\n", slash ? slash + 1 : file, line, what);
}
#define CHECK_AT(line, ok, what) check_at(__FILE__, (line), (ok), (what))
#define CHECK(e)                 CHECK_AT(__LINE__, (e), #e)

/* The call succeeds. */
#define OK(e)                                                                                      \
    do {                                                                                           \
        int code_ = (e);                                                                           \
        char *message_ = code_ ? futhark_context_get_error(ctx) : NULL;                            \
        CHECK_AT(__LINE__, code_ == FUTHARK_SUCCESS, message_ ? message_ : #e);                    \
        free(message_);                                                                            \
    } while (0)

#endif
