/* Documentation: what a program or the prelude offers, as pages.
 *
 *   page.c       what a page has, from the declarations of a program
 *   library.c    the page of what the language provides (docs/library.md)
 *   markdown.c   a page as Markdown
 *   html_page.c  ... for browsers
 *   docgen.c     the command */
#ifndef DOCGEN_DOCGEN_H
#define DOCGEN_DOCGEN_H

#include "frontend/frontend.h"

/* Something that has a name. */
typedef struct Item Item;
typedef VEC(Item *) Items;
struct Item {
    const char *name;
    const char *head; /* how it is, or could be, declared: lines; in a table its type */
    const char *doc;  /* of a doc comment, or NULL */
    bool with_last;   /* is told together with the item before */
    Items members;
};

typedef struct {
    const char *title; /* or NULL: what stands above the first title */
    const char *doc;   /* or NULL */
    bool table;        /* a row for each item: name, type, sentence, example */
    bool below;        /* part of the section before */
    Items items;
} Section;

typedef struct {
    const char *title, *doc;
    VEC(Section) sections;
} Page;

/* --- page.c --- */

Page page_of_program(Arena *a, const Ast *ast);
/* Adds what is declared and not local, each to the section that its place in the text is in (`-- #
 * TITLE`). */
void page_add_decls(Arena *a, Page *p, const File *f);
/* The section of that title, a new one at the end if there is none. */
Section *page_section(Arena *a, Page *p, const char *title);
/* `-` of "prefix -"; with brackets, as it is written where a name can stand. */
const char *item_name(const char *name);
const char *item_operand(Arena *a, const char *name);

/* What is said of an item of a table: a sentence, an expression and what it gives; "" where there
 * is none. */
typedef struct {
    const char *words, *expression, *gives;
} ItemExample;
ItemExample item_example(Arena *a, const Item *item);

/* --- library.c --- */

Page page_of_library(Arena *a);

/* --- markdown.c --- */

/* What a page as Markdown begins with: by this it is known to be ours to replace. */
#define PAGE_MARK "<!-- Made by minifut doc -->\n"
void page_markdown(Out *o, Arena *a, const Page *p);

/* --- html_page.c --- */

void page_html(Out *o, Arena *a, const Page *p);

/* --- docgen.c --- */

/* `minifut doc`: takes the arguments behind it; the exit code. */
int doc_main(int argc, char **argv);

#endif
