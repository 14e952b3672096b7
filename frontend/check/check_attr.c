/* Attributes: which there are, and what they belong before. What they mean is asked where it
 * matters. */
#include "frontend/check/check.h"

#include "common/spell.h"

#include <string.h>

/* --- Which there are ------------------------------------------------------------------------ */

enum { BEFORE_ANY = BEFORE_EXP | BEFORE_DEF | BEFORE_PAT };

static const struct {
    const char *name;
    unsigned before; /* AttrPlaces; elsewhere it is ignored */
} known[] = {
    {"unsafe", BEFORE_EXP},
    {"sequential", BEFORE_EXP},
    {"sequential_outer", BEFORE_EXP},
    {"sequential_inner", BEFORE_EXP},
    {"flattening", BEFORE_EXP},
    {"incremental_flattening", BEFORE_EXP},
    {"noinline", BEFORE_DEF},
    {"inline", BEFORE_DEF},
    {"unroll", BEFORE_LOOP | BEFORE_SOAC},
    {"stripmine", BEFORE_LOOP},
    {"param", BEFORE_ANY}, /* refused before others than expressions */
    {"depth", BEFORE_RECURSION},
    {"prop", BEFORE_DEF},
    {"cpu_function", BEFORE_ANY},
    {"opaque", BEFORE_ANY},
    {"trace", BEFORE_EXP},
    {"break", BEFORE_ANY},
    {"blank", BEFORE_EXP},
    {"scratch", BEFORE_EXP},
    {"warn", BEFORE_EXP},
    {"noalias", BEFORE_ANY},
};
enum { N_KNOWN = sizeof known / sizeof *known };

/* Variables in it are there; nobody asks what they are. */
static void check_variables(Ck *ck, const Attr *a)
{
    if (a->variable)
        find_value(ck, a->variable, a->loc);
    for (int i = 0; i < a->args.n; i++)
        check_variables(ck, a->args.at[i]);
}

void check_attr(Ck *ck, const Attr *a)
{
    check_variables(ck, a);
    rt_spelling sp = rt_spell(a->name ? a->name : "");
    for (int i = 0; i < N_KNOWN; i++) {
        if (!strcmp(sp.word, known[i].name))
            return;
        rt_spell_try(&sp, known[i].name);
    }
    int messages = diag_messages();
    if (sp.nearest) {
        diag_warn(a->loc, "unknown attribute `%s`; did you mean `%s`?", a->name, sp.nearest);
        diag_fix_word(a->loc, a->name, sp.nearest);
    } else
        diag_warn(a->loc, "unknown attribute `%s` is ignored", a->name ? a->name : "(number)");
    diag_explained(messages, SECTION_ATTRIBUTES);
}

void check_attrs(Ck *ck, const Attrs *as)
{
    for (int i = 0; i < as->n; i++)
        check_attr(ck, as->at[i]);
    const Attr *param = attr_find(as, "param");
    if (param)
        ck_error(
            ck, param->loc,
            "`param` stands before the expression whose value may be set: `#[param(block)] 64`");
    if (attr_depth(as) < 0)
        ck_error(ck, attr_find(as, "depth")->loc,
                 "`depth` takes a number of calls, from 1 to %d: `#[depth(100)] def f`",
                 MOST_DEPTH);
}

/* --- What they belong before ---------------------------------------------------------------- */

static const char *place_text(unsigned before)
{
    return before & BEFORE_EXP         ? "an expression"
           : before & BEFORE_LOOP      ? "a loop"
           : before & BEFORE_DEF       ? "the definition of a function"
           : before & BEFORE_RECURSION ? "the definition of a function that calls itself"
                                       : "a pattern";
}

static void warn_strips(const Attr *a)
{
    if (!strcmp(a->name, "stripmine") && !attr_strip_depth(a))
        diag_warn(a->loc, "`stripmine` is ignored without how deep the nest shall be that the loop "
                          "becomes in reverse mode: `#[stripmine(2)]`");
}

/* Of a known attribute, else 0. */
static unsigned attr_before(const Attr *a)
{
    for (int k = 0; a->name && k < N_KNOWN; k++)
        if (!strcmp(known[k].name, a->name))
            return known[k].before;
    return 0;
}

unsigned attrs_before(const Attrs *as)
{
    unsigned before = 0;
    for (int i = 0; i < as->n; i++)
        before |= attr_before(as->at[i]);
    return before;
}

void warn_attrs(const Attrs *as, unsigned places)
{
    for (int i = 0; i < as->n; i++) {
        const Attr *a = as->at[i];
        unsigned before = attr_before(a);
        int messages = diag_messages();
        if (before & places) {
            warn_strips(a);
        } else if (before) {
            diag_warn(a->loc, "`%s` is ignored here: it belongs before %s", a->name,
                      place_text(before));
            diag_explained(messages, SECTION_ATTRIBUTES);
        }
    }
}
