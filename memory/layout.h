/* The parts of the layout pass among themselves (reads.c layout.c assign.c ..). */
#ifndef MEMORY_LAYOUT_H
#define MEMORY_LAYOUT_H

#include "cost/layouts.h"
#include "memory/memory.h"

enum { MAX_DIMS = 16 };

/* --- reads.c --------------------------------------------------------------------------------- */

/* One access of an array from outside in a construct at level 1. */
typedef struct {
    Var *arr;
    WantKind kind;
    int fast;           /* its dimension that varies over neighbouring work-items */
    int perm[MAX_DIMS]; /* a layout that suits: outermost dimension in memory first, `fast` last */
} Access;
typedef VEC(Access) Accesses;

/* Those of which something can be said, in scratch memory. */
Accesses access_of_seg(Ctx *cx, const Exp *seg);
/* ... if it is a reduction whose segments lie beside each other (kernels/level1/segacross.c); none
 * of others. */
Accesses access_across(Ctx *cx, const Exp *seg);
/* The dimension of the nest that neighbouring work-items differ in; -1: none. */
int access_fast_dim(const Exp *seg);

/* --- computed.c ------------------------------------------------------------------------------ */

/* The iotas and replicates of the host level that need no memory. */
VarSet *mem_computed(Ctx *cx, const Entry *en);

/* --- within.c -------------------------------------------------------------------------------- */

/* The in-place update that puts result j of statement i of b, whole, into an array, if that result
 * can be built there from the start; NULL if not. al: has walked the entry; consumed: what
 * expressions of it consume, filled here. That the memory may be written is for the caller to say.
 */
const Exp *within_update(Ctx *cx, Alias *al, PtrMap *consumed, const Body *b, int i, int j);

/* --- layout_search.c ----------------------------------------------------------------------- */

typedef struct Node Node;
typedef VEC(Node *) Nodes;

/* The dimensions of a view: dimension d of the variable is dimension free[d] of the node. */
typedef struct {
    Node *node; /* NULL: nothing is known */
    int rank;
    int free[MAX_DIMS];
    bool whole; /* the same elements */
    int turns;  /* of the loops around the place where the variable is bound */
} View;

/* b's dimension map[d] is a's dimension d; where the layouts differ, `cost` is paid. */
typedef struct {
    Node *a, *b;
    int map[MAX_DIMS], back[MAX_DIMS];
    int64_t cost;
} Edge;

typedef struct {
    const Exp *seg;
    Var *arr;
    View view;
    int first, n; /* its accesses */
    int once;     /* what one that lies wrong costs if it is the only one of its elements */
    int across;   /* the dimension in which neighbouring segments of a reduction differ; -1: none */
    int64_t weight, copy; /* copy: its cost; -1: must not be copied */
} Reader;

struct Node {
    Var *v;
    int rank;
    bool fixed;
    int perm[MAX_DIMS];
    int wants_fast; /* the dimension along which neighbours write it; -1: none */
    int64_t write;  /* what it costs otherwise */
    int component;
    VEC(int) readers, edges; /* indices */
};

typedef struct {
    Ctx *cx;
    VarMap *views;
    Nodes nodes;
    Accesses accesses;
    VEC(Reader) readers;
    VEC(Edge) edges;
    int turns;      /* how often the present place is reached */
    int share;      /* of WHOLE: how likely the code versions around it are chosen */
    VarMap *guards; /* bool variables bound to a SUFF -> Exp */
} Lay;

/* The order of the view's dimensions in memory when its node lies by perm. False if the innermost
 * one in memory is not among them. */
bool view_perm(const View *w, const int *perm, int *of_view);
/* Sets the layouts of the nodes. */
void layout_search(Lay *ly);
/* What reading costs; *copy: the dimension that a copy has innermost, if one is worth it, else -1.
 */
int64_t layout_reader_cost(const Lay *ly, const Reader *r, int *copy);
/* The order `from` of dimensions turned until `fast` is last: a transposition of a matrix. */
void layout_turned(const int *from, int rank, int fast, int *to);

/* --- layout.c --------------------------------------------------------------------------------- */

/* An array that a construct reads through a copy in another layout. */
typedef struct {
    const Exp *seg;
    Var *arr;
    const int *perm;
} Reread;

typedef struct {
    VarMap *perms; /* array variable with memory of its own -> const int *: its layout */
    VEC(Reread) rereads;
} Layouts;
Layouts layout_decide(Ctx *cx, const Entry *en);

#endif
