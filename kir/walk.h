/* Walking over kernels: visiting, questions, rewriting, copying. */
#ifndef KIR_WALK_H
#define KIR_WALK_H

#include "base/ptrmap.h"
#include "kir/kir.h"

/* --- Visiting ------------------------------------------------------------------------------- */

/* The operands of the statement itself (x[] and args), not of those in its blocks; each with all
 * inside it. */
void kstm_visit_exps(const KStm *s, KExpFn *fn, void *env);

typedef struct {
    void *env;
    bool (*enter)(void *env, KStm *s); /* false: not into its blocks. NULL: into all */
    void (*leave)(void *env, KStm *s); /* after its blocks; may be NULL */
} KVisitor;
/* Every statement of the block and of those inside, in order. */
void kblock_visit(const KBlock *b, const KVisitor *v);

/* --- Questions ------------------------------------------------------------------------------ */

/* Of the statement itself: does it read v, as an operand or to change it (HEAP's top)? */
bool kstm_uses(const KStm *s, const KVar *v);
/* The variable it binds (FOR: in its body), NULL if none. */
KVar *kstm_def(const KStm *s);
/* The buffer it declares, NULL if none. */
KBuf *kstm_declares(const KStm *s);
/* Does it give v, which is bound outside of it, another value? Its blocks do not count. */
bool kstm_sets(const KStm *s, const KVar *v);
/* Is memory that a buffer names read, written by it? */
bool kstm_reads(const KStm *s);
bool kstm_writes(const KStm *s);
/* The spaces (set of 1u << KSpace) whose accesses it orders as a place where all work-items of a
 * group meet; 0: it is no such place. */
unsigned kstm_fence(const KStm *s);
/* if .. { fail ..; leave .. } */
bool kstm_checks(const KStm *s);
/* Does it divide by a number that is 0, maybe, where it is not to be done? Of an expression:
 * itself, not what is inside. */
bool kstm_divides(const KStm *s);
bool kexp_divides(const KExp *x);
/* Does it tell other groups something, or see what they tell? */
bool kstm_tells(const KStm *s);
/* Is the body of a loop surely entered where the loop is? */
bool kstm_turns(const KStm *loop);
/* Has a FOR, of other numbers than u64, that counts by one more than n turns? n: an i64, at least
 * 0. */
const KExp *kstm_has_turns(Arena *a, const KStm *loop, const KExp *n);
/* How many elements from its position on a statement on a buffer is about. */
int kstm_lanes(const KStm *s);
/* The buffer whose memory it is, through all VIEWs. */
const KBuf *kbuf_root(const KBuf *b);
/* Can one be about memory that the other is about? */
bool kbuf_overlap(const KBuf *x, const KBuf *y);

/* The same of a block: somewhere inside. */
bool kblock_uses(const KBlock *b, const KVar *v);
bool kblock_sets(const KBlock *b, const KVar *v);
bool kblock_has(const KBlock *b, KStmKind kind);
bool kblock_meets(const KBlock *b); /* a barrier */
/* Is what follows the block only reached by those that do not come to its end? */
bool kblock_ends_by_leaving(const KBlock *b);
/* Does it record failures or ask for them, or take memory from the heap, which may fail? */
bool kblock_knows_failures(const KBlock *b);
/* May some statement write what buf names? */
bool kblock_writes(const KBlock *b, const KBuf *buf);
/* The types of all that is in a kernel, as a set of 1u << PrimType. */
unsigned kfun_types(const KFun *f);

/* The functions that a kernel, or a function, calls, each behind those that it calls itself. */
KFuns kfun_called(Arena *a, const KFun *f);

/* How often variables are read and changed in a kernel, counted once. */
typedef struct {
    int uses, sets;
    KStm *def; /* the statement that binds it; NULL: a parameter */
} KVarInfo;
typedef struct KInfo KInfo;
KInfo *kinfo_of(Arena *a, const KBlock *b);
KVarInfo kinfo_get(const KInfo *k, const KVar *v);

/* --- Rewriting ------------------------------------------------------------------------------ */

/* In place: kexp_map of the operands of the statement; of all statements inside, too. */
void kstm_map_exps(Arena *a, KStm *s, KExpMap *fn, void *env);
void kblock_map_exps(Arena *a, KBlock *b, KExpMap *fn, void *env);
/* In place: the expressions that `to` maps variables to (KVar -> KExp) in their stead. */
void kblock_subst(Arena *a, KBlock *b, const PtrMap *to);

/* A builder for additions to a kernel: what it names is new there. It appends nowhere until a block
 * is opened. */
KBuild *kb_more(Arena *a, KFun *f);
/* What follows goes to the end of the block, until kb_end. */
void kb_into(KBuild *b, KBlock *block);
/* The statement itself, not a copy. */
void kb_push(KBuild *b, KStm *s);

/* Goes over the statements of a block, and of those inside, in order. */
typedef struct {
    void *env;
    void (*enter)(void *env, KStm *s); /* before its blocks; may be NULL */
    /* After them: makes with b what stands for s from here on: s (kb_push), nothing, others. */
    void (*leave)(void *env, KBuild *b, KStm *s);
} KRewriter;
void kblock_rewrite(KBuild *b, KBlock *block, const KRewriter *r);

/* --- Copying -------------------------------------------------------------------------------- */

/* A copy of the statements for another place in the same kernel: what they bind gets new names.
 * `to` (may be NULL): what stands for variables (KVar -> KExp). */
KBlock kblock_copy(KBuild *b, const KBlock *block, const PtrMap *to);
/* The whole kernel, with the names that it has. What it says of itself (KFun's texts) and places in
 * sources are shared, nothing else: it may be in an arena of its own. */
KFun *kfun_copy(Arena *a, const KFun *f);

#endif
