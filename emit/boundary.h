/* What a program offers to those who call it, as data: types, and entries with their parameters and
 * results. The tables of the runtime, the functions of libraries and their manifest are made from
 * it. */
#ifndef EMIT_BOUNDARY_H
#define EMIT_BOUNDARY_H

#include "plan/plan.h"

typedef VEC(int) Ints;

typedef enum { BT_PRIM, BT_ARRAY, BT_RECORD, BT_SUM, BT_OPAQUE } BTypeKind; /* as rt_kind */

typedef struct {
    const char *name;
    Ints types;  /* what it holds */
    Ints places; /* and which of the sum's values that is */
} BVariant;

/* A type; its id is its place in the list. */
typedef struct {
    const char *name; /* "[][]f32", "pt", "[]pt", "(f32, i32)" */
    const char *text; /* its structure: "{x: f32, y: f32}" */
    const char *doc;  /* of its declaration; NULL: none */
    BTypeKind kind;
    PrimType prim;          /* BT_PRIM, BT_ARRAY */
    int rank;               /* BT_ARRAY, BT_OPAQUE */
    Texts field_names;      /* BT_RECORD, BT_OPAQUE: arrays of records have a field's elements as an
                               array */
    Ints fields;            /* their types */
    VEC(BVariant) variants; /* BT_SUM */
    Types values;           /* BT_SUM: the number of a variant, what they hold */
    int elem;               /* BT_OPAQUE: the type of an element, -1 if it is not described */
} BType;

typedef struct {
    const char *name; /* of the parameter; NULL: none */
    int type;
    bool unique;
} BSlot;
typedef VEC(BSlot) BSlots;

typedef struct {
    const EntryPlan *plan;
    BSlots in, out;
    Ints params; /* ids of the tuning parameters that it uses */
} BEntry;

typedef struct {
    VEC(BType) types; /* a type comes after those that it is made of */
    VEC(BEntry) entries;
} Boundary;

Boundary *boundary_new(Ctx *cx, const Plan *p);

#endif
