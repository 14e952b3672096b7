/* The programs that belong together: those in the folders that the editor has open. */
#ifndef LSP_WORKSPACE_H
#define LSP_WORKSPACE_H

#include "command/folders.h"
#include "lsp/client.h"
#include "lsp/documents.h"

typedef struct {
    const char *path;
    const Document *doc; /* if it is open, else NULL */
} Program;
typedef VEC(Program) Programs;

/* Open documents and the programs in the folders, each file once. If the editor has no
 * folder open: in that above `doc` (or NULL) that holds a `futhark.pkg`, else in the document's
 * own, but none below it. */
Programs workspace_programs(Arena *a, const Documents *docs, const Client *client,
                            const Document *doc);
/* Has the file, as the editor shows it or on the disk, that word, and an import? */
bool workspace_mentions(Arena *a, const Program *p, const char *word);

#endif
