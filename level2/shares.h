/* Arrays of which each rank has a part: a block of rows. */
#ifndef LEVEL2_SHARES_H
#define LEVEL2_SHARES_H

#include "ir/passes/uses.h"
#include "ir/ranges.h"

enum { FEW = 16 }; /* elements that are not worth sharing out */

typedef struct Level Level;

/* A body of the host that is being made; those around it wait before the statement that it is of.
 */
struct Level {
    Level *outer; /* NULL: it is the entry's */
    bool turns;   /* it is a loop's */
    int facts;    /* what was known before it */
    Bld bl;
};

/* How n rows are shared out: this rank has `count` from `first` on, all of them unless `shared`. */
typedef struct Share Share;
typedef VEC(const Var *) ConstVars;
struct Share {
    Atom n;
    Level *level; /* where all this is bound */
    Atom shared, rank, ranks, first, count;
    Atom each;      /* how many ranks have, the last ones less */
    Share *kept_of; /* of whose rows these are what is kept: ranks have what they kept; else NULL */
    Exp *test;      /* the SHARED ... */
    int at;         /* ... which statement of the level it is */
    ConstVars wanted;   /* arrays whose parts are gathered */
    ConstVars combined; /* arrays of which each rank has one until they are combined */
};

/* The rows of a part between some that the ranks beside this one have: row number i of the array is
 * rows[i - first + at]. (Their difference may be negative, and then kernels would take 64 bits.) */
typedef struct {
    Atom rows, first, at;
} Halo;

/* What of an array is here. */
typedef struct {
    Var *var;
    Share *share;
    Level *level; /* where var is bound */
    bool whole;   /* all of it is here, too, under its own name, or given out in parts */
    bool beside;  /* ... or with `lo` and `hi` rows of the ranks beside */
    Halo halo;
    int lo, hi;
    /* Of a scan that readers go on with: its elements are op before x for elements x of var; op is
     * NULL: they are those. */
    const Lambda *op;
    Atom before;
    Exp *rows; /* of a parameter: the ROWS, as long as nobody needs the whole; else NULL */
} Part;

/* So many additions, times sizes, of the outermost nest first. */
typedef struct {
    double times;
    Atoms sizes;
    bool nest; /* that something goes over, and no elements of results alone */
} CostTerm;
typedef VEC(CostTerm) CostTerms;

/* What the SOACs of the host over n elements cost for one of them. */
typedef struct {
    Atom n;
    CostTerms terms;
} Weight;
typedef VEC(Weight *) Weights;

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
    VarMap *kept;  /* variable of a filter -> Filter (filtered.c) */
    Uses *us;      /* of the program as it was */
    Ranges *ra;    /* what is known here, of the program as it was */
    VarSet *given; /* parameters of which ranks may be given their rows alone */
    Weights weights;
    VEC(Share *) shares;
    int n_thresholds;
    Atom rank, ranks; /* bound at the entry's level; no variables: not yet */
} Parts;

/* --- scope.c -------------------------------------------------------------------------------- */

/* The level that binds it, of those that are being made; NULL: none of them does. */
Level *parts_level(const Parts *P, Atom a);
/* v is bound by the last statement of the level at work, or before its first. */
void parts_know(Parts *P, const Var *v);
void parts_know_all(Parts *P, const Vars *vs);
/* Is it bound before statement number `at` of the level, or around that? */
bool parts_before(const Parts *P, Atom a, const Level *level, int at);
/* Is it bound in a level that is still being made, so that it may be read? */
bool parts_in_scope(const Parts *P, Atom a);

/* --- shares.c ------------------------------------------------------------------------------- */

/* How n is shared out: by what was said before, or by a threshold of its own. */
Share *parts_share(Parts *P, Atom n, Loc loc);
/* The share of the n rows that are kept of another one's, of which this rank has so many. */
Share *parts_share_kept(Parts *P, Atom n, Share *of, Atom first, Atom count);
/* The level is done: its shares know what is gathered of them, and are forgotten. */
void parts_leave(Parts *P, Level *level);
/* v, an array of share->n rows, of which `var` is here. */
void parts_put(Parts *P, const Var *v, Var *var, Share *share);
/* op before x for the elements x of parts, if there are ranks before. */
Atoms parts_go_on(Parts *P, Bld *bl, const Lambda *op, const Atoms *before, const Atoms *parts,
                  const Share *share, Loc loc);
/* What is here of the array, as it is to be. */
Var *parts_settled(Parts *P, Part *p);
/* The part that is here, if v has been shared out so; NULL: it has not. */
Var *parts_get(Parts *P, Atom a, const Share *share);
/* The part of any array of share->n rows. */
Atom parts_of(Parts *P, Atom a, const Share *share, Loc loc);
/* v is one of them, once: bodies of loops are made anew. */
void parts_tell(Parts *P, ConstVars *told, const Var *v);
/* The level at work is given up, with all that was told of what it and those inside bind. */
void parts_untell(Parts *P);
/* From here on v may be read as a whole: its parts are gathered where it is made. */
void parts_gather(Parts *P, const Var *v);
void parts_gather_all(Parts *P, const VarSet *used);
/* v between lo and hi rows at least, made where v is. */
Halo parts_halo(Parts *P, const Var *v, int lo, int hi);
/* a, as parts_of, of the halo if fn reads that: then nobody reads both. */
Atom parts_beside(Parts *P, Atom a, const Share *share, const Lambda *fn, Loc loc);
/* The part of v; of a parameter one that is given. NULL: there is none. */
Part *parts_part(Parts *P, const Var *v);
/* outside.c: a is a result of the entry; if it is in parts it stays so. What is given on. */
Atom parts_result(Parts *P, Atom a);
/* test ? x : y */
Atom parts_choice(Parts *P, Bld *bl, const char *base, Loc loc, Atom test, Atom x, Atom y);

/* --- halo.c --------------------------------------------------------------------------------- */

/* The function of a SOAC over the share, which reads halos where it can instead of what is in
 * parts. */
const Lambda *halo_read(Parts *P, const Exp *e, const Share *share);

/* --- room.c --------------------------------------------------------------------------------- */

/* Of a part that is carried: rows before and behind it, which there is no room for if all is here.
 */
typedef struct {
    int lo, hi;
    Atom size, at; /* rows in all, where the part begins */
} Room;

/* Has the part of v got rows beside that there is no room for? */
bool room_wanted(const Parts *P, const Var *v, Room *room);
/* Binds what depends on the share. */
void room_make(Parts *P, Room *room, const Share *share, Loc loc);
/* The type of an array like t, part or whole, with room. */
Type room_type(Ctx *cx, Type t, const Room *room);
/* A new one, and with the part in it. */
Atom room_blank(Parts *P, Type t, const Room *room, Loc loc);
Atom room_with(Parts *P, Atom blank, Atom part, const Share *share, const Room *room, Loc loc);
/* The part of v in what a loop has left. */
Var *room_left(Parts *P, const Var *v, Atom rows, const Share *share, const Room *room);
/* v is what lies in what is carried, with the rows that are beside it, fetched here. */
void room_enter(Parts *P, const Var *v, Var *carried, Share *share, const Room *room);
/* t with the rows of the share. */
Type parts_type(Ctx *cx, Type t, const Share *share);
/* Rows first, first + 1, .. of an array of type t, so many, with all that they have. */
DimIndexes parts_slice(Ctx *cx, Type t, Atom first, Atom count);
/* Are these all positions 0, 1 .. n - 1? */
bool parts_all(const DimIndex *di, Atom n);

/* --- soacs.c -------------------------------------------------------------------------------- */

/* What this rank's rows give: the variables. Of scatters and histograms: into these. */
Vars soac_here(Parts *P, const Stm *s, const Share *share, const Atoms *dests);
/* What ranks have told each other, of scalars and arrays. */
typedef struct {
    Atom exchange; /* scalars; arrays' rows are what ranks have: */
    Atoms mine, arrays;
} Told;
/* op: what combines them; NULL: nothing does. */
Told soac_tell(Parts *P, Bld *bl, const Lambda *op, const Atoms *mine, Loc loc);
/* What rank r has told. */
Atoms soac_told_by(Bld *bl, const Told *told, Atom r, Loc loc);
/* What the first n ranks have told, combined in their order with `from`. */
Atoms soac_combined(Bld *bl, const Lambda *op, const Atoms *from, const Told *told, Atom n,
                    Loc loc);
/* Can it be shared out? It is, or is not. */
bool soac_is_shareable(const Exp *e);
void soac_share(Parts *P, const Stm *s);

/* --- filtered.c ------------------------------------------------------------------------------ */

/* Looks whether a filter begins with statement `at`. */
void filter_find(Parts *P, const Body *b, int at);
/* Shares s out if it belongs to a filter; false: it does not. */
bool filter_share(Parts *P, const Stm *s);

/* --- weigh.c -------------------------------------------------------------------------------- */

/* Weighs the SOACs of the entry's body. */
void weigh_entry(Parts *P, const Body *b);
/* What those over n elements do, made of what is known at the end of the level: i64, steps of the
 * deepest nest, and f64, additions that take as long as all that is in them. */
Atom weigh_work(Parts *P, Bld *bl, const Level *level, Atom n, Loc loc);
Atom weigh_cost(Parts *P, Bld *bl, const Level *level, Atom n, Loc loc);
/* Tells all tests of the entry whether ranks exchange anything where they are true. */
void weigh_exchanges(Ctx *cx, Entry *en);

/* --- single.c ------------------------------------------------------------------------------- */

/* An element of an array in parts, told by who has it; false: s is something else, or gathering
 * the array costs less. */
bool single_read(Parts *P, const Stm *s);

/* --- together.c ------------------------------------------------------------------------------ */

/* Exchanges of the entry that do not wait for each other become one. */
void exchanges_together(Ctx *cx, Entry *en);

#endif
