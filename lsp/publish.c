/* What a worker has made when it began: the diagnostics of its document, which are published, and
 * what is kept of it. */
#include "lsp/server.h"

#include "lsp/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one diagnostic of a program on which the compiler failed. */
static cJSON *failure(const char *why)
{
    cJSON *all = cJSON_CreateArray(), *o = cJSON_CreateObject();
    char text[256];
    snprintf(text, sizeof text, "minifut failed on this program: %s", why);
    cJSON_AddItemToObject(o, "range",
                          json_range(&(Lines){.text = "", .begins = {&(uint32_t){0}, 1, 1}}, 0, 0));
    cJSON_AddNumberToObject(o, "severity", 1);
    cJSON_AddStringToObject(o, "source", "minifut");
    cJSON_AddStringToObject(o, "message", text);
    cJSON_AddItemToArray(all, o);
    return all;
}

/* For editors that do not show related places, what is said of them stands in the message. */
static void fold_related(cJSON *diagnostic)
{
    cJSON *related = cJSON_DetachItemFromObjectCaseSensitive(diagnostic, "relatedInformation"), *r;
    Out text = {0};
    const char *message = json_string(diagnostic, "message");
    out_puts(&text, message ? message : "");
    cJSON_ArrayForEach(r, related)
    {
        const cJSON *line = json_member(r, "location.range.start.line");
        const char *said = json_string(r, "message");
        out_printf(&text, "\nline %d: %s", line ? line->valueint + 1 : 0, said ? said : "");
    }
    char *s = out_take(&text);
    cJSON_ReplaceItemInObjectCaseSensitive(diagnostic, "message", cJSON_CreateString(s));
    cJSON_Delete(related);
    free(s);
}

/* Keeps which files the diagnostics depend on. */
static void keep_reads(Document *d, const cJSON *reads)
{
    const cJSON *f;
    document_forget_reads(d);
    d->known = true;
    d->reads.at = mem_or_exit(calloc((size_t)cJSON_GetArraySize(reads) + 1, sizeof *d->reads.at));
    cJSON_ArrayForEach(f, reads)
    {
        const char *path = cJSON_GetStringValue(cJSON_GetArrayItem(f, 0)),
                   *stamp = cJSON_GetStringValue(cJSON_GetArrayItem(f, 1));
        d->reads.at[d->reads.n++] =
            (FileRead){mem_or_exit(strdup(path)), stamp ? mem_or_exit(strdup(stamp)) : NULL};
    }
}

void server_publish(Server *s, Document *d, Worker *w, const char *text, const char *why)
{
    cJSON *made = text ? cJSON_Parse(text) : NULL, *o;
    cJSON *all = made ? cJSON_DetachItemFromObjectCaseSensitive(made, "diagnostics") : failure(why);
    if (made)
        keep_reads(d, json_member(made, "reads"));
    if (made && w)
        worker_has_begun(w, json_member(made, "mb")->valuedouble);
    if (made && cJSON_IsTrue(json_member(made, "parsed"))) {
        free(d->good);
        d->good = mem_or_exit(malloc(d->n + 1));
        memcpy(d->good, d->text, d->n + 1);
        d->n_good = d->n;
    }
    cJSON_ArrayForEach(o, all)
    {
        if (!s->client.related)
            fold_related(o);
    }
    server_show(s, d, all);
    cJSON_Delete(made);
}
