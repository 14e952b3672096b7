/* Values of the protocol from and to JSON. */
#include "lsp/json.h"

#include "base/diag.h"

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

/* --- As text: there are many, and the library takes its time over numbers -------------------- */

void json_put_counts(Out *o, const uint32_t *all, int n)
{
    enum { MOST = 8, DIGITS = 10 };
    char text[MOST * (DIGITS + 1)];
    size_t at = sizeof text;
    ASSERT(n <= MOST);
    for (int i = n - 1; i >= 0; i--) {
        uint32_t left = all[i];
        do
            text[--at] = (char)('0' + left % 10);
        while (left /= 10);
        if (i)
            text[--at] = ',';
    }
    out_putn(o, text + at, sizeof text - at);
}

void json_put_position(Out *o, const Lines *l, size_t at)
{
    Position p = lines_position(l, at);
    out_puts(o, "{\"line\":");
    json_put_counts(o, &p.line, 1);
    out_puts(o, ",\"character\":");
    json_put_counts(o, &p.unit, 1);
    out_puts(o, "}");
}

cJSON *json_taken(Out *o)
{
    char *text = out_take(o);
    cJSON *v = cJSON_CreateRaw(text);
    free(text);
    return v;
}

cJSON *json_range(const Lines *l, size_t beg, size_t end)
{
    Out o = {0};
    out_puts(&o, "{\"start\":");
    json_put_position(&o, l, beg);
    out_puts(&o, ",\"end\":");
    json_put_position(&o, l, end);
    out_puts(&o, "}");
    return json_taken(&o);
}

/* --- Strings --------------------------------------------------------------------------------- */

cJSON *json_text(const char *text)
{
    Out o = {0};
    const char *from = text;
    for (size_t k; *text; text += k) {
        k = (unsigned char)*text < 0x80 ? 1 : utf8_length(text);
        if (k)
            continue;
        k = 1;
        out_putn(&o, from, (size_t)(text - from));
        out_puts(&o, "\xef\xbf\xbd");
        from = text + k;
    }
    if (!o.n) /* most are right */
        return cJSON_CreateString(from);
    out_puts(&o, from);
    char *s = out_take(&o);
    cJSON *v = cJSON_CreateString(s);
    free(s);
    return v;
}
