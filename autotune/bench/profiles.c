/* Profiles of a program's runs on a data set: what minifut profile measures. */
#include "autotune/bench/profiling.h"
#include "autotune/run/talk.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of device memory at the peak, as the program reports it. */
static double reply_peak(const char *report)
{
    static const char member[] = "\"memory\": {\"device\": ";
    const char *at = strstr(report, member);
    return at ? strtod(at + sizeof member - 1, NULL) : 0;
}

static double mean(const RunResult *each, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += each[i].seconds;
    return sum / n;
}

static Moved moved(const Profile *p, const char *transfer)
{
    Moved m = {0};
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->at[i].name, transfer) == 0)
            m = (Moved){p->at[i].bytes, p->at[i].seconds};
    return m;
}

/* What all of a run moves, but for what the call itself moves. */
static Moved around(const Profile *all, const Profile *call, const char *transfer)
{
    Moved a = moved(all, transfer), b = moved(call, transfer);
    if (a.bytes <= b.bytes)
        return (Moved){0};
    return (Moved){a.bytes - b.bytes, a.seconds > b.seconds ? a.seconds - b.seconds : 0};
}

/* A run on data set d with all around it, inputs and results, profiled. NULL, or what is wrong. */
static const char *whole_run(Arena *a, Session *s, int d, double limit, RunResult *r, Profile *rows,
                             Spans *spans, Profiled *p)
{
    const char *wrong = session_profile_begin(s, d);
    if (wrong)
        return wrong;
    session_profile_all(s, true);
    *r = session_run(s, d, limit, true);
    session_profile_all(s, false);
    if (!r->ok)
        return r->why;
    reply_profile(a, session_told(s, "profile"), 1, rows);
    p->dropped += reply_timeline(a, session_told(s, "timeline"), spans);
    return NULL;
}

static const char *plain_runs(Session *s, int d, double limit, int runs, RunResult each[])
{
    for (int i = 0; i < runs; i++) {
        each[i] = session_run(s, d, limit, false);
        if (!each[i].ok)
            return each[i].why;
    }
    return NULL;
}

static const char *all_runs(Arena *a, Session *s, int d, double limit, int runs, Profiled *p)
{
    RunResult *each = NEWN(a, RunResult, runs), r;
    Profile first = {0}, all = {0};
    const char *wrong = whole_run(a, s, d, limit, &r, &first, &p->first, p);
    if (wrong)
        return wrong;
    const uint8_t *ways = ways_of(a, session_forest(s), &r.log);
    p->versions = versions_taken(a, session_forest(s), ways);
    p->ids = version_ids(a, session_forest(s), ways);
    if ((wrong = plain_runs(s, d, limit, runs, each)))
        return wrong;
    p->run = mean(each, runs);
    if ((wrong = session_profile_begin(s, d)) ||
        (wrong = session_profile_runs(s, d, limit, runs, each)))
        return wrong;
    p->profiled = mean(each, runs);
    reply_profile(a, session_told(s, "profile"), runs, &p->rows);
    p->peak = reply_peak(session_told(s, "report"));
    double told = 0;
    for (int i = 0; i < p->rows.n; i++)
        told += p->rows.at[i].seconds;
    if (p->rows.n && told <= 0)
        return "the device does not tell the time of kernels";
    if ((wrong = whole_run(a, s, d, limit, &r, &all, &p->warm, p)))
        return wrong;
    p->inputs = around(&all, &p->rows, "copy to device");
    p->results = around(&all, &p->rows, "copy from device");
    return NULL;
}

void profile_dataset(Arena *a, Session *s, int d, double limit, int runs, Profiled *p)
{
    *p = (Profiled){.failed = NULL};
    p->failed = all_runs(a, s, d, limit, runs, p);
    p->interrupted = server_interrupted();
}
