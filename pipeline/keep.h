/* Programs in memory of their own. */
#ifndef PIPELINE_KEEP_H
#define PIPELINE_KEEP_H

#include "ir/ir.h"

/* A copy of the program that shares nothing with it but interned texts. */
Prog *prog_keep(Arena *to, const Prog *p);

#endif
