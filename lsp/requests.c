/* What editors ask: a table of requests, one of notifications. */
#include "lsp/look.h"
#include "lsp/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Requests ------------------------------------------------------------------------------- */

/* A request is answered by the server at once, or by a job that asks about an open document. */
typedef struct {
    const char *method;
    cJSON *(*at_once)(Server *s, const cJSON *params);
    cJSON *(*query)(const Query *q);
    bool has_position;
    const char *offer, *offered; /* of the server's capabilities: name and value */
} Request;

static cJSON *initialize(Server *s, const cJSON *params);
static cJSON *shut_down(Server *s, const cJSON *params);

static const Request requests[] = {
    {"initialize", .at_once = initialize},
    {"shutdown", .at_once = shut_down},
    {"textDocument/hover", NULL, query_hover, true, "hoverProvider", "true"},
    {"textDocument/definition", NULL, query_definition, true, "definitionProvider", "true"},
    {"textDocument/references", NULL, query_references, true, "referencesProvider", "true"},
    {"textDocument/documentHighlight", NULL, query_highlight, true, "documentHighlightProvider",
     "true"},
    {"textDocument/completion", NULL, query_completion, true, "completionProvider",
     "{\"triggerCharacters\":[\".\",\"#\"]}"},
    {"textDocument/documentSymbol", NULL, query_symbols, false, "documentSymbolProvider", "true"},
    {"textDocument/formatting", NULL, query_formatting, false, "documentFormattingProvider",
     "true"},
};
enum { N_REQUESTS = sizeof requests / sizeof *requests };

static cJSON *initialize(Server *s, const cJSON *params)
{
    static const char sync[] = "{\"openClose\":true,\"change\":2,\"save\":true}"; /* 2: by pieces */
    cJSON *o = cJSON_CreateObject(), *can = cJSON_AddObjectToObject(o, "capabilities");
    cJSON *info = cJSON_AddObjectToObject(o, "serverInfo");
    s->initialized = true;
    s->related = cJSON_IsTrue(
        json_member(params, "capabilities.textDocument.publishDiagnostics.relatedInformation"));
    cJSON_AddStringToObject(can, "positionEncoding", "utf-16");
    cJSON_AddItemToObject(can, "textDocumentSync", cJSON_CreateRaw(sync));
    for (int i = 0; i < N_REQUESTS; i++)
        if (requests[i].offer)
            cJSON_AddItemToObject(can, requests[i].offer, cJSON_CreateRaw(requests[i].offered));
    cJSON_AddStringToObject(info, "name", "minifut");
    return o;
}

static cJSON *shut_down(Server *s, const cJSON *params)
{
    (void)params;
    s->shut_down = true;
    return NULL;
}

/* What a job is started with. */
typedef struct {
    cJSON *(*query)(const Query *q);
    bool has_position;
    Position position;
    Query q;
} Asked;

static char *work(void *env)
{
    Asked *ask = env;
    ask->q.a = arena_new();
    if (ask->has_position) {
        Lines l = lines_of(ask->q.a, ask->q.doc->text, ask->q.doc->n);
        ask->q.at = lines_offset(&l, ask->position);
    }
    cJSON *result = ask->query(&ask->q);
    return mem_or_exit(cJSON_PrintUnformatted(result ? result : cJSON_CreateNull()));
}

/* False: it has to wait. */
static bool start_query(Server *s, const Request *r, const cJSON *id, const cJSON *params)
{
    const char *uri = json_string(params, "textDocument.uri");
    const Document *d = uri ? document_find(&s->docs, uri) : NULL;
    Asked ask = {r->query, r->has_position, {0}, {.docs = &s->docs, .doc = d, .params = params}};
    if (!d) {
        server_refuse(s, id, ERROR_PARAMS,
                      uri ? "the document is not open" : "textDocument.uri is missing");
        return true;
    }
    if (r->has_position && !json_read_position(json_member(params, "position"), &ask.position)) {
        server_refuse(s, id, ERROR_PARAMS, "position is no {line, character}");
        return true;
    }
    Task *t = server_idle_task(s, false);
    if (!t)
        return false;
    if (job_start(&t->job, work, &ask))
        t->id = cJSON_Duplicate(id, true);
    else
        server_refuse(s, id, ERROR_INTERNAL, "cannot start a process: %s", strerror(errno));
    return true;
}

static bool take_request(Server *s, const char *method, const cJSON *id, const cJSON *params)
{
    const Request *r = NULL;
    for (int i = 0; i < N_REQUESTS; i++)
        if (strcmp(requests[i].method, method) == 0)
            r = &requests[i];
    bool first = strcmp(method, "initialize") == 0;
    if (s->shut_down)
        server_refuse(s, id, ERROR_INVALID_REQUEST, "the server was shut down");
    else if (first && s->initialized)
        server_refuse(s, id, ERROR_INVALID_REQUEST, "the server is initialized already");
    else if (!first && !s->initialized)
        server_refuse(s, id, ERROR_NOT_INITIALIZED, "`initialize` comes first");
    else if (!r)
        server_refuse(s, id, ERROR_NO_METHOD, "there is no method `%.200s`", method);
    else if (r->query)
        return start_query(s, r, id, params);
    else
        server_answer(s, id, r->at_once(s, params));
    return true;
}

/* --- Notifications -------------------------------------------------------------------------- */

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

static bool did_open(Server *s, const cJSON *params)
{
    const char *uri = json_string(params, "textDocument.uri"),
               *text = json_string(params, "textDocument.text");
    if (!uri || !text)
        return false;
    document_open(&s->docs, uri, text, version_in(params));
    documents_touch(&s->docs, NULL); /* an import of it may not have been found */
    server_drop_stale(s);
    return true;
}

static bool did_change(Server *s, const cJSON *params)
{
    Document *d = document_in(s, params);
    if (!d)
        return false;
    bool ok = document_change(d, json_member(params, "contentChanges"));
    d->version = version_in(params);
    documents_touch(&s->docs, d->path);
    server_drop_stale(s);
    return ok;
}

static cJSON *diagnostics_of(const Document *d, cJSON *all)
{
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "uri", d->uri);
    cJSON_AddNumberToObject(params, "version", d->version);
    cJSON_AddItemToObject(params, "diagnostics", all);
    return params;
}

static bool did_close(Server *s, const cJSON *params)
{
    Document *d = document_in(s, params);
    if (!d)
        return false;
    documents_touch(&s->docs, NULL); /* the file counts again */
    server_drop_stale(s);
    server_notify(s, "textDocument/publishDiagnostics", diagnostics_of(d, cJSON_CreateArray()));
    document_close(&s->docs, d);
    return true;
}

/* Files have changed, which open documents may import. */
static bool files_changed(Server *s, const cJSON *params)
{
    (void)params;
    documents_touch(&s->docs, NULL);
    server_drop_stale(s);
    return true;
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
    {"exit", end},
};
enum { N_NOTIFICATIONS = sizeof notifications / sizeof *notifications };

static void take_notification(Server *s, const char *method, const cJSON *params)
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

bool server_take(Server *s, const cJSON *message)
{
    const cJSON *id = json_member(message, "id"), *params = json_member(message, "params");
    const char *method = json_string(message, "method");
    if (method && id)
        return take_request(s, method, id, params);
    if (method)
        take_notification(s, method, params);
    else if (!json_member(message, "result") &&
             !json_member(message, "error")) /* an answer: we asked nothing */
        server_refuse(s, id, ERROR_INVALID_REQUEST, "a message needs a method");
    return true;
}

/* --- Diagnostics ---------------------------------------------------------------------------- */

void server_diagnose(Server *s)
{
    Task *t;
    for (Document *d = s->docs.first; d && (t = server_idle_task(s, true)); d = d->next) {
        if (!d->stale)
            continue;
        Asked ask = {query_diagnostics, false, {0}, {.docs = &s->docs, .doc = d}};
        d->stale = false;
        if (job_start(&t->job, work, &ask))
            t->doc = d;
    }
}

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

/* Keeps which files the document has imported. */
static void keep_reads(Document *d, const cJSON *reads)
{
    int n = cJSON_GetArraySize(reads);
    for (int i = 0; d->reads && d->reads[i]; i++)
        free(d->reads[i]);
    free(d->reads);
    d->reads = mem_or_exit(calloc((size_t)n + 1, sizeof *d->reads));
    for (int i = 0; i < n; i++)
        d->reads[i] = mem_or_exit(strdup(cJSON_GetArrayItem(reads, i)->valuestring));
}

void server_publish(Server *s, Document *d, const char *text, const char *why)
{
    cJSON *made = text ? cJSON_Parse(text) : NULL, *o;
    cJSON *all = made ? cJSON_DetachItemFromObjectCaseSensitive(made, "diagnostics") : failure(why);
    if (made)
        keep_reads(d, json_member(made, "reads"));
    if (made && cJSON_IsTrue(json_member(made, "parsed"))) {
        free(d->good);
        d->good = mem_or_exit(malloc(d->n + 1));
        memcpy(d->good, d->text, d->n + 1);
        d->n_good = d->n;
    }
    cJSON_ArrayForEach(o, all)
    {
        if (!s->related)
            fold_related(o);
    }
    server_notify(s, "textDocument/publishDiagnostics", diagnostics_of(d, all));
    cJSON_Delete(made);
}
