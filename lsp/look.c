/* Parses and checks what is looked at, and translates places. */
#include "lsp/look.h"

#include "base/intern.h"
#include "base/stage.h"
#include "command/source.h"
#include "frontend/lower/lower.h"
#include "lsp/workspace.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Files that were asked for, while it is kept what was looked at. */
static struct {
    Arena *a; /* NULL: they are not noted */
    FilesRead all;
} asked;

static void note_file(const char *path, bool open)
{
    for (int i = 0; i < asked.all.n; i++)
        if (strcmp(asked.all.at[i].path, path) == 0)
            return;
    char *stamp = open ? NULL : file_stamp(path, true);
    FileRead f = {arena_strdup(asked.a, path), stamp ? arena_strdup(asked.a, stamp) : NULL};
    vec_push(asked.a, &asked.all, f);
    free(stamp);
}

/* Of an open document not the file counts, but what the editor shows. */
static const char *text_of_file(void *env, const char *path, size_t *n)
{
    const Document *d = document_of_file(env, path);
    if (asked.a)
        note_file(path, d != NULL);
    *n = d ? d->n : 0;
    return d ? d->text : NULL;
}

static Ast *parse(Look *l, const char *text, size_t n)
{
    stage_enter("parse");
    if (!l->doc->n_before && !l->doc->exp)
        return fe_parse(l->a, l->doc->path, text, n);
    FePiece *all = NEWN(l->a, FePiece, l->doc->n_before + 1);
    for (int i = 0; i < l->doc->n_before; i++)
        all[i] = l->doc->before[i];
    all[l->doc->n_before] =
        (FePiece){.name = l->doc->path, .text = text, .n = n, .exp = l->doc->exp};
    return fe_parse_session(l->a, all, l->doc->n_before + 1);
}

/* The tree that was checked last, from which others go on; NULL: there is none. */
static Ast *last;

/* Has the look the texts of all files that the document imports? */
static bool has_imports_of(const Look *l, const Ast *ast)
{
    bool same = true;
    for (int i = 1; i < ast->loaded && same; i++) {
        const File *f = ast->files.at[i];
        const Document *d = document_of_file(l->docs, f->path);
        same = !d || (d->n == f->n && memcmp(d->text, f->text, f->n) == 0);
    }
    return same;
}

/* A text of the document, as a whole. */
static Ast *parse_whole(Look *l, const char *text, size_t n)
{
    bool same = last && strcmp(last->main->path, l->doc->path) == 0 && has_imports_of(l, last);
    Ast *again = same ? fe_parse_again(last, text, n) : NULL;
    if (again)
        return again;
    diag_forget();
    return parse(l, text, n);
}

/* --- Which text ----------------------------------------------------------------------------- */

/* The brackets that are open behind a piece of text, to be closed. */
static const char *closers(Arena *a, const char *text, size_t from, size_t at)
{
    enum { MAX_OPEN = 200 };
    char stack[MAX_OPEN];
    int n = 0;
    for (size_t i = from; i < at; i++) {
        const char *open = strchr("([{", text[i]);
        if (open && *open && n < MAX_OPEN)
            stack[n++] = ")]}"[strchr("([{", text[i]) - "([{"];
        else if (n && text[i] == stack[n - 1])
            n--;
    }
    char *s = arena_alloc(a, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        s[i] = stack[n - 1 - i];
    return s;
}

static bool behind_case(const char *text, size_t at)
{
    while (at > 0 && isspace((unsigned char)text[at - 1]))
        at--;
    return at > 4 && !strncmp(text + at - 4, "case", 4) && isspace((unsigned char)text[at - 5]);
}

/* A text that stands for the document's up to `end`, with what follows there up to `to`: what comes
 * behind a definition does not matter in it. But where that is in a module, with all. */
static Ast *parse_up_to(Look *l, const char *first, size_t end, size_t to)
{
    const char *rest = l->doc->text + end;
    const char *all = arena_printf(l->a, "%s%.*s", first, (int)(to - end), rest);
    Ast *ast = parse_whole(l, all, strlen(all));
    if (ast->main->parsed)
        return ast;
    all = arena_printf(l->a, "%s%s", first, rest);
    return parse_whole(l, all, strlen(all));
}

/* The program with a hole in the place of the word at..end, and with what its definition needs
 * there to be one, if what follows has not been written yet; NULL: it is none all the same. */
static Ast *parse_with_hole(Look *l, size_t at, size_t end)
{
    static const char *const branches[] = {"", " else ???", " then ??? else ???", " do ???"},
                             *const bodies[] = {"", " in ???"};
    const char *text = l->doc->text;
    size_t from = at, to = end;
    while (from > 0 && !begins_definition(text, from))
        from--;
    while (to < l->doc->n && !begins_definition(text, to))
        to++;
    const char *all = closers(l->a, text, from, at);
    size_t inner = strlen(all); /* those of modules around may stand further down */
    while (inner > 0 && all[inner - 1] == '}')
        inner--;
    const char *close[] = {"", arena_strndup(l->a, all, inner), all};
    bool pattern = behind_case(text, at);
    for (int k = 0; k < (pattern ? 3 : 24); k++) {
        const char *hole = pattern ? arena_printf(l->a, "_ -> ???%s", close[k % 3])
                                   : arena_printf(l->a, "???%s%s%s", branches[k / 3 % 4],
                                                  close[k % 3], bodies[k / 12]);
        const char *def = arena_printf(l->a, "%.*s%s%.*s", (int)(at - from), text + from, hole,
                                       (int)(to - end), text + end);
        bool other = k % 3 == 0 || strcmp(close[k % 3], close[k % 3 - 1]) != 0;
        if (other && parse(l, def, strlen(def))->main->parsed)
            return parse_up_to(l, arena_printf(l->a, "%.*s%s", (int)at, text, hole), end, to);
    }
    return NULL;
}

static Text text_of(const File *f)
{
    return (Text){f->text, f->n};
}

/* Looks at that tree: of the document, or of another text. */
static void take_tree(Look *l, Ast *ast)
{
    l->ast = ast;
    l->runs = (Runs){0};
    runs_compare(l->a, &l->runs, (Text){l->doc->text, l->doc->n}, 0, text_of(ast->main), 0);
}

static bool parses(void *env, Text text)
{
    return parse(env, text.text, text.n)->main->parsed;
}

/* Looks at a text that parses in the place of the document, which does not; false: there has been
 * none yet. */
static bool take_mended(Look *l)
{
    const Document *d = l->doc;
    Text now = {d->text, d->n}, good = {d->good, d->n_good};
    Runs runs = {0};
    if (!good.text)
        return false;
    Text text = text_mended(l->a, now, good, parses, l, &runs);
    Ast *ast = parse_whole(l, text.text, text.n);
    if (ast->main->parsed) {
        l->ast = ast;
        l->runs = runs;
    } else {
        take_tree(l, parse_whole(l, good.text, good.n));
    }
    return true;
}

/* Of a place the binding that was made first: others are of copies. */
static int by_place(const void *a, const void *b)
{
    const NameUse *x = a, *y = b;
    if (x->loc.beg != y->loc.beg)
        return x->loc.beg < y->loc.beg ? -1 : 1;
    return x->part != y->part ? x->part - y->part : x->bind->uid - y->bind->uid;
}

void look_sort_uses(Look *l)
{
    NameUses *all = l->ast->uses;
    int kept = 0;
    if (all->n)
        qsort(all->at, (size_t)all->n, sizeof *all->at, by_place);
    for (int i = 0; i < all->n; i++)
        if (!kept || all->at[i].loc.beg != all->at[kept - 1].loc.beg ||
            all->at[i].part != all->at[kept - 1].part)
            all->at[kept++] = all->at[i];
    all->n = kept;
}

/* --- What is looked at ----------------------------------------------------------------------- */

/* What this process knows of a document, with which its looks begin. */
static struct {
    Look look;
    Look mended; /* what is looked at while it does not parse, checked; its `ast` may be NULL */
} kept;

static Look first_look(Arena *a, const Documents *docs, const Document *doc)
{
    Look l = {.a = a, .docs = docs, .doc = doc};
    source_set_instead(text_of_file, (void *)docs);
    l.now = lines_of(a, doc->text, doc->n);
    take_tree(&l, parse_whole(&l, doc->text, doc->n));
    return l;
}

static void check(Look *l, bool names_only)
{
    if (l->ast->before && !l->ast->before->checker) /* another one has taken that */
        take_tree(l, parse_whole(l, l->ast->main->text, l->ast->main->n));
    l->ast->uses = NEW(l->a, NameUses);
    l->ast->names_only = names_only;
    if (l->ast->before)
        fe_check_again(l->ast);
    else
        fe_check_parsed(l->ast);
    last = names_only ? NULL : l->ast;
    look_sort_uses(l);
}

FilesRead look_keep(Arena *a, const Documents *docs, const Document *doc)
{
    asked.a = a;
    kept.mended = (Look){0};
    kept.look = first_look(a, docs, doc);
    asked.a = NULL;
    if (kept.look.ast->syntax_ok) /* else messages would follow from what is missing */
        check(&kept.look, false);
    return asked.all;
}

void look_take_text(Arena *a, Document *doc, const char *text)
{
    if (kept.look.ast->main->parsed) {
        doc->good = doc->text;
        doc->n_good = doc->n;
    }
    doc->n = strlen(text);
    doc->text = arena_strndup(a, text, doc->n);
}

void look_keep_more(void)
{
    Look l = kept.mended.ast ? kept.mended : kept.look;
    if (!l.ast->main->parsed && take_mended(&l))
        kept.mended = l;
    if (!l.ast
             ->checker) /* nor does the document if it never parsed, or something that it imports */
        check(&l, false);
}

/* The look at the document with a hole, or at a text that parses, if the document itself does not,
 * or is not enough; false: there is none. */
static bool take_other(Look *l, LookKind kind, size_t at, size_t end)
{
    bool parsed = l->ast->main->parsed;
    bool hole = kind == LOOK_ARGUMENT || (!parsed && kind == LOOK_COMPLETE);
    Ast *with_hole = hole ? parse_with_hole(l, at, end) : NULL;
    if (with_hole)
        take_tree(l, with_hole);
    else if (!parsed && kept.mended.ast && kept.mended.doc == l->doc)
        *l = kept.mended;
    else
        return !parsed && take_mended(l);
    return true;
}

Look look_at(Arena *a, const Documents *docs, const Document *doc, LookKind kind, size_t at,
             size_t end)
{
    Look first = kept.look.doc == doc ? kept.look : first_look(a, docs, doc), l = first;
    uint32_t place;
    bool other = kind >= LOOK_CHECKED && take_other(&l, kind, at, end);
    if (other && kind < LOOK_COMPLETE && !look_place(&l, at, &place))
        l = first;
    if (l.ast->checker) /* then nothing is asked of further files but names either, ... */
        l.ast->names_only |= !diag_errors(); /* ... unless errors are to be compared */
    else if (kind == LOOK_MESSAGES)
        fe_check(l.ast);
    else if (kind != LOOK_TREE)
        check(&l, kind != LOOK_CHECKED);
    if (kind == LOOK_MESSAGES && !diag_errors())
        fe_limits(l.ast);
    return l;
}

/* --- Places --------------------------------------------------------------------------------- */

bool look_place(const Look *l, size_t at, uint32_t *place)
{
    for (int i = 0; i < l->runs.n; i++) {
        const Run *r = &l->runs.at[i];
        if (at < r->here || at > r->here + r->n)
            continue;
        *place = l->ast->main->base + (uint32_t)(at - r->here + r->there);
        return true;
    }
    return false;
}

uint32_t look_nearest(const Look *l, size_t at)
{
    size_t there = 0;
    for (int i = 0; i < l->runs.n && l->runs.at[i].here + l->runs.at[i].n <= at; i++)
        there = l->runs.at[i].there + l->runs.at[i].n;
    return l->ast->main->base + (uint32_t)there;
}

bool look_offset(const Look *l, uint32_t place, size_t *at)
{
    size_t there = place - l->ast->main->base;
    for (int i = 0; i < l->runs.n; i++) {
        const Run *r = &l->runs.at[i];
        if (there < r->there || there > r->there + r->n)
            continue;
        *at = there - r->there + r->here;
        return true;
    }
    return false;
}

bool look_is_current(const Look *l)
{
    const File *f = l->ast->main;
    return f->parsed && f->n == l->doc->n && memcmp(f->text, l->doc->text, f->n) == 0;
}

const File *look_file(const Look *l, Loc loc)
{
    for (int i = 0; loc.beg && i < l->ast->files.n; i++) {
        const File *f = l->ast->files.at[i];
        if (f->base && loc.beg >= f->base && loc.beg <= f->base + f->n)
            return f;
    }
    return NULL;
}

static const Lines *lines_in(Look *l, const File *f)
{
    if (f == l->ast->main)
        return &l->now;
    for (int i = 0; i < l->lines.n; i++)
        if (l->lines.at[i].text == f->text)
            return &l->lines.at[i];
    vec_push(l->a, &l->lines, lines_of(l->a, f->text, f->n));
    return &vec_last(&l->lines);
}

cJSON *look_range(Look *l, Loc loc)
{
    const File *f = look_file(l, loc);
    if (!f)
        return NULL;
    size_t beg = loc.beg - f->base, end = loc.end > loc.beg ? loc.end - f->base : beg;
    if (f == l->ast->main &&
        !(look_offset(l, loc.beg, &beg) && look_offset(l, f->base + (uint32_t)end, &end)))
        return NULL;
    return json_range(lines_in(l, f), beg, end);
}

cJSON *look_uri(const Look *l, const File *f)
{
    const Document *d = f == l->ast->main ? l->doc : document_of_file(l->docs, f->path);
    char *made = d ? NULL : path_uri(f->path);
    cJSON *uri = json_text(d ? d->uri : made);
    free(made);
    return uri;
}

cJSON *look_location(Look *l, Loc loc)
{
    cJSON *range = look_range(l, loc);
    if (!range)
        return NULL;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, "uri", look_uri(l, look_file(l, loc)));
    cJSON_AddItemToObject(o, "range", range);
    return o;
}

/* --- Other files ---------------------------------------------------------------------------- */

static bool leads_to(const File *from, const File *to, int depth)
{
    bool found = from == to;
    for (int i = 0; from && !found && depth > 0 && i < from->imports.n; i++)
        found = leads_to(from->imports.at[i]->file, to, depth - 1);
    return found;
}

bool look_leads_to(const File *from, const File *to)
{
    enum { DEEPEST = 16 };
    return leads_to(from, to, DEEPEST);
}

static void drop(void *env, const DiagMessage *m, const DiagMessage *notes, int n_notes)
{
    (void)env, (void)m, (void)notes, (void)n_notes;
}

void look_at_readers(Look *l, const Client *client, const File *of, const char *name)
{
    Programs all = workspace_programs(l->a, l->docs, client, l->doc);
    for (int i = 0; i < all.n; i++) {
        if (!workspace_mentions(l->a, &all.at[i], name))
            continue;
        stage_enter("parse");
        File *f = fe_parse_besides(l->ast, all.at[i].path);
        if (f && !f->module && look_leads_to(f, of))
            fe_check_besides(l->ast, f);
    }
    diag_take(drop, NULL);
    look_sort_uses(l);
}

Look look_at_workspace(Arena *a, const Documents *docs, const Client *client)
{
    enum { SECONDS = 3 }; /* people type on: of very many files, some */
    Look l = {.a = a, .docs = docs};
    time_t start = time(NULL);
    source_set_instead(text_of_file, (void *)docs);
    stage_enter("parse");
    l.ast = fe_parse(a, "", "", 0);
    Programs all = workspace_programs(a, docs, client, NULL);
    for (int i = 0; i < all.n && time(NULL) - start <= SECONDS; i++)
        fe_parse_besides(l.ast, all.at[i].path);
    return l;
}

cJSON *query_refuse(const Query *q, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *q->why = arena_vprintf(q->a, fmt, ap);
    va_end(ap);
    return NULL;
}
