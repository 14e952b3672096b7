/* Kernels as text, there and back. The tables that print.c and read.c share are syntax.c.
 *
 *   kernels  = (function | kernel)*
 *   function = "function" NAME formal* block            before who calls it; printed before each
 *                                                       kernel that does
 *   kernel   = "kernel" NAME [STRING] ["at" STRING]     what it does; where that is in the program
 *              ["may_fail"] ["alone"] ["sized"] ["columns_later" | "columns_behind" | "columns"]
 *              ["vectors" INT] ["heap_of" PRIM+] ["narrow"]
 *              (formal | "slice" NAME "of" exp | "when" exp)* block
 *   formal   = "failure" | "mem" buffer | "scalar" NAME ":" type ["steady"]
 *            | "local" buffer ["steady"] | "heap" buffer "," NAME ":" type
 *   buffer   = NAME ":" space PRIM ["[" INT "]"] ["read_only"] ["no_alias"] ["write_any"]
 *              ["own_writes"] ["padded"] ["unshared"] ["align" INT]
 *   type     = (PRIM | "index") ["x" LANES]                          f32, f32x4, index
 *   block    = "{" stm* "}"
 *   stm      = WORD, and what the kind's row in syntax.c says
 *
 *   exp      = exp INFIX exp             + - * / % are exact; == != < <= && || of any operands
 *            | "!" exp | "(" exp ")"
 *            | exp "." INT               the INT-th of a vector
 *            | CONST                     5 -1i8 true 1.5f32 f64.nan; without suffix an i64
 *            | NAME                      a variable, else a number that the work-item finds:
 *            | ID ["." INT]              group_id, local_id.1
 *            | OP "." PRIM "(" exp,* ")" an operation of the language: add.f32(x, y)
 *            | OP "(" exp,* ")"          the same, exact: min(x, y)
 *            | "saturate" "." OP "(" exp,* ")"
 *            | "conv" "." type "(" exp ")"
 *            | "select" "(" exp "," exp "," exp ")"
 *            | "vector" "(" exp,* ")"
 *
 * Comments run from "--" to the end of the line. White space does not matter. */
#ifndef KIR_TEXT_TEXT_H
#define KIR_TEXT_TEXT_H

#include "kir/kir.h"

/* --- syntax.c ------------------------------------------------------------------------------- */

/* What stands in a statement behind its word, in order; every other item stands for itself.
 *   "V" variable bound, "V=" the same and "=", may be missing; "v" variable changed; "top"
 *   "B" buffer declared; "b" buffer;"of"  whose memory;  "@" element x[0] of buf
 *   "0" "1" "2" operands;  "=0" "at0" with a word before, may be missing;  "by" the step of a FOR
 *   "op" of an ATOMIC;  "unroll";  "likely";  "label";  "target";  "fence";  "site";  "args";
 * "text";  "fun"
 *   "with" buffer `with`; "with@" its element x[1]; "pitch" INT of the first; "tile": ROWS COLS
 * "half" INT "k" INT, of each of the two its pitch and if it is "turned"
 *   "{" block;  "else" second block, may be missing */
typedef struct {
    KStmKind kind;
    bool post;
    const char *word;
    const char *items; /* a blank between two */
} KSyntax;
enum { N_KSYNTAX = N_KSTMS + 1 };
extern const KSyntax ksyntax[N_KSYNTAX]; /* by kind; behind them the do-while */
const KSyntax *ksyntax_of(const KStm *s);
/* The next of the items at *at as a string of its own; false when there is none. */
enum { KITEM_MOST = 16 };
bool ksyntax_item(const char **at, char item[KITEM_MOST]);

typedef struct {
    PrimOp op;
    bool exact;
    const char *sign;
    int level; /* a higher one binds tighter; operands on the right one more than it */
} KInfix;
enum { KL_LOWEST, KL_OR, KL_AND, KL_COMPARE, KL_SUM, KL_PRODUCT, KL_UNARY, KL_PRIMARY };
extern const KInfix kinfixes[];
extern const int n_kinfixes;

extern const char *const kcolumns_word[N_KCOLUMNS]; /* with a blank before */
extern const char *const kformal_word[];
extern const int n_kformals;
extern const char kxchg_word[]; /* for the ATOMIC that only exchanges */

/* --- print.c -------------------------------------------------------------------------------- */

void kir_print(Out *o, const KFun *f);
/* The first line of a statement, for messages; interned. */
const char *kstm_text(const KStm *s);
const char *ktype_text(KType t);

/* --- read.c --------------------------------------------------------------------------------- */

/* Reads the kernels of a text, which becomes source `name`; says what is wrong in messages about
 * it. What the kernels do is not checked (verify.c). False on error. */
bool kir_read(Ctx *cx, const char *name, const char *text, size_t n, KFuns *out);

#endif
