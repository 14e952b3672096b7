/* One program, in a process of its own. */
#include "testing/testing.h"

#include "command/source.h"
#include "interp/interp.h"
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program was rejected, or not: is that right? */
static void check_rejection(Run *run, bool accepted)
{
    const Directives *d = &run->d;
    if (accepted)
        test_fail(run, NULL, "it should be rejected, but was not");
    else if (!directives_match(d->rejection, test_said(run, 0)))
        test_fail(run, NULL, "rejected with `%s`, expected a match of `%s`", test_messages(run),
                  d->rejection);
    else
        test_pass(run);
}

static void check_warnings(Run *run)
{
    for (int i = 0; i < run->d.warnings.n; i++)
        if (!directives_match(run->d.warnings.at[i], test_said(run, 0)))
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
    test_at(run, "parse, check, lower");
    run->cx = NEW(run->a, Ctx);
    run->cx->perm = run->a;
    run->cx->scratch = arena_new();
    run->prog = front_resolved(run->cx, run->file);
    if (run->d.rejected) {
        check_rejection(run, run->prog != NULL);
    } else if (!run->prog) {
        test_fail(run, NULL, "does not check: %s", test_messages(run));
    } else {
        test_pass(run);
        check_warnings(run);
        test_properties(run);
        if (check_cases(run))
            run_routes(run);
        else
            test_fail(run, NULL, "%s", test_messages(run));
    }
}
