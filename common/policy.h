/* Numbers on which compiler, interpreter, tuner and programs must agree: what versions are compared
 * with, and made for, before the device is known. What was measured: flatten/README.md. */
#ifndef COMMON_POLICY_H
#define COMMON_POLICY_H

#include <stdint.h>

/* Work-items of a group, and those of it that go in step, on GPUs. */
#define RT_USUAL_GROUP 256
#define RT_USUAL_WARP  32
/* Bytes to which blocks of device memory begin and end: OpenCL's largest type, long16. Kernels load
 * and store vectors. */
#define RT_BLOCK_ALIGN 128
/* Bytes of local memory that a group of attention needs (segattention.c). */
#define RT_ATTENTION_BYTES 116736
/* How the help of a generated program begins, and a function that our libraries alone have: by
 * these a binary is known to be ours to replace. */
#define RT_HELP_HEAD    "Reads the arguments of an entry point from standard input"
#define RT_LIBRARY_MARK "futhark_context_load_tuning"

/* Values of a rank that are exchanged at once, at most. */
#define RT_EXCHANGED 16

/* Of n rows, how many each of so many ranks has: rank r those from r * that on, as far as there are
 * so many. Where there are many, parts begin where vectors do. */
static inline __attribute__((unused)) int64_t mf_share(int64_t n, int64_t ranks)
{
    enum { MANY = 4096, STEP = 64 };
    int64_t each = n / ranks + (n % ranks > 0);
    return each < MANY ? each : (each + STEP - 1) / STEP * STEP;
}

#endif
