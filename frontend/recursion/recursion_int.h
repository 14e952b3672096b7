/* Shared by the files of this folder; nobody else includes it.
 *
 * A body with recursive calls is cut into states. A state is code without recursive calls:
 * statements and a tree of branches on what they compute, whose leaves say how it goes on. What
 * comes after a call is a state of its own, so is what comes after a branch that has a call inside,
 * and the head of a loop that has one. */
#ifndef FRONTEND_RECURSION_RECURSION_INT_H
#define FRONTEND_RECURSION_RECURSION_INT_H

#include "frontend/recursion/recursion.h"

typedef struct Code Code;
typedef struct State State;

typedef enum {
    CODE_RETURN, /* vals: the function's results */
    CODE_TAIL,   /* vals: arguments; the results of this call are the function's */
    CODE_CALL,   /* vals: arguments; `to` goes on with the results */
    CODE_JUMP,   /* vals: what `to` is given */
    CODE_BRANCH, /* on test: yes or no */
} CodeEnd;

struct Code {
    Stms stms;
    CodeEnd end;
    Atoms vals;
    State *to;
    Atom test;
    Code *yes, *no;
};

struct State {
    int id;       /* from 1: the function's beginning is 0 */
    bool resumes; /* it is given results of a call; else by who jumps to it */
    Vars given, kept;
    Code *code;
};
typedef VEC(State *) States;

/* A function under work. */
typedef struct {
    Ctx *cx;
    SelfCalls *f;
    VarSet *inner; /* what the function binds itself: its parameters, and what its body binds */
    States states;
    const char *why; /* the first that cannot be compiled */
} Cut;

/* --- recursion_parts.c ---------------------------------------------------------------------- */

/* The atom with what stands for its variable. */
Atom subst_in(Ctx *cx, Subst *su, Atom a);
/* a as a value of type t: the same elements in their order, in a shape whose sizes have other
 * names, or as one row. */
Atom as_type(Bld *bl, Loc loc, Atom a, Type t);
/* Binds the names of pat to vals. */
void define_results(Bld *bl, Loc loc, const Vars *pat, const Atoms *vals);

/* --- split.c -------------------------------------------------------------------------------- */

/* The code that the body begins with; the other states are in c->states. */
Code *split_body(Cut *c);
bool code_returns(const Code *code); /* is there a RETURN in it? */
/* Does it come to one without a call? Else no call ever ends. */
bool code_ends(Cut *c, const Code *start);

/* --- tail.c --------------------------------------------------------------------------------- */

/* All calls are TAIL, and there are no states but `start`. */
void emit_tail(Bld *bl, const Cut *c, const Code *start, const Vars *pat);

/* --- machine.c ------------------------------------------------------------------------------ */

void emit_machine(Bld *bl, const Cut *c, const Code *start, const Vars *pat);

#endif
