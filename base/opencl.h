/* OpenCL's functions, from its loader at run time: the compiler runs where there is none. */
#ifndef BASE_OPENCL_H
#define BASE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct {
    __typeof__(clGetPlatformIDs) *platforms;
    __typeof__(clGetPlatformInfo) *platform_info;
    __typeof__(clGetDeviceIDs) *devices;
    __typeof__(clGetDeviceInfo) *device_info;
    __typeof__(clCreateContext) *context;
    __typeof__(clCreateProgramWithSource) *program;
    __typeof__(clBuildProgram) *build;
} OpenCL;

/* NULL if there is no loader. */
const OpenCL *opencl_open(void);

#endif
