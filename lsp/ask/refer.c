/* From names to where they are bound, and to the other places where they stand. */
#include "lsp/look.h"

static cJSON *import_at(Look *l, uint32_t place)
{
    const File *main = l->ast->main;
    for (int i = 0; i < main->imports.n; i++) {
        const Import *m = main->imports.at[i];
        if (m->file && loc_has(m->loc, place))
            return look_location(l, (Loc){m->file->base, m->file->base});
    }
    return NULL;
}

cJSON *query_definition(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_NAMES, q->at, q->at);
    uint32_t place;
    Site s;
    if (!look_place(&l, q->at, &place))
        return NULL;
    if (!site_at(&l, place, &s))
        return import_at(&l, place);
    Site written;
    if (s.whole && part_written(l.ast, &s, &written))
        s = written;
    return s.bind || s.binds ? look_location(&l, s.def) : NULL;
}

/* --- Other places --------------------------------------------------------------------------- */

typedef struct {
    Look *look;
    const Site *of;
    bool binder; /* the place where it is bound, too */
    bool places; /* {uri, range}, else {range, kind} */
    cJSON *found;
} References;

static void add_reference(void *env, const Site *s)
{
    References *r = env;
    if (!site_same(s, r->of) || (s->binds && !r->binder))
        return;
    if (r->places) {
        cJSON_AddItemToArray(r->found, look_location(r->look, s->loc));
        return;
    }
    cJSON *range = look_range(r->look, s->loc);
    if (!range)
        return;
    enum { READ = 2, WRITE = 3 }; /* kinds of DocumentHighlight */
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "range", range);
    cJSON_AddNumberToObject(o, "kind", s->binds ? WRITE : READ);
    cJSON_AddItemToArray(r->found, o);
}

static cJSON *all_sites(const Query *q, bool binder, bool places)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_NAMES, q->at, q->at);
    uint32_t place;
    Site s;
    if (!look_place(&l, q->at, &place) || !site_at(&l, place, &s) || !(s.bind || s.whole))
        return NULL;
    if (places)
        sites_look_at_readers(&l, q->client, &s);
    References r = {&l, &s, binder, places, cJSON_CreateArray()};
    Visit v = {.env = &r, .site = add_reference};
    for (int i = 0; i < l.ast->files.n; i++)
        if (places || l.ast->files.at[i] == l.ast->main)
            sites_of_file(l.ast, l.ast->files.at[i], &v);
    return r.found;
}

cJSON *query_references(const Query *q)
{
    return all_sites(q, cJSON_IsTrue(json_member(q->params, "context.includeDeclaration")), true);
}

cJSON *query_highlight(const Query *q)
{
    return all_sites(q, true, false);
}
