/* Private to fuse*.c: two SOACs of the same width made one. */
#ifndef IR_PASSES_FUSE_MERGE_H
#define IR_PASSES_FUSE_MERGE_H

#include "ir/ir.h"

/* Kinds as far as merging goes: what the first results of fn are used for. */
typedef enum { JOB_MAP, JOB_REDUCE, JOB_SCAN, JOB_SCATTER, JOB_HIST } Job;
Job fuse_job(const Exp *e);

/* How many results of e are reduced or scanned; the results after them are mapped out. */
static inline int fuse_n_red(const Exp *e)
{
    return exp_is(e, F_BINS) ? 0 : e->soac.nes.n;
}

/* The function of e: the identity for reduce and scan. */
Lambda *fuse_fn_of(Ctx *cx, const Exp *e);

/* The statement that does what `first` and then `second` did. An input of `second` that is a
 * mapped-out result of `first` becomes the value that first's function gave; a mapped-out result of
 * `first` is kept iff it is in `keep`. If first's function is the caller's `own`, which nothing
 * else mentions, it is extended and not copied: chains of any length take memory in proportion. The
 * variables of both patterns are bound again:
 *     first's reduced, second's reduced, first's kept, second's mapped out.
 * Requires: both SOACs of the same width, not both with a different job but map, no scatter or hist
 * first. */
Stm fuse_merge(Ctx *cx, const Stm *first, bool own, const Stm *second, const VarSet *keep);

/* A rearrange or reshape that leaves the outermost dimension in place. */
bool fuse_keeps_rows(const Exp *view);
/* Looks through one: the SOAC e with input number k, which is `view`, replaced by what that is a
 * view of; the rows are viewed instead. */
Exp *fuse_through_view(Ctx *cx, const Exp *e, int k, const Exp *view);

#endif
