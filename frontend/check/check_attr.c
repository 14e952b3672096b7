/* Attributes: which there are. What they mean is asked where it matters. */
#include "frontend/check/check.h"

#include "common/spell.h"

#include <string.h>

static void check_strips(const Attr *a)
{
    if (a->name && !strcmp(a->name, "stripmine") && !attr_strip_depth(a))
        diag_warn(a->loc, "`stripmine` is ignored without how deep the nest shall be that the loop "
                          "becomes in reverse mode: `#[stripmine(2)]`");
}

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
    static const char *const known[] = {"unsafe",
                                        "sequential",
                                        "sequential_outer",
                                        "sequential_inner",
                                        "flattening",
                                        "incremental_flattening",
                                        "noinline",
                                        "inline",
                                        "unroll",
                                        "stripmine",
                                        "param",
                                        "depth",
                                        "cpu_function",
                                        "opaque",
                                        "trace",
                                        "break",
                                        "blank",
                                        "scratch",
                                        "warn",
                                        "noalias"};
    rt_spelling sp = rt_spell(a->name ? a->name : "");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(sp.word, known[i])) {
            check_strips(a);
            return;
        }
        rt_spell_try(&sp, known[i]);
    }
    int messages = diag_messages();
    if (sp.nearest)
        diag_warn(a->loc, "unknown attribute `%s`; did you mean `%s`?", a->name, sp.nearest);
    else
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
