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

static bool has_file(const FilesRead *all, const char *path)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i].path, path) == 0)
            return true;
    return false;
}

static void add_file(FilesRead *all, const char *path, const char *stamp)
{
    all->at[all->n++] =
        (FileRead){mem_or_exit(strdup(path)), stamp ? mem_or_exit(strdup(stamp)) : NULL};
}

/* Keeps which files the document depends on: while it does not parse, those of before, too, since
 * what is looked at is the text of before. */
static void keep_reads(Document *d, const cJSON *reads, bool parsed)
{
    const cJSON *f;
    size_t most = (size_t)cJSON_GetArraySize(reads) + (size_t)d->reads.n + 1;
    FilesRead all = {.at = mem_or_exit(calloc(most, sizeof *all.at))};
    cJSON_ArrayForEach(f, reads)
    {
        add_file(&all, cJSON_GetStringValue(cJSON_GetArrayItem(f, 0)),
                 cJSON_GetStringValue(cJSON_GetArrayItem(f, 1)));
    }
    for (int i = 0; !parsed && i < d->reads.n; i++) {
        const FileRead *old = &d->reads.at[i];
        char *now = old->stamp ? file_stamp(old->path, true) : NULL;
        if (!has_file(&all, old->path))
            add_file(&all, old->path, now);
        free(now);
    }
    document_forget_reads(d);
    d->reads = all;
    d->known = true;
}

void server_publish(Server *s, Document *d, Worker *w, const char *text, const char *why)
{
    cJSON *made = text ? cJSON_Parse(text) : NULL, *o;
    cJSON *all = made ? cJSON_DetachItemFromObjectCaseSensitive(made, "diagnostics") : failure(why);
    bool parsed = cJSON_IsTrue(json_member(made, "parsed"));
    if (made)
        keep_reads(d, json_member(made, "reads"), parsed);
    if (made && w)
        worker_has_begun(w, json_member(made, "mb")->valuedouble,
                         json_member(made, "ms")->valuedouble);
    if (parsed) {
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
