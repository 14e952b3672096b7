/* Consumption: loops (consume_int.h). What a body consumes of the loop's variables, and what it
 * returns for them, decides which initial values the loop consumes. */
#include "frontend/consume/consume_int.h"

/* A variable of the loop's pattern, and what the body returns for it. */
typedef struct {
    Var *v;
    bool consumed; /* by the body, directly or as the next value of one that is */
    bool declared; /* as `*t` */
    RefSet *all;   /* what the body returns may be, */
    Refs next;     /* as a list, if something is consumed */
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
        LoopVar lv = {.v = ptrmap_get(co->vars, p->bind), .declared = al_any_unique(p->type)};
        for (int i = 0; i < lv.v->leaves.n; i++)
            lv.consumed |= al_is_gone(&(Ref){lv.v, i, false});
        lv.all = al_all(co, al_shape(co, t, body));
        vec_push(co->a, out, lv);
    }
    for (int i = 0; i < p->elems.n; i++) {
        int k = elem_index(p, t, i);
        loop_vars(co, p->elems.at[i], t->elems.at[k], al_kid(body, k), out);
    }
}

/* Whether a variable may be consumed. Then the lists are there. */
static bool may_consume(Co *co, LoopVars *vs)
{
    bool any = false;
    for (int i = 0; i < vs->n; i++)
        any |= vs->at[i].consumed || vs->at[i].declared;
    for (int i = 0; any && i < vs->n; i++)
        vs->at[i].next = al_list(co, vs->at[i].all);
    return any;
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

/* What the body returns for a variable that is consumed, or declared so, is nobody else's: from
 * inside, and no other variable's next value. */
static void check_next(Co *co, const LoopVars *vs, Loc loc)
{
    Refs consumed = {0}, observed = {0};
    for (int i = 0; i < vs->n; i++) {
        const LoopVar *lv = &vs->at[i];
        bool takes = lv->consumed || lv->declared;
        for (int j = 0; takes && j < lv->next.n; j++) {
            const Var *v = lv->next.at[j].v;
            if (v->kind == VAR_HIDDEN) {
                ck_error(co->ck, loc,
                         "the next iteration would consume what the loop body returns for `%s`, "
                         "but %s; use `copy`",
                         lv->v->name, al_why_hidden);
                return;
            }
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
        if (!r && takes)
            r = al_shared(co, &lv->next, &observed);
        if (r) {
            const char *what = r->v->kind <= VAR_GLOBAL ? al_describe(co, r->v) : "the same array";
            ck_error(co->ck, loc,
                     "the loop body may return %s twice, but the next iteration consumes one of "
                     "them; use `copy`",
                     what);
            return;
        }
        al_add_refs(co, takes ? &consumed : &observed, &lv->next);
    }
}

static const LoopVar *loop_var(const LoopVars *vs, const Var *v)
{
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i].v == v)
            return &vs->at[i];
    return NULL;
}

/* A component of what a loop carries. */
typedef struct {
    const LoopVar *var; /* whose it is; NULL: it has no name */
    RefSet *init, *may; /* what the initial value may be; what it, or what a turn returns, may */
    Refs next;          /* of what a turn returns, what is of the loop */
} Part;
typedef VEC(Part) Parts;

static void add_parts(Co *co, const AType *t, const LoopVar *var, Parts *out)
{
    Leaves ls = {0};
    al_leaves(t, al_none(co), false, &ls, co->a);
    if (var)
        var->v->first_part = out->n + 1;
    for (int i = 0; i < ls.n; i++)
        vec_push(co->a, out, ((Part){.var = var}));
}

/* The components of the pattern's type, in order. */
static void list_parts(Co *co, const Pat *p, const AType *t, const LoopVars *vs, Parts *out)
{
    if (p->kind == P_ASCRIBE) {
        list_parts(co, p->pat, t, vs, out);
        return;
    }
    if (p->kind == P_VAR || p->kind == P_WILD || p->kind == P_LIT) {
        add_parts(co, t, p->kind == P_VAR ? loop_var(vs, ptrmap_get(co->vars, p->bind)) : NULL,
                  out);
        return;
    }
    for (int k = 0; k < t->elems.n; k++) {
        const Pat *in = NULL;
        Pat holds = *p;
        holds.kind = P_TUPLE;
        for (int i = 0; p->kind != P_CONSTR && i < p->elems.n && !in; i++)
            in = elem_index(p, t, i) == k ? p->elems.at[i] : NULL;
        if (p->kind == P_CONSTR && type_part(t, p->name) == k)
            in = &holds;
        if (in)
            list_parts(co, in, t->elems.at[k], vs, out);
        else
            add_parts(co, t->elems.at[k], NULL, out);
    }
}

static bool is_consumed(const Part *p)
{
    return p->var && p->var->consumed;
}

/* Consumes the initial values of variables that are: nothing else of the initial value may share
 * memory with them. */
static void consume_init(Co *co, const AType *t, Al *init, const Parts *ps, Loc loc)
{
    Leaves ls = {0};
    Refs taken = {0};
    bool any = false;
    for (int i = 0; i < ps->n; i++) {
        any |= is_consumed(&ps->at[i]);
        const Refs own = is_consumed(&ps->at[i]) ? al_list(co, ps->at[i].init) : (Refs){0};
        al_add_refs(co, &taken, &own);
    }
    if (!any)
        return;
    al_leaves(t, init, false, &ls, co->a);
    al_count(co, t, &ls);
    for (int i = 0; i < ls.n; i++) {
        const Ref *r = is_consumed(&ps->at[i]) ? al_in_others(&ls.at[i]) : NULL;
        if (!r)
            continue;
        ck_error(co->ck, loc,
                 "the loop consumes a part of this, but parts of it may share memory%s; use `copy`",
                 r->v->kind <= VAR_GLOBAL ? arena_printf(co->a, " (of `%s`)", r->v->name) : "");
        return;
    }
    al_consume(co, &taken, loc);
}

/* What component i may be: a turn may make it of other variables, so what these were or became.
 * seen[k] is `round` if k is one of those. */
static void add_reached(Co *co, const Parts *ps, int i, int *seen, int round, RefSet **to)
{
    if (seen[i] == round)
        return;
    seen[i] = round;
    const Refs *rs = &ps->at[i].next;
    *to = al_set_union(co, *to, ps->at[i].may);
    for (int j = 0; j < rs->n; j++)
        if (rs->at[j].v->first_part)
            add_reached(co, ps, rs->at[j].v->first_part - 1 + rs->at[j].leaf, seen, round, to);
}

/* What the result aliases: what the body returned; of what is not consumed, the initial value and
 * other parts of the result too. No set made before `first` has the loop's variables. */
static Al *loop_result(Co *co, const AType *t, Al *body, Parts *ps, int first, Ref made)
{
    Leaves ls = {0};
    al_leaves(t, body, false, &ls, co->a);
    for (int i = 0; i < ps->n; i++) {
        Part *p = &ps->at[i];
        RefSet *next = al_all(co, ls.at[i].al);
        p->may = al_set_union(co, next, is_consumed(p) ? NULL : p->init);
        p->next = al_list_since(co, next, first);
    }
    RefSet *also = al_set_with(co, made, NULL);
    int *seen = NEWN(co->a, int, ps->n + 1);
    for (int i = 0; i < ps->n; i++) {
        if (is_consumed(&ps->at[i]) || !al_holds_arrays(ls.at[i].t))
            continue;
        ls.at[i].al = al_none(co);
        add_reached(co, ps, i, seen, i + 1, &ls.at[i].al->refs);
        ls.at[i].al->refs = al_set_union(co, ls.at[i].al->refs, also);
    }
    for (int i = 0; i < ps->n; i++)
        if (ps->at[i].var)
            ps->at[i].var->v->first_part = 0; /* for loops that follow it is a value as others */
    int next = 0;
    return al_rebuild(co, t, &ls, &next);
}

/* What each iteration needs must not be consumed when the first begins. */
static void check_needed(Co *co, RefSet *needed, const char *how, Loc loc)
{
    const Refs all = al_set_alive(co, needed) ? (Refs){0} : al_list(co, needed);
    for (int i = 0; i < all.n; i++)
        if (al_is_gone(&all.at[i])) {
            ck_error(co->ck, loc, "the loop %s %s, but its initial value consumes that; use `copy`",
                     how, al_describe(co, all.at[i].v));
            return;
        }
}

/* The initial value comes first, then what the loop goes over; but only the body tells what is
 * consumed of it. */
Al *co_loop(Co *co, AExp *e)
{
    const Pat *p = e->loop.pat;
    const AType *t = p->type;
    int scope = co->scope.n;
    Done first = co_eval_part(co, e->loop.init);
    Al *init = al_shape(co, t, first.al), *over = al_none(co);
    if (e->loop.kind != ALOOP_WHILE)
        over = co_eval(co, e->loop.bound);
    co_still_alive(co, &first);
    int marked = co->marked.n, first_set = co->sets;
    al_push_frame(co, FRAME_BODY);
    al_bind_pat(co, p, al_none(co), BIND_LOOP_PARAM);
    if (e->loop.kind == ALOOP_WHILE) {
        al_push_frame(co, FRAME_CONDITION); /* it may not consume the loop's variables */
        co_eval(co, e->loop.bound);
        al_pop_frame(co, co->marked.n);
    } else {
        al_bind_pat(co, e->loop.var, al_shape(co, e->loop.var->type, over), BIND_LOOP_ELEM);
    }
    Al *body = al_shape(co, t, co_eval(co, e->loop.body));
    LoopVars vs = {0};
    loop_vars(co, p, t, body, &vs);
    al_unscope(co, scope);
    RefSet *used = al_pop_frame(co, marked), *seen = al_all(co, over);
    if (may_consume(co, &vs)) {
        declared_consumption(&vs);
        spread_consumption(&vs);
        check_next(co, &vs, e->loop.body->loc);
    }

    Loc loc = e->loop.init->loc;
    Parts parts = {0};
    Leaves ls = {0};
    al_leaves(t, init, false, &ls, co->a);
    list_parts(co, p, t, &vs, &parts);
    for (int i = 0; i < parts.n; i++)
        parts.at[i].init = al_all(co, ls.at[i].al);
    consume_init(co, t, init, &parts, loc);
    check_needed(co, used, "uses", loc);
    check_needed(co, seen, "goes over", loc);
    Ref made = {al_make_up(co, VAR_LOOP, NULL, e->loc), 0, false};
    return loop_result(co, t, body, &parts, first_set, made);
}
