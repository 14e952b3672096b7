/* What may stand where somebody types. */
#ifndef REPL_OFFER_H
#define REPL_OFFER_H

#include "repl/dialogue.h"
#include "repl/edit.h"

/* The names that begin as the word in front of an offset of a text, which follows a session: those
 * that the language server offers there (lsp/complete.c). offers->from is set to an offset. */
void offer_names(const Session *s, const char *text, size_t at, Offers *offers);
/* Files and folders that begin as the word in front of the cursor. */
void offer_files(const char *line, size_t cursor, Offers *offers);

#endif
