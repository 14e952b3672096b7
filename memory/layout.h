/* The parts of the layout pass among themselves (reads.c layout.c assign.c ..). */
#ifndef MEMORY_LAYOUT_H
#define MEMORY_LAYOUT_H

#include "cost/layouts.h"
#include "memory/memory.h"

enum { MAX_DIMS = 16, MAX_ORDERS = 8 };

/* --- reads.c --------------------------------------------------------------------------------- */

/* One access of an array from outside in a construct at level 1. */
typedef struct {
    Var *arr;
    WantKind kind;
    bool walks;         /* each element of the nest goes along a row of its own */
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

/* May a construct's threads go through its dimensions in any order (order.c)? */
bool access_is_free(Ctx *cx, const Exp *seg);
/* The accesses of one that may, its dimension `fast` the fastest. */
Accesses access_if_fast(Ctx *cx, const Exp *seg, int fast);

/* --- computed.c ------------------------------------------------------------------------------ */

/* The iotas and replicates of the host level that need no memory. */
VarSet *mem_computed(Ctx *cx, const Entry *en);

/* --- within.c -------------------------------------------------------------------------------- */

/* The in-place update that puts result j of statement i of b, whole, into an array, if that result
 * can be built there from the start; NULL if not. al: has walked the entry; consumed: what
 * expressions of it consume, filled here. *turned: what permutes it before the update puts it
 * there; NULL: nothing does. That the memory may be written is for the caller to say. */
const Exp *within_update(Ctx *cx, Alias *al, PtrMap *consumed, const Body *b, int i, int j,
                         const Stm **turned);

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

/* Views of the same shape, of which one is passed on as the other, or put into it; where they lie
 * otherwise, `cost` is paid. */
typedef struct {
    View a, b;
    int64_t cost;
} Edge;

/* A construct. Its threads go through the dimensions of its nest in one order, which is that of the
 * nest, or one of `orders` that differ in the fastest dimension. */
typedef struct {
    const Exp *seg;
    int orders, fast[MAX_ORDERS]; /* the first is the nest's own */
    int64_t weight;
    bool rows;        /* elements go along rows of their own, more than they make */
    bool seen;        /* its cost is in the sum at work */
    VEC(int) readers; /* indices */
    Nodes made;       /* its results */
} Walk;

typedef struct {
    int first, n;
} Span;

typedef struct {
    Walk *walk;
    Var *arr;
    View view;
    Span of[MAX_ORDERS]; /* its accesses by each order */
    int once;            /* what one that lies wrong costs if it is the only one of its elements */
    int across; /* the dimension in which neighbouring segments of a reduction differ; -1: none */
    int64_t weight, copy; /* copy: its cost; -1: must not be copied */
} Reader;

struct Node {
    Var *v;
    int rank;
    bool fixed;
    int perm[MAX_DIMS];
    Walk *walk;     /* that makes it; NULL: none */
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
    VEC(Walk *) walks;
    VEC(Edge) edges;
    bool free;      /* constructs may take another order than their nest's */
    int turns;      /* how often the present place is reached */
    int share;      /* of WHOLE: how likely the code versions around it are chosen */
    VarMap *guards; /* bool variables bound to a SUFF -> Exp */
    VarSet *placed; /* what updates put into arrays */
} Lay;

/* The order of the view's dimensions in memory when its node lies by perm. False if the innermost
 * one in memory is not among them. */
bool view_perm(const View *w, const int *perm, int *of_view);
/* Sets the layouts of the nodes. */
void layout_search(Lay *ly);
/* What reading costs in that order of the construct's; *copy: the dimension that a copy has
 * innermost, if one is worth it, else -1. */
int64_t layout_reader_cost(const Lay *ly, const Reader *r, int order, int *copy);
/* The order of a construct that costs least. */
int layout_order(const Lay *ly, const Walk *w);
/* The order `from` of dimensions turned until `fast` is last: a transposition of a matrix. */
void layout_turned(const int *from, int rank, int fast, int *to);

/* --- layout.c --------------------------------------------------------------------------------- */

/* An array that a construct reads through a copy in another layout. */
typedef struct {
    const Exp *seg;
    Var *arr;
    const int *perm;
} Reread;

/* A construct whose dimensions are interchanged: the k-th outermost is order[k]. */
typedef struct {
    const Exp *seg;
    const int *order;
} Reorder;
typedef VEC(Reorder) Reorders;

typedef struct {
    VarMap *perms; /* array variable with memory of its own -> const int *: its layout */
    VEC(Reread) rereads;
    Reorders reorders;
} Layouts;
/* free: constructs may still be interchanged. */
Layouts layout_decide(Ctx *cx, const Entry *en, bool free);

/* --- order.c ---------------------------------------------------------------------------------- */

/* The orders that are not the nests' own, of layouts that are found. */
Reorders order_choose(const Lay *ly);
/* s with its nest's dimensions in that order, pushed to `to`, and its results as they were. */
void order_push(Ctx *cx, const Stm *s, const int *order, Stms *to);

#endif
