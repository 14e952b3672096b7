/* textDocument/formatting: the whole document in its layout, as one edit. */
#include "fmt/fmt.h"
#include "lsp/look.h"

#include <string.h>

cJSON *query_formatting(const Query *q)
{
    const Document *d = q->doc;
    Out o = {0};
    if (!fmt_text(d->path, d->text, d->n, &o)) /* its diagnostics say why */
        return NULL;
    cJSON *edits = cJSON_CreateArray();
    if (o.n != d->n || (o.n && memcmp(o.text, d->text, o.n) != 0)) {
        Lines now = lines_of(q->a, d->text, d->n);
        cJSON *edit = cJSON_CreateObject();
        cJSON_AddItemToObject(edit, "range", json_range(&now, 0, d->n));
        cJSON_AddItemToObject(edit, "newText", json_text(o.text ? o.text : ""));
        cJSON_AddItemToArray(edits, edit);
    }
    out_free(&o);
    return edits;
}
