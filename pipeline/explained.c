/* What `explain` tells of versions comes from flattening, what it tells of kernels from their
 * plan. */
#include "pipeline/explained.h"

#include "emit/emit.h"

FlExplainHook explain_hook(Plan *plan, const Prog *shared)
{
    return (FlExplainHook){plan,
                           describe_kernels,
                           describe_kernels_json,
                           describe_run_time,
                           describe_run_time_json,
                           describe_kernel_names,
                           shared};
}
