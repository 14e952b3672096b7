/* minifut fmt: files, and the comparison of what is written with what was read. */
#include "fmt/fmt.h"

#include "base/stage.h"

#include "command/args.h"
#include "command/folders.h"
#include "command/source.h"
#include "fmt/layout.h"
#include "frontend/frontend.h"
#include "packages/record.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char about[] =
    "usage: minifut fmt [--check] [-w] [FILES|FOLDERS]\n"
    "\n"
    "Formats programs, each in its file; without files, standard input to "
    "standard output. Of a folder those in it and\n"
    "below, without hidden ones and those that packages have brought into a "
    "`lib`. Constructs that stand on\n"
    "one line stay there if there is room, those in several lines stay in "
    "several. Comments are kept.\n";

/* --- One program ---------------------------------------------------------------------------- */

/* Offset of the text's first byte: the end of the file is a token, too. */
static uint32_t base_of(const Concrete *c, size_t n)
{
    return vec_last(&c->tokens).loc.end - (uint32_t)n;
}

static void lay_out(Arena *a, const char *text, size_t n, const Concrete *c, Out *o)
{
    Layout l = {.a = a, .text = text, .base = base_of(c, n), .c = c, .n = c->tokens.n};
    layout_comments(&l);
    layout_shape(&l);
    layout_lines(&l);
    layout_write(&l, o);
}

/* A text, and what is written in it. */
typedef struct {
    const char *text;
    size_t n;
    const Concrete *c;
} Written;

/* What stands at a place. */
static const char *words_at(const Written *w, Loc loc, size_t *n)
{
    *n = loc.end - loc.beg;
    return w->text + (loc.beg - base_of(w->c, w->n));
}

/* Do all tokens say the same? kinds: and are they of the same kinds? A bracket's is told from
 * whether it touches what stands before it. */
static bool same_words(const Written *x, const Written *y, bool *kinds)
{
    bool same = x->c->tokens.n == y->c->tokens.n;
    *kinds = same;
    for (int i = 0; same && i < x->c->tokens.n; i++) {
        size_t n, m;
        const CToken *t = &x->c->tokens.at[i], *u = &y->c->tokens.at[i];
        const char *s = words_at(x, t->loc, &n), *r = words_at(y, u->loc, &m);
        same = n == m && memcmp(s, r, n) == 0;
        *kinds &= t->kind == u->kind;
    }
    return same;
}

static bool same_trees(Arena *a, const char *name, const Ast *was, const Written *result)
{
    Concrete *c;
    Out trees[2] = {{0}};
    const Ast *is = fe_parse_concrete(a, name, result->text, result->n, &c);
    if (!is)
        return false;
    fe_print(&trees[0], was, false);
    fe_print(&trees[1], is, false);
    bool same = trees[0].n == trees[1].n &&
                (!trees[0].n || memcmp(trees[0].text, trees[1].text, trees[0].n) == 0);
    out_free(&trees[0]);
    out_free(&trees[1]);
    return same;
}

static const char *comment_at(const Written *w, int i, size_t *n)
{
    const char *s = words_at(w, w->c->comments.at[i], n);
    while (*n && isspace((unsigned char)s[*n - 1]))
        --*n;
    return s;
}

/* Are the comments the same, but for blanks at their ends? */
static bool same_comments(const Written *x, const Written *y)
{
    bool same = x->c->comments.n == y->c->comments.n;
    for (int i = 0; same && i < x->c->comments.n; i++) {
        size_t n, m;
        const char *s = comment_at(x, i, &n), *r = comment_at(y, i, &m);
        same = n == m && memcmp(s, r, n) == 0;
    }
    return same;
}

/* Ends the process if the result is another program. Tokens of the same kinds that say the same are
 * the same program: the grammar sees no more of one. Only where kinds differ, as of `[n] [m]` that
 * has become `[n][m]`, are trees compared, which takes half as long as all else. */
static void compare(Arena *a, const char *name, const Ast *was, const Written *before,
                    const Out *result)
{
    const char *made = result->text ? result->text : "";
    if (result->n == before->n && memcmp(made, before->text, result->n) == 0)
        return;
    Written after = {made, result->n, fe_scan(a, made, result->n)};
    bool kinds;
    if (!after.c || !same_words(before, &after, &kinds) ||
        (!kinds && !same_trees(a, name, was, &after)))
        ice(NO_LOC, "%s: another program was made", name);
    if (!same_comments(before, &after))
        ice(NO_LOC, "%s: comments were changed", name);
}

bool fmt_text(const char *name, const char *text, size_t n, Out *o)
{
    Arena *a = arena_new();
    Concrete *c;
    Ast *ast = fe_parse_concrete(a, name, text, n, &c);
    if (ast) {
        stage_enter("fmt");
        lay_out(a, text, n, c, o);
        compare(a, name, ast, &(Written){text, n, c}, o);
    }
    arena_free(a);
    return ast != NULL;
}

/* --- Files ---------------------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    bool check, write, tokens; /* options */
    bool any;                  /* was a file or folder given? */
    Paths files;
    PackageFiles *packages;
    int code; /* of folders */
} Command;

static void cannot_read(void *env, const char *folder)
{
    Command *c = env;
    fprintf(stderr, "minifut fmt: cannot read %s: %s\n", folder, strerror(errno));
    c->code = EXIT_USER;
}

static bool is_of_package(void *env, const char *path, size_t folder)
{
    return package_has_file(((Command *)env)->packages, path, folder);
}

static int take_file(void *env, const char *word)
{
    Command *c = env;
    c->any = true;
    if (folder_is(word)) {
        FolderSearch s = {.a = c->a, .unread = cannot_read, .passes = is_of_package, .env = c};
        folder_search(&s, word);
        vec_append(c->a, &c->files, &s.files);
    } else {
        vec_push(c->a, &c->files, word);
    }
    return -1;
}

static int cannot_write(const char *path)
{
    fprintf(stderr, "minifut fmt: cannot write %s: %s\n", path, strerror(errno));
    return EXIT_USER;
}

/* Files are replaced, for which nobody has to be allowed to write them: those who are not must not
 * do it that way. Who may do all, neither. */
static bool is_read_only(const char *path)
{
    struct stat st;
    bool locked = access(path, W_OK) != 0;
    if (!locked && stat(path, &st) == 0 && !(st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH))) {
        errno = EACCES;
        locked = true;
    }
    return locked;
}

/* Standard input, as a file of that name in messages. */
static char *read_stdin(Arena *a, size_t *n)
{
    Out all = {0};
    char part[1 << 14];
    size_t got;
    while ((got = fread(part, 1, sizeof part, stdin)) > 0 && all.n <= MAX_SOURCE)
        out_putn(&all, part, got);
    if (ferror(stdin)) {
        diag_error(NO_LOC, "cannot read standard input: %s", strerror(errno));
        return NULL;
    }
    char *text = arena_strndup(a, all.text ? all.text : "", all.n);
    *n = all.n;
    out_free(&all);
    return text;
}

/* Formats a file, or standard input (NULL); the exit code. */
static int format(const Command *c, const char *path)
{
    Arena *a = arena_new();
    const char *name = path ? path : "<stdin>";
    size_t n = 0;
    Out o = {0};
    char *text = path ? source_read(a, path, true, NO_LOC, &n) : read_stdin(a, &n);
    bool ok = text && (c->tokens ? fmt_tokens : fmt_text)(name, text, n, &o);
    diag_flush();
    int code = ok ? 0 : diag_exit_code();
    bool same = ok && n == o.n && (n == 0 || !memcmp(text, o.text, n));
    diag_reset();
    if (ok && c->check && !same) {
        printf("%s\n", name);
        code = EXIT_USER;
    } else if (ok && !c->check && !path) {
        if (fwrite(o.text ? o.text : "", 1, o.n, stdout) != o.n || fflush(stdout) != 0)
            code = cannot_write("to standard output");
    } else if (ok && !c->check && !same) {
        if (is_read_only(path) || !out_write_file(&o, path))
            code = cannot_write(path);
    }
    out_free(&o);
    arena_free(a);
    return code;
}

int fmt_main(int argc, char **argv)
{
    Command c = {.a = arena_new()};
    c.packages = package_files_new(c.a);
    const ArgRow rows[] = {
        {"--check", "writes nothing: names the files that are not formatted (exit code 1)",
         .flag = &c.check},
        {"-w, --write", "writes each file in place, which is the default", .flag = &c.write},
        {"--tokens", NULL, .flag = &c.tokens}, /* for tests/editors; standard input only */
        {0}};
    const Args args = {"minifut fmt", about, rows, 0, &c, NULL, take_file, "sf", NULL};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    if (c.check && c.write)
        return args_wrong(&args, "--check and -w do not go together");
    if (c.tokens && c.any)
        return args_wrong(&args, "--tokens reads standard input");
    if (c.write && !c.any)
        return args_wrong(&args, "-w: which files?");
    if (!c.any)
        return format(&c, NULL);
    code = c.code;
    for (int i = 0; i < c.files.n; i++) {
        int one = format(&c, c.files.at[i]);
        code = one > code ? one : code;
    }
    return code;
}
