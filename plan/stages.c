/* The stages of a plan whose launches are all there, in order. */
#include "plan/plan.h"

#include "base/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const PlanStage plan_stages[] = {
    {"blocks", plan_note_blocks,
     "which parameters of a kernel share no block, by all its launches"},
    {"steady", plan_steady, "... and which are the same in each launch of a run"},
    {"size-params", plan_size_params, "the sizes that each entry's kernels depend on"},
    {"targets", plan_put_on_targets, "each kernel on each target, by the passes on kernels"},
    {NULL, NULL, NULL},
};

static char *text_of(const Plan *p)
{
    Out o = {0};
    plan_print(&o, p);
    return out_take(&o);
}

/* Prints the plan, unless it is as it was; gives its text. */
static char *trace(const char *name, const Plan *p, char *before)
{
    char *now = text_of(p);
    bool same = before && strcmp(now, before) == 0;
    fprintf(stderr, "-- after %s%s\n%s", name, same ? ": unchanged" : "", same ? "" : now);
    free(before);
    return now;
}

void plan_finish(Ctx *cx, Plan *p)
{
    char *text = cx->trace ? trace("host", p, NULL) : NULL;
    if (cx->verify) {
        const char *around = stage_enter("verify");
        plan_verify(cx, p);
        stage_leave(around);
    }
    for (const PlanStage *s = plan_stages; s->name; s++) {
        const char *around = stage_enter(s->name);
        s->run(cx, p);
        stage_leave(around);
        text = cx->trace ? trace(s->name, p, text) : NULL;
    }
    free(text);
}
