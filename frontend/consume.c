/* Consumption: a value that an in-place update or a `*` parameter has taken may not be used again,
 * under any name. Follows Futhark's rules; runs on one definition whose types are final. The walk
 * over expressions; functions are in consume_fun.c, the state all work on in aliases.c. */
#include "frontend/consume.h"

#include <string.h>

/* --- Names and components ------------------------------------------------------------------- */

static const char *var_name(const AExp *e)
{
    return e->kind == AE_VAR ? e->var.name : NULL;
}

static Al *eval_var(Co *co, AExp *e)
{
    Binding *b = e->var.bind;
    if (!b || !al_holds_arrays(e->type) || b->kind == BIND_BUILTIN || b->kind == BIND_SIZE)
        return al_none(co);
    bool local = co->vars[b->uid] && co->vars[b->uid]->kind == VAR_LOCAL;
    if (!local && (b->type->kind == TY_FUN || b->tparams.n || b->fresh)) /* made anew at each use */
        return al_none(co);
    Var *v = al_var(co, b);
    if (local && b->type->kind == TY_FUN) /* found out since this use was checked */
        e->type = al_add_unique(co, e->type, b->type);
    al_use_var(co, v, e->loc);
    return v->al;
}

/* Evaluated expressions, and how much was consumed then. */
typedef struct {
    AExp *e;
    Al *al;
    int marked;
} Done;

static Done eval_part(Co *co, AExp *e)
{
    Al *al = co_eval(co, e);
    return (Done){e, al, co->marked.n};
}

/* Nothing evaluated since may have consumed it. */
static void still_alive(Co *co, const Done *d)
{
    if (co->marked.n == d->marked)
        return;
    Refs rs = al_flat(co, d->al);
    al_check_alive(co, &rs, d->e->loc, var_name(d->e));
}

static Al *eval_seq(Co *co, AExp *e)
{
    int n = e->seq.elems.n;
    Done *parts = NEWN(co->a, Done, n + 1);
    for (int i = 0; i < n; i++)
        parts[i] = eval_part(co, e->seq.elems.at[i]);
    for (int i = 0; i < n; i++)
        still_alive(co, &parts[i]);
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
    Done d = eval_part(co, e->index.e);
    eval_dims(co, &e->index.dims);
    still_alive(co, &d);
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
        Refs rs = al_flat(co, kid);
        if (i == k)
            kid = replace_part(co, t->elems.at[i], kid, path + 1, n - 1, v, loc);
        else
            al_check_alive(co, &rs, loc, NULL);
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
    Done v = eval_part(co, e->update.value);
    Al *al = al_shape(co, e->type, co_eval(co, e->update.e)), *part = al;
    still_alive(co, &v);
    for (int i = 0; i < n; i++)
        part = al_kid(part, field_at(co, path[i].of, path[i].field));
    Al *rest = replace_part(co, e->type, al, path, n, al_none(co), e->update.e->loc);
    Refs into = al_flat(co, part), from = al_flat(co, al_shape(co, e->update.value->type, v.al)),
         others = al_flat(co, rest);
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

/* Everything that leaf l of a variable in scope aliases is alive, itself included. */
static bool lives_on(const Ref *r)
{
    const Refs *rs = &r->v->leaves.at[r->leaf].al->refs;
    for (int i = 0; r->v->in_scope && i < rs->n; i++)
        if (al_is_gone(&rs->at[i]))
            return false;
    return !al_is_gone(r);
}

/* A marker instead of one that is gone: components that overlapped still do. */
typedef struct {
    Refs gone, fresh;
} Remarked;

static Ref remark(Co *co, Remarked *rm, Ref r, Loc loc)
{
    for (int i = 0; i < rm->gone.n; i++)
        if (rm->gone.at[i].v == r.v && rm->gone.at[i].leaf == r.leaf)
            return rm->fresh.at[i];
    Ref fresh = {al_make_up(co, VAR_PARTS, NULL, loc), 0, false};
    vec_push(co->a, &rm->gone, r);
    vec_push(co->a, &rm->fresh, fresh);
    return fresh;
}

/* `if c then a with [i] = v else a`: what one branch consumed and the other returned has no user
 * but the result, which takes it over. */
static Al *take_over_gone(Co *co, const AType *t, Al *al, Loc loc)
{
    Leaves ls = {0};
    Refs dropped = {0};
    Remarked rm = {0};
    al_leaves(t, al_shape(co, t, al), false, &ls, co->a);
    al_count(co, t, &ls);
    for (int i = 0; i < ls.n; i++) {
        Al *c = al_none(co);
        for (int j = 0; j < ls.at[i].al->refs.n; j++) {
            Ref r = ls.at[i].al->refs.at[j];
            bool marker = al_is_marker(&r);
            if (marker && al_is_gone(&r))
                r = remark(co, &rm, r, loc);
            vec_push(co->a, marker || lives_on(&r) ? &c->refs : &dropped, r);
        }
        ls.at[i].al = c;
    }
    for (int i = 0; i < dropped.n; i++)
        if (!al_is_gone(&dropped.at[i]))
            al_mark_gone(co, &dropped.at[i], loc);
    int next = 0;
    return al_rebuild(co, t, &ls, &next);
}

static Al *eval_if(Co *co, AExp *e)
{
    co_eval(co, e->cond.test);
    int start = co->marked.n;
    Al *x = al_shape(co, e->type, co_eval(co, e->cond.then));
    int mid = co->marked.n;
    Loc *locs = NEWN(co->a, Loc, mid - start + 1);
    for (int i = start; i < mid; i++)
        locs[i - start] = co->marked.at[i].v->leaves.at[co->marked.at[i].leaf].gone;
    al_set_marks(co, start, mid, NULL); /* the other branch has not seen these */
    Al *y = al_shape(co, e->type, co_eval(co, e->cond.els));
    al_set_marks(co, start, mid, locs);
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
    VEC(Loc) locs = {0};
    for (int i = 0; i < e->match.cases.n; i++) {
        Case *c = &e->match.cases.at[i];
        int scope = co->scope.n, before = co->marked.n;
        al_bind_pat(co, c->pat, what, BIND_LET);
        Al *al = al_shape(co, e->type, co_eval(co, c->body));
        al_unscope(co, scope);
        for (int k = before; k < co->marked.n; k++) {
            const Ref *r = &co->marked.at[k];
            vec_push(co->a, &locs, r->v->leaves.at[r->leaf].gone);
        }
        al_set_marks(co, before, co->marked.n, NULL);
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
        parts[i] = eval_part(co, e->constr.elems.at[i]);
    Al *c = al_none(co), *holds = al_none(co);
    for (int i = 0; i < n; i++) {
        still_alive(co, &parts[i]);
        vec_push(co->a, &holds->kids, parts[i].al);
    }
    int k = type_part(e->type, e->constr.name);
    for (int i = 0; i < e->type->elems.n; i++)
        vec_push(co->a, &c->kids, i == k ? holds : al_none(co));
    return c;
}

/* --- Loops ---------------------------------------------------------------------------------- */

/* A variable of the loop's pattern, and what the body returns for it. */
typedef struct {
    Var *v;
    bool consumed; /* by the body, directly or as the next value of one that is */
    bool declared; /* as `*t` */
    Refs next;
} LoopVar;
typedef VEC(LoopVar) LoopVars;

static int elem_index(const Pat *p, const AType *t, int i)
{
    for (int k = 0; p->kind == P_RECORD && k < t->names.n; k++)
        if (t->names.at[k] == p->names.at[i])
            return k;
    return i;
}

static void loop_vars(Co *co, const Pat *p, const AType *t, Al *body, LoopVars *out)
{
    if (p->kind == P_CONSTR) {
        int k = type_part(t, p->name);
        t = t->elems.at[k];
        body = al_kid(body, k);
    }
    if (p->kind == P_ASCRIBE) {
        loop_vars(co, p->pat, t, body, out);
    } else if (p->kind == P_VAR) {
        LoopVar lv = {.v = co->vars[p->bind->uid], .declared = al_any_unique(p->type)};
        for (int i = 0; i < lv.v->leaves.n; i++)
            lv.consumed |= al_is_gone(&(Ref){lv.v, i, false});
        lv.next = al_flat(co, al_shape(co, t, body));
        vec_push(co->a, out, lv);
    }
    for (int i = 0; i < p->elems.n; i++) {
        int k = elem_index(p, t, i);
        loop_vars(co, p->elems.at[i], t->elems.at[k], al_kid(body, k), out);
    }
}

/* As to Futhark, a variable that is declared as `*t` is consumed if what the body returns for such
 * ones shares memory with nothing; otherwise what it shares it with is. */
static void declared_consumption(LoopVars *vs)
{
    bool shared = false;
    for (int i = 0; i < vs->n; i++)
        shared |= vs->at[i].declared && vs->at[i].next.n;
    for (int i = 0; i < vs->n; i++) {
        const LoopVar *lv = &vs->at[i];
        for (int j = 0; lv->declared && j < lv->next.n; j++)
            for (int k = 0; k < vs->n; k++)
                vs->at[k].consumed |= vs->at[k].v == lv->next.at[j].v;
        vs->at[i].consumed |= lv->declared && !shared;
    }
}

/* The next value of a variable that is consumed is so in turn. */
static void spread_consumption(LoopVars *vs)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < vs->n; i++)
            for (int j = 0; vs->at[i].consumed && j < vs->at[i].next.n; j++)
                for (int k = 0; k < vs->n; k++)
                    if (vs->at[k].v == vs->at[i].next.at[j].v && !vs->at[k].consumed)
                        vs->at[k].consumed = again = true;
    }
}

/* What the body returns for a variable that is consumed is nobody else's: from inside, and no other
 * variable's next value. */
static void check_next(Co *co, const LoopVars *vs, Loc loc)
{
    Refs consumed = {0}, observed = {0};
    for (int i = 0; i < vs->n; i++) {
        const LoopVar *lv = &vs->at[i];
        for (int j = 0; lv->consumed && j < lv->next.n; j++) {
            const Var *v = lv->next.at[j].v;
            if (!v->in_scope && v->kind != VAR_GLOBAL)
                continue;
            ck_error(co->ck, loc,
                     "the loop body may return `%s` for `%s`, which the next iteration would "
                     "consume",
                     v->name, lv->v->name);
            ck_note(co->ck, v->loc, "`%s` is bound here; return a `copy`", v->name);
            return;
        }
        const Ref *r = al_shared(co, &lv->next, &consumed);
        if (!r && lv->consumed)
            r = al_shared(co, &lv->next, &observed);
        if (r) {
            const char *what = r->v->kind <= VAR_GLOBAL ? al_describe(co, r->v) : "the same array";
            ck_error(co->ck, loc,
                     "the loop body may return %s twice, but the next iteration consumes one of "
                     "them; use `copy`",
                     what);
            return;
        }
        al_add_refs(co, lv->consumed ? &consumed : &observed, &lv->next);
    }
}

static const LoopVar *loop_var(const LoopVars *vs, const Var *v)
{
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i].v == v)
            return &vs->at[i];
    return NULL;
}

/* Reports if a part of an initial value shares memory with those that are consumed. */
static bool check_apart(Co *co, const Refs *part, const Refs *consumed, Loc loc)
{
    const Ref *r = al_shared(co, part, consumed);
    if (r)
        ck_error(co->ck, loc,
                 "the loop consumes a part of this that may share memory with another%s; use `copy`",
                 r->v->kind <= VAR_GLOBAL ? arena_printf(co->a, " (of `%s`)", r->v->name) : "");
    return !r;
}

/* The initial value of a variable that is consumed, as were those of others. */
static void consume_part(Co *co, const AType *t, Al *al, Refs *others, Loc loc)
{
    Refs rs = al_flat(co, al);
    if (check_apart(co, &rs, others, loc) && co_check_separate(co, t, al, true, loc))
        al_consume(co, &rs, loc);
    al_add_refs(co, others, &rs);
}

/* The initial values: consumes those of variables that are, drops them from the tree. */
static Al *consume_init(Co *co, const Pat *p, const AType *t, Al *init, const LoopVars *vs,
                        Refs *others, Loc loc)
{
    if (p->kind == P_ASCRIBE)
        return consume_init(co, p->pat, t, init, vs, others, loc);
    if (p->kind == P_VAR && loop_var(vs, co->vars[p->bind->uid])->consumed) {
        consume_part(co, t, init, others, loc);
        return al_none(co);
    }
    if (p->kind == P_VAR || p->kind == P_WILD || p->kind == P_LIT)
        return init;
    Al *c = al_none(co);
    for (int k = 0; k < t->elems.n; k++)
        vec_push(co->a, &c->kids, al_kid(init, k));
    if (p->kind == P_CONSTR) {
        int k = type_part(t, p->name);
        Pat holds = *p;
        holds.kind = P_TUPLE;
        c->kids.at[k] = consume_init(co, &holds, t->elems.at[k], al_kid(init, k), vs, others, loc);
        return c;
    }
    for (int i = 0; i < p->elems.n; i++) {
        int k = elem_index(p, t, i);
        c->kids.at[k] =
            consume_init(co, p->elems.at[i], t->elems.at[k], al_kid(init, k), vs, others, loc);
    }
    return c;
}

/* What the result aliases: what the body returned; if not consumed, the initial value and other
 * parts of the result too. */
static Al *loop_result(Co *co, const Pat *p, const AType *t, Al *init, Al *body, const LoopVars *vs,
                       Ref made)
{
    if (p->kind == P_ASCRIBE)
        return loop_result(co, p->pat, t, init, body, vs, made);
    if (p->kind == P_VAR && loop_var(vs, co->vars[p->bind->uid])->consumed)
        return body;
    if (p->kind == P_VAR || p->kind == P_WILD || p->kind == P_LIT) {
        Al *m = al_none(co);
        vec_push(co->a, &m->refs, made);
        return al_union(co, al_union(co, al_shape(co, t, init), al_shape(co, t, m)), body);
    }
    Al *c = al_none(co);
    for (int k = 0; k < t->elems.n; k++)
        vec_push(co->a, &c->kids, al_none(co));
    if (p->kind == P_CONSTR) {
        int k = type_part(t, p->name);
        Pat holds = *p;
        holds.kind = P_TUPLE;
        c->kids.at[k] =
            loop_result(co, &holds, t->elems.at[k], al_kid(init, k), al_kid(body, k), vs, made);
        return c;
    }
    for (int i = 0; i < p->elems.n; i++) {
        int k = elem_index(p, t, i);
        c->kids.at[k] = loop_result(co, p->elems.at[i], t->elems.at[k], al_kid(init, k),
                                    al_kid(body, k), vs, made);
    }
    return c;
}

/* What each iteration needs must not be consumed when the first begins. */
static void check_needed(Co *co, const Refs *needed, const char *how, Loc loc)
{
    for (int i = 0; i < needed->n; i++)
        if (al_is_gone(&needed->at[i])) {
            ck_error(co->ck, loc, "the loop %s %s, but its initial value consumes that; use `copy`",
                     how, al_describe(co, needed->at[i].v));
            return;
        }
}

/* Like Futhark, in the order bound, body, initial value: only the body tells what is consumed. */
static Al *eval_loop(Co *co, AExp *e)
{
    const Pat *p = e->loop.pat;
    const AType *t = p->type;
    int scope = co->scope.n;
    Refs over = {0}, consumed = {0};
    if (e->loop.kind != ALOOP_WHILE)
        over = al_flat(co, co_eval(co, e->loop.bound));
    int marked = co->marked.n;
    al_push_frame(co, true);
    al_bind_pat(co, p, al_none(co), BIND_LOOP_PARAM);
    if (e->loop.kind == ALOOP_WHILE) {
        al_push_frame(co, true); /* it may not consume the loop's variables */
        vec_last(&co->frames).condition = true;
        co_eval(co, e->loop.bound);
        al_pop_frame(co, co->marked.n);
    } else {
        al_bind_pat(co, e->loop.var, al_none(co), BIND_LOOP_ELEM);
    }
    Al *body = al_shape(co, t, co_eval(co, e->loop.body));
    LoopVars vs = {0};
    loop_vars(co, p, t, body, &vs);
    al_unscope(co, scope);
    Refs used = al_pop_frame(co, marked);
    declared_consumption(&vs);
    spread_consumption(&vs);
    check_next(co, &vs, e->loop.body->loc);

    Loc loc = e->loop.init->loc;
    Al *init = al_shape(co, t, co_eval(co, e->loop.init));
    Al *kept = al_shape(co, t, consume_init(co, p, t, init, &vs, &consumed, loc));
    check_needed(co, &used, "uses", loc);
    check_needed(co, &over, "goes over", loc);
    Refs rest = al_flat(co, kept);
    check_apart(co, &rest, &consumed, loc);
    Ref made = {al_make_up(co, VAR_LOOP, NULL, e->loc), 0, false};
    return loop_result(co, p, t, kept, body, &vs, made);
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
    case AE_LOOP: return eval_loop(co, e);
    case AE_ASCRIBE:
    case AE_COERCE: {
        Al *al = co_eval(co, e->ascribe.e);
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

Al *co_eval(Co *co, AExp *e)
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
    return al_mark_overlap(co, e->type, al, e->loc);
}

void consume_def(Ck *ck, Def *d)
{
    Co co = {.ck = ck, .a = ck->a};
    ConsumeVars *vars = ck->vars ? ck->vars : (ck->vars = NEW(ck->a, ConsumeVars));
    while (vars->n < ck->n_bindings)
        vec_push(ck->a, vars, NULL);
    co.vars = vars->at;
    co_def(&co, d);
}
