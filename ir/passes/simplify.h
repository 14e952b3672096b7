/* Private to simplify*.c: the state of the simplifier.
 *
 * A round goes forward over the program and rebuilds it. Statements go to the body under
 * construction `bl`; a variable that is found equal to an atom is entered in `repl` and its
 * statement dropped; every operand is looked up there first. What a variable is bound to is in
 * `defs`, in terms of the new program. */
#ifndef IR_PASSES_SIMPLIFY_H
#define IR_PASSES_SIMPLIFY_H

#include "ir/ranges.h"

/* A replacement that holds in a scope only: within a branch its condition is known. */
typedef struct {
    const Var *var;
    void *before;
} Undo;

typedef struct Simp Simp;
struct Simp {
    Ctx *cx;
    /* The knot: bodies hold statements, which are simplified by all rules, which go on with bodies.
     */
    void (*stm)(Simp *S, const Stm *s);
    unsigned dialect;
    VarMap *repl;     /* Var -> Atom * */
    VarMap *defs;     /* Var -> Def * */
    VarSet *unstable; /* arrays whose memory is consumed somewhere */
    Ranges *ra;
    Bld *bl;
    VEC(Undo) undo;
    bool changed;
};

/* --- simplify_state.c ----------------------------------------------------------------------- */

Atom simp_atom(const Simp *S, Atom a);      /* what a stands for now */
const Exp *simp_def(const Simp *S, Atom a); /* the expression that binds a as its only result */
bool simp_stable(const Simp *S,
                 Atom a); /* an array that keeps its value as long as it is in scope */
void simp_replace(Simp *S, const Var *v, Atom a);
/* A binder with its type brought up to date: v itself if nothing in it changed. */
Var *simp_binder(Simp *S, Var *v);
Vars simp_binders(Simp *S, const Vars *vs);
Atoms simp_atoms(const Simp *S, const Atoms *as);
/* Adds a statement to the body under construction and notes what is now known. */
void simp_emit(Simp *S, Vars pat, Exp *e);
/* Statements of b, simplified, go to the body under construction; returns its results. */
Atoms simp_splice(Simp *S, const Body *b);
/* A body of its own; `scope` was marked before the binders and facts of the body were entered. */
Body *simp_body(Simp *S, const Body *b);
typedef struct {
    int facts, undo;
} Scope;
Scope simp_enter(Simp *S);
void simp_leave(Simp *S, Scope sc);
void simp_assume(Simp *S, Atom cond, bool truth); /* until the scope is left */
/* What the truth of cond says of conditions it was made of. */
void simp_assume_parts(Simp *S, Atom cond, bool truth);

/* --- simplify_scalar.c, simplify_array.c: rules for one expression -------------------------- */

/* An equal expression, or NULL if the rule does not apply. May add statements before. */
typedef Exp *Rule(Simp *S, const Exp *e);
typedef struct {
    ExpKind kind;
    Rule *rule;
} RuleRow;
extern const RuleRow scalar_rules[]; /* end with a NULL rule */
extern const RuleRow array_rules[];
bool simp_commutes(PrimOp op, PrimType t); /* x op y = y op x, bit for bit but for NaNs */

/* --- simplify_control.c: statements with bodies --------------------------------------------- */

void simp_if(Simp *S, const Stm *s);
void simp_loop(Simp *S, const Stm *s);
void simp_soac(Simp *S, const Stm *s);
void simp_seg(Simp *S, const Stm *s);
void simp_deriv(Simp *S, const Stm *s);

/* --- simplify_loop.c ------------------------------------------------------------------------ */

/* Emits the loop e (of SOAC dialect, its parts simplified) as a map that gives pat; false: it is
 * none. */
bool simp_loop_as_map(Simp *S, const Vars *pat, const Exp *e);
/* ... as one scatter. */
bool simp_loop_as_scatter(Simp *S, const Vars *pat, const Exp *e);

/* --- simplify_gather.c ---------------------------------------------------------------------- */

/* The body of e's function (of a SOAC with an index parameter), with reads of rows at that index
 * made parameters: appended to *arrs and *params. */
const Body *simp_gathers(Simp *S, const Exp *e, Atoms *arrs, Vars *params);

/* --- dce.c ---------------------------------------------------------------------------------- */

/* The program without what is not used; *changed is set if something was. */
Prog *dce_prog(Ctx *cx, const Prog *p, bool *changed);

/* --- copies.c ------------------------------------------------------------------------------- */

/* The program without copies that nobody can notice. */
Prog *copies_prog(Ctx *cx, const Prog *p, bool *changed);

#endif
