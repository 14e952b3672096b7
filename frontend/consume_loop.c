/* Consumption: loops (consume.h). What a body consumes of the loop's variables, and what it returns for them, decides
 * which initial values the loop consumes. */
#include "frontend/consume.h"

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
Al *co_loop(Co *co, AExp *e)
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
