/* Which process answers what is asked of a document. A worker has parsed and checked a document as
 * it is now; there is at most one of each document, made for its diagnostics or by the first who
 * asks. When the document changes, or what it depends on, the worker only ends what it is at. */
#include "lsp/server.h"

#include "base/out.h"

#include <string.h>
#include <time.h>

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
    cJSON_Delete(t->request);
    *t = (Task){0};
    if (w)
        server_settle(s, w);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
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
    bool over = w == &s->texts ? w->used >= MAX_TEXTS : !w->doc || w->large;
    if (w->process.pid && over && !is_busy(s, w))
        end_worker(w);
}

/* Nobody wants them: its document has changed. */
static void drop_diagnostics(Server *s, const Worker *w)
{
    for (int i = 0; i < MAX_TASKS; i++)
        if (s->tasks[i].worker == w && s->tasks[i].doc)
            server_drop(s, &s->tasks[i]);
}

static void retire(Server *s, Worker *w)
{
    w->doc = NULL;
    drop_diagnostics(s, w);
    server_settle(s, w);
}

/* Whether it can go on with another text: it knows all but that. What it has just begun to make of
 * one is soon done. */
static bool may_go_on(const Server *s, const Worker *w)
{
    return (w->begun || w->going_on) && !w->large && !w->unfit && !w->doc->anew &&
           w->since == s->changes;
}

void server_changed(Server *s, const Document *d)
{
    s->changes++;
    for (int i = 0; i < MAX_WORKERS; i++) {
        Worker *w = &s->workers[i];
        if (!w->doc || !w->doc->stale)
            continue;
        if (w->doc == d && w->since == s->changes - 1)
            w->since = s->changes; /* of the others it knows all */
        if (!may_go_on(s, w)) {
            retire(s, w);
            continue;
        }
        w->behind = true;
        drop_diagnostics(s, w);
    }
}

static Worker *worker_of(const Server *s, const Document *d)
{
    for (int i = 0; i < MAX_WORKERS; i++)
        if (s->workers[i].doc == d)
            return (Worker *)&s->workers[i];
    return NULL;
}

bool server_is_behind(const Server *s, const Document *d)
{
    const Worker *w = worker_of(s, d);
    return w && w->behind;
}

Worker *server_worker(Server *s, Document *d, bool of_all)
{
    Worker *w = worker_of(s, d);
    if (w && ((of_all && w->since != s->changes) || (w->begun && document_is_outdated(d)))) {
        retire(s, w);
        w = NULL;
    }
    if (w)
        w->used = ++s->uses;
    return w && !w->behind ? w : NULL;
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

/* Has the worker of a document go on with the text that that has now; false: it cannot be. */
static bool go_on(Worker *w, const Document *d, Task *first)
{
    Out question = {0};
    out_printf(&question, "%c%d %s", NEW_TEXT, d->version, d->text);
    bool asked =
        !document_is_outdated(d) && fork_server_ask(&w->process, question.text, &first->job);
    out_free(&question);
    return asked;
}

Worker *server_start_worker(Server *s, Document *d, Task *first, const ForkServerLife *life,
                            void *env)
{
    Worker *w = worker_of(s, d);
    if (w && !go_on(w, d, first)) { /* the text is too long for a question, ... */
        retire(s, w);
        w = NULL;
    }
    if (!w) {
        w = free_place(s);
        if (!fork_server_start(&w->process, &first->job, life, env))
            return NULL;
        w->since = s->changes;
        d->anew = false;
    }
    first->doc = w->doc = d;
    first->worker = w;
    d->known = false; /* which files it depends on: they may be others now */
    w->going_on = w->behind ? now_ms() : 0;
    w->begun = w->behind = false;
    w->used = ++s->uses;
    d->stale = false;
    return w;
}

bool server_start_texts(Server *s, const ForkServerLife *life, void *env)
{
    Job ready;
    s->texts.used++;
    if (s->texts.process.pid)
        return true;
    if (!fork_server_start(&s->texts.process, &ready, life, env))
        return false;
    job_cancel(&ready); /* questions wait until it is */
    s->texts.used = 1;
    return true;
}

void worker_has_begun(Worker *w, double mb, double ms)
{
    w->first_mb = w->going_on ? w->first_mb : mb;
    w->begun = true;
    w->going_on = 0;
    w->large = mb > MAX_WORKER_MB;
    w->grown = mb > GROWTH * w->first_mb;
    w->unfit = mb > MAX_GROWTH * w->first_mb || ms > MAX_GOING_ON_MS / 2.0;
    w->rests = now_ms();
}

/* What it was asked is asked again, of another one. */
static void replace(Server *s, Worker *w)
{
    w->doc->stale = w->doc->anew = true; /* so that there is another one */
    for (int i = 0; i < MAX_TASKS; i++) {
        Task *t = &s->tasks[i];
        if (t->worker == w && t->request) {
            cJSON_InsertItemInArray(s->waiting, 0, t->request);
            t->request = NULL;
            server_drop(s, t);
        }
    }
    retire(s, w);
}

/* Does the text parse that its document has? Of another one the next worker would know little. */
static bool is_whole(const Document *d)
{
    return d->good && d->n_good == d->n && memcmp(d->good, d->text, d->n) == 0;
}

int server_drop_late(Server *s)
{
    int64_t first = -1, now = now_ms();
    for (int i = 0; i < MAX_WORKERS; i++) {
        Worker *w = &s->workers[i];
        bool rests =
            w->doc && w->grown && !w->going_on && !w->behind && !is_busy(s, w) && is_whole(w->doc);
        int64_t left = rests ? w->rests + REST_MS - now : w->going_on + MAX_GOING_ON_MS - now;
        if (!w->doc || !(rests || w->going_on))
            continue;
        if (left <= 0)
            replace(s, w);
        else if (first < 0 || left < first)
            first = left;
    }
    return (int)first;
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
    if (s->texts.process.pid)
        end_worker(&s->texts);
}
