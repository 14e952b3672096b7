/* Host values and their text and binary forms (Futhark's data formats).
 *
 * Used twice: by the compiler (interpreter, tune, bench, dataset, test) and, as text, inside each
 * generated program. It therefore includes no header of the compiler, and allocates with malloc.
 *
 * Text:    123  -5i64  0x1Fu8  1.5  1e3f32  f32.nan  -f64.inf  true  [1, 2, 3]  [[1i8], [2i8]]
 *          empty([0][3]i32)  "abc" (a []u8).  Comments run from -- to the end of the line.
 * Binary:  'b' 2 RANK TYPE DIMS DATA: version 2, rank u8, four characters of type ("  i8" " f32"
 *          "bool"), dims u64 little endian, elements row-major little endian, bool one byte.
 * Values follow one another, with white space before each; the two forms may be mixed. */
#ifndef COMMON_VALUES_H
#define COMMON_VALUES_H

#include "common/scalars.def"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What precedes each public function: nothing here; `static` where prog.c holds the whole runtime.
 */
#ifndef RT_API
#define RT_API
#endif

/* The element types. Booleans are stored in 8 bits, 0 or 1, on host and device. */
typedef enum {
#define X(TAG, ...) RT_##TAG,
    RT_SCALARS(X, )
#undef X
        RT_N_PRIMS
} rt_prim;

enum { RT_MAX_RANK = 16 };

/* The largest size of a dimension, and number of bytes of an array, in whatever memory: sums and
 * products with what belongs to one element or to the device then do not wrap around. */
#define RT_MAX_SIZE  ((INT64_C(1) << 48) - 1)
#define RT_MAX_BYTES (INT64_MAX / 2)

/* Bytes of one element (1, 2, 4 or 8), and the type's name as written in programs ("i32"). */
RT_API int rt_prim_size(rt_prim p);
RT_API const char *rt_prim_name(rt_prim p);
/* The type with this name; false if there is none. */
RT_API bool rt_prim_named(const char *name, rt_prim *p);
/* Is it one of integers with a sign, of floats? */
RT_API bool rt_prim_is_signed(rt_prim p);
RT_API bool rt_prim_is_float(rt_prim p);

/* One scalar, by type. As an array element it is stored in its first rt_prim_size bytes. */
typedef union {
#define X(TAG, T, text, bits, C, ...) C T;
    RT_SCALARS(X, )
#undef X
} rt_scalar;

/* The number of an element of integers or bool (of u64, its bits), and of one of floats. */
RT_API int64_t rt_int_get(rt_prim p, const void *elem);
RT_API double rt_float_get(rt_prim p, const void *elem);
/* A number of a type of floats in *out. */
RT_API void rt_float_put(rt_prim p, double x, rt_scalar *out);
/* The number of a type of floats that is nearest to the one which the text begins with. */
RT_API double rt_float_read(rt_prim p, const char *text);

/* A value in host memory: a scalar (rank 0) or a row-major array of any rank. */
typedef struct {
    rt_prim prim;
    int rank;
    int64_t shape[RT_MAX_RANK]; /* the first `rank` are valid; each >= 0 */
    void *data;                 /* malloc'd; rt_hvalue_bytes; never NULL, even when empty */
} rt_hvalue;

/* Bytes of an array of this shape; -1 if a dimension or the array is negative or too large. */
RT_API int64_t rt_shape_bytes(rt_prim p, int rank, const int64_t *shape);
/* Number of elements (1 for a scalar), and of bytes. */
RT_API int64_t rt_hvalue_count(const rt_hvalue *v);
RT_API int64_t rt_hvalue_bytes(const rt_hvalue *v);
/* Fills in *v with room for the elements, zeroed. False (and *v is empty: data NULL) when the size
 * overflows or memory is short. */
RT_API bool rt_hvalue_make(rt_hvalue *v, rt_prim p, int rank, const int64_t *shape);
/* Releases the data; v may be used again. */
RT_API void rt_hvalue_free(rt_hvalue *v);
/* "[3][4]f32" or "i32" into buf. */
RT_API void rt_hvalue_type(const rt_hvalue *v, char *buf, size_t n);
/* "[][]f32" into buf. */
RT_API void rt_type_name(rt_prim p, int rank, char *buf, size_t n);

/* --- Reading --- */

/* A stream of values. Filled in by rt_reader_file or rt_reader_mem; the fields are private. */
typedef struct {
    FILE *f;            /* NULL when reading from memory */
    bool opened;        /* f is ours to close */
    long unpacker;      /* the process that f comes from; 0: f is a file */
    const char *name;   /* for messages: "standard input", a path; not copied */
    unsigned char *buf; /* window of the file (malloc'd), or the caller's memory */
    size_t pos, len;    /* next byte, and end, of buf */
    int64_t line, col;  /* of the next byte, from 1 (text) */
    int64_t offset;     /* of the next byte, from 0 */
    bool binary;        /* inside a binary value: errors give the offset */
    int io_error;       /* errno of a failed read, or 0 */
    /* Public: NULL, or asked now and then: true ends reading with an error. */
    bool (*stopped)(void);
    char error[512]; /* of the last failed call, with position */
} rt_reader;

/* Elements as they were read from a file, made valid ones. */
RT_API void rt_mend_elements(rt_prim p, unsigned char *data, size_t n);
/* Reads values from an open file (not closed by rt_reader_close). */
RT_API bool rt_reader_file(rt_reader *r, FILE *f, const char *name);
/* Opens a file; a name ending in .gz is unpacked by gzip. False and r->error when it cannot. */
RT_API bool rt_reader_open(rt_reader *r, const char *path);
/* Reads from memory, which must stay as it is. */
RT_API void rt_reader_mem(rt_reader *r, const void *text, size_t n, const char *name);
/* Releases what the reader holds. False and r->error if unpacking failed. */
RT_API bool rt_reader_close(rt_reader *r);

/* Reads the next value, text or binary, as an array of `prim` with `rank` dimensions. Untyped
 * literals (16, 1.5, 1e3) take that type: an integer literal is accepted for a
 * float, not the other way; integers wrap around (255i8 is -1i8). A literal with another type's
 * suffix, another rank or ragged rows is an error. False: r->error says what and where ("standard
 * input:3:7: expected ..., got ..."), *v is empty. */
RT_API bool rt_read_value(rt_reader *r, rt_prim prim, int rank, rt_hvalue *v);
/* The same, but leaves off where the elements of a binary value begin: then *v has no data. They
 * are read by rt_read_elements, of *v, n at a time; or left out, of a file, by rt_reader_leap. */
RT_API bool rt_read_begin(rt_reader *r, rt_prim prim, int rank, rt_hvalue *v);
RT_API bool rt_read_elements(rt_reader *r, const rt_hvalue *v, int64_t n, void *dst);
RT_API bool rt_reader_leap(rt_reader *r, int64_t bytes);
/* Bytes of the file that it reads as it is; -1: it reads no such file. */
RT_API int64_t rt_reader_file_size(const rt_reader *r);
/* Reads the next value, whatever its type: untyped integers are i32 (i64 when they do not fit any
 * more), untyped decimals f64. The first element decides an array's type. */
RT_API bool rt_read_any(rt_reader *r, rt_hvalue *v);
/* True when only white space and comments are left. */
RT_API bool rt_reader_at_end(rt_reader *r);
/* A scalar from text such as "-5", "1.5f32": false when it is not exactly one literal of that type,
 * which it fits. */
RT_API bool rt_parse_scalar(const char *text, rt_prim prim, rt_scalar *out);

/* --- Writing --- */

/* Text without a newline: "1i32", "[1.0f32, 2.5f32]", "empty([0][3]bool)". Floats are printed with
 * the fewest digits that read back as the same number. False on a write error. */
RT_API bool rt_write_text(FILE *f, const rt_hvalue *v);
/* Is it []u8? Its elements as the characters of a text, which ends a line. */
RT_API bool rt_is_chars(const rt_hvalue *v);
RT_API bool rt_write_chars(FILE *f, const rt_hvalue *v);
/* What the binary form begins with, before the sizes. */
enum { RT_HEAD = 7 };
RT_API void rt_binary_head(rt_prim prim, int rank, char head[RT_HEAD]);
/* The binary form. */
RT_API bool rt_write_binary(FILE *f, const rt_hvalue *v);
/* Opens a file of data to read: a regular one, since a device may have no end and a pipe no writer;
 * `pipe`: or a pipe. NULL and *wrong, which is not to be freed, if it cannot be. */
RT_API FILE *rt_file_open(const char *path, bool pipe, const char **wrong);
/* Closes a file that was written to. False and errno if not all of it could be written: now, or
 * earlier. */
RT_API bool rt_close_written(FILE *f);
/* One scalar as text, with suffix, into buf (48 bytes are enough). */
RT_API void rt_scalar_text(rt_prim p, const void *elem, char *buf, size_t n);

/* Of a value that is written piece by piece: elements from .. from + n - 1 of v, whose own data is
 * not looked at. From the first element to the last one; of no elements, in one piece. */
typedef bool rt_write_fn(FILE *f, const rt_hvalue *v, int64_t from, int64_t n, const void *elems);
RT_API rt_write_fn rt_text_elements, rt_chars_elements, rt_binary_elements;

/* --- Comparing --- */

/* True when both have the same type and shape, and equal elements; floats may differ by `tol`
 * relatively to the larger magnitude (or absolutely below 1), NaN equals NaN. Else a message
 * ("[2][3]: 1.0f32, expected 2.0f32; 7 elements differ") goes to why (may be NULL). */
RT_API bool rt_hvalue_equal(const rt_hvalue *got, const rt_hvalue *want, double tol, char *why,
                            size_t n);

#endif
