/* What the editor has said of itself. */
#ifndef LSP_CLIENT_H
#define LSP_CLIENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

typedef struct {
    bool related;   /* it shows related places of a diagnostic */
    bool versioned; /* it takes changes of versions of documents */
    bool prepares;  /* it asks before a rename what would be renamed */
    bool offsets;   /* it takes the place of a parameter in the label of a signature */
    char **folders; /* that it has open: paths, up to a NULL; or NULL */
} Client;

/* From the parameters of `initialize`; how positions are counted, too. */
void client_read(Client *c, const cJSON *params);
/* From those of workspace/didChangeWorkspaceFolders; false: they are wrong. */
bool client_change_folders(Client *c, const cJSON *params);
void client_free(Client *c);

#endif
