/* The time of a run by who takes it: lines of the program with their kernels, the runtime's
 * kernels, transfers, the host. */
#include "autotune/bench/profiling.h"
#include "command/source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Line `line` of the text, without blanks around it. */
static const char *line_of(Arena *a, const char *text, int line)
{
    for (; line > 1 && *text; line--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    text += strspn(text, " \t");
    size_t n = strcspn(text, "\r\n");
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    return arena_strndup(a, text, n);
}

/* "" if the file is not there any more. */
static const char *quoted_line(Arena *a, const Profiling *all, const char *file, int line)
{
    size_t n;
    const char *text = strcmp(file, all->source) == 0 ? all->text
                       : access(file, R_OK) == 0      ? source_read(a, file, false, NO_LOC, &n)
                                                      : NULL;
    return text ? line_of(a, text, line) : "";
}

/* "prog.sf:12:7" */
static bool place_split(Arena *a, const char *place, const char **file, int *line)
{
    const char *col = strrchr(place, ':'), *at = col;
    while (at && at > place && isdigit((unsigned char)at[-1]))
        at--;
    if (!at || at == col || at == place || at[-1] != ':' || !isdigit((unsigned char)col[1]))
        return false;
    *file = arena_strndup(a, place, (size_t)(at - 1 - place));
    *line = atoi(at);
    return true;
}

static bool is_transfer(const ProfileRow *r)
{
    return !*r->place;
}

/* What a kernel does, without the entry point and number in its name: "segscan_seq"; "fill" of
 * those of the runtime. */
static const char *construct_of(Arena *a, const char *entry, const char *name)
{
    static const char own[] = "mf_";
    const char *number = strrchr(name, '_');
    size_t n = strlen(entry);
    if (strncmp(name, own, sizeof own - 1) == 0)
        return name + sizeof own - 1;
    bool named = number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1) &&
                 (size_t)(number - name) > n + 1 && strncmp(number - n, entry, n) == 0 &&
                 number[-(int)n - 1] == '_';
    return named ? arena_strndup(a, name, (size_t)(number - name) - n - 1) : name;
}

/* The share that the row is of, as yet without kernels. */
static Share share_of(Arena *a, const Profiling *all, const ProfileRow *r)
{
    Share p = {.kind = SHARE_LINE};
    if (is_transfer(r)) {
        p.kind = SHARE_TRANSFER;
        p.text = r->name;
    } else if (place_split(a, r->place, &p.file, &p.line)) {
        p.text = quoted_line(a, all, p.file, p.line);
    } else {
        p.kind = SHARE_BUILTIN;
        p.text = arena_printf(a, "built-in: %s", construct_of(a, all->entry, r->name));
    }
    return p;
}

static bool same_share(const Share *x, const Share *y)
{
    if (x->kind != y->kind)
        return false;
    if (x->kind == SHARE_LINE)
        return x->line == y->line && strcmp(x->file, y->file) == 0;
    return strcmp(x->text, y->text) == 0;
}

static void add_row(Arena *a, ProfileRow *sum, const ProfileRow *r)
{
    sum->seconds += r->seconds;
    sum->launches += r->launches;
    sum->bytes += r->bytes;
    sum->operations += r->operations;
    for (int i = 0; i < r->threads.n; i++) {
        if (i == sum->threads.n)
            vec_push(a, &sum->threads, 0);
        sum->threads.at[i] += r->threads.at[i];
    }
}

static void add_kernel(Arena *a, Share *p, const char *construct, const ProfileRow *r, double least)
{
    int i = 0;
    while (i < p->kernels.n && strcmp(p->kernels.at[i].construct, construct) != 0)
        i++;
    if (i == p->kernels.n)
        vec_push(a, &p->kernels, ((ShareKernel){.construct = construct}));
    add_row(a, &p->kernels.at[i].row, r);
    p->kernels.at[i].least += least;
    add_row(a, &p->sum, r);
    p->least += least;
}

static int longest_share(const void *x, const void *y)
{
    double a = ((const Share *)x)->sum.seconds, b = ((const Share *)y)->sum.seconds;
    return (a < b) - (a > b);
}

static int longest_kernel(const void *x, const void *y)
{
    double a = ((const ShareKernel *)x)->row.seconds, b = ((const ShareKernel *)y)->row.seconds;
    return (a < b) - (a > b);
}

void profile_shares(Arena *a, const Profiling *all, Profiled *p)
{
    for (int i = 0; i < p->rows.n; i++) {
        const ProfileRow *r = &p->rows.at[i];
        Share share = share_of(a, all, r);
        int k = 0;
        while (k < p->shares.n && !same_share(&p->shares.at[k], &share))
            k++;
        if (k == p->shares.n)
            vec_push(a, &p->shares, share);
        add_kernel(a, &p->shares.at[k], construct_of(a, all->entry, r->name), r,
                   least_seconds(&all->ceilings, r));
        p->threads |= r->threads.n > 0;
        *(is_transfer(r) ? &p->transfers : &p->kernels) += r->seconds;
    }
    for (int k = 0; k < p->shares.n; k++) {
        Share *share = &p->shares.at[k];
        qsort(share->kernels.at, (size_t)share->kernels.n, sizeof *share->kernels.at,
              longest_kernel);
    }
    double busy = p->kernels + p->transfers;
    p->whole = fmax(p->profiled, busy);
    p->host = p->whole - busy; /* by that very sum: 0 is then 0, and not a rounded -0.0 */
    vec_push(
        a, &p->shares,
        ((Share){.kind = SHARE_HOST, .text = "the host, between kernels", .sum.seconds = p->host}));
    qsort(p->shares.at, (size_t)p->shares.n, sizeof *p->shares.at, longest_share);
}

bool busy_of(const ProfileRow *r, Busy *b)
{
    double sum = 0, least = r->threads.n ? r->threads.at[0] : 0, most = least;
    if (!r->threads.n || r->seconds <= 0)
        return false;
    for (int i = 0; i < r->threads.n; i++) {
        sum += r->threads.at[i];
        least = fmin(least, r->threads.at[i]);
        most = fmax(most, r->threads.at[i]);
    }
    *b = (Busy){sum / r->threads.n / r->seconds, least / r->seconds, most / r->seconds};
    return true;
}

double bound_percent(double least, double seconds)
{
    return least > 0 && seconds > 0 ? 100 * least / seconds : -1;
}

bool bound_by_bytes(const Ceilings *c, double bytes, double operations)
{
    return bytes / c->bytes >= operations / c->operations;
}
