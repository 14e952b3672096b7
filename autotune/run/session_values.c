/* Values in a session's server, its replies, and what went wrong with a command. */
#include "autotune/run/replies.h"
#include "autotune/run/session_parts.h"
#include "common/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *session_failure(Session *s)
{
    const char *text = s->reply.text ? s->reply.text : "", *end = strstr(text, TALK_LOG);
    return end ? arena_strndup(s->a, text, (size_t)(end - text)) : text;
}

/* Its first line; where the program was stopped, the place, which stands on the second one, behind
 * that. */
static const char *reason_line(Session *s)
{
    const char *text = session_failure(s), *second = text + strcspn(text, "\n");
    int n = (int)(second - text), m = *second ? (int)strcspn(second + 1, "\n") : 0;
    if (m && second[1] != ' ')
        return arena_printf(s->a, "%.*s (%.*s)", n, text, m - (second[m] == ':'), second + 1);
    return arena_strndup(s->a, text, (size_t)n);
}

const char *session_reason(Session *s, TalkStatus st, const char *what)
{
    static const char *const word[] = {"", "failed", "took too long", "ended the program"};
    const char *line = reason_line(s);
    if (*line)
        return arena_printf(s->a, "%s %s: %s", what, word[st], line);
    const char *log = st == TALK_DEAD ? server_log(s->server) : "";
    return arena_printf(s->a, "%s %s%s%s", what, word[st], *log ? ": " : "", log);
}

Slots session_reply_slots(Session *s, bool named)
{
    Slots slots = {0};
    char *text = arena_strdup(s->a, s->reply.text ? s->reply.text : ""), *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *name = NULL;
        char *blank = named ? strchr(line, ' ') : NULL;
        if (blank) {
            *blank = '\0';
            name = line;
            line = blank + 1;
        }
        bool unique = *line == '*';
        vec_push(s->a, &slots, ((Slot){name, line + unique, unique}));
    }
    return slots;
}

const char *session_put_value(Session *s, const rt_hvalue *v, const char *var, const char *type)
{
    FILE *f = fopen(s->value, "wb");
    if (f)
        (void)rt_write_binary(f, v);
    if (!f || !rt_close_written(f))
        return arena_printf(s->a, "cannot write %s: %s", s->value, strerror(errno));
    TalkStatus st = ASK(s, "restore \"%s\" %s \"%s\"", s->value, var, type);
    return st == TALK_OK ? NULL : session_reason(s, st, "loading a value");
}

const char *session_input_name(Session *s, int d, int i)
{
    return arena_printf(s->a, "d%d_in%d", d, i);
}

void session_free_values(Values *vs)
{
    for (int i = 0; i < vs->n; i++)
        rt_hvalue_free(&vs->at[i]);
    vs->n = 0;
}
