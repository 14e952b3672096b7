/* Values of the protocol as JSON. */
#ifndef LSP_JSON_H
#define LSP_JSON_H

#include "base/out.h"
#include "lsp/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* {line, character}; false if it is none. */
bool json_read_position(const cJSON *at, Position *p);
/* {start, end} of a piece of a text. */
cJSON *json_range(const Lines *l, size_t beg, size_t end);
/* As text: {line, character} of an offset; a few numbers with commas between them. */
void json_put_position(Out *o, const Lines *l, size_t at);
void json_put_counts(Out *o, const uint32_t *all, int n);
/* The text as a value. */
cJSON *json_taken(Out *o);
/* A string; bytes that are no UTF-8 become the character for that. */
cJSON *json_text(const char *text);
/* The string at a path of names, "a.b.c"; NULL if there is none. */
const char *json_string(const cJSON *in, const char *path);
const cJSON *json_member(const cJSON *in, const char *path);

#endif
