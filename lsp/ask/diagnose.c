/* The messages of a check, as diagnostics of the document. What is wrong with an imported file
 * stands at the import: its own diagnostics are made when it is open. */
#include "lsp/look.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Look *look;
    cJSON *all;
} Diagnostics;

/* Does a file import another one, perhaps by others? */
static bool leads_to(const File *from, const File *to, int depth)
{
    bool found = from == to;
    for (int i = 0; from && !found && depth > 0 && i < from->imports.n; i++)
        found = leads_to(from->imports.at[i]->file, to, depth - 1);
    return found;
}

static Loc import_of(const Look *l, const File *f)
{
    enum { DEEPEST = 16 };
    const File *main = l->ast->main;
    for (int i = 0; i < main->imports.n; i++)
        if (main->imports.at[i]->file && leads_to(main->imports.at[i]->file, f, DEEPEST))
            return main->imports.at[i]->loc;
    return NO_LOC;
}

static void add_notes(Look *l, cJSON *o, const DiagMessage *m, int n, Out *text)
{
    cJSON *related = cJSON_CreateArray();
    for (int i = 0; i < n; i++) {
        cJSON *place = look_location(l, m[i].loc);
        if (!place) {
            out_printf(text, "\n%s", m[i].text);
            continue;
        }
        cJSON *r = cJSON_CreateObject();
        cJSON_AddItemToObject(r, "location", place);
        cJSON_AddItemToObject(r, "message", json_text(m[i].text));
        cJSON_AddItemToArray(related, r);
    }
    cJSON_AddItemToObject(o, "relatedInformation", related);
}

static void add(void *env, const DiagMessage *m, const DiagMessage *notes, int n_notes)
{
    static const int severity[] = {
        [DIAG_ERROR] = 1, [DIAG_WARNING] = 2, [DIAG_LIMIT] = 1, [DIAG_NOTE] = 3};
    Diagnostics *ds = env;
    Look *l = ds->look;
    const File *f = look_file(l, m->loc);
    bool elsewhere = f && f != l->ast->main;
    Loc loc = elsewhere ? import_of(l, f) : m->loc;
    cJSON *range = look_range(l, loc), *o = cJSON_CreateObject();
    Out text = {0};
    if (elsewhere)
        out_printf(&text, "%s: ", diag_place_str(m->loc));
    out_puts(&text, m->text);
    cJSON_AddItemToObject(o, "range", range ? range : json_range(&l->now, 0, 0));
    cJSON_AddNumberToObject(o, "severity", severity[m->kind]);
    cJSON_AddStringToObject(o, "source", "minifut");
    if (m->kind == DIAG_LIMIT)
        cJSON_AddStringToObject(o, "code", "limitation");
    add_notes(l, o, notes, n_notes, &text);
    cJSON *place = elsewhere ? look_location(l, m->loc) : NULL;
    if (place) {
        cJSON *r = cJSON_CreateObject();
        cJSON_AddItemToObject(r, "location", place);
        cJSON_AddItemToObject(r, "message", json_text(m->text));
        cJSON_InsertItemInArray(cJSON_GetObjectItemCaseSensitive(o, "relatedInformation"), 0, r);
    }
    char *s = out_take(&text);
    cJSON_AddItemToObject(o, "message", json_text(s));
    free(s);
    cJSON_AddItemToArray(ds->all, o);
}

cJSON *query_diagnostics(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_MESSAGES, 0, 0);
    Diagnostics ds = {&l, cJSON_CreateArray()};
    diag_take(add, &ds);
    cJSON *o = cJSON_CreateObject(), *reads = cJSON_AddArrayToObject(o, "reads");
    cJSON_AddItemToObject(o, "diagnostics", ds.all);
    for (int i = 0; i < l.ast->files.n; i++)
        if (l.ast->files.at[i] != l.ast->main)
            cJSON_AddItemToArray(reads, json_text(l.ast->files.at[i]->path));
    cJSON_AddBoolToObject(o, "parsed", l.ast->main->parsed);
    return o;
}
