/* The wire: frames of JSON with a Content-Length, on standard input and output. */
#ifndef LSP_PROCESS_WIRE_H
#define LSP_PROCESS_WIRE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* A message may have so many bytes; of a longer one nothing is kept. */
enum { MAX_MESSAGE = 64 << 20 };

typedef struct {
    char *bytes;
    size_t n, cap;
} Buffer;

/* Appends bytes; a zero byte follows them. */
void buffer_put(Buffer *b, const char *bytes, size_t n);

typedef enum {
    WIRE_NONE,    /* no complete message yet */
    WIRE_MESSAGE, /* *out is one, to be deleted */
    WIRE_BROKEN,  /* something that is none was passed over */
} WireStatus;

/* The next message of what has been read. Behind a broken header it goes on at the next one. */
WireStatus wire_next(Buffer *in, cJSON **out);
/* Puts a message, which is text already, into the output; or one, which it deletes. */
void wire_put_text(Buffer *out, const char *text);
void wire_put(Buffer *out, cJSON *message);

#endif
