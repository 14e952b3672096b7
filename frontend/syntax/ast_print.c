/* Prints syntax trees as programs, with the types that the checker found if asked. Output is for
 * tests and for people; it parses again when types are left out. */
#include "frontend/syntax/print.h"

#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    Out *o;
    bool types;
    bool written;  /* but those that are written, as they are */
    Arena *a;      /* scratch for type_str */
    PrintVar *var; /* or NULL */
    const void *env;
} Pr;

static void pr_exp(Pr *p, const AExp *e);
static void pr_form(Pr *p, const AExp *e);
static void pr_te(Pr *p, const TypeExp *t);
static void pr_param(Pr *p, const Pat *x);
static void pr_decl(Pr *p, const Decl *d);

/* Operands of applications: anything but an atom gets parentheses. */
static void pr_atom(Pr *p, const AExp *e)
{
    bool atom = e->kind == AE_LIT || e->kind == AE_TUPLE || e->kind == AE_RECORD ||
                e->kind == AE_ARRAY || e->kind == AE_STRING || e->kind == AE_OPSECT ||
                e->kind == AE_PATHSECT || e->kind == AE_PROJ || e->kind == AE_INDEX ||
                e->kind == AE_VAR || (e->kind == AE_CONSTR && !e->constr.elems.n);
    if (!atom)
        out_puts(p->o, "(");
    pr_exp(p, e);
    if (!atom)
        out_puts(p->o, ")");
}

static bool is_operator(const char *name)
{
    return strchr("+-*/%=!><|&^", name[0]) || (strchr(name, '.') && strpbrk(name, "+-*/%=!><|&^"));
}

static void pr_type(Pr *p, const AType *t)
{
    if (t)
        out_puts(p->o, type_str(p->a, t));
}

/* --- Patterns and types as written ---------------------------------------------------------- */

static void pr_pat(Pr *p, const Pat *x)
{
    const bool types = p->types;
    switch (x->kind) {
    case P_VAR:
        out_puts(p->o, x->name);
        if (p->types && x->type) {
            out_puts(p->o, ": ");
            pr_type(p, x->type);
        }
        return;
    case P_WILD: out_puts(p->o, "_"); return;
    case P_TUPLE:
    case P_RECORD:
        out_puts(p->o, x->kind == P_TUPLE ? "(" : "{");
        for (int i = 0; i < x->elems.n; i++) {
            out_puts(p->o, i ? ", " : "");
            if (x->kind == P_RECORD)
                out_printf(p->o, "%s = ", x->names.at[i]);
            pr_pat(p, x->elems.at[i]);
        }
        out_puts(p->o, x->kind == P_TUPLE ? ")" : "}");
        return;
    case P_ASCRIBE:
        p->types = types && !p->written;
        pr_pat(p, x->pat);
        p->types = types;
        if (!types || p->written || x->pat->kind != P_VAR) {
            out_puts(p->o, ": ");
            pr_te(p, x->te);
        }
        return;
    case P_LIT: pr_exp(p, x->lit); return;
    case P_CONSTR:
        out_printf(p->o, "#%s", x->name);
        for (int i = 0; i < x->elems.n; i++) {
            out_puts(p->o, " ");
            pr_param(p, x->elems.at[i]);
        }
        return;
    }
}

static void pr_param(Pr *p, const Pat *x)
{
    bool parens = x->kind == P_ASCRIBE || (x->kind == P_CONSTR && x->elems.n) ||
                  (x->kind == P_LIT && x->lit->kind == AE_APP) || (p->types && x->kind == P_VAR);
    if (parens)
        out_puts(p->o, "(");
    pr_pat(p, x);
    if (parens)
        out_puts(p->o, ")");
}

static void pr_dim(Pr *p, const AExp *dim)
{
    out_puts(p->o, "[");
    if (dim)
        pr_exp(p, dim);
    out_puts(p->o, "]");
}

static void pr_te_list(Pr *p, const TypeExp *t, char open, char close)
{
    out_printf(p->o, "%c", open);
    for (int i = 0; i < t->args.n; i++) {
        out_puts(p->o, i ? ", " : "");
        if (t->kind == TE_RECORD)
            out_printf(p->o, "%s: ", t->names.at[i]);
        pr_te(p, t->args.at[i]);
    }
    out_printf(p->o, "%c", close);
}

static void pr_te_atom(Pr *p, const TypeExp *t)
{
    bool atom = t->kind == TE_TUPLE || t->kind == TE_RECORD || t->kind == TE_SIZE ||
                (t->kind == TE_NAME && !t->args.n);
    out_puts(p->o, atom ? "" : "(");
    pr_te(p, t);
    out_puts(p->o, atom ? "" : ")");
}

static void pr_te(Pr *p, const TypeExp *t)
{
    switch (t->kind) {
    case TE_NAME:
        out_puts(p->o, t->name);
        for (int i = 0; i < t->args.n; i++) {
            out_puts(p->o, " ");
            pr_te_atom(p, t->args.at[i]);
        }
        return;
    case TE_SUM:
        for (int i = 0; i < t->args.n; i++) {
            out_printf(p->o, i ? " | #%s" : "#%s", t->args.at[i]->name);
            for (int k = 0; k < t->args.at[i]->args.n; k++) {
                out_puts(p->o, " ");
                pr_te_atom(p, t->args.at[i]->args.at[k]);
            }
        }
        return;
    case TE_ARRAY:
        pr_dim(p, t->dim);
        pr_te(p, t->elem);
        return;
    case TE_TUPLE: pr_te_list(p, t, '(', ')'); return;
    case TE_RECORD: pr_te_list(p, t, '{', '}'); return;
    case TE_FUN: {
        bool brackets = t->name || t->param->kind == TE_FUN || t->param->kind == TE_EXISTS;
        out_puts(p->o, brackets ? "(" : "");
        if (t->name)
            out_printf(p->o, "%s: ", t->name);
        pr_te(p, t->param);
        out_puts(p->o, brackets ? ") -> " : " -> ");
        pr_te(p, t->elem);
        return;
    }
    case TE_UNIQUE:
        out_puts(p->o, "*");
        pr_te(p, t->elem);
        return;
    case TE_EXISTS:
        out_puts(p->o, "?");
        for (int i = 0; i < t->sizes.n; i++)
            out_printf(p->o, "[%s]", t->sizes.at[i].name);
        out_puts(p->o, ".");
        pr_te(p, t->elem);
        return;
    case TE_SIZE: pr_dim(p, t->dim); return;
    }
}

/* --- Expressions ---------------------------------------------------------------------------- */

static void pr_lit(Pr *p, const AExp *e)
{
    PrimType s = e->lit.scalar;
    bool typed = e->lit.suffixed || (p->types && e->type);
    if (typed && s == T_BOOL)
        out_puts(p->o, e->lit.bits ? "true" : "false");
    else if (e->lit.is_float || (typed && prim_is_float(s)))
        out_printf(p->o, "%.17g%s", e->lit.is_float ? e->lit.fval : (double)e->lit.bits,
                   typed ? prim_type_text[s] : "");
    else
        out_printf(p->o, "%" PRIu64 "%s", e->lit.bits, typed ? prim_type_text[s] : "");
}

static void pr_seq(Pr *p, const AExp *e, const char *open, const char *close)
{
    out_puts(p->o, open);
    for (int i = 0; i < e->seq.elems.n; i++) {
        out_puts(p->o, i ? ", " : "");
        if (e->kind == AE_RECORD)
            out_printf(p->o, "%s = ", e->seq.names.at[i]);
        pr_exp(p, e->seq.elems.at[i]);
    }
    out_puts(p->o, close);
}

static void pr_app(Pr *p, const AExp *e)
{
    const AExp *fn = e->app.fn;
    const AExps *args = &e->app.args;
    if (e->app.infix && fn->kind == AE_VAR && args->n == 1 &&
        !strncmp(fn->var.name, "prefix ", 7)) {
        out_puts(p->o, fn->var.name + 7);
        pr_atom(p, args->at[0]);
    } else if (e->app.infix && fn->kind == AE_VAR && args->n <= 2) {
        const char *q = is_operator(fn->var.name) ? "" : "`";
        pr_atom(p, args->at[0]);
        out_printf(p->o, " %s%s%s", q, fn->var.name, q);
        if (args->n == 2) {
            out_puts(p->o, " ");
            pr_atom(p, args->at[1]);
        }
    } else {
        pr_atom(p, fn);
        for (int i = 0; i < args->n; i++) {
            out_puts(p->o, " ");
            pr_atom(p, args->at[i]);
        }
    }
}

static void pr_dims(Pr *p, const ADimIndices *ds)
{
    out_puts(p->o, "[");
    for (int i = 0; i < ds->n; i++) {
        const ADimIndex *d = &ds->at[i];
        out_puts(p->o, i ? ", " : "");
        if (d->i)
            pr_exp(p, d->i);
        if (d->slice)
            out_puts(p->o, ":");
        if (d->j)
            pr_exp(p, d->j);
        if (d->s) {
            out_puts(p->o, ":");
            pr_exp(p, d->s);
        }
    }
    out_puts(p->o, "]");
}

static void pr_path(Pr *p, const Steps *path)
{
    for (int i = 0; i < path->n; i++)
        if (path->at[i].field)
            out_printf(p->o, i ? ".%s" : "%s", path->at[i].field);
        else
            pr_dims(p, &path->at[i].dims);
}

static void pr_range(Pr *p, const AExp *e)
{
    static const char *const dots[] = {"...", "..<", "..>"};
    pr_atom(p, e->range.start);
    if (e->range.second) {
        out_puts(p->o, "..");
        pr_atom(p, e->range.second);
    }
    out_puts(p->o, dots[e->range.kind]);
    pr_atom(p, e->range.end);
}

static void pr_attr(Pr *p, const Attr *a)
{
    if (a->name)
        out_puts(p->o, a->name);
    else
        out_printf(p->o, "%" PRId64, a->number);
    for (int i = 0; i < a->args.n; i++) {
        out_puts(p->o, i ? ", " : "(");
        pr_attr(p, a->args.at[i]);
    }
    if (a->args.n)
        out_puts(p->o, ")");
}

static void pr_attrs(Pr *p, const Attrs *as, const char *after)
{
    for (int i = 0; i < as->n; i++) {
        out_puts(p->o, "#[");
        pr_attr(p, as->at[i]);
        out_printf(p->o, "]%s", after);
    }
}

static void pr_sizes(Pr *p, const NameLocs *ns)
{
    for (int i = 0; i < ns->n; i++)
        out_printf(p->o, "[%s] ", ns->at[i].name);
}

static void pr_loop(Pr *p, const AExp *e)
{
    out_puts(p->o, "loop ");
    pr_sizes(p, &e->loop.size_names);
    pr_param(p, e->loop.pat);
    out_puts(p->o, " = ");
    pr_exp(p, e->loop.init);
    out_puts(p->o, e->loop.kind == ALOOP_WHILE ? " while " : " for ");
    if (e->loop.var)
        pr_pat(p, e->loop.var);
    if (e->loop.kind != ALOOP_WHILE)
        out_puts(p->o, e->loop.kind == ALOOP_FOR ? " < " : " in ");
    pr_exp(p, e->loop.bound);
    out_puts(p->o, " do\n");
    p->o->indent++;
    pr_exp(p, e->loop.body);
    p->o->indent--;
}

static void pr_def(Pr *p, const Def *d);

static void pr_binders(Pr *p, const AExp *e)
{
    if (e->kind == AE_LETFUN) {
        pr_def(p, e->letfun.def);
        out_puts(p->o, "\nin ");
        pr_exp(p, e->letfun.body);
        return;
    }
    out_puts(p->o, "let ");
    pr_sizes(p, &e->let.size_names);
    pr_pat(p, e->let.pat);
    out_puts(p->o, " = ");
    pr_exp(p, e->let.rhs);
    out_puts(p->o, "\nin ");
    pr_exp(p, e->let.body);
}

static void pr_ascribe(Pr *p, const AExp *e)
{
    pr_atom(p, e->ascribe.e);
    out_puts(p->o, e->kind == AE_ASCRIBE ? " : " : " :> ");
    if (p->types && e->ascribe.to)
        pr_type(p, e->ascribe.to);
    else
        pr_te(p, e->ascribe.te);
}

static void pr_lambda(Pr *p, const AExp *e)
{
    out_puts(p->o, "\\");
    for (int i = 0; i < e->lambda.params.n; i++) {
        out_puts(p->o, i ? " " : "");
        pr_param(p, e->lambda.params.at[i]);
    }
    if (e->lambda.ret) {
        out_puts(p->o, ": ");
        pr_te(p, e->lambda.ret);
    }
    out_puts(p->o, " -> ");
    pr_exp(p, e->lambda.body);
}

static void pr_exp(Pr *p, const AExp *e)
{
    if (e->open)
        out_printf(p->o, "%s.(", e->open);
    pr_form(p, e);
    if (e->open)
        out_puts(p->o, ")");
}

static void pr_constr(Pr *p, const AExp *e)
{
    out_printf(p->o, "#%s", e->constr.name);
    for (int i = 0; i < e->constr.elems.n; i++) {
        out_puts(p->o, " ");
        pr_atom(p, e->constr.elems.at[i]);
    }
}

static void pr_match(Pr *p, const AExp *e)
{
    out_puts(p->o, "match ");
    pr_atom(p, e->match.e);
    for (int i = 0; i < e->match.cases.n; i++) {
        out_puts(p->o, "\ncase ");
        pr_param(p, e->match.cases.at[i].pat);
        out_puts(p->o, " -> ");
        pr_atom(p, e->match.cases.at[i].body);
    }
}

static void pr_form(Pr *p, const AExp *e)
{
    Out *o = p->o;
    switch (e->kind) {
    case AE_LIT: pr_lit(p, e); return;
    case AE_VAR:
        if (p->var && p->var(p->env, o, e->var.bind))
            return;
        out_printf(o, is_operator(e->var.name) ? "(%s)" : "%s", e->var.name);
        return;
    case AE_TUPLE: pr_seq(p, e, "(", ")"); return;
    case AE_RECORD: pr_seq(p, e, "{", "}"); return;
    case AE_ARRAY: pr_seq(p, e, "[", "]"); return;
    case AE_STRING: pr_seq(p, e, "[", "]"); return;
    case AE_RANGE: pr_range(p, e); return;
    case AE_APP: pr_app(p, e); return;
    case AE_OPSECT:
        out_printf(o, is_operator(e->opsect.op->var.name) ? "(%s " : "(`%s` ",
                   e->opsect.op->var.name);
        pr_atom(p, e->opsect.arg);
        out_puts(o, ")");
        return;
    case AE_PATHSECT:
        out_puts(o, "(.");
        pr_path(p, &e->update.path);
        out_puts(o, ")");
        return;
    case AE_LAMBDA: pr_lambda(p, e); return;
    case AE_PROJ:
        pr_atom(p, e->proj.e);
        out_printf(o, ".%s", e->proj.names.at[0]);
        return;
    case AE_INDEX:
        pr_atom(p, e->index.e);
        pr_dims(p, &e->index.dims);
        return;
    case AE_UPDATE:
        pr_atom(p, e->update.e);
        out_puts(o, " with ");
        pr_path(p, &e->update.path);
        out_puts(o, " = ");
        pr_atom(p, e->update.value);
        return;
    case AE_IF:
        out_puts(o, "if ");
        pr_exp(p, e->cond.test);
        out_puts(o, "\nthen ");
        pr_exp(p, e->cond.then);
        out_puts(o, "\nelse ");
        pr_exp(p, e->cond.els);
        return;
    case AE_LET:
    case AE_LETFUN: pr_binders(p, e); return;
    case AE_LOOP: pr_loop(p, e); return;
    case AE_ASCRIBE:
    case AE_COERCE: pr_ascribe(p, e); return;
    case AE_HOLE: out_puts(o, "???"); return;
    case AE_ASSERT:
        out_puts(o, "assert ");
        pr_atom(p, e->assertion.test);
        out_puts(o, " ");
        pr_atom(p, e->assertion.e);
        return;
    case AE_CONSTR: pr_constr(p, e); return;
    case AE_MATCH: pr_match(p, e); return;
    case AE_ATTR:
        pr_attrs(p, &e->attr.attrs, " ");
        pr_exp(p, e->attr.e);
        return;
    }
}

/* --- Declarations --------------------------------------------------------------------------- */

static void pr_tparams(Pr *p, const TParams *tps)
{
    static const char *const marks[] = {"[", "'", "'~", "'^"};
    for (int i = 0; i < tps->n; i++)
        out_printf(p->o, " %s%s%s", marks[tps->at[i].kind], tps->at[i].name,
                   tps->at[i].kind == TP_SIZE ? "]" : "");
}

/* Sizes that have no name, too? */
static void pr_bound(Out *o, const Bindings *tparams, bool unnamed)
{
    for (int i = 0; i < tparams->n; i++) {
        const Binding *b = tparams->at[i];
        if (b->name[0] == '[')
            out_puts(o, unnamed ? " []" : "");
        else if (b->kind == BIND_SIZE)
            out_printf(o, " [%s]", b->name);
        else if (b->cls <= TC_VALUE) /* those of a class have its name */
            out_printf(o, " '%s%s",
                       b->cls == TC_ANY     ? "^"
                       : b->cls == TC_SIZED ? "~"
                                            : "",
                       b->name);
    }
}

void fe_print_tparams(Out *o, const Bindings *tparams)
{
    pr_bound(o, tparams, false);
}

static void pr_head(Pr *p, const Def *d)
{
    out_puts(p->o, d->entry ? "entry " : d->local ? "let " : "def ");
    out_printf(p->o, is_operator(d->name) ? "(%s)" : "%s", d->name);
    if (p->types && d->bind) {
        pr_bound(p->o, &d->bind->tparams, !p->written);
    } else {
        pr_tparams(p, &d->tparams);
    }
    for (int i = 0; i < d->params.n; i++) {
        out_puts(p->o, " ");
        pr_param(p, d->params.at[i]);
    }
    if (p->types && d->ret_type && !(p->written && d->ret)) {
        out_puts(p->o, ": ");
        pr_type(p, d->ret_type);
    } else if (d->ret) {
        out_puts(p->o, ": ");
        pr_te(p, d->ret);
    }
}

static void pr_def(Pr *p, const Def *d)
{
    pr_attrs(p, &d->attrs, "\n");
    pr_head(p, d);
    out_puts(p->o, " =\n");
    p->o->indent++;
    pr_exp(p, d->body);
    p->o->indent--;
}

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
        out_printf(p->o, is_operator(s->name) ? "val (%s)" : "val %s", s->name);
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
    Pr p = {.o = o, .types = types, .a = arena_new()};
    for (int i = 0; i < ast->main->decls.n; i++)
        pr_decl(&p, &ast->main->decls.at[i]);
    arena_free(p.a);
}

void fe_print_head(Out *o, const Def *d)
{
    Pr p = {.o = o, .types = true, .a = arena_new()};
    pr_head(&p, d);
    arena_free(p.a);
}

void fe_print_interface(Out *o, const Def *d)
{
    Pr p = {.o = o, .types = true, .written = true, .a = arena_new()};
    pr_head(&p, d);
    arena_free(p.a);
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

void fe_print_argument(Out *o, const AExp *e)
{
    Pr p = {.o = o, .a = arena_new()};
    pr_atom(&p, e);
    arena_free(p.a);
}

void fe_print_exp_with(Out *o, const AExp *e, PrintVar *var, const void *env)
{
    Pr p = {.o = o, .a = arena_new(), .var = var, .env = env};
    pr_exp(&p, e);
    arena_free(p.a);
}

void fe_print_type_exp(Out *o, const TypeExp *te)
{
    Pr p = {.o = o, .a = arena_new()};
    pr_te(&p, te);
    arena_free(p.a);
}
