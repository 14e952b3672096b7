/* Libraries on OpenCL: buffers of the caller's, in and out, in the caller's queue; kernels of the
 * caller's text, or built before. */
#define _GNU_SOURCE
#include "types.h"

#include <stdlib.h>
#include <string.h>

static int passed, failed;
#define CHECK(e)                                                                                   \
    ((e) ? (void)passed++ : (void)(failed++, printf("failed: interop.c:%d: %s\n", __LINE__, #e)))

enum { N = 1000 };

static bool says(struct futhark_context *ctx, const char *words)
{
    char *message = futhark_context_get_error(ctx);
    bool ok = message && strstr(message, words);
    free(message);
    return ok;
}

/* What `scale` makes of 3 with 2, in a context of this configuration; -1 if it fails. `said`
 * becomes what the context logs, to free(). */
static float scaled(struct futhark_context_config *cfg, char **said)
{
    struct futhark_context *ctx = futhark_context_new(cfg);
    size_t n;
    FILE *log = open_memstream(said, &n);
    float x = 3;
    futhark_context_set_logging_file(ctx, log);
    struct futhark_f32_1d *xs = futhark_new_f32_1d(ctx, &x, 1), *ys = NULL;
    if (!xs || futhark_entry_scale(ctx, &ys, 2, xs) || futhark_values_f32_1d(ctx, ys, &x))
        x = -1;
    futhark_free_f32_1d(ctx, ys);
    futhark_free_f32_1d(ctx, xs);
    futhark_context_free(ctx);
    fclose(log);
    return x;
}

static bool scales(struct futhark_context_config *cfg, float want)
{
    char *said;
    float got = scaled(cfg, &said);
    free(said);
    return got == want;
}

/* The kernels' text is the configuration's, and another one may take its place. */
static void check_set_program(void)
{
    struct futhark_context_config *cfg = futhark_context_config_new();
    futhark_context_config_set_program(cfg, futhark_context_config_get_program(cfg));
    CHECK(scales(cfg, 6));
    char *text = strdup(futhark_context_config_get_program(cfg));
    char *own = strstr(text, "/* Kernel segmap_scale"),
         *product = own ? strstr(own, " * a_") : NULL;
    CHECK(product);
    if (product)
        product[1] = '+';
    futhark_context_config_set_program(cfg, text);
    CHECK(scales(cfg, 5));
    CHECK(strcmp(futhark_context_config_get_program(cfg), text) == 0);
    futhark_context_config_set_program(cfg, strstr(text, "/* Kernel "));
    CHECK(scales(cfg, 5)); /* what all have in common is the library's own */
    free(text);
    futhark_context_config_set_program(cfg, "/* Kernel none */\n");
    struct futhark_context *ctx = futhark_context_new(cfg);
    CHECK(says(ctx, "the program that was set has no kernel "));
    futhark_context_free(ctx);
    futhark_context_config_set_program(cfg, NULL);
    CHECK(scales(cfg, 6));
    futhark_context_config_free(cfg);
}

/* Kernels that one configuration has kept are not built by another one, which keeps none. */
static void check_load_binary(void)
{
    char *said, folder[] = "kept.XXXXXX";
    CHECK(mkdtemp(folder));
    for (int kept = 0; kept < 3; kept++) {
        struct futhark_context_config *cfg = futhark_context_config_new();
        futhark_context_config_set_debugging(cfg, 1);
        if (kept == 1)
            futhark_context_config_set_cache_file(cfg, folder);
        else
            futhark_context_config_load_binary_from(cfg, folder);
        CHECK(scaled(cfg, &said) == 6);
        CHECK(strstr(said, "Built kernel segmap_scale"));
        CHECK((kept == 2) == (strstr(said, "from the cache") != NULL));
        free(said);
        futhark_context_config_free(cfg);
    }
}

int main(void)
{
    cl_int err;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
    struct futhark_context_config *cfg = futhark_context_config_new();
    struct futhark_context *ctx = futhark_context_new_with_command_queue(cfg, queue);
    CHECK(futhark_context_get_error(ctx) == NULL);
    CHECK(futhark_context_get_command_queue(ctx) == queue);

    float in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof in, in, &err);
    struct futhark_f32_1d *xs = futhark_new_raw_f32_1d(ctx, buffer, N), *ys, *zs;
    CHECK(xs && futhark_values_raw_f32_1d(ctx, xs) == buffer);
    CHECK(futhark_entry_scale(ctx, &ys, 3, xs) == 0);
    /* The result's buffer is read by a command of ours, in the same queue: nobody has to wait in
     * between. */
    memset(out, 0, sizeof out);
    clEnqueueReadBuffer(queue, futhark_values_raw_f32_1d(ctx, ys), CL_TRUE, 0, sizeof out, out, 0,
                        NULL, NULL);
    CHECK(out[0] == 0 && out[1] == 3 && out[N - 1] == 3 * (N - 1));
    /* What we write into the buffer is what the next call reads: it was not copied. */
    in[1] = 100;
    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof in, in, 0, NULL, NULL);
    CHECK(futhark_entry_scale(ctx, &zs, 2, xs) == 0);
    CHECK(futhark_values_f32_1d(ctx, zs, out) == 0 && out[1] == 200);
    float last = 0;
    CHECK(futhark_index_f32_1d(ctx, &last, xs, N - 1) == 0 && last == N - 1);

    CHECK(!futhark_new_raw_f32_1d(ctx, buffer, N + 1) &&
          says(ctx, "a buffer of 4000 bytes cannot be an array of 4004"));
    cl_mem constant = clCreateBuffer(context, CL_MEM_READ_ONLY, 64, NULL, &err);
    CHECK(!futhark_new_raw_f32_1d(ctx, constant, 1) && says(ctx, "CL_MEM_READ_WRITE"));
    clReleaseMemObject(constant);

    futhark_free_f32_1d(ctx, xs);
    futhark_free_f32_1d(ctx, ys);
    futhark_free_f32_1d(ctx, zs);
    futhark_context_free(ctx);
    /* All of ours is still ours alone. */
    cl_uint refs = 0;
    clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    CHECK(refs == 1);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL) ==
              CL_SUCCESS &&
          out[1] == 100);
    clReleaseCommandQueue(queue);

    queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err);
    if (err == CL_SUCCESS) {
        ctx = futhark_context_new_with_command_queue(cfg, queue);
        CHECK(says(ctx, "out of order"));
        futhark_context_free(ctx);
        clReleaseCommandQueue(queue);
    }
    futhark_context_config_free(cfg);
    clReleaseMemObject(buffer);
    clReleaseContext(context);
    check_set_program();
    check_load_binary();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
