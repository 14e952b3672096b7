/* What explaining a program takes. */
#ifndef PIPELINE_EXPLAINED_H
#define PIPELINE_EXPLAINED_H

#include "flatten/flatten.h"
#include "plan/plan.h"

/* Tells of the kernels of a plan, and of what ranks do (`shared`: see FlExplainHook.ranks). */
FlExplainHook explain_hook(Plan *plan, const Prog *shared);

#endif
