/* runtime/drivers/dev_opencl.h is what OpenCL's own header says: numbers, types, functions.
 * Compiled where that is installed; there is nothing to run. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "runtime/drivers/dev_opencl.h"

#ifndef CL_DEVICE_UUID_KHR /* not in headers before 2020 */
#define CL_DEVICE_UUID_KHR RT_CL_DEVICE_UUID_KHR
#endif
#define NUMBER(name, value) _Static_assert(RT_CL_##name == CL_##name, #name);
RT_CL_ERRORS(NUMBER)
RT_CL_NUMBERS(NUMBER)
NUMBER(SUCCESS, )
NUMBER(DEVICE_TYPE_ALL, )

#define SAME(ours, theirs)                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(ours), __typeof__(theirs)), #theirs);
#define FUNCTION(result, name, params) SAME(*((rt_cl_functions *)0)->name, cl##name)
RT_CL_FUNCTIONS(FUNCTION)
SAME(rt_cl_ulong, cl_ulong)
_Static_assert(sizeof(rt_cl_buffer_region) == sizeof(cl_buffer_region) &&
                   offsetof(rt_cl_buffer_region, size) == offsetof(cl_buffer_region, size),
               "cl_buffer_region");
