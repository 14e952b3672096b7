/* Libraries from outside: the names and functions that a program's types and entries have in
 * Futhark's C API. */
#ifndef EMIT_API_H
#define EMIT_API_H

#include "emit/boundary.h"

/* A function: how it is declared, without semicolon, and what it does, a statement a line. */
typedef struct {
    const char *name; /* "futhark_new_f32_2d" */
    const char *proto;
    const char *body;
} ApiFn;

/* What can be done with a type, by the names that manifests have for it: */
#define API_OPS(X)                                                                                 \
    X(FREE, "free")                                                                                \
    X(SHAPE, "shape")                                                                              \
    X(VALUES, "values")                                                                            \
    X(NEW, "new")                                                                                  \
    X(NEW_RAW, "new_raw")                                                                          \
    X(VALUES_RAW, "values_raw")                                                                    \
    X(INDEX, "index")                                                                              \
    X(STORE, "store")                                                                              \
    X(RESTORE, "restore")                                                                          \
    X(SET, "set")                                                                                  \
    X(ZIP, "zip")                                                                                  \
    X(VARIANT, "variant")
#define API_OP(id, name) OP_API_##id,
typedef enum { API_OPS(API_OP) N_API_OPS } ApiOp;
#undef API_OP

/* A variant of a sum: a sum is made of what it holds, and the other way. */
typedef struct {
    ApiFn construct, destruct;
} ApiVariant;

/* A type that is no scalar. */
typedef struct {
    int type;             /* its id */
    const char *c_name;   /* "futhark_f32_2d" */
    ApiFn ops[N_API_OPS]; /* name NULL: there is no such */
    Ints order; /* of records, and arrays of them: the fields as `new` and `zip` take them */
    VEC(ApiFn) project; /* by field */
    VEC(ApiVariant) variants;
} ApiType;

typedef struct {
    Ctx *cx;
    const Boundary *b;
    const Plan *plan;
    Texts short_names; /* by type: "f32_2d", "opaque_point" */
    VEC(ApiType) types;
    VEC(ApiFn) entries; /* as in the boundary */
} Api;

/* A type's name in C, which begins with "opaque_" and is none of those that are taken (of m.t and
 * m_t, the first one has a readable one); that of a field, variant or entry as part of a
 * function's: api_names.c. */
const char *api_opaque_name(Ctx *cx, const char *name, const Texts *taken);
const char *api_member_name(Ctx *cx, const char *name);

Api *api_new(Ctx *cx, const Boundary *b, const Plan *p);
/* The declarations that follow the runtime's in the header; the functions; the manifest,
 * as JSON. */
void api_header(Out *o, const Api *api);
void api_functions(Out *o, const Api *api);
void api_manifest(Out *o, const Api *api); /* api_manifest.c */

#endif
