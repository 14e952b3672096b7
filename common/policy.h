/* Numbers on which compiler, interpreter, tuner and programs must agree: what versions are compared
 * with, and made for, before the device is known. What was measured: flatten/README.md. */
#ifndef COMMON_POLICY_H
#define COMMON_POLICY_H

/* Work-items that fill a device: the thresholds of untuned programs. */
#define RT_FULL_DEVICE 32768
/* Steps of a work-item that take as long as a launch (mf_par_in_effect). */
#define RT_LAUNCH_STEPS 64
/* Work-items of a group, and those of it that go in step, on GPUs. */
#define RT_USUAL_GROUP 256
#define RT_USUAL_WARP  32
/* Bytes that a thread loads at once: of so long rows each can be read by a thread of its own. */
#define RT_ROW_BYTES 16
/* Elements of rows up to which threads do well that keep several of them in global memory. */
#define RT_SHORT_ROW 12
/* Bytes to which blocks of device memory begin and end: OpenCL's largest type, long16. Kernels load
 * and store vectors. */
#define RT_BLOCK_ALIGN 128
/* How the help of a generated program begins: by this its binary is known to be ours to replace. */
#define RT_HELP_HEAD "Reads the arguments of an entry point from standard input"

#endif
