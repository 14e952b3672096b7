/* Private to consume.c, consume_loop.c, consume_fun.c, aliases.c and alias_set.c, the lowest last:
 * what is known of values and variables while a definition is checked for consumption. The rules
 * are Futhark's.
 *
 * Every variable has leaves, the components of its type that are not tuples, records or sums. A
 * value is described by a tree of the same shape (Al); each leaf lists the leaves of variables
 * (Ref) that it may share memory with, transitively. Consuming a value marks all of its refs; using
 * a variable any of whose refs is marked is an error.
 *
 * Not only variables of the program are listed: what a call or a loop returns may share memory
 * inside itself, with nothing that has a name. Each such value has a made-up variable that all of
 * its components refer to. So have the components of what branches return that shared what one of
 * these consumed. The variables of a body that has ended stay in the lists: they can be consumed
 * with the value, but nobody can name them.
 *
 * Frames are the bodies of functions and loops around the expression at work. What a frame uses
 * from outside is recorded: a function value shares memory with it. */
#ifndef FRONTEND_CONSUME_CONSUME_INT_H
#define FRONTEND_CONSUME_CONSUME_INT_H

#include "base/ptrmap.h"
#include "frontend/consume/consume.h"

typedef struct Var Var;

typedef struct {
    Var *v;
    int leaf;
    bool closure; /* captured by a function whose results are fresh: may be returned by others */
} Ref;
typedef VEC(Ref) Refs;

/* A set of them, NULL: the empty one. It comes to the list of one, those of a, those of b. */
typedef struct RefSet {
    Ref one; /* v NULL: none */
    struct RefSet *a, *b;
    bool closure;              /* all of `a` are captured */
    bool outside;              /* some are VAR_GLOBAL or VAR_HIDDEN */
    bool alive;                /* none was consumed, as Co.version was `checked` */
    unsigned checked, seen[2]; /* the walk that was here last; that was here for what is captured */
    int born;                  /* counts them */
} RefSet;

typedef struct Al {
    RefSet *refs;
    VEC(struct Al *) kids; /* of products; then refs is empty */
} Al;

typedef enum {
    VAR_LOCAL,  /* of a pattern, or a local function */
    VAR_GLOBAL, /* a top-level value */
    VAR_CALL,   /* made up, for the result of a call of `name` */
    VAR_LOOP,   /* for the result of a loop */
    VAR_PARTS,  /* for what components of a value had in common */
    VAR_HIDDEN, /* the one that stands for what nobody can see: what is of an abstract type may
                 * share memory inside of itself, or with a definition; so may a
                 * polymorphic value */
} VarKind;

typedef struct {
    Al *al;         /* what it aliases, itself included */
    Loc gone;       /* where it was consumed, or {0,0} */
    unsigned stamp; /* the search that saw it last: see al_stamp */
    int n;          /* how often, or where */
} VarLeaf;

/* What is known of a variable while its scope lasts. */
struct Var {
    VarKind kind;
    const char *name;
    Loc loc;
    const AType *type;
    Al *al;
    VEC(VarLeaf) leaves;
    int depth;             /* number of frames around its binding */
    bool in_scope;         /* VAR_LOCAL: it can be named */
    bool may;              /* it may be consumed, in its own frame */
    bool elem;             /* an element of the array that a loop goes over */
    bool looped;           /* a loop's variable with a declared type */
    const Binding *global; /* VAR_GLOBAL: the definition */
    int first_part; /* of a variable of the loop that has just been left: the number of its first
                       component, from 1; else 0 */
};

typedef enum {
    FRAME_FUNCTION,
    FRAME_BODY /* of a loop */,
    FRAME_CONDITION /* of `while` */,
    FRAME_SIZE
} FrameKind;
typedef struct {
    FrameKind kind;
    RefSet *used; /* from outside */
} Frame;

/* A part of a set that is still to be gone through. */
typedef struct {
    RefSet *s;
    bool closure;
} SetPart;

typedef struct Co {
    Ck *ck;
    /* What an expression shares memory with, of all forms (consume.c): functions and loops, which
     * are below, have expressions (co_eval). */
    Al *(*eval)(struct Co *co, AExp *e);
    Arena *a;     /* of what is known while the definition is checked; types are in that of ck */
    Arena *tmp;   /* lists */
    PtrMap *vars; /* by binding */
    VEC(Frame) frames;
    VEC(Var *) scope; /* the variables in scope, innermost last */
    Refs marked;      /* what was consumed, in order, so that branches can be undone */
    int consumptions; /* how often something was, even if nobody else knows it */
    Var *hidden;      /* VAR_HIDDEN */
    unsigned version; /* changes as something is consumed, or is not any more */
    unsigned stamp, walks;
    int sets; /* made so far */
    VEC(SetPart) todo;
} Co;

/* A component of a value that is no tuple or record. */
typedef struct {
    const AType *t;
    Al *al;
    bool unique;
    Refs refs; /* of al, once al_count has counted them */
} Leaf;
typedef VEC(Leaf) Leaves;

/* --- Types ---------------------------------------------------------------------------------- */

bool al_holds_arrays(const AType *t);
/* A tuple or record; a sum too: it has leaves for what each of its constructors holds. */
bool al_is_product(const AType *t);
/* Marked `*`, as accumulators always are: whoever is given one uses it up. */
bool al_is_unique(const AType *t);
/* Whether any component is marked `*`; on scalars and functions it means nothing. */
bool al_any_unique(const AType *t);
/* Whether t is a type parameter of the definition. */
bool al_binds_type(const Binding *b, const AType *t);
/* t with the marks `*` of a type of the same shape added. */
AType *al_add_unique(Co *co, AType *t, const AType *from);

/* --- Trees ---------------------------------------------------------------------------------- */

Al *al_none(Co *co);
static inline Al *al_kid(Al *al, int i)
{
    return i < al->kids.n ? al->kids.at[i] : al;
}
/* All that al aliases, whatever its shape. */
RefSet *al_all(Co *co, const Al *al);
/* The tree al in the shape of a type: what a whole tuple aliases, each component may alias. */
Al *al_shape(Co *co, const AType *t, Al *al);
Al *al_union(Co *co, const Al *x, const Al *y);
/* The leaves of a value of type t, in order; `unique`: of a part of something unique. */
void al_leaves(const AType *t, Al *al, bool unique, Leaves *out, Arena *a);
/* The value of type t with these leaves. */
Al *al_rebuild(Co *co, const AType *t, const Leaves *ls, int *next);
/* Counts, for each ref, in how many of the leaves of a value of type t it stands at a time (what
 * different constructors hold is never there together): VarLeaf.n until the next search. */
void al_count(Co *co, const AType *t, Leaves *ls);
/* After al_count: whether a ref stands in several leaves; one of a leaf that does, or NULL. */
bool al_is_in_others(const Ref *r);
const Ref *al_in_others(const Leaf *l);

/* --- alias_set.c ---------------------------------------------------------------------------- */

RefSet *al_set_with(Co *co, Ref r, RefSet *rest);
RefSet *al_set_union(Co *co, RefSet *a, RefSet *b);
/* The same, but captured by a function whose results are fresh. */
RefSet *al_set_closure(Co *co, RefSet *s);
/* Whether nothing of it was consumed. */
bool al_set_alive(Co *co, RefSet *s);
/* Each ref once, in co->tmp. */
Refs al_list(Co *co, RefSet *s);
/* The same, of what is in sets made since there were `first`. */
Refs al_list_since(Co *co, RefSet *s, int first);
/* Those that are VAR_GLOBAL or VAR_HIDDEN. */
Refs al_list_outside(Co *co, RefSet *s);
void al_add_refs(Co *co, Refs *to, const Refs *from);
/* A ref that both have, or NULL. */
const Ref *al_shared(Co *co, const Refs *x, const Refs *y);
bool al_is_gone(const Ref *r);
void al_mark_gone(Co *co, const Ref *r, Loc loc);
/* The marks number from <= i < to: set again (locs) or taken back (NULL). */
void al_set_marks(Co *co, int from, int to, const Loc *locs);

/* --- Variables and frames ------------------------------------------------------------------- */

Var *al_make_up(Co *co, VarKind kind, const char *name, Loc loc);
void al_bind_var(Co *co, Binding *b, const AType *t, Al *al, bool may);
/* Functions are no memory of their own: their al is what they captured. */
void al_bind_fun(Co *co, Binding *b, Al *captured);
typedef enum { BIND_LET, BIND_PARAM, BIND_LOOP_PARAM, BIND_LOOP_TYPED, BIND_LOOP_ELEM } AlBind;
void al_bind_pat(Co *co, const Pat *p, Al *al, AlBind how);
/* The variable of a name: a top-level value's is made when first needed. */
Var *al_var(Co *co, Binding *b);
/* The variables bound since the scope had n go out of scope. */
void al_unscope(Co *co, int n);
void al_push_frame(Co *co, FrameKind kind);
/* Leaves the innermost frame, and forgets what was consumed in it since there were `marked` marks:
 * variables of the frame. Returns what it used from outside. */
RefSet *al_pop_frame(Co *co, int marked);

/* --- Use and consumption -------------------------------------------------------------------- */

/* Reports the use of what was consumed; `name` is what the program calls it, or NULL. */
bool al_check_alive(Co *co, RefSet *s, Loc loc, const char *name);
/* Uses a variable: checks it, and tells the frames. */
void al_use_var(Co *co, Var *v, Loc loc);
/* Why VAR_HIDDEN may not be consumed, for messages. */
extern const char al_why_hidden[];
/* Marks a value as consumed, or reports why it may not be. */
void al_consume(Co *co, const Refs *rs, Loc loc);
/* "`xs`", "the result of `f`": in the permanent arena. */
const char *al_describe(Co *co, const Var *v);

/* What a part of an expression shares memory with. */
static inline Al *co_eval(Co *co, AExp *e)
{
    return co->eval(co, e);
}
/* The same, and how much was consumed then. */
typedef struct {
    AExp *e;
    Al *al;
    int marked;
} Done;
Done co_eval_part(Co *co, AExp *e);
/* Reports if anything evaluated since has consumed it. */
void co_still_alive(Co *co, const Done *d);

/* --- consume_loop.c, consume_fun.c ---------------------------------------------------------- */

Al *co_loop(Co *co, AExp *e);
/* Checks a function, returns what it takes along from outside (of a value: what it aliases). */
Al *co_def(Co *co, Def *d);
Al *co_lambda(Co *co, AExp *e);
Al *co_app(Co *co, AExp *e);
Al *co_opsect(Co *co, AExp *e);
/* A value whose type is to be `want`: functions in it may not consume more, nor share more, than
 * that says. */
void co_check_functions(Co *co, const AExp *e, const AType *want);

#endif
