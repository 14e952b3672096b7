/* Types and sizes as text. */
#include "frontend/syntax/print.h"

#include <inttypes.h>

/* What is printed; names of sizes, NULL: each text has its own; whether those of whole dimensions,
 * too, take one. */
typedef struct {
    Out *o;
    Arena *a;
    SizeNames *names;
} Put;

static void put_size(const Put *p, const Size *s, bool nested);

/* The name of a size that has none in the program: whole dimensions are `[]` unless they have one
 * already. */
static void put_unnamed(const Put *p, const Size *s, bool nested)
{
    SizeNames *ns = p->names;
    int id = s->kind == SZ_VAR ? -1 - s->var->uid : s->id, i = 0;
    while (i < ns->n && ns->at[i].id != id)
        i++;
    if (i == ns->n && !nested)
        return;
    if (i == ns->n) {
        SizeName n = {.id = id, .loc = s->kind == SZ_VAR ? s->var->loc : s->loc};
        do
            n.name = arena_printf(p->a, "k%d", ++ns->last);
        while (ns->bound && ns->bound(ns->env, n.name));
        vec_push(p->a, ns, n);
    }
    out_puts(p->o, ns->at[i].name);
}

/* What a name inside of a size's expression stands for. */
typedef struct {
    const Size *size; /* of the expression at work */
    int part;
    const Binding *name;
    const Size *found;
} Meaning;

static void look_for(Meaning *m, const AExp *e);

static void look_in_part(void *env, AExp *part)
{
    Meaning *m = env;
    Meaning in = {m->size->args.at[m->part++], 0, m->name, NULL};
    if (!m->found)
        look_for(&in, size_exp_essence(part));
    if (in.found)
        m->found = in.found;
}

static void look_for(Meaning *m, const AExp *e)
{
    m->size = size_deref(m->size);
    if (e->kind == AE_VAR && e->var.bind == m->name)
        m->found = m->size;
    else if (m->size->kind == SZ_EXP)
        aexp_children(e, look_in_part, m);
}

typedef struct {
    const Put *p;
    const Size *s;
} PutMeaning;

static bool put_meaning(const void *env, Out *o, const Binding *name)
{
    const PutMeaning *pm = env;
    const Size *s = pm->s;
    Meaning m = {s, 0, name, NULL};
    look_for(&m, s->exp);
    bool exp = m.found && m.found->kind == SZ_EXP;
    if (!m.found || (m.found->kind == SZ_VAR && m.found->var == name) ||
        (exp && m.found->exp->kind == AE_VAR))
        return false;
    bool parens = exp && m.found->exp->kind != AE_LIT && m.found->exp->kind != AE_PROJ;
    out_puts(o, parens ? "(" : "");
    put_size(pm->p, m.found, true);
    out_puts(o, parens ? ")" : "");
    return true;
}

static void put_size(const Put *p, const Size *s, bool nested)
{
    s = size_deref(s);
    switch (s->kind) {
    case SZ_CONST: out_printf(p->o, "%" PRId64, s->value); return;
    case SZ_VAR:
        if (s->var->name[0] != '[')
            out_puts(p->o, s->var->name);
        else
            put_unnamed(p, s, nested);
        return;
    case SZ_OP:
        if (nested)
            out_puts(p->o, "(");
        put_size(p, s->a, size_deref(s->a)->kind != SZ_OP || size_deref(s->a)->op != s->op);
        out_printf(p->o, " %c ", s->op);
        put_size(p, s->b, true);
        if (nested)
            out_puts(p->o, ")");
        return;
    case SZ_EXP: fe_print_exp_with(p->o, s->exp, put_meaning, &(PutMeaning){p, s}); return;
    case SZ_UNKNOWN:
    case SZ_META: put_unnamed(p, s, nested); return;
    }
}

/* What is known of a type that is not inferred yet, in a word. */
static const char *class_name(TypeClass c)
{
    switch (c) {
    case TC_ANY:
    case TC_SIZED:
    case TC_VALUE: return "_";
    case TC_EQ: return "comparable";
    case TC_PRIM: return "scalar";
    case TC_BITS: return "integer or bool";
    case TC_NUM: return "number";
    case TC_INT: return "integer";
    case TC_FLOAT: return "float";
    }
    return "_";
}

static void put_type(const Put *p, const AType *t, bool atom);

/* As an argument of a type: an array is in parentheses, else its size would be one, too. */
static void put_argument(const Put *p, const AType *t)
{
    bool array = type_deref(t)->kind == TY_ARRAY;
    out_puts(p->o, array ? "(" : "");
    put_type(p, t, true);
    out_puts(p->o, array ? ")" : "");
}

/* A type parameter; an abstract type with its module and arguments. */
static void put_var(const Put *p, const AType *t, bool atom)
{
    bool args = t->targs.n + t->sargs.n > 0;
    const char *module = t->var->tdecl ? t->var->tdecl->module : NULL;
    if (args && atom)
        out_puts(p->o, "(");
    out_printf(p->o, "%s%s", module ? module : "", t->var->name);
    int types = 0, sizes = 0;
    for (int i = 0; args && i < t->var->tdecl->tparams.n; i++) {
        bool size = t->var->tdecl->tparams.at[i].kind == TP_SIZE;
        out_puts(p->o, size ? " [" : " ");
        if (size)
            put_size(p, t->sargs.at[sizes++], false);
        else
            put_argument(p, t->targs.at[types++]);
        out_puts(p->o, size ? "]" : "");
    }
    if (args && atom)
        out_puts(p->o, ")");
}

static void put_type(const Put *p, const AType *t, bool atom)
{
    bool unique = t->unique;
    t = type_deref(t);
    if (unique || t->unique)
        out_puts(p->o, "*");
    switch (t->kind) {
    case TY_SCALAR: out_puts(p->o, prim_type_text[t->scalar]); return;
    case TY_ARRAY:
        out_puts(p->o, "[");
        put_size(p, t->array.dim, false);
        out_puts(p->o, "]");
        put_type(p, t->array.elem, true);
        return;
    case TY_SUM:
        if (atom)
            out_puts(p->o, "(");
        for (int i = 0; i < t->elems.n; i++) {
            const AType *holds = t->elems.at[i];
            out_printf(p->o, i ? " | #%s" : "#%s", t->names.at[i]);
            for (int k = 0; k < holds->elems.n; k++) {
                out_puts(p->o, " ");
                put_type(p, holds->elems.at[k], true);
            }
        }
        if (atom)
            out_puts(p->o, ")");
        return;
    case TY_TUPLE:
    case TY_RECORD:
        out_puts(p->o, t->kind == TY_TUPLE ? "(" : "{");
        for (int i = 0; i < t->elems.n; i++) {
            if (i)
                out_puts(p->o, ", ");
            if (t->kind == TY_RECORD)
                out_printf(p->o, "%s: ", t->names.at[i]);
            put_type(p, t->elems.at[i], false);
        }
        out_puts(p->o, t->kind == TY_TUPLE ? ")" : "}");
        return;
    case TY_FUN: {
        if (atom)
            out_puts(p->o, "(");
        if (t->fun.name)
            out_printf(p->o, "(%s: ", t->fun.name->name);
        put_type(p, t->fun.param, !t->fun.name);
        out_puts(p->o, t->fun.name ? ") -> " : " -> ");
        bool named = false;
        for (int i = 0; i < t->fun.exists.n; i++) {
            const char *n = t->fun.exists.at[i]->name;
            if (n[0] == '[')
                continue;
            out_printf(p->o, named ? "[%s]" : "?[%s]", n);
            named = true;
        }
        if (named)
            out_puts(p->o, ".");
        put_type(p, t->fun.result, false);
        if (atom)
            out_puts(p->o, ")");
        return;
    }
    case TY_VAR: put_var(p, t, atom); return;
    case TY_META: out_puts(p->o, class_name(t->meta.cls)); return;
    case TY_ERROR: out_puts(p->o, "?"); return;
    }
}

const char *type_str_with(Arena *a, const AType *t, SizeNames *names)
{
    Out o = {0};
    int named = names->n;
    put_type(&(Put){&o, a, names}, t, false);
    const char *s = out_keep(&o, a);
    if (names->n == named)
        return s;
    put_type(&(Put){&o, a, names}, t, false); /* the same sizes stand in dimensions, too */
    return out_keep(&o, a);
}

const char *size_str_with(Arena *a, const Size *s, SizeNames *names)
{
    Out o = {0};
    put_size(&(Put){&o, a, names}, s, true);
    return out_keep(&o, a);
}

const char *type_str(Arena *a, const AType *t)
{
    return type_str_with(a, t, &(SizeNames){0});
}
