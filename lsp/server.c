/* What the server tells the editor. */
#include "lsp/server.h"

#include "base/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Messages to the editor ----------------------------------------------------------------- */

static cJSON *new_message(void)
{
    cJSON *m = cJSON_CreateObject();
    cJSON_AddStringToObject(m, "jsonrpc", "2.0");
    return m;
}

static cJSON *reply_to(const cJSON *id)
{
    cJSON *m = new_message();
    cJSON_AddItemToObject(m, "id", id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
    return m;
}

void server_answer(Server *s, const cJSON *id, cJSON *result)
{
    cJSON *m = reply_to(id);
    cJSON_AddItemToObject(m, "result", result ? result : cJSON_CreateNull());
    wire_put(&s->out, m);
}

void server_answer_text(Server *s, const cJSON *id, const char *result)
{
    char *said = mem_or_exit(id ? cJSON_PrintUnformatted(id) : strdup("null"));
    Out o = {0};
    out_printf(&o, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", said);
    out_puts(&o, result);
    out_puts(&o, "}");
    wire_put_text(&s->out, o.text);
    out_free(&o);
    free(said);
}

void server_refuse(Server *s, const cJSON *id, int code, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cJSON *m = reply_to(id), *e = cJSON_AddObjectToObject(m, "error");
    cJSON_AddNumberToObject(e, "code", code);
    cJSON_AddStringToObject(e, "message", text);
    wire_put(&s->out, m);
}

void server_notify(Server *s, const char *method, cJSON *params)
{
    cJSON *m = new_message();
    cJSON_AddStringToObject(m, "method", method);
    cJSON_AddItemToObject(m, "params", params);
    wire_put(&s->out, m);
}

void server_show(Server *s, const Document *d, cJSON *all)
{
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "uri", d->uri);
    cJSON_AddNumberToObject(params, "version", d->version);
    cJSON_AddItemToObject(params, "diagnostics", all);
    server_notify(s, "textDocument/publishDiagnostics", params);
}
