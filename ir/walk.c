/* Children of expressions: visiting them, rebuilding with other ones; free variables. */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

/* --- Rebuilding an expression --------------------------------------------------------------- */

typedef struct {
    Ctx *cx;
    const ExpMapper *m;
} MapEnv;

static Atom map_atom(const MapEnv *me, Atom a)
{
    return me->m->atom ? me->m->atom(me->m->env, a) : a;
}

static Atom map_one_atom(const void *me, Atom a)
{
    return map_atom(me, a);
}

Atoms atoms_map(Ctx *cx, const Atoms *as, Atom (*fn)(const void *env, Atom a), const void *env)
{
    Atoms r = {as->at, as->n, as->n}; /* shared until something changes */
    for (int i = 0; i < as->n; i++) {
        Atom a = fn(env, as->at[i]);
        if (r.at == as->at && memcmp(&a, &as->at[i], sizeof a) != 0) {
            r.at = NEWN(cx->perm, Atom, as->n);
            memcpy(r.at, as->at, sizeof a * (size_t)i);
        }
        if (r.at != as->at)
            r.at[i] = a;
    }
    return r;
}

static void part_atom(const MapEnv *me, Atom *a)
{
    *a = map_atom(me, *a);
}

static void part_atoms(const MapEnv *me, Atoms *as)
{
    *as = atoms_map(me->cx, as, map_one_atom, me);
}

static void part_type(const MapEnv *me, Type *t)
{
    Atom *dims = t->rank ? NEWN(me->cx->perm, Atom, t->rank) : NULL;
    for (int i = 0; i < t->rank; i++)
        dims[i] = map_atom(me, t->dims[i]);
    t->dims = dims;
}

static void part_binder(const MapEnv *me, Var **v)
{
    if (*v && me->m->binder)
        *v = me->m->binder(me->m->env, *v);
}

static void part_binders(const MapEnv *me, Vars *vs)
{
    Vars r = {0};
    for (int i = 0; i < vs->n; i++) {
        Var *v = vs->at[i];
        part_binder(me, &v);
        vec_push(me->cx->perm, &r, v);
    }
    *vs = r;
}

static void part_body(const MapEnv *me, Body **b)
{
    if (*b && me->m->body)
        *b = me->m->body(me->m->env, *b);
}

static void part_lambda(const MapEnv *me, Lambda **l)
{
    if (*l && me->m->lambda)
        *l = me->m->lambda(me->m->env, *l);
}

static void part_at(const MapEnv *me, DimIndexes *at)
{
    DimIndexes r = {0};
    for (int i = 0; i < at->n; i++) {
        DimIndex d = at->at[i];
        d.start = map_atom(me, d.start);
        if (d.is_slice) {
            d.n = map_atom(me, d.n);
            d.stride = map_atom(me, d.stride);
        }
        vec_push(me->cx->perm, &r, d);
    }
    *at = r;
}

static void part_dests(const MapEnv *me, Dests *ds)
{
    Dests r = {0};
    for (int i = 0; i < ds->n; i++) {
        Dest d = {map_atom(me, ds->at[i].arr), ds->at[i].rank};
        vec_push(me->cx->perm, &r, d);
    }
    *ds = r;
}

static void part_nest(const MapEnv *me, Nest *nest)
{
    Nest r = {0};
    for (int i = 0; i < nest->n; i++) {
        NestDim d = nest->at[i];
        part_atom(me, &d.width);
        part_atoms(me, &d.arrs);
        part_binder(me, &d.idx);
        part_binders(me, &d.xs);
        if (d.row) {
            part_atom(me, &d.rows);
            part_atom(me, &d.offs);
            part_binder(me, &d.row);
        }
        vec_push(me->cx->perm, &r, d);
    }
    *nest = r;
}

Exp *exp_map_parts(Ctx *cx, const Exp *e, const ExpMapper *m)
{
    MapEnv env = {cx, m}, *me = &env;
    Exp *r = NEW(cx->perm, Exp);
    *r = *e;
    switch (exp_member(e)) {
#define PART(kind, field) part_##kind(me, &r->field);
#define MEMBER(member, parts)                                                                      \
    case M_##member:                                                                               \
        parts break;
#include "ir/members.def"
#undef MEMBER
#undef PART
    case N_MEMBERS: ice(e->loc, "no form");
    }
    /* Which parameter goes on being the condition. */
    for (int k = 0; e->kind == E_LOOP && k < e->loop.params.n; k++)
        if (e->loop.params.at[k] == e->loop.cond)
            r->loop.cond = r->loop.params.at[k];
    return r;
}

/* --- Visiting an expression ----------------------------------------------------------------- */

static void visit_atom(const ExpVisitor *v, const Atom *a)
{
    if (v->atom)
        v->atom(v->env, *a);
}

static void visit_atoms(const ExpVisitor *v, const Atoms *as)
{
    for (int i = 0; i < as->n; i++)
        visit_atom(v, &as->at[i]);
}

static void visit_type(const ExpVisitor *v, const Type *t)
{
    for (int i = 0; i < t->rank; i++)
        visit_atom(v, &t->dims[i]);
}

static void visit_binder(const ExpVisitor *v, Var *const *x)
{
    if (*x && v->binder)
        v->binder(v->env, *x);
}

static void visit_binders(const ExpVisitor *v, const Vars *xs)
{
    for (int i = 0; i < xs->n; i++)
        visit_binder(v, &xs->at[i]);
}

static void visit_body(const ExpVisitor *v, Body *const *b)
{
    if (*b && v->body)
        v->body(v->env, *b);
}

static void visit_lambda(const ExpVisitor *v, Lambda *const *l)
{
    if (!*l)
        return;
    visit_binders(v, &(*l)->params);
    if (v->lambda)
        v->lambda(v->env, *l);
}

static void visit_at(const ExpVisitor *v, const DimIndexes *at)
{
    for (int i = 0; i < at->n; i++) {
        visit_atom(v, &at->at[i].start);
        if (at->at[i].is_slice) {
            visit_atom(v, &at->at[i].n);
            visit_atom(v, &at->at[i].stride);
        }
    }
}

static void visit_dests(const ExpVisitor *v, const Dests *ds)
{
    for (int i = 0; i < ds->n; i++)
        visit_atom(v, &ds->at[i].arr);
}

static void visit_nest(const ExpVisitor *v, const Nest *nest)
{
    for (int i = 0; i < nest->n; i++) {
        visit_atom(v, &nest->at[i].width);
        visit_atoms(v, &nest->at[i].arrs);
        visit_binder(v, &nest->at[i].idx);
        visit_binders(v, &nest->at[i].xs);
        if (nest->at[i].row) {
            visit_atom(v, &nest->at[i].rows);
            visit_atom(v, &nest->at[i].offs);
            visit_binder(v, &nest->at[i].row);
        }
    }
}

void exp_visit(const Exp *e, const ExpVisitor *v)
{
    switch (exp_member(e)) {
#define PART(kind, field) visit_##kind(v, &e->field);
#define MEMBER(member, parts)                                                                      \
    case M_##member:                                                                               \
        parts break;
#include "ir/members.def"
#undef MEMBER
#undef PART
    case N_MEMBERS: ice(e->loc, "no form");
    }
}

/* --- Free variables ------------------------------------------------------------------------- */

/* Every variable is bound once in the program, so a use is free in a part exactly if its binder is
 * not inside the part: bound variables may be collected in one set for all scopes. */
typedef struct {
    VarSet *bound;
    VarSet *free; /* or NULL */
    Vars *order;  /* or NULL: the same in order of first occurrence */
    Ctx *cx;      /* for order */
} Free;

static void free_body_(void *env, Body *b);
static void free_lambda_(void *env, Lambda *l);

static void free_use(void *env, Atom a)
{
    Free *f = env;
    if (!a.var || varset_has(f->bound, a.var) || varset_has(f->free, a.var))
        return;
    varset_add(f->free, a.var);
    if (f->order)
        vec_push(f->cx->perm, f->order, a.var);
}

static void free_type_(Free *f, Type t)
{
    for (int i = 0; i < t.rank; i++)
        free_use(f, t.dims[i]);
}

static void free_bind(void *env, Var *v)
{
    varset_add(((Free *)env)->bound, v);
}

/* Binders are bound before the sizes in their types are looked at: a parameter list may bind the
 * sizes that it mentions. */
static void free_binder_types(Free *f, const Exp *e)
{
    if (e->kind == E_LOOP) {
        for (int i = 0; i < e->loop.params.n; i++)
            free_type_(f, e->loop.params.at[i]->type);
    } else if (exp_is_seg(e)) {
        for (int i = 0; i < e->seg.nest.n; i++)
            for (int j = 0; j < e->seg.nest.at[i].xs.n; j++)
                free_type_(f, e->seg.nest.at[i].xs.at[j]->type);
    }
}

static void free_exp_(Free *f, const Exp *e)
{
    /* Two rounds: binders first, for the types; bodies in their place in the second. */
    ExpVisitor binders = {.env = f, .binder = free_bind};
    exp_visit(e, &binders);
    ExpVisitor uses = {.env = f, .atom = free_use, .body = free_body_, .lambda = free_lambda_};
    exp_visit(e, &uses);
    free_binder_types(f, e);
}

static void free_stm_(Free *f, const Stm *s)
{
    free_exp_(f, s->exp);
    for (int i = 0; i < s->pat.n; i++)
        free_bind(f, s->pat.at[i]);
    for (int i = 0; i < s->pat.n; i++)
        free_type_(f, s->pat.at[i]->type);
}

static void free_body_(void *env, Body *b)
{
    Free *f = env;
    for (int i = 0; i < b->stms.n; i++)
        free_stm_(f, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        free_use(f, b->res.at[i]);
}

static void free_lambda_(void *env, Lambda *l)
{
    Free *f = env;
    for (int i = 0; i < l->params.n; i++)
        free_bind(f, l->params.at[i]);
    for (int i = 0; i < l->params.n; i++)
        free_type_(f, l->params.at[i]->type);
    free_body_(f, l->body);
}

/* The set of bound variables lives only as long as the walk, in an arena of its own: the caller's
 * set may grow meanwhile in any arena. */
#define WITH_BOUND(f, ...)                                                                         \
    do {                                                                                           \
        Arena *tmp_ = arena_new();                                                                 \
        (f).bound = varmap_new(tmp_);                                                              \
        __VA_ARGS__;                                                                               \
        arena_free(tmp_);                                                                          \
    } while (0)

void free_in_exp(VarSet *s, const Exp *e)
{
    Free f = {.free = s};
    WITH_BOUND(f, free_exp_(&f, e));
}

void free_in_stm(VarSet *s, const Stm *st)
{
    Free f = {.free = s};
    WITH_BOUND(f, free_stm_(&f, st));
}

void free_in_body(VarSet *s, const Body *b)
{
    Free f = {.free = s};
    WITH_BOUND(f, free_body_(&f, (Body *)(uintptr_t)b));
}

void free_in_lambda(VarSet *s, const Lambda *l)
{
    Free f = {.free = s};
    WITH_BOUND(f, free_lambda_(&f, (Lambda *)(uintptr_t)l));
}

Vars free_vars_body(Ctx *cx, const Body *b)
{
    Vars order = {0};
    Free f = {.order = &order, .cx = cx};
    WITH_BOUND(f, f.free = varmap_new(tmp_); free_body_(&f, (Body *)(uintptr_t)b));
    return order;
}

Vars free_vars_lambda(Ctx *cx, const Lambda *l)
{
    Vars order = {0};
    Free f = {.order = &order, .cx = cx};
    WITH_BOUND(f, f.free = varmap_new(tmp_); free_lambda_(&f, (Lambda *)(uintptr_t)l));
    return order;
}

bool exp_uses_any(const Exp *e, const VarSet *s)
{
    Vars order = {0};
    Arena *mem = arena_new();
    Ctx cx = {.perm = mem};
    Free f = {.bound = varmap_new(mem), .free = varmap_new(mem), .order = &order, .cx = &cx};
    free_exp_(&f, e);
    bool hit = false;
    for (int i = 0; i < order.n && !hit; i++)
        hit = varset_has(s, order.at[i]);
    arena_free(mem);
    return hit;
}

/* --- Bound variables ------------------------------------------------------------------------ */

static void bound_var(void *env, Var *v)
{
    varset_add(env, v);
}

static void bound_body(void *env, Body *b)
{
    bound_in_body(env, b);
}

static void bound_lambda(void *env, Lambda *l)
{
    bound_in_body(env, l->body);
}

void bound_in_body(VarSet *s, const Body *b)
{
    ExpVisitor v = {s, NULL, bound_var, bound_body, bound_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        for (int k = 0; k < b->stms.at[i].pat.n; k++)
            varset_add(s, b->stms.at[i].pat.at[k]);
        exp_visit(b->stms.at[i].exp, &v);
    }
}

/* --- Sets of variables as lists: as maps they are those of base/ptrmap.h --------------------- */

static int id_cmp(const void *a, const void *b)
{
    const Var *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

Vars varset_list(Arena *a, const VarSet *s)
{
    Vars vs = {0};
    for (int i = 0; (i = ptrmap_next(s, i)) >= 0; i++)
        vec_push(a, &vs, (Var *)(uintptr_t)ptrmap_key(s, i));
    if (vs.n > 1)
        qsort(vs.at, (size_t)vs.n, sizeof *vs.at, id_cmp);
    return vs;
}
