/* Pages for people: self-contained HTML (no script, nothing from a network), readable in light and
 * dark and on a phone, where wide tables scroll inside the page. All text goes through html_text.
 */
#ifndef COMMAND_HTML_H
#define COMMAND_HTML_H

#include "base/out.h"
#include "command/output.h"

/* Pages that we have made. */
extern const OutputKind html_page;

/* Begins a page with its title as heading; ends it. */
void html_begin(Out *o, const char *title);
void html_end(Out *o);

/* Text as it is, escaped for elements and for attributes in quotes. */
void html_text(Out *o, const char *text);
void html_textf(Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A paragraph. */
void html_para(Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A section with its heading, between other sections. */
void html_section(Out *o, const char *heading);
void html_section_end(Out *o);

/* A table: its heads up to NULL, those that begin with '#' stand above numbers. Rows begin with
 * html_row; the first cell of a row is its head. */
void html_table(Out *o, const char *const *heads);
void html_table_end(Out *o);
void html_row(Out *o);
void html_head_cell(Out *o, const char *text);
void html_cell(Out *o, const char *text);
void html_number(Out *o, const char *text);
/* A cell with a bar from 0 to `value` of `most`, and the interval low..high drawn on it. */
void html_bar(Out *o, double value, double low, double high, double most);

/* The lines of a program, numbered; html_place links there. */
void html_source(Out *o, const char *text);
/* The same, each with its part of a whole, heat[line], as a bar and a percentage, if it has one. */
void html_source_heat(Out *o, const char *text, const double *heat);
/* A place, "prog.sf:8:15", as a link to the line if it is one of the program `name`. */
void html_place(Out *o, const char *place, const char *name);

#endif
