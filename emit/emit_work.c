/* The call that follows a launch and tells what it must move and compute: sums of products, written
 * as such, in floating point, where nothing overflows and some digits are enough. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

/* The text begun so far, and what comes after it: "" or " +" or ",". */
static void push(Emit *em, Texts *pieces, const char *text, const char *end)
{
    vec_push(em->cx->scratch, pieces, arena_printf(em->cx->scratch, "%s%s", text, end));
}

/* Takes a product apart into a number and the names in it. */
static void factors(Emit *em, const KExp *a, double *number, const char **names)
{
    if (a->kind == KE_CONST) {
        *number *= (double)a->c.i;
    } else if (a->kind == KE_HOST) {
        *names = arena_printf(em->cx->scratch, "%s * %s", *names, var_c_name(a->host));
    } else {
        if (sx_kind(a) != SX_MUL)
            ice(NO_LOC, "work is a sum of products, or the least of two");
        factors(em, sx_left(a), number, names);
        factors(em, sx_right(a), number, names);
    }
}

static const char *product_c(Emit *em, const KExp *a)
{
    double number = 1;
    const char *names = "";
    factors(em, a, &number, &names);
    return arena_printf(em->cx->scratch, "%.1f%s", number, names);
}

/* A sum's terms, a piece each; `end` comes after the last. */
static void terms(Emit *em, const KExp *a, Texts *pieces, const char *end)
{
    if (sx_kind(a) == SX_ADD) {
        terms(em, sx_left(a), pieces, " +");
        terms(em, sx_right(a), pieces, end);
    } else if (sx_kind(a) == SX_MIN) {
        push(em, pieces, arena_printf(em->cx->scratch, "fmin(%s", product_c(em, sx_left(a))), ",");
        push(em, pieces, arena_printf(em->cx->scratch, "%s)", product_c(em, sx_right(a))), end);
    } else {
        push(em, pieces, product_c(em, a), end);
    }
}

void emit_work(Fn *f, const HostOp *op)
{
    enum { COLUMNS = 100 };
    if (!op->bytes || (kx_is_int(op->bytes, 0) && kx_is_int(op->operations, 0)))
        return;
    Texts pieces = {0};
    push(f->em, &pieces, kernel_enum(op->kernel), ",");
    terms(f->em, op->bytes, &pieces, ",");
    terms(f->em, op->operations, &pieces, ");");
    size_t indent = 4 * (size_t)f->o->indent, at = indent + 12;
    out_puts(f->o, "rt_work(ctx,");
    for (int i = 0; i < pieces.n; i++) {
        size_t n = strlen(pieces.at[i]) + 1;
        bool wrap = at + n > COLUMNS;
        if (wrap)
            out_printf(f->o, "\n%*s", 8, "");
        at = wrap ? indent + 7 + n : at + n;
        out_printf(f->o, "%s%s", wrap ? "" : " ", pieces.at[i]);
    }
    out_puts(f->o, "\n");
}
