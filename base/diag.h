/* Source texts and messages about them. A message is `file:line:col: error: text`, the source line
 * and a caret; several errors a run. Whose fault decides the exit code (diag_exit_code): the user's
 * program 1, usage 2, a known limitation 3, a bug of ours 4. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of source text: offsets into the table of all sources. {0,0}: no position known. */
typedef struct {
    uint32_t beg, end;
} Loc;
#define NO_LOC ((Loc){0, 0})

enum { EXIT_USER = 1, EXIT_USAGE = 2, EXIT_LIMIT = 3, EXIT_BUG = 4 };

/* Adds a source text (copied); returns the offset of its first byte. Positions in it are
 * base+0 ... base+n. */
uint32_t diag_source_add(const char *name, const char *text, size_t n);

/* The source that begins there has another text (copied). False: it is too long for its place. */
bool diag_source_change(uint32_t base, const char *text, size_t n);

/* The source that begins there is complete, with all that it reads: messages about it come behind
 * those about sources that were before. */
void diag_source_done(uint32_t base);

typedef struct {
    const char *file; /* NULL if unknown */
    int line, col;    /* from 1; a tab counts as one column */
} Place;
Place diag_place(Loc loc);
/* `file:line:col`, interned; "?" if unknown. */
const char *diag_place_str(Loc loc);
/* The source line that loc begins in, without newline, interned; NULL if unknown. */
const char *diag_line_text(Loc loc);
/* That line and one with a caret under the place, both indented, without a newline at the end; NULL
 * if it is unknown. */
const char *diag_excerpt(Loc loc);
/* Prints them to standard error. */
void diag_print_line(Loc loc);
static inline Loc loc_join(Loc a, Loc b)
{
    if (!a.beg)
        return b;
    return b.beg ? (Loc){a.beg, b.end > a.end ? b.end : a.end} : a;
}

/* Messages are kept until diag_flush prints them in source order of the errors, those of a file
 * before those of files that read it (notes stay with their error), at most 20 errors, each of at
 * most 600 bytes; a duplicate (same place, same text) is dropped. */
void diag_error(Loc loc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_warn(Loc loc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_limit(Loc loc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_note(Loc loc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
typedef enum { DIAG_ERROR, DIAG_WARNING, DIAG_LIMIT, DIAG_NOTE } DiagKind;
typedef struct {
    DiagKind kind;
    Loc loc;
    int group; /* notes share the group of the message they follow */
    int order;
    const char *text;
    const char *section; /* of docs/language.md, which explains it; NULL: none */
    const struct DiagFix *fixes;
} DiagMessage;
/* Warnings about the sources that there are by now have been told before: no more of them. */
void diag_told(void);

/* A change that mends the program, as far as one can know, which editors offer: the text in the
 * place of what stands at `at`. */
typedef struct DiagFix {
    Loc at;
    const char *text;
    const struct DiagFix *next;
} DiagFix;
/* The message before this (diag_error, diag_warn) is mended by that. */
void diag_fix(Loc at, const char *text);
/* ... by another word in the place of the last one like it at loc, if it is there. */
void diag_fix_word(Loc loc, const char *word, const char *instead);
/* ... by what is put around what stands at loc. */
void diag_fix_around(Loc loc, const char *before, const char *behind);
/* For who makes the messages of a program anew after a change, but for those that stay as they are:
 * what is pending, copied; forgets what is pending, and that there were errors; what was pending is
 * so again, and counts, behind what is pending. */
typedef VEC(DiagMessage) DiagMessages;
DiagMessages diag_pending(Arena *a);
int diag_count(void); /* of what is pending, with notes */
void diag_forget(void);
void diag_again(const DiagMessage *all, int n);
/* Gives what is pending, all of it, to `take` instead of printing it: each message with its notes,
 * in the order of diag_flush. */
typedef void DiagTake(void *env, const DiagMessage *m, const DiagMessage *notes, int n_notes);
void diag_take(DiagTake *take, void *env);
/* How many messages there were, without notes. Those that came after the first `since` are
 * explained in this section of docs/language.md, which is named behind the first of them that is
 * printed. */
int diag_messages(void);
void diag_explained(int since, const char *section);
int diag_errors(void);       /* errors and limits so far */
int diag_wrong(void);        /* without the limits */
bool diag_has_dropped(void); /* something that is pending was one too many to be kept */
/* Further messages are only counted: what would make them more helpful need not be looked for. */
bool diag_is_full(void);
/* Prints what is pending to stderr; called at the end of each stage. */
void diag_flush(void);
/* 0 without errors, EXIT_USER if a user error was reported, else EXIT_LIMIT. */
int diag_exit_code(void);
void diag_reset(void); /* forgets messages and sources */

/* An internal error: prints the pass at work and the place, exits 4. */
_Noreturn void ice_at(const char *file, int line, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define ice(loc, ...) ice_at(__FILE__, __LINE__, (loc), __VA_ARGS__)
#define ASSERT(c)                                                                                  \
    do {                                                                                           \
        if (!(c))                                                                                  \
            ice_at(__FILE__, __LINE__, (Loc){0, 0}, "broken invariant: %s", #c);                   \
    } while (0)
#endif
