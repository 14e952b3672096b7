/* The manifest of a library: what is in its header, for programs that make bindings. The fields are
 * those of Futhark's (futhark-manifest 1.5), and "minifut" for what made it. */
#include "emit/api.h"

#include <string.h>

static const char *const op_names[] = {
#define API_OP_NAME(id, name) [OP_API_##id] = name,
    API_OPS(API_OP_NAME)
#undef API_OP_NAME
};

/* "name": */
static void key(Out *o, const char *name)
{
    out_quoted(o, name);
    out_puts(o, ": ");
}

/* "name": "value" */
static void pair(Out *o, const char *name, const char *value)
{
    key(o, name);
    out_quoted(o, value);
}

/* What is said of it for people, if it is, and a comma. */
static void words(Out *o, const char *name, const char *text)
{
    if (!text)
        return;
    pair(o, name, text);
    out_puts(o, ",\n");
}

static void slots(Out *o, const Boundary *b, const char *name, const BSlots *ss)
{
    key(o, name);
    out_puts(o, "[");
    for (int i = 0; i < ss->n; i++) {
        const BSlot *s = &ss->at[i];
        out_puts(o, i ? ", {" : "{");
        if (s->name) {
            pair(o, "name", s->name);
            out_puts(o, ", ");
        }
        pair(o, "type", b->types.at[s->type].name);
        out_printf(o, ", \"unique\": %s}", s->unique ? "true" : "false");
    }
    out_puts(o, "]");
}

static void entry(Out *o, const Api *api, int id)
{
    const BEntry *e = &api->b->entries.at[id];
    key(o, e->plan->entry->name);
    out_puts(o, "{\n");
    o->indent++;
    words(o, "doc", e->plan->entry->doc);
    pair(o, "cfun", api->entries.at[id].name);
    out_puts(o, ",\n");
    words(o, "signature", e->plan->entry->signature);
    slots(o, api->b, "inputs", &e->in);
    out_puts(o, ",\n");
    slots(o, api->b, "outputs", &e->out);
    out_puts(o, ",\n\"tuning_params\": [");
    for (int i = 0; i < e->params.n; i++) {
        out_puts(o, i ? ", " : "");
        out_quoted(o, plan_param_name(api->plan, e->params.at[i]));
    }
    out_puts(o, "],\n\"attributes\": []\n");
    o->indent--;
    out_puts(o, "}");
}

/* The operations of this set, a key each. */
static void ops(Out *o, const ApiType *x, unsigned set)
{
    bool first = true;
    for (int i = 0; i < N_API_OPS; i++)
        if (x->ops[i].name && set >> i & 1) {
            out_puts(o, first ? "" : ", ");
            pair(o, op_names[i], x->ops[i].name);
            first = false;
        }
}

/* Of records, and arrays of them. */
static void fields(Out *o, const Api *api, const ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    key(o, "fields");
    out_puts(o, "[");
    for (int i = 0; i < x->order.n; i++) {
        int k = x->order.at[i];
        out_puts(o, i ? ", {" : "{");
        pair(o, "name", t->field_names.at[k]);
        out_puts(o, ", ");
        pair(o, "type", api->b->types.at[t->fields.at[k]].name);
        out_puts(o, ", ");
        pair(o, "project", x->project.at[k].name);
        out_puts(o, "}");
    }
    out_puts(o, "], ");
}

static void variants(Out *o, const Api *api, const ApiType *x)
{
    const BType *t = &api->b->types.at[x->type];
    key(o, "variants");
    out_puts(o, "[");
    for (int k = 0; k < t->variants.n; k++) {
        const BVariant *v = &t->variants.at[k];
        out_puts(o, k ? ", {" : "{");
        pair(o, "name", v->name);
        out_puts(o, ", ");
        key(o, "payload");
        for (int i = 0; i < v->types.n; i++) {
            out_puts(o, i ? ", " : "[");
            out_quoted(o, api->b->types.at[v->types.at[i]].name);
        }
        out_puts(o, v->types.n ? "], " : "[], ");
        pair(o, "construct", x->variants.at[k].construct.name);
        out_puts(o, ", ");
        pair(o, "destruct", x->variants.at[k].destruct.name);
        out_puts(o, "}");
    }
    out_puts(o, "], ");
}

/* What can be done with an opaque type besides what can be with all: by what it is. */
static void opaque(Out *o, const Api *api, const ApiType *x, unsigned set)
{
    const BType *t = &api->b->types.at[x->type];
    bool array = t->kind == BT_OPAQUE, sum = t->kind == BT_SUM;
    const char *arrays = t->fields.n ? "record_array" : "opaque_array";
    out_puts(o, ",\n");
    key(o, array ? arrays : sum ? "sum" : "record");
    out_puts(o, "{");
    if (array) {
        out_printf(o, "\"rank\": %d, ", t->rank);
        pair(o, "elemtype", t->elem < 0 ? "" : api->b->types.at[t->elem].name);
        out_puts(o, ", ");
    }
    if (sum)
        variants(o, api, x);
    else if (!array || t->fields.n)
        fields(o, api, x);
    ops(o, x, set);
    out_puts(o, "}");
}

static void type(Out *o, const Api *api, const ApiType *x)
{
    enum { OPAQUE = 1 << OP_API_FREE | 1 << OP_API_STORE | 1 << OP_API_RESTORE };
    const BType *t = &api->b->types.at[x->type];
    key(o, t->name);
    out_puts(o, "{\n");
    o->indent++;
    words(o, "doc", t->doc);
    pair(o, "kind", t->kind == BT_ARRAY ? "array" : "opaque");
    out_puts(o, ",\n");
    key(o, "ctype");
    out_printf(o, "\"struct %s *\",\n", x->c_name);
    if (t->kind == BT_ARRAY)
        out_printf(o, "\"rank\": %d,\n\"elemtype\": \"%s\",\n", t->rank, prim_type_text[t->prim]);
    key(o, "ops");
    out_puts(o, "{");
    ops(o, x, t->kind == BT_ARRAY ? ~0u : OPAQUE);
    out_puts(o, "}");
    if (t->kind != BT_ARRAY)
        opaque(o, api, x, ~(unsigned)OPAQUE);
    out_puts(o, "\n");
    o->indent--;
    out_puts(o, "}");
}

void api_manifest(Out *o, const Api *api)
{
    out_puts(o, "{\n");
    o->indent++;
    pair(o, "backend", "multicore"); /* what it is to be linked with: no OpenCL */
    out_puts(o, ",\n\"version\": \"0.25.33\",\n\"entry_points\": {\n");
    o->indent++;
    for (int i = 0; i < api->b->entries.n; i++) {
        entry(o, api, i);
        out_puts(o, i + 1 < api->b->entries.n ? ",\n" : "\n");
    }
    o->indent--;
    out_puts(o, "},\n\"types\": {\n");
    o->indent++;
    for (int i = 0; i < api->types.n; i++) {
        type(o, api, &api->types.at[i]);
        out_puts(o, i + 1 < api->types.n ? ",\n" : "\n");
    }
    o->indent--;
    out_puts(o, "}\n");
    o->indent--;
    out_puts(o, "}\n");
}
