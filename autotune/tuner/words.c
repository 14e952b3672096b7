#include "autotune/tuner/words.h"

#include "autotune/run/compiler.h"
#include "command/html.h"

#include <cjson/cJSON.h>
#include <string.h>

typedef struct {
    Arena *a;
    VersionWords words;
    int version; /* whose code follows; -1: nobody's */
    int more;    /* of its constructs, that are not told */
} Reading;

/* A construct more of the version. A page needs to tell versions apart, not all of what they do. */
static void add_words(Reading *r, const char *words)
{
    enum { ENOUGH = 3 };
    static const char more[] = "; ...";
    if (r->version < 0 || r->more > ENOUGH)
        return;
    while (r->words.n <= r->version)
        vec_push(r->a, &r->words, NULL);
    const char *known = r->words.at[r->version];
    if (known && strstr(known, words))
        return;
    words = ++r->more > ENOUGH ? more + 2 : words;
    r->words.at[r->version] = known ? arena_printf(r->a, "%s; %s", known, words) : words;
}

/* A list of what is done one after the other. What follows a version's number in its list is the
 * version. */
static void read_items(Reading *r, const cJSON *items)
{
    static const char *const inner[] = {"then", "else", "body"};
    int outer = r->version;
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(item, "kind"));
        const char *words = cJSON_GetStringValue(cJSON_GetObjectItem(item, "words"));
        const cJSON *id = cJSON_GetObjectItem(item, "id");
        if (kind && strcmp(kind, "version") == 0 && cJSON_IsNumber(id)) {
            r->version = id->valueint;
            r->more = 0;
        }
        if (words)
            add_words(r, arena_strdup(r->a, words));
        bool choice = kind && strcmp(kind, "choice") == 0;
        int version = r->version, more = r->more;
        for (int i = 0; i < 3; i++) {
            r->version = choice ? -1 : version;
            read_items(r, cJSON_GetObjectItem(item, inner[i]));
        }
        r->version = version;
        r->more = choice ? more : r->more;
    }
    r->version = outer;
}

VersionWords words_of(Arena *a, const char *source, const char *entry)
{
    Reading r = {.a = a, .version = -1};
    const char *const args[] = {"minifut", "explain", "--json", "--", source, NULL};
    Out text = {0};
    cJSON *all = compiler_prints(&text, args) == 0 ? cJSON_Parse(text.text) : NULL;
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(all, "entries"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(e, "name"));
        if (name && strcmp(name, entry) == 0)
            read_items(&r, cJSON_GetObjectItem(e, "versions"));
    }
    cJSON_Delete(all);
    out_free(&text);
    return r.words;
}

void words_html(Out *o, const VersionWords *w, const VersionIds *ids)
{
    for (int i = 0; i < ids->n; i++) {
        int id = ids->at[i];
        if (id >= w->n || !w->at[id])
            continue;
        out_puts(o, "<small>");
        if (ids->n > 1)
            html_textf(o, "V%d: ", id);
        html_text(o, w->at[id]);
        out_puts(o, "</small>");
    }
}

void words_cell(Out *o, bool head, const char *text, const VersionWords *w, const VersionIds *ids)
{
    out_puts(o, head ? "<th scope=\"row\">" : "<td>");
    html_text(o, text);
    words_html(o, w, ids);
    out_puts(o, head ? "</th>" : "</td>");
}
