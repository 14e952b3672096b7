/* minifut doc: reads a program and writes its page. */
#include "docgen/docgen.h"

#include "base/args.h"

#include <errno.h>
#include <string.h>

static const char usage[] = "usage: minifut doc [-o FILE] prog.sf\n"
                            "       minifut doc --prelude\n"
                            "\n"
                            "Documentation of a program, or of what every program has: what is defined, with types and what the comments\n"
                            "`-- |` say, as Markdown.\n";

typedef struct {
    const char *file, *output;
    bool prelude;
} Command;

static int take_program(void *env, const char *word)
{
    Command *c = env;
    if (c->file) {
        fprintf(stderr, "minifut doc: one program at a time: '%s' and '%s'\n", c->file, word);
        return EXIT_USAGE;
    }
    c->file = word;
    return -1;
}

static int write_page(const Command *c, const Page *p)
{
    Out o = {0};
    page_markdown(&o, p);
    bool ok = c->output ? out_write_file(&o, c->output)
                        : fwrite(o.text, 1, o.n, stdout) == o.n && fflush(stdout) == 0;
    if (!ok)
        fprintf(stderr, "minifut doc: cannot write %s: %s\n", c->output ? c->output : "to standard output", strerror(errno));
    out_free(&o);
    return ok ? 0 : EXIT_USER;
}

int doc_main(int argc, char **argv)
{
    Command c = {0};
    const ArgRow rows[] = {{"-o FILE", "writes it there (default: standard output)", .text = &c.output},
                           {"--prelude", "of what every program has", .flag = &c.prelude},
                           {0}};
    const Args args = {"minifut doc", usage, rows, 0, &c, NULL, take_program, "sf"};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    if (!c.file == !c.prelude)
        return args_wrong(&args, c.file ? "--prelude is a page by itself: without a program" : "which program?");
    Arena *a = arena_new();
    Page p = {0};
    if (c.prelude) {
        p = page_of_library(a);
    } else {
        Ast *ast = fe_load(a, c.file);
        bool ok = ast && fe_check(ast);
        diag_flush();
        if (!ok)
            return diag_exit_code();
        p = page_of_program(a, ast);
    }
    return write_page(&c, &p);
}
