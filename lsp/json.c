/* Values of the protocol from and to JSON. */
#include "lsp/json.h"

#include "base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const cJSON *json_member(const cJSON *in, const char *path)
{
    while (in && *path) {
        char name[64];
        size_t n = strcspn(path, ".");
        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = 0;
        in = cJSON_GetObjectItemCaseSensitive(in, name);
        path += n + (path[n] == '.');
    }
    return in;
}

const char *json_string(const cJSON *in, const char *path)
{
    return cJSON_GetStringValue(json_member(in, path));
}

static bool read_count(const cJSON *at, const char *name, uint32_t *out)
{
    const cJSON *v = json_member(at, name);
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0))
        return false;
    *out = (uint32_t)v->valueint; /* which is saturated */
    return true;
}

bool json_read_position(const cJSON *at, Position *p)
{
    return read_count(at, "line", &p->line) && read_count(at, "character", &p->unit);
}

/* As text: there are many, and the library prints numbers as what they may also be, fractions. */
static cJSON *position(Position p)
{
    char text[64];
    snprintf(text, sizeof text, "{\"line\":%u,\"character\":%u}", p.line, p.unit);
    return cJSON_CreateRaw(text);
}

cJSON *json_range(const Lines *l, size_t beg, size_t end)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "start", position(lines_position(l, beg)));
    cJSON_AddItemToObject(o, "end", position(lines_position(l, end)));
    return o;
}

cJSON *json_text(const char *text)
{
    Out o = {0};
    while (*text) {
        size_t k = utf8_length(text);
        out_putn(&o, k ? text : "\xef\xbf\xbd", k ? k : 3);
        text += k ? k : 1;
    }
    char *s = out_take(&o);
    cJSON *v = cJSON_CreateString(s);
    free(s);
    return v;
}
