/* The line that a tuning shows while it works: its text, when there is one, and that it
 * goes away. */
#include "autotune/tuner/progress.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>

static void texts(Arena *a)
{
    ProgressState s = {0, 15, "a", "the last version", INFINITY, 0};
    CHECK(strcmp(progress_text(a, &s), "[1/15] a: trying the last version; 0 s gone") == 0);
    s = (ProgressState){3, 15, "b", "suff_outer_par_0=1", 1.25e-3, 6};
    CHECK(strcmp(progress_text(a, &s),
                 "[4/15] b: trying suff_outer_par_0=1; best so far 1.25 ms; 6 s gone, "
                 "about 24 s left") == 0);
    s = (ProgressState){15, 15, "b", "x", 2, 7801}; /* more than was expected */
    CHECK(strcmp(progress_text(a, &s),
                 "[16/16] b: trying x; best so far 2.00 s; 2 h 10 min gone") == 0);
}

/* What is shown at these times, one after another. */
static char *shown(Arena *a, Progress p, const double *gone, int n)
{
    char *text;
    size_t size;
    p.to = open_memstream(&text, &size);
    for (int i = 0; i < n; i++)
        progress_show(a, &p, &(ProgressState){i, 9, "data", "a version", 1, gone[i]});
    progress_clear(&p);
    progress_clear(&p);
    fclose(p.to);
    return text;
}

static void lines(Arena *a)
{
    const double gone[] = {0, 4, 9.9, 10.5, 15, 20, 21, 200};
    char *text = shown(a, (Progress){0}, gone, 3);
    CHECK(strcmp(text, "") == 0); /* short tunings say nothing */
    free(text);
    text = shown(a, (Progress){0}, gone, 8);
    CHECK(
        strcmp(text,
               "[4/9] data: trying a version; best so far 1.00 s; 10 s gone, about 21 s left\n"
               "[7/9] data: trying a version; best so far 1.00 s; 21 s gone, about 10 s left\n"
               "[8/9] data: trying a version; best so far 1.00 s; 3 min gone, about 57 s left\n") ==
        0);
    free(text);
    text = shown(a, (Progress){.quiet = true, .columns = 80}, gone, 8);
    CHECK(strcmp(text, "") == 0);
    free(text);
    text = shown(a, (Progress){.columns = 16}, gone, 2); /* never more than a line of it */
    CHECK(strcmp(text, "\r\033[K[1/9] data: try\r\033[K[2/9] data: try\r\033[K") == 0);
    free(text);
}

static void versions(Arena *a)
{
    Forest f = {0};
    const char *wrong;
    CHECK(forest_add(a, &f, "main.t0", "threshold(def, )", 5, &wrong));
    CHECK(forest_add(a, &f, "main.t1", "threshold(def, !main.t0)", 5, &wrong));
    CHECK(strcmp(trying_text(a, &f, (int64_t[]){THRESHOLD_UNSET, THRESHOLD_UNSET}),
                 "the untuned program") == 0);
    CHECK(strcmp(trying_text(a, &f, (int64_t[]){THRESHOLD_NEVER, THRESHOLD_NEVER}),
                 "the last version") == 0);
    CHECK(strcmp(trying_text(a, &f, (int64_t[]){THRESHOLD_NEVER, 7}), "t1=7") == 0);
    CHECK(strcmp(trying_text(a, &f, (int64_t[]){1, 7}), "t0=1 t1=7") == 0);
}

int main(void)
{
    Arena *a = arena_new();
    texts(a);
    lines(a);
    versions(a);
    arena_free(a);
    return check_summary();
}
