/* Prints what stands in definitions: expressions, patterns, types as written, and definitions
 * themselves, which expressions have, too. */
#include "frontend/syntax/print_int.h"

#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

static void pr_exp(Pr *p, const AExp *e);
static void pr_form(Pr *p, const AExp *e);

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

bool name_is_operator(const char *name)
{
    return strchr("+-*/%=!><|&^", name[0]) || (strchr(name, '.') && strpbrk(name, "+-*/%=!><|&^"));
}

static void pr_type(Pr *p, const AType *t)
{
    if (t)
        out_puts(p->o, p->type_str(p->a, t));
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

void pr_param(Pr *p, const Pat *x)
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

void pr_te_atom(Pr *p, const TypeExp *t)
{
    bool atom = t->kind == TE_TUPLE || t->kind == TE_RECORD || t->kind == TE_SIZE ||
                (t->kind == TE_NAME && !t->args.n);
    out_puts(p->o, atom ? "" : "(");
    pr_te(p, t);
    out_puts(p->o, atom ? "" : ")");
}

void pr_te(Pr *p, const TypeExp *t)
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
        const char *q = name_is_operator(fn->var.name) ? "" : "`";
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
    else if (a->variable)
        out_printf(p->o, "$%s", a->variable);
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
        out_printf(o, name_is_operator(e->var.name) ? "(%s)" : "%s", e->var.name);
        return;
    case AE_TUPLE: pr_seq(p, e, "(", ")"); return;
    case AE_RECORD: pr_seq(p, e, "{", "}"); return;
    case AE_ARRAY: pr_seq(p, e, "[", "]"); return;
    case AE_STRING: pr_seq(p, e, "[", "]"); return;
    case AE_RANGE: pr_range(p, e); return;
    case AE_APP: pr_app(p, e); return;
    case AE_OPSECT:
        out_printf(o, name_is_operator(e->opsect.op->var.name) ? "(%s " : "(`%s` ",
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

/* --- Definitions ---------------------------------------------------------------------------- */

void pr_tparams(Pr *p, const TParams *tps)
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

void pr_head(Pr *p, const Def *d)
{
    out_puts(p->o, d->entry ? "entry " : d->local ? "let " : "def ");
    out_printf(p->o, name_is_operator(d->name) ? "(%s)" : "%s", d->name);
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

void pr_def(Pr *p, const Def *d)
{
    pr_attrs(p, &d->attrs, "\n");
    pr_head(p, d);
    out_puts(p->o, " =\n");
    p->o->indent++;
    pr_exp(p, d->body);
    p->o->indent--;
}

/* --- For others ----------------------------------------------------------------------------- */

void fe_print_tparams(Out *o, const Bindings *tparams)
{
    pr_bound(o, tparams, false);
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
