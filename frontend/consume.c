/* Consumption: a value that an in-place update or a `*` parameter has taken may not be used again,
 * under any name. Follows Futhark's rules; runs on one definition whose types are final. The walk
 * over functions and expressions; the state it works on is in aliases.c. */
#include "frontend/consume.h"

#include <string.h>

static Al *eval(Co *co, AExp *e);

/* ---- Functions ---- */

/* A ref that outlives a call: not a unique parameter, nor made in the body. */
static const Ref *not_fresh(Co *co, const Refs *rs, int depth)
{
    for (int i = 0; i < rs->n; i++) {
        const Var *v = al_local(co, rs->at[i].b);
        if (!v || v->depth < depth || !v->may.at[rs->at[i].leaf])
            return &rs->at[i];
    }
    return NULL;
}

/* The result of a function whose result type says unique must be nobody else's. */
static void check_unique_result(Co *co, const Def *d, const Al *al, int depth)
{
    Leaves ls = {0};
    al_leaves(co, d->ret_type, al, false, &ls);
    for (int i = 0; i < ls.n; i++) {
        if (!ls.at[i].unique)
            continue;
        Refs rs = {0};
        al_add_flat(co, &rs, ls.at[i].al);
        const Ref *r = not_fresh(co, &rs, depth);
        if (r) {
            ck_error(co->ck, d->ret->loc, "the result is declared unique, but may alias `%s`",
                     r->b->name);
            ck_note(co->ck, r->b->loc, "`%s` is bound here; return a `copy`, or drop the `*`",
                    r->b->name);
            return;
        }
        for (int j = 0; j < ls.n; j++) {
            Ref which;
            if (i != j && al_share(co, ls.at[i].al, ls.at[j].al, &which)) {
                ck_error(co->ck, d->ret->loc,
                         "components of the result share `%s`, but one is "
                         "declared unique",
                         which.b->name);
                return;
            }
        }
    }
}

/* An inferred result type is unique where the result is fresh. */
static AType *infer_unique(Co *co, AType *t, const Al *al, const Leaves *all, int depth)
{
    AType *c = NEW(co->a, AType);
    *c = *t;
    if (al_is_product(t)) {
        c->elems = (ATypes){0};
        for (int i = 0; i < t->elems.n; i++)
            vec_push(
                co->a, &c->elems,
                infer_unique(co, t->elems.at[i], i < al->kids.n ? al->kids.at[i] : al, all, depth));
        return c;
    }
    if (t->kind != TY_ARRAY && t->kind != TY_VAR)
        return t;
    Refs rs = {0};
    al_add_flat(co, &rs, al);
    if (not_fresh(co, &rs, depth))
        return t;
    for (int i = 0; i < all->n; i++) {
        Ref which;
        if (all->at[i].al != al && al_share(co, all->at[i].al, al, &which))
            return t;
    }
    c->unique = true;
    return c;
}

static AType *with_result(Co *co, const AType *t, int params, AType *result)
{
    if (!params)
        return result;
    AType *c = NEW(co->a, AType);
    *c = *t;
    c->fun.result = with_result(co, t->fun.result, params - 1, result);
    return c;
}

/* Returns what the function takes along from outside. */
static Al *eval_def(Co *co, Def *d)
{
    al_push_frame(co, false);
    int depth = co->frames.n;
    for (int i = 0; i < d->params.n; i++)
        al_bind_pat(co, d->params.at[i], al_none(co), VAR_PARAM);
    Al *al = al_shape(co, d->ret_type, eval(co, d->body));
    if (d->ret) {
        check_unique_result(co, d, al, depth);
    } else if (d->params.n) {
        Leaves all = {0};
        al_leaves(co, d->ret_type, al, false, &all);
        d->ret_type = infer_unique(co, d->ret_type, al, &all, depth);
        d->bind->type = with_result(co, d->bind->type, d->params.n, d->ret_type);
    }
    return al_pop_frame(co);
}

static Al *eval_lambda(Co *co, AExp *e)
{
    al_push_frame(co, false);
    for (int i = 0; i < e->lambda.params.n; i++)
        al_bind_pat(co, e->lambda.params.at[i], al_none(co), VAR_PARAM);
    eval(co, e->lambda.body);
    return al_pop_frame(co);
}

/* ---- Applications ---- */

static bool any_unique(const AType *t)
{
    if (t->unique)
        return true;
    for (int i = 0; al_is_product(t) && i < t->elems.n; i++)
        if (any_unique(t->elems.at[i]))
            return true;
    return false;
}

/* A function that consumes its parameter may not stand for one that does not. */
static bool consumes_more(const AType *have, const AType *want)
{
    for (; have->kind == TY_FUN && want->kind == TY_FUN;
         have = have->fun.result, want = want->fun.result)
        if (any_unique(have->fun.param) && !any_unique(want->fun.param))
            return true;
    return false;
}

static void consume_unique(Co *co, const AType *param, const Al *al, Loc loc, bool unique,
                           bool *any)
{
    unique |= param->unique;
    if (al_is_product(param) && al->kids.n == param->elems.n) {
        for (int i = 0; i < param->elems.n; i++)
            consume_unique(co, param->elems.at[i], al->kids.at[i], loc, unique, any);
        return;
    }
    if (unique || any_unique(param)) {
        *any = true;
        al_consume(co, al, loc);
    }
}

/* What a result may alias: its components that are not unique, all that was passed in and kept. */
static Al *result_al(Co *co, const AType *t, bool unique, const Al *kept)
{
    Al *c = al_none(co);
    unique |= t->unique;
    if (unique || !al_holds_arrays(t))
        return c;
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->a, &c->kids, result_al(co, t->elems.at[i], unique, kept));
        return c;
    }
    al_add_flat(co, &c->refs, kept);
    return c;
}

/* A part of a value that is used as it stands: x, x.a.b. NULL for other expressions. Does not count
 * as a use of the whole x. */
static Al *path_al(Co *co, const AExp *e)
{
    if (e->kind == AE_VAR && e->var.bind && e->var.bind->kind == BIND_LOCAL)
        return al_of_var(co, e->var.bind, e->var.bind->type);
    if (e->kind != AE_PROJ)
        return NULL;
    Al *al = path_al(co, e->proj.e);
    const AType *t = e->proj.e->type;
    for (int i = 0; al && i < al->kids.n; i++) {
        const char *name = t->kind == TY_RECORD ? t->names.at[i] : NULL;
        if (name ? name == e->proj.names.at[0]
                 : !strcmp(arena_printf(co->a, "%d", i), e->proj.names.at[0]))
            return al->kids.at[i];
    }
    return al;
}

static const char *var_name(const AExp *e)
{
    return e->kind == AE_VAR ? e->var.name : NULL;
}

static Al *eval_app(Co *co, AExp *e)
{
    VEC(Al *) als = {0};
    const AType *ft = e->app.fn->type;
    Al *fal = eval(co, e->app.fn), *kept = al_none(co);
    al_add_flat(co, &kept->refs, fal);
    int *marked = NEWN(co->a, int, e->app.args.n + 1);
    for (int i = 0; i < e->app.args.n; i++) {
        vec_push(co->a, &als, eval(co, e->app.args.at[i]));
        marked[i] = co->marked.n;
    }
    const AType *t = ft;
    e->app.consumes = false;
    for (int i = 0; i < e->app.args.n && t->kind == TY_FUN; i++, t = t->fun.result) {
        AExp *arg = e->app.args.at[i];
        bool any = false;
        if (consumes_more(arg->type, t->fun.param))
            ck_error(co->ck, arg->loc,
                     "this function consumes its argument (`%s`), but `%s` is needed",
                     show(co->ck, arg->type), show(co->ck, t->fun.param));
        Al *al = al_shape(co, arg->type, als.at[i]);
        if (any_unique(t->fun.param) && co->marked.n > marked[i])
            al_use(co, al, arg->loc, var_name(arg));
        consume_unique(co, t->fun.param, al, arg->loc, false, &any);
        e->app.consumes |= any;
        if (!any)
            al_add_flat(co, &kept->refs, al);
    }
    /* An argument that is only looked at must not have been consumed by another one. */
    t = ft;
    for (int i = 0; i < e->app.args.n && t->kind == TY_FUN; i++, t = t->fun.result)
        if (!any_unique(t->fun.param) && co->marked.n > marked[i])
            al_use(co, als.at[i], e->app.args.at[i]->loc, var_name(e->app.args.at[i]));
    return result_al(co, t, false, kept);
}

/* ---- Loops ---- */

/* The alias tree of a pattern's value: its own variables at their places. */
static Al *pat_al(Co *co, const Pat *p, const AType *t)
{
    Al *c = al_none(co);
    switch (p->kind) {
    case P_VAR: return al_of_var(co, p->bind, p->type);
    case P_WILD: return c;
    case P_ASCRIBE: return pat_al(co, p->pat, t);
    case P_TUPLE:
    case P_RECORD:
        for (int k = 0; k < t->elems.n; k++)
            for (int i = 0; i < p->elems.n; i++)
                if (p->kind == P_TUPLE ? i == k : p->names.at[i] == t->names.at[k])
                    vec_push(co->a, &c->kids, pat_al(co, p->elems.at[i], t->elems.at[k]));
        return c;
    }
    return c;
}

static void eval_loop_head(Co *co, AExp *e)
{
    if (e->loop.kind == ALOOP_WHILE) {
        eval(co, e->loop.bound);
    } else {
        al_bind_pat(co, e->loop.var, al_none(co), VAR_PARAM);
    }
}

/* Which leaves of the loop parameter an iteration consumes, directly or as the next value of one
 * that it does. */
static void consumed_leaves(Co *co, const Leaves *own, const Leaves *res, bool *gone)
{
    for (int i = 0; i < own->n; i++) {
        Loc where;
        gone[i] |= own->at[i].unique;
        for (int j = 0; j < own->at[i].al->refs.n; j++)
            gone[i] |= al_gone_at(co, own->at[i].al->refs.at[j], &where);
    }
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < own->n; i++) {
            for (int k = 0; gone[i] && k < own->n; k++) {
                Ref which;
                if (!gone[k] && al_share(co, res->at[i].al, own->at[k].al, &which))
                    gone[k] = again = true;
            }
        }
    }
}

static Al *rebuild(Co *co, const AType *t, const Leaves *ls, int *next)
{
    Al *c = al_none(co);
    if (al_is_product(t)) {
        for (int i = 0; i < t->elems.n; i++)
            vec_push(co->a, &c->kids, rebuild(co, t->elems.at[i], ls, next));
        return c;
    }
    al_add_flat(co, &c->refs, ls->at[(*next)++].al);
    return c;
}

/* What a value aliases outside of the current frames. */
static Al *outside(Co *co, const Al *al)
{
    Al *c = al_none(co);
    Refs rs = {0};
    al_add_flat(co, &rs, al);
    for (int i = 0; i < rs.n; i++) {
        Var *v = al_local(co, rs.at[i].b);
        if (!v || v->depth <= co->frames.n)
            vec_push(co->a, &c->refs, rs.at[i]);
    }
    return c;
}

static Al *eval_loop(Co *co, AExp *e)
{
    const AType *t = e->loop.pat->type;
    Al *init = al_shape(co, t, eval(co, e->loop.init));
    if (e->loop.kind != ALOOP_WHILE)
        eval(co, e->loop.bound);
    int marked = co->marked.n;
    al_push_frame(co, true);
    al_bind_pat(co, e->loop.pat, al_none(co), VAR_LOOP);
    eval_loop_head(co, e);
    Al *body = al_shape(co, t, eval(co, e->loop.body));

    Leaves own = {0}, res = {0}, ini = {0};
    al_leaves(co, t, al_shape(co, t, pat_al(co, e->loop.pat, t)), false, &own);
    al_leaves(co, t, body, false, &res);
    al_leaves(co, t, init, false, &ini);
    bool *gone = NEWN(co->a, bool, own.n + 1);
    consumed_leaves(co, &own, &res, gone);
    Al *used = al_pop_frame(co);
    al_use(co, used, e->loc, NULL); /* frames further out see these uses too */
    co->marked.n = marked;

    for (int i = 0; i < own.n; i++) {
        Al *out = outside(co, res.at[i].al);
        if (gone[i] && out->refs.n) {
            ck_error(co->ck, e->loop.body->loc,
                     "the loop body may return `%s`, which the next "
                     "iteration would consume",
                     out->refs.at[0].b->name);
            ck_note(co->ck, out->refs.at[0].b->loc, "`%s` is bound here; return a `copy`",
                    out->refs.at[0].b->name);
        }
        for (int j = 0; gone[i] && j < own.n; j++) {
            Ref which;
            if (i != j && al_share(co, res.at[i].al, res.at[j].al, &which)) {
                ck_error(co->ck, e->loop.body->loc,
                         "the loop body returns `%s` twice, but the next "
                         "iteration consumes one of them",
                         which.b->name);
                break;
            }
        }
        if (gone[i]) {
            al_consume(co, ini.at[i].al, e->loop.init->loc);
            ini.at[i].al = al_none(co);
        } else {
            ini.at[i].al = al_union(co, ini.at[i].al, out);
        }
    }
    int next = 0;
    Al *r = rebuild(co, t, &ini, &next);
    al_use(co, r, e->loop.init->loc, NULL);
    return r;
}

/* ---- Expressions ---- */

static void eval_dims(Co *co, ADimIndices *ds)
{
    for (int i = 0; i < ds->n; i++) {
        AExp *parts[] = {ds->at[i].i, ds->at[i].j, ds->at[i].s};
        for (int j = 0; j < 3; j++)
            if (parts[j])
                eval(co, parts[j]);
    }
}

static Al *eval_var(Co *co, AExp *e)
{
    Binding *b = e->var.bind;
    if (!b || !al_holds_arrays(e->type) || b->kind == BIND_BUILTIN || b->kind == BIND_SIZE)
        return al_none(co);
    if (b->kind == BIND_DEF && !al_local(co, b) && b->type->kind == TY_FUN)
        return al_none(co);
    Al *al = al_of_var(co, b, b->kind == BIND_DEF ? e->type : b->type);
    al_use(co, al, e->loc, b->name);
    return al;
}

static Al *eval_seq(Co *co, AExp *e)
{
    VEC(Al *) als = {0};
    int *marked = NEWN(co->a, int, e->seq.elems.n + 1);
    for (int i = 0; i < e->seq.elems.n; i++) {
        vec_push(co->a, &als, eval(co, e->seq.elems.at[i]));
        marked[i] = co->marked.n;
    }
    for (int i = 0; i < als.n; i++) /* a later component may have consumed an earlier one */
        if (co->marked.n > marked[i])
            al_use(co, als.at[i], e->seq.elems.at[i]->loc, var_name(e->seq.elems.at[i]));
    Al *c = al_none(co);
    for (int k = 0; k < als.n; k++)
        for (int i = 0; i < als.n; i++)
            if (e->kind == AE_TUPLE ? i == k : e->seq.names.at[i] == e->type->names.at[k])
                vec_push(co->a, &c->kids, als.at[i]);
    return c;
}

static Al *eval_proj(Co *co, AExp *e)
{
    Al *al = path_al(co, e);
    if (al) {
        const AExp *root = e;
        while (root->kind == AE_PROJ)
            root = root->proj.e;
        al_use(co, al, e->loc, root->var.name);
        return al_shape(co, e->type, al);
    }
    Al *from = eval(co, e->proj.e);
    const AType *t = e->proj.e->type;
    for (int i = 0; i < from->kids.n; i++) {
        const char *name = t->kind == TY_RECORD ? t->names.at[i] : arena_printf(co->a, "%d", i);
        if (!strcmp(name, e->proj.names.at[0]))
            return from->kids.at[i];
    }
    return from;
}

/* Replaces the component at a path; counts the others as used. */
static Al *replace_path(Co *co, const AType *t, const Al *al, const Names *path, int at, Al *v,
                        Loc loc)
{
    if (at == path->n)
        return v;
    Al *c = al_none(co);
    for (int i = 0; i < t->elems.n; i++) {
        const char *name = t->kind == TY_RECORD ? t->names.at[i] : arena_printf(co->a, "%d", i);
        Al *kid = i < al->kids.n ? al->kids.at[i] : (Al *)al;
        if (!strcmp(name, path->at[at]))
            kid = replace_path(co, t->elems.at[i], kid, path, at + 1, v, loc);
        else
            al_use(co, kid, loc, NULL);
        vec_push(co->a, &c->kids, kid);
    }
    return c;
}

static Al *eval_update(Co *co, AExp *e)
{
    if (e->kind == AE_RECUPDATE) {
        Al *al = path_al(co, e->update.e);
        if (!al)
            al = eval(co, e->update.e);
        Al *v = eval(co, e->update.value);
        return replace_path(co, e->type, al_shape(co, e->type, al), &e->update.names, 0, v,
                            e->update.e->loc);
    }
    Al *al = eval(co, e->update.e);
    int marked = co->marked.n;
    eval_dims(co, &e->update.dims);
    Al *v = al_shape(co, e->update.value->type, eval(co, e->update.value));
    Ref which;
    if (co->marked.n > marked)
        al_use(co, al, e->update.e->loc, NULL);
    if (al_share(co, al, v, &which))
        ck_error(co->ck, e->update.value->loc,
                 "the new value may share memory with `%s`, which it is written into; use `copy`",
                 which.b->name);
    al_consume(co, al, e->update.e->loc);
    return al_none(co);
}

static void count_gone(Co *co, const Al *al, Refs *once, Refs *twice)
{
    Loc where;
    for (int i = 0; i < al->refs.n; i++)
        if (al_gone_at(co, al->refs.at[i], &where))
            vec_push(co->a, al_has_ref(once, al->refs.at[i]) ? twice : once, al->refs.at[i]);
    for (int i = 0; i < al->kids.n; i++)
        count_gone(co, al->kids.at[i], once, twice);
}

static void drop_refs(Al *al, const Refs *once, const Refs *twice)
{
    int n = 0;
    for (int i = 0; i < al->refs.n; i++)
        if (!al_has_ref(once, al->refs.at[i]) || al_has_ref(twice, al->refs.at[i]))
            al->refs.at[n++] = al->refs.at[i];
    al->refs.n = n;
    for (int i = 0; i < al->kids.n; i++)
        drop_refs(al->kids.at[i], once, twice);
}

/* `if c then a with [i] = v else a`: what one branch consumed and the other returned has no user
 * but the result, which takes it over, unless two of the result's components share it. */
static Al *take_over_gone(Co *co, Al *al)
{
    Refs once = {0}, twice = {0};
    count_gone(co, al, &once, &twice);
    drop_refs(al, &once, &twice);
    return al;
}

static Al *eval_if(Co *co, AExp *e)
{
    eval(co, e->cond.test);
    int start = co->marked.n;
    Al *x = eval(co, e->cond.then);
    int mid = co->marked.n;
    Loc *locs = NEWN(co->a, Loc, mid - start + 1);
    for (int i = start; i < mid; i++) {
        Ref r = co->marked.at[i];
        locs[i - start] = co->vars[r.b->uid].gone.at[r.leaf];
    }
    al_set_marks(co, start, mid, NULL); /* the other branch has not seen these */
    Al *y = eval(co, e->cond.els);
    al_set_marks(co, start, mid, locs);
    return take_over_gone(co, al_union(co, x, y));
}

static Al *eval(Co *co, AExp *e)
{
    switch (e->kind) {
    case AE_LIT:
    case AE_HOLE:
    case AE_STRING:
    case AE_PROJSECT: return al_none(co);
    case AE_VAR: return eval_var(co, e);
    case AE_TUPLE:
    case AE_RECORD: return eval_seq(co, e);
    case AE_ARRAY:
        for (int i = 0; i < e->seq.elems.n; i++)
            eval(co, e->seq.elems.at[i]);
        return al_none(co);
    case AE_RANGE:
        eval(co, e->range.start);
        if (e->range.second)
            eval(co, e->range.second);
        eval(co, e->range.end);
        return al_none(co);
    case AE_APP: return eval_app(co, e);
    case AE_OPSECT: {
        Al *op = eval(co, e->opsect.op);
        return al_union(co, op, eval(co, e->opsect.arg));
    }
    case AE_IDXSECT: eval_dims(co, &e->index.dims); return al_none(co);
    case AE_LAMBDA: return eval_lambda(co, e);
    case AE_PROJ: return eval_proj(co, e);
    case AE_INDEX: {
        Al *al = eval(co, e->index.e);
        eval_dims(co, &e->index.dims);
        return al_shape(co, e->type, al);
    }
    case AE_UPDATE:
    case AE_RECUPDATE: return eval_update(co, e);
    case AE_IF: return eval_if(co, e);
    case AE_LET: {
        Al *al = al_shape(co, e->let.rhs->type, eval(co, e->let.rhs));
        al_bind_pat(co, e->let.pat, al, VAR_LET);
        return eval(co, e->let.body);
    }
    case AE_LETFUN: {
        Def *d = e->letfun.def;
        Al *al = eval_def(co, d);
        al_bind_var(co, d->bind, d->bind->type, al, VAR_LET);
        return eval(co, e->letfun.body);
    }
    case AE_LOOP: return eval_loop(co, e);
    case AE_ASCRIBE:
    case AE_COERCE: return eval(co, e->ascribe.e);
    case AE_ASSERT: eval(co, e->assertion.test); return eval(co, e->assertion.e);
    case AE_ATTR: return eval(co, e->attr.e);
    }
    return al_none(co);
}

void consume_def(Ck *ck, Def *d)
{
    Co co = {.ck = ck, .a = ck->a};
    ConsumeVars *vars = ck->vars ? ck->vars : (ck->vars = NEW(ck->a, ConsumeVars));
    while (vars->n < ck->n_bindings)
        vec_push(ck->a, vars, (Var){0});
    co.vars = vars->at;
    eval_def(&co, d);
}
