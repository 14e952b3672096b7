/* OpenCL's header: for dev_opencl*.c, and nothing else in the runtime. */
#ifndef RT_DEV_OPENCL_H
#define RT_DEV_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#endif
