/* The types and entries of a program as its callers see them, found in its plan. */
#include "emit/boundary.h"
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

typedef struct {
    Ctx *cx;
    const Plan *plan;
    Boundary *b;
    Texts texts, names; /* types that have a name somewhere, and it */
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
    return x->n_fields == 0 && x->n_vals == 1 && !x->sum;
}

static void note_names(Find *f, const ExtType *x)
{
    if (x->alias) {
        vec_push(f->cx->perm, &f->texts, x->text);
        vec_push(f->cx->perm, &f->names, x->alias);
    }
    for (int i = 0; i < x->n_fields; i++)
        note_names(f, &x->fields[i]);
    if (x->elem)
        note_names(f, x->elem);
}

/* As it was written. Parts of types do not tell how they were written: they have the name that the same type has
 * elsewhere, so that they can be passed on as that. */
static const char *type_name(const Find *f, const ExtType *x, const Type *vals, bool part)
{
    if (is_plain(x))
        return array_name(f->cx, vals[0]);
    for (int i = 0; part && !x->alias && i < f->texts.n; i++)
        if (strcmp(f->texts.at[i], x->text) == 0)
            return intern(f->names.at[i]);
    return intern(x->alias ? x->alias : x->text);
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
                                .kind = t.rank ? BT_ARRAY : BT_PRIM,
                                .prim = t.elem,
                                .rank = t.rank,
                                .elem = -1});
}

/* The types of an element of an array of records, whose values have the types vals. */
static Type *elem_vals(Ctx *cx, const ExtType *x, const Type *vals)
{
    Type *of = NEWN(cx->perm, Type, x->n_vals + 1);
    for (int i = 0; i < x->n_vals; i++) {
        of[i] = vals[i];
        of[i].rank -= x->rank;
    }
    return of;
}

/* The id of the type, whose values have the IR types vals. A type whose parts are not described (an array of tuples in
 * a program of IR text) has one field for each value. */
static int type_id(Find *f, const ExtType *x, const Type *vals, bool part)
{
    if (is_plain(x))
        return plain_type_id(f, vals[0]);
    const char *name = type_name(f, x, vals, part);
    int id = find_type(f->b, name);
    if (id >= 0)
        return id;
    Arena *a = f->cx->perm;
    int n = x->n_fields ? x->n_fields : x->n_vals;
    bool record = (x->n_fields > 0 || n == 0) && x->text[0] != '[';
    BType t = {.name = name, .kind = record ? BT_RECORD : BT_OPAQUE, .rank = x->rank, .elem = -1};
    if (x->elem)
        t.elem = type_id(f, x->elem, elem_vals(f->cx, x, vals), true);
    ExtType plain = {.n_vals = 1};
    for (int i = 0, k = 0; i < n; i++) {
        const ExtType *field = x->n_fields ? &x->fields[i] : &plain;
        bool named = x->field_names && x->field_names[i];
        const char *called = named ? x->field_names[i] : arena_printf(a, "%d", i);
        vec_push(a, &t.field_names, called);
        int type = type_id(f, field, vals + k, true);
        vec_push(a, &t.fields, type);
        k += field->n_vals;
    }
    return push_type(f, t);
}

/* --- Entries --------------------------------------------------------------------------------- */

static BSlots slots(Find *f, const ExtParams *xs, const Types *vals, bool named)
{
    BSlots out = {0};
    for (int i = 0, k = 0; i < xs->n; i++) {
        const ExtParam *x = &xs->at[i];
        BSlot s = {named ? x->name : NULL, type_id(f, &x->type, vals->at + k, false), x->unique};
        vec_push(f->cx->perm, &out, s);
        k += x->type.n_vals;
    }
    return out;
}

/* Ids of the thresholds that the operations compare with. */
static void collect_params(Find *f, const HostOps *ops, Ints *ids)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        bool suff = op->kind == H_EXP && op->exp->kind == E_SUFF;
        const char *threshold = suff ? op->exp->suff.name : op->threshold;
        if (threshold) {
            int id = emit_param_id(f->plan, threshold);
            bool known = false;
            for (int k = 0; k < ids->n; k++)
                known |= ids->at[k] == id;
            if (!known)
                vec_push(f->cx->perm, ids, id);
        }
        collect_params(f, &op->then_, ids);
        collect_params(f, &op->else_, ids);
    }
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
    collect_params(f, &ep->ops, &e.params);
    for (int i = 0; i < f->plan->size_params.n; i++)
        if (f->plan->size_params.at[i].entry == en)
            vec_push(f->cx->perm, &e.params, f->plan->thresholds.n + i);
    return e;
}

Boundary *boundary_new(Ctx *cx, const Plan *p)
{
    Find f = {.cx = cx, .plan = p, .b = NEW(cx->perm, Boundary)};
    for (int i = 0; i < p->entries.n; i++) {
        const Entry *en = p->entries.at[i]->entry;
        for (int k = 0; k < en->ext_params.n; k++)
            note_names(&f, &en->ext_params.at[k].type);
        for (int k = 0; k < en->ext_results.n; k++)
            note_names(&f, &en->ext_results.at[k].type);
    }
    for (int i = 0; i < p->entries.n; i++) {
        BEntry e = entry(&f, p->entries.at[i]);
        vec_push(cx->perm, &f.b->entries, e);
    }
    return f.b;
}
