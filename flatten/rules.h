/* What the files of flatten/ share: the state of the pass, the mapnest context S, and the rules.
 * A rule is called with S (empty at the host level, or inside a work-group), the statement it
 * applies to and `out`, the body under construction outside of S, and returns one atom per result:
 * for S empty the statement's own variables, else arrays of shape widths(S) ++ shape of the result.
 */
#ifndef FLATTEN_RULES_H
#define FLATTEN_RULES_H

#include "common/cost.h"
#include "common/policy.h"
#include "flatten/flatten.h"
#include "ir/chains/alike.h"
#include "ir/filters/kept.h"

/* --- mapnest.c: S --------------------------------------------------------------------------- */

/* <xs in arrs>, idx running below width. `pre` is cheap code of this depth (scalar arithmetic,
 * views) that each construct under S recomputes rather than reads from an expanded array. The
 * outermost one may be ragged (NestDim): then `row` is not NULL. */
typedef struct {
    Var *idx;
    Atom width;
    Vars xs;
    Atoms arrs;
    Stms pre;
    Var *row;
    Atom rows, offs;
    Atom rows_of; /* the row of each point, as an array, where it was needed */
} MapDim;
typedef VEC(MapDim) MapDims;
/* Rows of width `width` each, of all elements of S: how many, all widths one behind the other, the
 * offsets of the rows, and by how much they grow. No variable: not there (yet). */
typedef struct {
    const Var *width;
    Atom rows, widths, offs, points;
    Atom from; /* what each element of S knows its offset as, where offsets are the source's */
} Ragged;
typedef struct {
    MapDims dims;
    VEC(Ragged) ragged;
} MapNest;

/* x = root[idx_from, .., idx_to]: `root` is an array outside of S. */
typedef struct {
    Atom root;
    int from, to;
} Chain;

typedef struct Derivation Derivation;
typedef VEC(Derivation) Derivations;

/* --- The state of the pass: fl -------------------------------------------------------------- */

/* versions.c: which maps may have versions; depth is the number of maps around. */
enum { MAX_THRESHOLDS = 64, NO_DEPTH = 1 << 20 };
typedef struct {
    int n;        /* thresholds made so far */
    int depth;    /* maps up to this depth may have versions, */
    int extra;    /* and so may, while this lasts, those one deeper */
    int n_before; /* thresholds of all depths but this one */
    bool denied;  /* there were too many up to `depth`, */
    bool deeper;  /* there were maps that would have had versions further in */
    bool final;
} Budget;

typedef struct {
    Ctx *cx;
    FlattenMode mode;
    int level; /* of the constructs made here: 1, or 0 inside a work-group version */
    const char *entry;
    Budget *budget;      /* thresholds of the entry */
    Path path;           /* comparisons around this place */
    VarMap *defs;        /* Var -> Exp, for variables bound alone by an expression */
    VarSet *consumed;    /* variables whose memory is consumed somewhere */
    VarSet *overwritten; /* those, and all that may share memory with them */
    VarSet *rows;        /* arrays of a nest that became rows of arrays outside of it */
    VarSet *asserted;    /* conditions that are asserted where they are computed */
    VarSet *fresh;       /* arrays made by the pass that nothing else shares memory with */
    Derivations *log;
    int depth;   /* of the derivation */
    bool ragged; /* what varies in width becomes parallel, too, */
    int weighed; /* ... which was weighed for a nest of so many dimensions */
} Flat;

static inline bool is_host(const MapNest *S)
{
    return S->dims.n == 0;
}
MapNest nest_copy(Flat *fl, const MapNest *S);
/* S, <params in arrs>. */
MapNest nest_push(Flat *fl, const MapNest *S, Atom width, const Vars *params, const Atoms *arrs);
/* Makes v, whose values under S are the rows of `outer`, known in S (rule G6: array expansion). */
void nest_extend(Flat *fl, MapNest *S, Var *v, Atom outer);
/* The same for an array that varies with dimensions from .. to only. */
void nest_extend_range(Flat *fl, MapNest *S, Var *v, Atom outer, int from, int to);
bool nest_find(const MapNest *S, const Var *v, int *dim, int *k); /* x number k of dimension dim */
bool nest_chain(const MapNest *S, Atom a, Chain *c);
bool chain_is_full(const MapNest *S, const Chain *c);
/* All variables bound by S. */
void nest_vars(const MapNest *S, VarSet *s);
Atoms nest_widths(Flat *fl, const MapNest *S);
const char *nest_show(Flat *fl, const MapNest *S);
/* Type of the array of all values of a variable of type t under S. */
Type nest_expand_type(Flat *fl, const MapNest *S, Type t);

/* A construct over S: what it needs of S is copied, with fresh binders. */
typedef struct {
    ExpKind kind;
    const MapNest *S;
    Stms stms;
    Atoms res;
    Lambda *op; /* SEGRED, SEGSCAN, SEGHIST */
    Atoms nes;
    bool comm, inspects;
    Dests dests; /* SEGSCATTER, SEGHIST */
    Loc loc;
    unsigned attrs;
} Seg;
Exp *seg_make(Flat *fl, const Seg *sg);
/* Binds the results of e: to pat if S is empty, else to fresh variables named after pat. */
Atoms bind_results(Flat *fl, const MapNest *S, const Vars *pat, Exp *e, Bld *out);
/* To fresh variables in any case; the same for a single result. */
Atoms bind_fresh(Flat *fl, const MapNest *S, const Vars *pat, Exp *e, Bld *out);
Atom bind_one(Flat *fl, const MapNest *S, const char *base, Exp *e, Bld *out);
const char *plural(Flat *fl, const char *base, int n);

/* --- definitions.c -------------------------------------------------------------------------- */

void analyse_program(Flat *fl, const Prog *p); /* defs, consumed, overwritten */
void analyse_body(Flat *fl, const Body *b);    /* the same for a body made by the pass */
bool is_consumed(const Flat *fl, Atom a);
void inherit_consumed(Flat *fl, const Var *from, const Var *to); /* `to` becomes `from` */
Exp *def_of(const Flat *fl, Atom a);                             /* NULL if unknown */

/* --- operators.c ---------------------------------------------------------------------------- */

bool op_has_arrays(const Lambda *op);
/* A reduction or scan whose operator and neutral elements can be those of a construct. */
bool is_flat_op(const VarSet *variant, const Exp *e);
/* Is the operator a map? */
bool g4_applies(const Exp *e);
/* Is it one on arrays, of sizes that do not vary with the nest? */
bool g14_applies(const Flat *fl, const VarSet *variant, const Exp *e);
/* The operator `map op1` as op1, and the width of the map; NULL if op is not of that form. */
Lambda *op_on_elements(Flat *fl, const Lambda *op, Atom *width);
/* The scalar that a neutral array repeats in its outermost dimension; false if there is none. elem
 * may be NULL. */
bool repeated_element(Flat *fl, Atom ne, Atom *elem);
/* Is a histogram's operator, map for map, one on scalars? */
bool hist_is_vectorised(Flat *fl, const Exp *e);
/* May a histogram become a construct where fl stands? */
bool hist_is_parallel(Flat *fl, const VarSet *variant, const Exp *e);

/* --- analysis.c: what may be exploited ------------------------------------------------------ */

/* Scalar code, views and iotas that do not fail: may be computed anywhere, if its operands can. */
bool is_floatable(const Flat *fl, const Stm *s);
/* Cheap enough to recompute. */
bool is_cheap(const Flat *fl, const Stm *s);
/* Upper bound of the inner parallelism that flattening under a nest could exploit: 0: none;
 * PAR_UNKNOWN: depends on sizes. variant: the variables of the nest. */
enum { PAR_UNKNOWN = 1 << 30 };
int64_t stm_par(Flat *fl, VarSet *variant, const Stm *s);
/* A SOAC that may become a construct: its own sizes and operator are regular. */
bool soac_is_parallel(Flat *fl, const VarSet *variant, const Stm *s);
/* Are the results of a SOAC of sizes that do not vary, but for its own? */
bool elements_are_regular(const VarSet *variant, const Stm *s);
/* Is it a SOAC whose width varies with the nest, but not what it gives for an element? */
bool soac_is_ragged(const Flat *fl, const VarSet *variant, const Stm *s);
bool has_strides(const Exp *e); /* an index with parts that do not lie one behind the other */
/* Is it a concatenation of scalars whose size varies? */
bool joins_rows(const Flat *fl, const VarSet *variant, const Stm *s);
/* Is a statement of b such a SOAC? variant grows by what varies of b. */
bool is_ragged_within(Flat *fl, VarSet *variant, const Body *b);
/* Does the loop turn as often as each element of the nest wants? variant: with its params. */
bool turns_vary(const VarSet *variant, const Exp *loop);
/* Does a loop carry rows: arrays whose size (of the outermost dimension) varies with the nest or
 * from turn to turn, and which its body gives in a way that the rule knows? */
bool carries_rows(Flat *fl, VarSet *variant, const Stm *s);
/* Has b, under S, a loop that does, so that in each turn rows are made? */
bool rows_in_turns(const Flat *fl, const MapNest *S, const Body *b);
/* Is this size another one in each turn? */
bool size_turns(const Exp *loop, Atom size);
/* Does a branch give rows, each side in a way that the rules know? */
bool parts_rows(Flat *fl, VarSet *variant, const Stm *s);
/* ... and does nothing but choose between what is there, and compute numbers that cannot fail? */
bool chooses_rows(Flat *fl, VarSet *variant, const Stm *s);
/* Is v a row: does its outermost size vary? Of a loop's or branch's pattern. */
bool is_row_of(const VarSet *variant, const Vars *pat, const Var *v);
/* What rules G11 and G12 could exploit in b under S: the parallelism inside of loops and branches
 * that vary; 0: none. */
int64_t varying_par(const Flat *fl, const MapNest *S, const Body *b);
/* Adds the params of a loop that vary inside the nest (the others, host scalars such as counters,
 * stay what they are when the loop is interchanged). */
void add_variant_params(Flat *fl, VarSet *variant, const Exp *loop);
bool has_recurrence(const Body *b);
/* Is b a nest of maps around what is parallel in constant widths below a warp alone, which are left
 * to a thread anyway, so that nothing else is used twice? */
bool keeps_little(const Body *b);
/* Does a thread that does b alone make many turns, of a loop or SOAC, as far as is known? */
bool turns_often(const Body *b);
/* Would the map's body have parallelism to exploit if the map were a loop? */
bool loop_frees(Flat *fl, const MapNest *S, const Exp *map);
int64_t nest_body_par(Flat *fl, const MapNest *S, const Body *b);
/* ... where widths below a warp do not hide what varies inside of them: PAR_UNKNOWN then. */
int64_t worthwhile_par(Flat *fl, const MapNest *S, const Body *b);
/* The same for a work-group that runs b together, to which the nest's variables are single values:
 * a loop may turn as often as each group likes, a branch may differ from group to group. */
int64_t group_body_par(Flat *fl, const Body *b);
/* Moves what is_floatable and depends on nothing in `variant` out of b, however deep inside. */
Body *hoist_invariants(Flat *fl, const VarSet *variant, const Body *b, Bld *out);

/* --- derivation.c: the log ------------------------------------------------------------------ */

struct Derivation {
    const char *entry, *rule, *form, *nest, *outcome;
    Loc loc;
    int depth;
};
Derivations *log_start(Ctx *cx); /* forgets the last run */
const Derivations *log_of(const Ctx *cx);
void log_rule(Flat *fl, const char *rule, const MapNest *S, const Exp *e, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Puts the last step before step number `at`: in front of those that it consists of. */
void log_move_last(Flat *fl, int at);

/* --- versions.c ----------------------------------------------------------------------------- */

/* What untuned programs weigh (mf_pays): the launches that a version spares, the steps that each of
 * its work-items makes, the elements of all constructs. No steps: nothing to weigh. never: no sizes
 * make it pay, and why; NULL: they may. */
typedef struct {
    Atom spared, steps, elems;
    const char *never;
    const Atom *units; /* see E_SUFF; NULL: 0 */
    bool blocks;       /* see E_SUFF */
} Cost;
/* Parallelism: what a version exploits, and all. */
typedef struct {
    Atom version, all;
    Cost cost;
    bool balanced; /* `version` is less where one element takes as long as many others */
} Par;

/* What there is of SOACs whose width varies: rows, points of all, of the one with most. together:
 * the rows of neighbours are as long as each other, and mostly read beside each other. */
typedef struct {
    Atom rows, points, longest;
    bool together;
} Extent;

typedef struct {
    const char *name;
    bool intra;
    Stms par_stms; /* compute par at the guard */
    Par par;
    Path path;
    Body *body;
    Loc loc;
} Version;
typedef VEC(Version) Versions;
#define MANY_VERSIONS "many-versions: the thresholds of this entry go to maps further out"
/* Whether a map under S may have (up to two) versions, which counts for the entry's budget. */
bool versions_allowed(const Flat *fl, const MapNest *S);
/* Whether the entry is to be flattened once more, with what is then another budget: the first trial
 * is made without a limit on depths, and mostly the last one too. */
bool versions_retry(Budget *b);
/* Appends a version under a fresh threshold; its path: where fl stands and that the versions before
 * it were not taken. */
void version_add(Flat *fl, Versions *vs, bool intra, Body *body, Bld *par_code, Par par, Loc loc);
/* fl's path as seen by what is reached when none of vs is taken. */
Path versions_path(const Flat *fl, const Versions *vs);
/* if par_1 >= t_1 then body_1 else if ... else dflt */
Atoms versions_fold(Flat *fl, const MapNest *S, const Versions *vs, Body *dflt, const Stm *st,
                    Bld *out);

/* --- policy.c: which versions --------------------------------------------------------------- */

/* The work-items of a work-group, as far as it counts for choices here (the runtime may differ). */
enum { GROUP_PAR = RT_USUAL_GROUP };
/* The versions of a map that its mode, its attributes and the heuristics leave. */
typedef struct {
    bool top, middle, flat;
    const char *no_top, *no_middle; /* why not */
    Body *loop;                     /* e_flat is the map as a loop (map_to_loop) */
    bool shared;                    /* only a work-group can use what is inside: e_flat is e_top */
    bool ragged;                    /* what is inside varies in width: e_flat is by rule G10 */
    bool mixed;                     /* ... beside what does not */
    bool varying;                   /* loops or branches inside vary: e_flat is by G11, G12 */
} MapPlan;
MapPlan plan_map(const Flat *fl, const MapNest *S, const Exp *e, int64_t inner, const Body *b);
/* A map whose body makes rows by moving numbers alone: e_flat, an element of them a work-item. */
void plan_moves(Flat *fl, const MapNest *S1, const Exp *e, const Body *b, MapPlan *p);
/* A map without regular parallelism inside, in which a loop would free some. */
void plan_loop(Flat *fl, const MapNest *S, const Stm *s, MapPlan *p);
/* A map whose body is too irregular to go on under the nest (a loop that turns a different number
 * of times for each element, say), but which a work-group for each element could run together. */
void plan_shared(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                 MapPlan *p);
/* A map whose body has SOACs of widths that vary with it. */
void plan_ragged(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                 MapPlan *p);
/* fl goes on inside of S1 with what varies, which a guard has weighed. */
void go_ragged(Flat *fl, const MapNest *S1);
/* Of a map whose own width varies under S, over its points P; b is regular but for that, or goes on
 * under them. */
MapPlan plan_points(Flat *fl, const MapNest *S, const MapNest *P, const Exp *e, const Body *b);
/* A map whose body has such SOACs beside regular parallelism, which decides about versions: the
 * scans of filters, and what reads these. */
void plan_mixed(Flat *fl, const MapNest *S1, const Exp *e, const Body *b, MapPlan *p);
/* A map whose body has loops that turn as often as each element wants, or branches that each takes
 * or not, with parallelism inside. */
void plan_varying(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b,
                  MapPlan *p);
/* e_intra, if it is worth having; else NULL, and p without it. */
Body *plan_intra(Flat *fl, const MapNest *S1, const Body *b, MapPlan *p);

/* G9's two versions: the construct over S and the elements; a map and a reduction of its results.
 */
typedef struct {
    bool top, rec;
    bool ragged;     /* what is inside varies in width */
    bool varying;    /* ... in its loops and branches */
    const char *why; /* not both, or "" */
} ReducePlan;
ReducePlan plan_reduce(Flat *fl, const MapNest *S, const MapNest *S1, const Exp *e, const Body *b);

/* --- sizes.c -------------------------------------------------------------------------------- */

Atom par_of_nest(Flat *fl, const MapNest *S, Bld *bl);
/* Par(e_middle): the widths of S times what a work-group exploits, which is the largest product of
 * widths of a level-0 construct in b, but not more than GROUP_PAR. (The paper counts all: then no
 * threshold tells one group of a million elements, a bad choice, from a thousand groups of a
 * thousand.) */
Atom par_of_intra(Flat *fl, const MapNest *S, const Body *b, Bld *bl);
/* All parallelism of e under S, b its body: the widths of S times the largest product of widths of
 * nested constructs and SOACs, as far as they are known outside. What a version with less
 * parallelism does not exploit, each of its work-items does step by step (mf_par_in_effect). */
Atom par_in_all(Flat *fl, const MapNest *S, const Body *b, Bld *bl);
/* All parallelism inside of construct e, of widths that are known where what is `inside` is not;
 * what e binds is added to that. */
Atom par_inside(Flat *fl, VarSet *inside, const Exp *e, Bld *bl);
/* The largest constant product, PAR_UNKNOWN if one depends on sizes, 0 if there is no construct. */
int64_t intra_width_bound(const Body *b);

/* --- costs.c -------------------------------------------------------------------------------- */

/* Nothing to weigh. */
Cost no_cost(void);
/* Is what b does a reduction in a loop that combines what it gives? Level 1 shares its elements out
 * to as many work-items as fit (seglanes.c). */
bool sums_in_loop(Flat *fl, const Body *b);
/* What e_top with body b under S costs, where e_flat goes on under the nest. Maps of reductions are
 * one launch there as well, of more work-items that read rows once for many elements: e_top never
 * pays. Nor where constructs make many rows for each other, unless these are short. Most is not
 * weighed. */
Cost cost_of_top(Flat *fl, const MapNest *S, const Body *b, Bld *bl);
/* What a reduction or scan e of elements that b gives under S costs in one construct, where e_rec
 * is a map of b before it. A scan has a thread for up to 32 elements, a map one for each: with
 * fewer than fill the device so, it takes as long as so many, one after the other. */
Cost cost_of_fold(Flat *fl, const MapNest *S, const Exp *e, const Body *b, Bld *bl);
/* What e_middle costs, which for body b under S is intra. Each of its constructs would be a launch
 * in e_flat, so it spares all but one. Constructs in loops count once, in steps as in launches, and
 * those of both branches; what is sequential inside of an element counts as in par_in_all. */
Cost cost_of_middle(Flat *fl, const MapNest *S, const Body *b, const Body *intra, Bld *bl);
/* A body's only SOAC, a map; NULL: there are others, or it is another. */
const Exp *only_map(const Body *b);
/* What binds v alone, in an element of the dimension before its inner ones; NULL: nothing. */
const Exp *bound_in_pre(const MapDim *nd, const Var *v);
/* Is the atom known outside of S and b, and of the loop in b, if there is one? */
bool is_outer(Flat *fl, const MapNest *S, const Body *b, const Exp *loop, Atom a);

/* --- questions/products.c ------------------------------------------------------------------ */

/* The reduction by which body b, of an element that has xs, multiplies rows of matrices that are
 * made or read inside of it (atop products.c). NULL: there is none. */
const Exp *product_inside(Ctx *cx, const Vars *xs, const Body *b);
/* ... or one of S around with one of b, too. */
const Exp *product_under(Ctx *cx, const MapNest *S, const Body *b);
/* Does construct `seg` of body b, of a group for each element of S, multiply rows of which groups
 * have theirs with rows that they share? */
bool product_of_groups(Ctx *cx, const MapNest *S, const Body *b, const Exp *seg);

/* --- questions/units.c --------------------------------------------------------------------- */

/* What E_SUFF says of matrix units: e_top with body b under S is a kernel of them, or it and
 * e_middle stand before a version that is. NULL: nothing. */
const Atom *units_of_top(Flat *fl, const MapNest *S, const Body *b, Bld *bl);
const Atom *units_of_middle(Flat *fl, const MapNest *S, const Body *b, Bld *bl);
/* ... where e_flat takes turns of the host for loops and branches that vary, which it counts and
 * waits for in each. */
Cost cost_of_turns(Flat *fl, const MapNest *S, const Body *intra, Bld *bl);
/* ... where e_flat does not go on under the nest: little if b is a reduction in a loop that
 * combines what it gives. Else it is not weighed. */
Cost cost_of_lanes(Flat *fl, const MapNest *S, const Body *b, Bld *bl);

/* x, where each of its rows has an equal share of `all` elements more. */
Extent extent_with(const Extent *x, Atom all, Bld *bl);

/* Of a thread, of a work-group each, whose widths vary: they take as long as the longest row. */
Par par_of_rows(const Extent *x, Bld *bl);
Par par_of_row_groups(const Extent *x, Bld *bl);
/* Of a thread each, of which each makes rows in the turns of a loop: nobody knows how long they
 * are, nor how often it turns. On CPUs a few for each of their threads are enough. */
Par par_of_turns(Flat *fl, const MapNest *S, const Body *b, Bld *bl);

/* --- intragroup.c --------------------------------------------------------------------------- */

/* e_intra of rule G3; NULL if it cannot run inside a work-group, with the reason in *why. */
Body *intra_body(Flat *fl, const MapNest *S, const Body *b, const char **why);

/* --- flatten.c: walk, G0-G3 ----------------------------------------------------------------- */

/* S |- b: statements to out; one atom per result of b (expanded over S). Host: the results as they
 * are. */
Atoms flatten_body(Flat *fl, const MapNest *S, const Body *b, Bld *out);
/* S |- s for a statement with exploitable parallelism. */
Atoms flatten_stm(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
/* S |- s for a map whose width varies under S, over its points P: arrays of all of them. */
Atoms map_points(Flat *fl, const MapNest *S, const MapNest *P, const Stm *s, Bld *out);
/* The map that gives all of b's results, if the rest of b is repeatable code before it: nearly a
 * perfect nest. NULL if there is none. */
const Stm *inner_map(const Flat *fl, const Body *b);
/* res as the statement's results: at the host level its pattern is bound to them. */
Atoms name_results(Flat *fl, const MapNest *S, const Stm *s, Atoms res, Bld *out);
/* A statement outside of all nests. */
void flatten_host_stm(Flat *fl, const Stm *s, Bld *out);

/* --- distribute.c --------------------------------------------------------------------------- */

/* dest_pat: the pattern that the results become: those that are consumed later are made fresh, as
 * the results of a map are. NULL: they may share memory with what is outside. */
Atoms rule_g6(Flat *fl, const MapNest *S, const Body *b, const Vars *dest_pat, Bld *out);
/* Arrays of a body's that are of the same size, which varies: they become rows of all of S. */
typedef struct {
    Atom width;
    Atoms arrs;
    Ragged sizes;
    Atoms data;
} Rows;
typedef VEC(Rows) RowsList;
/* ... of a body that gives rows, too; false: it cannot. */
bool rule_g6_rows(Flat *fl, const MapNest *S, const Body *b, RowsList *rows, Atoms *res, Bld *out);

/* --- arrays.c ------------------------------------------------------------------------------- */

/* Array operations under S as operations on the outer arrays. False: does not apply. */
bool rule_g5(Flat *fl, MapNest *S, const Stm *s, Bld *out);
bool is_array_op(const Stm *s); /* replicate, copy, concat, update */
bool flatten_array_op(Flat *fl, const MapNest *S, const Stm *s, Bld *out, Atoms *results);
Atoms flatten_scatter(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
/* ... of the elements that S1 has, which knows S's indices: S and a dimension, or all rows' points.
 */
Atoms scatter_over(Flat *fl, const MapNest *S, const MapNest *S1, const Stm *s, Bld *out);
/* The array of all values of `a` under S, by a parallel copy if it is a view. */
Atom expand_atom(Flat *fl, const MapNest *S, Atom a, const char *base, Loc loc, Bld *out);

/* --- interchange.c -------------------------------------------------------------------------- */

Atoms rule_g4(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
Atoms rule_g7(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
Atoms rule_g8(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
/* The body of a loop under S1: results that vary come from the nest, the others as they are. */
Body *loop_body(Flat *fl, const MapNest *S1, const Exp *e, const VarSet *variant);
/* map (\x -> e) xs as a loop that fills its results, so that parallelism of e that varies with x
 * can be exploited ("Balancing by Loop Interchange"). */
Body *map_to_loop(Flat *fl, const Stm *s);

/* --- turns.c -------------------------------------------------------------------------------- */

/* A loop under S as a loop over blocks of turns, in which what neither varies with S nor with what
 * the loop carries is computed for a block at once; NULL: there is nothing worth it. Numbers that
 * are needed go to out. */
const Exp *loop_ahead(Flat *fl, const MapNest *S, const Exp *e, Bld *out);

/* --- sequential.c --------------------------------------------------------------------------- */

Body *sequential_code(Flat *fl, Body *b);
/* arr[i], named after p; of an iota: computed. */
Atom element_at(Flat *fl, Atom arr, const Var *p, Atom i, Bld *bl);

/* --- reduce.c ------------------------------------------------------------------------------- */

Atoms flatten_reduce(Flat *fl, const MapNest *S, const Stm *s, Bld *out); /* all four forms */
/* The segred or segscan over S1 with b as that function's body. */
Exp *reduce_construct(Flat *fl, const MapNest *S1, const Body *b, const Exp *e);
/* ... as a map of that function, and a reduction (scan) of what it gives. */
Body *split_redomap(Flat *fl, const Stm *s, const Lambda *fn);

/* --- ragged.c ------------------------------------------------------------------------------- */

/* Is one of the statements of b a SOAC whose width varies with S? */
bool body_is_ragged(Flat *fl, const MapNest *S, const Body *b);
/* Can the extent of the ragged SOACs of b under S be found by little code? */
bool extent_is_plain(Flat *fl, const MapNest *S, const Body *b);
/* ... and is that all that varies? Nobody knows how often loops turn that have something parallel
 * inside. */
bool extent_is_known(Flat *fl, const MapNest *S, const Body *b);
/* It is found by a reduction before the guards. That gives the widths as well, and what b asserts
 * of plain code fails there: S knows them then, and *rest is b without these assertions. */
Extent extent_of(Flat *fl, MapNest *S, const Body *b, Body **rest, Bld *out);
/* Is width the difference, asserted not to be negative, of two neighbours of an array, of which the
 * first (from) stands at the index of S? Then the array has the offsets of the rows. */
bool offsets_are_there(const Flat *fl, const MapNest *S, Atom width, Atom *offs, Atom *from);
/* Are the widths of these rows there? */
Ragged *known_ragged(MapNest *S, const Var *width);
/* The row of S's own indices. */
Atom own_row(const MapNest *S, Loc loc, Bld *bl);
/* Rows of that width, with what was not known of them yet. */
Ragged ragged_of(Flat *fl, MapNest *S, Atom width, Loc loc, Bld *out);
/* <p < points; row < rows by offs>, params bound to the elements of e's arrays. */
MapNest points_of(Flat *fl, const MapNest *S, const Exp *e, const Vars *params, const Ragged *r);
/* v, the row's part of an array of all points. */
void know_row(Flat *fl, MapNest *S, Var *v, Atom values, Atom width, const Ragged *r, Loc loc);
/* Points that are rows of another nest, below S, know their own row by an array (MapDim.rows_of),
 * which is made if it is not there. */
void keep_rows(Flat *fl, MapNest *S, Bld *out);
/* Rule G10: its results are known in S afterwards. */
void rule_g10(Flat *fl, MapNest *S, const Stm *s, Bld *out);

/* --- checks.c ------------------------------------------------------------------------------- */

/* A slice that may fail, of a size that varies, as an assertion and a slice that does not; false,
 * with nothing done: it is something else. */
bool assert_slice(Flat *fl, const VarSet *variant, const Stm *s, Bld *bl);
/* Any other index that may fail, likewise. */
void assert_index(Flat *fl, const Stm *s, Bld *bl);

/* --- columns.c ------------------------------------------------------------------------------ */

/* The function of a reduction or scan: fn, or the identity on the rows of the arrays. */
Lambda *reduce_fn(Flat *fl, const Exp *e);
/* d of replicate k d: one element of the neutral array. Of another array: an element that the map
 * takes from it (which leaves the inner reduction sequential). */
Atom element_of_neutral(Flat *fl, Atom ne, Vars *params, Atoms *arrs, Bld *bl);
/* b, under S, with sums of vectors over rows of varying widths as maps of sums of numbers. */
Body *sums_by_component(Flat *fl, const MapNest *S, Body *b);

/* --- writes.c ------------------------------------------------------------------------------- */

/* Is it a scatter or histogram of rows whose widths vary? Into arrays whose sizes do not, or, of a
 * scatter, into memory that makes_rows knows. */
bool writes_rows(Flat *fl, const VarSet *variant, const Stm *s);
/* Is statement `at` of b memory of a size that varies, for such a scatter alone? */
bool makes_rows(Flat *fl, const VarSet *variant, const Body *b, int at);
/* By rule G10: the results over S; none if they are rows, which S knows then. */
Atoms flatten_writes(Flat *fl, MapNest *S, const VarSet *variant, const Stm *s, Bld *out);
/* The points of rows; *number: that of each in its row. */
MapNest numbers_of_points(Flat *fl, const MapNest *S, Atom width, const Ragged *r, Loc loc,
                          Atom *number);
/* A concatenation (joins_rows): its result is known in S afterwards. */
void join_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out);

/* --- filters.c ------------------------------------------------------------------------------ */

/* Is statement `at` of b the first one of a filter that the rule takes? */
bool filter_begins(Flat *fl, VarSet *variant, const Body *b, int at, Kept *k);
/* Rule G13: its results are known in S afterwards. varies: its width does. */
void rule_g13(Flat *fl, MapNest *S, const Kept *k, bool varies, Bld *out);

/* --- subset.c ------------------------------------------------------------------------------- */

/* Elements of S, by their numbers (define_row): `which`, n of them. */
typedef struct {
    Atom n, which;
} Subset;
/* What S binds, for row number `row` of all its elements, those of the innermost dimension one
 * behind the other (S with keep_rows). */
void define_row(Flat *fl, const MapNest *S, Atom row, Loc loc, Bld *bl);
Lambda *plus_i64(Flat *fl, Loc loc);
/* <e < n; element in which>, and what S binds for that element: elems, if it is not NULL, is the
 * variable of its number. S with keep_rows. */
MapNest nest_of_subset(Flat *fl, const MapNest *S, Subset sub, Var **elem, Loc loc);
/* How many elements of N, of one dimension, have the flag that the code in bl gives. */
Atom count_flags(Flat *fl, const MapNest *N, const Bld *bl, Atom flag, Loc loc, Bld *out);
/* The places in N, of one dimension, of elements that have the flag (yes of them) and of those that
 * have not, in order. */
void part_places(Flat *fl, const MapNest *N, const Bld *bl, Atom flag, Subset *yes, Subset *no,
                 Loc loc, Bld *out);
/* dests[at] = vals for all of N, in place. */
void put_rows(Flat *fl, const MapNest *N, Atom at, const Atoms *vals, Atoms *dests, Loc loc,
              Bld *out);
/* Arrays of `rows` rows that are nobody's yet, for values like pat's. */
Atoms blank_rows(Flat *fl, Atom rows, const Vars *pat, Loc loc, Bld *out);
/* An array whose `outer` outermost dimensions have `rows` elements together, as [rows]t. */
Atom flat_rows(Flat *fl, Atom arr, int outer, Atom rows, Loc loc, Bld *out);
/* [rows]t as an array over S. */
Atom shape_rows(Flat *fl, const MapNest *S, Atom rows, Loc loc, Bld *out);

/* --- carried.c ------------------------------------------------------------------------------ */

/* Rows of that width, with offsets from 0 on. */
Ragged carried_sizes(Flat *fl, MapNest *S, Atom width, Loc loc, Bld *out);
/* `width` becomes what offsets say for each element of S. */
void know_sizes(Flat *fl, MapNest *S, Var *width, Ragged r, Loc loc);
/* arr, whose size is the width of r, of all elements of S: an array with room for at least all
 * points, which others may have, too. */
Atom carried_data(Flat *fl, MapNest *S, Atom arr, const Ragged *r, Loc loc, Bld *out);
/* data[begin], .., of that width. */
Atom view_of_row(Flat *fl, Atom data, const char *base, Atom begin, Atom width, Loc loc, Bld *bl);
/* Rows of some of so many elements, in the order in which they came: how many points there are and
 * may be, where each element's row begins and how long it is. The points are in arrays of their
 * own.
 */
typedef struct {
    Atom used, room, starts, widths;
} Shelf;
Shelf shelf_of(Flat *fl, Atom rows, Loc loc, Bld *out);
/* Its memory for arrays like `like`. */
Atom shelf_blank(Flat *fl, Atom room, const Var *like, Loc loc, Bld *out);
/* `rows`, of that width, are put into `data` for all of N, which are the elements `elem`. */
void shelve_rows(Flat *fl, MapNest *N, Atom elem, Atom width, const Atoms *rows, Shelf *sh,
                 Atoms *data, Loc loc, Bld *out);
/* When all elements' rows are there: they become data in the order of the elements. */
Ragged shelf_in_order(Flat *fl, Atom rows, const Shelf *sh, Atoms *data, Loc loc, Bld *out);

/* What a loop or branch gives for all elements of S, by its pattern: values as arrays over them, of
 * rows the data; and for each size its pattern's number (-1: none), or what it is, and its rows. */
typedef struct {
    int at;
    Atom width;
    Ragged rows;
} SizeGiven;
typedef struct {
    Atoms vals;
    VEC(SizeGiven) sizes;
} Given;
/* They are known in S, which has so many elements. */
void know_given(Flat *fl, MapNest *S, const Vars *pat, const Given *g, Loc loc, Bld *out);

/* --- parted.c ------------------------------------------------------------------------------- */

Atoms rule_g11(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
/* ... of a branch that gives rows (parts_rows): they are known in S afterwards. False, with nothing
 * done: they cannot be. */
bool part_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out);
/* Rows of a branch that chooses alone (chooses_rows), whose other results S knows. */
void choose_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out);

/* --- varying.c ------------------------------------------------------------------------------ */

Atoms rule_g12(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
/* ... of a loop that carries rows (carries_rows): its results are known in S afterwards. False,
 * with nothing done: what it carries is not known in that way. */
bool turn_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out);

/* --- arrayops.c ----------------------------------------------------------------------------- */

/* Rule G14: a reduction or scan becomes a tree of maps of the operator. Needs g14_applies, and no
 * function. */
Atoms rule_g14(Flat *fl, const MapNest *S, const Stm *s, Bld *out);

/* --- histogram.c ---------------------------------------------------------------------------- */

Atoms flatten_hist(Flat *fl, const MapNest *S, const Stm *s, Bld *out);
Atoms hist_over(Flat *fl, const MapNest *S, const MapNest *S1, const Stm *s, Bld *out);

#endif
