/* Which process answers what is asked of a document. A worker has parsed and checked a document as
 * it is now; there is at most one of each document, made for its diagnostics or by the first who
 * asks. When the document changes, or what it depends on, the worker only ends what it is at. */
#include "lsp/server.h"

#include <string.h>

/* --- Tasks ---------------------------------------------------------------------------------- */

Task *server_idle_task(Server *s)
{
    for (int i = 0; i < MAX_TASKS; i++)
        if (!s->tasks[i].job.fd)
            return &s->tasks[i];
    return NULL;
}

bool server_may_check(const Server *s)
{
    int checks = 0, idle = 0;
    for (int i = 0; i < MAX_TASKS; i++) {
        checks += s->tasks[i].doc != NULL;
        idle += !s->tasks[i].job.fd;
    }
    return checks < MAX_CHECKS && idle > 1; /* an answer is waited for */
}

void server_drop(Server *s, Task *t)
{
    Worker *w = t->worker;
    job_cancel(&t->job);
    cJSON_Delete(t->id);
    *t = (Task){0};
    if (w)
        server_settle(s, w);
}

/* --- Workers -------------------------------------------------------------------------------- */

static bool is_busy(const Server *s, const Worker *w)
{
    bool busy = false;
    for (int i = 0; i < MAX_TASKS; i++)
        busy |= s->tasks[i].worker == w;
    return busy;
}

static void end_worker(Worker *w)
{
    char why[sizeof((Task *)NULL)->why];
    fork_server_end(&w->process, why, sizeof why);
    *w = (Worker){0};
}

void server_settle(Server *s, Worker *w)
{
    if (w->process.pid && (!w->doc || w->large) && !is_busy(s, w))
        end_worker(w);
}

/* Its document has changed: nobody wants its diagnostics. */
static void retire(Server *s, Worker *w)
{
    w->doc = NULL;
    for (int i = 0; i < MAX_TASKS; i++)
        if (s->tasks[i].worker == w && s->tasks[i].doc)
            server_drop(s, &s->tasks[i]);
    server_settle(s, w);
}

void server_drop_stale(Server *s)
{
    for (int i = 0; i < MAX_WORKERS; i++)
        if (s->workers[i].doc && s->workers[i].doc->stale)
            retire(s, &s->workers[i]);
}

Worker *server_worker(Server *s, Document *d, bool of_all)
{
    Worker *w = NULL;
    for (int i = 0; i < MAX_WORKERS; i++)
        if (s->workers[i].doc == d)
            w = &s->workers[i];
    if (!w || !((of_all && w->since != s->changes) || (w->begun && document_is_outdated(d)))) {
        if (w)
            w->used = ++s->uses;
        return w;
    }
    retire(s, w);
    return NULL;
}

/* A worker's place, for which one that has not been asked for the longest time ends, if need be.
 * There is always one: those that are busy have tasks, which are fewer. */
static Worker *free_place(Server *s)
{
    Worker *oldest = NULL;
    for (int i = 0; i < MAX_WORKERS; i++) {
        Worker *w = &s->workers[i];
        if (!w->process.pid)
            return w;
        if (!is_busy(s, w) && (!oldest || w->used < oldest->used))
            oldest = w;
    }
    end_worker(oldest);
    return oldest;
}

Worker *server_start_worker(Server *s, Document *d, Task *first, const ForkServerLife *life,
                            void *env)
{
    Worker *w = free_place(s);
    if (!fork_server_start(&w->process, &first->job, life, env))
        return NULL;
    first->doc = w->doc = d;
    first->worker = w;
    d->known = false; /* which files it depends on: they may be others now */
    w->since = s->changes;
    w->used = ++s->uses;
    d->stale = false;
    return w;
}

void worker_has_begun(Worker *w, double mb)
{
    w->begun = true;
    w->large = mb > MAX_WORKER_MB;
}

void server_bury(Server *s, Worker *w)
{
    char why[sizeof((Task *)NULL)->why];
    fork_server_end(&w->process, why, sizeof why);
    *w = (Worker){0};
    for (int i = 0; i < MAX_TASKS; i++)
        if (s->tasks[i].worker == w) {
            memcpy(s->tasks[i].why, why, sizeof why);
            s->tasks[i].worker = NULL; /* the place may be another one's soon */
        }
}

void server_end_workers(Server *s)
{
    for (int i = 0; i < MAX_WORKERS; i++)
        if (s->workers[i].process.pid)
            end_worker(&s->workers[i]);
}
