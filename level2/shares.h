/* Arrays of which each rank has a part: a block of rows. */
#ifndef LEVEL2_SHARES_H
#define LEVEL2_SHARES_H

#include "ir/ranges.h"

typedef struct Level Level;

/* A body of the host that is being made; those around it wait before the statement that it is of.
 */
struct Level {
    Level *outer; /* NULL: it is the entry's */
    int facts;    /* what was known before it */
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

/* The rows of a part between some that the ranks beside this one have: row number i of the array is
 * rows[i - base]. */
typedef struct {
    Atom rows, base;
} Halo;

/* What of an array is here. */
typedef struct {
    Var *var;
    Share *share;
    Level *level; /* where var is bound */
    bool whole;   /* all of it is here, too, under its own name */
    bool beside;  /* ... or with `lo` and `hi` rows of the ranks beside */
    Halo halo;
    int lo, hi;
} Part;

/* Where a variable is bound. */
typedef struct {
    const Level *level;
    int at; /* behind so many statements, its own counted */
} Bound;

typedef struct {
    Ctx *cx;
    const char *entry;
    Level *at;
    VarMap *bound; /* Var -> Bound */
    VarMap *parts; /* array -> Part */
    VarMap *made;  /* array -> the IOTA or REPLICATE that it is */
    Ranges *ra;    /* what is known here, of the program as it was */
    VarMap *work;  /* size -> Atoms, what else a SOAC over so many elements goes over */
    VEC(Share *) shares;
    int n_thresholds;
    Atom rank, ranks; /* bound at the entry's level; no variables: not yet */
} Parts;

/* v is bound by the last statement of the level at work, or before its first. */
void parts_know(Parts *P, const Var *v);
/* Is it bound in a level that is still being made, so that it may be read? */
bool parts_in_scope(const Parts *P, Atom a);
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
/* v between lo and hi rows at least, made where v is. */
Halo parts_halo(Parts *P, const Var *v, int lo, int hi);
/* a, as parts_of, of the halo if fn reads that: then nobody reads both. */
Atom parts_beside(Parts *P, Atom a, const Share *share, const Lambda *fn, Loc loc);
/* halo.c: the function of a SOAC over the share, which reads halos where it can instead of what is
 * in parts. */
const Lambda *halo_read(Parts *P, const Exp *e, const Share *share);
/* t with the rows of the share. */
Type parts_type(Ctx *cx, Type t, const Share *share);

#endif
