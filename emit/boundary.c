/* The types and entries of a program as its callers see them, found in its plan. */
#include "emit/boundary.h"
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

typedef struct {
    Ctx *cx;
    const Plan *plan;
    Boundary *b;
} Find;

/* --- Types ----------------------------------------------------------------------------------- */

/* "[][]f32" */
static const char *array_name(Ctx *cx, Type t)
{
    const char *s = prim_type_text[t.elem];
    for (int k = 0; k < t.rank; k++)
        s = arena_printf(cx->perm, "[]%s", s);
    return intern(s);
}

/* A value by itself: a scalar or an array of scalars. */
static bool is_plain(const ExtType *x)
{
    return !x->n_fields && !x->n_variants && !x->elem && x->n_vals == 1;
}

static int find_type(const Boundary *b, const char *name)
{
    for (int i = 0; i < b->types.n; i++)
        if (b->types.at[i].name == name)
            return i;
    return -1;
}

static int push_type(Find *f, BType t)
{
    vec_push(f->cx->perm, &f->b->types, t);
    return f->b->types.n - 1;
}

/* A scalar's type, or an array's after that of its elements, which callers make of it. */
static int plain_type_id(Find *f, Type t)
{
    Type elem = {.elem = t.elem};
    if (t.rank)
        (void)plain_type_id(f, elem);
    const char *name = array_name(f->cx, t);
    int id = find_type(f->b, name);
    if (id >= 0)
        return id;
    return push_type(f, (BType){.name = name,
                                .text = name,
                                .kind = t.rank ? BT_ARRAY : BT_PRIM,
                                .prim = t.elem,
                                .rank = t.rank,
                                .elem = -1});
}

/* The types of n values without the outer dimensions. */
static Type *row_types(Ctx *cx, const Type *vals, int n, int dims)
{
    Type *of = NEWN(cx->perm, Type, n + 1);
    for (int i = 0; i < n; i++) {
        of[i] = vals[i];
        of[i].rank -= dims;
    }
    return of;
}

/* A type by its name; another one of the same name, of which Futhark knows nothing, is called by
 * its structure. Its id if it is known, else -1. */
static int known_type(const Find *f, BType *t)
{
    int id = find_type(f->b, t->name);
    if (id < 0 || f->b->types.at[id].text == t->text)
        return id;
    t->name = t->text;
    return find_type(f->b, t->name);
}

static void add_field(Find *f, BType *t, const char *name, int type)
{
    vec_push(f->cx->perm, &t->field_names, name);
    vec_push(f->cx->perm, &t->fields, type);
}

static int type_id(Find *f, const ExtType *x, const Type *vals, int dims);

/* A type whose parts are not described (an array of tuples in a program of IR text): a field for
 * each value. */
static void add_values(Find *f, BType *t, int n, const Type *vals)
{
    for (int i = 0; i < n; i++)
        add_field(f, t, arena_printf(f->cx->perm, "%d", i), plain_type_id(f, vals[i]));
}

static void add_variants(Find *f, BType *t, const ExtType *x, const Type *vals)
{
    Arena *a = f->cx->perm;
    for (int i = 0; i < x->n_vals; i++)
        vec_push(a, &t->values, vals[i]);
    for (int k = 0; k < x->n_variants; k++) {
        const ExtVariant *v = &x->variants[k];
        Types holds = {0};
        BVariant of = {.name = v->name};
        for (int i = 0; i < v->n_places; i++) {
            vec_push(a, &holds, vals[v->places[i]]);
            vec_push(a, &of.places, v->places[i]);
        }
        for (int i = 0, at = 0; i < v->n; at += v->holds[i++].n_vals) {
            int type = type_id(f, &v->holds[i], holds.at + at, 0);
            vec_push(a, &of.types, type);
        }
        vec_push(a, &t->variants, of);
    }
}

/* Arrays of x, which have the values vals. */
static void add_elem(Find *f, BType *t, const ExtType *x, const Type *vals)
{
    t->elem = type_id(f, x, row_types(f->cx, vals, x->n_vals, t->rank), 0);
    for (int i = 0, at = 0; i < x->n_fields; at += x->fields[i++].n_vals)
        add_field(f, t, x->field_names[i], type_id(f, &x->fields[i], vals + at, t->rank));
}

/* "[][]" in front of what it is called or looks like. */
static const char *array_of(Ctx *cx, const char *s, int dims)
{
    for (int k = 0; k < dims; k++)
        s = arena_printf(cx->perm, "[]%s", s);
    return intern(s);
}

/* ... in brackets if that is a sum. */
static const char *array_text(Ctx *cx, const ExtType *x, int dims)
{
    return array_of(cx, arena_printf(cx->perm, dims && x->n_variants ? "(%s)" : "%s", x->text),
                    dims);
}

/* Whether x, which is neither a scalar nor an array of them, is called as one: "i32", "[]i32". */
static bool is_named_as_plain(Ctx *cx, const ExtType *x)
{
    for (int i = 0; i < N_PRIM_TYPES; i++)
        if (!strcmp(x->alias, array_name(cx, (Type){.elem = (PrimType)i, .rank = x->rank})))
            return true;
    return false;
}

/* The id of the type of `dims` dimensions around x, whose values have the IR types vals. */
static int type_id(Find *f, const ExtType *x, const Type *vals, int dims)
{
    if (is_plain(x))
        return plain_type_id(f, vals[0]);
    BType t = {
        .text = array_text(f->cx, x, dims), .kind = BT_OPAQUE, .rank = x->rank + dims, .elem = -1};
    t.name = x->alias && !is_named_as_plain(f->cx, x) ? array_of(f->cx, x->alias, dims) : t.text;
    int id = known_type(f, &t);
    if (id >= 0)
        return id;
    t.doc = dims || t.name == t.text ? NULL : x->doc;
    if (x->elem || dims) {
        add_elem(f, &t, x->elem ? x->elem : x, vals);
    } else if (x->n_variants) {
        t.kind = BT_SUM;
        add_variants(f, &t, x, vals);
    } else if (x->n_fields || x->n_vals == 0) {
        t.kind = BT_RECORD;
        for (int i = 0, at = 0; i < x->n_fields; at += x->fields[i++].n_vals)
            add_field(f, &t, x->field_names[i], type_id(f, &x->fields[i], vals + at, 0));
    } else {
        add_values(f, &t, x->n_vals, vals);
    }
    return push_type(f, t);
}

/* --- Entries --------------------------------------------------------------------------------- */

static BSlots slots(Find *f, const ExtParams *xs, const Types *vals, bool named)
{
    BSlots out = {0};
    for (int i = 0, k = 0; i < xs->n; i++) {
        const ExtParam *x = &xs->at[i];
        BSlot s = {named ? x->name : NULL, type_id(f, &x->type, vals->at + k, 0), x->unique};
        vec_push(f->cx->perm, &out, s);
        k += x->type.n_vals;
    }
    return out;
}

/* Ids of the thresholds that the operations compare with. */
typedef struct {
    Find *f;
    Ints *ids;
} Compared;

static void collect_param(void *env, HostOp *op)
{
    Compared *c = env;
    const char *threshold = op->suff ? op->suff->suff.name : op->threshold;
    if (!threshold)
        return;
    int id = emit_param_id(c->f->plan, threshold);
    for (int k = 0; k < c->ids->n; k++)
        if (c->ids->at[k] == id)
            return;
    vec_push(c->f->cx->perm, c->ids, id);
}

static BEntry entry(Find *f, const EntryPlan *ep)
{
    const Entry *en = ep->entry;
    BEntry e = {.plan = ep};
    Types vals = {0};
    for (int i = 0; i < en->params.n; i++)
        vec_push(f->cx->perm, &vals, en->params.at[i]->type);
    e.in = slots(f, &en->ext_params, &vals, true);
    vals.n = 0;
    for (int i = 0; i < ep->results.n; i++)
        vec_push(f->cx->perm, &vals, atom_type(ep->results.at[i]));
    e.out = slots(f, &en->ext_results, &vals, false);
    Compared c = {f, &e.params};
    ops_visit(&ep->ops, collect_param, &c);
    for (int i = 0; i < f->plan->size_params.n; i++)
        if (f->plan->size_params.at[i].entry == en)
            vec_push(f->cx->perm, &e.params, f->plan->thresholds.n + i);
    for (int i = 0; i < en->user_params.n; i++)
        vec_push(f->cx->perm, &e.params, emit_param_id(f->plan, en->user_params.at[i].name));
    for (int i = 0; i < f->plan->choices.n; i++)
        if (f->plan->choices.at[i]->entry == en)
            vec_push(f->cx->perm, &e.params, emit_param_id(f->plan, f->plan->choices.at[i]->name));
    return e;
}

Boundary *boundary_new(Ctx *cx, const Plan *p)
{
    Find f = {.cx = cx, .plan = p, .b = NEW(cx->perm, Boundary)};
    for (int i = 0; i < p->entries.n; i++) {
        BEntry e = entry(&f, p->entries.at[i]);
        vec_push(cx->perm, &f.b->entries, e);
    }
    return f.b;
}
