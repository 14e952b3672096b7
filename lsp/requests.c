/* What editors ask: a table of requests; and the diagnostics, which nobody asks for. */
#include "lsp/look.h"
#include "lsp/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Requests ------------------------------------------------------------------------------- */

/* What the parameters of a request have to have. */
enum {
    WANTS_DOCUMENT = 1,  /* textDocument.uri, of one that is open */
    WANTS_POSITION = 2,  /* position */
    WANTS_RANGE = 4,     /* range */
    WANTS_POSITIONS = 8, /* positions */
    AT = WANTS_DOCUMENT | WANTS_POSITION,
};

/* A request is answered by the server at once, or by a job. */
typedef struct {
    const char *method;
    cJSON *(*at_once)(Server *s, const cJSON *params);
    cJSON *(*query)(const Query *q);
    int wants;
    const char *text;            /* the name of a string among the parameters, or NULL */
    const char *offer, *offered; /* of the server's capabilities: name and value */
} Request;

static cJSON *initialize(Server *s, const cJSON *params);
static cJSON *shut_down(Server *s, const cJSON *params);

static const Request requests[] = {
    {"initialize", initialize, NULL, 0, NULL, NULL, NULL},
    {"shutdown", shut_down, NULL, 0, NULL, NULL, NULL},
#define QUERY(method, query, wants, text, offer, offered)                                          \
    {                                                                                              \
        method, NULL, query, wants, text, offer, offered                                           \
    }
    QUERY("textDocument/hover", query_hover, AT, NULL, "hoverProvider", "true"),
    QUERY("textDocument/definition", query_definition, AT, NULL, "definitionProvider", "true"),
    QUERY("textDocument/references", query_references, AT, NULL, "referencesProvider", "true"),
    QUERY("textDocument/documentHighlight", query_highlight, AT, NULL, "documentHighlightProvider",
          "true"),
    QUERY("textDocument/prepareRename", query_renamable, AT, NULL, "renameProvider",
          "{\"prepareProvider\":true}"),
    QUERY("textDocument/rename", query_rename, AT, "newName", NULL, NULL),
    QUERY("textDocument/completion", query_completion, AT, NULL, "completionProvider",
          "{\"triggerCharacters\":[\".\",\"#\"]}"),
    QUERY("textDocument/signatureHelp", query_signature, AT, NULL, "signatureHelpProvider",
          "{\"triggerCharacters\":[\" \",\"(\"]}"),
    QUERY("textDocument/documentSymbol", query_symbols, WANTS_DOCUMENT, NULL,
          "documentSymbolProvider", "true"),
    QUERY("workspace/symbol", query_workspace_symbols, 0, "query", "workspaceSymbolProvider",
          "true"),
    QUERY("textDocument/formatting", query_formatting, WANTS_DOCUMENT, NULL,
          "documentFormattingProvider", "true"),
    QUERY("textDocument/inlayHint", query_hints, WANTS_DOCUMENT | WANTS_RANGE, NULL,
          "inlayHintProvider", "true"),
    QUERY("textDocument/codeAction", query_actions, WANTS_DOCUMENT | WANTS_RANGE, NULL,
          "codeActionProvider", "{\"codeActionKinds\":[\"quickfix\"]}"),
    QUERY("textDocument/foldingRange", query_folds, WANTS_DOCUMENT, NULL, "foldingRangeProvider",
          "true"),
    QUERY("textDocument/selectionRange", query_selection, WANTS_DOCUMENT | WANTS_POSITIONS, NULL,
          "selectionRangeProvider", "true"),
    QUERY("textDocument/semanticTokens/full", query_tokens, WANTS_DOCUMENT, NULL,
          "semanticTokensProvider", SEMANTIC_TOKENS_OFFERED),
#undef QUERY
};
enum { N_REQUESTS = sizeof requests / sizeof *requests };

static cJSON *initialize(Server *s, const cJSON *params)
{
    static const char sync[] = "{\"openClose\":true,\"change\":2,\"save\":true}", /* 2: by pieces */
        folders[] = "{\"workspaceFolders\":{\"supported\":true,\"changeNotifications\":true}}";
    cJSON *o = cJSON_CreateObject(), *can = cJSON_AddObjectToObject(o, "capabilities");
    cJSON *info = cJSON_AddObjectToObject(o, "serverInfo");
    s->initialized = true;
    client_read(&s->client, params);
    cJSON_AddStringToObject(can, "positionEncoding", encoding_names[positions_counted_in()]);
    cJSON_AddItemToObject(can, "textDocumentSync", cJSON_CreateRaw(sync));
    cJSON_AddItemToObject(can, "workspace", cJSON_CreateRaw(folders));
    for (int i = 0; i < N_REQUESTS; i++) {
        const Request *r = &requests[i];
        bool plain = r->query == query_renamable && !s->client.prepares;
        if (r->offer)
            cJSON_AddItemToObject(can, r->offer, cJSON_CreateRaw(plain ? "true" : r->offered));
    }
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
    Query q;
} Asked;

/* The job's output: ANSWER and a result, or REFUSAL and why there is none. */
static char *work(void *env)
{
    Asked *ask = env;
    const char *why = NULL;
    Out o = {0};
    ask->q.a = arena_new();
    ask->q.why = &why;
    if (ask->q.doc) {
        Lines l = lines_of(ask->q.a, ask->q.doc->text, ask->q.doc->n);
        ask->q.at = lines_offset(&l, ask->q.from);
        ask->q.end = lines_offset(&l, ask->q.to);
    }
    cJSON *result = ask->query(&ask->q);
    char *text = mem_or_exit(cJSON_PrintUnformatted(result ? result : cJSON_CreateNull()));
    out_printf(&o, "%c", why ? JOB_REFUSAL : JOB_ANSWER);
    out_puts(&o, why ? why : text);
    return out_take(&o);
}

/* What is wrong with the parameters, or NULL. */
static const char *wrong_params(const Request *r, const cJSON *params, Query *q)
{
    const char *uri = json_string(params, "textDocument.uri");
    const cJSON *all = json_member(params, "positions"), *p;
    q->doc = uri ? document_find(q->docs, uri) : NULL;
    if ((r->wants & WANTS_DOCUMENT) && !q->doc)
        return uri ? "the document is not open" : "textDocument.uri is missing";
    if ((r->wants & WANTS_POSITION) &&
        !json_read_position(json_member(params, "position"), &q->from))
        return "position is no {line, character}";
    if ((r->wants & WANTS_RANGE) &&
        !(json_read_position(json_member(params, "range.start"), &q->from) &&
          json_read_position(json_member(params, "range.end"), &q->to)))
        return "range is no {start, end}";
    if ((r->wants & WANTS_POSITIONS) && !cJSON_IsArray(all))
        return "positions are missing";
    cJSON_ArrayForEach(p, all)
    {
        Position at;
        if ((r->wants & WANTS_POSITIONS) && !json_read_position(p, &at))
            return "one of positions is no {line, character}";
    }
    if (r->text && !json_string(params, r->text))
        return "a text is missing";
    return NULL;
}

/* False: it has to wait. */
static bool start_query(Server *s, const Request *r, const cJSON *id, const cJSON *params)
{
    Asked ask = {r->query, {.docs = &s->docs, .client = &s->client, .params = params}};
    const char *wrong = wrong_params(r, params, &ask.q);
    if (wrong) {
        server_refuse(s, id, ERROR_PARAMS, "%s", wrong);
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

bool server_take(Server *s, const cJSON *message)
{
    const cJSON *id = json_member(message, "id"), *params = json_member(message, "params");
    const char *method = json_string(message, "method");
    if (method && id)
        return take_request(s, method, id, params);
    if (method)
        server_notice(s, method, params);
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
        Asked ask = {query_diagnostics, {.docs = &s->docs, .doc = d, .client = &s->client}};
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
    cJSON *made = text ? cJSON_Parse(text + 1) : NULL, *o;
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
        if (!s->client.related)
            fold_related(o);
    }
    server_show(s, d, all);
    cJSON_Delete(made);
}
