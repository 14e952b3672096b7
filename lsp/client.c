/* What the editor can show, and which folders it has open. */
#include "lsp/client.h"

#include "lsp/documents.h"
#include "lsp/json.h"

#include <stdlib.h>
#include <string.h>

/* --- Folders -------------------------------------------------------------------------------- */

static int count(char *const *folders)
{
    int n = 0;
    while (folders && folders[n])
        n++;
    return n;
}

static void add_folder(Client *c, const char *uri)
{
    char *path = uri ? uri_path(uri) : NULL;
    if (!path || *path != '/') {
        free(path);
        return;
    }
    int n = count(c->folders);
    c->folders = mem_or_exit(realloc(c->folders, ((size_t)n + 2) * sizeof *c->folders));
    c->folders[n] = path;
    c->folders[n + 1] = NULL;
}

static void remove_folder(Client *c, const char *uri)
{
    char *path = uri ? uri_path(uri) : NULL;
    int n = count(c->folders), kept = 0;
    for (int i = 0; i < n; i++) {
        if (path && strcmp(path, c->folders[i]) == 0)
            free(c->folders[i]);
        else
            c->folders[kept++] = c->folders[i];
    }
    if (n)
        c->folders[kept] = NULL;
    free(path);
}

bool client_change_folders(Client *c, const cJSON *params)
{
    const cJSON *added = json_member(params, "event.added"),
                *removed = json_member(params, "event.removed"), *f;
    cJSON_ArrayForEach(f, removed)
    {
        remove_folder(c, json_string(f, "uri"));
    }
    cJSON_ArrayForEach(f, added)
    {
        add_folder(c, json_string(f, "uri"));
    }
    return cJSON_IsArray(added) && cJSON_IsArray(removed);
}

void client_free(Client *c)
{
    for (int i = 0; c->folders && c->folders[i]; i++)
        free(c->folders[i]);
    free(c->folders);
    *c = (Client){0};
}

/* --- What it can ---------------------------------------------------------------------------- */

static bool can(const cJSON *params, const char *what)
{
    return cJSON_IsTrue(json_member(json_member(params, "capabilities"), what));
}

/* The first that the editor names of those that we know. */
static Encoding encoding_of(const cJSON *params)
{
    const cJSON *all = json_member(params, "capabilities.general.positionEncodings"), *e;
    cJSON_ArrayForEach(e, all)
    {
        for (Encoding k = UTF_16; cJSON_IsString(e) && k < N_ENCODINGS; k++)
            if (strcmp(e->valuestring, encoding_names[k]) == 0)
                return k;
    }
    return UTF_16;
}

void client_read(Client *c, const cJSON *params)
{
    const cJSON *folders = json_member(params, "workspaceFolders"), *f;
    c->related = can(params, "textDocument.publishDiagnostics.relatedInformation");
    c->versioned = can(params, "workspace.workspaceEdit.documentChanges");
    c->prepares = can(params, "textDocument.rename.prepareSupport");
    c->offsets = can(params, "textDocument.signatureHelp.signatureInformation.parameterInformation."
                             "labelOffsetSupport");
    cJSON_ArrayForEach(f, folders)
    {
        add_folder(c, json_string(f, "uri"));
    }
    if (!cJSON_IsArray(folders))
        add_folder(c, json_string(params, "rootUri"));
    positions_count_in(encoding_of(params));
}
