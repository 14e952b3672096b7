/* Expressions of script inputs, as Futhark's test files have them (FutharkScript):
 *
 *     expr: f atom .. atom | let x = expr in expr | let (x, y) = expr in expr | atom
 *     atom: VALUE | "text" | f | (expr, .., expr) | {field = expr, ..}
 *           | $loaddata "file" | $loadbytes "file", also as io.loaddata and io.loadbytes
 *
 * f is an entry point of the program or a name bound by `let`. As Futhark 0.28 has it, a script is
 * any expression of the language: what is not of these forms, and has no `$`, is taken for one. */
#ifndef AUTOTUNE_DATA_SCRIPT_H
#define AUTOTUNE_DATA_SCRIPT_H

#include "base/diag.h"
#include "base/vec.h"
#include "common/values.h"

#include <stddef.h>

typedef enum {
    SCRIPT_CALL,   /* name, parts: the arguments */
    SCRIPT_VALUE,  /* text[0..n): a value as in an input */
    SCRIPT_STRING, /* text[0..n): its bytes, an array of u8 */
    SCRIPT_DATA,   /* name: the file whose values these are */
    SCRIPT_BYTES,  /* name: the file whose bytes these are */
    SCRIPT_TUPLE,  /* parts; of one part: that part */
    SCRIPT_RECORD, /* parts, names */
    SCRIPT_LET,    /* names, parts: what is bound to them, and the body */
    SCRIPT_CODE /* text[0..n): none of these, but perhaps an expression of the language; name: what
                 * is wrong about it, at loc, if it is none, or cannot be one */
} ScriptKind;

typedef struct Script Script;
typedef VEC(Script *) Scripts;
struct Script {
    ScriptKind kind;
    Loc loc;
    const char *name;
    const char *text;
    size_t n;
    Scripts parts;
    VEC(const char *) names;
};

/* Parses text[0..n), which begins at `loc`. File names are taken relative to `folder`, which ends
 * in a slash or is "". NULL after a message. */
Script *script_parse(Arena *a, const char *text, size_t n, Loc loc, const char *folder);

/* Signed integers in a script stand for numbers of any type: `from` with elements of that type.
 * False for other values, what does not fit, and where there is no memory. */
bool script_convert(const rt_hvalue *from, rt_prim prim, rt_hvalue *to);

/* The bytes that a string has, or the file of a SCRIPT_BYTES, as an array of u8. NULL or what is
 * wrong; `stopped` (or NULL) is asked now and then. */
const char *script_bytes(Arena *a, const Script *s, bool (*stopped)(void), rt_hvalue *v);

/* What is wrong where a call's function is no entry point. */
const char *script_no_entry(Arena *a, const Script *call);

#endif
