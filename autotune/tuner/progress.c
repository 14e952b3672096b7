#include "autotune/tuner/progress.h"

#include "autotune/run/measure.h"
#include "autotune/tuner/tuning.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const double EVERY = 10; /* seconds between lines that stay */

Progress progress_open(bool quiet)
{
    struct winsize size = {0};
    int columns =
        isatty(2) ? ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80 : 0;
    return (Progress){.to = stderr, .quiet = quiet, .columns = columns};
}

/* "40 s", "5 min", "2 h 10 min" */
static const char *duration_text(Arena *a, double seconds)
{
    int minutes = (int)(seconds / 60 + 0.5);
    if (seconds < 90)
        return arena_printf(a, "%.0f s", seconds);
    if (minutes < 120)
        return arena_printf(a, "%d min", minutes);
    return arena_printf(a, "%d h %d min", minutes / 60, minutes % 60);
}

const char *progress_text(Arena *a, const ProgressState *s)
{
    const char *best =
        isinf(s->best) ? "" : arena_printf(a, "; best so far %s", time_text(a, s->best));
    const char *left = "";
    if (s->runs && s->expected > s->runs) /* as long for each as until now */
        left = arena_printf(a, ", about %s left",
                            duration_text(a, s->gone / s->runs * (s->expected - s->runs)));
    return arena_printf(a, "[%d/%d] %s: trying %s%s; %s gone%s", s->runs + 1,
                        s->expected > s->runs ? s->expected : s->runs + 1, s->dataset, s->trying,
                        best, duration_text(a, s->gone), left);
}

/* As much of a text as has room in a line of the terminal. */
static const char *cut_to(Arena *a, const char *text, int columns)
{
    int n = 0;
    const char *s = text;
    while (*s && n + 1 < columns) {
        size_t bytes = utf8_length(s);
        s += bytes ? bytes : 1;
        n++;
    }
    return *s ? arena_strndup(a, text, (size_t)(s - text)) : text;
}

void progress_show(Arena *a, Progress *p, const ProgressState *s)
{
    if (p->quiet)
        return;
    if (p->columns) {
        fprintf(p->to, "\r\033[K%s", cut_to(a, progress_text(a, s), p->columns));
        p->drawn = true;
    } else if (s->gone >= p->shown + EVERY) {
        fprintf(p->to, "%s\n", progress_text(a, s));
        p->shown = s->gone;
    }
    fflush(p->to);
}

void progress_clear(Progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", p->to);
    p->drawn = false;
    fflush(p->to);
}

const char *trying_text(Arena *a, const Forest *f, const int64_t *settings)
{
    const char *text = "";
    bool unset = true;
    for (int i = 0; i < f->nodes.n; i++) {
        unset &= settings[i] == THRESHOLD_UNSET;
        if (settings[i] != THRESHOLD_UNSET && settings[i] != THRESHOLD_NEVER)
            text = arena_printf(a, "%s%s%s=%s", text, *text ? " " : "",
                                short_name(f->nodes.at[i].name), threshold_text(a, settings[i]));
    }
    return *text ? text : unset ? "the untuned program" : "the last version";
}
