/* What is defined, as the language server shows it. */
#include "repl/listing.h"

#include "lsp/look.h"

#include <stdio.h>
#include <string.h>

/* A later one has its name. */
static bool is_hidden(const Listing *l, int i)
{
    const Binding *b = l->all.at[i];
    for (int k = i + 1; k < l->all.n; k++)
        if (l->all.at[k]->name == b->name && l->all.at[k]->kind == b->kind)
            return true;
    return false;
}

static void show(Out *o, Arena *a, const Binding *b, const char *name)
{
    if (b->kind == BIND_DEF && b->def && !b->stands)
        fe_print_interface(o, b->def);
    else
        show_binding(o, a, b, name);
    out_puts(o, "\n");
}

static void print(Out *o)
{
    fputs(o->text ? o->text : "", stdout);
    out_free(o);
}

void listing_print(const Listing *l)
{
    Out o = {0};
    for (int i = 0; i < l->all.n; i++)
        if (!is_hidden(l, i))
            show(&o, l->a, l->all.at[i], l->all.at[i]->name);
    print(&o);
}

/* --- Names ---------------------------------------------------------------------------------- */

static void collect(void *env, const Binding *b)
{
    Listing *l = env;
    vec_push(l->a, &l->all, b);
}

void listing_all(Listing *l, const Ast *ast)
{
    fe_members(ast->main->module, collect, l);
}

/* What of these has the name that n bytes are, the last one; NULL: none. */
static const Binding *named(const Listing *l, const char *name, size_t n)
{
    for (int i = l->all.n - 1; i >= 0; i--)
        if (strlen(l->all.at[i]->name) == n && strncmp(l->all.at[i]->name, name, n) == 0)
            return l->all.at[i];
    return NULL;
}

/* What a file knows at its end by a name; NULL: nothing. */
static const Binding *known_in(Arena *a, const File *f, const char *path)
{
    const Module *m = f->module;
    for (;; path += strcspn(path, ".") + 1) {
        Listing l = {.a = a};
        size_t n = strcspn(path, ".");
        fe_members(m, collect, &l);
        const Binding *b = named(&l, path, n);
        if (!b || !path[n])
            return b;
        if (b->kind != BIND_MODULE)
            return NULL;
        m = b->module;
    }
}

typedef struct {
    Listing *l;
    Ast *ast;
    const char *module;
} Builtins;

static void collect_builtin(void *env, const char *name)
{
    Builtins *s = env;
    const Binding *b = fe_builtin(s->ast, arena_printf(s->l->a, "%s.%s", s->module, name));
    if (b)
        collect(s->l, b);
}

bool listing_members(Listing *l, Ast *ast, const char *module)
{
    PrimType scalar;
    const Binding *b = known_in(l->a, ast->main, module);
    Builtins builtins = {l, ast, module};
    if (b && b->kind == BIND_MODULE)
        fe_members(b->module, collect, l);
    else if (prim_named(module, &scalar))
        fe_builtins(module, collect_builtin, &builtins);
    else
        return false;
    return true;
}

bool listing_doc(Arena *a, Ast *ast, const char *name)
{
    Out o = {0};
    const Binding *b = known_in(a, ast->main, name);
    b = b ? b : known_in(a, ast->prelude, name);
    b = b ? b : fe_builtin(ast, name);
    if (!b)
        return false;
    const char *doc = b->kind == BIND_BUILTIN ? fe_builtin_doc(name) : show_doc(b);
    show(&o, a, b, name);
    if (doc)
        out_printf(&o, "%s\n", doc);
    print(&o);
    return true;
}
