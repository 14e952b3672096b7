/* What is defined, as the language server shows it. */
#include "repl/listing.h"

#include "lsp/look.h"

#include <stdio.h>

/* A later one has its name. */
static bool is_hidden(const Listing *l, int i)
{
    const Binding *b = l->all.at[i];
    for (int k = i + 1; k < l->all.n; k++)
        if (l->all.at[k]->name == b->name && l->all.at[k]->kind == b->kind)
            return true;
    return false;
}

void listing_print(const Listing *l)
{
    Out o = {0};
    for (int i = 0; i < l->all.n; i++) {
        if (is_hidden(l, i))
            continue;
        const Binding *b = l->all.at[i];
        if (b->kind == BIND_DEF && b->def && !b->stands)
            fe_print_interface(&o, b->def);
        else
            show_binding(&o, l->a, b, b->name);
        out_puts(&o, "\n");
    }
    fputs(o.text ? o.text : "", stdout);
    out_free(&o);
}
