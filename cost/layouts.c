#include "cost/layouts.h"

/* Bytes of a transaction, and of arrays that caches hold. */
enum { TRANSACTION = 32, CACHED = 64 * 1024 };

int cost_access(WantKind kind, bool right, int once)
{
    switch (kind) {
    case WANT_ONCE: return right ? RIGHT : once;
    case WANT_AGAIN: return right ? RIGHT : AGAIN;
    case WANT_PART: return right ? 0 : SOME;
    case WANT_GUESS: return right ? 0 : GUESSED;
    }
    return 0;
}

bool cost_together(int64_t bytes)
{
    return bytes <= TRANSACTION;
}

const KExp *cost_copy_pays(Ctx *cx, const KExp *stride, const KExp *n, int bytes)
{
    const KExp *apart = sx_op(cx, SX_DIV, stride, sx_const(cx, TRANSACTION / bytes));
    const KExp *large = sx_op(cx, SX_DIV, n, sx_const(cx, CACHED / bytes));
    return sx_mul(cx, sx_size(cx, SIZE_COALESCES), sx_op(cx, SX_MIN, apart, large));
}
