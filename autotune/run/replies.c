/* What programs say of runs, read. */
#include "autotune/run/replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line `part: NAME MICROSECONDS`. */
static bool parse_part(Arena *a, char *line, TimedParts *parts)
{
    static const char begin[] = "part: ";
    char *name = line + sizeof begin - 1, *blank = strrchr(line, ' ');
    if (strncmp(line, begin, sizeof begin - 1) != 0 || blank < name)
        return false;
    *blank = '\0';
    vec_push(a, parts, ((TimedPart){.name = name, .seconds = strtod(blank + 1, NULL) * 1e-6}));
    return true;
}

/* Lines `Compared NAME <= PAR: true.` are of the log. */
void reply_run(Arena *a, const char *reply, RunResult *res)
{
    char *text = arena_strdup(a, reply ? reply : ""), *save;
    static const char begin[] = "Compared ";
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *name = line + sizeof begin - 1, *end = strstr(line, " <= "), outcome[8];
        long long par;
        if (parse_part(a, line, &res->parts))
            continue;
        if (strncmp(line, begin, sizeof begin - 1) != 0 || !end || end < name ||
            sscanf(end, " <= %lld: %7[a-z].", &par, outcome) != 2)
            continue;
        *end = '\0';
        vec_push(a, &res->log, ((LogLine){name, par, strcmp(outcome, "true") == 0}));
    }
}

double reply_seconds(const char *reply, const char *word)
{
    const char *p = reply ? strstr(reply, word) : NULL;
    return p ? strtod(p + strlen(word), NULL) * 1e-6 : -1;
}

/* Nanoseconds, each with a blank behind it. */
static ThreadTimes thread_times(Arena *a, const char *text, int runs)
{
    ThreadTimes times = {0};
    char *end;
    for (double ns = strtod(text, &end); end != text; ns = strtod(text, &end)) {
        vec_push(a, &times, ns * 1e-9 / runs);
        text = end;
    }
    return times;
}

void reply_profile(Arena *a, const char *reply, int runs, Profile *p)
{
    char *text = arena_strdup(a, reply ? reply : ""), *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        double launches, ns;
        ProfileRow r = {0};
        int at = 0;
        if (sscanf(line, "%lf %lf %lf %lf %n", &launches, &ns, &r.bytes, &r.operations, &at) != 4)
            continue;
        char *tab = strchr(line + at, '\t'), *last = strrchr(line, '\t');
        if (!tab)
            continue;
        *tab = *last = '\0';
        r.name = line + at;
        r.place = tab + 1;
        if (last > tab) /* older programs say nothing of them */
            r.threads = thread_times(a, last + 1, runs);
        r.launches = launches / runs;
        r.seconds = ns * 1e-9 / runs;
        r.bytes /= runs;
        r.operations /= runs;
        vec_push(a, p, r);
    }
}

bool reply_type(const char *type, rt_prim *prim, int *rank)
{
    for (*rank = 0; *type == '['; ++*rank) {
        const char *end = strchr(type, ']');
        if (!end)
            return false;
        type = end + 1;
    }
    return rt_prim_named(type, prim);
}

double reply_timeline(Arena *a, const char *reply, Spans *spans)
{
    double dropped = 0;
    char *text = arena_strdup(a, reply ? reply : ""), *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        Span s = {.track = line};
        double begin, ns;
        int at = 0;
        char *blank = strchr(line, ' '), *tab = strchr(line, '\t');
        if (sscanf(line, "dropped %lf", &dropped) == 1)
            continue;
        if (!blank || !tab || sscanf(blank, "%lf %lf %n", &begin, &ns, &at) != 2)
            continue;
        s.name = blank + at;
        s.begin = begin * 1e-9;
        s.seconds = ns * 1e-9;
        s.place = tab + 1;
        *blank = *tab = '\0';
        vec_push(a, spans, s);
    }
    return dropped;
}
