/* The derivation of the last run: which rule fired where, and with what outcome. */
#include "flatten/rules.h"

#include <string.h>

/* The log belongs to the process, as explain is asked after the pipeline has run. */
static Derivations derivations;

Derivations *log_start(void)
{
    derivations = (Derivations){0};
    return &derivations;
}

const Derivations *log_last(void)
{
    return &derivations;
}

void log_rule(Flat *fl, const char *rule, const MapNest *S, const Exp *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    Derivation d = {.entry = fl->entry, .rule = rule, .loc = e->loc, .depth = fl->depth};
    d.form = form_info[e->kind].text;
    if (!d.form[0])
        d.form = "code";
    d.nest = nest_show(fl, S);
    d.outcome = arena_vprintf(fl->cx->perm, fmt, ap);
    va_end(ap);
    vec_push(fl->cx->perm, fl->log, d);
}
