/* Arrays of which each rank has a part: a block of rows. */
#ifndef LEVEL2_SHARES_H
#define LEVEL2_SHARES_H

#include "ir/ir.h"

typedef struct Level Level;

/* A body of the host that is being made; those around it wait before the statement that it is of.
 */
struct Level {
    Level *outer;
    int depth; /* 0: the entry's */
    Bld bl;
};

/* How n rows are shared out: this rank has `count` from `first` on, all of them unless `shared`. */
typedef struct {
    Atom n;
    Level *level; /* where all this is bound */
    Atom shared, rank, ranks, first, count;
    Exp *test;               /* the SHARED ... */
    int at;                  /* ... which statement of the level it is */
    VEC(const Var *) wanted; /* arrays whose parts are gathered */
} Share;

/* What of an array is here. */
typedef struct {
    Var *var;
    Share *share;
    Level *level; /* where var is bound */
    bool whole;   /* all of it is here, too, under its own name */
} Part;

typedef struct {
    Ctx *cx;
    const char *entry;
    Level *at;
    VarMap *levels; /* Var -> the level that binds it */
    VarMap *parts;  /* array -> Part */
    VarMap *made;   /* array -> the IOTA or REPLICATE that it is */
    VarMap *work;   /* size -> Atoms, what else a SOAC over so many elements goes over */
    VEC(Share *) shares;
    int n_thresholds;
    Atom rank, ranks; /* bound at the entry's level; no variables: not yet */
} Parts;

/* How n is shared out: by what was said before, or by a threshold of its own. */
Share *parts_share(Parts *P, Atom n, Loc loc);
/* The level is done: its shares know what is gathered of them, and are forgotten. */
void parts_leave(Parts *P, Level *level);
/* v, an array of share->n rows, of which `var` is here. */
void parts_put(Parts *P, const Var *v, Var *var, Share *share);
/* The part that is here, if v has been shared out so; NULL: it has not. */
Var *parts_get(const Parts *P, Atom a, const Share *share);
/* The part of any array of share->n rows. */
Atom parts_of(Parts *P, Atom a, const Share *share, Loc loc);
/* From here on v may be read as a whole: its parts are gathered where it is made. */
void parts_gather(Parts *P, const Var *v);
/* t with the rows of the share. */
Type parts_type(Ctx *cx, Type t, const Share *share);

#endif
