/* Bindings as people declare them. */
#include "lsp/look.h"

#include <ctype.h>
#include <string.h>

const char *const show_keywords[] = {
    "assert", "case", "def",     "do",  "else",  "entry", "false", "for",    "if",
    "import", "in",   "include", "let", "local", "loop",  "match", "module", "open",
    "then",   "true", "type",    "val", "while", "with",  NULL};

bool show_is_keyword(const char *word)
{
    int i = 0;
    while (show_keywords[i] && strcmp(show_keywords[i], word) != 0)
        i++;
    return show_keywords[i] != NULL;
}

/* `f`, `(+)`; a prefix operator has a word in front of it. */
static void show_name(Out *o, const char *name)
{
    const char *space = strchr(name, ' ');
    name = space ? space + 1 : name;
    bool word = isalpha((unsigned char)name[0]) || name[0] == '_';
    out_printf(o, word ? "%s" : "(%s)", name);
}

void show_binding(Out *o, Arena *a, const Binding *b, const char *name)
{
    switch (b->kind) {
    case BIND_DEF:
        if (b->def && b->def->name && !b->stands) {
            fe_print_head(o, b->def);
            return;
        }
        break;
    case BIND_TYPE: fe_print_type(o, b->tdecl); return;
    case BIND_MODULE: out_printf(o, "module %s", b->name); return;
    case BIND_MODTYPE: out_printf(o, "module type %s", b->name); return;
    case BIND_TYPE_PARAM:
        out_printf(o, "'%s%s", b->cls == TC_ANY ? "^" : b->cls == TC_SIZED ? "~" : "", name);
        return;
    case BIND_LOCAL:
    case BIND_SIZE:
    case BIND_BUILTIN: break;
    }
    show_name(o, name);
    if (b->type)
        out_printf(o, ": %s", type_str(a, b->type));
}

const char *show_constructor(Arena *a, const AType *sum, const char *name)
{
    sum = type_deref(sum);
    int k = sum->kind == TY_SUM ? type_part(sum, name) : -1;
    const char *text = arena_printf(a, "#%s", name);
    for (int i = 0; k >= 0 && i < sum->elems.at[k]->elems.n; i++) {
        const AType *t = type_deref(sum->elems.at[k]->elems.at[i]);
        bool brackets = t->kind == TY_SUM || t->kind == TY_FUN;
        text = arena_printf(a, brackets ? "%s (%s)" : "%s %s", text, type_str(a, t));
    }
    return text;
}

const char *show_doc(const Binding *b)
{
    switch (b->kind) {
    case BIND_DEF:
    case BIND_TYPE:
    case BIND_MODULE:
    case BIND_MODTYPE: return b->doc;
    case BIND_BUILTIN: return b->doc ? b->doc : fe_builtin_doc(b->name);
    case BIND_SIZE: return "a size";
    case BIND_TYPE_PARAM: return "a type parameter";
    case BIND_LOCAL: return NULL;
    }
    return NULL;
}
