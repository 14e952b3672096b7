/* The server: what it tells (server.c), what it is told (notifications.c)
 * and asked (requests.c); its life is lsp.c. */
#ifndef LSP_SERVER_H
#define LSP_SERVER_H

#include "lsp/client.h"
#include "lsp/documents.h"
#include "lsp/process/job.h"

/* Codes of errors: of JSON-RPC and of the protocol. */
enum {
    ERROR_PARSE = -32700,
    ERROR_INVALID_REQUEST = -32600,
    ERROR_NO_METHOD = -32601,
    ERROR_PARAMS = -32602,
    ERROR_INTERNAL = -32603,
    ERROR_NOT_INITIALIZED = -32002,
    ERROR_CANCELLED = -32800,
    ERROR_FAILED = -32803, /* the request is right, but cannot be done */
};

/* A job, and what it is for. */
typedef struct {
    Job job;
    cJSON *id;     /* of the request that it answers, or NULL: ... */
    Document *doc; /* ... the diagnostics of this one */
} Task;
enum { MAX_TASKS = 4 };
/* What a job's output begins with: JSON follows, or words. */
enum { JOB_ANSWER = '=', JOB_REFUSAL = '!' };

typedef struct {
    Documents docs;
    Task tasks[MAX_TASKS];
    cJSON *waiting; /* messages not looked at yet, in order */
    Buffer in, out;
    size_t written; /* of out */
    bool initialized, shut_down, ended;
    Client client;
} Server;

/* --- server.c ------------------------------------------------------------------------------- */

void server_answer(Server *s, const cJSON *id, cJSON *result);
__attribute__((format(printf, 4, 5))) void server_refuse(Server *s, const cJSON *id, int code,
                                                         const char *fmt, ...);
void server_notify(Server *s, const char *method, cJSON *params);
/* Shows diagnostics of a document, which it deletes. */
void server_show(Server *s, const Document *d, cJSON *all);
/* A task that does nothing, or NULL. One is never for diagnostics: an answer is waited for. */
Task *server_idle_task(Server *s, bool for_diagnostics);
/* Ends a task; nobody is told. */
void server_drop(Task *t);
/* Ends the tasks that make diagnostics of documents that are stale. */
void server_drop_stale(Server *s);

/* --- notifications.c ------------------------------------------------------------------------ */

void server_notice(Server *s, const char *method, const cJSON *params);

/* --- requests.c ----------------------------------------------------------------------------- */

/* Does what a message asks. False: it has to wait for a task. */
bool server_take(Server *s, const cJSON *message);
/* Starts to make diagnostics of a stale document, if there is one and an idle task. */
void server_diagnose(Server *s);
/* Publishes what a task has made of a document: the text of query_diagnostics' result, or NULL and
 * why. */
void server_publish(Server *s, Document *d, const char *text, const char *why);

#endif
