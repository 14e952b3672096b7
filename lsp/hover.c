/* textDocument/hover: what the name under the cursor is, else the type of the expression there. */
#include "lsp/look.h"

#include <stdlib.h>

typedef struct {
    uint32_t place;
    const AExp *best;
} Innermost;

static void innermost(void *env, const AExp *e)
{
    Innermost *in = env;
    if (e->type && loc_has(e->loc, in->place) &&
        (!in->best || e->loc.end - e->loc.beg <= in->best->loc.end - in->best->loc.beg))
        in->best = e;
}

/* Program text, then words. */
static cJSON *hover(Look *l, Loc loc, Out *code, const char *doc)
{
    Out o = {0};
    char *text = out_take(code);
    out_printf(&o, "```futhark\n%s\n```", text);
    if (doc)
        out_printf(&o, "\n\n%s", doc);
    free(text);
    text = out_take(&o);
    cJSON *contents = cJSON_CreateObject(), *result = cJSON_CreateObject();
    cJSON_AddStringToObject(contents, "kind", "markdown");
    cJSON_AddItemToObject(contents, "value", json_text(text));
    cJSON_AddItemToObject(result, "contents", contents);
    cJSON *range = look_range(l, loc);
    if (range)
        cJSON_AddItemToObject(result, "range", range);
    free(text);
    return result;
}

static cJSON *hover_site(Look *l, const Site *s)
{
    Out code = {0};
    const char *doc = show_doc(s->bind);
    show_binding(&code, l->a, s->bind, s->name);
    if (s->use && s->use->type &&
        s->bind->tparams.n) /* each use of what is polymorphic has a type of its own */
        out_printf(&code, "\n-- here: %s", type_str(l->a, s->use->type));
    return hover(l, s->loc, &code, doc ? doc : doc_at(l->ast, s->def));
}

cJSON *query_hover(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_AROUND, q->at, q->at);
    Innermost in = {0};
    Site s;
    if (!look_place(&l, q->at, &in.place))
        return NULL;
    if (site_at(&l, in.place, &s) && s.bind)
        return hover_site(&l, &s);
    sites_of_file(l.ast, l.ast->main, &(Visit){.env = &in, .exp = innermost});
    if (!in.best)
        return NULL;
    Out code = {0};
    out_puts(&code, type_str(l.a, in.best->type));
    return hover(&l, in.best->loc, &code, NULL);
}
