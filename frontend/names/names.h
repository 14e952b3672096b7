/* What names mean: scopes, members of modules, builtins. Each file is above the ones before it:
 *   builtins.c   the names of builtins.def
 *   members.c    members of modules
 *   names.c      scopes
 *   missing.c    messages about names that are not there
 *   lookup.c     names of the program, or a message
 */
#ifndef FRONTEND_NAMES_NAMES_H
#define FRONTEND_NAMES_NAMES_H

#include "frontend/names/fe_names.h"
#include "frontend/types/types.h"

/* The scopes at work, to be restored. */
typedef struct {
    Scope *at[N_SPACES];
} Scopes;

/* What was known where something was written that is looked at later. */
typedef struct {
    Scopes scopes;
    File *file;
    int horizon; /* definitions at top level from here on came later */
    const char *path;
} Closure;

/* A type of modules and where it was written. */
typedef struct ModSig {
    const ModType *type;
    Closure at;
    bool wrong; /* errors in its declaration were reported */
    bool large; /* it is beyond the limits, which was: it is not looked into again */
} ModSig;

struct Module {
    Loc loc;     /* where it was made */
    bool wrong;  /* errors in it were reported: a name that is missing may be due to them */
    bool scalar; /* a scalar's module: its members are those of builtins.def, `of` */
    PrimType of;
    bool intrinsics;  /* its members are the names that are provided without a module */
    Bindings members; /* in order; a later one hides earlier ones of its name and space */
    /* A parametric module: what it makes of an argument. */
    const ModExp *lambda; /* ME_LAMBDA, written at `at`; or, */
    Closure at;
    const ModSig *sig; /* seen as of this type (MT_FUN): */
    Module *inner;     /* what it is; NULL: any of that type */
    Subst known;       /* abstract types in it and in what it makes: what they stand for */
    Subst inside;      /* abstract types of the module around, which `sig` mentions: what they
                          stand for in `inner` */
};

static inline bool is_parametric(const Module *m)
{
    return m->lambda || m->sig;
}

/* --- builtins.c ----------------------------------------------------------------------------- */

Binding *find_builtin(Ck *ck, const char *name); /* "map", "+", "f32.sqrt", or NULL */
/* The type of accumulators, which takes the type of an array. */
Binding *acc_type(Ck *ck);
/* Builtins and members that a misspelt name may mean. */
struct rt_spelling;
void try_builtins(struct rt_spelling *sp);
extern const char prelude_text[], prelude_modtypes[]; /* prelude.c */

/* --- members.c ------------------------------------------------------------------------------ */

Space space_of(const Binding *b);
Module *module_new(Ck *ck, Loc loc);
/* The module of a scalar type. */
Module *scalar_module(Ck *ck, PrimType s);
/* The type of that name that every program has, or NULL. */
Binding *provided_type(Ck *ck, const char *name);
/* The module by which the operators that are provided can be named where others hide them. */
Module *intrinsics_module(Ck *ck);
/* The member of that name, or NULL. */
Binding *module_member(Ck *ck, Module *m, const char *name, Space space);
/* Calls fn for each member that is not hidden, in order. */
void module_each(Ck *ck, Module *m, void (*fn)(void *env, Binding *b), void *env);

/* --- names.c -------------------------------------------------------------------------------- */

/* Makes the name of what is defined here known from here on; of what is opened. */
void bind_name(Ck *ck, Binding *b);
void bind_opened(Ck *ck, Binding *b);
/* Makes the members of a module known by their names alone, in the scopes at work. */
void open_scope(Ck *ck, Module *m);
const Scope *find_global(Ck *ck, const char *name,
                         Space space); /* the latest definition, or NULL */
/* What a name ("x", "A.B.x") means at that place, or NULL. */
Binding *find_binding(Ck *ck, const char *name, Space space);
/* The innermost binding of a name without dots, other than of what is built in; or NULL. */
Binding *in_scope(Ck *ck, const char *name, Space space);
bool is_operator_name(const char *name);
/* The dot before the last part of a name; NULL if it has one part. Operators may have dots. */
const char *last_dot(const char *name);
/* The module A.B, or NULL; *known then becomes the longest beginning A that is one, *outer that. */
Module *module_path(Ck *ck, const char *name, const char **known, Module **outer);
/* The module that an expression names by itself, as A.B in A.B.x; NULL if it is a value. */
Module *module_of_exp(Ck *ck, const AExp *e);
Scopes scopes_now(const Ck *ck);
void scopes_back(Ck *ck, Scopes s);
/* Forgets what was bound at top level behind the first `seq` definitions, and names beyond the
 * first `names`. */
void names_back(Ck *ck, int names, int seq);
/* Before a definition: its sizes have names of their own in messages. */
void forget_size_names(Ck *ck);
Closure closure_now(const Ck *ck);
/* Goes to where the closure was made; the result is where it was, to go back by. */
Closure closure_enter(Ck *ck, const Closure *c);
/* The name that a declaration gives, NULL if it gives none; its space and place. */
const char *declares(const Decl *d, Space *space, Loc *loc);
/* Where the declaration gives something of that space the name; {0, 0}: it does not. */
Loc declared_at(const Decl *d, const char *name, Space space);

/* --- missing.c ------------------------------------------------------------------------------ */

/* Say that a name means nothing of that kind. b: what it means instead, or NULL. */
void report_no_value(Ck *ck, const char *name, Loc loc, const Binding *b);
void report_no_module(Ck *ck, const char *name, Loc loc, const Binding *b);
void report_no_sig(Ck *ck, const char *name, Loc loc);
void report_no_type(Ck *ck, const char *name, Loc loc);
/* The member that is called alike, or NULL. */
const Binding *nearest_member(Ck *ck, Module *m, const char *name, Space space);

/* --- lookup.c ------------------------------------------------------------------------------- */

/* Keeps for editors that part `part` of the name at loc is b. */
void note_name(Ck *ck, Loc loc, int part, Binding *b);
/* Keeps for editors that what a module type asks for at one place is given at the other. */
void note_match(Ck *ck, Loc asked, Loc given);
/* The names that a type in a module type binds, and those of its sizes: no declaration holds them.
 * te: or NULL. */
void note_type(Ck *ck, const TParams *tps, TypeExp *te);
/* As note_name, for all parts of the name of a module. */
void note_module(Ck *ck, const char *name, Loc loc);
/* What a name ("x", "A.B.x") means at that place; NULL, and a message, if it means nothing. */
Binding *find_value(Ck *ck, const char *name, Loc loc);
Binding *find_type(Ck *ck, const char *name, Loc loc);
Module *find_module(Ck *ck, const char *name, Loc loc);
ModSig *find_sig(Ck *ck, const char *name, Loc loc);

#endif
