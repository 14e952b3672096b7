/* Types and sizes: small questions, and how they are printed. */
#include "frontend/syntax/ast.h"
#include "frontend/syntax/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

AType *type_deref(const AType *t)
{
    while (t->kind == TY_META && t->meta.ref)
        t = t->meta.ref;
    return (AType *)t;
}

Size *size_deref(const Size *s)
{
    while (s->kind == SZ_META && s->ref)
        s = s->ref;
    return (Size *)s;
}

bool type_any_part(const AType *t, bool (*ask)(void *env, const AType *part), void *env)
{
    const ATypes none = {0}, *parts = &none;
    if (t->kind == TY_ARRAY)
        return ask(env, t->array.elem);
    if (t->kind == TY_FUN)
        return ask(env, t->fun.param) || ask(env, t->fun.result);
    if (type_is_composite(t))
        parts = &t->elems;
    if (t->kind == TY_VAR)
        parts = &t->targs;
    for (int i = 0; i < parts->n; i++)
        if (ask(env, parts->at[i]))
            return true;
    return false;
}

int type_part(const AType *t, const char *name)
{
    for (int i = 0; i < t->names.n; i++)
        if (t->names.at[i] == name)
            return i;
    return -1;
}

int type_field(const AType *t, const char *name)
{
    t = type_deref(t);
    if (t->kind == TY_RECORD)
        return type_part(t, name);
    size_t digits = strspn(name, "0123456789");
    bool number = digits > 0 && digits < 6 && !name[digits];
    int i = t->kind == TY_TUPLE && number ? atoi(name) : -1;
    return i < t->elems.n ? i : -1;
}

int type_rank(const AType *t)
{
    int n = 0;
    for (t = type_deref(t); t->kind == TY_ARRAY; t = type_deref(t->array.elem))
        n++;
    return n;
}

AType *type_elem(const AType *t)
{
    for (t = type_deref(t); t->kind == TY_ARRAY; t = type_deref(t->array.elem)) {
    }
    return (AType *)t;
}

int type_arity(const AType *t)
{
    int n = 0;
    for (t = type_deref(t); t->kind == TY_FUN; t = type_deref(t->fun.result))
        n++;
    return n;
}

AType *type_result(const AType *t)
{
    for (t = type_deref(t); t->kind == TY_FUN; t = type_deref(t->fun.result)) {
    }
    return (AType *)t;
}

/* --- Printing ------------------------------------------------------------------------------- */

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

bool size_exp_form(const AExp *e)
{
    enum { MOST = 100 }; /* of a list's elements */
    switch (e->kind) {
    case AE_LIT:
    case AE_VAR:
    case AE_PROJ:
    case AE_APP:
    case AE_TUPLE:
    case AE_RECORD:
    case AE_CONSTR:
    case AE_RANGE:
    case AE_INDEX:
    case AE_OPSECT:
    case AE_PATHSECT:
    case AE_IF: return true;
    case AE_ARRAY:
    case AE_STRING: return e->seq.elems.n <= MOST;
    case AE_UPDATE: /* not of an array, which would be consumed */
        for (int i = 0; i < e->update.path.n; i++)
            if (!e->update.path.at[i].field)
                return false;
        return true;
    default: return false;
    }
}

const AExp *size_exp_essence(const AExp *e)
{
    for (;;)
        switch ((int)e->kind) {
        case AE_ASCRIBE:
        case AE_COERCE: e = e->ascribe.e; break;
        case AE_ASSERT: e = e->assertion.e; break;
        case AE_ATTR:
            if (attr_changes_value(&e->attr.attrs))
                return e;
            e = e->attr.e;
            break;
        default: return e;
        }
}

typedef struct {
    Arena *a;
    AExps *to;
} Parts;

static void add_part(void *env, AExp *e)
{
    Parts *p = env;
    vec_push(p->a, p->to, e);
}

AExps size_exp_parts(Arena *a, const AExp *e)
{
    AExps parts = {0};
    Parts p = {a, &parts};
    aexp_children(e, add_part, &p);
    return parts;
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
            put_type(p, t->targs.at[types++], true);
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
