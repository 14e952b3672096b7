/* The typed syntax tree of .sf programs.
 *
 * The parser makes the nodes, fe_check fills in what is marked `[check]`. After a successful check:
 *  - each use of a name points to its Binding, each AExp and Pat has its AType, without inference
 *    variables (those of polymorphic functions are TY_VAR);
 *  - operators are ordinary names: `a + b` is AE_APP of AE_VAR "+" (BI_ADD) to two arguments, `-a`
 *    is BI_NEG, `x |> f` and `f <| x` are plain applications;
 *  - nested applications are merged: `(f a) b` is one AE_APP with two arguments; it may have fewer
 *    arguments than `f` has parameters (partial application) or more (f returns a function);
 *  - definitions use only names defined before them: there is no recursion.
 *
 * Sizes. Each array dimension in a AType is a Size: a constant, a Binding (a size parameter, or an
 * i64 variable in scope), an expression, or unknown (known only at run time; equal ids are equal
 * sizes). Sizes that have to be equal are: the program says so by coercions where the checker does
 * not see it.
 *
 * Order of components: tuples as written, records sorted by field name (bytewise), everywhere.
 *
 * What the IR has too under the same name has an A in front: AType, AExp, AE_IF, ADimIndex. */
#ifndef FRONTEND_SYNTAX_AST_H
#define FRONTEND_SYNTAX_AST_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/out.h"
#include "base/vec.h"
#include "common/prim.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct AType AType;
typedef struct Size Size;
typedef struct AExp AExp;
typedef struct Pat Pat;
typedef struct Def Def;
typedef struct TypeExp TypeExp;
typedef struct Binding Binding;
typedef struct Attr Attr;
typedef struct ModExp ModExp;
typedef struct ModType ModType;
typedef struct Module Module;

typedef VEC(AType *) ATypes;
typedef VEC(Size *) ASizes;
typedef VEC(AExp *) AExps;
typedef VEC(Pat *) Pats;
typedef VEC(Attr *) Attrs;
typedef VEC(Def *) Defs;
typedef VEC(Binding *) Bindings;
typedef VEC(const char *) Names; /* interned */
typedef struct {
    const char *name;
    Loc loc;
} NameLoc;
typedef VEC(NameLoc) NameLocs;

/* --- Types ---------------------------------------------------------------------------------- */

typedef enum {
    SZ_CONST,   /* value */
    SZ_VAR,     /* var: a size parameter, an i64 variable, or any variable inside of SZ_EXP */
    SZ_OP,      /* a op b: op is one of + - * / %, with the meaning of i64 operators; when it is
                 * lowered also ^, the larger one */
    SZ_EXP,     /* exp applied to args: any other expression without binders */
    SZ_UNKNOWN, /* id: a size that only the run knows (filter, concat, ...) */
    SZ_META,    /* inference variable; none left after checking */
} SizeKind;

/* What is known of an operation or expression: chains of them are long, and gone through again and
 * again. */
typedef struct {
    int parts;     /* at most INT_MAX / 2 */
    bool is_value; /* a constant, which is `value` */
    int64_t value;
    bool many;     /* `leaves` is empty: there are too many of them */
    bool open;     /* some leaves are SZ_META: what is known is so while nothing decides them; or an
                      SZ_EXP is not finished */
    bool exps;     /* there is an SZ_EXP in it */
    ASizes leaves; /* all but constants, each once; shared with operands */
} SizeFacts;

struct Size {
    SizeKind kind;
    int64_t value;
    Binding *var;
    char op;
    Size *a, *b;
    SizeFacts *facts; /* SZ_OP, SZ_EXP: see sz_facts; or NULL */
    AExp *exp;
    ASizes args;     /* SZ_EXP: the values of its parts; names may have been replaced */
    int id;          /* SZ_UNKNOWN, SZ_META */
    int level, born; /* SZ_META: see types.h */
    bool varies;    /* SZ_UNKNOWN: may be another one at each call of a function; SZ_META: may stand
                     * for such a size */
    bool each_call; /* SZ_UNKNOWN: what a function makes up at each call, in the type of a function
                     * that it is given to; SZ_META: becomes one if nothing decides it */
    bool wrong;     /* SZ_UNKNOWN: of something that is wrong, as TY_ERROR is a type */
    bool any;       /* SZ_UNKNOWN: in what a type variable stands for to which a function's result
                     * belongs: whatever size       a value of that type has */
    bool idle;      /* SZ_META: of what a constructor does not hold */
    bool by_use; /* SZ_META: a size parameter of a function that is used, which may be the result's
                    alone */
    bool turns;  /* SZ_META: of a loop whose body is at work, which may change it at each turn */
    Size *ref;   /* SZ_META: what it stands for, or NULL */
    Loc loc;     /* where it was written or arose, for messages */
};

typedef enum {
    TY_SCALAR, /* scalar */
    TY_ARRAY,  /* dim, elem: one dimension a node, elem may be an array */
    TY_TUPLE,  /* elems; () is the empty tuple */
    TY_RECORD, /* elems, names: sorted by name */
    TY_SUM,    /* elems, names: constructors, sorted by name, and the tuples that they hold */
    TY_FUN,    /* fun: one parameter a node (curried) */
    TY_VAR,    /* var, targs, sargs: a type parameter (BIND_TYPE_PARAM), or, while the program is
                * checked, an abstract type (BIND_TYPE) */
    TY_META,   /* inference variable; none left after checking */
    TY_ERROR,  /* of an ill-typed expression; none in a program that passed */
} TypeKind;

/* What a type variable may stand for (inference variables, and type parameters of builtins). */
typedef enum {
    TC_ANY,   /* any value, functions too ('^t) */
    TC_SIZED, /* no function inside; sizes may vary from value to value ('~t) */
    TC_VALUE, /* what arrays can hold: no function inside, the same sizes for all values ('t) */
    TC_EQ,    /* comparable by ==: no function and no type parameter inside */
    TC_PRIM,  /* a scalar */
    TC_BITS,  /* an integer or bool */
    TC_NUM,   /* a number; literal without a point */
    TC_INT,
    TC_FLOAT, /* literal with a point */
} TypeClass;

struct AType {
    TypeKind kind;
    bool unique; /* `*t`: on parameter and result types of functions only; not part of equality */
    union {
        PrimType scalar;
        struct {
            Size *dim;
            AType *elem;
        } array;
        struct {
            ATypes elems;
            Names names; /* TY_RECORD, TY_SUM */
        };
        struct {
            AType *param, *result;
            Binding *name;   /* the name of the parameter, when `result` mentions it as a size */
            Bindings exists; /* sizes that the call makes up: `?[k].` and `[]` in a result */
        } fun;
        struct {
            Binding *var; /* a type parameter, or an abstract type of a module, which may take */
            ATypes targs; /* types */
            ASizes sargs; /* and sizes */
        };
        struct {
            int id, level, born;
            TypeClass cls;
            AType *ref; /* what it stands for, or NULL */
            Loc loc;
        } meta;
    };
};

/* Follows inference variables at the root. */
AType *type_deref(const AType *t);
Size *size_deref(const Size *s);
/* Whether it is one of accumulators, `acc ([n]i32)`. */
bool type_is_acc(const AType *t);
/* As Futhark prints it: `[n][4]f32`, `(i32, *[m]bool)`, `{x: f32, y: f32}`, `(n: i64) -> [n]i64`.
 * In the permanent arena of `a`. */
const char *type_str(Arena *a, const AType *t);
/* What sizes that have no name are called where they are parts of others: `[k1 + 1]`, then
 * everywhere. */
typedef struct {
    int id; /* of which size */
    const char *name;
    Loc loc; /* where it arose */
} SizeName;
typedef struct {
    SizeName *at;
    int n, cap;
    int last;                                   /* number */
    bool (*bound)(void *env, const char *name); /* whether the program has the name for something
                                                   else; NULL: it has none */
    void *env;
} SizeNames;
/* The same with the names that sizes have in other texts, and further ones. */
const char *type_str_with(Arena *a, const AType *t, SizeNames *names);
const char *size_str_with(Arena *a, const Size *s, SizeNames *names);
/* Expressions that sizes may hold, and their parts in order. */
bool size_exp_form(const AExp *e);
AExps size_exp_parts(Arena *a, const AExp *e);
/* Without what changes nothing of its value: types that it is said to have,
 * assertions, attributes. */
const AExp *size_exp_essence(const AExp *e);
bool names_same(const Names *a, const Names *b);
/* Number of dimensions (0 for anything but arrays), and the type below them. */
int type_rank(const AType *t);
AType *type_elem(const AType *t);
/* Whether it has parts that are types, `elems`: of a sum, the tuples that its constructors hold. */
static inline bool type_is_composite(const AType *t)
{
    return t->kind == TY_TUPLE || t->kind == TY_RECORD || t->kind == TY_SUM;
}
/* Does `ask` hold of a type that lies directly in t: of what an array holds, components, the
 * parameter and the result of a function, what an abstract type is applied to? In that order. */
bool type_any_part(const AType *t, bool (*ask)(void *env, const AType *part), void *env);
/* The place of a field or constructor among the parts of a record or sum, -1 if it has none. */
int type_part(const AType *t, const char *name);
/* The place of the field of that name, of a tuple "0", "1", ...; -1 if there is none. */
int type_field(const AType *t, const char *name);
/* Number of parameters of a function type (0 otherwise). */
int type_arity(const AType *t);
AType *type_result(const AType *t); /* below all parameters */

/* --- Builtins: builtins.def ----------------------------------------------------------------- */

typedef enum {
    BI_NONE,
#define BUILTIN(id, name, scheme, doc, example, gives)    BI_##id,
#define OPERATOR(id, name, scheme, doc, example, gives)   BI_##id,
#define MEMBER(id, name, on, scheme, doc, example, gives) BI_##id,
#define PRIVATE(id, name, scheme)                         BI_##id,
#include "frontend/syntax/builtins.def"
    N_BUILTINS
} BuiltinId;

/* Variadic ones (BI_MAP, BI_ZIP, BI_UNZIP) have one id; the type at the use tells how many.
 * BI_UNFLATTEN* and BI_SPLIT take the sizes of their results from the type of the application.
 * BI_SUM, BI_ADD and so on are also the members T.sum, T.+ . BI_CONV: the types at the use tell. */

/* --- Names ---------------------------------------------------------------------------------- */

typedef enum {
    BIND_LOCAL,   /* a variable of a pattern (let, parameter, loop, lambda), or a local function */
    BIND_SIZE,    /* a size: parameter [n] of a function, `let [n] ...`, anonymous `[]`,
                   * or an existential ?[n]: an i64 */
    BIND_DEF,     /* a top-level definition, `def` set; functions local to a body too */
    BIND_BUILTIN, /* builtin set */
    BIND_TYPE_PARAM, /* 't '^t '~t */
    BIND_TYPE,       /* type abbreviation or abstract type */
    BIND_MODULE,     /* module */
    BIND_MODTYPE,    /* type of modules */
} BindKind;

#define OLDEST_UID (-(1 << 30))
struct Binding {
    BindKind kind;
    const char *name; /* interned, as written; made up ones hold a character no name can hold */
    int uid;          /* unique in the program, from 0: index for side tables (Ast.n_bindings); of
                       * builtins and in their types from OLDEST_UID */
    Loc loc;          /* the defining occurrence */
    const char *doc;  /* of what is declared or specified: as of a Def */
    AType *type;      /* [check] of a value name; with TY_VAR and SZ_VAR of its parameters */
    Bindings tparams; /* [check] sizes and types that `type` is polymorphic in (functions);
                       * anonymous and inferred ones included */
    Def *def;         /* BIND_DEF */
    BuiltinId builtin;
    PrimType scalar;        /* BIND_BUILTIN that is a member (f32.sqrt): the module's scalar */
    TypeClass cls;          /* BIND_TYPE_PARAM, abstract BIND_TYPE */
    struct TypeDecl *tdecl; /* BIND_TYPE */
    bool for_prelude;       /* BIND_BUILTIN: for the prelude alone */
    struct Binding *stands; /* a value seen as of a module type: that of the module at hand */
    bool by_default; /* BIND_DEF: nothing but a default made the numbers in its type i32 or f64 */
    bool fresh;      /* a value of an abstract type: each use has a copy of its own, since
                      * nobody outside can say whether it shares memory */
    bool hides;      /* BIND_DEF: what it returns may share memory that nobody outside can see */
    Module *module;  /* BIND_MODULE */
    struct ModSig *sig; /* BIND_MODTYPE */
};

/* --- Attributes ----------------------------------------------------------------------------- */

/* #[name], #[name(a, b)], #[param(BLOCK)]; number: #[unroll(4)] is name "unroll", args {number 4};
 * variable: #[name($x)], one of the program. */
struct Attr {
    Loc loc;
    const char *name;     /* interned; NULL for a number or a variable */
    const char *variable; /* interned, or NULL */
    int64_t number;
    Attrs args;
};

/* The attribute of that name, or NULL. */
const Attr *attr_find(const Attrs *as, const char *name);
/* Whether attribute `name` has `arg` among its arguments: #[flattening(no_outer)]. */
bool attr_has(const Attrs *as, const char *name, const char *arg);
/* The tuning parameter that may replace an expression, #[param(NAME)]; NULL: none. */
const char *attr_param(const Attrs *as);
/* How deep a function that calls itself may, #[depth(N)]; 0: without a bound, -1: it is no number
 * from 1 to MOST_DEPTH. */
enum { MOST_DEPTH = 1 << 20 };
int64_t attr_depth(const Attrs *as);
/* The number of #[stripmine(n)]; 0: it is NULL, or has none of at least 1. */
int64_t attr_strip_depth(const Attr *a);
/* Whether the value of an expression with these may be another one than without. */
bool attr_changes_value(const Attrs *as);

/* --- Types as written ----------------------------------------------------------------------- */

typedef enum {
    TE_NAME,   /* name args: scalar, type parameter or abbreviation (sizes, then types) */
    TE_ARRAY,  /* dim (NULL: []), elem */
    TE_TUPLE,  /* elems */
    TE_RECORD, /* elems, names as written */
    TE_FUN,    /* pname (or NULL), param, elem = result */
    TE_UNIQUE, /* elem */
    TE_EXISTS, /* sizes: ?[n][m]. elem */
    TE_SIZE,   /* dim: a size argument of TE_NAME */
    TE_SUM,    /* args: for each constructor a TE_TUPLE of what it holds, with its name */
} TypeExpKind;

typedef VEC(TypeExp *) TypeExps;

struct TypeExp {
    TypeExpKind kind;
    int depth; /* of the tree below, for the parser's limit; Pat and AExp too */
    Loc loc;
    const char *name;
    Loc name_loc;  /* TE_FUN: of the parameter's name */
    TypeExps args; /* TE_NAME arguments; elements of tuples and records */
    Names names;
    NameLocs sizes;
    AExp *dim;
    TypeExp *elem, *param;
    Binding
        *bind; /* [check] TE_NAME: what it names, NULL for a scalar; TE_FUN: the named parameter */
};

/* --- Patterns ------------------------------------------------------------------------------- */

typedef enum {
    P_VAR,     /* name, bind */
    P_WILD,    /* _ */
    P_TUPLE,   /* elems; () has none */
    P_RECORD,  /* elems, names: as written; `type` has them sorted */
    P_ASCRIBE, /* pat: te */
    P_LIT,     /* lit: a literal, perhaps with a minus sign (AE_APP) */
    P_CONSTR,  /* name, elems: #name elems */
} PatKind;

struct Pat {
    PatKind kind;
    int depth;
    Loc loc;
    AType *type; /* [check] with `unique` where a parameter is declared so */
    const char *name;
    Binding *bind; /* [check] */
    Pats elems;
    Names names;
    Pat *pat;
    TypeExp *te;
    AExp *lit;
    Attrs attrs;
};

/* --- Expressions ---------------------------------------------------------------------------- */

/* What they hold is said in exps.def. */
typedef enum {
#define EXP(tag, parts) AE_##tag,
#include "frontend/syntax/exps.def"
#undef EXP
} AExpKind;

/* e[...]: a fixed index (`slice` false, `i`), or a slice i:j:s with absent parts NULL. Trailing
 * dimensions may be missing. */
typedef struct {
    bool slice;
    AExp *i, *j, *s;
    Loc loc;
} ADimIndex;
typedef VEC(ADimIndex) ADimIndices;

/* A way into a value: .field or, if that is NULL, [dims]. */
typedef struct {
    const char *field;
    ADimIndices dims;
    AType *of; /* what it is taken of; filled in by the checker */
    Loc loc;
} Step;
typedef VEC(Step) Steps;

typedef enum {
    RANGE_TO,    /* a...b, a..s...b: up to and with b (or down, by the step) */
    RANGE_BELOW, /* a..<b, a..s..<b */
    RANGE_ABOVE, /* a..>b, a..s..>b */
} RangeKind;

typedef enum { ALOOP_FOR, ALOOP_IN, ALOOP_WHILE } ALoopKind;

/* case pat -> body */
typedef struct {
    Pat *pat;
    AExp *body;
    Loc loc;
} Case;
typedef VEC(Case) Cases;

struct AExp {
    AExpKind kind;
    bool parens; /* written in parentheses */
    enum { NOT_PIPED, PIPED_ON /* x |> f */, PIPED_BACK /* f <| x */ } piped; /* an argument */
    int depth;
    const char *open; /* M.(e): the module whose members e may name without it ("A.B"), or NULL */
    Loc open_loc;     /* of its name */
    Loc loc;
    AType *type; /* [check] */
    int zonked;  /* [check] Ck.zonk_round when it was */
    union {
        struct {
            bool is_float;   /* written with a point, an exponent or a float suffix */
            bool checked;    /* [check] its range is right */
            bool suffixed;   /* `scalar` was given by a suffix (or true/false) */
            PrimType scalar; /* [check] final scalar */
            uint64_t bits;   /* integer literals: the value (negation is BI_NEG around it, but a
                              * range check knows); bool 0/1 */
            double fval;     /* float literals; after the check also integers of float type */
        } lit;
        struct {
            const char *name; /* interned; members of modules as "f32.sqrt", "A.B.x" */
            bool atom;     /* it stands by itself, not as an operator, a field or what is updated */
            Binding *bind; /* [check] */
        } var;
        struct {
            const struct Scope *scope; /* [check] the names that are known at it */
        } hole;
        struct {
            AExps elems;
            Names names;
        } seq;
        struct {
            AExp *start, *second, *end; /* second: NULL without a step */
            RangeKind kind;
        } range;
        struct {
            AExp *fn;
            AExps args;
            bool infix; /* written as operator or pipe */
        } app;
        struct {
            AExp *op; /* AE_VAR */
            AExp *arg;
        } opsect;
        struct {
            Pats params;
            TypeExp *ret; /* or NULL */
            AExp *body;
        } lambda;
        struct {
            AExp *e;
            Names names; /* exactly one; tuples: "0", "1", ... */
        } proj;
        struct {
            AExp *e;
            ADimIndices dims;
        } index;
        struct {
            AExp *e, *value; /* NULL in AE_PATHSECT */
            Steps path;
        } update;
        struct {
            AExp *test, *then, *els;
        } cond;
        struct {
            Bindings sizes; /* let [n] ...: bound to sizes of rhs where the pattern's type says */
            NameLocs size_names;
            Pat *pat;
            AExp *rhs, *body;
        } let;
        struct {
            Def *def;
            AExp *body;
        } letfun;
        struct {
            Bindings sizes; /* loop [n] ...: sizes that may differ in each iteration */
            NameLocs size_names;
            Pat *pat;   /* a dimension of pat->type that is SZ_UNKNOWN or one of `sizes` may change
                         * between iterations; the others are those of `init` */
            AExp *init; /* never NULL: implicit initialisers are made explicit by the parser */
            ALoopKind kind;
            Pat *var;    /* ALOOP_FOR: P_VAR, an integer of the type of `bound`; ALOOP_IN: any */
            AExp *bound; /* ALOOP_FOR: n; ALOOP_IN: the array; ALOOP_WHILE: the condition */
            AExp *body;
        } loop;
        struct {
            AExp *e;
            TypeExp *te;
            AType *to; /* [check] */
        } ascribe;
        struct {
            AExp *test, *e;
        } assertion;
        struct {
            Attrs attrs;
            AExp *e;
        } attr;
        struct {
            const char *name;
            AExps elems;
        } constr;
        struct {
            AExp *e;
            Cases cases;
        } match;
    };
};

/* --- Declarations --------------------------------------------------------------------------- */

typedef enum { TP_SIZE, TP_TYPE, TP_TYPE_LIFTED_SIZE, TP_TYPE_LIFTED } TParamKind;

/* A type or size parameter as written: [n] 't '~t '^t. */
typedef struct {
    const char *name;
    Loc loc;
    TParamKind kind;
    Binding *bind; /* [check] */
} TParam;
typedef VEC(TParam) TParams;

/* A value or function, at top level or local (AE_LETFUN). Without params it is a value: at top
 * level a constant, inlined at each use. */
struct Def {
    const char *name; /* operators: "+^" */
    Loc loc;          /* of the name */
    Loc span;         /* of the whole definition */
    bool entry, local, infix;
    const char *doc; /* text of the `-- |` comment above, or NULL */
    Attrs attrs;
    TParams tparams;
    Pats params;
    TypeExp *ret; /* or NULL */
    AExp *body;
    Binding
        *bind; /* [check] bind->type: the whole type; bind->tparams: what it is polymorphic in */
    AType *ret_type; /* [check] declared or inferred; sizes in it may be parameters by name */
    bool wrong;      /* [check] an error was reported in it, or in what it uses */
    bool recursive;  /* [check] its body mentions it, or what mentions it */
    Binding *early; /* [check] what it is to those above that it calls, too, before it is checked */
};

/* --- ast_walk.c: the parts of nodes --------------------------------------------------------- */

/* What is done to each part that lies directly in a node, if it is there; it may put another one in
 * its place. NULL: nothing. */
typedef struct {
    void *env;
    void (*exp)(void *env, AExp **e);
    void (*pat)(void *env, Pat **p);
    void (*type)(void *env, TypeExp **t);
    void (*found)(void *env, AType **t); /* [check] but AExp.type */
    void (*size)(void *env, Binding *b); /* [check] let [n], loop [n] */
    void (*def)(void *env, Def **d);     /* NULL: the parts of the definition */
    /* Of each list, before what is in it: the memory that it shall have. */
    void *(*list)(void *env, void *at, size_t bytes);
} TreeParts;

void aexp_parts(AExp *e, const TreeParts *p);
void pat_parts(Pat *pat, const TreeParts *p);
void texp_parts(TypeExp *t, const TreeParts *p);
void def_parts(Def *d, const TreeParts *p);
/* Calls fn for each expression directly in e; not for those in patterns and types as written. */
void aexp_children(const AExp *e, void (*fn)(void *env, AExp *child), void *env);

typedef struct TypeDecl {
    const char *name;
    Loc loc;
    TParamKind lifted; /* type, type~ or type^ */
    bool eased;        /* [check] said to be less where it is declared: so may be what holds it */
    const char *doc;   /* as of a Def */
    TParams tparams;
    TypeExp *te;
    Binding *bind;
    AType *type;        /* [check] in terms of tparams; anonymous sizes in it are unbound
                         * variables (SZ_META). NULL: an abstract type */
    bool acc;           /* [check] abstract: the type of accumulators, which stands for nothing */
    const char *module; /* [check] abstract: the module that it is of, for messages, or NULL */
    struct TypeDecl *means; /* [check] abstract: what it stands for; NULL in a parameter */
} TypeDecl;

/* An import, as a declaration or as a module. */
typedef struct {
    const char *path; /* as written */
    Loc loc;
    struct File *file; /* when loaded; NULL if it was not found */
} Import;

typedef enum { D_DEF, D_TYPE, D_IMPORT, D_MODULE, D_MODTYPE, D_OPEN } DeclKind;
typedef struct {
    DeclKind kind;
    bool local; /* not known outside of this file or module */
    bool open;  /* D_IMPORT: known there as well */
    Loc loc;
    const char *name; /* D_MODULE, D_MODTYPE */
    Loc name_loc;
    const char *doc; /* D_MODULE, D_MODTYPE: as of a Def */
    Def *def;
    TypeDecl *type;
    Import *import;   /* D_IMPORT */
    ModExp *mod;      /* D_MODULE, D_OPEN */
    ModType *modtype; /* D_MODTYPE */
    Module *opened;   /* [check] D_OPEN, D_IMPORT; NULL after errors */
    Binding *bind;    /* [check] D_MODULE, D_MODTYPE */
} Decl;
typedef VEC(Decl) Decls;

/* --- Modules -------------------------------------------------------------------------------- */

/* (name: type), of a parametric module or of its type (there perhaps without a name: NULL). */
typedef struct {
    const char *name;
    Loc loc;
    ModType *type;
    Loc span;
} ModParam;
typedef VEC(ModParam) ModParams;

typedef enum {
    ME_NAME,    /* name: "A.B" */
    ME_DECLS,   /* decls: { ... } */
    ME_ASCRIBE, /* e : type */
    ME_APPLY,   /* e arg */
    ME_LAMBDA,  /* \ param -> e; also module f (p: t) = e */
    ME_IMPORT,  /* import "path" */
} ModExpKind;

struct ModExp {
    ModExpKind kind;
    int depth;
    Loc loc;
    const char *name;
    Decls decls;
    ModExp *e, *arg;
    ModType *type;
    ModParam param;
    Import *import;
    ModExp *unchecked; /* [check] ME_LAMBDA: e as the parser made it, for applications */
};

typedef enum { SPEC_VAL, SPEC_TYPE, SPEC_MODULE, SPEC_INCLUDE } SpecKind;

/* What a module of some type has. */
typedef struct {
    SpecKind kind;
    const char *name;
    Loc loc;           /* of the name */
    const char *doc;   /* as of a Def */
    TParamKind lifted; /* SPEC_TYPE */
    TParams tparams;   /* SPEC_VAL, SPEC_TYPE */
    TypeExp *te;       /* SPEC_VAL; SPEC_TYPE: NULL if it is abstract */
    ModType *mtype;    /* SPEC_MODULE, SPEC_INCLUDE */
} Spec;
typedef VEC(Spec *) Specs;

typedef enum {
    MT_NAME,  /* name: "A.s" */
    MT_SPECS, /* specs: { ... } */
    MT_WITH,  /* e with name tparams = te */
    MT_FUN,   /* (param) -> e */
} ModTypeKind;

struct ModType {
    ModTypeKind kind;
    int depth;
    Loc loc;
    const char *name;
    Loc name_loc; /* MT_WITH */
    Specs specs;
    ModType *e;
    ModParam param;
    TParams tparams;
    TypeExp *te;
};

typedef VEC(struct File *) Files;
typedef struct File {
    const char *path;
    const char *real; /* the same for all names of the file (import_path.h) */
    const char *text; /* n bytes, which begin at `base` in the table of all sources */
    size_t n;
    uint32_t base;
    bool parsed;     /* without a syntax error */
    bool unfinished; /* its first syntax error is that it ends */
    bool exp;        /* an expression, of which a definition was made */
    bool bare;       /* a piece of a session: others see what is local or imported in it, too */
    Decls decls;
    VEC(Import *) imports; /* all, those inside modules too */
    int state;             /* of loading and of checking, for cycles */
    Module *module;        /* [check] what it defines */
} File;

/* --- Entry points --------------------------------------------------------------------------- */

typedef struct {
    const char *name;  /* of the parameter, or "arg0", ... */
    AType *type;       /* `unique`: the caller's value is consumed */
    const TypeExp *te; /* as written in the signature; NULL: not there */
    Loc loc;
} EntryParam;

typedef struct {
    Def *def;
    const char *name;
    VEC(EntryParam) params;
    AType *result; /* one value; a tuple counts as several results */
    VEC(EntryParam)
    results; /* components of a result written as a tuple or not at all, else the one; ()
              * has none */
} EntryPoint;

/* Where a name stands that no node of the tree has room for: of a module or a type of modules, of a
 * type, in a module type; part k of A.B.c at loc. */
typedef struct {
    Loc loc;
    int part;
    Binding *bind;
} NameUse;
typedef VEC(NameUse) NameUses;

/* What a module type asks for, and what a module has for it: two names that must be one. */
typedef struct {
    Loc asked, given;
} NameMatch;

/* A whole program: the file, its imports, in the order of definition. */
typedef struct Ast {
    Arena *arena;
    File *main;
    Files files;
    File *prelude;           /* [check] which all know */
    Defs defs;               /* [check] top-level definitions in dependency order */
    VEC(EntryPoint) entries; /* [check] of the main file */
    int n_bindings;          /* [check] uids are below */
    bool syntax_ok;          /* no errors while loading */
    bool recursive;          /* [check] there are functions that call themselves */
    NameUses *uses;          /* [check] for editors, in any order; NULL: nobody asks for them */
    bool names_only;         /* for editors: what comes after types is left out */
    VEC(NameMatch) matches;  /* [check] if there are `uses` */
    struct Ck *checker;      /* [check] who did it, for files besides, and for other texts */
    int loaded;              /* files, but for those besides */
    DiagMessages said;       /* [check] all, if there are `uses`; */
    int said_parsed;         /* the first so many by the parser */
    struct Ast *before;      /* the tree of another text of the main file, whose checker goes on
                              * here, ... */
    int kept;                /* ... and so many of whose declarations are those of this one, */
    Loc gone;                /* all but those in this part */
} Ast;

/* --- Copies of trees: each application of a parametric module checks its own --- */

ModExp *clone_module(Arena *a, const ModExp *m);
TypeExp *clone_type(Arena *a, const TypeExp *t);
TParams clone_tparams(Arena *a, TParams tps);

#endif
