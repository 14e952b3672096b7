/* The parts of the emitter among themselves (emit.c emit_host.c emit_types.c). */
#ifndef CODEGEN_EMIT_H
#define CODEGEN_EMIT_H

#include "codegen/plan.h"

typedef struct {
    Ctx *cx;
    Out *o;
    const Plan *p;
    Texts type_names, type_rows; /* of the boundary types, by id */
} Emit;

/* emit.c: a text as a C string literal. */
const char *c_string(Ctx *cx, const char *s);

/* emit_host.c: the C function of an entry, "entry_NAME". */
void emit_entry(Emit *em, const EntryPlan *ep);
int emit_param_id(const Plan *p, const char *threshold);
const char *kernel_enum(const Kernel *k);          /* "K_segmap_main_12" */
const char *param_enum(Ctx *cx, const char *name); /* "P_main_suff_outer_par_0" */
const char *entry_fn(const Entry *en);             /* "entry_main" */

/* emit_types.c: types of parameters and results. */
void emit_entries(Emit *em);       /* the tables `types` and `entries` and what they refer to */
const char *rt_prim_c(PrimType t); /* "RT_I32" */

/* embed.c: the text of the runtime. */
const char *embed_runtime(size_t *n);

#endif
