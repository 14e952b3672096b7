/* Sum types: constructors, patterns of them, match. A constructor does not say which type it is of:
 * what surrounds it does. Where that is not known yet, it becomes something that is wanted of the
 * type (Wanted). */
#include "frontend/check/check.h"

/* --- Constructors --------------------------------------------------------------------------- */

/* Of a type that is known. The sizes wanted are not required here, as nothing is of what is
 * expected. */
static AType *constr_of(Ck *ck, AExp *e, AType *want)
{
    AExps *es = &e->constr.elems;
    AType *t = ty_idle_sizes(ck, ty_plain(ck, want), e->loc);
    AType *holds = constr_payload(ck, t, e->constr.name, e->loc);
    bool tuple = es->n && es->at[0]->kind == AE_TUPLE;
    ConstrGiven given = {es->n, tuple ? es->at[0]->seq.elems.n : 0, true};
    bool ok = constr_count_fits(ck, holds, given, e->constr.name, t, e->loc);
    for (int i = 0; i < es->n; i++) {
        if (!ok) /* nothing is known of what it should be */
            ty_unify(ck, ty_error(ck), check_exp(ck, es->at[i]));
        else
            check_is(ck, es->at[i], holds->elems.at[i],
                     arena_printf(ck->a, "argument %d of `#%s`", i + 1, e->constr.name));
    }
    return ok ? t : ty_error(ck);
}

AType *check_constr(Ck *ck, AExp *e, AType *want)
{
    AType *w = want ? type_deref(want) : NULL;
    if (w && w->kind != TY_META)
        return constr_of(ck, e, w);
    ATypes holds = {0};
    for (int i = 0; i < e->constr.elems.n; i++)
        vec_push(ck->a, &holds, ty_plain(ck, check_exp(ck, e->constr.elems.at[i])));
    if (w && w->meta.cls >= TC_PRIM) { /* an operand */
        ck_error(ck, e->loc,
                 "`#%s` is of a sum type, but %s is needed here; an operation that it holds needs "
                 "brackets: `#%s (...)`",
                 e->constr.name, said(ck, w), e->constr.name);
        return ty_error(ck);
    }
    return want_constr(ck, e->constr.name, ty_tuple(ck, holds), e->loc);
}

/* --- match ---------------------------------------------------------------------------------- */

/* Binds what the pattern of a case does; `what` is of type t. */
static void check_case_pat(Ck *ck, Pat *p, AType *t)
{
    AType *pt = check_pat(ck, p, AT_FREE);
    check_distinct(ck, NULL, &(Pats){&p, 1, 1});
    ck_try(ck);
    if (!ty_unify(ck, pt, t))
        ck_error(ck, p->loc, "this pattern has type %s, but is given %s%s", said(ck, pt),
                 said(ck, t), because(ck, pt, t));
    solve_wanted(ck, false);
}

/* The type of all cases: joined from the last one on, so that a size that nobody needs in one is
 * that of a case beside it, and not what all before come to. NULL after an error. */
static AType *join_cases(Ck *ck, AExp *e, const ATypes *types)
{
    AType *joined = types->at[types->n - 1];
    for (int i = types->n - 2; i >= 0; i--) {
        const Case *c = &e->match.cases.at[i];
        AType *t = types->at[i];
        ck_try(ck);
        AType *both = ty_join(ck, t, joined, e->loc);
        if (!both) {
            ck_error(ck, c[1].body->loc, "cases differ: this one is %s, the one before %s%s",
                     said(ck, joined), said(ck, t), because(ck, t, joined));
            ck_note(ck, c->body->loc, "the one before is here");
            return NULL;
        }
        joined = both;
    }
    return joined;
}

AType *check_match(Ck *ck, AExp *e, AType *want)
{
    AType *what = ty_plain(ck, check_exp(ck, e->match.e));
    ATypes types = {0};
    solve_wanted(ck, false);
    for (int i = 0; i < e->match.cases.n; i++) {
        Case *c = &e->match.cases.at[i];
        Scopes scopes = scopes_now(ck);
        int first_uid = ck->n_bindings;
        check_case_pat(ck, c->pat, what);
        AType *expected = want ? want : types.n ? types.at[0] : NULL;
        AType *t = ty_plain(ck, check_against(ck, c->body, expected));
        scopes_back(ck, scopes);
        vec_push(ck->a, &types, ty_leave(ck, t, first_uid, NULL, c->pat->loc));
    }
    AType *joined = join_cases(ck, e, &types);
    return joined && value_only(ck, joined, e->loc, "a `match`") ? joined : ty_error(ck);
}
