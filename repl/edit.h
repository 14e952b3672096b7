/* Lines that somebody types: edited, with a history and completion, on a terminal; as they are, and
 * without prompts, from anything else. */
#ifndef REPL_EDIT_H
#define REPL_EDIT_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

/* What may stand at the place from .. cursor of a line, each as the whole word. */
typedef struct {
    Arena *a;
    size_t from;
    VEC(const char *) words;
} Offers;
typedef void OfferFn(void *env, const char *line, size_t cursor, Offers *offers);

typedef struct Edit Edit;
/* offer(env, ...) completes. One at a time. */
Edit *edit_open(OfferFn *offer, void *env);
/* Writes the history. */
void edit_close(Edit *e);
bool edit_is_terminal(const Edit *e);

/* The next line without its end, n bytes and a zero byte, until the next call; NULL: there is none:
 * at the end, or after a signal (repl/worker.h). */
const char *edit_line(Edit *e, const char *prompt, size_t *n);
/* Ends the line that is shown, after an interrupt. */
void edit_give_up(const Edit *e);
/* Notes what was typed, of one or several lines, for later. */
void edit_note(Edit *e, const char *text);

#endif
