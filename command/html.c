#include "command/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fdfdfb;--ink:#1c2226;--dim:#5b666e;--line:#d8dcdf;"
    "--card:#f3f4f2;--bar:#3f7fae;--mark:#0b3c5d;--shade:#0003;--good:#1b7340;--bad:#a3271f;--link:"
    "#0a5a8c}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14181b;--ink:#e4e8ea;--dim:#98a4ab;"
    "--line:#333c42;--card:#1d2327;--bar:#4d8fbf;--mark:#d5ebfa;--shade:#fff2;--good:#62c48b;--bad:"
    "#f08a80;"
    "--link:#7cc0ee}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.5rem;line-height:1.2;margin:.5rem 0}\n"
    "h2{font-size:1.15rem;margin:0 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}\n"
    "p{margin:.4rem 0;max-width:48rem}.dim{color:var(--dim)}.good{color:var(--good)}"
    ".bad{color:var(--bad)}a{color:var(--link)}\n"
    "section{margin:1.5rem 0;padding-top:1rem;border-top:1px solid var(--line)}\n"
    "pre{margin:.2rem 0;white-space:pre-wrap}code,pre,.tree{font:0.85rem/1.5 "
    "ui-monospace,monospace}\n"
    /* A shade at an edge behind which there is more: what moves with the contents covers it at
       their ends. */
    ".scroll{overflow-x:auto;max-width:100%;background:"
    "linear-gradient(to right,var(--paper) 30%,transparent) local,"
    "linear-gradient(to left,var(--paper) 30%,transparent) 100% 0 local,"
    "linear-gradient(to right,var(--shade),transparent) scroll,"
    "linear-gradient(to left,var(--shade),transparent) 100% 0 scroll;"
    "background-repeat:no-repeat;background-size:3rem 100%,3rem 100%,.9rem 100%,.9rem 100%}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\n"
    "th,td{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:baseline;"
    "white-space:nowrap;border-bottom:1px solid var(--line)}\n"
    "thead th{color:var(--dim);font-weight:500}tbody th{font-weight:600}"
    "th.n,td.n{text-align:right}\n"
    /* Words may stand in several lines, numbers and names do not; on a narrow screen
     * tables scroll. */
    "td:not(.n){white-space:normal;min-width:min(9rem,40vw)}td .bar{min-width:4rem}\n"
    "small{display:block;color:var(--dim);font:400 .8rem/1.35 "
    "system-ui,sans-serif;white-space:normal;"
    "max-width:34rem;min-width:12rem}\n"
    ".bar{display:block;position:relative;width:10rem;height:.8rem;background:var(--card)}\n"
    ".bar i{position:absolute;top:0;bottom:0;left:0;background:var(--bar)}\n"
    ".bar b{position:absolute;top:.3rem;height:.2rem;min-width:2px;background:var(--mark)}\n"
    "@media(max-width:40rem){.bar{width:4rem}}\n"
    ".tree,.tree ul{list-style:none;margin:0;padding:0}.tree{margin:.6rem 0}.tree "
    "ul{margin-left:1rem}\n"
    ".tree li{border-left:2px solid var(--line);padding:.1rem 0 .1rem .6rem;margin:.3rem 0}\n"
    ".tag{display:inline-block;padding:0 .4rem;border-radius:.3rem;background:var(--card);"
    "border:1px solid var(--line);font-size:.85rem}\n"
    ".source{counter-reset:line;margin:0}.source>span{display:block;counter-increment:line;"
    "padding-right:1rem;white-space:pre-wrap}\n"
    ".source>span::before{content:counter(line);display:inline-block;width:2.5rem;"
    "padding-right:.8rem;text-align:right;color:var(--dim)}.source>span:target{"
    "background:var(--card);outline:1px solid var(--link)}\n"
    ".heat{display:inline-block;position:relative;width:6.5rem;margin-right:.8rem;text-align:right}"
    ".heat u{position:absolute;left:0;top:.35em;width:2.8rem;height:.8em}"
    ".heat i{position:absolute;left:0;top:0;bottom:0;background:var(--bar)}\n"
    "details{margin:.4rem 0}summary{cursor:pointer;color:var(--link)}\n";

void html_text(Out *o, const char *text)
{
    static const char *const as[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    while (*text) {
        size_t n = utf8_length(text);
        unsigned char c = (unsigned char)*text;
        if (!n || (c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
            out_puts(o, "\xef\xbf\xbd"); /* what no page may hold */
        else if (as[c])
            out_puts(o, as[c]);
        else
            out_putn(o, text, n);
        text += n ? n : 1;
    }
}

static void text_args(Out *o, const char *fmt, va_list ap)
{
    Out text = {0};
    out_vprintf(&text, fmt, ap);
    html_text(o, text.text ? text.text : "");
    out_free(&text);
}

void html_textf(Out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    text_args(o, fmt, ap);
    va_end(ap);
}

void html_para(Out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    out_puts(o, "<p>");
    text_args(o, fmt, ap);
    out_puts(o, "</p>\n");
    va_end(ap);
}

#define PAGE_HEAD                                                                                  \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                      \
    "<meta name=\"generator\" content=\"minifut\">\n"
const OutputKind html_page = {.heads = {PAGE_HEAD}};

void html_begin(Out *o, const char *title)
{
    out_puts(o, PAGE_HEAD
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    html_text(o, title);
    out_puts(o, "</title>\n<style>\n");
    out_puts(o, style);
    out_puts(o, "</style>\n</head>\n<body>\n<h1>");
    html_text(o, title);
    out_puts(o, "</h1>\n");
}

void html_end(Out *o)
{
    out_puts(o, "</body>\n</html>\n");
}

void html_section(Out *o, const char *heading)
{
    out_puts(o, "<section>\n<h2>");
    html_text(o, heading);
    out_puts(o, "</h2>\n");
}

void html_section_end(Out *o)
{
    out_puts(o, "</section>\n");
}

void html_table(Out *o, const char *const *heads)
{
    out_puts(o, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (; *heads; heads++) {
        bool number = **heads == '#';
        out_puts(o, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
        html_text(o, *heads + number);
        out_puts(o, "</th>");
    }
    out_puts(o, "</tr></thead>\n<tbody>");
}

void html_table_end(Out *o)
{
    out_puts(o, "\n</tbody></table></div>\n");
}

void html_row(Out *o)
{
    out_puts(o, "\n<tr>"); /* its end may be left out */
}

static void cell(Out *o, const char *tag, const char *text)
{
    out_printf(o, "<%s>", tag);
    html_text(o, text);
    out_printf(o, "</%.2s>", tag);
}

void html_head_cell(Out *o, const char *text)
{
    cell(o, "th scope=\"row\"", text);
}

void html_cell(Out *o, const char *text)
{
    cell(o, "td", text);
}

void html_number(Out *o, const char *text)
{
    cell(o, "td class=\"n\"", text);
}

static double percent(double value, double most)
{
    return most > 0 && isfinite(value) ? fmin(100, fmax(0, 100 * value / most)) : 0;
}

void html_bar(Out *o, double value, double low, double high, double most)
{
    double from = percent(low, most), to = percent(high, most);
    out_printf(o,
               "<td><span class=\"bar\"><i style=\"width:%.1f%%\"></i>"
               "<b style=\"left:%.1f%%;width:%.1f%%\"></b></span></td>",
               percent(value, most), from, to - from);
}

/* In front of a line: its part of the whole. */
static void heat_mark(Out *o, double part)
{
    out_puts(o, "<span class=\"heat\">");
    if (part > 0)
        out_printf(o, "<u><i style=\"width:%.1f%%\"></i></u>%.1f %%", percent(part, 1), 100 * part);
    out_puts(o, "</span>");
}

void html_source(Out *o, const char *text)
{
    html_source_heat(o, text, NULL);
}

void html_source_heat(Out *o, const char *text, const double *heat)
{
    out_puts(o, "<div class=\"scroll\"><pre class=\"source\">");
    for (int line = 1; *text; line++) {
        size_t n = strcspn(text, "\n");
        Out one = {0};
        out_putn(&one, text, n);
        out_printf(o, "<span id=\"L%d\">", line);
        if (heat)
            heat_mark(o, heat[line]);
        html_text(o, one.text ? one.text : "");
        out_puts(o, "</span>");
        out_free(&one);
        text += n + (text[n] == '\n');
    }
    out_puts(o, "</pre></div>\n");
}

void html_place(Out *o, const char *place, const char *name)
{
    size_t n = strlen(name);
    bool known = strncmp(place, name, n) == 0 && place[n] == ':';
    if (known)
        out_printf(o, "<a href=\"#L%ld\">", strtol(place + n + 1, NULL, 10));
    html_text(o, place);
    if (known)
        out_puts(o, "</a>");
}
