/* What the files of reverse mode share (ad/README.md). */
#ifndef AD_REVERSE_H
#define AD_REVERSE_H

#include "ad/ad_int.h"

typedef VEC(int) Ints;

/* How the positions of a slice, start + i for each i of its n, get back into the array where they
 * would leave it: those below lo are at lo, the first `below` ones, and those above hi at hi, the
 * last `above` ones (of 0 there is no bound on that side); or all are modulo hi, of which there are
 * n. lo and hi: i64. */
typedef struct {
    int dim; /* of the place */
    bool wraps;
    int64_t below, above;
    Atom lo, hi;
} Bend;
typedef VEC(Bend) Bends;

/* A slice of a place that iterations move on: its positions are start + stride * k besides, for
 * each k of n, by which parts overlap; an axis of the value of its own, before the slice's. */
typedef struct {
    int dim; /* of the place */
    Atom n;  /* i64 */
    int64_t stride;
} Slide;
typedef VEC(Slide) Slides;

/* What has come together of the adjoint of an array outside of the innermost map, or of a row that
 * the map goes over, in one iteration of that map: a part of the array, or elements of it.
 *  - a place: `val` belongs to the elements at `at`, which are there; but where it `may_miss`, `at`
 * may reach outside of the array, where val is zero, or comes back by the bends;
 *  - a list: `dims.n` dimensions of contributions, each with positions idx (i64, of the first idx.n
 *    dimensions of the array; outside of it: no contribution) and a value in val. */
typedef struct {
    bool is_place, may_miss, safe;
    bool may_be_none; /* of a place: there may have been no iteration, and no position then.. */
    int made;         /* ..but for the slice that its iterations make: its dimension, or -1 */
    Loc loc;          /* of the access */
    DimIndexes at;
    Bends bends; /* of a place: of some of its slices */
    Slides slides;
    Atoms dims, idx;
    Atom val;
    int turned; /* of a place that is lifted: axes of val before the one that iterations make */
} Piece;
typedef VEC(Piece) Pieces;

/* The adjoint of a variable so far: the sum of `dense` (if known) and of the pieces. */
typedef struct {
    bool known;
    Atom dense; /* of the variable's type */
    int spread; /* contributions of single elements of which it is made alone (adjoint.c); else 0 */
    Pieces pieces;
} Adjoint;

/* The sweeps over one body. */
typedef struct Rev Rev;
struct Rev {
    Ctx *cx;
    void (*sweep)(Rev *r, const Body *b); /* rev_sweep: rules have bodies inside */
    Stms fwd;        /* the forward sweep: the body's statements, and what they keep */
    Bld bl;          /* the reverse sweep behind it */
    VarSet *active;  /* what depends on what is differentiated; of the whole function */
    VarMap *defs;    /* Var -> const Exp *: what defines it; of the whole function */
    VarMap *adjoint; /* Var -> Adjoint * */
    VarSet *sizes;   /* of arrays outside of all bodies: others may be below 0 where no body runs */
    VarSet *widths;  /* of the maps around: above 0 where their bodies run */
    VarSet *maps;    /* what maps give that are statements of the body */
    VarSet *inside;  /* what the innermost map around binds, but for rows of active arrays; NULL:
                        there is no map around */
};

/* --- places.c --- */

/* The bend of dimension d of the place p; NULL: it has none. */
const Bend *rev_bend(const Piece *p, int d);

/* .. that iterations move on. */
const Slide *rev_slide(const Piece *p, int d);

/* The place p, some slices of which iterations move on, with one slice for all that these cover. */
Piece rev_covered(Rev *r, const Piece *p);
/* A piece as a list, of contributions in as many dimensions as it has slices that are not whole
 * rows; val stays. */
Piece rev_as_list(Rev *r, const Var *v, const Piece *p);

/* --- adjoint.c: what comes together --- */

/* A state for a body inside of what r works on, with no adjoints yet. */
Rev rev_inner(const Rev *r);
static inline bool rev_active(const Rev *r, Atom a)
{
    return a.var && varset_has(r->active, a.var);
}
bool rev_active_inside(const Rev *r, const Lambda *fn); /* is something free in fn active? */
bool rev_has(const Rev *r, const Var *v); /* is there an adjoint that may not be zero? */
/* Is the adjoint of v kept in pieces, since v is an array that is not inside? */
bool rev_apart(const Rev *r, const Var *v);
/* Adds to the adjoint of `to` (nothing if that is not active) val, of its type but for names of
 * sizes; val at a part of the array; a list of contributions. */
void rev_add(Rev *r, Loc loc, Atom to, Atom val);
void rev_add_place(Rev *r, Loc loc, Atom arr, const DimIndexes *at, bool safe, Atom val);
void rev_add_piece(Rev *r, Atom arr, Piece p);
bool rev_is_element(const Piece *p);                     /* a number for one element */
void rev_add_pieces(Rev *r, Atom arr, const Pieces *ps); /* those of one array */
void rev_add_list(Rev *r, Loc loc, Atom arr, Atoms dims, Atoms idx, Atom val);
/* All of it as one value, zero if there is nothing: no pieces are left. */
Atom rev_take(Rev *r, Var *v);
/* The value that has come together without pieces, or zero. */
Atom rev_dense(Rev *r, Var *v);
void rev_set(Rev *r, Var *v, Atom dense);
Adjoint *rev_adjoint(Rev *r, const Var *v); /* made if there is none */
/* Adds a piece to what has come together without. */
void rev_settle(Rev *r, Var *v, const Piece *p);

/* --- pieces.c: how they leave maps, loops and branches --- */

/* What iterations of a map or a loop (`in`) give to adjoints outside (`out`): each gives values
 * which are stacked (a result of size width ++ its type), and values which are summed. */
typedef struct {
    Rev *in, *out;
    Loc loc;
    VarSet *bound; /* what varies from one iteration to the next */
    VarSet *own;   /* variables whose value is the iteration's number */
    Atom width;    /* i64 */
    Atoms each, sums;
    VEC(struct Lifted) lifted;
} Lift;
struct Lifted {
    Var *var;
    bool summed;
    int first; /* of its values in each or sums */
    Piece p;   /* as it will be outside; without a value: all of var */
    bool dense;
};
Lift rev_lift_new(Rev *in, Rev *out, Loc loc, Atom width);
/* What is computed inside so far; all that it binds varies. */
Stms rev_lift_stms(Lift *L);
/* Decides; statements go to `in` and `out`. `kept`: variables that are not to be looked at. */
void rev_lift(Lift *L, const VarSet *kept);
/* Of a row of arr, which an iteration has: i is its number. */
void rev_lift_row(Lift *L, Var *row, Var *arr, Var *i);
/* What does not vary, although it may be computed inside: as it is outside. */
bool rev_outside(Lift *L, Atom *a);
/* Adds what came out: each as stacked, sums. */
void rev_lifted(Lift *L, const Atoms *each, const Atoms *sums);

/* --- array_sums.c --- */

/* What is done so often is as good as done once: numbers that are computed again instead of kept,
 * sums that a reduction has side by side. */
enum { AD_FEW = 4 };
/* Is t a scalar, or a row of a few? */
bool ad_is_few(Type t);
/* Appends the numbers of v, which are few; v made of such numbers, from at[0] on, and behind them.
 */
void ad_few_out(Bld *bl, Loc loc, Atom v, Atoms *to);
Atom ad_few_in(Bld *bl, Loc loc, Type t, const Atom **at);
/* The first n results of the function of the REDOMAP e, scalars, are summed. */
void ad_sums_of(Ctx *cx, Exp *e, int n);

/* How the sum of an array that each iteration of a map makes is made. */
typedef struct SumPlan SumPlan;
/* Of v, by the statements of the map's function, whose variables are `bound`: adds those to inputs
 * whose values of all iterations have to be known. */
SumPlan *ad_sum_plan(Ctx *cx, const VarSet *bound, const Stms *stms, Atom v, Vars *inputs);
typedef struct {
    Bld *bl;
    Loc loc;
    Atom n;          /* iterations */
    VarMap *stacked; /* Var -> Atom *: of inputs the values of all iterations */
} Summer;
void ad_stack(Summer *S, const Var *v, Atom all);
Atom ad_sum_code(Summer *S, const SumPlan *p);

/* --- iterations.c --- */

typedef struct {
    Lift L; /* lifted */
    Vars params;
    Atoms arrs;
    Atoms elems; /* what an iteration gives besides */
    int n_acc;
    VEC(SumPlan *) plans; /* of L.sums: of arrays */
    Vars inputs;          /* of the plans, but for parameters */
} Iterations;
/* The results of the map's function. */
Atoms rev_results(Iterations *M);
/* The map over arrs, fn(params) with these results: appends what it stacks and sums, and gives the
 * others' arrays; */
Atoms rev_made(Iterations *M, Lambda *fn, unsigned attrs, Atoms *each, Atoms *sums);
/* ... adds to adjoints what they are for. */
Atoms rev_run(Iterations *M, Lambda *fn, unsigned attrs);

/* --- tape.c --- */

/* A loop that is run backwards. */
typedef struct {
    Rev *r; /* of the body around */
    const Stm *s;
    Exp *copy; /* the loop with fresh names, which the reverse sweep is made of */
    Rev *in;   /* the sweeps over its body */
    Atom n;    /* turns, i64, at least 0 */
    Atom turn; /* the one that is run backwards, i64 */
} Turns;
/* The turn with what the loop carries as the forward sweep kept it: that goes to fwd, what finds it
 * to front. */
Body *rev_from_tape(const Turns *T, const Body *turn, Stms *fwd, Bld *front);

/* Are v's sizes, but for a few constants, some of p's? Then to keep it takes about as much as to
 * keep p. */
bool rev_like(const Var *v, const Var *p);

/* --- sweep.c --- */

/* Both sweeps over b in the state r, in which its results have their adjoints. */
void rev_body(Rev *r, const Body *b);
/* The body made of both sweeps, with these results: what it does not need is left out. */
Body *rev_close(Rev *r, Atoms res);
/* fn's forward and reverse sweep as a function: parameters: fn's, then an adjoint for each result j
 * with seeded[j]; results: the adjoints of those parameters i that are `wanted`. No variable that
 * is free in fn is active. */
Lambda *rev_lambda(const Rev *r, const Lambda *fn, const bool *seeded, const bool *wanted);

/* --- expand.c: what the rules are not made for --- */

/* The statements that s stands for, in forms for which there is a rule: folds
 * and writes have their functions in front, while loops know their turns, operators on several
 * values are split, those on arrays moved inwards, folds by other operators loops. */
void rev_expand(Rev *r, const Stm *s, Stms *out);

/* --- rules: *fwd gets the statement and what it keeps for the reverse sweep --- */

typedef void RevRule(Rev *r, const Stm *s, Stms *fwd);
RevRule rev_map, rev_loop, rev_reduce, rev_scan, rev_scatter, rev_hist, rev_if;

/* --- rev_fold.c: folds --- */

/* Row i of each array, or where `test` holds the neutral elements. */
Atoms rev_rows_or(Bld *bl, Loc loc, Atom test, const Atoms *nes, const Atoms *arrs, Atom i);
Atoms rev_scanned(Bld *bl, Loc loc, Atom width, Atoms arrs, Atoms nes, Lambda *op);
/* A map over numbers and arrays. */
typedef struct {
    Bld in;
    Vars params;
    Atoms arrs, args; /* args: the parameters behind the number */
    Atom i;
} Each;
Each rev_each(Rev *r, Loc loc, Atom width, const Atoms *arrs);
Atoms rev_each_done(Rev *r, Loc loc, Atom width, Each *m, Atoms res);
/* Adds out to the adjoints of those arrays of the fold e that are wanted. */
void rev_add_wanted(Rev *r, const Exp *e, const bool *wanted, const Atoms *out);

/* --- reverse.c --- */

/* Rev.sweep: the forms that move elements, and who has a rule for the others. */
void rev_sweep(Rev *r, const Body *b);

/* --- construct.c: code that the rules make --- */

void ad_atom(Ctx *cx, Atoms *as, Atom a);
/* Is a, has t as a size, what varies? */
bool ad_varies(const VarSet *bound, Atom a);
bool ad_type_varies(const VarSet *bound, Type t);
Atom ad_product(Bld *bl, Loc loc, const Atom *dims, int n); /* of sizes */
DimIndex ad_whole(Type t, int dim);
/* The whole of t but for position i of its first dimension. */
DimIndexes ad_row_at(Ctx *cx, Type t, Atom i);
/* safe: nothing outside is accessed. Of what the function itself accesses nobody knows: the check
 * that it makes may be gone, with the value that nobody asks for. */
Atom ad_at(Bld *bl, Loc loc, Atom arr, const DimIndexes *at, bool safe);
Atom ad_with(Bld *bl, Loc loc, Atom arr, const DimIndexes *at, Atom val, bool safe);
Atom ad_row(Bld *bl, Loc loc, Atom arr, Atom i);
Atom ad_iota(Bld *bl, Loc loc, Atom n);
Atom ad_scratch(Bld *bl, Loc loc, Type t);
Atom ad_reversed(Bld *bl, Loc loc, Atom arr); /* along its first dimension */
Atom ad_transposed(Bld *bl, Loc loc, Atom a); /* its two outermost dimensions */
Atom ad_as(Bld *bl, Loc loc, Atom a, Type t); /* with the sizes of t, which are the same */
Atom ad_i64(Bld *bl, Loc loc, Atom a);
/* op on values of type t, element by element. */
Lambda *ad_operator(Ctx *cx, Loc loc, PrimOp op, Type t);
/* The map over op's parameters that op is; NULL: it is something else. */
const Exp *ad_map_of(const Lambda *op);
/* The scalar operation that op applies to its two parameters, element by element if they are
 * arrays; by which a fold or a histogram of one value combines. N_PRIM_OPS: there is none. */
PrimOp ad_applied(const Lambda *op);
PrimOp ad_combines_by(const Exp *e);
Atom ad_sum_rows(Bld *bl, Loc loc, Atom arr); /* along its first dimension */
Atom ad_sum_all(Bld *bl, Loc loc, Atom arr);  /* a scalar */
/* if test then (what yes has) a else (what no has) b */
Atom ad_if(Bld *bl, Loc loc, Atom test, Bld *yes, Atom a, Bld *no, Atom b);
Exp *ad_soac(Ctx *cx, ExpKind k, Loc loc, Atom width, Atoms arrs);
/* Positions in bounds of the first idx.n dimensions of t: a bool. */
Atom ad_inside(Bld *bl, Loc loc, const Atoms *idx, Type t);
/* (a, i) op (b, j) = the lesser (greater) of a and b, and its number: of equals the least. */
Lambda *ad_choice(Ctx *cx, Loc loc, PrimOp op, PrimType t);
/* Elements of arr where the array `at` holds i, else zero. */
Atom ad_where(Bld *bl, Loc loc, Atom at, int64_t i, Atom arr);
Lambda *ad_identity(Ctx *cx, Loc loc, const Types *ts);
/* dest[idx] op= val for each contribution; dims.n dimensions of them. */
Atom ad_hist(Bld *bl, Loc loc, Atom dest, const Atoms *dims, const Atoms *idx, Atom val);
/* Is e, or does the function of the SOAC e have inside, a fold or a loop? */
bool ad_folds(const Exp *e);
/* How deep the constructs are that e consists of, of more than a few turns each. */
int ad_depth(const Exp *e);
/* Statements of b that its results, or what can be noticed, need. */
Body *ad_needed(Ctx *cx, const Body *b);

#endif
