/* Types under inference: the checker's state, and what is below names and expressions. Each file is
 * above the ones before it:
 *   type_new.c    types, variables, bindings; undoing
 *   tell.c        messages, types in them
 *   size_term.c   sizes: terms, equality, unification
 *   subst.c       types with other sizes and type parameters; questions
 *   generalise.c  what becomes a parameter, or is made up by the function
 *   unify.c       unification
 *   wanted.c      fields and constructors, also of types that are not known yet
 *   join.c        what branches have in common
 *
 * Levels: each function body is checked one level deeper than what surrounds it; an inference
 * variable carries the level of the outermost body that mentions it. When a body is finished, the
 * variables of its level belong to nobody else and become type parameters. */
#ifndef FRONTEND_TYPES_TYPES_H
#define FRONTEND_TYPES_TYPES_H

#include "base/ptrmap.h"
#include "frontend/syntax/ast.h"

/* Dimensions of an array, as in the data formats of programs (common/values.h); parts of a type
 * with its sizes: abbreviations and functions that double them would take all memory otherwise. */
enum { MAX_ARRAY_RANK = 16, MAX_TYPE_PARTS = 10000 };

/* Names of one space do not get into the way of those of others. */
typedef enum {
    SPACE_TERM, /* values and modules */
    SPACE_TYPE,
    SPACE_SIG, /* types of modules */
} Space;
enum { N_SPACES = SPACE_SIG + 1 };

/* The innermost of the local names by each name: a tree, by the bits of hashes, which those further
 * in share. */
typedef struct LocalNames {
    const char *name;
    const struct Scope *at;
    const struct LocalNames *kid[2];
} LocalNames;

typedef struct Scope {
    const char *name;
    Binding *bind;
    Module *open; /* or a module: its members are known by their names alone */
    const struct Scope
        *opened; /* of a local name: the innermost such module, this one or further out */
    const LocalNames *locals;   /* of a local name: all that are known here */
    int depth;                  /* counts local names from outside in */
    const File *file;           /* where a definition at top level is known: no local name is
                                 * further out */
    bool own;                   /* of a definition: of this file itself, not opened by it */
    bool local;                 /* of a definition: other files do not know it */
    int seq;                    /* of a definition: counts them, see Closure */
    const struct Scope *hidden; /* by this definition: the one before of this name */
    struct Scope *up;
} Scope;

/* A name that the program binds; the latest of its definitions in each space, or NULL. */
typedef struct {
    const char *name;
    int number; /* of the row, from 0, in the order in which they were made */
    Scope *at[N_SPACES];
} NameRow;
typedef struct {
    NameRow *at; /* open addressing; cap is a power of 2 */
    int n, cap;
} NameTable;

/* A part wanted of a type that was not known yet: of a record the field of that name, of a sum the
 * constructor, which holds the tuple `part`. */
typedef struct {
    Loc loc;
    AType *whole, *part;
    const char *name;
    bool constr;
    int level; /* of the definitions that the part is not polymorphic in */
} Wanted;

/* Sizes that are equal if their variables turn out so: `6` and `n * m`. */
typedef struct {
    Loc loc;
    Size *a, *b;
} Deferred;

/* What a variable that takes a type or size may mention: names bound before it, and those of
 * function types around. */
typedef struct Outer {
    int level, born;
    const AType *fun; /* innermost function type around, or NULL */
    const struct Outer *up;
} Outer;

/* An inference variable as it was before it was bound, for undoing. */
typedef struct {
    AType *type;
    Size *size;
    AType old_type;
    Size old_size;
} Undo;

typedef struct Ck {
    Arena *a;
    Ast *ast;
    File *file;                                  /* being checked */
    File *prelude;                               /* which all know */
    Scope *scopes[N_SPACES], *outside[N_SPACES]; /* at work; around the definition at top level */
    NameTable names;
    int seq;          /* of definitions at top level so far */
    int horizon;      /* those from here on are not known: they came later; 0: all are */
    Module *module;   /* whose members the declarations at work become */
    const char *path; /* "A.B." for what is declared there; for messages */
    PtrMap *builtins; /* by name: the bindings of builtins made so far */
    Module *scalars[N_PRIM_TYPES], *intrinsics;
    Binding *acc;     /* the type of accumulators, when it was first used */
    int in_module;    /* modules around the declarations at work, other than files */
    int applying;     /* applications of parametric modules around, */
    int applications; /* and all so far */
    int signatures;   /* types of modules around, */
    int specs;        /* and specifications of the outermost so far; */
    int large;        /* how many were beyond the limits */
    int supposing;    /* parametric modules around that are checked with what is known of any
                       * argument */
    bool abstract;    /* the program has abstract types */
    bool revealing;   /* types become what abstract types stand for (zonk.c) */
    int level;
    int ids; /* of inference variables and unknown sizes */
    int n_bindings;
    int n_old_bindings; /* of the schemes of builtins */
    VEC(Undo) trail;
    VEC(Wanted) wanted;
    VEC(Def *) current; /* definitions around, to recognise recursion */
    VEC(Deferred) deferred;
    Loc here;           /* the expression being checked, for what is found out later */
    Bindings *sizes;    /* receives the sizes that types at AT_RESULT introduce */
    const Decls *decls; /* the declarations at work, */
    int decl;           /* and the one of them */
    const char *why;    /* reason of the last failure of unify, or NULL; */
    bool why_more;      /* the types alone do not show it */
    int in_args;        /* what unify is given is inside of that many abstract types' arguments */
    bool contrary;    /* what unify is given as wanted is in a parameter of what it was asked of */
    bool why_varies;  /* a function makes up sizes where they may not vary */
    Loc why_a, why_b; /* it is two sizes, made up here and there */
    bool rank_reported;
    int errors;    /* when the declaration at work began */
    Names unknown; /* names that it was told not to be known */
    SizeNames
        size_names; /* of messages about the definition at work; of how many of them is said */
    int sizes_said; /* where they arise */
    Loc mismatched; /* the module that was last found not to meet a specification, */
    int mismatches; /* and how many */
    bool skipped;   /* a lambda in it was not checked, as what it is given to is no function, a
                     * member of a module that is wrong is used, or a type is given up */
    bool lost;      /* a module that is wrong was opened: names may be its members */
    int hidden;     /* in M.(e) of such a module: any name bound before this one, too; 0: none */
    bool too_large; /* a type has become an error, not reported yet, since it has too many parts */
    Loc too_large_at;
    /* What is above those that need it: set once, by check.c. Parts of whatever has expressions are
     * typed by `exp` (check_against, check.h), and whether a parametric module is of a type is seen
     * by its application, `apply`. */
    AType *(*exp)(struct Ck *ck, AExp *e, AType *want);
    Module *(*apply)(struct Ck *ck, Module *f, Module *arg, Loc at);
    int zonk_round; /* of the definition that is being freed of inference variables */
    bool below;     /* what stands behind the declaration at work in the file was looked at */
    VEC(struct CkMark *)
    marks; /* if editors ask: before each declaration of the main file, and at
            * the end */
} Ck;

/* What there was before a declaration. */
typedef struct CkMark {
    Ck ck;
    int defs, matches, members, messages;
    bool wrong; /* Module.wrong */
} CkMark;

typedef struct {
    Bindings from;
    VEC(AType *) types;    /* for BIND_TYPE_PARAM, else NULL */
    VEC(Size *) sizes;     /* for BIND_SIZE and named parameters */
    VEC(TypeDecl *) decls; /* for abstract types: what they are applied to becomes an instance */
} Subst;

/* --- type_new.c ----------------------------------------------------------------------------- */

Binding *new_binding(Ck *ck, BindKind k, const char *name, Loc loc);
AType *ty_scalar(Ck *ck, PrimType s);
AType *ty_array(Ck *ck, Size *dim, AType *elem);
AType *ty_tuple(Ck *ck, ATypes elems);
AType *ty_fun(Ck *ck, AType *param, AType *result);
/* Of t's kind and field names, with other components; a function with t's parameter name and
 * existential sizes. */
AType *ty_elems_like(Ck *ck, const AType *t, ATypes elems);
AType *ty_fun_like(Ck *ck, const AType *t, AType *param, AType *result);
/* Adds a field to a record type, or a constructor to a sum, which is kept sorted by name. False
 * (and t as it was) if there is one of that name already. */
bool ty_part_add(Ck *ck, AType *t, const char *name, AType *part);
AType *ty_error(Ck *ck);
AType *ty_meta(Ck *ck, TypeClass cls, Loc loc);
AType *ty_plain(Ck *ck, const AType *t); /* without the uniqueness of the root and of components */
int trail_mark(const Ck *ck);
void trail_undo(Ck *ck, int mark);
/* To be called before it changes. */
void save_type(Ck *ck, AType *t);
void save_size(Ck *ck, Size *s);

/* --- tell.c --------------------------------------------------------------------------------- */

/* Sections of docs/language.md that explain messages (diag_explained). */
#define SECTION_SIZES       "Sizes"
#define SECTION_CONSUMPTION "In-place updates and consumption"
#define SECTION_ENTRIES     "Entry points"
#define SECTION_ATTRIBUTES  "Attributes"

void ck_error(Ck *ck, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void ck_note(Ck *ck, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const char *show(Ck *ck, const AType *t);
const char *show_size(Ck *ck, const Size *s);
const char *class_words(TypeClass c);
/* The type in a message, or words for a literal that may have several; why the last unification
 * failed, in brackets, unless the types themselves show it. */
const char *said(Ck *ck, const AType *t);
const char *because(Ck *ck, const AType *want, const AType *have);
/* How to get from one scalar to another, for a message; "" if there is nothing to say. */
const char *conversion(Ck *ck, const AType *want, const AType *have);
/* Has editors offer what conversion says, for the expression at loc. */
void offer_conversion(Ck *ck, Loc loc, const AType *want, const AType *have);
/* Notes, behind a message about e, that a number in its type is what it is by default. */
void note_default(Ck *ck, const AExp *e);

/* --- size_term.c ---------------------------------------------------------------------------- */

Size *sz_const(Ck *ck, int64_t v);
Size *sz_var(Ck *ck, Binding *b);
Size *sz_op(Ck *ck, char op, Size *a, Size *b); /* folds what is plain to see */
Size *sz_exp_with(Ck *ck, const Size *like, ASizes args);
Size *sz_unknown(Ck *ck, Loc loc);
Size *sz_error(Ck *ck, Loc loc); /* of something that is wrong: it is equal to any other */
Size *sz_meta(Ck *ck, Loc loc);
/* The value of an expression as a size; unknown if it has parts that cannot be compared. */
Size *sz_of_exp(Ck *ck, const AExp *e);
/* Notes what is known of a new SZ_EXP; open: its expression is not finished (zonk.c). */
void sz_settle_exp(Ck *ck, Size *s, bool open);
/* What is known of it at this time, or NULL. */
const SizeFacts *sz_facts(const Size *s);
/* The leaves of an operation other than constants, each once, or what these stand for by now; NULL:
 * they are not known, or many. */
const ASizes *sz_leaves(const Size *s);
bool sz_value(const Size *s, int64_t *out); /* of constants and arithmetic on them */
bool sz_same(const Size *a, const Size *b);
bool sz_written_same(const Size *a, const Size *b); /* without thought: `0 + 0` is not `0` */
/* Makes both equal. False, with ck->why, if they are not. */
bool sz_unify(Ck *ck, Size *a, Size *b);
/* Whether `test` holds for a leaf of the size, or of the sizes in a type. Names that a function
 * type in it binds itself are no leaves. */
bool sz_any(const Size *s, bool (*test)(void *env, const Size *leaf), void *env);
bool ty_any_size(const AType *t, bool (*test)(void *env, const Size *leaf), void *env);
/* Whether a size of the type has the variable in it. */
bool ty_mentions(const AType *t, Binding *b);
/* Whether it may be another size at each call of a function that is being unified; then it is noted
 * as the reason why unification fails. */
bool sz_varies(Ck *ck, const Size *s);
/* Whether the function type itself binds the name: of its parameter, or of a size it makes up. */
bool fun_binds(const AType *fun, const Binding *b);
/* Brings variables inside to the outer level. False, with ck->why, if a name is not in scope there.
 */
bool sz_lower(Ck *ck, Size *s, const Outer *o);
/* Looks again at what sz_unify could not decide, from ck->deferred[first] on; reports what is not
 * equal, when `final` also what is still open. */
void solve_sizes(Ck *ck, int first, bool final);

/* --- subst.c -------------------------------------------------------------------------------- */

/* A type with other sizes and type parameters, sharing what does not change. */
typedef struct {
    Ck *ck;
    Size *(*size)(void *env, Size *s);  /* of leaves; never NULL */
    Size *(*whole)(void *env, Size *s); /* or of sizes as wholes, in place of `size` */
    AType *(*var)(void *env, AType *t); /* of TY_VAR and unbound TY_META; NULL keeps them */
    void (*bound)(void *env);           /* before what a bound TY_META stands for; NULL: nothing */
    void *env;
    bool but_functions; /* which stay as they are */
    bool last; /* the end of inference: no TY_META stays, and of a type that is too large nothing */
    int parts; /* seen so far */
} TypeMap;
AType *ty_map(TypeMap *m, AType *t);
AType *ty_subst(Ck *ck, AType *t, const Subst *s);
bool ty_fits(const AType *t, int parts); /* it and its sizes have no more parts */
/* t, or, if it or one made before has too many parts, an error, which is reported at loc. */
AType *ty_limited(Ck *ck, AType *t, Loc loc);
void fe_subst_type(Ck *ck, Subst *s, Binding *b, AType *t);
void subst_size(Ck *ck, Subst *s, Binding *b, Size *z);
void subst_decl(Ck *ck, Subst *s, Binding *abstract, TypeDecl *means);
/* The type of a use of b: its type with fresh variables for its parameters. */
AType *ty_instance(Ck *ck, const Binding *b, Loc loc);
/* t with sizes that may be any, other than in functions; that nobody may need (`idle`). */
AType *ty_any_sizes(Ck *ck, AType *t, Loc loc);
AType *ty_idle_sizes(Ck *ck, AType *t, Loc loc);
/* t with any sizes where a function that it was taken from makes up others at each call. */
AType *ty_any_at_call(Ck *ck, AType *t);
/* The type of values of such a type: each value that is of a type variable has sizes of its own. */
AType *ty_any_settled(Ck *ck, AType *t);
/* Replaces the sizes that a call makes up by unknown ones. */
AType *ty_open(Ck *ck, const Bindings *exists, AType *t, Loc loc);
/* Replaces sizes that mention bindings with uid >= `from`, unless they are in `keep`, by unknown
 * ones: they leave their scope. */
AType *ty_leave(Ck *ck, AType *t, int from, const Bindings *keep, Loc loc);
/* Replaces sizes that are made of others, made up since first_id, of which no array in the type is
 * itself, by unknown ones. */
AType *ty_unwitnessed(Ck *ck, AType *t, int first_id, Loc loc);
/* What a function in the type takes that is of a size made up since first_id, where no array in the
 * type tells it; or NULL. */
const AType *ty_takes_unwitnessed(Ck *ck, const AType *t, int first_id);
bool ty_has_fun(const AType *t);
bool ty_has_error(const AType *t); /* it, or a part of it, is that of something wrong */
/* Whether an abstract type is, or is a component or element of, the type. */
bool ty_has_abstract(const AType *t);
/* Whether b by itself is the size of an array in the type, other than of a function's parameters or
 * results: then its value can be read off a value. */
bool ty_witnesses(const AType *t, const Binding *b);

/* --- generalise.c --------------------------------------------------------------------------- */

/* Variables of the level below become parameters, which `out` receives. */
void generalise_type(Ck *ck, AType *t, Bindings *out);
/* t, of which inference has left sizes open at this level, with a parameter in the place of each,
 * which `out` receives; they themselves stay open. */
AType *opened_type(Ck *ck, AType *t, Bindings *out);
/* Unknown sizes made since `first_id` become sizes of `exists`: a function makes them up at each
 * call. */
AType *seal_result(Ck *ck, AType *t, Bindings *exists, int first_id);
/* The same for sizes that vary with the calls of functions that were unified. */
AType *seal_varying(Ck *ck, AType *t, Bindings *exists);

/* --- unify.c -------------------------------------------------------------------------------- */

static inline void ck_try(Ck *ck) /* before a unification that is to be reported */
{
    ck->why = NULL;
    ck->why_more = ck->why_varies = false;
    ck->why_a = ck->why_b = (Loc){0, 0};
}
/* Makes both equal. False, with ck->why, if that cannot be. */
bool ty_unify(Ck *ck, AType *want, AType *have);
/* Makes the parameters of two functions equal: what is wanted has to be good for the one
 * at hand. */
bool ty_unify_params(Ck *ck, AType *want, AType *have);

/* --- wanted.c ------------------------------------------------------------------------------- */

/* The type of t's field of that name; of a type that is not known yet it is wanted. */
AType *field_of(Ck *ck, AType *t, const char *name, Loc loc);
/* t, but part in the field that the steps at path lead to. */
AType *with_field(Ck *ck, AType *t, const Step *path, int n, AType *part);
/* Looks again at what is wanted of types that were not known; when `final`, those that still are
 * not are reported. */
void solve_wanted(Ck *ck, bool final);

/* A type that is to be a sum with that constructor, which holds the tuple. */
AType *want_constr(Ck *ck, const char *name, AType *holds, Loc loc);
/* Whether a constructor is wanted of t, a variable. */
bool wants_constr(const Ck *ck, const AType *t);
/* What a constructor is given. */
typedef struct {
    int n;
    int in_first; /* as many as a tuple that is the first has; 0: it is none */
    bool exp;     /* not a pattern */
} ConstrGiven;
/* What the constructor of that name holds in type t: a tuple; an error, reported, if t has none. */
AType *constr_payload(Ck *ck, AType *t, const char *name, Loc loc);
/* Whether a constructor that holds `holds` is given so much; reports if not. */
bool constr_count_fits(Ck *ck, const AType *holds, ConstrGiven g, const char *name, const AType *t,
                       Loc loc);

/* --- join.c --------------------------------------------------------------------------------- */

/* As ty_unify, but where sizes differ the result has an unknown one (branches of an if). NULL if
 * the types differ otherwise. */
AType *ty_join(Ck *ck, AType *a, AType *b, Loc loc);

#endif
