/* Messages: types and sizes in them, and what a mismatch is told by. */
#include "frontend/types/types.h"

#include <stdarg.h>
#include <string.h>

/* Notes where the sizes arose that a message was the first to give names, if that is elsewhere. */
static void say_sizes(Ck *ck, Loc elsewhere)
{
    const SizeNames *ns = &ck->size_names;
    int i = ck->sizes_said;
    ck->sizes_said = ns->n;
    while (i < ns->n) {
        Loc loc = ns->at[i].loc;
        const char *names = arena_printf(ck->a, "`%s`", ns->at[i].name);
        while (++i < ns->n && ns->at[i].loc.beg == loc.beg)
            names = arena_printf(ck->a, "%s and `%s`", names, ns->at[i].name);
        bool one = !strchr(names, ' ');
        if (loc.beg && loc.beg != elsewhere.beg)
            diag_note(loc, one ? "the size %s arises here" : "the sizes %s arise here", names);
    }
}

void ck_error(Ck *ck, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_error(loc, "%s", arena_vprintf(ck->a, fmt, ap));
    va_end(ap);
    say_sizes(ck, loc);
}

void ck_note(Ck *ck, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_note(loc, "%s", arena_vprintf(ck->a, fmt, ap));
    va_end(ap);
}

const char *show(Ck *ck, const AType *t)
{
    return type_str_with(ck->a, t, &ck->size_names);
}

const char *show_size(Ck *ck, const Size *s)
{
    return size_str_with(ck->a, s, &ck->size_names);
}

/* --- Types in messages ---------------------------------------------------------------------- */

const char *class_words(TypeClass c)
{
    switch (c) {
    case TC_ANY: return "any type";
    case TC_SIZED: return "a value other than a function";
    case TC_VALUE: return "something that an array can hold";
    case TC_EQ: return "a type that can be compared";
    case TC_PRIM: return "a scalar";
    case TC_BITS: return "an integer or bool";
    case TC_NUM: return "a number";
    case TC_INT: return "an integer";
    case TC_FLOAT: return "a floating-point number";
    }
    return "?";
}

static void offer(Ck *ck, Loc loc, PrimType to, PrimType from)
{
    diag_fix_around(loc, arena_printf(ck->a, "(%s.%s (", prim_type_text[to], prim_type_text[from]),
                    "))");
}

void offer_conversion(Ck *ck, Loc loc, const AType *want, const AType *have)
{
    want = type_deref(want);
    have = type_deref(have);
    if (!*conversion(ck, want, have))
        return;
    if (want->kind == TY_SCALAR) {
        offer(ck, loc, want->scalar, have->scalar);
        return;
    }
    for (int to = 0; to < N_PRIM_TYPES; to++) /* those that conversion names */
        if (prim_is_float((PrimType)to) && prim_bits((PrimType)to) >= 32)
            offer(ck, loc, (PrimType)to, have->scalar);
}

const char *conversion(Ck *ck, const AType *want, const AType *have)
{
    want = type_deref(want);
    have = type_deref(have);
    bool wants_float = want->kind == TY_META && want->meta.cls == TC_FLOAT;
    if (wants_float && have->kind == TY_SCALAR && prim_is_int(have->scalar))
        return arena_printf(ck->a, "; convert it with `f32.%s` or `f64.%s`",
                            prim_type_text[have->scalar], prim_type_text[have->scalar]);
    if (want->kind != TY_SCALAR || have->kind != TY_SCALAR || want->scalar == T_BOOL)
        return "";
    return arena_printf(ck->a, "; convert it with `%s.%s`", prim_type_text[want->scalar],
                        prim_type_text[have->scalar]);
}

const char *said(Ck *ck, const AType *t)
{
    const AType *d = type_deref(t);
    return d->kind == TY_META && d->meta.cls > TC_VALUE ? class_words(d->meta.cls)
                                                        : arena_printf(ck->a, "`%s`", show(ck, t));
}

const char *because(Ck *ck, const AType *want, const AType *have)
{
    const AType *w = type_deref(want), *h = type_deref(have);
    if (w->kind == TY_FUN && h->kind == TY_FUN && type_arity(w) != type_arity(h) &&
        type_deref(type_result(w))->kind != TY_META)
        return arena_printf(ck->a, " (it takes %d argument%s, not %d)", type_arity(h),
                            type_arity(h) == 1 ? "" : "s", type_arity(w));
    if (!ck->why || ((w->kind == TY_META || h->kind == TY_META) && !ck->why_more))
        return "";
    return arena_printf(ck->a, " (%s)", ck->why);
}

void note_default(Ck *ck, const AExp *e)
{
    while (e->kind == AE_APP)
        e = e->app.fn;
    const Binding *b = e->kind == AE_VAR ? e->var.bind : NULL;
    if (b && b->by_default && !ck->why)
        ck_note(ck, b->loc,
                "nothing here says of which type the numbers of `%s` are: it is `%s` by default",
                b->name, show(ck, b->type));
}
