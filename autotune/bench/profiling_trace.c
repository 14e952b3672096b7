/* minifut profile --trace: Chrome's trace event format, which chrome://tracing and ui.perfetto.dev
 * draw. Each data set has two processes, its first run and a later one, which both begin at 0, with
 * a thread for each track. */
#include "autotune/bench/profiling.h"
#include "autotune/run/options.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *track, *shown;
} tracks[] = {{"host", "host: commands"},
              {"build", "host: builds of kernels"},
              {"kernel", "device: kernels"},
              {"transfer", "device: transfers"}};
enum { N_TRACKS = sizeof tracks / sizeof *tracks };

typedef struct {
    Out *o;
    int pid;
    const char *separator;
} Trace;

static int thread_of(const char *track)
{
    int i = 0;
    while (i < N_TRACKS && strcmp(tracks[i].track, track) != 0)
        i++;
    return i + 1;
}

/* An event up to its own members. */
static void event(Trace *t, const char *phase, int thread, const char *name)
{
    out_puts(t->o, t->separator);
    t->separator = ",\n";
    out_printf(t->o, "{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d, \"name\": ", phase, t->pid,
               thread);
    out_quoted(t->o, name);
}

static void label(Trace *t, const char *what, int thread, const char *text)
{
    event(t, "M", thread, what);
    out_puts(t->o, ", \"args\": {\"name\": ");
    out_quoted(t->o, text);
    out_puts(t->o, "}}");
}

static void run(Trace *t, const char *name, const Spans *spans)
{
    double zero = INFINITY;
    if (!spans->n)
        return;
    for (int i = 0; i < spans->n; i++)
        zero = fmin(zero, spans->at[i].begin);
    t->pid++;
    label(t, "process_name", 0, name);
    for (int k = 0; k < N_TRACKS; k++)
        label(t, "thread_name", k + 1, tracks[k].shown);
    for (int i = 0; i < spans->n; i++) {
        const Span *s = &spans->at[i];
        event(t, "X", thread_of(s->track), s->name);
        out_printf(t->o, ", \"cat\": \"%s\", \"ts\": %.3f, \"dur\": %.3f, \"args\": {", s->track,
                   (s->begin - zero) * 1e6, s->seconds * 1e6);
        if (*s->place) {
            out_puts(t->o, "\"place\": ");
            out_quoted(t->o, s->place);
        }
        out_puts(t->o, "}}");
    }
}

void profiling_trace(Arena *a, Out *o, const Profiling *all)
{
    Trace t = {o, 0, "\n"};
    out_puts(o, TRACE_HEAD);
    out_quoted(o, all->source);
    out_puts(o, ", \"device\": ");
    out_quoted(o, all->device);
    out_puts(o, "}, \"traceEvents\": [");
    for (int d = 0; d < all->datasets->n; d++) {
        const char *name = all->datasets->at[d].name;
        run(&t, arena_printf(a, "%s: first run", name), &all->of[d].first);
        run(&t, arena_printf(a, "%s: later run", name), &all->of[d].warm);
    }
    out_puts(o, "\n]}\n");
}
