/* The documents that the editor has open: their texts are what counts, not the files'. */
#ifndef LSP_DOCUMENTS_H
#define LSP_DOCUMENTS_H

#include "frontend/frontend.h"
#include "lsp/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

typedef struct Document {
    char *uri;
    char *path; /* of its file; of a document without one, its URI */
    char *text; /* n bytes, followed by a zero byte */
    size_t n;
    char *good; /* the last text that was parsed without an error, or NULL */
    size_t n_good;
    int version;
    bool stale;   /* its diagnostics are to be made */
    char **reads; /* the files that it imports, as of its last diagnostics, up to a NULL; or NULL */
    struct Document *next;
    const FePiece *before; /* n_before texts that it follows in a session, as ... */
    int n_before;
    bool exp; /* ... an expression */
} Document;

typedef struct {
    Document *first;
} Documents;

Document *document_find(const Documents *ds, const char *uri);
/* Opens a document, or gives the one that is open another text. */
Document *document_open(Documents *ds, const char *uri, const char *text, int version);
void document_close(Documents *ds, Document *d);
/* Applies the contentChanges of a didChange in order; those that are malformed are passed over,
 * which gives false. */
bool document_change(Document *d, const cJSON *changes);
/* Marks those as stale whose diagnostics depend on the file; NULL: all. */
void documents_touch(const Documents *ds, const char *path);
/* The open document of a file, or NULL: of that path, whatever `.` and `..` it has, or another name
 * of the file. */
const Document *document_of_file(const Documents *ds, const char *path);

/* The path of a file: URI; any other URI is itself. To be freed. */
char *uri_path(const char *uri);
/* The URI of a path, to be freed. */
char *path_uri(const char *path);

#endif
