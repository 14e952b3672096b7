/* What editors ask: a table of requests, and the processes that answer them. */
#include "lsp/look.h"
#include "lsp/server.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* --- Requests ------------------------------------------------------------------------------- */

/* What the parameters of a request have to have. */
enum {
    WANTS_DOCUMENT = 1,  /* textDocument.uri, of one that is open */
    WANTS_POSITION = 2,  /* position */
    WANTS_RANGE = 4,     /* range */
    WANTS_POSITIONS = 8, /* positions */
    AT = WANTS_DOCUMENT | WANTS_POSITION,
};

/* Who answers a request. */
typedef enum {
    BY_SERVER, /* at once */
    BY_JOB,    /* of no document */
    BY_TEXT,   /* of the text alone */
    BY_READY,  /* so, unless there is a worker that is ready: it makes a tree of its own anyway */
    BY_WORKER, /* a fork of the worker that knows the document, ... */
    BY_LOOK,   /* ... also as it was when it parsed, ... */
    BY_ALL,    /* ... and all others that are open */
} Answers;

typedef struct {
    const char *method;
    cJSON *(*at_once)(Server *s, const cJSON *params);
    cJSON *(*query)(const Query *q);
    Answers by;
    int wants;
    const char *text;            /* the name of a string among the parameters, or NULL */
    const char *offer, *offered; /* of the server's capabilities: name and value */
} Request;

static cJSON *initialize(Server *s, const cJSON *params);
static cJSON *shut_down(Server *s, const cJSON *params);

static const Request requests[] = {
    {"initialize", initialize, NULL, BY_SERVER, 0, NULL, NULL, NULL},
    {"shutdown", shut_down, NULL, BY_SERVER, 0, NULL, NULL, NULL},
#define QUERY(method, query, by, wants, text, offer, offered)                                      \
    {                                                                                              \
        method, NULL, query, by, wants, text, offer, offered                                       \
    }
    QUERY("textDocument/hover", query_hover, BY_LOOK, AT, NULL, "hoverProvider", "true"),
    QUERY("textDocument/definition", query_definition, BY_LOOK, AT, NULL, "definitionProvider",
          "true"),
    QUERY("textDocument/references", query_references, BY_ALL, AT, NULL, "referencesProvider",
          "true"),
    QUERY("textDocument/documentHighlight", query_highlight, BY_LOOK, AT, NULL,
          "documentHighlightProvider", "true"),
    QUERY("textDocument/prepareRename", query_renamable, BY_LOOK, AT, NULL, "renameProvider",
          "{\"prepareProvider\":true}"),
    QUERY("textDocument/rename", query_rename, BY_ALL, AT, "newName", NULL, NULL),
    QUERY("textDocument/completion", query_completion, BY_WORKER, AT, NULL, "completionProvider",
          "{\"triggerCharacters\":[\".\",\"#\"]}"),
    QUERY("textDocument/signatureHelp", query_signature, BY_READY, AT, NULL,
          "signatureHelpProvider", "{\"triggerCharacters\":[\" \",\"(\"]}"),
    QUERY("textDocument/documentSymbol", query_symbols, BY_WORKER, WANTS_DOCUMENT, NULL,
          "documentSymbolProvider", "true"),
    QUERY("workspace/symbol", query_workspace_symbols, BY_JOB, 0, "query",
          "workspaceSymbolProvider", "true"),
    QUERY("textDocument/formatting", query_formatting, BY_TEXT, WANTS_DOCUMENT, NULL,
          "documentFormattingProvider", "true"),
    QUERY("textDocument/inlayHint", query_hints, BY_LOOK, WANTS_DOCUMENT | WANTS_RANGE, NULL,
          "inlayHintProvider", "true"),
    QUERY("textDocument/codeAction", query_actions, BY_WORKER, WANTS_DOCUMENT | WANTS_RANGE, NULL,
          "codeActionProvider", "{\"codeActionKinds\":[\"quickfix\"]}"),
    QUERY("textDocument/foldingRange", query_folds, BY_TEXT, WANTS_DOCUMENT, NULL,
          "foldingRangeProvider", "true"),
    QUERY("textDocument/selectionRange", query_selection, BY_TEXT, WANTS_DOCUMENT | WANTS_POSITIONS,
          NULL, "selectionRangeProvider", "true"),
    QUERY("textDocument/semanticTokens/full", query_tokens, BY_LOOK, WANTS_DOCUMENT, NULL,
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

/* What a process is started with. */
typedef struct {
    const Request *request; /* of a job */
    Query q;
} Asked;

/* The output of a process: ANSWER and a result, or REFUSAL and why there is none. */
static char *answer(const Request *r, Query *q)
{
    const char *why = NULL;
    Out o = {0};
    q->why = &why;
    if (q->doc) {
        Lines l = lines_of(q->a, q->doc->text, q->doc->n);
        q->at = lines_offset(&l, q->from);
        q->end = lines_offset(&l, q->to);
    }
    cJSON *result = r->query(q);
    char *text = mem_or_exit(cJSON_PrintUnformatted(result ? result : cJSON_CreateNull()));
    out_printf(&o, "%c", why ? JOB_REFUSAL : JOB_ANSWER);
    out_puts(&o, why ? why : text);
    return out_take(&o);
}

static char *job(void *env)
{
    Asked *ask = env;
    ask->q.a = arena_new();
    return answer(ask->request, &ask->q);
}

/* The request of a question, which begins with its number in the table. */
static const Request *request_in(const char *question)
{
    return &requests[atoi(question)];
}

/* --- The process for texts ------------------------------------------------------------------ */

/* It answers by itself, not by forks: it knows nothing that would be lost with it, and its memory
 * is there already. A question is the number of the request, the length of the parameters, these,
 * and the text. */
static char *answer_of_text(void *env, const char *question)
{
    const Query *all = &((Asked *)env)->q;
    char *params;
    size_t n = strtoul(strchr(question, ' ') + 1, &params, 10);
    Query q = {.a = arena_new(), .client = all->client, .params = cJSON_ParseWithLength(params, n)};
    Document d = {.uri = (char *)json_string(q.params, "textDocument.uri"),
                  .path = uri_path(json_string(q.params, "textDocument.uri")),
                  .text = params + n};
    d.n = strlen(d.text);
    q.docs = &(Documents){&d};
    wrong_params(request_in(question), q.params, &q); /* they are right */
    char *text = answer(request_in(question), &q);
    diag_reset();
    cJSON_Delete((cJSON *)q.params);
    free(d.path);
    arena_free(q.a);
    return text;
}

static char *begin_texts(void *env)
{
    (void)env;
    mallopt(M_MMAP_THRESHOLD, KEPT_MEMORY); /* so that free memory is kept */
    mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
    return mem_or_exit(strdup(""));
}

static const ForkServerLife texts_life = {begin_texts, answer_of_text, NULL};

/* Asks it, which is started if there is none; false: it cannot be asked. */
static bool ask_texts(Server *s, const Request *r, const Query *q, Task *t)
{
    Asked ask = {NULL, {.client = &s->client}};
    char *params = mem_or_exit(cJSON_PrintUnformatted(q->params));
    Out o = {0};
    out_printf(&o, "%d %zu%s%s", (int)(r - requests), strlen(params), params, q->doc->text);
    bool asked = server_start_texts(s, &texts_life, &ask) &&
                 fork_server_ask(&s->texts.process, o.text, &t->job);
    if (asked)
        t->worker = &s->texts;
    out_free(&o);
    free(params);
    return asked;
}

/* --- A worker ------------------------------------------------------------------------------- */

/* [path, stamp or null] of each. */
static cJSON *files_json(const FilesRead *all)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < all->n; i++) {
        const char *stamp = all->at[i].stamp;
        cJSON *one = cJSON_CreateArray();
        cJSON_AddItemToArray(one, cJSON_CreateString(all->at[i].path));
        cJSON_AddItemToArray(one, stamp ? cJSON_CreateString(stamp) : cJSON_CreateNull());
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

/* The diagnostics, as query_diagnostics makes them, `reads`, `mb`, its memory,
 * and `ms`, the time that it took. */
static char *diagnose(Query *q)
{
    struct rusage used;
    struct timespec beg, end;
    clock_gettime(CLOCK_MONOTONIC, &beg);
    FilesRead reads = look_keep(q->a, q->docs, q->doc);
    cJSON *said = query_diagnostics(q);
    getrusage(RUSAGE_SELF, &used);
    cJSON_AddItemToObject(said, "reads", files_json(&reads));
    clock_gettime(CLOCK_MONOTONIC, &end);
    cJSON_AddNumberToObject(said, "mb", (double)used.ru_maxrss / 1024);
    cJSON_AddNumberToObject(said, "ms",
                            1e3 * (double)(end.tv_sec - beg.tv_sec) +
                                1e-6 * (double)(end.tv_nsec - beg.tv_nsec));
    char *text = mem_or_exit(cJSON_PrintUnformatted(said));
    q->said = arena_strdup(q->a, text);
    return text;
}

static char *begin_worker(void *env)
{
    Query *q = &((Asked *)env)->q;
    q->a = arena_new();
    return diagnose(q);
}

/* A question is NEW_TEXT, version and text that the document has now, or a request and its
 * parameters. */
static char *prepare_worker(void *env, const char *question)
{
    Query *q = &((Asked *)env)->q;
    if (*question == NEW_TEXT) {
        Document *d = document_find(q->docs, q->doc->uri);
        char *text;
        d->version = (int)strtol(question + 1, &text, 10);
        look_take_text(q->a, d, text + 1);
        return diagnose(q);
    }
    if (request_in(question)->by >= BY_LOOK)
        look_keep_more();
    return NULL;
}

static char *answer_by_worker(void *env, const char *question)
{
    const Request *r = request_in(question);
    Query q = ((Asked *)env)->q;
    q.params = cJSON_Parse(strchr(question, ' '));
    wrong_params(r, q.params, &q); /* they are right */
    return answer(r, &q);
}

static const ForkServerLife worker_life = {begin_worker, prepare_worker, answer_by_worker};

/* The worker for a document, which is started if there is none; NULL: it cannot be (errno). */
static Worker *start_worker(Server *s, Document *d, Task *first)
{
    Asked ask = {NULL, {.docs = &s->docs, .doc = d, .client = &s->client}};
    return server_start_worker(s, d, first, &worker_life, &ask);
}

/* Asks a worker; false: it cannot be asked. */
static bool ask_worker(Worker *w, const Request *r, const cJSON *params, Task *t)
{
    char *text = mem_or_exit(cJSON_PrintUnformatted(params));
    Out o = {0};
    out_printf(&o, "%d %s", (int)(r - requests), text);
    bool asked = fork_server_ask(&w->process, o.text, &t->job);
    if (asked)
        t->worker = w;
    out_free(&o);
    free(text);
    return asked;
}

void server_diagnose(Server *s)
{
    for (Document *d = s->docs.first; d && server_may_check(s); d = d->next)
        if (d->stale && !start_worker(s, d, server_idle_task(s)))
            d->stale = false; /* there is no process to be had */
}

/* --- What comes ----------------------------------------------------------------------------- */

/* The worker for a request, if that is to be answered by one and it can be had; false: it has to
 * wait. */
static bool find_worker(Server *s, const Request *r, Document *d, Worker **w)
{
    bool soon = false; /* it has most of the answer already */
    *w = r->by >= BY_READY ? server_worker(s, d, r->by == BY_ALL) : NULL;
    if (r->by == BY_READY) {
        soon = *w ? (*w)->begun || (*w)->going_on : server_is_behind(s, d);
        *w = soon ? *w : NULL;
    }
    Task *first = server_idle_task(s);
    if (!first || *w || (r->by < BY_WORKER && !soon))
        return first != NULL;
    *w = start_worker(s, d, first);
    return server_idle_task(s) != NULL;
}

/* False: it has to wait. */
static bool start_query(Server *s, const Request *r, const cJSON *message)
{
    const cJSON *id = json_member(message, "id"), *params = json_member(message, "params");
    Asked ask = {r, {.docs = &s->docs, .client = &s->client, .params = params}};
    const char *wrong = wrong_params(r, params, &ask.q);
    Worker *w;
    if (wrong) {
        server_refuse(s, id, ERROR_PARAMS, "%s", wrong);
        return true;
    }
    if (!find_worker(s, r, (Document *)ask.q.doc, &w))
        return false;
    Task *t = server_idle_task(s);
    if ((w && ask_worker(w, r, params, t)) || (r->by == BY_TEXT && ask_texts(s, r, &ask.q, t)) ||
        job_start(&t->job, job, &ask))
        t->request = cJSON_Duplicate(message, true);
    else
        server_refuse(s, id, ERROR_INTERNAL, "cannot start a process: %s", strerror(errno));
    return true;
}

static bool take_request(Server *s, const char *method, const cJSON *message)
{
    const cJSON *id = json_member(message, "id"), *params = json_member(message, "params");
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
        return start_query(s, r, message);
    else
        server_answer(s, id, r->at_once(s, params));
    return true;
}

bool server_take(Server *s, const cJSON *message)
{
    const cJSON *id = json_member(message, "id");
    const char *method = json_string(message, "method");
    if (method && id)
        return take_request(s, method, message);
    if (method)
        server_notice(s, method, json_member(message, "params"));
    else if (!json_member(message, "result") &&
             !json_member(message, "error")) /* an answer: we asked nothing */
        server_refuse(s, id, ERROR_INVALID_REQUEST, "a message needs a method");
    return true;
}
