/* What the versions of a program do, in the words of minifut explain. */
#ifndef AUTOTUNE_TUNER_WORDS_H
#define AUTOTUNE_TUNER_WORDS_H

#include "autotune/tuner/tuning.h"

/* Those of an entry point, asked of a process of this very compiler; none if it does not tell. */
VersionWords words_of(Arena *a, const char *source, const char *entry);
/* Those of the versions that stand above, each in a line. */
void words_html(Out *o, const VersionWords *w, const VersionIds *ids);
/* A cell with the text and their words below. */
void words_cell(Out *o, bool head, const char *text, const VersionWords *w, const VersionIds *ids);

#endif
