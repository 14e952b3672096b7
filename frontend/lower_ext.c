/* The types of entry points as their callers see them, with the names that Futhark gives them: what
 * the signature says, without sizes. What it says only by an abbreviation is looked up there, if
 * that is a declaration of a file by itself; parts of other types have the structure of theirs for
 * a name. */
#include "frontend/lower_int.h"

#include <string.h>

/* --- Names by structure ---------------------------------------------------------------------- */

static void put_type(Out *o, const AType *at);

/* In brackets, if it is a sum. */
static void put_atom(Out *o, const AType *at)
{
    bool sum = type_deref(at)->kind == TY_SUM;
    out_puts(o, sum ? "(" : "");
    put_type(o, at);
    out_puts(o, sum ? ")" : "");
}

static void put_type(Out *o, const AType *at)
{
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: out_puts(o, scalar_name(at->scalar)); return;
    case TY_ARRAY:
        out_puts(o, "[]");
        put_atom(o, at->array.elem);
        return;
    case TY_SUM:
        for (int i = 0; i < at->elems.n; i++) {
            out_printf(o, i ? " | #%s" : "#%s", at->names.at[i]);
            for (int k = 0; k < at->elems.at[i]->elems.n; k++) {
                out_puts(o, " ");
                put_atom(o, at->elems.at[i]->elems.at[k]);
            }
        }
        return;
    case TY_TUPLE:
    case TY_RECORD:
        out_puts(o, at->kind == TY_TUPLE ? "(" : "{");
        for (int i = 0; i < at->elems.n; i++) {
            if (i)
                out_puts(o, ", ");
            if (at->kind == TY_RECORD)
                out_printf(o, "%s: ", at->names.at[i]);
            put_type(o, at->elems.at[i]);
        }
        out_puts(o, at->kind == TY_TUPLE ? ")" : "}");
        return;
    case TY_FUN:
    case TY_VAR:
    case TY_META:
    case TY_ERROR: out_puts(o, "?"); return;
    }
}

static const char *taken(Out *o)
{
    const char *s = intern(o->text ? o->text : "");
    out_free(o);
    return s;
}

static const char *structure(const AType *at)
{
    Out o = {0};
    put_type(&o, at);
    return taken(&o);
}

/* --- Names as written ------------------------------------------------------------------------ */

/* Without what says nothing of the values. NULL stays NULL: nothing is written. */
static const TypeExp *root(const TypeExp *te)
{
    while (te && (te->kind == TE_UNIQUE || te->kind == TE_EXISTS))
        te = te->elem;
    return te;
}

static void put_list(Out *o, const TypeExps *tes, const Names *names, const char *between);

/* Arguments that are sizes and stand last are left out. */
static void put_applied(Out *o, const TypeExp *te)
{
    TypeExp t = *te;
    while (t.args.n && t.args.at[t.args.n - 1]->kind == TE_SIZE)
        t.args.n--;
    fe_print_type_exp(o, &t);
}

static void put_written(Out *o, const TypeExp *te)
{
    te = root(te);
    switch (te->kind) {
    case TE_NAME: put_applied(o, te); return;
    case TE_ARRAY:
        out_puts(o, "[]");
        put_written(o, te->elem);
        return;
    case TE_TUPLE:
    case TE_RECORD:
        out_puts(o, te->kind == TE_TUPLE ? "(" : "{");
        put_list(o, &te->args, te->kind == TE_TUPLE ? NULL : &te->names, ", ");
        out_puts(o, te->kind == TE_TUPLE ? ")" : "}");
        return;
    case TE_SUM:
        for (int i = 0; i < te->args.n; i++) {
            out_printf(o, i ? " | %s:" : "%s:", te->args.at[i]->name);
            put_list(o, &te->args.at[i]->args, NULL, " ");
        }
        return;
    case TE_FUN:
    case TE_UNIQUE:
    case TE_EXISTS:
    case TE_SIZE: return;
    }
}

static void put_list(Out *o, const TypeExps *tes, const Names *names, const char *between)
{
    for (int i = 0; i < tes->n; i++) {
        out_puts(o, i ? between : "");
        if (names)
            out_printf(o, "%s:", names->at[i]);
        put_written(o, tes->at[i]);
    }
}

static const char *written_text(const TypeExp *te)
{
    Out o = {0};
    put_written(&o, te);
    return taken(&o);
}

/* --- Parts ----------------------------------------------------------------------------------- */

/* What the type is declared as, if by itself in a file: not in a module, not `local`. */
static const TypeExp *declared(const Low *L, const TypeDecl *d)
{
    for (int i = 0; i < L->ast->files.n; i++) {
        const Decls *ds = &L->ast->files.at[i]->decls;
        for (int k = 0; k < ds->n; k++)
            if (ds->at[k].kind == D_TYPE && ds->at[k].type == d)
                return ds->at[k].local ? NULL : d->te;
    }
    return NULL;
}

/* The type as this kind of it, or NULL. Further abbreviations of abbreviations have no arguments.
 */
static const TypeExp *spelled(const Low *L, const TypeExp *te, TypeExpKind kind)
{
    te = root(te);
    for (int i = 0; te && i < te->args.n && te->kind == TE_NAME; i++)
        if (te->args.at[i]->kind != TE_SIZE)
            return NULL;
    while (te && te->kind == TE_NAME) {
        const TypeDecl *d = te->bind && te->bind->kind == BIND_TYPE ? te->bind->tdecl : NULL;
        te = d ? declared(L, d) : NULL;
        if (te && te->kind == TE_NAME && te->args.n)
            return NULL;
    }
    return te && te->kind == kind ? te : NULL;
}

/* How the part of that name, or number k, is written. */
static const TypeExp *part(const TypeExp *te, const AType *at, int k)
{
    if (!te || te->kind == TE_TUPLE)
        return te && k < te->args.n ? te->args.at[k] : NULL;
    for (int i = 0; i < te->args.n; i++)
        if ((te->kind == TE_SUM ? te->args.at[i]->name : te->names.at[i]) == at->names.at[k])
            return te->args.at[i];
    return NULL;
}

/* --- Types ----------------------------------------------------------------------------------- */

static ExtType ext_type(Low *L, const TypeExp *te, const AType *at);

static void add_variants(Low *L, ExtType *x, const TypeExp *te, const AType *at)
{
    te = spelled(L, te, TE_SUM);
    x->n_vals = sum_values(L, at);
    x->n_variants = at->elems.n;
    x->variants = NEWN(L->cx->perm, ExtVariant, at->elems.n);
    for (int k = 0; k < at->elems.n; k++) {
        const AType *holds = at->elems.at[k];
        const TypeExp *written = part(te, at, k);
        SumPlaces places = sum_type_places(L, at, k);
        ExtVariant *v = &x->variants[k];
        *v = (ExtVariant){at->names.at[k], holds->elems.n,
                          NEWN(L->cx->perm, ExtType, holds->elems.n), places.n, places.at};
        for (int i = 0; i < holds->elems.n; i++)
            v->holds[i] = ext_type(L, part(written, holds, i), holds->elems.at[i]);
    }
}

static void add_fields(Low *L, ExtType *x, const TypeExp *te, const AType *at)
{
    te = spelled(L, te, at->kind == TY_TUPLE ? TE_TUPLE : TE_RECORD);
    x->n_vals = 0;
    x->n_fields = at->elems.n;
    x->fields = NEWN(L->cx->perm, ExtType, at->elems.n);
    x->field_names = NEWN(L->cx->perm, const char *, at->elems.n);
    for (int i = 0; i < at->elems.n; i++) {
        x->fields[i] = ext_type(L, part(te, at, i), at->elems.at[i]);
        x->field_names[i] =
            at->kind == TY_RECORD ? at->names.at[i] : intern(arena_printf(L->cx->perm, "%d", i));
        x->n_vals += x->fields[i].n_vals;
    }
}

/* The array; te and at are its rows' in the end. Elements that hold () are not described: it is an
 * array here, but nothing where they stand by themselves. */
static void add_elem(Low *L, ExtType *x, const TypeExp *te, const AType *at)
{
    x->n_vals = sum_values(L, at);
    for (; at->kind == TY_ARRAY; at = type_deref(at->array.elem)) {
        te = root(te);
        te = te && te->kind == TE_ARRAY ? te->elem : NULL;
        x->rank++;
    }
    if (!type_is_composite(at) || !at->elems.n)
        return;
    ExtType elem = ext_type(L, te, at);
    if (elem.n_vals == x->n_vals)
        x->elem = arena_memdup(L->cx->perm, &elem, sizeof elem);
}

static ExtType ext_type(Low *L, const TypeExp *te, const AType *at)
{
    at = type_deref(at);
    ExtType x = {.text = structure(at), .n_vals = 1};
    const char *name = te ? written_text(te) : x.text;
    if (name != x.text)
        x.alias = name;
    if (at->kind == TY_ARRAY)
        add_elem(L, &x, te, at);
    else if (at->kind == TY_SUM)
        add_variants(L, &x, te, at);
    else if (type_is_composite(at))
        add_fields(L, &x, te, at);
    return x;
}

/* Whether no array of it is shared; *any: whether it holds arrays at all. */
static bool all_unique(const AType *t, bool unique, bool *any)
{
    t = type_deref(t);
    unique |= t->unique;
    if (t->kind == TY_ARRAY)
        *any = true;
    bool all = t->kind != TY_ARRAY || unique;
    for (int i = 0; type_is_composite(t) && i < t->elems.n; i++)
        all = all_unique(t->elems.at[i], unique, any) && all;
    return all;
}

ExtParam ext_param(Low *L, const EntryParam *p)
{
    bool any = false, unique = all_unique(p->type, false, &any);
    return (ExtParam){
        .name = p->name, .unique = unique && any, .type = ext_type(L, p->te, p->type)};
}
