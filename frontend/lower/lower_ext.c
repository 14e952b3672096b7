/* The types of entry points as their callers see them, with the names that Futhark gives them: what
 * the signature says, without sizes. What it says only by an abbreviation is looked up there, if
 * that is a declaration of a file by itself; what no signature says is called by its structure. */
#include "frontend/lower/lower_int.h"

#include <string.h>

/* --- Names by structure ---------------------------------------------------------------------- */

/* As the program prints types (`{x: i32, y: i32}`, `#some i32 | #none`), and as it would be called
 * if it were written out (`{x:i32, y:i32}`, `some:i32 | none:`). */
typedef enum { PRINTED, CALLED } Style;

static void put_type(Out *o, const AType *at, Style style);

/* In brackets, if it is a sum and names have them. */
static void put_atom(Out *o, const AType *at, Style style)
{
    bool brackets = style == PRINTED && type_deref(at)->kind == TY_SUM;
    out_puts(o, brackets ? "(" : "");
    put_type(o, at, style);
    out_puts(o, brackets ? ")" : "");
}

static void put_sum(Out *o, const AType *at, Style style)
{
    for (int i = 0; i < at->elems.n; i++) {
        const ATypes *holds = &at->elems.at[i]->elems;
        out_printf(o, style == PRINTED ? "%s#%s" : "%s%s:", i ? " | " : "", at->names.at[i]);
        for (int k = 0; k < holds->n; k++) {
            out_puts(o, style == PRINTED || k ? " " : "");
            put_atom(o, holds->at[k], style);
        }
    }
}

static void put_type(Out *o, const AType *at, Style style)
{
    at = type_deref(at);
    switch (at->kind) {
    case TY_SCALAR: out_puts(o, prim_type_text[at->scalar]); return;
    case TY_ARRAY:
        out_puts(o, "[]");
        put_atom(o, at->array.elem, style);
        return;
    case TY_SUM: put_sum(o, at, style); return;
    case TY_TUPLE:
    case TY_RECORD:
        out_puts(o, at->kind == TY_TUPLE ? "(" : "{");
        for (int i = 0; i < at->elems.n; i++) {
            if (i)
                out_puts(o, ", ");
            if (at->kind == TY_RECORD)
                out_printf(o, style == PRINTED ? "%s: " : "%s:", at->names.at[i]);
            put_type(o, at->elems.at[i], style);
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

static const char *structure(const AType *at, Style style)
{
    Out o = {0};
    put_type(&o, at, style);
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

/* Arguments that are sizes and stand last are left out. */
static void put_applied(Out *o, const TypeExp *te)
{
    TypeExp t = *te;
    while (t.args.n && t.args.at[t.args.n - 1]->kind == TE_SIZE)
        t.args.n--;
    fe_print_type_exp(o, &t);
}

/* The name of part i of a record or sum; NULL: of a tuple. */
static const char *part_name(const TypeExp *te, int i)
{
    return te->kind == TE_SUM      ? te->args.at[i]->name
           : te->kind == TE_RECORD ? te->names.at[i]
                                   : NULL;
}

/* Which part comes next by name, behind part `last` (-1: the first). Names are different. */
static int next_part(const TypeExp *te, int last)
{
    int next = -1;
    for (int i = 0; i < te->args.n; i++)
        if ((last < 0 || strcmp(part_name(te, last), part_name(te, i)) < 0) &&
            (next < 0 || strcmp(part_name(te, i), part_name(te, next)) < 0))
            next = i;
    return next;
}

/* As written, or with the parts of records and sums in the order of their names. */
typedef enum { AS_WRITTEN, BY_NAME } Order;

static void put_parts(Out *o, const TypeExp *te, Order order, const char *between);

static void put_written(Out *o, const TypeExp *te, Order order)
{
    te = root(te);
    switch (te->kind) {
    case TE_NAME: put_applied(o, te); return;
    case TE_ARRAY:
        out_puts(o, "[]");
        put_written(o, te->elem, order);
        return;
    case TE_TUPLE:
    case TE_RECORD:
        out_puts(o, te->kind == TE_TUPLE ? "(" : "{");
        put_parts(o, te, order, ", ");
        out_puts(o, te->kind == TE_TUPLE ? ")" : "}");
        return;
    case TE_SUM: put_parts(o, te, order, " | "); return;
    case TE_FUN:
    case TE_UNIQUE:
    case TE_EXISTS:
    case TE_SIZE: return;
    }
}

static void put_parts(Out *o, const TypeExp *te, Order order, const char *between)
{
    bool sort = order == BY_NAME && te->kind != TE_TUPLE;
    for (int n = 0, i = -1; n < te->args.n; n++) {
        const char *name = (i = sort ? next_part(te, i) : n, part_name(te, i));
        out_puts(o, n ? between : "");
        if (name)
            out_printf(o, "%s:", name);
        const TypeExp *part = te->args.at[i];
        if (te->kind != TE_SUM)
            put_written(o, part, order);
        for (int k = 0; te->kind == TE_SUM && k < part->args.n; k++) {
            out_puts(o, k ? " " : "");
            put_written(o, part->args.at[k], order);
        }
    }
}

static const char *written_text(const TypeExp *te, Order order)
{
    Out o = {0};
    put_written(&o, te, order);
    return taken(&o);
}

static const ExtName *known_name(const ExtNames *names, const char *sorted)
{
    for (int i = 0; i < names->n; i++)
        if (names->at[i].sorted == sorted)
            return &names->at[i];
    return NULL;
}

/* The name of a type. A record or sum is one type wherever the program writes it out, in whichever
 * order, or does not write it: it is called as the first entry that writes it does. */
static const char *ext_name_of(Low *L, const TypeExp *te, const AType *at)
{
    const char *sorted = te ? written_text(te, BY_NAME) : structure(at, CALLED);
    const ExtName *known = known_name(L->ext_names, sorted);
    if (known)
        return known->name;
    if (!te)
        return structure(at, PRINTED);
    ExtName new = {sorted, written_text(te, AS_WRITTEN)};
    vec_push(L->cx->perm, L->ext_names, new);
    return new.name;
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

/* The documentation of the declaration that the type is an application of. */
static const char *doc_of(const TypeExp *te)
{
    te = root(te);
    return te && te->kind == TE_NAME && te->bind && te->bind->kind == BIND_TYPE && te->bind->tdecl
               ? te->bind->tdecl->doc
               : NULL;
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
    ExtType x = {.text = structure(at, PRINTED), .doc = doc_of(te), .n_vals = 1};
    const char *name = ext_name_of(L, te, at);
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

ExtType ext_type_of(Low *L, const AType *at)
{
    return ext_type(L, NULL, at);
}

void ext_leaves(Low *L, const AType *at, const Val *v, Atoms *out)
{
    at = type_deref(at);
    if (at->kind == TY_TUPLE || at->kind == TY_RECORD) {
        for (int i = 0; i < at->elems.n; i++)
            ext_leaves(L, at->elems.at[i], v->elems.at[i], out);
        return;
    }
    Atoms leaves = val_leaves(L, v);
    vec_append(L->cx->perm, out, &leaves);
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

void ext_collect_names(Low *L, const EntryPoint *p)
{
    for (int i = 0; i < p->params.n; i++)
        (void)ext_param(L, &p->params.at[i]);
    for (int i = 0; i < p->results.n; i++)
        (void)ext_param(L, &p->results.at[i]);
}
