/* minifut explain --html: what explain tells, as a page. Constructs lie in lists as they do in the
 * tree of versions; their places are links to the program's lines at the end. */
#include "command/html.h"
#include "flatten/explain/explain.h"

#include <string.h>

static void html_body(Explain *x, const Body *b);

static void place(Explain *x, Loc loc)
{
    html_place(x->o, diag_place_str(loc), x->name);
}

/* The line alone, where it is one of the program. */
static void at_line(Explain *x, Loc loc)
{
    Place p = diag_place(loc);
    if (p.file && strcmp(p.file, x->name) == 0)
        out_printf(x->o, "<a href=\"#L%d\">line %d</a>", p.line, p.line);
    else
        place(x, loc);
}

/* A list of what is inside, if there is anything. */
static void list(Explain *x, const Body *b)
{
    if (!body_has_seg(b))
        return;
    out_puts(x->o, "<ul>\n");
    html_body(x, b);
    out_puts(x->o, "</ul>\n");
}

/* The lines of the hook, as they are. */
static void hook_lines(Out *o, const Out *lines)
{
    if (!lines->n)
        return;
    out_puts(o, "<pre class=\"dim\">");
    html_text(o, lines->text);
    out_puts(o, "</pre>\n");
}

static void html_seg(Explain *x, const Stm *s)
{
    const Exp *e = s->exp;
    out_puts(x->o, "<li>");
    html_textf(x->o, "%s ", ex_sentence(x, e));
    at_line(x, e->loc);
    if (body_has_seg(e->seg.body))
        list(x, e->seg.body);
    out_puts(x->o, "<details><summary>code, kernels</summary>\n<pre class=\"dim\">");
    html_textf(x->o, "%s = %s", ex_pat_text(x, &s->pat), ex_seg_text(x, e));
    if (!body_has_seg(e->seg.body))
        html_textf(x->o, "\n    (%s)", ex_thread_text(x, e->seg.body));
    out_puts(x->o, "</pre>\n");
    if (x->hook && x->hook->kernel) {
        Out lines = {0};
        x->hook->kernel(x->hook->env, &lines, e);
        hook_lines(x->o, &lines);
        out_free(&lines);
    }
    out_puts(x->o, "</details></li>\n");
}

/* A version, or the choices that go on, taken when that holds. */
static void html_leaf(Explain *x, const Body *b, const char *when)
{
    out_puts(x->o, "<li>");
    if (!body_any(b, exp_is_guard))
        out_printf(x->o, "<span class=\"tag\">V%d</span> ", x->n_leaves++);
    out_puts(x->o, "<b>");
    html_text(x->o, when);
    out_puts(x->o, "</b>\n");
    list(x, b);
    out_puts(x->o, "</li>\n");
}

/* What holds where the comparison does, and on the same level what is chosen where not. */
static void html_choice(Explain *x, const Exp *e, const Exp *suff)
{
    html_leaf(x, e->branch.then_, ex_condition(x, suff));
    const Body *els = e->branch.else_;
    const Exp *next = ex_next_choice(x, e);
    if (next) {
        html_choice(x, next, ex_guard(x, next));
        return;
    }
    html_leaf(x, els, "otherwise");
}

static void html_stm(Explain *x, const Stm *s)
{
    const Exp *e = s->exp, *suff = ex_guard(x, e);
    if (exp_is_seg(e)) {
        html_seg(x, s);
    } else if (suff) {
        const char *line = diag_line_text(suff->loc);
        out_puts(x->o, "<li>");
        at_line(x, suff->loc);
        html_textf(x->o, ": %s", line ? line + strspn(line, " \t") : "");
        out_puts(x->o, "<div class=\"dim\">");
        html_textf(x->o, "%s in all: %d versions; the first one whose condition holds is taken",
                   ex_short(ex_par_text(x, suff->suff.work)), ex_versions(x, e));
        out_puts(x->o, "</div>\n<ul>\n");
        html_choice(x, e, suff);
        out_puts(x->o, "</ul></li>\n");
    } else if (e->kind == E_LOOP && body_has_seg(e->loop.body)) {
        out_puts(x->o, "<li>loop ");
        at_line(x, e->loc);
        list(x, e->loop.body);
        out_puts(x->o, "</li>\n");
    } else if (e->kind == E_IF &&
               (body_has_seg(e->branch.then_) || body_has_seg(e->branch.else_))) {
        out_puts(x->o, "<li>if:");
        list(x, e->branch.then_);
        out_puts(x->o, "</li>\n<li>else:");
        list(x, e->branch.else_);
        out_puts(x->o, "</li>\n");
    }
}

static void html_body(Explain *x, const Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        html_stm(x, &b->stms.at[i]);
}

static void thresholds(Explain *x, const Entry *en)
{
    static const char *const heads[] = {
        "threshold", "parallelism of the version", "in all", "asked where", "place", NULL};
    FlThresholds ts = fl_thresholds(x->cx, en);
    if (!ts.n)
        return;
    out_puts(x->o, "<h3>Thresholds</h3>\n");
    html_table(x->o, heads);
    for (int i = 0; i < ts.n; i++) {
        const FlThreshold *t = &ts.at[i];
        const char *path = "";
        for (int k = 0; k < t->path.n; k++)
            path = arena_printf(x->cx->perm, "%s%s%s%s", path, k ? " " : "",
                                t->path.at[k].taken ? "" : "!", t->path.at[k].name);
        html_row(x->o);
        html_head_cell(x->o, t->name);
        html_cell(x->o, t->par);
        html_cell(x->o, t->work);
        html_cell(x->o, *path ? path : "always");
        out_puts(x->o, "<td>");
        place(x, t->loc);
        out_puts(x->o, "</td>");
    }
    html_table_end(x->o);
    if (x->hook && x->hook->run_time) {
        Out lines = {0};
        x->hook->run_time(x->hook->env, &lines, en->name);
        hook_lines(x->o, &lines);
        out_free(&lines);
    }
}

/* What is shared out over ranks, in the words of the text. */
static void ranks(Explain *x, const Entry *en)
{
    Out lines = {0};
    Explain text = *x;
    text.o = &lines;
    ex_ranks(&text, en->name);
    hook_lines(x->o, &lines);
    out_free(&lines);
}

static void derivation(Explain *x, const Entry *en)
{
    static const char *const heads[] = {"rule", "form", "under", "outcome", "place", NULL};
    const Derivations *log = log_of(x->cx);
    html_table(x->o, heads);
    for (int i = 0; i < log->n; i++) {
        const Derivation *d = &log->at[i];
        if (strcmp(d->entry, en->name) != 0)
            continue;
        html_row(x->o);
        html_head_cell(x->o, d->rule);
        html_cell(x->o, d->form);
        html_cell(x->o, d->nest);
        html_cell(x->o, d->outcome);
        out_puts(x->o, "<td>");
        place(x, d->loc);
        out_puts(x->o, "</td>");
    }
    html_table_end(x->o);
}

void fl_explain_html(Out *o, Ctx *cx, const Prog *flat, const FlExplainHook *hook, const char *name,
                     const char *source)
{
    html_begin(o, arena_printf(cx->perm, "Versions of %s", name));
    for (int i = 0; i < flat->entries.n; i++) {
        const Entry *en = &flat->entries.at[i];
        Explain x = ex_new(cx, o, en, hook);
        x.name = name;
        html_section(o, arena_printf(cx->perm, "Entry point %s", en->name));
        out_puts(o, "<div class=\"scroll\"><ul class=\"tree\">\n");
        html_body(&x, en->body);
        out_puts(o, "</ul></div>\n");
        thresholds(&x, en);
        ranks(&x, en);
        out_puts(o, "<details><summary>How the rules made these versions</summary>\n");
        derivation(&x, en);
        out_puts(o, "</details>\n");
        html_section_end(o);
    }
    html_section(o, name);
    html_source(o, source);
    html_section_end(o);
    html_end(o);
}
