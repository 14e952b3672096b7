/* Private to consume.c and aliases.c: what is known of values and variables while a definition is
 * checked for consumption.
 *
 * Every variable with arrays in it has leaves, the components of its type that are not tuples or
 * records. A value is described by a tree of the same shape (Al); each leaf lists the leaves of
 * variables (Ref) that it may share memory with, transitively. Consuming a value marks all of its
 * refs; using a variable whose refs are marked is an error.
 *
 * Frames are the bodies of functions and loops around the expression at work. What a frame uses
 * from outside is recorded: a function value shares memory with it. */
#ifndef FRONTEND_CONSUME_H
#define FRONTEND_CONSUME_H

#include "frontend/check.h"

typedef struct {
    Binding *b;
    int leaf;
} Ref;
typedef VEC(Ref) Refs;

typedef struct Al {
    Refs refs;
    VEC(struct Al *) kids; /* of tuples and records; then refs is empty */
} Al;

typedef enum { VAR_LET, VAR_PARAM, VAR_LOOP } VarKind; /* all but parameters may be consumed */

/* What is known of a variable while its scope lasts. */
typedef struct {
    Binding *b; /* NULL: not a local variable */
    Al *al;     /* what its leaves alias */
    int depth;  /* number of frames around its binding */
    VarKind kind;
    VEC(bool) may; /* by leaf: may be consumed */
    VEC(Loc) gone; /* by leaf: where it was consumed, or {0,0} */
} Var;

typedef struct {
    bool loop;
    Refs used; /* from outside */
} Frame;

typedef VEC(Var) ConsumeVars;

typedef struct {
    Ck *ck;
    Arena *a;
    Var *vars; /* by uid: those of definitions checked before stay, and are not looked at again */
    VEC(Frame) frames;
    Refs marked; /* in order, so that branches can be undone */
} Co;

typedef struct {
    const AType *t;
    const Al *al;
    bool unique;
} Leaf;
typedef VEC(Leaf) Leaves;

bool al_holds_arrays(const AType *t);
bool al_is_product(const AType *t); /* a tuple or record */

/* ---- Trees ---- */

Al *al_none(Co *co);
bool al_has_ref(const Refs *rs, Ref r);
/* Adds all that al aliases, whatever its shape. */
void al_add_flat(Co *co, Refs *to, const Al *al);
/* The tree al in the shape of a type: what a whole tuple aliases, each component may alias. */
Al *al_shape(Co *co, const AType *t, const Al *al);
Al *al_union(Co *co, const Al *x, const Al *y);
/* The leaves of a value of type t, in order; `unique`: of a part of something unique. */
void al_leaves(Co *co, const AType *t, const Al *al, bool unique, Leaves *out);
/* Whether x and y may share memory; `which`: by what variable. */
bool al_share(Co *co, const Al *x, const Al *y, Ref *which);

/* ---- Variables and frames ---- */

void al_bind_var(Co *co, Binding *b, const AType *t, const Al *al, VarKind kind);
void al_bind_pat(Co *co, const Pat *p, const Al *al, VarKind kind);
Var *al_local(Co *co, const Binding *b); /* NULL: not a local variable */
/* What a variable's value aliases: its own leaves, and what they alias. */
Al *al_of_var(Co *co, Binding *b, const AType *t);
void al_push_frame(Co *co, bool loop);
/* Leaves the innermost frame; what it used from outside. */
Al *al_pop_frame(Co *co);

/* ---- Use and consumption ---- */

bool al_gone_at(Co *co, Ref r, Loc *where);
/* Reports the use of a value that was consumed; `name` is what the program calls it, or NULL. */
void al_use(Co *co, const Al *al, Loc loc, const char *name);
/* Marks a value as consumed, or reports why it may not be. */
void al_consume(Co *co, const Al *al, Loc loc);
/* The marks number from <= i < to: set again (locs) or taken back (NULL). */
void al_set_marks(Co *co, int from, int to, const Loc *locs);

#endif
