/* What is said of a hole, `???`: the type that is wanted, and names in scope that have or return
 * it. */
#include "frontend/check/check.h"

#include "base/out.h"

#include <string.h>

enum { MOST_NAMES = 3 };

/* Names by which it may be filled, from the innermost on. */
typedef struct {
    Ck *ck;
    const AExp *hole;
    PtrSet *seen; /* names further in */
    VEC(const char *) values, functions;
} Fitting;

/* Could t be what is wanted? Nothing is made known by asking. */
static bool fits(Ck *ck, AType *want, AType *t)
{
    int mark = trail_mark(ck), wanted = ck->wanted.n, deferred = ck->deferred.n;
    ck_try(ck);
    bool ok = ty_unify(ck, want, t);
    trail_undo(ck, mark);
    ck->wanted.n = wanted;
    ck->deferred.n = deferred;
    return ok;
}

/* Is it something of its own that is said of any type? */
static bool is_open_type(const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_META || t->kind == TY_ERROR;
}

static void try_name(Fitting *f, Binding *b)
{
    bool value = b->kind <= BIND_DEF && b->name[0] != '[';
    Loc at = f->hole->loc;
    bool around = b->def && b->def->span.beg <= at.beg && at.beg < b->def->span.end;
    if (!value || around || !b->type || is_operator_name(b->name) || b->name[0] == '_' ||
        ptrset_has(f->seen, b->name))
        return;
    ptrset_add(f->seen, b->name);
    AType *t = type_deref(ty_instance(f->ck, b, at));
    if (!is_open_type(t) && fits(f->ck, f->hole->type, t)) {
        vec_push(f->ck->a, &f->values, b->name);
        return;
    }
    while (t->kind == TY_FUN) {
        t = type_deref(t->fun.result);
        if (!is_open_type(t) && fits(f->ck, f->hole->type, t)) {
            vec_push(f->ck->a, &f->functions, b->name);
            return;
        }
    }
}

static void say_names(Out *o, const char *const *names, int n)
{
    for (int i = 0; i < n && i < MOST_NAMES; i++)
        out_printf(o, "%s`%s`",
                   !i                                ? ""
                   : i + 1 < n && i + 1 < MOST_NAMES ? ", "
                                                     : " or ",
                   names[i]);
}

void tell_hole(Ck *ck, const AExp *e)
{
    Fitting f = {.ck = ck, .hole = e, .seen = ptrmap_new(ck->a)};
    for (const Scope *s = e->hole.scope; s && !is_open_type(e->type); s = s->up)
        if (s->bind && (!s->file || s->file == ck->file))
            try_name(&f, s->bind);
    Out o = {0};
    if (f.values.n)
        out_puts(&o, ", such as ");
    say_names(&o, f.values.at, f.values.n);
    if (f.functions.n)
        out_puts(&o, f.values.n ? ", or what is returned by " : ", such as what is returned by ");
    say_names(&o, f.functions.at, f.functions.n);
    diag_warn(e->loc, "Hole: a value of type `%s` is wanted here%s", show(ck, e->type),
              o.text ? o.text : "");
    for (int i = 0; i < f.values.n && i < MOST_NAMES; i++)
        diag_fix(e->loc, f.values.at[i]);
    out_free(&o);
}
