/* minifut lsp: the life of the server. One loop waits for the editor and for the jobs that answer
 * it; the server itself only holds the texts of documents. Nothing it is sent may end it but `exit`
 * and the end of its input. */
#include "lsp/lsp.h"

#include "base/diag.h"
#include "command/args.h"
#include "lsp/json.h"
#include "lsp/server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Messages from the editor --------------------------------------------------------------- */

/* A request that is not needed any more is answered at once, whether it waits or is at work. */
static void cancel(Server *s, const cJSON *message)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(
                    cJSON_GetObjectItemCaseSensitive(message, "params"), "id"),
                *m;
    bool found = false;
    if (!id)
        return;
    for (int i = 0; i < MAX_TASKS && !found; i++)
        if (s->tasks[i].request &&
            cJSON_Compare(json_member(s->tasks[i].request, "id"), id, true)) {
            server_drop(s, &s->tasks[i]);
            found = true;
        }
    cJSON_ArrayForEach(m, s->waiting)
    {
        if (found || !cJSON_Compare(cJSON_GetObjectItemCaseSensitive(m, "id"), id, true))
            continue;
        cJSON_Delete(cJSON_DetachItemViaPointer(s->waiting, (cJSON *)m));
        found = true;
        break;
    }
    if (found)
        server_refuse(s, id, ERROR_CANCELLED, "cancelled");
}

static void take_input(Server *s)
{
    cJSON *m = NULL;
    for (WireStatus status; (status = wire_next(&s->in, &m)) != WIRE_NONE;) {
        const char *method =
            status == WIRE_MESSAGE
                ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(m, "method"))
                : NULL;
        if (status == WIRE_BROKEN) {
            server_refuse(s, NULL, ERROR_PARSE,
                          "this is no message: a Content-Length and as many bytes of JSON");
        } else if (method && strcmp(method, "$/cancelRequest") == 0) {
            cancel(s, m);
            cJSON_Delete(m);
        } else {
            cJSON_AddItemToArray(s->waiting, m);
        }
    }
}

static void take_waiting(Server *s)
{
    while (s->waiting->child && !s->ended && server_take(s, s->waiting->child))
        cJSON_Delete(cJSON_DetachItemFromArray(s->waiting, 0));
}

/* --- The loop ------------------------------------------------------------------------------- */

static void finish(Server *s, Task *t)
{
    char why[sizeof t->why] = "";
    char *text = job_end(&t->job, why, sizeof why);
    if (!text && !*why && t->worker) /* nobody has said why: then that is gone, too */
        server_bury(s, t->worker);
    if (!*why)
        memcpy(why, t->why, sizeof why);
    const cJSON *id = json_member(t->request, "id");
    if (t->doc)
        server_publish(s, t->doc, t->worker, text, why);
    else if (text && *text == JOB_ANSWER)
        server_answer_text(s, id, text + 1);
    else if (text)
        server_refuse(s, id, ERROR_FAILED, "%s", text + 1);
    else
        server_refuse(s, id, ERROR_INTERNAL, "minifut failed on this program: %s", why);
    free(text);
    cJSON_Delete(t->request);
    Worker *w = t->worker;
    *t = (Task){0};
    if (w)
        server_settle(s, w);
}

/* False at the end of the input. */
static bool read_input(Server *s)
{
    char bytes[1 << 16];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0) {
        buffer_put(&s->in, bytes, (size_t)n);
        take_input(s);
    }
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Writes what surely has room: an editor that reads late must not keep us from reading. */
static bool write_output(Server *s)
{
    size_t left = s->out.n - s->written;
    ssize_t n = write(STDOUT_FILENO, s->out.bytes + s->written, left < PIPE_BUF ? left : PIPE_BUF);
    s->written += n > 0 ? (size_t)n : 0;
    if (s->written == s->out.n)
        s->out.n = s->written = 0;
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* One turn; false: the editor is gone. */
static bool turn(Server *s)
{
    enum { IN, OUT, TEXTS, TASKS, WORKERS = TASKS + MAX_TASKS, ALL = WORKERS + MAX_WORKERS };
    enum { MAX_WAITING = 16 << 20 };
    struct pollfd fds[ALL];
    bool busy = false; /* with what can be done without waiting */
    int late = server_drop_late(s);
    for (const Document *d = s->docs.first; d; d = d->next)
        busy |= d->stale && server_may_check(s);
    fds[IN] = (struct pollfd){.fd = s->out.n < MAX_WAITING ? STDIN_FILENO : -1, .events = POLLIN};
    fds[OUT] = (struct pollfd){.fd = s->out.n ? STDOUT_FILENO : -1, .events = POLLOUT};
    fds[TEXTS] =
        (struct pollfd){.fd = s->texts.process.pid ? s->texts.process.fd : -1, .events = POLLIN};
    for (int i = 0; i < MAX_TASKS; i++)
        fds[TASKS + i] =
            (struct pollfd){.fd = s->tasks[i].job.fd ? s->tasks[i].job.fd : -1, .events = POLLIN};
    for (int i = 0; i < MAX_WORKERS; i++)
        fds[WORKERS + i] = (struct pollfd){
            .fd = s->workers[i].process.pid ? s->workers[i].process.fd : -1, .events = POLLIN};
    if (poll(fds, ALL, busy ? 0 : late) < 0)
        return errno == EINTR;
    for (int i = 0; i < MAX_WORKERS; i++)
        if (fds[WORKERS + i].revents)
            server_bury(s, &s->workers[i]);
    if (fds[TEXTS].revents)
        server_bury(s, &s->texts);
    for (int i = 0; i < MAX_TASKS; i++)
        if (fds[TASKS + i].revents && job_read(&s->tasks[i].job))
            finish(s, &s->tasks[i]);
    if (fds[OUT].revents && !write_output(s))
        return false;
    if (fds[IN].revents && !read_input(s))
        return false;
    take_waiting(s);
    if (!fds[IN].revents &&
        !s->waiting->child) /* of several changes only the last state is checked */
        server_diagnose(s);
    return true;
}

/* Until the editor ends it; the exit code. */
static int serve(void)
{
    Server s = {.waiting = cJSON_CreateArray()};
    signal(SIGPIPE, SIG_IGN);
    while (!s.ended && turn(&s)) {
    }
    for (int i = 0; i < MAX_TASKS; i++)
        if (s.tasks[i].job.fd)
            server_drop(&s, &s.tasks[i]);
    server_end_workers(&s);
    while (s.ended && s.out.n && write_output(&s)) {
    }
    while (s.docs.first)
        document_close(&s.docs, s.docs.first);
    cJSON_Delete(s.waiting);
    client_free(&s.client);
    free(s.in.bytes);
    free(s.out.bytes);
    return s.shut_down ? 0 : EXIT_USER;
}

static int no_word(void *env, const char *word)
{
    return args_wrong(env, "takes no arguments, got '%s'", word);
}

int lsp_main(int argc, char **argv)
{
    bool stdio; /* as editors say; there is nothing else */
    const ArgRow rows[] = {
        {"--stdio", "speaks on standard input and output, as it does anyway", .flag = &stdio}, {0}};
    Args args = {.command = "minifut lsp",
                 .about = "usage: minifut lsp [--stdio]\n\n"
                          "A language server: editors start it and speak the Language Server "
                          "Protocol with it.\n",
                 .rows = rows,
                 .word = no_word};
    args.env = &args;
    int code = args_read(&args, argc, argv);
    return code < 0 ? serve() : code;
}
