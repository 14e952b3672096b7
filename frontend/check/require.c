/* What is required of the type of an expression, and the message if it is another one. */
#include "frontend/check/check.h"

#include <string.h>

/* The types look alike, and only sizes without a name differ: shows where these come from. */
static void size_error(Ck *ck, Loc loc, const char *what)
{
    ck_error(ck, loc, "%s may have another size than is needed here", what);
    if (!ck->why_b.beg)
        return;
    ck_note(ck, ck->why_a, "the one size is made up here,");
    ck_note(ck, ck->why_b, "the other one here; claim that they are equal by `e :> t`");
}

bool agree(Ck *ck, AType *want, AType *have)
{
    ck_try(ck);
    return ty_unify(ck, want, have);
}

bool require(Ck *ck, AExp *at, AType *want, AType *have, const char *what)
{
    return agree(ck, want, have) || disagree(ck, at, want, have, what);
}

bool disagree(Ck *ck, AExp *at, AType *want, AType *have, const char *what)
{
    AType *w = type_deref(want);
    const char *why = because(ck, want, have), *shown = show(ck, have);
    if (w->kind == TY_META && w->meta.cls == TC_VALUE && ty_has_fun(have))
        ck_error(ck, at->loc, "%s is or holds a function (`%s`), which cannot be stored", what,
                 shown);
    else if (w->kind == TY_META && w->meta.cls >= TC_VALUE && !ck->why_more)
        ck_error(ck, at->loc, "%s should be %s, but is %s", what, class_words(w->meta.cls),
                 said(ck, have));
    else if (ck->why_a.beg && !strcmp(show(ck, ty_plain(ck, want)), show(ck, ty_plain(ck, have))))
        size_error(ck, at->loc, what);
    else {
        ck_error(ck, at->loc, "%s should be %s, but is %s%s", what, said(ck, want), said(ck, have),
                 *why ? why : conversion(ck, w, have));
        if (!*why)
            offer_conversion(ck, at->loc, w, have);
    }
    note_default(ck, at);
    if (ck->why_varies)
        ck_note(ck, at->loc,
                "if the sizes are equal, say so: `... :> [n]t` with a size `n` from outside");
    return false;
}

bool check_is(Ck *ck, AExp *e, AType *want, const char *what)
{
    return require(ck, e, want, check_against(ck, e, want), what);
}

bool value_only(Ck *ck, AType *t, Loc loc, const char *what)
{
    ck->why = NULL;
    if (ty_unify(ck, ty_meta(ck, TC_SIZED, loc), t))
        return true;
    ck_error(ck, loc, "%s may not result in a function, but this one is `%s`", what, show(ck, t));
    return false;
}
