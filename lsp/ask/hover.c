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
    if (doc) {
        out_puts(&o, "\n\n");
        fe_doc_markdown(&o, doc);
    }
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

/* A constructor: what it holds, and of what it is one. */
static cJSON *hover_constructor(Look *l, const Site *s)
{
    Out code = {0};
    Site written;
    const TypeDecl *t = part_written(l->ast, s, &written) ? type_around(l->ast, written.loc) : NULL;
    const AType *of = s->of ? s->of : t ? t->type : NULL;
    out_puts(&code, of ? show_constructor(l->a, of, s->name) : s->name);
    if (t) {
        out_puts(&code, "\n");
        fe_print_type(&code, t);
    } else if (of) {
        out_printf(&code, "\n-- of %s", type_str(l->a, of));
    }
    return hover(l, s->loc, &code, t ? t->doc : NULL);
}

static void show_module(Out *o, const Look *l, const Site *s)
{
    ModuleAt m = module_at(l->ast, s->def);
    bool type = s->bind->kind == BIND_MODTYPE;
    const char *head =
        arena_printf(l->a, type ? "module type %s = " : "module %s : ", s->bind->name);
    if (m.mod)
        fe_print_module(o, s->bind->name, m.mod);
    else if (m.type)
        fe_print_modtype(o, head, m.type);
    else
        show_binding(o, l->a, s->bind, s->name);
}

static cJSON *hover_site(Look *l, const Site *s)
{
    Out code = {0};
    if (s->bind->kind == BIND_MODULE || s->bind->kind == BIND_MODTYPE)
        show_module(&code, l, s);
    else
        show_binding(&code, l->a, s->bind, s->name);
    if (s->use && s->use->type &&
        s->bind->tparams.n) /* each use of what is polymorphic has a type of its own */
        out_printf(&code, "\n-- here: %s", type_str(l->a, s->use->type));
    return hover(l, s->loc, &code, show_doc(s->bind));
}

cJSON *query_hover(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_CHECKED, q->at, q->at);
    Innermost in = {0};
    Site s;
    if (!look_place(&l, q->at, &in.place))
        return NULL;
    bool site = site_at(&l, in.place, &s);
    if (site && s.bind)
        return hover_site(&l, &s);
    if (site && s.whole && !s.field)
        return hover_constructor(&l, &s);
    sites_of_file(l.ast, l.ast->main, &(Visit){.env = &in, .exp = innermost});
    if (!in.best)
        return NULL;
    Out code = {0};
    out_puts(&code, type_str(l.a, in.best->type));
    return hover(&l, in.best->loc, &code, NULL);
}
