/* The scalar types in the compiler, from the table that the runtime has too (common/scalars.def).
 */
#ifndef COMMON_PRIM_H
#define COMMON_PRIM_H

#include "common/scalars.def"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define X(TAG, ...) T_##TAG,
    RT_SCALARS(X, )
#undef X
        N_PRIM_TYPES
} PrimType;

typedef enum { PK_BOOL, PK_SIGNED, PK_UNSIGNED, PK_FLOAT } PrimKind;

/* The name in programs, the bytes of one in memory, and the kind. */
extern const char *const prim_type_text[N_PRIM_TYPES];
extern const int prim_type_bytes[N_PRIM_TYPES];
extern const PrimKind prim_type_kind[N_PRIM_TYPES];

/* The type with this name; false if there is none. */
bool prim_named(const char *name, PrimType *t);
/* The type of that kind which has as many bits as another one; N_PRIM_TYPES if there is none. */
PrimType prim_like(PrimKind kind, PrimType like);

static inline int prim_bits(PrimType t)
{
    return 8 * prim_type_bytes[t];
}
static inline bool prim_is_float(PrimType t)
{
    return prim_type_kind[t] == PK_FLOAT;
}
/* Has it functions in the place of C's operators and casts (common/scalars.def)? */
bool prim_is_soft(PrimType t);
static inline bool prim_is_signed(PrimType t)
{
    return prim_type_kind[t] == PK_SIGNED;
}
static inline bool prim_is_int(PrimType t)
{
    return prim_type_kind[t] == PK_SIGNED || prim_type_kind[t] == PK_UNSIGNED;
}

/* Of a type of floats: the number nearest to x, and to the one that the text is. */
double prim_round(PrimType t, double x);
double prim_read(PrimType t, const char *text);
/* Of a type of integers or bool: what is left of i in the bits of one, extended again by sign or by
 * zeros; of bool, i != 0. */
int64_t prim_wrap(PrimType t, int64_t i);

#endif
