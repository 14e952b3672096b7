/* textDocument/inlayHint: types and sizes that were found where none is written. */
#include "lsp/look.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    const Query *q;
    Look look;
    Out all; /* as text */
} Hints;

#define KIND_TYPE "1" /* of the protocol */

/* Puts a hint at a place, if it is in the range that was asked for. */
static void add(Hints *h, uint32_t place, const char *text)
{
    enum { LONGEST = 60 }; /* of what is shown between code */
    size_t at;
    if (!look_offset(&h->look, place, &at) || at < h->q->at || at > h->q->end)
        return;
    bool cut = strlen(text) > LONGEST;
    out_puts(&h->all, h->all.n ? ",{\"position\":" : "[{\"position\":");
    json_put_position(&h->all, &h->look.now, at);
    out_puts(&h->all, ",\"kind\":" KIND_TYPE ",\"label\":");
    out_quoted(&h->all,
               cut ? arena_printf(h->look.a, "%.*s\xe2\x80\xa6", (int)LONGEST, text) : text);
    if (cut) {
        out_puts(&h->all, ",\"tooltip\":");
        out_quoted(&h->all, text);
    }
    out_puts(&h->all, "}");
}

/* Did the checker not come so far? */
static bool is_open(void *env, const AType *t)
{
    t = type_deref(t);
    return t->kind == TY_META || t->kind == TY_ERROR || type_any_part(t, is_open, env);
}

static void add_type(Hints *h, uint32_t place, const AType *t)
{
    if (t && !is_open(NULL, t))
        add(h, place, arena_printf(h->look.a, ": %s", type_str(h->look.a, t)));
}

/* --- Sizes ---------------------------------------------------------------------------------- */

/* The size of an array, as it is written; NULL: it has no name. */
static const char *size_text(Arena *a, const AType *array)
{
    const char *s = type_str(a, array), *end = s + 1;
    if (*s != '[' || s[1] == ']')
        return NULL;
    for (int depth = 1; *end; end++) {
        depth += (*end == '[') - (*end == ']');
        if (!depth)
            break;
    }
    return arena_strndup(a, s + 1, (size_t)(end - s) - 1);
}

/* Of dimensions that are written `[]`. */
static void add_sizes(Hints *h, const TypeExp *te, const AType *t)
{
    t = t ? type_deref(t) : NULL;
    if (!te || !t || is_open(NULL, t))
        return;
    if (te->kind == TE_UNIQUE) {
        add_sizes(h, te->elem, t);
    } else if (te->kind == TE_ARRAY && t->kind == TY_ARRAY) {
        const char *size = te->dim ? NULL : size_text(h->look.a, t);
        if (size)
            add(h, te->loc.beg + 1, size);
        add_sizes(h, te->elem, t->array.elem);
    } else if (te->kind == TE_TUPLE && t->kind == TY_TUPLE && te->args.n == t->elems.n) {
        for (int i = 0; i < te->args.n; i++)
            add_sizes(h, te->args.at[i], t->elems.at[i]);
    } else if (te->kind == TE_RECORD && t->kind == TY_RECORD) {
        for (int i = 0; i < te->args.n; i++) {
            int k = type_field(t, te->names.at[i]);
            add_sizes(h, te->args.at[i], k >= 0 ? t->elems.at[k] : NULL);
        }
    }
}

/* --- What binds names ------------------------------------------------------------------------ */

static void add_pat(Hints *h, const Pat *p)
{
    switch (p->kind) {
    case P_VAR:
        if (isalpha((unsigned char)*p->name))
            add_type(h, p->loc.end, p->type);
        return;
    case P_TUPLE:
    case P_RECORD:
        for (int i = 0; i < p->elems.n; i++)
            add_pat(h, p->elems.at[i]);
        return;
    case P_ASCRIBE: add_sizes(h, p->te, p->type); return;
    case P_WILD:
    case P_LIT:
    case P_CONSTR: return;
    }
}

/* Does it say its type by itself? */
static bool is_obvious(const AExp *e)
{
    return e->kind == AE_LIT || e->kind == AE_STRING || e->kind == AE_ASCRIBE ||
           e->kind == AE_COERCE;
}

/* `let a[i] = v` makes an `a` of the type it had. */
static bool is_update(const AExp *e)
{
    const AExp *of = e->kind == AE_UPDATE ? e->update.e : NULL;
    return of && of->loc.beg == e->loc.beg;
}

/* A parameter stands in brackets with its type. */
static void add_param(Hints *h, const Pat *p)
{
    if (p->kind != P_VAR || !isalpha((unsigned char)*p->name)) {
        add_pat(h, p);
    } else if (p->type && !is_open(NULL, p->type)) {
        add(h, p->loc.beg, "(");
        add(h, p->loc.end, arena_printf(h->look.a, ": %s)", type_str(h->look.a, p->type)));
    }
}

static void exp_hints(void *env, const AExp *e)
{
    Hints *h = env;
    switch (e->kind) {
    case AE_LET:
        if (e->let.pat->kind != P_VAR || !(is_obvious(e->let.rhs) || is_update(e->let.rhs)))
            add_pat(h, e->let.pat);
        return;
    case AE_LAMBDA:
        for (int i = 0; i < e->lambda.params.n; i++)
            add_param(h, e->lambda.params.at[i]);
        return;
    case AE_LOOP:
        if (e->loop.pat->kind != P_VAR || !is_obvious(e->loop.init))
            add_pat(h, e->loop.pat);
        if (e->loop.kind == ALOOP_IN)
            add_pat(h, e->loop.var);
        return;
    case AE_ASCRIBE:
    case AE_COERCE: add_sizes(h, e->ascribe.te, e->ascribe.to); return;
    default: return;
    }
}

/* Behind what stands in brackets at the place. */
static uint32_t behind_brackets(const File *f, uint32_t place)
{
    const char *s = f->text + (place - f->base), *to = s;
    for (; *s == ')' || *s == ' '; s++)
        if (*s == ')')
            to = s + 1;
    return f->base + (uint32_t)(to - f->text);
}

static void def_hints(void *env, const Def *d)
{
    Hints *h = env;
    for (int i = 0; i < d->params.n; i++)
        add_param(h, d->params.at[i]);
    if (d->ret)
        add_sizes(h, d->ret, d->ret_type);
    else if (d->params.n && !d->infix)
        add_type(h, behind_brackets(h->look.ast->main, vec_last(&d->params)->loc.end), d->ret_type);
}

cJSON *query_hints(const Query *q)
{
    Hints h = {q, look_at(q->a, q->docs, q->doc, LOOK_CHECKED, q->at, q->at), {0}};
    sites_of_file(h.look.ast, h.look.ast->main,
                  &(Visit){.env = &h, .exp = exp_hints, .def = def_hints});
    out_puts(&h.all, h.all.n ? "]" : "[]");
    return json_taken(&h.all);
}
