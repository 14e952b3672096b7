/* The log of measurements beside a tuning file: a line each, appended as soon as it is made, so
 * that whatever ends a tuning, the next one goes on where it was. Lines of other programs, devices
 * and data sets are left alone; lines that are not whole (a killed process, a full disk) are passed
 * over. */
#ifndef AUTOTUNE_RUN_JOURNAL_H
#define AUTOTUNE_RUN_JOURNAL_H

#include "autotune/run/measure.h"

typedef struct Journal Journal;
typedef enum {
    JOURNAL_GOES_ON,
    JOURNAL_AFRESH, /* what is in the file of this context is forgotten */
    JOURNAL_LOOKS   /* nothing is written */
} JournalMode;

/* Reads the file, if it is there, and opens it for appending. `context`: a word that stands for
 * what decides, apart from data set and settings, what is measured; `title`: says that to people.
 * Never NULL: without a file that can be read and written nothing is recalled or written, and
 * *wrong (else NULL) says why. */
Journal *journal_open(Arena *a, const char *path, const char *context, const char *title,
                      JournalMode mode, const char **wrong);
void journal_close(Journal *j);
/* Is the file a log? */
bool journal_is(const char *path);

/* The next measurement of the data set under the settings (both as texts) that was not handed out
 * yet: those in the file are handed out once each, in order. False: it is to be made. */
bool journal_next(Journal *j, const char *dataset, const char *settings, Measurement *m);
/* How many are in the file that hold here and were not handed out. */
int journal_left(const Journal *j);
/* Appends n that were made, all or none. False, once, with the reason in *wrong if the file cannot
 * be written (from then on nothing is). */
bool journal_add(Journal *j, const char *dataset, int n, const char *const settings[],
                 const Measurement m[], const char **wrong);

/* A hash of texts and files, as 16 digits: FNV-1a of 64 bits. */
typedef struct {
    uint64_t value;
} Fingerprint;
Fingerprint fingerprint(void);
void fingerprint_text(Fingerprint *f, const char *text, size_t n);
/* Of the bytes of a file; false and errno if it cannot be read. */
bool fingerprint_file(Fingerprint *f, const char *path);
const char *fingerprint_digits(Arena *a, const Fingerprint *f);

#endif
