/* What programs say when they stop at run time: one text for the interpreter and for generated
 * programs. The words are Futhark's, as far as it has some for what happened, since test blocks
 * look for them. `%d` stands for a number, an i64, and
 * `%%` for a percent sign. */
#ifndef IR_STOPS_H
#define IR_STOPS_H

#include "base/out.h"
#include "ir/ir.h"

typedef enum {
#define STOP(name, text) STOP_##name,
#include "ir/stops.def"
#undef STOP
    N_STOPS
} Stop;
extern const char *const stop_text[N_STOPS];

/* Numbers that a failure inside a kernel can carry; further ones are `?`. */
enum { MOST_STOP_NUMBERS = 8 };

/* The text with the numbers in it. */
void stop_print(Out *o, const char *text, const int64_t *numbers, int n);
/* The same as printf has it, each number a `%ld`. */
void stop_format(Out *o, const char *text);

/* "Array of %d x %d elements is too large.", of so many dimensions. */
const char *stop_too_large(Arena *a, int rank);
/* "Value of (desugared) shape [%d][%d] cannot match shape of type "[%d][%d]i32".": the sizes that
 * it has, and those of the type. NULL: these are more numbers than a message has. */
const char *stop_shape(Arena *a, int rank, PrimType elem);

/* Of an index or an update: the indices, the array's type, and whether they are known to
 * be inside. */
const DimIndexes *index_dims(const Exp *e, Type *t, bool *safe);

/* "Index [%d, %d:%d] out of bounds for array of shape [%d][%d].", and what its numbers are. Behind
 * the last dimension of which the program takes a part nothing is said. */
typedef enum { INDEX_START, INDEX_END, INDEX_STRIDE, INDEX_SIZE } IndexPart;
typedef struct {
    const char *text;
    struct {
        IndexPart part;
        int dim;
    } at[MOST_STOP_NUMBERS];
    int n;
} IndexStop;
IndexStop stop_index(Arena *a, const Exp *e);

#endif
