/* A client where OpenCL is not: its header is enough in C and C++, and what there is not is told.
 */
#include "types.h"

#include <stdlib.h>
#include <string.h>

static int passed, failed;
#define CHECK(e)                                                                                   \
    ((e) ? (void)passed++ : (void)(failed++, printf("failed: bare.c:%d: %s\n", __LINE__, #e)))

#ifdef CL_VERSION_1_0
#error "OpenCL's header is there"
#endif

static bool has_none(struct futhark_context *ctx)
{
    char *message = futhark_context_get_error(ctx);
    bool ok = message && strstr(message, "no OpenCL device found");
    free(message);
    futhark_context_free(ctx);
    return ok;
}

int main(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    cl_command_queue queue = (cl_command_queue)(void *)&passed;
    CHECK(has_none(futhark_context_new(cfg)));
    CHECK(has_none(futhark_context_new_with_command_queue(cfg, queue)));
    futhark_context_config_free(cfg);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
