/* The messages of a check, as diagnostics of the document, and textDocument/codeAction: what mends
 * them. What is wrong with an imported file stands at the import: its own diagnostics are made when
 * it is open. */
#include "lsp/look.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Look *look;
    cJSON *all;
} Diagnostics;

static Loc import_of(const Look *l, const File *f)
{
    const File *main = l->ast->main;
    for (int i = 0; i < main->imports.n; i++)
        if (main->imports.at[i]->file && look_leads_to(main->imports.at[i]->file, f))
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

/* What mends it, [{uri, range, newText}], as data of the diagnostic: for query_actions, and
 * editors. */
static void add_fixes(Look *l, cJSON *o, const DiagMessage *m)
{
    cJSON *all = cJSON_CreateArray();
    for (const DiagFix *f = m->fixes; f; f = f->next) {
        cJSON *edit = look_location(l, f->at);
        if (!edit)
            continue;
        cJSON_AddItemToObject(edit, "newText", json_text(f->text));
        cJSON_AddItemToArray(all, edit);
    }
    if (all->child)
        cJSON_AddItemToObject(cJSON_AddObjectToObject(o, "data"), "fixes", all);
    else
        cJSON_Delete(all);
}

/* --- Diagnostics ---------------------------------------------------------------------------- */

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
    add_fixes(l, o, m);
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
    Diagnostics ds = {.look = &l, .all = cJSON_CreateArray()};
    diag_take(add, &ds);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "diagnostics", ds.all);
    cJSON_AddBoolToObject(o, "parsed", l.ast->main->parsed);
    return o;
}

/* --- Quick fixes ---------------------------------------------------------------------------- */

/* What is written instead, on one line of a menu. */
static const char *title_of(Arena *a, const char *text)
{
    enum { LONGEST = 60 };
    size_t n = strcspn(text, "\n");
    bool cut = n > LONGEST || text[n];
    n = n < LONGEST ? n : LONGEST;
    while (n && ((unsigned char)text[n] & 0xC0) == 0x80) /* not within a character */
        n--;
    return arena_printf(a, "Change to `%.*s%s`", (int)n, text, cut ? "\xe2\x80\xa6" : "");
}

/* A quick fix by one of the changes that a diagnostic has with it. */
static cJSON *quick_fix(const Query *q, const cJSON *diagnostic, const cJSON *fix)
{
    cJSON *o = cJSON_CreateObject(), *edit = cJSON_AddObjectToObject(o, "edit");
    const char *uri = json_string(fix, "uri"), *text = json_string(fix, "newText");
    cJSON *change = cJSON_CreateObject(), *changes;
    cJSON_AddItemToObject(o, "title", json_text(title_of(q->a, text)));
    cJSON_AddStringToObject(o, "kind", "quickfix");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "diagnostics"),
                         cJSON_Duplicate(diagnostic, true));
    cJSON_AddItemToObject(change, "range", cJSON_Duplicate(json_member(fix, "range"), true));
    cJSON_AddStringToObject(change, "newText", text);
    changes = cJSON_AddArrayToObject(cJSON_AddObjectToObject(edit, "changes"), uri);
    cJSON_AddItemToArray(changes, change);
    if (!cJSON_GetArrayItem(json_member(diagnostic, "data.fixes"), 1))
        cJSON_AddTrueToObject(o, "isPreferred");
    return o;
}

static bool wants_fixes(const Query *q)
{
    const cJSON *only = json_member(q->params, "context.only"), *kind;
    bool any = !cJSON_IsArray(only);
    cJSON_ArrayForEach(kind, only)
    {
        any |=
            cJSON_IsString(kind) && (!*kind->valuestring || !strcmp(kind->valuestring, "quickfix"));
    }
    return any;
}

static bool is_before(Position a, Position b)
{
    return a.line != b.line ? a.line < b.line : a.unit < b.unit;
}

/* Does a diagnostic touch the range that is asked about? */
static bool touches(const Query *q, const cJSON *diagnostic)
{
    Position beg, end;
    return json_read_position(json_member(diagnostic, "range.start"), &beg) &&
           json_read_position(json_member(diagnostic, "range.end"), &end) &&
           !is_before(q->to, beg) && !is_before(end, q->from);
}

cJSON *query_actions(const Query *q)
{
    cJSON *actions = cJSON_CreateArray();
    const cJSON *d, *fix;
    if (!wants_fixes(q))
        return actions;
    const char *text = q->said ? q->said : cJSON_PrintUnformatted(query_diagnostics(q));
    const cJSON *said = mem_or_exit(cJSON_Parse(text)); /* numbers in it are text so far */
    cJSON_ArrayForEach(d, json_member(said, "diagnostics"))
    {
        cJSON_ArrayForEach(fix, json_member(touches(q, d) ? d : NULL, "data.fixes"))
        {
            cJSON_AddItemToArray(actions, quick_fix(q, d, fix));
        }
    }
    return actions;
}
