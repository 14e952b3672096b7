/* The test directives of a program: comments of the form
 *
 *     -- What this is about.
 *     -- ==
 *     -- tags { slow }
 *     -- entry: f g
 *     -- "small" notune input { 1i32 [2,3] } output { [3,4] }
 *     -- input @ data/big.in.gz output @ data/big.out
 *     -- random input { [100]i32 } auto output
 *     -- script input { make 100i64 } output { [1] }
 *     -- input { [1] 5 } error: out of bounds
 *     -- property: f
 *
 * as in the test files of Futhark; a program that must be rejected has `error: REGEX` in place of
 * cases. Used by minifut test, and by tune and bench where no folder of data sets is given. */
#ifndef AUTOTUNE_DATA_DIRECTIVES_H
#define AUTOTUNE_DATA_DIRECTIVES_H

#include "autotune/data/script.h"
#include "base/diag.h"
#include "base/vec.h"
#include "common/values.h"

/* Where values come from: memory, or else the file `name` (text, binary, .gz). In the text of
 * inline values all but the values is white space, so that the lines and columns of a reader's
 * messages are those of the program, whose name it has. */
typedef struct {
    const char *name; /* NULL: there are none */
    const char *text;
    size_t n;
} DataSource;
/* As rt_reader_open. */
bool data_source_open(const DataSource *s, rt_reader *r);

typedef enum {
    EXPECT_ANY,    /* no output is given: versions are compared with one another */
    EXPECT_VALUES, /* output { } or output @ */
    EXPECT_AUTO,   /* auto output: what the interpreter says */
    EXPECT_ERROR   /* error: the run must fail */
} Expectation;

/* One input of one entry point with what it should give. */
typedef struct {
    const char *name; /* as given in quotes, else a short description: "#2 ([2i32, 3i32])" */
    const char *entry;
    Loc loc;       /* of the case's first word */
    Loc input_loc; /* of the values, or of the file's name */
    Loc output_loc;
    DataSource input, output;
    const char *random;   /* random input: the types, until directives_random */
    const Script *script; /* script input: the expression */
    Expectation expect;
    const char *error; /* EXPECT_ERROR: a POSIX extended regular expression; NULL: any message */
    bool compiled;     /* not for the interpreter */
    bool notest, notune, nobench;
} TestCase;
typedef VEC(TestCase) TestCases;
typedef VEC(const char *) Words;

/* An entry point that has to give `true`, whatever it is given. */
typedef struct {
    const char *entry;
    Loc loc;
} Property;

typedef struct {
    const char *file;
    Words tags;
    TestCases cases;       /* one for each entry point that the case is for */
    bool rejected;         /* the program must be rejected */
    const char *rejection; /* with a message that matches this; NULL: any */
    Loc rejection_loc;
    Words warnings; /* the program must get warnings that match these */
    VEC(Property) properties;
} Directives;

/* Reads a program and its directives. False after messages (not flushed) if the program cannot be
 * read or a directive is malformed. File names are taken relative to the program. */
bool directives_read(Arena *a, const char *file, Directives *d);

/* Fills in the input of a case with random values (the same for the same types and position among
 * the program's cases). False after a message. */
bool directives_random(Arena *a, TestCase *c);

/* Has the program this tag? */
bool directives_tagged(const Directives *d, const char *tag);

/* Is there a match in the text? Lines are matched one by one; a NULL expression matches any text.
 */
bool directives_match(const char *regex, const char *text);

#endif
