/* One program, in a process of its own. */
#include "testing/testing.h"

#include "command/source.h"
#include "interp/interp.h"
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The messages from byte `from` on. */
static char *messages(Run *run, size_t from)
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
    char *text = messages(run, run->said);
    run->said += strlen(text);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* The program was rejected, or not: is that right? */
static void check_rejection(Run *run, bool accepted)
{
    const Directives *d = &run->d;
    if (accepted)
        test_fail(run, NULL, "it should be rejected, but was not");
    else if (!directives_match(d->rejection, messages(run, 0)))
        test_fail(run, NULL, "rejected with `%s`, expected a match of `%s`", test_messages(run),
                  d->rejection);
    else
        test_pass(run);
}

static void check_warnings(Run *run)
{
    for (int i = 0; i < run->d.warnings.n; i++)
        if (!directives_match(run->d.warnings.at[i], messages(run, 0)))
            test_fail(run, NULL, "no warning matches `%s`", run->d.warnings.at[i]);
        else
            test_pass(run);
}

/* Is there an entry point for each case? Makes the inputs that are random or scripts. */
static bool check_cases(Run *run)
{
    bool ok = true;
    for (int i = 0; i < run->d.cases.n; i++) {
        TestCase *c = &run->d.cases.at[i];
        bool known = false;
        for (int k = 0; k < run->prog->entries.n; k++)
            known |= strcmp(run->prog->entries.at[k].name, c->entry) == 0;
        if (!known)
            diag_error(c->loc, "there is no entry point `%s`", c->entry);
        ok &= known && directives_random(run->a, c) && test_script(run, c);
    }
    return ok;
}

static void run_routes(Run *run)
{
    run->results = NEWN(run->a, CaseResult, run->d.cases.n);
    if (run->o->interpret)
        test_interpret(run);
    for (int i = 0; run->o->compile && run->prog->entries.n && i < run->o->n_modes; i++)
        test_versions(run, (FlattenMode)run->o->modes[i]);
}

static bool excluded(const Run *run)
{
    for (int i = 0; i < run->o->exclude.n; i++)
        if (directives_tagged(&run->d, run->o->exclude.at[i]))
            return true;
    return false;
}

void test_program(Run *run)
{
    test_at(run, "its directives");
    if (!directives_read(run->a, run->file, &run->d)) {
        test_fail(run, NULL, "%s", test_messages(run));
        return;
    }
    if (excluded(run)) {
        run->progress->skipped = true;
        return;
    }
    run->progress->left_out = run->d.left_out;
    test_at(run, "parse, check, lower");
    run->cx = NEW(run->a, Ctx);
    run->cx->perm = run->a;
    run->cx->scratch = arena_new();
    run->prog = front_end(run->cx, run->file);
    if (run->prog)
        ir_verify(run->cx, run->prog, "lower");
    if (run->d.rejected) {
        check_rejection(run, run->prog != NULL);
    } else if (!run->prog) {
        test_fail(run, NULL, "does not check: %s", test_messages(run));
    } else {
        test_pass(run);
        check_warnings(run);
        if (check_cases(run))
            run_routes(run);
        else
            test_fail(run, NULL, "%s", test_messages(run));
    }
}
