/* minifut doc: reads a program and writes its page. */
#include "docgen/docgen.h"

#include "command/args.h"
#include "command/html.h"
#include "command/output.h"

#include <errno.h>
#include <string.h>

static const char usage[] = "usage: minifut doc [-o FILE] [--html FILE] [--force] prog.sf\n"
                            "       minifut doc [-o FILE] [--html FILE] [--force] --prelude\n"
                            "\n"
                            "Documentation of a program, or of what every program has: what is "
                            "defined, with types and what the comments\n"
                            "`-- |` say, as Markdown.\n";

static const OutputKind markdown_page = {.heads = {PAGE_MARK}};

typedef struct {
    const char *file, *output, *html;
    bool prelude, force;
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

static int print_page(const Out *o)
{
    if (fwrite(o->text, 1, o->n, stdout) == o->n && fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "minifut doc: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_USER;
}

static int write_pages(const Command *c, Arena *a, const Page *p)
{
    const Output files[] = {{c->output, "-o", &markdown_page}, {c->html, "--html", &html_page}};
    const Outputs os = {"minifut doc", c->force, files, 2};
    Out markdown = {0}, html = {0};
    int code = output_check(&os);
    if (code)
        return code;
    page_markdown(&markdown, a, p);
    page_html(&html, a, p);
    if (c->output)
        code = output_write(&os, &files[0], &markdown);
    if (c->html && code == 0)
        code = output_write(&os, &files[1], &html);
    if (!c->output && !c->html)
        code = print_page(&markdown);
    out_free(&markdown);
    out_free(&html);
    return code;
}

int doc_main(int argc, char **argv)
{
    Command c = {0};
    const ArgRow rows[] = {
        {"-o FILE", "writes it there (default: standard output)", .text = &c.output},
        {"--html FILE", "as a page for browsers", .text = &c.html},
        {"--prelude", "of what every program has", .flag = &c.prelude},
        {"--force", "writes over files that minifut doc did not make", .flag = &c.force},
        {0}};
    const Args args = {"minifut doc", usage, rows, 0, &c, NULL, take_program, "sf", NULL};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    if (!c.file == !c.prelude)
        return args_wrong(&args, c.file ? "--prelude is a page by itself: without a program"
                                        : "which program?");
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
    return write_pages(&c, a, &p);
}
