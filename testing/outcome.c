/* What a test counts and says. */
#include "testing/testing.h"

#include "command/source.h"

#include <stdlib.h>
#include <string.h>

void test_at(Run *run, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(run->progress->at, sizeof run->progress->at, fmt, ap);
    va_end(ap);
}

void test_pass(Run *run)
{
    run->progress->passed++;
}

void test_fail(Run *run, const TestCase *c, const char *fmt, ...)
{
    run->progress->failed++;
    fprintf(run->report, "%s:", run->file);
    if (c)
        fprintf(run->report, "%d: %s %s:", diag_place(c->loc).line, c->entry, c->name);
    va_list ap;
    va_start(ap, fmt);
    char *text = arena_vprintf(run->a, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if (*p == '\n')
            *p = p[1] ? '|' : ' ';
    fprintf(run->report, " %s\n", text);
    fflush(run->report);
}

double test_tolerance(const Run *run)
{
    const double futhark = 0.002;
    bool fut = strcmp(run->file + source_stem(run->file), ".fut") == 0;
    return run->o->tolerance > 0 ? run->o->tolerance : fut ? futhark : 0;
}

char *test_said(Run *run, size_t from)
{
    Out o = {0};
    char buf[4096];
    size_t k;
    fflush(stderr);
    FILE *f = fopen(arena_printf(run->a, "%s/messages", run->tmp), "r");
    if (f)
        fseek(f, (long)from, SEEK_SET);
    while (f && (k = fread(buf, 1, sizeof buf, f)) > 0)
        out_putn(&o, buf, k);
    if (f)
        fclose(f);
    char *text = arena_strdup(run->a, o.text ? o.text : "");
    out_free(&o);
    return text;
}

const char *test_messages(Run *run)
{
    diag_flush();
    char *text = test_said(run, run->said);
    run->said += strlen(text);
    text[strcspn(text, "\n")] = '\0';
    return text;
}
