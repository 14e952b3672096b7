/* What the files of explain share: texts of a flattened entry. */
#ifndef FLATTEN_EXPLAIN_EXPLAIN_H
#define FLATTEN_EXPLAIN_EXPLAIN_H

#include "flatten/rules.h"

typedef struct {
    Ctx *cx;
    Out *o;
    const FlExplainHook *hook;
    VarMap *defs; /* of the entry's host level: Var -> Exp */
    int n_leaves;
    const char *name; /* of the program; NULL: unknown */
    Place here;       /* the line that the reader has before him, in plain text; 0: none */
} Explain;

Explain ex_new(Ctx *cx, Out *o, const Entry *en, const FlExplainHook *hook);
bool ex_elsewhere(const Explain *x, Place p);        /* in a file that the program imports */
const Exp *ex_guard(const Explain *x, const Exp *e); /* the SUFF that an if tests; else NULL */
bool ex_is_kept(const Exp *e);                 /* memory for what a loop keeps for its derivative */
const char *ex_par_text(Explain *x, Atom par); /* n * p */
/* The SHARE that a size is this rank's part of, which texts call n/ranks; NULL: it is none. */
const Exp *ex_share(const Explain *x, Atom a);
/* Sizes multiplied: how many elements an array has. */
const char *ex_sizes_text(Explain *x, const Atom *dims, int n);
/* A size, if it is short enough to be read; else that it is computed. */
enum { LONGEST_SIZE = 60 };
const char *ex_short(const char *size);
/* "line 3", of an imported file with its name. */
const char *ex_line_text(const Explain *x, Place p);
/* A variable's name, or a constant. */
const char *ex_atom_text(Ctx *cx, Atom a);
/* The threshold's name without the entry's. */
const char *ex_short_name(const char *name);
const char *ex_pat_text(Explain *x, const Vars *pat);
const char *ex_seg_text(Explain *x, const Exp *seg);   /* segred^1 <x in xs> (+) 0 */
const char *ex_thread_text(Explain *x, const Body *b); /* what one thread does */
/* The operator of a reduction: (+), or "op" if it is more than one operation. */
const char *ex_operator_text(Ctx *cx, const Lambda *op);
/* The choice that is all there is where this one fails; NULL: there is more, or none. */
const Exp *ex_next_choice(const Explain *x, const Exp *choice);
/* The sizes of the outermost n dimensions, "n * (k + 1)": dots for those of more than `most`
 * characters. */
const char *ex_product_text(Explain *x, const Nest *nest, int n, int most);
/* What is sequential in it, in plain words: "map (reduction (+))"; "": nothing but scalars. */
const char *ex_sequential_text(Explain *x, const Body *b);

/* --- explain_plain.c ------------------------------------------------------------------------ */

/* A parallel construct as a sentence: "one thread for each of n * p". */
const char *ex_sentence(Explain *x, const Exp *seg);
/* How many versions end in the choice. */
int ex_versions(const Explain *x, const Exp *choice);
/* What a comparison asks: "if n * p >= suff_outer_par_0". */
const char *ex_condition(Explain *x, const Exp *suff);

/* --- explain_ranks.c ------------------------------------------------------------------------ */

/* What the entry shares out over ranks, if the hook has the program in which that stands: lines. */
void ex_ranks(Explain *x, const char *entry);
/* The same as JSON: a member "ranks", a list. */
void ex_ranks_json(Explain *x, const char *entry);

#endif
