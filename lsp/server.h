/* The server: what it tells (server.c), what it is told (notifications.c)
 * and asked (requests.c); its life is lsp.c. */
#ifndef LSP_SERVER_H
#define LSP_SERVER_H

#include "lsp/client.h"
#include "lsp/documents.h"
#include "lsp/process/fork_server.h"

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

/* The process that knows a document as it is now, and answers what is asked of it (workers.c). */
typedef struct {
    ForkServer process;
    Document *doc;       /* NULL: that has changed, it only ends what it is at */
    unsigned long since; /* Server.changes when it began, but for those of the document itself */
    unsigned long used;  /* Server.uses when it was last asked */
    bool begun;          /* it has made the diagnostics */
    bool large;          /* too large to be kept */
    double first_mb;     /* how large it was when it had begun */
    bool grown;          /* so much that forks take longer: another one is made at the next rest */
    bool unfit;          /* it has grown too much to go on, or is slow */
    int64_t rests;       /* since when it has had nothing new to look at, in ms */
    bool behind;         /* the document has another text now, with which it can go on */
    int64_t going_on;    /* since when it does so, in ms; 0: it does not */
} Worker;
/* What a question to it begins with that is the new text. */
enum { NEW_TEXT = '=' }; /* ... VERSION TEXT */
enum { MAX_WORKERS = 8, MAX_WORKER_MB = 256, MAX_GOING_ON_MS = 2000 };
enum { GROWTH = 4, MAX_GROWTH = 6, REST_MS = 400 };
/* How often the process for texts is asked, which remembers all names that it has seen; how much
 * free memory it keeps. */
enum { MAX_TEXTS = 1000, KEPT_MEMORY = 32 << 20 };

/* A job, and what it is for. */
typedef struct {
    Job job;
    cJSON *request; /* the message that it answers, or NULL: ... */
    Document *doc;  /* ... the diagnostics of this one */
    Worker *worker; /* whose answer it is, or NULL */
    char why[64];   /* that it has failed */
} Task;
enum { MAX_TASKS = 6, MAX_CHECKS = 3 }; /* at a time; of them, diagnostics that nobody waits for */
/* What a job's output begins with: JSON follows, or words. */
enum { JOB_ANSWER = '=', JOB_REFUSAL = '!' };

typedef struct {
    Documents docs;
    unsigned long changes; /* of documents and folders, so far */
    unsigned long uses;    /* of workers */
    Worker workers[MAX_WORKERS];
    Worker texts; /* of no document: answers what is asked of a text alone */
    Task tasks[MAX_TASKS];
    cJSON *waiting; /* messages not looked at yet, in order */
    Buffer in, out;
    size_t written; /* of out */
    bool initialized, shut_down, ended;
    Client client;
} Server;

/* --- server.c ------------------------------------------------------------------------------- */

void server_answer(Server *s, const cJSON *id, cJSON *result);
/* The same of a result that is text already: it may be large. */
void server_answer_text(Server *s, const cJSON *id, const char *result);
__attribute__((format(printf, 4, 5))) void server_refuse(Server *s, const cJSON *id, int code,
                                                         const char *fmt, ...);
void server_notify(Server *s, const char *method, cJSON *params);
/* Shows diagnostics of a document, which it deletes. */
void server_show(Server *s, const Document *d, cJSON *all);

/* --- workers.c ------------------------------------------------------------------------------ */

/* Whether there is a worker for a document that has only to go on with its text. */
bool server_is_behind(const Server *s, const Document *d);
/* A task that does nothing, or NULL. */
Task *server_idle_task(Server *s);
/* Whether diagnostics can be made now that nobody waits for. */
bool server_may_check(const Server *s);
/* The worker that knows a document as it is now; `of_all`: and all others that are open. NULL:
 * there is none. */
Worker *server_worker(Server *s, Document *d, bool of_all);
/* Starts one, which makes the diagnostics first, with an idle task for them, which is `first`; or
 * has that which is behind go on. NULL: it cannot be (errno). */
Worker *server_start_worker(Server *s, Document *d, Task *first, const ForkServerLife *life,
                            void *env);
/* Starts the process for texts, unless there is one; false: it cannot be (errno). */
bool server_start_texts(Server *s, const ForkServerLife *life, void *env);
/* It has made the diagnostics, in so much memory and time. */
void worker_has_begun(Worker *w, double mb, double ms);
/* Does without those that do not go on in time, as they hang: what they were asked is asked again;
 * and without those that have grown and rest: another one looks at the document. After how many ms
 * there is one more; -1: there is none. */
int server_drop_late(Server *s);
/* It has nothing more to do for one who asked: ends it if nobody will ask it again. */
void server_settle(Server *s, Worker *w);
/* It has ended by itself, which fails the tasks that it was at. */
void server_bury(Server *s, Worker *w);
/* Ends a task; nobody is told. */
void server_drop(Server *s, Task *t);
/* Something has changed, of that document alone, unless it is NULL. Ends what is done for documents
 * as they were, but for answers that are waited for. */
void server_changed(Server *s, const Document *d);
void server_end_workers(Server *s);

/* --- notifications.c ------------------------------------------------------------------------ */

void server_notice(Server *s, const char *method, const cJSON *params);

/* --- requests.c ----------------------------------------------------------------------------- */

/* Does what a message asks. False: it has to wait for a task. */
bool server_take(Server *s, const cJSON *message);
/* Starts to make diagnostics of documents that are stale, as far as it may. */
void server_diagnose(Server *s);

/* --- publish.c ------------------------------------------------------------------------------ */

/* Publishes what a worker has made of a document when it began: the text of that, or NULL and why.
 */
void server_publish(Server *s, Document *d, Worker *w, const char *text, const char *why);

#endif
