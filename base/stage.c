#include "base/stage.h"

#include "base/vec.h"

#include <string.h>
#include <time.h>

typedef struct {
    const char *name;
    double ms;
    int times;
} Row;

static struct {
    const char *name; /* NULL: none yet */
    Arena *mem;       /* NULL: no times are taken */
    VEC(Row) rows;
    Row *row; /* of the stage at work */
    double since;
} S;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static Row *row_of(const char *name)
{
    for (int i = 0; i < S.rows.n; i++)
        if (strcmp(S.rows.at[i].name, name) == 0)
            return &S.rows.at[i];
    vec_push(S.mem, &S.rows, ((Row){.name = name}));
    return &S.rows.at[S.rows.n - 1];
}

/* What went by since the last change of stages is the time of the one that worked. */
static void clock_in(bool enters)
{
    double now = now_ms();
    if (S.row)
        S.row->ms += now - S.since;
    S.row = S.name ? row_of(S.name) : NULL;
    if (S.row)
        S.row->times += enters;
    S.since = now;
}

static const char *change(const char *name, bool enters)
{
    const char *before = S.name;
    S.name = name;
    if (S.mem)
        clock_in(enters);
    return before;
}

const char *stage_enter(const char *name)
{
    return change(name, true);
}

void stage_leave(const char *around)
{
    change(around, false);
}

const char *stage_name(void)
{
    return S.name ? S.name : "start-up";
}

void stage_times_begin(void)
{
    S.mem = arena_new();
}

void stage_times_print(FILE *f)
{
    double all = 0;
    clock_in(false);
    for (int i = 0; i < S.rows.n; i++) {
        const Row *r = &S.rows.at[i];
        all += r->ms;
        fprintf(f, "%-22s %9.2f ms %6d\n", r->name, r->ms, r->times);
    }
    fprintf(f, "%-22s %9.2f ms\n", "all", all);
}
