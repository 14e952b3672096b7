/* textDocument/foldingRange and selectionRange: what belongs together in the text. */
#include "lsp/look.h"

#include "base/ptrmap.h"

#include <stdlib.h>
#include <string.h>

/* --- What folds ----------------------------------------------------------------------------- */

typedef struct {
    Look *look;
    PtrSet *begun; /* lines at which something folds already */
    cJSON *all;
} Folds;

static void fold_lines(Folds *f, uint32_t first, uint32_t last, const char *kind)
{
    const void *key = (const void *)(uintptr_t)(first + 1);
    if (last <= first || ptrset_has(f->begun, key))
        return;
    ptrset_add(f->begun, key);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "startLine", first);
    cJSON_AddNumberToObject(o, "endLine", last);
    if (kind)
        cJSON_AddStringToObject(o, "kind", kind);
    cJSON_AddItemToArray(f->all, o);
}

static void fold(Folds *f, Loc loc, const char *kind)
{
    size_t beg, end;
    const File *main = f->look->ast->main;
    if (loc.beg < main->base || loc.end > main->base + main->n ||
        !look_offset(f->look, loc.beg, &beg) || !look_offset(f->look, loc.end, &end))
        return;
    fold_lines(f, lines_position(&f->look->now, beg).line, lines_position(&f->look->now, end).line,
               kind);
}

static void fold_exp(void *env, const AExp *e)
{
    if (e->kind == AE_LAMBDA || e->kind == AE_LOOP || e->kind == AE_MATCH || e->kind == AE_ARRAY ||
        e->kind == AE_RECORD || e->kind == AE_TUPLE)
        fold(env, e->loc, NULL);
    else if (e->kind == AE_LET)
        fold(env, (Loc){e->loc.beg, e->let.rhs->loc.end}, NULL);
}

static void fold_decls(Folds *f, const Decls *ds);

static void fold_module(Folds *f, const ModExp *m)
{
    for (; m; m = m->e) {
        fold_decls(f, &m->decls);
        fold_module(f, m->arg);
    }
}

static void fold_decls(Folds *f, const Decls *ds)
{
    for (int i = 0, j; i < ds->n; i = j) {
        const Decl *d = &ds->at[i];
        for (j = i + 1; j < ds->n && d->kind == D_IMPORT && ds->at[j].kind == D_IMPORT;)
            j++;
        bool imports = j > i + 1;
        fold(f, loc_join(d->loc, ds->at[j - 1].loc), imports ? "imports" : NULL);
        fold_module(f, d->mod);
    }
}

/* Comments of several lines with nothing else in them. */
static void fold_comments(Folds *f)
{
    const Lines *l = &f->look->now;
    int first = -1;
    for (int i = 0; i <= l->begins.n; i++) {
        const char *s = i < l->begins.n ? l->text + l->begins.at[i] : "";
        s += strspn(s, " \t");
        bool comment = s[0] == '-' && s[1] == '-';
        if (comment && first < 0)
            first = i;
        if (!comment && first >= 0)
            fold_lines(f, (uint32_t)first, (uint32_t)i - 1, "comment");
        first = comment ? first : -1;
    }
}

cJSON *query_folds(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_TREE, 0, 0);
    Folds f = {&l, ptrmap_new(q->a), cJSON_CreateArray()};
    fold_decls(&f, &l.ast->main->decls);
    sites_of_file(l.ast, l.ast->main, &(Visit){.env = &f, .exp = fold_exp});
    fold_comments(&f);
    return f.all;
}

/* --- What is selected ------------------------------------------------------------------------ */

typedef struct {
    Look *look;
    uint32_t place;
    VEC(Loc) around;
} Selection;

static void select_loc(Selection *s, Loc loc)
{
    if (loc_has(loc, s->place) && loc.end > loc.beg)
        vec_push(s->look->a, &s->around, loc);
}

static void select_exp(void *env, const AExp *e)
{
    select_loc(env, e->loc);
}

static void select_pat(void *env, const Pat *p)
{
    select_loc(env, p->loc);
}

static void select_site(void *env, const Site *s)
{
    select_loc(env, s->loc);
}

static void select_decls(Selection *s, const Decls *ds);

static void select_module(Selection *s, const ModExp *m)
{
    for (; m; m = m->e) {
        select_loc(s, m->loc);
        select_decls(s, &m->decls);
        select_module(s, m->arg);
    }
}

static void select_decls(Selection *s, const Decls *ds)
{
    for (int i = 0; i < ds->n; i++) {
        select_loc(s, ds->at[i].loc);
        select_module(s, ds->at[i].mod);
    }
}

/* The larger one first. */
static int by_size(const void *a, const void *b)
{
    const Loc *x = a, *y = b;
    uint32_t n = x->end - x->beg, m = y->end - y->beg;
    return n != m ? (n > m ? -1 : 1) : x->beg < y->beg ? -1 : x->beg > y->beg;
}

/* The ranges around an offset, each in that of its parent. */
static cJSON *selection(Look *l, size_t at)
{
    const File *main = l->ast->main;
    Selection s = {.look = l};
    cJSON *range = json_range(&l->now, 0, l->doc->n), *in = cJSON_CreateObject();
    cJSON_AddItemToObject(in, "range", range);
    if (!look_place(l, at, &s.place))
        return in;
    select_decls(&s, &main->decls);
    sites_of_file(l->ast, main,
                  &(Visit){.env = &s, .site = select_site, .exp = select_exp, .pat = select_pat});
    if (s.around.n)
        qsort(s.around.at, (size_t)s.around.n, sizeof *s.around.at, by_size);
    Loc outer = {main->base, main->base + (uint32_t)main->n};
    for (int i = 0; i < s.around.n; i++) {
        Loc loc = s.around.at[i];
        bool same = loc.beg == outer.beg && loc.end == outer.end;
        if (same || loc.beg < outer.beg || loc.end > outer.end || !(range = look_range(l, loc)))
            continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToObject(o, "range", range);
        cJSON_AddItemToObject(o, "parent", in);
        in = o;
        outer = loc;
    }
    return in;
}

cJSON *query_selection(const Query *q)
{
    Look l = look_at(q->a, q->docs, q->doc, LOOK_TREE, 0, 0);
    cJSON *all = cJSON_CreateArray();
    const cJSON *p;
    cJSON_ArrayForEach(p, json_member(q->params, "positions"))
    {
        Position at = {0, 0};
        json_read_position(p, &at);
        cJSON_AddItemToArray(all, selection(&l, lines_offset(&l.now, at)));
    }
    return all;
}
