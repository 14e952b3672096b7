/* What explain says about the kernels of a parallel construct: names, local memory, parameters,
 * irregular pieces; and about loops of short steps. */
#include "base/intern.h"
#include "emit/emit.h"

#include <string.h>

/* What runs inside threads because its sizes are known there alone. */
static void describe_irregular(Out *o, const Kernel *k)
{
    for (int j = 0; j < k->irregulars.n; j++)
        out_printf(o, "irregular %s: runs sequentially inside the thread, %s\n",
                   diag_place_str(k->irregulars.at[j].loc), k->irregulars.at[j].text);
}

void describe_kernels(void *plan, Out *o, const Exp *seg)
{
    const Plan *p = plan;
    for (int i = 0; i < p->kernels.n; i++) {
        const Kernel *k = p->kernels.at[i];
        if (k->seg != seg)
            continue;
        out_printf(o, "kernel %s%s%s%s\n", k->name, k->local ? ": local memory " : "",
                   k->local ? k->local : "", k->local ? " bytes" : "");
        describe_irregular(o, k);
    }
}

/* Several kernels: which of them run say the sizes. */
void describe_kernel_names(void *plan, Out *o, const Exp *seg)
{
    const Plan *p = plan;
    int n = 0, told = 0;
    for (int i = 0; i < p->kernels.n; i++)
        n += p->kernels.at[i]->seg == seg;
    for (int i = 0; i < p->kernels.n; i++) {
        if (p->kernels.at[i]->seg != seg)
            continue;
        out_printf(o, "%s%s", told ? ", " : n > 1 ? "kernels " : "kernel ", p->kernels.at[i]->name);
        told++;
    }
    if (n)
        out_puts(o, "\n");
    for (int i = 0; i < p->kernels.n; i++)
        if (p->kernels.at[i]->seg == seg)
            describe_irregular(o, p->kernels.at[i]);
}

static void irregular_json(Out *o, const Kernel *k)
{
    out_puts(o, ", \"irregular\": [");
    for (int j = 0; j < k->irregulars.n; j++) {
        const Irregular *r = &k->irregulars.at[j];
        out_printf(o, "%s{\"loc\": ", j ? ", " : "");
        out_quoted(o, diag_place_str(r->loc));
        out_printf(o,
                   ", \"runs\": \"sequentially inside the thread\", \"memory\": \"%s\", \"note\": ",
                   r->heap ? "heap" : "bounded");
        out_quoted(o, r->text);
        out_puts(o, "}");
    }
    out_puts(o, "]");
}

void describe_kernels_json(void *plan, Out *o, const Exp *seg)
{
    const Plan *p = plan;
    bool first = true;
    out_puts(o, ", \"kernels\": [");
    for (int i = 0; i < p->kernels.n; i++) {
        const Kernel *k = p->kernels.at[i];
        if (k->seg != seg)
            continue;
        out_printf(o, "%s{\"name\": ", first ? "" : ", ");
        first = false;
        out_quoted(o, k->name);
        out_puts(o, ", \"local_bytes\": ");
        out_quoted(o, k->local ? k->local : "0");
        irregular_json(o, k);
        out_puts(o, "}");
    }
    out_puts(o, "]");
}

/* --- What is chosen at run time beside versions --- */

static bool is_of_loop(const Threshold *t, const char *entry)
{
    return t->loop && strcmp(t->entry, entry) == 0;
}

/* loops:
 *     main.suff_loop_0             work-items of a launch at prog.sf:12:5 */
static void describe_loops(const Plan *p, Out *o, const char *entry)
{
    bool first = true;
    for (int i = 0; i < p->thresholds.n; i++) {
        const Threshold *t = &p->thresholds.at[i];
        if (!is_of_loop(t, entry))
            continue;
        out_printf(o, "%s    %-28s work-items of a launch at %s\n", first ? "loops:\n" : "",
                   t->name, diag_place_str(t->loc));
        first = false;
    }
}

/* kernels that are taken where they can run and pay:
 *     main.choice_segtile_0        at prog.sf:3:2: blocks of both sides keep the device busy */
static void describe_choices(const Plan *p, Out *o, const char *entry)
{
    bool first = true;
    for (int i = 0; i < p->choices.n; i++) {
        const Choice *c = p->choices.at[i];
        if (strcmp(c->entry->name, entry) != 0)
            continue;
        out_printf(o, "%s    %-28s at %s: %s\n",
                   first ? "kernels that are taken where they can run and pay:\n" : "", c->name,
                   diag_place_str(c->loc), c->pays);
        first = false;
    }
}

void describe_run_time(void *plan, Out *o, const char *entry)
{
    describe_loops(plan, o, entry);
    describe_choices(plan, o, entry);
}

static void named_place_json(Out *o, bool first, const char *name, Loc loc)
{
    out_printf(o, "%s{\"name\": ", first ? "" : ", ");
    out_quoted(o, name);
    out_puts(o, ", \"loc\": ");
    out_quoted(o, diag_place_str(loc));
}

static void loops_json(const Plan *p, Out *o, const char *entry)
{
    bool first = true;
    out_puts(o, ", \"loops\": [");
    for (int i = 0; i < p->thresholds.n; i++) {
        const Threshold *t = &p->thresholds.at[i];
        if (!is_of_loop(t, entry))
            continue;
        named_place_json(o, first, t->name, t->loc);
        out_puts(o, "}");
        first = false;
    }
    out_puts(o, "]");
}

void describe_run_time_json(void *plan, Out *o, const char *entry)
{
    const Plan *p = plan;
    bool first = true;
    loops_json(p, o, entry);
    out_puts(o, ", \"choices\": [");
    first = true;
    for (int i = 0; i < p->choices.n; i++) {
        const Choice *c = p->choices.at[i];
        if (strcmp(c->entry->name, entry) != 0)
            continue;
        named_place_json(o, first, c->name, c->loc);
        out_puts(o, ", \"kernel\": ");
        out_quoted(o, c->kind);
        out_puts(o, ", \"pays\": ");
        out_quoted(o, c->pays);
        out_puts(o, "}");
        first = false;
    }
    out_puts(o, "]");
}
