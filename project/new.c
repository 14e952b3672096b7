/* minifut new NAME: makes the folder NAME with a program, its test, data sets to make, and a
 * Makefile that knows the commands. A folder that is there is left alone; one that cannot be filled
 * is taken away again. Templates say @ for the name. */
#include "project/new.h"

#include "base/diag.h"
#include "base/out.h"
#include "command/args.h"
#include "command/tempdir.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *name; /* of the file */
    const char *text;
} Template;

static const char program_text[] =
    "-- @: of each row of a matrix the mean, and how far its elements are from it on average.\n"
    "--\n"
    "-- A test case is an input and the output that it must give; `make test` runs it in every "
    "version of the program.\n"
    "-- ==\n"
    "-- input { [[1f32, 2f32, 3f32], [4f32, 4f32, 4f32]] }\n"
    "-- output { [2f32, 4f32] [0.6666667f32, 0f32] }\n"
    "\n"
    "def mean [m] (xs: [m]f32): f32 = f32.sum xs / f32.i64 m\n"
    "\n"
    "def spread [m] (xs: [m]f32) (middle: f32): f32 = mean (map (\\x -> f32.abs (x - middle)) xs)\n"
    "\n"
    "entry main [n][m] (xss: [n][m]f32): ([n]f32, [n]f32) =\n"
    "  let means = map mean xss\n"
    "  in (means, map2 spread xss means)\n";

static const char makefile_text[] =
    "# make compile, test, run, data, tune, bench, clean. MINIFUT=... is another compiler.\n"
    "MINIFUT ?= minifut\n"
    "DATA := datasets/few_long_rows.in datasets/many_short_rows.in\n"
    "# The tuning, once it has been found.\n"
    "TUNING = $(if $(wildcard @.sf.tuning),--tuning @.sf.tuning)\n"
    "\n"
    "compile:\n"
    "\t$(MINIFUT) compile @.sf\n"
    "\n"
    "# The cases in the program's comments: interpreted, and compiled in every version.\n"
    "test:\n"
    "\t$(MINIFUT) test @.sf\n"
    "\n"
    "run: compile\n"
    "\techo '[[1f32, 2f32, 6f32], [5f32, 5f32, 5f32]]' | ./@ $(TUNING)\n"
    "\n"
    "# Which version is best depends on the shape of the data, so data sets have the shapes that "
    "matter to you.\n"
    "data: $(DATA)\n"
    "datasets/few_long_rows.in:\n"
    "\tmkdir -p datasets\n"
    "\t$(MINIFUT) dataset -b -g '[4][65536]f32' >$@@\n"
    "datasets/many_short_rows.in:\n"
    "\tmkdir -p datasets\n"
    "\t$(MINIFUT) dataset -b -g '[65536][4]f32' >$@@\n"
    "\n"
    "tune: data\n"
    "\t$(MINIFUT) tune @.sf datasets\n"
    "\n"
    "bench: data\n"
    "\t$(MINIFUT) bench @.sf datasets\n"
    "\n"
    "clean:\n"
    "\trm -rf @ @.c @.sf.tuning @.sf.tuning.log datasets\n"
    "\n"
    ".DELETE_ON_ERROR:\n"
    ".PHONY: compile test run data tune bench clean\n";

static const char readme_text[] =
    "# @\n"
    "\n"
    "`@.sf` is the program. What one does with it (see the Makefile):\n"
    "\n"
    "- `make run`: compiles it and runs it on a small input\n"
    "- `make test`: its test cases, in every version\n"
    "- `make tune`, then `make bench`: finds which version is best for the data sets of `make "
    "data`, and what that gains\n"
    "- `minifut explain @.sf`: the versions, their thresholds and kernels\n"
    "\n"
    "It runs on the best OpenCL device here; `minifut devices` lists them.\n";

static const char ignore_text[] = "/@\n/@.c\n/@.sf.tuning.log\n/datasets/\n";

/* The program's own file bears its name. */
static const Template templates[] = {{"@.sf", program_text},
                                     {"Makefile", makefile_text},
                                     {"README.md", readme_text},
                                     {".gitignore", ignore_text}};

/* The text with the name for each @, and @ for @@. */
static void fill(Out *o, const char *text, const char *name)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "@");
        out_putn(o, at, n);
        at += n;
        if (*at && at[1] == '@')
            out_putn(o, at++, 1);
        else if (*at)
            out_puts(o, name);
        at += *at != '\0';
    }
}

/* A file of the project; false and a message if it cannot be written. */
static bool make_file(const Template *t, const char *name)
{
    Out path = {0}, text = {0};
    out_printf(&path, "%s/", name);
    fill(&path, t->name, name);
    fill(&text, t->text, name);
    bool ok = out_write_file(&text, path.text);
    if (!ok)
        fprintf(stderr, "minifut new: cannot write %s: %s\n", path.text, strerror(errno));
    out_free(&path);
    out_free(&text);
    return ok;
}

/* Names that programs may have: those of the language's definitions, since the binary and the C
 * file are named so, too. */
static bool is_name(const char *s)
{
    enum { LONGEST = 100 };
    size_t n = strlen(s);
    bool ok = n > 0 && n <= LONGEST && (isalpha((unsigned char)s[0]) || s[0] == '_');
    for (size_t i = 0; i < n && ok; i++)
        ok = isalnum((unsigned char)s[i]) || s[i] == '_';
    return ok;
}

/* Is it what the binary cannot be called, since the project has something else of that name? */
static bool is_taken(const char *s)
{
    static const char *const taken[] = {"Makefile", "makefile", "GNUmakefile", "datasets"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(s, taken[i]) == 0)
            return true;
    return false;
}

static int make_project(const char *name)
{
    if (mkdir(name, 0777) != 0) {
        fprintf(stderr, "minifut new: cannot make the folder %s: %s%s\n", name, strerror(errno),
                errno == EEXIST ? "; nothing is overwritten" : "");
        return EXIT_USER;
    }
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if (!make_file(&templates[i], name)) {
            remove_folder(name);
            return EXIT_USER;
        }
    }
    printf("%s/ has a program, %s.sf, its test, and a Makefile; next: cd %s && make run\n", name,
           name, name);
    return 0;
}

typedef struct {
    Args args;
    const char *name;
} Wanted;

static int take_name(void *env, const char *word)
{
    Wanted *w = env;
    if (w->name)
        return args_wrong(&w->args, "one name at a time: '%s' and '%s'", w->name, word);
    if (!is_name(word))
        return args_wrong(&w->args,
                          "'%s' cannot be the name of a program and its folder: letters, digits "
                          "and _, no digit first",
                          word);
    if (is_taken(word))
        return args_wrong(
            &w->args,
            "'%s' cannot be the name of a program: its folder has another thing of that name",
            word);
    w->name = word;
    return -1;
}

int new_main(int argc, char **argv)
{
    static const ArgRow rows[] = {{0}};
    Wanted w = {{"minifut new",
                 "usage: minifut new NAME\n\n"
                 "Makes the folder NAME with a small program, its test, and a Makefile that "
                 "compiles, tests, runs, tunes and times it.\n",
                 rows, 0, &w, NULL, take_name, NULL, NULL},
                NULL};
    int code = args_read(&w.args, argc, argv);
    if (code < 0 && !w.name)
        code = args_wrong(&w.args, "which name?");
    return code < 0 ? make_project(w.name) : code;
}
