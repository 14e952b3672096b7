/* What editors tell: a table of notifications. */
#include "lsp/json.h"
#include "lsp/server.h"

#include <string.h>

static Document *document_in(Server *s, const cJSON *params)
{
    const char *uri = json_string(params, "textDocument.uri");
    return uri ? document_find(&s->docs, uri) : NULL;
}

static int version_in(const cJSON *params)
{
    const cJSON *v = json_member(params, "textDocument.version");
    return cJSON_IsNumber(v) ? v->valueint : 0;
}

/* What was known may not be so any more; true. */
static bool changed(Server *s)
{
    server_changed(s, NULL);
    return true;
}

static bool did_open(Server *s, const cJSON *params)
{
    const char *uri = json_string(params, "textDocument.uri"),
               *text = json_string(params, "textDocument.text");
    if (!uri || !text)
        return false;
    document_open(&s->docs, uri, text, version_in(params));
    documents_touch(&s->docs, document_find(&s->docs, uri)->path);
    return changed(s);
}

static bool did_change(Server *s, const cJSON *params)
{
    Document *d = document_in(s, params);
    if (!d)
        return false;
    bool ok = document_change(d, json_member(params, "contentChanges"));
    d->version = version_in(params);
    documents_touch(&s->docs, d->path);
    server_changed(s, d);
    return ok;
}

static bool did_close(Server *s, const cJSON *params)
{
    Document *d = document_in(s, params);
    if (!d)
        return false;
    documents_touch(&s->docs, d->path); /* the file counts again */
    d->anew = true;
    changed(s);
    server_show(s, d, cJSON_CreateArray());
    document_close(&s->docs, d);
    return true;
}

/* Files have changed, which open documents may import. */
static bool files_changed(Server *s, const cJSON *params)
{
    (void)params;
    documents_touch_outdated(&s->docs);
    return changed(s);
}

static bool folders_changed(Server *s, const cJSON *params)
{
    return client_change_folders(&s->client, params) && changed(s);
}

static bool end(Server *s, const cJSON *params)
{
    (void)params;
    s->ended = true;
    return true;
}

/* False: the parameters are wrong. */
static const struct {
    const char *method;
    bool (*run)(Server *s, const cJSON *params);
} notifications[] = {
    {"textDocument/didOpen", did_open},
    {"textDocument/didChange", did_change},
    {"textDocument/didClose", did_close},
    {"textDocument/didSave", files_changed},
    {"workspace/didChangeWatchedFiles", files_changed},
    {"workspace/didChangeWorkspaceFolders", folders_changed},
    {"exit", end},
};
enum { N_NOTIFICATIONS = sizeof notifications / sizeof *notifications };

void server_notice(Server *s, const char *method, const cJSON *params)
{
    if (!s->initialized && strcmp(method, "exit") != 0)
        return;
    for (int i = 0; i < N_NOTIFICATIONS; i++) {
        if (strcmp(notifications[i].method, method) != 0 || notifications[i].run(s, params))
            continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "type", 1); /* an error */
        cJSON_AddStringToObject(
            o, "message",
            "minifut: the parameters of a notification are wrong, or its document is not open");
        server_notify(s, "window/logMessage", o);
    }
}
