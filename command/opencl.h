/* OpenCL's functions, from its loader at run time: the compiler runs where there is none. Those
 * that the compiler uses (and runtime/drivers/dev_opencl_find.c in it) are defined here, under
 * their own names; they may be called once opencl_open has succeeded. */
#ifndef COMMAND_OPENCL_H
#define COMMAND_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdbool.h>

/* False if there is no loader. */
bool opencl_open(void);

#endif
