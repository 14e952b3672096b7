/* How a plan is made: operations are appended to a list, at a place of which something is known.
 *
 * The host level walks an entry with such a builder. A kernel maker (makers.h) is given one of its
 * own, with an empty list: it reads what is known of its surroundings and leaves the construct's
 * piece of the plan, which the host level then appends. Nothing else of the host level is seen by
 * makers. */
#ifndef PLAN_PLAN_BUILD_H
#define PLAN_PLAN_BUILD_H

#include "plan/plan.h"

typedef struct Ranges Ranges; /* ir/ranges.h */
typedef struct OpenBranch OpenBranch;
typedef struct Work Work;

typedef struct {
    Ctx *cx;
    Plan *plan;           /* takes kernels and sites */
    const Entry *entry;   /* the one whose plan it is */
    const VarMap *locs;   /* array variable of the host level -> ArrLoc *, from memory/assign.c */
    const VarSet *within; /* results that have a place in another array's block */
    const VarMap *made;   /* array variable of level-0 bodies -> ArrMade *, from memory/level0.c */
    const VarSet *groups; /* outermost indices of nests that work-groups can run */
    Ranges *known;        /* of numbers, at this place */
    Loc at;               /* of the statement at work */
    int n_mems;           /* blocks of the entry so far: ids below */
    HostOps *ops;         /* where operations are appended */
    VarMap *guards;       /* bool variable -> the SUFF expression that it was bound to */
    OpenBranch *branch;   /* the innermost branch that pb_if_more opened */
    Work *work;           /* of the construct at work; NULL: it is not counted */
} PlanBuild;

/* A builder of a piece of the plan at the place where `around` is; `ops` takes its operations. */
PlanBuild pb_piece(const PlanBuild *around, HostOps *ops);
/* Appends the piece. */
void pb_splice(PlanBuild *pb, const PlanBuild *piece);

/* --- What is known ------------------------------------------------------------------------- */

const ArrLoc *pb_loc(const PlanBuild *pb, const Var *arr); /* where it lies; ice if unknown */
/* Enters what holds of the sizes of the entry's parameters. */
void pb_know_sizes(const PlanBuild *pb, Ranges *ra);

/* --- Operations ---------------------------------------------------------------------------- */

void pb_op(PlanBuild *pb, HostOp op);                              /* appends a copy */
Mem *pb_mem(PlanBuild *pb, const char *base);                      /* a new name, without H_ALLOC */
void pb_alloc_mem(PlanBuild *pb, Mem *m, const KExp *bytes);       /* H_ALLOC of it */
Mem *pb_alloc(PlanBuild *pb, const char *base, const KExp *bytes); /* both */
void pb_alloc_shared(PlanBuild *pb, Mem *m, const KExp *bytes,
                     AllocFrom from); /* ... of the context */
/* The value, by a name unless it has one. */
const KExp *pb_let(PlanBuild *pb, const char *base, const KExp *value);
/* What follows is done if a > than, up to pb_else or pb_end. */
void pb_if_more(PlanBuild *pb, const KExp *a, int64_t than);
/* ... if a kernel of this kind is taken: where it can run, can > 0, and, unless users or the tuner
 * say otherwise, pays, which is pays >= 100 (cost_percent); when: that, for people. The construct
 * is the one at work. */
void pb_choose(PlanBuild *pb, const char *kind, const KExp *can, const KExp *pays,
               const char *when);
/* ... and a kernel that is launched in it, which belongs to the branch just opened, fits the
 * device. */
void pb_if_fits(PlanBuild *pb, Fit fit);
void pb_else(PlanBuild *pb);
/* What pb_recall_end's blocks are made of is appended in between. Where it reads arguments of the
 * entry alone, it is done only if it was not done for the same ones before, unchanged since
 * (H_RECALL): an inspector, which finds how work is shared out. Nobody may write to these blocks
 * later. */
typedef struct {
    HostOps *outer;
    HostOps inside;
} Recall;
void pb_recall_begin(PlanBuild *pb, Recall *r);
void pb_recall_end(PlanBuild *pb, Recall *r, const Mems *found);
void pb_end(PlanBuild *pb);

/* --- work.c: what launches must do, for profiles ------------------------------------------- */

/* What the statement, a construct, reads and computes; outs: where its results lie. */
Work *work_of(PlanBuild *pb, const Stm *s, const ArrLoc *outs);
/* Sets launch->bytes and ->operations: what the kernel does of that. */
void work_launch(Work *w, HostOp *launch);

#endif
