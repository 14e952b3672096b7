/* What a name in the program means, or a message that it means nothing; noted for editors. */
#include "frontend/names/names.h"

#include "base/intern.h"

#include <string.h>

void note_name(Ck *ck, Loc loc, int part, Binding *b)
{
    if (ck->ast->uses && !ck->applying && b)
        vec_push(ck->a, ck->ast->uses, (NameUse){loc, part, b});
}

void note_match(Ck *ck, Loc asked, Loc given)
{
    if (ck->ast->uses)
        vec_push(ck->a, &ck->ast->matches, (NameMatch){asked, given});
}

/* Of a value, the modules in front of it. */
static void note_parts(Ck *ck, const char *name, Loc loc, Space space)
{
    Module *m = NULL;
    for (int part = 0; ck->ast->uses; part++) {
        size_t n = is_operator_name(name) ? strlen(name) : strcspn(name, ".");
        bool last = !name[n];
        const char *s = intern_n(name, n);
        Space in = last ? space : SPACE_TERM;
        Binding *b = m ? module_member(ck, m, s, in) : in_scope(ck, s, in);
        bool module = b && b->kind == BIND_MODULE;
        if (module || in != SPACE_TERM)
            note_name(ck, loc, part, b);
        if (last || !module)
            return;
        m = b->module;
        name += n + 1;
    }
}

void note_module(Ck *ck, const char *name, Loc loc)
{
    note_parts(ck, name, loc, SPACE_TERM);
}

static TreeParts noting(Ck *ck);

static void note_exp(void *env, AExp **at)
{
    AExp *e = *at;
    TreeParts p = noting(env);
    if (e->kind == AE_VAR) {
        int part = 0;
        for (const char *s = e->var.name; (s = strchr(s, '.')) && !is_operator_name(e->var.name);
             s++)
            part++;
        note_name(env, e->loc, part, e->var.bind);
    }
    aexp_parts(e, &p);
}

static void note_type_exp(void *env, TypeExp **at)
{
    TypeExp *t = *at;
    TreeParts p = noting(env);
    if (t->kind == TE_FUN)
        note_name(env, t->name_loc, 0, t->bind);
    texp_parts(t, &p);
}

static TreeParts noting(Ck *ck)
{
    return (TreeParts){.env = ck, .exp = note_exp, .type = note_type_exp};
}

void note_type(Ck *ck, const TParams *tps, TypeExp *te)
{
    if (!ck->ast->uses)
        return;
    for (int i = 0; i < tps->n; i++)
        note_name(ck, tps->at[i].loc, 0, tps->at[i].bind);
    if (te)
        note_type_exp(ck, &te);
}

/* --- Look-up -------------------------------------------------------------------------------- */

Binding *find_value(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_TERM);
    if (last_dot(name))
        note_parts(ck, name, loc, SPACE_TERM);
    if (b && ck->hidden && b->uid < ck->hidden) {
        ck->skipped = true;
        return NULL;
    }
    if (b && b->kind != BIND_MODULE)
        return b;
    report_no_value(ck, name, loc, b);
    return NULL;
}

Module *find_module(Ck *ck, const char *name, Loc loc)
{
    const char *known;
    Module *outer, *m = module_path(ck, name, &known, &outer);
    if (!m)
        report_no_module(ck, name, loc, find_binding(ck, name, SPACE_TERM));
    return m;
}

ModSig *find_sig(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_SIG);
    note_parts(ck, name, loc, SPACE_SIG);
    if (!b)
        report_no_sig(ck, name, loc);
    return b ? b->sig : NULL;
}

Binding *find_type(Ck *ck, const char *name, Loc loc)
{
    Binding *b = find_binding(ck, name, SPACE_TYPE);
    note_parts(ck, name, loc, SPACE_TYPE);
    if (!b)
        report_no_type(ck, name, loc);
    return b;
}
