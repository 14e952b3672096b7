/* The types of parameters and results at the boundary, and the table of entries. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <string.h>

static const char *const kind_c[] = {[BT_PRIM] = "RT_KIND_PRIM",
                                     [BT_ARRAY] = "RT_KIND_ARRAY",
                                     [BT_RECORD] = "RT_KIND_RECORD",
                                     [BT_SUM] = "RT_KIND_SUM",
                                     [BT_OPAQUE] = "RT_KIND_OPAQUE"};

/* (const int[]){1, 2} */
static void emit_ints(Out *o, const Ints *xs)
{
    out_puts(o, xs->n ? ", (const int[]){" : ", NULL");
    for (int i = 0; i < xs->n; i++)
        out_printf(o, i ? ", %d" : "%d", xs->at[i]);
    out_puts(o, xs->n ? "}" : "");
}

static void emit_fields(Emit *em, int id, const BType *t)
{
    out_printf(em->o, "static const rt_field_def fields_%d[] = {", id);
    for (int k = 0; k < t->fields.n; k++)
        out_printf(em->o, "%s{%s, %d}", k ? ", " : "", c_string(em->cx, t->field_names.at[k]),
                   t->fields.at[k]);
    out_puts(em->o, t->fields.n ? "};\n" : "{NULL, 0}};\n");
}

static void emit_variants(Emit *em, int id, const BType *t)
{
    Out *o = em->o;
    out_printf(o, "static const rt_component_def components_%d[] = {", id);
    for (int k = 0; k < t->values.n; k++)
        out_printf(o, "%s{%s, %d}", k ? ", " : "", rt_prim_c(t->values.at[k].elem),
                   t->values.at[k].rank);
    out_printf(o, "};\nstatic const rt_variant_def variants_%d[] = {\n", id);
    for (int k = 0; k < t->variants.n; k++) {
        const BVariant *v = &t->variants.at[k];
        out_printf(o, "    {%s, %d", c_string(em->cx, v->name), v->types.n);
        emit_ints(o, &v->types);
        emit_ints(o, &v->places);
        out_puts(o, "},\n");
    }
    out_puts(o, "};\n");
}

static void emit_types(Emit *em)
{
    Out *o = em->o;
    for (int i = 0; i < em->b->types.n; i++) {
        const BType *t = &em->b->types.at[i];
        if (t->kind == BT_RECORD || t->kind == BT_OPAQUE)
            emit_fields(em, i, t);
        else if (t->kind == BT_SUM)
            emit_variants(em, i, t);
    }
    if (em->b->types.n)
        out_puts(o, "static const rt_type_def types[] = {\n");
    for (int i = 0; i < em->b->types.n; i++) {
        const BType *t = &em->b->types.at[i];
        bool plain = t->kind == BT_PRIM || t->kind == BT_ARRAY, sum = t->kind == BT_SUM;
        const char *fields = plain || sum ? "NULL" : arena_printf(em->cx->perm, "fields_%d", i);
        out_printf(o, "    {%s, %s, %s, %d, %d, %s, %d", c_string(em->cx, t->name), kind_c[t->kind],
                   plain ? rt_prim_c(t->prim) : "RT_BOOL", t->rank, t->fields.n, fields, t->elem);
        if (sum)
            out_printf(o, ", %d, %d, variants_%d, components_%d", t->variants.n, t->values.n, i, i);
        else
            out_puts(o, ", 0, 0, NULL, NULL");
        out_puts(o, "},\n");
    }
    if (em->b->types.n)
        out_puts(o, "};\n");
}

static void emit_slots(Emit *em, const char *what, const char *entry, const BSlots *slots)
{
    if (slots->n == 0)
        return;
    out_printf(em->o, "static const rt_slot_def %s_%s[] = {\n", what, entry);
    for (int i = 0; i < slots->n; i++) {
        const BSlot *s = &slots->at[i];
        out_printf(em->o, "    {%s, %d, %s},\n", s->name ? c_string(em->cx, s->name) : "NULL",
                   s->type, s->unique ? "true" : "false");
    }
    out_puts(em->o, "};\n");
}

static void emit_used_params(Emit *em, const BEntry *e)
{
    if (e->params.n == 0)
        return;
    out_printf(em->o, "static const int params_%s[] = {", c_ident(e->plan->entry->name));
    for (int i = 0; i < e->params.n; i++)
        out_printf(em->o, "%s%d", i ? ", " : "", e->params.at[i]);
    out_puts(em->o, "};\n");
}

/* Which values of an entry's parameters may be the rank's rows alone: the table's name. */
static const char *emit_parted(Emit *em, const EntryPlan *ep)
{
    bool any = false, *parted = NEWN(em->cx->perm, bool, ep->param_locs.n + 1);
    for (int i = 0; i < ep->ops.n; i++) { /* all at the beginning, of the entry itself */
        const HostOp *op = ep->ops.at[i];
        for (int k = 0; op->kind == H_ROWS && op->ranks->kind == E_ROWS && k < ep->param_locs.n;
             k++)
            any |= parted[k] |= ep->param_locs.at[k].mem == op->dst.mem;
    }
    if (!any)
        return "NULL";
    const char *name = arena_printf(em->cx->perm, "parted_%s", c_ident(ep->entry->name));
    out_printf(em->o, "static const bool %s[] = {", name);
    for (int k = 0; k < ep->param_locs.n; k++)
        out_printf(em->o, "%s%d", k ? ", " : "", parted[k]);
    out_puts(em->o, "};\n");
    return name;
}

/* What a program for several ranks has besides. */
static void emit_ranks_def(Emit *em)
{
    int n = em->b->entries.n;
    const char **names = NEWN(em->cx->perm, const char *, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = emit_parted(em, em->b->entries.at[i].plan);
    out_puts(em->o, "static const bool *const parted[] = {");
    for (int i = 0; i < n; i++)
        out_printf(em->o, "%s, ", names[i]);
    out_puts(em->o, "NULL};\nstatic const rt_ranks_def ranks = {&rt_mpi, parted};\n\n");
}

static const char *ref(Ctx *cx, int n, const char *prefix, const char *name)
{
    return n ? arena_printf(cx->perm, "%s_%s", prefix, name) : "NULL";
}

/* What every program does besides its entries. */
static uint64_t runtime_hash(void)
{
    uint64_t h = 0;
    for (const char *c = embed_digest(); *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return h;
}

void emit_entries(Emit *em)
{
    Ctx *cx = em->cx;
    uint64_t runtime = runtime_hash();
    out_puts(em->o, "/* --- Types and entry points --- */\n\n");
    emit_types(em);
    for (int i = 0; i < em->b->entries.n; i++) {
        const BEntry *e = &em->b->entries.at[i];
        const char *name = c_ident(e->plan->entry->name);
        emit_slots(em, "in", name, &e->in);
        emit_slots(em, "out", name, &e->out);
        emit_used_params(em, e);
    }
    out_puts(em->o, "static const rt_entry_def entries[] = {\n");
    for (int i = 0; i < em->b->entries.n; i++) {
        const BEntry *e = &em->b->entries.at[i];
        const Entry *en = e->plan->entry;
        const char *name = c_ident(en->name);
        out_printf(em->o,
                   "    {%s, %d, %d, %s, %s, %s, %d, %s, 0, NULL,\n     UINT64_C(0x%llx)},\n",
                   c_string(cx, en->name), e->in.n, e->out.n, ref(cx, e->in.n, "in", name),
                   ref(cx, e->out.n, "out", name), entry_fn(en), e->params.n,
                   ref(cx, e->params.n, "params", name),
                   (unsigned long long)(plan_entry_key(e->plan, em->kernel_hashes) ^ runtime));
    }
    out_puts(em->o, "};\n\n");
    if (em->p->ranks)
        emit_ranks_def(em);
}
