/* What all parts of a run do: they ask for what its slots hold, and stop it. */
#include "interp/code.h"

#include <stdlib.h>

void interp_fail(Interp *in, InterpStatus st, Loc loc, const char *fmt, ...)
{
    Out o = {0};
    va_list ap;
    out_puts(&o, st == INTERP_USER ? "Error: " : "");
    va_start(ap, fmt);
    out_vprintf(&o, fmt, ap);
    va_end(ap);
    if (loc.beg)
        out_printf(&o, "\n%s:", diag_place_str(loc));
    free(in->message);
    in->message = out_take(&o);
    in->status = st;
    in->fail_loc = loc;
    longjmp(in->on_fail, 1);
}

void interp_stop(Interp *in, Loc loc, const char *text, const int64_t *numbers, int n)
{
    Out o = {0};
    stop_print(&o, text, numbers, n);
    interp_fail(in, INTERP_USER, loc, "%s", out_keep(&o, in->mem));
}

/* --- Slots ---------------------------------------------------------------------------------- */

Arr *interp_array(Interp *in, int32_t slot, Loc loc)
{
    Arr *a = in->slots[slot].a;
    if (!a)
        interp_fail(in, INTERP_BUG, loc,
                    "an array is used after it was consumed, or before it is bound");
    return a;
}

Val interp_take_array(Interp *in, Opd o, Loc loc)
{
    Val v = {.a = interp_array(in, o.slot, loc)};
    if (o.move)
        in->slots[o.slot].a = NULL;
    else
        v.a->refs++;
    return v;
}

void interp_shape(Interp *in, const Shape *s, int64_t *n)
{
    for (int d = 0; d < s->rank; d++)
        n[d] = in->slots[s->dims[d]].i;
}
