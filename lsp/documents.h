/* The documents that the editor has open: their texts are what counts, not the files'. */
#ifndef LSP_DOCUMENTS_H
#define LSP_DOCUMENTS_H

#include "frontend/frontend.h"
#include "lsp/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* A file that a program was looked for in, there or not, and what tells whether it is as it was
 * then; NULL: its text was that of an open document. */
typedef struct {
    char *path, *stamp;
} FileRead;
typedef VEC(FileRead) FilesRead;

typedef struct Document {
    char *uri;
    char *path; /* of its file; of a document without one, its URI */
    char *text; /* n bytes, followed by a zero byte */
    size_t n;
    char *good; /* the last text that was parsed without an error, or NULL */
    size_t n_good;
    int version;
    bool stale;      /* its diagnostics are to be made, ... */
    bool anew;       /* ... and not its text alone has changed */
    bool known;      /* what `reads` says, ... */
    FilesRead reads; /* ... of its last diagnostics: the files that they depend on; on the heap */
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
/* Marks those as stale whose diagnostics depend on the file, or may do so. */
void documents_touch(const Documents *ds, const char *path);
/* Are files that its diagnostics depend on not as they were? */
bool document_is_outdated(const Document *d);
/* Marks those that are, or may be so since a file was missing. */
void documents_touch_outdated(const Documents *ds);
/* Forgets which files its diagnostics depend on. */
void document_forget_reads(Document *d);
/* What tells whether the file of that path is another one later; "" if there is none. With `now`:
 * it is about to be read, and one that has just been written may be written again without being
 * told from that. To be freed. */
char *file_stamp(const char *path, bool now);
/* The open document of a file, or NULL: of that path, whatever `.` and `..` it has, or another name
 * of the file. */
const Document *document_of_file(const Documents *ds, const char *path);

/* The path of a file: URI; any other URI is itself. To be freed. */
char *uri_path(const char *uri);
/* The URI of a path, to be freed. */
char *path_uri(const char *path);

#endif
