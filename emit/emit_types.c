/* The types of parameters and results at the boundary, and the table of entries. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

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
    return x->n_fields == 0 && x->n_vals == 1;
}

static const char *type_name(Emit *em, const ExtType *x, const Type *vals)
{
    if (is_plain(x))
        return array_name(em->cx, vals[0]);
    return intern(x->alias ? x->alias : x->text);
}

static int find_type(const Emit *em, const char *name)
{
    for (int i = 0; i < em->type_names.n; i++)
        if (em->type_names.at[i] == name)
            return i;
    return -1;
}

static const char *field_name(Emit *em, const ExtType *x, int i)
{
    return x->field_names && x->field_names[i] ? x->field_names[i]
                                               : arena_printf(em->cx->perm, "%d", i);
}

/* Prints the fields of a record or opaque type as an array, returns its name. A type whose parts
 * are not described (an array of tuples) has one field for each IR value. */
static const char *emit_fields(Emit *em, const ExtType *x, const int *ids, int n)
{
    const char *name = arena_printf(em->cx->perm, "fields_%d", em->type_names.n);
    out_printf(em->o, "static const rt_field_def %s[] = {", name);
    for (int i = 0; i < n; i++)
        out_printf(em->o, "%s{%s, %d}", i ? ", " : "", c_string(em->cx, field_name(em, x, i)),
                   ids[i]);
    out_puts(em->o, "};\n");
    return name;
}

static void push_type(Emit *em, const char *name, const char *row)
{
    vec_push(em->cx->perm, &em->type_names, name);
    vec_push(em->cx->perm, &em->type_rows, row);
}

/* A scalar's type, or an array's after that of its elements, which the server makes of it. */
static int plain_type_id(Emit *em, Type t)
{
    Type elem = {.elem = t.elem};
    if (t.rank)
        (void)plain_type_id(em, elem);
    const char *name = array_name(em->cx, t);
    int id = find_type(em, name);
    if (id >= 0)
        return id;
    push_type(em, name,
              arena_printf(em->cx->perm, "{%s, %s, %s, %d, 0, NULL}", c_string(em->cx, name),
                           t.rank ? "RT_KIND_ARRAY" : "RT_KIND_PRIM", rt_prim_c(t.elem), t.rank));
    return em->type_names.n - 1;
}

/* The id of the type, whose values have the IR types vals. Types it refers to come first. */
static int type_id(Emit *em, const ExtType *x, const Type *vals)
{
    const char *name = type_name(em, x, vals);
    int id = find_type(em, name);
    if (id >= 0)
        return id;
    Arena *a = em->cx->perm;
    if (is_plain(x))
        return plain_type_id(em, vals[0]);
    int n = x->n_fields ? x->n_fields : x->n_vals;
    int *ids = NEWN(a, int, n);
    ExtType plain = {.n_vals = 1};
    for (int i = 0, k = 0; i < n; i++) {
        const ExtType *field = x->n_fields ? &x->fields[i] : &plain;
        ids[i] = type_id(em, field, vals + k);
        k += field->n_vals;
    }
    const char *fields = emit_fields(em, x, ids, n);
    bool record = (x->n_fields > 0 || n == 0) && x->text[0] != '[';
    push_type(em, name,
              arena_printf(a, "{%s, %s, RT_BOOL, 0, %d, %s}", c_string(em->cx, name),
                           record ? "RT_KIND_RECORD" : "RT_KIND_OPAQUE", n, fields));
    return em->type_names.n - 1;
}

static void emit_slot(Emit *em, Out *rows, const char *name, int type, bool unique)
{
    out_printf(rows, "    {%s, %d, %s},\n", name ? c_string(em->cx, name) : "NULL", type,
               unique ? "true" : "false");
}

/* in_NAME and out_NAME. */
static void emit_slots(Emit *em, const EntryPlan *ep, Out *rows)
{
    const Entry *en = ep->entry;
    const char *name = c_ident(en->name);
    Types vals = {0};
    for (int i = 0; i < en->params.n; i++)
        vec_push(em->cx->perm, &vals, en->params.at[i]->type);
    if (en->ext_params.n) {
        out_printf(rows, "static const rt_slot_def in_%s[] = {\n", name);
        for (int i = 0, k = 0; i < en->ext_params.n; i++) {
            const ExtParam *x = &en->ext_params.at[i];
            emit_slot(em, rows, x->name, type_id(em, &x->type, vals.at + k), x->unique);
            k += x->type.n_vals;
        }
        out_puts(rows, "};\n");
    }
    vals.n = 0;
    for (int i = 0; i < ep->results.n; i++)
        vec_push(em->cx->perm, &vals, atom_type(ep->results.at[i]));
    if (en->ext_results.n) {
        out_printf(rows, "static const rt_slot_def out_%s[] = {\n", name);
        for (int i = 0, k = 0; i < en->ext_results.n; i++) {
            const ExtParam *x = &en->ext_results.at[i];
            emit_slot(em, rows, NULL, type_id(em, &x->type, vals.at + k), x->unique);
            k += x->type.n_vals;
        }
        out_puts(rows, "};\n");
    }
}

typedef VEC(int) Ints;

/* Ids of the thresholds that the operations compare with. */
static void collect_params(Emit *em, const HostOps *ops, Ints *ids)
{
    for (int i = 0; i < ops->n; i++) {
        const HostOp *op = ops->at[i];
        bool suff = op->kind == H_EXP && op->exp->kind == E_SUFF;
        const char *threshold = suff ? op->exp->suff.name : op->threshold;
        if (threshold) {
            int id = emit_param_id(em->p, threshold);
            bool known = false;
            for (int k = 0; k < ids->n; k++)
                known |= ids->at[k] == id;
            if (!known)
                vec_push(em->cx->perm, ids, id);
        }
        collect_params(em, &op->then_, ids);
        collect_params(em, &op->else_, ids);
    }
}

/* params_NAME; returns how many. */
static int emit_used_params(Emit *em, const EntryPlan *ep, Out *rows)
{
    Ints ids = {0};
    collect_params(em, &ep->ops, &ids);
    for (int i = 0; i < em->p->size_params.n; i++)
        if (em->p->size_params.at[i].entry == ep->entry)
            vec_push(em->cx->perm, &ids, em->p->thresholds.n + i);
    if (ids.n) {
        out_printf(rows, "static const int params_%s[] = {", c_ident(ep->entry->name));
        for (int i = 0; i < ids.n; i++)
            out_printf(rows, "%s%d", i ? ", " : "", ids.at[i]);
        out_puts(rows, "};\n");
    }
    return ids.n;
}

static const char *ref(Ctx *cx, int n, const char *prefix, const char *name)
{
    return n ? arena_printf(cx->perm, "%s_%s", prefix, name) : "NULL";
}

/* What every program does besides its entries. */
static uint64_t runtime_hash(void)
{
    size_t n;
    const char *text = embed_runtime(&n);
    uint64_t h = 0;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return h;
}

void emit_entries(Emit *em)
{
    Out slots = {0}, table = {0};
    Ctx *cx = em->cx;
    uint64_t runtime = runtime_hash();
    out_puts(em->o, "/* --- Types and entry points --- */\n\n");
    for (int i = 0; i < em->p->entries.n; i++) {
        const EntryPlan *ep = em->p->entries.at[i];
        const Entry *en = ep->entry;
        const char *name = c_ident(en->name);
        emit_slots(em, ep, &slots);
        int n_params = emit_used_params(em, ep, &slots);
        out_printf(&table, "    {%s, %d, %d, %s, %s, %s, %d, %s, 0, NULL,\n     UINT64_C(0x%llx)},\n",
                   c_string(em->cx, en->name), en->ext_params.n, en->ext_results.n,
                   ref(cx, en->ext_params.n, "in", name), ref(cx, en->ext_results.n, "out", name),
                   entry_fn(en), n_params, ref(cx, n_params, "params", name),
                   (unsigned long long)(plan_entry_key(ep, em->kernel_hashes) ^ runtime));
    }
    if (em->type_rows.n) {
        out_puts(em->o, "static const rt_type_def types[] = {\n");
        for (int i = 0; i < em->type_rows.n; i++)
            out_printf(em->o, "    %s,\n", em->type_rows.at[i]);
        out_puts(em->o, "};\n");
    }
    if (slots.n)
        out_putn(em->o, slots.text, slots.n);
    out_puts(em->o, "static const rt_entry_def entries[] = {\n");
    out_puts(em->o, table.text ? table.text : "");
    out_puts(em->o, "};\n\n");
    out_free(&slots);
    out_free(&table);
}
