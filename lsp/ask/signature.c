/* textDocument/signatureHelp: the function of the application around the cursor, and which of its
 * parameters the argument there is. Functions are applied to one argument after the other, `f a b`:
 * an argument that is still to be written is a hole behind the others. */
#include "lsp/look.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t place;
    const AExp *best; /* the innermost */
} Around;

static void around(void *env, const AExp *e)
{
    Around *in = env;
    if (e->kind == AE_APP && !e->app.infix && loc_has(e->loc, in->place) &&
        in->place > e->app.fn->loc.end)
        in->best = e;
}

/* Which argument the place is in, or comes next; what is piped into the function comes last. */
static int argument_at(const AExp *app, uint32_t place)
{
    int k = 0;
    for (int i = 0; i < app->app.args.n; i++) {
        const AExp *x = app->app.args.at[i];
        if (x->piped == NOT_PIPED && x->loc.end < place)
            k = i + 1;
    }
    return k;
}

typedef struct {
    Look *look;
    Out text;
    cJSON *params;
    bool offsets; /* of parameters in the text, else their own */
} Signature;

/* Ends a parameter that has begun at an offset of the text. */
static void end_param(Signature *s, size_t beg)
{
    cJSON *p = cJSON_CreateObject(), *label;
    if (s->offsets) {
        label = cJSON_CreateArray();
        cJSON_AddItemToArray(label, cJSON_CreateNumber((double)beg));
        cJSON_AddItemToArray(label, cJSON_CreateNumber((double)s->text.n));
    } else {
        label = json_text(arena_strndup(s->look->a, s->text.text + beg, s->text.n - beg));
    }
    cJSON_AddItemToObject(p, "label", label);
    cJSON_AddItemToArray(s->params, p);
}

/* `(x: i32)` of a declared parameter. */
static void declared_params(Signature *s, const Def *d)
{
    for (int i = 0; i < d->params.n; i++) {
        out_puts(&s->text, " ");
        size_t beg = s->text.n;
        fe_print_param(&s->text, d->params.at[i]);
        end_param(s, beg);
    }
}

/* `a -> b -> c` of what is known by its type alone. */
static void typed_params(Signature *s, const AType *t)
{
    Arena *a = s->look->a;
    for (t = type_deref(t); t->kind == TY_FUN; t = type_deref(t->fun.result)) {
        const AType *p = type_deref(t->fun.param);
        bool brackets = p->kind == TY_FUN || p->kind == TY_SUM;
        size_t beg = s->text.n;
        if (t->fun.name)
            out_printf(&s->text, "(%s: %s)", t->fun.name->name, type_str(a, p));
        else
            out_printf(&s->text, brackets ? "(%s)" : "%s", type_str(a, t->fun.param));
        end_param(s, beg);
        out_puts(&s->text, " -> ");
    }
    out_puts(&s->text, type_str(a, t));
}

static void show_signature(Signature *s, const AExp *fn, const Binding *b, const char *name)
{
    const Def *d = b && b->kind == BIND_DEF && !b->stands && b->def && b->def->name ? b->def : NULL;
    const AType *t = b && b->type ? b->type : fn->type;
    if (name)
        out_puts(&s->text, name);
    if (d && d->params.n && d->bind && d->ret_type) {
        fe_print_tparams(&s->text, &d->bind->tparams);
        declared_params(s, d);
        out_puts(&s->text, ": ");
        typed_params(s, d->ret_type);
    } else if (t) {
        out_puts(&s->text, name ? ": " : "");
        typed_params(s, t);
    }
}

/* The cursor stands behind something, or in it: it is an argument already. */
static bool touches(const char *text, size_t at)
{
    return at > 0 && !isspace((unsigned char)text[at - 1]) && !strchr("([{,", text[at - 1]);
}

cJSON *query_signature(const Query *q)
{
    const char *text = q->doc->text;
    bool inside = touches(text, q->at);
    size_t at = q->at, end = q->at;
    while (inside && at > 0 && touches(text, at))
        at--;
    while (inside && text[end] && !isspace((unsigned char)text[end]) && !strchr(")]},", text[end]))
        end++;
    Look l = look_at(q->a, q->docs, q->doc, inside ? LOOK_COMPLETE : LOOK_ARGUMENT, at, end);
    Around in = {0};
    if (!look_place(&l, inside ? at : q->at, &in.place))
        return NULL;
    sites_of_file(l.ast, l.ast->main, &(Visit){.env = &in, .exp = around});
    const AExp *fn = in.best ? in.best->app.fn : NULL;
    if (!fn)
        return NULL;
    const Binding *b = fn->kind == AE_VAR ? fn->var.bind : NULL;
    Signature s = {.look = &l, .params = cJSON_CreateArray(), .offsets = q->client->offsets};
    show_signature(&s, fn, b, fn->kind == AE_VAR ? fn->var.name : NULL);
    int k = argument_at(in.best, in.place);
    if (k >= cJSON_GetArraySize(s.params))
        return NULL;
    cJSON *o = cJSON_CreateObject(), *one = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "signatures"), one);
    cJSON_AddItemToObject(one, "label", json_text(out_keep(&s.text, l.a)));
    cJSON_AddItemToObject(one, "parameters", s.params);
    if (b && show_doc(b)) {
        Out doc = {0};
        fe_doc_markdown(&doc, show_doc(b));
        cJSON *said = cJSON_AddObjectToObject(one, "documentation");
        cJSON_AddStringToObject(said, "kind", "markdown");
        cJSON_AddItemToObject(said, "value", json_text(out_keep(&doc, l.a)));
    }
    cJSON_AddNumberToObject(o, "activeSignature", 0);
    cJSON_AddNumberToObject(o, "activeParameter", k);
    return o;
}
