/* Children of expressions: visiting them, rebuilding with other ones; free variables. */
#include "ir/ir.h"

#include <string.h>

/* --- Maps keyed by variables: open addressing, a power of two of slots ----------------------- */

typedef struct {
    const Var *key;
    void *value; /* NULL: deleted */
} Slot;

struct VarMap {
    Arena *mem;
    Slot *slots;
    int n_slots, n_used;
};

VarMap *varmap_new(Arena *a)
{
    VarMap *m = NEW(a, VarMap);
    m->mem = a;
    return m;
}

static Slot *find_slot(const VarMap *m, const Var *v)
{
    unsigned mask = (unsigned)m->n_slots - 1;
    unsigned i = (unsigned)v->id * 2654435761u;
    for (i ^= i >> 15;; i++) {
        Slot *s = &m->slots[i & mask];
        if (!s->key || s->key == v)
            return s;
    }
}

static void grow_map(VarMap *m)
{
    VarMap old = *m;
    m->n_slots = old.n_slots ? 2 * old.n_slots : 8;
    m->slots = NEWN(m->mem, Slot, m->n_slots);
    m->n_used = 0;
    for (int i = 0; i < old.n_slots; i++)
        if (old.slots[i].value) {
            *find_slot(m, old.slots[i].key) = old.slots[i];
            m->n_used++;
        }
}

void varmap_put(VarMap *m, const Var *v, const void *value)
{
    if (4 * (m->n_used + 1) > 3 * m->n_slots)
        grow_map(m);
    Slot *s = find_slot(m, v);
    m->n_used += !s->key;
    /* Values are handed back as the caller's own pointers. */
    *s = (Slot){v, (void *)(uintptr_t)value};
}

void *varmap_get(const VarMap *m, const Var *v)
{
    return m->n_slots ? find_slot(m, v)->value : NULL;
}

void varmap_del(VarMap *m, const Var *v)
{
    if (m->n_slots && find_slot(m, v)->key)
        find_slot(m, v)->value = NULL;
}

/* --- Rebuilding an expression ---------------------------------------------------------------- */

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

static Atoms map_atoms(const MapEnv *me, const Atoms *as)
{
    return atoms_map(me->cx, as, map_one_atom, me);
}

static Type map_type(const MapEnv *me, Type t)
{
    Type r = {t.elem, t.rank, t.rank ? NEWN(me->cx->perm, Atom, t.rank) : NULL};
    for (int i = 0; i < t.rank; i++)
        r.dims[i] = map_atom(me, t.dims[i]);
    return r;
}

static Var *map_binder(const MapEnv *me, Var *v)
{
    return v && me->m->binder ? me->m->binder(me->m->env, v) : v;
}

static Vars map_binders(const MapEnv *me, const Vars *vs)
{
    Vars r = {0};
    for (int i = 0; i < vs->n; i++) {
        Var *v = map_binder(me, vs->at[i]);
        vec_push(me->cx->perm, &r, v);
    }
    return r;
}

static Body *map_body(const MapEnv *me, Body *b)
{
    return b && me->m->body ? me->m->body(me->m->env, b) : b;
}

static Lambda *map_lambda(const MapEnv *me, Lambda *l)
{
    return l && me->m->lambda ? me->m->lambda(me->m->env, l) : l;
}

static DimIndexes map_at(const MapEnv *me, const DimIndexes *at)
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
    return r;
}

static Dests map_dests(const MapEnv *me, const Dests *ds)
{
    Dests r = {0};
    for (int i = 0; i < ds->n; i++) {
        Dest d = {map_atom(me, ds->at[i].arr), ds->at[i].rank};
        vec_push(me->cx->perm, &r, d);
    }
    return r;
}

static Nest map_nest(const MapEnv *me, const Nest *nest)
{
    Nest r = {0};
    for (int i = 0; i < nest->n; i++) {
        const NestDim *d = &nest->at[i];
        NestDim n = {.width = map_atom(me, d->width), .arrs = map_atoms(me, &d->arrs)};
        n.idx = map_binder(me, d->idx);
        n.xs = map_binders(me, &d->xs);
        vec_push(me->cx->perm, &r, n);
    }
    return r;
}

static void map_loop(const MapEnv *me, Exp *r, const Exp *e)
{
    r->loop.inits = map_atoms(me, &e->loop.inits);
    if (e->loop.kind == LOOP_FOR)
        r->loop.bound = map_atom(me, e->loop.bound);
    r->loop.params = map_binders(me, &e->loop.params);
    r->loop.i = map_binder(me, e->loop.i);
    for (int k = 0; k < e->loop.params.n; k++)
        if (e->loop.params.at[k] == e->loop.cond)
            r->loop.cond = r->loop.params.at[k];
    r->loop.body = map_body(me, e->loop.body);
}

static void map_soac(const MapEnv *me, Exp *r, const Exp *e)
{
    r->soac.width = map_atom(me, e->soac.width);
    r->soac.arrs = map_atoms(me, &e->soac.arrs);
    r->soac.nes = map_atoms(me, &e->soac.nes);
    r->soac.dests = map_dests(me, &e->soac.dests);
    r->soac.fn = map_lambda(me, e->soac.fn);
    r->soac.op = map_lambda(me, e->soac.op);
}

static void map_seg(const MapEnv *me, Exp *r, const Exp *e)
{
    r->seg.nest = map_nest(me, &e->seg.nest);
    r->seg.nes = map_atoms(me, &e->seg.nes);
    r->seg.dests = map_dests(me, &e->seg.dests);
    r->seg.body = map_body(me, e->seg.body);
    r->seg.op = map_lambda(me, e->seg.op);
}

Exp *exp_map_parts(Ctx *cx, const Exp *e, const ExpMapper *m)
{
    MapEnv env = {cx, m}, *me = &env;
    Exp *r = NEW(cx->perm, Exp);
    *r = *e;
    switch (e->kind) {
    case E_ATOM: r->atom = map_atom(me, e->atom); break;
    case E_PRIM: r->prim.args = map_atoms(me, &e->prim.args); break;
    case E_CONV: r->conv.arg = map_atom(me, e->conv.arg); break;
    case E_INDEX:
        r->index.arr = map_atom(me, e->index.arr);
        r->index.at = map_at(me, &e->index.at);
        break;
    case E_UPDATE:
        r->update.arr = map_atom(me, e->update.arr);
        r->update.at = map_at(me, &e->update.at);
        r->update.val = map_atom(me, e->update.val);
        break;
    case E_IOTA:
        r->iota.n = map_atom(me, e->iota.n);
        r->iota.start = map_atom(me, e->iota.start);
        r->iota.stride = map_atom(me, e->iota.stride);
        break;
    case E_REPLICATE:
        r->replicate.dims = map_atoms(me, &e->replicate.dims);
        r->replicate.val = map_atom(me, e->replicate.val);
        break;
    case E_SCRATCH: r->scratch.type = map_type(me, e->scratch.type); break;
    case E_ARRAYLIT:
        r->arraylit.elem = map_type(me, e->arraylit.elem);
        r->arraylit.elems = map_atoms(me, &e->arraylit.elems);
        break;
    case E_CONCAT:
        r->concat.n = map_atom(me, e->concat.n);
        r->concat.arrs = map_atoms(me, &e->concat.arrs);
        break;
    case E_REARRANGE:
    case E_MANIFEST: r->rearrange.arr = map_atom(me, e->rearrange.arr); break;
    case E_RESHAPE:
        r->reshape.dims = map_atoms(me, &e->reshape.dims);
        r->reshape.arr = map_atom(me, e->reshape.arr);
        break;
    case E_COPY: r->copy.arr = map_atom(me, e->copy.arr); break;
    case E_IF:
        r->branch.test = map_atom(me, e->branch.test);
        r->branch.then_ = map_body(me, e->branch.then_);
        r->branch.else_ = map_body(me, e->branch.else_);
        break;
    case E_LOOP: map_loop(me, r, e); break;
    case E_ASSERT:
        r->assertion.cond = map_atom(me, e->assertion.cond);
        r->assertion.args = map_atoms(me, &e->assertion.args);
        break;
    case E_MAP:
    case E_REDUCE:
    case E_SCAN:
    case E_REDOMAP:
    case E_SCANOMAP:
    case E_SCATTER:
    case E_HIST: map_soac(me, r, e); break;
    case E_SUFF:
        r->suff.par = map_atom(me, e->suff.par);
        r->suff.work = map_atom(me, e->suff.work);
        break;
    case E_SEGMAP:
    case E_SEGRED:
    case E_SEGSCAN:
    case E_SEGSCATTER:
    case E_SEGHIST: map_seg(me, r, e); break;
    case N_FORMS: ice(e->loc, "no form");
    }
    return r;
}

/* --- Visiting an expression ------------------------------------------------------------------- */

static void visit_atom(const ExpVisitor *v, Atom a)
{
    if (v->atom)
        v->atom(v->env, a);
}

static void visit_atoms(const ExpVisitor *v, const Atoms *as)
{
    for (int i = 0; i < as->n; i++)
        visit_atom(v, as->at[i]);
}

static void visit_type(const ExpVisitor *v, Type t)
{
    for (int i = 0; i < t.rank; i++)
        visit_atom(v, t.dims[i]);
}

static void visit_binder(const ExpVisitor *v, Var *x)
{
    if (x && v->binder)
        v->binder(v->env, x);
}

static void visit_binders(const ExpVisitor *v, const Vars *xs)
{
    for (int i = 0; i < xs->n; i++)
        visit_binder(v, xs->at[i]);
}

static void visit_body(const ExpVisitor *v, Body *b)
{
    if (b && v->body)
        v->body(v->env, b);
}

static void visit_lambda(const ExpVisitor *v, Lambda *l)
{
    if (!l)
        return;
    visit_binders(v, &l->params);
    if (v->lambda)
        v->lambda(v->env, l);
}

static void visit_at(const ExpVisitor *v, const DimIndexes *at)
{
    for (int i = 0; i < at->n; i++) {
        visit_atom(v, at->at[i].start);
        if (at->at[i].is_slice) {
            visit_atom(v, at->at[i].n);
            visit_atom(v, at->at[i].stride);
        }
    }
}

static void visit_dests(const ExpVisitor *v, const Dests *ds)
{
    for (int i = 0; i < ds->n; i++)
        visit_atom(v, ds->at[i].arr);
}

static void visit_loop(const ExpVisitor *v, const Exp *e)
{
    visit_atoms(v, &e->loop.inits);
    if (e->loop.kind == LOOP_FOR)
        visit_atom(v, e->loop.bound);
    visit_binders(v, &e->loop.params);
    visit_binder(v, e->loop.i);
    visit_body(v, e->loop.body);
}

static void visit_soac(const ExpVisitor *v, const Exp *e)
{
    visit_atom(v, e->soac.width);
    visit_atoms(v, &e->soac.arrs);
    visit_atoms(v, &e->soac.nes);
    visit_dests(v, &e->soac.dests);
    visit_lambda(v, e->soac.fn);
    visit_lambda(v, e->soac.op);
}

static void visit_seg(const ExpVisitor *v, const Exp *e)
{
    for (int i = 0; i < e->seg.nest.n; i++) {
        const NestDim *d = &e->seg.nest.at[i];
        visit_atom(v, d->width);
        visit_atoms(v, &d->arrs);
        visit_binder(v, d->idx);
        visit_binders(v, &d->xs);
    }
    visit_atoms(v, &e->seg.nes);
    visit_dests(v, &e->seg.dests);
    visit_body(v, e->seg.body);
    visit_lambda(v, e->seg.op);
}

void exp_visit(const Exp *e, const ExpVisitor *v)
{
    switch (e->kind) {
    case E_ATOM: visit_atom(v, e->atom); break;
    case E_PRIM: visit_atoms(v, &e->prim.args); break;
    case E_CONV: visit_atom(v, e->conv.arg); break;
    case E_INDEX:
        visit_atom(v, e->index.arr);
        visit_at(v, &e->index.at);
        break;
    case E_UPDATE:
        visit_atom(v, e->update.arr);
        visit_at(v, &e->update.at);
        visit_atom(v, e->update.val);
        break;
    case E_IOTA:
        visit_atom(v, e->iota.n);
        visit_atom(v, e->iota.start);
        visit_atom(v, e->iota.stride);
        break;
    case E_REPLICATE:
        visit_atoms(v, &e->replicate.dims);
        visit_atom(v, e->replicate.val);
        break;
    case E_SCRATCH: visit_type(v, e->scratch.type); break;
    case E_ARRAYLIT:
        visit_type(v, e->arraylit.elem);
        visit_atoms(v, &e->arraylit.elems);
        break;
    case E_CONCAT:
        visit_atom(v, e->concat.n);
        visit_atoms(v, &e->concat.arrs);
        break;
    case E_REARRANGE:
    case E_MANIFEST: visit_atom(v, e->rearrange.arr); break;
    case E_RESHAPE:
        visit_atoms(v, &e->reshape.dims);
        visit_atom(v, e->reshape.arr);
        break;
    case E_COPY: visit_atom(v, e->copy.arr); break;
    case E_IF:
        visit_atom(v, e->branch.test);
        visit_body(v, e->branch.then_);
        visit_body(v, e->branch.else_);
        break;
    case E_LOOP: visit_loop(v, e); break;
    case E_ASSERT:
        visit_atom(v, e->assertion.cond);
        visit_atoms(v, &e->assertion.args);
        break;
    case E_MAP:
    case E_REDUCE:
    case E_SCAN:
    case E_REDOMAP:
    case E_SCANOMAP:
    case E_SCATTER:
    case E_HIST: visit_soac(v, e); break;
    case E_SUFF:
        visit_atom(v, e->suff.par);
        visit_atom(v, e->suff.work);
        break;
    case E_SEGMAP:
    case E_SEGRED:
    case E_SEGSCAN:
    case E_SEGSCATTER:
    case E_SEGHIST: visit_seg(v, e); break;
    case N_FORMS: ice(e->loc, "no form");
    }
}

/* --- Free variables --------------------------------------------------------------------------- */

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
