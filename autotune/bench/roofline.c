/* minifut bench --roofline: the kernels of a data set's runs beside the ceilings of the device. */
#include "autotune/bench/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double least_seconds(const Ceilings *c, const ProfileRow *r)
{
    return fmax(r->bytes / c->bytes, r->operations / c->operations);
}

static double lost(const ProfileRow *r, const Ceilings *c)
{
    return fmax(0, r->seconds - least_seconds(c, r));
}

static double share(const ProfileRow *r, const Ceilings *c)
{
    return r->seconds > 0 ? least_seconds(c, r) / r->seconds : 0;
}

/* The largest loss first. There are few rows. */
static void sort_rows(Profile *p, const Ceilings *c)
{
    for (int i = 1; i < p->n; i++) {
        ProfileRow row = p->at[i];
        int k = i;
        for (; k > 0 && lost(&p->at[k - 1], c) < lost(&row, c); k--)
            p->at[k] = p->at[k - 1];
        p->at[k] = row;
    }
}

/* A rate in units of 10^9 a second; "-" where there is nothing to do. */
static const char *rate(Arena *a, double work, double seconds)
{
    return work > 0 && seconds > 0 ? arena_printf(a, "%.3g", work / seconds * 1e-9) : "-";
}

static void print_row(Arena *a, const ProfileRow *r, const Ceilings *c, int wide)
{
    bool works = r->bytes > 0 || r->operations > 0;
    printf("  %-*s %8.4g %10.1f %10.1f %10.2f %8s %10.2f %9s %5s  %s\n", wide, r->name, r->launches,
           r->seconds * 1e6, lost(r, c) * 1e6, r->bytes * 1e-6, rate(a, r->bytes, r->seconds),
           r->operations * 1e-6, rate(a, r->operations, r->seconds),
           works ? arena_printf(a, "%.0f", 100 * share(r, c)) : "-", r->place);
}

static void print_table(Arena *a, const Profile *p, const Ceilings *c)
{
    int wide = 6;
    double all = 0, gone = 0;
    for (int i = 0; i < p->n; i++) {
        int n = (int)strlen(p->at[i].name);
        wide = n > wide ? n : wide;
        all += p->at[i].seconds;
        gone += lost(&p->at[i], c);
    }
    printf("  %-*s %8s %10s %10s %10s %8s %10s %9s %5s  %s\n", wide, "kernel", "launches", "us",
           "us lost", "MB", "GB/s", "MFLOP", "GFLOP/s", "%", "place");
    for (int i = 0; i < p->n; i++)
        print_row(a, &p->at[i], c, wide);
    printf("  %-*s %8s %10.1f %10.1f\n", wide, "all", "", all * 1e6, gone * 1e6);
}

static void json_rows(Out *o, const Profile *p, const Ceilings *c)
{
    out_puts(o, ", \"roofline\": [");
    for (int i = 0; i < p->n; i++) {
        const ProfileRow *r = &p->at[i];
        out_puts(o, i ? ",\n    {\"kernel\": " : "\n    {\"kernel\": ");
        out_quoted(o, r->name);
        out_puts(o, ", \"place\": ");
        out_quoted(o, r->place);
        out_printf(o,
                   ", \"launches\": %g, \"us\": %.3f, \"lost_us\": %.3f, \"bytes\": %.0f, "
                   "\"operations\": %.0f, \"share\": %.4f}",
                   r->launches, r->seconds * 1e6, lost(r, c) * 1e6, r->bytes, r->operations,
                   share(r, c));
    }
    out_puts(o, "]");
}

const char *roofline(Arena *a, Session *s, int d, double limit, const Ceilings *c, Out *json)
{
    Profile p = {0};
    const char *wrong = session_profile(s, d, limit, &p);
    if (wrong)
        return wrong;
    sort_rows(&p, c);
    print_table(a, &p, c);
    json_rows(json, &p, c);
    return NULL;
}
