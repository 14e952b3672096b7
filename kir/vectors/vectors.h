/* Passes for kernels whose groups are one work-item, as on CPUs: loops become such that compilers
 * make vectors of them. Each is a KPassFn (kir/passes/passes.h). */
#ifndef KIR_VECTORS_VECTORS_H
#define KIR_VECTORS_VECTORS_H

#include "kir/kir.h"

void kir_select(Arena *a, KFun *f);         /* selections.c */
void kir_split_scatters(Arena *a, KFun *f); /* split.c */
void kir_split_edges(Arena *a, KFun *f);    /* split.c */
void kir_lanes(Arena *a, KFun *f);          /* lanes.c */
void kir_unswitch(Arena *a, KFun *f);       /* unswitch.c */
void kir_bound_loops(Arena *a, KFun *f);    /* bounded.c */
void kir_load_ahead(Arena *a, KFun *f);     /* ahead.c */

#endif
