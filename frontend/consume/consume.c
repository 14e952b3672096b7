/* Consumption: a value that an in-place update or a `*` parameter has taken may not be used again,
 * under any name. Follows Futhark's rules; runs on one definition whose types are final. The walk
 * over expressions, above functions (consume_fun.c), loops and the state all work on (aliases.c).
 */
#include "frontend/consume/consume_int.h"

#include <string.h>

/* --- Names and components ------------------------------------------------------------------- */

static Al *eval_var(Co *co, AExp *e)
{
    Binding *b = e->var.bind;
    if (!b || !al_holds_arrays(e->type) || b->kind == BIND_BUILTIN || b->kind == BIND_SIZE)
        return al_none(co);
    Var *v = al_var(co, b);
    bool local = v->kind == VAR_LOCAL;
    if (local && b->type->kind == TY_FUN) /* found out since this use was checked */
        e->type = al_add_unique(co, e->type, b->type);
    al_use_var(co, v, e->loc);
    return v->al;
}

static Al *eval_seq(Co *co, AExp *e)
{
    int n = e->seq.elems.n;
    Done *parts = NEWN(co->a, Done, n + 1);
    for (int i = 0; i < n; i++)
        parts[i] = co_eval_part(co, e->seq.elems.at[i]);
    for (int i = 0; i < n; i++)
        co_still_alive(co, &parts[i]);
    Al *c = al_none(co);
    for (int k = 0; k < n && e->kind != AE_ARRAY; k++)
        for (int i = 0; i < n; i++)
            if (e->kind == AE_TUPLE ? i == k : e->seq.names.at[i] == e->type->names.at[k])
                vec_push(co->a, &c->kids, parts[i].al);
    return c;
}

/* The place of a field in the components of t. */
static int field_at(Co *co, const AType *t, const char *name)
{
    for (int i = 0; i < t->elems.n; i++)
        if (!strcmp(t->kind == TY_RECORD ? t->names.at[i] : arena_printf(co->a, "%d", i), name))
            return i;
    return 0;
}

static Al *eval_proj(Co *co, AExp *e)
{
    Al *from = co_eval(co, e->proj.e);
    const AType *t = e->proj.e->type;
    if (!al_is_product(t))
        return from;
    int i = field_at(co, t, e->proj.names.at[0]);
    e->type = al_add_unique(co, e->type, t->elems.at[i]);
    return al_kid(from, i);
}

/* --- Updates -------------------------------------------------------------------------------- */

static void eval_dims(Co *co, ADimIndices *ds)
{
    for (int i = 0; i < ds->n; i++) {
        AExp *parts[] = {ds->at[i].i, ds->at[i].j, ds->at[i].s};
        for (int j = 0; j < 3; j++)
            if (parts[j])
                co_eval(co, parts[j]);
    }
}

static Al *eval_index(Co *co, AExp *e)
{
    Done d = co_eval_part(co, e->index.e);
    eval_dims(co, &e->index.dims);
    co_still_alive(co, &d);
    return d.al;
}

/* Replaces the component that the first n steps lead to; the others must not have been consumed
 * since. */
static Al *replace_part(Co *co, const AType *t, Al *al, const Step *path, int n, Al *v, Loc loc)
{
    if (!n)
        return v;
    Al *c = al_none(co);
    int k = field_at(co, t, path->field);
    for (int i = 0; i < t->elems.n; i++) {
        Al *kid = al_kid(al, i);
        if (i == k)
            kid = replace_part(co, t->elems.at[i], kid, path + 1, n - 1, v, loc);
        else
            al_check_alive(co, al_all(co, kid), loc, NULL);
        vec_push(co->a, &c->kids, kid);
    }
    return c;
}

/* Writes into the array that the first n steps lead to. */
static Al *write_into(Co *co, AExp *e, int n)
{
    const Step *path = e->update.path.at;
    for (int i = n; i < e->update.path.n; i++)
        eval_dims(co, &e->update.path.at[i].dims);
    Done v = co_eval_part(co, e->update.value);
    Al *al = al_shape(co, e->type, co_eval(co, e->update.e)), *part = al;
    co_still_alive(co, &v);
    for (int i = 0; i < n; i++)
        part = al_kid(part, field_at(co, path[i].of, path[i].field));
    Al *rest = replace_part(co, e->type, al, path, n, al_none(co), e->update.e->loc);
    Refs into = al_list(co, al_all(co, part)), others = al_list(co, al_all(co, rest));
    Refs from = al_list(co, al_all(co, al_shape(co, e->update.value->type, v.al)));
    const Ref *r = al_shared(co, &into, &from), *other = al_shared(co, &into, &others);
    if (r)
        ck_error(co->ck, e->update.value->loc,
                 "the new value may share memory with %s, which it is written into; use `copy`",
                 r->v->kind <= VAR_GLOBAL ? al_describe(co, r->v) : "the array");
    if (other)
        ck_error(co->ck, e->update.e->loc,
                 "this writes into %s, which may be another component too; use `copy`",
                 other->v->kind <= VAR_GLOBAL ? al_describe(co, other->v) : "an array");
    else
        al_consume(co, &into, e->update.e->loc);
    return rest;
}

/* e with .a[i].b = v: consumes the first array on the path, if there is one. */
static Al *eval_update(Co *co, AExp *e)
{
    const Steps *path = &e->update.path;
    int n = 0;
    while (n < path->n && path->at[n].field)
        n++;
    if (n < path->n)
        return write_into(co, e, n);
    Al *al = al_shape(co, e->type, co_eval(co, e->update.e)), *v = co_eval(co, e->update.value);
    return replace_part(co, e->type, al, path->at, n, v, e->update.e->loc);
}

/* --- if ------------------------------------------------------------------------------------- */

typedef VEC(Loc) Locs;

/* Everything that leaf l of a variable in scope aliases is alive, itself included. */
static bool lives_on(Co *co, const Ref *r)
{
    return !al_is_gone(r) &&
           (!r->v->in_scope || al_set_alive(co, r->v->leaves.at[r->leaf].al->refs));
}

/* What stands for a ref that is dropped though several components have it: they still overlap. */
static Ref marker_for(Co *co, PtrMap *markers, const Ref *r, Loc loc)
{
    const VarLeaf *leaf = &r->v->leaves.at[r->leaf];
    Var *marker = ptrmap_get(markers, leaf);
    if (!marker) {
        marker = al_make_up(co, VAR_PARTS, NULL, loc);
        ptrmap_put(markers, leaf, marker);
    }
    return (Ref){marker, 0, false};
}

/* `if c then a with [i] = v else a`: what one branch consumed and the other returned has no user
 * but the result, which takes it over. */
static Al *take_over_gone(Co *co, const AType *t, Al *al, Loc loc)
{
    Leaves ls = {0};
    Refs dropped = {0};
    al = al_shape(co, t, al);
    if (al_set_alive(co, al_all(co, al)))
        return al;
    ArenaMark mark = arena_mark(co->tmp);
    PtrMap *markers = ptrmap_new(co->tmp);
    al_leaves(t, al, false, &ls, co->tmp);
    al_count(co, t, &ls);
    for (int i = 0; i < ls.n; i++) {
        Al *c = al_none(co);
        for (int j = 0; j < ls.at[i].refs.n; j++) {
            Ref r = ls.at[i].refs.at[j];
            if (!lives_on(co, &r)) {
                vec_push(co->tmp, &dropped, r);
                if (!al_is_in_others(&r))
                    continue;
                r = marker_for(co, markers, &r, loc);
            }
            c->refs = al_set_with(co, r, c->refs);
        }
        ls.at[i].al = c;
    }
    for (int i = 0; i < dropped.n; i++)
        if (!al_is_gone(&dropped.at[i]))
            al_mark_gone(co, &dropped.at[i], loc);
    int next = 0;
    al = al_rebuild(co, t, &ls, &next);
    arena_reset(co->tmp, mark);
    return al;
}

/* Takes marks back: what is evaluated next has not seen these since there were `from`. Notes them,
 * to be set again. */
static void take_back(Co *co, Arena *a, int from, Locs *locs)
{
    for (int i = from; i < co->marked.n; i++)
        vec_push(a, locs, co->marked.at[i].v->leaves.at[co->marked.at[i].leaf].gone);
    al_set_marks(co, from, co->marked.n, NULL);
}

static Al *eval_if(Co *co, AExp *e)
{
    co_eval(co, e->cond.test);
    int start = co->marked.n;
    Al *x = al_shape(co, e->type, co_eval(co, e->cond.then));
    Locs locs = {0};
    take_back(co, co->a, start, &locs);
    Al *y = al_shape(co, e->type, co_eval(co, e->cond.els));
    al_set_marks(co, start, start + locs.n, locs.at);
    return take_over_gone(co, e->type, al_union(co, x, y), e->loc);
}

/* What is bound to names may be applied twice if it is a function. */
static Al *eval_bound(Co *co, AExp *e)
{
    int marked = co->marked.n;
    Al *al = al_shape(co, e->type, co_eval(co, e));
    if (co->marked.n > marked && ty_has_fun(e->type))
        ck_error(co->ck, e->loc,
                 "this value is a function (`%s`), so nothing may be consumed to make it",
                 show(co->ck, e->type));
    return al;
}

/* As eval_if, of any number of branches: none sees what the others consumed. */
static Al *eval_match(Co *co, AExp *e)
{
    Al *what = eval_bound(co, e->match.e), *all = al_none(co);
    int start = co->marked.n;
    Locs locs = {0};
    for (int i = 0; i < e->match.cases.n; i++) {
        Case *c = &e->match.cases.at[i];
        int scope = co->scope.n, before = co->marked.n;
        al_bind_pat(co, c->pat, what, BIND_LET);
        Al *al = al_shape(co, e->type, co_eval(co, c->body));
        al_unscope(co, scope);
        take_back(co, co->a, before, &locs);
        all = i ? al_union(co, all, al) : al;
    }
    al_set_marks(co, start, co->marked.n, locs.at);
    return take_over_gone(co, e->type, all, e->loc);
}

static Al *eval_constr(Co *co, AExp *e)
{
    int n = e->constr.elems.n;
    Done *parts = NEWN(co->a, Done, n + 1);
    for (int i = 0; i < n; i++)
        parts[i] = co_eval_part(co, e->constr.elems.at[i]);
    Al *c = al_none(co), *holds = al_none(co);
    for (int i = 0; i < n; i++) {
        co_still_alive(co, &parts[i]);
        vec_push(co->a, &holds->kids, parts[i].al);
    }
    int k = type_part(e->type, e->constr.name);
    for (int i = 0; i < e->type->elems.n; i++)
        vec_push(co->a, &c->kids, i == k ? holds : al_none(co));
    return c;
}

/* --- Expressions ---------------------------------------------------------------------------- */

static void eval_let(Co *co, AExp *e)
{
    AExp *rhs = e->let.rhs;
    Al *al = eval_bound(co, rhs);
    co_check_functions(co, rhs, e->let.pat->type);
    if (e->let.pat->kind == P_VAR && ty_has_fun(rhs->type))
        e->let.pat->bind->type = al_add_unique(co, e->let.pat->bind->type, rhs->type);
    al_bind_pat(co, e->let.pat, al, BIND_LET);
}

static void eval_letfun(Co *co, AExp *e)
{
    Def *d = e->letfun.def;
    Al *al = co_def(co, d);
    if (d->params.n)
        al_bind_fun(co, d->bind, al);
    else
        al_bind_var(co, d->bind, d->bind->type, al, true);
}

/* Sizes in a type as written, which look at values only: at what they were, if these
 * are consumed. */
static void eval_sizes(Co *co, const TypeExp *te)
{
    if (!te)
        return;
    if (te->dim && te->dim->type) {
        ArenaMark mark = arena_mark(co->tmp);
        Locs locs = {0};
        take_back(co, co->tmp, 0, &locs);
        al_push_frame(co, FRAME_SIZE);
        co_eval(co, te->dim);
        al_pop_frame(co, locs.n);
        al_set_marks(co, 0, locs.n, locs.at);
        arena_reset(co->tmp, mark);
    }
    eval_sizes(co, te->elem);
    eval_sizes(co, te->param);
    for (int i = 0; i < te->args.n; i++)
        eval_sizes(co, te->args.at[i]);
}

static Al *eval_exp(Co *co, AExp *e)
{
    switch (e->kind) {
    case AE_LIT:
    case AE_HOLE:
    case AE_STRING: return al_none(co);
    case AE_VAR: return eval_var(co, e);
    case AE_TUPLE:
    case AE_RECORD:
    case AE_ARRAY: return eval_seq(co, e);
    case AE_RANGE:
        co_eval(co, e->range.start);
        if (e->range.second)
            co_eval(co, e->range.second);
        co_eval(co, e->range.end);
        return al_none(co);
    case AE_APP: return co_app(co, e);
    case AE_OPSECT: return co_opsect(co, e);
    case AE_PATHSECT:
        for (int i = 0; i < e->update.path.n; i++)
            eval_dims(co, &e->update.path.at[i].dims);
        return al_none(co);
    case AE_LAMBDA: return co_lambda(co, e);
    case AE_PROJ: return eval_proj(co, e);
    case AE_INDEX: return eval_index(co, e);
    case AE_UPDATE: return eval_update(co, e);
    case AE_IF: return eval_if(co, e);
    case AE_CONSTR: return eval_constr(co, e);
    case AE_MATCH: return eval_match(co, e);
    case AE_LOOP: return co_loop(co, e);
    case AE_ASCRIBE:
    case AE_COERCE: {
        Al *al = co_eval(co, e->ascribe.e);
        eval_sizes(co, e->ascribe.te);
        co_check_functions(co, e->ascribe.e, e->ascribe.to ? e->ascribe.to : e->type);
        return al;
    }
    case AE_ASSERT: co_eval(co, e->assertion.test); return co_eval(co, e->assertion.e);
    case AE_ATTR: {
        Al *al = co_eval(co, e->attr.e);
        e->type = al_add_unique(co, e->type, e->attr.e->type);
        return al;
    }
    case AE_LET:
    case AE_LETFUN: break;
    }
    ice(e->loc, "no expression");
}

static Al *eval(Co *co, AExp *e)
{
    int scope = co->scope.n;
    AExp *last = e;
    while (last->kind == AE_LET || last->kind == AE_LETFUN) {
        if (last->kind == AE_LET) {
            eval_let(co, last);
            last = last->let.body;
        } else {
            eval_letfun(co, last);
            last = last->letfun.body;
        }
    }
    if (!last->type) /* it uses a definition in which errors were reported */
        e->type = last->type = ty_error(co->ck);
    Al *al = al_shape(co, last->type, eval_exp(co, last));
    al_unscope(co, scope);
    if (last != e)
        e->type = al_add_unique(co, e->type, last->type);
    return al;
}

void consume_def(Ck *ck, Def *d)
{
    Co co = {.ck = ck, .a = arena_new(), .tmp = arena_new(), .eval = eval};
    co.vars = ptrmap_new(co.a);
    co.version = 1; /* of what no set has been checked for */
    co.hidden = al_make_up(&co, VAR_HIDDEN, NULL, NO_LOC);
    co_def(&co, d);
    arena_free(co.tmp);
    arena_free(co.a);
}
