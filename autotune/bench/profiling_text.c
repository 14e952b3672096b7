/* minifut profile: the tables, at most 100 columns wide. */
#include "autotune/bench/profiling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100, NUMBERS = 57, BUSY = 14, LONGEST_NAME = 20 };

const char *bytes_text(Arena *a, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    int u = 0;
    for (; bytes >= 999.5 && u < 3; u++)
        bytes /= 1000;
    return arena_printf(a, "%.3g %s", bytes, units[u]);
}

/* The text as far as it goes into n columns, with dots where it is cut. */
static void print_cut(const char *text, int n)
{
    int all = 0;
    for (const char *t = text; *t; t++)
        all += (*t & 0xc0) != 0x80;
    int left = all > n ? n - 2 : n;
    for (; *text && left > 0; left--) {
        size_t bytes = utf8_length(text);
        if (*text == '\t' || !bytes)
            putchar(' ');
        else
            fwrite(text, 1, bytes, stdout);
        text += bytes ? bytes : 1;
    }
    fputs(all > n ? ".." : "", stdout);
}

const char *rate_text(Arena *a, double work, double seconds)
{
    double r = seconds > 0 ? work / seconds * 1e-9 : 0;
    return work <= 0 || r <= 0 ? "" : arena_printf(a, r < 99.95 ? "%.1f" : "%.0f", r);
}

const char *count_text(Arena *a, double n)
{
    return n <= 0 ? "" : arena_printf(a, n == floor(n) ? "%.0f" : "%.1f", n);
}

const char *bound_text(Arena *a, const Ceilings *c, const ProfileRow *r, double least)
{
    double percent = bound_percent(least, r->seconds);
    if (percent < 0)
        return "";
    const char *what = bound_by_bytes(c, r->bytes, r->operations) ? "bytes" : "flops";
    return percent < 999.5 ? arena_printf(a, "%.0f %% %s", percent, what)
                           : arena_printf(a, ">999 %% %s", what);
}

const char *above_ceilings(const Ceilings *c, const Profiled *p)
{
    static const double NEARLY = 1.02;
    bool bytes = false, operations = false;
    for (int i = 0; i < p->shares.n; i++) {
        const Share *s = &p->shares.at[i];
        bool above = s->least > NEARLY * s->sum.seconds,
             moves = bound_by_bytes(c, s->sum.bytes, s->sum.operations);
        bytes |= above && moves;
        operations |= above && !moves;
    }
    return operations ? "this is no ceiling: something else ran when it was measured, or --gflops "
                        "is too low"
           : bytes ? "data stayed in a cache, or something else ran when the ceiling was measured"
                   : NULL;
}

const char *busy_text(Arena *a, const ProfileRow *r)
{
    Busy b;
    return busy_of(r, &b)
               ? arena_printf(a, "%.0f%% %.0f-%.0f%%", 100 * b.mean, 100 * b.least, 100 * b.most)
               : "";
}

static int before_text(const Profiled *p)
{
    return NUMBERS + (p->threads ? BUSY : 0);
}

/* The columns in front of a text. */
static void print_numbers(Arena *a, const Profiling *all, const Profiled *p, const ProfileRow *r,
                          double least)
{
    printf("%5.1f %% %9s %8s %7s %8s %11s", p->whole > 0 ? 100 * r->seconds / p->whole : 0,
           time_text(a, r->seconds), count_text(a, r->launches), rate_text(a, r->bytes, r->seconds),
           rate_text(a, r->operations, r->seconds), bound_text(a, &all->ceilings, r, least));
    if (p->threads)
        printf("%*s", BUSY, busy_text(a, r));
    fputs("  ", stdout);
}

static void print_share(Arena *a, const Profiling *all, const Profiled *p, const Share *share)
{
    const char *text = share->text;
    bool line = share->kind == SHARE_LINE;
    if (line) { /* paths of packages are long: the last part says enough */
        const char *slash = strrchr(share->file, '/');
        text = strcmp(share->file, all->source) == 0
                   ? arena_printf(a, "%d: %s", share->line, share->text)
                   : arena_printf(a, "%s:%d: %s", slash ? slash + 1 : share->file, share->line,
                                  share->text);
    }
    print_numbers(a, all, p, &share->sum, share->least);
    print_cut(text, COLUMNS - before_text(p));
    putchar('\n');
    for (int i = 0; line && i < share->kernels.n; i++) {
        const ShareKernel *k = &share->kernels.at[i];
        if (share->kernels.n == 1)
            printf("%*s", before_text(p), "");
        else
            print_numbers(a, all, p, &k->row, k->least);
        fputs("  ", stdout);
        print_cut(k->construct, COLUMNS - before_text(p) - 2);
        putchar('\n');
    }
}

void profiling_head(Arena *a, const Profiling *all)
{
    print_cut(arena_printf(a, "%s, entry point %s, on %s", all->source, all->entry, all->device),
              COLUMNS);
    printf("\n%s%s, means of %d run%s; the device reaches %.4g GB/s and %.4g GFLOP/s%s%s\n",
           all->tuning ? "tuned by " : "untuned", all->tuning ? all->tuning : "", all->runs,
           all->runs == 1 ? "" : "s", all->ceilings.bytes * 1e-9, all->ceilings.operations * 1e-9,
           all->ceilings.unsteady ? "\n " : "", ceilings_doubt(&all->ceilings));
}

static double percent(double share, double whole)
{
    return whole > 0 ? 100 * share / whole : 0;
}

void profiling_text(Arena *a, const Profiling *all, int d)
{
    const Profiled *p = &all->of[d];
    putchar('\n');
    print_cut(all->datasets->at[d].name, LONGEST_NAME);
    printf(": %s a run, %s profiled: kernels %.1f %%, transfers %.1f %%, host %.1f %%\n",
           time_text(a, p->run), time_text(a, p->profiled), percent(p->kernels, p->whole),
           percent(p->transfers, p->whole), percent(p->host, p->whole));
    printf("  peak memory %s; inputs %s in %s, results %s in %s%s%s\n", bytes_text(a, p->peak),
           bytes_text(a, p->inputs.bytes), time_text(a, p->inputs.seconds),
           bytes_text(a, p->results.bytes), time_text(a, p->results.seconds),
           *p->versions ? "; takes " : "", p->versions);
    printf("%7s %9s %8s %7s %8s %11s%*s  %s\n", "share", "time", "launches", "GB/s", "GFLOP/s",
           "of bound", p->threads ? BUSY : 0, p->threads ? "threads busy" : "", "line, kernels");
    for (int i = 0; i < p->shares.n; i++)
        print_share(a, all, p, &p->shares.at[i]);
    const char *above = above_ceilings(&all->ceilings, p);
    if (above)
        printf("  over 100 %%: %s\n", above);
}
