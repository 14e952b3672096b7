/* Prints syntax trees as programs, with the types that the checker found if asked: declarations,
 * modules, and heads of them. Output is for tests and for people; it parses again when types are
 * left out. */
#include "frontend/syntax/print_int.h"

static void pr_decl(Pr *p, const Decl *d);

static void pr_type_head(Pr *p, TParamKind lifted, const char *name, const TParams *tps)
{
    static const char *const words[] = {
        [TP_TYPE] = "type", [TP_TYPE_LIFTED_SIZE] = "type~", [TP_TYPE_LIFTED] = "type^"};
    out_printf(p->o, "%s %s", words[lifted], name);
    pr_tparams(p, tps);
}

static void pr_type_decl(Pr *p, const TypeDecl *d)
{
    pr_type_head(p, d->lifted, d->name, &d->tparams);
    if (d->te) {
        out_puts(p->o, " = ");
        pr_te(p, d->te);
    }
}

/* --- Modules -------------------------------------------------------------------------------- */

static void pr_modtype(Pr *p, const ModType *t);

static void pr_spec(Pr *p, const Spec *s)
{
    switch (s->kind) {
    case SPEC_VAL:
        out_printf(p->o, name_is_operator(s->name) ? "val (%s)" : "val %s", s->name);
        pr_tparams(p, &s->tparams);
        out_puts(p->o, " : ");
        break;
    case SPEC_TYPE:
        pr_type_head(p, s->lifted, s->name, &s->tparams);
        out_puts(p->o, s->te ? " = " : "");
        break;
    case SPEC_MODULE: out_printf(p->o, "module %s : ", s->name); break;
    case SPEC_INCLUDE: out_puts(p->o, "include "); break;
    }
    if (s->te)
        pr_te(p, s->te);
    if (s->mtype)
        pr_modtype(p, s->mtype);
}

static void pr_mod_param(Pr *p, const ModParam *m)
{
    out_puts(p->o, "(");
    if (m->name)
        out_printf(p->o, "%s: ", m->name);
    pr_modtype(p, m->type);
    out_puts(p->o, ")");
}

static void pr_modtype_part(Pr *p, const ModType *t)
{
    out_puts(p->o, t->kind == MT_FUN ? "(" : "");
    pr_modtype(p, t);
    out_puts(p->o, t->kind == MT_FUN ? ")" : "");
}

static void pr_modtype(Pr *p, const ModType *t)
{
    switch (t->kind) {
    case MT_NAME: out_puts(p->o, t->name); return;
    case MT_SPECS:
        out_puts(p->o, "{\n");
        p->o->indent++;
        for (int i = 0; i < t->specs.n; i++) {
            pr_spec(p, t->specs.at[i]);
            out_puts(p->o, "\n");
        }
        p->o->indent--;
        out_puts(p->o, "}");
        return;
    case MT_WITH:
        pr_modtype_part(p, t->e);
        out_printf(p->o, " with %s", t->name);
        pr_tparams(p, &t->tparams);
        out_puts(p->o, " = ");
        pr_te_atom(p, t->te);
        return;
    case MT_FUN:
        pr_mod_param(p, &t->param);
        out_puts(p->o, " -> ");
        pr_modtype(p, t->e);
        return;
    }
}

static void pr_mod(Pr *p, const ModExp *m);

static void pr_mod_part(Pr *p, const ModExp *m, bool alone)
{
    alone |= m->kind == ME_NAME || m->kind == ME_DECLS || m->kind == ME_ASCRIBE; /* in brackets */
    out_puts(p->o, alone ? "" : "(");
    pr_mod(p, m);
    out_puts(p->o, alone ? "" : ")");
}

static void pr_mod(Pr *p, const ModExp *m)
{
    switch (m->kind) {
    case ME_NAME: out_puts(p->o, m->name); return;
    case ME_DECLS:
        out_puts(p->o, "{\n");
        p->o->indent++;
        for (int i = 0; i < m->decls.n; i++)
            pr_decl(p, &m->decls.at[i]);
        p->o->indent--;
        out_puts(p->o, "}");
        return;
    case ME_ASCRIBE:
        out_puts(p->o, "(");
        pr_mod(p, m->e);
        out_puts(p->o, " : ");
        pr_modtype(p, m->type);
        out_puts(p->o, ")");
        return;
    case ME_APPLY:
        pr_mod_part(p, m->e, m->e->kind == ME_APPLY);
        out_puts(p->o, " ");
        pr_mod_part(p, m->arg, false);
        return;
    case ME_LAMBDA:
        out_puts(p->o, "\\");
        pr_mod_param(p, &m->param);
        out_puts(p->o, " -> ");
        pr_mod(p, m->e);
        return;
    case ME_IMPORT:
        out_puts(p->o, "import ");
        out_quoted(p->o, m->import->path);
        return;
    }
}

static void pr_decl(Pr *p, const Decl *d)
{
    out_puts(p->o, d->local ? "local " : "");
    out_puts(p->o, d->open ? "open " : "");
    switch (d->kind) {
    case D_DEF:
        pr_def(p, d->def);
        out_puts(p->o, "\n\n");
        return;
    case D_TYPE:
        pr_type_decl(p, d->type);
        out_puts(p->o, "\n\n");
        return;
    case D_IMPORT:
        out_puts(p->o, "import ");
        out_quoted(p->o, d->import->path);
        out_puts(p->o, "\n\n");
        return;
    case D_MODULE:
        out_printf(p->o, "module %s = ", d->name);
        pr_mod(p, d->mod);
        out_puts(p->o, "\n\n");
        return;
    case D_MODTYPE:
        out_printf(p->o, "module type %s = ", d->name);
        pr_modtype(p, d->modtype);
        out_puts(p->o, "\n\n");
        return;
    case D_OPEN:
        out_puts(p->o, "open ");
        pr_mod(p, d->mod);
        out_puts(p->o, "\n\n");
        return;
    }
}

void fe_print(Out *o, const Ast *ast, bool types)
{
    Pr p = {.o = o, .types = types, .type_str = type_str, .a = arena_new()};
    for (int i = 0; i < ast->main->decls.n; i++)
        pr_decl(&p, &ast->main->decls.at[i]);
    arena_free(p.a);
}

void fe_print_head(Out *o, const Def *d)
{
    Pr p = {.o = o, .types = true, .type_str = type_str, .a = arena_new()};
    pr_head(&p, d);
    arena_free(p.a);
}

void fe_print_interface(Out *o, const Def *d)
{
    Pr p = {.o = o, .types = true, .type_str = type_str, .written = true, .a = arena_new()};
    pr_head(&p, d);
    arena_free(p.a);
}

void fe_print_param(Out *o, const Pat *p)
{
    Pr pr = {.o = o, .types = true, .type_str = type_str, .a = arena_new()};
    pr_param(&pr, p);
    arena_free(pr.a);
}

void fe_print_type(Out *o, const TypeDecl *d)
{
    Pr p = {.o = o, .a = arena_new()};
    pr_type_decl(&p, d);
    arena_free(p.a);
}

void fe_print_spec(Out *o, const Spec *s)
{
    Pr p = {.o = o, .a = arena_new()};
    pr_spec(&p, s);
    arena_free(p.a);
}

void fe_print_module(Out *o, const char *name, const ModExp *m)
{
    Pr p = {.o = o, .a = arena_new()};
    out_printf(o, "module %s", name);
    for (; m->kind == ME_LAMBDA; m = m->e) {
        out_puts(o, " ");
        pr_mod_param(&p, &m->param);
    }
    if (m->kind == ME_ASCRIBE) {
        out_puts(o, " : ");
        pr_modtype(&p, m->type);
    } else if (m->kind != ME_DECLS) {
        out_puts(o, " = ");
        pr_mod(&p, m);
    }
    arena_free(p.a);
}

void fe_print_modtype(Out *o, const char *head, const ModType *t)
{
    Pr p = {.o = o, .a = arena_new()};
    out_puts(o, head);
    pr_modtype(&p, t);
    arena_free(p.a);
}
