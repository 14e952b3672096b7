/* The frontend on the programs in tests/frontend/ok: printing a tree and reading it back gives the
 * same tree; the types found are those in X.types beside X.sf. `--bless` rewrites the .types files:
 * review the diff. Run in the root of the source tree. */
#include "frontend/frontend.h"

#include "tests/unit/check.h"

#include <dirent.h>
#include <stdlib.h>

static const char dir[] = "tests/frontend/ok";

static char *printed(Ast *ast, bool types)
{
    Out o = {0};
    fe_print(&o, ast, types);
    return out_take(&o);
}

static char *contents(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return strdup("");
    char *s = calloc(1, 1 << 20);
    if (fread(s, 1, (1 << 20) - 1, f) == 0)
        s[0] = 0;
    fclose(f);
    return s;
}

static void test_round_trip(Arena *a, const char *path)
{
    Ast *one = fe_load(a, path);
    CHECK(one && one->syntax_ok);
    char *text = printed(one, false);
    Ast *two = fe_parse(a, path, text, strlen(text));
    CHECK(two->syntax_ok);
    char *again = printed(two, false);
    CHECK(!strcmp(text, again));
    CHECK(fe_check(two)); /* what is printed means the same, parentheses included */
    free(text);
    free(again);
}

static void test_types(Arena *a, const char *path, bool bless)
{
    Ast *ast = fe_load(a, path);
    CHECK(fe_check(ast));
    char *text = printed(ast, true);
    const char *golden = arena_printf(a, "%.*s.types", (int)strlen(path) - 3, path);
    if (bless) {
        FILE *f = fopen(golden, "wb");
        if (f) {
            fputs(text, f);
            fclose(f);
        }
    }
    char *want = contents(golden);
    bool same = !strcmp(text, want);
    if (!same)
        fprintf(stderr, "%s: other types than %s\n", path, golden);
    CHECK(same);
    free(want);
    free(text);
}

static void test_entries(Arena *a)
{
    static const char text[] = "type point = {y: f32, x: f32}\n"
                               "entry f [n] (p: point) (xs: *[n]u8) (_: i32, _: bool)\n"
                               "  : (point, *[n]u8, [](i32, f32)) = (p, xs, [])\n"
                               "entry g = 1i64\n";
    Ast *ast = fe_parse(a, "entries.sf", text, sizeof text - 1);
    CHECK(fe_check(ast));
    CHECK_INT(ast->entries.n, 2);
    const EntryPoint *f = &ast->entries.at[0];
    CHECK_INT(f->params.n, 3);
    CHECK(f->params.at[0].te->kind == TE_NAME && !strcmp(f->params.at[0].te->name, "point"));
    CHECK(!strcmp(type_str(a, f->params.at[0].type), "{x: f32, y: f32}"));
    CHECK(!strcmp(f->params.at[1].name, "xs"));
    CHECK(f->params.at[1].te->kind == TE_UNIQUE);
    CHECK(f->params.at[1].type->unique);
    CHECK(!strcmp(f->params.at[2].name, "arg2"));
    CHECK_INT(f->results.n, 3);
    CHECK(!strcmp(f->results.at[0].te->name, "point"));
    CHECK(f->results.at[1].type->unique);
    CHECK(f->results.at[2].te->kind == TE_ARRAY);
    CHECK_INT(ast->entries.at[1].results.n, 1);
}

/* Comments `-- |` belong to the definition below them, and to no other one. */
static void test_docs(Arena *a)
{
    static const char text[] =
        "-- | Of f.\ndef f = 1 -- | of nothing\ndef g = 2\n"
        "-- | Of t,\n-- in two lines.\ntype t = i32\n-- | Of h.\n#[noinline]\nentry h = 3\n"
        "-- | Lost.\ndef wrong = =\ndef last = 4\n";
    static const char *const want[] = {"Of f.", NULL, "Of t,\nin two lines.", "Of h.", NULL};
    const Ast *ast = fe_parse(a, "docs.sf", text, sizeof text - 1);
    CHECK(ast->main->decls.n == 5);
    for (int i = 0; i < ast->main->decls.n && i < 5; i++) {
        const Decl *d = &ast->main->decls.at[i];
        const char *doc = d->def ? d->def->doc : d->type->doc;
        CHECK(want[i] ? doc && !strcmp(doc, want[i]) : !doc);
    }
    diag_reset();
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

int main(int argc, char **argv)
{
    bool bless = argc > 1 && !strcmp(argv[1], "--bless");
    Arena *a = arena_new();
    struct dirent **names;
    int n = scandir(dir, &names, NULL, by_name);
    CHECK(n > 0);
    for (int i = 0; i < n; i++) {
        size_t len = strlen(names[i]->d_name);
        if (len > 3 && !strcmp(names[i]->d_name + len - 3, ".sf")) {
            const char *path = arena_printf(a, "%s/%s", dir, names[i]->d_name);
            test_round_trip(a, path);
            test_types(a, path, bless);
        }
        free(names[i]);
    }
    if (n > 0)
        free(names);
    test_entries(a);
    test_docs(a);
    diag_flush();
    arena_free(a);
    return check_summary();
}
