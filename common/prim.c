/* The scalar types in the compiler: columns of the table, and numbers as their types have them. */
#include "common/prim.h"

#include "common/scalar.h"
#include "common/values.h"

#include <string.h>

const char *const prim_type_text[N_PRIM_TYPES] = {
#define X(TAG, T, text, ...) [T_##TAG] = text,
    RT_SCALARS(X, )
#undef X
};
const int prim_type_bytes[N_PRIM_TYPES] = {
#define X(TAG, T, text, bits, ...) [T_##TAG] = (bits) / 8,
    RT_SCALARS(X, )
#undef X
};
const PrimKind prim_type_kind[N_PRIM_TYPES] = {
#define X(TAG, ...) [T_##TAG] = PK_BOOL,
    RT_BOOLS(X, )
#undef X
#define X(TAG, ...) [T_##TAG] = PK_SIGNED,
        RT_SIGNED(X, )
#undef X
#define X(TAG, ...) [T_##TAG] = PK_UNSIGNED,
            RT_UNSIGNED(X, )
#undef X
#define X(TAG, ...) [T_##TAG] = PK_FLOAT,
                RT_FLOATS(X, )
#undef X
};

bool prim_is_soft(PrimType t)
{
    switch ((int)t) {
#define X(TAG, ...)                                                                                \
    case T_##TAG: return true;
        RT_SOFT_FLOATS(X, )
#undef X
    }
    return false;
}

bool prim_named(const char *name, PrimType *t)
{
    for (int i = 0; i < N_PRIM_TYPES; i++) {
        if (strcmp(prim_type_text[i], name) == 0) {
            *t = (PrimType)i;
            return true;
        }
    }
    return false;
}

PrimType prim_like(PrimKind kind, PrimType like)
{
    for (int i = 0; i < N_PRIM_TYPES; i++)
        if (prim_type_kind[i] == kind && prim_type_bytes[i] == prim_type_bytes[like])
            return (PrimType)i;
    return N_PRIM_TYPES;
}

double prim_round(PrimType t, double x)
{
    switch ((int)t) {
#define X(TAG, T, text, bits, C, ...)                                                              \
    case T_##TAG: return mf_##T##_to_f64(mf_f64_to_##T(x));
        RT_FLOATS(X, )
#undef X
    }
    return x;
}

double prim_read(PrimType t, const char *text)
{
    return rt_float_read((rt_prim)t, text);
}

int64_t prim_wrap(PrimType t, int64_t i)
{
    int unused = 64 - prim_bits(t);
    uint64_t up = (uint64_t)i << unused;
    if (t == T_BOOL)
        return i != 0;
    return prim_is_signed(t) ? (int64_t)up >> unused : (int64_t)(up >> unused);
}
