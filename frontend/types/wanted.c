/* Parts of types by name: fields of records and tuples, constructors of sums. Of a type that is not
 * known yet they are wanted, and looked at again when more is known. */
#include "frontend/types/types.h"

#include "common/spell.h"

#include <string.h>

AType *field_of(Ck *ck, AType *t, const char *name, Loc loc)
{
    t = type_deref(t);
    if (t->kind == TY_ERROR)
        return t;
    if (t->kind == TY_META && t->meta.cls <= TC_EQ) {
        Wanted w = {loc, t, ty_meta(ck, TC_ANY, loc), name, false, ck->level};
        vec_push(ck->a, &ck->wanted, w);
        return w.part;
    }
    int i = type_field(t, name);
    if (i >= 0)
        return t->elems.at[i];
    if (t->kind == TY_RECORD) {
        rt_spelling sp = rt_spell(name);
        for (i = 0; i < t->names.n; i++)
            rt_spell_try(&sp, t->names.at[i]);
        if (sp.nearest) {
            ck_error(ck, loc, "no field `%s` in `%s`; did you mean `%s`?", name, show(ck, t),
                     sp.nearest);
            diag_fix_word(loc, name, sp.nearest);
            return ty_error(ck);
        }
    }
    ck_error(ck, loc, "no field `%s` in a value of type `%s`", name, show(ck, t));
    return ty_error(ck);
}

AType *with_field(Ck *ck, AType *t, const Step *path, int n, AType *part)
{
    t = type_deref(t);
    int at = n ? type_field(t, path[0].field) : -1;
    if (at < 0)
        return n ? t : part;
    ATypes elems = {0};
    for (int i = 0; i < t->elems.n; i++)
        vec_push(ck->a, &elems,
                 i == at ? with_field(ck, t->elems.at[i], path + 1, n - 1, part) : t->elems.at[i]);
    return ty_elems_like(ck, t, elems);
}

/* --- Constructors --------------------------------------------------------------------------- */

AType *constr_payload(Ck *ck, AType *t, const char *name, Loc loc)
{
    t = type_deref(t);
    if (t->kind == TY_ERROR)
        return t;
    int k = t->kind == TY_SUM ? type_part(t, name) : -1;
    if (k >= 0)
        return t->elems.at[k];
    if (t->kind != TY_SUM) {
        ck_error(ck, loc, "`#%s` is of a sum type, but %s is needed here%s", name, said(ck, t),
                 t->kind == TY_FUN ? "; a constructor is no function: `\\x -> #... x` is one" : "");
        return ty_error(ck);
    }
    rt_spelling sp = rt_spell(name);
    for (int i = 0; i < t->names.n; i++)
        rt_spell_try(&sp, t->names.at[i]);
    if (sp.nearest) {
        ck_error(ck, loc, "no constructor `#%s` in `%s`; did you mean `#%s`?", name, show(ck, t),
                 sp.nearest);
        Loc head = {loc.beg, loc.beg + 1 + (uint32_t)strlen(name)}; /* not what it holds */
        diag_fix_word(head, name, sp.nearest);
    } else {
        ck_error(ck, loc, "no constructor `#%s` in `%s`", name, show(ck, t));
    }
    return ty_error(ck);
}

/* What people mean who give a constructor another number of values than it holds. */
static const char *count_hint(const AType *holds, const ConstrGiven *g)
{
    const AType *first = holds->elems.n == 1 ? type_deref(holds->elems.at[0]) : NULL;
    if (first && first->kind == TY_TUPLE && g->n > 1 && first->elems.n == g->n)
        return "; that is a tuple, written with brackets and commas";
    if (g->n == 1 && g->in_first > 1 && g->in_first == holds->elems.n)
        return "; they are written one behind the other, without commas";
    return g->exp && g->n > holds->elems.n && holds->elems.n
               ? "; an application among them needs brackets"
               : "";
}

bool constr_count_fits(Ck *ck, const AType *holds, ConstrGiven g, const char *name, const AType *t,
                       Loc loc)
{
    if (holds->kind == TY_ERROR || holds->elems.n == g.n)
        return holds->kind != TY_ERROR;
    ck_error(ck, loc, "`#%s` of `%s` holds %d value%s, not %d%s", name, show(ck, t), holds->elems.n,
             holds->elems.n == 1 ? "" : "s", g.n, count_hint(holds, &g));
    return false;
}

AType *want_constr(Ck *ck, const char *name, AType *holds, Loc loc)
{
    Wanted w = {.loc = loc, .whole = ty_meta(ck, TC_ANY, loc), .part = holds, .name = name};
    w.constr = true;
    w.level = ck->level;
    vec_push(ck->a, &ck->wanted, w);
    return w.whole;
}

bool wants_constr(const Ck *ck, const AType *t)
{
    for (int i = 0; i < ck->wanted.n; i++)
        if (ck->wanted.at[i].constr && type_deref(ck->wanted.at[i].whole) == t)
            return true;
    return false;
}

/* --- What was wanted ------------------------------------------------------------------------ */

static void solve_field(Ck *ck, const Wanted *w)
{
    ck_try(ck);
    AType *f = field_of(ck, w->whole, w->name, w->loc);
    if (!ty_unify(ck, w->part, f))
        ck_error(ck, w->loc, "field `%s` is `%s`, but is used as `%s`", w->name, show(ck, f),
                 show(ck, w->part));
}

static int tuple_size(const ATypes *ts)
{
    const AType *t = ts->n ? type_deref(ts->at[0]) : NULL;
    return t && t->kind == TY_TUPLE ? t->elems.n : 0;
}

static void solve_constr(Ck *ck, const Wanted *w)
{
    AType *t = type_deref(w->whole), *holds = constr_payload(ck, t, w->name, w->loc);
    ConstrGiven given = {w->part->elems.n, tuple_size(&w->part->elems), false};
    if (!constr_count_fits(ck, holds, given, w->name, t, w->loc)) {
        ty_unify(ck, ty_error(ck), w->part);
        return;
    }
    for (int i = 0; i < holds->elems.n; i++) {
        AType *want = holds->elems.at[i], *have = w->part->elems.at[i];
        ck_try(ck);
        if (!ty_unify(ck, want, have))
            ck_error(ck, w->loc, "what `#%s` holds should be %s, but is %s%s", w->name,
                     said(ck, want), said(ck, have), because(ck, want, have));
    }
}

/* What is wanted of t will be known further out: no definition inside is polymorphic in it or its
 * part. */
static void keep_open(Ck *ck, Wanted *w, AType *t)
{
    if (t->meta.level > ck->level)
        t->meta.level = ck->level;
    if (w->level <= ck->level)
        return;
    w->level = ck->level;
    ty_unify(ck, ty_meta(ck, TC_ANY, w->loc), w->part);
}

static void still_open(Ck *ck, const Wanted *w)
{
    if (w->constr)
        ck_error(ck, w->loc,
                 "the type that `#%s` is of is not known here; say it, as in `(#%s%s : t)`",
                 w->name, w->name, w->part->elems.n ? " ..." : "");
    else
        ck_error(ck, w->loc,
                 "field `%s` is taken from something whose type is not known here; "
                 "give that a type, as in `(p: t)`",
                 w->name);
}

/* One that is wanted and can be had by now; if `last`, one that cannot be had any more. Is there
 * one? */
static bool solve_one(Ck *ck, bool last)
{
    for (int i = 0; i < ck->wanted.n; i++) {
        Wanted w = ck->wanted.at[i];
        AType *t = type_deref(w.whole);
        if ((t->kind == TY_META) != last)
            continue;
        ck->wanted.at[i] = vec_last(&ck->wanted);
        ck->wanted.n--;
        if (last) {
            if (diag_errors() == ck->errors) /* else it may be unknown because of an error */
                still_open(ck, &w);
            t->meta.ref = ty_error(ck);
        } else if (w.constr) {
            solve_constr(ck, &w);
        } else {
            solve_field(ck, &w);
        }
        return true;
    }
    return false;
}

void solve_wanted(Ck *ck, bool final)
{
    /* One that is solved may tell another's type: what holds a constructor comes behind it. */
    while (solve_one(ck, false) || (final && solve_one(ck, true)))
        ;
    for (int i = 0; i < ck->wanted.n; i++)
        keep_open(ck, &ck->wanted.at[i], type_deref(ck->wanted.at[i].whole));
}
