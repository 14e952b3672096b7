/* Warnings of what is right, but is not what it seems to be. Before: a definition whose types are
 * final. After: the same. */
#include "frontend/check/check.h"

#include <string.h>

/* A variable that is at least 0 and less than a size: a counter, or an element of `iota n`. */
typedef struct {
    const Binding *var;
    const Size *below;
} Counter;

typedef struct {
    Ck *ck;
    bool checks; /* inside of #[warn(safety_checks)] */
    VEC(Counter) counters;
    VEC(const Def *) seen; /* definitions that were looked at for that */
} Warn;

static void look(void *env, AExp *e);

/* --- Comparisons of arrays ------------------------------------------------------------------ */

static bool holds_array(const AType *t)
{
    bool found = t->kind == TY_ARRAY;
    for (int i = 0; type_is_composite(t) && i < t->elems.n && !found; i++)
        found = holds_array(t->elems.at[i]);
    return found;
}

static BuiltinId builtin_of(const AExp *fn)
{
    return fn->kind == AE_VAR && fn->var.bind ? fn->var.bind->builtin : BI_NONE;
}

static void warn_equality(const AExp *e)
{
    BuiltinId id = builtin_of(e->app.fn);
    const AType *t = e->app.args.at[0]->type;
    if ((id == BI_EQ || id == BI_NE) && t && holds_array(t))
        diag_warn(e->loc,
                  "comparing arrays with `%s` is deprecated; compare their elements, as in `and "
                  "(map2 (==) xs ys)`",
                  id == BI_EQ ? "==" : "!=");
}

/* --- Derivatives ---------------------------------------------------------------------------- */

static bool differentiates(const AExp *fn)
{
    static const char *const names[] = {"jvp",      "vjp", "jvp_vec", "vjp_vec", "jvp2_vec",
                                        "vjp2_vec", "jmp", "mjp",     "jmp2",    "mjp2"};
    BuiltinId id = builtin_of(fn);
    const Binding *b = fn->kind == AE_VAR ? fn->var.bind : NULL;
    if (id == BI_JVP || id == BI_VJP || !b || b->kind != BIND_DEF || !b->def)
        return id == BI_JVP || id == BI_VJP;
    Place p = diag_place(b->def->loc);
    for (int i = 0; p.file && p.file[0] == '<' && i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(names[i], b->def->name))
            return true;
    return false;
}

static bool may_vary(void *env, const AType *t)
{
    return t->kind == TY_SCALAR
               ? prim_is_float(t->scalar)
               : t->kind == TY_VAR || t->kind == TY_ERROR || type_any_part(t, may_vary, env);
}

/* Mostly a number without a point, which is an i32 where nothing says that it is another one. */
static void warn_constant(const AExp *e)
{
    const AType *t = e->app.args.n > 1 ? e->app.args.at[1]->type : NULL;
    if (t && differentiates(e->app.fn) && !may_vary(NULL, t))
        diag_warn(e->app.args.at[1]->loc,
                  "nothing in this argument of `%s` is a float, so all its derivatives are 0",
                  e->app.fn->var.name);
}

/* --- Attributes ----------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    unsigned found; /* AttrPlaces */
    VEC(const Def *) seen;
} Search;

/* Like map, sum and copy, of which each may become a loop. */
static bool takes_array(const AType *t)
{
    for (; t->kind == TY_FUN; t = t->fun.result)
        if (holds_array(t->fun.param))
            return true;
    return false;
}

static void find_loops(void *env, AExp *e);

/* Functions that are not known here may have any. */
static void find_loops_of(Search *s, const Binding *b, const AType *t)
{
    if (b && b->kind == BIND_BUILTIN) {
        s->found |= !b->type || takes_array(b->type) ? BEFORE_SOAC : 0;
        return;
    }
    const Def *d = b && b->kind == BIND_DEF ? b->def : NULL;
    if (!d || !d->body || d->wrong) {
        s->found |= !t || ty_has_fun(t) || ty_has_error(t) ? BEFORE_LOOP | BEFORE_SOAC : 0;
        return;
    }
    for (int i = 0; i < s->seen.n; i++)
        if (s->seen.at[i] == d)
            return;
    vec_push(s->a, &s->seen, d);
    find_loops(s, d->body);
}

static void find_loops(void *env, AExp *e)
{
    Search *s = env;
    s->found |= e->kind == AE_LOOP ? BEFORE_LOOP : 0;
    if (e->kind == AE_VAR)
        find_loops_of(s, e->var.bind, e->type);
    aexp_children(e, find_loops, s);
}

static unsigned exp_places(Warn *w, const Attrs *as, AExp *e)
{
    Search s = {.a = w->ck->a};
    if (attrs_before(as) & (BEFORE_LOOP | BEFORE_SOAC))
        find_loops(&s, e);
    return BEFORE_EXP | s.found;
}

static unsigned def_places(const Def *d)
{
    return BEFORE_DEF | (d->recursive ? BEFORE_RECURSION : 0);
}

/* --- unroll --------------------------------------------------------------------------------- */

/* Whether the number is one that is known once definitions are written out. */
static bool is_fixed(const AExp *e)
{
    if (e->kind == AE_VAR)
        return !e->var.bind || e->var.bind->kind == BIND_BUILTIN ||
               (e->var.bind->kind == BIND_DEF && e->var.bind->def && !e->var.bind->def->local);
    bool fixed = e->kind == AE_LIT || e->kind == AE_APP;
    if (e->kind == AE_APP)
        fixed = is_fixed(e->app.fn);
    for (int i = 0; e->kind == AE_APP && i < e->app.args.n && fixed; i++)
        fixed = is_fixed(e->app.args.at[i]);
    return fixed;
}

static void warn_unroll(const AExp *e, const Attr *unroll)
{
    while (e->kind == AE_ATTR)
        e = e->attr.e;
    if (e->kind != AE_LOOP)
        return;
    const AType *over = e->loop.bound->type;
    bool known = e->loop.kind == ALOOP_FOR  ? is_fixed(e->loop.bound)
                 : e->loop.kind == ALOOP_IN ? over && over->kind == TY_ARRAY &&
                                                  size_deref(over->array.dim)->kind == SZ_CONST
                                            : false;
    if (!known)
        diag_warn(
            unroll->loc,
            "Cannot unroll loop with unknown trip count: how often it turns is not known here");
}

/* --- Checks that remain --------------------------------------------------------------------- */

static void warn_check(Warn *w, Loc loc, const char *what)
{
    if (w->checks)
        diag_warn(loc, "Safety check required at run-time: %s", what);
}

/* Whether the index is seen to be within the dimension. */
static bool is_within(Warn *w, const AExp *i, const Size *dim)
{
    int64_t v, n;
    if (sz_value(sz_of_exp(w->ck, i), &v) && sz_value(dim, &n))
        return v < n;
    for (int k = 0; i->kind == AE_VAR && k < w->counters.n; k++)
        if (w->counters.at[k].var == i->var.bind && sz_same(w->counters.at[k].below, dim))
            return true;
    return false;
}

static void warn_dims(Warn *w, const AType *t, const ADimIndices *ds, Loc loc)
{
    bool all = true;
    for (int i = 0; t && i < ds->n && t->kind == TY_ARRAY; i++, t = t->array.elem) {
        const ADimIndex *d = &ds->at[i];
        bool whole = d->slice && !d->i && !d->j;
        all &= whole || (!d->slice && is_within(w, d->i, t->array.dim));
    }
    if (!all)
        warn_check(w, loc, "an index or a slice may be out of bounds");
}

static bool divides(const AExp *e)
{
    BuiltinId id = builtin_of(e->app.fn);
    bool division = id == BI_DIV || id == BI_MOD || id == BI_QUOT || id == BI_REM;
    return division && e->app.args.n == 2 && e->type && e->type->kind == TY_SCALAR &&
           prim_is_int(e->type->scalar) && e->app.args.at[1]->kind != AE_LIT;
}

static void warn_checks(Warn *w, const AExp *e)
{
    if (e->kind == AE_INDEX)
        warn_dims(w, e->index.e->type, &e->index.dims, e->loc);
    else if (e->kind == AE_UPDATE || e->kind == AE_PATHSECT)
        for (int i = 0; i < e->update.path.n; i++)
            warn_dims(w, e->update.path.at[i].of, &e->update.path.at[i].dims, e->loc);
    else if (e->kind == AE_COERCE)
        warn_check(w, e->loc, "a size may be another one");
    else if (e->kind == AE_ASSERT)
        warn_check(w, e->loc, "an assertion may not hold");
    else if (e->kind == AE_APP && divides(e))
        warn_check(w, e->loc, "a divisor may be zero");
}

/* The definition of a name that is used inside. */
static void look_into(Warn *w, const Binding *b)
{
    const Def *d = b && b->kind == BIND_DEF ? b->def : NULL;
    if (!d || !d->body || d->wrong)
        return;
    for (int i = 0; i < w->seen.n; i++)
        if (w->seen.at[i] == d)
            return;
    vec_push(w->ck->a, &w->seen, d);
    look(w, d->body);
}

/* --- The walk ------------------------------------------------------------------------------- */

static void count(Warn *w, const Pat *p, const Size *below)
{
    while (p->kind == P_ASCRIBE)
        p = p->pat;
    if (p->kind == P_VAR)
        vec_push(w->ck->a, &w->counters, ((Counter){p->bind, below}));
}

/* What lambdas of `map (\i -> ...) (iota n)` and `tabulate n (\i -> ...)` count. */
static void count_in_app(Warn *w, const AExp *e)
{
    BuiltinId id = builtin_of(e->app.fn);
    const AExps *as = &e->app.args;
    const AExp *fn = as->n == 2 ? as->at[id == BI_TABULATE] : NULL,
               *from = as->n == 2 ? as->at[id != BI_TABULATE] : NULL;
    if ((id != BI_MAP && id != BI_TABULATE) || !fn || fn->kind != AE_LAMBDA ||
        fn->lambda.params.n != 1)
        return;
    if (id == BI_TABULATE)
        count(w, fn->lambda.params.at[0], sz_of_exp(w->ck, from));
    else if (from->kind == AE_APP && builtin_of(from->app.fn) == BI_IOTA && from->app.args.n == 1)
        count(w, fn->lambda.params.at[0], sz_of_exp(w->ck, from->app.args.at[0]));
}

static void look(void *env, AExp *e)
{
    Warn *w = env;
    bool outer = w->checks;
    if (!e->type)
        return;
    if (e->kind == AE_APP) {
        warn_equality(e);
        warn_constant(e);
    }
    if (e->kind == AE_ATTR) {
        const Attr *unroll = attr_find(&e->attr.attrs, "unroll");
        warn_attrs(&e->attr.attrs, exp_places(w, &e->attr.attrs, e->attr.e));
        if (unroll)
            warn_unroll(e->attr.e, unroll);
        w->checks |= attr_has(&e->attr.attrs, "warn", "safety_checks");
        w->checks &= !attr_find(&e->attr.attrs, "unsafe");
    }
    if (w->checks) {
        warn_checks(w, e);
        if (e->kind == AE_VAR)
            look_into(w, e->var.bind);
        if (e->kind == AE_APP)
            count_in_app(w, e);
        if (e->kind == AE_LOOP && e->loop.kind == ALOOP_FOR)
            count(w, e->loop.var, sz_of_exp(w->ck, e->loop.bound));
    }
    aexp_children(e, look, w);
    w->checks = outer;
}

void warn_def(Ck *ck, const Def *d)
{
    Warn w = {.ck = ck};
    warn_attrs(&d->attrs, def_places(d));
    look(&w, d->body);
}
