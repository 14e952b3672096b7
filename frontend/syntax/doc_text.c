/* Doc comments as text: Markdown, in which examples are code. */
#include "frontend/syntax/print.h"

#include <string.h>

void fe_doc_markdown(Out *o, const char *doc)
{
    bool example = false,
         fenced = false; /* in an example; in code that the comment itself fences */
    for (const char *line = doc; *line;) {
        size_t n = strcspn(line, "\n");
        fenced ^= n >= 3 && !strncmp(line, "```", 3);
        if (!example && !fenced && !strncmp(line, ">>> ", 4)) {
            out_puts(o, "```futhark\n");
            example = true;
        } else if (example && n == 0) {
            out_puts(o, "```\n");
            example = false;
        }
        out_putn(o, line, n);
        out_puts(o, "\n");
        line += n + (line[n] == '\n');
    }
    if (example)
        out_puts(o, "```\n");
}
